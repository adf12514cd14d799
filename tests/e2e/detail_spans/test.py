#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls are recorded of a service, or of threads under a span, alone."""
import contextlib
import json
import os
import signal
import subprocess
import sys

import harness
from harness import check, equal, until

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
LAW_OF, PROGRAM = map(os.path.abspath, sys.argv[2:4])
tests = harness.Tests()
before = harness.programs_left(set())
CALLS = 10  # of a kind in a row, in the program


def chunks(name):
    result = fathom.run("chunks", "--json", name)
    return [chunk for chunk in json.loads(result.stdout or '{"chunks": []}')["chunks"]
            if chunk["state"] == "sealed"]


def passes(name):
    """Two more chunks are sealed: what was told before is in those."""
    count = len(chunks(name))
    until(lambda: len(chunks(name)) > count + 1, "chunks behind it")


def calls(name, call, pid=None):
    which = ["--pid", str(pid)] if pid else []
    return sum(row["count"] for row in fathom.report(name, "syscall", *which)["rows"]
               if row["key"] == call)


@contextlib.contextmanager
def recorder(name, detail, *services):
    """Runs a program for each service, and records them: gives their pids."""
    with contextlib.ExitStack() as stack:
        programs = [subprocess.Popen([PROGRAM, service], stdin=subprocess.PIPE)
                    for service in services]
        for program in programs:
            stack.callback(program.communicate)
        process = subprocess.Popen(
            [fathom.binary, "record", "-o", fathom.path(name), "--rotate", "150ms", "--detail",
             detail, "-p", ",".join(str(program.pid) for program in programs)],
            stderr=subprocess.PIPE, text=True)
        try:
            until(lambda: chunks(name) or process.poll() is not None, "chunks")
            if process.poll() is None:
                yield [program.pid for program in programs]
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGINT)
            _, text = process.communicate(timeout=60)
        equal(process.returncode, 0, text)


def ask(name, scope):
    told = fathom.ok("detail", fathom.path(name), "calls", scope, "--for", "300ms")
    check(told.startswith(f"calls of {scope} for "), told)
    until(lambda: " of " not in fathom.ok("detail", fathom.path(name)), "old level")
    passes(name)


def grows(name, call, pid):
    count = calls(name, call, pid)
    until(lambda: calls(name, call, pid) > count + 10, f"{call} of {pid}")


def law_holds(name):
    list_ = chunks(name)
    result = subprocess.run([LAW_OF, fathom.path(list_[len(list_) // 2]["path"]), "7", "2"],
                            text=True, capture_output=True, timeout=100)
    equal(result.returncode, 0, f"law: {result.stdout}{result.stderr}")
    for row in fathom.report(name, "thread")["rows"]:
        equal(sum(row["time"].values()), row["total_ns"], f"sum of {row}")


@tests.add
def a_service_has_calls():
    with recorder("service", "waits,service:one=calls", "one", "two") as (one, two):
        grows("service", "getppid", one)
        until(lambda: calls("service", "getgid") >= CALLS, "calls of a child")
        equal(calls("service", "getppid", two), 0, "calls of another service")
        ask("service", "service:two")
        asked = calls("service", "getppid", two)
        check(asked > CALLS, f"{asked} calls of the service that was asked for")
        ask("service", "service:two")
        check(calls("service", "getppid", two) > asked, "calls that were asked for again")
        ask("service", "service:none")
        asked = calls("service", "getppid", two)
        passes("service")
        equal(calls("service", "getppid", two), asked, "calls behind it")
        grows("service", "getppid", one)
    law_holds("service")


@tests.add
def threads_under_a_span_have_calls():
    with recorder("spans", "waits,spans=calls", "one") as (one,):
        until(lambda: calls("spans", "getuid", one) > 20 * CALLS, "calls in spans")
    report = fathom.report("spans", "syscall", "--pid", str(one))
    rows = {row["key"]: row["count"] for row in report["rows"]}
    turns = sum(row["count"] for row in fathom.report("spans", "name")["rows"])
    lost = report["lost"]["total"]
    # a span that was open at the begin or the end has fewer
    check(abs(rows["getuid"] - CALLS * turns) <= 2 * CALLS + lost, f"{rows}, {turns} spans")
    # the calls of a thread are followed up to the end of the first one behind its span
    check(rows["getppid"] <= turns + 1, f"{rows}, {turns} spans")
    check("getgid" not in rows, f"calls of a child under no span: {rows}")
    law_holds("spans")


@tests.add
def spans_are_asked_for():
    with recorder("asked", "waits", "one") as (one,):
        equal(calls("asked", "getuid", one), 0, "calls before they are asked for")
        ask("asked", "spans")
        asked = calls("asked", "getuid", one)
        check(asked > CALLS, f"{asked} calls")
        check(calls("asked", "getppid", one) <= asked / CALLS + 2, "calls outside of spans")
        passes("asked")
        equal(calls("asked", "getuid", one), asked, "calls behind it")
    law_holds("asked")


@tests.add
def the_last_scope_counts():
    with recorder("last", "waits,spans=calls,service:two=waits", "one", "two") as (one, two):
        grows("last", "getuid", one)
        passes("last")
        count = calls("last", "getuid", two)
        passes("last")
        equal(calls("last", "getuid", two), count, "calls of a service at waits")


@tests.add
def nothing_stays_in_the_kernel():
    harness.nothing_is_left_in_the_kernel(before)


with fathom:
    tests.run()
