#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records tracepoints that the user chose, around a program that does a known number of each."""
import os
import shutil
import subprocess
import sys

import harness
import perf_count
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
PROGRAM, LAW_OF = map(os.path.abspath, sys.argv[2:4])
N = 3000
CHOSEN = ("--event", "syscalls:sys_enter_getppid", "--event", "sched:sched_process_*",
          "--event", "sched:sched_wakeup*", "--event", "signal:signal_generate")
tests = harness.Tests()
recording = pid = sleeper = child = None
skipped = 0


def counts(directory):
    rows = fathom.report(directory, "event")["rows"]
    return {row["key"]: row["count"] for row in rows}


def spans_with_events(directory):
    """(span, event) for each event that a trace shows."""
    return [(span, event) for trace in fathom.trace_all(directory)["traces"]
            for span in trace["spans"] for event in span["events"]]


def named(shown, name):
    return [(span, event) for span, event in shown if event["name"] == name]


def check_all_are_shown(directory):
    """Each event that was counted stands in one place, if a thread fired it or is named by it."""
    shown, count = spans_with_events(directory), counts(directory)
    check(count, "there are events")
    equal({name: len(named(shown, name)) for name in count}, count, "events in the trace")
    return shown


@tests.add
def records_what_was_chosen():
    global recording, pid, sleeper, child, skipped
    result = fathom.run("record", "-o", fathom.path("r"), *CHOSEN, "--", PROGRAM, N)
    equal(result.returncode, 0, result.stderr)
    pid, sleeper, child = map(int, result.stdout.split())
    recording = fathom.path("r")
    report = fathom.report(recording, "event")
    # the kernel skips an event that fires in an interrupt of the program that records another
    skipped = report["lost"]["recursion"]
    equal(report["lost"]["total"], skipped, "lost records, but for those")
    harness.check_row_keys(fathom, recording, "event", "cause")


@tests.add
def counts_every_event_exactly_once():
    count = counts(recording)
    equal(count["syscalls:sys_enter_getppid"], N + 2, "getppid")
    equal(count["sched:sched_process_exec"], 2, "exec")
    equal(count["sched:sched_process_fork"], 2, "fork")
    equal(count["sched:sched_process_exit"], 3, "exit")
    equal(count["sched:sched_wakeup_new"], 2, "new threads")
    check_all_are_shown(recording)


@tests.add
def events_stand_in_the_span_in_which_they_fired():
    calls = named(spans_with_events(recording), "syscalls:sys_enter_getppid")
    equal(sum(span["name"] == "work" for span, _ in calls), N, "under work")
    equal(sum(span["kind"] == "thread" for span, _ in calls), 2, "under no span")
    for span, event in calls:
        check(span["begin_ns"] <= event["time_ns"] <= span["end_ns"], f"{event} in {span['name']}")
        equal(event["attributes"]["thread.id"], pid, "thread")
    times = [event["time_ns"] for span, event in calls if span["name"] == "work"]
    equal(times, sorted(times), "order")


@tests.add
def fields_have_the_values_of_the_kernel():
    shown = spans_with_events(recording)
    execs = {e["attributes"]["pid"]: e["attributes"]
             for _, e in named(shown, "sched:sched_process_exec")}
    equal(execs[pid]["filename"], PROGRAM, "file of the command")
    equal(execs[child]["filename"], "/bin/true", "file of the child")
    equal(execs[child]["old_pid"], child, "an integer")
    fork = next(e["attributes"] for _, e in named(shown, "sched:sched_process_fork")
                if e["attributes"]["child_pid"] == child)
    equal(fork["parent_pid"], pid, "parent")
    new = sorted(e["attributes"]["pid"] for _, e in named(shown, "sched:sched_wakeup_new"))
    equal(new, sorted((sleeper, child)), "new threads")
    comm = {e["attributes"]["comm"] for _, e in named(shown, "sched:sched_wakeup_new")}
    equal(comm, {"e2e-events"}, "an array of characters")
    died = [e["attributes"] for _, e in named(shown, "signal:signal_generate")]
    check(any(a["sig"] == 17 and a["pid"] == pid for a in died), f"SIGCHLD among {died}")


