#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
A service with a thread for each connection. For each request, four bytes, it asks the next service
once, if it has one, and answers with four bytes.

Usage: service.py PORT [NEXT_HOST NEXT_PORT]; or service.py load HOST PORT CONNECTIONS REQUESTS, which
asks so often over each of so many connections, one request at a time, and ends.
"""
import socket
import sys
import threading


def exact(conn):
    data = b""
    while len(data) < 4:
        more = conn.recv(4 - len(data))
        if not more:
            return None
        data += more
    return data


def serve(conn, following):
    conn.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    onward = socket.create_connection(following) if following else None
    while (data := exact(conn)) is not None:
        if onward:
            onward.sendall(data)
            data = exact(onward)
        conn.sendall(data)
    conn.close()
    if onward:
        onward.close()


def load(host, port, connections, requests):
    for _ in range(connections):
        conn = socket.create_connection((host, port))
        for _ in range(requests):
            conn.sendall(b"ping")
            exact(conn)
        conn.close()


if sys.argv[1] == "load":
    load(sys.argv[2], *map(int, sys.argv[3:6]))
else:
    listener = socket.create_server(("", int(sys.argv[1])), backlog=64)
    after = (sys.argv[2], int(sys.argv[3])) if len(sys.argv) > 2 else None
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0], after), daemon=True).start()
