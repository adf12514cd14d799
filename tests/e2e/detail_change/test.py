#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The level of detail of a recorder that runs: calls are recorded in the windows asked for alone."""
import json
import os
import random
import signal
import subprocess
import sys
import time

import harness
from harness import check, equal, until

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
LAW_OF = os.path.abspath(sys.argv[2])
tests = harness.Tests()
before = harness.programs_left(set())

# Calls getppid() ten times, counts them in a file that others can map, and sleeps a little. A child
# stays on its CPU: a thread would leave the first one waiting for the interpreter's lock. Both end
# with the recorder.
LOAD = """
import ctypes, mmap, os, struct, sys, time
counter = mmap.mmap(os.open(sys.argv[1], os.O_RDWR), 8)
stays = os.fork() == 0
ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG
while stays and not os.path.exists(sys.argv[2]):
    sum(range(20000))
n = 0
while not stays and not os.path.exists(sys.argv[2]):
    for _ in range(10):
        os.getppid()
        n += 1
        counter[:8] = struct.pack("q", n)
    time.sleep(0.001)
"""


class Load:
    """A recorder, with the program above as its command."""

    def __init__(self, name, *options):
        self.counter, self.stop = fathom.path(f"{name}.counter"), fathom.path(f"{name}.stop")
        self.dir = fathom.path(name)
        with open(self.counter, "wb") as file:
            file.write(bytes(8))
        self.process = subprocess.Popen(
            [fathom.binary, "record", "-o", self.dir, *options, "--", sys.executable, "-c", LOAD,
             self.counter, self.stop], stderr=subprocess.PIPE, text=True, start_new_session=True)

    def __enter__(self):
        until(lambda: self.calls() > 100 or self.process.poll() is not None, "calls of the program")
        equal(self.process.poll(), None, "the recorder goes on")
        return self

    def __exit__(self, *problem):
        if self.process.poll() is None:
            with open(self.stop, "wb"):  # the program has its end of the pipe, too
                pass
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.communicate(timeout=60)

    def calls(self):
        with open(self.counter, "rb") as file:
            return int.from_bytes(file.read(8), "little")

    def makes(self, count):
        """Waits until the program has made so many calls more."""
        target = self.calls() + count
        until(lambda: self.calls() >= target, f"{count} calls")

    def detail(self, *words):
        return fathom.ok("detail", self.dir, *words).strip()

    def change(self, level):
        """Changes the level: how many calls there were, and when it was, before and after."""
        first = self.calls(), time.monotonic_ns()
        equal(self.detail(level), self.told(level), "answer")
        return first, (self.calls(), time.monotonic_ns())

    def told(self, level):
        return f"{level} (the recording began with {self.own})" if level != self.own else level

    def end(self):
        with open(self.stop, "wb"):
            pass
        _, text = self.process.communicate()
        equal(self.process.returncode, 0, f"record: {text}")
        check("nothing lost" in text, f"losses: {text}")


def windows(load, count):
    """Raises and lowers the level so often; (changes at the raise, at the lowering) for each."""
    result = []
    for _ in range(count):
        load.makes(200)
        raised = load.change("calls")
        load.makes(200)
        result.append((raised, load.change(load.own)))
    load.makes(200)
    return result


def getppids(recording):
    return [span for trace in fathom.trace_all(recording)["traces"] for span in trace["spans"]
            if span["kind"] == "syscall" and span["name"] == "getppid"]


def check_windows(recording, found):
    calls = getppids(recording)
    for (raise_before, raise_after), (lower_before, lower_after) in found:
        inside = [c for c in calls if raise_before[1] <= c["end_ns"] <= lower_after[1]]
        check(lower_before[0] - raise_after[0] <= len(inside) <= lower_after[0] - raise_before[0],
              f"{len(inside)} calls were recorded of {lower_before[0] - raise_after[0]} to "
              f"{lower_after[0] - raise_before[0]}")
        for call in inside:
            calls.remove(call)
    equal(len(calls), 0, "calls outside of the windows")


