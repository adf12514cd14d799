#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Rings whose writer stops, lies, or is faster than the reader."""
import os
import shutil
import subprocess
import sys
import time

import harness
from harness import check, equal
from trapped import events, fathom, length, spans

RING = os.path.abspath(sys.argv[2])
FIFTY = os.path.abspath(sys.argv[3])
MS = 1000000
SPANS = 50
SYSCALL_KIND, LOST_BUFFER = 11, 1
tests = harness.Tests()


def await_stop(pid):
    for _ in range(3000):
        with open(f"/proc/{pid}/stat", encoding="ascii") as stat:
            if stat.read().rsplit(")", 1)[1].split()[0] == "T":
                return
        time.sleep(0.01)
    raise harness.Failure("the writer does not stop")


def child_of(pid):
    for _ in range(1000):
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
            found = file.read().split()
        if found:
            return int(found[0])
        time.sleep(0.01)
    raise harness.Failure("no command")


@tests.add
def a_writer_stopped_in_the_middle():
    """Cuts do not wait for it: what it was about to write comes later, with its true time."""
    for attempt in range(20):
        path = fathom.path(f"stopped{attempt}")
        with harness.Process([fathom.binary, "record", "-o", path, "--rotate", "100ms", "--", RING,
                              "stopped"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True) as recorder:
            writer = child_of(recorder.pid)
            await_stop(writer)
            time.sleep(0.7)
            os.kill(writer, 18)
            stdout, stderr = recorder.communicate(timeout=60)
        equal(recorder.returncode, 0, stderr)
        if "not captured" not in stderr:  # another recorder on the host had the ring
            break
        time.sleep(2)
    check("nothing lost" in stderr, stderr)
    check(len(fathom.chunks(path)) > 5, "chunks were sealed meanwhile")
    found = spans(path, "internal", "trap")
    equal(len(found), 2 * SPANS + 1, "spans")
    late = [s for s in found if s["begin_ns"] == int(stdout)]
    equal(len(late), 1, "the one that was begun before the stop")
    check(length(late[0]) > 600 * MS, f"and ended after: {late}")
    equal((late[0]["begin_bound"], late[0]["end_bound"]), ("hard", "hard"), "its bounds")
    check(late[0]["time"]["other_ns"] > 600 * MS, f"it was stopped: {late}")
    check(late[0]["time"]["unknown_ns"] < 50 * MS, f"which is known: {late}")
    for one in found:
        equal(one["begin_bound"], "hard", "begins")
    harness.check_sums(fathom, path)
    harness.check_babeltrace(fathom, path)
    first = fathom.ok("report", "--json", "--by", "name", path)
    equal(fathom.ok("report", "--json", "--by", "name", path), first, "a second look")


@tests.add
def a_hostile_writer():
    """It can neither shrink the memory nor disturb what others write."""
    script = f'"{RING}" hostile & "{FIFTY}"; other=$?; wait $! && exit $other'
    for attempt in range(20):
        path = fathom.path(f"hostile{attempt}")
        result = fathom.run("record", "-o", path, "--rotate", "200ms", "--", "sh", "-c", script)
        equal(result.returncode, 0, f"recorder and programs end well: {result.stderr}")
        if "not captured" not in result.stderr:
            break
        time.sleep(2)
    roots = spans(path, "internal", "root")
    equal(len(roots), 500, "spans of the other program")
    check(all(s["end_bound"] == "hard" for s in roots), "whole ones")
    harness.check_sums(fathom, path)
    harness.check_babeltrace(fathom, path)


@tests.add
def a_full_ring_counts_what_it_lost():
    """The recorder stands still while 300,000 calls are made: recorded and lost are all of them."""
    if not shutil.which("babeltrace2"):
        return "babeltrace2 is missing"
    calls = 300000
    path = fathom.path("full")
    result = fathom.run("record", "-o", path, "--buffer", "256K", "--syscalls", "getppid", "--",
                        RING, "flood", calls)
    equal(result.returncode, 0, result.stderr)
    rows = {row["key"]: row["count"] for row in fathom.report(path, "syscall")["rows"]}
    losses = events(path, "lost")
    lost = sum(e["count"] for e in losses if e["lost_kind"] == SYSCALL_KIND)
    check(lost > calls / 2, f"{lost} were lost")
    check(rows["getppid"] > 100, f"{rows} were recorded")
    equal(rows["getppid"] + lost, calls, "recorded and lost calls")
    told = fathom.report(path, "syscall")["lost"]
    equal(told["total"], sum(e["count"] for e in losses), f"what the report says: {told}")
    check("LOST" in result.stderr, result.stderr)
    harness.check_sums(fathom, path)
    harness.check_babeltrace(fathom, path)
    return None


with fathom:
    tests.run()
