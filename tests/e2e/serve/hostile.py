#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom serve: hostile clients cost neither memory nor the time of others. hostile.py FATHOM SAMPLE"""
import gzip
import http.client
import os
import random
import re
import signal
import socket
import struct
import sys
import tempfile
import threading
import time

from checks import Checks
from server import PATIENCE, PROTOBUF, Server

SLOW = 300         # clients of each address
SERVED = 2         # seconds in which others are served meanwhile
MEMORY_MB = 512
SENDERS = 16       # that send large requests at once
LIMIT_SECONDS = 4  # of a request
NAMES = 1000000 if os.environ.get("FATHOM_TEST_LONG") else 50000
NAMES_ROOM = 10000  # that are new and come into lists, in an hour
NAMES_OF_SERVICE = 2000
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
RECEIVERS = ("OTLP", "OTLP over gRPC", "Zipkin", "queries")
PATHS = {"OTLP": "/v1/traces", "Zipkin": "/api/v2/spans"}


def frame(kind, flags, stream, payload=b""):
    return struct.pack(">I", len(payload))[1:] + bytes((kind, flags)) + struct.pack(
        ">I", stream) + payload


def field(number, data):
    """A field of protobuf that has bytes."""
    length, out = len(data), b""
    while length >= 128:
        out, length = out + bytes((length % 128 + 128,)), length // 128
    return bytes((number * 8 + 2,)) + out + bytes((length,)) + data


def connect(server, which):
    return socket.create_connection(("127.0.0.1", server.ports[which]), PATIENCE)


def memory_mb(server):
    """The most memory that the process that serves had so far."""
    with open(f"/proc/{server.pids()[-1]}/status", encoding="ascii") as file:
        return int(re.search(r"VmHWM:\s+(\d+) kB", file.read()).group(1)) / 1024


def is_closed(connection):
    """Whether the server ended a connection; what it sends first is passed over."""
    connection.settimeout(0)
    try:
        while connection.recv(65536):
            pass
        return True
    except BlockingIOError:
        return False
    except OSError:
        return True


# What a slow client sends first; and then a byte at a time.
BEGINS = {
    "OTLP": [b"", b"P", b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nX-",
             b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n"
             b"Content-Length: 1000000\r\n\r\n\n"],
    "OTLP over gRPC": [b"", PREFACE[:9], PREFACE + frame(4, 0, 0), PREFACE + frame(4, 0, 0) +
                       b"\0\xff\xff\1\4\0\0\0\1"],
    "Zipkin": [b"", b"GET /api/v2/serv", b"POST /api/v2/spans HTTP/1.1\r\nHost: localhost\r\n"],
    "queries": [b"", b"G", b"GET /api/v1/status HTTP/1.1\r\nHost: "]}


def served_seconds(server, sample):
    """How long the slowest of some proper requests took."""
    slowest = 0
    for _ in range(3):
        for which, method, path, body, headers in (
                ("OTLP", "POST", "/v1/traces", sample, PROTOBUF),
                ("Zipkin", "POST", "/api/v2/spans", b"[]", {"Content-Type": "application/json"}),
                ("queries", "GET", "/api/v1/status", None, None),
                ("OTLP over gRPC", "GET", "/", None, None)):
            begin = time.monotonic()
            server.ask(which, method, path, body, headers)
            slowest = max(slowest, time.monotonic() - begin)
    return slowest


def check_slow(server, checks, sample):
    clients = []
    for which, begins in BEGINS.items():
        for i in range(SLOW):
            clients.append(connect(server, which))
            clients[-1].sendall(begins[i % len(begins)])
    took = served_seconds(server, sample)
    checks.equal(f"others are served in {SERVED} s beside {len(clients)} slow clients "
                 f"(took {took:.2f})", took < SERVED, True)
    left, end = clients, time.monotonic() + LIMIT_SECONDS + PATIENCE
    while left and time.monotonic() < end:
        for client in left:
            try:
                client.send(b"x", socket.MSG_DONTWAIT)  # they go on
            except OSError:
                pass
        left = [client for client in left if not is_closed(client)]
        time.sleep(0.2)
    checks.equal("slow clients are ended", len(left), 0)
    for client in clients:
        client.close()


def check_unread(server, checks, sample):
    """Clients that ask and never read."""
    clients = [connect(server, which) for which in ("queries", "Zipkin") for _ in range(50)]
    request = b"GET /api/v1/status HTTP/1.1\r\nHost: localhost\r\n\r\n" * 200
    for client in clients:
        client.settimeout(0)
        try:
            client.sendall(request)
        except OSError:
            pass
    took = served_seconds(server, sample)
    checks.equal(f"and beside clients that never read (took {took:.2f})", took < SERVED, True)
    for client in clients:
        client.close()


