#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Programs whose first act is a span, and that are soon gone: all of it is there. A recorder that others
keep from its CPU for as long as such a program lives counts what it missed; then it is run again.
"""
import itertools
import re
import signal
import subprocess
import sys
import time

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
PROGRAM, EXECS, OTHER = sys.argv[2:5]
SERVICE = "e2e-first-spans"
TIMES = 10
tests = harness.Tests()
numbers = itertools.count()


def spans_of(where):
    return [span for trace in fathom.trace_all(where)["traces"] if trace["trace_id"]
            for span in trace["spans"] if span["kind"] == "internal"]


def check_process(spans, ms):
    """The spans of one process, from its first to its last act."""
    by_name = {span["name"]: span for span in spans}
    equal(sorted(span["name"] for span in spans), ["first", "inner", "thread"], "spans")
    for span in spans:
        equal((span["begin_bound"], span["end_bound"]), ("hard", "hard"),
              f"bounds of {span['name']}")
        equal(span["service"], SERVICE, "service")
        equal(harness.total(span["time"]), span["end_ns"] - span["begin_ns"],
              f"split of {span['name']}")
    first = by_name["first"]
    equal(first.get("parent_id"), None, "parent of the first")
    equal(by_name["inner"]["parent_id"], first["span_id"], "parent of the inner")
    equal(by_name["thread"]["parent_id"], first["span_id"], "parent of the thread's")
    equal(by_name["inner"]["attributes"]["answer"], 42, "attributes")
    check(first["end_ns"] - first["begin_ns"] >= ms * 1000000, "it is as long as it was")
    check(first["time"]["timer_ns"] >= ms * 1000000 * 9 // 10, "and asleep")


def check_processes(where, ms, count):
    spans = spans_of(where)
    pids = {span["pid"] for span in spans}
    equal(len(pids), count, "processes with spans")
    for pid in pids:
        check_process([span for span in spans if span["pid"] == pid], ms)
    threads = {row["thread"] for row in fathom.report(where, "thread")["rows"]}
    check(not count or "early" in threads, f"the thread's name is in {threads}")


def record(name, *command):
    """Records, and says how many programs were not captured: one that is gone at once can be."""
    where = fathom.path(f"{name}-{next(numbers)}")
    result = fathom.run("record", "-o", where, *command)
    equal(result.returncode, 0, f"record: {result.stderr}")
    missed = re.search(r"spans of (\d+) programs not captured", result.stderr)
    missed = int(missed.group(1)) if missed else 0
    lost = fathom.report(where, "name")["lost"]
    equal((lost["total"], lost["application"]), (missed, missed), "lost, each program one record")
    return where, missed


@tests.add
@harness.tries
def of_a_command():
    for _ in range(3):
        where, missed = record("command", "--", PROGRAM, 50)
        equal(missed, 0, "programs not captured")
        check_processes(where, 50, 1)
        harness.check_sums(fathom, where)


@tests.add
@harness.tries
def of_a_command_and_its_child():
    where, missed = record("fork", "--", PROGRAM, 50, "fork")
    equal(missed, 0, "programs not captured")
    check_processes(where, 50, 2)


@tests.add
def of_a_command_of_two_milliseconds():
    """On a busy machine it can be gone before it is reached: then that is counted."""
    captured = 0
    for _ in range(TIMES):
        where, missed = record("brief", "--", PROGRAM, 2)
        check_processes(where, 2, 1 - missed)
        captured += 1 - missed
        if captured == 3:
            return
    check(False, f"{captured} of {TIMES} were captured")


@tests.add
@harness.tries
def in_many_chunks():
    where, missed = record("chunks", "--rotate", "5ms", "--", PROGRAM, 50)
    equal(missed, 0, "programs not captured")
    check(len(fathom.chunks(where)) > 3, "several chunks")
    check_processes(where, 50, 1)
    harness.check_sums(fathom, where)
    harness.check_babeltrace(fathom, where)


@tests.add
@harness.tries
def in_a_pid_namespace():
    options = ["--pid", "--mount-proc", "--fork"]
    if subprocess.run(["unshare", *options, "true"], capture_output=True).returncode:
        return "no unshare here"
    # unshare is reached first, and to mount takes its time: a short life could end before
    where, missed = record("pids", "--", "unshare", *options, PROGRAM, 500)
    equal(missed, 0, "programs not captured")
    check_processes(where, 500, 1)
    return None


def calls_under(where, name):
    """How many calls of getppid each span of that name has, and the time in it that is unknown."""
    found = []
    for trace in fathom.trace_all(where)["traces"]:
        for span in trace["spans"]:
            if span["kind"] == "internal" and span["name"] == name:
                calls = [s for s in trace["spans"]
                         if s["name"] == "getppid" and s.get("parent_id") == span["span_id"]]
                found.append((len(calls), span["time"]["unknown_ns"]))
    return found


@tests.add
def of_a_file_that_was_seen_before():
    """Where it has its context is known at its exec. One may come before the first was found."""
    for options in ([], ["--spans-only"]):
        name = "execs" + "".join(options)
        where, missed = record(name, *options, "--", EXECS, str(TIMES))
        found = calls_under(where, "child")
        equal(len(found), TIMES - missed, "spans")
        whole = [calls for calls, _ in found if calls == 100]
        check(len(whole) >= TIMES - missed - 1, f"calls under the spans of {name}: {found}")
        if options:
            known = [unknown for _, unknown in found if unknown == 0]
            check(len(known) >= TIMES - missed - 1, f"all time is known in {name}: {found}")


@tests.add
@harness.tries
def of_a_file_with_another_library():
    """It has its context elsewhere: what was assumed does not stay."""
    for options in ([], ["--spans-only"]):
        where, missed = record("other" + "".join(options), *options, "--", EXECS, "1", OTHER)
        equal(missed, 0, "programs not captured")
        equal([calls for calls, _ in calls_under(where, "elsewhere")], [100], "calls")


def recorder_start(where):
    recorder = subprocess.Popen([fathom.binary, "record", "-a", "-o", where],
                                stderr=subprocess.PIPE, text=True)
    for _ in range(600):  # it records once a chunk is open
        if subprocess.run([fathom.binary, "rotate", where], capture_output=True).returncode == 0:
            return recorder
        time.sleep(0.05)
    recorder.kill()
    recorder.wait()
    raise harness.Failure("no recorder within 30 s")


@tests.add
def under_a_recorder_of_the_host():
    where = fathom.path("host")
    recorder = recorder_start(where)
    try:
        for ms in (50, 2, 50, 2, 50, 2, 50, 2):
            subprocess.run([PROGRAM, str(ms)], check=True)
    finally:
        recorder.send_signal(signal.SIGINT)
        errors = recorder.communicate(timeout=60)[1]
    equal(recorder.returncode, 0, f"record -a: {errors}")
    by_pid = {}
    for span in spans_of(where):
        if span["service"] == SERVICE:
            by_pid.setdefault(span["pid"], []).append(span)
    long = [spans for spans in by_pid.values()
            if max(span["end_ns"] - span["begin_ns"] for span in spans) >= 50000000]
    check(len(long) >= 4, f"{len(long)} of the 4 that live for 50 ms have their spans")
    check(len(by_pid) >= 6, f"{len(by_pid)} of 8 have their spans")
    for spans in by_pid.values():
        check_process(spans, 2)


with fathom:
    tests.run()