@tests.add
def an_event_that_names_a_thread_belongs_to_it():
    shown = spans_with_events(recording)
    ours = {span["tid"] for trace in fathom.trace_all(recording)["traces"]
            for span in trace["spans"]}
    for span, event in shown:  # what they do to others is theirs
        if event["name"].startswith("sched:sched_wakeup") and event["attributes"]["pid"] in ours:
            equal(event["attributes"]["thread.id"], event["attributes"]["pid"], "owner")
    woken = [e for span, e in named(shown, "sched:sched_wakeup") if span["name"] == "sleeper"]
    check(len(woken) + skipped >= 5, f"{len(woken)} wake-ups in the span that slept 5 times")
    # beside what interrupts in it woke, which nobody recorded
    equal({e["attributes"]["pid"] for e in woken} & ours, {sleeper}, "who was woken in it")


TIMERS = """
import signal
count = 0
def expired(*_):
    global count
    count += 1
signal.signal(signal.SIGALRM, expired)
signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
while count < 200:
    signal.pause()
signal.setitimer(signal.ITIMER_REAL, 0)
"""


def owners(recording, name):
    """Of each such event, in their order: whose it is, and whom its field names."""
    events = sorted((e for _, e in named(spans_with_events(recording), name)),
                    key=lambda e: e["time_ns"])
    return [(e["attributes"]["thread.id"], e["attributes"]["pid"]) for e in events]


@tests.add
def so_does_one_of_any_subsystem():
    """Some virtual machines hide a process, and what timers fire above it."""
    expired = fathom.record("timer", "--event", "timer:itimer_expire", "--", sys.executable, "-c",
                            TIMERS)
    found = owners(expired, "timer:itimer_expire")
    lost = fathom.report(expired, "event")["lost"]["recursion"]
    check(len(found) + lost >= 150, f"{len(found)} expiries of 200")
    adjusted = fathom.record("adjusted", "--event", "oom:oom_score_adj_update", "--", "sh", "-c",
                             "sleep 1 & echo 100 >/proc/$!/oom_score_adj; wait")
    adjustments = owners(adjusted, "oom:oom_score_adj_update")
    equal(len(adjustments), 1, "adjustments")
    for owner, pid in found + adjustments:
        equal(owner, pid, "owner")


@tests.add
def a_thread_that_has_just_ended_is_in_scope_as_before():
    """The kernel frees it a while after its end."""
    freed = fathom.record("freed", "--event", "sched:sched_process_free", "--event",
                          "sched:sched_process_exit", "--", "sh", "-c",
                          "/bin/true; /bin/true; (exit 3); sleep 2; exit 0")
    count = counts(freed)
    # the last two may be freed when the recording has ended
    check(3 <= count["sched:sched_process_free"] <= count["sched:sched_process_exit"] == 5,
          f"freed: {count}")
    harness.check_sums(fathom, freed)


def in_chunks(directory, name):
    """How many there are in what a rotation seals."""
    fathom.ok("rotate", directory)
    return counts(directory).get(name, 0)


@tests.add
def what_fires_after_the_end_of_a_thread_stands_with_it():
    """The command goes on until the kernel has freed its children."""
    freed, directory = "sched:sched_process_free", fathom.path("behind")
    command = [fathom.binary, "record", "-o", directory, "--event", "sched:sched_process_*", "--",
               "sh", "-c", "/bin/true; /bin/true; exec cat"]
    with harness.Process(command, text=True, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
                         stderr=subprocess.PIPE) as recorder:
        harness.until(lambda: fathom.run("rotate", directory).returncode == 0, "the recording")
        harness.until(lambda: in_chunks(directory, freed) == 2, "the kernel to free two processes")
        _, text = recorder.communicate("", timeout=60)
    equal(recorder.returncode, 0, text)
    for span, event in named(check_all_are_shown(directory), freed):
        equal(span["kind"], "thread", "where it stands")
        equal(span["tid"], event["attributes"]["pid"], "whose it is")
        check(span["end_ns"] < event["time_ns"], f"{event} behind the end at {span['end_ns']}")


