#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom serve: spans of a real SDK are found by id and by search, also after a kill.

test.py FATHOM VENV SAMPLE: installs OpenTelemetry for Python from PyPI into VENV, and for Node from
npm into VENV-node, unless it is there.
SAMPLE is an OTLP request with two spans and two that have no ids; it is in JSON beside it.
"""
import gzip
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse

import over_grpc
from checks import Checks
from server import HERE, PATIENCE, PROTOBUF, Server, install, install_go, install_node

SENDERS, ACKNOWLEDGED = 4, 40  # when the server is killed
TRACE = bytes.fromhex("0123456789abcdef1122334455667788")  # of the sample


def found(server, **parameters):
    """Ids of the traces that Jaeger's search finds."""
    status, answer = server.get("/api/traces", **parameters)
    return status, sorted(trace["traceID"] for trace in answer["data"] or [])


def check_sdk(server, checks, python):
    url = f"http://127.0.0.1:{server.ports['OTLP']}/v1/traces"
    done = subprocess.run([python, f"{HERE}/sdk.py", url], capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    buy, audit = done.stdout.split()
    server.wait("both traces are stored",
                lambda: len(server.trace(buy)) == 2 and len(server.trace(audit)) == 1)
    root, pay = server.trace(buy)
    checks.equal("the spans of a trace of two services", [root["service"], pay["service"]],
                 ["shop", "bank"])
    checks.equal("parent", pay["parent_id"], root["span_id"])
    checks.equal("attributes", root["attributes"], {"user": 'ann "q"', "items": [1, 2]})
    checks.equal("event", root["events"][0]["name"], "cache miss")
    checks.equal("status", (pay["status"], pay["status_message"]), ("error", "no money"))
    check_jaeger(server, checks, buy, audit)
    return buy


def check_jaeger(server, checks, buy, audit):
    services = server.get("/api/services")[1]["data"]
    checks.equal("services", [s for s in services if s in ("shop", "bank")], ["bank", "shop"])
    checks.equal("operations", server.get("/api/services/bank/operations")[1]["data"],
                 ["audit", "pay"])
    trace = server.get(f"/api/traces/{buy.upper()}")[1]["data"][0]
    spans = {span["operationName"]: span for span in trace["spans"]}
    tags = {tag["key"]: (tag["type"], tag["value"]) for tag in spans["pay"]["tags"]}
    checks.equal("Jaeger's trace", sorted(spans), ["GET /buy", "pay"])
    checks.equal("Jaeger's tags", [tags[key] for key in ("error", "span.kind", "otel.status_code")],
                 [("bool", True), ("string", "client"), ("string", "ERROR")])
    checks.equal("Jaeger's reference", spans["pay"]["references"],
                 [{"refType": "CHILD_OF", "traceID": buy, "spanID": spans["GET /buy"]["spanID"]}])
    checks.equal("Jaeger's processes",
                 sorted(p["serviceName"] for p in trace["processes"].values()), ["bank", "shop"])
    for name, parameters, wanted in (
            ("service", {"service": "bank"}, [buy, audit]),
            ("operation", {"service": "bank", "operation": "pay"}, [buy]),
            ("tag", {"service": "shop", "tags": json.dumps({"user": 'ann "q"'})}, [buy]),
            ("another tag", {"service": "shop", "tags": json.dumps({"user": "bob"})}, []),
            ("tag of the process", {"service": "bank", "tag": "team:a/b"}, [buy, audit]),
            ("error", {"service": "bank", "tags": '{"error":"true"}'}, [buy]),
            ("kind", {"service": "shop", "tags": '{"span.kind":"server"}'}, [buy]),
            ("duration", {"service": "bank", "minDuration": "1h"}, []),
            ("time", {"service": "bank", "end": "1000"}, [])):
        checks.equal(f"search by {name}", found(server, **parameters), (200, sorted(wanted)))
    checks.equal("search without a service", found(server)[0], 400)
    checks.equal("a trace that is not there", server.get("/api/traces/abc")[0], 404)


def check_refusals(server, checks, sample):
    bomb = gzip.compress(bytes(100 << 20))
    for name, wanted, got in (
            ("metrics", 404, server.post(sample, "/v1/metrics")),
            ("GET", 405, server.ask("OTLP", "GET", "/v1/traces")),
            ("another format", 415, server.post(sample, Content_Type="text/plain")),
            ("unknown encoding", 415, server.post(sample, Content_Encoding="br")),
            ("a cut request", 400, server.post(sample[:-1])),
            ("what is no gzip", 400, server.post(sample, Content_Encoding="gzip")),
            ("a cut gzip", 400, server.post(gzip.compress(sample)[:-9], Content_Encoding="gzip")),
            ("a gzip bomb", 413, server.post(bomb, Content_Encoding="gzip")),
            ("17 MB", 413, server.post(bytes(17 << 20))),
            ("another host", 403, server.post(sample, Host="evil.example:80")),
            ("another origin", 403, server.post(sample, Origin="http://evil.example")),
            ("no origin", 403, server.post(sample, Origin="null")),
            ("another site", 403, server.post(sample, **{"Sec-Fetch-Site": "cross-site"}))):
        checks.equal(f"refused: {name}", got[0], wanted)
        checks.equal(f"a status says why: {name}", got[1][:1] == b"\x08" and len(got[1]) > 4, True)
    checks.equal("a query with the name of another host",
                 server.ask("queries", "GET", "/api/services", headers={"Host": "evil.example"})[0],
                 403)
    checks.equal("an origin of this host",
                 server.post(b"", Origin="http://localhost:3000"), (200, b""))
    checks.equal("a query of another site", server.ask(
        "queries", "GET", "/api/services", headers={"Sec-Fetch-Site": "cross-site"})[0], 403)
    checks.equal("a search with 65 tags", server.ask(
        "queries", "GET", "/api/traces?service=x" + "&tag=a:b" * 65)[0], 400)
    checks.equal("a request without spans", server.post(b""), (200, b""))
    status, answer = server.post(sample)
    # partial_success { rejected_spans: 2, error_message: ... }
    checks.equal("two spans without ids are rejected", (status, answer[:1] + answer[2:4]),
                 (200, b"\x0a\x08\x02"))
    checks.equal("chunked, in gzip", server.ask(
        "OTLP", "POST", "/v1/traces", iter([gzip.compress(sample)]),
        {**PROTOBUF, "Content-Encoding": "gzip"})[0], 200)


def check_zipkin(server, checks, text):
    """Zipkin's format and its query API: the sample has both halves of a call, and a bare span."""
    def post(body, **headers):
        return server.ask("Zipkin", "POST", "/api/v2/spans", body,
                          {"Content-Type": "application/json", **headers})

    def get(path, **parameters):
        query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
        status, body = server.ask("Zipkin", "GET", path + query)
        return json.loads(body) if body[:1] in b"[{" else status
    trace = "5982fe77008310cc80f1da5e10147517"
    window = {"endTs": 1458702548999, "lookback": 86400000}
    checks.equal("Zipkin: spans", post(text.encode()), (202, b""))
    checks.equal("Zipkin: gzip, once more", post(gzip.compress(text.encode()), **{
        "Content-Encoding": "gzip"}), (202, b""))
    server.wait("Zipkin's spans are stored",
                lambda: get(f"/api/v2/trace/{trace}") != 404 and get("/api/v2/trace/10cc") != 404)
    client, callee = get(f"/api/v2/trace/{trace}")
    sent = json.loads(text)[0]
    checks.equal("Zipkin: a span as it was sent", client, {
        **sent, "name": "get /café", "tags": {**sent["tags"], "otel.status_code": "ERROR"},
        "localEndpoint": {**sent["localEndpoint"], "serviceName": "frontend"},
        "remoteEndpoint": {**sent["remoteEndpoint"], "serviceName": "backend"}})
    checks.equal("Zipkin: the other half of the call",
                 (callee["id"], callee["kind"], callee["shared"], callee["debug"]),
                 (sent["id"], "SERVER", True, True))
    checks.equal("Zipkin: a short trace id", get("/zipkin/api/v2/trace/10cc")[0]["traceId"],
                 "00000000000010cc")
    names = get("/api/v2/services")
    checks.equal("Zipkin: services", [n for n in names if n in ("frontend", "backend")],
                 ["backend", "frontend"])
    checks.equal("Zipkin: names of spans", get("/api/v2/spans", serviceName="FRONTEND"),
                 ["get /café"])
    checks.equal("Zipkin: remote services",
                 get("/api/v2/remoteServices", serviceName="frontend"), ["backend"])
    checks.equal("Zipkin: dependencies",
                 [link for link in get("/api/v2/dependencies", **window)],
                 [{"parent": "frontend", "child": "backend", "callCount": 1}])
    checks.equal("Zipkin: some traces", [len(t) for t in get(
        "/api/v2/traceMany", traceIds=f"{trace},abcdef,10cc")], [2, 1])
    for name, wanted, parameters in (
            ("service", 1, {"serviceName": "frontend"}), ("another service", 0, {"serviceName": "x"}),
            ("span", 1, {"serviceName": "frontend", "spanName": "GET /café"}),
            ("remote service", 1, {"remoteServiceName": "BACKEND"}),
            ("another remote service", 0, {"remoteServiceName": "frontend"}),
            ("duration", 1, {"minDuration": 386000, "maxDuration": 386000}),
            ("too short", 0, {"serviceName": "backend", "minDuration": 2}),
            ("tag, key and annotation", 1,
             {"annotationQuery": "http.path=/api and clnt/finagle.version and ws and error"}),
            ("the text of an error", 1, {"annotationQuery": 'error=no "luck"'}),
            ("another text of an error", 0, {"annotationQuery": "error=no"}),
            ("another annotation", 0, {"annotationQuery": "ws and we"}),
            ("conditions of several spans", 1,
             {"annotationQuery": "error=false and http.path=/api"})):
        checks.equal(f"Zipkin: search by {name}",
                     len(get("/api/v2/traces", **window, **parameters)), wanted)
    checks.equal("Zipkin: nothing of today", get("/api/v2/traces", serviceName="frontend"), [])
    check_zipkin_refusals(server, checks, post, get)


def check_zipkin_refusals(server, checks, post, get):
    """What Zipkin refuses, with a line of text; and what its page asks besides."""
    for name, wanted, got in (
            ("no JSON", 400, post(b"[")), ("a span without ids", 400, post(b"[{}]")),
            ("an id of zeros", 400, post(b'[{"traceId":"1","id":"2"},{"traceId":"1","id":"0"}]')),
            ("no content type", 415, server.ask("Zipkin", "POST", "/api/v2/spans", b"[]")),
            ("17 MB", 413, post(bytes(17 << 20))),
            ("another host", 403, post(b"[]", Host="evil.example")),
            ("another path", 405, server.ask("Zipkin", "POST", "/api/v2/services", b"[]"))):
        checks.equal(f"Zipkin refuses: {name}", (got[0], got[1].count(b"\n")), (wanted, 1))
    checks.equal("Zipkin: no spans", post(b"[]"), (202, b""))
    for path, wanted in (("trace/abc", 404), ("trace/xyz", 400), ("spans", 400),
                         ("traces?limit=0", 400), ("traces?minDuration=2&maxDuration=1", 400),
                         ("dependencies", 400), ("traceMany", 400)):
        checks.equal(f"Zipkin's errors: {path}", get(f"/api/v2/{path}"), wanted)
    checks.equal("Zipkin's page is configured", get("/zipkin/config.json")["searchEnabled"], True)
    checks.equal("Zipkin's health", get("/health")["status"], "UP")
    checks.equal("Zipkin's info", sorted(get("/info")), ["zipkin"])


def check_zipkin_sdk(server, checks, python):
    """A trace of an SDK's exporter for Zipkin, seen in all three APIs."""
    url = f"http://127.0.0.1:{server.ports['Zipkin']}/api/v2/spans"
    done = subprocess.run([python, f"{HERE}/zipkin_sdk.py", url], capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    trace = done.stdout.strip()
    server.wait("the SDK's trace is stored", lambda: len(server.trace(trace)) == 2)
    fetch, lookup = server.trace(trace)
    checks.equal("an SDK's spans by Zipkin",
                 [(s["service"], s["name"], s["kind"]) for s in (fetch, lookup)],
                 [("Zweb", "fetch", "client"), ("zcache", "lookup", "server")])
    checks.equal("parent, by Zipkin", lookup["parent_id"], fetch["span_id"])
    checks.equal("status, by Zipkin", (lookup["status"], lookup["status_message"]),
                 ("error", "no entry"))
    checks.equal("event, by Zipkin", len(lookup["events"]), 1)
    status, body = server.ask("Zipkin", "GET", "/api/v2/traces?serviceName=zweb&spanName=fetch")
    spans = json.loads(body)[0]
    checks.equal("the SDK's trace in Zipkin's API", (status, [s["traceId"] for s in spans]),
                 (200, [trace, trace]))
    checks.equal("an attribute of the SDK", spans[0]["tags"]["size"], "12")
    now = int(time.time() * 1000)
    status, body = server.ask("Zipkin", "GET", f"/api/v2/dependencies?endTs={now}")
    checks.equal("the SDK's services depend on each other",
                 [link for link in json.loads(body) if link["parent"] == "zweb"],
                 [{"parent": "zweb", "child": "zcache", "callCount": 1, "errorCount": 1}])
    checks.equal("the SDK's trace in Jaeger's API", found(server, service="zcache"), (200, [trace]))


def check_node(server, checks, packages):
    """OTLP in JSON and Zipkin from the SDK for Node, whose exporter of OTLP writes JSON."""
    urls = [f"http://127.0.0.1:{server.ports['OTLP']}/v1/traces",
            f"http://127.0.0.1:{server.ports['Zipkin']}/api/v2/spans"]
    urls.append(f"http://127.0.0.1:{server.ports['OTLP over gRPC']}")
    done = subprocess.run(["node", f"{HERE}/sdk.js", *urls], capture_output=True, text=True,
                          timeout=PATIENCE, check=False, env={**os.environ, "NODE_PATH": packages})
    by_json, by_zipkin, by_grpc = done.stdout.split()
    server.wait("the traces of Node are stored",
                lambda: all(server.trace(trace) for trace in (by_json, by_zipkin, by_grpc)))
    for name, trace in (("JSON", by_json), ("Zipkin", by_zipkin), ("gRPC", by_grpc)):
        span, = server.trace(trace)
        checks.equal(f"Node by {name}", (span["service"], span["name"], span["kind"]),
                     (f"node-{name.lower()}", "GET /node", "server"))
        checks.equal(f"Node by {name}: a text", span["attributes"]["user"], 'ann "q" \U0001f600')
        checks.equal(f"Node by {name}: status", (span["status"], span["status_message"]),
                     ("error", "no money"))
        checks.equal(f"Node by {name}: time",
                     abs(span["begin_unix_ns"] / 1e9 - time.time()) < 2 * PATIENCE, True)
    for name, trace in (("JSON", by_json), ("gRPC", by_grpc)):
        span, = server.trace(trace)
        checks.equal(f"Node by {name}: values keep their types",
                     (span["attributes"]["sizes"], span["attributes"]["ratio"]), ([1, 2], 0.5))
        checks.equal(f"Node by {name}: event", span["events"][0]["attributes"], {"key": "k1"})


def check_go(server, checks, program):
    """OTLP over HTTP in gzip and over gRPC from the SDK for Go."""
    done = subprocess.run([program, f"127.0.0.1:{server.ports['OTLP']}",
                           f"127.0.0.1:{server.ports['OTLP over gRPC']}"], capture_output=True,
                          text=True, timeout=PATIENCE, check=False)
    checks.equal("Go: it sends", (done.returncode, done.stderr), (0, ""))
    traces = dict(zip(("http", "grpc"), done.stdout.split()))
    server.wait("the traces of Go are stored", lambda: all(map(server.trace, traces.values())))
    for way, trace in traces.items():
        span, = server.trace(trace)
        checks.equal(f"Go over {way}", (span["service"], span["name"], span["kind"], span["status"],
                                        span["status_message"]),
                     (f"go-{way}", "GET /go", "server", "error", "no money"))
        checks.equal(f"Go over {way}: values", span["attributes"],
                     {"user": 'ann "q"', "sizes": [1, 1 << 60]})
        checks.equal(f"Go over {way}: event", span["events"][0]["attributes"], {"cold": True})


def check_senders(server, checks):
    """What senders call themselves, without a recorder. This process is one of them."""
    def ours():
        senders = server.get("/api/v1/senders")[1]["senders"]
        return [one for one in senders if one.get("pid") == os.getpid()]
    server.wait("the services of this sender are told", lambda: ours() and ours()[0]["services"])
    resource = {"attributes": [{"key": key, "value": {"stringValue": value}} for key, value in (
        ("service.name", "told"), ("telemetry.sdk.language", "python"))]}
    body = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"spans": [
        {"traceId": f"{77:032x}", "spanId": f"{1:016x}", "name": "a"}]}]}]}
    server.post(json.dumps(body).encode(), Content_Type="application/json")
    server.wait("the language of this sender is told",
                lambda: ours()[0].get("language") == "python")


