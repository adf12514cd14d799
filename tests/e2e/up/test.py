#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom up: spans of a program with libfathom are found by id, with their time split.

test.py FATHOM PROGRAM PUBLISHER SAMPLE: see running.py. The tests share one run of `fathom up`.
"""
import fcntl
import hashlib
import json
import os
import pwd
import re
import socket
import subprocess
import sys
import threading
import time
import urllib.parse

from cgroups import Cgroups, mounts, move, pids
from loopback import free_ports
from harness import Tests, check, equal, until
from running import (
    FATHOM, HERE, PARTS, PUBLISHER, SAMPLE_TRACE, Shop, Traced, Up, attribute, connected, finish, folder, received,
    split_of, started)

SLEEP_MS = 300

tests = Tests()
up = shop = None


@tests.add
def up_begins_and_records():
    global up, shop
    up = Up(os.path.join(folder, "kept"), "--slow", "slowshop:buy=1ms", "--budget", "90%")
    shop = Shop()
    until(up.records, "a chunk is sealed", 60)
    until(up.runs, "all parts run")


PLAIN_REQUESTS = 20
plain_ports = []


@tests.add
def plain_services_are_asked():
    """What becomes of it is looked at later: a request is decided ten seconds after its end."""
    plain_ports[:] = free_ports(2)
    front, back = plain_ports
    for arguments in ((front, back), (back,)):
        started.append(subprocess.Popen([sys.executable, os.path.join(HERE, "plain.py"),
                                         *map(str, arguments)]))
    connected(back).close()
    with connected(front) as connection:
        for number in range(PLAIN_REQUESTS):
            connection.sendall(b"%08d" % number)
            equal(connection.recv(8), b"%08d" % number, "answer")


@tests.add
def a_span_of_libfathom_is_found_by_id_with_its_split():
    times = []
    for _ in range(3):
        trace, span_id = shop.request(SLEEP_MS)
        span, took = up.span_found(trace, span_id)
        times.append(took)
    print(f"# found {', '.join(f'{took:.2f}' for took in times)} s after its end")
    equal(span["name"], "request", "name")
    equal(span["service"], "teashop", "service")
    equal(attribute(span, "shop.item"), "tea", "attribute")
    equal(attribute(span, "shop.count"), 3, "attribute")
    split = {key: value for key, value in span["attributes"].items()
             if key.startswith("fathom.time.")}
    duration = span["end_unix_ns"] - span["begin_unix_ns"]
    equal(sum(split.values()), duration, f"sum of the parts {split}")
    check(split["fathom.time.timer_ns"] > SLEEP_MS * 900_000, f"it slept: {split}")
    check(any(row["kind"] == "wait" and row["name"] == "timer" and
              row["total_ns"] > SLEEP_MS * 900_000
              for row in attribute(span, "fathom.kernel")), "the row of the sleep")
    inner = [other for other in up.spans(trace) if other["name"] == "inner"]
    equal([other["parent_id"] for other in inner], [span_id], "the child")


@tests.add
def answers_tell_what_was_recorded_of_their_time():
    trace, span_id = shop.request(20)
    span, _ = up.span_found(trace, span_id)
    its_time = f"from={span['begin_unix_ns']}&to={span['end_unix_ns']}"
    for path in (f"traces/{trace}", f"traces/{trace}/columns", f"where?trace={trace}", f"lanes?{its_time}", f"lanes/columns?{its_time}"):
        answer = up.get(f"/api/v1/{path}")[1]
        equal((answer["coverage"], answer["gaps"]), (1, []), f"what was recorded, {path}")
        check(answer["lost"] >= 0 and answer["incomplete"] >= 0, f"{path}: {answer}")
    answer = up.get(f"/api/v1/edges?{its_time}")[1]
    check(0 < answer["coverage"] <= 1, f"the ten seconds of edges, in which recording may have begun: {answer}")
    sides = up.get(f"/api/v1/compare?trace={trace}&base_trace={trace}")[1]
    equal([sides[side]["coverage"] for side in "ab"], [1, 1], "what was recorded of both sides")
    answer = up.get("/api/v1/search?from=1h&service=teashop")[1]
    check(0 < answer["coverage"] < 1, f"an hour, of which a moment was recorded: {answer['coverage']}")
    equal(answer["gaps"][0]["reason"], "unknown", "the time before")
    answer = up.get("/api/v1/search?from=2h&to=1h")[1]
    equal((answer["coverage"], answer["gaps"], answer["lost"]), (None, [], 0), "a time of which nothing is known")


@tests.add
def jaeger_shows_the_span_with_its_split():
    trace, span_id = shop.request(10)
    up.span_found(trace, span_id)
    status, answer = up.get(f"/api/traces/{trace}")
    equal(status, 200, "status")
    span = next(s for s in answer["data"][0]["spans"] if s["spanID"] == span_id)
    tags = {tag["key"]: tag["value"] for tag in span["tags"]}
    check(tags["fathom.time.timer_ns"] >= 9_000_000, f"tags: {tags}")
    process = answer["data"][0]["processes"][span["processID"]]
    equal(process["serviceName"], "teashop", "service")
    equal({tag["key"]: tag["value"] for tag in process["tags"]}["process.pid"],
          shop.process.pid, "pid")


@tests.add
def a_span_in_error_says_so():
    trace, span_id = shop.request("1 error")
    span = up.span_found(trace, span_id)[0]
    equal((span["status"], span.get("status_message")), ("error", "no tea"), "status")


@tests.add
def the_kernel_spans_of_a_span_in_error_are_stored():
    trace, span_id = shop.request("40 error")
    span = up.span_found(trace, span_id)[0]
    equal(attribute(span, "fathom.kernel.why"), "error", "why")
    kernel = [other for other in up.spans(trace) if attribute(other, "fathom.kind")]
    sleeps = [other for other in kernel if other["name"] == "timer" and
              attribute(other, "fathom.time.timer_ns") >= 30_000_000]
    equal([(other["parent_id"], attribute(other, "fathom.kind")) for other in sleeps],
          [(span_id, "wait")], f"the sleep, of {kernel}")
    without = up.spans(trace, "?kernel=0")
    check(all(attribute(other, "fathom.kind") is None for other in without), f"{without}")
    names = [row["operation"] for row in
             up.get("/api/v1/operations?service=teashop")[1]["operations"]]
    check("request" in names and "timer" not in names, f"operations: {names}")
    status = up.status()["map"]
    check(status["kernel_spans"] >= len(kernel) and status["kernel_left_out"] == 0, f"{status}")
    done = subprocess.run([FATHOM, "trace", up.dir, trace, "--json"], capture_output=True, text=True)
    equal(done.returncode, 0, f"fathom trace: {done.stderr}")
    shown = {other["span_id"] for told in json.loads(done.stdout)["traces"] for other in told["spans"]}
    check({other["span_id"] for other in kernel} <= shown, "fathom trace shows the same ids")


@tests.add
def a_span_over_many_chunks_has_its_whole_time():
    trace, span_id = shop.request(3500)
    span = up.span_found(trace, span_id)[0]
    check(attribute(span, "fathom.time.timer_ns") > 3_300_000_000, f"it slept: {span}")


@tests.add
def a_received_span_is_kept_beside():
    up.sample_send()
    until(lambda: len(up.spans(SAMPLE_TRACE)) == 2, "the received spans are found")


@tests.add
def a_received_span_gets_the_split_of_its_published_context():
    trace, span_id = b"the fourth trace".hex(), b"PUBLISH.".hex()
    publisher = subprocess.Popen([PUBLISHER], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                 text=True, bufsize=1)
    started.append(publisher)
    publisher.stdout.readline()
    begin = time.time_ns()
    publisher.stdin.write("200\n")
    publisher.stdout.readline()
    end = time.time_ns()
    context = up.span_found(trace, span_id)[0]
    equal(attribute(context, "fathom.kind"), "context", "kind")
    check(attribute(context, "fathom.time.timer_ns") >= 95_000_000, f"it slept: {context}")
    request = {"resourceSpans": [{"scopeSpans": [{"spans": [{
        "traceId": trace, "spanId": span_id, "name": "told by its tracer",
        "startTimeUnixNano": str(begin), "endTimeUnixNano": str(end)}]}]}]}
    equal(up.ask("OTLP over HTTP", "/v1/traces", json.dumps(request), "application/json")[0], 200,
          "status")
    until(lambda: up.spans(trace)[0]["name"] == "told by its tracer", "it is joined")
    joined = up.spans(trace, "?kernel=0")
    equal(len(joined), 1, f"spans {joined}")
    waits = [span for span in up.spans(trace) if attribute(span, "fathom.kind") == "wait"]
    check(waits and all(span["parent_id"] == span_id for span in waits), f"its waits: {waits}")
    equal(attribute(joined[0], "fathom.join"), "context", "join")
    split = [value for key, value in joined[0]["attributes"].items()
             if key.startswith("fathom.time.")]
    equal(sum(split), end - begin, "the parts sum to the duration that its tracer told")
    publisher.stdin.close()
    publisher.wait(10)
    publisher.stdout.close()


@tests.add
def a_span_of_a_plain_tracer_gets_its_split():
    traced = Traced(up, "nested")
    inner, outer = traced.joined()
    for span, given in zip((inner, outer), traced.spans):
        equal(attribute(span, "fathom.join"), "connection", f"join of {span}")
        equal((attribute(span, "fathom.pid"), attribute(span, "fathom.tid")),
              (traced.pid, traced.pid), "the thread")
        equal(sum(split_of(span).values()), int(given["end"]) - int(given["begin"]),
              f"sum of {split_of(span)}")
    check(split_of(outer)["timer"] >= 95_000_000, f"it slept: {split_of(outer)}")
    for span in (inner, outer):
        check(split_of(span)["cpu"] >= 55_000_000, f"it computed: {split_of(span)}")
    check(split_of(inner).get("timer", 0) == 0, f"it did not sleep: {split_of(inner)}")
    kernel = [span for span in up.spans(traced.spans[1]["trace"]) if span["name"] == "timer"]
    equal([span["parent_id"] for span in kernel], [outer["span_id"]], "its sleep is its child")
    equal(attribute(outer, "fathom.kernel.why"), "error", "why its kernel spans are stored")
    for query, which in (("", "stored"), ("?kernel=0", "none"), ("?kernel=all", "all")):
        answer = up.get(f"/api/v1/traces/{traced.spans[1]['trace']}{query}")[1]
        equal(answer["kernel"], which, f"kernel spans, {query}")
        equal(len([span for span in answer["spans"] if span["name"] == "timer"]),
              0 if which == "none" else 1, f"sleeps, {query}")
    traced.end()
    metrics = up.ask("queries", "/metrics")[1].decode()
    check(re.search(r'time_seconds_total\{service="plainshop",operation="outer".*part="timer"\} 0\.[01]',
                    metrics), "its sleep is in /metrics")


@tests.add
def the_wait_of_a_span_of_a_plain_tracer_names_its_file():
    traced = Traced(up, "locked")
    span, = traced.joined()
    for query in ("", "?kernel=all"):
        waits = [wait for wait in up.spans(span["trace_id"], query) if wait["name"] == "lock"]
        equal([(attribute(wait, "syscall"), attribute(wait, "fd.name")) for wait in waits], [("flock", span["name"])],
              f"the wait, {query}")
        check(re.fullmatch(r"(flock|sh|sleep)/\d+", attribute(waits[0], "waker") or ""), f"who had the lock: {waits}")
    traced.end()


@tests.add
def what_cannot_be_joined_says_why():
    for case, why in (("overlapping", "ambiguous"), ("unnamed_threads", "ambiguous"),
                      ("elsewhere", "other host")):
        traced = Traced(up, case)
        for span in traced.joined():
            equal(attribute(span, "fathom.join"), why, f"join, {case}")
            equal(split_of(span), {}, f"split, {case}")
        traced.end()
    traced = Traced(up, "threads")
    for span in traced.joined():
        equal(attribute(span, "fathom.join"), "thread", "join by the id of the thread")
        equal(attribute(span, "fathom.tid"), attribute(span, "thread.id"), "the thread")
        check(split_of(span)["timer"] >= 45_000_000 and split_of(span)["cpu"] >= 25_000_000,
              f"split: {split_of(span)}")
    traced.end()
    for _ in range(5):  # both may be on a CPU at one of the four instants
        traced = Traced(up, "bound")
        spans = traced.joined()
        traced.end()
        if {attribute(span, "fathom.join") for span in spans} == {"connection"}:
            break
    equal({attribute(span, "fathom.join") for span in spans}, {"connection"}, "join at once")
    equal(len({attribute(span, "fathom.tid") for span in spans}), 2, "threads")
    join = up.status()["join"]
    check(join["connection"] >= 2 and join["thread"] >= 2 and join["ambiguous"] >= 4 and
          join["other_host"] >= 2, f"{join}")


@tests.add
def a_span_of_a_container_that_another_program_sends_gets_its_split():
    """As a collector does. The number of the process is one in its container."""
    root = mounts().get("v2")
    if not root:
        return "no cgroups of version 2"
    container = hashlib.sha256(f"{os.getpid()} forwarded".encode()).hexdigest()
    with Cgroups(root) as cgroups:
        inside = cgroups.make(f"fathom-test-{os.getpid()}", container)
        with subprocess.Popen(["unshare", "--pid", "--fork", "--kill-child", sys.executable, os.path.join(HERE, "traced.py"),
                               "0", "containedshop", "nested"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                              preexec_fn=lambda: move(os.getpid(), inside)) as program:
            spans = [line.split() for line in iter(program.stdout.readline, "\n")]
            pid = max(int(one) for one in pids(inside))
            resource = [{"key": "service.name", "value": {"stringValue": "containedshop"}},
                        {"key": "host.name", "value": {"stringValue": container[:12]}},
                        {"key": "process.pid", "value": {"intValue": "1"}}]
            body = {"resourceSpans": [{"resource": {"attributes": resource}, "scopeSpans": [{"spans": [
                {"name": name, "traceId": trace, "spanId": span, "startTimeUnixNano": begin, "endTimeUnixNano": end,
                 "parentSpanId": "" if name == "outer" else spans[-1][2]}
                for name, trace, span, begin, end in spans]}]}]}
            equal(up.ask("OTLP over HTTP", "/v1/traces", json.dumps(body), "application/json")[0], 200, "status")
            received.append(len(spans))

            def joined():
                return [span for span in up.spans(spans[0][1], "?kernel=0") if attribute(span, "fathom.join")]

            until(lambda: len(joined()) == len(spans), "they are joined")
            equal({(attribute(span, "fathom.join"), attribute(span, "fathom.pid")) for span in joined()},
                  {("process", pid)}, "join")
            program.stdin.close()
    return None


@tests.add
def it_is_told_who_sends():
    traced = Traced(up, "nested", "toldshop")
    sender = []

    def look():
        sender[:] = [told for told in up.get("/api/v1/senders")[1]["senders"]
                     if told.get("pid") == traced.pid]
        return sender

    until(lambda: look() and sender[0]["services"], "the sender is told")
    equal((sender[0]["services"], sender[0]["spans"], sender[0]["address"]),
          (["toldshop"], 2, "127.0.0.1"), f"{sender}")
    check(sender[0]["program"].startswith("python3"), f"{sender}")
    until(lambda: any(told.get("pid") == traced.pid for told in up.status()["senders"]),
          "the status tells it, too")
    words = f"(pid {traced.pid})", "toldshop", "joined"
    until(lambda: all(word in subprocess.run([FATHOM, "status", up.dir], capture_output=True,
                                             text=True).stdout for word in words),
          "and so does its text")
    traced.end()


def pins(*arguments):
    return subprocess.run([FATHOM, "pin", "-o", up.dir, *arguments], capture_output=True, text=True)


@tests.add
def an_operation_that_gets_slow_is_looked_at_closely():
    traced = Traced(up, "slow", "slowshop")
    spans = traced.joined()
    # on a busy host not each span has a thread that worked in its time
    whys = {attribute(span, "fathom.kernel.why") for span in spans
            if attribute(span, "fathom.join") == "connection"}
    equal(whys, {"slow"}, f"why, of spans joined by {[attribute(s, 'fathom.join') for s in spans]}")
    until(lambda: up.status()["capture"]["raises"] == 1, "the calls of its process are recorded")
    traced.end()
    until(lambda: up.status()["map"]["pins"] >= 1, "a span that took ten times as long is pinned")
    equal(up.status()["map"]["pins_failed"], 0, "pins that failed")
    shown = pins("--list")
    check(shown.returncode == 0 and shown.stdout.rstrip().endswith("slow"), f"{shown}")
    path = shown.stdout.split("  ")[0]
    done = subprocess.run([FATHOM, "report", path, "--by", "process", "--json"],
                          capture_output=True, text=True)
    equal(done.returncode, 0, f"fathom report: {done.stderr}")


@tests.add
def a_trace_is_pinned_until_the_pin_is_removed():
    trace, span_id = shop.request(20)
    up.span_found(trace, span_id)
    done = pins(trace)
    equal(done.returncode, 0, f"fathom pin: {done.stderr}")
    path = done.stdout.split("  ")[0]
    shown = subprocess.run([FATHOM, "trace", path, trace, "--json"], capture_output=True, text=True)
    equal(shown.returncode, 0, f"fathom trace: {shown.stderr}")
    check(span_id in shown.stdout, "the pin has the span")
    listed = up.get("/api/v1/pins")[1]["pins"]
    equal([pin["why"] for pin in listed if pin.get("trace_id") == trace], ["asked"], f"{listed}")
    name = os.path.basename(path)
    equal(pins("--remove", path + "/").returncode, 0, "it is removed")
    check(not os.path.exists(path), "it is gone")
    for arguments, why in (((name, "--list"), "exclude"), (("--remove", name), "no pin"),
                           (("f" * 32,), "no span"), ((), "say what"), (("--from", "x"), "from and to")):
        refused = pins(*arguments)
        check(refused.returncode and why in refused.stderr, f"{arguments}: {refused.stderr}")
    equal(up.ask("queries", "/api/v1/pins?from=1m", b"x", "text/plain")[0], 415, "type of a form")


@tests.add
def a_red_monitor_pins_its_minute():
    service = up.get("/api/v1/services")[1]["services"][0]["service"]
    rule = {"name": "any request", "service": service, "value": "rate", "above": "0/s", "over": "1h"}
    made = up.ask("queries", "/api/v1/monitors", json.dumps(rule), "application/json")
    equal(made[0], 201, f"{made}")
    until(lambda: "monitor any request" in [pin["why"] for pin in up.get("/api/v1/pins")[1]["pins"]],
          "the chunks of its minute are pinned")
    until(lambda: [red["name"] for red in up.status()["monitors"]["red"]] == ["any request"], "the status has it")


@tests.add
def report_takes_the_directory():
    done = subprocess.run([FATHOM, "report", up.dir, "--by", "name", "--json"],
                          capture_output=True, text=True)
    equal(done.returncode, 0, f"fathom report: {done.stderr}")
    rows = {row["key"]: row for row in json.loads(done.stdout)["rows"]}
    check(rows["request"]["count"] >= 6, f"rows: {list(rows)}")


@tests.add
def only_capture_has_privileges():
    for name in ("map", "serve"):
        pid = up.pid(name)
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            told = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
        user = up.status()["user"]
        equal(told["Uid"].split(), [str(pwd.getpwnam(user).pw_uid)] * 4, f"user of {name}")
        equal(int(told["CapEff"], 16) | int(told["CapPrm"], 16), 0, f"capabilities of {name}")
        equal(told["NoNewPrivs"].strip(), "1", f"no_new_privs of {name}")


told_ports = []


@tests.add
def services_with_spans_of_their_own_are_asked():
    """As plain services are: what becomes of it is looked at later."""
    front, back = free_ports(2)
    for arguments in (("toldback", back), ("toldfront", front, back)):
        started.append(subprocess.Popen([sys.executable, os.path.join(HERE, "sending.py"),
                                         str(up.ports["OTLP over HTTP"]), *map(str, arguments)]))
    shop.process.stdin.write("serve\n")
    told_ports[:] = [front, back, int(shop.process.stdout.readline())]

    for port, size in ((back, 0), (front, 48), (told_ports[2], 1)):
        with connected(port) as connection:
            for _ in range(PLAIN_REQUESTS):
                connection.sendall(b"0" * size)
                equal(len(connection.recv(size)), size, "answer")
    received.append(3 * PLAIN_REQUESTS)


LOCKED_REQUESTS, LOCKED_S = 3, 0.5
locked_port = []


@tests.add
def a_plain_service_waits_for_a_lock_that_this_test_holds():
    """After as many requests as it takes to know what is usual; it is looked at later, too."""
    locked_port[:] = free_ports(1)
    path = os.path.join(folder, "lock")
    started.append(subprocess.Popen([sys.executable, os.path.join(HERE, "plain.py"), str(locked_port[0]), "0", path]))
    with connected(locked_port[0]) as connection, open(path, "w", encoding="ascii") as file:
        for number in range(150 + LOCKED_REQUESTS):
            if number >= 150:
                fcntl.flock(file, fcntl.LOCK_EX)
            connection.sendall(b"%08d" % number)
            if number >= 150:
                time.sleep(LOCKED_S)
                fcntl.flock(file, fcntl.LOCK_UN)
            equal(connection.recv(8), b"%08d" % number, "answer")


def requests_at(port):
    """Traces that have the server's span of a request at this port."""
    found = up.get(f"/api/v1/search?attribute=network.local.port={port}&limit=500")[1]["traces"]
    return [trace["trace_id"] for trace in found]


