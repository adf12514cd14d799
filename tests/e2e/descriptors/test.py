#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fd.name is what readlink of /proc/thread-self/fd says, in whatever way a descriptor came."""
import os
import socket
import subprocess
import sys

import harness
import servers
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
MAKES = os.path.abspath(sys.argv[2])
tests = harness.Tests()


def send_files(sock):
    """Two files that nobody in the recording has opened, twice."""
    for name in ("sent", "sent too"):
        with open(fathom.path(name + " 1"), "w+", encoding="ascii") as one, \
                open(fathom.path(name + " 2"), "w+", encoding="ascii") as two:
            socket.send_fds(sock, [b"x"], [one.fileno(), two.fileno()])


def run(name, *options):
    """Records the program; returns the recording and what it said: number -> fd, way, name."""
    work = fathom.path(name + "-work")
    os.mkdir(work)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        send_files(ours)
        result = subprocess.run([fathom.binary, "record", "-o", fathom.path(name), *options, "--",
                                 MAKES, work], stdin=theirs, text=True, capture_output=True,
                                timeout=60)
    equal(result.returncode, 0, f"status: {result.stderr}")
    said = parse(result.stdout)
    check(len(said) > 50, f"what it said: {result.stdout}")
    return fathom.path(name), said


def parse(text):
    said = {}
    for line in text.splitlines():
        number, fd, *rest = line.split(" ", 3)
        if number == "skip":
            print(f"# no {fd} here: errno {rest[0]}")
        else:
            said[int(number)] = (int(fd), rest[0], None if rest[1] == "-" else rest[1])
    return said


def calls_by_number(recording):
    calls = {}
    for trace in fathom.trace_all(recording)["traces"]:
        for span in trace["spans"]:
            args = span["attributes"].get("args", "").split(", ")
            if span["name"] == "lseek" and len(args) == 3 and args[2].startswith("0x63"):
                calls[int(args[1])] = span["attributes"]
    return calls


def check_names(recording, said):
    calls = calls_by_number(recording)
    equal(sorted(calls), sorted(said), "numbers of the calls")
    for number, (fd, way, name) in said.items():
        equal(calls[number]["fd"], fd, f"fd of {way}")
        equal(calls[number].get("fd.name"), name, f"name of {fd}, {way}")
        if name is None:
            equal(calls[number]["error.type"], "EBADF", f"error of {way}")
    return said


@tests.add
def names_are_those_of_the_kernel():
    recording, said = run("data")
    check_names(recording, said)
    ways = {way for _, way, name in said.values() if name}
    check({"recvmsg", "recvmmsg", "memfd_create", "pidfd_getfd", "openat2", "accept4", "unshared",
           "of-child", "after-exec"} <= ways, f"ways: {ways}")
    sent = [name for _, way, name in said.values() if way.startswith("recv")]
    equal(sent, [fathom.path(f"{name} {n}") for name in ("sent", "sent too") for n in (1, 2)],
          "names of what was sent")


@tests.add
def over_many_chunks():
    recording, said = run("chunks", "--rotate", "2ms")
    check_names(recording, said)
    check(len(fathom.chunks(recording)) > 1, "there was no cut")


@tests.add
def those_of_before_the_recording():
    work = fathom.path("later-work")
    os.mkdir(work)
    with subprocess.Popen([MAKES, "later", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True) as program:
        try:
            equal(program.stdout.readline(), "ready\n", "first line")
            recorder = servers.Recorder(fathom, "later", "-p", program.pid)
            text, _ = program.communicate("x", timeout=60)
            recording = recorder.stop()
        finally:
            program.kill()
    said = check_names(recording, parse(text))
    equal({way for _, way, name in said.values() if name},
          {"snapshot", "apart-before", "after-exec", "dup-after-exec"}, "ways")
    closed = [fd for fd, way, name in said.values() if way == "after-exec" and not name]
    equal(closed[:2], [101, 102], "closed by the exec")


RENAMES = """
import os, sys
one, two = sys.argv[1:]
fd = os.open(one, os.O_RDWR | os.O_CREAT)
os.pread(fd, 1, 4242)
os.rename(one, two)
copy = os.dup(fd)
for each in (fd, copy):
    os.pread(each, 1, 4242)
again = os.open(two, os.O_RDWR)
os.pread(again, 1, 4242)
"""


@tests.add
def a_file_has_the_name_of_its_open():
    """Also when it is renamed, and through duplicates: one name at a time, one row."""
    one, two = fathom.path("one"), fathom.path("two")
    where = fathom.record("renamed", "--", sys.executable, "-c", RENAMES, one, two)
    names = [span["attributes"].get("fd.name") for trace in fathom.trace_all(where)["traces"]
             for span in trace["spans"] if span["name"] == "pread64"
             and span["attributes"]["args"].endswith(", 1, 4242")]
    equal(names, [one, one, one, two], "names")


@tests.add
def babeltrace_reads_them():
    harness.check_babeltrace(fathom, fathom.path("data"))


with fathom:
    tests.run()
