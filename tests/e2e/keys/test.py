#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keys of rows, filters and points in time, over a build, a server and a pipeline."""
import datetime
import json
import os
import re
import shutil
import subprocess
import sys

import harness
from harness import check, equal

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import schema  # noqa: E402

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
tests = harness.Tests()
SECOND = 1000000000

# Serves five connections of 100 and of 200 bytes in turn; the server listens on IPv6.
SERVER = """
import os, socket
server = socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True)
port = server.getsockname()[1]
if os.fork() == 0:
    for number in range(10):
        with socket.create_connection(("127.0.0.1", port)) as peer:
            peer.sendall(bytes(100 + number % 2 * 100))
            peer.recv(1)
    os._exit(0)
for _ in range(10):
    connection, _ = server.accept()
    connection.recv(1000)
    connection.sendall(b"x")
    connection.close()
os.wait()
print(port)
"""


def rows(recording, by, *args):
    """{value, or pair of values: row}"""
    text = fathom.ok("report", "--json", "--by", by, *args, recording)
    document = json.loads(text)
    schema.check(document, "report")
    keys = by.split(",")
    if len(keys) == 1:
        return {row["key"]: row for row in document["rows"]}
    return {tuple(row["keys"][key] for key in keys): row for row in document["rows"]}


def lines(command, name, *args):
    documents = [json.loads(line) for line in fathom.ok(command, "--json-lines", *args).splitlines()]
    for document in documents:
        schema.check(document, name)
    return documents


def heavy(number):
    return "".join(f"int f{i}(int a) {{ int s = {number}; for (int i = 0; i < a; i++) s += i * s ^ {i}; "
                   "return s; }\n" for i in range(number))


@tests.add
def a_build_is_told_by_its_source_files():
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler or not shutil.which("make"):
        print("# SKIP there is no compiler or no make")
        return
    folder = fathom.path("project")
    os.mkdir(folder)
    for name, number in (("fast", 1), ("slow", 600), ("middle", 30)):
        with open(os.path.join(folder, name + ".c"), "w", encoding="utf-8") as file:
            file.write(heavy(number))
    with open(os.path.join(folder, "Makefile"), "w", encoding="utf-8") as file:
        file.write("all: fast.o slow.o middle.o\nCFLAGS = -O2\n")
    recording = fathom.record("build", "--", "make", "-j2", "-C", folder)
    document = json.loads(fathom.ok("report", "--by", "command", "--json", recording))
    check("slow.c" in document["rows"][0]["key"], f"the first row is {document['rows'][0]['key']}")
    text = fathom.ok("report", "--by", "command", recording)
    check("slow.c" in text.splitlines()[3], f"the first line is {text.splitlines()[3]}")
    programs = rows(recording, "program")
    by_file = rows(recording, "program,file", "--file", "*/slow.c")
    check(by_file and all(file.endswith("/slow.c") for _, file in by_file), f"{list(by_file)}")
    check(set(program for program, _ in by_file) <= set(programs), f"{list(by_file)}")
    size = os.path.getsize(os.path.join(folder, "slow.c"))
    check(sum(row.get("read_bytes", 0) for row in by_file.values()) >= size,
          f"{size} bytes of slow.c were read: {by_file}")


@tests.add
def two_keys_add_up_to_one():
    recording = fathom.record("sums", "--", "sh", "-c", "ls -R /usr/share/doc | sort | tail -1; cat /no/file; true")
    calls = rows(recording, "syscall")
    for by in ("process,syscall", "syscall,file", "command,syscall", "host,syscall"):
        pairs = rows(recording, by, *(["--file", "*"] if "file" in by else []))
        for call, row in rows(recording, "syscall", "--file", "*").items() if "file" in by else calls.items():
            at = by.split(",").index("syscall")
            parts = [one for pair, one in pairs.items() if pair[at] == call]
            for member in ("count", "errors", "total_ns"):
                equal(sum(part[member] for part in parts), row[member], f"{member} of {call} by {by}")
    errors = rows(recording, "syscall,errno")
    for call, row in calls.items():
        of_call = {errno: one["count"] for (name, errno), one in errors.items() if name == call}
        equal(sum(of_call.values()), row["errors"], f"errors of {call}")
        equal(row.get("errnos", {}), of_call, f"errors of {call} by name")
    check(errors[("openat", "ENOENT")]["count"] > 0, "cat opens a file that is not there")
    causes = rows(recording, "cause")
    parts = rows(recording, "process,cause")
    for cause, row in causes.items():
        of_cause = [one for (_, name), one in parts.items() if name == cause]
        equal(sum(one["total_ns"] for one in of_cause), row["total_ns"], f"{cause} of processes")
        equal(sum(one["count"] for one in of_cause), row["count"], f"waits for {cause} of processes")
    result = fathom.run("report", "--by", "errno,cause", recording)
    equal(result.returncode, 2, "a pair that nothing tells apart")


