#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""nginx under wrk: by the pids of master and workers, and with the whole host."""
import os
import sys

import harness
import loopback
import servers
from harness import check, equal

harness.require_root()
servers.need("nginx", "wrk")
fathom = harness.Fathom(sys.argv[1])
tests = harness.Tests()
port = loopback.free_port()
ACCESS, PAGE = fathom.path("access.log"), fathom.path("page.html")
PAGE_BYTES = 20000
WORKERS = 2
HTTP = f"""log_format short "$connection $status $body_bytes_sent $request_uri";
  access_log {ACCESS} short;
  keepalive_requests 50;"""

# wrk has no limit of its own: each connection waits a little before it asks
PACE = "function delay() return 2 end\n"


def nginx_start():
    with open(fathom.path("pace.lua"), "w", encoding="ascii") as text:
        text.write(PACE)
    with open(PAGE, "w", encoding="ascii") as text:
        text.write("x" * PAGE_BYTES)
    nginx = servers.Server(*loopback.nginx_command(fathom.dir, port, HTTP, WORKERS, "notice"))
    harness.until(lambda: servers.answers(port) and
                  len(servers.children(nginx.pid)) == WORKERS, "nginx")
    return nginx


def wrk_args():
    return ["wrk", "-t", 1, "-c", 4, "-d", "1s", "-s", fathom.path("pace.lua"),
            f"http://127.0.0.1:{port}/page.html"]


def log_lines():
    with open(ACCESS, encoding="ascii") as text:
        return [line.split() for line in text]


def check_workers(spans, lines):
    """What workers did, against what they wrote in the log."""
    logged = servers.on_path(servers.calls_of(spans, "write"), ACCESS)
    equal(len(logged), len(lines), "writes to the log, and its lines")
    accepted = {a["attributes"]["result"] >= 0 and (a["pid"], a["span_id"])
                for a in servers.calls_of(spans, "accept4")} - {False}
    check(len({line[0] for line in lines}) <= len(accepted), "connections in the log")
    opened = servers.on_path(servers.calls_of(spans, "openat"), PAGE)
    served = [line for line in lines if line[1] == "200" and line[3] == "/page.html"]
    equal(len(opened), len(served), "opens of the page, and answers")
    sent = servers.calls_of(spans, "sendfile")
    body = sum(s["attributes"]["result"] for s in sent if s["attributes"]["result"] > 0)
    equal(body, sum(int(line[2]) for line in served), "bytes sent from the page")
    equal({address for address, _ in servers.peers(sent)}, {"127.0.0.1"}, "peers of sendfile")


def record_pids(name):
    """The recording; pids of master and workers; the lines logged; the witness."""
    with nginx_start() as nginx:
        workers = servers.children(nginx.pid)
        before = len(log_lines())
        recorder = servers.Recorder(fathom, name, "-p", nginx.pid,
                                    *[arg for pid in workers for arg in ("-p", pid)])
        with servers.Witness(nginx.pid, *workers) as witness:
            servers.run(*wrk_args())
        recording = recorder.stop()
        return recording, nginx.pid, workers, log_lines()[before:], witness


@tests.add
def by_pids_agrees_with_the_access_log():
    recording, master, workers, lines, witness = record_pids("pid")
    check(len(lines) > 100, f"{len(lines)} answers")
    equal({row["pid"] for row in fathom.report(recording, "process")["rows"]},
          {master, *workers}, "processes")
    spans = [span for pid in workers for span in servers.spans_of(fathom, recording, pid)]
    for name in ("epoll_wait", "accept4", "recvfrom", "writev", "sendfile", "write", "close"):
        check(servers.calls_of(spans, name), f"{name} is among the calls")
    check_workers(spans, lines)
    everything = spans + servers.spans_of(fathom, recording, master)
    servers.check_report_and_trace(fathom, recording, everything)
    for pid in (master, *workers):
        witness.check(pid, [span for span in everything if span["pid"] == pid])
    files = {row["key"]: row for row in fathom.report(recording, "file")["rows"]}
    check(ACCESS in files, f"the log is among the files {list(files)}")
    servers.check_all(fathom, recording)


@tests.add
def with_the_whole_host():
    with nginx_start() as nginx:
        workers = servers.children(nginx.pid)
        before = len(log_lines())
        recording = fathom.record("host", "-a", "--detail", "calls", *servers.ROOM, "--", *wrk_args())
        lines = log_lines()[before:]
    names = {row["process"] for row in fathom.report(recording, "process")["rows"]}
    check({"nginx", "wrk"} <= names, f"processes: {names}")
    client = servers.pids_named(fathom, recording, "wrk").pop()
    ask = servers.spans_of(fathom, recording, client)
    check(("127.0.0.1", port) in servers.peers(servers.calls_of(ask, "connect")),
          "the server is the peer of wrk")
    spans = [span for pid in workers for span in servers.spans_of(fathom, recording, pid)]
    logged = servers.on_path(servers.calls_of(spans, "write"), ACCESS)
    # wrk ends while the last answers are on their way
    check(len(lines) - 8 <= len(logged) <= len(lines),
          f"{len(logged)} writes to the log, {len(lines)} lines")
    servers.check_all(fathom, recording)


with fathom:
    tests.run()
