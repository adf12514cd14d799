#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom serve: what it keeps of spans, and what its own API says of them. store.py FATHOM"""
import json
import os
import subprocess
import sys
import tempfile
import time

from checks import Checks
from server import PATIENCE, Server

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
    server.wait_stored()
    checks.equal("versions: the highest is shown", [
        span["attributes"].get("fathom.version") for span in server.trace(f"{500:x}")], [2, None])
    found = rows(server, "operation", service="again")
    checks.equal("versions: sums count one", {
        name: (row["count"], row["mean_ns"]) for name, row in found.items()},
        {"a": (1, 30000000), "b": (1, 5000000)})
    store = server.get("/api/v1/status")[1]["store"]
    checks.equal("versions: status", (store["repeats"], store["replaced"]), (3, 1))


def check_kernel(server, checks):
    """Kernel spans lie behind the others of their trace, and nothing counts them."""
    wait = span_of(600, 2, "lock", 5, parent=1, kind="internal", at_ms=1)
    wait["attributes"].append({"key": "fathom.kind", "value": {"stringValue": "wait"}})
    send(server, "kernel", span_of(600, 1, "work", 10, at_ms=2,
                                   attributes={"fathom.time.lock_ns": 5, "items": 3}), wait)
    server.wait("the spans are stored", lambda: len(server.trace(f"{600:x}")) == 2)
    checks.equal("kernel: behind the others", [
        span["name"] for span in server.trace(f"{600:x}")], ["work", "lock"])
    answer = server.get(f"/api/v1/traces/{600:x}", kernel="0")[1]
    checks.equal("kernel: left out", [span["name"] for span in answer["spans"]], ["work"])
    checks.equal("kernel: in Jaeger's API", [
        len(server.get(f"/api/traces/{600:x}", **more)[1]["data"][0]["spans"])
        for more in ({}, {"kernel": "0"})], [2, 1])
    for path, spans in ((f"/api/v1/traces/{600:x}", lambda answer: answer["spans"]),
                        (f"/api/traces/{600:x}", lambda answer: answer["data"][0]["spans"])):
        plain = json.dumps(spans(server.get(path, fathom="0")[1]))
        checks.equal(f"plain: nothing that fathom added, of {path[:10]}",
                     ["lock" in plain, "fathom." in plain, "items" in plain], [False, False, True])
    checks.equal("kernel: in no list", list(rows(server, "operation", service="kernel")), ["work"])
    found = server.get("/api/v1/search", service="kernel")[1]["traces"]
    checks.equal("kernel: not in a trace in short", [trace["spans"] for trace in found], [1])
    checks.equal("kernel: in no search", server.get(
        "/api/v1/search", service="kernel", operation="lock")[1]["traces"], [])
    checks.equal("kernel: status", server.get("/api/v1/status")[1]["store"]["kernel_spans"], 1)


def ids(answer):
    return [int(trace["trace_id"], 16) for trace in answer["traces"]]


def check_search(server, checks):
    """By cause, in pages, in several orders; the spans are those of check_sums()."""
    search = lambda **more: server.get("/api/v1/search", service="sums", **more)
    checks.equal("search: a cause", ids(search(cause="lock >= 49ms")[1]), [98, 99, 100])
    checks.equal("search: less of a cause", ids(search(
        cause="lock<1ms", operation="buy")[1]), [1])
    checks.equal("search: by a cause", ids(search(sort="lock", limit=3)[1]), [100, 99, 98])
    checks.equal("search: an error", ids(search(sort="duration", error="true", limit=2)[1]),
                 [100, 90])
    checks.equal("search: durations", ids(search(
        sort="duration", min_duration="9.5ms", max_duration="11ms")[1]), [11, 10])
    checks.equal("search: an attribute", ids(search(attribute="fathom.time.lock_ns=3500000")[1]),
                 [7])
    found, page = [], {}
    while page is not None:
        status, answer = search(sort="duration", operation="buy", limit=30, **page)
        found += ids(answer)
        page = {"page": answer["next"]} if "next" in answer else None
    checks.equal("search: pages", (status, found), (200, list(range(100, 0, -1))))
    first = search(sort="lock", limit=1)[1]["traces"][0]
    checks.equal("search: a trace in short", (
        first["service"], first["name"], first["spans"], first["errors"], first["value"],
        first["end_unix_ns"] - first["begin_unix_ns"]), ("sums", "buy", 1, 1, 50000000, 100000000))
    for name, value in (("cause", "rain > 5ms"), ("cause", "lock > 5"), ("sort", "rain"),
                        ("page", "x"), ("limit", "0"), ("kind", "x"), ("attribute", "x"),
                        ("min_duration", "5"), ("from", "x")):
        checks.equal(f"search: {name}={value}", search(**{name: value})[0], 400)


