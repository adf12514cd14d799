#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom serve: what its query APIs answer. apis.py FATHOM"""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.parse
import urllib.request

import charts
import columns
import monitor_answers
from checks import Checks
from described import Described, read_sources
from server import PATIENCE, Server

HERE = os.path.dirname(os.path.abspath(__file__))
GRAFANA = os.path.join(HERE, "../../../docs/grafana")
NOW_NS = time.time_ns() // 1000000 * 1000000 - 30 * 10**9  # the spans begin half a minute ago
KINDS = {"internal": 1, "server": 2, "client": 3}


def value_of(value):
    """A value in OTLP's JSON."""
    for kind, name in ((bool, "boolValue"), (int, "intValue"), (float, "doubleValue")):
        if isinstance(value, kind):
            return {name: value}
    if isinstance(value, list):
        return {"arrayValue": {"values": [value_of(item) for item in value]}}
    return {"stringValue": value}


def attributes_of(values):
    return [{"key": key, "value": value_of(value)} for key, value in values.items()]


def span_of(trace, span, name, **more):
    """A span in OTLP's JSON; `at` and `took` in milliseconds."""
    begin = NOW_NS + more.get("at", 0) * 1000000
    return {"traceId": f"{trace:032x}", "spanId": f"{span:016x}", "name": name,
            "parentSpanId": f"{more['parent']:016x}" if "parent" in more else "",
            "kind": KINDS[more.get("kind", "internal")],
            "startTimeUnixNano": str(begin),
            "endTimeUnixNano": str(begin + int(more.get("took", 1) * 1000000)),
            "attributes": attributes_of(more.get("attributes", {})), **more.get("fields", {})}


def send(server, service, *spans, resource=None, scope="lib"):
    body = {"resourceSpans": [{
        "resource": {"attributes": attributes_of({"service.name": service, **(resource or {})})},
        "scopeSpans": [{"scope": {"name": scope, "version": "2"}, "spans": spans}]}]}
    status, _ = server.post(json.dumps(body).encode(), Content_Type="application/json")
    if status != 200:
        raise RuntimeError(f"the spans of {service} are refused: {status}")


SHOP, LONE, FULL = 0xa1b2c3, (0xfeed << 64) + 0xbee, (0xf << 64) + 1  # ids of traces


def send_sample(server):
    """A request of three services, of which one fails, and a trace of one span."""
    failed = {"status": {"code": 2, "message": "no money"}, "traceState": "v=1",
              "events": [{"timeUnixNano": str(NOW_NS), "name": "retry",
                          "attributes": attributes_of({"try": 2})}],
              "links": [{"traceId": f"{LONE:032x}", "spanId": f"{9:016x}"}]}
    send(server, "api-shop", span_of(SHOP, 1, "GET /buy", kind="server", took=50, attributes={
        "http.route": "/buy", "http.status_code": 500, "fathom.time.lock_ns": 20000000,
        "fathom.time.user_ns": 30000000}),
        span_of(SHOP, 2, "pay", kind="client", at=5, took=40, parent=1),
        resource={"host.name": "node-7", "process.pid": 41})
    send(server, "api-bank", span_of(SHOP, 3, "POST /pay", kind="server", at=6, took=30.25, parent=2,
                                     attributes={"sizes": [1, 2], "ok": True, "part": 0.5},
                                     fields=failed), scope="bank-lib")
    send(server, "api/odd name", span_of(LONE, 9, "only", took=2000))
    server.wait("the sample is stored",
                lambda: len(server.trace(f"{SHOP:x}")) == 3 and server.trace(f"{LONE:x}"))


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


class Prometheus:
    """Debian's Prometheus, which scrapes the server each second."""

    def __init__(self, server, folder):
        self.port = free_port()
        config = os.path.join(folder, "prometheus.yml")
        with open(config, "w", encoding="utf-8") as file:
            file.write("global:\n  scrape_interval: 1s\nscrape_configs:\n- job_name: fathom\n"
                       f"  static_configs:\n  - targets: ['127.0.0.1:{server.ports['queries']}']\n")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/prometheus",
             f"--web.listen-address=127.0.0.1:{self.port}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, path, **parameters):
        """The data of an answer, None if there is none."""
        url = f"http://127.0.0.1:{self.port}/api/v1/{path}?{urllib.parse.urlencode(parameters)}"
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
                return json.load(answer)["data"]
        except (urllib.error.URLError, OSError):
            return None

    def end(self):
        self.process.terminate()
        self.process.wait(PATIENCE)


