#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a benchmark says of a figure: its interval, its goal, and what noise hides."""
import contextlib
import io
import os
import re
import sys

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../bench"), os.path.join(HERE, "../e2e")]

import host  # pylint: disable=wrong-import-position
import resident  # pylint: disable=wrong-import-position
import servers  # pylint: disable=wrong-import-position
import tell  # pylint: disable=wrong-import-position

LESS, MORE = tell.Goal(15, 8), tell.Goal(10, 25, most=True)
AROUND_ZERO, LOST = "not measurable (zero lies in it)", "not measurable (7 records were lost)"


def last_words(tell_it, *arguments):
    """Those that stand for the figure that it prints."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        tell_it(*arguments)
    return re.split(r": |  +", text.getvalue().rstrip())[-1]


def said(values, goal=LESS):
    return last_words(tell.summary, "x", values, "%", goal)


def said_beside_perf(ours, theirs):
    """Of a server's losses, pair by pair; less than a third of the peer's is wanted."""
    return last_words(servers.tell_ratios, {"load in scope": {"throughput": ours}},
                      {"throughput": theirs}, tell.Goal(0.33, None))


def some_lost():
    runs = tell.Runs()
    for value in range(1, 7):
        runs.add(value, 7 if value == 3 else 0)
    return runs


def map_of(**values):
    text = {"map_type": 1, "key_size": 4, "value_size": 8, "max_entries": 1, "map_flags": "0x0",
            "memlock": 0, "map_id": 1, **values}
    return resident.Map("flags: 02000002\n" + "".join(f"{k}:\t{v}\n" for k, v in text.items()))


CASES = [  # what, found, wanted; the ranks are those of a table of the binomial distribution
    ("five have no interval", tell.interval(range(5)), None),
    ("six: all of them", tell.interval([3, 1, 2, 6, 5, 4]), (1, 6)),
    ("ten: without the outermost", tell.interval(range(10)), (1, 8)),
    ("fifteen: without three on each side", tell.interval(range(15)), (3, 11)),
    ("around zero", said([-1, 1, 2, 3, 4, 5]), AROUND_ZERO),
    ("below zero", said([-6, -5, -4, -3, -2, -1]),
     "not measurable (biased, as all of it is below zero)"),
    ("too few", said([1, 2, 3]), "not measurable (too few runs)"),
    ("records were lost", said(tell.Runs([1, 2, 3, 4, 5, 6], 7)), LOST),
    ("records were lost, above", said(tell.Runs([16, 17, 18, 19, 20, 21], 7)), LOST),
    ("none were lost", said(tell.Runs([1, 2, 3, 4, 5, 6])), "aim reached"),
    ("records were lost in some runs", said(some_lost()), LOST),
    ("below the aim", said([1, 2, 3, 4, 5, 6]), "aim reached"),
    ("below what it must reach", said([9, 10, 11, 12, 13, 14]), "reached"),
    ("the interval holds the goal", said([9, 10, 11, 12, 13, 16]), "not measurable"),
    ("above", said([16, 17, 18, 19, 20, 21]), "NOT REACHED"),
    ("one of ten above the goal", said([9, 9, 9, 9, 9, 9, 9, 9, 9, 16]), "reached"),
    ("around zero, without a goal", said([-1, 1, 2, 3, 4, 5], None), AROUND_ZERO),
    ("a third of the peer's loss, in each pair",
     said_beside_perf([10, 11, 12, 10, 11, 12], [40] * 6), "reached"),
    ("a third of it by the medians, which pairs do not bear out",
     said_beside_perf([8, 9, 12, 12, 14, 16], [40] * 6), "not measurable"),
    ("more than a third", said_beside_perf([15, 16, 17, 18, 19, 20], [40] * 6), "NOT REACHED"),
    ("a loss that may be none, beside the peer's",
     said_beside_perf([-1, 1, 2, 1, 2, 1], [40] * 6), AROUND_ZERO),
    ("less than a third of it, with records lost",
     said_beside_perf(tell.Runs([10] * 6, 7), [40] * 6), LOST),
    ("the same, lost by the peer", said_beside_perf([10] * 6, tell.Runs([40] * 6, 7)), LOST),
    ("a peer that lost nothing in some pairs",
     said_beside_perf([10] * 6, [40, 40, 40, 40, 40, -1]),
     "not measurable (the peer took nothing)"),
    ("a peer that lost nothing", said_beside_perf([10] * 6, [-1] * 6),
     "the peer could not be measured"),
    ("an aim above what must be reached", tell.Goal(55, 149).judge(140, 145), "NOT REACHED"),
    ("more is better: below", MORE.judge(9, 9), "NOT REACHED"),
    ("more is better: reached", MORE.judge(10, 24), "reached"),
    ("more is better: aim", MORE.judge(25, 30), "aim reached"),
    ("programs, net of those that do nothing",
     servers.programs_of("1 a 10 25.0\n1 b 30 45.0\n0 floor 10 5.0\n"),
     {"a": (10, 20), "b": (30, 40), "floor": (10, 5)}),
    ("fathom's loss", host.lost_events("fathom: 2.0 s, 10 records, 42 LOST in 1 chunk"), 42),
    ("perf's loss", host.lost_events("Processed 10 events and lost 3 chunks!"), 3),
    ("no loss", host.lost_events("fathom: 2.0 s, 10 records, nothing lost"), 0),
    ("slots are the ring", map_of(map_type=2, value_size=64, max_entries=4096,
                                  map_flags="0x400").is_ring(2), True),
    ("a map of something else is not", map_of(map_type=2, value_size=64, max_entries=2).is_ring(2),
     False),
    ("an element per CPU grows with them",
     map_of(map_type=2, max_entries=2, memlock=100).large_bytes(2, 32768), 3200),
    ("one per pid grows with pid_max",
     map_of(map_type=2, max_entries=32768, memlock=100).large_bytes(2, 32768), 12800),
    ("a hash that is not filled counts as full",
     map_of(map_type=1, max_entries=1024, map_flags="0x1").large_bytes(2, 32768), 1024 * 80),
    ("one that is, as it is", map_of(map_type=9, memlock=7).large_bytes(2, 32768), 7),
]

failures = [f"{what}: {found!r}, not {wanted!r}" for what, found, wanted in CASES
            if found != wanted]
print("\n".join(failures) or f"{len(CASES)} cases")
sys.exit(bool(failures))
