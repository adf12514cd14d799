#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stores that earlier versions wrote are answered from, and go on: stores.py FATHOM

store-vN.tar.xz is the directory of a `fathom serve` whose store had version N of the schema, with the
spans below. `stores.py --make FATHOM N` makes one, of the version that FATHOM writes.
"""
import glob
import json
import os
import pwd
import re
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../e2e/serve"))
from server import Server  # noqa: E402

BEGIN_NS = 1795521600 * 10**9  # 2026-11-24, noon UTC
MS = 10**6
KINDS = {"internal": 1, "server": 2, "client": 3}
OTHERS = ("--zipkin", "off", "--otlp-grpc", "off", "--jaeger", "off")  # other tests may have their ports
RANGE = {"from": str(BEGIN_NS - 3600 * 10**9), "to": str(BEGIN_NS + 3600 * 10**9)}
# Since then the store has sums; calls between services; kernel spans, and versions of spans.
SUMS, EDGES, KERNEL = 3, 3, 5


def attribute(key, value):
    kinds = {int: "intValue", str: "stringValue", bool: "boolValue", float: "doubleValue"}
    if isinstance(value, list):
        return {"key": key, "value": {"arrayValue": {"values": [attribute("", one)["value"] for one in value]}}}
    return {"key": key, "value": {kinds[type(value)]: str(value) if isinstance(value, int) and
                                  not isinstance(value, bool) else value}}


def span(trace, number, name, kind, took_ms, **more):
    begin = BEGIN_NS + trace * 100 * MS + number * MS
    made = {"traceId": f"{trace:032x}", "spanId": f"{number:016x}", "name": name, "kind": KINDS[kind],
            "startTimeUnixNano": str(begin), "endTimeUnixNano": str(begin + took_ms * MS),
            "attributes": [attribute(*one) for one in more.get("attributes", {}).items()]}
    if "parent" in more:
        made["parentSpanId"] = f"{more['parent']:016x}"
    if "error" in more:
        made["status"] = {"code": 2, "message": more["error"]}
    if "event" in more:
        made["events"] = [{"name": more["event"], "timeUnixNano": str(begin + MS),
                           "attributes": [attribute("tries", 2)]}]
    if "link" in more:
        made["links"] = [{"traceId": f"{more['link']:032x}", "spanId": f"{1:016x}"}]
    return made


ATTRIBUTES = {"items": 3, "user": "ada", "large": 1 << 60, "share": 0.5, "gift": True, "sizes": [1, 2]}


def requests(version):
    """What is sent, one request after another: a service, and its spans."""
    yield "shop", [span(1, 1, "GET /cart", "server", 10, attributes=ATTRIBUTES, event="miss", link=2),
                   span(1, 2, "call stock", "client", 5, parent=1)]
    yield "stock", [span(1, 3, "GET /stock", "server", 4, parent=2, error="sold out")]
    yield "shop", [span(2, 1, "GET /cart", "server", 20, attributes={"items": 4})]
    if version >= KERNEL:
        for number, took in ((1, 10), (2, 30)):
            yield "shop", [span(3, 1, "pay", "server", took, attributes={
                "fathom.version": number, "fathom.time.lock_ns": 7 * MS})]
        yield "shop", [span(3, 2, "futex", "internal", 7, parent=1,
                            attributes={"fathom.kind": "wait", "fathom.time.lock_ns": 7 * MS})]


class Store(Server):
    """A server to which spans are sent one request after another."""

    def answer(self, path, **parameters):
        return self.get(path, **parameters)[1]

    def send(self, service, spans):
        status, _ = self.post(json.dumps({"resourceSpans": [{
            "resource": {"attributes": [attribute("service.name", service), attribute("host.name", "box")]},
            "scopeSpans": [{"scope": {"name": "lib", "version": "1"}, "spans": spans}]}]}),
            Content_Type="application/json")
        if status != 200:
            raise RuntimeError(f"the spans of {service} are refused: {status}")
        self.wait(f"{spans[-1]['name']} is found", lambda: self.has(spans[-1]))

    def has(self, sent):
        """By Jaeger's API, which each version has."""
        status, answer = self.get(f"/api/traces/{sent['traceId']}")
        return status == 200 and sent["spanId"] in [one["spanID"] for one in answer["data"][0]["spans"]]


def make(fathom, version):
    with tempfile.TemporaryDirectory(prefix="fathom-stores-") as folder:
        data = os.path.join(folder, f"store-v{version}")
        period = ["--store-period", "1ms"] if version >= 4 else []
        server = Store(fathom, data, *period, addresses=OTHERS if version >= 3 else OTHERS[:2])
        try:
            for service, spans in requests(version):
                server.send(service, spans)
        finally:
            server.end()
        with tarfile.open(os.path.join(HERE, f"store-v{version}.tar.xz"), "w:xz", preset=9) as out:
            out.add(data, f"store-v{version}", filter=lambda one: None if one.name.endswith(("lock", "sock")) else one)


def spans_of(server, trace):
    return server.answer(f"/api/v1/traces/{trace:x}")["spans"]


def traces_of(server, **parameters):
    found = server.answer("/api/v1/search", **RANGE, **parameters)["traces"]
    return sorted(int(one["trace_id"], 16) for one in found)


