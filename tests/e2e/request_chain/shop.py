#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
A shop that nobody instrumented: one thread accepts connections and reads requests, a pool of threads
answers them, each by two calls to redis over a connection of its own.

Usage: shop.py PORT REDIS_PORT LEDGER. It writes to the ledger, a line for each request: the port of
its client, the port of its connection to redis, and when it was read, taken by a worker, and answered.
"""
import queue
import selectors
import socket
import sys
import threading
import time

port, redis_port, ledger = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
WORKERS = 4
jobs = queue.Queue()
told = threading.Lock()


def call(redis, text):
    redis.sendall(text.encode())
    return redis.recv(4096)


def work():
    redis = socket.create_connection(("127.0.0.1", redis_port))
    mine = redis.getsockname()[1]
    while True:
        client, begin, request = jobs.get()
        taken = time.monotonic_ns()
        key = request.split()[1].decode()
        call(redis, f"*2\r\n$4\r\nINCR\r\n${len(key)}\r\n{key}\r\n")
        value = call(redis, f"*2\r\n$3\r\nGET\r\n${len(key)}\r\n{key}\r\n")
        body = value + b"secret-of-the-shop"
        line = f"{client.getpeername()[1]} {mine} {begin} {taken}"
        client.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        with told, open(ledger, "a", encoding="ascii") as out:
            print(line, time.monotonic_ns(), file=out)
        client.close()


listener = socket.create_server(("127.0.0.1", port), backlog=64)
for _ in range(WORKERS):
    threading.Thread(target=work, daemon=True).start()
ready = selectors.DefaultSelector()
ready.register(listener, selectors.EVENT_READ)
while True:
    for key, _ in ready.select():
        if key.fileobj is listener:
            ready.register(listener.accept()[0], selectors.EVENT_READ)
            continue
        begin = time.monotonic_ns()
        data = key.fileobj.recv(4096)
        ready.unregister(key.fileobj)
        if data:
            jobs.put((key.fileobj, begin, data))
        else:
            key.fileobj.close()
