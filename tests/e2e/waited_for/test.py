#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which file, peer or program a thread waited for, and how often it called it."""
import os
import subprocess
import sys

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
tests = harness.Tests()
PYTHON = ["/usr/bin/python3", "-S", "-E"]


def record(name, program, *options):
    """Records a Python program in a folder of its own; returns the recording and the folder."""
    folder = fathom.path(name + "-work")
    os.mkdir(folder)
    with open(os.path.join(folder, "t.py"), "w", encoding="ascii") as file:
        file.write(program)
    result = subprocess.run([fathom.binary, "record", "-o", fathom.path(name), *options, "--",
                             *PYTHON, "t.py"], cwd=folder, text=True, capture_output=True,
                            timeout=60)
    equal(result.returncode, 0, f"status: {result.stderr}")
    return fathom.path(name), folder


def rows(recording, by):
    """The rows of a report: key -> row."""
    return {row["key"]: row for row in fathom.report(recording, by)["rows"]}


@tests.add
def a_reused_inode_has_the_name_of_its_time():
    recording, folder = record("inodes", """
import os
for i in range(4):
    f = os.open("log.%d" % i, os.O_CREAT | os.O_WRONLY)
    for k in range(10 * (i + 1)): os.write(f, b"x" * 4096)
    os.close(f); os.unlink("log.%d" % i)
""")
    files = rows(recording, "file")
    for i in range(4):
        row = files[f"{folder}/log.{i}"]
        equal(row["written_bytes"], 4096 * 10 * (i + 1), f"bytes written to log.{i}")
        calls = rows_of_pair(recording, f"{folder}/log.{i}")
        equal((calls.get("write"), calls.get("close")), (10 * (i + 1), 1), f"calls of log.{i}")


def rows_of_pair(recording, file):
    """The counts of the calls on a file: name of the call -> count."""
    return {row["keys"]["syscall"]: row["count"]
            for row in fathom.report(recording, "syscall,file")["rows"]
            if row["keys"]["file"] == file}


@tests.add
def an_inherited_descriptor_has_the_name_that_it_had():
    recording, folder = record("inherited", """
import os
a = os.open("first", os.O_CREAT | os.O_WRONLY)
r, w = os.pipe()
if os.fork() == 0:
    os.read(r, 1)  # the parent has another file at this number by now
    for i in range(5): os.write(a, b"x")
    os._exit(0)
os.close(a)
b = os.open("second", os.O_CREAT | os.O_WRONLY)
assert a == b
for i in range(7): os.write(b, b"x")
os.write(w, b"x")
os.wait()
""")
    equal(rows_of_pair(recording, f"{folder}/first").get("write"), 5, "writes to the first file")
    equal(rows_of_pair(recording, f"{folder}/second").get("write"), 7, "writes to the second")


tests.run()
