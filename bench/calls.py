# SPDX-License-Identifier: Apache-2.0
"""The cost of one turn of a small loop: a span, a system call, a round trip, an exchange."""
import os
import re
import shutil
import statistics
import subprocess

from host import CALLS, Ftrace, Recorder, Turn, lost_events, output
from lttng import Lttng
from tell import Goal, Runs, ratio, say, summary


def span_ns(bench):
    """One run: with spans written into a ring, and while nobody listens."""
    told = output([bench.program("span"), "1000"])
    return {name: float(ns) for name, ns in re.findall(r"(\w[\w ]*\w) +([\d.]+) ns median", told)}


def span(bench):
    """a span: no recorder runs, the benchmark reads the ring; against two LTTng-UST tracepoints"""
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
    silent = [each["nobody listens"] for each in ours]
    if rdtsc:
        summary("a span, no recorder, stamped by rdtsc", rdtsc, "ns", Goal(40, 30))
    summary("a span, no recorder, by CLOCK_MONOTONIC", clock, "ns",
            None if rdtsc else Goal(60, 30))
    summary("a span, nobody listens", silent, "ns", Goal(15, 8))
    if theirs:
        summary("two LTTng-UST tracepoints, in a snapshot session", theirs, "ns")
        ratio("fathom / LTTng-UST", rdtsc or clock, theirs)
        ratio("fathom, nobody listens / LTTng-UST", silent, theirs)


def loop_beside(bench):
    """Runs the loop out of scope, while another process is recorded."""
    target = bench.path("beside")
    with subprocess.Popen(["sleep", "60"]) as other:
        recorder = Recorder([bench.fathom, "record", "-o", target, "-p", str(other.pid)], target)
        try:
            ns = bench.loop().ns
        finally:
            said = recorder.stop()
            other.kill()
    return Turn(ns, lost_events(said))


def syscall(bench):
    """what recording adds to a system call (getppid), against ftrace and perf record"""
    trace = Ftrace()
    peers = {}
    if shutil.which("perf"):
        peers["perf record -e raw_syscalls:*"] = (Goal(0.35, 0.25), lambda: bench.loop(
            "perf", "record", "-e", "raw_syscalls:*", "-m", "8M",
            "-o", bench.path("perf.data"), "--"))
    else:
        say("  perf is not installed: no ratio to it")
    if trace.directory:
        peers["ftrace raw_syscalls, no reader"] = (Goal(0.75, 0.6),
                                                   lambda: trace.around(bench.loop))
    else:
        say("  no tracefs: no ratio to ftrace")
    kinds = {"fathom record": lambda: bench.loop(*bench.record()),
             "another process recorded": lambda: loop_beside(bench),
             "programs that do nothing": lambda: bench.loop(bench.program("floor")),
             **{name: measure for name, (_, measure) in peers.items()}}
    added = {name: Runs() for name in kinds}
    for _ in range(bench.rounds):
        plain = bench.loop().ns
        for name, measure in kinds.items():
            turn = measure()
            added[name].add(turn.ns - plain, turn.lost)
    floor = statistics.median(added["programs that do nothing"])
    goals = {"another process recorded": Goal(55, round(floor, 1))}
    for name, values in added.items():
        summary(f"{name} adds", values, "ns/call", goals.get(name))
    for name, (goal, _) in peers.items():
        ratio(f"fathom / {name}", added["fathom record"], added[name], goal)
    ratio("another process recorded / programs that do nothing", added["another process recorded"],
          added["programs that do nothing"])


def sched(bench):
    """what recording adds to a switch and a wake-up, of two processes that take turns on one CPU"""
    calls = [bench.program("pingpong"), str(CALLS // 20)]
    kinds = {"fathom record": lambda: bench.record("-a", "--detail", "calls")}
    if shutil.which("perf"):
        kinds["perf sched record"] = lambda: ["perf", "sched", "record", "-o",
                                              bench.path("perf.data"), "--"]
    else:
        say("  perf is not installed: no ratio to perf sched record")
    plain, trips = [], {name: Runs() for name in kinds}
    calls_alone = {name: Runs() for name in kinds}
    for _ in range(bench.rounds):
        plain.append(bench.turn(*calls).ns)
        alone = bench.turn(*calls, "alone").ns
        for name, before in kinds.items():
            turn = bench.turn(*before(), *calls)
            trips[name].add(turn.ns - plain[-1], turn.lost)
            turn = bench.turn(*before(), *calls, "alone")
            calls_alone[name].add(turn.ns - alone, turn.lost)
    summary("a round trip: 2 switches, 2 wake-ups, 4 calls", plain, "ns")
    each = {}
    for name in kinds:
        each[name] = Runs([(trip - without) / 2 for trip, without
                           in zip(trips[name], calls_alone[name])],
                          trips[name].lost + calls_alone[name].lost)
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
        plain, added = [], Runs()
        for _ in range(bench.rounds):
            plain.append(bench.turn(*command).ns)
            turn = bench.turn(*bench.record(), *command)
            added.add(turn.ns - plain[-1], turn.lost)
        summary(f"{kind}: not recorded", plain, "ns")
        summary(f"{kind}: fathom record adds", added, "ns")


GO_INFO = b"\xff Go buildinf:"
GO_VERSION_AT = 33  # behind the length of the version


def go_exchange(bench):
    """The program, and a copy that says that it is of a version of Go that nobody knows."""
    known, unknown = bench.path("exchange-go"), bench.path("exchange-go-unknown")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "exchange.go")
    subprocess.run(["go", "build", "-o", known, source], check=True)
    with open(known, "rb") as file:
        data = bytearray(file.read())
    at = next(at for at in range(0, len(data), 16) if data.startswith(GO_INFO, at)) + GO_VERSION_AT
    data[at:at + 6] = b"go1.99"
    with open(unknown, "wb") as file:
        file.write(data)
    os.chmod(unknown, 0o755)
    return known, unknown


def goroutines(bench):
    """what a goroutine's numbers add to a message, beside one that has none (`exchange`: in C)"""
    if not shutil.which("go"):
        say("  go is not installed")
        return
    calls = str(CALLS // 8)
    for detail in "waits,bytes", "calls":
        programs = dict(zip(("with numbers", "without"), go_exchange(bench)))
        plain, added, messages = [], {name: Runs() for name in programs}, Runs()
        for _ in range(bench.rounds):
            plain.append(bench.turn(programs["without"], calls).ns)
            for name, program in programs.items():
                turn = bench.turn(*bench.record("--detail", detail), program, calls)
                added[name].add(turn.ns - plain[-1], turn.lost)
            messages.add((added["with numbers"][-1] - added["without"][-1]) / 2, 0)
        messages.lost = sum(each.lost for each in added.values())
        summary(f"{detail}: a send and a receive, not recorded", plain, "ns")
        for name, runs in added.items():
            summary(f"{detail}: fathom record adds, {name}", runs, "ns")
        summary(f"{detail}: the numbers add to a message", messages, "ns", Goal(115, 60))