def ask(server, path, which="queries", **parameters):
    """Status and answer of a query, in JSON where it is."""
    query = "?" + urllib.parse.urlencode(parameters, doseq=True) if parameters else ""
    status, body = server.ask(which, "GET", path + query)
    return status, json.loads(body) if body[:1] in (b"{", b"[") else body.decode()


def hex32(trace):
    return f"{trace:032x}"


def check_jaeger_search(server, checks):
    def found(**parameters):
        answer = ask(server, "/api/traces", **parameters)[1]
        return sorted((int(trace["traceID"], 16), len(trace["spans"]))
                      for trace in answer["data"] or [])
    whole = [(SHOP, 3)]
    for tag, value, service in (
            ("otel.status_code", "ERROR", "api-bank"), ("error", "true", "api-bank"),
            ("error", True, "api-bank"), ("otel.status_description", "no money", "api-bank"),
            ("otel.scope.name", "bank-lib", "api-bank"), ("otel.scope.version", "2", "api-bank"),
            ("w3c.tracestate", "v=1", "api-bank"), ("span.kind", "server", "api-shop"),
            ("span.kind", "client", "api-shop"), ("host.name", "node-7", "api-shop"),
            ("process.pid", "41", "api-shop"), ("http.status_code", "500", "api-shop"),
            ("http.status_code", 500, "api-shop"), ("ok", "true", "api-bank"),
            ("part", "0.5", "api-bank")):
        checks.equal(f"Jaeger finds a whole trace by {tag}={value}", found(
            service=service, tags=json.dumps({tag: value})), whole)
    for tag, value, service in (
            ("otel.status_code", "OK", "api-bank"), ("error", "true", "api-shop"),
            ("error", "false", "api-bank"), ("otel.status_description", "no", "api-bank"),
            ("otel.scope.name", "bank", "api-bank"), ("otel.scope.name", "bank-lib", "api-shop"),
            ("span.kind", "consumer", "api-shop"), ("span.kind", "client", "api-bank"),
            ("span.kind", "unspecified", "api-bank"), ("host.name", "node-7", "api-bank")):
        checks.equal(f"Jaeger finds none by {tag}={value} of {service}", found(
            service=service, tags=json.dumps({tag: value})), [])
    checks.equal("Jaeger: all conditions hold for one span", (
        found(service="api-shop", tags='{"span.kind":"client","http.route":"/buy"}'),
        found(service="api-shop", tags='{"span.kind":"server","http.route":"/buy"}')),
        ([], whole))
    for text in (f"{SHOP:x}", f"{SHOP:X}", f"000{SHOP:x}", f"{SHOP:032X}"):
        status, answer = ask(server, f"/api/traces/{text}")
        checks.equal(f"Jaeger: by id {text}", (status, answer["data"][0]["traceID"],
                                               len(answer["data"][0]["spans"])),
                     (200, hex32(SHOP), 3))


