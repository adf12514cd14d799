#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A level that is lowered to waits has no byte ranges, or some, and they are exact when it is raised."""
import json
import os
import re
import shutil
import signal
import subprocess
import sys

import harness
from harness import check, equal, until

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
LAW_OF = os.path.abspath(sys.argv[2])
tests = harness.Tests()
before = harness.programs_left(set())
MESSAGE = 100

# Two threads that send each other messages over TCP, until the input ends.
LOAD = """
import select, socket, sys, threading, time
SIZE = %d
server = socket.create_server(("127.0.0.1", 0))
def answer():
    peer, _ = server.accept()
    while data := peer.recv(SIZE, socket.MSG_WAITALL):
        time.sleep(0.001)
        peer.send(data)
threading.Thread(target=answer).start()
with socket.create_connection(server.getsockname()) as peer:
    while not select.select([sys.stdin], [], [], 0.001)[0]:
        peer.send(bytes(SIZE))
        peer.recv(SIZE, socket.MSG_WAITALL)
""" % MESSAGE


def chunks():
    result = fathom.run("chunks", "--json", "recording")
    return [chunk for chunk in json.loads(result.stdout or '{"chunks": []}')["chunks"]
            if chunk["state"] == "sealed"]


def next_chunk():
    """One that began after now, and is sealed."""
    count = len(chunks())
    until(lambda: len(chunks()) > count + 1, "chunks behind it")
    return chunks()[-1]["path"]


def ranges(chunk):
    """Begin, length and flags of each range in the chunk."""
    shown = subprocess.run(["babeltrace2", fathom.path(chunk)], text=True, capture_output=True,
                           check=True).stdout
    found = []
    for line in shown.splitlines():
        if " bytes: " not in line:
            continue
        begin = re.search(r" from = { (\d+)", line)
        length, flags = (int(re.search(rf"\b{name} = (?:{{ )?(\d+)", line).group(1))
                         for name in ("length", "flags"))
        found.append((int(begin.group(1)) if begin else 0, length, flags))
    return found


def record(pid):
    """Chunks with, without, and again with byte ranges."""
    recorder = subprocess.Popen(
        [fathom.binary, "record", "-o", fathom.path("recording"), "--rotate", "200ms", "--detail",
         "waits,bytes", "-p", str(pid)], stderr=subprocess.PIPE, text=True)
    found = []
    try:
        until(lambda: chunks() or recorder.poll() is not None, "chunks")
        for level, told in (("waits,bytes", "waits,bytes\n"),
                            ("waits", "waits (the recording began with waits,bytes)\n"),
                            ("waits,bytes", "waits,bytes\n")):
            equal(fathom.ok("detail", fathom.path("recording"), level), told, "what it says")
            found.append(next_chunk())
        fathom.ok("detail", fathom.path("recording"), "waits", "--for", "200ms")
        until(lambda: fathom.ok("detail", fathom.path("recording")) == "waits,bytes\n", "old level")
        found.append(next_chunk())
    finally:
        if recorder.poll() is None:
            recorder.send_signal(signal.SIGINT)
        _, text = recorder.communicate(timeout=60)
    equal(recorder.returncode, 0, text)
    return found


@tests.add
def byte_ranges_come_and_go():
    if not shutil.which("babeltrace2"):
        return "babeltrace2 is missing"
    with subprocess.Popen([sys.executable, "-c", LOAD], stdin=subprocess.PIPE) as load:
        first, without, again, at_last = record(load.pid)
        load.stdin.close()
    equal(ranges(without), [], "ranges at waits")
    for chunk in first, again, at_last:
        found = ranges(chunk)
        check(len(found) > 5, f"{len(found)} ranges")
        for begin, length, flags in found[2:]:  # a call may be under way at the change
            equal((begin % MESSAGE, length, flags), (0, MESSAGE, 0), f"a range of {chunk}")
    equal(fathom.report("recording", "thread").get("bytes_missing"), True, "answers say so")
    check("bytes_missing" not in fathom.report(first, "thread"), "not where all is there")
    text = " ".join(fathom.ok("report", fathom.path("recording")).split())
    check("bytes that went over connections were not recorded" in text, text[-600:])
    list_ = chunks()
    for chunk in list_[len(list_) // 3]["path"], without:
        result = subprocess.run([LAW_OF, fathom.path(chunk), "7", "2"], text=True,
                                capture_output=True, timeout=100)
        equal(result.returncode, 0, f"law: {result.stdout}{result.stderr}")
    return None


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


@tests.add
def a_budget_steps_from_bytes_to_turns():
    recording, said = fathom.path("budget"), fathom.path("budget.said")
    with subprocess.Popen([sys.executable, "-c", LOAD], stdin=subprocess.PIPE) as load:
        with open(said, "w", encoding="utf-8") as stderr, subprocess.Popen(
                [fathom.binary, "record", "-o", recording, "--detail", "waits,bytes", "--budget", "0.01%",
                 "-p", str(load.pid)], stderr=stderr) as recorder:
            try:
                until(lambda: "only waits, with bytes for 1 s in each 30 s, are recorded" in lines_of(said),
                      "a step", 60)
                until(lambda: fathom.ok("detail", recording).startswith("waits,bytes=1s/30s (the"),
                      "its level", 10)
                fathom.ok("rotate", recording)
                without = [fathom.ok("rotate", recording).strip() for _ in range(4)]
            finally:
                recorder.send_signal(signal.SIGINT)
                recorder.wait(60)
        load.stdin.close()
    report = fathom.report(recording, "thread")
    step = report["steps"][0]
    equal((step["from"], step["to"], step["why"]), ("waits,bytes", "waits,bytes=1s/30s", "above"), f"{step}")
    check(step["predicted_ppm"] < step["cost_ppm"], f"{step}")
    equal(report.get("bytes_missing"), True, "answers say so")
    if shutil.which("babeltrace2"):
        check([] in map(ranges, without), "a chunk outside of the second in which they are recorded")
    text = " ".join(fathom.ok("report", recording).split())
    check("were recorded for 1 s in each 30 s only" in text, text[-600:])


@tests.add
def nothing_stays_in_the_kernel():
    harness.nothing_is_left_in_the_kernel(before)


with fathom:
    tests.run()