def check_json(server, checks, sample, text):
    """The sample in JSON comes to the same spans as in protobuf."""
    def post(body, **headers):
        status, answer = server.post(body, Content_Type="application/json; charset=utf-8",
                                     **headers)
        return status, json.loads(answer)
    in_binary, in_json = TRACE[::-1], bytes(7) + b"J" + TRACE[8:]
    server.post(sample.replace(TRACE, in_binary))
    status, answer = post(text.replace(TRACE.hex(), in_json.hex().upper()).encode())
    partial = answer["partialSuccess"]
    checks.equal("OTLP in JSON: two spans without ids are rejected",
                 (status, partial["rejectedSpans"], "trace id" in partial["errorMessage"]),
                 (200, "2", True))
    server.wait("both are stored", lambda: len(server.trace(in_binary.hex())) == 2 and
                len(server.trace(in_json.hex())) == 2)
    spans = [[{**span, "trace_id": "", "links": len(span["links"])}
              for span in server.trace(trace.hex())] for trace in (in_binary, in_json)]
    checks.equal("they are the same spans", spans[1], spans[0])
    checks.equal("nothing, in JSON", post(b"{}"), (200, {}))
    checks.equal("JSON in gzip", post(gzip.compress(text.encode()), Content_Encoding="gzip")[0],
                 200)
    for name, wanted, got in (
            ("no JSON", 400, post(b"{")), ("nothing at all", 400, post(b"")),
            ("a short id", 400, post(text.replace("A1A2A3a4a5a6a7a8", "a1a2").encode())),
            ("deep", 400, post(b'{"x":' + b"[" * 100000)),
            ("17 MB", 413, post(bytes(17 << 20)))):
        checks.equal(f"refused in JSON: {name}", got[0], wanted)
        checks.equal(f"JSON says why: {name}",
                     (sorted(got[1]), len(got[1]["message"]) > 4), (["code", "message"], True))


