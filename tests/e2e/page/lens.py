#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Zipkin's page, Lens, in a browser over fathom serve: lens.py FATHOM PACKAGES LENS

PACKAGES is the folder with the page's packages of npm. LENS gets the built files of Lens, once.
"""
import json
import os
import subprocess
import sys
import tempfile
import time

from needed import browser_missing

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../serve"))
from server import Server, alone  # noqa: E402 (the folder of the tests of serve)

FETCH_LENS = os.path.join(HERE, "../../../tools/fetch-lens")
NOW_US = time.time_ns() // 1000 - 20 * 10**6
TRACES = 12


def skip(why):
    print(f"1..1\nok 1 - lens # SKIP {why}")
    sys.exit(0)


def span(trace, number, service, name, kind, took_us, **more):
    made = {"traceId": f"{0x5eed000 + trace:016x}", "id": f"{number:016x}", "name": name, "kind": kind,
            "timestamp": NOW_US + trace * 1000 + more.pop("after_us", 0), "duration": took_us,
            "localEndpoint": {"serviceName": service, "ipv4": "10.0.0.1"}}
    return {**made, **more}


def request(trace):
    """A request of a shop, which asks its stock: as a span with two halves, whose server asks a database."""
    parent = {"parentId": f"{1:016x}"}
    broken = {"error": "sold out"} if trace == 3 else {}
    shop = [span(trace, 1, "shop", "get /cart", "SERVER", 10000 + trace * 1000,
                 tags={"http.path": "/cart", "cart": str(trace)},
                 annotations=[{"timestamp": NOW_US + trace * 1000 + 500, "value": "cache miss"}]),
            span(trace, 2, "shop", "get /stock", "CLIENT", 8000, after_us=1000, **parent)]
    stock = [span(trace, 2, "stock", "get /stock", "SERVER", 6000, after_us=2000, shared=True, tags=broken, **parent),
             span(trace, 3, "stock", "select", "CLIENT", 2000, after_us=3000, parentId=f"{2:016x}",
                  remoteEndpoint={"serviceName": "database", "port": 5432})]
    return shop + stock


def main():
    fathom, packages, lens = sys.argv[1:]
    lacks = browser_missing(packages)
    if lacks:
        skip(lacks)
    with alone(lens):
        told = subprocess.run([FETCH_LENS, lens], check=False, timeout=700, capture_output=True, text=True)
    if told.returncode or not os.path.exists(f"{lens}/index.html"):
        skip(told.stderr.strip() or "Lens cannot be had")
    with tempfile.TemporaryDirectory(prefix="fathom-lens-") as folder:
        server = Server(fathom, os.path.join(folder, "data"), "--ui-zipkin", lens)
        try:
            spans = [one for trace in range(TRACES) for one in request(trace)]
            status, _ = server.ask("Zipkin", "POST", "/api/v2/spans", json.dumps(spans).encode(),
                                   {"Content-Type": "application/json"})
            if status != 202:
                raise RuntimeError(f"the spans are refused: {status}")
            server.wait_stored()
            return subprocess.run(["node", f"{HERE}/lens.mjs", packages, f"http://127.0.0.1:{server.ports['Zipkin']}",
                                   f"{0x5eed003:016x}"], check=False, timeout=600).returncode
        finally:
            server.process.kill()
            server.process.wait()


if __name__ == "__main__":
    sys.exit(main())
