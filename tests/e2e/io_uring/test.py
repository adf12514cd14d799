#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests to io_uring: each is a span of its own, and takes nothing from its thread's time."""
import itertools
import json
import os
import re
import subprocess
import sys

import harness
import servers
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
REQUESTS = os.path.abspath(sys.argv[2])
tests = harness.Tests()
numbers = itertools.count()
ERRORS = {-2: "ENOENT", -9: "EBADF", -22: "EINVAL"}


def run(name, *args, options=()):
    """Records the program; returns the recording and what it said of each request."""
    work = fathom.path(name + "-work")
    os.mkdir(work)
    result = fathom.run("record", *options, "-o", fathom.path(name), "--", REQUESTS, work, *args)
    if result.returncode == 77:
        return None, None
    equal(result.returncode, 0, f"status: {result.stderr}")
    said = []
    for line in result.stdout.splitlines():
        operation, fd, *rest = line.split(" ", 3)
        if operation != "port":
            said.append((operation, int(fd), int(rest[0]), None if rest[1] == "-" else rest[1]))
    return fathom.path(name), said


def spans_of(recording):
    return [span for trace in fathom.trace_all(recording)["traces"] for span in trace["spans"]]


def requests_of(spans):
    return sorted((span for span in spans if span["kind"] == "io_uring"),
                  key=lambda span: span["begin_ns"])


def check_requests(requests, said):
    equal([span["name"] for span in requests], ["io_uring " + row[0] for row in said], "requests")
    for span, (operation, fd, result, name) in zip(requests, said):
        has = span["attributes"]
        what = f"of {operation} on {fd}"
        skipped = name == "skipped"
        if skipped:
            name = None
        equal(has.get("result"), None if skipped else result, f"result {what}")
        equal(has.get("fd", has.get("io_uring.slot", -1)), fd, f"descriptor {what}")
        equal(has.get("fd.name"), name, f"name {what}")
        equal(has.get("error.type"), ERRORS[result] if result < 0 else None, f"error {what}")
        equal((span["begin_bound"], span["end_bound"]),
              ("hard", "soft" if skipped else "hard"), f"bounds {what}")
        equal(span["threads"], 0, f"threads {what}")
        equal(span["time"]["off_thread_ns"], span["end_ns"] - span["begin_ns"], f"time {what}")
        equal(harness.total(span["time"]), span["end_ns"] - span["begin_ns"], f"split {what}")


def check_report(recording, requests):
    rows = {row["key"]: row for row in fathom.report(recording, "syscall")["rows"]}
    for name in {span["name"] for span in requests}:
        mine = [span for span in requests if span["name"] == name]
        equal(rows[name]["count"], len(mine), f"count of {name}")
        equal(rows[name]["total_ns"], sum(s["end_ns"] - s["begin_ns"] for s in mine
                                          if s["end_bound"] == "hard"), f"total of {name}")
        equal(rows[name]["errors"], sum(s["attributes"].get("result", 0) < 0 for s in mine),
              f"errors of {name}")


@tests.add
def each_request_is_a_span_under_that_of_its_submitter():
    recording, said = run("data")
    if recording is None:
        return "no io_uring here"
    spans = spans_of(recording)
    requests = requests_of(spans)
    check_requests(requests, said)
    check_report(recording, requests)
    asking = [span for span in spans if span["name"] == "asking"]
    equal(len(asking), 1, "spans of the program")
    equal({span.get("parent_id") for span in requests}, {asking[0]["span_id"]}, "parents")
    equal(asking[0]["time"]["off_thread_ns"], 0, "time of the span that nobody had")
    waits = requests[[row[0] for row in said].index("fsync") + 1:]
    long = [s for s in waits if s["name"] == "io_uring read" and
            s["end_ns"] - s["begin_ns"] >= 20_000_000]
    equal(len(long), 1, "reads that waited for the other end")
    calls = [span["attributes"] for span in spans if span["name"] == "lseek" and
             span["attributes"]["args"].endswith("0x63 /* SEEK_??? */")]
    equal(calls[0].get("fd.name"), None, "name of a descriptor that a request closed")
    if len(calls) > 1:
        check(calls[1]["fd.name"].startswith("socket:["), f"accepted by a request: {calls[1]}")
    peers = {s["name"]: s["attributes"].get("network.peer.address") for s in requests}
    equal(peers.get("io_uring connect"), "127.0.0.1", "peer of the connection")
    harness.check_sums(fathom, recording)
    harness.check_babeltrace(fathom, recording)
    return None


