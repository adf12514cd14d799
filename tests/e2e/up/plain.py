#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
A service that nobody instrumented: a thread for each connection; it answers eight bytes by eight.

plain.py PORT [BACK]: with BACK it asks the service at that port once for each request, over a new connection.
"""
import socket
import sys
import threading

PORT, BACK = int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0


def serve(connection):
    with connection:
        while (request := connection.recv(8)):
            if BACK:
                with socket.create_connection(("127.0.0.1", BACK)) as back:
                    back.sendall(request)
                    back.recv(8)
            connection.sendall(request)


with socket.create_server(("127.0.0.1", PORT)) as listener:
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
