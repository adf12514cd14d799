#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom serve: what it keeps of spans, and what its own API says of them. store.py FATHOM"""
import json
import os
import sys
import tempfile
import time

from server import PATIENCE, Checks, Server

NOW_NS = time.time_ns() - 30 * 10**9
KINDS = {"internal": 1, "server": 2, "client": 3}


def span_of(trace, span, name, took_ms, **more):
    """A span in OTLP's JSON; its attributes are integers."""
    begin = NOW_NS + more.get("at_ms", 0) * 1000000
    return {"traceId": f"{trace:032x}", "spanId": f"{span:016x}", "name": name,
            "parentSpanId": f"{more['parent']:016x}" if "parent" in more else "",
            "kind": KINDS[more.get("kind", "server")], "startTimeUnixNano": str(begin),
            "endTimeUnixNano": str(begin + took_ms * 1000000),
            "status": {"code": 2} if more.get("error") else {},
            "attributes": [{"key": key, "value": {"intValue": value}}
                           for key, value in more.get("attributes", {}).items()]}


def send(server, service, *spans):
    body = {"resourceSpans": [{
        "resource": {"attributes": [{"key": "service.name", "value": {"stringValue": service}}]},
        "scopeSpans": [{"scope": {"name": "lib"}, "spans": spans}]}]}
    status, _ = server.post(json.dumps(body).encode(), Content_Type="application/json")
    if status != 200:
        raise RuntimeError(f"the spans of {service} are refused: {status}")


def rows(server, what, **parameters):
    """Services or operations by their name."""
    status, answer = server.get(f"/api/v1/{what}s", **parameters)
    return {row[what]: row for row in answer[what + "s"]} if status == 200 else status


def check_sums(server, checks):
    for i in range(1, 101):
        send(server, "sums", span_of(i, 1, "buy", i, error=i % 10 == 0, attributes={
            "fathom.time.lock_ns": i * 500000, "fathom.time.user_ns": i * 500000}))
    send(server, "sums", span_of(101, 1, "sell", 7, kind="client"))
    server.wait("the sums are stored", lambda: rows(server, "operation", service="sums").get(
        "sell") and rows(server, "operation")["buy"]["count"] == 100)
    row = rows(server, "operation", service="sums")["buy"]
    checks.equal("operations: counts", (row["count"], row["errors"], row["kind"]),
                 (100, 10, "server"))
    for name, wanted in (("p50_ns", 50e6), ("p90_ns", 90e6), ("p99_ns", 99e6), ("mean_ns", 50.5e6)):
        checks.equal(f"operations: {name}", wanted <= row[name] <= wanted * 1.016, True)
    checks.equal("operations: the greatest is exact", row["max_ns"], 100000000)
    checks.equal("operations: mean split", (row["measured"], row["time"]["lock_ns"],
                                            row["time"]["user_ns"], row["time"]["disk_ns"]),
                 (100, 25250000, 25250000, 0))
    checks.equal("operations: rate over an hour", 100 / 3611 < row["rate"] < 100 / 3599, True)
    row = rows(server, "service")["sums"]
    checks.equal("services: counts", (row["count"], row["errors"]), (101, 10))
    checks.equal("services: none before", rows(
        server, "service", to=str(NOW_NS - 3600 * 10**9), **{"from": "0"}), {})
    checks.equal("services: the last minute", "sums" in rows(server, "service", **{"from": "1m"}),
                 True)
    for name, value in (("from", "x"), ("to", "-5"), ("from", "99999999999999999999")):
        checks.equal(f"services: {name}={value}", rows(server, "service", **{name: value}), 400)


def check_versions(server, checks):
    """A span that comes again, in a higher version and in the same."""
    for version, took in ((1, 10), (2, 30), (2, 30), (1, 10)):
        send(server, "again", span_of(500, 1, "a", took, attributes={"fathom.version": version}))
    for _ in range(2):
        send(server, "again", span_of(500, 2, "b", 5))
    server.wait("the versions are stored", lambda: len(server.trace(f"{500:x}")) == 2)
    server.wait("all is stored", lambda: server.get("/api/v1/status")[1]["state"] == "ok")
    checks.equal("versions: the highest is shown", [
        span["attributes"].get("fathom.version") for span in server.trace(f"{500:x}")], [2, None])
    found = rows(server, "operation", service="again")
    checks.equal("versions: sums count one", {
        name: (row["count"], row["mean_ns"]) for name, row in found.items()},
        {"a": (1, 30000000), "b": (1, 5000000)})
    store = server.get("/api/v1/status")[1]["store"]
    checks.equal("versions: status", (store["repeats"], store["replaced"]), (3, 1))


def main():
    fathom = sys.argv[1]
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="fathom-store-") as folder:
        server = Server(fathom, os.path.join(folder, "data"))
        try:
            check_sums(server, checks)
            check_versions(server, checks)
        finally:
            server.process.kill()
            server.process.wait()
    print(f"1..{checks.number}")
    return 1 if checks.failed else 0


sys.exit(main())