def status_of(server):
    return server.get("/api/v1/status")[1]


def check_sql(fathom, checks, folder):
    """fathom sql beside the server, which writes; the spans are those of the checks before."""
    def sql(query, *options):
        return subprocess.run([fathom, "sql", "-o", folder, *options, query],
                              capture_output=True, text=True, check=False)

    def rows_of(query):
        done = sql(query, "--json")
        return json.loads(done.stdout)["rows"] if done.returncode == 0 else done.stderr

    checks.equal("sql: spans", rows_of(
        "SELECT service, name, kind, count(*) AS n, max(lock_ns) AS most, sum(duration_ns) > 5 AS"
        " long FROM spans WHERE service = 'sums' GROUP BY ALL ORDER BY name"),
        [{"service": "sums", "name": "buy", "kind": "server", "n": 100, "most": 50000000,
          "long": True},
         {"service": "sums", "name": "sell", "kind": "client", "n": 1, "most": 0, "long": True}])
    checks.equal("sql: the highest version alone", rows_of(
        "SELECT trace_id, span_id, parent_id, version, attributes FROM spans"
        " WHERE service = 'again' AND name = 'a'"),
        [{"trace_id": f"{500:032x}", "span_id": f"{1:016x}", "parent_id": None, "version": 2,
          "attributes": '{"fathom.version":2}'}])
    checks.equal("sql: sums are those of the spans", rows_of(
        "SELECT part, sum(count) AS n FROM sums WHERE operation = 'buy' GROUP BY part ORDER BY 1"),
        [{"part": "duration", "n": 100}, {"part": "lock", "n": 100}, {"part": "user", "n": 100}])
    checks.equal("sql: operations", rows_of(
        "FROM operations WHERE service = 'sums' ORDER BY ALL; "),
        [{"service": "sums", "name": "buy", "kind": "server"},
         {"service": "sums", "name": "sell", "kind": "client"}])
    checks.equal("sql: calls", rows_of("FROM calls"), [])
    checks.equal("sql: tabs", sql("SELECT 1 AS one, 'a\tb' AS two, NULL AS three").stdout,
                 "one\ttwo\tthree\n1\ta b\t\n")
    for name, query in (("nonsense", "SELEKT"), ("no change", "DELETE FROM spans"),
                        ("no file", "SELECT * FROM read_csv('/etc/passwd')"),
                        ("no file by name", "FROM '/etc/passwd'"),
                        ("no setting", "SET enable_external_access = true")):
        done = sql(query)
        checks.equal(f"sql: {name}", (done.returncode, done.stdout, "fathom sql" in done.stderr),
                     (1, "", True))
    checks.equal("sql: the directory may stand before it", subprocess.run(
        [fathom, "sql", folder, "SELECT 7 AS n"], capture_output=True, text=True, check=False).stdout, "n\n7\n")
    checks.equal("sql: no store", subprocess.run(
        [fathom, "sql", "-o", "/nowhere", "SELECT 1"], capture_output=True,
        check=False).returncode, 1)


