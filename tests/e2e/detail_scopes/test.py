#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls are recorded of the threads in scopes at `calls` alone, in one recording."""
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading

import harness
from harness import check, equal, until

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
LAW_OF = os.path.abspath(sys.argv[2])
tests = harness.Tests()
before = harness.programs_left(set())
COUNT = 2000

# Calls getppid() now and then, until its input ends.
LOAD = """
import os, select, sys
while not select.select([sys.stdin], [], [], 0.001)[0]:
    os.getppid()
"""

# Waits in an epoll for the answer of a server, on a connection after another, until it ends.
CLIENT = """
import contextlib, select, socket, sys
with contextlib.suppress(OSError):
    while True:
        with (socket.create_connection(("127.0.0.1", int(sys.argv[1]))) as peer,
              select.epoll() as epoll):
            epoll.register(peer, select.EPOLLIN)
            peer.send(b"x")
            epoll.poll()
"""

# Runs copies of dd: in scope by name; out of scope; as a child of a shell in scope; and as one of
# which a later scope says otherwise.
COMMAND = """
copy() { "$@" if=/dev/zero of=/dev/null bs=1 count=%d status=none; }
copy ./dd_named; copy ./dd_other
./sh_named -c './dd_child if=/dev/zero of=/dev/null bs=1 count=%d status=none; :'
./sh_named -c './dd_quiet if=/dev/zero of=/dev/null bs=1 count=%d status=none; :'
while ! test -e stop; do sleep 0.01; done
""" % (COUNT, COUNT, COUNT)


def load():
    return subprocess.Popen([sys.executable, "-c", LOAD], stdin=subprocess.PIPE)


