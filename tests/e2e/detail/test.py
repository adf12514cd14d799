#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings without calls (--detail waits): what a wait says by itself, and what is not there."""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
TRAPS, POINTERS = sys.argv[2:4]
MS = 1000000
WAITS = ["--detail", "waits"]
tests = harness.Tests()

# Reads a FIFO that its parent writes ten times, 20 ms apart, and a socket the same way.
PAIR = """
import os, socket, sys, threading, time
fifo = sys.argv[1]
os.mkfifo(fifo)
server = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    peer = socket.create_connection(server.getsockname())
    writer = os.open(fifo, os.O_WRONLY)
    for _ in range(10):
        time.sleep(0.02)
        os.write(writer, b"x")
        time.sleep(0.02)
        peer.sendall(b"y")
    os._exit(0)
connection, _ = server.accept()
reader = os.open(fifo, os.O_RDONLY)
for _ in range(10):
    os.read(reader, 1)
    connection.recv(1)
os.wait()
print(server.getsockname()[1])
"""


# Accepts ten connections one after another, all of which get the same descriptor.
IN_TURN = """
import os, socket, time
server = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    for _ in range(10):
        peer = socket.create_connection(server.getsockname())
        time.sleep(0.02)
        peer.sendall(b"x")
        peer.close()
        time.sleep(0.01)
    os._exit(0)
for _ in range(10):
    connection, _ = server.accept()
    connection.recv(1)
    connection.close()
os.wait()
"""


def spans_of(recording, kind=None):
    return [span for trace in fathom.trace_all(recording)["traces"] for span in trace["spans"]
            if kind in (None, span["kind"])]


def waits_in(recording, call):
    return [span for span in spans_of(recording, "wait")
            if span["attributes"].get("syscall") == call]


def length(span):
    return span["end_ns"] - span["begin_ns"]


def record_trap(name, *args, options=()):
    """None if the trap cannot be made here."""
    recording = fathom.path(name + "".join(options))
    result = fathom.run("record", *WAITS, *options, "-o", recording, "--", TRAPS, name, *args)
    if result.returncode == 77:
        return None
    equal(result.returncode, 0, f"{name}: {result.stderr}")
    return recording


class Recording:
    """Of a process that is there already, from the begin of the block to its end."""

    def __init__(self, name, pid, *options):
        self.dir = fathom.path(name)
        self.process = subprocess.Popen(
            [fathom.binary, "record", *WAITS, *options, "-o", self.dir, "-p", str(pid)],
            stderr=subprocess.PIPE, text=True)

    def __enter__(self):
        harness.until(lambda: self.process.poll() is not None or
                      fathom.run("rotate", self.dir).returncode == 0, "it records")
        return self.dir

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGINT)
        _, stderr = self.process.communicate(timeout=60)
        equal(self.process.returncode, 0, stderr)


def record_pair(name, *options):
    fifo = fathom.path(f"{name}.fifo")
    recording = fathom.path(name)
    result = fathom.run("record", "-o", recording, *options, "--", sys.executable, "-c", PAIR, fifo)
    equal(result.returncode, 0, f"record: {result.stderr}")
    return recording, fifo, int(result.stdout)


@tests.add
def a_wait_says_its_call_file_and_waker():
    recording, fifo, port = record_pair("pair", "--detail", "waits")
    spans = [s for t in fathom.trace_all(recording)["traces"] for s in t["spans"]]
    equal({s["kind"] for s in spans} - {"thread", "block"}, {"wait"}, "kinds of spans")
    reads = [s for s in waits_in(recording, "read") if s["attributes"].get("fd.name") == fifo]
    check(len(reads) >= 8, f"{len(reads)} waits for the FIFO, of ten")
    for read in reads:
        attributes = read["attributes"]
        equal(attributes["cause"], "ipc", f"cause of {read}")
        equal(attributes["fd"], attributes["arg0"], f"descriptor of {read}")
        equal(attributes["file.path"], fifo, f"path of {read}")
        check(attributes["waker"].startswith("python3/"), f"waker of {read}")
        check(int(attributes["waker"].split("/")[1]) != read["tid"], f"waker of {read}")
    text = fathom.ok("trace", "--all", recording)
    check(f"read  <{fifo}>  woken by python3[" in text, f"the wait in the text: {text[:2000]}")
    receives = [s for s in waits_in(recording, "recvfrom")
                if s["attributes"].get("network.local.port", port) == port]
    check(len(receives) >= 8, f"{len(receives)} waits for the socket, of ten")
    # the connection was accepted: outside of spans its reader waits for work
    equal({s["attributes"]["cause"] for s in receives}, {"idle"}, "cause of receives")


