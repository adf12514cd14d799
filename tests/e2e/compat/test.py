#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""32-bit calls: their arguments in their own order, their files, paths and waits."""
import os
import re
import signal
import subprocess
import sys
import time

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
CALLS = os.path.abspath(sys.argv[2])
tests = harness.Tests()
ANY = "0x[0-9a-f]+"


def expected(work, fds):
    """Of each call: name, arguments, result, and attributes."""
    f, p, s, r = fds["open"][0], fds["pipe"][0], fds["socketpair"][0], fds["received"][0]
    path, sock = work + "/by-32-bit", fds["socketpair"][1]
    return [
        ("open", '"by-32-bit", O_RDWR|O_CREAT|O_LARGEFILE, 0600', f, {"file.path": path}),
        ("write", f"{f}, {ANY}, 4", 4, {"fd": f, "fd.name": path}),
        ("ftruncate64", f"{f}, 4294971392", 0, {"fd": f, "fd.name": path}),
        ("pread64", f"{f}, {ANY}, 4, 4294967297", 4, {"fd": f, "fd.name": path}),
        ("_llseek", f"{f}, 4294967301, {ANY}, SEEK_SET", 0, {"fd": f, "fd.name": path}),
        ("dup2", f"{f}, 50", 50, {"fd": f, "fd.name": path}),
        ("fcntl64", "50, F_SETFD, FD_CLOEXEC", 0, {"fd": 50, "fd.name": path}),
        ("read", f"50, {ANY}, 8", 8, {"fd": 50, "fd.name": path}),
        ("rename", '"by-32-bit", "renamed"', 0,
         {"file.path": path, "file.path.new": work + "/renamed"}),
        ("symlinkat", '"target", AT_FDCWD, "link"', 0,
         {"file.path": work + "/link", "file.symbolic_link.target_path": "target"}),
        ("close", "50", 0, {"fd": 50, "fd.name": path}),
        ("read", f"50, {ANY}, 8", -9, {"fd": 50, "fd.name": None, "error.type": "EBADF"}),
        ("pipe", ANY, 0, {}),
        ("read", f"{p}, {ANY}, 4", 4, {"fd": p, "fd.name": fds["pipe"][1]}),
        ("socketcall", f"SYS_SOCKETPAIR, {ANY}", 0, {}),
        ("socketcall", f"SYS_SENDMSG, {ANY}", 1, {"fd.name": sock}),
        ("socketcall", f"SYS_RECVMSG, {ANY}", 1, {}),
        ("lseek", f"{r}, 0, SEEK_CUR", 0, {"fd": r, "fd.name": fds["received"][1]}),
    ] + [
        ("read", f"{fd}, {ANY}, 8", -22, {"fd": fd, "fd.name": name})
        for fd, name in (fds[what] for what in ("clone", "clone3", "peer") if what in fds)
    ] if s else None


def check_call(span, want):
    name, args, result, attributes = want
    has = span["attributes"]
    equal(span["name"], name, "call")
    check(re.fullmatch(args.replace("|", r"\|"), has["args"]), f"{name}({has['args']}): {args}")
    equal(has["result"], result, f"result of {name}({has['args']})")
    for key, value in attributes.items():
        equal(has.get(key), value, f"{key} of {name}({has['args']})")


@tests.add
def calls_of_a_32_bit_program():
    work, sent = fathom.path("work"), fathom.path("sent")
    os.mkdir(work)
    with open(sent, "w+", encoding="ascii") as stdin:
        result = fathom.run("record", "-o", fathom.path("data"), "--", CALLS, work, stdin=stdin)
    if result.returncode in (11, 77):
        return "this kernel has no 32-bit calls"
    equal(result.returncode, 0, f"status: {result.stderr}")
    fds = {}
    for line in result.stdout.splitlines():
        what, fd, name = line.split(" ", 2)
        fds[what] = (int(fd), name)
    equal(fds["received"][1], sent, "what came with the message")
    check({"clone", "clone3"} <= set(fds), f"descriptors: {fds}")
    wanted = expected(work, fds)
    names = {name for name, *_ in wanted}
    spans = [span for trace in fathom.trace_all(fathom.path("data"))["traces"]
             for span in trace["spans"]]
    calls = sorted((s for s in spans if s["kind"] == "syscall" and s["name"] in names),
                   key=lambda span: span["begin_ns"])
    first = next(i for i, span in enumerate(calls) if span["name"] == "open")
    calls = [span for span in calls[first:] if span["tid"] == span["pid"] and not
             (span["name"] == "write" and span["attributes"].get("fd") == 1)]
    equal([span["name"] for span in calls], [name for name, *_ in wanted], "calls")
    for span, want in zip(calls, wanted):
        check_call(span, want)
    waited = calls[[name for name, *_ in wanted].index("pipe") + 1]
    waits = [s for s in spans if s["kind"] == "wait" and s.get("parent_id") == waited["span_id"]]
    check(sum(s["time"]["idle_ns"] for s in waits) > 10_000_000, f"its process writes it: {waits}")
    harness.check_sums(fathom, fathom.path("data"))
    return None


