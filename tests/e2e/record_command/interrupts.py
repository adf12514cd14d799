#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Ctrl-C at any moment: what was recorded is sealed and whole, and nothing stays in the kernel. As a
terminal does, it reaches the recorder and its command.
"""
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
CALLS = os.path.abspath(sys.argv[2])
N = 5000
tests = harness.Tests()
BPFTOOL = shutil.which("bpftool") or shutil.which("bpftool", path="/usr/sbin")
INTERRUPTED = 128 + signal.SIGINT


def objects():
    """What is loaded in the kernel and held by no process."""
    found = set()
    for kind in ("prog", "map", "link"):
        result = subprocess.run([BPFTOOL, kind, "show", "--json"], text=True, capture_output=True)
        if result.returncode == 0:
            found |= {(kind, o["id"]) for o in json.loads(result.stdout or "[]")
                      if not o.get("pids")}
    return found


before = objects() if BPFTOOL else None


@contextlib.contextmanager
def recorder(name, *words, under=(), **options):
    """A group of its own, which Ctrl-C reaches; ends with the block."""
    process = subprocess.Popen([*under, fathom.binary, "record", "-o", fathom.path(name), *words],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               start_new_session=True, cwd=fathom.dir, **options)
    try:
        yield process
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def ctrl_c(process, times=1):
    """Times that a key is pressed, in haste."""
    for _ in range(times):
        os.killpg(process.pid, signal.SIGINT)
        time.sleep(0.002)


def end(process):
    """The status, and what was said since."""
    _, said = process.communicate(timeout=60 * harness.SLOWER)
    return process.returncode, said


def names_in(name):
    """Chunks that are open, and those that are sealed."""
    names = os.listdir(fathom.path(name)) if os.path.exists(fathom.path(name)) else []
    chunks = [name for name in names if harness.CHUNK.fullmatch(name)]
    opened = [name for name in chunks if name.startswith(".open")]
    return opened, sorted(set(chunks) - set(opened))


def check_whole(name):
    """All chunks are sealed, one begins where the other ends, and they hold all of the calls."""
    equal(names_in(name)[0], [], "chunks that were left open")
    chunks = fathom.chunks(fathom.path(name))
    equal({chunk["state"] for chunk in chunks}, {"sealed"}, "states")
    for one, other in zip(chunks, chunks[1:]):
        equal(one["end_ns"], other["begin_ns"], "end and begin")
    report = fathom.report(fathom.path(name), "syscall")
    equal(report["lost"]["total"], 0, "lost records")
    equal(report["gaps"], [], "gaps")
    calls = {row["key"]: row["count"] for row in report["rows"]}
    # a shell that is interrupted before its exec asks once, to raise the signal again
    check(calls.get("gettid") in (N, N + 1), f"calls: {calls.get('gettid')}")
    for name in ("getppid", "getuid"):  # the shell makes some, too
        check(calls.get(name, 0) >= N, f"{name}: {calls.get(name)}")


# They come before it is interrupted, and it says so.
SCRIPT = f"{CALLS} {N}; echo done; exec sleep 60"


def slow_disk(name, delay):
    """Each fsync takes so long, as on a disk that has much to do."""
    return ["strace", "-f", "--seccomp-bpf", "-qq", "-o", fathom.path(name + ".strace"), "-e",
            "trace=fsync", "-e", f"inject=fsync:delay_enter={delay}"]


def strace_works():
    if not shutil.which("strace"):
        return False
    return subprocess.run([*slow_disk("probe", "1ms"), "sync", fathom.dir],
                          capture_output=True).returncode == 0


@contextlib.contextmanager
def recorded_slowly(name, delay, *words):
    """A program that runs already, when it has made its calls: strace would stop a command, too."""
    with harness.Process(["sh", "-c", "read x; " + SCRIPT], stdin=subprocess.PIPE, text=True,
                         stdout=subprocess.PIPE) as program:
        try:
            with recorder(name, "-p", str(program.pid), *words,
                          under=slow_disk(name, delay)) as process:
                ask = "snapshot" if "--flight" in words else "rotate"
                harness.until(lambda: fathom.run(ask, fathom.path(name)).returncode == 0,
                              "a recording")
                program.stdin.write("\n")
                program.stdin.flush()
                equal(program.stdout.readline(), "done\n", "its output")
                yield process
        finally:
            program.kill()


@tests.add
def while_chunks_are_being_sealed():
    """One is, others wait for it, and the last one is written."""
    if not strace_works():
        return "strace cannot delay calls here"
    with recorded_slowly("slow", "30ms", "--rotate", "100ms") as process:
        harness.until(lambda: len(names_in("slow")[0]) >= 3, "chunks that wait")
        ctrl_c(process, 3)
        status, said = end(process)
    equal(status, 0, f"status: {said}")
    check("nothing lost" in said, said)
    check_whole("slow")
    return None


@tests.add
def while_a_snapshot_is_being_sealed():
    """Who asked for it gets it."""
    if not strace_works():
        return "strace cannot delay calls here"
    with recorded_slowly("snapshot", "50ms", "--flight", "--detail", "calls") as process:
        with subprocess.Popen([fathom.binary, "snapshot", fathom.path("snapshot")], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as asks:
            harness.until(lambda: names_in("snapshot")[0], "a chunk that is not sealed")
            ctrl_c(process, 3)
            path, problem = asks.communicate(timeout=60 * harness.SLOWER)
            equal((asks.returncode, problem), (0, ""), "snapshot")
        status, said = end(process)
    equal(status, 0, f"status: {said}")
    equal(os.path.basename(path.strip()), names_in("snapshot")[1][-1], "the path of the chunk")
    check_whole("snapshot")
    return None


@tests.add
def again_while_its_command_goes_on():
    """The command's end is waited for, however often it is pressed, and its status is kept."""
    command = f"trap '' INT; {CALLS} {N}; echo done; sleep 0.5; exit 5"
    with recorder("goes-on", "--", "sh", "-c", command) as process:
        equal(process.stdout.readline(), "done\n", "the command's output")
        for _ in range(50):
            ctrl_c(process)
        status, said = end(process)
    equal(status, 5, f"status: {said}")
    lines = said.splitlines()
    equal(len(lines), 2, f"lines: {said}")
    check("nothing lost" in lines[0] and lines[1].startswith("fathom took "), said)
    check_whole("goes-on")


