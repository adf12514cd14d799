# SPDX-License-Identifier: Apache-2.0
"""The cost of recording for whole servers under load, and of the kernel programs in one."""
import os
import shlex
import shutil
import time
from collections import Counter

from host import (TICKS, Recorder, descendants, host_ticks, lost_events, output, perf_command,
                  used_seconds)
from loads import (Epoll, Nginx, Postgres, PostgresSimple, Redis, Thumbnailer,
                   server_missing)
from tell import Goal, Runs, figure, ratio, say, summary

IN_PLACE = [  # name, programs, goal in ns
    ("sys_enter + sys_exit", ("sys_enter", "sys_exit"), Goal(90, 60)),
    ("sched_switch", ("sched_switch",), Goal(110, 80)),
    ("sched_waking", ("sched_waking",), Goal(120, 90)),
]
FLOOR = "floor"  # the programs that do nothing
UNMAPPED, PEER = "in scope, not mapped", "perf record"
NOTHING = "programs that do nothing"  # on those tracepoints, which is a floor
MAPPED_AFTER_S = 1.5  # a chunk of a second is full, written, and its map has begun
MAPPED_WITHIN_S = 10


def programs_of(told):
    """{name: (runs, net ns of one)}"""
    found = {name: (int(runs), float(ns))
             for _, name, runs, ns in map(str.split, told.splitlines())}
    return {name: (runs, ns - found[FLOOR][1] * (name != FLOOR))
            for name, (runs, ns) in found.items()}


def tell_programs(rounds):
    """Prints for each program, over all rounds: time per run, number of runs, and share."""
    runs, spent = Counter(), Counter()
    for name, (count, ns) in (item for each in rounds for item in each.items()):
        runs[name] += count
        spent[name] += count * ns
    for name, ns in spent.most_common():
        figure(name, ns / runs[name],
               f"ns   ({runs[name]} runs, {100 * ns / spent.total():.1f} % of the time of all)")


def inplace(bench):
    """net run time of each kernel program, a run a record, inside nginx under wrk"""
    missing = server_missing(Nginx)
    if missing:
        say(missing)
        return
    rounds = Runs()
    nginx = Nginx(bench)
    try:
        for _ in range(bench.rounds):
            load = nginx.load_start(5)
            recorder = bench.record_host()
            try:
                told = output([bench.program("inplace"), "2", str(recorder.process.pid)])
            finally:
                said = recorder.stop()
            rounds.add(programs_of(told), lost_events(said))
            nginx.load_end(load)
    finally:
        nginx.stop()
    floors = [each.pop(FLOOR)[1] for each in rounds]
    summary("a program that does nothing", floors, "ns")
    for name, programs, goal in IN_PLACE:
        net = Runs([sum(each[program][1] for program in programs) for each in rounds],
                   rounds.lost)
        nothing = [floor * len(programs) for floor in floors]
        summary(name, net, "ns", goal)
        ratio(f"{name} / programs that do nothing",
              Runs(map(sum, zip(net, nothing)), rounds.lost), nothing)
    tell_programs(rounds)


def mapped_beside(bench):
    """Options that make one chunk per second, which is mapped at once on the same CPUs."""
    return ["--rotate", "1s", "--on-chunk",
            f'{shlex.quote(bench.fathom)} report --json "$1" >/dev/null']


def used_by_all(server, recorder):
    """CPU time of the server, of its recorder and maps, and of loads that ended."""
    loads = os.times()
    return (used_seconds(server.process.pid) + loads.children_user + loads.children_system +
            (used_seconds(recorder.process.pid) if recorder else 0))


def wait_mapped(recorder):
    """Waits until the records are in a chunk that is mapped; as long without a recorder."""
    time.sleep(MAPPED_AFTER_S)
    until = time.monotonic() + MAPPED_WITHIN_S
    while (recorder and len(descendants(recorder.process.pid)) > 1 and
           time.monotonic() < until):
        time.sleep(0.01)


def load_once(server, seconds, recorder, mapped=False):
    """Requests per second, CPU time per request, records lost, seconds stolen."""
    lost = 0
    try:
        (busy, steal), used = host_ticks(), used_by_all(server, recorder)
        rate, requests = server.load_end(server.load_start(seconds))
        if mapped:  # perf records itself, so it never rests
            wait_mapped(recorder)
        (busy_after, steal_after), used_after = host_ticks(), used_by_all(server, recorder)
    finally:
        if recorder:
            lost = lost_events(recorder.stop())
    return {"rate": rate, "lost": lost, "host_us": (busy_after - busy) * 1e6 / TICKS / requests,
            "own_us": (used_after - used) * 1e6 / requests, "steal": (steal_after - steal) / TICKS}


def record_server(bench, server, options):
    """Records only the server. A process of it that just ends cannot be recorded."""
    for tries in range(5):
        try:
            return bench.record_host("-p", ",".join(map(str, server.pids())), *options)
        except RuntimeError:
            if tries == 4:
                raise


