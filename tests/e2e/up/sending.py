#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
A service whose tracer sends spans over OTLP in JSON, and hands its context on: a thread for each connection.

sending.py OTLP SERVICE PORT [BACK]: a request is the ids of its caller's span, 48 digits, of which none are
all zero. With BACK it asks the service at that port once for each request, over one connection. The answer is
the ids of the request's own span.
"""
import http.client
import json
import queue
import secrets
import socket
import sys
import threading
import time

OTLP, SERVICE, PORT = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
BACK = int(sys.argv[4]) if len(sys.argv) > 4 else 0
SERVER, CLIENT = 2, 3
NONE = "0" * 48
ended = queue.SimpleQueue()


def span(name, kind, ids, parent):
    return {"traceId": ids[:32], "spanId": ids[32:], "parentSpanId": parent, "name": name, "kind": kind,
            "startTimeUnixNano": str(time.time_ns())}


def end(told):
    told["endTimeUnixNano"] = str(time.time_ns())
    return told


def exporter():
    """Sends over one connection, as exporters do, off the threads of requests."""
    connection = http.client.HTTPConnection("127.0.0.1", OTLP, timeout=30)
    while True:
        body = {"resourceSpans": [{"resource": {"attributes": [
            {"key": "service.name", "value": {"stringValue": SERVICE}}]},
            "scopeSpans": [{"spans": ended.get()}]}]}
        connection.request("POST", "/v1/traces", json.dumps(body), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status


def call(back, trace, parent):
    """Asks the other service within a span."""
    told = span("ask", CLIENT, trace + secrets.token_hex(8), parent)
    back.sendall((trace + told["spanId"]).encode())
    back.recv(48)
    return end(told)


def serve(connection):
    back = socket.create_connection(("127.0.0.1", BACK)) if BACK else None
    while (request := connection.recv(48).decode()):
        trace = secrets.token_hex(16) if request == NONE else request[:32]
        told = span(f"serve {SERVICE}", SERVER, trace + secrets.token_hex(8),
                    "" if request == NONE else request[32:])
        spans = [call(back, trace, told["spanId"])] if back else []
        time.sleep(0.002)
        connection.sendall((trace + told["spanId"]).encode())
        ended.put(spans + [end(told)])


threading.Thread(target=exporter, daemon=True).start()
with socket.create_server(("127.0.0.1", PORT)) as listener:
    while True:
        threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()