@tests.add
def calls_are_counted_where_they_slept():
    recording, fifo, _ = record_pair("counts", "--detail", "waits")
    calls = fathom.report(recording, "syscall")
    equal(calls["detail"], "waits", "detail of the report")
    rows = {row["key"]: row for row in calls["rows"]}
    check(not {"getpid", "fstat", "newfstatat"} & set(rows), f"calls that did not sleep: {rows.keys()}")
    check(all("errors" not in row for row in calls["rows"]), "errors, which a wait does not tell")
    check(18 <= rows["clock_nanosleep"]["count"] <= 40, f"{rows['clock_nanosleep']}")
    equal(rows["clock_nanosleep"]["time"]["cpu_ns"], 0, "time on a CPU in a wait")
    files = {row["key"]: row for row in fathom.report(recording, "file")["rows"]}
    check(files[fifo]["count"] >= 8, f"waits for {fifo}: {files[fifo]}")
    for row in fathom.report(recording, "thread")["rows"]:
        equal(row["time"]["user_ns"], 0, f"user code of {row}")
        check(row["time"]["cpu_ns"] > 0, f"time on a CPU of {row}")
        equal(sum(row["time"].values()), row["total_ns"], f"sum of {row}")


@tests.add
def each_file_behind_one_descriptor_has_its_name():
    recording = fathom.record("turns", "--detail", "waits", "--", sys.executable, "-c", IN_TURN)
    receives = waits_in(recording, "recvfrom")
    check(len(receives) >= 8, f"{len(receives)} waits for ten connections")
    equal(len({s["attributes"]["fd"] for s in receives}), 1, "descriptors")
    # a thread that is preempted in a call leaves its CPU in it twice
    sockets = {(s["attributes"]["fd.name"], s["attributes"]["network.peer.port"]) for s in receives}
    for i, what in enumerate(("sockets", "peers")):
        equal(len({socket[i] for socket in sockets}), len(sockets), what)
    check(8 <= len(sockets) <= 10, f"connections: {sockets}")


@tests.add
def threads_are_sorted_by_their_time_on_a_cpu():
    recording, _, _ = record_pair("sorted", "--detail", "waits")
    times = [row["time"]["cpu_ns"] + row["time"]["kernel_ns"]
             for row in fathom.report(recording, "thread")["rows"]]
    check(times[0] > 0 and times == sorted(times, reverse=True), f"times on a CPU: {times}")


@tests.add
def waits_are_the_same_in_pieces():
    whole, _, _ = record_pair("whole", "--detail", "waits", "--rotate", "100ms")
    check(len(fathom.chunks(whole)) >= 3, "several chunks")
    chunks = [chunk["path"] for chunk in fathom.chunks(whole)]
    equal(fathom.ok("report", "--json", "--by", "syscall", *reversed(chunks)),
          fathom.ok("report", "--json", "--by", "syscall", whole), "the chunks and their recording")
    reads = waits_in(whole, "read")
    check(any(r["attributes"].get("file.path", "").endswith("whole.fifo") for r in reads),
          "a file that was open before its chunk has its name")


@tests.add
def bytes_go_with_waits_if_asked():
    for level, expected in ("waits", False), ("waits,bytes", True):
        recording, _, _ = record_pair(f"bytes-{expected}", "--detail", level)
        shown = subprocess.run(["babeltrace2", recording], text=True, capture_output=True,
                               check=False).stdout
        if not shown:
            return "babeltrace2 is missing"
        equal(" bytes:" in shown, expected, f"byte ranges with {level}")
        equal(" syscall:" in shown, False, f"calls with {level}")
    return None


# Each message is answered by another one, on a pair of Unix sockets. Another thread goes on, which
# has used other sockets since.
TALK = """
import os, socket, threading
one, other = socket.socketpair()
if os.fork() == 0:
    for _ in range(50):
        other.recv(100)
        other.sendall(b"x" * 70)
    os._exit(0)
def ask():
    for _ in range(25):
        one.sendall(b"y" * 30)
        one.recv(100)
def go_on():
    own, its = socket.socketpair()
    own.sendall(b"z")
    its.recv(1)
    ask()
ask()
thread = threading.Thread(target=go_on)
thread.start()
thread.join()
os.wait()
"""


