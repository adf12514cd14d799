#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom serve while the wall clock is set by a day, and between two starts: clock.py FATHOM LIBRARY

What came before a step stays and is found, by id and in its own time alone, and nothing is too old
for --store-keep but what is. LIBRARY gives the server a clock of its own.
"""
import json
import os
import sys
import tempfile
import time

from checks import Checks
from wall_clock import DAY, HOUR, SECOND, Clock
from server import Server

RETAIN_S = 10  # files are looked at so often
OPTIONS = ("--store-period", "200ms", "--store-keep", "12h")
SPANS = 3  # of a trace
MINUTE = 60 * SECOND


class Period:
    """A time by the clock in which a trace was received."""

    def __init__(self, server, clock, number):
        self.trace, self.name = f"{number:x}", f"work {number}"
        begin = clock.now_ns() - SECOND
        self.from_ns, self.to_ns = begin - MINUTE, begin + MINUTE
        self.body = json.dumps({"resourceSpans": [{
            "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": "stepped"}}]},
            "scopeSpans": [{"spans": [
                {"traceId": f"{number:032x}", "spanId": f"{i + 1:016x}", "name": self.name, "kind": 2,
                 "startTimeUnixNano": str(begin + i), "endTimeUnixNano": str(begin + 1000000 + i)}
                for i in range(SPANS)]}]}]}).encode()
        self.send(server)
        server.wait(f"{self.name} is found", lambda: len(server.trace(self.trace)) == SPANS)
        time.sleep(0.3)  # the next spans go into the next file

    def send(self, server):
        begin = time.monotonic()
        status, _ = server.post(self.body, Content_Type="application/json")
        if status != 200:
            raise RuntimeError(f"{self.name} is refused: {status}")
        if time.monotonic() - begin > 30:
            raise RuntimeError(f"{self.name} waited for a clock")

    def seen(self, server):
        """The spans of the trace; who else is in its time; and what the sums have of that time."""
        times = {"from": str(self.from_ns), "to": str(self.to_ns)}
        found = server.get("/api/v1/search", service="stepped", **times)[1]["traces"]
        rows = server.get("/api/v1/operations", service="stepped", **times)[1]["operations"]
        return (len(server.trace(self.trace)), [int(trace["trace_id"], 16) for trace in found],
                {row["operation"]: row["count"] for row in rows})

    def wanted(self):
        return SPANS, [int(self.trace, 16)], {self.name: SPANS}


def check_all(server, checks, periods, when):
    server.wait_stored()
    for period in periods:
        checks.equal(f"{when}: {period.name} is alone in its time", period.seen(server), period.wanted())
    checks.equal(f"{when}: no file is dropped", server.get("/api/v1/status")[1]["store"]["dropped"], 0)


def steps(server, clock, checks, periods):
    """While it runs: a day ahead, back, and a day behind."""
    for ahead_ns in (0, DAY, 0, -DAY):
        clock.set(ahead_ns)
        if ahead_ns or not periods:
            periods.append(Period(server, clock, len(periods) + 1))
        check_all(server, checks, periods, f"{ahead_ns // HOUR} h ahead")
        periods[-1].send(server)  # as who got no answer
        server.wait_stored()
        if ahead_ns:
            time.sleep(RETAIN_S + 2)
            check_all(server, checks, periods, f"{ahead_ns // HOUR} h ahead, later")
    checks.equal("repeats are known", server.get("/api/v1/status")[1]["store"]["repeats"], 4 * SPANS)


def starts(fathom, folder, clock, checks, periods):
    """Between two starts: a day behind still, right again, and later than what is kept."""
    for ahead_ns in (-DAY - HOUR, 0, 13 * HOUR):
        clock.set(ahead_ns)
        server = Server(fathom, folder, *OPTIONS, env=clock.env)
        try:
            if ahead_ns < 0:
                periods.append(Period(server, clock, len(periods) + 1))
            if ahead_ns <= 0:
                time.sleep(RETAIN_S + 2)
                check_all(server, checks, periods, f"started {ahead_ns // HOUR} h ahead")
                continue
            server.wait("old files are dropped", lambda: not any(
                server.trace(period.trace) for period in periods))
        finally:
            server.end(15)


def main():
    fathom, library = sys.argv[1:]
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="fathom-clock-") as top:
        clock, folder, periods = Clock(top, library), os.path.join(top, "data"), []
        server = Server(fathom, folder, *OPTIONS, env=clock.env)
        try:
            steps(server, clock, checks, periods)
            checks.equal("it ends", server.end(15), 0)
        finally:
            server.process.kill()
            server.process.wait()
        starts(fathom, folder, clock, checks, periods)
    print(f"1..{checks.number}")
    return 1 if checks.failed else 0


sys.exit(main())
