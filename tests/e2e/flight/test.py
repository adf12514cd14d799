#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A flight recorder: nothing on disk until it is asked, then what the rings hold."""
import json
import os
import signal
import subprocess
import sys
import time

import harness
from harness import check, equal
from told_once import Fed

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
CALLS, REQUESTS = sys.argv[2:]
N = 5000
tests = harness.Tests()
before = harness.programs_left(set())


class Recorder:
    """`fathom record --flight --detail calls ... -- CMD`; ends with the block."""

    def __init__(self, name, *args, level=("--detail", "calls")):
        self.dir = fathom.path(name)
        self.process = subprocess.Popen(
            [fathom.binary, "record", "--flight", *level, "-o", self.dir, *map(str, args)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)  # the command outlives its recorder
        except ProcessLookupError:
            pass
        self.process.communicate()

    def line(self):
        return self.process.stdout.readline()

    def snapshot(self):
        return fathom.ok("snapshot", self.dir).strip()


@tests.add
def writes_nothing_until_it_is_asked():
    with Recorder("quiet", "--", "sh", "-c", f"{CALLS} {N}; echo done; sleep 100") as recorder:
        equal(recorder.line(), "done\n", "the command's output")
        equal(sorted(os.listdir(recorder.dir)), [".control", ".lock"],
              "chunks before a snapshot")
        chunk = recorder.snapshot()
        check(os.path.isdir(chunk), f"{chunk} is there")
        rows = {row["key"]: row for row in fathom.report(chunk, "syscall")["rows"]}
        equal(rows["gettid"]["count"], N, "all calls are still in the rings")
        check(rows["getppid"]["count"] >= N, "and of those that the shell makes, too")
        equal(fathom.report(chunk, "syscall")["lost"]["total"], 0, "lost records")
        opened = [s["attributes"] for t in fathom.trace_all(chunk)["traces"] for s in t["spans"]
                  if s["name"] == "lseek" and s["attributes"].get("fd.name") == "/etc/passwd"]
        equal(len(opened), 1, "a file that was opened while only memory was written")
        recorder.process.send_signal(signal.SIGINT)
        recorder.process.wait(timeout=60)
    equal([c["path"] for c in fathom.chunks(recorder.dir)], [chunk], "only what was asked for")
    harness.check_sums(fathom, recorder.dir)
    harness.check_babeltrace(fathom, recorder.dir)


BUSY = "import os; print('begun', flush=True)\nwhile True: os.getppid()"


@tests.add
def rings_overwrite_and_keep_the_newest():
    with Recorder("wrapped", "--buffer", "256K", "--", "sh", "-c",
                  f'sleep 1000 & exec "{sys.executable}" -c "$0"', BUSY) as recorder:
        begun = recorder.line()
        equal(begun, "begun\n", "the command's output")
        time.sleep(2)
        asked = time.monotonic_ns()
        chunks = [recorder.snapshot(), recorder.snapshot()]
        first, second = [json.loads(fathom.ok("chunks", "--json", c))["chunks"][0] for c in chunks]
        check(first["end_ns"] >= asked, "it reaches up to the request")
        check(0 < first["end_ns"] - first["begin_ns"] < 1_000_000_000,
              f"256K do not hold a second of that: {first}")
        check(second["begin_ns"] >= first["end_ns"], f"nothing is told twice: {first}, {second}")
        for chunk in chunks:
            harness.check_sums(fathom, chunk)
            report = fathom.report(chunk, "thread")
            length = report["to_ns"] - report["from_ns"]
            rows = {row["key"]: row for row in report["rows"]}
            busy = next(row for name, row in rows.items() if name.startswith("python"))
            equal(busy["total_ns"], length, "the busy thread was there all the time")
            check(busy["time"]["unknown_ns"] <= length // 2, f"and was seen: {busy}")
            equal(rows["sleep"]["time"]["timer_ns"], length, f"a sleeper: {rows['sleep']}")
        calls = {row["key"]: row for row in fathom.report(chunks[0], "syscall")["rows"]}
        check(calls["getppid"]["count"] > 100, f"calls: {calls}")
    harness.check_sums(fathom, recorder.dir)
    harness.check_babeltrace(fathom, recorder.dir)


@tests.add
def the_first_wait_is_not_what_the_thread_does_at_the_end():
    """It waits for a pipe when recording begins, and for a child when it is looked at."""
    fifo = fathom.path("fifo")
    os.mkfifo(fifo)
    with harness.Process(["sh", "-c", 'echo; read x <"$0"; sleep 1000; :', fifo],
                         stdout=subprocess.PIPE, start_new_session=True) as waits:
        try:
            waits.stdout.readline()
            with open(fifo, "wb") as pipe, Recorder("first", "-p", waits.pid) as recorder:
                while fathom.run("snapshot", recorder.dir).returncode:
                    equal(recorder.process.poll(), None, "status of the recorder")
                    time.sleep(0.02)
                time.sleep(0.5)
                pipe.write(b"\n")
                pipe.flush()
                time.sleep(0.5)
                chunk = recorder.snapshot()
        finally:
            os.killpg(waits.pid, signal.SIGKILL)
    # the first is of the line's first byte
    read = min((s for t in fathom.trace_all(chunk)["traces"] for s in t["spans"]
                if s["kind"] == "syscall" and s["name"] == "read"), key=lambda s: s["begin_ns"])
    check(read["time"]["ipc_ns"] >= 400_000_000, f"it waited for the pipe: {read}")
    equal(read["time"]["child_ns"], 0, f"and for no child, in {read}")
    [row] = [r for r in fathom.report(chunk, "thread")["rows"] if r["tid"] == waits.pid]
    # it leads its session, so for its child it is idle
    check(row["time"]["idle_ns"] >= 200_000_000, f"for that it waits since: {row}")
    harness.check_sums(fathom, chunk)


ENDS = """
import ctypes, os, signal, subprocess, threading
child = subprocess.Popen(["sleep", "1000"])
name = ctypes.create_string_buffer(b"ends-soon")
enough = threading.Event()
def worker():
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
    print(threading.get_native_id(), flush=True)
    enough.wait()
print(child.pid, flush=True)  # before the other one prints: a line is two writes
thread = threading.Thread(target=worker)
thread.start()
for _ in range(200000):
    os.getppid()
enough.set()
thread.join()
child.kill()
child.wait()
print("ended", flush=True)
signal.pause()
"""


@tests.add
def who_ended_in_the_snapshot_has_a_name():
    """Both began before what the rings hold, and ended in it."""
    with Recorder("ended", "--buffer", "256K", "--", sys.executable, "-c", ENDS) as recorder:
        ids = sorted(int(recorder.line()) for _ in range(2))
        equal(recorder.line(), "ended\n", "the command's output")
        chunk = recorder.snapshot()
        rows = {row["tid"]: row for row in fathom.report(chunk, "thread")["rows"]}
        equal(sorted(rows[i]["thread"] for i in ids), ["ends-soon", "sleep"],
              f"names of threads that ended, in {rows}")
        for number in ids:
            check(rows[number]["time"]["unknown_ns"] <= rows[number]["total_ns"],
                  f"its time: {rows[number]}")
        names = {row["key"] for row in fathom.report(chunk, "process")["rows"]}
        check("sleep" in names and "?" not in names, f"processes: {names}")
        harness.check_sums(fathom, chunk)
    harness.check_babeltrace(fathom, recorder.dir)


@tests.add
def what_was_told_once_is_in_each_snapshot():
    """Long before what the rings hold: who woke it, and what a slot is."""
    with Fed(REQUESTS, fathom.path("fed")) as fed:
        if not fed.pid:
            return "no io_uring here"
        with Recorder("fed-flight", "--buffer", "128K", "-p", fed.pid) as recorder:
            while fathom.run("snapshot", recorder.dir).returncode:
                equal(recorder.process.poll(), None, "status of the recorder")
                time.sleep(0.02)
            fed.wake(1500, "waker-one")
            first = recorder.snapshot()
            fed.wake(1500, "waker-one")
            second = recorder.snapshot()
            fed.wake(500, "waker-two")
            third = recorder.snapshot()
        for chunk, name in ((first, "one"), (second, "one"), (third, "two")):
            # on a busy machine the program often finds a byte there before it sleeps
            fed.check(fathom, chunk, [f"waker-{name}"], 3)
            harness.check_sums(fathom, chunk)
    return None


# Reads a pipe into which another thread writes each millisecond, and says so at first.
FED = """
import os, threading, time
reader, writer = os.pipe()
def feed():
    while True:
        time.sleep(0.001)
        os.write(writer, b"x")
threading.Thread(target=feed, daemon=True).start()
print(os.readlink(f"/proc/self/fd/{reader}"), flush=True)
while True:
    os.read(reader, 1)
"""


@tests.add
def keeps_waits_if_nothing_else_is_asked_for():
    """Each with its call and file, also in a chunk that begins long after the file was opened."""
    with Recorder("waits", "--buffer", "128K", "--", sys.executable, "-c", FED,
                  level=()) as recorder:
        pipe = recorder.line().strip()
        for _ in range(2):
            time.sleep(1.5)
            chunk = recorder.snapshot()
            report = fathom.report(chunk, "file")
            equal(report["detail"], "waits", "level")
            check(report["to_ns"] - report["from_ns"] < 1.5e9, "128K do not hold all of it")
            waits = [s for t in fathom.trace_all(chunk)["traces"] for s in t["spans"]
                     if s["attributes"].get("fd.name") == pipe]
            check(len(waits) > 20, f"{len(waits)} waits for the pipe: {report}")
            equal({s["attributes"]["syscall"] for s in waits}, {"read"}, "the call")
            harness.check_sums(fathom, chunk)
    harness.check_babeltrace(fathom, recorder.dir)


@tests.add
def each_recorder_answers_to_its_own_request():
    with Recorder("only", "--", "sh", "-c", "echo begun; sleep 100") as recorder:
        recorder.line()
        result = fathom.run("rotate", recorder.dir)
        equal(result.returncode, 1, "rotate of a flight recorder")
        check("fathom snapshot" in result.stderr, result.stderr)
        equal(list(json.loads(fathom.ok("snapshot", "--json", recorder.dir))),
              ["schema", "path"], "--json")
    plain = fathom.path("plain")
    with harness.Process([fathom.binary, "record", "-o", plain, "--", "sh", "-c",
                          "echo begun; sleep 2"], stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True) as recorder:
        recorder.stdout.readline()
        result = fathom.run("snapshot", plain)
        equal(result.returncode, 1, "snapshot of a recorder that writes everything")
        check("fathom rotate" in result.stderr, result.stderr)
    check(fathom.run("snapshot", plain).returncode == 1, "nobody records any more")


@tests.add
def nothing_is_left_in_the_kernel():
    return harness.nothing_is_left_in_the_kernel(before)


with fathom:
    tests.run()