@tests.add
def requests_of_plain_services_are_traces():
    front, back = plain_ports
    until(lambda: len(requests_at(front)) >= PLAIN_REQUESTS, "the requests are stored", 60)
    traces = requests_at(front)
    equal(len(traces), PLAIN_REQUESTS, "each one once")
    whole = 0
    for trace in traces:
        spans = up.spans(trace, "?kernel=0")
        by_id = {span["span_id"]: span for span in spans}
        kinds = [(span["kind"], span["name"].rpartition(":")[2]) for span in spans]
        whole += sorted(kinds) == sorted([("client", str(front)), ("server", str(front)),
                                          ("client", str(back)), ("server", str(back))])
        equal({span["service"] for span in spans if span["kind"] == "server"}, {"python3 plain.py"},
              "service")
        for span in spans:
            equal(sum(split_of(span).values()), span["end_unix_ns"] - span["begin_unix_ns"],
                  f"sum of {split_of(span)}")
            if "parent_id" in span:
                check(span["parent_id"] in by_id, f"its parent is there: {span}")
                check(attribute(span, "edge.evidence") and attribute(span, "edge.probability") > 0.5,
                      f"evidence of {span}")
    check(whole >= 0.9 * PLAIN_REQUESTS, f"{whole} of {PLAIN_REQUESTS} have all spans and no other")
    told = up.status()["requests"]
    check(told["followed"] and told["stored"] >= PLAIN_REQUESTS and not told["chunks_left_out"],
          f"{told}")
    until(lambda: up.status()["requests"]["learned"] > 0, "what they do is learned", 30)


