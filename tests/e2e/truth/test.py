#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records the programs of tests/truth and compares the split of each thread with what it says.

What is compared, and with what room:

- The part that a program names must have what the program stamped, within 2 %
  or 200 us and 2.5 us for each switch. Where the machine is busy a stamp is
  early (its writer was preempted before it did the waking) or a timer late:
  then the kernel's own count of the thread's blocked time (wall less CPU time
  and run-queue wait) bounds it from above.
- Where the program itself could only take that count (disk, fault), it holds
  the time between waking and queueing, which fathom calls runnable: the two
  together must reach it, and the runnable time has a bound of its own.
- Outside of spans, a wait for work is `idle`. The programs name this part where fathom can know it
  by the file that ends a wait, the side of a socket or the value of a futex.
- The time on a CPU is that of perf's task clock, within the same room. Of a thread that ends in its
  row that clock tells nothing (since Linux 6.16 it stops before the memory is taken back): there
  the kernel's count of its CPU time is the truth, and PREEMPTED_NS for each switch more room.
- Runnable and throttled are what schedstat counts as wait on a run queue, and what passed from
  the waking, where a stamp tells when that was, until schedstat begins to count; less what perf's
  task clock has and the thread's does not: that is wait to schedstat (10 to 30 us for each time
  that the thread is preempted on a busy machine), but on the CPU to perf and fathom.
- Disk and fault are what the kernel's delay accounting counts as waits for block I/O: that goes on
  until schedstat begins to count, and leaves out waits for the journal of a file system. On 6.12
  and later it miscounts a thread that leaves the run queue after it left the CPU (delayed
  dequeue): the begin of the wait is noted with whoever runs then. A delay that the thread's
  blocked time contradicts is no witness, and the program is run again.
- The CPU time of getrusage is that of the thread's own clock. Each switch that it counts is a wait.
- What the hypervisor takes is time on the CPU to fathom; the thread's clock leaves it out,
  and where it falls into a switch it is run-queue wait to the kernel.
- With DETAIL=waits in the environment the programs are recorded without calls. User code and the
  kernel are one part then, and nothing is checked of calls and faults; all else is as it is with
  calls. A thread that sleeps in a fault within a call waits in that call, which WITH_CALLS asks.
- A hypervisor or neighbours can take a CPU between a stamp and what it is of, or between a waking and
  the run queue, in ways that no counter has: a program that does not agree is run again, twice at most.
- Unknown time is no more than the room of nothing. Some kernels do not show the switch out of
  certain threads, and a preempted thread then comes back unseen; nor do they show who was woken
  above them: the program is run again.
