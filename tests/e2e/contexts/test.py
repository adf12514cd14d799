#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Contexts that fathom did not write: each call stands under the span that was active."""
import json
import os
import subprocess
import sys

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
DRIVER, FOLDER, TURNS, HEIR, BORROWER, *paths = sys.argv[2:]
BUILT = {os.path.basename(path): path for path in paths}
OWNER = b"OWNER...".hex()
BEYOND = b"BEYOND..".hex()
HEIRLOOM = b"HEIRLOOM".hex()
TURN = b"TURNS...".hex()
LIBRARIES = ("glibc", "musl")
LINKED = ["pie", "nopie", "static", "static-pie", "linked-tlsdesc", "linked-classic",
          "linked-initial"]
OPENED = {"glibc": ["tlsdesc", "classic", "initial", "tlsdesc-large", "classic-large",
                    "tlsdesc-symbolic", "classic-hidden", "initial-hidden", "tlsdesc-hidden",
                    "tlsdesc+", "classic+"],
          "musl": ["tlsdesc", "classic", "tlsdesc-hidden"]}
ALL = [(f"{libc}-{name}", {f"{libc}-{name}"}) for libc in LIBRARIES for name in LINKED]
ALL += [(f"{libc}-opener {name}", {f"{libc}-opener", f"lib{libc}-{name.rstrip('+')}.so"})
        for libc in LIBRARIES for name in OPENED[libc]]
WAYS = [way for way, files in ALL if files.issubset(BUILT)]
tests = harness.Tests()
told = []
calls = {}  # (pid, tid) -> [(begin, name, parent)]


def id_of(span):
    return f"{span:016x}" if span else None


@tests.add
def all_ways_of_linking_were_built():
    missing = [way for way, _ in ALL if way not in WAYS]
    return f"no compiler for {', '.join(missing)}" if missing else None


@tests.add
def records_all_publishers():
    where = fathom.record("publishers", "--", sys.executable, DRIVER, FOLDER,
                          fathom.path("told.json"), *WAYS)
    with open(fathom.path("told.json"), encoding="utf-8") as file:
        told.extend(json.load(file))
    equal([process["name"] for process in told], WAYS, "publishers that ran")
    for trace in fathom.trace_all(where)["traces"]:
        ids = {span["span_id"]: span for span in trace["spans"]}
        for span in trace["spans"]:
            if span["kind"] != "syscall":
                continue
            parent = span.get("parent_id") if trace["trace_id"] else None
            while parent in ids and ids[parent]["kind"] in ("syscall", "wait"):
                parent = ids[parent].get("parent_id")
            calls.setdefault((span["pid"], span["tid"]), []).append(
                (span["begin_ns"], span["name"], parent))
    for made in calls.values():
        made.sort()


def of_first_program(pid):
    """The calls of a process's main thread from its first exec to its second."""
    made = calls[pid, pid]
    execs = [i for i, call in enumerate(made) if call[1] == "execve"]
    return made[:execs[-1]]


@tests.add
def each_call_stands_under_its_span():
    wrong = []
    for process in told:
        made = []
        for _, name, parent in of_first_program(process["pid"]):
            call = (name[:5].rstrip("v"), parent)  # musl calls readv and writev
            if call[0] in ("read", "write") and call != (made or [None])[-1]:
                made.append(call)
        should = [(name, id_of(span)) for span in process["spans"] for name in ("write", "read")]
        if made[-len(should):] != should:
            wrong.append(f"{process['name']}: {made[-len(should):]}, should be {should}")
    equal(wrong, [], "publishers with calls under another span")


@tests.add
def an_exec_ends_the_old_and_finds_the_new():
    for process in told:
        made = calls[process["pid"], process["pid"]][len(of_first_program(process["pid"])):]
        equal(made[0][2], id_of(process["base"] + 3), f"span of the exec of {process['name']}")
        found = [i for i, call in enumerate(made) if call[2] == id_of(process.get("again"))]
        if "again" in process:
            check([made[i] for i in found if made[i][1].startswith("write")],
                  f"a call under the new span of {process['name']}")
            made = made[:found[0]]
        equal({call[2] for call in made[1:]}, {None}, f"spans after the exec of {process['name']}")


