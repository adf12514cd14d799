#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Requests over several hosts: two network namespaces, recorded apart under two names. The recording of
one is then written again with another clock, so that the offset of the clocks is known.
"""
import contextlib
import json
import os
import re
import sqlite3
import subprocess
import sys

import harness
import servers
from harness import check, equal

harness.require_root()
servers.need("ip")
fathom = harness.Fathom(sys.argv[1])
RECLOCK, SERVICE, SCHEMA, EVENTS, SQL = sys.argv[2:7]
tests = harness.Tests()
FRONT, BACK = f"fathom-front-{os.getpid()}", f"fathom-back-{os.getpid()}"
FRONT_ADDRESS, BACK_ADDRESS = "10.213.7.1", "10.213.7.2"
PORT = 8000
CONNECTIONS, REQUESTS = 5, 60
OFFSET_NS, DRIFT_PPM = 37_000_000_000, 40


def ip(*args, **options):
    return servers.run("ip", *args, **options)


@contextlib.contextmanager
def network():
    """Two namespaces that a cable joins."""
    try:
        for name in (FRONT, BACK):
            ip("netns", "add", name)
        ip("link", "add", "fathom0", "netns", FRONT, "type", "veth", "peer", "name", "fathom0", "netns", BACK)
        for name, address in ((FRONT, FRONT_ADDRESS), (BACK, BACK_ADDRESS)):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", "fathom0")
            ip("-n", name, "link", "set", "fathom0", "up")
            ip("-n", name, "link", "set", "lo", "up")
        yield
    finally:
        for name in (FRONT, BACK):
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def within(name, *args):
    """The command of a process in a namespace: `ip netns exec` becomes the program itself."""
    return ["ip", "netns", "exec", name, sys.executable, SERVICE, *map(str, args)]


def listens(name):
    return f":{PORT:04X} " in ip("netns", "exec", name, "cat", "/proc/net/tcp")


def record():
    """The recordings of both hosts, of the requests of a load in the front one's namespace."""
    with network(), servers.Server(*within(BACK, PORT)) as back, \
            servers.Server(*within(FRONT, PORT, BACK_ADDRESS, PORT)) as front:
        for name in (FRONT, BACK):
            harness.until(lambda name=name: listens(name), f"a listener in {name}")
        recorders = [servers.Recorder(fathom, name, "--host", name, "--detail", level, f"-p{process.pid}")
                     for name, process, level in (("front", front, "calls"), ("back", back, "waits,bytes"))]
        servers.run(*within(FRONT, "load", "127.0.0.1", PORT, CONNECTIONS, REQUESTS))
        return [recorder.stop() for recorder in recorders]


def begin_of(recording):
    return json.loads(fathom.ok("chunks", "--json", recording))["chunks"][0]["begin_ns"]


def reclocked(recording):
    """The recording with another clock."""
    path, begin_ns = fathom.path("moved"), begin_of(recording)
    for chunk in json.loads(fathom.ok("chunks", "--json", recording))["chunks"]:
        servers.run(RECLOCK, chunk["path"], path, begin_ns, OFFSET_NS, DRIFT_PPM)
    return path


def requests_of(*recordings):
    text = fathom.ok("requests", "--json", *recordings)
    result = subprocess.run([sys.executable, SCHEMA, "requests"], input=text, text=True,
                            capture_output=True, timeout=60)
    equal(result.returncode, 0, f"the schema: {result.stdout}{result.stderr}")
    return json.loads(text)


