# SPDX-License-Identifier: Apache-2.0
"""What the tests of unmodified programs share: running them, and looking at what was recorded."""
import contextlib
import json
import os
import pwd
import shutil
import signal
import socket
import subprocess
import sys
import time

import harness
import perf_count
from harness import check, equal

# what these programs call most
NUMBERS = {"read": 0, "write": 1, "close": 3, "pread64": 17, "pwrite64": 18, "writev": 20,
           "sendfile": 40, "recvfrom": 45, "fcntl": 72, "fsync": 74, "fdatasync": 75,
           "unlink": 87, "epoll_wait": 232, "openat": 257, "accept4": 288}
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


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as text:
        return [int(child) for child in text.read().split()]


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


def postgres_program(name):
    """The path of a program that Debian keeps out of PATH; None if there is none."""
    root = "/usr/lib/postgresql"
    versions = sorted(os.listdir(root), key=float) if os.path.isdir(root) else []
    path = os.path.join(root, versions[-1], "bin", name) if versions else name
    return shutil.which(path)


def postgres_create(place):
    """A cluster in place/data, which trusts everybody; the place, and as whom its server runs."""
    who = pwd.getpwnam("postgres")
    os.mkdir(place)
    os.chmod(os.path.dirname(place), 0o755)
    os.chown(place, who.pw_uid, who.pw_gid)
    as_user = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": [], "cwd": place}
    run(postgres_program("initdb"), "-D", os.path.join(place, "data"), "-A", "trust", "--no-sync",
        **as_user)
    return place, as_user


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


def check_loss(fathom, recording):
    """
    Nothing of the kernel is lost, and all who tell what is do so alike: spans may be, of whatever
    programs run on the host.
    """
    lost = fathom.report(recording, "syscall")["lost"]
    equal(lost["total"], sum(lost[why] for why in ("buffer", "recursion", "application",
                                                   "damaged")), "total of what is lost")
    chunks = sum(chunk["lost"]["total"] for chunk in fathom.chunks(recording))
    equal(chunks, lost["total"], "lost by chunks and by report")
    one = fathom.run("trace", "--json", "--pid", 1, recording)  # which is not in each recording
    equal(json.loads(one.stdout)["lost"], lost, "lost by trace and by report")
    equal(lost["total"] - lost["application"], 0, f"lost records of the kernel: {lost}")


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


class Witness:
    """
    The kernel's own counters of the ends of system calls, in processes and all that they create,
    while `with Witness(pid, ...) as witness:` runs. The load begins and ends inside.
    """

    def __init__(self, *pids):
        only = {"all": None, "failed": "ret < 0 && ret > -512"}
        only.update((name, f"id == {number}") for name, number in NUMBERS.items())
        self.counters = {(pid, what): perf_count.Counter("raw_syscalls:sys_exit", pid, text)
                         for pid in pids for what, text in only.items()}
        self.stack = contextlib.ExitStack()

    def __enter__(self):
        for counter in self.counters.values():
            self.stack.enter_context(counter)
        self.begin, self.before = self.pause()
        return self

    def __exit__(self, kind, *_):
        with self.stack:
            if not kind:
                self.end, self.after = self.pause()

    def pause(self):
        """A time with no call near it, so that it lies between the same calls for all who count."""
        found = []

        def paused():
            counts = self.read()
            since = time.monotonic_ns()
            time.sleep(0.03)
            until = time.monotonic_ns()
            if self.read() == counts:
                found.append(((since + until) // 2, counts))
            return found

        harness.until(paused, "a moment without calls")
        return found[0]

    def read(self):
        return {key: counter.read() for key, counter in self.counters.items()}

    def check(self, pid, spans):
        """That these spans of a process, and of all that it created, are what was counted."""
        calls = [span for span in calls_of(spans) if self.begin < span["end_ns"] <= self.end]
        # a new thread or process returns from the call that made it, too
        twice = [call for call in calls if call["name"] in ("clone", "clone3", "fork", "vfork") and
                 call["attributes"]["result"] > 0]
        got = {"all": len(calls) + len(twice),
               "failed": sum("error.type" in call["attributes"] for call in calls)}
        got.update((name, sum(call["name"] == name for call in calls)) for name in NUMBERS)
        equal(got, {what: self.after[pid, what] - self.before[pid, what] for what in got},
              f"calls of process {pid} that fathom and the kernel counted")
        print(f"# equal to the kernel's counters: {len(calls)} calls of process {pid}")