@tests.add
def a_child_works_for_the_span_of_its_parent():
    for process in told:
        made = [parent for _, name, parent in calls[process["child"], process["child"]]
                if name in ("prctl", "getppid")]
        equal(made, [id_of(process["base"] + 3)] * 2, f"calls of the child of {process['name']}")
        made = [(name, parent) for _, name, parent in
                calls[process["borrower"], process["borrower"]]]
        equal(made, [("getppid", id_of(process["base"] + 3))],
              f"calls of the child that has the memory of {process['name']}")


@tests.add
def a_thread_works_for_its_own_span():
    for process in told:
        for thread, span in (("thread", process["base"] + 4), ("idle", 0)):
            made = [parent for _, name, parent in calls[process["pid"], process[thread]]
                    if name == "getppid"]
            equal(made, [id_of(span)], f"the call of a thread of {process['name']}: {thread}")


@tests.add
def a_span_of_which_only_the_context_was_seen_is_shown():
    traces = fathom.trace_all(fathom.path("publishers"))["traces"]
    spans = {span["span_id"]: span for trace in traces for span in trace["spans"]
             if trace["trace_id"]}
    for process in told:
        for number in (1, 2, 3, 4):
            span = spans[id_of(process["base"] + number)]
            equal((span["begin_bound"], span["end_bound"]), ("soft", "soft"),
                  f"bounds of a span of {process['name']}")


@tests.add
def work_between_the_turns_of_a_span_is_not_its_own():
    """With --spans-only that work is not told, and the thread need not leave its CPU in it."""
    for name, options in (("turns", []), ("turns-spans", ["--spans-only"])):
        where = fathom.record(name, *options, "--", TURNS)
        harness.check_sums(fathom, where)
        [span] = [s for t in fathom.trace_all(where)["traces"] for s in t["spans"]
                  if s["span_id"] == TURN]
        lasted = span["end_ns"] - span["begin_ns"]
        check(lasted > 90_000_000, f"from its first to its last turn: {lasted} ns")
        check(span["time"]["user_ns"] < lasted / 4, f"others had the CPU: {span['time']}")


@tests.add
def a_span_is_seen_from_switch_to_switch_where_calls_are_not_recorded():
    """It has what lies between its two sleeps, and nothing of what is before or behind them."""
    for name, options in (("sleeps", []), ("sleeps-spans", ["--spans-only"])):
        where = fathom.record(name, "--detail", "waits", *options, "--", TURNS, "sleeps")
        harness.check_sums(fathom, where)
        found = {s["span_id"]: s for t in fathom.trace_all(where)["traces"] for s in t["spans"]
                 if s["kind"] == "context"}
        equal(sorted(found), [f"SLEEPS.{i}".encode().hex() for i in range(10)], "spans")
        for span in found.values():
            time = span["time"]
            equal(harness.total(time), span["end_ns"] - span["begin_ns"], "sum")
            check(time["timer_ns"] > 9_500_000, f"both sleeps: {span}")
            # on a CPU it may have left the span, and taken it up again
            check(time["unknown_ns"] + time["runnable_ns"] > 1_900_000, f"between them: {span}")
            rest = harness.total(time) - time["timer_ns"] - time["unknown_ns"] - time["runnable_ns"]
            equal(rest, 0, f"all other parts: {time}")
        time = fathom.report(where, "thread")["rows"][0]["time"]
        check(time["cpu_ns"] > 0 and time["cpu_ns"] + time["runnable_ns"] > 15_000_000,
              f"the thread was on a CPU: {time}")
        if options:
            check(time["unknown_ns"] > 500_000_000, f"the first sleep is not told: {time}")


