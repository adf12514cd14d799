# SPDX-License-Identifier: Apache-2.0
"""What recording costs whole servers under load, and the kernel programs inside one."""
import shlex
import shutil
import statistics

from host import TICKS, Recorder, host_ticks, lost_events, output
from loads import Epoll, Nginx, Postgres, Thumbnailer, server_missing
from tell import Goal, effect, ratio, say, summary

LOAD_SECONDS = 3
IN_PLACE = [  # name, programs, goal in ns
    ("sys_enter + sys_exit", ("sys_enter", "sys_exit"), Goal(90, 60)),
    ("sched_switch", ("sched_switch",), Goal(110, 80)),
    ("sched_waking", ("sched_waking",), Goal(120, 90)),
]
PEER_EVENTS = ("raw_syscalls:sys_enter,raw_syscalls:sys_exit,sched:sched_switch,"
               "sched:sched_waking")
UNMAPPED, PEER = "load in scope, not mapped", "perf record"


def inplace(bench):
    """net run time of the kernel programs, per record, inside nginx under wrk"""
    missing = server_missing(Nginx)
    if missing:
        say(missing)
        return
    runs = {}
    nginx = Nginx(bench)
    try:
        for _ in range(bench.rounds):
            load = nginx.load_start(5)
            recorder = bench.record_host()
            told = output([bench.program("inplace"), "2", str(recorder.process.pid)])
            recorder.stop()
            nginx.load_end(load)
            rows = {name: float(ns) for _, name, _, ns in map(str.split, told.splitlines())}
            for name, ns in rows.items():
                runs.setdefault(name, []).append(ns - rows["floor"] * (name != "floor"))
    finally:
        nginx.stop()
    summary("a program that does nothing", runs["floor"], "ns")
    for name, programs, goal in IN_PLACE:
        values = [sum(each) for each in zip(*(runs[program] for program in programs))]
        summary(name, values, "ns", goal)


def mapped_beside(bench):
    """Options that make each second a chunk, which is mapped at once on the same CPUs."""
    return ["--rotate", "1s", "--on-chunk",
            f'{shlex.quote(bench.fathom)} report --json "$1" >/dev/null']


def load_once(server, recorder):
    """Requests per second, the host's CPU time for one, records lost, seconds stolen."""
    lost = 0
    try:
        busy, steal = host_ticks()
        rate, requests = server.load_end(server.load_start(LOAD_SECONDS))
        busy_after, steal_after = host_ticks()
    finally:
        if recorder:
            lost = lost_events(recorder.stop())
    return {"rate": rate, "cpu_us": (busy_after - busy) * 1e6 / TICKS / requests, "lost": lost,
            "steal": (steal_after - steal) / TICKS}


def kinds_of(bench, server, options):
    """What records in the pairs: with the map beside it, without it, and perf."""
    data = bench.path("perf.data")
    mapped = [*options, *mapped_beside(bench)]
    kinds = {
        "load in scope": lambda: bench.record_host("-a", *mapped),
        "load out of scope": lambda: bench.record_host(
            "-p", ",".join(map(str, server.pids())), *mapped),
        UNMAPPED: lambda: bench.record_host("-a", *options)}
    if shutil.which("perf"):
        kinds[PEER] = lambda: Recorder(
            ["perf", "record", "-a", "-m", "8M", "-e", PEER_EVENTS, "-o", data], data)
    else:
        say("  perf is not installed: no ratio to it")
    return kinds


def tell_pairs(kind, pairs, goal):
    """Prints what the pairs of a kind say; the median loss, or None if it is not measurable."""
    losses = [100 - 100 * with_["rate"] / plain["rate"] for plain, with_ in pairs]
    measurable = effect(f"{kind}: throughput lost", losses, "% ", goal)
    effect(f"{kind}: CPU time added to a request",
           [with_["cpu_us"] - plain["cpu_us"] for plain, with_ in pairs], "us")
    lost = sum(with_["lost"] for _, with_ in pairs)
    steal = sum(plain["steal"] + with_["steal"] for plain, with_ in pairs)
    say(f"  {kind + ': events lost; steal':48} {lost:10} ; {steal:.1f} s")
    return statistics.median(losses) if measurable else None


def cost(bench, make, goal, third=None, options=()):
    """The cost of a server, in interleaved pairs; `third`: goal of the ratio to perf's loss."""
    missing = server_missing(make)
    if missing:
        say(missing)
        return
    server = make(bench)
    try:
        kinds = kinds_of(bench, server, options)
        runs = {kind: [] for kind in kinds}
        load_once(server, None)  # warm
        for _ in range(bench.pairs):
            for kind, start in kinds.items():
                plain = load_once(server, None)
                runs[kind].append((plain, load_once(server, start())))
    finally:
        server.stop()
    rates = [plain["rate"] for pairs in runs.values() for plain, _ in pairs]
    summary("not recorded", rates, "requests/s")
    medians = {kind: tell_pairs(kind, pairs, None if kind in (UNMAPPED, PEER) else goal)
               for kind, pairs in runs.items()}
    theirs = medians.pop(PEER, None)
    for kind, ours in medians.items():
        if ours is None or theirs is None:
            say(f"  {kind + ' / perf record':48} one of them is not measurable: no ratio")
        else:
            ratio(f"{kind} / perf record", [ours], [theirs], None if kind == UNMAPPED else third)


def nginx(bench):
    """nginx under wrk, which does nothing but system calls: throughput lost, CPU time added"""
    cost(bench, Nginx, Goal(15, 8), Goal(round(1 / 3, 2), None))


def postgres(bench):
    """PostgreSQL under pgbench: throughput lost, CPU time added"""
    cost(bench, Postgres, Goal(4, 2))


def thumbnail(bench):
    """the thumbnail server under its client: throughput lost, CPU time added"""
    cost(bench, Thumbnailer, Goal(1, 0.5))


def epoll(bench):
    """an epoll server with libfathom under wrk, --spans-only, one request in a thousand sampled"""
    cost(bench, Epoll, Goal(5, 3), options=["--spans-only"])
