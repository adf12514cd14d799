# SPDX-License-Identifier: Apache-2.0
"""A recorded program that is woken from outside, and works on a file that only a slot has.

Nothing tells the name of the one or of the other but their use.
"""
import os
import subprocess
import sys

from harness import Failure, check, equal

# Bytes for the program, each after it has gone to sleep: "how many, under which name".
WAKER = """
import os, sys, time
name = ""
for line in sys.stdin:
    count, wanted = line.split()
    if wanted != name:
        name = wanted
        with open("/proc/self/comm", "w") as comm:
            comm.write(name)
    for _ in range(int(count)):
        time.sleep(0.001)
        os.write(1, b"x")
    os.write(2, b"done\\n")
"""


class Fed:
    """The program and its waker, who end with the block. `pid` is None without io_uring."""

    def __init__(self, requests, directory):
        os.mkdir(directory)
        self.file = os.path.join(directory, "direct")
        out, into = os.pipe()
        self.program = subprocess.Popen([requests, directory, "slot"], stdin=out,
                                        stdout=subprocess.PIPE, text=True)
        self.waker = subprocess.Popen([sys.executable, "-c", WAKER], stdin=subprocess.PIPE,
                                      stdout=into, stderr=subprocess.PIPE, text=True)
        os.close(out)
        os.close(into)
        self.pid = self.program.pid if self.program.stdout.readline() == "ready\n" else None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in (self.waker, self.program):
            process.kill()
            process.communicate()

    def wake(self, times, name):
        self.waker.stdin.write(f"{times} {name}\n")
        self.waker.stdin.flush()
        line = self.waker.stderr.readline()
        if line != "done\n":
            raise Failure(f"the waker says {line!r}")

    def check(self, fathom, recording, names, least):
        """That all it did has names; those of the waker, in their order."""
        spans = [span for trace in fathom.trace_all(recording, "--pid", self.pid)["traces"]
                 for span in trace["spans"]]
        wakers = [span["attributes"]["waker"] for span in sorted(spans, key=lambda s: s["end_ns"])
                  if span["attributes"].get("waker.tid") == self.waker.pid]
        files = [span["attributes"].get("fd.name") for span in spans
                 if span["name"] == "io_uring write"]
        check(len(wakers) >= least, f"{len(wakers)} wake-ups, of {least} at least")
        check(len(files) >= least, f"{len(files)} requests, of {least} at least")
        equal(list(dict.fromkeys(wakers)), [f"{name}/{self.waker.pid}" for name in names],
              "wakers")
        equal(set(files), {self.file}, "files of the requests")
