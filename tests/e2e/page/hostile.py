#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page of fathom serve: empty, with hostile spans, without its server. It records nothing.

hostile.py FATHOM PACKAGES PAGE
"""
import gzip
import http.client
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

from needed import missing

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../serve"))
from server import Server  # noqa: E402 (the folder of the other tests of serve)

HERE = os.path.dirname(os.path.abspath(__file__))
NOW_NS = time.time_ns() - 20 * 10**9
DAY_NS = 86400 * 10**9
HOSTILE = ("<img src=x onerror=\"window.pwned=1\">", "x" * 10000, "\u202eright to left\u202c",
           "\U0001f600\U0001f469\u200d\U0001f680", "</script><script>window.pwned=1</script>", "a\nb\tc", "", " ",
           "a\u2028b</SCRIPT ><!--<script>", "{{7*7}}", "javascript:window.pwned=1", "../../etc/passwd", "%00%2e%2e")


def span(trace, number, name, parent=0, begin=0, took=10**6, **more):
    begin_ns = NOW_NS + begin
    return {"traceId": f"{trace:032x}", "spanId": f"{number:016x}", "parentSpanId": f"{parent:016x}" if parent else "",
            "name": name, "kind": 2, "startTimeUnixNano": str(begin_ns), "endTimeUnixNano": str(begin_ns + took), **more}


def attributes(values):
    return [{"key": key, "value": {"stringValue": value}} for key, value in values.items()]


def numbers(values):
    return [{"key": key, "value": {"intValue": str(value)}} for key, value in values.items()]


def traces():
    """Spans by the name of their trace."""
    yield "names", [span(1, i + 1, name, parent=1 if i else 0, took=10**7,
                         attributes=attributes({name or "empty": name, "__proto__": name}),
                         status={"code": 2, "message": name}) for i, name in enumerate(HOSTILE)]
    yield "circle", [span(2, 1, "one", parent=2), span(2, 2, "two", parent=1)]
    yield "siblings", [span(3, 1, "root", took=10**9)] + [
        span(3, i + 2, "like the others", parent=1, begin=i * 10**5, took=9 * 10**4) for i in range(5000)]
    yield "deep", [span(4, i + 1, f"level {i}", parent=i, begin=i, took=10**9 - 2 * i) for i in range(2000)]
    yield "times", [span(5, 1, "a day", begin=-DAY_NS, took=DAY_NS), span(5, 2, "nothing", parent=1, took=0),
                    span(5, 3, "outside of its parent", parent=2, begin=-2000, took=10**9),
                    span(5, 4, "backwards", parent=1, took=-10**6), span(5, 5, "an orphan", parent=99)]
    yield "large", [span(6, 1, "root", took=10**9)] + [
        span(6, i + 2, f"work {i % 97}", parent=1 + i // 8, begin=i * 1000, took=10**6) for i in range(20000)]


def story():
    """An operation that waits longer for a lock since a minute: normal requests, then slow ones."""
    for i in range(120):
        is_slow = i >= 60
        begin, lock = (0 if is_slow else -1200 * 10**9) + i * 10**7, (80 if is_slow else 1) * 10**6
        trace, took = 1000 + i, lock + 2 * 10**6
        own = {"fathom.time.user_ns": 2 * 10**6, "fathom.time.lock_ns": lock}
        yield span(trace, 1, "GET /basket", begin=begin, took=took, attributes=attributes(
            {"tenant": "big" if is_slow else "small", "fathom.kernel.why": "sample"}) + numbers(own))
        yield span(trace, 2, "lock", parent=1, begin=begin + 10**6, took=lock, attributes=attributes(
            {"fathom.kind": "wait", "syscall": "futex", "fd.name": "/srv/basket.db"}))


def chain():
    """Requests of a client whose server waits for a CPU in half of them: spans by their service."""
    ms, client, server = 10**6, [], []
    for i in range(120):
        took = (92 if i >= 60 else 12) * ms
        trace, begin = 3000 + i, i * 10**7
        client.append(span(trace, 1, "GET /image", begin=begin, took=took, kind=3, attributes=numbers(
            {"thread.id": 11, "fathom.time.user_ns": ms, "fathom.time.network_ns": took - ms}) + [
                {"key": "edge.probability", "value": {"doubleValue": 0.5}}]))
        server.append(span(trace, 2, "decode", parent=1, begin=begin + ms, took=took - 2 * ms, attributes=numbers(
            {"thread.id": 21, "fathom.time.user_ns": 8 * ms, "fathom.time.runnable_ns": took - 10 * ms})))
    return {"front": client, "thumbnailer": server}


class Site:
    """The server, and what the browser's script has it do."""

    def __init__(self, fathom, folder):
        self.fathom, self.folder, self.options = fathom, folder, []
        self.server = self.guarded = None
        self.rules = f"{folder}.monitors"
        with open(self.rules, "w", encoding="utf-8") as file:
            file.write("[command broken]\nrun = /bin/false\n")
        self.start()

    def start(self):
        self.server = Server(self.fathom, self.folder, "--monitors", self.rules, *self.options)
        self.options = ["--http", f"127.0.0.1:{self.server.ports['queries']}"]
        return "started"

    def stop(self):
        self.server.end(signal.SIGTERM)
        return "stopped"

    def post(self, service, spans, pid=0):
        body = {"resourceSpans": [{"resource": {"attributes": attributes({"service.name": service}) + numbers({"process.pid": pid} if pid else {})},
                                   "scopeSpans": [{"spans": spans}]}]}
        status, answer = self.server.post(json.dumps(body).encode(), Content_Type="application/json")
        if status != 200:
            raise RuntimeError(f"spans are refused: {status} {answer}")

    def send(self):
        ids = {}
        for name, spans in traces():
            ids[name] = spans[0]["traceId"]
            for at in range(0, len(spans), 5000):
                self.post("<b>hostile</b>" if name == "names" else "shop", spans[at:at + 5000])
        self.server.wait("all is stored", lambda: len(self.server.trace(ids["large"])) == 20001)
        return json.dumps({**ids, "deepest": f"{2000:016x}"})

    def story(self):
        self.post("baskets", list(story()))
        self.server.wait("it is stored", lambda: self.server.trace(f"{1119:032x}"))
        return "sent"

    def chain(self):
        """Sends them, and tells the ids of a slow trace and of a fast one."""
        for service, spans in chain().items():
            self.post(service, spans)
        self.server.wait("they are stored", lambda: len(self.server.trace(f"{3119:032x}")) == 2)
        return f"{3119:032x} {3000:032x}"

    def waits(self):
        """Sends more waits of a thread than an answer has, and tells their time."""
        ms, count = 10**6, 60000
        begin = -100 * 10**9
        spans = [span(7, 1, "waits often", begin=begin, took=count * ms, attributes=numbers({"thread.id": 31}))] + [
            span(7, i + 2, "lock", parent=1, begin=begin + i * ms, took=ms // 2, attributes=attributes({"fathom.kind": "wait"}) + numbers(
                {"thread.id": 31, "fathom.time.lock_ns": ms // 2})) for i in range(count)]
        for at in range(0, len(spans), 5000):
            self.post("busy", spans[at:at + 5000], pid=30)
        self.server.wait("they are stored", lambda: self.server.get("/api/v1/status")[1]["store"]["behind_bytes"] == 0)
        return f"{NOW_NS + begin} {NOW_NS + begin + count * ms}"

    def token(self):
        """Another server, which asks for a token."""
        path = f"{self.folder}.token"
        with open(path, "w", encoding="utf-8", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
            file.write("open sesame".replace(" ", "-"))
        self.guarded = Server(self.fathom, f"{self.folder}-guarded", "--token-file", path)
        if b'id="answer"' in self.guarded.ask("queries", "GET", "/")[1]:
            raise RuntimeError("the page has an answer for somebody without a token")
        return f"http://127.0.0.1:{self.guarded.ports['queries']}"

    def live(self):
        self.post("shop", [span(time.time_ns(), 1, "told live", begin=20 * 10**9)])
        return "sent"


def page_checks(site, check):
    """What a browser is told with the files."""
    def get(path, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", site.server.ports["queries"], timeout=30)
        connection.request("GET", path, headers={key.replace("_", "-"): value for key, value in headers.items()})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer, body
    answer, body = get("/search")
    script = next(word for word in body.decode().split('"') if word.startswith("/assets/") and word.endswith(".js"))
    policy = answer.getheader("Content-Security-Policy")
    check("only the server's own files may be loaded", ("default-src 'none'" in policy, "unsafe" in policy), (True, False))
    check("the first file is asked for each time", answer.getheader("Cache-Control"), "no-cache")
    answer, plain = get(script)
    check("a file with a hash is kept", "immutable" in answer.getheader("Cache-Control"), True)
    answer, packed = get(script, Accept_Encoding="gzip")
    check("it comes compressed", (answer.getheader("Content-Encoding"), len(packed) < len(plain) / 2), ("gzip", True))
    check("a place of the page", get("/o/shop/GET%20%2Fa.html")[1], body)
    head, tail = body.split(b"</body>")
    for query, path in (("", "5m"), ("?last=1h", "1h"), ("?last=x", ""), ("?from=1&to=2", ""), ("?last=1h%22%3E", "")):
        answer, got = get(f"/{query}")
        if not path:
            check(f"an overview that the page asks for itself: {query}", got, body)
            continue
        begin = head + f'<script type="application/json" id="answer" data-path="/api/v1/overview?from={path}">'.encode()
        end = b"</script>\n</body>" + tail
        check("the overview comes with its answer", (got[:len(begin)], got[-len(end):]), (begin, end))
        packed, compressed = get(f"/{query}", Accept_Encoding="gzip")
        check("it can come compressed", (packed.getheader("Content-Encoding"), gzip.decompress(compressed)[:len(begin)], len(compressed) < len(got)),
              ("gzip", begin, True))
        check("which is that of the API", json.loads(got[len(begin):-len(end)])["compared"], "nothing")
        check("nobody keeps it, and it runs nothing more", (answer.getheader("Cache-Control"), answer.getheader("Content-Security-Policy")), ("no-store", policy))
    check("an asset that is not there", get("/assets/none.js")[0].status, 404)
    check("no file beside the page", get("/assets/../../../etc/passwd")[0].status in (400, 404), True)
    check("an API that is not there", get("/api/v1/none")[0].status, 404)


def main():
    fathom, packages, page = sys.argv[1:]
    lacks = missing(packages, page)
    if lacks:
        print(f"1..1\nok 1 - page # SKIP {lacks}")
        return 0
    os.environ["FATHOM_PAGE"] = page
    failed = []

    def check(name, got, wanted):
        if got != wanted:
            failed.append(name)
            print(f"not ok 1 - {name}\n# got {got!r}\n# wanted {wanted!r}", flush=True)
    with tempfile.TemporaryDirectory(prefix="fathom-page-") as folder:
        site = Site(fathom, f"{folder}/data")
        try:
            page_checks(site, check)
            browser = subprocess.Popen(["node", f"{HERE}/hostile.mjs", packages,
                                        f"http://127.0.0.1:{site.server.ports['queries']}"],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)
            for line in browser.stdout:
                if line.startswith("!"):
                    browser.stdin.write(getattr(site, line[1:].strip())() + "\n")
                else:
                    print(line, end="", flush=True)
            return browser.wait(60) or len(failed)
        finally:
            for server in (site.server, site.guarded):
                if server and server.process.poll() is None:
                    server.process.kill()
                    server.process.wait()


if __name__ == "__main__":
    sys.exit(main())
