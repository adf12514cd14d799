#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom serve, killed at random moments under load: nothing that was acknowledged is lost or doubled.

kills.py FATHOM [COUNT]: 5 kills, 50 with FATHOM_TEST_LONG; FATHOM_TEST_SEED chooses the moments.

Several senders send over OTLP and Zipkin, and send again what was not acknowledged, as exporters do.
Files of the store end every half second, so that kills also hit their change. Some kills hit a
server that is just starting.
"""
import http.client
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

from checks import Checks
from server import PATIENCE, Server

SENDERS = {"OTLP": 3, "Zipkin": 2}
SPANS = 20  # of a request, which is a trace
PAUSE_S = 0.005
AT_START = 0.3  # the share of kills of a server that begins
SERVING_ALONE = 0.5  # of the others, first kill the process that serves, and not its supervisor
OPTIONS = ("--store-period", "500ms")


def otlp(trace, begin_ns):
    spans = [{"traceId": f"{trace:032x}", "spanId": f"{i + 1:016x}", "name": "GET /", "kind": 2,
              "startTimeUnixNano": str(begin_ns + i), "endTimeUnixNano": str(begin_ns + 1000 + i)}
             for i in range(SPANS)]
    return json.dumps({"resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "killed"}}]},
        "scopeSpans": [{"spans": spans}]}]})


def zipkin(trace, begin_ns):
    return json.dumps([{"traceId": f"{trace:032x}", "id": f"{i + 1:016x}", "name": "get /",
                        "kind": "SERVER", "timestamp": begin_ns // 1000 + i, "duration": 1,
                        "localEndpoint": {"serviceName": "killed"}} for i in range(SPANS)])


WAYS = {"OTLP": ("/v1/traces", otlp, 200), "Zipkin": ("/api/v2/spans", zipkin, 202)}


class Load:
    """Senders, which know which traces were acknowledged and which were not."""

    def __init__(self):
        self.ports, self.ends = {}, threading.Event()
        self.lock, self.next = threading.Lock(), 1
        self.acknowledged, self.open = set(), set()
        self.threads = [threading.Thread(target=self.run, args=(which,))
                        for which, count in SENDERS.items() for _ in range(count)]
        for thread in self.threads:
            thread.start()

    def run(self, which):
        while not self.ends.is_set():
            with self.lock:
                trace, self.next = self.next, self.next + 1
                self.open.add(trace)
            body = WAYS[which][1](trace, time.time_ns())
            while not self.ends.is_set():
                if self.send(which, body):
                    with self.lock:
                        self.open.discard(trace)
                        self.acknowledged.add(trace)
                    break
                time.sleep(PAUSE_S)
            time.sleep(PAUSE_S)

    def send(self, which, body):
        """Whether it is acknowledged; each attempt has a connection of its own."""
        path, _, good = WAYS[which]
        connection = http.client.HTTPConnection("127.0.0.1", self.ports.get(which, 1), timeout=5)
        try:
            connection.request("POST", path, body, {"Content-Type": "application/json"})
            return connection.getresponse().status == good
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def end(self):
        self.ends.set()
        for thread in self.threads:
            thread.join()


def begin(fathom, folder):
    """A server; the one that was killed may end only now."""
    until = time.monotonic() + PATIENCE
    while True:
        try:
            return Server(fathom, folder, *OPTIONS)
        except RuntimeError as error:
            if "another" not in str(error) or time.monotonic() > until:
                raise


def start_and_kill(fathom, folder, chosen):
    """A server that is killed before or while it begins."""
    process = subprocess.Popen(
        [fathom, "serve", "-o", folder, "--http", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0",
         "--otlp-grpc", "off", "--zipkin", "off", "--jaeger", "off", *OPTIONS], stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL)
    time.sleep(chosen.uniform(0, 0.4))
    process.kill()
    process.wait()


def load_for(load, seconds):
    """Some time, or, where the machine is busy, until something came through."""
    before, until = len(load.acknowledged), time.monotonic() + seconds
    while time.monotonic() < until or len(load.acknowledged) == before:
        time.sleep(0.01)


def kill_all(fathom, folder, count, chosen):
    """Returns the load, and the last server, which lives."""
    load, killed = Load(), 0
    try:
        while killed < count:
            if chosen.random() < AT_START:
                start_and_kill(fathom, folder, chosen)
                killed += 1
                continue
            server = begin(fathom, folder)
            load.ports = dict(server.ports)
            load_for(load, chosen.uniform(0.05, 1.2))
            if chosen.random() < SERVING_ALONE:  # the supervisor starts it again
                os.kill(server.pids()[-1], signal.SIGKILL)
                killed += 1
                load_for(load, chosen.uniform(0.05, 1.2))
            server.process.kill()
            killed += 1
            server.process.wait()
            server.process.stdout.close()
            server.process.stderr.close()
        server = begin(fathom, folder)
        load.ports = dict(server.ports)
        load_for(load, 0.5)
    finally:
        load.end()
    return load, server


def check(server, checks, load, rows):
    status = server.get("/api/v1/status")[1]
    print(f"# {len(load.acknowledged)} requests, {status['store']['files']} files, "
          f"{status['store']['repeats']} repeats since the last start")
    stored = {row["trace"]: row for row in rows}
    names = {trace: f"{trace:032x}" for trace in load.acknowledged}
    checks.equal("each acknowledged trace is whole", sorted(
        trace for trace, name in names.items() if stored.get(name, {}).get("spans") != SPANS), [])
    checks.equal("no span is stored twice", sorted(
        row["trace"] for row in rows if row["stored"] != row["spans"]), [])
    may_be = {f"{trace:032x}" for trace in load.open}
    checks.equal("what else is stored was sent",
                 sorted(set(stored) - set(names.values()) - may_be), [])
    operations = server.get("/api/v1/operations", service="killed", **{"from": "1d"})[1]
    checks.equal("sums count each span once",
                 sum(row["count"] for row in operations["operations"]),
                 sum(row["spans"] for row in rows))
    picked = random.Random(1).sample(sorted(names), min(20, len(names)))
    checks.equal("they are found by id", [trace for trace in picked if len(
        {span["span_id"] for span in server.trace(names[trace])}) != SPANS], [])
    checks.equal("nothing of log and store is lost or refused", [
        status["log"]["lost_bytes"], status["log"]["entries_bad"], status["store"]["lost_files"],
        status["store"]["entries_refused"]], [0, 0, 0, 0])


def main():
    fathom = sys.argv[1]
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 50 if os.environ.get("FATHOM_TEST_LONG") else 5
    seed = int(os.environ.get("FATHOM_TEST_SEED") or time.time_ns() % 10**6)
    print(f"# seed {seed}, {count} kills")
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="fathom-kills-") as folder:
        load, server = kill_all(fathom, folder, count, random.Random(seed))
        try:
            server.wait_stored()
            done = subprocess.run(
                [fathom, "sql", "-o", folder, "--json",
                 "SELECT trace_id AS trace, count(*) AS stored, count(DISTINCT span_id) AS spans"
                 " FROM spans GROUP BY ALL"], capture_output=True, text=True, timeout=4 * PATIENCE,
                check=True)
            check(server, checks, load, json.loads(done.stdout)["rows"])
        finally:
            server.process.kill()
            server.process.wait()
    print(f"1..{checks.number}")
    return 1 if checks.failed else 0


sys.exit(main())