"""
import contextlib
import json
import os
import signal
import sys
import tempfile

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
WITH_CALLS = {"fault_in_call"}
PROGRAMS = {os.path.basename(path).removeprefix("truth-"): os.path.abspath(path)
            for path in sys.argv[2:]}
BLOCKED = ["disk", "network", "lock", "timer", "ipc", "fault", "child", "other",
           "idle"]
MS = 1000000
DETAIL = os.environ.get("DETAIL", "calls")
WAITS = DETAIL == "waits"
tests = harness.Tests()

PEER, TIMER, TIMERFD = "another thread", "timer", "the timer of a timerfd"
NONE, ANY = "nobody", "anybody"

# Of each row: who ended the waits, how many there are at least, and the calls that it made.
ROWS = {
    "loop": (NONE, 0, {}),
    "reads of /dev/zero": (NONE, 0, {}),
    "two loops on one CPU": (NONE, 10, {}),
    "wait4 for a child that sleeps": (PEER, 4, {"wait4": 5}),
    "pages that are not cached": (ANY, 100, {"pread64": 128}),
    "O_DIRECT": (ANY, 100, {"pread64": 128}),
    "woken by a server": (PEER, 8, {"epoll_wait": 10, "read": 10}),
    "woken by a client": (PEER, 8, {"epoll_wait": 10, "read": 10}),
    "woken by an eventfd": (PEER, 8, {"epoll_wait": 10, "read": 10}),
    "woken by a timerfd": (TIMERFD, 8, {"epoll_wait": 10, "read": 10, "timerfd_settime": 10}),
    "times out": (TIMER, 8, {}),
    "fsync after each write": (ANY, 15, {"fsync": 30, "pwrite64": 30}),
    "handed over by another thread": (PEER, 8, {}),
    "given work by another thread": (PEER, 8, {}),
    "touch of a mapped file": (ANY, 100, {}),
    "read into a mapped file": (ANY, 40, {"read": 64}),
    "read with a slow writer": (PEER, 8, {"read": 10}),
    "read with a slow peer": (PEER, 8, {"read": 10}),
    "read with a slow server": (PEER, 8, {"read": 10}),
    "read with a slow client": (PEER, 8, {"read": 10}),
    "ended by SIGSEGV": (NONE, 0, {}),
    "ended by SIGKILL": (NONE, 0, {}),
    "loop under a CPU quota": (NONE, 5, {}),
    "clock_nanosleep until a time": (TIMER, 10, {"clock_nanosleep": 10}),
    "clock_nanosleep, then its turn": (TIMER, 10, {"clock_nanosleep": 10}),
    "nanosleep": (TIMER, 10, {"nanosleep": 10}),
    "nanosleep through SIGSTOP": (ANY, 10, {"nanosleep": 5, "restart_syscall": 0}),
    "splice of a file into a full pipe": (PEER, 8, {"splice": 10}),
    "splice of a pipe into a full socket": (ANY, 8, {"splice": 10}),
    "poll of nothing with a time-out": (TIMER, 10, {"poll": 10}),
    "SIGSTOP to SIGCONT": (PEER, 5, {}),
}
PREEMPTED_NS = 40e3
TRIES = 5
OWN_CLOCKS = ("/schedstat", "[perf_event]")  # which the programs read for their rows
WITNESSED = {"disk", "fault"}  # expected is the kernel's count of blocked time
JOURNALED = "fsync after each write"
DELAY_ACCOUNTING = "/proc/sys/kernel/task_delayacct"


def steal_now():
    """What the hypervisor has taken from all CPUs; known to a tick."""
    with open("/proc/stat", encoding="ascii") as stat:
        return int(stat.readline().split()[8]) * 10 * MS


class Impossible(Exception):
    """A program cannot make its cause on this machine."""


class Thread:
    """What fathom says of the thread of a row, between the row's two stamps."""

    def __init__(self, recording, spans, row):
        report = fathom.report(recording, "thread", "--from", row["from_ns"], "--to", row["to_ns"])
        equal(report["lost"]["total"], 0, "lost records")
        mine = [r for r in report["rows"] if r["tid"] == row["tid"]]
        equal(len(mine), 1, f"rows of thread {row['tid']}")
        self.row = row
        self.expect = {key.removesuffix("_ns"): ns for key, ns in row["expect"].items()}
        self.range_ns = row["to_ns"] - row["from_ns"]
        self.preempted_ns = PREEMPTED_NS * row["switches"] if row.get("ends") else 0
        self.blocked_ns = self.range_ns - row["run_ns"] - row["wait_ns"]
        self.time = {key.removesuffix("_ns"): ns for key, ns in mine[0]["time"].items()}
        if WAITS:  # the same time, not told apart
            self.expect = {"cpu" if part in ("user", "kernel") else part: ns
                           for part, ns in self.expect.items()}
            self.time["cpu"] += self.time.pop("kernel")  # of a thread that ends, it is known
            self.time["kernel"] = 0
        total = harness.total(mine[0]["time"])
        if row.get("ends"):
            check(0 < total <= self.range_ns, f"sum of the parts: {total} of {self.range_ns}")
        else:
            equal(total, self.range_ns, "sum of the parts")
        self.spans = [s for s in spans if s["tid"] == row["tid"] and
                      s["begin_ns"] >= row["from_ns"] and s["end_ns"] <= row["to_ns"]]

    def waits(self, part):
        return [s for s in self.spans if s["kind"] == "wait" and s["name"] == part]

    def was_seen(self):
        """What it did, and who woke it where somebody must have."""
        woken = ROWS[self.row["what"]][0] in (PEER, TIMER, TIMERFD)
        slept = [s for s in self.spans if s["kind"] == "wait" and s["name"] in BLOCKED and
                 s["end_ns"] - s["begin_ns"] >= MS]
        return (self.time["unknown"] <= self.room(0) and
                not (woken and any("waker" not in s["attributes"] for s in slept)))

    def room(self, ns):
        return max(0.02 * ns, 200e3) + 2500 * self.row["switches"]

    def check_part(self, part, expected, expected_all):
        row, is_ns, room = self.row, self.time[part], self.room(expected)
        low, high = expected, expected
        if part in WITNESSED:
            low -= self.time["runnable"]
            room *= harness.SLOWER
        elif part in BLOCKED:
            if expected_all > expected:  # the time-out runs on while the thread is runnable
                low -= self.time["runnable"]
            high = max(expected, self.blocked_ns - (expected_all - expected))
        elif row.get("ends"):
            high += row["steal_ns"] + self.preempted_ns
        elif part in ("user", "kernel", "cpu"):
            high = max(expected, self.range_ns - row["wait_ns"]) + row["steal_ns"]
        elif part == "runnable":
            low -= row["steal_ns"]
        elif part == "throttled":  # until it runs again; the cgroup counts until it may run
            high = max(expected, row["wait_ns"])
        check(low - room <= is_ns <= high + room,
              f"{part}: is {is_ns}, should be {expected} to {high} within {room:.0f}: "
              f"{self.time} {row}")

    def check_rest(self):
        """Nothing else was waited for; what was preempted is runnable."""
        for other in BLOCKED:
            if other not in self.expect:
                check(self.time[other] <= self.room(0) + 0.01 * self.range_ns,
                      f"{other} has {self.time[other]} ns: {self.time}")
        check(self.time["unknown"] <= self.room(0), f"unknown: {self.time}")
        run = self.time["user"] + self.time["kernel"] + self.time["cpu"]
        check(not WAITS or not self.time["user"], f"user code without calls: {self.time}")
        task = self.row.get("task_ns")
        check(not task or abs(run - task) <= self.room(task) * harness.SLOWER,
              f"CPU time {run}, perf's task clock has {task}: {self.time}")
        # a thread's clock starts up to the wake-up before its switch-in
        late = max(0, self.time["runnable"] + self.time["throttled"] - self.row["wait_ns"])
        check(run >= self.row["run_ns"] - self.room(self.row["run_ns"]) - late,
              f"CPU time {run}, the kernel counts {self.row['run_ns']}: {self.time}")
        usage = self.row.get("usage_ns", run)  # as schedstat: see the top
        more = max(0, self.row.get("task_ns", 0) - self.row["run_ns"]) + self.row["steal_ns"]
        check(usage - self.room(usage) - late <= run <=
              usage + self.room(usage) * harness.SLOWER + more,
              f"CPU time {run}, getrusage has {usage}: {self.time} {self.row}")

    def check_queued(self):
        """Off the CPU without a wait for anything, beside schedstat."""
        row, is_ns = self.row, self.time["runnable"] + self.time["throttled"]
        wait_ns, slept = row["wait_ns"], [self.expect[p] for p in BLOCKED if p in self.expect]
        low = wait_ns - max(row["steal_ns"], row.get("task_ns", 0) - row["run_ns"],
                            self.preempted_ns)
        high = wait_ns
        if harness.SLOWER > 1:  # what is taken from an emulated machine nobody counts
            low = 0
        if len(slept) > 1 or not WITNESSED.isdisjoint(self.expect):  # no stamps of all wakings
            high += 100e3 * harness.SLOWER * row["switches"]
        elif slept:
            high = max(high, self.range_ns - row["run_ns"] - slept[0])
        # the thread's clock runs from where the kernel has chosen it; a switch can be taken long
        high += max(0, row["run_ns"] - row.get("task_ns", row["run_ns"]))
        room = self.room(wait_ns) * harness.SLOWER
        check(low - room <= is_ns <= high + room,
              f"runnable and throttled {is_ns}, schedstat counts {wait_ns}, at most {high} "
              f"within {room:.0f}: {self.time} {row}")

    def delay_room(self):
        return self.room(self.row["disk_ns"]) * harness.SLOWER

    def delay_holds(self):
        """Whether delay accounting tells of a disk what this thread's other counters allow."""
        off = self.row["disk_ns"] - self.blocked_ns
        return (off <= self.delay_room() and
                (self.row["what"] == JOURNALED or -off <= self.delay_room()))

    def check_disk(self):
        """What it slept for a disk, beside delay accounting."""
        row, is_ns, delay = self.row, self.time["disk"] + self.time["fault"], self.row["disk_ns"]
        late = max(0, self.time["runnable"] + self.time["throttled"] - row["wait_ns"])
        high = max(delay, self.blocked_ns) if row["what"] == JOURNALED else delay
        print(f"# {row['what']}: disk and fault {is_ns}, delay accounting {delay}")
        check(delay - late - self.delay_room() <= is_ns <= high + self.delay_room(),
              f"disk and fault {is_ns}, delay accounting has {delay}, {late} of it runnable, "
              f"within {self.delay_room():.0f}: {self.time} {row}")

    def check_switches(self):
        """Each is a wait; after the last one of a thread that ended nothing is."""
        waits, switches = sum(s["kind"] == "wait" for s in self.spans), self.row["switches"]
        least = 0 if self.time["unknown"] else switches - bool(self.row.get("ends"))
        check(least <= waits <= switches,
              f"{waits} waits, getrusage counts {switches} switches: {self.time}")

    def check_waits(self, part, waker, least):
        waits = self.waits(part)
        if part in WITNESSED:  # a fast disk can answer before the thread has left the CPU
            left = self.row["switches"] - len(self.waits("runnable"))  # else it was preempted
            least = min(least, max(0, left * 3 // 4))
        elif part in ("runnable", "throttled"):  # the more neighbours, the fewer turns it has
            least = min(least, max(1, self.row["switches"] * 3 // 4))
        elif least and harness.SLOWER > 1:  # a turn on the CPU lasts longer there
            least = max(1, least // harness.SLOWER)
        check(len(waits) >= least or self.time["unknown"] > 0,
              f"{len(waits)} waits of {part}, should be at least {least}")
        for wait in waits:
            attributes = wait["attributes"]
            equal(attributes["cause"], part, "cause")
            if wait["end_ns"] - wait["begin_ns"] >= MS or part == "runnable":
                check_waker(attributes.get("waker"), waker, wait)
                check(waker != TIMERFD or attributes.get("waker.context") == "timer",
                      f"context of the waker: {wait}")

    def check_faults(self):
        """What it slept for a page lies in the fault, and the fault has no more of it."""
        faults = {s["span_id"]: s for s in self.spans if s["kind"] == "fault"}
        slept = dict.fromkeys(faults, 0)
        for wait in self.waits("fault"):
            check(wait["parent_id"] in faults or self.time["unknown"] > 0,
                  f"a wait in no fault: {wait}")
            slept[wait["parent_id"]] = (slept.get(wait["parent_id"], 0) +
                                        wait["time"]["fault_ns"])
        for span_id, fault in faults.items():
            told, unknown = fault["time"]["fault_ns"], fault["time"]["unknown_ns"]
            check(told <= slept[span_id] <= told + unknown,
                  f"{slept[span_id]} ns of sleep in a fault: {fault}")

    def check_calls(self, calls):
        for name, count in calls.items():
            made = [s for s in self.spans if s["kind"] == "syscall" and s["name"] == name and
                    ("result" in s["attributes"] or not s["attributes"].get("restarted")) and
                    not s["attributes"].get("fd.name", "").endswith(OWN_CLOCKS)]
            equal(len(made), count, f"calls of {name}")


def check_waker(is_waker, waker, wait):
    if waker == TIMER:
        equal(is_waker, "timer", f"waker: {wait}")
    elif waker == TIMERFD:
        check(is_waker and "timerfd" in is_waker, f"waker is {is_waker}: {wait}")
    elif waker == NONE:
        equal(is_waker, None, f"waker: {wait}")
    elif waker == PEER:
        check(is_waker and is_waker.startswith("truth-") and "/" in is_waker and
              int(is_waker.split("/")[1]) != wait["tid"], f"waker is {is_waker}: {wait}")


def record(name):
    """Records a program: the recording, and the rows that the program says."""
    recording = tempfile.mkdtemp(prefix=name, dir=fathom.dir)
    steal_ns = steal_now()
    result = fathom.run("record", "--detail", DETAIL, "-o", recording, "--", PROGRAMS[name])
    if result.returncode == 77:
        raise Impossible("this cause cannot be made here")
    equal(result.returncode, 0, f"record {name}: {result.stderr}")
    steal_ns = steal_now() - steal_ns
    return recording, [dict(json.loads(line), steal_ns=steal_ns)
                       for line in result.stdout.splitlines()]


def look(name):
    """Records a program: [(what fathom says of the thread, its row)]."""
    recording, rows = record(name)
    check(rows, "the program says something")
    harness.check_sums(fathom, recording)
    spans = [s for trace in fathom.trace_all(recording)["traces"] for s in trace["spans"]]
    return [Thread(recording, spans, row) for row in rows]


def verify_thread(name, thread):
    row = thread.row
    waker, least, calls = ROWS[row["what"]]
    for part, expected in thread.expect.items():
        print(f"# {name}, {row['what']}: {part} is {thread.time[part]}, said {expected}; "
              f"runnable {thread.time['runnable']}, unknown {thread.time['unknown']}")
        thread.check_part(part, expected, sum(thread.expect.values()))
    thread.check_rest()
    thread.check_queued()
    thread.check_switches()
    thread.check_waits(next(iter(thread.expect)), waker, least)
    if not WAITS:
        thread.check_faults()
        thread.check_calls(calls)


def set_delay_accounting(value):
    with open(DELAY_ACCOUNTING, "w", encoding="ascii") as file:
        file.write(value)


@contextlib.contextmanager
def delays_accounted():
    """The kernel accounts delays of processes that begin meanwhile; else says why it does not."""
    try:
        with open(DELAY_ACCOUNTING, encoding="ascii") as file:
            before = file.read()
        set_delay_accounting("1")
    except OSError as problem:
        yield f"no delay accounting: {problem}"
        return
    try:
        yield None
    finally:
        set_delay_accounting(before)


def verify_disk(threads, delays_missing):
    """Of those that should have waited for a disk; returns why not of all."""
    why_not = delays_missing
    for thread in threads if not delays_missing else []:
        if thread.row["disk_ns"] < 0:
            why_not = "delay accounting tells this process nothing"
        elif not thread.delay_holds():
            why_not = f"delay accounting of \"{thread.row['what']}\" cannot be true"
        else:
            thread.check_disk()
    return why_not if threads else None


def verify(name, delays_missing):
    """Again where the kernel hid too much: what was not seen can be neither right nor wrong."""
    for _ in range(TRIES):
        try:
            threads = look(name)
        except Impossible as reason:
            return str(reason)
        disk = [t for t in threads if not WITNESSED.isdisjoint(t.expect)]
        asked = [] if delays_missing else [t for t in disk if t.row["disk_ns"] >= 0]
        if all(t.was_seen() for t in threads) and all(t.delay_holds() for t in asked):
            break
    for thread in threads:
        verify_thread(name, thread)
    return verify_disk(disk, delays_missing)


def add(name):
    @harness.tries
    def test():
        with delays_accounted() as delays_missing:
            return verify(name, delays_missing)
    test.__name__ = name
    tests.add(test)


for program in PROGRAMS:
    if not WAITS or program not in WITH_CALLS:
        add(program)

signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # and what was set is set back
with fathom:
    tests.run()
