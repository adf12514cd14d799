# SPDX-License-Identifier: Apache-2.0
"""What a turn of a small loop costs: a span, a system call, a round trip, an exchange."""
import re
import shutil
import statistics
import subprocess

from host import CALLS, Ftrace, Recorder, output
from lttng import Lttng
from tell import Goal, ratio, say, summary


def span_ns(bench):
    """Of one run: recorded, and with nobody listening."""
    told = output([bench.program("span"), "1000"])
    return {name: float(ns) for name, ns in re.findall(r"(\w[\w ]*\w) +([\d.]+) ns median", told)}


def span(bench):
    """begin + end of a span, recorded and not listened to, against two LTTng-UST tracepoints"""
    ours, theirs = [], []
    peer = Lttng(bench)
    try:
        peer.start()
        for _ in range(bench.rounds):
            ours.append(span_ns(bench))
            if peer.runs:
                theirs.append(peer.two_tracepoints_ns())
    finally:
        peer.stop()
    rdtsc = [each["recorded by rdtsc"] for each in ours if "recorded by rdtsc" in each]
    clock = [each["recorded by the clock"] for each in ours]
    if rdtsc:
        summary("a span, recorded, stamped by rdtsc", rdtsc, "ns", Goal(40, 30))
    summary("a span, recorded, stamped by CLOCK_MONOTONIC", clock, "ns",
            None if rdtsc else Goal(60, 30))
    summary("a span, nobody listens", [each["nobody listens"] for each in ours], "ns", Goal(15, 8))
    if theirs:
        summary("two LTTng-UST tracepoints, in a snapshot session", theirs, "ns")
        ratio("fathom / LTTng-UST", rdtsc or clock, theirs)


def loop_beside_ns(bench):
    """The loop out of scope, while another process is recorded."""
    target = bench.path("beside")
    with subprocess.Popen(["sleep", "60"]) as other:
        recorder = Recorder([bench.fathom, "record", "-o", target, "-p", str(other.pid)], target)
        try:
            return bench.loop_ns()
        finally:
            recorder.stop()
            other.kill()


def syscall(bench):
    """what recording adds to a system call (getppid), against ftrace and perf record"""
    trace = Ftrace()
    peers = {}
    if shutil.which("perf"):
        peers["perf record -e raw_syscalls:*"] = (Goal(0.35, 0.25), lambda: bench.loop_ns(
            "perf", "record", "-q", "-e", "raw_syscalls:*", "-m", "8M",
            "-o", bench.path("perf.data"), "--"))
    else:
        say("  perf is not installed: no ratio to it")
    if trace.directory:
        peers["ftrace raw_syscalls, no reader"] = (Goal(0.75, 0.6),
                                                   lambda: trace.around(bench.loop_ns))
    else:
        say("  no tracefs: no ratio to ftrace")
    kinds = {"fathom record": lambda: bench.loop_ns(*bench.record()),
             "another process recorded": lambda: loop_beside_ns(bench),
             "programs that do nothing": lambda: bench.loop_ns(bench.program("floor")),
             **{name: measure for name, (_, measure) in peers.items()}}
    added = {name: [] for name in kinds}
    for _ in range(bench.rounds):
        plain = bench.loop_ns()
        for name, measure in kinds.items():
            added[name].append(measure() - plain)
    floor = statistics.median(added["programs that do nothing"])
    goals = {"another process recorded": Goal(55, round(floor, 1))}
    for name, values in added.items():
        summary(f"{name} adds", values, "ns/call", goals.get(name))
    for name, (goal, _) in peers.items():
        ratio(f"fathom / {name}", added["fathom record"], added[name], goal)


def sched(bench):
    """what recording adds to a switch and a wake-up, of two processes that take turns on one CPU"""
    calls = [bench.program("pingpong"), str(CALLS // 20)]
    kinds = {"fathom record": lambda: bench.record("-a")}
    if shutil.which("perf"):
        kinds["perf sched record"] = lambda: ["perf", "sched", "record", "-o",
                                              bench.path("perf.data"), "--"]
    else:
        say("  perf is not installed: no ratio to perf sched record")
    plain, trips, calls_alone = [], {name: [] for name in kinds}, {name: [] for name in kinds}
    for _ in range(bench.rounds):
        plain.append(bench.turn_ns(*calls))
        alone = bench.turn_ns(*calls, "alone")
        for name, before in kinds.items():
            trips[name].append(bench.turn_ns(*before(), *calls) - plain[-1])
            calls_alone[name].append(bench.turn_ns(*before(), *calls, "alone") - alone)
    summary("a round trip: 2 switches, 2 wake-ups, 4 calls", plain, "ns")
    each = {}
    for name in kinds:
        each[name] = [(trip - without) / 2 for trip, without in zip(trips[name], calls_alone[name])]
        summary(f"{name} adds to a round trip", trips[name], "ns")
        summary(f"{name} adds to its 4 calls alone", calls_alone[name], "ns")
        summary(f"{name}: switch, waking, less calls", each[name], "ns")
    if "perf sched record" in kinds:
        ratio("fathom / perf sched record, less the calls", each["fathom record"],
              each["perf sched record"], Goal(0.3, 0.2))
        ratio("fathom / perf sched record, whole round trip", trips["fathom record"],
              trips["perf sched record"])


def exchange(bench):
    """what recording adds to a send and a receive of 64 bytes together, within one thread"""
    for kind in ("tcp", "unix"):
        command = [bench.program("exchange"), kind, str(CALLS // 8)]
        plain, added = [], []
        for _ in range(bench.rounds):
            plain.append(bench.turn_ns(*command))
            added.append(bench.turn_ns(*bench.record(), *command) - plain[-1])
        summary(f"{kind}: not recorded", plain, "ns")
        summary(f"{kind}: fathom record adds", added, "ns")
