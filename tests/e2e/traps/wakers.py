#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who woke a thread, and when."""
import os
import sys

import harness
from harness import check, equal
from trapped import TRAPS, Skip, fathom, record, skips, spans

MS = 1000000
tests = harness.Tests()


def waker(span):
    return span["attributes"].get("waker")


WAITS = ("--detail", "waits")  # the programs then read from the kernel whether it is in a softirq


def interrupted(*options):
    path, _ = record("interrupted", "200", options=options)
    sleeper = [s["tid"] for s in spans(path, "thread") if s["tid"] != s["pid"]][0]
    waits = [s for s in spans(path, "wait", "timer") if s["tid"] == sleeper]
    check(len(waits) > 150, f"{len(waits)} sleeps")
    seen = [waker(s) for s in waits if waker(s)]  # the kernel hides a few
    check(len(seen) > 0.9 * len(waits), f"{len(seen)} of {len(waits)} have a waker")
    equal(set(seen), {"timer"}, "wakers")
    return path, waits


@tests.add
def a_thread_that_an_interrupt_hits_is_no_waker():
    """A timer fires while another thread writes: the timer is what wakes the sleeper."""
    interrupted(*WAITS)
    path, waits = interrupted()
    writes = sorted((s["begin_ns"], s["end_ns"]) for s in spans(path, "syscall", "pwrite64"))
    ends = [s["begin_ns"] + s["time"]["timer_ns"] for s in waits]
    hit = sum(any(begin < end < until for begin, until in writes) for end in ends)
    check(hit > 100, f"{hit} of them in the middle of a write")


@tests.add
def interrupts_in_the_middle_of_a_program():
    """A timer fires while a program of ours looks for what it knows of the thread that it hit."""
    path, _ = record("napper", "2000", options=("--syscalls", "clock_nanosleep"))
    napper = [s["tid"] for s in spans(path, "syscall", "clock_nanosleep")][0]
    waits = [s for s in spans(path, "wait", "timer") if s["tid"] == napper]
    seen = [waker(s) for s in waits if waker(s)]
    check(len(waits) > 1900, f"{len(waits)} naps")
    check(len(seen) > 0.985 * len(waits), f"{len(seen)} of {len(waits)} have a waker")


@tests.add
@skips
def work_that_an_interrupt_puts_off():
    """Samples of a thread that computes wake who polls for them: it is not that thread."""
    path, _ = record("sampled", "100")
    polls = {s["span_id"] for s in spans(path, "syscall", "poll")}
    waits = [s for s in spans(path, "wait") if s.get("parent_id") in polls]
    check(len(waits) > 50, f"{len(waits)} waits")
    equal({waker(s) for s in waits if waker(s)}, {"interrupt"}, "wakers")
    equal({s["name"] for s in waits if waker(s)}, {"other"}, "causes")


def woken_by_cpu_time(name):
    path, _ = record(name, "50")
    waiter = [s["tid"] for s in spans(path, "thread") if s["tid"] == s["pid"]][0]
    calls = {s["span_id"] for s in spans(path, "syscall", "rt_sigtimedwait")}
    waits = [s for s in spans(path, "wait") if s["tid"] == waiter and s.get("parent_id") in calls]
    check(len(waits) > 25, f"{len(waits)} waits")
    equal({waker(s) for s in waits if waker(s)}, {"timer"}, "wakers")
    equal({s["name"] for s in waits if waker(s)}, {"idle"}, "causes")  # a wait for a signal


@tests.add
def an_interval_timer_of_cpu_time():
    """The thread that uses up the time looks after the timer, but does not wake for itself."""
    woken_by_cpu_time("profiled")


@tests.add
def a_timer_of_cpu_time():
    woken_by_cpu_time("cpu_timer")


def woken_by_each_other(name, part, rounds=1000, options=()):
    path, _ = record(name, str(rounds), options=options)
    threads = {s["tid"]: f"{s['thread']}/{s['tid']}" for s in spans(path, "thread")}
    equal(len(threads), 2, "threads")
    waits = [s for s in spans(path, "wait", part)]
    check(len(waits) > rounds / 4, f"{len(waits)} waits in {rounds} rounds")
    for tid in threads:
        other = next(iter(set(threads) - {tid}))
        wrong = [s for s in waits if s["tid"] == tid and waker(s) != threads[other]]
        # the last one can be ended by the other's end; ksoftirqd helps a slow machine
        allowed = 2 if harness.SLOWER == 1 else len(waits) / 100
        check(len(wrong) <= allowed,
              f"{len(wrong)} of {len(waits)} not woken by the sender: {wrong[:2]}")
    blocked = sum(s["time"][part + "_ns"] for s in waits)
    late = sum(s["time"]["runnable_ns"] for s in waits)
    print(f"# {name}: {len(waits)} waits, {blocked} ns blocked, {late} ns runnable")
    return sum(s["time"][part + "_ns"] == 0 for s in waits)  # woken before it slept


@tests.add
@harness.tries
def wakings_that_come_before_the_switch():
    """On two CPUs many a waking has an earlier time than its sleeper's switch: none gets lost."""
    early = woken_by_each_other("pingpong", "ipc", 3000)
    print(f"# {early} of them came early")
    return None if early else "no waking came early: on one CPU none does"


@tests.add
@harness.tries
def the_sender_wakes_over_loopback():
    """
    A softirq in the sender's call brings the data: the sender is the waker. Where others want the CPU,
    ksoftirqd may bring it instead.
    """
    woken_by_each_other("loopback", "network")
    woken_by_each_other("loopback", "network", options=WAITS)


ALL_ON_THE_FIRST = """
mount -t sysfs none /sys && ip link set lo up || exit
printf %x $((1 << $2)) >/sys/class/net/lo/queues/rx-0/rps_cpus || exit 77
exec "$1" crossed 120 "$3"
"""


def crossed(kind, *options):
    path = fathom.path(f"crossed-{kind}-{len(options)}")
    first = min(os.sched_getaffinity(0))
    result = fathom.run("record", "-o", path, *options, "--", "unshare", "-n", "-m", "sh", "-c",
                        ALL_ON_THE_FIRST, "sh", TRAPS, first, kind)
    if result.returncode == 77:
        raise Skip(result.stderr.splitlines()[0])
    equal(result.returncode, 0, f"record: {result.stderr}")
    equal(fathom.report(path, "thread")["lost"]["total"], 0, "lost records")
    # on a connection that was accepted, the taker is idle
    waits = [s for part in ("network", "idle") for s in spans(path, "wait", part)
             if s["thread"] == "taker"]
    check(len(waits) > 80, f"{len(waits)} waits")
    if options != WAITS:
        sends = sorted((s["begin_ns"], s["end_ns"]) for s in spans(path, "syscall", "write")
                       if s["thread"] == "sender")
        ends = [s["begin_ns"] + s["time"]["network_ns"] + s["time"]["idle_ns"] for s in waits]
        hit = sum(any(begin < end < until for begin, until in sends) for end in ends)
        print(f"# {kind}: {hit} of {len(waits)} wakings in the middle of a send")
        check(hit > 20, f"{hit} of {len(waits)} in the middle of a send")
    wrong = [s for s in waits if (waker(s) or "").startswith("sender/")]
    equal(wrong[:2], [], f"{len(wrong)} woken by who sends on another connection")


@tests.add
@skips
@harness.tries_when_emulated
def a_packet_of_another_connection_that_comes_in_a_send():
    """A softirq in a thread's own send brings what somebody else has sent: it is no waker."""
    for options in WAITS, ():
        crossed("tcp", *options)
        crossed("udp", *options)


with fathom:
    tests.run()
