#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Waits: calls that were open when recording began, and what is said of who woke whom."""
import contextlib
import json
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
tests = harness.Tests()
SPANS, SWAPPED = sys.argv[2:4]

SLEEPER = """
import os, select, sys, time
fd = os.open(sys.argv[1], os.O_RDWR)
poll = select.epoll()
poll.register(fd, select.EPOLLIN)
print("ready", flush=True)
poll.poll()
os.read(fd, 1)
poll.poll()
"""


def asleep_in(pid, call):
    """Waits until the process is in that system call."""
    for _ in range(2000):
        with open(f"/proc/{pid}/syscall") as file:
            if file.read().split()[0] == str(call):
                return
        time.sleep(0.01)
    check(False, f"process {pid} never came into call {call}")


class Sleeper:
    """A process that was in epoll_wait before the recording began."""

    def __init__(self):
        self.fifo = fathom.path("fifo")
        if not os.path.exists(self.fifo):
            os.mkfifo(self.fifo)

    def __enter__(self):
        self.process = subprocess.Popen([sys.executable, "-c", SLEEPER, self.fifo],
                                        stdout=subprocess.PIPE, text=True)
        equal(self.process.stdout.readline(), "ready\n", "sleeper")
        asleep_in(self.process.pid, 232)
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


def spans_of(recording, pid):
    traces = [t for t in fathom.trace_all(recording, "--pid", pid)["traces"]
              if t["spans"][0]["kind"] == "thread" and t["spans"][0]["tid"] == pid]
    equal(len(traces), 1, "threads")
    return traces[0]["spans"]


def check_open_call(recording, pid):
    spans = spans_of(recording, pid)
    thread = spans[0]
    calls = [s for s in spans if s["name"] == "epoll_wait"]
    equal(len(calls), 2, "epoll_wait is counted once each")
    first, last = calls
    equal((first["begin_bound"], first["end_bound"]), ("soft", "hard"), "the open call")
    equal(first["begin_ns"], thread["begin_ns"], "it is known from the begin of the recording")
    check(first["end_ns"] - first["begin_ns"] > 100_000_000, "it lasted")
    # awake, it may lose its CPU before the call ends
    waits = [s for s in spans if s.get("parent_id") == first["span_id"] and s["name"] != "runnable"]
    equal([(w["kind"], w["name"]) for w in waits], [("wait", "ipc")], "its wait")
    equal(waits[0]["begin_ns"], first["begin_ns"], "it slept all the while")
    equal(sum(first["time"].values()), first["end_ns"] - first["begin_ns"], "its split")
    equal(first["time"]["unknown_ns"], 0, "nothing of it is unknown")
    equal((last["begin_bound"], last["end_bound"]), ("hard", "soft"), "the call at the end")
    return waits[0]


@tests.add
def call_open_at_the_begin_of_a_recording_of_the_host():
    with Sleeper() as sleeper:
        recording = fathom.record("host", "-a", "--detail", "calls", "--", "sh", "-c",
                                  f"sleep 0.2; printf x > {sleeper.fifo}; sleep 0.1")
        check_open_call(recording, sleeper.process.pid)
    harness.check_sums(fathom, recording)


@tests.add
def call_open_at_the_begin_of_a_recording_of_its_process():
    with Sleeper() as sleeper:
        recording = fathom.path("process")
        pid = sleeper.process.pid
        record = subprocess.Popen([fathom.binary, "record", "-o", recording, "--rotate", "300ms",
                                   "-p", str(pid)], stderr=subprocess.PIPE, text=True)
        while record.poll() is None and fathom.run("chunks", recording).stdout.count("sealed") < 2:
            time.sleep(0.1)
        with open(sleeper.fifo, "w") as fifo:
            fifo.write("x")
        time.sleep(0.2)
        record.send_signal(signal.SIGINT)
        equal(record.wait(60), 0, "status")
        record.stderr.close()
        check(len(fathom.chunks(recording)) > 2, "the call reaches over chunks")
        wait = check_open_call(recording, pid)
        with open("/proc/self/comm") as comm:
            equal(wait["attributes"].get("waker"), f"{comm.read().strip()}/{os.getpid()}",
                  "its waker, which is not recorded itself, has a name")
        check(f"woken by {wait['attributes']['waker'].split('/')[0]}[{os.getpid()}]" in
              fathom.ok("trace", "--all", recording), "the text says who woke it")
    harness.check_sums(fathom, recording)


