#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs each publisher (tests/unit/capture/context/publisher) through the same steps.

driver.py FOLDER OUTPUT WAY...: each WAY is the name of a program, or of one that opens
libraries, a space and the library, with a "+" if no static TLS is to be left for it. Writes to
OUTPUT, as JSON, what is known of each: its processes and threads, and `spans`, under each of which
(0: none) it writes an answer and then reads the next command.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

FOLDER, OUTPUT, *WAYS = sys.argv[1:]
LOOK_S = 0.3  # an exec or a dlopen is looked at within a tenth of a second


class Publisher:
    """A running publisher."""

    def __init__(self, way):
        self.name = way
        program, _, self.library = way.partition(" ")
        self.process = subprocess.Popen([os.path.join(FOLDER, program)], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.pid = self.process.pid
        self.process.stdout.readline()

    def do(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline().split()[1])

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def library_open(publisher, copies):
    libc = publisher.name.partition("-")[0]
    if publisher.library.endswith("+"):
        for i in range(24):
            copy = os.path.join(copies, f"{publisher.pid}-{i}.so")
            shutil.copy(os.path.join(FOLDER, f"lib{libc}-filler.so"), copy)
            publisher.do(f"filler {copy}")
    publisher.do(f"open {FOLDER}/lib{libc}-{publisher.library.rstrip('+')}.so")


def main():
    running, told = [], []
    copies = tempfile.mkdtemp(prefix="contexts.")
    try:
        for number, way in enumerate(WAYS, 1):
            publisher = Publisher(way)
            if publisher.library:
                library_open(publisher, copies)
            running.append((number << 16, publisher))
        time.sleep(LOOK_S)
        for base, publisher in running:
            publisher.do(f"set {base + 1:x}")
            publisher.do(f"set {base + 2:x}")
            publisher.do("clear")
            publisher.do(f"set {base + 3:x}")
            thread = publisher.do(f"thread {base + 4:x}")
            idle = publisher.do("idle")
            child = publisher.do("fork")
            borrower = publisher.do("vfork")
            told.append({"name": publisher.name, "pid": publisher.pid, "thread": thread,
                         "idle": idle, "child": child, "borrower": borrower, "base": base,
                         "spans": [base + 1, base + 2, 0] + [base + 3] * 5})
        for _, publisher in running:
            publisher.do("exec")
        time.sleep(LOOK_S)
        for (base, publisher), process in zip(running, told):
            if not publisher.library:  # else it would have to be opened again
                publisher.do(f"set {base + 5:x}")
                process["again"] = base + 5
        for _, publisher in running:
            publisher.end()
    finally:
        shutil.rmtree(copies)
    with open(OUTPUT, "w", encoding="utf-8") as file:
        json.dump(told, file)


main()
