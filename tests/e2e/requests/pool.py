#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
A service with threads of CPython: the main thread reads requests, a pool does them, and makes some
calls of theirs as futures in a second pool, over connections that all threads share.

usage: pool.py LEDGER PORT workers=PORT node=PORT loop=PORT redis=PORT
"""
import queue
import select
import socket
import sys
from concurrent.futures import ThreadPoolExecutor

import service
from service import HTTP_ANSWER, Ledger, ident_of, is_whole, kind_of, message, now

ledger = Ledger("pool", sys.argv[1])
PORT = int(sys.argv[2])
PORTS = service.ports_of(sys.argv[3:])
FREE = {peer: queue.LifoQueue() for peer in PORTS}
doing, calling = ThreadPoolExecutor(16), ThreadPoolExecutor(32)
poll = select.epoll()


def connect(port):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection, connection.getsockname()[1]


def call(peer, ident):
    try:
        connection, local = FREE[peer].get_nowait()
    except queue.Empty:
        connection, local = connect(PORTS[peer])
    begin, answer = now(), b""
    connection.sendall(message(peer, ident))
    while not is_whole(peer, answer):
        answer += connection.recv(65536)
    ledger.add("c", local, PORTS[peer], begin, now(), ident)
    FREE[peer].put((connection, local))


def work(connection, remote, begin, ident):
    """One request; what fails must be seen, not kept in a future."""
    try:
        futures = [calling.submit(call, peer, f"{ident}.{nth}")
                   for nth, peer in enumerate(("workers", "node"))]
        call("redis", ident + ".2")
        for future in futures:
            future.result()
        if kind_of(ident) == 0:
            call("loop", ident + ".3")
        connection.sendall(HTTP_ANSWER)
        ledger.add("s", PORT, remote, begin, now(), ident)
        poll.modify(connection, select.EPOLLIN | select.EPOLLONESHOT)
    except Exception as problem:
        print(f"request {ident}: {problem!r}", file=sys.stderr, flush=True)
        raise


def main():
    listener = socket.create_server(("127.0.0.1", PORT), backlog=256)
    poll.register(listener, select.EPOLLIN)
    connections = {}
    while True:
        for fd, _ in poll.poll():
            if fd == listener.fileno():
                connection, address = listener.accept()
                connections[connection.fileno()] = connection, address[1]
                poll.register(connection, select.EPOLLIN | select.EPOLLONESHOT)
                continue
            connection, remote = connections[fd]
            head = connection.recv(65536)
            if not head:
                del connections[fd]
                connection.close()
                continue
            doing.submit(work, connection, remote, now(), ident_of(head) + ".n")


main()
