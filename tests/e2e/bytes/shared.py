#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads send on one TCP socket at once, in calls that wait for room.

Each fills its bytes with a letter of its own. Prints who has sent which bytes,
as the reader found them: [[tid, from, to], ...].
"""
import itertools
import json
import socket
import threading
import time

THREADS = 4
CALLS = 6
BYTES = 400000


def send_all(sock, number, tids):
    tids[number] = threading.get_native_id()
    for _ in range(CALLS):
        rest = memoryview(bytes([number]) * BYTES)
        while rest:
            rest = rest[sock.send(rest):]


def main():
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
    listener.bind(("127.0.0.1", 0))
    listener.listen(1)
    sender = socket.socket()
    sender.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 65536)
    sender.connect(listener.getsockname())
    reader = listener.accept()[0]
    tids = {}
    threads = [threading.Thread(target=send_all, args=(sender, i, tids)) for i in range(THREADS)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)  # all of them wait for room
    runs, at = [], 0
    while at < THREADS * CALLS * BYTES:
        for number, group in itertools.groupby(reader.recv(1 << 16)):
            size = len(list(group))
            if runs and runs[-1][0] == number:
                runs[-1][2] += size
            else:
                runs.append([number, at, at + size])
            at += size
    for thread in threads:
        thread.join()
    print(json.dumps([[tids[number], begin, end] for number, begin, end in runs]))


main()
