# SPDX-License-Identifier: Apache-2.0
"""Answers about monitors as they are described: a rule that is red, and an action that fails."""
import json

SERVICE, NAME = "api-monitored", "always red"
BEFORE_MS, SPANS, FEW = -130000, 40, 0xa0b << 96  # the minute of the spans is over
FILE = f"""[monitor silent]
service = {SERVICE}-not
value = average
above = 1s
warn = 500ms

[command broken]
run = /bin/false
"""
JSON_TYPE = {"Content-Type": "application/json"}


def change(server, method, path, body=None):
    status, answer = server.ask("queries", method, f"/api/v1/{path}", json.dumps(body or {}), JSON_TYPE)
    return status, json.loads(answer)


def check(server, checks, described, send, span_of):
    send(*[span_of((0xa0a << 96) + i + 1, 1, "work", kind="server", at=BEFORE_MS, took=20 + i) for i in range(SPANS)])
    server.wait("the spans are stored", lambda: server.trace(f"{(0xa0a << 96) + SPANS:032x}"))

    def described_as(path, answer, method="get"):
        return answer[0], described.check(f"/api/v1/{path}", *answer, method)
    one = "monitors/{id}"
    made = change(server, "POST", "monitors", {
        "name": NAME, "service": SERVICE, "value": "p99", "above": "1us", "warn": "1us", "over": "5m", "notify": ["broken"]})
    checks.equal("monitors: one is made", described_as("monitors", made, "post"), (201, ""))
    monitor = made[1]["monitors"][0]
    checks.equal("monitors: it is red at once", (monitor["state"], monitor["count"], monitor["now"] // 1e6),
                 ("alert", SPANS, 59))
    server.wait("the action failed", lambda: server.get("/api/v1/monitors")[1]["untold"][0]["attempts"])
    for answer, method, wanted in (
            (change(server, "POST", "monitors", {"name": "x", "value": "p98.7x"}), "post", 400),
            (change(server, "POST", "monitors", {
                "name": NAME, "service": SERVICE, "value": "p99", "above": "1us"}), "post", 409)):
        checks.equal(f"monitors: refused with {wanted}", described_as("monitors", answer, method), (wanted, ""))
    checks.equal("monitors: muted for a time", described_as(one, change(
        server, "PUT", f"monitors/{NAME.replace(' ', '%20')}", {"mute": "2h"}), "put"), (200, ""))
    for method, name, body, wanted in (
            ("PUT", "silent", {"above": "2s"}, 403), ("PUT", "nobody", {}, 404), ("PUT", "silent", {"mute": "x"}, 400),
            ("DELETE", "silent", {}, 403), ("DELETE", "nobody", {}, 404)):
        checks.equal(f"monitors: {method} {name} is refused", described_as(
            one, change(server, method, f"monitors/{name}", body), method.lower()), (wanted, ""))
    checks.equal("monitors: all", described_as("monitors", server.get("/api/v1/monitors")), (200, ""))
    checks.equal("monitors: one", described_as(one, server.get("/api/v1/monitors/silent")), (200, ""))
    checks.equal("monitors: none", described_as(one, server.get("/api/v1/monitors/nobody")), (404, ""))
    check_few(server, checks, send, span_of)
    check_suggestion(server, checks, described_as)


def check_few(server, checks, send, span_of):
    """One request that stands for many counts for them, and is no more than one."""
    send(span_of(FEW, 1, "rare", kind="server", at=BEFORE_MS, took=50, attributes={"fathom.stands_for": SPANS}))
    server.wait("the span is stored", lambda: server.trace(f"{FEW:032x}"))
    row, = [one for one in server.get("/api/v1/operations", service=SERVICE)[1]["operations"] if one["operation"] == "rare"]
    checks.equal("a span stands for others", (row["count"], row["seen"], row["mean_ns"]), (SPANS, 1, 50 * 10**6))
    for value, wanted in (("p99", ("no_data", 1)), ("rate", ("alert", 1))):
        above = {"p99": "1us", "rate": "0.1/s"}[value]  # as many would be 0.13/s
        one = change(server, "POST", "monitors", {
            "name": f"few {value}", "service": SERVICE, "operation": "rare", "value": value, "above": above,
            "over": "5m"})[1]["monitors"][0]
        checks.equal(f"monitors: {value} of a span that stands for others", (one["state"], one["count"]), wanted)


def check_suggestion(server, checks, described_as):
    asked = {"service": SERVICE, "operation": "work", "over": "1m"}
    answer = server.get("/api/v1/suggestion", **asked)
    checks.equal("suggestion: described", described_as("suggestion", answer), (200, ""))
    said = answer[1]
    checks.equal("suggestion: a fifth above the only day, never red", (
        said["text"], said["days"][0]["count"], said["windows"], said["alerts"]), ("71ms", SPANS, 1, 0))
    answer = server.get("/api/v1/suggestion", **asked, above="1us")
    checks.equal("suggestion: a lower threshold would have been red", (
        described_as("suggestion", answer), answer[1]["alerts"], answer[1]["alert_ns"], len(answer[1]["list"])),
        ((200, ""), 1, 60 * 10**9, 1))
    answer = server.get("/api/v1/suggestion", **asked, value="rate")
    checks.equal("suggestion: a rate is that of a window with spans", (answer[1]["text"], answer[1]["median"]), (
        "0.800/s", SPANS / 60))
    checks.equal("suggestion: refused", described_as("suggestion", server.get("/api/v1/suggestion")), (400, ""))
