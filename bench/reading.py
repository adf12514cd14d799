# SPDX-License-Identifier: Apache-2.0
"""Chunks: the bytes of a record, and the speed of writing and mapping."""
import os
import re
import shutil
import subprocess
import time

from host import CALLS, Recorder, cpu_seconds, lost_events, output, perf_command
from loads import Nginx, server_missing
from tell import Goal, Runs, figure, ratio, say, summary

TRIAL_SECONDS = 3
LONGEST_SECONDS = 150
ANALYSED = 200000  # records, of which lttng-analyses takes some 50,000 in a second
THREADED_CHUNKS = 20
BUFFER = "512M"  # --buffer: the chunk must contain everything
CALL, SWITCH = "syscall", "switch"
BYTES = {("plain", CALL): Goal(64, 40), ("plain", SWITCH): Goal(12, 6),
         ("zstd", CALL): Goal(12, 6), ("zstd", SWITCH): Goal(12, 6)}


def fields(text):
    """Reads the output of a program under bench/: lines of NAME VALUE."""
    return {name: float(value) for name, value in re.findall(r"(\w+) ([\d.]+)", text)}


def record_getppid(bench):
    """Records a known number of calls. Returns the chunk, its records, and lost records."""
    turn = bench.turn(*bench.record(), bench.program("loop"), str(CALLS))
    return *bench.chunk_of(bench.path("record")), turn.lost


def record_host(bench, nginx, target, seconds, *options):
    """Records the whole host for a time. Returns what the recorder said."""
    shutil.rmtree(target, ignore_errors=True)
    load = nginx.load_start(seconds + 2)
    said = subprocess.run([bench.fathom, "record", "-o", target, "-d", str(seconds), "--buffer",
                           BUFFER, "--detail", "calls", *options],
                          text=True, check=True, capture_output=True).stderr
    nginx.load_end(load)
    return said


def record_nginx(bench, nginx, target, seconds):
    """Records the whole host for a time. Returns the chunk, its records, and lost records."""
    said = record_host(bench, nginx, target, seconds)
    return *bench.chunk_of(target), lost_events(said)


