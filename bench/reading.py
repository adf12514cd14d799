# SPDX-License-Identifier: Apache-2.0
"""Chunks: what a record takes in one, and how fast they are written and mapped."""
import re
import shutil
import subprocess

from host import CALLS, cpu_seconds, lost_events, output, quiet
from loads import Nginx, server_missing
from tell import Goal, figure, ratio, say, summary

TRIAL_SECONDS = 3
LONGEST_SECONDS = 150
BUFFER = "512M"  # of the recorder: the chunk is to hold everything


def fields(text):
    """What a program under bench/ tells, a line each: NAME VALUE."""
    return {name: float(value) for name, value in re.findall(r"(\w+) ([\d.]+)", text)}


def made(bench):
    """A recording of a known number of getppid calls, made once."""
    if "made" not in bench.kept:
        target = bench.path("made")
        quiet([bench.fathom, "record", "-o", target, "--", bench.program("loop"), str(CALLS)])
        bench.kept["made"] = bench.chunk_of(target)
    return bench.kept["made"]


def record_nginx(bench, nginx, target, seconds):
    """Records the whole host for so long; its chunk, and how many records are in it."""
    load = nginx.load_start(seconds + 2)
    said = subprocess.run([bench.fathom, "record", "-o", target, "-d", str(seconds), "--buffer",
                           BUFFER], text=True, check=True, capture_output=True).stderr
    nginx.load_end(load)
    lost = lost_events(said)
    if lost:
        say(f"  {lost} records were lost while it was recorded")
    return bench.chunk_of(target)


def made_nginx(bench):
    """A recording of nginx under wrk with bench.records records, made once; None: not installed."""
    missing = server_missing(Nginx)
    if missing:
        say(missing)
        return None
    if "nginx" not in bench.kept:
        nginx = Nginx(bench)
        try:
            _, records = record_nginx(bench, nginx, bench.path("trial"), TRIAL_SECONDS)
            seconds = min(LONGEST_SECONDS, 1 + bench.records * TRIAL_SECONDS // records)
            bench.kept["nginx"] = record_nginx(bench, nginx, bench.path("recorded"), seconds)
        finally:
            nginx.stop()
        shutil.rmtree(bench.path("trial"))
    return bench.kept["nginx"]


def analyses_say(chunk):
    """Why there is no ratio to lttng-analyses, whose reader is babeltrace 1."""
    program = shutil.which("lttng-cputop")
    if not program:
        say("  lttng-analyses is not installed (pip install lttnganalyses): no ratio to it")
        return None
    result = subprocess.run([program, "--no-progress", chunk], text=True, capture_output=True,
                            check=False)
    if result.returncode == 0:
        return [program, "--no-progress", chunk]
    last = (result.stderr.strip() or result.stdout.strip() or "no word").splitlines()[-1]
    say(f"  lttng-analyses gives no answer: {last}")
    return None


def map_chunk(bench):
    """an nginx chunk in the page cache, with all spans, names and histograms, on one CPU"""
    chunk, records = made_nginx(bench) or (None, 0)
    if not chunk:
        return
    peers = {}
    if shutil.which("babeltrace2"):
        peers["babeltrace2 -c sink.utils.dummy"] = ["babeltrace2", chunk, "-c", "sink.utils.dummy"]
    else:
        say("  babeltrace2 is not installed: no ratio to it")
    analyses = analyses_say(chunk)
    if analyses:
        peers["lttng-cputop"] = analyses
    ours, sums, told, theirs = [], [], {}, {name: [] for name in peers}
    for _ in range(bench.rounds):
        told = fields(output([bench.program("map"), chunk]))
        ours.append(records / told["seconds"] / 1e6)
        alone = fields(output([bench.program("map"), chunk, "sums"]))
        sums.append(records / alone["seconds"] / 1e6)
        for name, command in peers.items():
            theirs[name].append(records / cpu_seconds(command) / 1e6)
    figure("records in the chunk", records / 1e6, "M", digits=2)
    summary("mapped", ours, "M records/s", Goal(10, 25, most=True), 2)
    summary("without spans of the kernel, as report maps", sums, "M records/s", None, 2)
    figure("memory at most", told["peak_kb"] / 1024, "MB")
    figure("the same, per record", told["peak_kb"] * 1024 / records, "bytes")
    for name, values in theirs.items():
        summary(name, values, "M records/s", None, 2)
        ratio(f"fathom / {name}", ours, values)


def copy_bytes(bench, packing, chunk, kinds):
    """Bytes of a chunk without records of these kinds, and how many those were."""
    target = bench.path("copy")
    shutil.rmtree(target, ignore_errors=True)
    told = fields(output([bench.program("copy"), packing, chunk, target, *kinds]))
    return told["bytes"], told["omitted"]


def sizes(bench):
    """bytes per system call and per switch in a chunk, as written and compressed"""
    chunk, records = made(bench)
    for packing in ("plain", "zstd"):
        total, _ = copy_bytes(bench, packing, chunk, [])
        figure(f"getppid alone, {packing}: per record", total / records, "bytes")
    chunk, records = made_nginx(bench) or (None, 0)
    if not chunk:
        return
    small = Goal(12, 6)  # of a switch, and of all that is compressed
    for packing, call_goal in (("plain", Goal(64, 40)), ("zstd", small)):
        total, _ = copy_bytes(bench, packing, chunk, [])
        figure(f"nginx, {packing}: all, per record", total / records, "bytes")
        for name, kind, goal in (("system call", "syscall", call_goal),
                                 ("switch", "switch", small), ("waking", "waking", None)):
            without, omitted = copy_bytes(bench, packing, chunk, [kind])
            figure(f"nginx, {packing}: per {name}", (total - without) / omitted, "bytes", goal)


def write(bench):
    """CPU time that the chunk's writer takes for a record of a server"""
    values = []
    for _ in range(bench.rounds):
        told = fields(output([bench.program("write"), bench.path("write"), "4"]))
        values.append(told["ns_per_record"])
        shutil.rmtree(bench.path("write"), ignore_errors=True)
    summary("chunk_writer_add and the rest", values, "ns/record")
