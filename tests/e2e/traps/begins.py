#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a thread is in the middle of when a recording begins is told as if it had been seen."""
import contextlib
import os
import signal
import subprocess
import time

import harness
from harness import check, equal
from trapped import (DOZE, LOOP, TRAPS, Skip, cgroup, fathom, held, length, quota, recording, skips,
                     spans, throttled, write)

MS = 1000000
RESTART = 219  # restart_syscall
ASLEEP = {"in_poll": ("poll", 7, "idle"), "in_futex": ("futex", 202, "idle"),
          "in_nanosleep": ("nanosleep", 35, "timer"), "in_clock": ("clock_nanosleep", 230, "timer")}
tests = harness.Tests()


def first_wait(path, pid):
    """What the thread was off the CPU for when the recording began; None: it was on a CPU."""
    waits = [s for s in spans(path, "wait") if s["pid"] == pid and s["begin_bound"] == "soft"]
    return min(waits, key=lambda s: s["begin_ns"]) if waits else None


def throttled_before(trap):
    with quota(5, 1000) as group, harness.Process([TRAPS, trap, LOOP[1]]) as process:
        try:
            write(str(process.pid), group, "cgroup.procs")
            harness.until(lambda: throttled(group) > 1, "its quota to be used up")
            for attempt in range(10):
                path = fathom.record(f"{trap}-{attempt}", "-p", process.pid, "-d", "300ms")
                wait = first_wait(path, process.pid)
                # it may just have its turn, or wait for that behind others
                if wait and wait["name"] == "throttled":
                    return path, process.pid
        finally:
            process.kill()
    raise harness.Failure("it was never throttled as a recording began")


@tests.add
@skips
def throttled_on_the_way_from_user_code():
    throttled_before("loop")


@tests.add
@skips
def throttled_on_the_way_from_a_call():
    """It is past its call: what it has to wait for is no part of that."""
    path, pid = throttled_before("ask")
    calls = [s for s in spans(path, "syscall") if s["pid"] == pid]
    check(all(length(c) < 100 * MS for c in calls), f"calls are short: {calls}")


def frozen_before(group, name, *trap):
    """Freezes a trap, then records it, and lets it go. -> (recording, pid)"""
    with harness.Process([TRAPS, *trap]) as process:
        try:
            time.sleep(0.1 * harness.SLOWER)
            write(str(process.pid), group, "cgroup.procs")
            write("1", group, "cgroup.freeze")
            harness.until(lambda: "frozen 1" in events_of(group), "the cgroup to be frozen")
            with recording(f"{name}-{process.pid}", process.pid) as path:
                time.sleep(0.1)
                write("0", group, "cgroup.freeze")
                time.sleep(0.1)
                if "doze" in trap:
                    process.wait(timeout=30)
        finally:
            with contextlib.suppress(OSError):
                write("0", group, "cgroup.freeze")
            process.kill()
    return path, process.pid


def events_of(group):
    with open(os.path.join(group, "cgroup.events"), encoding="ascii") as file:
        return file.read()


@tests.add
@skips
@harness.tries
def frozen_by_version_2():
    with cgroup("v2") as group:
        if not os.path.exists(os.path.join(group, "cgroup.freeze")):
            raise Skip("no cgroup.freeze")
        path, pid = frozen_before(group, "frozen-loop", *LOOP)
        held(path, pid, "frozen", 90)
        check(all(length(s) < 50 * MS for s in spans(path, "fault")), "no fault lasts so long")
        path, pid = frozen_before(group, "frozen-doze", *DOZE)
        held(path, pid, "frozen", 90)
        calls = [s["name"] for s in spans(path, "syscall") if s["pid"] == pid]
        check("clock_nanosleep" in calls and "restart_syscall" not in calls,
              f"the call that was broken off goes on: {calls}")


def step(process):
    process.stdin.write("x")
    process.stdin.flush()


