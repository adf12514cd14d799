#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Threads that somebody holds, outside of any system call: other, with a reason, never unknown."""
import contextlib
import os
import time

import harness
from cgroups import mounts
from harness import check
from trapped import (DOZE, LOOP, TRAPS, Skip, cgroup, fathom, held, length, record, recording,
                     skips, spans, write)

MS = 1000000
tests = harness.Tests()


def child_of(path):
    """The process that the trap made."""
    return max(s["pid"] for s in spans(path, "thread"))


@tests.add
def ptrace():
    path, _ = record("traced", 5)
    held(path, child_of(path), "held by a tracer", 5 * 18)


@tests.add
@skips
def seccomp_notify():
    path, _ = record("supervised", 5)
    held(path, child_of(path), "held by a supervisor", 5 * 18)
    calls = spans(path, "syscall", "getppid")
    check(len(calls) >= 5 and all(length(c) < 10 * MS for c in calls),
          f"the calls begin when they are let in: {calls}")


@tests.add
def work_put_off_until_a_call_is_over():
    """The last that lets go of a file by dup2 closes it on the way to user code."""
    path, _ = record("put_off", 5)
    pid = min(s["pid"] for s in spans(path, "thread"))
    held(path, pid, "work put off", 5 * 18)
    calls = [s for s in spans(path, "syscall", "dup2") if s["pid"] == pid]
    check(len(calls) >= 5 and all(length(c) < 10 * MS for c in calls), f"calls are over: {calls}")


def wait_frozen(group):
    """On a busy machine a thread is frozen some time after it was asked for."""
    for name, says in (("cgroup.events", "frozen 1"), ("freezer.state", "FROZEN")):
        path = os.path.join(group, name)
        if not os.path.exists(path):
            continue

        def is_frozen(path=path, says=says):
            with open(path, encoding="ascii") as file:
                return says in file.read()
        harness.until(is_frozen, f"{name} says {says}")


def freeze_some_times(group, name, frozen, thawed, *trap):
    """Freezes a trap three times for 50 ms. -> (recording, pid)"""
    with harness.Process([TRAPS, *trap]) as process:
        try:
            write(str(process.pid), group, "cgroup.procs")
            with recording(name, process.pid) as path:
                for _ in range(3):
                    write(frozen[1], group, frozen[0])
                    wait_frozen(group)
                    time.sleep(0.05)
                    write(thawed[1], group, thawed[0])
                    time.sleep(0.02)
                if "doze" in trap:
                    process.wait(timeout=30)
        finally:
            with contextlib.suppress(OSError):
                write(thawed[1], group, thawed[0])
            process.kill()
    return path, process.pid


def check_calls_end(path, pid):
    """A sleep that was broken off by the freezer goes on under its name."""
    calls = [s for s in spans(path, "syscall") if s["pid"] == pid]
    names = {s["name"] for s in calls}
    check("restart_syscall" not in names, f"calls: {names}")
    check(any(s["name"] == "clock_nanosleep" for s in calls), f"the sleep ended: {names}")


@tests.add
@skips
@harness.tries
def freezer_of_version_1():
    with cgroup("freezer") as group:
        frozen, thawed = ("freezer.state", "FROZEN"), ("freezer.state", "THAWED")
        path, pid = freeze_some_times(group, "v1-loop", frozen, thawed, *LOOP)
        held(path, pid, "frozen", 3 * 45)
        # a sleeper is frozen where it sleeps, or broken off: what it does keeps its name
        path, pid = freeze_some_times(group, "v1-doze", frozen, thawed, *DOZE)
        check_calls_end(path, pid)


@tests.add
@skips
def freezer_of_version_2():
    with cgroup("v2") as group:
        if not os.path.exists(os.path.join(group, "cgroup.freeze")):
            raise Skip("no cgroup.freeze")
        frozen, thawed = ("cgroup.freeze", "1"), ("cgroup.freeze", "0")
        for trap in (LOOP, DOZE):
            path, pid = freeze_some_times(group, "v2-" + trap[0], frozen, thawed, *trap)
            held(path, pid, "frozen", 3 * 45)


@tests.add
@skips
def memory_high_of_version_2():
    """
    A cgroup slows down who takes more than memory.high: on the way back to user code, or at once
    who takes much in one step.
    """
    top = mounts().get("v2")
    if not top:
        raise Skip("no hierarchy v2")
    with open(os.path.join(top, "cgroup.controllers"), encoding="ascii") as file:
        if "memory" not in file.read().split():
            raise Skip("the memory controller is not in v2 here")
    with contextlib.suppress(OSError):
        write("+memory", top, "cgroup.subtree_control")
    with cgroup("v2") as group:
        write(str(8 << 20), group, "memory.high")
        script = f'echo $$ > {group}/cgroup.procs; exec "$@"'
        path = fathom.record("high", "--", "sh", "-c", script, "sh", TRAPS, "hoard", "24")
        pid = min(s["pid"] for s in spans(path, "thread"))
        held(path, pid, "memory limit|return to user: memory", 10)


with fathom:
    tests.run()
