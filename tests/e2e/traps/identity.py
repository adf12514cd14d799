#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers and names of threads do not stay theirs."""
import subprocess
import sys
import time

import harness
from harness import check, equal
from trapped import TRAPS, fathom, length, record, skips, spans, thread_rows

MS = 1000000
tests = harness.Tests()


def exec_by_a_second_thread(*options):
    path, _ = record("exec_second", "60", options=options)
    call = max(spans(path, "syscall", "execve"), key=lambda s: s["begin_ns"])
    equal(call["tid"], call["pid"], "it returns in the leader")
    equal((call["begin_bound"], call["attributes"]["result"]), ("hard", 0), "its begin is known")
    threads = sorted(spans(path, "thread"), key=lambda s: s["begin_ns"])
    equal([s["tid"] for s in threads], [call["pid"]] * 2, "both had the leader's number at the end")
    leader, other = threads
    # the leader's thread ended in the exec, the other one went on under its number
    check(call["begin_ns"] <= leader["end_ns"] <= call["end_ns"], f"{leader} ends in {call}")
    check(length(other) > 100 * MS and other["end_bound"] == "hard", f"it lived on: {other}")
    rows = thread_rows(path)
    equal(sorted((row["total_ns"], row["process"]) for row in rows),
          sorted((length(s), "exe") for s in threads), "rows of threads")
    equal(sorted(row["thread"] for row in rows), ["e2e-traps", "exe"], "names when they ended")
    by_id = {s["span_id"]: s for s in spans(path)}
    for span in spans(path):
        check(span["kind"] == "thread" or span.get("parent_id") in by_id,
              f"it belongs to a thread: {span}")

    def thread_of(span):
        while span["kind"] != "thread":
            span = by_id[span["parent_id"]]
        return span["span_id"]

    made = [thread_of(s) for s in spans(path, "syscall", "getuid") + [call]
            if s["begin_ns"] > other["begin_ns"]]
    equal(set(made[:-1]), {leader["span_id"]}, "whose the calls before the exec are")
    equal(made[-1], other["span_id"], "whose the exec is")
    after = spans(path, "syscall", "getppid")
    equal((len(after), {thread_of(s) for s in after}), (70, {other["span_id"]}), "calls after it")
    dozes = [s for s in spans(path, "wait", "timer") if s["begin_ns"] < call["begin_ns"]]
    equal({thread_of(s) for s in dozes if length(s) > 10 * MS}, {other["span_id"]}, "its sleep")
    for row in rows:
        check(row["time"]["unknown_ns"] < 0.1 * row["total_ns"] + 2 * MS, f"known: {row}")
    return path


@tests.add
def exec_from_a_second_thread():
    exec_by_a_second_thread()