@tests.add
def again_and_again_until_it_has_ended():
    with recorder("again", "--event", "sched:sched_switch", "--", "sh", "-c", SCRIPT) as process:
        equal(process.stdout.readline(), "done\n", "the command's output")
        while process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                ctrl_c(process)
        status, said = end(process)
    equal(status, INTERRUPTED, f"status: {said}")
    check_whole("again")


def made(name, process):
    """Waits until it has begun to begin: from then on it has a directory."""
    limit = time.monotonic() + 30 * harness.SLOWER
    while not os.path.exists(fathom.path(name)):
        check(time.monotonic() < limit and process.poll() is None, "it makes a directory")
        time.sleep(0.001)


def begin_length(name, *words):
    """How long it takes from then until its command runs."""
    with recorder(name, *words, "--", "sh", "-c", "echo; exec sleep 60") as process:
        made(name, process)
        begin = time.monotonic()
        process.stdout.readline()
        took = time.monotonic() - begin
        ctrl_c(process)
        equal(end(process)[0], INTERRUPTED, "status")
    return took


took = []  # how long it takes to begin


def interrupted_after(name, seconds, *words):
    """Interrupted so long after it has begun to begin: its command ran and was recorded, or not."""
    marker = fathom.path(name + ".ran")
    with recorder(name, *words, "--", "sh", "-c", f"echo >{marker}; exec sleep 60") as process:
        made(name, process)
        time.sleep(seconds)
        ctrl_c(process, 2)
        status, said = end(process)
    equal(status, INTERRUPTED, f"status after {seconds:.3f} s: {said}")
    lines = said.splitlines()
    check(1 <= len(lines) <= 2 and all(line.startswith("fathom took") for line in lines[1:]),
          f"lines after {seconds:.3f} s: {said}")
    opened, sealed = names_in(name)
    equal(opened, [], f"chunks that were left open after {seconds:.3f} s")
    if "--flight" in words:
        equal(sealed, [], "chunks that nobody asked for")
    elif os.path.exists(marker):
        names = {row["process"] for row in fathom.report(fathom.path(name), "process")["rows"]}
        check(names & {"sh", "sleep"}, f"it ran, but is not among {names}")
    return os.path.exists(marker)


def while_it_begins(name, moments, *words):
    """At some moments, as parts of the time that it takes."""
    if not took:
        took.append(begin_length("takes"))
    for moment in moments:
        ran = interrupted_after(f"{name}-{moment}", took[0] * moment, *words)
        check(moment or not ran, "the first one comes before the command")


@tests.add
def while_a_command_begins():
    while_it_begins("begins", (0, 0.5, 1.1))


@tests.add
def while_a_flight_recorder_begins():
    while_it_begins("flight", (0.6,), "--flight", "--detail", "calls")


@tests.add
def while_events_are_taken_on():
    """The kernel takes its time for each."""
    while_it_begins("events", (0.8,), "--event", "sched:sched_s*")


@tests.add
def nothing_is_left_in_the_kernel():
    if before is None:
        return "bpftool is missing"
    left = objects() - before
    for _ in range(50):  # the kernel frees them a little after their last descriptor
        if not left:
            break
        time.sleep(0.1)
        left &= objects()
    equal(sorted(left), [], "programs, maps and links that nobody holds")
    return None


with fathom:
    tests.run()
