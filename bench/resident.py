# SPDX-License-Identifier: Apache-2.0
"""Memory: of a recorder, of its maps in the kernel, and of libfathom for a thread."""
import os
import re
import shutil

from host import Recorder, lost_events, output, perf_command
from loads import Redis, server_missing
from tell import Goal, Runs, ratio, say, summary

LOAD_SECONDS = 5
TOGETHER = "together"  # figures with a goal
RESIDENT = "resident, at most under redis-benchmark"
LARGE_CPUS, LARGE_PID_MAX, LARGE_THREADS, LARGE_SOCKETS = 64, 4 << 20, 20000, 2000
MB = 1 << 20
# of enum bpf_map_type
HASH, ARRAY, SK_STORAGE, TASK_STORAGE = 1, 2, 24, 29
PER_CPU = (5, 6, 10, 21)
MMAPABLE, NO_PREALLOC = 1 << 10, 1
SLOT_BYTES = 64
STORAGE_HEAD, STORAGE_ITEM = 192, 72  # what the kernel adds to each owner and value


def power_of_two(n):
    return 1 << max(0, n - 1).bit_length()


class Map:
    """A BPF map of a process, described by its fdinfo."""

    def __init__(self, text):
        values = {name: int(value, 0) for name, value in re.findall(r"(\w+):\s+(\w+)", text)
                  if name != "flags"}
        self.id, self.type, self.flags = values["map_id"], values["map_type"], values["map_flags"]
        self.key, self.value = values["key_size"], values["value_size"]
        self.entries, self.bytes = values["max_entries"], values["memlock"]

    def is_ring(self, cpus):
        """The slots of all CPUs, whose size --buffer sets."""
        return (self.type == ARRAY and self.flags & MMAPABLE and self.value == SLOT_BYTES and
                self.entries > cpus)

    def is_storage(self):
        return self.type in (TASK_STORAGE, SK_STORAGE)

    def owner_bytes(self):
        """Storage of each thread or socket, which the account of the map does not include."""
        return STORAGE_HEAD + power_of_two(STORAGE_ITEM + self.value)

    def large_bytes(self, cpus, pid_max):
        """Its bytes on the large host if it is full."""
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
        try:
            with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as text:
                info = text.read()
        except OSError:  # a file of the chunk, closed meanwhile
            continue
        if "map_type:" in info:
            one = Map(info)
            found[one.id] = one
    return list(found.values())


def resident(pid):
    """Resident bytes without the mapped rings (of fathom or perf), and how many are private."""
    with open(f"/proc/{pid}/smaps", encoding="utf-8", errors="replace") as text:
        areas = re.split(r"^(?=[0-9a-f]+-[0-9a-f]+ )", text.read(), flags=re.M)[1:]
    total = own = 0
    for area in areas:
        if not re.search(r"anon_inode:(bpf-map|\[perf_event\])", area.splitlines()[0]):
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


def under_load(recorder, redis):
    """
    The maps of a recorder, its resident bytes before the load and their maximum during the load,
    and the number of records that it lost.
    """
    try:
        pid = recorder.process.pid
        idle = resident(pid)
        most, load = idle, redis.load_start(LOAD_SECONDS)
        while load.poll() is None:
            most = max(most, resident(pid))
        maps = maps_of(pid)
        redis.load_end(load)
    finally:
        lost = lost_events(recorder.stop())
    return maps, idle, most, lost


def cpu_bytes(bench, redis):
    """
    The bytes that each busy CPU adds, and the number of records that were lost. Without --keep,
    whose memory depends on the contents of a chunk.
    """
    _, idle, most, lost = under_load(bench.record_host("--detail", "calls", "--rotate", "1s"), redis)
    return max(0, most[1] - idle[1]) / possible_cpus(), lost


def recorder_bytes(maps, idle, most, cpu_adds):
    """{name: bytes}"""
    cpus, pid_max = possible_cpus(), number_in("/proc/sys/kernel/pid_max")
    with open("/proc/loadavg", encoding="ascii") as text:
        threads = int(text.read().split()[3].split("/")[1])
    with open("/proc/net/unix", encoding="ascii", errors="replace") as text:
        sockets = len(text.readlines()) - 1
    rings = [one for one in maps if one.is_ring(cpus)]
    others = [one for one in maps if not one.is_ring(cpus)]
    kernel = sum(one.bytes for one in others) + storage_bytes(others, threads, sockets)
    large = (sum(one.large_bytes(cpus, pid_max) for one in others) +
             storage_bytes(others, LARGE_THREADS, LARGE_SOCKETS))
    busy = most[0] + cpu_adds * (LARGE_CPUS - cpus)
    return {
        "the recorder's rings, besides": sum(one.bytes for one in rings),
        "resident, idle": idle[0],
        RESIDENT: most[0],
        "its maps besides": kernel,
        f"{TOGETHER}, {cpus} CPUs, pid_max {pid_max}": most[0] + kernel,
        "a busy CPU adds": cpu_adds,
        f"computed: maps, {LARGE_CPUS} CPUs, {LARGE_THREADS} threads": large,
        f"computed: resident, if all {LARGE_CPUS} are as busy": busy,
        f"computed: {TOGETHER}, pid_max {LARGE_PID_MAX}": large + busy}


def perf_bytes(bench, redis):
    """The maximum of perf's resident bytes, and the number of records that it lost."""
    data = bench.path("perf.data")
    _, _, most, lost = under_load(Recorder(perf_command(data), data), redis)
    return most[0], lost


def tell_recorder(bench):
    found, theirs = {}, Runs()
    redis = Redis(bench)
    try:
        for _ in range(bench.rounds):
            adds, lost_before = cpu_bytes(bench, redis)
            maps, idle, most, lost = under_load(
                bench.record_host("--detail", "calls", "--rotate", "1s", "--keep",
                                  "3s"), redis)
            for name, value in recorder_bytes(maps, idle, most, adds).items():
                found.setdefault(name, Runs()).add(value / MB, lost_before + lost)
            if shutil.which("perf"):
                peak, lost = perf_bytes(bench, redis)
                theirs.add(peak / MB, lost)
    finally:
        redis.stop()
    for name, values in found.items():
        summary(name, values, "MB", Goal(96, 48) if TOGETHER in name else None)
    if theirs:
        summary("perf record, resident, at most", theirs, "MB")
        ratio("resident, at most: fathom / perf record", found[RESIDENT], theirs)


def memory(bench):
    """memory of a recorder and of its maps besides the rings, and of libfathom for a thread"""
    missing = server_missing(Redis)
    if missing:
        say(missing)
    else:
        tell_recorder(bench)
    told = [output([bench.program("threads")]) for _ in range(bench.rounds)]
    summary("libfathom, no recorder, a thread that wrote spans",
            [float(re.search(r"kb_per_thread ([\d.]+)", each).group(1)) for each in told], "KB",
            Goal(256, 128))
