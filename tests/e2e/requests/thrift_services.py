#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Services that speak Thrift, after the social network of DeathStarBench, with Debian's python3-thrift:

    load -> nginx -> compose (over HTTP, a thread for each connection) -> user, post
                     user (a thread for each connection)               -> memcached
                     post (one thread reads and answers, a pool works) -> redis, memcached

usage: thrift_services.py ROLE LEDGER PORT PEER=PORT...
The ledger is that of service.py. The load reads phases as load.py does; its PORT is that of nginx.
"""
import http.client
import http.server
import queue
import socket
import sys
import threading

import service
from service import Ledger, is_whole, kind_of, now
from thrift.protocol.TBinaryProtocol import TBinaryProtocol, TBinaryProtocolFactory
from thrift.server.THttpServer import THttpServer
from thrift.server.TNonblockingServer import TNonblockingServer
from thrift.server.TServer import TThreadedServer
from thrift.Thrift import TMessageType, TProcessor, TType
from thrift.transport.TSocket import TServerSocket, TSocket
from thrift.transport.TTransport import TFramedTransport, TFramedTransportFactory, TMemoryBuffer

ROLE, PORT = sys.argv[1], int(sys.argv[3])
PORTS = service.ports_of(sys.argv[4:])
FREE = {peer: queue.LifoQueue() for peer in PORTS}
ledger = Ledger(ROLE, sys.argv[2])
served = threading.local()  # the port of the client, and since when, where HTTP brought the request


# ---- messages: a method that takes a string and gives one, as the compiler of Thrift would write it

def message_write(protocol, kind, number, text):
    protocol.writeMessageBegin("does", kind, number)
    protocol.writeStructBegin("does")
    protocol.writeFieldBegin("text", TType.STRING, 1 if kind == TMessageType.CALL else 0)
    protocol.writeString(text)
    protocol.writeFieldEnd()
    protocol.writeFieldStop()
    protocol.writeStructEnd()
    protocol.writeMessageEnd()
    protocol.trans.flush()


def message_read(protocol):
    """(number, text)"""
    text = None
    _, _, number = protocol.readMessageBegin()
    protocol.readStructBegin()
    while True:
        _, kind, _ = protocol.readFieldBegin()
        if kind == TType.STOP:
            break
        text = protocol.readString()
        protocol.readFieldEnd()
    protocol.readStructEnd()
    protocol.readMessageEnd()
    return number, text


class Processor(TProcessor):
    def process(self, iprot, oprot):
        number, ident = message_read(iprot)
        if ROLE == "compose":
            ledger.add("s", PORT, served.port, now(), now(), ident + ".n")
            ident += ".n"
        WORK[ROLE](ident)
        message_write(oprot, TMessageType.REPLY, number, "ok")
        return True


# ---- calls

def taken(peer, connect):
    """A connection that is free, or a new one."""
    try:
        return FREE[peer].get_nowait()
    except queue.Empty:
        return connect(PORTS[peer])


def thrift_connect(port):
    plain = TSocket("127.0.0.1", port)
    framed = TFramedTransport(plain)
    framed.open()
    plain.handle.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return TBinaryProtocol(framed), plain.handle.getsockname()[1]


def thrift_call(peer, ident):
    protocol, local = taken(peer, thrift_connect)
    begin = now()
    message_write(protocol, TMessageType.CALL, 1, ident)
    message_read(protocol)
    ledger.add("c", local, PORTS[peer], begin, now(), ident)
    FREE[peer].put((protocol, local))


def store_connect(port):
    connection = socket.create_connection(("127.0.0.1", port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection, connection.getsockname()[1]


def store_call(peer, ident):
    connection, local = taken(peer, store_connect)
    begin, answer = now(), b""
    connection.sendall(service.message(peer, ident))
    while not is_whole(peer, answer):
        answer += connection.recv(65536)
    ledger.add("c", local, PORTS[peer], begin, now(), ident)
    FREE[peer].put((connection, local))


def compose(ident):
    thrift_call("user", ident + ".0")
    thrift_call("post", ident + ".1")
    if kind_of(ident) == 1:
        thrift_call("user", ident + ".2")


def user(ident):
    store_call("memcached", ident + ".0")


def post(ident):
    store_call("redis", ident + ".0")
    if kind_of(ident) != 2:
        store_call("memcached", ident + ".1")


WORK = {"compose": compose, "user": user, "post": post}


# ---- servers

class PortKeeper(http.server.ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def finish_request(self, request, client_address):
        served.port = client_address[1]
        super().finish_request(request, client_address)


def serve():
    protocols, framed = TBinaryProtocolFactory(), TFramedTransportFactory()
    if ROLE == "compose":
        http.server.BaseHTTPRequestHandler.log_message = lambda *_: None
        THttpServer(Processor(), ("127.0.0.1", PORT), protocols, server_class=PortKeeper).serve()
    elif ROLE == "user":
        TThreadedServer(Processor(), TServerSocket("127.0.0.1", PORT), framed, protocols,
                        daemon=True).serve()
    else:
        TNonblockingServer(Processor(), TServerSocket("127.0.0.1", PORT), protocols, protocols,
                           threads=8).serve()


# ---- the load

def ask(client, ident):
    body = TMemoryBuffer()
    message_write(TBinaryProtocol(body), TMessageType.CALL, 1, ident)
    begin = now()
    client.request("POST", "/compose", body.getvalue(), {"Content-Type": "application/x-thrift"})
    local, answer = client.sock.getsockname()[1], client.getresponse()
    _, text = message_read(TBinaryProtocol(TMemoryBuffer(answer.read())))
    if answer.status != 200 or text != "ok":
        raise RuntimeError(f"answer to {ident}: {answer.status} {text}")
    ledger.add("c", local, PORT, begin, now(), ident)


def ask_some(letter, numbers, failures):
    client = http.client.HTTPConnection("127.0.0.1", PORT, timeout=60)
    try:
        while True:
            ask(client, f"{letter}{numbers.get_nowait()}")
    except queue.Empty:
        client.close()
    except Exception as problem:  # pylint: disable=broad-except
        failures.append(problem)


def phase(letter, at_once, count):
    numbers, failures = queue.SimpleQueue(), []
    for number in range(count):
        numbers.put(number)
    threads = [threading.Thread(target=ask_some, args=(letter, numbers, failures))
               for _ in range(at_once)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("done" if not failures else f"failed: {failures[0]!r}", flush=True)


def load():
    for line in sys.stdin:
        name, *counts = line.split()
        phase(name, *map(int, counts))
    ledger.write()


if ROLE == "load":
    load()
else:
    serve()
