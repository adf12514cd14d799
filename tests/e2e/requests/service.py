# SPDX-License-Identifier: Apache-2.0
"""What the programs in Python share: their ledger, and the few words of protocols that they speak."""
import os
import signal
import time

now = time.monotonic_ns
HTTP_ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
ENDS = {"redis": b"\r\n", "memcached": b"END\r\n"}  # of answers; those of HTTP end with their body
HTTP_END = b"ok"


class Ledger:
    """
    Each call in and out with its ports, times and identity, as ledger.h says. Rows stay in memory
    until SIGTERM, or write().
    """

    def __init__(self, service, path):
        self.service, self.path, self.rows = service, path, []
        signal.signal(signal.SIGTERM, self.end)

    def add(self, side, local, remote, begin, end, ident):
        self.rows.append((side, local, remote, begin, end, ident))

    def write(self):
        with open(self.path, "w", encoding="ascii") as file:
            for row in list(self.rows):
                print(self.service, *row, os.getpid(), 0, file=file)

    def end(self, *_):
        self.write()
        os._exit(0)


def ports_of(words):
    """{name: port} of words such as redis=6379"""
    return {name: int(port) for name, port in (word.split("=") for word in words)}


def ident_of(head):
    """The identity in the head of an HTTP request: the last part of its path."""
    return head.split(b" ", 2)[1].rsplit(b"/", 1)[1].decode()


def kind_of(ident):
    """Which of four kinds the request is, by the number in its identity: "a17.n" has 17."""
    return int(ident[1:].split(".")[0]) // 3 % 4


def message(peer, ident):
    """What asks a peer."""
    if peer == "redis":
        return f"GET {ident}\r\n".encode()
    if peer == "memcached":
        return f"get {ident}\r\n".encode()
    return f"GET /{ident} HTTP/1.1\r\nHost: {peer}\r\n\r\n".encode()


def is_whole(peer, answer):
    return answer.endswith(ENDS.get(peer, HTTP_END))