@tests.add
def exec_from_a_second_thread_across_cuts():
    path = exec_by_a_second_thread("--rotate", "3ms")
    check(len(fathom.chunks(path)) > 10 // harness.SLOWER, "chunks")


@tests.add
def events_of_an_exec_from_a_second_thread():
    path = exec_by_a_second_thread("--event", "exceptions:page_fault_kernel")
    call = max(spans(path, "syscall", "execve"), key=lambda s: s["begin_ns"])
    leader, other = sorted(spans(path, "thread"), key=lambda s: s["begin_ns"])
    fired = [(span, event) for span in spans(path) for event in span["events"]]
    equal(len(fired), sum(row["count"] for row in fathom.report(path, "event")["rows"]), "events")
    # the kernel makes the new program's memory when the leader's number is already the other's
    late = [span for span, event in fired if leader["end_ns"] < event["time_ns"] < call["end_ns"]]
    check(late, "some fired in the exec")
    equal({span["span_id"] for span in late} - {call["span_id"], other["span_id"]}, set(),
          "spans that they stand in")


def reuse(*options):
    path, printed = record("reuse", options=options)
    tid = int(printed)
    rows = sorted((row for row in thread_rows(path) if row["tid"] == tid),
                  key=lambda row: row["process"])
    equal([row["process"] for row in rows], ["first", "second", "third"], "three lives")
    made = {}
    for span in spans(path, "syscall"):
        if span["tid"] == tid and span["name"] in ("getppid", "getuid", "getgid"):
            key = (span["thread"], span["name"])
            made[key] = made.get(key, 0) + 1
    equal(made, {("first", "getppid"): 100, ("second", "getuid"): 200, ("third", "getgid"): 300},
          "who called what")
    threads = sorted((s for s in spans(path, "thread") if s["tid"] == tid),
                     key=lambda s: s["begin_ns"])
    equal(len({s["span_id"] for s in threads}), 3, "their spans are not one")
    for one, next_ in zip(threads, threads[1:]):
        check(one["end_ns"] <= next_["begin_ns"], "one after the other")
    check(all(length(s) < 1000 * MS and s["end_bound"] == "hard" for s in threads), "each ends")


@tests.add
@skips
def a_number_is_used_again():
    reuse()


@tests.add
@skips
def a_number_is_used_again_across_cuts():
    reuse("--rotate", "1ms")


def rename(*options):
    path, _ = record("rename", "2000", options=options)
    made = {}
    for span in spans(path, "syscall"):
        if span["name"] in ("getuid", "getppid"):
            key = (span["thread"], span["name"])
            made[key] = made.get(key, 0) + 1
    equal(made, {("before", "getuid"): 2000, ("behind", "getppid"): 2000}, "names at the time")
    equal(len(thread_rows(path)), 1, "it is one thread")
    equal(len(spans(path, "thread")), 1, "and one span")


@tests.add
def a_thread_changes_its_name():
    rename()


@tests.add
def a_thread_changes_its_name_across_cuts():
    rename("--rotate", "1ms")


@tests.add
def ten_thousand_children():
    count = 10000 // harness.SLOWER
    path, _ = record("forks", str(count), options=["--rotate", "1s"])
    rows = [row for row in fathom.report(path, "thread")["rows"] if row["process"] == "e2e-traps"]
    equal(sum(row["count"] for row in rows), count + 1, "the program and its children")
    calls = {row["key"]: row["count"] for row in fathom.report(path, "syscall")["rows"]}
    equal(calls["getuid"], count, f"one call of each: {calls}")


@tests.add
def names_that_change_before_the_snapshot_has_them():
    with harness.Process([TRAPS, "renaming", "24"]) as process:
        time.sleep(0.2)
        for attempt in range(2):
            path = fathom.record(f"renaming-{attempt}", "--detail", "calls", "-d", "60ms")
            calls = [s for s in spans(path, "syscall", "lseek") if s["pid"] == process.pid]
            wrong = [(s["thread"], s["attributes"]["args"]) for s in calls
                     if f", {s['thread'][1:]}, " not in s["attributes"]["args"]]
            check(len(calls) > 500, f"its calls: {len(calls)}")
            equal(wrong, [], "calls under another name")
        process.kill()


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as stat:
        return stat.read().rsplit(")", 1)[1].split()[0]


@tests.add
def what_has_ended_before_has_no_time():
    """A leader that left its process to a thread, and a child that nobody waited for."""
    with harness.Process([TRAPS, "zombies"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         text=True) as trap:
        child = int(trap.stdout.readline())
        harness.until(lambda: state_of(trap.pid) == state_of(child) == "Z", "both have ended")
        path = fathom.path("zombies")
        with harness.Process([fathom.binary, "record", "-o", path, "-p", f"{trap.pid},{child}"],
                             stderr=subprocess.PIPE, text=True) as recorder:
            harness.until(lambda: fathom.run("rotate", path).returncode == 0 or
                  recorder.poll() is not None, "it records")
            trap.stdin.write("x")
            trap.stdin.flush()
            time.sleep(0.3)
            recorder.send_signal(2)
            _, stderr = recorder.communicate(timeout=60)
        equal(recorder.returncode, 0, stderr)
        check("no thread of process" not in stderr, f"they are there: {stderr}")
        trap.communicate("", timeout=30)
    harness.check_sums(fathom, path)
    [row] = thread_rows(path)
    equal((row["pid"], row["process"]), (trap.pid, "e2e-traps"), "whose thread lives")
    check(row["tid"] != trap.pid, f"it is not the leader: {row}")
    [process] = fathom.report(path, "process")["rows"]
    equal(process["total_ns"], row["total_ns"], "the time of its process")
    check("/comm" in {s["attributes"].get("fd.name", "")[-5:]
                      for s in spans(path, "syscall", "pread64")}, "what is open has its name")


with fathom:
    tests.run()