COLD = """
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
for at in range(0, 64 << 20, 8 << 20):
    os.pread(fd, 4096, at)
"""


@tests.add
def disk_that_ends_a_wait_is_named():
    """An interrupt, or a thread of the kernel, did it for a request: that one is told."""
    path = fathom.path("cold")
    with open(path, "wb") as file:
        for _ in range(64):
            file.write(os.urandom(1 << 20))
        file.flush()
        os.fsync(file.fileno())
    recording = fathom.record("disk", "--", sys.executable, "-c", COLD, path)
    spans = [s for t in fathom.trace_all(recording)["traces"] for s in t["spans"]]
    calls = {s["span_id"] for s in spans if s["name"] == "pread64"}
    waits = [s for s in spans if s["kind"] == "wait" and s["name"] == "disk" and
             s.get("parent_id") in calls]
    if not waits:
        return "the file system needs no disk"
    told = [s["attributes"]["waker"] for s in waits]
    check(all(re.fullmatch(r"disk \w+ read", waker) for waker in told), f"wakers: {told}")


ROUNDS = 10
ROUND_NS = 10_000_000


def spans_recorded(*mode):
    """Some kernels hide threads: who runs after one of them comes back unseen, now and then."""
    for attempt in range(4):
        recording = fathom.record(f"spans{attempt}{''.join(mode)}", "--spans-only", "--", SPANS,
                                  ROUNDS, *mode)
        harness.check_sums(fathom, recording)
        [work] = [r for r in fathom.report(recording, "name")["rows"] if r["key"] == "work"]
        if work["time"]["unknown_ns"] == 0:
            break
    return recording, work


@tests.add
def time_under_spans_is_known_with_spans_only():
    recording, work = spans_recorded()
    equal(work["count"], ROUNDS, "spans")
    span = work["time"]
    equal(span["unknown_ns"], 0, f"nothing under the spans is unknown: {span}")
    on_cpu = span["user_ns"] + span["kernel_ns"] + span["runnable_ns"]
    check(on_cpu >= ROUNDS * ROUND_NS, f"it computed: {span}")
    check(span["user_ns"] > on_cpu / 10, f"in user code: {span}")
    check(span["timer_ns"] >= ROUNDS * ROUND_NS, f"it slept: {span}")
    [thread] = [r for r in fathom.report(recording, "thread")["rows"]
                if r["thread"].startswith("e2e-waits")]
    equal(thread["time"]["user_ns"], span["user_ns"], "user code is known under spans only")
    check(thread["time"]["unknown_ns"] >= 2 * ROUNDS * ROUND_NS, f"else it is unknown: {thread}")


@tests.add
def time_between_the_turns_of_a_span_is_unknown_with_spans_only():
    """It sleeps there, which is not told, and has the same span again."""
    recording, work = spans_recorded("turns")
    span = work["time"]
    check(span["off_thread_ns"] >= ROUNDS * ROUND_NS, f"nobody had it: {span}")
    [thread] = [r for r in fathom.report(recording, "thread")["rows"]
                if r["thread"].startswith("e2e-waits")]
    equal(thread["time"]["user_ns"], span["user_ns"], "user code is known under the span only")
    check(thread["time"]["unknown_ns"] >= ROUNDS * ROUND_NS, f"else it is unknown: {thread}")


@tests.add
def what_a_thread_without_a_span_works_on_explains_a_wait_with_spans_only():
    """Of its own call nothing is told, and its file is looked for only where it wakes somebody."""
    recording, work = spans_recorded("poll")
    span = work["time"]
    check(span["other_ns"] + span["runnable_ns"] >= ROUNDS * 2_000_000,
          f"it waited for messages of netlink: {span}")
    check(span["other_ns"] >= 2_000_000, f"and slept for them: {span}")
    equal(span["ipc_ns"], 0, f"for nothing else: {span}")
    [row] = [r for r in fathom.report(recording, "syscall")["rows"] if r["key"] == "epoll_wait"]
    equal(row["count"], ROUNDS, "calls under the spans")
    check("sendto" not in fathom.ok("report", "--by", "syscall", recording), "others are left out")


