#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Faults do not pair by themselves."""
import os
import shutil
import subprocess
import sys
import time

import harness
from harness import check, equal
from trapped import (LOOP, TRAPS, events, fathom, length, record, recording, skips, spans,
                     thread_rows, write)

MS = 1000000
USER, MAJOR, SOFT_END = 1, 2, 8
CPU = "/sys/devices/system/cpu/cpu1/online"
tests = harness.Tests()


def faults(path):
    return spans(path, "fault")


@tests.add
@harness.tries
def a_fault_that_is_a_signal_ends_with_it():
    """What the handler computes is user code, not the fault."""
    path, _ = record("segv", 50)
    row = thread_rows(path)[0]
    check(row["time"]["user_ns"] > 50 * 1.8 * MS or row["time"]["runnable_ns"] > 10 * MS,
          f"2 ms of user code behind each: {row['time']}")
    long = [f for f in faults(path) if f["time"]["kernel_ns"] > MS]
    allowed = 25 if harness.SLOWER > 1 else 0  # of 50: the rest of an emulated machine's are short
    check(len(long) <= allowed, f"faults of more than 1 ms in the kernel: {len(long)}, {long[:1]}")
    if shutil.which("babeltrace2"):
        soft = [f for f in events(path, "fault") if f["flags"] & SOFT_END]
        equal(len(soft), 50, "faults whose end was not seen")
    closed = [f for f in faults(path) if f["end_bound"] == "soft"]
    equal([f["time"]["unknown_ns"] for f in closed], [0] * 50, "known up to the signal")


@tests.add
def a_fault_that_kills_is_told():
    path = fathom.path("die")
    result = fathom.run("record", "-o", path, "--", TRAPS, "segv_die")
    equal(result.returncode, 128 + 11, "status")
    harness.check_sums(fathom, path)
    last = max(faults(path), key=lambda f: f["begin_ns"])
    thread = [s for s in spans(path, "thread")][0]
    check(last["end_ns"] <= thread["end_ns"], "it ends before its thread")
    if shutil.which("babeltrace2"):
        soft = [f for f in events(path, "fault") if f["flags"] & SOFT_END]
        equal(len(soft), 1, "faults whose end was not seen")


@tests.add
def faults_inside_a_call_are_its_own():
    """read() into fresh memory: a fault in each call, under it, none taken for user code's."""
    path, _ = record("nested", 300)
    calls = {s["span_id"]: s for s in spans(path, "syscall", "read")
             if s["attributes"].get("fd.name") == "/dev/zero"}
    equal(len(calls), 300, "reads of /dev/zero")
    inside = [f for f in faults(path) if f.get("parent_id") in calls]
    equal(len({f["parent_id"] for f in inside}), 300, "calls with a fault")
    for fault in inside:
        call = calls[fault["parent_id"]]
        check(call["begin_ns"] <= fault["begin_ns"] <= fault["end_ns"] <= call["end_ns"],
              f"{fault} lies in {call}")
    if shutil.which("babeltrace2"):
        kernel = [f for f in events(path, "fault") if not f["flags"] & USER]
        check(len(kernel) >= 300, f"{len(kernel)} faults in calls")
        check(all(not f["flags"] & SOFT_END for f in kernel), "their ends were seen")


@tests.add
def a_fault_that_a_call_fails_by_is_closed_with_it():
    path, _ = record("efault", 20)
    failed = [s for s in spans(path, "syscall", "read")
              if s["attributes"].get("error.type") == "EFAULT"]
    equal(len(failed), 20, "reads that failed")
    found = faults(path)
    check(all(f["time"]["kernel_ns"] < MS * harness.SLOWER for f in found),
          "no fault lasts until the next")
    unseen = [f["time"]["kernel_ns"] for f in found if f["end_bound"] == "soft"]
    equal(unseen, [0] * 20, "what is known of those whose end was not seen")
    if shutil.which("babeltrace2"):
        soft = [f for f in events(path, "fault") if f["flags"] & SOFT_END]
        equal(len(soft), 20, "faults whose end was not seen")
        check(all(not f["flags"] & USER for f in soft), "all of them in calls")


