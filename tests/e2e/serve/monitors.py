#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Monitors of fathom serve: who is told of what, once, also over restarts and a kill.

monitors.py FATHOM
"""
import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time

from checks import Checks
from server import PATIENCE, Server

SERVICE, OPERATION, SPANS, TOOK_MS = "m-shop", "GET /cart", 50, 300
JSON_TYPE = {"Content-Type": "application/json"}
FILE = """# rules and whom to tell
[monitor file rule]
service = {service}
operation = {operation}
value = share >100ms
above = 50%
over = 15m
notify = hook

[webhook hook]
url = http://127.0.0.1:{port}/hook
header = X-Team: shop
[webhook away]
url = http://127.0.0.1:{port}/away
[command note]
run = /bin/sh -c "cat > '{folder}/note.new' && mv '{folder}/note.new' '{folder}/note'"
"""


class Sink:
    """Takes what webhooks send. /away redirects to /hook."""

    def __init__(self):
        sink = self
        self.got, self.teams = [], set()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/hook":
                    sink.got.append(json.loads(body))
                    sink.teams.add(self.headers["X-Team"])
                self.send_response(302 if self.path == "/away" else 200)
                self.send_header("Location", "/hook")
                self.send_header("Content-Length", "0")
                self.end_headers()

            do_GET = do_POST

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_address[1]
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def told(self):
        """How often each state of each monitor was told."""
        counts = {}
        for one in list(self.got):
            key = (one["monitor"], one["state"])
            counts[key] = counts.get(key, 0) + 1
        return counts


def send_spans(server):
    """Spans of a minute ago, with half of their time at a lock."""
    begin = time.time_ns() - 60 * 10**9
    spans = [{"traceId": f"{i + 1:032x}", "spanId": f"{1:016x}", "name": OPERATION, "kind": 2,
              "startTimeUnixNano": str(begin), "endTimeUnixNano": str(begin + TOOK_MS * 10**6),
              "attributes": [{"key": f"fathom.time.{part}_ns", "value": {"intValue": str(TOOK_MS * 500000)}}
                             for part in ("user", "lock")]} for i in range(SPANS)]
    body = {"resourceSpans": [{"resource": {"attributes": [{"key": "service.name", "value": {"stringValue": SERVICE}}]},
                               "scopeSpans": [{"spans": spans}]}]}
    if server.post(json.dumps(body).encode(), Content_Type="application/json")[0] != 200:
        raise RuntimeError("the spans are refused")
    server.wait_stored()


def change(server, method, path, body, headers=None):
    status, answer = server.ask("queries", method, f"/api/v1/monitors{path}", json.dumps(body), headers or JSON_TYPE)
    try:
        return status, json.loads(answer)
    except ValueError:
        return status, answer.decode()


def states(server):
    return {one["name"]: one["state"] for one in server.get("/api/v1/monitors")[1]["monitors"]}


def evaluated_after(server, unix_ns):
    return all(one["evaluated_unix_ns"] > unix_ns for one in server.get("/api/v1/monitors")[1]["monitors"])


def check_alert(server, checks, sink, folder):
    rule = {"name": "slow cart", "service": SERVICE, "operation": OPERATION, "value": "p99", "above": "200ms", "over": "15m",
            "notify": ["hook", "away", "note"]}
    status, answer = change(server, "POST", "", rule)
    one = answer["monitors"][0]
    checks.equal("a rule of the API has a value at once", (status, one["state"], one["now"] / 1e6, one["count"]),
                 (201, "alert", TOOK_MS, SPANS))
    server.wait("the webhook and the command were told", lambda: sink.got and os.path.exists(f"{folder}/note"))
    hook, = sink.got
    checks.equal("what the webhook gets", (hook["monitor"], hook["before"], hook["state"], hook["value"], hook["threshold"]),
                 ("slow cart", "ok", "alert", "p99", 200e6))
    checks.equal("in words", "slow cart (p99 of m-shop GET /cart is 300 ms, above 200 ms)" in hook["text"], True)
    checks.equal("with the header of the file", sink.teams, {"shop"})
    with open(f"{folder}/note", encoding="utf-8") as file:
        checks.equal("the command gets the same", json.load(file), hook)
    server.wait("the redirect failed, and the others are told", lambda: [
        one["why"] != "" for one in server.get("/api/v1/monitors")[1]["untold"]] == [True])
    untold, = server.get("/api/v1/monitors")[1]["untold"]
    checks.equal("a redirect is not followed, and is shown", (untold["action"], untold["given_up"], untold["why"]),
                 ("away", False, "it answers 302: redirects are not followed"))
    lock = change(server, "POST", "", {**rule, "name": "waits", "value": "share lock", "above": "60%", "warn": "40%", "notify": []})
    checks.equal("a cause, and a warning", [lock[1]["monitors"][0][key] for key in ("state", "now", "unit")], ["warn", 0.5, "ratio"])


def values(server):
    return {one["name"]: (one["state"], one.get("now"), one["count"]) for one in server.get("/api/v1/monitors")[1]["monitors"]
            if one["name"].startswith("many ")}


def check_many(server, checks):
    """A rule that is made has a query of its own; with many others over the same time it shares one."""
    base = {"service": SERVICE, "over": "15m", "above": "1s"}
    rules = [{**base, "value": value} for value in ("p50", "p99", "average")]
    rules += [{**base, "value": "p99", **more} for more in (
        {"operation": OPERATION}, {"operation": "none"}, {"kind": "server"}, {"kind": "client"}, {"service": "none"})]
    rules += [{**base, "value": value, "above": "50/s"} for value in ("rate", "rate errors", "rate >100ms")]
    rules += [{**base, "value": value} for value in ["p99 lock", "average lock"] * 4]
    for i, rule in enumerate(rules):
        checks.equal(f"{rule} is made", change(server, "POST", "", {**rule, "name": f"many {i}"})[0], 201)
    before, alone = time.time_ns(), values(server)
    server.wait("all were evaluated together", lambda: evaluated_after(server, before))
    checks.equal("they have the same values then", values(server), alone)
    checks.equal("not all are empty", {one[1] for one in alone.values()} > {None, TOOK_MS * 1e6, 0}, True)
    about = server.get("/api/v1/monitors")[1]
    checks.equal("no rule is late", (about["late"], 0 < about["round_ns"] < 8e9), (0, True))
    checks.equal("metrics have that", "\nfathom_monitors_late 0\n" in server.ask("queries", "GET", "/metrics")[1].decode(), True)
    for i in range(len(rules)):
        change(server, "DELETE", f"/many%20{i}", {})


def check_refusals(server, checks):
    rule = {"name": "x", "service": "s", "value": "p99", "above": "1s"}
    for name, method, path, body, headers, wanted in (
            ("another type", "POST", "", rule, {"Content-Type": "text/plain"}, 415),
            ("another origin", "POST", "", rule, {**JSON_TYPE, "Origin": "http://evil.example"}, 403),
            ("another host", "DELETE", "/waits", {}, {**JSON_TYPE, "Host": "evil.example"}, 403),
            ("an action that the file has not", "POST", "", {**rule, "notify": ["http://evil.example"]}, None, 400),
            ("an address", "POST", "", {**rule, "url": "http://evil.example"}, None, 400),
            ("no JSON", "POST", "", "x", None, 400),
            ("no name", "POST", "", {**rule, "name": ""}, None, 400),
            ("the name of a folder", "POST", "", {**rule, "name": ".."}, None, 400),
            ("a name with a slash", "POST", "", {**rule, "name": "a/b"}, None, 400),
            ("a long name", "POST", "", {**rule, "name": "x" * 64}, None, 400),
            ("a large body", "POST", "", {**rule, "value": "x" * 70000}, None, 413),
            ("a rule of the file", "DELETE", "/file%20rule", {}, None, 403),
            ("another method", "PUT", "", rule, None, 405)):
        checks.equal(f"refused: {name}", change(server, method, path, body, headers)[0], wanted)
    checks.equal("a long name: the limit is told", change(server, "POST", "", {**rule, "name": "x" * 64})[1]["error"],
                 "'name' is too long: shorten it to 63 bytes")
    checks.equal("nothing came of it", set(states(server)), {"file rule", "slow cart", "waits"})


def check_shown(server, checks, fathom, folder):
    text = server.ask("queries", "GET", "/metrics")[1].decode()
    checks.equal("metrics: state", 'fathom_monitor_state{monitor="slow cart"} 2\n' in text, True)
    checks.equal("metrics: value, in seconds", 'fathom_monitor_value{monitor="slow cart"} 0.3\n' in text, True)
    server.wait("the status has it", lambda: "slow cart" in subprocess.run(
        [fathom, "status", "-o", folder, "--json"], capture_output=True, text=True, check=False).stdout)
    shown = subprocess.run([fathom, "status", "-o", folder], capture_output=True, text=True, check=False).stdout
    checks.equal("status: a line", "ALERT      slow cart: p99 of m-shop GET /cart is 300 ms, above 200 ms, for" in shown, True)


def check_restarts(server, checks, sink, start):
    """Nothing is told twice. The rule of the file is red since a restart, or the next evaluation."""
    for name, number in (("a stop", signal.SIGTERM), ("a kill", signal.SIGKILL)):
        before = time.time_ns()
        server.end(number)
        server = start()
        server.wait("all were evaluated again", lambda s=server, b=before: evaluated_after(s, b))
        server.wait("the rule of the file was told", lambda: ("file rule", "alert") in sink.told())
        checks.equal(f"after {name} states and rules are there", states(server),
                     {"file rule": "alert", "slow cart": "alert", "waits": "warn"})
        checks.equal(f"after {name} nothing was told twice", sink.told(), {("slow cart", "alert"): 1, ("file rule", "alert"): 1})
        checks.equal(f"after {name} what failed is still shown", "away" in [
            one["action"] for one in server.get("/api/v1/monitors")[1]["untold"]], True)
    return server


def check_changes(server, checks, sink):
    path = "/slow%20cart"
    status, answer = change(server, "PUT", path, {"above": "10s", "notify": ["hook"]})
    checks.equal("a changed rule is evaluated", (status, answer["monitors"][0]["state"]), (200, "ok"))
    server.wait("the end is told", lambda: ("slow cart", "ok") in sink.told())
    answer = change(server, "PUT", path, {"mute": "1h", "above": "200ms"})[1]["monitors"][0]
    checks.equal("a muted one is red", (answer["state"], answer["muted"], answer["told"]), ("alert", True, "ok"))
    answer = change(server, "PUT", path, {"mute": "no"})[1]["monitors"][0]
    checks.equal("and tells it when it is unmuted", (answer["muted"], answer["told"]), (False, "alert"))
    server.wait("it is told", lambda: sink.told().get(("slow cart", "alert")) == 2)
    checks.equal("its history", [one["state"] for one in answer["history"] if one["state"] != "no_data"][-3:], ["alert", "ok", "alert"])
    checks.equal("it is deleted", (change(server, "DELETE", path, {})[0], sorted(states(server))), (200, ["file rule", "waits"]))


def check_damage(server, checks, start, folder):
    """A name in monitors.json that none may have: that monitor alone goes, and a line says so."""
    server.end(signal.SIGTERM)
    path = f"{folder}/monitors.json"
    with open(path, encoding="utf-8") as file:
        kept = json.load(file)
    one = next(one for one in kept["monitors"] if one["name"] == "waits")
    kept["monitors"].insert(0, {**one, "name": ".."})
    with open(path, "w", encoding="utf-8") as file:
        json.dump(kept, file)
    server = start()
    checks.equal("the others are there", states(server), {"file rule": "alert", "waits": "warn"})
    checks.equal("nothing is put aside", os.path.exists(f"{path}.damaged"), False)
    return server


def check_mistakes(fathom, checks, folder):
    path = f"{folder}/wrong.conf"
    for text, says in (("[monitor a]\ncolour = red\n", f"{path}:2: there is no key 'colour' of a monitor"),
                       ("[monitor a]\nservice = s\nvalue = p99\nabove = 1s\nnotify = b\n", "notifies 'b'")):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        done = subprocess.run([fathom, "serve", "-o", f"{folder}/other", "--http", "off", "--monitors", path],
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        checks.equal(f"refused at the start: {says[-30:]}", (done.returncode, says in done.stderr), (2, True))


def main():
    fathom = sys.argv[1]
    checks, sink = Checks(), Sink()
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        os.environ.pop(name, None)
    with tempfile.TemporaryDirectory(prefix="fathom-monitors-") as folder:
        os.chmod(folder, 0o777)  # the command is another user's
        data, path = f"{folder}/data", f"{folder}/monitors.conf"
        with open(path, "w", encoding="utf-8") as file:
            file.write(FILE.format(service=SERVICE, operation=OPERATION, port=sink.port, folder=folder))

        def start():
            return Server(fathom, data, "--monitors", path)
        server = start()
        try:
            send_spans(server)
            check_alert(server, checks, sink, folder)
            check_many(server, checks)
            check_refusals(server, checks)
            check_shown(server, checks, fathom, data)
            server = check_restarts(server, checks, sink, start)
            check_changes(server, checks, sink)
            server = check_damage(server, checks, start, data)
            check_mistakes(fathom, checks, folder)
        finally:
            if server.process.poll() is None:
                server.process.kill()
                server.process.wait()
    print(f"1..{checks.number}")
    return 1 if checks.failed else 0


sys.exit(main())
