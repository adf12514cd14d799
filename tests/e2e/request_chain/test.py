#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Requests through nginx, a Python service with a pool of threads, and redis, none of which is
instrumented. The service keeps a ledger of which call belonged to which request.
"""
import collections
import http.client
import json
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import harness
import loopback
import servers
from harness import check, equal

harness.require_root()
servers.need("nginx", "redis-server")
fathom = harness.Fathom(sys.argv[1])
SHOP, SCHEMA = sys.argv[2:4]
tests = harness.Tests()
NGINX, SERVICE, REDIS = (loopback.free_port() for _ in range(3))
ALONE, TOGETHER, CLIENTS = 20, 60, 4
REQUESTS = ALONE + TOGETHER
PROXY = """access_log off;
  server {{ listen 127.0.0.1:{front}; location / {{ proxy_pass http://127.0.0.1:{back}; }} }}
"""


def request(number):
    client = http.client.HTTPConnection("127.0.0.1", NGINX, timeout=30)
    client.request("GET", f"/item/{number}")
    answer = client.getresponse()
    body = answer.read()
    client.close()
    check(answer.status == 200 and b"secret-of-the-shop" in body, f"answer {answer.status}")


def record(name, level):
    """Records the three servers under load: first one request at a time, then several."""
    ledger = fathom.path(name + ".ledger")
    directory = fathom.path(name + ".nginx")
    os.mkdir(directory)
    config = PROXY.format(front=NGINX, back=SERVICE)
    with servers.Server("redis-server", "--port", REDIS, "--save", "", "--appendonly", "no",
                        "--dir", directory) as redis, \
            servers.Server(sys.executable, SHOP, SERVICE, REDIS, ledger) as shop, \
            servers.Server(*loopback.nginx_command(directory, loopback.free_port(), http=config)) as nginx:
        for port in (REDIS, SERVICE, NGINX):
            harness.until(lambda port=port: servers.answers(port), f"port {port}")
        harness.until(lambda: servers.children(nginx.pid), "the worker of nginx")
        recorder = servers.Recorder(fathom, name, "--detail", level, "--buffer", "32M",
                                    *(f"-p{server.pid}" for server in (redis, shop, nginx)))
        for number in range(ALONE):
            request(number)
        with ThreadPoolExecutor(CLIENTS) as clients:
            list(clients.map(request, range(TOGETHER)))
        recording = recorder.stop()
    with open(ledger, encoding="ascii") as lines:
        entries = [tuple(map(int, line.split())) for line in lines]
    equal(len(entries), REQUESTS, "lines of the ledger")
    return recording, entries


def requests_of(recording, *args):
    text = fathom.ok("requests", "--json", *args, recording)
    result = subprocess.run([sys.executable, SCHEMA, "requests"], input=text, text=True,
                            capture_output=True, timeout=60)
    equal(result.returncode, 0, f"the schema: {result.stdout}{result.stderr}")
    return json.loads(text)["traces"]


def ports(span):
    return span["attributes"]["network.local.port"], span["attributes"]["network.peer.port"]


def check_edges(traces, entries):
    """Each call of the service to redis belongs to the request of which the ledger says so."""
    spans = {span["span_id"]: span for trace in traces for span in trace["spans"]}
    served = collections.defaultdict(list)
    for span in spans.values():
        if span["kind"] == "server" and ports(span)[0] == SERVICE:
            served[ports(span)[1]].append(span)
    right = 0
    for client, mine, begin, taken, end in entries:
        mother = [span for span in served[client] if begin <= span["end_ns"] and span["begin_ns"] <= end]
        equal(len(mother), 1, f"requests of the client at port {client}")
        calls = [span for span in spans.values() if span["kind"] == "client" and
                 ports(span) == (mine, REDIS) and taken <= span["begin_ns"] and span["end_ns"] <= end]
        equal(len(calls), 2, f"calls of the request at {begin}")
        right += sum(span.get("parent_id") == mother[0]["span_id"] for span in calls)
    return right / (2 * len(entries))


def check_traces(traces):
    """One trace for each request, with its calls; times of spans sum to their length."""
    equal(len(traces), REQUESTS, "requests")
    sizes = collections.Counter(len(trace["spans"]) for trace in traces)
    check(sizes[7] >= 0.9 * REQUESTS, f"spans of the requests: {dict(sizes)}")
    for trace in traces:
        root = trace["spans"][0]
        check("parent_id" not in root and root["name"] == f"nginx:{NGINX}", f"a root {root}")
        for span in trace["spans"]:
            if span["threads"] == 1:
                equal(harness.total(span["time"]), span["end_ns"] - span["begin_ns"],
                      f"time of {span}")
            check(span["begin_ns"] >= root["begin_ns"] - 200_000 and
                  span["end_ns"] <= root["end_ns"] + 200_000, f"{span} outside of {root}")


def check_critical(recording, trace, *args):
    """The critical path: nothing is left out, and almost nothing is unknown."""
    text = fathom.ok("requests", "--json", "--critical", trace["trace_id"], *args, recording)
    result = subprocess.run([sys.executable, SCHEMA, "requests"], input=text, text=True,
                            capture_output=True, timeout=60)
    equal(result.returncode, 0, f"the schema: {result.stdout}{result.stderr}")
    answer = json.loads(text)
    equal(answer["traces"], [trace], "the request of the path")
    root, spans = trace["spans"][0], {span["span_id"]: span for span in trace["spans"]}
    at, states = root["begin_ns"], collections.Counter()
    for segment in answer["critical"]:
        equal(segment["begin_ns"], at, f"begin of {segment}")
        check(segment["span_id"] in spans, f"the span of {segment}")
        at = segment["end_ns"]
        states[segment["state"]] += at - segment["begin_ns"]
    equal(at, root["end_ns"], "end of the path")
    return states, {segment.get("service") for segment in answer["critical"]}


def check_paths(recording, traces):
    """The paths of the longest requests lead through all services."""
    longest = sorted(traces, key=lambda trace: trace["spans"][0]["begin_ns"] - trace["spans"][0]["end_ns"])
    total = collections.Counter()
    for trace in longest[:5]:
        states, services = check_critical(recording, trace)
        check({"nginx", "python3 shop.py"} <= services, f"services on the path: {services}")
        total += states
    print(f"# states on the paths: {dict(total)}")
    check(total["unknown"] <= 0.05 * sum(total.values()), f"unknown: {dict(total)}")
    text = fathom.ok("requests", "--critical", longest[0]["spans"][-1]["span_id"], recording)
    check("\n> +" in text and "most of it: " in text, text)
    equal(fathom.run("requests", "--critical", "0" * 16, recording).returncode, 1, "no such span")
    equal(fathom.run("requests", "--critical", "12", recording).returncode, 2, "no id")


def document(schema, *args):
    """What a command says as JSON, held against its schema."""
    text = fathom.ok(*args, "--json")
    result = subprocess.run([sys.executable, SCHEMA, schema], input=text, text=True,
                            capture_output=True, timeout=60)
    equal(result.returncode, 0, f"the schema: {result.stdout}{result.stderr}")
    return json.loads(text)


def check_why_values(recording, trace):
    """The words as values: redis waits for the shop, which waits for new work."""
    redis = next(span for span in trace["spans"] if span["service"] == "redis-server")
    answer = document("why", "why", recording, redis["pid"])
    equal((answer["pid"], answer["service"]), (redis["pid"], "redis-server"), "the process")
    equal(sum(waits["threads"] for waits in answer["waits"]), answer["threads"], "threads")
    chains = [waits["chain"] for waits in answer["waits"] if len(waits["chain"]) > 1]
    check(chains and chains[0][0]["tid"] == redis["pid"] and
          chains[0][1]["service"] == "python3 shop.py", f"for whom redis waits: {answer['waits']}")
    first = chains[0][0]
    equal((first["state"], first["does"]), ("waiting", "has waited"), "what redis does")
    equal(first["since_ns"] + first["for_ns"], answer["at_ns"], "since when")
    path = document("why", "why", recording, trace["trace_id"])
    wanted = document("requests", "requests", recording, "--critical", trace["trace_id"])
    equal(path["critical"], wanted["critical"], "the path of a request")
    equal((path["trace_id"], path["begin_ns"]), (trace["trace_id"], trace["spans"][0]["begin_ns"]), "whose")


def check_why(recording, trace):
    """Words about a process, and about a request."""
    served = [span for span in trace["spans"] if span["kind"] == "server"]
    for span in served:
        text = fathom.ok("why", recording, span["pid"])
        check(text.startswith(f"{span['service']} (pid {span['pid']}), ") and "has waited" in text, text)
        if span["service"] == "redis-server":
            check(re.search(r"for its client [0-9.]+:[0-9]+, python3 shop.py \(pid", text), text)
            check("└─ python3 shop.py (pid" in text, text)
    at = (served[0]["begin_ns"] + served[0]["end_ns"]) // 2
    text = fathom.ok("why", recording, served[0]["pid"], "--at", at)
    check("at that time" in text, text)
    equal(fathom.ok("why", recording, trace["trace_id"]),
          fathom.ok("requests", "--critical", trace["trace_id"], recording), "why of a request")
    check_why_values(recording, trace)
    equal(fathom.run("why", recording, 4194303).returncode, 1, "no such process")
    equal(fathom.run("why", recording).returncode, 2, "nothing is asked for")


def check_recording(name, level):
    recording, entries = record(name, level)
    traces = requests_of(recording)
    check_traces(traces)
    right = check_edges(traces, entries)
    print(f"# {level}: {100 * right:.1f} % of the calls to redis are of their request")
    check(right >= 0.95, f"{100 * right:.1f} % of the calls are of their request")
    check_paths(recording, traces)
    check_why(recording, traces[0])
    return recording, traces


@tests.add
def with_each_call():
    recording, traces = check_recording("calls", "calls")
    names = {span["service"] for trace in traces for span in trace["spans"]}
    equal(names, {"nginx", "python3 shop.py", "redis-server"}, "services")
    # the same bytes each time, and of any choice
    longest = max(traces, key=lambda trace: trace["end_ns"] - trace["begin_ns"])
    equal(requests_of(recording, "--slowest", 1), [longest], "the slowest request")
    equal(requests_of(recording, longest["trace_id"]), [longest], "a request by its id")
    equal(requests_of(recording, "--through", "redis-server"), traces, "requests through redis")
    edges = {(row["caller"], row["callee"]): row for row in fathom.report(recording, "edge")["rows"]}
    counts = {key: row["count"] for key, row in edges.items()}
    equal(counts, {("(not recorded)", f"nginx:{NGINX}"): REQUESTS,
                   ("nginx", f"python3 shop.py:{SERVICE}"): REQUESTS,
                   ("python3 shop.py", f"redis-server:{REDIS}"): 2 * REQUESTS}, "edges")
    for row in edges.values():
        equal(harness.total(row["time"]), row["total_ns"], f"time of {row['key']}")
    operations = fathom.report(recording, "operation")["rows"]
    equal({row["key"]: row["count"] for row in operations},
          {f"nginx:{NGINX}": REQUESTS, f"python3 shop.py:{SERVICE}": REQUESTS,
           f"redis-server:{REDIS}": 2 * REQUESTS}, "operations")
    check_text(recording, longest)


def check_text(recording, longest):
    text = fathom.ok("requests", recording)
    for words in (f"python3 shop.py:{SERVICE}", "the slowest requests:", longest["trace_id"],
                  f"└─redis-server:{REDIS}"):
        check(words in text, f"the text lacks {words!r}:\n{text}")
    lines = fathom.ok("requests", "--json-lines", recording).splitlines()
    equal(len(lines), REQUESTS, "lines")
    equal(fathom.ok("requests", "--each", "wc -l", recording).strip(), str(REQUESTS), "what --each read")
    equal(fathom.run("requests", "--each", "false", recording).returncode, 1, "a command that fails")
    dot = fathom.ok("requests", "--dot", recording)
    check(re.search(r'"nginx" -> "python3 shop.py" \[label="python3 shop.py:', dot), dot)
    equal(fathom.run("requests", "0" * 32, recording).returncode, 1, "a request that is not there")
    found = subprocess.run(["grep", "-rl", "secret-of-the-shop", recording], capture_output=True,
                           text=True, timeout=60)
    equal(found.stdout, "", "files with the content of a message")


@tests.add
def with_waits_and_bytes_alone():
    check_recording("waits", "waits,bytes")


with fathom:
    tests.run()
