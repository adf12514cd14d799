#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls are recorded of the threads in a cgroup at `calls` alone, as threads come and go."""
import contextlib
import json
import os
import signal
import subprocess
import sys

import harness
from cgroups import Cgroups, mounts, move
from harness import check, equal, until

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
LAW_OF = os.path.abspath(sys.argv[2])
tests = harness.Tests()
before = harness.programs_left(set())

# Calls getppid() now and then, and getuid() in a second thread, until its input ends. A line of
# its input makes a child, which calls getgid().
LOAD = """
import os, select, sys, threading, time
over = threading.Event()
def second():
    while not over.wait(0.001):
        os.getuid()
threading.Thread(target=second).start()
while True:
    if select.select([sys.stdin], [], [], 0.001)[0]:
        if not sys.stdin.buffer.raw.read(1):
            break
        if os.fork() == 0:
            for _ in range(100):
                os.getgid()
            os._exit(0)
        os.wait()
    os.getppid()
over.set()
"""


def load():
    return subprocess.Popen([sys.executable, "-c", LOAD], stdin=subprocess.PIPE)


def fork(process):
    process.stdin.write(b"f")
    process.stdin.flush()


def chunks():
    result = fathom.run("chunks", "--json", "recording")
    return [chunk for chunk in json.loads(result.stdout or '{"chunks": []}')["chunks"]
            if chunk["state"] == "sealed"]


def calls(process, name):
    return sum(row["count"] for row in fathom.report("recording", "syscall", "--pid",
                                                     str(process.pid))["rows"]
               if row["key"] == name)


def passes():
    """Two more chunks begin: what was told before is in those that are sealed."""
    count = len(chunks())
    until(lambda: len(chunks()) > count + 1, "chunks behind it")


def grows(process, name):
    count = calls(process, name)
    until(lambda: calls(process, name) > count + 10, f"{name} of {process.pid}")


def stays(process, *names):
    passes()
    counts = [calls(process, name) for name in names]
    passes()
    equal([calls(process, name) for name in names], counts, f"{names} out of scope")


def ask(process, path):
    told = fathom.ok("detail", fathom.path("recording"), "calls", path, "--for", "300ms")
    check(told.startswith(f"calls of {path} for ") and told.endswith(", then scopes\n"), told)
    until(lambda: fathom.ok("detail", fathom.path("recording")) == "scopes\n", "old level")
    passes()
    return calls(process, "getppid")


def follow(cgroups, root, top, loads):
    inside, mover, outside, asked = loads
    grows(inside, "getppid")
    grows(inside, "getuid")
    stays(mover, "getppid", "getuid")
    # into the cgroup below, and out again: the second thread is told by nobody
    move(mover.pid, os.path.join(top, "below"))
    grows(mover, "getppid")
    grows(mover, "getuid")
    fork(mover)
    until(lambda: calls_of_children("getgid") >= 100, "calls of a child")
    move(mover.pid, root)
    stays(mover, "getppid", "getuid")
    equal(calls(outside, "getppid"), 0, "calls of a process that never was inside")
    # a cgroup that is made again at the same path
    move(inside.pid, root)
    os.rmdir(os.path.join(top, "below"))
    os.rmdir(top)
    os.mkdir(top)
    move(inside.pid, top)
    grows(inside, "getuid")
    # another one that is asked for
    path = cgroups.make("fathom-asked")
    move(asked.pid, path)
    until(lambda: ask(asked, path) >= 10, "calls of the cgroup that is asked for")
    stays(asked, "getppid", "getuid")


def calls_of_children(name):
    return sum(row["count"] for row in fathom.report("recording", "syscall")["rows"]
               if row["key"] == name)


def record(cgroups, root):
    top = cgroups.make("fathom-scope")
    cgroups.make("fathom-scope", "below")
    with contextlib.ExitStack() as stack:
        loads = [load() for _ in range(4)]
        for process in loads:
            stack.callback(process.communicate)
        move(loads[0].pid, top)
        recorder = subprocess.Popen(
            [fathom.binary, "record", "-o", fathom.path("recording"), "--rotate", "150ms",
             "--detail", f"waits,{top}=calls", "-p", ",".join(str(p.pid) for p in loads)],
            stderr=subprocess.PIPE, text=True)
        try:
            until(lambda: chunks() or recorder.poll() is not None, "chunks")
            if recorder.poll() is None:
                follow(cgroups, root, top, loads)
        finally:
            recorder.send_signal(signal.SIGINT)
            _, text = recorder.communicate(timeout=60)
        equal(recorder.returncode, 0, text)
        check(f"calls of cgroup {top}" in text, text)


@tests.add
def threads_come_and_go():
    root = mounts().get("v2") or mounts().get("cpu")
    if not root or not os.access(root, os.W_OK):
        return "no cgroup can be made here"
    with Cgroups(root) as cgroups:
        record(cgroups, root)
    for row in fathom.report("recording", "thread")["rows"]:
        equal(sum(row["time"].values()), row["total_ns"], f"sum of {row}")
    list_ = chunks()
    for chunk in list_[len(list_) // 4], list_[len(list_) // 2]:
        result = subprocess.run([LAW_OF, fathom.path(chunk["path"]), "7", "2"], text=True,
                                capture_output=True, timeout=100)
        equal(result.returncode, 0, f"law: {result.stdout}{result.stderr}")
    return None


@tests.add
def a_cgroup_must_exist():
    result = fathom.run("record", "-o", "none", "--detail", "waits,/no/such=calls", "--", "true")
    equal(result.returncode, 1, result.stderr)
    check("there is no cgroup /no/such" in result.stderr, result.stderr)


@tests.add
def nothing_stays_in_the_kernel():
    harness.nothing_is_left_in_the_kernel(before)


with fathom:
    tests.run()