@tests.add
def the_cause_of_a_slow_request_of_a_plain_service_is_told():
    """The wait, the file, and who held the lock: by the trace, by `where` and by `compare`."""
    port, path, found = locked_port[0], os.path.join(folder, "lock"), []
    operation = {"service": "python3 plain.py", "operation": f"python3 plain.py:{port}", "kind": "server", "from": "15m"}
    slow = {**operation, "min_duration": f"{LOCKED_S * 900:.0f}ms"}

    def query(view, **values):
        return up.get(f"/api/v1/{view}?{urllib.parse.urlencode(values)}")[1]

    def look():
        found[:] = query("search", **slow, sort="duration", limit=LOCKED_REQUESTS)["traces"]
        return len(found) == LOCKED_REQUESTS

    until(look, "the requests are stored", 60)
    # the first one: a later one may be as long as more than a hundredth of those before it
    spans = min((up.spans(trace["trace_id"]) for trace in found),
                key=lambda each: min(span["begin_unix_ns"] for span in each))
    server = next(span for span in spans if span["kind"] == "server")
    equal(attribute(server, "fathom.kernel.why"), "slow", "why its kernel spans are stored")
    equal(sum(row["count"] for row in attribute(server, "fathom.kernel") if row["name"] == "lock"), 1, "rows")
    waits = [span for span in spans if span.get("parent_id") == server["span_id"] and span["name"] == "lock"]
    equal([(attribute(wait, "syscall"), attribute(wait, "fd.name"), attribute(wait, "waker.tid")) for wait in waits],
          [("flock", path, threading.get_native_id())], f"the wait in {spans}")
    place = f"flock on {path}, woken by python3"
    tree = json.dumps(query("where", **slow))
    check(place in tree, f"{place} in {tree}")
    told = query("compare", **slow, base_from="15m", base_max_duration=f"{LOCKED_S * 900:.0f}ms")["differences"]
    first = [(row["kind"], row["key"], row["value"]) for row in told if row["kind"] in ("part", "place")][:2]
    equal(sorted(first), [("part", "", "lock"), ("place", "lock", place)], "the first differences")
    usual = query("search", **operation, max_duration=f"{LOCKED_S * 900:.0f}ms", limit=500)["traces"]
    whys = [attribute(span, "fathom.kernel.why") for trace in usual for span in up.spans(trace["trace_id"], "?kernel=0")
            if span["kind"] == "server"]
    check(0 < len([why for why in whys if why]) < 20, f"some of the usual ones for comparison: {whys}")