@tests.add
def a_span_that_a_crash_left_open_has_no_time_of_later_ones():
    """They are seen published in what was recovered, where its end is not told."""
    where = fathom.path("crash")
    with harness.Process([SPANS, str(20000 * harness.SLOWER), "short"]) as program:
        recorder = subprocess.Popen([fathom.binary, "record", "-p", str(program.pid), "-o", where],
                                    stderr=subprocess.DEVNULL)
        for _ in range(3000):  # it has begun
            if os.path.isdir(where) and any(harness.CHUNK.search(n) for n in os.listdir(where)):
                break
            time.sleep(0.01)
        time.sleep(1.5 * harness.SLOWER)
        recorder.kill()
        recorder.wait()
        result = fathom.run("record", "-p", program.pid, "-o", where, "-d", "300ms")
        equal(result.returncode, 0, f"it is recovered: {result.stderr}")
        program.kill()
    harness.check_sums(fathom, where)
    answer = fathom.trace_all(where)
    spans = [s for t in answer["traces"] for s in t["spans"]
             if s["kind"] in ("internal", "context")]
    [gap] = answer["gaps"]
    for what, found in (("before", [s for s in spans if s["end_ns"] < gap["from_ns"]]),
                        ("behind", [s for s in spans if s["begin_ns"] > gap["to_ns"]])):
        check(len(found) > 20, f"{len(found)} spans {what} the gap")
    spans.sort(key=lambda s: s["begin_ns"])
    for one, next_one in zip(spans, spans[1:]):
        check(one["end_ns"] <= next_one["begin_ns"], f"one after the other: {one} {next_one}")


@tests.add
@harness.tries_when_emulated
def what_is_woken_before_the_snapshot_slept_in_its_call():
    """Of many that sleep and wake all the time, some are before anything has told what they do."""
    where = fathom.path("woken")
    code = ("import itertools, os, threading, time\n"
            "def sleeps(ms):\n while True: time.sleep(ms / 1000)\n"
            "def reads(fd):\n while True: os.read(fd, 1)\n"
            "for i in range(200): threading.Thread(target=sleeps, args=(30 + i % 31,)).start()\n"
            "pipes = [os.pipe() for _ in range(100)]\n"
            "for fd, _ in pipes: threading.Thread(target=reads, args=(fd,)).start()\n"
            "print('ready', flush=True)\n"
            "for _, fd in itertools.cycle(pipes):\n os.write(fd, b'x')\n time.sleep(0.0001)\n")
    program = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        equal(program.stdout.readline(), "ready\n", "program")
        result = fathom.run("record", "-p", program.pid, "-o", where, "-d", "300ms")
        equal(result.returncode, 0, result.stderr)
    finally:
        program.kill()
        program.wait()
        program.stdout.close()
    causes = {"clock_nanosleep": "timer", "read": "idle"}  # a process that writes to itself
    slept = {"timer": 0, "idle": 0}
    for spans in (t["spans"] for t in fathom.trace_all(where)["traces"]):
        call = next((s for s in spans if s["kind"] == "syscall"), None)
        if not call or call["name"] not in causes or call["begin_bound"] != "soft":
            continue
        waits = [s for s in spans if s.get("parent_id") == call["span_id"]]
        why = causes[call["name"]]
        slept[why] += [w["name"] for w in waits] == [why]
        # one that was awake already may have waited for its turn
        check(not waits or waits[0]["name"] in (why, "runnable"), f"why it slept: {call} {waits}")
    many = 100 if harness.SLOWER == 1 else 50  # the others have not had their turn since they woke
    check(slept["timer"] > many and slept["idle"] > 50, f"{slept} slept when the recording began")


READERS = """
import os, sys, threading
event = os.eventfd(0)
for _ in range(20):
    threading.Thread(target=os.read, args=(event, 8), daemon=True).start()
print("ready", flush=True)
for line in sys.stdin:
    os.eventfd_write(event, 1)
"""


def all_read(pid):
    """Each thread of the process sleeps in a read."""
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/syscall") as file:
            if not file.read().startswith("0 "):
                return False
    return True


@tests.add
def a_call_that_was_open_has_its_file_when_it_sleeps_again():
    """All readers of the event wake, one gets it, and the others sleep again in their calls."""
    with harness.Process([sys.executable, "-c", READERS], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True) as program:
        equal(program.stdout.readline(), "ready\n", "program")
        harness.until(lambda: all_read(program.pid), "them to read")
        where = fathom.path("readers")
        with harness.Process([fathom.binary, "record", "-p", str(program.pid), "-o", where],
                             stderr=subprocess.DEVNULL) as recorder:
            harness.until(lambda: any(harness.recordings_in(where)), "the recording")
            for _ in range(2):
                time.sleep(0.3 * harness.SLOWER)
                program.stdin.write("\n")
                program.stdin.flush()
            time.sleep(0.3 * harness.SLOWER)
            recorder.send_signal(signal.SIGINT)
            equal(recorder.wait(60), 0, "status of the recorder")
        program.kill()
    spans = [s for t in fathom.trace_all(where)["traces"] for s in t["spans"]]
    slept = {}
    for span in spans:
        if span["kind"] == "wait" and span["pid"] == program.pid and span["tid"] != program.pid:
            slept.setdefault(span["tid"], []).append(span["name"])
    again = [names for names in slept.values() if names.count("idle") == 3]
    check(len(again) > 10, f"what they slept in: {slept}")