@tests.add
def positions_in_a_unix_stream_are_sure():
    """Although no begin of a call is seen."""
    if not shutil.which("babeltrace2"):
        return "babeltrace2 is missing"
    recording = fathom.record("positions", "--detail", "waits,bytes", "--", sys.executable, "-c",
                              TALK)
    shown = subprocess.run(["babeltrace2", recording], text=True, capture_output=True,
                           check=True).stdout
    ends, unsure = {}, {}
    for line in shown.splitlines():
        if " bytes: " not in line:
            continue
        direction, flags, length = (
            int(re.search(rf"\b{name} = (?:{{ )?(\d+)", line).group(1))
            for name in ("direction", "flags", "length"))
        begin = re.search(r" from = { (\d+)", line)
        begin = int(begin.group(1)) if begin else 0
        unsure.setdefault((length, direction), []).append(flags)
        equal(begin, ends.get((length, direction), 0), f"where it begins: {line}")
        ends[length, direction] = begin + length
    equal(sorted(ends.values()), [1, 1, 1500, 1500, 3500, 3500], "bytes sent and received")
    # before Linux 6.17 the first ones are unsure until the queue is seen to be empty
    equal({key: sum(flags[2:]) for key, flags in unsure.items()}, dict.fromkeys(unsure, 0), "flags")
    return None


@tests.add
def options_about_calls_are_refused():
    result = fathom.run("record", "--detail", "waits", "--syscalls", "read", "--", "true")
    equal(result.returncode, 2, "status with --syscalls")
    check("--detail calls" in result.stderr, result.stderr)
    result = fathom.run("record", "--detail", "all", "--", "true")
    equal(result.returncode, 2, "status with an unknown level")
    check(not os.path.exists(fathom.path("fathom.data")), "nothing was recorded")


def check_second_thread(*options):
    """Its waits before and in the exec, and those of its new program, are those of one thread."""
    recording = record_trap("exec_second", "60", options=options)
    threads = sorted(spans_of(recording, "thread"), key=lambda span: span["begin_ns"])
    equal([span["tid"] for span in threads], [threads[0]["pid"]] * 2, "numbers at the end")
    leader, other = threads
    check(leader["end_ns"] < other["end_ns"] - 40 * MS, f"the leader ended in the exec: {leader}")
    check(length(other) > 100 * MS, f"the other one lived on: {other}")
    dozes = [span for span in spans_of(recording, "wait")
             if span["name"] == "timer" and length(span) > 20 * MS]
    equal({span["parent_id"] for span in dozes}, {other["span_id"]}, "whose the sleeps are")
    check(sum(map(length, dozes)) > 90 * MS, f"before the exec, and after it: {dozes}")
    for span in threads:
        check(span["time"]["unknown_ns"] < 0.1 * length(span) + 2 * MS, f"known: {span}")
    return recording


@tests.add
def an_exec_by_a_second_thread():
    check_second_thread()