def record_nginx_long(bench):
    """A chunk of nginx with bench.records records."""
    nginx = Nginx(bench)
    try:
        _, records, _ = record_nginx(bench, nginx, bench.path("trial"), TRIAL_SECONDS)
        shutil.rmtree(bench.path("trial"))
        seconds = min(LONGEST_SECONDS, 1 + bench.records * TRIAL_SECONDS // records)
        return record_nginx(bench, nginx, bench.path("recorded"), seconds)
    finally:
        nginx.stop()


def peers_of(bench, chunk, records):
    """{name: (command, records that it reads)}"""
    peers = {}
    if shutil.which("babeltrace2"):
        peers["babeltrace2 -c sink.utils.dummy"] = (
            ["babeltrace2", chunk, "-c", "sink.utils.dummy"], records)
    else:
        say("  babeltrace2 is not installed: no ratio to it")
    if shutil.which("lttng-cputop"):  # reads only traces of LTTng's kernel tracer
        target = bench.path("analyses/kernel")
        os.makedirs(target)
        told = output([bench.program("analyses"), chunk, target, str(ANALYSED)])
        peers["lttng-cputop, of the chunk rewritten"] = (
            ["lttng-cputop", "--no-progress", "--skip-validation", target], fields(told)["records"])
    else:
        say("  lttng-analyses is not installed: no ratio to it")
    return peers


def map_chunk(bench):
    """an nginx chunk in the page cache, with all spans, names and histograms, on one CPU"""
    missing = server_missing(Nginx)
    if missing:
        say(missing)
        return
    chunk, records, lost = record_nginx_long(bench)
    peers = peers_of(bench, chunk, records)
    ours, sums, told, theirs = Runs(lost=lost), Runs(lost=lost), {}, {name: [] for name in peers}
    for _ in range(bench.rounds):
        told = fields(output([bench.program("map"), chunk]))
        ours.append(records / told["seconds"] / 1e6)
        alone = fields(output([bench.program("map"), chunk, "sums"]))
        sums.append(records / alone["seconds"] / 1e6)
        for name, (command, read) in peers.items():
            theirs[name].append(read / cpu_seconds(command) / 1e6)
    figure("records in the chunk", records / 1e6, "M", 2)
    summary("mapped", ours, "M records/s", Goal(10, 25, most=True), 2)
    summary("without spans of the kernel, as report maps", sums, "M records/s", None, 2)
    figure("memory at most", told["peak_kb"] / 1024, "MB")
    figure("the same, per record", told["peak_kb"] * 1024 / records, "bytes")
    for name, values in theirs.items():
        summary(name, values, "M records/s", None, 2)
        ratio(f"fathom / {name}", ours, values)


def requests(bench):
    """20,000 requests of simulated services, each call linked to its request, on one CPU"""
    told, seconds = {}, []
    for _ in range(bench.rounds):
        told = fields(output([bench.program("requests"), "20000"]))
        seconds.append(told["seconds"])
    figure("exchanges of these requests", told["exchanges"], "", 0)
    summary("linked", seconds, "s", Goal(0.2, None), 3)
    figure("memory that linking takes, per exchange", told["bytes"] / told["exchanges"], "bytes")
    figure("edges that are right", told["right_percent"], "%", 2)


def copy_bytes(bench, packing, chunk, kinds):
    """Bytes of a chunk without records of these kinds, and the number of these records."""
    target = bench.path("copy")
    shutil.rmtree(target, ignore_errors=True)
    told = fields(output([bench.program("copy"), packing, chunk, target, *kinds]))
    return told["bytes"], told["omitted"]


def bytes_each(bench, packing, chunk, records, kinds):
    """{kind: bytes per record}"""
    total, _ = copy_bytes(bench, packing, chunk, [])
    each = {"record": total / records}
    for kind in kinds:
        without, omitted = copy_bytes(bench, packing, chunk, [kind])
        each[kind] = (total - without) / omitted
    return each


def perf_bytes(bench, nginx):
    """Bytes per event in the output of perf, and the number of events that it lost."""
    data = bench.path("perf.data")
    load = nginx.load_start(TRIAL_SECONDS + 2)
    said = Recorder(perf_command(data), data).stop()
    nginx.load_end(load)
    events = int(re.search(r"\((\d+) samples\)", said).group(1))
    return os.path.getsize(data) / events, lost_events(said)


def tell_sizes(bench, name, record, kinds=(), peer=None):
    """Figures of one recording for each round."""
    found, theirs = {}, Runs()
    for _ in range(bench.rounds):
        chunk, records, lost = record()
        for packing in ("plain", "zstd"):
            for what, value in bytes_each(bench, packing, chunk, records, kinds).items():
                found.setdefault((packing, what), Runs()).add(value, lost)
        if peer:
            theirs.add(*peer())
    for (packing, what), values in found.items():
        summary(f"{name}, {packing}: per {what}", values, "bytes", BYTES.get((packing, what)))
    if peer:
        summary(f"{name}, perf record: per event", theirs, "bytes")
        ratio("fathom, plain / perf record", found["plain", "record"], theirs)


def sizes(bench):
    """bytes per system call and per switch in a chunk, as written and compressed"""
    tell_sizes(bench, "getppid", lambda: record_getppid(bench))
    missing = server_missing(Nginx)
    if missing:
        say(missing)
        return
    nginx = Nginx(bench)
    try:
        tell_sizes(bench, "nginx",
                   lambda: record_nginx(bench, nginx, bench.path("short"), TRIAL_SECONDS),
                   (CALL, SWITCH, "waking"),
                   (lambda: perf_bytes(bench, nginx)) if shutil.which("perf") else None)
    finally:
        nginx.stop()


def write(bench):
    """CPU time that the chunk's writer takes for a record of a server"""
    values = []
    for _ in range(bench.rounds):
        told = fields(output([bench.program("write"), bench.path("write"), "4"]))
        values.append(told["ns_per_record"])
        shutil.rmtree(bench.path("write"), ignore_errors=True)
    summary("chunk_writer_add and the rest", values, "ns/record")


def answer_timed(bench, recording, threads):
    """Returns how long a report took, and what it answered."""
    begin = time.monotonic()
    answer = output([bench.fathom, "report", "--json", "--threads", str(threads), recording])
    return time.monotonic() - begin, answer


def threads(bench):
    """report on a recording of twenty chunks of a second, by one thread and by two"""
    missing = server_missing(Nginx)
    if missing:
        say(missing)
        return
    recording, nginx = bench.path("threaded"), Nginx(bench)
    try:
        said = record_host(bench, nginx, recording, THREADED_CHUNKS, "--rotate", "1s")
    finally:
        nginx.stop()
    lost = lost_events(said)
    one, two = Runs(lost=lost), Runs(lost=lost)
    for _ in range(bench.rounds):
        took, answer = answer_timed(bench, recording, 1)
        one.append(took)
        took, other = answer_timed(bench, recording, 2)
        two.append(took)
        if other != answer:
            raise ValueError("one thread and two gave different answers")
    summary("by one thread", one, "s", None, 2)
    summary("by two", two, "s", None, 2)
    ratio("by one / by two", one, two, Goal(1.6, 1.8, most=True))
