#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Measures how many edges of requests are right: the graph of services at 1, 8 and 64 requests at once,
recorded at `calls` and at `waits,bytes` at the same time, against what the services know.
"""
import argparse
import os
import sys
import tempfile
import time

import graph
import harness
import judge
import servers

PHASES = {"a": (1, 100), "b": (8, 800), "c": (64, 1600)}
LEVELS = ("calls", "waits,bytes")
TOGETHER = {"a": 99.9, "b": 99, "c": 95}   # precision and recall, at least
TRACES = {"a": 99.9, "b": 90, "c": 60}     # whole and alone, at least
MANY = {"nginx": 98, "pool": 98, "workers": 98, "aio": 95, "go": 95, "node": 85}  # at 64


def goals(verdict, phase):
    """(what, figure, goal) of a phase"""
    yield "precision", verdict.precision(), TOGETHER[phase]
    yield "recall", verdict.recall(), TOGETHER[phase]
    if phase == "c":
        for name, least in MANY.items():
            yield f"recall of {name}", verdict.recall(name), least
    yield "whole and alone in their trace", verdict.traces(), TRACES[phase]
    share, right = verdict.sure()
    yield f"edges above {judge.SURE}", share, 50
    yield f"right of edges above {judge.SURE}", right, 98.5


def tell(level, phase, verdict):
    print(f"{level}, {PHASES[phase][0]} at once:", *verdict.told(), sep="\n  ")
    for what, got, least in goals(verdict, phase):
        print(f"  {what:42} {got:7.2f} %  must {least:g}: "
              f"{'reached' if got >= least else 'NOT REACHED'}")
    off = abs(verdict.mean_probability() - verdict.precision())
    print(f"  {'mean probability against what is right':42} {off:7.2f} points  must 5: "
          f"{'reached' if off <= 5 else 'NOT REACHED'}", flush=True)


def measure(fathom, place, programs):
    rows = graph.record(fathom, place, programs, PHASES,
                        {level: graph.at_level(level) for level in LEVELS})
    for level in LEVELS:
        servers.check_loss(fathom, os.path.join(place, level))
        begin = time.monotonic()
        document = graph.answer(fathom, os.path.join(place, level))
        print(f"fathom requests, with reading its JSON: {time.monotonic() - begin:.2f} s")
        for phase, verdict in judge.judge(document, rows).items():
            if phase in PHASES:
                tell(level, phase, verdict)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("programs", nargs=3, help="fathom, and the services `loop` and `workers`")
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--keep", metavar="DIR", help="leave recordings and ledgers there")
    options = parser.parse_args()
    absent = graph.missing()
    if absent:
        sys.exit("missing: " + " ".join(absent))
    harness.require_root()
    paths = [os.path.abspath(path) for path in options.programs]
    for number in range(options.rounds):
        with tempfile.TemporaryDirectory(prefix="fathom-requests-") as top, \
                harness.Fathom(paths[0]) as fathom:
            place = os.path.join(options.keep or top, str(number))
            os.makedirs(place)
            measure(fathom, os.path.abspath(place), paths[1:])


main()