class Server(threading.Thread):
    """Answers each connection after a while, and ends once it is closed."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.over = threading.Event()
        self.start()

    def run(self):
        while not self.over.is_set():
            connection, _ = self.listener.accept()
            with connection:
                connection.recv(1)
                self.over.wait(0.01)
                connection.send(b"y")
        self.listener.close()


def passes():
    """Two more chunks begin: what was told before is in those that are sealed."""
    count = len(chunks())
    until(lambda: len(chunks()) > count + 1, "chunks behind it")


def ask(pid):
    told = fathom.ok("detail", fathom.path("scopes"), "calls", str(pid), "--for", "300ms")
    check(told.startswith(f"calls of {pid} for ") and told.endswith(", then scopes\n"), told)
    until(lambda: fathom.ok("detail", fathom.path("scopes")) == "scopes\n", "old level")
    passes()
    return calls("pid", pid, "getppid")


def record():
    """
    The pids of a program in scope, of one that is asked for, and of two out of scope, of which the
    latter waits for the server. Then how many calls the second one had once that was over.
    """
    for name, of in (("dd_named", "dd"), ("dd_other", "dd"), ("dd_child", "dd"),
                     ("dd_quiet", "dd"), ("sh_named", "sh")):
        shutil.copy(shutil.which(of), fathom.path(name))
    loads = [load(), load(), load(),
             subprocess.Popen([sys.executable, "-c", CLIENT, str(SERVER.port)],
                              stdin=subprocess.PIPE)]
    pids = [process.pid for process in loads]
    recorder = subprocess.Popen(
        [fathom.binary, "record", "-o", fathom.path("scopes"), "--rotate", "150ms", "--detail",
         f"waits,dd_named=calls,{pids[0]}=calls,sh_named=calls,dd_quiet=waits", "-p",
         ",".join(map(str, pids)), "--", "sh", "-c", COMMAND],
        cwd=fathom.path("."), stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        until(lambda: len(chunks()) > 1 or recorder.poll() is not None, "chunks")
        equal(calls("pid", pids[1], "getppid"), 0, "calls before they are asked for")
        until(lambda: ask(pids[1]) >= 10, "calls that are asked for")
        asked, others = calls("pid", pids[1], "getppid"), calls("pid", pids[0], "getppid")
        until(lambda: calls("pid", pids[0], "getppid") > others + 20, "calls of the one in scope")
        with open(fathom.path("stop"), "wb"):
            pass
        _, text = recorder.communicate(timeout=60)
        equal(recorder.returncode, 0, text)
    finally:
        SERVER.over.set()
        if recorder.poll() is None:
            os.killpg(recorder.pid, signal.SIGKILL)
            recorder.communicate()
        for process in loads:
            process.communicate()
    return pids, asked


def chunks():
    result = fathom.run("chunks", "--json", "scopes")
    return [chunk for chunk in json.loads(result.stdout or '{"chunks": []}')["chunks"]
            if chunk["state"] == "sealed"]


def calls(kind, key, name):
    return sum(row["count"] for row in fathom.report("scopes", "syscall", f"--{kind}", str(key))
               ["rows"] if row["key"] == name)


@tests.add
def calls_are_recorded_in_scope_alone():
    lost = fathom.report("scopes", "thread")["lost"]["total"]
    for name, count in (("dd_named", COUNT), ("dd_child", COUNT), ("dd_other", 0), ("dd_quiet", 0)):
        writes = calls("program", name, "write")
        check(count - lost <= writes <= count, f"{writes} writes of {name}, {lost} lost")
    check(calls("pid", PIDS[0], "getppid") > 20, "calls of the process in scope")
    equal(calls("pid", PIDS[2], "getppid"), 0, "calls of a process out of scope")


@tests.add
def a_scope_is_asked_for_a_time():
    count = calls("pid", PIDS[1], "getppid")
    check(ASKED <= count <= ASKED + 1, f"{count} calls, {ASKED} when it was over")


@tests.add
def a_thread_out_of_scope_has_the_peers_of_its_epolls():
    waits = [span for trace in fathom.trace_all("scopes", "--pid", PIDS[3])["traces"]
             for span in trace["spans"] if span["kind"] == "wait" and
             span["attributes"].get("network.peer.port") == SERVER.port]
    check(waits, f"waits for port {SERVER.port}")


@tests.add
def time_is_divided_where_calls_are_known():
    for row in fathom.report("scopes", "thread")["rows"]:
        equal(sum(row["time"].values()), row["total_ns"], f"sum of {row}")
    rows = {row["key"]: row["time"] for row in fathom.report("scopes", "program")["rows"]}
    check(rows["dd_other"]["user_ns"] == 0, f"dd_other: {rows['dd_other']}")
    for name in ("dd_other", "dd_quiet"):  # the end of a thread is in the kernel at any level
        time = rows[name]
        check(time["cpu_ns"] > time["user_ns"] + time["kernel_ns"], f"{name}: {time}")
    for name in ("dd_named", "dd_child"):
        time = rows[name]
        check(time["user_ns"] > 0 and time["kernel_ns"] > time["cpu_ns"], f"{name}: {time}")


@tests.add
def answers_say_so():
    report = fathom.report("scopes", "syscall")
    equal(report["detail"], "scopes", "detail")
    check("calls_ns" not in report, "no part of the time holds for all threads")
    result = fathom.run("report", "--by", "syscall", "--scale", fathom.path("scopes"))
    equal(result.returncode, 2, f"--scale: {result.stderr}")
    check("some threads" in result.stderr, result.stderr)
    text = " ".join(fathom.ok("report", fathom.path("scopes")).split())
    check("were recorded of some threads only" in text, text[-600:])


@tests.add
def the_merge_law_holds():
    list_ = chunks()
    result = subprocess.run([LAW_OF, fathom.path(list_[len(list_) // 2]["path"]), "7", "2"], text=True,
                            capture_output=True, timeout=100)
    equal(result.returncode, 0, f"law: {result.stdout}{result.stderr}")


@tests.add
def what_is_wrong_is_said():
    for words, code, text in (
            (("record", "--detail", "waits,dd=some", "--", "true"), 2, "neither calls nor waits"),
            (("record", "--detail", "waits,/no/a=calls", "--", "true"), 1, "no cgroup /no/a"),
            (("detail", fathom.path("scopes"), "calls", "a,b"), 2, "is no pid, cgroup or name")):
        result = fathom.run(*words)
        equal(result.returncode, code, f"{words}: {result.stderr}")
        check(text in result.stderr, f"{words}: {result.stderr}")


@tests.add
def nothing_stays_in_the_kernel():
    harness.nothing_is_left_in_the_kernel(before)


with fathom:
    SERVER = Server()
    PIDS, ASKED = record()
    tests.run()
