#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Measures what `fathom up` stores of the requests of services that nobody instrumented: the graph of
services at 1, 8 and 64 requests at once, against what the services know, and what following them takes.
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import graph
import harness
import judge
import servers

PHASES = {"a": (1, 100), "b": (8, 800), "c": (64, 1600)}
FOLLOWED_S = 120  # at most, until the last request is stored
SPANS = """SELECT trace_id, span_id, parent_id, kind, begin_ns, duration_ns, attributes, resource
           FROM spans WHERE kind IN ('client', 'server')"""


class Up:
    """A `fathom up` with its store in a folder."""

    def __init__(self, fathom, place):
        self.fathom, self.place = fathom, place
        self.errors = open(place + ".err", "w+", encoding="utf-8")
        self.process = subprocess.Popen(
            [fathom, "up", "-o", place, "--budget", "90%", "--request-spans", "0", "--http", "127.0.0.1:0", "--otlp-http", "off",
             "--otlp-grpc", "off", "--zipkin", "off", "--jaeger", "off"], stdout=subprocess.PIPE, stderr=self.errors, text=True)
        for line in self.process.stdout:
            if re.match(r"queries.*http://", line):
                break
        harness.until(lambda: self.status()["capture"]["chunks"] > 2, "chunks are sealed", 60)

    def status(self):
        done = subprocess.run([self.fathom, "status", "-o", self.place, "--json"], capture_output=True,
                              text=True, check=False)
        return json.loads(done.stdout) if not done.returncode else {"capture": {"chunks": 0}}

    def part(self, name):
        return next(part for part in self.status()["processes"] if part["name"] == name)

    def follows(self):
        """Whether what ended by now is stored."""
        begin = time.monotonic()
        harness.until(lambda: 0 < self.status()["requests"]["behind_ns"] < (time.monotonic() - begin) * 1e9,
                      "requests are stored", FOLLOWED_S)

    def stop(self):
        self.process.terminate()
        self.process.wait(60)
        self.process.stdout.close()
        self.errors.close()

    def document(self):
        """What is stored, as `fathom requests --json` says it; times are of the monotonic clock."""
        done = subprocess.run([self.fathom, "sql", "-o", self.place, "--json", SPANS],
                              capture_output=True, text=True, check=True)
        offset = time.time_ns() - time.monotonic_ns()
        traces = {}
        for row in json.loads(done.stdout)["rows"]:
            attributes = json.loads(row["attributes"] or "{}")
            resource = json.loads(row["resource"] or "{}").get("attributes", {})
            begin = int(row["begin_ns"]) - offset
            span = {"span_id": row["span_id"], "kind": row["kind"], "attributes": attributes,
                    "begin_ns": begin, "end_ns": begin + int(row["duration_ns"]),
                    "pid": resource.get("process.pid"), "tid": attributes.get("thread.id")}
            if row["parent_id"]:
                span["parent_id"] = row["parent_id"]
            traces.setdefault(row["trace_id"], []).append(span)
        return {"traces": [{"trace_id": key, "spans": spans} for key, spans in traces.items()]}


def measure(fathom, place, programs, phases):
    up = Up(fathom, os.path.join(place, "up"))
    services = graph.Graph(os.path.join(place, "graph"), *programs)
    try:
        services.phase(*graph.WARM)
        for letter, counts in phases.items():
            before, cpu, begin = up.status()["requests"], up.part("map")["cpu_ns"], time.monotonic()
            services.phase(letter, *counts)
            took = time.monotonic() - begin
            up.follows()
            after = up.status()["requests"]
            spans, passed = after["spans"] - before["spans"], time.monotonic() - begin
            print(f"{counts[1]} requests, {counts[0]} at once: {counts[1] / took:.0f} a second; {spans} spans, "
                  f"{spans / took:.0f} a second; following took {(after['cpu_ns'] - before['cpu_ns']) / 1e3 / max(spans, 1):.0f} us "
                  f"of CPU a span, {(after['cpu_ns'] - before['cpu_ns']) / passed / 1e7:.1f} % of a CPU; map "
                  f"{(up.part('map')['cpu_ns'] - cpu) / passed / 1e7:.1f} %, {up.part('map')['memory_bytes'] >> 20} MB; "
                  f"{after['chunks_left_out'] - before['chunks_left_out']} chunks left out", flush=True)
        capture = up.status()["capture"]
        print(f"{capture['lost']} records lost, {capture['lowered_ns'] / 1e9:.0f} s without bytes", flush=True)
    finally:
        services.stop()
        up.stop()
    rows = judge.rows_read(services.ledgers)
    for phase, verdict in judge.judge(up.document(), rows).items():
        if phase in phases:
            print(f"{phases[phase][0]} at once:", *verdict.told(), sep="\n  ", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs=3, help="fathom, and the services `loop` and `workers`")
    parser.add_argument("--phase", action="append", metavar="LETTER:AT_ONCE:COUNT",
                        help="instead of the three")
    parser.add_argument("--keep", metavar="DIR", help="leave the store and the ledgers there")
    options = parser.parse_args()
    absent = graph.missing()
    if absent:
        sys.exit("missing: " + " ".join(absent))
    harness.require_root()
    phases = PHASES
    if options.phase:
        words = [phase.split(":") for phase in options.phase]
        phases = {letter: (int(at_once), int(count)) for letter, at_once, count in words}
    paths = [os.path.abspath(path) for path in options.programs]
    with tempfile.TemporaryDirectory(prefix="fathom-followed-") as top:
        place = options.keep or top
        os.makedirs(place, exist_ok=True)
        os.chmod(place, 0o755)
        measure(paths[0], os.path.abspath(place), paths[1:], phases)


main()
