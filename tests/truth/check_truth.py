#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Is what a truth program says about itself true? check_truth.py PROGRAM ROWS

A thread's time is its CPU time, its waits on run queues and what it was
blocked for. The first two the kernel counts, so the third must agree with what
the program expects, within the bounds that fathom has to meet with room for
what no one can stamp (a wake-up is counted from its queueing on, which is
later than the stamp on a loaded machine). Checks on a CPU time are against
that count. What threads that the kernel hides take of a CPU is in no counter
of others: a program is run again, three times at most.
"""
import json
import os
import subprocess
import sys

TRIES = 3
BLOCKED = ("disk", "network", "lock", "timer", "ipc", "fault", "child", "other", "idle")


def measured(row, part):
    """The same part of the thread's time as the kernel's own counters give it."""
    range_ns = row["to_ns"] - row["from_ns"]
    if part in BLOCKED:
        return range_ns - row["run_ns"] - row["wait_ns"]
    if part in ("user", "kernel"):
        return row["run_ns"]
    if part == "runnable":
        return range_ns - row["run_ns"]
    return row["wait_ns"]  # throttled, and what others of the machine took meanwhile


def bound(row, part, expected):
    """2 % or 200 us, and what each switch and each counter may differ by."""
    wide = 5 if part in ("user", "kernel", "throttled") else 1
    return max(expected * 0.02 * wide, 200e3) + row["switches"] * 50e3


def steal_now():
    """What the hypervisor has taken from all CPUs: no thread's CPU time, and no wait of it."""
    with open("/proc/stat", encoding="ascii") as stat:
        return int(stat.readline().split()[8]) * 1000000000 // os.sysconf("SC_CLK_TCK")


def wrong(row, steal_ns):
    """What the kernel's counters say against the row, or None."""
    part = next(iter(row["expect"])).removesuffix("_ns")
    expected = sum(row["expect"].values())  # several only where all are blocked time
    is_ns = measured(row, part)
    off_ns = expected - is_ns
    if part != "throttled":  # a counter of more than that is a bound from above alone
        off_ns = abs(off_ns)
    if 0 < expected and off_ns <= bound(row, part, expected) + steal_ns:
        return None
    return f"{part}: expected {expected}, counters say {is_ns}: {row}"


def look(program):
    """-> (status, rows, what is wrong with each)"""
    steal_ns = steal_now()
    run = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=False)
    steal_ns = steal_now() - steal_ns
    rows = [json.loads(line) for line in run.stdout.splitlines()] if not run.returncode else []
    return run.returncode, rows, [wrong(row, steal_ns) for row in rows]


def main():
    program, rows_wanted = sys.argv[1], int(sys.argv[2])
    for _ in range(TRIES):
        status, rows, problems = look(program)
        if status:
            return status
        for problem in filter(None, problems):
            print(f"# {problem}")
        if not any(problems):
            break
    failed = len(rows) != rows_wanted
    print(f"1..{len(rows) + 1}")
    print(f"{'not ok' if failed else 'ok'} 1 - {rows_wanted} rows")
    for number, (row, problem) in enumerate(zip(rows, problems), 2):
        failed |= problem is not None
        print(f"{'not ok' if problem else 'ok'} {number} - {row['what']}")
    return 1 if failed else 0


sys.exit(main())
