#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
A service that nobody instrumented: a thread for each connection; it answers eight bytes by eight.

plain.py PORT [BACK [FILE]]: with BACK, which is not 0, it asks the service at that port once for each request, over a
new connection; with FILE it needs the lock of that file for each, and sleeps, so that each has a wait to be stored.
"""
import fcntl
import socket
import sys
import threading
import time

PORT, BACK = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0
FILE = sys.argv[3] if len(sys.argv) > 3 else None


def serve(connection):
    with connection:
        while (request := connection.recv(8)):
            if BACK:
                with socket.create_connection(("127.0.0.1", BACK)) as back:
                    back.sendall(request)
                    back.recv(8)
            if FILE:
                with open(FILE, "w", encoding="ascii") as file:
                    fcntl.flock(file, fcntl.LOCK_EX)
                    time.sleep(0.0002)
            connection.sendall(request)


with socket.create_server(("127.0.0.1", PORT)) as listener:
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
