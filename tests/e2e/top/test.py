#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A host second by second: on a terminal, as JSON, and of a recorder that runs."""
import itertools
import json
import os
import pty
import select
import signal
import socket
import subprocess
import sys
import termios
import threading
import time

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
tests = harness.Tests()
before = harness.programs_left(set())
PLACE = fathom.path("place")
os.mkdir(PLACE)
os.environ["TMPDIR"] = PLACE


class Running:
    """A program that runs meanwhile."""

    def __init__(self, *args, **options):
        self.process = subprocess.Popen(args, **options)

    def __enter__(self):
        return self.process

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def spinning():
    return Running("sh", "-c", "while :; do :; done")


def top(*args):
    return [json.loads(line) for line in fathom.ok("top", "--json", *args).splitlines()]


def sums(second):
    for by, rows in second["by"].items():
        for row in rows:
            equal(harness.total(row["time"]), row["total_ns"], f"split of {by} {row['key']}")


class Answers(threading.Thread):
    """Asks and answers over one connection: a request each 20 ms."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.stopping = threading.Event()

    def serve(self):
        connection = self.listener.accept()[0]
        with connection:
            while (request := connection.recv(8)):
                connection.sendall(request)

    def run(self):
        threading.Thread(target=self.serve, daemon=True).start()
        with socket.create_connection(("127.0.0.1", self.port)) as connection:
            while not self.stopping.wait(0.02):
                connection.sendall(b"a request"[:8])
                connection.recv(8)


@tests.add
def requests_are_of_the_last_seconds():
    answers = Answers()
    answers.start()
    seconds = top("-n", 3, "--by", "operation")
    answers.stopping.set()
    answers.join()
    counts = [sum(row["count"] for row in second["by"]["operation"] if row["key"].endswith(f":{answers.port}"))
              for second in seconds]
    check(counts[-1] >= 30 and counts[0] < counts[1] < counts[2], f"requests of a longer time each second: {counts}")


@tests.add
def once_shows_one_second():
    with spinning() as spin, Running("sleep", "1000") as sleep:
        seconds = top("--once")
    equal(len(seconds), 1, "seconds")
    second = seconds[0]
    equal(sorted(second["by"]), ["name", "process", "service", "thread"], "parts")
    sums(second)
    processes = {row["pid"]: row for row in second["by"]["process"]}
    busy = processes[spin.pid]["time"]
    equal(processes[spin.pid]["key"], "sh", "name of what spins")
    on_cpu = busy["cpu_ns"] + busy["runnable_ns"]
    check(on_cpu + busy["unknown_ns"] >= 0.9 * processes[spin.pid]["total_ns"],
          f"it has or wants the CPU: {busy}")
    asleep = processes[sleep.pid]
    equal(asleep["key"], "sleep", "name of what sleeps")
    sleeps = asleep["time"]["timer_ns"]
    if second["lost"]["total"]:  # a busy host: whether it slept meanwhile is not known
        sleeps += asleep["time"]["unknown_ns"]
    check(sleeps >= 0.9 * asleep["total_ns"], f"it sleeps: {asleep['time']}")


@tests.add
def seconds_follow_on_each_other():
    with spinning() as spin:
        seconds = top("-n", 3, "-p", spin.pid)
    equal(len(seconds), 3, "seconds")
    for one, two in zip(seconds, seconds[1:]):
        equal(two["from_ns"], one["to_ns"], "where the next second begins")
    for second in seconds:
        sums(second)
        equal([row["pid"] for row in second["by"]["process"]], [spin.pid], "the one process")
        equal(second["by"]["process"][0]["key"], "sh", "its name, long after the snapshot")
        equal(second["by"]["process"][0]["total_ns"], second["to_ns"] - second["from_ns"],
              "its time is the second")


@tests.add
def text_has_the_rows_that_were_asked_for():
    with spinning() as spin:
        text = fathom.ok("top", "--once", "--by", "process", "-p", spin.pid)
        causes = fathom.ok("top", "--once", "--by", "cause", "-p", spin.pid)
    check(f"(pid {spin.pid})" in text and "sh -c wh" in text, text)
    check("\033" not in text, "no colors in a file")
    check(any(line.startswith("user ") for line in causes.splitlines()), causes)


def threads_of(pid):
    """Niceness and capabilities of each thread, the first of the process first."""
    found = []
    for tid in sorted(map(int, os.listdir(f"/proc/{pid}/task"))):
        with open(f"/proc/{pid}/task/{tid}/stat", encoding="ascii") as stat, \
                open(f"/proc/{pid}/task/{tid}/status", encoding="ascii") as status:
            nice = int(stat.read().rpartition(")")[2].split()[16])
            caps = next(line for line in status if line.startswith("CapEff"))
        found.append((nice, int(caps.split()[1], 16)))
    return found


@tests.add
def the_thread_that_drains_goes_first_and_nobody_else():
    if os.getpriority(os.PRIO_PROCESS, 0) or \
            subprocess.run(["nice", "-n", "-10", "true"], stderr=subprocess.PIPE).stderr:
        return "no thread may be hurried here"
    with Running(fathom.binary, "top", "--json", "-p", str(os.getpid()),
                 stdout=subprocess.PIPE, text=True) as shown:
        shown.stdout.readline()
        (first, privileges), *others = threads_of(shown.pid)
        shown.send_signal(signal.SIGINT)
        shown.communicate(timeout=60)
    equal(first, 0, "niceness of the thread that shows")
    equal(sorted(nice for nice, _ in others if nice < 0), [-10], f"of its other threads: {others}")
    with open("/proc/self/status", encoding="ascii") as status:
        mine = int(next(line for line in status if line.startswith("CapEff")).split()[1], 16)
    drains = next(caps for nice, caps in others if nice == -10)
    equal(privileges & ~drains, 0, "privileges of the one that shows beyond that which drains")
    check(drains != mine, "and these were given up")
    return None


@tests.add
def seconds_add_up_to_what_a_report_counts():
    """What is open at the end of a second counts in the one in which it ends."""
    directory = fathom.path("added")
    with Running(fathom.binary, "record", "-o", directory, "-p", str(os.getpid()),
                 stderr=subprocess.DEVNULL) as recorder:
        harness.until(lambda: fathom.run("rotate", directory).returncode == 0, "it records")
        with Running("sleep", "2.2") as sleeps:
            seconds = top("-n", 4, "--by", "syscall", directory)
            equal(sleeps.wait(timeout=60), 0, "status of what sleeps")
        recorder.send_signal(signal.SIGTERM)
        equal(recorder.wait(timeout=60), 0, "status of the recorder")
    added = {}
    for second in seconds:
        for row in second["by"]["syscall"]:
            count, total, longest = added.get(row["key"], (0, 0, 0))
            added[row["key"]] = (count + row["count"], total + row["total_ns"],
                                 max(longest, row["max_ns"]))
    rows = fathom.report(directory, "syscall", "--from", seconds[0]["from_ns"],
                         "--to", seconds[-1]["to_ns"])["rows"]
    equal(added, {row["key"]: (row["count"], row["total_ns"], row["max_ns"]) for row in rows},
          "calls of all seconds")
    check(added["clock_nanosleep"][2] >= 2.2e9, f"the longest: {added['clock_nanosleep']}")


@tests.add
def follows_a_recorder_that_runs():
    directory = fathom.path("followed")
    with Running(fathom.binary, "record", "-o", directory, stderr=subprocess.DEVNULL) as recorder:
        deadline = time.monotonic() + 30
        while not os.path.exists(directory + "/.control") and time.monotonic() < deadline:
            time.sleep(0.1)
        seconds = top("-n", 2, directory)
        recorder.send_signal(signal.SIGINT)
        equal(recorder.wait(timeout=60), 0, "status of the recorder")
    equal(seconds[1]["from_ns"], seconds[0]["to_ns"], "the second second")
    equal(len(fathom.chunks(directory)), 3, "its chunks are still there")
    harness.check_sums(fathom, directory)
    result = fathom.run("top", "--once", directory)
    equal(result.returncode, 1, "status where nobody records")
    equal(len(result.stderr.splitlines()), 1, f"lines of {result.stderr!r}")


@tests.add
def ctrl_c_ends_it_cleanly():
    with Running(fathom.binary, "top", "--json", stdout=subprocess.PIPE, text=True) as running:
        check(running.stdout.readline().startswith("{"), "the first second")
        running.send_signal(signal.SIGINT)
        rest = running.communicate(timeout=60)[0]
        equal(running.returncode, 0, f"status, {rest!r}")
    equal(os.listdir(PLACE), [], "directories left")


def terminal_read(fd, until, seconds):
    text = b""
    deadline = time.monotonic() + seconds
    while until not in text and time.monotonic() < deadline:
        if select.select([fd], [], [], 0.2)[0]:
            try:
                text += os.read(fd, 65536)
            except OSError:
                break
    check(until in text, f"{until!r} in {text[-2000:]!r}")
    return text


@tests.add
def a_terminal_is_as_it_was_afterwards():
    master, slave = pty.openpty()
    modes = termios.tcgetattr(slave)
    with Running(fathom.binary, "top", stdin=slave, stdout=slave, stderr=slave,
                 env={**os.environ, "TERM": "xterm"}) as running:
        terminal_read(master, b"\033[?1049h", 30)
        check(termios.tcgetattr(slave)[3] & termios.ICANON == 0, "keys come as they are typed")
        terminal_read(master, b"q quit", 30)
        os.write(master, b"t")
        terminal_read(master, b"thread, by", 30)
        os.write(master, b"q")
        terminal_read(master, b"\033[?1049l", 30)
        equal(running.wait(timeout=60), 0, "status")
    equal(termios.tcgetattr(slave), modes, "modes of the terminal")
    os.close(master)
    os.close(slave)


@tests.add
def while_it_is_stopped_the_terminal_is_the_shells():
    master, slave = pty.openpty()
    modes = termios.tcgetattr(slave)
    # a group of its own, as a shell gives it: in an orphaned one Ctrl-Z stops nobody
    with Running(fathom.binary, "top", stdin=slave, stdout=slave, stderr=slave,
                 env={**os.environ, "TERM": "xterm"}, preexec_fn=os.setpgrp) as running:
        terminal_read(master, b"q quit", 30)
        running.send_signal(signal.SIGTSTP)
        check(os.WIFSTOPPED(os.waitpid(running.pid, os.WUNTRACED)[1]), "it is stopped")
        terminal_read(master, b"\033[?25h\033[?1049l", 10)
        equal(termios.tcgetattr(slave), modes, "modes of the terminal")
        running.send_signal(signal.SIGCONT)
        terminal_read(master, b"\033[?1049h\033[?25l", 30)
        terminal_read(master, b"q quit", 30)
        check(termios.tcgetattr(slave)[3] & termios.ICANON == 0, "keys come as they are typed")
        running.send_signal(signal.SIGSTOP)  # nobody can catch this
        check(os.WIFSTOPPED(os.waitpid(running.pid, os.WUNTRACED)[1]), "it is stopped")
        termios.tcsetattr(slave, termios.TCSANOW, modes)
        running.send_signal(signal.SIGCONT)
        terminal_read(master, b"\033[?1049h", 30)
        os.write(master, b"q")
        terminal_read(master, b"\033[?1049l", 30)
        equal(running.wait(timeout=60), 0, "status")
    equal(termios.tcgetattr(slave), modes, "modes of the terminal afterwards")
    os.close(master)
    os.close(slave)


@tests.add
def nothing_is_left_when_its_reader_goes():
    ways = list(itertools.product(((), ("--json",)), (False, True)))
    for form, ignored in ways if os.environ.get("FATHOM_TEST_LONG") else ways[1:3]:
        with Running(fathom.binary, "top", "-n", "60", *form, stdout=subprocess.PIPE,
                     stderr=subprocess.PIPE, restore_signals=not ignored) as running:
            os.read(running.stdout.fileno(), 1)  # read() would wait for a whole buffer
            running.stdout.close()
            error = running.stderr.read()
            status = running.wait(timeout=60)
        equal(os.listdir(PLACE), [], f"directories left by top {form}")
        equal(status, 1 if ignored else -signal.SIGPIPE, f"status of top {form}: {error!r}")
        equal(len(error.splitlines()), int(ignored), f"lines of {error!r}")


@tests.add
def nothing_is_left():
    equal(os.listdir(PLACE), [], "directories left")
    return harness.nothing_is_left_in_the_kernel(before)


with fathom:
    tests.run()