@tests.add
def on_the_whole_host_each_stands_with_a_thread():
    """Also what is told of threads that ended before the recording began."""
    check_all_are_shown(fathom.record("host", "-a", "--event", "sched:sched_process_*", "--", "sh",
                                      "-c", "/bin/true; (exit 3); /bin/true"))


@tests.add
def the_merge_law_holds():
    chunk = fathom.chunks(recording)[0]["path"]
    result = subprocess.run([LAW_OF, chunk, "7", "10"], text=True, capture_output=True,
                            timeout=200)
    equal(result.returncode, 0, f"law over {chunk}: {result.stdout}{result.stderr}")
    harness.check_sums(fathom, recording)
    harness.check_babeltrace(fathom, recording)


@tests.add
def every_chunk_can_be_read_alone():
    directory = fathom.record("rotated", "--rotate", "100ms", "--event",
                              "syscalls:sys_enter_getppid", "--event", "sched:sched_wakeup*", "--",
                              PROGRAM, 10)
    chunks = [chunk["path"] for chunk in fathom.chunks(directory)]
    check(len(chunks) >= 2, f"{len(chunks)} chunks")
    for chunk in chunks:
        for name in counts(chunk):
            check(name.startswith(("sched:", "syscalls:")), f"{name} has its format in {chunk}")
    equal(counts(directory)["syscalls:sys_enter_getppid"], 12, "over all chunks")
    fathom.ok("chunks", directory)


@tests.add
def only_what_is_in_scope():
    directory = fathom.record("scope", "--event", "sched:sched_process_exec", "--", "sh", "-c",
                              "/bin/true; /bin/true")
    other = subprocess.run(["/bin/true"])
    equal(other.returncode, 0, "true")
    execs = named(spans_with_events(directory), "sched:sched_process_exec")
    equal(len(execs), 3, "sh and what it ran")


@tests.add
def what_is_done_to_others_is_recorded_from_both_sides():
    """What names a thread out of scope stands with the one that did it."""
    loop = "for i in 1 2 3; do kill -CONT {}; done"
    with harness.Process(["sleep", "60"]) as sleeper:
        sender = fathom.record("sends", "--event", "signal:signal_generate", "--", "bash", "-c",
                               loop.format(sleeper.pid))
        told = [(s["pid"], e) for trace in fathom.trace_all(sender)["traces"]
                for s in trace["spans"] for e in s["events"]
                if e["attributes"].get("pid") == sleeper.pid]
        equal(len(told), 3, f"signals sent: {told}")
        check(sleeper.pid not in {pid for pid, _ in told}, f"who sent them: {told}")
        with harness.Process([fathom.binary, "record", "-o", fathom.path("gets"), "--event",
                              "signal:signal_generate", "-p", str(sleeper.pid), "-d", "2s"],
                             stderr=subprocess.PIPE, text=True) as recorder:
            harness.until(lambda: fathom.run("rotate", fathom.path("gets")).returncode == 0,
                          "the recording to begin")
            subprocess.run(["bash", "-c", loop.format(sleeper.pid)], check=True)
            recorder.communicate(timeout=60)
        told = [s["pid"] for trace in fathom.trace_all(fathom.path("gets"))["traces"]
                for s in trace["spans"] for e in s["events"]]
        sleeper.kill()
        equal(told, [sleeper.pid] * 3, "signals got")


@tests.add
def what_is_negated_is_left_out():
    directory = fathom.record("without", "--event", "sched:sched_process_*,!sched:*_exec", "--",
                              "sh", "-c", "true; true & wait")
    got = set(counts(directory))
    check("sched:sched_process_exit" in got, f"events: {got}")
    check("sched:sched_process_exec" not in got, f"events: {got}")
    for events, status in (("sched:sched_switch,!sched:*", 1), ("sched:*,!sched:no_such", 1),
                           ("!sched:*", 2)):
        result = fathom.run("record", "-o", fathom.path("no"), "--event", events, "--", "true")
        equal(result.returncode, status, f"{events}: {result.stderr}")
        equal(len(result.stderr.strip().splitlines()), status, result.stderr)