def operations_of(service):
    """The count of each operation, by kind and name."""
    found = up.get(f"/api/v1/operations?service={service}")[1]["operations"]
    return {(row["kind"], row["operation"]): row["count"] for row in found}


def chain_of(trace, last):
    """Kinds and names of the span with this name, and of those above it, from the root on."""
    spans = up.spans(trace, "?kernel=0")
    by_id = {span["span_id"]: span for span in spans}
    span = next((span for span in spans if span["name"] == last), None)
    chain = []
    while span:
        chain.insert(0, (span["kind"], span["name"]))
        span = by_id.get(span.get("parent_id"))
    return chain


def is_counted_once(port, chain, counts):
    """The requests at a port are stored as `chain`, and the services count the operations of `counts`."""
    until(lambda: len(requests_at(port)) >= PLAIN_REQUESTS, "the requests are stored", 60)
    traces = requests_at(port)
    chains = [chain_of(trace, chain[-1][1]) for trace in traces]
    check(chains.count(chain) >= 0.9 * PLAIN_REQUESTS, f"{chain} in {chains[:3]}")
    for service, operations in counts.items():
        found = operations_of(service)
        check(all(found.get(key) == PLAIN_REQUESTS for key in operations), f"{operations} in {found}")
        check(sum(count for (kind, _), count in found.items() if kind != "internal") <=
              1.1 * PLAIN_REQUESTS * len(operations), f"nothing twice: {found}")


