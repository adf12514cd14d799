#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes spans as a tracer without any help does, and sends them over OTLP in JSON.

traced.py PORT SERVICE CASE: with port 0 it sends none. Prints a line for each span, with its trace id, span id, begin and end,
and an empty one. Ends with its input.
"""
import fcntl
import http.client
import json
import secrets
import subprocess
import sys
import tempfile
import threading
import time

PORT, SERVICE, CASE = int(sys.argv[1]), sys.argv[2], sys.argv[3]
spans = []


class Span:
    """A span of the block; its id is of its parent's trace, or of a new one."""

    def __init__(self, name, parent=None, failed=False, **attributes):
        self.name, self.parent, self.attributes = name, parent, attributes
        self.status = 2 if failed else 0
        self.trace = parent.trace if parent else secrets.token_hex(16)
        self.id = secrets.token_hex(8)

    def begin(self):
        self.begin_ns = time.time_ns()
        return self

    def end(self):
        self.end_ns = time.time_ns()
        spans.append(self)

    def __enter__(self):
        return self.begin()

    def __exit__(self, *_):
        self.end()

    def told(self):
        return {"traceId": self.trace, "spanId": self.id, "name": self.name, "kind": 2,
                "parentSpanId": self.parent.id if self.parent else "",
                "status": {"code": self.status},
                "startTimeUnixNano": str(self.begin_ns), "endTimeUnixNano": str(self.end_ns),
                "attributes": [{"key": key.replace("_", "."), "value": {"intValue": str(value)}}
                               for key, value in self.attributes.items()]}


def compute(seconds):
    end = time.thread_time() + seconds
    while time.thread_time() < end:
        pass


def nested():
    with Span("outer", failed=True) as outer:
        time.sleep(0.1)
        with Span("inner", outer):
            compute(0.06)


def locked():
    """Waits for the lock of a file that another process has."""
    with tempfile.NamedTemporaryFile(prefix="fathom-traced-") as file:
        with subprocess.Popen(["flock", file.name, "sh", "-c", "echo; sleep 0.3"], stdout=subprocess.PIPE) as holder:
            holder.stdout.readline()
            with Span(file.name, failed=True):
                fcntl.flock(file, fcntl.LOCK_EX)
                compute(0.02)


def overlapping():
    first, second = Span("first").begin(), Span("second").begin()
    time.sleep(0.02)
    first.end()
    time.sleep(0.02)
    second.end()


def threads():
    def work(seconds):
        with Span("work", thread_id=threading.get_native_id()):
            time.sleep(seconds)
            compute(0.03)
    both = [threading.Thread(target=work, args=(seconds,)) for seconds in (0.05, 0.1)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()


def unnamed_threads():
    def work():
        with Span("work"):
            compute(0.05)
    both = [threading.Thread(target=work) for _ in range(2)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()


def slow():
    for _ in range(30):
        with Span("buy"):
            time.sleep(0.012)


def send(resource):
    body = {"resourceSpans": [{"resource": {"attributes": [
        {"key": key, "value": {"stringValue": value}} for key, value in resource.items()]},
        "scopeSpans": [{"spans": [span.told() for span in spans]}]}]}
    connection = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
    connection.request("POST", "/v1/traces", json.dumps(body), {"Content-Type": "application/json"})
    assert connection.getresponse().status == 200
    connection.close()


resource = {"service.name": SERVICE}
if CASE == "elsewhere":
    resource["host.name"] = "another-host.example"
    nested()
elif CASE == "bound":
    resource["telemetry.sdk.language"] = "python"
    unnamed_threads()
else:
    globals()[CASE]()
if PORT:
    send(resource)
for span in spans:
    print(span.name, span.trace, span.id, span.begin_ns, span.end_ns)
print(flush=True)
sys.stdin.read()  # it lives until it is told to end
