#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Asks nginx: each line of standard input, such as "a 8 300", is a phase of 300 requests, 8 at once,
whose identities begin with the letter. Says "done" after each. Its ledger is that of a service.

usage: load.py LEDGER PORT PATH...
"""
import socket
import sys
import threading

from service import Ledger, now

SECRET = "fathom-keeps-no-byte-of-this-message"
ledger = Ledger("load", sys.argv[1])
PORT, PATHS = int(sys.argv[2]), sys.argv[3:]


def ask(connection, path, ident):
    begin, answer = now(), b""
    connection.sendall(
        f"GET /{path}/{ident} HTTP/1.1\r\nHost: x\r\nCookie: {SECRET}\r\n\r\n".encode())
    while not answer.endswith(b"ok"):
        data = connection.recv(65536)
        if not data or not (answer + data).startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"answer to {ident}: {answer + data}")
        answer += data
    ledger.add("c", connection.getsockname()[1], PORT, begin, now(), ident)


def ask_some(letter, numbers, failures):
    try:
        with socket.create_connection(("127.0.0.1", PORT)) as connection:
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for number in numbers:
                ask(connection, PATHS[number % len(PATHS)], f"{letter}{number}")
    except (OSError, RuntimeError) as problem:
        failures.append(problem)


class Numbers:
    """The same numbers for several threads."""

    def __init__(self, count):
        self.left = iter(range(count))
        self.lock = threading.Lock()

    def __iter__(self):
        return self

    def __next__(self):
        with self.lock:
            return next(self.left)


def phase(letter, at_once, count):
    numbers, failures = Numbers(count), []
    threads = [threading.Thread(target=ask_some, args=(letter, numbers, failures))
               for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("done" if not failures else f"failed: {failures[0]!r}", flush=True)


for line in sys.stdin:
    name, *counts = line.split()
    phase(name, *map(int, counts))
ledger.write()
