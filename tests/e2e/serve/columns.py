# SPDX-License-Identifier: Apache-2.0
"""Answers in columns have the spans of the answers that have them one by one."""
import json

KINDS = ["unspecified", "internal", "server", "client", "producer", "consumer"]
STATES = ["unset", "ok", "error"]
STEPS = ["running", "runnable", "waiting", "split", "unknown"]


def attributes_of(answer):
    """The attributes of each span."""
    out = [{} for _ in range(answer["count"])]
    for column in answer["attributes"]:
        for span, value in zip(column.get("spans", range(answer["count"])), column["values"], strict=True):
            if column["kind"] != "value":
                value = answer["texts"][value]
            out[span][column["key"]] = json.loads(value) if column["kind"] == "json" else value
    return out


def spans_of(answer):
    """Spans as the other answers have them, but for the ids of parents that are not there."""
    more, attributes, out = {each["span"]: each for each in answer["more"]}, attributes_of(answer), []
    ids = [answer["ids"][i * 16:i * 16 + 16] for i in range(answer["count"])]
    for i, parent in enumerate(answer["parent"]):
        begin = answer["begin_unix_ns"] + answer["begin_ns"][i]
        span = {
            "trace_id": answer["texts"][answer["trace"][i]] if "trace" in answer else answer["trace_id"],
            "span_id": ids[i], "parent_id": {-1: None, -2: "gone"}[parent] if parent < 0 else ids[parent],
            "name": answer["texts"][answer["name"][i]], "kind": KINDS[answer["kind"][i]],
            "begin_unix_ns": begin, "end_unix_ns": begin + answer["duration_ns"][i], "status": STATES[answer["status"][i]],
            "service": answer["resources"][answer["resource"][i]]["service"], "resource": answer["resource"][i],
            "scope": answer["scope"][i], "attributes": attributes[i], "events": [], "links": [], **more.get(i, {})}
        span.pop("span", None)
        out.append({key: value for key, value in span.items() if value is not None})
    return out


def plain(answer):
    ids = {(span["trace_id"], span["span_id"]) for span in answer["spans"]}
    return [{**span, **({"parent_id": "gone"} if "parent_id" in span and (span["trace_id"], span["parent_id"]) not in ids else {})}
            for span in answer["spans"]]


def path_of(answer):
    path, texts = answer["critical"], answer["texts"]
    ids = [answer["ids"][i * 16:i * 16 + 16] for i in range(answer["count"])]
    steps = []
    for i, span in enumerate(path["span"]):
        begin = answer["begin_unix_ns"] + path["begin_ns"][i]
        step = {"span_id": ids[span], "begin_unix_ns": begin, "end_unix_ns": begin + path["duration_ns"][i], "state": STEPS[path["state"][i]],
                **{key: texts[path[key][i]] for key in ("part", "place", "waker")}, "wait_id": ids[path["wait"][i]] if path["wait"][i] >= 0 else ""}
        steps.append({key: value for key, value in step.items() if value != ""})
    return {"span_id": ids[path["subject"]], "known_by": path["known_by"], "steps": steps}


def check(server, checks, described, traces):
    for trace in traces:
        one, (status, answer) = server.get(f"/api/v1/traces/{trace}")[1], server.get(f"/api/v1/traces/{trace}/columns")
        checks.equal(f"described: columns of {trace}", described.check("/api/v1/traces/{id}/columns", status, answer), "")
        if status != 200:
            continue
        checks.equal(f"columns of {trace}: the same spans", spans_of(answer), plain(one))
        checks.equal(f"columns of {trace}: the same path", path_of(answer), one["critical"])
    for parameters in ({"from": "5m", "to": "1s", "limit": 1000, "cpus": "1"}, {"from": "x"}):
        (status, one), answer = server.get("/api/v1/lanes", **parameters), server.get("/api/v1/lanes/columns", **parameters)[1]
        checks.equal(f"described: lanes {parameters}", described.check("/api/v1/lanes", status, one), "")
        checks.equal(f"described: lanes in columns {parameters}", described.check("/api/v1/lanes/columns", status, answer), "")
        if status == 200:
            checks.equal("lanes in columns: this server records no CPU", (answer["cpus"]["why"], one["cpus"]), ("this server records no CPU", answer["cpus"]))
            checks.equal("lanes in columns: the same spans", sorted(map(str, spans_of(answer))), sorted(map(str, plain(one))))
