#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Asks the services of rules.c: each line of standard input, such as "A halves 4711 4 10", is a way to
ask, the letter of the identities, a port, connections, and requests on each. Says "done" after each.

usage: rules_load.py LEDGER
"""
import socket
import struct
import sys
import threading
import time

from service import Ledger, now

ANSWER = b"ok\n"
LONG_BYTES = 300000  # as rules.h says
PAUSE_S = 0.001
PIPELINE = 4
ledger = Ledger("load", sys.argv[1])


class Line:
    """A connection, which notes its calls."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.local, self.remote = self.socket.getsockname()[1], port

    def note(self, begin, ident):
        ledger.add("c", self.local, self.remote, begin, now(), ident)

    def receive(self, answers=1):
        got = b""
        while len(got) < answers * len(ANSWER):
            data = self.socket.recv(4096)
            if not data:
                raise RuntimeError(f"an answer ended with {got}")
            got += data


def plain(line, idents):
    for ident in idents:
        begin = now()
        line.socket.sendall(ident.encode() + b"\n")
        line.receive()
        line.note(begin, ident)


def halves(line, idents):
    """A request in two sends."""
    for ident in idents:
        begin, text = now(), ident.encode() + b"\n"
        line.socket.sendall(text[:2])
        time.sleep(PAUSE_S)
        line.socket.sendall(text[2:])
        line.receive()
        line.note(begin, ident)


def twos(line, idents):
    """Two requests in one send, which nobody can tell from one."""
    for ident in idents:
        begin = now()
        line.socket.sendall(2 * (ident.encode() + b"\n"))
        line.receive(2)
        line.note(begin, ident)


def pipeline(line, idents):
    """Several requests before the first answer, a send each."""
    for first in range(0, len(idents), PIPELINE):
        some, begins = idents[first:first + PIPELINE], []
        for ident in some:
            begins.append(now())
            line.socket.sendall(ident.encode() + b"\n")
        line.receive(len(some))
        for begin, ident in zip(begins, some):
            line.note(begin, ident)


def early(line, idents):
    """Long requests, which are answered before they were read."""
    for ident in idents:
        begin, text = now(), ident.encode() + b"\n"
        line.socket.sendall(text + bytes(LONG_BYTES - len(text)))
        line.receive()
        line.note(begin, ident)


def half_closed(line, idents):
    """The last word on a connection; the next request has one of its own."""
    for number, ident in enumerate(idents):
        if number:
            line = Line(line.remote)
        begin = now()
        line.socket.sendall(ident.encode() + b"\n")
        line.socket.shutdown(socket.SHUT_WR)
        line.receive()
        line.note(begin, ident)
        line.socket.close()


def reset(line, idents):
    """Every second request is given up, and its connection reset."""
    for number, ident in enumerate(idents):
        begin = now()
        line.socket.sendall(ident.encode() + b"\n")
        if number % 2:
            time.sleep(PAUSE_S)
            line.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            line.socket.close()
            line.note(begin, ident)
            line = Line(line.remote)
        else:
            line.receive()
            line.note(begin, ident)


WAYS = {way.__name__: way for way in (plain, halves, twos, pipeline, early, half_closed, reset)}


def ask(way, letter, port, numbers, failures):
    try:
        way(Line(port), [f"{letter}{number}" for number in numbers])
    except (OSError, RuntimeError) as problem:
        failures.append(problem)


def ask_all(letter, name, port, connections, each):
    """First some one after the other, from which it can be learned what a request does."""
    failures = []
    ask(WAYS[name], letter, port, range(each), failures)
    threads = [threading.Thread(target=ask, args=(
        WAYS[name], letter, port, range(each * (nth + 1), each * (nth + 2)), failures))
        for nth in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("done" if not failures else f"failed: {failures[0]!r}", flush=True)


idle = []
for asked in sys.stdin:
    first, *rest = asked.split()
    if first == "idle":  # connections without a request, to a port
        idle += [Line(int(rest[0])) for _ in range(int(rest[1]))]
        print("done", flush=True)
    else:
        ask_all(first, rest[0], *map(int, rest[1:]))
ledger.write()
