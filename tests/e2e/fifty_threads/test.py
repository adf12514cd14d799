#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each call of 50 threads is recorded exactly once, under the span around it."""
import sys
import time
from collections import Counter

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
PROGRAM = sys.argv[2]
THREADS, ROOTS = 50, 10
NAMES = ["getpid", "getppid", "gettid", "nanosleep", "openat", "close", "write", "fstat", "futex",
         "clock_nanosleep"]
tests = harness.Tests()


def record(name, *options):
    """Another recorder on the host can have the program's ring: then again, when it has ended."""
    for attempt in range(20):
        path = fathom.path(f"{name}{attempt}")
        result = fathom.run("record", "-o", path, *options, "--", PROGRAM)
        equal(result.returncode, 0, result.stderr)
        if "not captured" not in result.stderr:
            break
        time.sleep(2)
    return path


def check_recording(path):
    lost = fathom.report(path, "name")["lost"]  # the kernel skips a few wake-ups: recursion
    equal((lost["buffer"], lost["application"]), (0, 0), f"lost records {lost}")
    traces = fathom.trace_all(path)["traces"]
    spans = [s for trace in traces if trace["trace_id"] for s in trace["spans"]]
    under = {}
    for span in spans:
        under.setdefault(span.get("parent_id"), []).append(span)
    roots = [s for s in spans if s["name"] == "root"]
    equal(Counter(s["attributes"]["thread"] for s in roots),
          Counter({n: ROOTS for n in range(THREADS)}), "root spans of each thread")
    equal(len({s["tid"] for s in roots}), THREADS, "threads")
    for root in roots:
        check("parent_id" not in root, f"a root: {root}")
        below = sorted(under[root["span_id"]], key=lambda s: s["begin_ns"])
        equal([s["name"] for s in below if s["kind"] == "internal"], NAMES, "its children")
        equal([s for s in below if s["kind"] == "syscall"], [], "calls of its own")
        for child in below:
            if child["kind"] != "internal":
                continue
            calls = [s for s in under.get(child["span_id"], []) if s["kind"] == "syscall"]
            equal([s["name"] for s in calls], [child["name"]], f"calls under {child['name']}")
            check(child["begin_ns"] <= calls[0]["begin_ns"] <= calls[0]["end_ns"] <=
                  child["end_ns"] and calls[0]["tid"] == root["tid"], "it lies in its span")
    counts = Counter(s["name"] for s in spans if s["kind"] == "syscall")
    equal(counts, Counter({name: THREADS * ROOTS for name in NAMES}), "calls under spans")
    tids = {s["tid"] for s in roots}
    others = [s["name"] for trace in traces if not trace["trace_id"] for s in trace["spans"]
              if s["kind"] == "syscall" and s["tid"] in tids and s["name"] in NAMES]
    # before its first span each waits for the others, and libfathom asks who it is
    equal(set(others) - {"futex", "getpid", "gettid"}, set(), "the same calls under no span")
    harness.check_sums(fathom, path)


@tests.add
@harness.tries_when_emulated
def each_call_is_under_its_span():
    check_recording(record("whole"))


@tests.add
@harness.tries_when_emulated
def chunks_change_nothing():
    path = record("cut", "--rotate", "10ms")
    check(len(fathom.chunks(path)) > max(1, 5 // harness.SLOWER), "chunks")
    check_recording(path)


@tests.add
@harness.tries_when_emulated
def with_spans_only_too():
    path = record("spans", "--spans-only")
    check_recording(path)
    rows = {row["key"]: row["count"] for row in fathom.report(path, "syscall")["rows"]}
    equal(rows, {name: THREADS * ROOTS for name in NAMES}, "and nothing else")


with fathom:
    tests.run()
