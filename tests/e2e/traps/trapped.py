# SPDX-License-Identifier: Apache-2.0
"""What the tests of traps share: running a trap, spans by what they are, records as they lie."""
import contextlib
import os
import re
import subprocess
import sys
import time

import harness
from cgroups import Cgroups, mounts
from harness import check

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
TRAPS = os.path.abspath(sys.argv[2])
MS = 1000000


class Skip(Exception):
    """The machine cannot do what the trap is about."""


def record_command(name, *command, options=()):
    """Records it; nothing may be lost. -> (recording, what it printed)"""
    path = fathom.path(f"{name}-{len(os.listdir(fathom.dir))}")
    result = fathom.run("record", "-o", path, *options, "--", *command)
    if result.returncode == 77:
        raise Skip(result.stderr.splitlines()[0])
    harness.equal(result.returncode, 0, f"{name}: {result.stderr}")
    lost = fathom.report(path, "thread")["lost"]
    if lost["total"]:
        raise harness.Broken(f"lost records: {lost}")
    harness.check_sums(fathom, path)
    return path, result.stdout


def record(name, *args, options=()):
    """The same of a trap."""
    return record_command(name, TRAPS, name, *args, options=options)


def skips(test):
    """A test whose trap says that it cannot be done here is skipped."""
    def run():
        try:
            return test()
        except Skip as why:
            return str(why)
    run.__name__ = test.__name__
    return run


def spans(path, kind=None, name=None):
    found = [s for trace in fathom.trace_all(path)["traces"] for s in trace["spans"]]
    return [s for s in found if kind in (None, s["kind"]) and name in (None, s["name"])]


def length(span):
    return span["end_ns"] - span["begin_ns"]


def thread_rows(path):
    return fathom.report(path, "thread")["rows"]


def events(path, kind):
    """The records of a kind as babeltrace2 prints them: dicts of their numbers."""
    found = []
    for chunk in fathom.chunks(path):
        text = subprocess.run(["babeltrace2", chunk["path"]], text=True, capture_output=True,
                              check=True).stdout
        for line in text.splitlines():
            if f" {kind}: " in line:
                found.append({key: int(value) for key, value in
                              re.findall(r"\b(\w+) = (?:\{ )?(-?\d+)", line)})
    return found


def write(text, *path):
    with open(os.path.join(*path), "w", encoding="ascii") as file:
        file.write(text)


@contextlib.contextmanager
def cgroup(hierarchy):
    if hierarchy not in mounts():
        raise Skip(f"no hierarchy {hierarchy}")
    with Cgroups(mounts()[hierarchy]) as cgroups:
        yield cgroups.make(f"fathom-trap-{os.getpid()}")


@contextlib.contextmanager
def quota(ms, of_ms):
    """A cgroup that may use so much CPU time in each period."""
    if "cpu" in mounts():
        with cgroup("cpu") as group:
            write(str(of_ms * 1000), group, "cpu.cfs_period_us")
            write(str(ms * 1000), group, "cpu.cfs_quota_us")
            yield group
        return
    with cgroup("v2") as group:
        with contextlib.suppress(OSError):
            write("+cpu", mounts()["v2"], "cgroup.subtree_control")
        if not os.path.exists(os.path.join(group, "cpu.max")):
            raise Skip("no cgroup with a quota of CPU time")
        write(f"{ms * 1000} {of_ms * 1000}", group, "cpu.max")
        yield group


def throttled(group):
    """How often its quota was used up."""
    with open(os.path.join(group, "cpu.stat"), encoding="ascii") as file:
        return int(dict(line.split() for line in file)["nr_throttled"])


def held(path, pid, reason, least_ms, longest_ms=None):
    """The waits of a thread whose reason is like this: other, and so long in all."""
    waits = [s for s in spans(path, "wait") if s["pid"] == pid and
             re.search(reason, s["attributes"].get("cause.reason", ""))]
    total = sum(w["time"]["other_ns"] for w in waits)
    check(all(w["name"] == "other" for w in waits), f"they are other: {waits}")
    reasons = {s["attributes"].get("cause.reason") for s in spans(path, "wait")
               if s["pid"] == pid and length(s) > MS}
    check(total > least_ms * MS, f"{reason}: {total} ns of {least_ms} ms; reasons are {reasons}")
    check(longest_ms is None or total < longest_ms * MS, f"{reason}: {total} ns")
    thread = [s for s in spans(path, "thread") if s["pid"] == pid][0]
    check(thread["time"]["unknown_ns"] < 0.1 * length(thread), f"little is unknown: {thread}")


@contextlib.contextmanager
def recording(name, pid):
    """A recording of a process, from here until the end of the block."""
    path = fathom.path(name)
    with harness.Process([fathom.binary, "record", "-o", path, "-p", str(pid)],
                         stderr=subprocess.PIPE, text=True) as recorder:
        try:
            for _ in range(1000):
                if fathom.run("rotate", path).returncode == 0 or recorder.poll() is not None:
                    break
                time.sleep(0.02)
            yield path
        finally:
            recorder.send_signal(2)
            _, stderr = recorder.communicate(timeout=60)
        check(recorder.returncode == 0, stderr)


# How long they last: until a recorder has started, and then a while.
LOOP = ("loop", str(60000 * harness.SLOWER))
DOZE = ("doze", str(4000 if harness.SLOWER == 1 else 60000))
