# SPDX-License-Identifier: Apache-2.0
"""How well --budget is held: nginx under wrk for two minutes."""
import json
import time

from host import Recorder, output
from servers import Nginx
from tell import figure, say

BUDGET = 3
SECONDS = 120
EACH = 10


def share_of(bench, chunk):
    """What recording took of the CPUs in the time of a chunk, in percent."""
    report = json.loads(output([bench.fathom, "report", "--json", "--by", "overhead", chunk]))
    cost = report["cost"]
    return 100 * (cost["processes_ns"] + cost.get("programs_ns", 0)) / cost["cpu_ns"]


def levels_watch(bench, target, seconds):
    """The level of detail at the end of each ten seconds."""
    levels = []
    for _ in range(seconds // EACH):
        time.sleep(EACH)
        levels.append(output([bench.fathom, "detail", target]).split()[0])
    return levels


def judge(shares, levels, steps):
    """From the fifteenth second on: each mean within the budget or at waits, one try up at most."""
    held = all(share <= BUDGET or level == "waits"
               for share, level in list(zip(shares, levels))[2:])
    tries = sum("recorded again" in step for step in steps)
    say(f"  each mean within {BUDGET} % or at waits, from the fifteenth second on: "
        f"{'reached' if held else 'NOT REACHED'}")
    say(f"  tries up: {tries}, must 1: {'reached' if tries <= 1 else 'NOT REACHED'}")


def budget(bench):
    """nginx under wrk for two minutes (--long) at --detail calls --budget 3%: each ten seconds"""
    target, seconds = bench.path("budget"), bench.long or SECONDS
    server = Nginx(bench)
    try:
        load = server.load_start(seconds)
        recorder = Recorder([bench.fathom, "record", "-o", target, "--detail", "calls", "--budget",
                             f"{BUDGET}%", "--rotate", f"{EACH}s"], target, settle_s=0)
        try:
            levels = levels_watch(bench, target, seconds)
        finally:
            said = recorder.stop()
        server.load_end(load)
    finally:
        server.stop()
    chunks = json.loads(output([bench.fathom, "chunks", "--json", target]))["chunks"]
    shares = [share_of(bench, chunk["path"]) for chunk in chunks[:len(levels)]]
    steps = [line for line in said.splitlines() if "budget of" in line]
    for number, (share, level) in enumerate(zip(shares, levels)):
        figure(f"{number * EACH} to {(number + 1) * EACH} s, {level} at its end", share, "%", 2)
    for step in steps:
        say(f"  {step}")
    judge(shares, levels, steps)