def kinds_of(bench, server, options):
    """The recorders of the pairs: fathom with maps, fathom without maps, nothing, and perf."""
    data = bench.path("perf.data")
    mapped = [*options, *mapped_beside(bench)]
    kinds = {
        "load in scope": lambda: bench.record_host("-a", "--detail", "calls", *mapped),
        "load out of scope": lambda: record_server(bench, server, mapped),
        UNMAPPED: lambda: bench.record_host("-a", "--detail", "calls", *options),
        NOTHING: lambda: Recorder([bench.program("floor")], data)}
    if shutil.which("perf"):
        kinds[PEER] = lambda: Recorder(perf_command(data), data)
    else:
        say("  perf is not installed: no ratio to it")
    return kinds


def is_mapped(kind):
    return kind not in (UNMAPPED, NOTHING, PEER)


def tell_pairs(kind, pairs, goal):
    """
    Prints the figures of the pairs of a kind: per request, the CPU time of the server, its load,
    the recorder and maps (its own), and of the whole host. Returns the loss of each pair.
    """
    lost = sum(with_["lost"] for _, with_ in pairs)
    losses = Runs([100 - 100 * with_["rate"] / plain["rate"] for plain, with_ in pairs], lost)
    summary(f"{kind}: throughput lost", losses, "% ", goal)
    cpu = Runs([with_["own_us"] - plain["own_us"] for plain, with_ in pairs], lost)
    summary(f"{kind}: CPU added, its own", cpu, "us")
    summary(f"{kind}: CPU added, of the host",
            Runs([with_["host_us"] - plain["host_us"] for plain, with_ in pairs], lost), "us")
    steal = sum(plain["steal"] + with_["steal"] for plain, with_ in pairs)
    say(f"  {kind + ': steal':48} {steal:10.1f} s")
    return {"throughput": losses, "CPU": cpu}


def tell_ratios(found, peer, third):
    """Ratios of each round's pair to the peer's pair of the same round."""
    for kind, ours in found.items():
        for what, theirs in peer.items():
            ratio(f"{kind} / {PEER}, {what}", ours[what], theirs,
                  third if what == "throughput" and is_mapped(kind) else None)


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
        load_once(server, bench.seconds, None)  # warm
        for turn in range(bench.pairs):
            for kind, start in kinds.items():
                order = (start, None) if turn % 2 else (None, start)
                pair = {each: load_once(server, bench.seconds, each and each(), is_mapped(kind))
                        for each in order}
                runs[kind].append((pair[None], pair[start]))
    finally:
        server.stop()
    plains = [plain for pairs in runs.values() for plain, _ in pairs]
    summary("not recorded", [plain["rate"] for plain in plains], "requests/s")
    summary("not recorded: CPU of a request, its own", [plain["own_us"] for plain in plains], "us")
    found = {kind: tell_pairs(kind, pairs, goal if is_mapped(kind) else None)
             for kind, pairs in runs.items()}
    found.pop(NOTHING)
    if PEER in found:
        tell_ratios(found, found.pop(PEER), third)


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


LEVELS = ("waits", "waits,bytes", "calls")


def level_tell(level, pairs, goal):
    lost = sum(with_["lost"] for _, with_ in pairs)
    summary(f"--detail {level}: CPU time of a request added",
            Runs([100 * with_["own_us"] / plain["own_us"] - 100 for plain, with_ in pairs], lost),
            "% ", goal)
    summary(f"--detail {level}: throughput lost",
            Runs([100 - 100 * with_["rate"] / plain["rate"] for plain, with_ in pairs], lost), "% ")


def levels(bench, make, goals):
    """The cost of each level of detail, of the whole host, recorded and mapped, in pairs."""
    missing = server_missing(make)
    if missing:
        say(missing)
        return
    server = make(bench)
    runs = {level: [] for level in LEVELS}
    try:
        load_once(server, bench.seconds, None)  # warm
        for turn in range(bench.pairs):
            for level in LEVELS:
                def start(level=level):
                    return bench.record_host("-a", "--detail", level, *mapped_beside(bench))
                order = (start, None) if turn % 2 else (None, start)
                pair = {bool(each): load_once(server, bench.seconds, each and each(), True)
                        for each in order}
                runs[level].append((pair[False], pair[True]))
    finally:
        server.stop()
    for level, pairs in runs.items():
        level_tell(level, pairs, goals.get(level))


def levels_nginx(bench):
    """nginx under wrk at each level of detail"""
    levels(bench, Nginx, {"waits": Goal(5, 2), "waits,bytes": Goal(9, 5)})


def levels_postgres(bench):
    """PostgreSQL under pgbench -N at each level of detail"""
    levels(bench, PostgresSimple, {"waits": Goal(8, 4), "waits,bytes": Goal(10, 6)})


def levels_redis(bench):
    """redis under redis-benchmark at each level of detail"""
    levels(bench, Redis, {"waits": Goal(8, 4), "waits,bytes": Goal(12, 7)})


