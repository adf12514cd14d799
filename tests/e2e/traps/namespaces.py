#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom itself in a pid namespace: it does not record itself, and numbers are the host's."""
import os
import shutil
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
    with harness.Process([*UNSHARED, fathom.binary, "record", "--detail", "calls", "-o",
                          path, "-d", f"{2 * harness.SLOWER}s"], stderr=subprocess.PIPE, text=True) as recorder:
        harness.until(lambda: fathom.run("rotate", path).returncode == 0 or
                      recorder.poll() is not None, "it records")
        own = descendants(recorder.pid)
        with harness.Process([TRAPS, "rename", "100"]) as trap:
            trap.wait()
        _, stderr = recorder.communicate(timeout=60)
    equal(recorder.returncode, 0, stderr)
    equal(len(own), 1, f"the recorder: {own}")
    rows = thread_rows(path)
    pids = {row.get("pid") for row in rows}
    equal(pids & own, set(), "the recorder's own threads")
    mine = [row for row in rows if row.get("pid") == trap.pid]
    equal([row["thread"] for row in mine], ["behind"], "a process outside, by its number here")
    calls = [s for s in spans(path, "syscall", "getuid") if s["pid"] == trap.pid]
    equal(len(calls), 100, "its calls")
    return None


@tests.add
def commands_are_those_of_the_numbers():
    """A number of the host can be another process's in the namespace, which is not ours."""
    if not unshare_works():
        return "no pid namespaces here"
    path = fathom.path("names")
    ms = 60000 * harness.SLOWER
    script = (f'sleep {ms // 1000} & one=$!; read number; '
              'echo $((number - 1)) > /proc/sys/kernel/ns_last_pid; '
              f'"$0" loop {ms} & other=$!; test $other = $number || exit 77; '
              '"$@"; status=$?; kill $one $other; exit $status')
    with harness.Process([*UNSHARED, "sh", "-c", script, TRAPS, fathom.binary, "record", "-o",
                          path, "-d", "500ms"], stdin=subprocess.PIPE, stderr=subprocess.PIPE,
                         text=True) as recorder:
        sleeper = None
        for _ in range(500):
            sleeper = sleeper or next((pid for pid in descendants(recorder.pid)
                                       if command_of(pid).startswith("sleep\0")), None)
            if sleeper:
                break
            time.sleep(0.01)
        _, stderr = recorder.communicate(f"{sleeper}\n", timeout=60)
    if recorder.returncode == 77:
        return "a number cannot be chosen for a process"
    equal(recorder.returncode, 0, stderr)
    found = b""
    for chunk in fathom.chunks(path):
        for name in os.listdir(chunk["path"]):
            with open(os.path.join(chunk["path"], name), "rb") as file:
                found += file.read()
    sleep = os.path.realpath(shutil.which("sleep")).encode()
    check(b"sleep\0" + sleep + b"\0sleep\0" in found, "the command of the sleeper")
    check(b"sleep\0" + os.path.realpath(TRAPS).encode() not in found, "not that of the other")
    return None


def command_of(pid):
    try:
        with open(f"/proc/{pid}/cmdline", encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


@tests.add
def a_command_in_the_namespace():
    """-- CMD and -p name processes as the recorder sees them, the records as the host does."""
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
    script = f'"{TRAPS}" loop {60000 * harness.SLOWER} & p=$!; "$@" -p $p; s=$?; kill $p; exit $s'
    result = subprocess.run([*UNSHARED, "sh", "-c", script, "sh", fathom.binary, "record", "-o",
                             path, "-d", "500ms"], capture_output=True, text=True, timeout=60)
    equal(result.returncode, 0, result.stderr)
    equal([row["process"] for row in thread_rows(path)], ["e2e-traps"], "who was named")
    harness.check_sums(fathom, path)
    return None


with fathom:
    tests.run()