@tests.add
def waits_in_calls_that_are_left_out_have_their_cause():
    recording = fathom.record("syscalls", "--syscalls", "getppid", "--", "sleep", "0.1")
    harness.check_sums(fathom, recording)
    equal(fathom.report(recording, "syscall")["rows"], [], "calls")
    [thread] = fathom.report(recording, "thread")["rows"]
    check(thread["time"]["timer_ns"] >= 95_000_000, f"it slept: {thread['time']}")
    equal(thread["time"]["user_ns"], 0, "user code is not told from calls")
    waits = [s for t in fathom.trace_all(recording)["traces"] for s in t["spans"]
             if s["kind"] == "wait" and s["name"] == "timer"]
    equal([(w["attributes"]["cause"], w["attributes"]["waker"]) for w in waits],
          [("timer", "timer")], "its wait")


@tests.add
def a_call_that_was_open_before_its_span_was_found_is_one_when_it_sleeps_again():
    for attempt in range(4):
        with harness.Process([SPANS, str(10000 * harness.SLOWER), "fill"]) as program:
            asleep_in(program.pid, 1)
            path = fathom.record(f"fill{attempt}", "--spans-only", "-d", str(0.8 * harness.SLOWER),
                                 "-p", str(program.pid))
            program.kill()
        waits = [span for trace in fathom.trace_all(path)["traces"] for span in trace["spans"]
                 if span["kind"] == "wait" and span["tid"] == program.pid]
        check(len(waits) > 50, f"only {len(waits)} waits")
        wrong = [span for span in waits if span["time"]["other_ns"] > 1e6]
        check(len(wrong) <= len(waits) // 20, f"{len(wrong)} of {len(waits)} waits: {wrong[:1]}")


@contextlib.contextmanager
def swap():
    """A little more of it; False: there can be none."""
    with tempfile.NamedTemporaryFile(dir=os.environ.get("TMPDIR", "/var/tmp")) as file:
        file.write(bytes(64 << 20))
        file.flush()
        os.chmod(file.name, 0o600)
        os.environ["PATH"] += ":/usr/sbin:/sbin"
        made = all(shutil.which(name) for name in ("mkswap", "swapon", "swapoff")) and not any(
            subprocess.run([name, file.name], capture_output=True).returncode
            for name in ("mkswap", "swapon"))
        try:
            yield made
        finally:
            if made:
                subprocess.run(["swapoff", file.name], check=True)


def record_swapped(options):
    """None: the kernel left the program's pages where they were."""
    for attempt in range(5):
        path = fathom.path(f"swapped{len(options)}-{attempt}")
        result = fathom.run("record", "-o", path, *options, "--", SWAPPED, "10")
        if result.returncode == 0:
            return path
        equal(result.returncode, 2, result.stderr)
    return None


@tests.add
def a_thread_whose_own_pages_are_on_swap_has_its_span():
    with swap() as made:
        if not made:
            return "there can be no swap"
        for options in ([], ["--spans-only"]):
            path = record_swapped(options)
            if not path:
                return "its pages did not go to swap"
            answer = fathom.ok("trace", "--json", "--slowest", "99", "--name", "work", path)
            traces = json.loads(answer)["traces"]
            equal(len(traces), 10, "spans")
            for trace in traces:
                time_of = trace["spans"][0]["time"]
                # its timer runs before it sleeps
                asleep_ns = 9e6 if harness.SLOWER == 1 else 5e6
                check(asleep_ns < time_of["timer_ns"] and time_of["unknown_ns"] == 0,
                      f"asleep for 10 ms, with {options}: {time_of}")
                names = [s["name"] for s in trace["spans"]]
                equal(names.count("nanosleep"), 1, "its call, and none behind it, is under it")
    return None


with fathom:
    tests.run()
