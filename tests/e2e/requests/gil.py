#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
The service of rules.c in Python: a thread for each connection, all of which compute. They wake each
other for the interpreter's lock, which hands nothing over.

usage: gil.py LEDGER LETTER MODE PORT BACKEND-PORT
"""
import socket
import sys
import threading

from service import Ledger, now

CALLS = 2
TURNS = 30000  # some milliseconds, longer than a thread may keep the lock
ledger = Ledger("gil", sys.argv[1])
PORT, BACKEND = map(int, sys.argv[4:6])


def line_of(connection):
    got = b""
    while not got.endswith(b"\n"):
        data = connection.recv(4096)
        if not data:
            return None
        got += data
    return got.decode().strip()


def serve(connection, remote):
    with socket.create_connection(("127.0.0.1", BACKEND)) as backend, connection:
        local = backend.getsockname()[1]
        while ident := line_of(connection):
            asked = now()
            for nth in range(CALLS):
                sum(range(TURNS))
                begin = now()
                backend.sendall(f"{ident}.{nth}\n".encode())
                line_of(backend)
                ledger.add("c", local, BACKEND, begin, now(), f"{ident}.{nth}")
            ledger.add("s", PORT, remote, asked, now(), ident)
            connection.sendall(b"ok\n")


sys.setswitchinterval(0.0005)
with socket.create_server(("127.0.0.1", PORT), backlog=256) as listener:
    while True:
        accepted, address = listener.accept()
        accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        threading.Thread(target=serve, args=(accepted, address[1]), daemon=True).start()