def levels_thumbnail(bench):
    """the thumbnail server under its client at each level of detail"""
    levels(bench, Thumbnailer, {"waits": Goal(1, 0.5), "waits,bytes": Goal(1, 0.5)})


SAMPLED = "waits,calls=1s/30s"
SAMPLED_PAIRS = 6  # a figure of fewer is not measurable
SAMPLED_SECONDS = 60  # two windows of calls lie in it


def sampled(bench, make):
    """What windows of calls cost beyond waits, of the whole host, recorded and mapped, in pairs."""
    missing = server_missing(make)
    if missing:
        say(missing)
        return
    server = make(bench)
    runs = {level: [] for level in ("waits", SAMPLED)}
    try:
        load_once(server, bench.seconds, None)  # warm
        for turn in range(min(bench.pairs, SAMPLED_PAIRS)):
            for level in list(runs)[::-1 if turn % 2 else 1]:
                recorder = bench.record_host("-a", "--detail", level, *mapped_beside(bench))
                runs[level].append(load_once(server, bench.long or SAMPLED_SECONDS, recorder, True))
    finally:
        server.stop()
    lost = sum(run["lost"] for each in runs.values() for run in each)
    pairs = list(zip(runs["waits"], runs[SAMPLED]))
    summary(f"--detail {SAMPLED}: CPU time of a request added to waits",
            Runs([100 * more["own_us"] / waits["own_us"] - 100 for waits, more in pairs], lost),
            "% ", Goal(2, None))
    summary(f"--detail {SAMPLED}: throughput lost to waits",
            Runs([100 - 100 * more["rate"] / waits["rate"] for waits, more in pairs], lost), "% ")


def sampled_nginx(bench):
    """nginx under wrk with calls for a second of each half minute: cost beyond waits"""
    sampled(bench, Nginx)


def sampled_postgres(bench):
    """PostgreSQL under pgbench -N with calls for a second of each half minute: cost beyond waits"""
    sampled(bench, PostgresSimple)


COUNTS_MOST = 3  # points beyond waits that a level of counts may cost


def counts(bench):
    """nginx under wrk with an empty program at ends of calls beside waits: a floor of counts"""
    missing = server_missing(Nginx)
    if missing:
        say(missing)
        return
    server = Nginx(bench)
    runs = {False: [], True: []}
    try:
        load_once(server, bench.seconds, None)  # warm
        for turn in range(bench.pairs):
            for ends in (False, True)[::-1 if turn % 2 else 1]:
                recorder = bench.record_host("-a", "--detail", "waits", *mapped_beside(bench))
                floor = None
                try:
                    if ends:
                        floor = Recorder([bench.program("floor"), "--exit"], bench.path("floor"))
                    runs[ends].append(load_once(server, bench.seconds, recorder, True))
                finally:
                    if floor:
                        floor.stop()
    finally:
        server.stop()
    lost = sum(run["lost"] for each in runs.values() for run in each)
    pairs = list(zip(runs[False], runs[True]))
    summary("an empty program at sys_exit: CPU time of a request added to waits",
            Runs([100 * more["own_us"] / waits["own_us"] - 100 for waits, more in pairs], lost),
            "% ", Goal(COUNTS_MOST, None))
    summary("an empty program at sys_exit: throughput lost to waits",
            Runs([100 - 100 * more["rate"] / waits["rate"] for waits, more in pairs], lost), "% ")


def tell_per_request(kind, found, requests):
    """Prints how often each program runs in a request, and how long."""
    floor = found.pop(FLOOR)[1]
    for name, (runs, net) in sorted(found.items(), key=lambda item: -item[1][0] * item[1][1]):
        if runs * (net + floor) >= requests / 2:
            say(f"  {kind}, {name:22} {runs / requests:8.3f} runs of {net + floor:5.0f} ns: "
                f"{runs * (net + floor) / requests:7.1f} ns a request")
    figure(f"{kind}, all programs",
           sum(runs * (net + floor) for runs, net in found.values()) / requests, "ns a request")
    figure(f"{kind}, of which as many that do nothing",
           sum(runs for runs, _ in found.values()) * floor / requests, "ns a request")


def programs(bench):
    """runs and run time of each kernel program in a request, at each level of detail"""
    seconds = 2
    for make in (Nginx, Redis, PostgresSimple):
        missing = server_missing(make)
        if missing:
            say(missing)
            continue
        server = make(bench)
        try:
            for level in LEVELS:
                load = server.load_start(5)
                recorder = bench.record_host("-a", "--detail", level)
                try:
                    told = output([bench.program("inplace"), str(seconds),
                                   str(recorder.process.pid)])
                finally:
                    recorder.stop()
                rate, _ = server.load_end(load)
                tell_per_request(f"{make.__name__}, {level}", programs_of(told), rate * seconds)
        finally:
            server.stop()