def check_full(fathom, checks, folder):
    """Without room on the disk nothing is taken; with room it goes on by itself."""
    disk = os.path.join(folder, "disk")
    os.mkdir(disk)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", disk],
                             capture_output=True, check=False)
    if mounted.returncode:
        checks.skip("full disk", "a file system in memory cannot be mounted")
        return
    server = Server(fathom, os.path.join(disk, "data"), "--min-free", "24M")
    try:
        send(server, "full", span_of(1, 1, "before", 1))
        server.wait("the first span is there", lambda: len(server.trace("1")) == 1)
        with open(os.path.join(disk, "other"), "wb") as file:
            file.write(bytes(45 << 20))

        def is_refused():
            try:
                send(server, "full", span_of(2, 1, "meanwhile", 1))
            except RuntimeError as error:
                return "429" in str(error)
            return False

        server.wait("spans are refused", is_refused)
        server.wait("the state is full", lambda: status_of(server)["state"] == "full")
        checks.equal("full disk: queries are answered", len(server.trace("1")), 1)
        os.unlink(os.path.join(disk, "other"))
        server.wait("the state is ok", lambda: status_of(server)["state"] == "ok")
        send(server, "full", span_of(3, 1, "after", 1))
        server.wait("the last span is there", lambda: len(server.trace("3")) == 1)
        checks.equal("full disk: it went on", status_of(server)["store"].get("error"), None)
    finally:
        server.process.kill()
        server.process.wait()
        subprocess.run(["umount", "-l", disk], check=False)


def check_plain(fathom, checks, folder):
    """With --plain, traces in the APIs of others are as they were sent, unless a request says otherwise."""
    server = Server(fathom, folder, "--plain")
    try:
        wait = span_of(600, 2, "lock", 5, parent=1, kind="internal", at_ms=1)
        wait["attributes"].append({"key": "fathom.kind", "value": {"stringValue": "wait"}})
        send(server, "plain", span_of(600, 1, "work", 10, attributes={"fathom.time.lock_ns": 5, "items": 3}), wait)
        server.wait("the spans are stored", lambda: len(server.trace(f"{600:x}")) == 2)
        for which, path in (("queries", f"/api/traces/{600:x}"), ("queries", f"/api/v3/traces/{600:x}"),
                            ("Zipkin", f"/api/v2/trace/{600:x}"), ("queries", f"/api/v1/traces/{600:x}")):
            told = [server.ask(which, "GET", path + query)[1].decode() for query in ("", "?fathom=1", "?fathom=0")]
            checks.equal(f"--plain: {path[:8]}", [
                ("fathom." in text, "lock" in text, "items" in text) for text in told],
                [("/v1/" in path, "/v1/" in path, True), (True, True, True), (False, False, True)])
    finally:
        server.process.kill()
        server.process.wait()


def check_files(fathom, checks, folder):
    """Files end, and the oldest ones go, while it runs."""
    server = Server(fathom, folder, "--store-period", "1ms", "--store-keep", "7d,3M")
    try:
        for i in range(1, 9):
            send(server, "files", span_of(i, 1, "a", 1))
            server.wait("a span is there", lambda: len(server.trace(f"{i:x}")) == 1)
        server.wait("the oldest went", lambda: status_of(server)["store"]["dropped"] > 0 or
                    send(server, "files", span_of(int(time.time_ns()), 1, "a", 1)))
        checks.equal("files: several", status_of(server)["store"]["files"] > 1, True)
        checks.equal("files: the first span went", server.trace("1"), [])
    finally:
        server.process.kill()
        server.process.wait()


def main():
    fathom = sys.argv[1]
    checks = Checks()
    with tempfile.TemporaryDirectory(prefix="fathom-store-") as folder:
        server = Server(fathom, os.path.join(folder, "data"))
        try:
            check_sums(server, checks)
            check_search(server, checks)
            check_versions(server, checks)
            check_kernel(server, checks)
            check_sql(fathom, checks, os.path.join(folder, "data"))
        finally:
            server.process.kill()
            server.process.wait()
        check_plain(fathom, checks, os.path.join(folder, "plain"))
        check_files(fathom, checks, os.path.join(folder, "files"))
        check_full(fathom, checks, folder)
    print(f"1..{checks.number}")
    return 1 if checks.failed else 0


sys.exit(main())