@tests.add
def what_the_polling_thread_submits_has_no_span():
    recording, said = run("polled", "poll")
    if recording is None:
        return "no io_uring here"
    requests = requests_of(spans_of(recording))
    check_requests(requests, said)
    for span in requests:
        equal(span["attributes"].get("io_uring.polled"), True, "polled")
        check(span["thread"].startswith("iou-sqp"), f"submitted by {span['thread']}")
    harness.check_sums(fathom, recording)
    return None


def workers_between(recording, request):
    """The split of all workers' time while a request was under way."""
    rows = fathom.report(recording, "thread", "--from", request["begin_ns"], "--to",
                         request["end_ns"])["rows"]
    times = [row["time"] for row in rows if row["key"].startswith("iou-wrk")]
    return {part: sum(time[part] for time in times) for part in harness.PARTS}


def check_worked(recording, said):
    spans = spans_of(recording)
    requests = requests_of(spans)
    check_requests(requests, said)
    [asking] = [span for span in spans if span["name"] == "asking"]
    equal({(span.get("parent_id"), span["tid"]) for span in requests},
          {(asking["span_id"], asking["tid"])}, "parents and submitters")
    equal(asking["threads"], 1, "threads that had the span")
    workers = {row["tid"] for row in fathom.report(recording, "thread")["rows"]
               if row["key"].startswith("iou-wrk")}
    check(workers, "there are workers")
    [trace] = [trace for trace in fathom.trace_all(recording)["traces"]
               if asking["span_id"] in {span["span_id"] for span in trace["spans"]}]
    equal([span for span in trace["spans"] if span["tid"] in workers], [], "of workers in it")
    opened, read = requests
    slept, computed = (workers_between(recording, request) for request in requests)
    print(f"# {opened['time']['off_thread_ns']} ns: {slept}")
    print(f"# {read['time']['off_thread_ns']} ns: {computed}")
    share = 0.8 if harness.SLOWER == 1 else 0.2  # there it takes a while until there is a worker
    check(slept["ipc_ns"] + slept["runnable_ns"] > share * opened["time"]["off_thread_ns"],
          f"it slept in its request: {slept}")
    check(computed["kernel_ns"] + computed["runnable_ns"] > share * read["time"]["off_thread_ns"],
          f"it computed: {computed}")
    waits = [span for span in spans if span["kind"] == "wait" and span["tid"] in workers
             and opened["begin_ns"] <= span["begin_ns"] < span["end_ns"] <= opened["end_ns"]]
    longest = max(waits, key=lambda span: span["time"]["ipc_ns"])
    check("request to io_uring" in longest["attributes"]["cause.reason"], f"what for: {longest}")
    equal(longest["attributes"].get("waker"), f"{asking['thread']}/{asking['tid']}",
          "who opened the other end")
    calls = {span["span_id"] for span in spans if span["name"] == "io_uring_enter"}
    waits = [span["attributes"] for span in spans if span["kind"] == "wait"
             and span["name"] != "runnable" and span.get("parent_id") in calls
             and span["begin_ns"] >= read["begin_ns"]]
    equal([has.get("waker") for has in waits], ["/dev/zero"], "what the read was waited for")
    check(waits[0]["waker.context"].startswith("iou-wrk"), f"who did it: {waits}")


@tests.add
@harness.tries
def what_a_worker_does_is_its_own_and_not_the_span_s():
    """The request says how long it took, under the span; the worker's thread, what for."""
    recording, said = run(f"worked{next(numbers)}", "worked")
    if recording is None:
        return "no io_uring here"
    check_worked(recording, said)
    return None


@tests.add
def what_was_in_flight_has_a_soft_begin():
    work = fathom.path("pending-work")
    os.mkdir(work)
    with harness.Process([REQUESTS, work, "pending"], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True) as program:
        try:
            if program.stdout.readline() != "ready\n":
                equal(program.wait(), 77, "status")
                return "no io_uring here"
            recorder = servers.Recorder(fathom, "pending", "-p", program.pid)
            text, _ = program.communicate("x", timeout=60)
            recording = recorder.stop()
        finally:
            program.kill()
    operation, _, result, name = text.split()
    requests = requests_of(spans_of(recording))
    equal([span["name"] for span in requests], ["io_uring " + operation], "requests")
    equal(requests[0]["attributes"]["result"], int(result), "result")
    equal(requests[0]["attributes"].get("fd.name"), name, "name")
    equal((requests[0]["begin_bound"], requests[0]["end_bound"]), ("soft", "hard"), "bounds")
    equal(requests[0]["tid"], program.pid, "submitter")
    return None


@tests.add
def one_whose_completion_is_not_told_is_not_taken_for_one_under_no_span():
    recording, said = run("left", "left", options=("--spans-only",))
    if recording is None:
        return "no io_uring here"
    equal(said, [("nop", -1, 0, "skipped")], "what it asked for under its span")
    check_requests(requests_of(spans_of(recording)), said)
    return None