def check_sums(recording, both=True):
    rows = fathom.report(recording, "thread")["rows"]
    for row in rows:
        equal(sum(row["time"].values()), row["total_ns"], f"sum of {row}")
    for part in ("user_ns", "cpu_ns") if both else ("cpu_ns",):
        check(max(row["time"][part] for row in rows) > 0, f"{part}: {rows}")


def record_windows(name, own, *options):
    with Load(name, "--detail", own, *options) as load:
        load.own = own
        equal(load.detail(), own, "level")
        found = windows(load, 3)
        load.end()
    return load.dir, found


@tests.add
def calls_are_recorded_in_the_windows_alone():
    recording, found = record_windows("raised", "waits")
    check_windows(recording, found)
    check_sums(recording)
    share = fathom.report(recording, "syscall")
    begin, end = share["from_ns"], share["to_ns"]
    least = sum(lower[0][1] - raised[1][1] for raised, lower in found)
    most = sum(lower[1][1] - raised[0][1] for raised, lower in found)
    check(least <= share["calls_ns"] <= most, f"calls in {share['calls_ns']}, {least} to {most}")
    check(most < share["recorded_ns"] <= end - begin, f"{share['recorded_ns']} of {end - begin}")


@tests.add
def counts_are_scaled_on_request():
    recording = fathom.path("raised")
    part = fathom.report(recording, "syscall")
    factor = part["recorded_ns"] / part["calls_ns"]
    report = fathom.report(recording, "syscall", "--scale")
    scaled = {row["key"]: row for row in report["rows"]}
    equal((part.get("scaled"), report.get("scaled")), (None, True), "told")
    for row in part["rows"]:
        other = scaled[row["key"]]
        check(abs(other["count"] - row["count"] * factor) <= 1, f"{row} to {other}")
        check(abs(other["total_ns"] - row["total_ns"] * factor) <= 20, f"{row} to {other}")
        equal(sum(other["time"].values()), other["total_ns"], f"sum of {other}")
        equal(other["p99_ns"], row["p99_ns"], f"quantile of {other}")
    text = fathom.ok("report", "--by", "syscall", recording)
    check("rows of calls are of that part" in " ".join(text.split()), text[-900:])
    text = fathom.ok("report", "--by", "syscall", "--scale", recording)
    check("rows of calls are scaled from that part" in " ".join(text.split()), text[-900:])


@tests.add
def calls_are_sampled_in_time():
    with Load("sampled", "--detail", "waits,calls=50ms/250ms") as load:
        load.own = "waits"
        seen = set()

        def both():
            seen.add(load.detail().split()[0])
            return seen == {"calls", "waits"}
        until(both, "both levels")
        load.makes(400)
        load.end()
    share = fathom.report(load.dir, "syscall")
    check(0 < share["calls_ns"] < share["recorded_ns"] / 2, f"{share['calls_ns']}")
    check(0 < len(getppids(load.dir)) < load.calls(), "calls of some windows")
    check_sums(load.dir)
    for words, text in ((("waits,calls=1s",), "like 1s/30s"), (("waits,calls=2s/1s",), "longer than"),
                        (("calls,calls=1s/30s",), "is none of"), (("waits,what",), "is none of")):
        result = fathom.run("record", "--detail", *words, "--", "true")
        equal(result.returncode, 2, f"{words}: {result.stderr}")
        check(text in result.stderr, f"{words}: {result.stderr}")


@tests.add
def a_recording_of_calls_can_do_without_for_a_while():
    with Load("lowered", "--detail", "calls") as load:
        load.own = "calls"
        load.makes(100)
        lowered = load.change("waits,bytes")
        load.makes(300)
        raised = load.change("calls")
        load.makes(100)
        load.end()
    calls = getppids(load.dir)
    gap = [c for c in calls if lowered[1][1] < c["begin_ns"] and c["end_ns"] < raised[0][1]]
    equal(len(gap), 0, "calls where none were recorded")
    missing = load.calls() - len(calls)
    check(raised[0][0] - lowered[1][0] <= missing <= raised[1][0] - lowered[0][0],
          f"{missing} calls are missing, {lowered} to {raised}")
    check_sums(load.dir)
    share = fathom.report(load.dir, "syscall")
    without = share["recorded_ns"] - share["calls_ns"]
    check(raised[0][1] - lowered[1][1] <= without <= raised[1][1] - lowered[0][1],
          f"no calls in {without} ns, {lowered} to {raised}")


