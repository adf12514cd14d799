# SPDX-License-Identifier: Apache-2.0
"""Senders of spans that send again what was not acknowledged, as exporters do."""
import http.client
import json
import threading
import time

SENDERS = 2
SPANS = 5  # of a request, which is a trace
PAUSE_S = 0.01
SERVICE = "killed"


def request(trace):
    now = time.time_ns()
    spans = [{"traceId": f"{trace:032x}", "spanId": f"{i + 1:016x}", "name": "GET /", "kind": 2,
              "startTimeUnixNano": str(now + i), "endTimeUnixNano": str(now + 1000 + i)}
             for i in range(SPANS)]
    return json.dumps({"resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": SERVICE}}]},
        "scopeSpans": [{"spans": spans}]}]})


class Load:
    """Knows which traces were acknowledged, and which were not. `port` may change at any time."""

    service, spans = SERVICE, SPANS

    def __init__(self, port):
        self.port, self.ends = port, threading.Event()
        self.lock, self.next = threading.Lock(), 1
        self.acknowledged, self.open = set(), set()
        self.threads = [threading.Thread(target=self.run) for _ in range(SENDERS)]
        for thread in self.threads:
            thread.start()

    def run(self):
        while not self.ends.is_set():
            with self.lock:
                trace, self.next = self.next, self.next + 1
                self.open.add(trace)
            body = request(trace)
            while not self.ends.is_set():
                if self.send(body):
                    with self.lock:
                        self.open.discard(trace)
                        self.acknowledged.add(trace)
                    break
                time.sleep(PAUSE_S)
            time.sleep(PAUSE_S)

    def send(self, body):
        """Whether it is acknowledged; each attempt has a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("POST", "/v1/traces", body, {"Content-Type": "application/json"})
            return connection.getresponse().status == 200
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def for_a_while(self, seconds):
        """Some time, or, where the machine is busy, until something came through."""
        before, until = len(self.acknowledged), time.monotonic() + seconds
        while time.monotonic() < until or len(self.acknowledged) == before:
            time.sleep(0.01)

    def end(self):
        self.ends.set()
        for thread in self.threads:
            thread.join()
