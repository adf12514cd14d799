#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Requests through a graph of real services that nobody instrumented, against what the services know:
one at a time and eight at once, recorded at `calls` and at `waits,bytes` at the same time.
"""
import copy
import os
import shutil
import sys
import tempfile

import graph
import harness
import judge
import servers
from harness import check, equal

harness.require_root()
absent = graph.missing()
if absent:
    print("missing:", " ".join(absent))
    sys.exit(77)
fathom = harness.Fathom(sys.argv[1])
LOOP, WORKERS = sys.argv[2:4]
tests = harness.Tests()
LEVELS = ("calls", "waits,bytes")
RECORDINGS = {level: graph.at_level(level) for level in LEVELS}
RECORDINGS["lossy"] = ["--detail", "calls", "--buffer", "8K"]
PHASES = {"a": (1, 60), "b": (8, 300)}  # letter of the identities: requests at once, and in all
LEVELS_APART = 3  # points
verdicts = {}  # level -> phase -> figures
documents, rows, held = {}, [], []
SECRET = b"fathom-keeps-no-byte"  # in each request, as load.py sends it


@tests.add
def the_ledgers_are_whole():
    """What was asked was done: the truth has every call, and both ends of it tell alike."""
    place = tempfile.mkdtemp(prefix="fathom-requests-")  # recordings of other tests are checked
    try:
        record(place)
    finally:
        shutil.rmtree(place)
    ledgers = judge.Ledgers(rows)
    for phase, (_, count) in PHASES.items():
        idents = ledgers.idents(phase)
        roots = {judge.root_of(ident) for ident in idents}
        equal(len(roots), count, f"requests of phase {phase}")
        sizes = [sum(judge.root_of(ident) == root for ident in idents) for root in sorted(roots)]
        check(7 <= min(sizes) and max(sizes) <= 14, f"exchanges of a request: {sorted(sizes)}")
        equal([i for i in idents if "." in i and judge.parent_of(i) not in idents], [], "orphans")


def record(place):
    rows.extend(graph.record(fathom, place, (LOOP, WORKERS), PHASES, RECORDINGS))
    held.extend(name for level in RECORDINGS for name in files_with(f"{place}/{level}", SECRET))
    for level in LEVELS:
        servers.check_loss(fathom, f"{place}/{level}")
    for level in RECORDINGS:
        documents[level] = graph.answer(fathom, f"{place}/{level}")
        verdicts[level] = judge.judge(documents[level], rows)
        for phase, (at_once, _) in PHASES.items():
            print(f"# {level}, {at_once} at once:")
            for line in verdicts[level][phase].told() + verdicts[level][phase].wrong(5):
                print("#  ", line)


def files_with(folder, text):
    """Those that hold it."""
    for path, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(path, name), "rb") as file:
                if text in file.read():
                    yield name


@tests.add
def no_message_is_in_a_recording():
    equal(held, [], "files with a byte of a request")


def at_least(got, least, what):
    check(got >= least, f"{what}: {got:.2f} %, should be {least} % or more")


def check_phase(phase, least, traces, level="calls"):
    verdict = verdicts[level][phase]
    equal((verdict.found(), verdict.joined()), (100, 100), "exchanges found, and at both ends")
    at_least(verdict.precision(), least, "precision of edges")
    at_least(verdict.recall(), least, "recall of edges")
    at_least(verdict.traces(), traces, "requests whole and alone in their trace")
    at_least(verdict.roots_kept(), 100, "requests from outside that are roots")
    share, right = verdict.sure()
    at_least(share, 50, f"edges above {judge.SURE}")
    at_least(right, 98.5, "of those right")
    check(verdict.late()[1] * 1000 <= judge.LATE_NS, f"us that a server ends late: {verdict.late()}")
    mean = verdict.mean_probability()
    check(abs(mean - verdict.precision()) <= 5,
          f"mean probability {mean:.2f} %, right {verdict.precision():.2f} %")


@tests.add
def one_at_a_time():
    check_phase("a", 99.9, 99.9)


@tests.add
def eight_at_once():
    check_phase("b", 99, 90)


@tests.add
def without_calls_it_is_as_good():
    for phase, (at_once, _) in PHASES.items():
        calls, waits = (verdicts[level][phase] for level in LEVELS)
        at_least(waits.recall(), calls.recall() - LEVELS_APART, f"recall, {at_once} at once")
        at_least(waits.precision(), calls.precision() - LEVELS_APART,
                 f"precision, {at_once} at once")


@tests.add
def what_is_lost_makes_no_edge():
    """What is there is right and told for what it is worth, though records are missing."""
    if not documents["lossy"]["lost"]["total"]:
        return "nothing was lost"
    print("# lost:", documents["lossy"]["lost"]["total"])
    for phase in PHASES:
        verdict = verdicts["lossy"][phase]
        at_least(verdict.precision(), 75, "precision of edges")
        at_least(verdict.sure()[1], 85, f"right of edges above {judge.SURE}")
    return None


@tests.add
def the_judge_sees_wrong_edges():
    """Parents that two requests have exchanged are told, and so are edges that are gone."""
    document = copy.deepcopy(documents["calls"])
    clients = [span for trace in document["traces"] for span in trace["spans"]
               if span["kind"] == "client" and "parent_id" in span]
    for one, other in zip(clients[::20], clients[10::20]):
        one["parent_id"], other["parent_id"] = other["parent_id"], one["parent_id"]
    for span in clients[5::20]:
        del span["parent_id"]
    before, after = verdicts["calls"]["b"], judge.judge(document, rows)["b"]
    check(before.precision() - after.precision() > 4 and before.recall() - after.recall() > 8,
          f"precision {after.precision():.2f} %, recall {after.recall():.2f} % of spoiled edges")


with fathom:
    tests.run()
