# SPDX-License-Identifier: Apache-2.0
"""Answers over many requests: over time, compared, and as one tree. Their numbers are known here."""
SERVICE, OPERATION = "api-charts", "GET /slow?"
FAST, SLOW, DETAILED = 40, 4, 4  # requests; of the fast ones, some have kernel spans
FAST_MS, LOCK_MS, PAY_MS = 2, 48, 1
SLOW_MS = FAST_MS + LOCK_MS
SLOWEST = (0xc4a << 96) + FAST + SLOW  # a trace
MS = 1000000


def spans(span_of):
    for i in range(FAST + SLOW):
        is_slow, trace = i >= FAST, (0xc4a << 96) + i + 1
        attributes = {"tenant": "big" if is_slow else "small", "fathom.time.user_ns": FAST_MS * MS}
        if is_slow:
            attributes["fathom.time.lock_ns"] = LOCK_MS * MS
        if is_slow or i < DETAILED:
            attributes["fathom.kernel.why"] = "slow" if is_slow else "sample"
        yield span_of(trace, 1, OPERATION, kind="server", at=i, took=SLOW_MS if is_slow else FAST_MS,
                      attributes=attributes)
        if is_slow:
            yield span_of(trace, 2, "pay", parent=1, kind="client", at=i, took=PAY_MS, attributes={
                "fathom.time.user_ns": PAY_MS * MS, "peer.service": "api-psp", "edge.probability": 0.75})
            yield span_of(trace, 3, "lock", parent=1, at=i + 1, took=LOCK_MS, attributes={
                "fathom.kind": "wait", "syscall": "futex", "waker": "holder/4711", "fathom.time.lock_ns": LOCK_MS * MS})


