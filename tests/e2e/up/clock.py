#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom up while the wall clock is set by a day, and between two starts.

clock.py FATHOM PROGRAM PUBLISHER SAMPLE LIBRARY: see running.py; LIBRARY gives programs a clock that
the test sets. Each part of this program has it, and the tracer whose spans are joined.
"""
import os
import re
import sys

from harness import Tests, check, equal, until
from running import Shop, Traced, Up, attribute, finish, folder, split_of
from wall_clock import DAY, HOUR, SECOND, Clock

NEAR_NS = 5 * SECOND  # the machine may be busy
tests = Tests()
clock = Clock(folder, sys.argv[5])
os.chmod(folder, 0o711)  # the map of the clock is opened before privileges go
up = shop = None
found = []  # trace, span, and when it began, of each that was found


def chunks():
    """Numbers of the sealed chunks."""
    names = os.listdir(os.path.join(up.dir, "chunks"))
    return {int(name.rsplit("-", 1)[1]) for name in names if re.match(r"\d+-\d+-\d+$", name)}


def sealed(count):
    before = up.status()["capture"]["chunks"]
    until(lambda: up.status()["capture"]["chunks"] >= before + count, f"{count} chunks are sealed", 60)


def request():
    """A span of libfathom, by the clock as it is: its time, its split, and what was recorded."""
    sealed(2)  # the last one began after the clock was set
    trace, span_id = shop.request(20)
    now_ns = clock.now_ns()
    span = up.span_found(trace, span_id)[0]
    when = f"{clock.ahead_ns // HOUR} h ahead"
    check(abs(span["begin_unix_ns"] - now_ns) < NEAR_NS, f"{when}: it began {span['begin_unix_ns'] - now_ns} ns later")
    check(attribute(span, "fathom.time.timer_ns") >= 19_000_000, f"{when}: it slept: {span}")
    found.append((trace, span_id, span["begin_unix_ns"]))
    until(lambda: up.get(f"/api/v1/traces/{trace}")[1]["coverage"] == 1, f"{when}: its time was recorded")


def joined():
    """A span of another tracer gets its split."""
    traced = Traced(up, "nested", env=clock.env)
    for span, given in zip(traced.joined(), traced.spans):
        equal(attribute(span, "fathom.join"), "connection", f"{clock.ahead_ns // HOUR} h ahead: join of {span}")
        equal(sum(split_of(span).values()), int(given["end"]) - int(given["begin"]), "sum of its split")
    traced.end()


def all_are_there():
    for trace, span_id, begin_ns in found:
        span = up.span_found(trace, span_id)[0]
        equal(span["begin_unix_ns"], begin_ns, "begin")
        around = f"from={begin_ns - 60 * SECOND}&to={begin_ns + 60 * SECOND}"
        traces = up.get(f"/api/v1/search?service=teashop&{around}")[1]["traces"]
        near = {one[0] for one in found if abs(one[2] - begin_ns) < 60 * SECOND}
        equal({one["trace_id"] for one in traces}, near, "traces of its time")


@tests.add
def it_records():
    global up, shop
    up = Up(os.path.join(folder, "kept"), "--budget", "90%", "--keep", "1h", "--store-keep", "12h", env=clock.env)
    shop = Shop()
    until(up.records, "a chunk is sealed", 60)
    request()
    joined()


@tests.add
def a_clock_that_is_set_takes_nothing_away():
    first = min(chunks())
    for ahead_ns in (DAY, 0, -DAY):
        clock.set(ahead_ns)
        request()
        joined()
        all_are_there()
    sealed(12)  # files of the store, and chunks, were looked at
    all_are_there()
    check(first in chunks(), f"chunk {first} is there still: {sorted(chunks())}")
    equal(up.status()["map"]["damaged"], 0, "damaged chunks")
    equal(up.get("/api/v1/status")[1]["store"]["dropped"], 0, "dropped spans")


@tests.add
def a_start_with_the_right_clock_goes_on():
    global up
    first = min(chunks())
    equal(up.end(), 0, "status")
    clock.set(0)
    up = Up(up.dir, "--budget", "90%", "--keep", "1h", "--store-keep", "12h", env=clock.env)
    until(up.records, "a chunk is sealed", 60)
    request()
    joined()
    sealed(12)
    all_are_there()
    check(first in chunks(), f"chunk {first} is there still: {sorted(chunks())}")
    shop.end()
    equal(up.end(), 0, "status")
    equal(up.said(), "", "what it says")


try:
    tests.run()
finally:
    finish()