@tests.add
def others_who_listen_through_perf_lose_nothing():
    with perf_count.Counter("sched:sched_process_exec") as counter:
        fathom.record("beside", "--event", "sched:sched_process_exec", "--", "sh", "-c",
                      "i=0; while [ $i -lt 300 ]; do /bin/true; i=$((i + 1)); done")
        counted = counter.read()
    check(counted > 295, f"perf counted {counted} of 301 execs and that of fathom")
    skipped_now = fathom.report(fathom.path("beside"), "event")["lost"]["recursion"]
    equal(counts(fathom.path("beside"))["sched:sched_process_exec"] + skipped_now, 301, "fathom")


WITNESS = """
import os, subprocess, sys, time
from perf_count import Counter
with subprocess.Popen(["dd", "if=/dev/zero", "of=/dev/null", "bs=1"], stderr=-3) as busy, \\
     Counter(sys.argv[1]) as host, Counter(sys.argv[1], os.getppid()) as recorder:
    time.sleep(0.1)
    begin, before, own = time.monotonic_ns(), host.read(), recorder.read()
    time.sleep(0.5)
    own, after, end = recorder.read() - own, host.read(), time.monotonic_ns()
    busy.terminate()
print(begin, end, after - before, own)
"""


@tests.add
def what_an_interrupt_does_above_the_recorder_is_the_hosts():
    """As many as the kernel counts meanwhile; but some virtual machines hide a process's."""
    name = "irq_vectors:local_timer_entry"
    result = fathom.run("record", "-o", fathom.path("timers"), "-a", "--event", name, "--",
                        sys.executable, "-c", WITNESS, name)
    equal(result.returncode, 0, result.stderr)
    begin, end, counted, own = map(int, result.stdout.split())
    report = fathom.report(fathom.path("timers"), "event", "--from", begin, "--to", end)
    count = {row["key"]: row["count"] for row in report["rows"]}[name]
    skipped_now = report["lost"]["recursion"]
    shutil.rmtree(fathom.path("timers"))  # a million calls, of which nothing else is asked
    if own <= counted // 20:
        return f"{own} of {counted} came above the recorder"
    check(count + skipped_now >= counted - own // 2,
          f"{count} of {counted} that the kernel counted, {own} of them above the recorder, "
          f"{skipped_now} skipped")
    return None


@tests.add
def an_unknown_event_is_refused_in_one_line():
    result = fathom.run("record", "-o", fathom.path("no"), "--event", "sched:sched_proces_exec",
                        "--", "true")
    equal(result.returncode, 1, "status")
    equal(len(result.stderr.strip().splitlines()), 1, result.stderr)
    check("sched:sched_process_exec" in result.stderr, f"what is near: {result.stderr}")
    equal(fathom.run("record", "-o", fathom.path("no"), "--event", "nothing:at_all*", "--",
                     "true").returncode, 1, "a glob that matches nothing")
    equal(fathom.run("record", "--event", "sched", "--", "true").returncode, 2, "no name")


@tests.add
def needs_no_tracefs_in_any_directory():
    if not shutil.which("unshare"):
        return "unshare is missing"
    script = ("umount -l /sys/kernel/debug/tracing /sys/kernel/tracing /sys/kernel/debug "
              "2>/dev/null; test ! -e /sys/kernel/tracing/events || exit 99; before=$(wc -l "
              "</proc/self/mountinfo); \"$@\" || exit; "
              "test $before = $(wc -l </proc/self/mountinfo)")
    result = subprocess.run(["unshare", "-m", "sh", "-c", script, "sh", fathom.binary, "record",
                             "-o", fathom.path("bare"), "--event", "sched:sched_process_exec",
                             "--", "true"], text=True, capture_output=True, timeout=60)
    if result.returncode == 99:
        return "tracefs cannot be unmounted here"
    equal(result.returncode, 0, result.stderr)
    equal(counts(fathom.path("bare")), {"sched:sched_process_exec": 1}, "events")
    return None


with fathom:
    tests.run()