@tests.add
def nor_for_one_of_another_process():
    work = fathom.path("shared-work")
    os.mkdir(work)
    with harness.Process([REQUESTS, work, "shared"], stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE, text=True) as program:
        try:
            child = program.stdout.readline()
            if not child:
                equal(program.wait(), 77, "status")
                return "no io_uring here"
            recorder = servers.Recorder(fathom, "shared", "-p", child.strip())
            program.stdin.write("x")
            program.stdin.flush()
            lines = [program.stdout.readline(), program.stdout.readline()]
            equal(lines, ["nop -1 0 skipped\n", "done\n"], "what it said")
            recording = recorder.stop()
            program.communicate(timeout=60)
            equal(program.returncode, 0, "status")
        finally:
            program.kill()
    check_requests(requests_of(spans_of(recording)), [("nop", -1, 0, "skipped")])
    return None


@tests.add
def more_than_are_kept_are_counted():
    count = 20000
    recording = fathom.path("many")
    result = fathom.run("record", "-o", recording, "--buffer", "64M", "--", REQUESTS, fathom.dir,
                        "many", count)
    if result.returncode == 77:
        return "no io_uring here"
    equal(result.returncode, 0, result.stderr)
    equal(fathom.report(recording, "name")["lost"]["total"], 0, "lost records")
    requests = requests_of(spans_of(recording))
    soft = [span for span in requests if span["begin_bound"] == "soft"]
    equal(len(requests), count, "requests")
    check(len(soft) >= count - 16384, f"more than are kept: {len(soft)}")
    equal(sum(chunk["incomplete"] for chunk in fathom.chunks(recording)), len(soft), "incomplete")
    return None


FIO = ["fio", "--name=job", "--rw=randrw", "--bs=4k", "--size=4m", "--io_size=4m",
       "--ioengine=io_uring", "--iodepth=8", "--fsync=16", "--randseed=7", "--invalidate=0",
       "--output-format=json"]


@tests.add
def as_many_as_fio_counts():
    servers.need("fio")
    data, out = fathom.path("fio-data"), fathom.path("fio.json")
    recording = fathom.path("fio")
    result = fathom.run("record", "-o", recording, "--rotate", "10ms", "--", *FIO,
                        f"--filename={data}", f"--output={out}")
    equal(result.returncode, 0, f"fio: {result.stderr}")
    with open(out, encoding="ascii") as text:
        job = json.load(text)["jobs"][0]
    rows = {row["key"]: row for row in fathom.report(recording, "syscall")["rows"]}
    for name, direction in (("read", "read"), ("write", "write"), ("fsync", "sync")):
        equal(rows[f"io_uring {name}"]["count"], job[direction]["total_ios"], f"{name}s")
        equal(rows[f"io_uring {name}"]["errors"], 0, f"errors of {name}")
    requests = requests_of(spans_of(recording))
    for name, direction in (("read", "read"), ("write", "write")):
        mine = [s for s in requests if s["name"] == f"io_uring {name}"]
        equal(len(mine), job[direction]["total_ios"], f"spans of {name}")
        equal({s["attributes"]["result"] for s in mine}, {4096}, f"results of {name}")
        equal({s["attributes"].get("file.path") for s in mine}, {data}, f"file of {name}")
    files = {row["key"]: row for row in fathom.report(recording, "file")["rows"]}
    check(files[data]["count"] >= len(requests), "the data file counts them")
    harness.check_sums(fathom, recording)
    harness.check_babeltrace(fathom, recording)


@tests.add
def workers_have_no_spans():
    """Of kernel-side workers --spans-only keeps their life, not each of their turns."""
    servers.need("fio")
    recording = fathom.path("workers")
    result = fathom.run("record", "-o", recording, "--spans-only", "--", *FIO, "--force_async=1",
                        f"--filename={fathom.path('fio-data-workers')}", "--output=/dev/null")
    equal(result.returncode, 0, f"fio: {result.stderr}")
    turns = {}
    for chunk in fathom.chunks(recording):
        text = subprocess.run(["babeltrace2", chunk["path"]], text=True, capture_output=True,
                              check=True).stdout
        for tid in re.findall(r" switch: .*\bnext_tid = (\d+)", text):
            turns[tid] = turns.get(tid, 0) + 1
    workers = [row["tid"] for row in fathom.report(recording, "thread")["rows"]
               if row["key"].startswith("iou-wrk")]
    check(workers, "there were workers")
    for tid in workers:
        check(turns.get(str(tid), 0) <= 2, f"worker {tid} came to a CPU {turns[str(tid)]} times")


with fathom:
    tests.run()
