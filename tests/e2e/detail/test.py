#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings without calls (--detail waits): what a wait says by itself, and what is not there."""
import os
import subprocess
import sys

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
tests = harness.Tests()

# Reads a FIFO that its parent writes ten times, 20 ms apart, and a socket the same way.
PAIR = """
import os, socket, sys, threading, time
fifo = sys.argv[1]
os.mkfifo(fifo)
server = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    peer = socket.create_connection(server.getsockname())
    writer = os.open(fifo, os.O_WRONLY)
    for _ in range(10):
        time.sleep(0.02)
        os.write(writer, b"x")
        time.sleep(0.02)
        peer.sendall(b"y")
    os._exit(0)
connection, _ = server.accept()
reader = os.open(fifo, os.O_RDONLY)
for _ in range(10):
    os.read(reader, 1)
    connection.recv(1)
os.wait()
print(server.getsockname()[1])
"""


# Accepts ten connections one after another, all of which get the same descriptor.
IN_TURN = """
import os, socket, time
server = socket.create_server(("127.0.0.1", 0))
if os.fork() == 0:
    for _ in range(10):
        peer = socket.create_connection(server.getsockname())
        time.sleep(0.02)
        peer.sendall(b"x")
        peer.close()
        time.sleep(0.01)
    os._exit(0)
for _ in range(10):
    connection, _ = server.accept()
    connection.recv(1)
    connection.close()
os.wait()
"""


def waits_in(recording, call):
    return [span for trace in fathom.trace_all(recording)["traces"] for span in trace["spans"]
            if span["kind"] == "wait" and span["attributes"].get("syscall") == call]


def record_pair(name, *options):
    fifo = fathom.path(f"{name}.fifo")
    recording = fathom.path(name)
    result = fathom.run("record", "-o", recording, *options, "--", sys.executable, "-c", PAIR, fifo)
    equal(result.returncode, 0, f"record: {result.stderr}")
    return recording, fifo, int(result.stdout)


@tests.add
def a_wait_says_its_call_file_and_waker():
    recording, fifo, port = record_pair("pair", "--detail", "waits")
    spans = [s for t in fathom.trace_all(recording)["traces"] for s in t["spans"]]
    equal({s["kind"] for s in spans} - {"thread", "block"}, {"wait"}, "kinds of spans")
    reads = [s for s in waits_in(recording, "read") if s["attributes"].get("fd.name") == fifo]
    check(len(reads) >= 8, f"{len(reads)} waits for the FIFO, of ten")
    for read in reads:
        attributes = read["attributes"]
        equal(attributes["cause"], "ipc", f"cause of {read}")
        equal(attributes["fd"], attributes["arg0"], f"descriptor of {read}")
        equal(attributes["file.path"], fifo, f"path of {read}")
        check(attributes["waker"].startswith("python3/"), f"waker of {read}")
        check(int(attributes["waker"].split("/")[1]) != read["tid"], f"waker of {read}")
    text = fathom.ok("trace", "--all", recording)
    check(f"read  <{fifo}>  woken by python3[" in text, f"the wait in the text: {text[:2000]}")
    receives = [s for s in waits_in(recording, "recvfrom")
                if s["attributes"].get("network.local.port", port) == port]
    check(len(receives) >= 8, f"{len(receives)} waits for the socket, of ten")
    equal({s["attributes"]["cause"] for s in receives}, {"network"}, "cause of receives")


@tests.add
def calls_are_counted_where_they_slept():
    recording, fifo, _ = record_pair("counts", "--detail", "waits")
    calls = fathom.report(recording, "syscall")
    equal(calls["detail"], "waits", "detail of the report")
    rows = {row["key"]: row for row in calls["rows"]}
    check(not {"getpid", "fstat", "newfstatat"} & set(rows), f"calls that did not sleep: {rows.keys()}")
    check(18 <= rows["clock_nanosleep"]["count"] <= 40, f"{rows['clock_nanosleep']}")
    equal(rows["clock_nanosleep"]["time"]["cpu_ns"], 0, "time on a CPU in a wait")
    files = {row["key"]: row for row in fathom.report(recording, "file")["rows"]}
    check(files[fifo]["count"] >= 8, f"waits for {fifo}: {files[fifo]}")
    for row in fathom.report(recording, "thread")["rows"]:
        equal(row["time"]["user_ns"], 0, f"user code of {row}")
        check(row["time"]["cpu_ns"] > 0, f"time on a CPU of {row}")
        equal(sum(row["time"].values()), row["total_ns"], f"sum of {row}")


@tests.add
def each_file_behind_one_descriptor_has_its_name():
    recording = fathom.record("turns", "--detail", "waits", "--", sys.executable, "-c", IN_TURN)
    receives = waits_in(recording, "recvfrom")
    check(len(receives) >= 8, f"{len(receives)} waits for ten connections")
    equal(len({s["attributes"]["fd"] for s in receives}), 1, "descriptors")
    equal(len({s["attributes"]["fd.name"] for s in receives}), len(receives), "sockets")
    ports = {s["attributes"]["network.peer.port"] for s in receives}
    equal(len(ports), len(receives), "peers")


@tests.add
def threads_are_sorted_by_their_time_on_a_cpu():
    recording, _, _ = record_pair("sorted", "--detail", "waits")
    times = [row["time"]["cpu_ns"] + row["time"]["kernel_ns"]
             for row in fathom.report(recording, "thread")["rows"]]
    check(times[0] > 0 and times == sorted(times, reverse=True), f"times on a CPU: {times}")


@tests.add
def waits_are_the_same_in_pieces():
    whole, _, _ = record_pair("whole", "--detail", "waits", "--rotate", "100ms")
    check(len(fathom.chunks(whole)) >= 3, "several chunks")
    chunks = [chunk["path"] for chunk in fathom.chunks(whole)]
    equal(fathom.ok("report", "--json", "--by", "syscall", *reversed(chunks)),
          fathom.ok("report", "--json", "--by", "syscall", whole), "the chunks and their recording")
    reads = waits_in(whole, "read")
    check(any(r["attributes"].get("file.path", "").endswith("whole.fifo") for r in reads),
          "a file that was open before its chunk has its name")


@tests.add
def bytes_go_with_waits_if_asked():
    for level, expected in ("waits", False), ("waits,bytes", True):
        recording, _, _ = record_pair(f"bytes-{expected}", "--detail", level)
        shown = subprocess.run(["babeltrace2", recording], text=True, capture_output=True,
                               check=False).stdout
        if not shown:
            return "babeltrace2 is missing"
        equal(" bytes:" in shown, expected, f"byte ranges with {level}")
        equal(" syscall:" in shown, False, f"calls with {level}")
    return None


@tests.add
def options_about_calls_are_refused():
    for option in ["--syscalls", "read"], ["--spans-only"], ["--stacks", "1ms"]:
        result = fathom.run("record", "--detail", "waits", *option, "-d", "1")
        equal(result.returncode, 2, f"status with {option}")
        check("--detail calls" in result.stderr, result.stderr)
    result = fathom.run("record", "--detail", "all", "-d", "1")
    equal(result.returncode, 2, "status with an unknown level")
    check(not os.path.exists(fathom.path("fathom.data")), "nothing was recorded")


with fathom:
    tests.run()
