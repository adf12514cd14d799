#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
A kernel without some tracepoints: what can be recorded without them is, and what is missing is
said. The kernel's own are hidden by a copy of its types, in which they have another name.
"""
import functools
import json
import os
import re
import subprocess
import sys

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
tests = harness.Tests()
before = harness.programs_left(set())
BTF = "/sys/kernel/btf/vmlinux"
OVER = f'mount --bind "$0" {BTF} && exec "$@"'
LOOP = "i=0; while [ $i -lt 500 ]; do i=$((i+1)); read x < /etc/hostname; done"
CALLS = ["openat", "read", "close", "dup2"]


def types():
    with open(BTF, "rb") as file:
        return file.read()


def name_of(tracepoint):
    """What a tracepoint is called among the types of the kernel."""
    return f"\0btf_trace_{tracepoint}\0".encode()


def without(*tracepoints):
    """What runs a command on a kernel that has none of these, as fathom sees it."""
    text, path = types(), fathom.path("types")
    for name in map(name_of, tracepoints):
        equal(text.count(name), 1, f"types of that name: {name}")
        text = text.replace(name, name.replace(b"btf", b"not"))
    with open(path, "wb") as file:
        file.write(text)
    return ["unshare", "-m", "sh", "-c", OVER, path]


def run(prefix, *args):
    return subprocess.run([*prefix, fathom.binary, *args], text=True, timeout=60 * harness.SLOWER,
                          capture_output=True, cwd=fathom.dir)


def doctor(prefix, status=0):
    """Its rows of tracepoints by name, and all that it said."""
    result = run(prefix, "doctor", "--json")
    equal(result.returncode, status, f"doctor: {result.stderr}")
    answer = json.loads(result.stdout)
    equal(answer["can_record"], status == 0, "can_record")
    rows = {f["name"]: f for f in answer["findings"] if f["section"] == "tracepoint"}
    return rows, result.stderr


@functools.cache
def doctor_of_all():
    return doctor([])[0]


def record(prefix, name):
    result = run(prefix, "record", "-o", name, "--", "sh", "-c", LOOP)
    equal(result.returncode, 0, f"record: {result.stderr}")
    return fathom.path(name), result.stderr


def calls_of(recording):
    report = fathom.report(recording, "syscall")
    equal(report["lost"]["total"], 0, "lost records")
    counts = {row["key"]: row["count"] for row in report["rows"]}
    return {name: counts.get(name) for name in CALLS}


def kinds_of(recording):
    return {span["kind"] for trace in fathom.trace_all(recording)["traces"]
            for span in trace["spans"]}


def check_told(recording, told, missing):
    """The recorder names what it does without, and so does each answer from what it recorded."""
    for name in missing:
        check(re.search(rf"\b{name}\b", told), f"{name} in: {told}")
    for command in ("report", ["trace", "--all"]):
        words = [command] if isinstance(command, str) else command
        said = [line for line in fathom.ok(*words, recording).splitlines()
                if line.startswith("missing: ")]
        equal(len(said), 1, f"lines of {words}")
        for name in missing:
            check(re.search(rf"\b{name}\b", said[0]), f"{name} in: {said}")
        answer = json.loads(fathom.ok(*words, "--json", recording))
        check(set(missing) <= set(answer["missing"]), f"{missing} in: {answer['missing']}")


@tests.add
def nothing_is_missing():
    """What the answers below are compared with."""
    if not os.path.exists(BTF):
        return "this kernel does not describe its types"
    recording, told = record([], "whole")
    equal(calls_of(recording)["openat"] >= 500, True, "calls")
    check("block_rq_issue" not in told, told)
    return None


@tests.add
def one_that_is_of_use():
    if not os.path.exists(BTF):
        return "this kernel does not describe its types"
    whole = doctor_of_all()
    prefix = without("block_rq_issue")
    rows, _ = doctor(prefix)
    equal({name for name in whole if rows.get(name) != whole[name]}, {"block_rq_issue"}, "rows")
    row = rows["block_rq_issue"]
    equal((row["available"], row["text"]), (False, "missing: " + whole["block_rq_issue"]["text"]),
          "what doctor says")
    check(re.search(r"^  block_rq_issue +no +missing: block I/O$",
                    run(prefix, "doctor").stdout, re.M), "and in text")
    recording, told = record(prefix, "one")
    equal(calls_of(recording), calls_of(fathom.path("whole")), "calls")
    check("block" not in kinds_of(recording), "no request to a disk is half told")
    check_told(recording, told, ["block_rq_issue"])
    return None


@tests.add
def all_that_are_of_use():
    """Threads, calls and switches alone."""
    if not os.path.exists(BTF):
        return "this kernel does not describe its types"
    whole = doctor_of_all()
    text = types()
    missing = [name for name, row in whole.items() if not row["needed"] and name_of(name) in text]
    check(len(missing) > 15, f"of use: {missing}")
    prefix = without(*missing)
    rows, _ = doctor(prefix)
    for name in set(missing) & set(rows):  # a stand-in is told with what it stands in for
        check(not rows[name]["available"] and rows[name]["text"].startswith("missing"),
              f"what doctor says: {rows[name]}")
    check("block_bio_queue" in rows, f"rows: {rows}")
    for name, row in whole.items():
        check(not row["needed"] or rows[name] == row, f"what doctor says: {rows.get(name)}")
    recording, told = record(prefix, "least")
    equal(calls_of(recording), calls_of(fathom.path("whole")), "calls")
    equal(kinds_of(recording) - {"thread", "syscall", "wait"}, set(), "spans")
    check_told(recording, told, ["block_rq_issue", "page_fault_user", "hrtimer_expire_entry",
                                  "io_uring_complete"])
    equal([row["process"] for row in fathom.report(recording, "process")["rows"]], ["sh"],
          "processes")
    return None


@tests.add
def each_that_is_needed():
    """One line says which; nothing is left of the directory that was to hold the recording."""
    if not os.path.exists(BTF):
        return "this kernel does not describe its types"
    whole = doctor_of_all()
    needed = [name for name, row in whole.items() if row["needed"]]
    check("sched_switch" in needed and len(needed) > 5, f"needed: {needed}")
    there = set(os.listdir(fathom.dir))
    for name in needed:
        prefix = without(name)
        result = run(prefix, "record", "--", "touch", "ran")
        equal((result.returncode, result.stdout), (1, ""), f"status without {name}")
        equal(len(result.stderr.splitlines()), 1, f"lines: {result.stderr}")
        for text in (f" {name} ", whole[name]["text"], "fathom doctor"):
            check(text in result.stderr, f"{text!r} in: {result.stderr}")
        check(len(result.stderr) < 300, f"a line to be read: {result.stderr}")
        equal(set(os.listdir(fathom.dir)) - there, {"types"} - there, "files that are left")
    rows, said = doctor(prefix, 1)
    check(name in said and len(said.splitlines()) == 1, f"the line of doctor: {said}")
    equal((rows[name]["available"], rows[name]["text"]),
          (False, "missing: " + whole[name]["text"]), "what doctor says")
    return None


@tests.add
def nothing_is_left_in_the_kernel():
    return harness.nothing_is_left_in_the_kernel(before)


with fathom:
    tests.run()