@tests.add
def a_filter_knows_them():
    work = fathom.path("filtered-work")
    os.mkdir(work)
    result = fathom.run("record", "-o", fathom.path("filtered"), "--syscalls", "rename", "--",
                        CALLS, work, stdin=open(os.devnull, "rb"))
    if result.returncode in (11, 77):
        return "this kernel has no 32-bit calls"
    rows = fathom.report(fathom.path("filtered"), "syscall")["rows"]
    equal([(row["key"], row["count"]) for row in rows], [("rename", 1)], "calls recorded")
    return None


def in_call(pid, tid, nr):
    with open(f"/proc/{pid}/task/{tid}/syscall", encoding="ascii") as file:
        return file.read().split()[0] == str(nr)


def both_asleep(pid, sleep=162):
    tids = [int(tid) for tid in os.listdir(f"/proc/{pid}/task")]
    return len(tids) == 2 and all(in_call(pid, tid, 3 if tid == pid else sleep) for tid in tids)


def stop_and_go_on(pid):
    """Its sleep goes on as restart_syscall, its read as itself."""
    os.kill(pid, signal.SIGSTOP)
    os.waitpid(pid, os.WUNTRACED)
    os.kill(pid, signal.SIGCONT)
    harness.until(lambda: both_asleep(pid, 0), "they sleep on")


def record_asleep(path, stopped=False):
    """-> number of the process, None: this kernel has no 32-bit calls"""
    with harness.Process([CALLS, "asleep"], stdin=subprocess.PIPE) as program:
        harness.until(lambda: program.poll() is not None or both_asleep(program.pid), "they sleep")
        if program.returncode in (11, 77):
            return None
        if stopped:
            stop_and_go_on(program.pid)
        with harness.Process([fathom.binary, "record", "-o", path, "-p", str(program.pid)],
                             stderr=subprocess.PIPE, text=True) as recorder:
            harness.until(lambda: fathom.run("rotate", path).returncode == 0 or
                  recorder.poll() is not None, "it records")
            time.sleep(0.2)
            program.communicate(b"x", timeout=30)
            recorder.send_signal(2)
            _, stderr = recorder.communicate(timeout=60)
    equal((program.returncode, recorder.returncode), (0, 0), stderr)
    return program.pid


@tests.add
def calls_that_were_open_when_recording_began():
    return begin_in_calls("asleep", False)


@tests.add
def calls_that_had_been_stopped_before():
    return begin_in_calls("resumed", True)


def begin_in_calls(name, stopped):
    path = fathom.path(name)
    pid = record_asleep(path, stopped)
    if not pid:
        return "this kernel has no 32-bit calls"
    rows = {row["tid"] == pid: row for row in fathom.report(path, "thread")["rows"]}
    for leader, cause in ((True, "ipc_ns"), (False, "timer_ns")):
        check(rows[leader]["time"][cause] > 0.5 * rows[leader]["total_ns"] and
              not rows[leader]["time"]["other_ns"], f"{cause} in {rows[leader]['time']}")
    calls = [span for trace in fathom.trace_all(path)["traces"] for span in trace["spans"]
             if span["kind"] == "syscall"]
    [call] = [span for span in calls if span["name"] == "read"]
    check(re.fullmatch(f"0, {ANY}, 1", call["attributes"]["args"]), f"arguments: {call}")
    equal((call["begin_bound"], call["attributes"]["result"]), ("soft", 1), f"{call}")
    equal(call["attributes"]["fd.name"].split(":")[0], "pipe", "its file")
    [call] = [span for span in calls if span["name"] == "nanosleep"]
    harness.check_sums(fathom, path)
    return None


@tests.add
def a_call_that_is_stopped_goes_on():
    path = fathom.path("stopped")
    result = fathom.run("record", "-o", path, "--", CALLS, "stopped")
    if result.returncode in (11, 77):
        return "this kernel has no 32-bit calls"
    equal(result.returncode, 0, result.stderr)
    calls = [span for trace in fathom.trace_all(path)["traces"] for span in trace["spans"]
             if span["kind"] == "syscall" and span["name"] in ("nanosleep", "restart_syscall")]
    equal([(span["name"], span["attributes"].get("restarted")) for span in calls],
          [("nanosleep", None)], "it is one call")
    for call in calls:
        check(re.fullmatch(f"{ANY}, NULL", call["attributes"]["args"]), f"arguments: {call}")
        check(call["time"]["timer_ns"] > 10_000_000, f"it sleeps: {call}")
    harness.check_sums(fathom, path)
    return None


with fathom:
    tests.run()