def send_until_killed(server, sample):
    """Ids of the traces that were acknowledged, by some senders at once, when it was killed."""
    # far from the small ids that other checks send
    acknowledged, numbers = [], iter(range(1 << 32, 1 << 33))

    def send():
        while True:
            trace = next(numbers).to_bytes(16, "big")
            try:
                status = server.post(sample.replace(TRACE, trace))[0]
            except (OSError, http.client.HTTPException):
                return
            if status == 200:
                acknowledged.append(trace.hex())

    senders = [threading.Thread(target=send) for _ in range(SENDERS)]
    for sender in senders:
        sender.start()
    server.wait("requests are acknowledged", lambda: len(acknowledged) >= ACKNOWLEDGED)
    server.end(signal.SIGKILL)
    for sender in senders:
        sender.join()
    return acknowledged


def check_use(fathom, checks, folder, server):
    """What others are told while a server has a directory and a port."""
    for name, words in (("a directory", ["-o", folder, "--http", "off", "--otlp-http", "off",
                                     "--otlp-grpc", "off", "--zipkin", "off"]),
                        ("a port", ["-o", folder + "/other", "--http", "off", "--zipkin", "off",
                                    "--otlp-grpc", "off", "--otlp-http", f"127.0.0.1:{server.ports['OTLP']}"])):
        done = subprocess.run([fathom, "serve", *words], capture_output=True, text=True,
                              timeout=PATIENCE, check=False)
        checks.equal(f"{name} in use is one line", (done.returncode, done.stderr.count("\n")),
                     (1, 1))
        checks.equal(f"{name} in use: what to do is said", "--otlp-http off" in done.stderr,
                     name == "a port")


