#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom up where its budget has no room for the bytes of all connections.

turns.py FATHOM PROGRAM PUBLISHER SAMPLE: see running.py.
"""
import os
import subprocess
import sys
import threading
import time

from harness import Tests, check, equal, until
from loopback import free_ports
from running import FATHOM, HERE, Up, attribute, connected, finish, folder, started

TURN, WINDOW, LEAD, LEFT_LEAST = 30, 1, 0.1, 0.25  # seconds
REQUEST_SPANS = 2  # stored a second: a third of those of a turn
TIMES_MOST = 64
SERVICE = "python3 plain.py"

tests = Tests()
up = None
port = 0
over = threading.Event()
sent = [0]
since = 0


def requests_send(connection):
    """About a hundred a second."""
    with connection:
        while not over.wait(0.01):
            connection.sendall(b"question")
            connection.recv(8)
            sent[0] += 1


@tests.add
def bytes_of_connections_are_recorded_in_turns():
    global up, port, since
    up = Up(os.path.join(folder, "kept"), "--budget", "0.01%", "--request-spans", str(REQUEST_SPANS))
    until(up.records, "a chunk is sealed", 60)
    port = free_ports(1)[0]
    started.append(subprocess.Popen([sys.executable, os.path.join(HERE, "plain.py"), str(port)]))
    threading.Thread(target=requests_send, args=(connected(port),), daemon=True).start()
    until(lambda: up.status()["capture"]["in_turns"], "the budget is found too small", 60)
    since = time.time_ns() // 10**10 * 10**10 + 10**10
    sent[0] = 0
    told = subprocess.run([FATHOM, "status", "-o", up.dir], capture_output=True, text=True).stdout
    check("missing    requests through services, but for 1 s in each 30 s" in told, told)
    told = subprocess.run([FATHOM, "detail", os.path.join(up.dir, "chunks")], capture_output=True, text=True)
    check(told.stdout.startswith("waits,bytes=1s/30s"), f"{told}")


def traces():
    """Of requests that were followed in a turn."""
    found = up.get(f"/api/v1/search?attribute=network.local.port={port}&from={since}&limit=500")[1]["traces"]
    spans = {trace["trace_id"]: up.spans(trace["trace_id"], "?kernel=0") for trace in found[:20] + found[-20:]}
    return {trace: each for trace, each in spans.items() if any(attribute(s, "fathom.stands_for") for s in each)}


@tests.add
def requests_within_a_turn_are_followed_and_stand_for_the_others():
    found = {}

    def look():
        found.update(traces())
        return found

    until(look, "requests of a turn are stored", 4 * TURN)
    for spans in found.values():
        begins, ends = ([span[f"{which}_unix_ns"] for span in spans] for which in ("begin", "end"))
        seconds = (max(ends) - min(begins)) / 1e9
        stands_for = {attribute(span, "fathom.stands_for") for span in spans}
        equal(len(stands_for), 1, f"all spans of a request stand for as many: {stands_for}")
        least = TURN / (WINDOW - LEAD)
        most = max(TURN / max(WINDOW - LEAD - seconds - 0.05, LEFT_LEAST), least) + 1
        check(least - 1 < stands_for.pop() <= TIMES_MOST * most, f"a request of {seconds} s: {spans}")
        equal(sorted(span["kind"] for span in spans), ["client", "server"], "all spans of a request are stored")
    trace = up.get(f"/api/v1/traces/{next(iter(found))}")[1]
    equal({gap["reason"] for gap in trace["gaps"]}, {"bytes_in_turns"}, "what is missing from its time")


@tests.add
def counts_are_those_of_all_requests():
    def counted():
        rows = up.get(f"/api/v1/operations?service={SERVICE.replace(' ', '%20')}&from={since}")[1]["operations"]
        return [sum(row[key] for row in rows if row["kind"] == "server") for key in ("count", "seen")]

    until(lambda: counted()[0], "a turn since all were followed", 2 * TURN)
    stored = up.get(f"/api/v1/search?attribute=network.local.port={port}&from={since}&limit=500")[1]["traces"]
    count, seen = counted()
    check(count >= 30 * len(stored), f"{count} counted, {len(stored)} stored")
    check(len(stored) <= seen <= count / 30, f"{count} counted, {seen} seen, {len(stored)} stored")
    told = up.status()["requests"]
    check(0 < 2 * told["stored"] < told["decided"], f"{told}")
    equal(told["request_spans"], REQUEST_SPANS, "as it was set")
    # each turn stands for thirty seconds
    check(sent[0] / 4 < count < 4 * sent[0], f"{count} counted, {sent[0]} sent")


try:
    tests.run()
finally:
    over.set()
    finish()
