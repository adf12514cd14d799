# SPDX-License-Identifier: Apache-2.0
"""Received spans: the rate at which they are stored, their bytes, and queries about them."""
import http.client
import json
import os
import random
import re
import signal
import struct
import subprocess
import threading
import time

from host import used_seconds
from http2 import GrpcConnection
from tell import Goal, figure, say, summary

TRACES, SPANS = 64, 8  # of a request: 512 spans
CONNECTIONS = 4
SERVICES, OPERATIONS = 10, 5
WEEK_NS = 7 * 24 * 3600 * 10**9
FILES = 168
QUERIES = 200
HOUR_NS = 3600 * 10**9


def varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes(out) + bytes([number])


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def text_of(key, value):
    return field(1, key.encode()) + field(2, field(1, value.encode()))


def number_of(key, value):
    return field(1, key.encode()) + field(2, varint(3 << 3) + varint(value))


class Request:
    """A request of 512 spans with 11 attributes each, whose ids and times are set anew."""
    node = "node-7"

    def __init__(self, seed):
        self.random = random.Random(seed)
        service = seed % SERVICES
        resource = self.resource(service)
        spans, self.places = b"", []
        for i in range(TRACES * SPANS):
            span, places = self.span(service, i)
            head = varint(2 << 3 | 2) + varint(len(span))
            self.places.append([len(spans) + len(head) + place for place in places])
            spans += head + span
        scope = field(1, field(1, b"lib") + field(2, b"1.0")) + spans
        scope_head = varint(2 << 3 | 2) + varint(len(scope))
        inner = field(1, resource) + scope_head
        moved = len(inner) + len(scope) - len(spans)
        body = inner + scope
        head = varint(1 << 3 | 2) + varint(len(body))
        self.places = [[place + moved + len(head) for place in places] for places in self.places]
        self.body = bytearray(head + body)

    def resource(self, service):
        return b"".join(field(1, text_of(key, value)) for key, value in (
            ("service.name", f"service-{service}"), ("host.name", self.node),
            ("service.version", "1.4.2"), ("telemetry.sdk.language", "go"),
            ("deployment.environment", "production")))

    def thread(self):
        return self.random.randrange(4000)

    def span(self, service, i):
        """A span, and the places of trace, span, parent, begin and end."""
        operation = self.random.randrange(OPERATIONS)
        out, places = b"", []
        for number, size in ((1, 16), (2, 8), (4, 8)):
            out += varint(number << 3 | 2) + bytes([size])
            places.append(len(out))
            out += bytes(size)
        out += field(5, f"GET /api/{service}/{operation}".encode())
        out += varint(6 << 3) + bytes([2 if i % SPANS == 0 else 3])
        for number in (7, 8):
            out += varint(number << 3 | 1)
            places.append(len(out))
            out += bytes(8)
        code = 500 if self.random.random() < 0.01 else 200
        for attribute in (
                text_of("http.request.method", "GET"), text_of("url.path", f"/api/{service}/{i}"),
                text_of("http.route", f"/api/{service}/{operation}"),
                number_of("http.response.status_code", code), text_of("server.address", "10.0.0.7"),
                number_of("server.port", 8080), text_of("user_agent.original", "Mozilla/5.0"),
                text_of("client.address", f"10.1.{i % 256}.{self.random.randrange(256)}"),
                text_of("user.id", f"u{self.random.randrange(100000)}"),
                number_of("thread.id", self.thread()),
                text_of("request.id", f"{self.random.getrandbits(64):016x}")):
            out += field(9, attribute)
        if code == 500:
            out += field(15, varint(3 << 3) + bytes([2]))
        return out, places

    def renew(self, begin_ns):
        """Gives all spans new ids, and times after `begin_ns`. Returns the id of a trace."""
        body, ids = self.body, self.random.randbytes(TRACES * 16 + TRACES * SPANS * 8)
        for i, (trace, span, parent, begin, end) in enumerate(self.places):
            one, at = i // SPANS * 16, TRACES * 16 + i * 8
            body[trace:trace + 16] = ids[one:one + 16]
            body[span:span + 8] = ids[at:at + 8]
            body[parent:parent + 8] = bytes(8) if i % SPANS == 0 else ids[at - 8:at]
            start = begin_ns + i * 1000
            took = int(self.random.expovariate(1 / 40e6))
            body[begin:begin + 8] = struct.pack("<Q", start)
            body[end:end + 8] = struct.pack("<Q", start + took)
        return ids[:16].hex()


class Sender:
    """A connection over which OTLP goes."""
    port, path, kind, good = "OTLP", "/v1/traces", "application/x-protobuf", 200

    def __init__(self, ports):
        self.connection = http.client.HTTPConnection("127.0.0.1", ports[self.port], timeout=120)

    def send(self, body):
        """False: it is not taken now."""
        self.connection.request("POST", self.path, body, {"Content-Type": self.kind})
        answer = self.connection.getresponse()
        answer.read()
        return answer.status == self.good