def check_over_time(ask, checks):
    window = {"from": "2m", "service": SERVICE, "operation": OPERATION}
    series = ask("series", **window)
    row, = series["operations"]
    checks.equal("series: a value for each step", {len(row[key]) for key in (
        "count", "errors", "p50_ns", "p99_ns")}, {series["steps"]})
    checks.equal("series: all are counted", [sum(row[key]) for key in ("count", "seen", "errors")],
                 [FAST + SLOW, FAST + SLOW, 0])
    heat = ask("heatmap", **window)
    whole, = [one for one in ask("operations", **{"from": "2m", "service": SERVICE})["operations"]
              if one["operation"] == OPERATION]
    names = ("count", "seen", "errors", "p50_ns", "p95_ns", "p99_ns", "max_ns", "measured", "time")
    checks.equal("heat map: the sums are those of the operation",
                 [heat["total"][name] for name in names], [whole[name] for name in names])
    ask("overview", **{"from": "0.01us"})  # of no width
    overview = ask("overview", **{"from": "1h"})
    parts = ("now", "before") if overview["compared"] == "first" else ("now",)
    checks.equal("overview: all are in it", sum(one["count"] for part in parts for one in overview[part]["operations"]
                                                if (one["service"], one["operation"]) == (SERVICE, OPERATION)), FAST + SLOW)
    line, = [one for one in overview["series"]["operations"] if (one["service"], one["operation"]) == (SERVICE, OPERATION)]
    checks.equal("overview: over time", (sum(line["count"]), len(line["p99_ns"])), (FAST + SLOW, overview["series"]["steps"]))
    cells = [cell for column in heat["columns"] for cell in column["cells"]]
    checks.equal("heat map: all are in a cell", sum(count for _, count in cells), FAST + SLOW)
    ends = heat["bin_ends_ns"]
    checks.equal("heat map: in the cell of their duration", sum(count for place, count in cells if (
        ends[place - 1] if place else 0) < SLOW_MS * MS <= ends[place]), SLOW)
    checks.equal("heat map: the split", {key: value for key, value in heat["total"]["time"].items() if value},
                 {"user_ns": FAST_MS * MS, "lock_ns": LOCK_MS * MS * SLOW // (FAST + SLOW)})


def check_compare(ask, checks):
    answer = ask("compare", **{"from": "2m", "service": SERVICE, "operation": OPERATION,
                               "min_duration": "10ms"})
    checks.equal("compare: the sides", [[side[key] for key in ("spans", "mean_ns", "measured", "detailed")]
                                        for side in (answer["a"], answer["b"])],
                 [[SLOW, SLOW_MS * MS, SLOW, SLOW], [FAST, FAST_MS * MS, FAST, DETAILED]])
    rows = [(row["kind"], row["key"], row["value"], round(row["explains_ns"])) for row in answer["differences"]]
    checks.equal("compare: the differences", rows, [
        ("part", "", "lock", LOCK_MS * MS), ("place", "lock", "futex", LOCK_MS * MS),
        ("attribute", "tenant", "big", LOCK_MS * MS), ("own", "lock", OPERATION, LOCK_MS * MS),
        ("call", SERVICE, "pay", PAY_MS * MS), ("own", "user", OPERATION, -PAY_MS * MS), ("own", "user", "pay", PAY_MS * MS)])
    checks.equal("compare: whose own time it is", {row.get("service") for row in answer["differences"]}, {None, SERVICE})
    same = ask("compare", **{"from": "2m", "service": SERVICE, "operation": OPERATION})
    checks.equal("compare: with nothing left", (same["a"]["spans"], same["b"]["spans"], same["differences"]),
                 (FAST + SLOW, 0, []))


def check_where(ask, checks):
    answer = ask("where", **{"from": "2m", "service": SERVICE, "operation": OPERATION})
    root, = answer["roots"]
    checks.equal("where: all requests", (answer["spans"], root["name"], root["count"], root["total_ns"],
                                         root["detailed"]),
                 (FAST + SLOW, OPERATION, FAST + SLOW, (FAST * FAST_MS + SLOW * SLOW_MS) * MS,
                  SLOW + DETAILED))
    checks.equal("where: below them", [(node["kind"], node["name"], node["count"], node["total_ns"])
                                       for node in root["children"]],
                 [("part", "lock", SLOW, SLOW * LOCK_MS * MS),
                  ("part", "user", FAST + SLOW, ((FAST + SLOW) * FAST_MS - SLOW * PAY_MS) * MS),
                  ("span", "pay", SLOW, SLOW * PAY_MS * MS)])
    checks.equal("where: the place", [(node["kind"], node["name"], node["total_ns"])
                                      for node in root["children"][0]["children"]],
                 [("place", "futex", SLOW * LOCK_MS * MS)])

    def check_sums(node):
        below = node["children"]
        if below:
            checks.equal(f"where: what lies below {node['name']} sums to it", sum(one["width_ns"] for one in below),
                         node["width_ns"])
        for one in below:
            check_sums(one)
    check_sums(root)


def check_edges(ask, checks):
    """A service that sent no span is told by its callers; one that did, by the sums."""
    edges = ask("edges", **{"from": "2m"})["edges"]
    checks.equal("edges: to a service without spans", [(edge["count"], edge["mean_ns"], edge["sampled"], edge["probability"])
                                                       for edge in edges if edge["to"] == "api-psp"],
                 [(SLOW, PAY_MS * MS, True, 0.75)])
    checks.equal("edges: between services", [(edge["from"], edge["count"], "sampled" in edge)
                                             for edge in edges if edge["to"] == "api-bank"], [("api-shop", 1, False)])


def check_traces(ask, checks):
    """One trace, and one against another one."""
    slow, fast = (f"{(0xc4a << 96) + number:032x}" for number in (FAST + SLOW, 1))
    root, = ask("where", trace=slow)["roots"]
    checks.equal("where: of one trace", (root["name"], root["count"], root["width_ns"]), (OPERATION, 1, SLOW_MS * MS))
    answer = ask("compare", trace=slow, base_trace=fast)
    checks.equal("compare: of two traces", (answer["a"]["spans"], answer["b"]["spans"], [
        (row["kind"], row["value"], row["explains_ns"]) for row in answer["differences"]][:1]),
                 (1, 1, [("part", "lock", LOCK_MS * MS)]))


def check_path(server, checks, described):
    """The critical path of a slow request: a call, the lock, and the end."""
    status, trace = server.get(f"/api/v1/traces/{SLOWEST:032x}")
    checks.equal("path: described", described.check("/api/v1/traces/{id}", status, trace), "")
    path, = [trace["critical"]]
    begin = path["steps"][0]["begin_unix_ns"]
    checks.equal("path: what tells it", (path["span_id"], path["known_by"]), (f"{1:016x}", "waits"))
    checks.equal("path: its steps", [(int(step["span_id"], 16), (step["begin_unix_ns"] - begin) // MS,
                                      (step["end_unix_ns"] - begin) // MS, step["state"], step.get("place"), step.get("waker"))
                                     for step in path["steps"]],
                 [(2, 0, PAY_MS, "split", None, None), (1, PAY_MS, PAY_MS + LOCK_MS, "waiting", "futex", "holder/4711"),
                  (1, PAY_MS + LOCK_MS, SLOW_MS, "split", None, None)])


def check_lanes(server, checks, described, send, span_of):
    """Spans of threads in a time, on their host."""
    for host, trace, tid in (("lane-1", 0x1a1, 7), ("lane-2", 0x1a2, 8)):
        send(span_of((0x1a << 96) + trace, 1, "in a lane", at=trace, attributes={"thread.id": tid}),
             span_of((0x1a << 96) + trace, 2, "lock", parent=1, at=trace, attributes={"thread.id": tid, "fathom.kind": "wait"}),
             resource={"host.name": host})
    server.wait("they are stored", lambda: server.trace(f"{(0x1a << 96) + 0x1a2:032x}"))
    for parameters, threads in (({}, [7, 7, 8, 8]), ({"host": "lane-2"}, [8, 8]), ({"host": "lane-3"}, [])):
        status, answer = server.get("/api/v1/lanes", **{"from": "5m", "limit": 1000}, **parameters)
        checks.equal(f"described: lanes {parameters}", described.check("/api/v1/lanes", status, answer), "")
        checks.equal(f"lanes: {parameters}", (sorted(answer["hosts"]), sorted(span["attributes"]["thread.id"] for span in answer["spans"])),
                     (["lane-1", "lane-2"], threads))
    for parameters in ({"from": "3h"}, {"limit": "0"}, {"states": "0"}, {"states": "50001"}):
        status, answer = server.get("/api/v1/lanes", **parameters)
        checks.equal(f"lanes: {parameters} is refused", (status, described.check("/api/v1/lanes", status, answer)), (400, ""))


WAITS, PARTS = 400, ("disk", "network", "lock")


def told_of(spans):
    """How many waits spans tell, and the time of these and of each part."""
    told = dict.fromkeys(("waits", "ns", *PARTS), 0)
    for span in spans:
        attributes, took = span["attributes"], span["end_unix_ns"] - span["begin_unix_ns"]
        told["waits"] += attributes.get("fathom.joined", 1)
        told["ns"] += attributes.get("fathom.joined_ns", took)
        for part in PARTS:
            told[part] += attributes.get(f"fathom.time.{part}_ns", 0)
    return told


def check_joined(server, checks, described, send, span_of):
    """Too many waits are joined, and none of their time is lost."""
    trace, waits = 0x1b << 96, []
    for i in range(WAITS):
        part, took = PARTS[i % 3], 1 + i * 7 % 13  # in ms
        waits.append(span_of(trace + 1, 2 + i, part, parent=1, at=i * 20, took=took, attributes={
            "thread.id": 9, "fathom.kind": "wait", f"fathom.time.{part}_ns": took * 1000000}))
    send(span_of(trace + 1, 1, "waits", took=WAITS * 20, attributes={"thread.id": 9}), *waits, resource={"host.name": "joined"})
    server.wait("the waits are stored", lambda: len(server.get("/api/v1/lanes", **{
        "from": "5m", "host": "joined", "limit": 1000})[1]["spans"]) == 1 + WAITS)

    def ask(**parameters):
        status, answer = server.get("/api/v1/lanes", **{"from": "5m", "host": "joined", "limit": 1000}, **parameters)
        checks.equal(f"described: lanes {parameters}", described.check("/api/v1/lanes", status, answer), "")
        columns = server.get("/api/v1/lanes/columns", **{"from": "5m", "host": "joined", "limit": 1000}, **parameters)
        checks.equal(f"described: lanes in columns {parameters}", described.check("/api/v1/lanes/columns", *columns), "")
        return answer, [span for span in answer["spans"] if span["attributes"].get("fathom.kind") == "wait"]
    answer, all_of_them = ask()
    checks.equal("waits that are few are not joined", ("joined_below_ns" in answer, len(all_of_them)), (False, WAITS))
    answer, joined = ask(states=100)
    checks.equal("waits that are too many are joined", (answer["joined_below_ns"] > 0, 10 < len(joined) <= 100), (True, True))
    checks.equal("joined waits tell all of the time", told_of(joined), told_of(all_of_them))
    longest = max((span for span in joined if "fathom.joined" in span["attributes"]), key=lambda span: span["attributes"]["fathom.joined"])
    largest = max(PARTS, key=lambda part: longest["attributes"].get(f"fathom.time.{part}_ns", 0))
    checks.equal("a joined wait is called as its largest part", longest["name"], largest)


def check(server, checks, described, send, span_of):
    send(*spans(span_of))
    server.wait("the requests are stored", lambda: server.trace(f"{SLOWEST:032x}"))

    def ask(path, **parameters):
        status, answer = server.get(f"/api/v1/{path}", **parameters)
        checks.equal(f"described: {path} {parameters}", (
            status, described.check(f"/api/v1/{path}", status, answer)), (200, ""))
        return answer
    check_over_time(ask, checks)
    check_compare(ask, checks)
    check_where(ask, checks)
    check_traces(ask, checks)
    check_path(server, checks, described)
    check_lanes(server, checks, described, send, span_of)
    check_joined(server, checks, described, send, span_of)
    check_edges(ask, checks)
    one = {"service": SERVICE, "operation": OPERATION}
    for path, parameters in (
            ("overview", {"from": "x"}), ("series", {"from": "x"}), ("series", {"step": "0s"}), ("series", {"kind": "x"}),
            ("series", {"from": "7d", "step": "10s"}), ("heatmap", {"to": "x"}), ("compare", {}),
            ("compare", {**one, "base_from": "x"}), ("compare", {**one, "base_max_duration": "x"}),
            ("edges", {"from": "x"}), ("where", {"trace": "x"}), ("compare", {"trace": "x"}),
            ("compare", {**one, "limit": "0"}), ("where", {"service": SERVICE}), ("where", {**one, "min_duration": "x"})):
        status, answer = server.get(f"/api/v1/{path}", **parameters)
        checks.equal(f"refused: {path} {parameters}", (
            status, described.check(f"/api/v1/{path}", status, answer)), (400, ""))
    for path, parameters in (("where", {"trace": "abcdef"}), ("compare", {"trace": "abcdef", "base_trace": "1"})):
        status, answer = server.get(f"/api/v1/{path}", **parameters)
        checks.equal(f"not there: {path} {parameters}", (
            status, described.check(f"/api/v1/{path}", status, answer)), (404, ""))