@tests.add
def an_exec_by_a_second_thread_across_cuts():
    chunks = fathom.chunks(check_second_thread("--rotate", "3ms"))
    check(len(chunks) > 10 // harness.SLOWER, "chunks")


# The leader ends by itself, so the exec of the second thread need not wait for it. The kernel reads
# the last page of the program's data when the thread has the leader's number already.
LEADER_GONE = """
import ctypes, os, sys, threading, time
file = os.open(sys.argv[1], os.O_RDONLY)
os.fsync(file)
os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
os.pread(file, 4096, 0)
os.close(file)
def run():
    time.sleep(0.1)
    os.execv(sys.argv[1], [sys.argv[1], "version"])
threading.Thread(target=run).start()
ctypes.CDLL(None).syscall(60, 0)
"""


@tests.add
def an_exec_by_a_thread_whose_leader_has_ended():
    with tempfile.TemporaryDirectory(dir=os.environ.get("TMPDIR", "/var/tmp")) as place:
        program = shutil.copy(fathom.binary, place)
        recording = fathom.record("gone", *WAITS, "--", sys.executable, "-c", LEADER_GONE, program)
    threads = sorted(spans_of(recording, "thread"), key=lambda span: span["end_ns"])
    pid = threads[0]["pid"]
    mine = [span for span in threads if span["pid"] == pid]
    equal(len(mine), 2, f"threads: {mine}")
    waits = [span for span in spans_of(recording, "wait") if span["pid"] == pid]
    sleeper = next(span["parent_id"] for span in waits if length(span) > 90 * MS and
                   span["attributes"].get("syscall") == "clock_nanosleep")
    equal(sleeper, mine[-1]["span_id"], "who slept, and lived on")
    in_exec = [span for span in waits if span["attributes"].get("syscall") == "execve"]
    equal({span["parent_id"] for span in in_exec} - {sleeper}, set(), "whose the exec is")
    print(f"# {[span['name'] for span in in_exec]} in the exec")
    check(mine[-1]["time"]["unknown_ns"] < 0.1 * length(mine[-1]), f"it is known: {mine[-1]}")


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rsplit(")", 1)[1].split()[0]


@tests.add
def a_sleep_that_a_signal_breaks_off_keeps_its_name():
    with harness.Process(["sleep", "60"]) as process:
        for number, state in ((0, "S"), (signal.SIGSTOP, "T"), (signal.SIGCONT, "S")):
            process.send_signal(number)
            harness.until(lambda: state_of(process.pid) == state, f"it to be in {state}")
        time.sleep(0.05)  # it is in restart_syscall when the recording begins
        with Recording("restarted", process.pid) as recording:
            for number, state in ((signal.SIGSTOP, "T"), (signal.SIGCONT, "S")) * 3:
                process.send_signal(number)
                harness.until(lambda: state_of(process.pid) == state, f"it to be in {state}")
                time.sleep(0.01)
        process.kill()
    calls = {span["attributes"].get("syscall") for span in spans_of(recording, "wait")} - {None}
    equal(calls, {"clock_nanosleep"}, "the calls that it slept in")
    sleeps = waits_in(recording, "clock_nanosleep")
    check(len(sleeps) >= 4, f"{len(sleeps)} sleeps, of four or more")
    equal({span["name"] for span in sleeps} - {"runnable"}, {"timer"}, "what they are")
    stops = [span for span in spans_of(recording, "wait")
             if span["attributes"].get("cause.reason") == "stopped by a signal"]
    check(len(stops) >= 3, f"{len(stops)} stops of three")


@tests.add
def a_thread_that_a_supervisor_holds_is_in_no_call():
    recording = record_trap("supervised", "5")
    if not recording:
        return "this kernel has no seccomp notification"
    child = max(span["pid"] for span in spans_of(recording, "thread"))
    held = [span for span in spans_of(recording, "wait") if span["pid"] == child and
            "held by a supervisor" in span["attributes"].get("cause.reason", "")]
    check(sum(map(length, held)) > 5 * 18 * MS, f"held: {held}")
    equal({span["name"] for span in held}, {"other"}, "what it waited for")
    check(all("syscall" not in span["attributes"] for span in held), f"a call: {held}")
    return None


@tests.add
def a_fault_that_another_thread_serves():
    """It sleeps interruptibly, and in no call."""
    recording = fathom.path("served")
    with harness.Process([fathom.binary, "record", *WAITS, "-o", recording, "--", TRAPS,
                          "late_end"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True) as recorder:
        held = recorder.stdout.readline()
        time.sleep(0.1)
        _, stderr = recorder.communicate("x", timeout=60)
    if not held:
        return "faults cannot be held here"
    equal(recorder.returncode, 0, stderr)
    held = next(row for row in fathom.report(recording, "thread")["rows"]
                if row["tid"] != row["pid"])
    check(held["time"]["fault_ns"] > 90 * MS and not held["time"]["other_ns"],
          f"what the thread waited for: {held['time']}")
    return None


@tests.add
def spans_alone_leave_the_rest_out():
    recording = fathom.record("alone", *WAITS, "--spans-only", "--", sys.executable, "-c",
                              "import time; [time.sleep(0.01) for _ in range(10)]")
    equal(spans_of(recording, "wait"), [], "waits under no span")
    for row in fathom.report(recording, "thread")["rows"]:
        known = {part for part, ns in row["time"].items() if ns} - {"unknown_ns", "runnable_ns"}
        equal(known, set(), f"what is known of {row}")
    text = fathom.ok("report", recording)
    check("--spans-only" in text and "--detail waits" in text, text)


@tests.add
def stacks_of_waits():
    recording = fathom.record("stacks", *WAITS, "--stacks", "20ms", "--", POINTERS, "nanosleep",
                              "futex", "pipe")
    shown = {}
    for span in spans_of(recording, "wait"):
        if "stack" in span:
            shown.setdefault(span["attributes"].get("syscall"), []).append(span)
    for call, of_kernel in (("nanosleep", "nanosleep"), ("futex", "futex"), ("read", "pipe_read")):
        long = [(span["name"], length(span)) for span in waits_in(recording, call)]
        check(call in shown, f"no stack of waits in {call}: {long}")
        stack = max(shown[call], key=length)["stack"]
        names = {kernel: [frame.get("function") or "" for frame in stack
                          if frame["kernel"] == kernel] for kernel in (True, False)}
        check(any(of_kernel in name for name in names[True]), f"{of_kernel} among {names[True]}")
        at = names[False].index("inner")
        equal(names[False][at:at + 3], ["inner", "middle", "outer"], f"functions of {call}")
    short = [span for spans in shown.values() for span in spans if length(span) < 20 * MS]
    equal(short, [], "stacks of short waits")


with fathom:
    tests.run()
