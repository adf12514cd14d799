#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom serve: what its query APIs answer. apis.py FATHOM"""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from test import Checks, PATIENCE, Server

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


SHOP, LONE = 0xa1b2c3, (0xfeed << 64) + 0xbee  # ids of traces


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
        server = Server(fathom, os.path.join(folder, "data"))
        try:
            send_sample(server)
            check_metrics(server, checks)
            check_prometheus(server, checks, folder)
        finally:
            server.process.kill()
            server.process.wait()
    print(f"1..{checks.number}")
    return 1 if checks.failed else 0


sys.exit(main())
