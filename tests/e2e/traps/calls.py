#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""System calls whose two ends do not tell the same."""
import os
import re
import shutil
import sys

import harness
from harness import check, equal
from trapped import events, fathom, length, record, skips, spans, thread_rows

MS = 1000000
BEGIN_UNKNOWN, COMPAT = 2, 1
TRUTH_RESTARTED = os.path.abspath(sys.argv[3])
tests = harness.Tests()


@tests.add
@skips
def a_refused_call_has_no_begin():
    """An exit without an entry: zero length, and not the begin of the call before."""
    path, _ = record("refused", 30)
    refused = spans(path, "syscall", "getppid")
    equal(len(refused), 30, "refused calls")
    for call in refused:
        equal((length(call), call["attributes"]["error.type"]), (0, "EPERM"), f"{call}")
    allowed = spans(path, "syscall", "getuid")
    equal(len(allowed), 30, "calls between")
    check(all(length(call) > 0 for call in allowed), "they have their length")
    if shutil.which("babeltrace2"):
        unknown = [e for e in events(path, "syscall") if e["flags"] & BEGIN_UNKNOWN]
        equal(len(unknown), 30, "records without a begin")


@tests.add
@skips
@harness.tries
def what_is_before_a_refused_call_is_user_code():
    """1 ms each, which a busy machine takes from the thread, hidden ones also unseen."""
    path, _ = record("refused", 30)
    row = thread_rows(path)[0]
    check(row["time"]["user_ns"] + row["time"]["runnable_ns"] > 30 * MS,
          f"in user code, or kept from it: {row['time']}")


def goes_on_as(path, name, count, causes):
    """`count` calls, each one from its begin to its end, also while the thread is stopped."""
    calls = spans(path, "syscall", name)
    equal(len(calls), count, f"calls of {name}: {calls}")
    check(not any("restarted" in c["attributes"] or "error.type" in c["attributes"]
                  for c in calls), f"they end once: {calls}")
    waits = [s for s in spans(path, "wait") if s.get("parent_id") in {c["span_id"] for c in calls}]
    equal({w["name"] for w in waits if length(w) > 5 * MS}, causes, "causes")
    equal([s["name"] for s in spans(path, "syscall", "restart_syscall")], [], "restart_syscall")


@tests.add
def a_read_that_a_handler_interrupts():
    """It begins again behind the handler, which makes calls of its own."""
    path, _ = record("read_again", 3)
    [call] = [s for s in spans(path, "syscall", "read")
              if s["attributes"].get("fd.name", "").startswith("pipe:")]
    equal((call["attributes"].get("restarted"), call["attributes"].get("result")), (True, 1),
          f"one call, from end to end: {call}")
    check("error.type" not in call["attributes"], f"it is no error: {call}")
    equal((call["begin_bound"], call["end_bound"]), ("hard", "hard"), f"{call}")
    equal(sum(call["time"].values()), length(call), f"its time: {call}")
    below = [s for s in spans(path) if s.get("parent_id") == call["span_id"]]
    equal(sum(s["name"] == "rt_sigreturn" for s in below), 3, f"handlers below it: {below}")
    waits = [s for s in below if s["kind"] == "wait" and length(s) > 5 * MS]
    check(len(waits) >= 4, f"waits before and behind three handlers: {waits}")
    check(all(call["begin_ns"] <= s["begin_ns"] <= s["end_ns"] <= call["end_ns"] for s in below),
          f"they lie in it: {below}")
    rows = {r["key"]: r for r in fathom.report(path, "syscall")["rows"]}
    equal(rows["read"]["errors"], 0, "errors")
    equal(rows["read"]["count"], len(list(spans(path, "syscall", "read"))), "calls")


@tests.add
def calls_that_a_handler_makes_fail():
    path, _ = record("failing", 20)
    failed = {s["name"]: s for s in spans(path, "syscall")
              if s["attributes"].get("error.type") == "EINTR"}
    equal(set(failed), {"read", "nanosleep", "poll"}, "calls that failed")
    for call in failed.values():
        equal(call["attributes"]["result"], -4, f"{call}")
        check("restarted" not in call["attributes"], f"{call}")
        check(15 * MS < length(call) < 500 * MS, f"until the signal: {call}")


@tests.add
def a_poll_that_is_stopped():
    path, _ = record("poll_again", 4)
    goes_on_as(path, "poll", 1, {"idle", "ipc", "other"})  # a signal ended some


def sleeps(*options):
    path = fathom.path(f"sleeps{len(options)}")
    result = fathom.run("record", "-o", path, *options, "--", TRUTH_RESTARTED)
    equal(result.returncode, 0, result.stderr)
    equal(fathom.report(path, "thread")["lost"]["total"], 0, "lost records")
    harness.check_sums(fathom, path)
    return path


@tests.add
def a_sleep_that_is_stopped():
    goes_on_as(sleeps(), "nanosleep", 5, {"timer", "other"})


@tests.add
def a_sleep_that_is_stopped_and_cut():
    """Chunks of 7 ms: a call lies in several."""
    path = sleeps("--rotate", "7ms")
    check(len(fathom.chunks(path)) > 15 // harness.SLOWER, "chunks")
    goes_on_as(path, "nanosleep", 5, {"timer", "other"})


@tests.add
@skips
def calls_of_32_bits():
    path, _ = record("compat", 10)
    calls = [s for s in spans(path, "syscall", "getpid")
             if s["attributes"].get("abi") or s["attributes"].get("compat")]
    if shutil.which("babeltrace2"):
        equal(len([e for e in events(path, "syscall") if e["flags"] & COMPAT]), 10, "records")
    named = {s["name"] for s in spans(path, "syscall")}
    check("getpid" in named and "writev" not in named, f"its own table: {named} {calls}")


@tests.add
def a_return_from_a_handler_has_its_name():
    path, _ = record("handlers", 10)
    returns = spans(path, "syscall", "rt_sigreturn")
    equal(len(returns), 10, "rt_sigreturn")
    check(all(0 < length(call) for call in returns), "with a begin")


@tests.add
def an_exec_has_the_arguments_of_its_entry():
    path, _ = record("handlers", 1)
    calls = spans(path, "syscall", "execve")
    equal(len(calls), 1, "execve")
    args = calls[0]["attributes"]["args"]
    check(re.fullmatch(r'"/\S+", \["/\S+", "handlers", "1"\], 0x[0-9a-f]+', args),
          f"its texts, and the pointer to its environment: {calls[0]}")


@tests.add
def a_call_that_does_not_return_ends_with_its_thread():
    path, _ = record("read_again", 1)
    for thread in spans(path, "thread"):
        equal(thread["end_bound"], "hard", f"end of {thread['thread']}")
    equal(spans(path, "syscall", "exit_group"), [], "calls that returned")
    for row in thread_rows(path):
        check(row["time"]["unknown_ns"] <= 0.1 * row["total_ns"], f"it is known: {row['time']}")


with fathom:
    tests.run()
