# SPDX-License-Identifier: Apache-2.0
"""What the tests of unmodified programs share: running them, and looking at what was recorded."""
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

import harness
from harness import check, equal

ROOM = ("--buffer", "128M")  # a whole host is recorded beside whatever else it does


def need(*programs):
    """Ends the test as skipped if a program is not installed."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        print("missing:", " ".join(missing))
        sys.exit(77)


def answers(port):
    try:
        socket.create_connection(("127.0.0.1", port), 1).close()
        return True
    except OSError:
        return False


class Server:
    """A program of ours that runs until stop(); only that pid is signalled."""

    def __init__(self, *args, **options):
        options.setdefault("stdout", subprocess.DEVNULL)
        options.setdefault("stderr", subprocess.DEVNULL)
        self.process = subprocess.Popen([str(arg) for arg in args], **options)
        self.pid = self.process.pid

    def stop(self, with_signal=signal.SIGTERM):
        if self.process.poll() is None:
            self.process.send_signal(with_signal)
        return self.process.wait(timeout=60)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()


class Recorder:
    """fathom record in the background; it records once this is made, until stop()."""

    def __init__(self, fathom, name, *args):
        self.dir = fathom.path(name)
        self.process = subprocess.Popen(
            [fathom.binary, "record", "-o", self.dir, *map(str, args)],
            stderr=subprocess.PIPE, text=True)
        # a recorder answers once it records, and then with a sealed chunk
        harness.until(lambda: self.process.poll() is not None or
                      fathom.run("rotate", self.dir).returncode == 0, "the recorder")
        check(self.process.poll() is None, "the recorder has ended")

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        _, self.stderr = self.process.communicate(timeout=60)
        equal(self.process.returncode, 0, f"status of the recorder: {self.stderr}")
        return self.dir


def run(*args, **options):
    result = subprocess.run([str(arg) for arg in args], text=True, capture_output=True,
                            timeout=120, **options)
    equal(result.returncode, 0, f"{' '.join(map(str, args))}: {result.stderr}")
    return result.stdout


def spans_of(fathom, recording, pid):
    """All spans of a process."""
    traces = fathom.trace_all(recording, "--pid", pid)["traces"]
    return [span for trace in traces for span in trace["spans"]]


def calls_of(spans, *names):
    """System calls that returned; without names all of them."""
    return [span for span in spans if span["kind"] == "syscall" and
            "result" in span["attributes"] and (not names or span["name"] in names)]


def on_path(spans, path):
    return [span for span in spans if span["attributes"].get("file.path") == str(path)]


def peers(spans):
    return {(span["attributes"]["network.peer.address"], span["attributes"]["network.peer.port"])
            for span in spans if "network.peer.port" in span["attributes"]}


def pids_named(fathom, recording, name):
    return {row["pid"] for row in fathom.report(recording, "process")["rows"]
            if row["process"] == name}


def attempts(name, most=3):
    """
    Names to record under, until the caller breaks off: it does with the first recording that
    is_whole(). If none is, the test fails: what must be there could not be looked for.
    """
    for number in range(most):
        yield f"{name}{number}"
    raise harness.Failure(f"records of the kernel were lost each of {most} times")


def is_whole(fathom, recording):
    lost = check_loss(fathom, recording)
    if lost:
        print(f"# {recording}: {lost} records of the kernel are lost, once more")
    return lost == 0


def check_loss(fathom, recording):
    """
    What is lost is told alike by all who tell it. Returns how much of it is the kernel's:
    spans may be lost of whatever programs run on the host.
    """
    lost = fathom.report(recording, "syscall")["lost"]
    equal(lost["total"], sum(lost[why] for why in ("buffer", "recursion", "application",
                                                   "damaged")), "total of what is lost")
    chunks = sum(chunk["lost"]["total"] for chunk in fathom.chunks(recording))
    equal(chunks, lost["total"], "lost by chunks and by report")
    one = fathom.run("trace", "--json", "--pid", 1, recording)  # which is not in each recording
    equal(json.loads(one.stdout)["lost"], lost, "lost by trace and by report")
    return lost["total"] - lost["application"]


def check_all(fathom, recording):
    """What holds of every recording."""
    check_loss(fathom, recording)
    harness.check_sums(fathom, recording)
    harness.check_babeltrace(fathom, recording)


def check_report_and_trace(fathom, recording, spans):
    """For a recording of these spans' processes alone: both count the same calls."""
    counts = {}
    for span in spans:  # those that had not returned at the end, too
        if span["kind"] == "syscall":
            counts[span["name"]] = counts.get(span["name"], 0) + 1
    rows = {row["key"]: row["count"] for row in fathom.report(recording, "syscall")["rows"]
            if row["count"]}
    equal(rows, counts, "calls by report and by trace")


class Perf:
    """Sees the end of each system call of some processes, with perf instead of fathom."""

    def __init__(self, directory, *pids):
        self.file = os.path.join(directory, "perf.data")
        self.log = open(os.path.join(directory, "perf.log"), "w+")
        self.process = subprocess.Popen(
            ["perf", "record", "-q", "-e", "raw_syscalls:sys_exit", "-k", "CLOCK_MONOTONIC",
             "-m", "8M", "-p", ",".join(map(str, pids)), "-o", self.file],
            stdout=self.log, stderr=self.log)
        harness.until(lambda: self.process.poll() is not None or
                      os.path.exists(self.file) and os.path.getsize(self.file) > 0, "perf")
        time.sleep(0.3)
        self.works = self.process.poll() is None

    def stop(self):
        """{tid: [(time_ns, number, result)]}; None if perf cannot be used here."""
        self.process.send_signal(signal.SIGINT)
        self.process.wait(timeout=60)
        self.log.close()
        if not self.works:
            return None
        text = run("perf", "script", "-i", self.file, "--ns", "-F", "tid,time,event,trace",
                   "--show-lost-events")
        if "LOST" in text:
            return None
        threads = {}
        line = re.compile(r"\s*(\d+)\s+(\d+)\.(\d{9}):\s+"
                          r"raw_syscalls:sys_exit: NR (-?\d+) = (-?\d+)")
        for tid, s, ns, number, result in line.findall(text):
            threads.setdefault(int(tid), []).append(
                (int(s) * 10**9 + int(ns), int(number), int(result)))
        return threads


def check_against_perf(seen, spans):
    """Each call that perf saw is in the trace, in order, and no other lies between them."""
    names = {}
    total = 0
    for tid, events in seen.items():
        calls = sorted((span for span in calls_of(spans) if span["tid"] == tid),
                       key=lambda span: span["end_ns"])
        first = next((i for i, span in enumerate(calls)
                      if span["end_ns"] >= events[0][0] - 10**6), len(calls))
        results = [result for _, _, result in events]
        starts = [i for i in range(first, min(first + 5000, len(calls)))
                  if abs(calls[i]["end_ns"] - events[0][0]) < 10**6 and
                  [c["attributes"]["result"] for c in calls[i:i + len(events)]] == results]
        check(starts, f"the {len(events)} calls of thread {tid} that perf saw are not in the trace")
        consistent = [i for i in starts if learn(names, events, calls[i:i + len(events)])]
        check(consistent, f"names of the calls of thread {tid}")
        total += len(events)
    check(total > 0, "perf saw nothing")
    return total


def learn(names, events, calls):
    """Takes into `names` what each number is called; false if one has two names."""
    new = dict(names)
    for (_, number, _), call in zip(events, calls):
        if new.setdefault(number, call["name"]) != call["name"]:
            return False
    if len(set(new.values())) != len(new):
        return False
    names.update(new)
    return True
