#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom itself in a pid namespace: it does not record itself, and numbers are the host's."""
import os
import subprocess
import sys
import time

import harness
from harness import check, equal
from trapped import TRAPS, fathom, record, spans, thread_rows

tests = harness.Tests()
UNSHARED = ["unshare", "--pid", "--fork", "--mount-proc"]


def descendants(pid):
    """All processes below, as this namespace numbers them."""
    below = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as stat:
                    parent = int(stat.read().rsplit(")", 1)[1].split()[1])
            except OSError:
                continue
            below.setdefault(parent, []).append(int(name))
    found, todo = set(), [pid]
    while todo:
        for child in below.get(todo.pop(), []):
            found.add(child)
            todo.append(child)
    return found


def unshare_works():
    return subprocess.run([*UNSHARED, "true"], capture_output=True).returncode == 0


@tests.add
def the_recorder_is_not_recorded():
    if not unshare_works():
        return "no pid namespaces here"
    path = fathom.path("host")
    with subprocess.Popen([*UNSHARED, fathom.binary, "record", "-o", path, "-d", "2s"],
                          stderr=subprocess.PIPE, text=True) as recorder:
        time.sleep(1)
        own = descendants(recorder.pid)
        with subprocess.Popen([TRAPS, "rename", "100"]) as trap:
            trap.wait()
        _, stderr = recorder.communicate(timeout=60)
    equal(recorder.returncode, 0, stderr)
    equal(len(own), 1, f"the recorder: {own}")
    rows = thread_rows(path)
    pids = {row["pid"] for row in rows}
    equal(pids & own, set(), "the recorder's own threads")
    mine = [row for row in rows if row["pid"] == trap.pid]
    equal([row["thread"] for row in mine], ["behind"], "a process outside, by its number here")
    calls = [s for s in spans(path, "syscall", "getuid") if s["pid"] == trap.pid]
    equal(len(calls), 100, "its calls")
    return None


@tests.add
def names_are_those_of_the_numbers():
    """A number means another process in the namespace: its name must not be given to ours."""
    if not unshare_works():
        return "no pid namespaces here"
    path = fathom.path("names")
    with subprocess.Popen(["sleep", "60"]) as sleeper:
        try:
            # enough processes in the namespace that small numbers are taken
            script = 'for i in 1 2 3; do sleep 30 & done; "$@"; s=$?; kill -9 %1 %2 %3; exit $s'
            result = subprocess.run([*UNSHARED, "sh", "-c", script, "sh", fathom.binary, "record",
                                     "-o", path, "-d", "1s"], capture_output=True, text=True,
                                    timeout=60)
        finally:
            sleeper.kill()
    equal(result.returncode, 0, result.stderr)
    for row in thread_rows(path):
        try:
            with open(f"/proc/{row['pid']}/comm", encoding="ascii", errors="replace") as file:
                comm = file.read().strip()
        except OSError:
            continue
        if row["process"] != "?" and os.path.exists(f"/proc/{row['pid']}/exe"):
            check(row["process"] == comm or row["process"] in ("sh", "fathom"),
                  f"process {row['pid']} is {comm}, not {row['process']}")
    return None


@tests.add
def a_command_in_the_namespace():
    """-- CMD and -p name processes as the recorder sees them; the records name them as the host does."""
    if not unshare_works():
        return "no pid namespaces here"
    path = fathom.path("command")
    result = subprocess.run([*UNSHARED, fathom.binary, "record", "-o", path, "--", TRAPS, "rename",
                             "50"], capture_output=True, text=True, timeout=60)
    equal(result.returncode, 0, result.stderr)
    calls = spans(path, "syscall", "getppid")
    equal(len(calls), 50, "calls")
    check(all(s["pid"] > 10 for s in calls), f"numbers of the host: {calls[0]}")
    harness.check_sums(fathom, path)
    return None


@tests.add
def a_process_named_in_the_namespace():
    if not unshare_works():
        return "no pid namespaces here"
    path = fathom.path("named")
    script = f'"{TRAPS}" loop 60000 & p=$!; "$@" -p $p; s=$?; kill $p; exit $s'
    result = subprocess.run([*UNSHARED, "sh", "-c", script, "sh", fathom.binary, "record", "-o",
                             path, "-d", "500ms"], capture_output=True, text=True, timeout=60)
    equal(result.returncode, 0, result.stderr)
    equal([row["process"] for row in thread_rows(path)], ["e2e-traps"], "who was named")
    harness.check_sums(fathom, path)
    return None


with fathom:
    tests.run()