def refused(name, held_before, filters=1):
    """The first call of a thread is held by a supervisor, and refused in the end."""
    with harness.Process([TRAPS, "turned-away", str(filters)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         text=True) as process:
        line = process.stdout.readline()
        if not line:
            raise Skip("no seccomp notification")
        pid = int(line)
        if held_before:
            step(process)
            equal(process.stdout.readline(), "held\n", "it is held")
        with recording(name, pid) as path:
            if not held_before:
                step(process)
                equal(process.stdout.readline(), "held\n", "it is held")
            time.sleep(0.1)
            step(process)
            equal(process.wait(timeout=30), 0, "the trap")
    held(path, pid, "held by a supervisor", 90)
    calls = [(s["name"], length(s), s["attributes"]["result"])
             for s in spans(path, "syscall") if s["pid"] == pid]
    equal(calls, [("getppid", 0, -1)], "its calls")


@tests.add
@skips
@harness.tries
def a_call_that_is_refused():
    refused("refused", False)


@tests.add
@skips
@harness.tries
def one_that_is_held_already():
    refused("refused-before", True)


@tests.add
@skips
@harness.tries
def one_that_is_held_by_the_first_of_many_filters():
    refused("refused-many", True, 100)


def threads_of(pid):
    """{name: what /proc says of its call}"""
    found = {}
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as name, \
                open(f"/proc/{pid}/task/{tid}/syscall", encoding="ascii") as call:
            found[name.read().strip()] = call.read().split()[0]
    return found


def all_in(pid, numbers):
    now = threads_of(pid)
    return all(now.get(name) == str(number) for name, number in numbers.items())


def goes_on(path, pid):
    """Each thread's call has its own name and cause, and lasts from end to end."""
    for thread in [s for s in spans(path, "thread") if s["pid"] == pid]:
        if thread["thread"] not in ASLEEP:
            continue
        name, _, cause = ASLEEP[thread["thread"]]
        calls = [s for s in spans(path, "syscall") if s["tid"] == thread["tid"]]
        equal([c["name"] for c in calls], [name], f"calls of {thread['thread']}")
        waits = [s for s in spans(path, "wait") if s["tid"] == thread["tid"] and length(s) > 5 * MS]
        equal(waits[-1]["name"], cause, f"what {thread['thread']} waits for: {waits}")
        yield thread, calls[0], waits


@contextlib.contextmanager
def asleep():
    with harness.Process([TRAPS, "asleep"]) as process:
        try:
            harness.until(lambda: all_in(process.pid, {n: v[1] for n, v in ASLEEP.items()}),
                          "its threads to sleep")
            yield process
        finally:
            process.kill()


@tests.add
def calls_that_had_been_stopped():
    """restart_syscall is open: what it goes on with is."""
    with asleep() as process:
        process.send_signal(signal.SIGSTOP)
        harness.until(lambda: state_of(process.pid) == "T", "it to stop")
        process.send_signal(signal.SIGCONT)
        harness.until(lambda: all_in(process.pid, dict.fromkeys(ASLEEP, RESTART)), "it to go on")
        path = fathom.record("resumed", "-p", process.pid, "-d", "200ms")
        seen = list(goes_on(path, process.pid))
        equal(len(seen), len(ASLEEP), "threads")
        check(all(length(call) > 100 * MS for _, call, _ in seen), f"from end to end: {seen}")
        # and once more: now the call that is broken off is a restarted one, whose end is seen
        with recording("again", process.pid) as path:
            process.send_signal(signal.SIGSTOP)
            harness.until(lambda: state_of(process.pid) == "T", "it to stop")
            process.send_signal(signal.SIGCONT)
            harness.until(lambda: all_in(process.pid, dict.fromkeys(ASLEEP, RESTART)), "it")
        names = {s["name"] for s in spans(path, "syscall") if s["pid"] == process.pid}
        check("restart_syscall" not in names, f"calls: {names}")


@tests.add
def calls_that_go_on_later():
    """Stopped when the recording begins, in no call; restart_syscall is seen to begin."""
    with asleep() as process:
        process.send_signal(signal.SIGSTOP)
        harness.until(lambda: state_of(process.pid) == "T", "it to stop")
        with recording("stopped", process.pid) as path:
            time.sleep(0.05)
            process.send_signal(signal.SIGCONT)
            harness.until(lambda: all_in(process.pid, dict.fromkeys(ASLEEP, RESTART)), "it")
            time.sleep(0.05)
        seen = list(goes_on(path, process.pid))
        equal(len(seen), len(ASLEEP), "threads")
        for thread, call, waits in seen:
            equal(waits[0]["attributes"].get("cause.reason"), "stopped by a signal",
                  f"{thread['thread']} at first")
            check(call["begin_ns"] > thread["begin_ns"] + 40 * MS, f"it goes on later: {call}")


@tests.add
def a_number_that_another_file_gets_in_the_call():
    with harness.Process([TRAPS, "swapped", "300"]) as process:
        time.sleep(0.5)
        for attempt in range(3):
            path = fathom.record(f"swapped-{attempt}", "-p", process.pid, "-d", "100ms")
            first = {s["span_id"] for s in spans(path, "syscall", "read")
                     if s["begin_bound"] == "soft"}
            waits = [s["name"] for s in spans(path, "wait") if s["parent_id"] in first]
            check(len(first) > 250, f"calls that had begun: {len(first)}")
            wrong = [w for w in waits if w not in ("idle", "runnable", "unknown")]
            # of a few the number may have been another file's already as the recording began
            check(len(wrong) <= len(first) // (60 if harness.SLOWER == 1 else 10),
                  f"what they slept in: {wrong}")
        process.kill()


def only_thread(path, pid):
    threads = [s for s in spans(path, "thread") if s["pid"] == pid]
    equal(len(threads), 1, "threads")
    check(threads[0]["time"]["unknown_ns"] < 0.05 * length(threads[0]),
          f"little is unknown: {threads[0]}")
    return threads[0]


@tests.add
@harness.tries
def one_that_computes_all_the_time():
    """No call and, if it has a CPU for itself, no switch: it is asked what it is at."""
    with harness.Process([TRAPS, *LOOP]) as process:
        try:
            time.sleep(0.1 * harness.SLOWER)
            path = fathom.record(f"computes-{process.pid}", "-p", process.pid, "-d", "400ms", "--rotate", "100ms")
        finally:
            process.kill()
    thread = only_thread(path, process.pid)
    check(thread["time"]["kernel_ns"] < 0.2 * length(thread), f"in user code: {thread}")
    chunks = fathom.chunks(path)
    check(len(chunks) > 2, f"{len(chunks)} chunks")
    alone = [s for chunk in chunks for s in spans(chunk["path"], "thread")
             if s["pid"] == process.pid]
    # of a chunk that is read alone, what it waited for as it began is not known
    check(sum(s["time"]["unknown_ns"] for s in alone) < 0.2 * sum(map(length, alone)),
          f"nor in each chunk: {alone}")


@tests.add
@harness.tries
def one_that_is_busy_in_a_call():
    """It was in it when the recording began, and is at its end: that is the kernel's time."""
    quick = dict(os.environ, MALLOC_PERTURB_="0")  # else it fills its memory first
    # it ends meanwhile, or does not: the recorder ends when it has (docs/limits.md), which would
    # take a quarter of an hour when emulated
    emulated = harness.SLOWER > 1
    for size, count in ((20 // harness.SLOWER, 100000), (2000, 1))[:1 if emulated else 2]:
        with harness.Process(["dd", "if=/dev/urandom", "of=/dev/null", f"bs={size}M",
                              f"count={count}"],
                             stderr=subprocess.DEVNULL, env=quick) as process:
            try:
                time.sleep(0.3 * harness.SLOWER)
                path = fathom.record(f"in-call-{process.pid}", "-p", process.pid, "-d", "500ms")
            finally:
                process.kill()
        thread = only_thread(path, process.pid)
        check(thread["time"]["user_ns"] < 0.05 * length(thread), f"none is its own: {thread}")
        calls = [s for s in spans(path, "syscall") if s["pid"] == process.pid]
        equal(calls[0]["name"], "read", "the first call")
        # else some programs may have seen it begin
        check(emulated or calls[0]["begin_bound"] == "soft", f"the first call: {calls[0]}")
        equal((calls[-1]["name"], calls[-1]["end_bound"]), ("read", "soft"), "the last call")
        counts = {row["key"]: row["count"] for row in fathom.report(path, "syscall")["rows"]}
        equal(counts["read"], len([c for c in calls if c["name"] == "read"]), "reads")


def state_of(pid):
    """T if all its threads are stopped."""
    states = set()
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii") as file:
            states.add(file.read().rpartition(")")[2].split()[0])
    return "".join(states)


with fathom:
    tests.run()