@tests.add
def a_level_ends_after_its_time():
    with Load("timed", "--detail", "waits", "--rotate", "200ms") as load:
        load.own = "waits"
        begin = time.monotonic_ns()
        answer = load.detail("calls", "--for", "300ms")
        check(answer.startswith("calls for ") and answer.endswith(", then waits"), answer)
        state = json.loads(fathom.ok("detail", load.dir, "--json"))
        equal((state["level"], state["own"]), ("calls", "waits"), f"{state}")
        check(0 < state["left_ns"] <= 300000000, f"{state}")
        until(lambda: load.detail() == "waits", "the recording's own level")
        end = time.monotonic_ns()
        until(lambda: len([d for d in os.listdir(load.dir) if d[0] != "."]) > 4, "chunks")
        load.end()
    calls = getppids(load.dir)
    check(calls and all(begin <= c["end_ns"] <= end for c in calls), f"{len(calls)} calls")
    check_sums(load.dir)


@tests.add
def the_law_holds_over_changes_of_the_level():
    chunks = fathom.chunks(fathom.path("raised"))
    equal(len(chunks), 1, "chunks")
    result = subprocess.run([LAW_OF, chunks[0]["path"], str(random.randrange(1 << 30)), "25"],
                            text=True, capture_output=True, timeout=500)
    equal(result.returncode, 0, f"law: {result.stdout}{result.stderr}")


@tests.add
def chunks_mapped_one_by_one_give_the_same():
    recording = fathom.path("timed")
    partials = []
    for number, chunk in enumerate(fathom.chunks(recording)):
        partials.append(fathom.path(f"timed.{number}"))
        fathom.ok("map", "--spans", chunk["path"], "-o", partials[-1])
    check(len(partials) > 3, f"{len(partials)} chunks")
    random.shuffle(partials)
    merged = fathom.path("timed.merged")
    fathom.ok("merge", *partials, "-o", merged)
    for by in ("thread", "syscall", "cause"):
        equal(fathom.report(merged, by), fathom.report(recording, by), f"report by {by}")


@tests.add
def a_flight_recorder_changes_its_level_too():
    with Load("flight", "--flight", "--detail", "waits") as load:
        load.own = "waits"
        found = windows(load, 2)
        raised = load.change("calls")
        chunk = fathom.ok("snapshot", load.dir).strip()
        found.append((raised, load.change("waits")))
        load.makes(100)
        second = fathom.ok("snapshot", load.dir).strip()
        load.end()
    equal({row["detail"] for row in (fathom.report(chunk, "thread"),)}, {"waits"}, "detail")
    check_sums(chunk)
    check_windows(load.dir, found)
    check(getppids(chunk) and second != chunk, "calls before the first snapshot")


@tests.add
def what_is_wrong_is_said():
    with Load("wrong", "--detail", "waits") as load:
        for words, code, text in (
                (("detail", load.dir, "waits,bytes"), 1, "began without byte ranges"),
                (("detail", load.dir, "call"), 2, "none of calls, waits and waits,bytes"),
                (("detail", load.dir, "--for", "1s"), 2, "--for needs a level"),
                (("detail", load.dir, "calls", "waits", "x"), 2, "unexpected argument"),
                (("detail", fathom.path("nowhere"), "calls"), 1, "nothing records into")):
            result = fathom.run(*words)
            equal(result.returncode, code, f"{words}: {result.stderr}")
            check(text in result.stderr, f"{words}: {result.stderr}")
        equal(load.detail(), "waits", "level")
        load.end()


@tests.add
def nothing_stays_in_the_kernel():
    harness.nothing_is_left_in_the_kernel(before)


with fathom:
    tests.run()