@tests.add
def requests_that_an_application_tells_are_counted_once():
    """By the spans that it sends, which are in one trace with what fathom found."""
    front, back, _ = told_ports
    chain = [("client", f"toldfront:{front}"), ("server", f"toldfront:{front}"), ("server", "serve toldfront"),
             ("client", "ask"), ("client", f"toldback:{back}"), ("server", f"toldback:{back}"),
             ("server", "serve toldback")]
    is_counted_once(front, chain, {"toldfront": [("server", "serve toldfront"), ("client", "ask")],
                                   "toldback": [("server", "serve toldback")]})
    edges = {(edge["from"], edge["to"]): edge["count"] for edge in up.get("/api/v1/edges")[1]["edges"]}
    callers = [count for (_, to), count in edges.items() if to == "toldfront"]
    equal(callers, [PLAIN_REQUESTS], f"calls in {edges}")
    # of the first spans of a connection it may not be known whose they are
    check(PLAIN_REQUESTS <= edges.get(("toldfront", "toldback"), 0) <= 1.1 * PLAIN_REQUESTS, f"calls in {edges}")


@tests.add
def requests_that_libfathom_tells_are_counted_once():
    port = told_ports[2]
    chain = [("client", f"teashop:{port}"), ("server", f"teashop:{port}"), ("internal", "answer")]
    is_counted_once(port, chain, {})
    found = operations_of("teashop")
    equal((found.get(("internal", "answer")), found.get(("server", f"teashop:{port}"))),
          (PLAIN_REQUESTS, None), f"in {found}")


