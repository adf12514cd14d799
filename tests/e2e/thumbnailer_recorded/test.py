#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The thumbnail server under load, recorded: each phase with its count, time and system calls."""
import os
import subprocess
import sys

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
LOAD, SERVER, CLIENT = sys.argv[2:5]
REQUESTS = 24
PHASES = ["open", "seek", "decode", "encode", "send"]
DIRECTORY = fathom.path("thumbnails")
tests = harness.Tests()


def spans_of(*args):
    traces = fathom.trace_all(DIRECTORY, *args)["traces"]
    return [(trace, span) for trace in traces for span in trace["spans"]]


@tests.add
def the_load_is_recorded():
    result = subprocess.run([LOAD, "-n", str(REQUESTS), "-l", "10", SERVER, CLIENT, "--",
                             fathom.binary, "record", "-a", "--detail", "calls", "-o", DIRECTORY, "--"],
                            text=True, capture_output=True, timeout=200)
    equal(result.returncode, 0, f"load: {result.stdout}{result.stderr}")
    check("errors 0" in result.stdout.replace("  ", " "), f"no request failed: {result.stdout}")


@tests.add
def every_phase_is_counted():
    rows = {row["key"]: row for row in fathom.report(DIRECTORY, "name")["rows"]
            if row.get("service") == "thumbnailer"}
    for phase in PHASES:
        equal(rows[phase]["count"], REQUESTS, phase)
        check(rows[phase]["p50_ns"] <= rows[phase]["p99_ns"] <= rows[phase]["max_ns"],
              f"percentiles of {phase}")
    equal(rows["GET /thumbnail"]["count"], REQUESTS, "requests")
    decode = rows["decode"]["time"]
    computing = decode["user_ns"] + decode["kernel_ns"] + decode["runnable_ns"]
    check(computing > 0.8 * rows["decode"]["total_ns"], f"decoding computes: {decode}")
    services = {row["key"]: row for row in fathom.report(DIRECTORY, "service")["rows"]}
    equal(services["thumbnailer"]["count"], REQUESTS * (len(PHASES) + 1), "spans of the service")


@tests.add
def a_request_is_one_trace_from_client_to_syscall():
    by_id = {}
    for trace, span in spans_of():
        by_id[span["span_id"]] = span
    requests = [span for span in by_id.values()
                if span["name"] == "GET /thumbnail" and span["kind"] == "server"]
    equal(len(requests), REQUESTS, "server spans")
    for request in requests:
        parent = by_id[request["parent_id"]]
        equal(parent["service"], "thumbnailer-client", "the service of its parent")
        if parent["begin_bound"] == "hard":  # else it began before its program was found
            equal(parent["kind"], "client", "the kind of its parent")
        children = [s["name"] for s in by_id.values() if s.get("parent_id") == request["span_id"]
                    and s.get("service") == "thumbnailer"]
        equal(sorted(children), sorted(PHASES), "phases of a request")


@tests.add
def the_kernel_stands_under_the_phases():
    by_id = {span["span_id"]: span for _, span in spans_of()}
    reads = [span for span in by_id.values()
             if span["kind"] == "syscall" and span["name"] == "read" and
             by_id.get(span.get("parent_id"), {}).get("name") == "decode"]
    check(reads, "decoding reads")
    for read in reads:
        path = read["attributes"].get("file.path", "")
        equal(os.path.basename(path), "video.mp4", f"file of {read['attributes']}")
    sends = [span for span in by_id.values() if span["kind"] == "syscall" and
             by_id.get(span.get("parent_id"), {}).get("name") == "send"]
    check({"sendto", "write", "writev", "sendmsg"} & {span["name"] for span in sends},
          "sending sends")


@tests.add
def rows_have_the_keys_that_are_promised():
    harness.check_row_keys(fathom, DIRECTORY, "name", "service", "process", "thread", "syscall",
                           "file", "peer", "cause")


@tests.add
def sums_are_exact():
    harness.check_sums(fathom, DIRECTORY)


@tests.add
def agrees_with_babeltrace():
    return harness.check_babeltrace(fathom, DIRECTORY)


with fathom:
    tests.run()
