#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: talk.py tcp|tcp6|unix|packets [--early SENT READ] [--splice] [--sendfile] [--wait]

Two processes talk over one connection, and each notes which bytes of which
direction it moved, counted from the connection's begin. With --early the left
one has sent SENT bytes before it says "ready PID PID", of which the right one
has read READ; with --wait it then waits for a line. With --sendfile both send a
file's bytes. Prints what was noted.
"""
import argparse
import json
import os
import random
import socket
import struct
import sys
import time

ROUNDS = 40
MOST = 50000  # that is asked at once
TCPI_BYTES_ACKED = 120  # of struct tcp_info: u64, then bytes_received


def connection(kind):
    if kind == "unix":
        return socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    if kind == "packets":
        return socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    family, address = ((socket.AF_INET6, "::1") if kind == "tcp6" else
                       (socket.AF_INET, "127.0.0.1"))
    with socket.socket(family) as listener:
        listener.bind((address, 0))
        listener.listen(1)
        left = socket.create_connection(listener.getsockname()[:2])
        return left, listener.accept()[0]


def file_made(size):
    file = os.memfd_create("file")
    os.write(file, bytes(size))
    return file


class End:
    """One end of the connection, and what it did."""

    def __init__(self, sock, options):
        self.sock, self.kind = sock, options.kind
        self.file = file_made(MOST) if options.sendfile else None
        self.at = {"sent": 0, "received": 0}
        self.notes = []
        self.pipe = os.pipe()

    def note(self, direction, size, noted=True):
        step = 1 if self.kind == "packets" else size
        begin = self.at[direction]
        self.at[direction] += step
        if noted:
            self.notes.append([direction, begin, begin + step])

    def send(self, size, noted=True):
        while size:
            if self.file:
                sent = os.sendfile(self.sock.fileno(), self.file, 0, size)
            else:
                sent = self.sock.send(bytes(size))
            self.note("sent", sent, noted)
            size -= sent

    def receive(self, size, noted=True, most=1 << 20):
        while size:
            got = len(self.sock.recv(min(size, most)))
            self.note("received", got, noted)
            size -= got

    def splice(self, size):
        got = os.splice(self.sock.fileno(), self.pipe[1], size)
        os.read(self.pipe[0], got)
        self.note("received", got, False)
        return size - got

    def told(self):
        answer = {"pid": os.getpid(), "inode": os.fstat(self.sock.fileno()).st_ino,
                  "notes": self.notes}
        if self.kind.startswith("tcp"):
            info = self.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
            answer["acked"], answer["received"] = struct.unpack_from("QQ", info, TCPI_BYTES_ACKED)
        return answer


def sizes(options):
    """The same for both: what left asks, what right answers, and in which pieces it reads."""
    draw = random.Random(7)
    for turn in range(ROUNDS):
        ask, answer = draw.choice([1, 64, 3000, MOST]), draw.randrange(1, 9000)
        most = draw.randrange(1 + ask // 7, ask + 1) if options.kind != "packets" else 1 << 20
        yield ask, answer, most, options.splice and turn % 5 == 3 and ask > 1


def left(end, options):
    for ask, answer, _, _ in sizes(options):
        end.send(ask)
        end.receive(answer)


def right(end, options):
    for ask, answer, most, splice in sizes(options):
        if splice:
            time.sleep(0.02)  # until the sender's call is over
            ask = end.splice(ask // 2) + ask - ask // 2
        end.sock.recv(10, socket.MSG_PEEK)
        end.receive(ask, most=most)
        end.send(answer)


def early(ends, options):
    sent, read = options.early
    ends[0].send(sent, False)
    ends[1].receive(read, False)
    return sent - read


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("kind")
    parser.add_argument("--early", nargs=2, type=int, default=[0, 0])
    parser.add_argument("--splice", action="store_true")
    parser.add_argument("--sendfile", action="store_true")
    parser.add_argument("--wait", action="store_true")
    options = parser.parse_args()
    ends = [End(sock, options) for sock in connection(options.kind)]
    unread = early(ends, options)
    start, result = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        ends[0].sock.close()
        os.close(start[1])
        os.read(start[0], 1)
        end = ends[1]
        if unread:
            end.receive(unread + 100)
        right(end, options)
        os.write(result[1], json.dumps(end.told()).encode())
        os._exit(0)
    ends[1].sock.close()
    os.close(result[1])
    print("ready", os.getpid(), child, flush=True)
    if options.wait:
        sys.stdin.readline()
    if unread:
        ends[0].send(100)  # before anything of it is read
    os.write(start[1], b"x")
    left(ends[0], options)
    with os.fdopen(result[0]) as other:
        print(json.dumps([ends[0].told(), json.load(other)]), flush=True)
    os.waitpid(child, 0)


main()