def check_jaeger_v3(server, checks):
    def stamp(ns):
        seconds = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(ns // 10**9))
        return f"{seconds}.{ns % 10**9:09d}Z"
    window = {"query.startTimeMin": stamp(NOW_NS - 10**9), "query.startTimeMax": stamp(NOW_NS + 60 * 10**9)}
    older = {"query.start_time_min": stamp(NOW_NS), "query.start_time_max": stamp(NOW_NS + 10**9)}
    checks.equal("v3: services", ask(server, "/api/v3/services"),
                 (200, {"services": ["api-bank", "api-shop", "api/odd name"]}))
    checks.equal("v3: operations", ask(server, "/api/v3/operations", service="api-shop"), (200, {
        "operations": [{"name": "GET /buy", "spanKind": "server"},
                       {"name": "pay", "spanKind": "client"}]}))
    checks.equal("v3: operations of a kind", ask(
        server, "/api/v3/operations", service="api-shop", span_kind="client")[1],
        {"operations": [{"name": "pay", "spanKind": "client"}]})
    status, answer = ask(server, f"/api/v3/traces/{SHOP:X}")
    resources = answer["result"]["resourceSpans"]
    spans = [span for r in resources for s in r["scopeSpans"] for span in s["spans"]]
    checks.equal("v3: a trace", (status, [span["spanId"] for span in spans]),
                 (200, [f"{n:016x}" for n in (1, 2, 3)]))
    begin = str(NOW_NS + 6000000)
    checks.equal("v3: a span", spans[2], {
        "traceId": hex32(SHOP), "spanId": f"{3:016x}", "traceState": "v=1",
        "parentSpanId": f"{2:016x}", "name": "POST /pay", "kind": 2, "startTimeUnixNano": begin,
        "endTimeUnixNano": str(NOW_NS + 36250000),
        "attributes": attributes_of({"sizes": [1, 2], "ok": True, "part": 0.5}) and [
            {"key": "sizes", "value": {"arrayValue": {"values": [{"intValue": "1"},
                                                                 {"intValue": "2"}]}}},
            {"key": "ok", "value": {"boolValue": True}},
            {"key": "part", "value": {"doubleValue": 0.5}}],
        "events": [{"timeUnixNano": str(NOW_NS), "name": "retry",
                    "attributes": [{"key": "try", "value": {"intValue": "2"}}]}],
        "links": [{"traceId": hex32(LONE), "spanId": f"{9:016x}"}],
        "status": {"message": "no money", "code": 2}})
    checks.equal("v3: scope and resource", (
        resources[1]["scopeSpans"][0]["scope"], resources[0]["resource"]["attributes"][0]),
        ({"name": "bank-lib", "version": "2"},
         {"key": "service.name", "value": {"stringValue": "api-shop"}}))
    status, again = ask(server, "/api/v3/traces", **older, **{
        "query.service_name": "api-bank", "query.operation_name": "POST /pay",
        "query.duration_min": "30ms", "query.num_traces": 5})
    checks.equal("v3: a search finds the same", (status, again), (200, answer))
    checks.equal("v3: no trace found", ask(server, "/api/v3/traces", **window, **{
        "query.serviceName": "nobody"}), (404, {"error": {"httpCode": 404,
                                                          "message": "No traces found"}}))
    checks.equal("v3: summaries", ask(server, "/api/v3/trace-summaries", **window, **{
        "query.serviceName": "api-shop",
        "query.attributes": '{"span.kind":"client"}'}), (200, {"summaries": [{
            "traceId": hex32(SHOP), "rootServiceName": "api-shop", "rootOperationName": "GET /buy",
            "minStartTimeUnixNano": str(NOW_NS), "maxEndTimeUnixNano": str(NOW_NS + 50000000),
            "spanCount": 3, "errorSpanCount": 1, "services": [
                {"name": "api-bank", "spanCount": 1, "errorSpanCount": 1},
                {"name": "api-shop", "spanCount": 2}]}]}))
    checks.equal("v3: dependencies", ask(
        server, "/api/v3/dependencies", startTime=stamp(NOW_NS - 10**9), endTime=stamp(time.time_ns())),
        (200, {"dependencies": [{"parent": "api-shop", "child": "api-bank", "callCount": "1"}]}))
    for name, path, parameters in (
            ("no time", "traces", {}), ("a bad time", "traces", {**window, "query.startTimeMin": "x"}),
            ("a time without a zone", "trace-summaries",
             {**window, "query.startTimeMin": "2026-01-01T00:00:00"}),
            ("an empty time", "traces", {**window, "query.startTimeMax": stamp(0)}),
            ("a bad id", "traces/xyz", {}), ("bad attributes", "traces",
                                             {**window, "query.attributes": "[1]"}),
            ("no service", "operations", {})):
        status, answer = ask(server, f"/api/v3/{path}", **parameters)
        checks.equal(f"v3: refused: {name}", (status, answer["error"]["httpCode"],
                                              len(answer["error"]["message"]) > 8),
                     (400, 400, True))


def check_grafana_jaeger(server, checks):
    """The requests of Grafana's Jaeger data source, at the address of --jaeger."""
    def get(path, **parameters):
        status, answer = ask(server, path, "Jaeger", **parameters)
        return answer["data"] if status == 200 else status
    micros = {"start": NOW_NS // 1000 - 3600000000, "end": time.time_ns() // 1000}
    checks.equal("Grafana: the data source works", get("/api/services"),
                 ["api-bank", "api-shop", "api/odd name"])
    checks.equal("Grafana: operations", get("/api/services/api%2Fodd%20name/operations"), ["only"])
    found = get("/api/traces", service="api-shop", operation="GET /buy", limit=20,
                tags='{"http.status_code":"500"}', minDuration="1ms", maxDuration="1.2s",
                lookback="custom", **micros)
    checks.equal("Grafana: search", [(trace["traceID"], len(trace["spans"])) for trace in found],
                 [(hex32(SHOP), 3)])
    trace, = get(f"/api/traces/{SHOP:032x}", **micros)
    span = next(span for span in trace["spans"] if span["operationName"] == "pay")
    checks.equal("Grafana: a trace", (
        span["duration"], span["startTime"], trace["processes"][span["processID"]]["serviceName"],
        span["references"][0]["spanID"]), (40000, NOW_NS // 1000 + 5000, "api-shop", f"{1:016x}"))
    window = {"endTs": time.time_ns() // 1000000, "lookback": 3600000}
    links = [{"parent": "api-shop", "child": "api-bank", "callCount": 1}]
    checks.equal("Grafana: dependencies", get("/api/dependencies", **window), links)
    checks.equal("dependencies of a service", (get("/api/dependencies", service="api-bank"),
                                               get("/api/dependencies", service="x")), (links, []))
    checks.equal("dependencies of the past", get("/api/dependencies", endTs=1000), [])
    checks.equal("dependencies: refused", get("/api/dependencies", endTs="x"), 400)
    checks.equal("the own API is not at Jaeger's address",
                 [ask(server, path, "Jaeger")[0] for path in ("/api/v1/status", "/metrics")],
                 [404, 404])


def check_jaeger_metrics(server, checks):
    """What the tab Monitor of Jaeger's page asks."""
    end = time.time_ns() // 1000000
    window = {"endTs": end, "lookback": 60000, "step": 20000, "ratePer": 600000}

    def last(metric, **parameters):
        status, answer = ask(server, f"/api/metrics/{metric}", **{**window, **parameters})
        if status != 200:
            return status, answer["errors"][0]["code"]
        return answer["name"], [
            ({label["name"]: label["value"] for label in series["labels"]},
             round(series["metricPoints"][-1]["gaugeValue"]["doubleValue"], 4))
            for series in answer["metrics"]]
    shop = {"service_name": "api-shop"}
    checks.equal("monitor: calls", last("calls", service="api-shop"),
                 ("service_call_rate", [(shop, round(1 / 600, 4))]))
    checks.equal("monitor: of kinds", last("calls", service="api-shop", spanKind=["server", "client"]),
                 ("service_call_rate", [(shop, round(2 / 600, 4))]))
    checks.equal("monitor: errors", last("errors", service=["api-shop", "api-bank"]), (
        "service_error_rate", [(shop, 0.0), ({"service_name": "api-bank"}, 1.0)]))
    name, ((labels, value),) = last("latencies", service="api-shop", quantile=0.95,
                                    groupByOperation="true")
    checks.equal("monitor: latencies", (name, labels, 50 <= value <= 51),
                 ("service_operation_latencies", {**shop, "operation": "GET /buy"}, True))
    checks.equal("monitor: no calls", last("latencies", service="nobody", quantile=1),
                 ("service_latencies", []))
    checks.equal("monitor: least step", ask(server, "/api/metrics/minstep")[1]["data"], 10000)
    for name, metric, parameters in (
            ("no service", "calls", {}), ("no quantile", "latencies", {"service": "x"}),
            ("quantile", "latencies", {"service": "x", "quantile": "1.5"}),
            ("kind", "calls", {"service": "x", "spanKind": "x"}),
            ("step", "errors", {"service": "x", "step": 0}),
            ("grouping", "calls", {"service": "x", "groupByOperation": "yes"})):
        checks.equal(f"monitor refuses: {name}", last(metric, **parameters), (400, 400))


def check_grafana_zipkin(server, checks):
    """The requests of Grafana's Zipkin data source, and of Zipkin's page under /zipkin."""
    def get(path, **parameters):
        status, answer = ask(server, path, "Zipkin", **parameters)
        return answer if status == 200 else (status, answer.strip())
    for root in ("", "/zipkin"):
        checks.equal(f"{root} Grafana: services", get(f"{root}/api/v2/services"),
                     ["api-bank", "api-shop", "api/odd name"])
        checks.equal(f"{root} Grafana: spans", get(f"{root}/api/v2/spans", serviceName="api-shop"),
                     ["get /buy", "pay"])
        trace, = get(f"{root}/api/v2/traces", serviceName="api-shop", spanName="pay",
                     endTs=time.time_ns() // 1000000, lookback=3600000, limit=20)
        checks.equal(f"{root} Grafana: traces", len(trace), 3)
        trace = get(f"{root}/api/v2/trace/{SHOP:032x}")
        checks.equal(f"{root} Grafana: a trace", (
            [span["id"] for span in trace], trace[2]["tags"]["error"], trace[2]["kind"],
            trace[2]["duration"], trace[2]["localEndpoint"]["serviceName"]),
            ([f"{n:016x}" for n in (1, 2, 3)], "no money", "SERVER", 30250, "api-bank"))
        checks.equal(f"{root} dependencies", get(
            f"{root}/api/v2/dependencies", endTs=time.time_ns() // 1000000),
            [{"parent": "api-shop", "child": "api-bank", "callCount": 1, "errorCount": 1}])
        config = get(f"{root}/config.json")
        checks.equal(f"{root} config.json", (config["searchEnabled"], config["dependency"], config[
            "queryLimit"], config["archiveUrl"]), (True, {
                "enabled": True, "lowErrorRate": 0.5, "highErrorRate": 0.75}, 10, None))
        checks.equal(f"{root} health", get(f"{root}/health")["status"], "UP")
        checks.equal(f"{root} info", list(get(f"{root}/info")), ["zipkin"])
    for query, wanted in (
            ("api-shop&annotationQuery= http.route = /buy  and http.status_code", 1),
            ("api-shop&annotationQuery=http.route=&minDuration=1000", 1),
            ("api-shop&annotationQuery=http.route=/other and http.route=/buy", 1),
            ("api-shop&annotationQuery=http.route=/buy and http.route=/other", 0),
            ("API-SHOP&spanName=ALL&annotationQuery=", 1), ("api-bank&annotationQuery=retry", 1)):
        found = get("/api/v2/traces?serviceName=" + urllib.parse.quote(query, "=&/"))
        checks.equal(f"Zipkin finds by {query}", len(found), wanted)
    for path, why in (
            ("trace/feedbeef", "00000000feedbeef not found"), ("trace/x", "a trace id should be"),
            ("traceMany", "traceIds parameter is empty"), ("traceMany?traceIds=1", "Use /api/v2/trace"),
            ("traceMany?traceIds=1,2,01", "redundant traceId"), ("traceMany?traceIds=1,", "traceIds sh"),
            ("spans", "serviceName is required"), ("autocompleteValues", "key is required"),
            ("dependencies", "endTs is required"), ("dependencies?endTs=0", "endTs should"),
            ("traces?limit=0", "limit should"), ("traces?lookback=-1", "lookback should"),
            ("traces?minDuration=0", "minDuration should"), ("traces?maxDuration=1", "maxDuration is "),
            ("traces?minDuration=2&maxDuration=1", "maxDuration should be >="),
            ("traces?annotationQuery=" + "a%20and%20" * 101, "annotationQuery has over")):
        status, text = get(f"/api/v2/{path}")
        checks.equal(f"Zipkin refuses {path[:40]}", (status, text[:len(why)]),
                     (404 if "not found" in why else 400, why))


class Listener:
    """A stream of /api/v1/live."""

    def __init__(self, server, buffer=0, **parameters):
        self.socket = socket.socket()
        if buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(("127.0.0.1", server.ports["queries"]))
        query = urllib.parse.urlencode(parameters)
        self.socket.sendall(f"GET /api/v1/live?{query} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        self.answer = http.client.HTTPResponse(self.socket)
        self.answer.begin()

    def event(self):
        """Kind and data of the next event; None at the end."""
        kind, line = None, b"-"
        while line:
            line = self.answer.readline()
            if line.startswith(b"event: "):
                kind = line[7:].strip().decode()
            elif line.startswith(b"data: "):
                return kind, json.loads(line[6:])
        return None

    def close(self):
        self.answer.close()
        self.socket.close()


def check_live(server, checks):
    everything = Listener(server)
    wanted = Listener(server, service="api-live", operation="new", kind="server", error="true",
                      min_duration="5ms")
    checks.equal("live: type", wanted.answer.getheader("Content-Type"), "text/event-stream")
    error = {"status": {"code": 2}}
    trace = 0x11fe << 64
    good = span_of(trace, 6, "new", kind="server", took=5, fields=error, attributes={"a": 1})
    send(server, "api-live", span_of(trace, 1, "old", kind="server", took=5, fields=error),
         span_of(trace, 2, "new", kind="client", took=5, fields=error),
         span_of(trace, 3, "new", kind="server", took=4, fields=error),
         span_of(trace, 4, "new", kind="server", took=5), good)
    send(server, "api-dead", span_of(trace, 5, "new", kind="server", took=5, fields=error))
    kind, span = wanted.event()
    checks.equal("live: the span that was wanted", (
        kind, span["span_id"], span["service"], span["attributes"], span["status"]),
        ("span", f"{6:016x}", "api-live", {"a": 1}, "error"))
    checks.equal("live: a span is stored when it is told of", len(server.trace(hex32(trace))) >= 5,
                 True)
    checks.equal("live: all spans", sorted(everything.event()[1]["span_id"][-1] for _ in range(6)),
                 list("123456"))
    send(server, "api-live", good)  # once more
    send(server, "api-live", span_of(trace, 7, "new", kind="server", took=5, fields=error))
    checks.equal("live: no span twice", wanted.event()[1]["span_id"][-1], "7")
    wanted.close()
    checks.equal("live: refused", [ask(server, "/api/v1/live", **p)[0] for p in (
        {"kind": "x"}, {"error": "yes"}, {"min_duration": "long"})], [400] * 3)
    everything.close()


def check_slow_listener(server, checks):
    """One that does not read misses spans, which are counted, and holds up nobody."""
    slow, fast = (Listener(server, buffer, service="api-many") for buffer in (4096, 0))
    count, batches = 500, 30
    text = "x" * 400

    def read():
        for _ in range(count * batches):
            kinds.append(fast.event()[0])
    kinds = []
    reader = threading.Thread(target=read)
    reader.start()
    for batch in range(batches):
        send(server, "api-many", *(span_of((0xabc << 64) + batch, n + 1, text) for n in range(count)))
        server.wait("the fast one has read all", lambda b=batch: len(kinds) >= count * (b + 1))
    reader.join(PATIENCE)
    checks.equal("live: who reads has all spans", kinds, ["span"] * count * batches)
    spans = missed = 0
    while spans + missed < count * batches:
        kind, data = slow.event()
        spans, missed = (spans + 1, missed) if kind == "span" else (spans, missed + data["spans"])
    checks.equal("live: who does not read is told how many it missed",
                 (spans + missed, missed > count, spans > count), (count * batches, True, True))
    slow.close()
    fast.close()


def check_end(server, checks, listeners):
    """The server ends while many listen."""
    started = time.monotonic()
    checks.equal("SIGTERM ends the server while somebody listens",
                 (server.end(signal.SIGTERM), time.monotonic() - started < 10), (0, True))
    told = [len(list(iter(listener.event, None))) for listener in listeners]  # up to their end
    checks.equal("the streams end, too", max(told) <= 1, True)
    for listener in listeners:
        listener.close()


def check_own(server, checks):
    status, answer = server.get(f"/api/v1/traces/{SHOP:x}")
    checks.equal("resources of a trace are written once", (
        status, [span["resource"] for span in answer["spans"]],
        [resource["attributes"] for resource in answer["resources"]]),
        (200, [0, 0, 1], [{"service.name": "api-shop", "host.name": "node-7", "process.pid": 41},
                          {"service.name": "api-bank"}]))
    checks.equal("so are scopes", ([span["scope"] for span in answer["spans"]], answer["scopes"]), (
        [0, 0, 1], [{"name": name, "version": "2", "attributes": {}} for name in ("lib", "bank-lib")]))


def send_full(server):
    """A span with all that a span can have."""
    dropped = {"droppedAttributesCount": 1}
    ids = {"traceId": hex32(FULL), "spanId": f"{1:016x}", "traceState": "v=2"}
    body = {"resourceSpans": [{"resource": dropped, "scopeSpans": [{"scope": dropped, "spans": [{
        **ids, **dropped, "parentSpanId": f"{2:016x}", "name": "full", "startTimeUnixNano": str(NOW_NS),
        "endTimeUnixNano": str(NOW_NS), "status": {"code": 2, "message": "why"},
        "droppedEventsCount": 1, "droppedLinksCount": 1,
        "events": [{"timeUnixNano": str(NOW_NS), "name": "e", **dropped}],
        "links": [{**ids, **dropped}]}]}]}]}
    server.post(json.dumps(body).encode(), Content_Type="application/json")
    server.wait("the full span is stored", lambda: server.trace(hex32(FULL)))


def check_context(server, checks, described):
    """A span of which only the context was seen has no name: it is found by what it tells."""
    trace = 0xc0de << 64
    send(server, "api-worker", span_of(trace, 7, "context", took=9, attributes={
        "fathom.kind": "context", "fathom.version": 1, "fathom.time.lock_ns": 5000000}))
    server.wait("the context is stored", lambda: server.trace(hex32(trace)))
    asked = {"from": "1h", "service": "api-worker"}
    status, answer = server.get("/api/v1/search", **asked, cause="lock >= 5ms")
    checks.equal("described: a context alone", described.check("/api/v1/search", status, answer), "")
    checks.equal("its name is its id", [(found["name"], found.get("context")) for found in answer["traces"]],
                 [(f"{7:016x}", True)])
    checks.equal("it is no request", server.get("/api/v1/search", **asked)[1]["traces"], [])


def check_refusals(server, checks, described):
    """What is refused before a path answers is answered as other errors of that API."""
    for method, path, wanted, *headers in (
            ("GET", "/api/v1/nothing", 404), ("GET", "/api/v1", 404), ("GET", "/api/v1/", 404), ("POST", "/api/v1/nothing", 404),
            ("GET", "/api/v1/search?service=%ff", 400),
            ("POST", "/api/v1/search", 405), ("DELETE", "/api/v1/traces/1", 405), ("POST", "/api/v1/pins", 415),
            ("GET", "/api/v1/status", 403, {"Host": "evil.example"}), ("GET", "/api/v1/nothing", 403, {"Origin": "http://evil.example"})):
        status, body = server.ask("queries", method, path, b"x" if method == "POST" else None, *headers)
        try:
            described.validate(json.loads(body), {"$ref": "#/components/schemas/Error"}, path)
            said = ""
        except (AssertionError, ValueError) as error:
            said = f"{error}: {body[:80]}"
        checks.equal(f"{method} {path} is refused in JSON", (status, said), (wanted, ""))
    for path in ("/api/nothing", "/api/v1x", "/api/services"):
        body = server.ask("queries", "GET", path, headers={"Host": "evil.example"})[1]
        checks.equal(f"{path} is no path of that API", body[:1] == b"{", False)


def check_openapi(server, checks):
    described = Described()
    send_full(server)
    charts.check(server, checks, described, lambda *spans, **more: send(server, charts.SERVICE, *spans, **more), span_of)
    monitor_answers.check(server, checks, described, lambda *spans: send(server, monitor_answers.SERVICE, *spans), span_of)
    check_context(server, checks, described)
    window = {"from": "1h"}
    for path, parameters in (
            ("status", {}), ("services", window), ("operations", {**window, "service": "api-shop"}),
            ("operations", {"from": "x"}), ("services", {"from": "x"}), ("search", {"limit": "x"}),
            ("search", {**window, "limit": 1}), ("search", {**window, "service": "api-bank"}),
            ("live", {"kind": "x"}), ("senders", {}), ("pins", {})):
        status, answer = server.get(f"/api/v1/{path}", **parameters)
        checks.equal(f"described: {path} {parameters}", described.check(
            f"/api/v1/{path}", status, answer), "")
    check_refusals(server, checks, described)
    status, answer = server.get("/api/v1/search", **window, service="api-bank")
    checks.equal("without capture nothing is known of losses", [
        {key: told[key] for key in ("lost", "incomplete", "gaps", "coverage")} for told in (
            answer, server.get(f"/api/v1/traces/{hex32(SHOP)}")[1], server.get(f"/api/v1/traces/{hex32(SHOP)}/columns")[1],
            server.get("/api/v1/where", trace=hex32(SHOP))[1], server.get("/api/v1/lanes")[1], server.get("/api/v1/lanes/columns")[1], server.get("/api/v1/edges")[1],
            server.get("/api/v1/compare", trace=hex32(SHOP), base_trace=hex32(LONE))[1]["b"])],
        [{"lost": 0, "incomplete": 0, "gaps": [], "coverage": None}] * 8)
    for trace in (hex32(SHOP), hex32(FULL), "x", "abcdef"):
        status, answer = server.get(f"/api/v1/traces/{trace}")
        checks.equal(f"described: a trace {trace}", described.check(
            "/api/v1/traces/{id}", status, answer), "")
    columns.check(server, checks, described, (hex32(SHOP), hex32(FULL), hex32(charts.SLOWEST), "x", "abcdef"))
    listeners = [Listener(server) for _ in range(32)]
    status, answer = server.get("/api/v1/live")
    checks.equal("described: too many listeners", (status, described.check(
        "/api/v1/live", status, answer)), (503, ""))
    send(server, "api-live", span_of(0xfade << 64, 1, "described"))
    checks.equal("described: a span told live", described.check(
        "/api/v1/live", 200, listeners[0].event()[1]), "")
    described.validate({"spans": 1}, {"$ref": "#/components/schemas/Missed"}, "")
    checks.equal("all that is described is answered", (described.unseen(), described.unasked()),
                 ([], []))
    paths, parameters = read_sources()
    checks.equal("paths are those of the sources", set(described.api["paths"]), paths)
    checks.equal("parameters are those of the sources", described.parameters(), parameters)
    return listeners


def metric(text, start):
    """The value of the series whose line starts so."""
    found = [line for line in text.splitlines() if line.startswith(start + " ")]
    return float(found[0].rsplit(" ", 1)[1]) if found else None


def check_metrics(server, checks):
    status, body = server.ask("queries", "GET", "/metrics")
    text = body.decode()
    labels = '{service="api-bank",operation="POST /pay",kind="server"'
    checks.equal("/metrics", status, 200)
    for name, start, wanted in (
            ("spans", f"fathom_spans_total{labels}}}", 1),
            ("errors", f"fathom_span_errors_total{labels}}}", 1),
            ("a bucket below", f'fathom_span_duration_seconds_bucket{labels},le="0.025"}}', 0),
            ("a bucket", f'fathom_span_duration_seconds_bucket{labels},le="0.05"}}', 1),
            ("sum", f"fathom_span_duration_seconds_sum{labels}}}", 0.03025),
            ("part of the time", 'fathom_span_time_seconds_total{service="api-shop",'
             'operation="GET /buy",kind="server",part="lock"}', 0.02),
            ("received", "fathom_received_spans_total", 4),
            ("stored", "fathom_stored_spans_total", 4),
            ("lag", "fathom_log_lag_bytes", 0)):
        checks.equal(f"metrics: {name}", metric(text, start), wanted)
    for name in ("process_cpu_seconds_total", "process_resident_memory_bytes",
                 "fathom_store_bytes", "fathom_log_position_bytes_total"):
        checks.equal(f"metrics: {name} is above 0", (metric(text, name) or 0) > 0, True)
    if not shutil.which("promtool"):
        checks.skip("promtool takes the metrics", "Debian's package prometheus is not installed")
        return
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True,
                          text=True, check=False)
    checks.equal("promtool takes the metrics",
                 (done.returncode, done.stdout + done.stderr), (0, ""))


def expressions():
    """Those of the dashboard, with what Grafana puts in place of its variables."""
    with open(f"{GRAFANA}/metrics.json", encoding="utf-8") as file:
        board = json.load(file)
    for panel in board["panels"]:
        for target in panel["targets"]:
            yield panel["title"], re.sub(r"\$(job|service|operation)\b", ".*", target["expr"].replace(
                "$__rate_interval", "10s"))


def check_prometheus(server, checks, folder):
    """A scrape, and the queries of the dashboard, as Grafana's Prometheus data source asks them."""
    if not shutil.which("prometheus"):
        checks.skip("Prometheus scrapes", "Debian's package prometheus is not installed")
        return
    prometheus = Prometheus(server, folder)
    try:
        server.wait("Prometheus scraped a few times", lambda: (prometheus.ask(
            "query", query="count_over_time(fathom_stored_spans_total[1m])") or
            {"result": []})["result"][:1] and float(prometheus.ask(
                "query", query="count_over_time(fathom_stored_spans_total[1m])"
            )["result"][0]["value"][1]) >= 3)
        checks.equal("Prometheus: the target is up", prometheus.ask(
            "query", query="up")["result"][0]["value"][1], "1")
        checks.equal("Prometheus: services", prometheus.ask(
            "label/service/values", **{"match[]": "fathom_spans_total"}),
            ["api-bank", "api-shop", "api/odd name"])
        end = time.time()
        for title, expression in expressions():
            answer = prometheus.ask("query_range", query=expression, start=end - 30, end=end, step=1)
            checks.equal(f"dashboard: {title}: {expression[:40]}",
                         bool(answer and answer["result"]), True)
    finally:
        prometheus.end()


def main():
    fathom = sys.argv[1]
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="fathom-apis-") as folder:
        rules = os.path.join(folder, "monitors.conf")
        with open(rules, "w", encoding="utf-8") as file:
            file.write(monitor_answers.FILE)
        server = Server(fathom, os.path.join(folder, "data"), "--jaeger", "127.0.0.1:0", "--monitors", rules)
        try:
            send_sample(server)
            check_metrics(server, checks)
            check_prometheus(server, checks, folder)
            check_jaeger_search(server, checks)
            check_jaeger_v3(server, checks)
            check_grafana_jaeger(server, checks)
            check_jaeger_metrics(server, checks)
            check_grafana_zipkin(server, checks)
            check_own(server, checks)
            check_live(server, checks)
            check_slow_listener(server, checks)
            check_end(server, checks, check_openapi(server, checks))
        finally:
            if server.process.poll() is None:
                server.process.kill()
                server.process.wait()
    print(f"1..{checks.number}")
    return 1 if checks.failed else 0


sys.exit(main())
