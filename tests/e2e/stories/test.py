#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
One program of many short stories under each option: all that fathom says of each is true.

Recordings begin and end in the middle of stories, are cut in it, and broken off in it.
"""
import collections
import json
import os
import subprocess
import sys
import time

import harness
from harness import check, equal
from judged import Judged, Seen, below, check_thread, length, places

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
STORIES = sys.argv[2]
WHILE = 0.5 * harness.SLOWER  # seconds of stories
TRIES = 3
tests = harness.Tests()

SPANS_ONLY = ["--spans-only"]
LEFT_OUT = ["--syscalls", "getppid"]
ROTATE = ["--rotate", "100ms"]
WAITS = ["--detail", "waits"]
FLIGHT = ["--flight", "--detail", "calls"]

# What of a span may be unknown, at most, and why. In all other cases nothing may.
UNKNOWN = [
    # fathom-record(1), --spans-only: what a thread does in a span that is older is unknown until
    # the program was seen in it, and the place of its context is found within 100 ms
    (lambda options, j: j.where == "begin", lambda j: length(j.possible)),
    # limits.md: in a gap every thread is unknown, and behind it as at a begin; of a span that a
    # crash left open also its time on a CPU between what was seen of it
    (lambda options, j: j.where == "gap",
     lambda j: j.span["end_ns"] - j.span["begin_ns"] - length(j.sure) + j.on_cpu_ns()),
    # there, too: of a process that began just then, the place is found within 100 ms
    (lambda options, j: SPANS_ONLY[0] in options and j.row["story"] == "exec",
     lambda j: j.on_cpu_ns()),
    # fathom-record(1), --syscalls: what was left out is not told from user code
    (lambda options, j: LEFT_OUT[0] in options, lambda j: j.on_cpu_ns()),
    # a thread's last stretch on a CPU is not told before it ends
    (lambda options, j: j.where == "end", lambda j: 20000),
]


def others(judged):
    """limits.md: a wait in epoll_wait or poll that nobody ended is `other`."""
    return judged.row["story"] in ("poll", "epoll") and judged.span["end_bound"] == "soft"


class Recorder:
    """Follows a process that is there already, from the first record on."""

    def __init__(self, path, options, pid):
        self.path, self.options = path, options
        self.left = set(os.listdir(path)) if os.path.isdir(path) else set()
        self.process = subprocess.Popen(
            [fathom.binary, "record", "-o", path, "-p", str(pid), *options],
            stderr=subprocess.PIPE, text=True)
        harness.until(self.has_begun, "the recording to begin")

    def has_begun(self):
        equal(self.process.poll(), None, "status of the recorder")
        if "--flight" in self.options:
            return fathom.run("snapshot", self.path).returncode == 0
        return os.path.isdir(self.path) and any(
            name.startswith(".open") for name in set(os.listdir(self.path)) - self.left)

    def end(self):
        self.process.terminate()
        _, stderr = self.process.communicate(timeout=60)
        equal(self.process.returncode, 0, f"record: {stderr}")

    def kill(self):
        self.process.kill()
        self.process.communicate()


def record(name, options, act):
    """Tells stories, and records some of them. -> (recording, rows of all)"""
    path = fathom.path(name)
    with open(path + ".rows", "w+", encoding="ascii") as rows:
        with harness.Process([STORIES], stdin=subprocess.PIPE, stdout=rows) as program:
            time.sleep(0.15)
            recorder = Recorder(path, options, program.pid)
            time.sleep(WHILE)
            if act == "snapshot":
                fathom.ok("snapshot", path)
                time.sleep(0.2)
                fathom.ok("snapshot", path)
            if act == "kill":
                recorder.kill()
                time.sleep(0.05)
                recorder = Recorder(path, options, program.pid)
                time.sleep(WHILE)
            recorder.end()
            time.sleep(0.1)
            program.stdin.close()
            equal(program.wait(60), 0, "status of the program")
        rows.seek(0)
        return path, [json.loads(line) for line in rows]


def judge(row, span, seen, options):
    judged = Judged(row, span, seen, seen.where(row))
    judged.check_sum()
    judged.check_causes(others(judged))
    if judged.where == "in":
        judged.check_bounds()
        judged.check_cpu(LEFT_OUT[0] in options)
    judged.check_unknown(sum(most(judged) for holds, most in UNKNOWN if holds(options, judged)))
    return judged


def look(path, rows, options):
    """What is wrong: {(story, where, in short): text}"""
    answer = fathom.trace_all(path)
    seen = Seen(fathom.chunks(path), answer["gaps"])
    traces = [trace for trace in answer["traces"] if trace["trace_id"]]
    spans = {span["span_id"]: span for trace in traces for span in trace["spans"]}
    waits, wrong, told = {}, {}, collections.Counter()
    for trace in traces:
        waits.update(below(trace))
        for problem in places(trace):
            raise harness.Broken(problem)
    for row in rows:
        where, span = seen.where(row), spans.get(row["span"])
        told[where] += 1
        if where in ("in", "end") and not span and not answer["lost"]["application"]:
            wrong[(row["name"], where, "missing")] = f"{row} is missing"
        if not span or not where or (where != "in" and not span["threads"]):
            continue  # of a span of which only the end was heard nobody knows who had it
        judged = judge(row, span, seen, options)
        if where in ("in", "end"):
            judged.check_waits([wait for wait in waits.get(row["span"], [])
                                if wait["pid"] == span["pid"]])
        for problem in judged.problems:
            wrong[(row["name"], where, problem.split(" is ")[0])] = f"{problem}: {row} {span}"
    for trace in answer["traces"]:
        thread = trace["spans"][0]
        mine = [row for row in rows if row["tid"] == thread.get("tid")]
        if thread["kind"] == "thread" and check_thread(mine, thread, seen):
            problem = check_thread(mine, thread, seen)
            wrong[(mine[0]["story"], "thread", problem.split(" is ")[0])] = f"{problem}: {thread}"
    print(f"# {dict(told)}, wrong: {sorted(wrong)}")
    judged = told["in"] if "--buffer" not in options else sum(told.values()) - told[None]
    if judged <= 20:
        wrong[("stories", "in", "few")] = f"stories in the recording: {told}"
    return wrong


def difference(one, other, place=""):
    """The first place in which two values of JSON differ, with both values."""
    if type(one) is not type(other) or not isinstance(one, (dict, list)):
        return None if one == other else f"{place}: {one} and {other}"
    if isinstance(one, list):
        one, other = dict(enumerate(one)), dict(enumerate(other))
    for key in [*one, *(key for key in other if key not in one)]:
        found = difference(one.get(key), other.get(key), f"{place}.{key}")
        if found:
            return found
    return None


def check_same(trace, other, how):
    found = difference(trace, other)
    check(not found, f"trace {trace['trace_id']} {how} differs: {found}")


def same_alone(path, rows):
    """Traces that are asked for by what they are have what they have among all."""
    among = {trace["trace_id"]: trace for trace in fathom.trace_all(path)["traces"]}
    asked = json.loads(fathom.ok("trace", "--json", "--service", "stories", path))["traces"]
    for trace in asked:
        check_same(trace, among[trace["trace_id"]], "of --service")
    ids = {row["trace"] for row in rows if row["trace"] in among}
    for trace_id in sorted(ids)[:5]:
        [trace] = json.loads(fathom.ok("trace", "--json", path, trace_id))["traces"]
        check_same(trace, among[trace_id], "alone")


def verify(name, options, act):
    """
    What is wrong in each of some recordings: some kernels hide threads, and who runs above one
    of them, or after it, is not seen to be woken, or comes back unseen.
    """
    wrong = None
    for attempt in range(TRIES):
        path, rows = record(f"{name}-{attempt}", options, act)
        now = look(path, rows, options)
        same_alone(path, rows)
        wrong = now if wrong is None else {key: now[key] for key in wrong.keys() & now.keys()}
        if not wrong:
            return
    check(False, "\n".join(wrong.values()))


def add(name, options, act=None):
    def test():
        verify(name, options, act)
    test.__name__ = name.replace("-", "_")
    tests.add(test)


add("plain", [])
add("spans-only", SPANS_ONLY)
add("syscalls", LEFT_OUT)
add("rotate", ROTATE)
add("spans-only-rotate", SPANS_ONLY + ROTATE)
add("spans-only-syscalls", SPANS_ONLY + LEFT_OUT)
add("flight", FLIGHT, "snapshot")
add("flight-overwritten", FLIGHT + ["--buffer", "512K"], "snapshot")
add("flight-spans-only", FLIGHT + SPANS_ONLY, "snapshot")
add("waits", WAITS)
add("waits-spans-only", WAITS + SPANS_ONLY)
add("waits-spans-only-rotate", WAITS + SPANS_ONLY + ROTATE)
add("killed", ROTATE, "kill")
add("killed-spans-only", SPANS_ONLY, "kill")
add("killed-syscalls", LEFT_OUT, "kill")

with fathom:
    tests.run()