class GrpcSender:
    """A connection over which OTLP goes as gRPC."""

    def __init__(self, ports):
        self.connection = GrpcConnection(
            ports["OTLP over gRPC"],
            "/opentelemetry.proto.collector.trace.v1.TraceService/Export")

    def send(self, body):
        self.connection.call(body)
        return True


class ZipkinRequest:
    """A request of Zipkin as Request has it: places of ids and times have a fixed width."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        service, spans = seed % SERVICES, []
        for i in range(TRACES * SPANS):
            code = 500 if self.random.random() < 0.01 else 200
            operation = self.random.randrange(OPERATIONS)
            span = {"traceId": "T" * 32, "id": "I" * 16, "parentId": "P" * 16,
                    "name": f"get /api/{service}/{operation}",
                    "timestamp": 10**15, "duration": 10**5,
                    "localEndpoint": {"serviceName": f"service-{service}", "ipv4": "10.0.0.7"},
                    "tags": {
                        "http.request.method": "GET", "url.path": f"/api/{service}/{i}",
                        "http.route": f"/api/{service}/{operation}",
                        "http.response.status_code": str(code), "server.address": "10.0.0.7",
                        "server.port": "8080", "user_agent.original": "Mozilla/5.0",
                        "client.address": f"10.1.{i % 256}.{self.random.randrange(256)}",
                        "user.id": f"u{self.random.randrange(100000)}",
                        "thread.id": str(self.random.randrange(4000)),
                        "request.id": f"{self.random.getrandbits(64):016x}"}}
            if i % SPANS == 0:
                span["kind"] = "SERVER"
                del span["parentId"]
            if code == 500:
                span["tags"]["error"] = "true"
            spans.append(span)
        self.body = bytearray(json.dumps(spans, separators=(",", ":")).encode())
        self.places, at = [], 0
        for i in range(TRACES * SPANS):
            places = []
            for mark in (b'"T', b'"I', b'"P', b"1000000000000000", b"100000,"):
                if mark == b'"P' and i % SPANS == 0:
                    places.append(None)
                    continue
                at = self.body.index(mark, at)
                places.append(at + (mark[0] == 34))
            self.places.append(places)

    def renew(self, begin_ns):
        body, ids = self.body, self.random.randbytes(TRACES * 16 + TRACES * SPANS * 8).hex().encode()
        for i, (trace, span, parent, begin, took) in enumerate(self.places):
            one, at = i // SPANS * 32, TRACES * 32 + i * 16
            body[trace:trace + 32] = ids[one:one + 32]
            body[span:span + 16] = ids[at:at + 16]
            if parent:
                body[parent:parent + 16] = ids[at - 16:at]
            body[begin:begin + 16] = b"%016d" % (begin_ns // 1000 + i)
            body[took:took + 6] = b"%06d" % (100000 + int(self.random.expovariate(1 / 4e4)) % 900000)
        return ids[:32].decode()


class ZipkinSender(Sender):
    port, path, kind, good = "Zipkin", "/api/v2/spans", "application/json", 202


class Serving:
    """fathom serve on the first CPU; whoever asks has the others."""
    command, placed = "serve", ("taskset", "-c", "0")

    def __init__(self, bench, *options):
        self.dir = bench.path(self.command)
        self.process = subprocess.Popen(
            [*self.placed, bench.fathom, self.command, "-o", self.dir, "--http", "127.0.0.1:0",
             "--otlp-http", "127.0.0.1:0", "--otlp-grpc", "127.0.0.1:0", "--zipkin",
             "127.0.0.1:0", "--jaeger", "off", *options], stdout=subprocess.PIPE, text=True)
        self.ports = {}
        while "queries" not in self.ports:
            line = self.process.stdout.readline()
            if not line:
                raise RuntimeError(f"fathom {self.command} ended")
            found = re.match(r"(OTLP over gRPC|OTLP|Zipkin|queries).*?http://127.0.0.1:(\d+)", line)
            if found:
                self.ports[found.group(1)] = int(found.group(2))
        self.queries = http.client.HTTPConnection("127.0.0.1", self.ports["queries"], timeout=120)

    def get(self, path):
        self.queries.request("GET", path)
        answer = self.queries.getresponse()
        body = answer.read()
        if answer.status != 200:
            raise RuntimeError(f"{path}: {answer.status} {body[:200]}")
        return json.loads(body)

    def send(self, spans, begin_of, kind=Request, sender=Sender):
        """Sends spans over some connections; `begin_of` gives the time of the i-th of them."""
        left, traces, lock = [spans // (TRACES * SPANS)], [], threading.Lock()

        def run(seed):
            requests = [kind(seed * 7 + i) for i in range(3)]
            connection = sender(self.ports)
            while True:
                with lock:
                    left[0] -= 1
                    number = left[0]
                if number < 0:
                    return
                request = requests[number % 3]
                traces.append(request.renew(begin_of(number / (spans // (TRACES * SPANS)))))
                while not connection.send(bytes(request.body)):
                    time.sleep(0.1)

        threads = [threading.Thread(target=run, args=(i,)) for i in range(CONNECTIONS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return traces

    def settle(self):
        while self.get("/api/v1/status")["store"]["behind_bytes"]:
            time.sleep(0.05)

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)


def fill(bench, *options, kind=Request, sender=Sender):
    """A server that has all spans, spread over the last week. Returns it, ids, wall and CPU s."""
    now = time.time_ns()
    serving = Serving(bench, *options)
    before = time.monotonic()
    traces = serving.send(bench.spans, lambda share: now - int(share * WEEK_NS), kind, sender)
    acknowledged = time.monotonic() - before
    serving.settle()
    return serving, traces, acknowledged, used_seconds(serving.process.pid)


def rate_tell(bench, goal, **how):
    serving, traces, wall, cpu = fill(bench, **how)
    spans = len(traces) * TRACES * SPANS
    stored = serving.get("/api/v1/status")["store"]["spans"]
    if stored != spans:
        raise RuntimeError(f"{spans} spans were sent, and {stored} are stored")
    figure("spans stored, in millions", spans / 1e6, "M")
    figure("acknowledged", spans / wall, "spans/s", 0)
    figure("stored, by the CPU time of the server", spans / cpu, "spans/s", 0)
    say(f"  {goal}; one run, and the load takes CPU time, too")
    serving.end()
    subprocess.run(["rm", "-r", serving.dir], check=True)


def ingest(bench):
    """OTLP spans, 512 a request over 4 connections, acknowledged when durable; one core"""
    rate_tell(bench, Goal(100000, 150000, most=True))


def ingest_grpc(bench):
    """the same over gRPC"""
    rate_tell(bench, Goal(100000, 150000, most=True), sender=GrpcSender)


def ingest_zipkin(bench):
    """the same in Zipkin's JSON"""
    rate_tell(bench, Goal(60000, 90000, most=True), kind=ZipkinRequest, sender=ZipkinSender)


