#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom up: its end, kills, a start after them, and what runs without a part.

ends.py FATHOM PROGRAM PUBLISHER SAMPLE: see running.py.
"""
import glob
import json
import os
import pwd
import random
import re
import shutil
import signal
import subprocess
import tempfile
import time

from harness import Tests, check, equal, nothing_is_left_in_the_kernel, programs_loaded, until
from load import Load
from running import FATHOM, PARTS, SAMPLE_TRACE, Shop, Up, attribute, finish, folder

SEED = int(os.environ.get("FATHOM_TEST_SEED") or time.time_ns() % 10**6)  # of the moments of kills

LATE_S = 0.6  # a thread that is in the kernel ends only when it leaves it

tests = Tests()
chosen = random.Random(SEED)
tool = shutil.which("bpftool") or shutil.which("bpftool", path="/usr/sbin")
programs_before = programs_loaded(tool) if tool else None
up = shop = None


@tests.add
def up_begins_and_records():
    global up, shop
    up = Up(os.path.join(folder, "kept"), "--budget", "90%")
    shop = Shop()
    until(up.records, "a chunk is sealed", 60)
    until(up.runs, "all parts run")


def lives(pid):
    """Whether a thread of it runs: who waits for its parent to hear of its end does not."""
    try:
        with open(f"/proc/{pid}/status", encoding="utf-8") as file:
            told = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return "State:\tZ" not in told or "Threads:\t1\n" not in told


def threads_tell(pid):
    """What each thread of a process is doing in the kernel."""
    for task in glob.glob(f"/proc/{pid}/task/*"):
        try:
            told = [open(f"{task}/{name}", encoding="ascii").read() for name in ("stat", "stack")]
        except OSError:
            continue
        name, state = re.search(r"\((.*)\) (.)", told[0]).groups()
        frames = re.findall(r"\] (\w+)", told[1])
        print(f"# {pid} {name} {state}: {' '.join(frames[:8])}")


def until_gone(pids, seconds):
    """Waits until the parts of a supervisor that was killed are gone."""
    begin, told = time.monotonic(), []

    def is_done():
        left = [pid for pid in pids if lives(pid)]
        if left and not told and time.monotonic() - begin > LATE_S:
            told.extend(left)
            for pid in left:
                threads_tell(pid)
        return not left

    until(is_done, "the parts are gone", seconds)
    print(f"# its parts were gone after {time.monotonic() - begin:.2f} s")


def part_kill(name, load):
    """Kills a part under load at a random moment: it alone is started again, and answers go on."""
    load.for_a_while(chosen.uniform(0, 1.2))
    before = {other: up.pid(other) for other in PARTS}
    os.kill(before[name], signal.SIGKILL)
    until(lambda: up.pid(name) not in (0, before[name]) and up.runs(), f"{name} runs again", 60)
    for other in PARTS:
        if other != name:
            equal(up.pid(other), before[other], f"pid of {other}")
    chunks = up.status()["capture"]["chunks"]
    until(lambda: up.status()["capture"]["chunks"] not in (0, chunks), "a chunk is sealed", 60)
    trace, span_id = shop.request(20)
    span = up.span_found(trace, span_id)[0]
    check((attribute(span, "fathom.time.timer_ns") or 0) >= 19_000_000, f"after {name}: {span}")
    equal(span["service"], "teashop", f"service, after {name}")


def up_kill(load):
    """Kills the supervisor under load, and begins again when its parts are gone."""
    global up
    load.for_a_while(chosen.uniform(0, 1.2))
    pids = [up.pid(name) for name in (*PARTS, "keep")]
    up.end(signal.SIGKILL)
    until_gone(pids, 30)
    up = Up(up.dir)
    load.port = up.ports["OTLP over HTTP"]
    until(up.runs, "all parts run", 60)


def stored(load):
    """How many rows and spans the store has of each trace that was sent."""
    until(lambda: up.get("/api/v1/status")[1]["store"]["behind_bytes"] == 0, "all is stored", 60)
    done = subprocess.run(
        [FATHOM, "sql", "-o", up.dir, "--json", "SELECT trace_id AS trace, count(*) AS stored,"
         f" count(DISTINCT span_id) AS spans FROM spans WHERE service = '{load.service}'"
         " AND NOT contains(attributes, '\"fathom.kind\"') GROUP BY ALL"],
        capture_output=True, text=True, timeout=120)
    equal(done.returncode, 0, f"fathom sql: {done.stderr}")
    return {row["trace"]: (row["stored"], row["spans"]) for row in json.loads(done.stdout)["rows"]}


@tests.add
def what_is_killed_at_random_moments_under_load_loses_nothing():
    print(f"# seed {SEED}")
    load = Load(up.ports["OTLP over HTTP"])
    try:
        for _ in range(50 if os.environ.get("FATHOM_TEST_LONG") else 1):
            for name in chosen.sample(PARTS, len(PARTS)):
                part_kill(name, load)
            equal([up.part(name)["starts"] for name in PARTS], [2, 2, 2], "starts")
            up_kill(load)
        load.for_a_while(0.2)
    finally:
        load.end()
    print(f"# {len(load.acknowledged)} requests were acknowledged")
    rows = stored(load)
    whole = (load.spans, load.spans)
    wrong = {trace: rows.get(f"{trace:032x}") for trace in load.acknowledged
             if rows.get(f"{trace:032x}") != whole}
    equal(wrong, {}, "what was acknowledged is stored once")
    sent = {f"{trace:032x}" for trace in load.acknowledged | load.open}
    equal(set(rows) - sent, set(), "nothing else is stored")
    status = up.get("/api/v1/status")[1]
    equal([status["log"]["lost_bytes"], status["log"]["entries_bad"],
           status["store"]["lost_files"], status["store"]["entries_refused"]], [0, 0, 0, 0], "losses")
    equal(up.status()["map"]["damaged"], 0, "damaged chunks")


@tests.add
def sigterm_ends_all_and_nothing_is_lost():
    global up
    pids = [up.pid(name) for name in PARTS]
    trace, span_id = shop.request(5)
    begin = time.monotonic()
    equal(up.end(), 0, "status")
    print(f"# ended in {time.monotonic() - begin:.1f} s")
    check(time.monotonic() - begin < 10, "it ends within ten seconds")
    for pid in pids:
        check(not os.path.exists(f"/proc/{pid}"), f"{pid} is gone")
    done = subprocess.run([FATHOM, "status", "-o", up.dir], capture_output=True, text=True)
    equal(done.returncode, 1, "status of nothing")
    check("no 'fathom up' runs" in done.stderr, done.stderr)
    down_ns = time.time_ns()
    up = Up(up.dir)  # what ended just before is in the store
    up.span_found(trace, span_id, 10)
    until(up.records, "a chunk is sealed", 60)

    def reasons():
        gaps = up.get(f"/api/v1/search?from={down_ns - 10**9}")[1]["gaps"]
        return [gap["reason"] for gap in gaps if gap["begin_ns"] <= down_ns <= gap["end_ns"]]

    until(lambda: reasons() == ["not_recorded"], "the time between is told as a gap", 60)
    equal(up.get(f"/api/v1/traces/{trace}")[1]["coverage"], 1, "what was recorded before is known still")


@tests.add
def a_map_that_is_started_again_knows_programs_of_deleted_chunks():
    global up
    equal(up.end(), 0, "status")
    with open(os.path.join(up.dir, "map/coverage"), "r+b") as file:
        file.write(b"damage")
    up = Up(up.dir, "--keep", "2s", "--limits", "body=1K")  # the limit is not of map's spans
    until(lambda: up.status()["capture"]["chunks"] > 6, "the first chunks are deleted", 60)
    before = up.pid("map")
    os.kill(before, signal.SIGKILL)
    until(lambda: up.pid("map") not in (0, before) and up.runs(), "map runs again", 60)
    trace, span_id = shop.request(20)
    span = up.span_found(trace, span_id)[0]
    equal(span["service"], "teashop", "service")
    equal(up.status()["map"]["refused"], 0, "spans that serve refused")
    lines = [line for line in up.said().splitlines() if "map/coverage" in line]
    check(len(lines) == 1 and "damaged" in lines[0], f"a line about the damaged file: {up.said()}")
    equal(up.get(f"/api/v1/traces/{trace}")[1]["coverage"], 1, "what was recorded since is known")


sealed_last = []  # trace and span, of chunks that were not mapped


@tests.add
def sigkill_leaves_no_process_and_no_program():
    pids = [up.pid(name) for name in (*PARTS, "keep")]
    check(all(pids), f"pids: {pids}")
    os.kill(up.pid("map"), signal.SIGSTOP)
    sealed_last[:] = shop.request(20)
    chunks = up.status()["capture"]["chunks"]
    until(lambda: up.status()["capture"]["chunks"] > chunks + 1, "its chunk is sealed", 60)
    up.end(signal.SIGKILL)
    until_gone(pids, 10)
    shop.end()
    return nothing_is_left_in_the_kernel(programs_before)


@tests.add
def spans_of_chunks_that_were_not_sent_come_with_the_next_run():
    global up
    up = Up(up.dir)
    span = up.span_found(*sealed_last)[0]
    equal(span["service"], "teashop", "service")
    check(attribute(span, "fathom.time.timer_ns") >= 19_000_000, f"it slept: {span}")
    equal(up.end(), 0, "status")


@tests.add
def root_keeps_directories_in_use():
    used = os.path.join(folder, "used")
    os.mkdir(used)
    with open(os.path.join(used, "file"), "w", encoding="utf-8"):
        pass
    for command in ("up", "serve"):
        done = subprocess.run([FATHOM, command, "-o", used, "--http", "off", "--otlp-http", "off",
                               "--otlp-grpc", "off", "--zipkin", "off"], capture_output=True,
                              text=True, timeout=30)
        equal(done.returncode, 1, "status")
        check("is in use" in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr)
        equal(os.stat(used).st_uid, os.getuid(), "owner")


@tests.add
def without_privilege_it_serves_and_receives_all_the_same():
    global up
    user = pwd.getpwnam("nobody")
    place = tempfile.mkdtemp(prefix="fathom-up-user-")
    os.chown(place, user.pw_uid, user.pw_gid)
    up = Up(os.path.join(place, "kept"), user=user.pw_uid)
    up.sample_send()
    until(lambda: len(up.spans(SAMPLE_TRACE)) == 2, "the received spans are found")
    until(lambda: up.get("/api/v1/status")[1]["processes"][1]["state"] == "off", "capture is off")
    lines = [line for line in up.said().splitlines() if "capture" in line]
    equal(len(lines), 1, f"lines about capture: {up.said()}")
    check("served all the same" in lines[0], lines[0])
    up.process.send_signal(signal.SIGTERM)
    equal(up.process.wait(30), 0, "status")
    said = up.process.stdout.read()
    check("recorded into" not in said, f"nothing is recorded, and it says so: {said}")
    up.process.stdout.close()
    shutil.rmtree(place)


NO_LIBRARY = "/nowhere/libduckdb.so"


@tests.add
def without_a_library_of_the_store_the_host_is_recorded_and_mapped():
    global up
    up = Up(os.path.join(folder, "bare"), "--keep", "3s", library=NO_LIBRARY)
    until(lambda: "recorded into" in up.process.stdout.readline(), "it says what it does", 60)
    until(lambda: up.status()["map"]["chunks"] > 1, "chunks are mapped", 60)
    status = up.status()
    equal(status["store"]["state"], "missing", "state of the store")
    equal(up.part("serve")["state"], "off", "state of serve")
    until(lambda: up.status()["state"] == "ok", "it is well")
    lines = [line for line in up.said().splitlines() if "DuckDB" in line]
    equal(len(lines), 1, f"lines about DuckDB: {up.said()}")
    check(NO_LIBRARY in lines[0] and "without it" in lines[0], lines[0])
    text = subprocess.run([FATHOM, "status", up.dir], capture_output=True, text=True).stdout
    check("store      missing: " in text and NO_LIBRARY in text, text)


def chunks():
    """Names of the sealed chunks."""
    return {name for name in os.listdir(os.path.join(up.dir, "chunks")) if re.match(r"\d", name)}


@tests.add
def what_deletes_chunks_has_no_privilege_and_is_not_needed():
    with open(f"/proc/{up.pid('capture')}/task/{up.pid('capture')}/children", encoding="ascii") as file:
        helpers = file.read().split()
    equal(len(helpers), 1, f"children of capture: {helpers}")
    with open(f"/proc/{helpers[0]}/status", encoding="ascii") as file:
        told = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
    equal(told["Name"], "fathom-keep", "its name")
    keep = up.part("keep")
    equal((keep["pid"], keep["state"]), (int(helpers[0]), "running"), "what the status says of it")
    check(keep["memory_bytes"] > 0, f"{keep}")
    equal(told["Uid"].split(), [str(pwd.getpwnam(up.status()["user"]).pw_uid)] * 4, "its user")
    equal(int(told["CapEff"], 16) | int(told["CapPrm"], 16), 0, "its capabilities")
    until(lambda: os.path.exists(os.path.join(up.dir, "chunks", "checkpoint")),
          "it deletes a chunk, and keeps its state", 60)
    os.kill(int(helpers[0]), signal.SIGTERM)  # as to all of the group
    before = chunks()
    until(lambda: not before & chunks(), "chunks are deleted", 60)
    equal(up.part("keep")["pid"], int(helpers[0]), "it goes on")
    check("seen only in chunks" not in up.said(), up.said())
    os.kill(int(helpers[0]), signal.SIGKILL)
    before = chunks()
    until(lambda: not before & chunks(), "chunks are deleted all the same", 60)
    check(chunks(), "new ones are there")
    check("names of files and processes seen only in chunks" in up.said(), up.said())
    equal(up.end(), 0, "status")


@tests.add
def where_neither_records_nor_stores_it_ends_with_the_reason():
    done = subprocess.run([FATHOM, "up", "--no-capture", "-o", os.path.join(folder, "barest"), "--http",
                           "off", "--otlp-http", "off", "--otlp-grpc", "off", "--zipkin", "off"],
                          env={**os.environ, "FATHOM_DUCKDB": NO_LIBRARY}, capture_output=True,
                          text=True, timeout=30)
    equal(done.returncode, 1, "status")
    equal(len(done.stderr.splitlines()), 1, f"lines of {done.stderr}")
    check("cannot open DuckDB" in done.stderr, done.stderr)


try:
    tests.run()
finally:
    finish()