def spans_told(server):
    cart, call, stock = sorted(spans_of(server, 1), key=lambda one: one["span_id"])
    yield "the spans", [one["name"] for one in (cart, call, stock)], ["GET /cart", "call stock", "GET /stock"]
    yield "services", [one["service"] for one in (cart, call, stock)], ["shop", "shop", "stock"]
    yield "attributes", {key: cart["attributes"].get(key) for key in ATTRIBUTES}, ATTRIBUTES
    yield "time", (cart["begin_unix_ns"], cart["end_unix_ns"] - cart["begin_unix_ns"]), (BEGIN_NS + 101 * MS, 10 * MS)
    yield "parents", (call["parent_id"], stock["parent_id"]), (f"{1:016x}", f"{2:016x}")
    yield "an error", (stock["status"], stock["status_message"]), ("error", "sold out")
    yield "an event", [one["name"] for one in cart["events"]], ["miss"]
    yield "a link", [int(one["trace_id"], 16) for one in cart["links"]], [2]


def search_told(server, version):
    pay = [3] if version >= KERNEL else []
    yield "search: a service", traces_of(server, service="shop"), [1, 2] + pay
    yield "search: an operation", traces_of(server, service="shop", operation="GET /cart"), [1, 2]
    yield "search: an attribute", traces_of(server, attribute="items=4"), [2]
    yield "search: an error", traces_of(server, error="true"), [1]
    yield "search: a duration", traces_of(server, min_duration="15ms"), [2] + pay


def sums_told(server, version):
    if version < SUMS:
        return
    rows = server.answer("/api/v1/operations", service="shop", **RANGE)["operations"]
    wanted = {"GET /cart": (2, 2, 30 * MS), "call stock": (1, 1, 5 * MS)}
    if version >= KERNEL:
        wanted["pay"] = (1, 1, 10 * MS)  # the next version of it is in the next file
    yield "sums", {row["operation"]: (row["count"], row["seen"], row["count"] * row["mean_ns"]) for row in rows}, wanted


def edges_told(server, version):
    if version >= EDGES:
        edges = server.answer("/api/v1/edges", **RANGE)["edges"]
        yield "calls", [(one["from"], one["to"], one["count"]) for one in edges], [("shop", "stock", 1)]


def kernel_told(server, version):
    if version < KERNEL:
        return
    pay, futex = sorted(spans_of(server, 3), key=lambda one: one["span_id"])
    yield "the highest version", (pay["name"], pay["attributes"]["fathom.version"]), ("pay", 2)
    yield "a kernel span", (futex["name"], futex["attributes"]["fathom.kind"]), ("futex", "wait")
    yield "search: a cause", traces_of(server, cause="lock > 5ms"), [3]


def told(server, version):
    """What is asked, the answer, and what it must be."""
    yield from spans_told(server)
    yield from search_told(server, version)
    yield from sums_told(server, version)
    yield from edges_told(server, version)
    yield from kernel_told(server, version)
    yield "nothing is lost", server.answer("/api/v1/status")["store"]["lost_files"], 0


def check(server, version, when):
    failed = 0
    for what, got, wanted in told(server, version):
        if got != wanted:
            print(f"# version {version}, {when}: {what}: {got!r}, should be {wanted!r}")
            failed += 1
    return failed


def sql_check(fathom, folder, version, more):
    """`fathom sql` on a store that nobody has open."""
    done = subprocess.run([fathom, "sql", "-o", folder, "--json", "SELECT service, count(*) AS n FROM spans"
                           " GROUP BY ALL ORDER BY ALL"], capture_output=True, text=True, check=False)
    wanted = [{"service": "later", "n": more}] if more else []
    wanted += [{"service": "shop", "n": 3 + (version >= KERNEL)}, {"service": "stock", "n": 1}]
    if done.returncode == 0 and json.loads(done.stdout)["rows"] == wanted:
        return 0
    print(f"# version {version}, fathom sql: {done.stdout or done.stderr}, should be {wanted}")
    return 1


def extract(path, folder):
    """Returns options with which it is served by the user to whom it belongs then."""
    with tarfile.open(path) as archive:
        archive.extractall(folder)
    if os.geteuid() != 0:
        return []
    nobody = pwd.getpwnam("nobody")
    os.chmod(folder, 0o755)
    for place, folders, files in os.walk(folder):
        for name in folders + files:
            os.chown(os.path.join(place, name), nobody.pw_uid, nobody.pw_gid)
    return ["--user", "nobody"]


def store_check(fathom, path):
    """How much is wrong: as it was, after more spans came, and after the next start."""
    version, failed = int(re.search(r"-v(\d+)\.", path).group(1)), 0
    with tempfile.TemporaryDirectory(prefix="fathom-stores-") as folder:
        user = extract(path, folder)
        data = os.path.join(folder, f"store-v{version}")
        failed += sql_check(fathom, data, version, 0)
        for when in ("opened", "opened again"):
            server = Store(fathom, data, *user, addresses=OTHERS)
            try:
                failed += check(server, version, when)
                number = 9 if when == "opened" else 10
                server.send("later", [span(number, 1, "more", "server", 1)])
                failed += check(server, version, f"{when}, with more spans")
                found = traces_of(server, service="later")
                failed += found != list(range(9, number + 1))
            finally:
                server.end()
        failed += sql_check(fathom, data, version, 2)
    print(f"{'not ok' if failed else 'ok'} - a store of version {version}")
    return failed


def main():
    if sys.argv[1] == "--make":
        return make(sys.argv[2], int(sys.argv[3]))
    paths = sorted(glob.glob(os.path.join(HERE, "store-v*.tar.xz")))
    if not paths:
        sys.exit("nothing is stored")
    return 1 if sum(store_check(sys.argv[1], path) for path in paths) else 0


sys.exit(main())
