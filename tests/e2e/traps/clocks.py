#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The wall clock is set while fathom records: times, order and durations are not its."""
import os
import re
import subprocess
import sys
import time

import harness
from harness import check, equal

harness.require_root()
if not os.environ.get("MACHINE_OF_ITS_OWN"):
    print("sets the clock of the host: only where that is a machine for tests (make test-kernels)")
    sys.exit(77)
fathom = harness.Fathom(sys.argv[1])
tests = harness.Tests()
SECOND = 10**9
HOUR = 3600 * SECOND
SLEEP = 20000000
# Sleeps, and says of each when it was: [before, after] of the monotonic clock.
SLEEPER = f"""
import sys, time
with open(sys.argv[1], "w", buffering=1) as out:
    for _ in range(int(sys.argv[2])):
        before = time.monotonic_ns()
        time.sleep({SLEEP / SECOND})
        out.write(f"{{before}} {{time.monotonic_ns()}}\\n")
"""


class Clock:
    """The wall clock less the monotonic one: what it was, from when on, and as it was again."""

    def __init__(self):
        self.steps = [(0, 0, self.offset())]

    @staticmethod
    def offset():
        return time.time_ns() - time.monotonic_ns()

    def __enter__(self):
        return self

    def set(self, by_ns):
        before = time.monotonic_ns()
        offset = self.steps[-1][2] + by_ns
        time.clock_settime_ns(time.CLOCK_REALTIME, time.monotonic_ns() + offset)
        self.steps.append((before, time.monotonic_ns(), offset))

    def __exit__(self, *_):
        self.set(self.steps[0][2] - self.steps[-1][2])

    def tells(self, monotonic_ns, unix_ns):
        """Is that a relation of the two clocks which was true then?"""
        possible = [step[2] for step, after in zip(self.steps, self.steps[1:] + [(2**63, 0, 0)])
                    if step[0] <= monotonic_ns <= max(after[1], after[0])]
        return any(abs(unix_ns - monotonic_ns - offset) < SECOND for offset in possible)


def lines_of(path):
    with open(path, encoding="ascii") as text:
        return [tuple(map(int, line.split())) for line in text]


def check_sleeps(recording, times):
    """Each was recorded once, in its time, as long as it was, and they come in their order."""
    spans = [span for trace in fathom.trace_all(recording)["traces"] for span in trace["spans"]
             if span["name"] == "clock_nanosleep"]
    equal(len(spans), len(times), "sleeps")
    for span, (before, after) in zip(spans, times):
        check(before <= span["begin_ns"] <= span["end_ns"] <= after,
              f"a sleep between {before} and {after}: {span}")
        check(span["end_ns"] >= before + SLEEP, f"its end, which is told beforehand: {span}")


def check_names(chunks, clock):
    """A chunk's name begins with the wall clock's time as it was at the chunk's begin."""
    for chunk in chunks:
        name = re.match(r"(\d{20})-\d{20}-\d{6}$", os.path.basename(chunk["path"]))
        check(name and clock.tells(chunk["begin_ns"], int(name.group(1))),
              f"{chunk['path']} begins at {chunk['begin_ns']}, clock {clock.steps}")


@tests.add
def while_it_records():
    recording, log, count = fathom.path("steps"), fathom.path("steps.log"), 250
    with Clock() as clock, harness.Process(
            [fathom.binary, "record", "-o", recording, "--rotate", "1s", "--keep", "30m", "--",
             sys.executable, "-c", SLEEPER, log, str(count)], stderr=subprocess.PIPE,
            text=True) as recorder:
        for number, by in enumerate((HOUR, -2 * HOUR, HOUR // 2), 1):
            harness.until(lambda: os.path.exists(log) and
                          len(lines_of(log)) >= number * count // 4, "sleeps")
            clock.set(by)
        _, stderr = recorder.communicate(timeout=60)
        equal(recorder.returncode, 0, stderr)
    times, chunks = lines_of(log), fathom.chunks(recording)
    check(len(chunks) > 2, f"{len(chunks)} chunks")
    check(chunks[0]["begin_ns"] < times[0][0], "the first chunk is not too old")
    for one, other in zip(chunks, chunks[1:]):
        equal(other["begin_ns"], one["end_ns"], "begin of a chunk")
    check_names(chunks, clock)
    check_sleeps(recording, times)
    report = fathom.report(recording, "syscall")
    equal(report["gaps"], [], "gaps")
    for entry in report["clock"]:
        check(clock.tells(entry["monotonic_ns"], entry["unix_ns"]),
              f"{entry} is no relation of the clocks: {clock.steps}")
    equal(len(report["clock"]), len(chunks) + 3, "one of each chunk, one of each step")


@tests.add
def between_two_recordings():
    recording, times = fathom.path("again"), []
    with Clock() as clock:
        for number in range(2):
            log = fathom.path(f"again{number}.log")
            fathom.record("again", "--", sys.executable, "-c", SLEEPER, log, "10")
            times += lines_of(log)
            clock.set(-HOUR)
    chunks = fathom.chunks(recording)
    names = [os.path.basename(chunk["path"]) for chunk in chunks]
    check(names[0] > names[1], f"names are of the clock: {names}")
    check(chunks[0]["end_ns"] < chunks[1]["begin_ns"], f"order of the chunks: {chunks}")
    check_names(chunks, clock)
    check_sleeps(recording, times)
    gaps = [(gap["from_ns"], gap["to_ns"]) for gap in fathom.report(recording, "syscall")["gaps"]]
    equal(gaps, [(chunks[0]["end_ns"], chunks[1]["begin_ns"])], "gaps")


with fathom:
    tests.run()