@tests.add
def why_looks_at_the_running_one():
    """Where no recording is named, and none lies in the current directory."""
    def asked(directory):
        return subprocess.run([FATHOM, "why", str(shop.process.pid)], cwd=folder, capture_output=True, text=True,
                              env={**os.environ, "FATHOM_OUTPUT": directory})

    done = asked(up.dir)
    equal(done.returncode, 0, f"status: {done.stderr}")
    check(f"(pid {shop.process.pid}), 1 thread, a moment ago:" in done.stdout, done.stdout)
    done = asked(os.path.join(folder, "nowhere"))
    equal(done.returncode, 1, "status")
    check("no 'fathom up' runs in" in done.stderr, done.stderr)


@tests.add
def status_tells_of_each_process_and_stage():
    until(lambda: up.status()["state"] == "ok", "it is well")
    status = up.status()
    equal([part["name"] for part in status["processes"]], ["up", *PARTS, "keep"], "processes")
    for part in status["processes"]:
        check(part["memory_bytes"] > 0 and part["pid"] > 0, f"{part}")
    check(status["map"]["chunks"] > 0 and status["map"]["spans"] >= 12, f"{status['map']}")
    check(status["capture"]["behind_ns"] < 5e9 and status["map"]["behind_ns"] < 5e9, "lag")
    equal(status["received"]["spans"], 3 + sum(received), "received spans")
    served = up.get("/api/v1/status")[1]
    equal(served["state"], "ok", "state")
    equal([part["pid"] for part in served["processes"]],
          [part["pid"] for part in status["processes"]], "pids")
    text = subprocess.run([FATHOM, "status", up.dir], capture_output=True, text=True)
    equal(text.returncode, 0, "fathom status")
    for word in ("capture", "running", "mapped", "followed", "stored", "nobody" if status["user"] == "nobody"
                 else status["user"]):
        check(word in text.stdout, f"{word} in {text.stdout}")


@tests.add
def another_one_in_the_same_directory_is_refused():
    done = subprocess.run([FATHOM, "up", "-o", up.dir, "--http", "127.0.0.1:0"],
                          capture_output=True, text=True, timeout=30)
    equal(done.returncode, 1, "status")
    check("another 'fathom up' or 'fathom serve' uses" in done.stderr, done.stderr)


@tests.add
def a_port_in_use_names_who_has_it():
    with socket.create_server(("127.0.0.1", 0)) as holder:
        port = holder.getsockname()[1]
        done = subprocess.run([FATHOM, "up", "-o", os.path.join(folder, "other"), "--otlp-http",
                               f"127.0.0.1:{port}", "--http", "off", "--otlp-grpc", "off", "--zipkin",
                               "off"],
                              capture_output=True, text=True, timeout=30)
    equal(done.returncode, 1, "status")
    equal(len(done.stderr.splitlines()), 1, f"lines of {done.stderr}")
    check(f"(pid {os.getpid()})" in done.stderr and "--otlp-http off" in done.stderr, done.stderr)


try:
    tests.run()
finally:
    finish()