def parents_of(where, tid):
    """Under which spans its calls of getppid stand, each with their number."""
    found = {}
    for trace in fathom.trace_all(where)["traces"]:
        ids = {span["span_id"]: span["kind"] for span in trace["spans"]}
        for span in trace["spans"]:
            if span["tid"] == tid and span["name"] == "getppid":
                parent = span["parent_id"] if ids[span["parent_id"]] == "context" else None
                found[parent] = found.get(parent, 0) + 1
    return found


def heirs(name, *options):
    """What a recording of HEIR has: of its children in their order, and of itself."""
    result = fathom.run("record", "-o", fathom.path(name), *options, "--", HEIR)
    equal(result.returncode, 0, f"record {HEIR}: {result.stderr}")
    children = [int(line) for line in result.stdout.split()]
    spans = [span for trace in fathom.trace_all(fathom.path(name))["traces"]
             for span in trace["spans"]]
    [own] = {span["tid"] for span in spans if span["name"] == "getppid"} - set(children)
    equal([span["span_id"] for span in spans if span["kind"] == "context"], [HEIRLOOM], "spans")
    return [parents_of(fathom.path(name), tid) for tid in children + [own]]


@tests.add
def a_child_has_the_span_of_a_record_that_it_did_not_touch():
    """Fork copies no pages of shared memory: nothing is there to be read until it touches them."""
    unmaps, reads, wiped, own = heirs("heir")
    equal(reads, {HEIRLOOM: 20, None: 10}, "up to its write")
    equal(unmaps, {HEIRLOOM: 10, None: 10}, "while the record is mapped")
    equal(wiped, {None: 10}, "where fork empties it")
    equal(own, {HEIRLOOM: 30, None: 20}, "half a record is none")


@tests.add
def so_it_is_with_spans_only():
    unmaps, reads, wiped, own = heirs("heir-spans", "--spans-only")
    equal(reads, {HEIRLOOM: 20}, "up to its write")
    equal(unmaps, {HEIRLOOM: 10}, "while the record is mapped")
    equal(wiped, {}, "where fork empties it")
    equal(own, {HEIRLOOM: 30}, "half a record is none")


@tests.add
def a_thread_with_its_creators_pointer_has_no_span():
    """It was made before the recording, so that nobody saw how."""
    if not BORROWER:
        return "it is written for x86-64"
    with harness.Process([BORROWER, "keeps"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         text=True) as process:
        tid = int(process.stdout.readline())
        where = fathom.record("borrowed", "-p", process.pid, "-d", "500ms")
        process.stdin.close()
    parents = parents_of(where, tid)
    check(parents.pop(None, 0) > 20, "its calls")
    equal(parents, {}, "spans of its creator")
    return None


@tests.add
def a_thread_that_gets_a_pointer_of_its_own_has_its_span():
    if not BORROWER:
        return "it is written for x86-64"
    where = fathom.record("left", "--", BORROWER, "leaves")
    tid = next(span["tid"] for trace in fathom.trace_all(where)["traces"]
               for span in trace["spans"] if span["name"] == "getppid")
    equal(parents_of(where, tid), {OWNER: 300}, "its calls")
    return None


@tests.add
def a_vector_of_blocks_is_followed_up_to_its_length():
    missing = []
    for libc in LIBRARIES:
        vector = BUILT.get(f"e2e-vector-{libc}")
        if not vector:
            missing.append(libc)
            continue
        result = fathom.run("record", "-o", fathom.path(libc), "--", vector)
        equal(result.returncode, 0, f"record {vector}: {result.stderr}")
        short, whole = map(int, result.stdout.split())
        equal(parents_of(fathom.path(libc), short), {None: 100}, f"calls without entry, {libc}")
        equal(parents_of(fathom.path(libc), whole), {BEYOND: 100}, f"calls with one, {libc}")
    return f"not built: {', '.join(missing)}" if missing else None


with fathom:
    tests.run()