@tests.add
def what_the_recorder_itself_cannot_read_is_no_fault():
    """The paths of refused calls are not in memory; user code runs behind them, not a fault."""
    path, out = record("unread", 20)
    calls = [s for s in spans(path, "syscall") if s["name"] in ("openat", "openat2")]
    failed = [s["attributes"].get("error.type") for s in calls]
    equal((failed.count("EFAULT"), failed.count("EINVAL")), (20, 20), "calls that were refused")
    found = faults(path)
    check(all(f["time"]["kernel_ns"] < MS * harness.SLOWER for f in found),
          "no fault lasts until the next call")
    equal([f for f in found if f["attributes"]["address"] == hex(int(out))], [],
          "faults on the page that no one touched")


@tests.add
@skips
def a_call_of_the_vsyscall_page_is_no_fault():
    """The kernel does the call in the fault, and goes back: what follows is user code."""
    path, _ = record("vsyscall", 50)
    equal([f for f in faults(path) if f["attributes"]["address"].startswith("0xffffffffff600")], [],
          "faults in that page")
    time_of = thread_rows(path)[0]["time"]
    check(time_of["kernel_ns"] < time_of["user_ns"], f"it is user code: {time_of}")


@tests.add
def an_end_without_a_begin_is_counted():
    """A thread is in a fault as the recording begins: what ends it is no other fault's end."""
    with harness.Process([TRAPS, "late_end"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True) as trap:
        if not trap.stdout.readline():
            _, stderr = trap.communicate(timeout=30)
            return stderr.strip() if trap.returncode == 77 else check(False, stderr)
        path = fathom.path("late")
        with harness.Process([fathom.binary, "record", "-o", path, "-p", str(trap.pid)],
                             stderr=subprocess.PIPE, text=True) as recorder:
            while fathom.run("rotate", path).returncode and recorder.poll() is None:
                time.sleep(0.02)
            trap.communicate("x", timeout=30)
            recorder.send_signal(2)
            _, stderr = recorder.communicate(timeout=60)
    equal((trap.returncode, recorder.returncode), (0, 0), stderr)
    equal(fathom.report(path, "thread")["incomplete"], 1, "ends without a begin")
    held = next(row for row in thread_rows(path) if row["tid"] != trap.pid)
    check(held["time"]["fault_ns"] > 0.5 * held["total_ns"] and not held["time"]["other_ns"],
          f"the fault is what the thread waited for: {held['time']}")
    harness.check_sums(fathom, path)
    for chunk in (record("nested", 300)[0], record("segv", 5)[0]):
        equal(fathom.report(chunk, "thread")["incomplete"], 0, "elsewhere all have their begin")
    return None


@tests.add
def a_page_that_a_futex_lies_in_is_no_lock():
    """The kernel reads it without a fault of the thread."""
    path, _ = record("futex_page", 200, fathom.path("futexes"))
    calls = {s["span_id"]: s["time"] for s in spans(path, "syscall", "futex")}
    equal(len(calls), 200, "calls")
    if not any(s.get("parent_id") in calls for s in spans(path, "block")):
        return "the file system reads nothing from a disk"
    read = sum(time["fault_ns"] for time in calls.values())
    locked = sum(time["lock_ns"] for time in calls.values())
    check(locked < 0.05 * read, f"{locked} ns for locks, {read} ns for pages")
    return None


def record_with_one_cpu(path, online, *trap):
    """Starts a recorder to which the second CPU seems to be offline until `online` says else."""
    write("0\n", online)
    script = 'mount --bind "$1" /sys/devices/system/cpu/online && shift && exec "$@"'
    return harness.Process(["unshare", "-m", "sh", "-c", script, "sh", online, fathom.binary,
                            "record", "-o", path, "--", TRAPS, *trap],
                           stderr=subprocess.PIPE, text=True)


@tests.add
def a_cpu_that_comes_later_has_ends_of_faults():
    """No CPU is unplugged: to fathom alone the second one seems to come while it records."""
    if not os.path.exists("/sys/devices/system/cpu/cpu1"):
        return "there is one CPU only"
    path, online = fathom.path("later"), fathom.path("online")
    with record_with_one_cpu(path, online, "touch", "250", "1") as recorder:
        while fathom.run("rotate", path).returncode and recorder.poll() is None:
            time.sleep(0.02)
        time.sleep(1.2)
        write("0-1\n", online)
        came = time.monotonic_ns()
        _, stderr = recorder.communicate(timeout=60)
    if recorder.returncode == 77:
        return stderr.splitlines()[0]
    equal(recorder.returncode, 0, stderr)
    times = {}
    for span in faults(path):
        times[span["attributes"]["address"]] = span
    late = [s for s in times.values() if s["begin_ns"] > came + 1500 * MS]
    early = [s for s in times.values() if s["end_ns"] < came and length(s) > 2.5 * MS]
    check(len(early) > 10, "before, a fault lasts until the next call")
    check(len(late) > 10, f"{len(late)} faults afterwards")
    check(all(length(s) < 2.5 * MS for s in late), "then they end when they end")
    check(fathom.report(path, "thread")["incomplete"] > 10, "those before were counted")
    return None


@tests.add
def what_no_end_of_a_fault_was_seen_of_is_unknown():
    """On a CPU without ends a thread computes behind each fault, and loses it to others then."""
    if not os.path.exists("/sys/devices/system/cpu/cpu1"):
        return "there is one CPU only"
    path = fathom.path("none")
    with harness.Process([TRAPS, *LOOP]) as other:
        os.sched_setaffinity(other.pid, {1})
        with record_with_one_cpu(path, fathom.path("one"), "touch", "20", "1", "30") as recorder:
            _, stderr = recorder.communicate(timeout=60)
        other.kill()
    if recorder.returncode == 77:
        return stderr.splitlines()[0]
    equal(recorder.returncode, 0, stderr)
    harness.check_sums(fathom, path)
    row = thread_rows(path)[0]
    computed = row["time"]["user_ns"] + row["time"]["unknown_ns"]
    check(computed > 20 * MS, f"user code behind each: {row['time']}")
    check(row["time"]["kernel_ns"] < 0.2 * computed, f"it is not the kernel's: {row['time']}")
    check(fathom.report(path, "thread")["incomplete"] >= 20, "they are counted")
    return None


def cpu_away(seconds):
    """Takes the second CPU away for so long."""
    try:
        write("0", CPU)
        time.sleep(seconds)
    finally:
        write("1", CPU)


def cpu_that_comes_back(name, seconds):
    """Faults on it end as before: the kernel's own events have gone with it, for good."""
    if not os.path.exists(CPU):
        return "no CPU can be taken away"
    with open("/proc/sys/kernel/perf_event_paranoid", encoding="ascii") as file:
        if int(file.read()) > 2:
            return "this kernel gives events to CAP_SYS_ADMIN only, which is given up"
    with recording(name, os.getpid()) as path:
        try:
            cpu_away(seconds)
        except OSError as error:
            return f"no CPU can be taken away: {error.strerror}"
        time.sleep(0.1)
        subprocess.run([TRAPS, "touch", "40", "1"], check=True, timeout=60)
    row = next(row for row in thread_rows(path) if row["key"] == os.path.basename(TRAPS))
    late = [s for s in faults(path) if s["tid"] == row["tid"]]
    check(len(late) > 40, f"{len(late)} faults afterwards")
    unseen = [s for s in late if s["end_bound"] == "soft"]
    check(not unseen, f"{len(unseen)} of {len(late)} are not seen to: {unseen[:1]}")
    check(row["time"]["user_ns"] > 40 * 2 * MS, f"3 ms of user code behind each: {row['time']}")
    return None


@tests.add
def a_cpu_that_is_back_at_once_has_ends_of_faults():
    return cpu_that_comes_back("at-once", 0)


@tests.add
def a_cpu_that_is_back_after_seconds_has_ends_of_faults():
    return cpu_that_comes_back("seconds", 2)


with fathom:
    tests.run()
