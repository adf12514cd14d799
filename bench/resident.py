# SPDX-License-Identifier: Apache-2.0
"""Memory: of a recorder, of its maps in the kernel, and of libfathom for a thread."""
import os
import re

from host import output
from loads import Redis, server_missing
from tell import Goal, figure, say

LOAD_SECONDS = 5
LARGE_CPUS, LARGE_PID_MAX, LARGE_THREADS, LARGE_SOCKETS = 64, 4 << 20, 20000, 2000
MB = 1 << 20
# of enum bpf_map_type
HASH, ARRAY, SK_STORAGE, TASK_STORAGE = 1, 2, 24, 29
PER_CPU = (5, 6, 10, 21)
MMAPABLE, NO_PREALLOC = 1 << 10, 1
SLOT_BYTES = 64
STORAGE_HEAD, STORAGE_ITEM = 192, 72  # what the kernel adds to each owner and each value, about


def power_of_two(n):
    return 1 << max(0, n - 1).bit_length()


class Map:
    """A map that a process holds, by its fdinfo."""

    def __init__(self, text):
        values = {name: int(value, 0) for name, value in re.findall(r"(\w+):\s+(\w+)", text)
                  if name != "flags"}
        self.id, self.type, self.flags = values["map_id"], values["map_type"], values["map_flags"]
        self.key, self.value = values["key_size"], values["value_size"]
        self.entries, self.bytes = values["max_entries"], values["memlock"]

    def is_ring(self, cpus):
        """The slots of all CPUs: --buffer says how large they are."""
        return (self.type == ARRAY and self.flags & MMAPABLE and self.value == SLOT_BYTES and
                self.entries > cpus)

    def is_storage(self):
        return self.type in (TASK_STORAGE, SK_STORAGE)

    def owner_bytes(self):
        """Of storage, for each thread or socket: the account of the map leaves these out."""
        return STORAGE_HEAD + power_of_two(STORAGE_ITEM + self.value)

    def large_bytes(self, cpus, pid_max):
        """What it would take on the large host, full."""
        if self.type in PER_CPU or (self.type == ARRAY and self.entries == cpus):
            return self.bytes * LARGE_CPUS // cpus
        if self.type == ARRAY and self.entries == pid_max:
            return self.bytes * LARGE_PID_MAX // pid_max
        if self.type == HASH and self.flags & NO_PREALLOC:
            element = 48 + (self.key + 7 & ~7) + (self.value + 7 & ~7)
            return self.entries * element + 16 * power_of_two(self.entries)
        return self.bytes


def maps_of(pid):
    found = {}
    for name in os.listdir(f"/proc/{pid}/fdinfo"):
        with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as text:
            info = text.read()
        if "map_type:" in info:
            one = Map(info)
            found[one.id] = one
    return list(found.values())


def resident(pid):
    """Bytes besides the mapped rings, and how many of these are memory of its own."""
    with open(f"/proc/{pid}/smaps", encoding="utf-8", errors="replace") as text:
        areas = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", text.read(), flags=re.M)[1:]
    total = own = 0
    for area in areas:
        if "anon_inode:bpf-map" not in area.splitlines()[0]:
            total += int(re.search(r"^Rss:\s+(\d+)", area, re.M).group(1)) * 1024
            own += int(re.search(r"^Anonymous:\s+(\d+)", area, re.M).group(1)) * 1024
    return total, own


def possible_cpus():
    with open("/sys/devices/system/cpu/possible", encoding="ascii") as text:
        return int(re.findall(r"\d+", text.read())[-1]) + 1


def number_in(path):
    with open(path, encoding="ascii") as text:
        return int(text.read())


def storage_bytes(maps, threads, sockets):
    return sum(one.owner_bytes() * (threads if one.type == TASK_STORAGE else sockets)
               for one in maps if one.is_storage())


def under_load(bench, redis, *options):
    """The maps of a recorder, and what it has resident: before the load, and at most in it."""
    recorder = bench.record_host("--rotate", "1s", *options)
    try:
        pid = recorder.process.pid
        idle = resident(pid)
        most, load = idle, redis.load_start(LOAD_SECONDS)
        while load.poll() is None:
            most = max(most, resident(pid))
        maps = maps_of(pid)
        redis.load_end(load)
    finally:
        recorder.stop()
    return maps, idle, most


def under_loads(bench):
    """
    The same with --keep, and what each CPU adds when it is busy: without --keep, whose memory
    goes with what a chunk holds.
    """
    redis = Redis(bench)
    try:
        _, idle, most = under_load(bench, redis)
        return (*under_load(bench, redis, "--keep", "3s"),
                max(0, most[1] - idle[1]) / possible_cpus())
    finally:
        redis.stop()


def tell_recorder(maps, idle, most, cpu_bytes):
    cpus, pid_max = possible_cpus(), number_in("/proc/sys/kernel/pid_max")
    with open("/proc/loadavg", encoding="ascii") as text:
        threads = int(text.read().split()[3].split("/")[1])
    with open("/proc/net/unix", encoding="ascii", errors="replace") as text:
        sockets = len(text.readlines()) - 1
    rings = [one for one in maps if one.is_ring(cpus)]
    others = [one for one in maps if not one.is_ring(cpus)]
    kernel = sum(one.bytes for one in others) + storage_bytes(others, threads, sockets)
    figure("the recorder's rings, besides", sum(one.bytes for one in rings) / MB, "MB")
    figure("resident, idle", idle[0] / MB, "MB")
    figure("resident, at most under redis-benchmark", most[0] / MB, "MB")
    figure(f"its {len(others)} maps, with {threads} threads", kernel / MB, "MB")
    figure(f"together, {cpus} CPUs, pid_max {pid_max}", (most[0] + kernel) / MB, "MB", Goal(96, 48))
    large = (sum(one.large_bytes(cpus, pid_max) for one in others) +
             storage_bytes(others, LARGE_THREADS, LARGE_SOCKETS))
    busy = most[0] + cpu_bytes * (LARGE_CPUS - cpus)
    figure("a busy CPU adds", cpu_bytes / MB, "MB")
    figure(f"computed: maps, {LARGE_CPUS} CPUs, {LARGE_THREADS} threads", large / MB, "MB")
    figure(f"computed: resident, if all {LARGE_CPUS} are as busy", busy / MB, "MB")
    figure(f"computed: together, pid_max {LARGE_PID_MAX}", (large + busy) / MB, "MB", Goal(96, 48))


def memory(bench):
    """memory of a recorder and of its maps besides the rings, and of libfathom for a thread"""
    missing = server_missing(Redis)
    if missing:
        say(missing)
    else:
        tell_recorder(*under_loads(bench))
    told = output([bench.program("threads")])
    figure("libfathom, per thread that has written spans",
           float(re.search(r"kb_per_thread ([\d.]+)", told).group(1)), "KB", Goal(256, 128))