def check_offsets(answer, begin_ns):
    """Each interval holds the true offset; most are narrow."""
    offsets = answer["clock_offsets"]
    check(len(offsets) >= 2 * CONNECTIONS * REQUESTS // 50 - 1, f"{len(offsets)} intervals")
    for offset in offsets:
        # by back's clock: the times of both before it was moved are the same
        equal((offset["host"], offset["against"]), ("back", "front"), "the hosts")
        original = (offset["at_ns"] - OFFSET_NS - begin_ns) / (1 + DRIFT_PPM / 1e6)
        truth = OFFSET_NS + original * DRIFT_PPM / 1e6
        check(offset["min_ns"] - 100 <= truth <= offset["max_ns"] + 100, f"{offset} without {truth}")
    widths = sorted(offset["max_ns"] - offset["min_ns"] for offset in offsets)
    print("# widths of the intervals:", widths)
    check(widths[len(widths) // 2] < 1_000_000, f"widths {widths}")


def check_traces(traces):
    """Each request is one trace over both hosts; each span has the times of its host."""
    equal(len(traces), CONNECTIONS * REQUESTS, "requests")
    for trace in traces:
        equal([(span["kind"], span["host"]) for span in trace["spans"]],
              [("server", "front"), ("client", "front"), ("server", "back")], "spans")
        root, call, below = trace["spans"]
        equal(call["parent_id"], root["span_id"], "whose call it is")
        equal(below["parent_id"], call["span_id"], "whose request it is")
        check(below["begin_ns"] - call["begin_ns"] > OFFSET_NS - 10_000_000, "back keeps its clock")
        check("clock.impossible" not in below["attributes"], f"{below}")
        check(trace["end_ns"] - trace["begin_ns"] < 5_000_000_000, "one line of time")


def check_events(*recordings):
    """The example's program and its SQL count the events of requests alike."""
    lines = fathom.ok("requests", "--each", f"{sys.executable} {EVENTS}", *recordings).splitlines()
    names = lines[0].split("\t")
    counts = {row[0]: dict(zip(names[2:], map(int, row[2:])))
              for row in (line.split("\t") for line in lines[1:])}
    equal([line.split("\t")[1] for line in lines[1:]], [str(2 * CONNECTIONS * REQUESTS)], "requests")
    with open(SQL, encoding="utf-8") as text:
        query = text.read().partition("\nSELECT")[2]
    with contextlib.closing(sqlite3.connect(":memory:")) as database:
        database.execute("CREATE TABLE request (line TEXT)")
        database.executemany("INSERT INTO request VALUES (?)", (
            (line,) for line in fathom.ok("requests", "--json-lines", *recordings).splitlines()))
        for service, event, count in database.execute("SELECT" + query):
            equal(count, counts[service][event], f"{event} of {service}")


def check_network(traces, *recordings):
    """Time on the network has an interval: that of the clocks. The rest is exact."""
    longest = max(traces, key=lambda trace: trace["end_ns"] - trace["begin_ns"])
    answer = json.loads(fathom.ok("requests", "--json", "--critical", longest["trace_id"], *recordings))
    widths = [offset["max_ns"] - offset["min_ns"] for offset in answer["clock_offsets"]]
    path, root = answer["critical"], longest["spans"][0]
    equal({piece["host"] for piece in path}, {"front", "back"}, "hosts on the path")
    equal(sum(piece["end_ns"] - piece["begin_ns"] for piece in path),
          root["end_ns"] - root["begin_ns"], "the sum of its pieces")
    unsure = [piece for piece in path if "least_ns" in piece]
    check(unsure, f"nothing of the path has an interval: {path}")
    for piece in unsure:
        check(piece["least_ns"] <= piece["end_ns"] - piece["begin_ns"] <= piece["most_ns"], f"{piece}")
        # a drift of 100 ppm, over the second at most between two intervals
        check(piece["most_ns"] - piece["least_ns"] <= max(widths) + 200_000, f"{piece}: {widths}")


def check_kernel(*recordings):
    """Kernel spans of threads while they served: each lies below a server span, or below its call."""
    spans = {span["span_id"]: span for trace in json.loads(
        fathom.ok("requests", "--json", "--kernel", *recordings))["traces"] for span in trace["spans"]}
    kernel = [span for span in spans.values() if span["kind"] in ("syscall", "wait", "fault")]
    check(len(kernel) > CONNECTIONS * REQUESTS, f"{len(kernel)} spans of the kernel")
    for span in kernel:
        above = spans[span["parent_id"]]
        check(above["kind"] in ("server", "syscall") and above["host"] == span["host"] and
              above["begin_ns"] <= span["begin_ns"], f"{span} below {above}")


@tests.add
def two_hosts():
    front, back = record()
    for moved in (back, reclocked(back)):
        answer = requests_of(front, moved)
        equal({clock["host"] for clock in answer["clock"]}, {"front", "back"}, "the hosts")
        if moved != back:
            check_traces(answer["traces"])
            check_offsets(answer, begin_of(back))
    check_network(answer["traces"], front, moved)
    check_events(front, moved)
    check_kernel(front, moved)
    text = fathom.ok("requests", "--slowest", "2", front, moved)
    check("on=back" in text and "on=front" in text, text)
    check(re.search(r"clocks: that of back is ahead of that of front by \+37\.0", text), text)


tests.run()