@tests.add
def clients_are_one_row_by_the_port_of_their_server():
    script = fathom.path("server.py")
    with open(script, "w", encoding="utf-8") as file:
        file.write(SERVER)
    with open(fathom.path("port"), "w+", encoding="utf-8") as out:
        result = subprocess.run([fathom.binary, "record", "-o", fathom.path("server"), "--", sys.executable,
                                 script], stdout=out, stderr=subprocess.PIPE, text=True, check=False)
        equal(result.returncode, 0, result.stderr)
        out.seek(0)
        port = out.read().strip()
    recording = fathom.path("server")
    peers = rows(recording, "peer")
    clients, server = peers[f"clients of :{port}"], peers[f"127.0.0.1:{port}"]
    for row in (clients, server):
        equal(row["connections"], 10, f"connections of {row['key']}")
    equal((clients["read_bytes"], clients["written_bytes"]), (1500, 10), "bytes of the clients")
    equal((server["read_bytes"], server["written_bytes"]), (10, 1500), "bytes of the server")
    traces = fathom.trace_all(recording, "--peer", f"127.0.0.1:{port}")["traces"]
    calls = [s for t in traces for s in t["spans"] if s["kind"] == "syscall"]
    check(calls and all(s["attributes"]["network.peer.port"] == int(port) for s in calls), f"{calls[:3]}")
    check(any(s["name"] == "sendto" for s in calls), "what was sent")


@tests.add
def titles_tell_the_program_after_its_exec():
    recording = fathom.record("pipeline", "--", "sh", "-c", "yes | head -n 100000 | wc -l")
    heads = [line for line in fathom.ok("trace", "--all", recording).splitlines()
             if line.startswith("no trace")]
    for title in ("sh → yes", "sh → head -n 100000", "sh → wc -l"):
        check(any(title in head for head in heads), f"no '{title}' in {heads}")
    found = {row["program"] for row in rows(recording, "process").values()}
    check({"yes", "head", "wc"} <= found, f"programs {found}")
    for words, programs in ((("--program", "wc"), {"wc"}), (("--command", "head -n N"), {"head"}),
                            (("--command", "*100*"), set())):
        kept = {row["program"] for row in rows(recording, "process", *words).values()}
        equal(kept, programs, f"processes with {words}")
    threads = lines("trace", "trace-line", "--program", "wc", "--syscall", "read", recording)
    equal(len(threads), 1, "threads of wc")
    calls = {s["name"] for s in threads[0]["spans"] if s["kind"] == "syscall"}
    equal(calls, {"read"}, "calls")
    check(threads[0]["spans"][0]["attributes"]["process.command_line"] == "wc -l", "its command")
    written = sum(row.get("written_bytes", 0) for row in lines("report", "report-line", "--by", "syscall",
                                                               "--program", "head", recording))
    check(written >= 200000, f"head wrote {written} bytes")


@tests.add
def short_spans_are_left_out_and_counted():
    recording = fathom.record("short", "--", "sh", "-c", "sleep 0.05; ls / > /dev/null")
    whole = fathom.trace_all(recording)["traces"]
    for trace in fathom.trace_all(recording, "--min", "10ms")["traces"]:
        all_spans = next(t for t in whole if t["spans"][0]["span_id"] == trace["spans"][0]["span_id"])["spans"]
        left_out = trace.get("left_out", {"count": 0, "total_ns": 0})
        equal(len(trace["spans"]) + left_out["count"], len(all_spans), "spans")
        check(all(s["end_ns"] - s["begin_ns"] >= 10000000 for s in trace["spans"]), "a short span")
        check(left_out["total_ns"] <= all_spans[0]["end_ns"] - all_spans[0]["begin_ns"], f"{left_out}")


@tests.add
def times_are_written_as_people_do():
    recording = fathom.record("times", "--", "sh", "-c", "sleep 0.3; sleep 2; sleep 0.3")
    document = json.loads(fathom.ok("report", "--json", recording))
    begin, end = document["from_unix_ns"], document["to_unix_ns"]
    ahead = begin - document["from_ns"]
    middle = (begin + end) // 2
    environment = dict(os.environ, TZ="XYZ-5:30")
    zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
    local = datetime.datetime.fromtimestamp(middle // SECOND, zone)
    at = middle // SECOND * SECOND - ahead
    forms = [local.strftime("%H:%M:%S"), local.strftime("%Y-%m-%d %H:%M:%S"), local.isoformat(),
             local.strftime("%Y-%m-%dT%H:%M:%S"), f"@{middle // SECOND}", str(at)]
    for form in forms:
        text = fathom.ok("report", "--json", "--from", form, recording, env=environment)
        check(abs(json.loads(text)["from_ns"] - at) < 2000000, f"{form}: {text[:60]}, not {at}")
    text = fathom.ok("report", "--json", "--from", "-500ms", recording)
    equal(json.loads(text)["from_ns"], document["to_ns"] - 500000000, "-500ms")
    head = fathom.ok("report", "--from", forms[0], recording, env=environment).splitlines()[1]
    check(re.fullmatch(r"from \S+ \S+ to (\S+ )?\S+ XYZ \(\+0530\)", head), head)
    check(forms[0] in head, head)
    sleeps = [s for t in fathom.trace_all(recording, "--from", "-200ms")["traces"] for s in t["spans"]
              if s["name"] == "clock_nanosleep"]
    equal(len(sleeps), 1, "sleeps that ended in the last fifth of a second")
    chunks = json.loads(fathom.ok("chunks", "--json", "--from", forms[0], recording, env=environment))
    schema.check(chunks, "chunks")
    equal(len(chunks["chunks"]), 1, "chunks")
    result = fathom.run("report", "--from", "12:00", "--to", "12:00", recording)
    equal(result.returncode, 2, "an empty range")


tests.run()