def main():
    fathom, venv, sample_path = sys.argv[1:]
    with open(sample_path, "rb") as file:
        sample = file.read()
    with open(sample_path.replace(".bin", ".json"), encoding="utf-8") as file:
        json_text = file.read()
    with open(os.path.dirname(sample_path) + "/zipkin_sample.json", encoding="utf-8") as file:
        zipkin_text = file.read()
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="fathom-serve-") as folder:
        server = Server(fathom, folder)
        try:
            python, why = install(venv)
            buy = check_sdk(server, checks, python) if python else None
            if not python:
                checks.skip("spans of an SDK", why)
            packages, why = install_node(venv + "-node")
            if packages:
                check_node(server, checks, packages)
            else:
                checks.skip("spans of the SDK for Node", why)
            check_refusals(server, checks, sample)
            if os.environ.get("FATHOM_TEST_LONG"):
                program, why = install_go(venv + "-go")
                check_go(server, checks, program) if program else checks.skip("the SDK for Go", why)
            check_json(server, checks, sample, json_text)
            check_senders(server, checks)
            check_zipkin(server, checks, zipkin_text)
            if python:
                check_zipkin_sdk(server, checks, python)
            if python:
                over_grpc.check(server, checks, python, sample_path)
            check_use(fathom, checks, folder, server)
            acknowledged = send_until_killed(server, sample)
            if python:
                server = Server(fathom, folder)
                acknowledged += over_grpc.send_until_killed(server, python, sample_path)
            server = Server(fathom, folder)
            server.wait_stored()
            wrong = {trace: len(server.trace(trace)) for trace in acknowledged}
            checks.equal("each acknowledged span is there, once, after a kill",
                         {t: n for t, n in wrong.items() if n != 2}, {})
            if buy:
                checks.equal("so are older ones", len(server.trace(buy)), 2)
            checks.equal("SIGTERM ends it", server.end(signal.SIGTERM), 0)
        finally:
            if server.process.poll() is None:
                server.process.kill()
                server.process.wait()
    print(f"1..{checks.number}")
    return 1 if checks.failed else 0


if __name__ == "__main__":
    sys.exit(main())
