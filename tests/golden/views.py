#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what the program `views` prints with the golden files.

Usage: views.py PROGRAM [--write]. Each tests/golden/<case>/expected.<format>
is the text that case and format must give. JSON is checked against the
contract, too: the keys, and that the parts of a time sum up.
"""
import difflib
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "tools"))
import schema  # noqa: E402
os.environ["TZ"] = "UTC"
PARTS = [part + "_ns" for part in (
    "user kernel runnable throttled disk network lock timer ipc fault child other off_thread "
    "unknown cpu idle").split()]
ROW = ["key", "service", "process", "pid", "thread", "tid", "count", "errors", "total_ns",
       "p50_ns", "p95_ns", "p99_ns", "max_ns", "time", "program", "command", "read_bytes",
       "written_bytes", "errnos", "connections", "addresses",
       "keys"]
SPAN = ["span_id", "parent_id", "name", "kind", "service", "host", "process", "pid", "thread",
        "tid", "begin_ns", "end_ns", "begin_bound", "end_bound", "threads", "time",
        "attributes", "events", "stack"]
LOST = ["total", "buffer", "recursion", "application", "damaged"]
EXPECTED = {
    "report": ["schema", "from_ns", "to_ns", "from_unix_ns", "to_unix_ns", "clock", "lost", "incomplete", "gaps", "rows",
               "rest"],
    "trace": ["schema", "clock", "lost", "incomplete", "gaps", "traces"],
    "chunks": ["schema", "chunks"],
    "rotate": ["schema", "path"],
    "snapshot": ["schema", "path"],
    "top": ["schema", "from_ns", "to_ns", "from_unix_ns", "to_unix_ns", "clock", "lost", "incomplete", "gaps", "by"],
    "doctor": ["schema", "can_record", "reason", "kernel", "cpus", "ring_bytes", "table_bytes",
               "findings"],
}
# What may be absent: there is no reason where it can record, and no memory where it cannot; and no
# Unix time where no clock is known.
UNIX = {"from_unix_ns", "to_unix_ns"}
OPTIONAL = {"doctor": {"reason", "ring_bytes", "table_bytes"}, "report": UNIX | {"rest"}, "top": UNIX}
TRACE = ["trace_id", "host", "spans", "begin_ns", "end_ns", "begin_unix_ns", "end_unix_ns",
         "left_out"]


def ordered(keys, allowed):
    """All keys are allowed ones, in the contract's order."""
    places = [allowed.index(key) for key in keys]
    return places == sorted(places)


def check_time(time, total):
    assert list(time) == PARTS, time
    assert sum(time.values()) == total, (time, total)


def check_json(case, text):
    data = json.loads(text)
    kind = case.split("-")[0]
    schema.check(data, "rotate" if kind == "snapshot" else kind)
    assert ordered(data, EXPECTED[kind]), list(data)
    assert set(EXPECTED[kind]) - set(data) <= OPTIONAL.get(kind, set()), list(data)
    for lost in [data[key] for key in ("lost",) if key in data]:
        assert list(lost) == LOST and lost["total"] == sum(lost[key] for key in LOST[1:])
    for row in [*data.get("rows", []), *(row for part in data.get("by", {}).values()
                                         for row in part)]:
        assert ordered(row, ROW), list(row)
        if "time" in row:
            check_time(row["time"], row["total_ns"])
    for trace in data.get("traces", []):
        assert ordered(trace, TRACE), list(trace)
        for span in trace["spans"]:
            assert ordered(span, SPAN), list(span)
            assert list(span["time"]) == PARTS
            if span["threads"] == 1 and "soft" not in (span["begin_bound"], span["end_bound"]):
                check_time(span["time"], span["end_ns"] - span["begin_ns"])
    for finding in data.get("findings", []):
        assert list(finding) == ["section", "name", "needed", "available", "text"]
    for chunk in data.get("chunks", []):
        assert list(chunk) == ["path", "begin_ns", "end_ns", "records", "bytes", "lost",
                               "incomplete", "state", "begin_unix_ns",
                               "end_unix_ns"][:len(chunk)]


ALWAYS = ("json", "txt")
TERMINAL = {"color": ("report-by-name", "trace-request"),
            "80": ("chunks", "doctor", "report-by-cause", "report-by-file", "report-by-name",
                   "report-by-thread", "report-by-two-keys", "top")}
for width in ("60", "100", "120", "200"):
    TERMINAL[width] = ("report-by-cause", "report-by-name", "report-by-thread", "report-by-two-keys",
                       "top")
TERMINAL["60"] += ("trace-threads",)
TERMINAL["100"] += ("trace-request",)


def main():
    program, write = sys.argv[1], "--write" in sys.argv
    names = subprocess.run([program], stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    cases = [(name, form) for name in names for form in [*ALWAYS, *TERMINAL]
             if write or os.path.exists(f"{HERE}/{name}/expected.{form}")]
    missing = [name for name in names if not os.path.exists(f"{HERE}/{name}/expected.json")]
    failed = 0
    print(f"1..{len(cases) + 1}")
    for number, (name, form) in enumerate(cases, 1):
        path = f"{HERE}/{name}/expected.{form}"
        text = subprocess.run([program, name, form], stdout=subprocess.PIPE, text=True,
                              check=True).stdout
        if write:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            if form in ALWAYS or name in TERMINAL.get(form, ()):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            continue
        with open(path, encoding="utf-8") as file:
            golden = file.read()
        why = "".join("# " + line for line in difflib.unified_diff(
            golden.splitlines(True), text.splitlines(True), "expected", "printed"))
        for line in text.splitlines() if form.isdigit() else ():
            if len(line) > int(form):
                why += f"# wider than {form}: {line}\n"
        if form == "json" and not why:
            try:
                check_json(name, text)
            except (AssertionError, ValueError) as error:
                why = f"# against the contract: {error}\n"
        failed += bool(why)
        print(why, end="")
        print(f"{'not ok' if why else 'ok'} {number} - {name} {form}")
    failed += bool(missing)
    print(f"{'not ok' if missing else 'ok'} {len(cases) + 1} - each case has its JSON", *missing)
    return 1 if failed else 0


sys.exit(main())