def post_many(server, which, body, headers):
    """The statuses of the same request by many clients at once."""
    statuses = []

    def send():
        try:
            statuses.append(server.ask(which, "POST", PATHS[which], body, headers)[0])
        except (OSError, http.client.HTTPException) as error:
            statuses.append(type(error).__name__)

    threads = [threading.Thread(target=send) for _ in range(SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return set(statuses)


def large_requests():
    """Requests of 16 MB of which a decoder makes more, and whether they may be stored."""
    ids = field(1, b"\1" * 16) + field(2, b"\2" * 8)
    spans = field(2, field(2, ids)) * 131072
    values = field(2, field(2, ids + field(9, b"") * 5000000))
    nested = b""
    for _ in range(2000):
        nested = field(5, field(1, nested))
    some = field(2, field(2, ids + field(9, b"") * 1000)) * 1900
    return {"too many spans": field(1, spans + field(2, field(2, ids))),
            "many small spans": field(1, spans), "as many values as allowed": field(1, some),
            "many values": field(1, values),
            "deep values": field(1, field(2, field(2, ids + field(9, field(2, nested))))),
            "a long text": field(1, field(2, field(2, ids + field(5, b"x" * (15 << 20)))))}


def check_large(server, checks):
    bomb = gzip.compress(bytes(200 << 20), 1)
    packed = {**PROTOBUF, "Content-Encoding": "gzip"}
    in_json = {"Content-Type": "application/json"}
    for name, which, body, headers, allowed in (
            ("gzip bombs", "OTLP", bomb, packed, {413, 429}),
            ("gzip bombs, Zipkin", "Zipkin", bomb, {**in_json, "Content-Encoding": "gzip"},
             {413, 429}),
            ("17 MB", "OTLP", bytes(17 << 20), PROTOBUF, {413, 429}),
            ("16 MB of brackets", "OTLP", b"[" * (16 << 20), in_json, {400, 429}),
            ("16 MB of brackets, Zipkin", "Zipkin", b"[" * (16 << 20), in_json, {400, 429})):
        got = post_many(server, which, body, headers)
        checks.equal(f"{SENDERS} clients at once: {name} ({sorted(map(str, got))})",
                     got <= allowed, True)
    for name, body in large_requests().items():
        got = post_many(server, "OTLP", gzip.compress(body, 1), packed)
        checks.equal(f"{SENDERS} clients at once: {name} ({sorted(map(str, got))})",
                     got <= {200, 400, 413, 429}, True)
        print(f"# memory: {memory_mb(server):.0f} MB", flush=True)


def names_request(service, first, count):
    """Spans of which each has another name."""
    now = struct.pack("<Q", time.time_ns())
    times = b"\x39" + now + b"\x41" + now
    spans = b"".join(
        b"\x12\x44\x0a\x10names..." + i + b"\x12\x08" + i + b"\x2a\x14/user/" + b"%014d" % number + times
        for number in range(first, first + count) for i in (struct.pack(">Q", number + 1),))
    resource = field(1, field(1, b"service.name") + field(2, field(1, service.encode())))
    return field(1, field(1, resource) + field(2, spans))


def check_names(server, checks, sample):
    """An id in each name: neither memory nor lists grow, and spans keep their names."""
    services, step, least = 20, 10000, PATIENCE
    for first in range(0, NAMES, step):
        body = names_request(f"names-{first // step % services}", first, step)
        status = server.post(body)[0]
        checks.equal(f"names from {first} on are received", status, 200) if status != 200 else None
        if least > SERVED:
            least = min(least, served_seconds(server, sample))
    checks.equal(f"others are served meanwhile (took {least:.2f})", least < SERVED, True)
    server.wait_stored()
    listed = server.get("/api/v1/operations", **{"from": "1h"})[1]["operations"]
    ours = [row for row in listed if row["service"].startswith("names-")]
    most = min(services * NAMES_OF_SERVICE, NAMES_ROOM, NAMES) + services
    checks.equal(f"{len(ours)} operations are listed of {NAMES}", len(ours) <= most, True)
    checks.equal("the others count as one of each service", sum(row["count"] for row in ours), NAMES)
    status = server.get("/api/v1/status")[1]["store"]
    left = NAMES - sum(row["operation"] != "other" for row in ours)
    checks.equal("and are counted in the status", status["unlisted_spans"], left)
    last = server.trace((b"names..." + struct.pack(">Q", NAMES)).hex())
    checks.equal("a span keeps its name", [span["name"] for span in last],
                 [f"/user/{NAMES - 1:014d}"])
    late = names_request("late", NAMES, 1)
    checks.equal("a new service is received", server.post(late)[0], 200)
    server.wait_stored()
    listed = server.get("/api/v1/operations", service="late", **{"from": "1h"})[1]["operations"]
    checks.equal("and is listed by its name", [row["operation"] for row in listed],
                 [f"/user/{NAMES:014d}"])


def talk(server, which, data):
    """What the server answers to bytes, until it closes or says nothing for a while."""
    got = b""
    with connect(server, which) as client:
        client.settimeout(1)
        try:
            client.sendall(data)
            while piece := client.recv(65536):
                got += piece
        except OSError:
            pass
    return got


def check_smuggled(server, checks, sample):
    """A request within a request is not taken for one."""
    inner = (b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n"
             b"Content-Length: " + str(len(sample)).encode() + b"\r\n\r\n" + sample)
    head = (b"POST /v1/traces HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/x-protobuf\r\n"
            b"Connection: close\r\n")
    before = server.get("/api/v1/status")[1]["received"]["requests"]
    for name, lines in (
            ("both lengths", b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
            ("two lengths", b"Content-Length: 0\r\nContent-Length: 5\r\n\r\n"),
            ("a negative length", b"Content-Length: -1\r\n\r\n"),
            ("a length with letters", b"Content-Length: 0x10\r\n\r\n"),
            ("a length beyond 64 bits", b"Content-Length: 18446744073709551617\r\n\r\n"),
            ("a chunk beyond 64 bits",
             b"Transfer-Encoding: chunked\r\n\r\nfffffffffffffffff0\r\n"),
            ("no chunk", b"Transfer-Encoding: chunked\r\n\r\nxyz\r\n")):
        got = talk(server, "OTLP", head + lines + inner)
        checks.equal(f"smuggled: {name}: is refused",
                     (got[:12] in (b"HTTP/1.1 400", b"HTTP/1.1 413"), got.count(b" 200 OK")),
                     (True, 0))
    after = server.get("/api/v1/status")[1]["received"]["requests"]
    checks.equal("nothing that was smuggled is received", after, before)


def check_noise(server, checks, sample):
    noise = random.Random(1)
    opened = PREFACE + frame(4, 0, 0)
    for which in RECEIVERS:
        for _ in range(50):
            with connect(server, which) as client:
                begin = opened if which == "OTLP over gRPC" and noise.random() < 0.7 else b""
                try:
                    client.sendall(begin + noise.randbytes(noise.randrange(3000)))
                except OSError:
                    pass
    for name, data in (
            ("streams that are reset", b"".join(
                frame(1, 4, 2 * i + 1, b"\x82\x86\x84") + frame(3, 0, 2 * i + 1, b"\0\0\0\x08")
                for i in range(20000))),
            ("pings", frame(6, 0, 0, bytes(8)) * 50000),
            ("settings", frame(4, 0, 0) * 50000),
            ("headers without an end", frame(1, 0, 1, b"\x82\x86\x84") + frame(
                9, 0, 1, b"\0\1a\1b" * 1000) * 2000),
            ("open streams", b"".join(frame(1, 4, 2 * i + 1, b"\x82\x86\x84")
                                      for i in range(20000)))):
        talk(server, "OTLP over gRPC", opened + data)
        took = served_seconds(server, sample)
        checks.equal(f"HTTP/2: {name}: others are served (took {took:.2f})", took < SERVED, True)


def main():
    fathom, sample_path = sys.argv[1:]
    with open(sample_path, "rb") as file:
        sample = file.read()
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="fathom-hostile-") as folder:
        server = Server(fathom, folder, "--limits", f"time={LIMIT_SECONDS}s")
        try:
            check_slow(server, checks, sample)
            check_unread(server, checks, sample)
            check_smuggled(server, checks, sample)
            check_noise(server, checks, sample)
            most = memory_mb(server)
            checks.equal("SIGTERM ends it beside what is left", server.end(signal.SIGTERM), 0)
            server = Server(fathom, folder)
            check_large(server, checks)
            check_names(server, checks, sample)
            server.wait_stored()
            most = max(most, memory_mb(server))
            checks.equal(f"memory stays under {MEMORY_MB} MB ({most:.0f})", most < MEMORY_MB, True)
            checks.equal("SIGTERM ends it", server.end(signal.SIGTERM), 0)
        finally:
            if server.process.poll() is None:
                server.process.kill()
                server.process.wait()
    print(f"1..{checks.number}")
    return 1 if checks.failed else 0


sys.exit(main())
