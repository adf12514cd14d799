# SPDX-License-Identifier: Apache-2.0
"""What keeps the host busy during the soak; each restarts what it runs until it is stopped."""
import os
import shutil
import signal
import subprocess
import sys
import time

from loopback import free_port, nginx_command

FORKER = """
import os, time
while True:
    for _ in range(20):
        child = os.fork()
        if not child:
            os._exit(0)
        os.waitpid(child, 0)
    if not os.fork():
        os.execv("/bin/true", ["true"])
    os.wait()
    os.write(1, b".")
"""
# On each of these are programs whose calls are accounted for: losses are told of CPUs.
CPUS = sorted(os.sched_getaffinity(0))

# Says of each call when it was made: [before, after, 1] by the monotonic clock.
CANARY = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[3])})
with open(sys.argv[1], "w", buffering=1) as out:
    while os.getppid() == int(sys.argv[2]):
        before = time.monotonic_ns()
        os.getpgrp()
        out.write(f"{before} {time.monotonic_ns()} 1\\n")
        time.sleep(0.02)
"""

# Bursts of calls that a small ring cannot take: [before, after, how many].
BURSTS = """
import os, sys, time
os.sched_setaffinity(0, {int(sys.argv[3])})
calls = range(5000)
with open(sys.argv[1], "w", buffering=1) as out:
    while os.getppid() == int(sys.argv[2]):
        before = time.monotonic_ns()
        for _ in calls:
            os.getpgrp()
        out.write(f"{before} {time.monotonic_ns()} {len(calls)}\\n")
        time.sleep(1)
"""

# Calls of read() and write() in a second that show that a load does what it should; what sends on
# sockets otherwise has its peer to show it.
WORK = {"redis": 100, "nginx": 50, "canary": 5, "bursts": 0.2, "forker": 1, "fio": 20,
        "redis-benchmark": 0.5, "wrk": 50}
BEGINS_AGAIN = 2  # what a busy host may end; those that count must not


def missing():
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    return [name for name in ("redis-server", "redis-benchmark", "nginx", "wrk", "fio", "bpftool",
                              "babeltrace2") if not shutil.which(name)]


def calls_of_session(leader):
    """Of read() and write(), by all of its processes."""
    calls = 0
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.getsid(int(pid)) == leader:
                with open(f"/proc/{pid}/io", encoding="ascii") as text:
                    calls += sum(int(line.split()[1]) for line in text if line.startswith("sysc"))
        except OSError:  # it has ended
            pass
    return calls


def faults(ended, work):
    """Of loads, by name: which did not run as they should, and why."""
    found = []
    for name, calls in work.items():
        what = name.rsplit("-", 1)[0] if name not in WORK else name
        if ended.get(name, 0) > (0 if what in ("canary", "bursts") else BEGINS_AGAIN):
            found.append(f"{name} began again {ended[name]} times")
        elif calls < WORK[what]:
            found.append(f"{name} made only {calls:.1f} calls a second")
    return found


class Loads:
    """start() all, check() often, stop() all; only processes of ours are signalled."""

    def __init__(self, directory):
        self.directory = directory
        self.redis, self.nginx = free_port(), free_port()
        with open(self.at("page.html"), "w", encoding="ascii") as text:
            text.write("x" * 600)
        with open(self.at("pace.lua"), "w", encoding="ascii") as text:
            text.write("function delay() return math.random(1, 5) end\n")
        self.commands = {
            "redis": ["redis-server", "--port", self.redis, "--save", "", "--dir", directory],
            "nginx": nginx_command(directory, self.nginx),
            "forker": ["nice", sys.executable, "-c", FORKER],
            "fio": ["fio", "--name=soak", f"--filename={self.at('fio')}", "--size=64m",
                    "--rw=randrw", "--bs=4k", "--fsync=16", "--rate_iops=300", "--time_based",
                    "--runtime=86400", "--ioengine=psync"],
            "redis-benchmark": ["redis-benchmark", "-p", self.redis, "-c", 10, "-l", "-q", "-t",
                                "set,get,lpush"],
            "wrk": ["wrk", "-t", 1, "-c", 8, "-d", "24h", "-s", self.at("pace.lua"),
                    f"http://127.0.0.1:{self.nginx}/page.html"],
        }
        self.counted = [(f"{what}-{cpu}", program, cpu) for cpu in CPUS
                        for what, program in (("canary", CANARY), ("bursts", BURSTS))]
        for name, program, cpu in self.counted:
            self.commands[name] = [sys.executable, "-c", program, self.at(name), os.getpid(), cpu]
        self.running, self.since, self.ended, self.work = {}, {}, {}, {}

    def at(self, name):
        return os.path.join(self.directory, name)

    def begin(self, name):
        self.since[name] = time.monotonic()
        self.running[name] = subprocess.Popen([str(word) for word in self.commands[name]],
                                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                              start_new_session=True)

    def start(self):
        for name in self.commands:
            self.begin(name)
            time.sleep(0.3)

    def check(self):
        """What ended by itself begins again; each is counted."""
        for name, process in list(self.running.items()):
            if process.poll() is not None:
                self.ended[name] = self.ended.get(name, 0) + 1
                self.begin(name)

    def pid(self, name):
        return self.running[name].pid

    def stop(self):
        self.check()
        self.work = {name: calls_of_session(process.pid) / (time.monotonic() - self.since[name])
                     for name, process in self.running.items()}
        for process in self.running.values():
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)  # a session of ours
        for process in self.running.values():
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
