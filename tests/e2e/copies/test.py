#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several copies of libfathom in one process: the spans of each are there, with their names."""
import collections
import sys

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
PLUGIN, OTHER = sys.argv[2:4]
STATIC, SHARED, NONE = sys.argv[4:7]
tests = harness.Tests()


def spans_of(where):
    return [span for trace in fathom.trace_all(where)["traces"] if trace["trace_id"]
            for span in trace["spans"] if span["kind"] == "internal"]


def check_spans(where, expected):
    """So many of each name, whole, with their attributes and parents, and nothing lost."""
    spans = spans_of(where)
    equal(collections.Counter(span["name"] for span in spans), expected, "spans")
    equal(fathom.report(where, "name")["lost"]["total"], 0, "lost records")
    by_id = {span["span_id"]: span for span in spans}
    for span in spans:
        equal((span["begin_bound"], span["end_bound"]), ("hard", "hard"),
              f"bounds of {span['name']}")
        if span["name"] in ("plugin", "other"):
            equal(span["attributes"]["of"], "plugin", "attributes")
        if span["name"] == "nap":
            check(by_id[span["parent_id"]]["name"] in ("plugin", "other"), "parent of the nap")
    harness.check_sums(fathom, where)
    return spans


def record_once(name, program):
    where = fathom.record(name, "--", program, "once", PLUGIN, OTHER)
    requests = {} if program == NONE else {"request": 6}
    spans = check_spans(where, {"plugin": 3, "other": 3, "nap": 6, **requests})
    by_id = {span["span_id"]: span for span in spans}
    for span in spans:
        if span["name"] in ("plugin", "other") and requests:
            equal(by_id[span["parent_id"]]["name"], "request", f"parent of {span['name']}")
        if span["name"] == "request":
            equal(span["time"]["off_thread_ns"], 0, "of its time after the plugin's")


@tests.add
def the_program_has_one_too():
    record_once("static", STATIC)


@tests.add
def the_program_has_the_shared_one():
    record_once("shared", SHARED)


@tests.add
def only_plugins_have_one():
    record_once("none", NONE)


@tests.add
def opened_and_closed_many_times():
    where = fathom.record("churn", "--", STATIC, "churn", PLUGIN)
    check_spans(where, {"request": 30, "plugin": 30, "nap": 30})


@tests.add
def a_forked_child_has_its_own():
    where = fathom.record("fork", "--", STATIC, "fork", PLUGIN, OTHER)
    check_spans(where, {"request": 2, "plugin": 1, "other": 1, "nap": 2})


@tests.add
def another_program_begins_anew():
    where = fathom.record("exec", "--", SHARED, "exec", PLUGIN, OTHER)
    check_spans(where, {"request": 12, "plugin": 6, "other": 6, "nap": 12})


with fathom:
    tests.run()