def bytes_of(directory):
    return sum(os.stat(os.path.join(directory, name)).st_blocks * 512
               for name in os.listdir(directory) if name.startswith("spans-"))


def store(bench):
    """bytes on the disk of a stored span, indexes and sums included"""
    serving, traces, _, _ = fill(bench)
    serving.end()
    figure("a span", bytes_of(serving.dir) / (len(traces) * TRACES * SPANS), "B")
    say(f"  {Goal(80, 55)}")
    subprocess.run(["rm", "-r", serving.dir], check=True)


def timed(serving, name, paths, goals):
    """Tells median and p99 of the answers, with HTTP, in ms."""
    took = []
    for path in paths:
        before = time.monotonic()
        serving.get(path)
        took.append((time.monotonic() - before) * 1000)
    summary(f"{name}, median", took, "ms", Goal(*goals[0]))
    figure(f"{name}, p99", sorted(took)[len(took) * 99 // 100], "ms")
    say(f"  p99: {Goal(*goals[1])}")


def query(bench):
    """queries with HTTP, over files of a week"""
    seconds = max(1, bench.spans // 60000 * 1000 // FILES)
    serving, traces, _, _ = fill(bench, "--store-period", f"{seconds}ms")
    files = serving.get("/api/v1/status")["store"]["files"]
    figure("files", files, "", 0)
    picked = random.Random(1)
    now = time.time_ns()
    hours = [now - picked.randrange(WEEK_NS - HOUR_NS) for _ in range(QUERIES)]
    timed(serving, "by id", [f"/api/v1/traces/{picked.choice(traces)}" for _ in hours],
          ((5, 3), (20, 10)))
    timed(serving, "service, operation and duration in an hour", [
        f"/api/v1/search?service=service-{i % SERVICES}&operation=GET%20/api/{i % SERVICES}/1"
        f"&min_duration=100ms&from={to - HOUR_NS}&to={to}" for i, to in enumerate(hours)],
        ((50, 20), (150, 60)))
    timed(serving, "quantiles of operations over an hour",
          [f"/api/v1/operations?from={to - HOUR_NS}&to={to}" for to in hours], ((20, 10), (50, 20)))
    serving.end()
    subprocess.run(["rm", "-r", serving.dir], check=True)
