#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Numbers and names of threads do not stay theirs."""
import sys

import harness
from harness import check, equal
from trapped import fathom, length, record, skips, spans, thread_rows

MS = 1000000
tests = harness.Tests()


def exec_by_a_second_thread(*options):
    path, _ = record("exec_second", "60", options=options)
    exec_ = spans(path, "syscall", "execve")
    late = [s for s in exec_ if "after_exec" in s["process"] or s["begin_ns"] > min(
        x["begin_ns"] for x in exec_)]
    equal(len(exec_), 2, f"calls of execve {exec_}")
    call = max(exec_, key=lambda s: s["begin_ns"])
    check(late and call["tid"] == call["pid"], f"it returns in the leader: {call}")
    equal((call["begin_bound"], call["attributes"]["result"]), ("hard", 0), "its begin is known")
    rows = {row["tid"]: row for row in thread_rows(path)}
    equal(len(rows), 2, f"threads {rows}")
    leader, other = rows.pop(call["pid"]), next(iter(row for row in rows.values()))
    threads = {s["tid"]: s for s in spans(path, "thread")}
    # the leader's thread ended in the exec, the other one went on under its number
    check(threads[other["tid"]]["end_ns"] <= call["end_ns"], f"no life after: {threads} {call}")
    check(leader["total_ns"] > 40 * MS, f"the leader's number lives on: {leader}")
    calls = {(s["tid"], s["name"]) for s in spans(path, "syscall")}
    check((leader["tid"], "getppid") in calls and (leader["tid"], "getuid") in calls,
          f"calls before and after: {calls}")
    before = [s for s in spans(path, "syscall", "getuid")]
    after = [s for s in spans(path, "syscall", "getppid")]
    equal((len(before) >= 50, len(after)), (True, 70), "calls before and after")
    for row in [leader, other]:
        check(row["time"]["unknown_ns"] < 0.1 * row["total_ns"] + 2 * MS, f"known: {row}")
    return path


@tests.add
def exec_from_a_second_thread():
    exec_by_a_second_thread()


@tests.add
def exec_from_a_second_thread_across_cuts():
    path = exec_by_a_second_thread("--rotate", "3ms")
    check(len(fathom.chunks(path)) > 10, "chunks")


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


with fathom:
    tests.run()
