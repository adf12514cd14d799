#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a thread that could run waits for: its turn on a CPU, or the quota of its cgroup."""
import os
import re
import subprocess

import harness
from harness import check, equal
from trapped import (TRAPS, Skip, fathom, length, quota, record_command, recording, skips, spans,
                     write)

MS = 1000000
# The thread itself is throttled, on its way to user code; before, all of its cgroup on that CPU.
BY_THREAD = tuple(int(part) for part in os.uname().release.split(".")[:2]) >= (6, 18)
tests = harness.Tests()


def comm_of(pid):
    with open(f"/proc/{pid}/comm", encoding="ascii") as file:
        return file.read().strip()


def preempts_itself():
    """Whether this kernel takes the CPU from a thread in the middle of what it does for it."""
    with open("/proc/cmdline", encoding="ascii", errors="replace") as file:
        chosen = re.findall(r"\bpreempt=(\w+)", file.read())
    if chosen:
        return chosen[-1] == "full"
    return re.search(r"PREEMPT(_RT)?\b", os.uname().version)


def watched(name, *trap, group=None):
    """Records a trap from where it is ready on. -> (recording, pid, what it said)"""
    with harness.Process([TRAPS, name, *trap], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True) as process:
        try:
            pid = int(process.stdout.readline())
            if group:
                write(str(pid), group, "cgroup.procs")
            with recording(f"{name}-{pid}", pid) as path:
                said, why = process.communicate("x", timeout=60)
        finally:
            process.kill()
    if process.returncode == 77:
        raise Skip(why.splitlines()[0])
    equal(process.returncode, 0, f"{name}: {why}")
    equal(fathom.report(path, "thread")["lost"]["total"], 0, "lost records")
    return path, pid, said


@tests.add
@skips
@harness.tries
def preempted_on_its_way_to_sleep():
    """It is not asleep yet, whatever it has said that it will be: it waits for the CPU."""
    if not preempts_itself():
        return "this kernel does not preempt itself"
    path, pid, _ = watched("stops", "20")
    [thread] = [s for s in spans(path, "thread") if s["pid"] != pid]
    print(f"# {thread['time']}")
    check(thread["time"]["runnable_ns"] > 0.8 * 20 * 5 * MS, f"it could run: {thread}")
    check(thread["time"]["other_ns"] > 0.5 * 20 * 5 * MS, f"and then is stopped: {thread}")
    return None


def time_of(path, pid, from_ns, to_ns):
    """The split of a process's first thread between two points in time."""
    rows = fathom.report(path, "thread", "--from", from_ns, "--to", to_ns)["rows"]
    [row] = [row for row in rows if row["tid"] == pid]
    return row["time"]


@tests.add
@skips
@harness.tries
def a_sleep_while_the_quota_is_used_up():
    """Until its time it sleeps; from then on it waits for the quota that another one has used."""
    with quota(10, 100) as group:
        path, pid, said = watched("sleeps", "8", group=group)
    rounds = [[int(stamp) for stamp in line.split()] for line in said.splitlines()]
    slept, late = dict.fromkeys(harness.PARTS, 0), dict.fromkeys(harness.PARTS, 0)
    for begin, until, turn in rounds:
        for parts, since, to in ((slept, begin, until), (late, until, turn)):
            for part, ns in time_of(path, pid, since, to).items():
                parts[part] += ns
    asleep_ns = sum(until - begin for begin, until, _ in rounds)
    late_ns = sum(turn - until for _, until, turn in rounds)
    print(f"# slept {asleep_ns} ns: {slept}, late {late_ns} ns: {late}")
    room = 0.02 * asleep_ns + 200e3 * len(rounds)
    # what is left of its turn it has before it sleeps
    check(slept["timer_ns"] >= asleep_ns - room - slept["kernel_ns"] - slept["user_ns"] -
          slept["runnable_ns"], f"it sleeps: {slept}")
    equal(slept["throttled_ns"] > room, False, f"no sleep is throttled: {slept}")
    check(late_ns > 100 * MS, f"it is late: {late_ns}")
    check(late["throttled_ns"] + late["runnable_ns"] > 0.9 * late_ns - 200e3 * len(rounds),
          f"late by its turn: {late} of {late_ns}")
    if BY_THREAD:
        check(late["throttled_ns"] > 0.5 * late_ns, f"and that by the quota: {late} of {late_ns}")


@tests.add
@skips
@harness.tries
def a_call_goes_on_while_the_quota_is_used_up():
    """What takes the CPU from it then is another thread; when it returns, the quota."""
    if not BY_THREAD:
        return "on this kernel a cgroup is throttled in the middle of calls"
    with quota(10, 100) as group, harness.Process([TRAPS, "rival", "60000"]) as rival:
        try:
            path, pid, said = watched("fills", "48", group=group)
        finally:
            rival.kill()
    equal(said, f"{48 << 20}\n", "it read")
    [call] = [s for s in spans(path, "syscall", "read") if s["pid"] == pid
              and s["attributes"]["result"] > 1]
    print(f"# in the call of {length(call)} ns: {call['time']}")
    check(call["time"]["runnable_ns"] > 0.1 * length(call), f"it has to wait: {call}")
    equal(call["time"]["throttled_ns"], 0, f"that is not for the quota: {call}")
    [thread] = [s for s in spans(path, "thread") if s["tid"] == pid]
    check(thread["time"]["throttled_ns"] > 0.5 * call["time"]["kernel_ns"],
          f"what it used too much it waits for: {thread}")
    return None


@tests.add
def who_had_the_cpu_is_named():
    """Also a thread that is not recorded, and has the CPU of one that is."""
    cpu = str(min(os.sched_getaffinity(0)))
    spin = "i=0; while [ $i -lt 30000 ]; do i=$((i+1)); done"
    rival = ["taskset", "-c", cpu, "sh", "-c", "while :; do :; done"]
    with harness.Process(rival) as process:
        try:
            harness.until(lambda: comm_of(process.pid) == "sh", "the rival computes")
            path, _ = record_command("rivalry", "taskset", "-c", cpu, "sh", "-c", spin)
        finally:
            process.kill()
    keys = [row["key"] for row in fathom.report(path, "preempted-by")["rows"]]
    # the rival, or whoever else is there
    check([key for key in keys if "(tid " in key], f"somebody had the CPU: {keys}")
    equal([key for key in keys if key.startswith("?")], [], "threads without a name")


with fathom:
    tests.run()
