#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What was lost is unknown: it is never told as time on a CPU, in a call, or waiting for a CPU."""
import itertools
import os
import shutil
import sys

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
STORM = os.path.abspath(sys.argv[2])
tests = harness.Tests()
numbers = itertools.count()
MS = 1000000


def sleepers(name, *args):
    """Records the storm: the directory, and tid -> nanoseconds on a CPU of those that sleep."""
    result = fathom.run("record", "-o", fathom.path(name), *args, "--", STORM)
    equal(result.returncode, 0, result.stderr)
    return fathom.path(name), {int(tid): int(run) for tid, run in
                               (line.split() for line in result.stdout.splitlines())}


def rows_of(recording, tids):
    return [row for row in fathom.report(recording, "thread")["rows"] if row["tid"] in tids]


def sleeping_calls(recording, tids):
    return [span for tid in tids
            for trace in fathom.trace_all(recording, "--tid", tid)["traces"]
            for span in trace["spans"] if span["tid"] == tid and span["name"] == "clock_nanosleep"]


def on_cpu(time):
    return time["user_ns"] + time["kernel_ns"]


def check_rows(recording):
    """The sums of reports; a trace of all that the storm did would take its time."""
    for by in harness.SUMMED:
        for row in fathom.report(recording, by)["rows"]:
            equal(harness.total(row["time"]), row["total_ns"], f"split of {by} {row['key']}")


def unknown_ns(recording):
    """Of the storm, which is all that is recorded."""
    return sum(row["time"]["unknown_ns"] for row in fathom.report(recording, "thread")["rows"])


def check_sleepers(recording, run):
    for row in rows_of(recording, run):
        check(on_cpu(row["time"]) <= run[row["tid"]] + 10 * MS,
              f"time on a CPU, {run[row['tid']]} by schedstat: {row['time']}")
    for call in sleeping_calls(recording, run):
        check(on_cpu(call["time"]) < 15 * MS, f"a sleep is no time on a CPU: {call['time']}")
        if call["begin_bound"] == call["end_bound"] == "hard":
            equal(harness.total(call["time"]), call["end_ns"] - call["begin_ns"], "its split")


@tests.add
@harness.tries
def nothing_lost_nothing_unknown():
    recording, run = sleepers(f"whole{next(numbers)}", "--buffer", "64M", "--syscalls", "clock_nanosleep")
    equal(fathom.report(recording, "thread")["lost"]["total"], 0, "lost")
    check_sleepers(recording, run)
    calls = sleeping_calls(recording, run)
    equal(len(calls), 4 * 3, "sleeps")
    for call in calls:
        check(call["time"]["timer_ns"] >= 19 * MS, f"it slept: {call['time']}")
        equal(call["time"]["unknown_ns"], 0, "unknown")


@tests.add
@harness.tries
def a_full_ring_makes_time_unknown():
    recording, run = sleepers(f"full{next(numbers)}", "--buffer", "128K")
    report = fathom.report(recording, "thread")
    check(report["lost"]["buffer"] > 1000, f"lost: {report['lost']}")
    check(unknown_ns(recording) > MS, f"{unknown_ns(recording)} ns are unknown")
    check_sleepers(recording, run)
    check_rows(recording)


@tests.add
def damaged_chunks_make_time_unknown():
    recording, run = sleepers("damaged", "--buffer", "64M")
    before = {row["tid"]: row["time"] for row in rows_of(recording, run)}
    chunk = fathom.chunks(recording)[0]["path"]
    fathom.breaks(recording)
    for number, name in enumerate(n for n in os.listdir(chunk) if n.startswith("cpu")):
        path = os.path.join(chunk, name)
        with open(path, "r+b") as stream:  # a few packets in the middle
            size = os.path.getsize(path)
            for at in range(size // 3, size // 2, size // 50 + 1):
                stream.seek(at + number)
                byte = stream.read(1)
                stream.seek(at + number)
                stream.write(bytes([byte[0] ^ 0x55]))
    report = fathom.report(recording, "thread")
    check(report["lost"]["damaged"] > 1000, f"lost: {report['lost']}")
    check(unknown_ns(recording) > MS, f"{unknown_ns(recording)} ns are unknown")
    check_sleepers(recording, run)
    for row in rows_of(recording, run):
        grown = row["time"]["runnable_ns"] - before[row["tid"]]["runnable_ns"]
        check(grown < 20 * MS, f"it did not wait for a CPU: {row['time']}")
    check_rows(recording)
    shutil.rmtree(recording)


with fathom:
    tests.run()
