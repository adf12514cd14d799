#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Requests to disks: each is a span under the call that submitted it; and how processes end."""
import ctypes
import json
import mmap
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import harness
import servers
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
TOUCHES = sys.argv[2]
tests = harness.Tests()
MIB = 1 << 20
# before, what is received is told where a function ends that was seen to begin
SEES_WHAT_IS_UNDER_WAY = tuple(int(n) for n in os.uname().release.split(".")[:2]) >= (6, 3)
WORK = tempfile.mkdtemp(prefix="fathom-disk-", dir=os.environ.get("TMPDIR", "/var/tmp"))


def in_call(pid, number):
    with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
        return file.read().split()[0] == str(number)


class Disk:
    """The spans of a recording, and how they hang together."""

    def __init__(self, recording):
        self.spans = [span for trace in fathom.trace_all(recording)["traces"]
                      for span in trace["spans"]]
        self.by_id = {span["span_id"]: span for span in self.spans}
        self.blocks = [span for span in self.spans if span["kind"] == "block"]

    def parent(self, span):
        return self.by_id[span["parent_id"]]

    def under(self, name, path, operation="block read"):
        """Requests that calls of that name on that file submitted."""
        return [span for span in self.blocks if span["name"] == operation and
                self.parent(span)["name"] == name and
                self.parent(span)["attributes"].get("file.path") == path]


def is_in_memory(fd, size):
    """Whether a page of the file is; asking brings none."""
    libc, pages = ctypes.CDLL(None, use_errno=True), -(-size // mmap.PAGESIZE)
    resident = (ctypes.c_ubyte * pages)()
    with mmap.mmap(fd, size, flags=mmap.MAP_PRIVATE) as area:  # ctypes wants a writable one
        at = ctypes.addressof(ctypes.c_char.from_buffer(area))
        equal(libc.mincore(ctypes.c_void_p(at), ctypes.c_size_t(size), resident), 0, "mincore")
    return any(page & 1 for page in resident)


def evict(path):
    """The file is on the disk and not in memory, which a busy kernel may put off."""
    fd = os.open(path, os.O_RDONLY)
    try:
        for _ in range(200):
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
            if not is_in_memory(fd, os.path.getsize(path)):
                break
            time.sleep(0.05)
    finally:
        os.close(fd)


def check_spans(disk):
    equal(len(disk.by_id), len(disk.spans), "spans have ids of their own")
    for span in disk.blocks:
        has, length = span["attributes"], span["end_ns"] - span["begin_ns"]
        equal(span["threads"], 0, "threads that have it")
        equal(span["time"]["off_thread_ns"], length, "its time")
        equal(harness.total(span["time"]), length, "split")
        check(0 <= has["disk.queued_ns"] <= length, f"time in the queue: {span}")
        check(os.path.exists("/sys/class/block/" + has["system.device"]), f"device: {has}")
        if disk.parent(span)["kind"] in ("syscall", "fault"):
            above = disk.parent(span)
            check(above["begin_ns"] <= span["begin_ns"] <= above["end_ns"], f"begins in {above}")


def job(kind, name, *args):
    """What fio did and counted, and the recording of it."""
    data, out, recording = (os.path.join(WORK, "data"), fathom.path(name + ".json"),
                            fathom.path(name))
    result = fathom.run("record", "-o", recording, "--rotate", "20ms", "--", "fio", "--name=job",
                        f"--filename={data}", f"--rw={kind}", "--bs=4k", "--size=4m",
                        "--io_size=2m", "--ioengine=psync", "--direct=1", "--randseed=7",
                        "--output-format=json", f"--output={out}", *args)
    equal(result.returncode, 0, f"fio: {result.stderr}")
    with open(out, encoding="ascii") as text:
        return data, json.load(text)["jobs"][0], recording


@tests.add
def as_many_as_fio_counts():
    servers.need("fio")
    data = os.path.join(WORK, "data")
    with open(data, "wb") as file:
        file.write(os.urandom(4 * MIB))
    evict(data)
    for kind, call in (("read", "pread64"), ("write", "pwrite64")):
        for attempt in range(3):
            _, counted, recording = job("rand" + kind, f"{kind}{attempt}")
            disk = Disk(recording)
            mine = disk.under(call, data, f"block {kind}")
            if not mine:
                return "the file lies on no disk"
            mine = [span for span in mine if span["attributes"]["disk.bytes"] == 4096]
            # some kernels hide threads: that a request ends above one of them is not seen
            if len(mine) >= counted[kind]["total_ios"]:
                break
        servers.check_loss(fathom, recording)
        check_spans(disk)
        equal(len(mine), counted[kind]["total_ios"], f"requests that {kind}")
        equal(sum(s["attributes"]["disk.bytes"] for s in mine), counted[kind]["io_bytes"], "bytes")
        equal({s["attributes"]["disk.io.direction"] for s in mine}, {kind}, "direction")
        equal(len({s["parent_id"] for s in mine}), len(mine), "calls, of one request each")
        devices = {s["attributes"]["system.device"] for s in mine}
        equal(len(devices), 1, f"disks: {devices}")
        check_wakers(disk, mine, f"disk {devices.pop()} {kind}", counted["ctx"])
        harness.check_sums(fathom, recording)
        harness.check_babeltrace(fathom, recording)
    return None


def check_wakers(disk, requests, name, switches):
    """
    Calls that waited for the disk were woken by what they had asked it for. One that answers at
    once lets nobody wait: then fio left its CPU hardly ever.
    """
    calls = {span["parent_id"] for span in requests}
    waits = [s for s in disk.spans if s["kind"] == "wait" and s.get("parent_id") in calls and
             s["attributes"]["cause"] == "disk"]
    named = [s for s in waits if s["attributes"].get("waker") == name]
    check(len(named) * 10 >= len(waits) * 9 and (named or switches * 10 < len(requests)),
          f"{len(named)} of {len(waits)} waits name {name}, in {switches} switches: "
          f"{ {s['attributes'].get('waker') for s in waits} }")


def cold(name, path, *command):
    """What a program's calls of that name read of a file that is not in memory."""
    evict(path)
    recording = fathom.record(os.path.basename(path), "--", *command)
    disk = Disk(recording)
    check_spans(disk)
    return disk.under(name, path)


@tests.add
def a_cold_read_is_all_bytes_of_the_file():
    path = os.path.join(WORK, "cold")
    with open(path, "wb") as file:
        file.write(os.urandom(3 * MIB))
    mine = cold("read", path, "dd", f"if={path}", "of=/dev/null", "bs=64k")
    if not mine:
        return "the file lies on no disk"
    read = sum(span["attributes"]["disk.bytes"] for span in mine)
    # what says where the file's blocks are may be read, too
    check(3 * MIB * 9 // 10 <= read <= 3 * MIB + (64 << 10),
          f"{read} bytes of {3 * MIB}, in {len(mine)} requests")
    text = fathom.ok("trace", "--all", fathom.path("cold"))
    check("disk " + mine[0]["attributes"]["system.device"] in text, "the text says which disk")
    return None


@tests.add
def who_has_no_span_asks_for_nothing_that_is_recorded():
    path = os.path.join(WORK, "cold")
    evict(path)
    recording = fathom.record("spans_only", "--spans-only", "--", "dd", f"if={path}",
                              "of=/dev/null", "bs=64k")
    equal(len(Disk(recording).blocks), 0, "requests")


@tests.add
def what_a_fault_reads_is_of_the_span_that_it_is_in():
    """Its thread begins and ends spans without any call: nobody looked at them before."""
    path, count = os.path.join(WORK, "touched"), 40
    with open(path, "wb") as file:
        file.truncate(count << 18)
        for i in range(count):
            os.pwrite(file.fileno(), b"\0" * mmap.PAGESIZE, i << 18)
    for options, expected in ([], count), (["--spans-only"], count // 2):
        evict(path)
        recording = fathom.record(f"touched-{expected}", *options, "--", TOUCHES, path, str(count))
        requests = Disk(recording).blocks
        if not requests and not options:
            return "the file lies on no disk"
        # the program's own pages may have to be read, too
        check(len(requests) >= expected and (not options or len(requests) < count),
              f"{len(requests)} requests with {options}")
        answer = fathom.ok("trace", "--json", "--slowest", "99", "--name", "touch", recording)
        traces = json.loads(answer)["traces"]
        equal(len(traces), count // 2, "spans")
        for trace in traces:
            kinds = [span["kind"] for span in trace["spans"]]
            equal((kinds.count("fault"), kinds.count("block")), (1, 1), f"of {kinds}")
    return None


@tests.add
def what_a_call_does_that_was_open_before_is_of_the_span_that_it_is_in():
    """Nobody read the span where the call began: it is read where something is told of it."""
    path, where = os.path.join(WORK, "open-before"), fathom.path("open-before")
    with open(path, "wb") as file:
        file.write(b"\0" * MIB)
    evict(path)
    with socket.create_server(("127.0.0.1", 0)) as server, \
            socket.create_connection(server.getsockname()) as ours:
        theirs = server.accept()[0]
        with theirs, harness.Process([TOUCHES, path, "0"], stdin=theirs) as program:
            harness.until(lambda: in_call(program.pid, 0), "the program to read")
            with subprocess.Popen([fathom.binary, "record", "-o", where, "--spans-only", "--event",
                                   "block:block_bio_queue", "-p", str(program.pid)]) as recorder:
                harness.until(lambda: fathom.run("rotate", where).returncode == 0, "the recording")
                ours.send(b"x")
                equal(program.wait(60), 0, "status of the program")
                recorder.send_signal(signal.SIGINT)
    equal(recorder.returncode, 0, "status of the recorder")
    disk = Disk(where)
    [call] = [span for span in disk.spans if span["name"] == "read"]
    equal((call["begin_bound"], call["attributes"].get("bytes.to")),
          ("soft", 1 if SEES_WHAT_IS_UNDER_WAY else None), "the open call")
    touch = disk.parent(call)
    check(touch["kind"] in ("internal", "context"), f"the span that it is in: {touch}")
    [fault] = [span for span in disk.spans if span["kind"] == "fault"]
    equal(disk.parent(fault), call, "what the fault is in")
    if fault["name"] != "major fault":
        return "the file lies on no disk"
    equal([event["name"] for event in touch["events"]], ["block:block_bio_queue"], "events")
    equal([disk.parent(span) for span in disk.blocks], [fault], "requests")
    return None


@tests.add
def a_cold_database():
    servers.need("sqlite3")
    path = os.path.join(WORK, "database")
    servers.run("sqlite3", path, "create table t(x); with recursive n(i) as (select 1 union all "
                "select i + 1 from n where i < 20000) insert into t select hex(randomblob(50)) "
                "from n;")
    mine = cold("pread64", path, "sqlite3", path, "select count(x) from t where x like '%ab%';")
    if not mine:
        return "the file lies on no disk"
    read, size = sum(s["attributes"]["disk.bytes"] for s in mine), os.path.getsize(path)
    # some of it may have stayed in memory
    check(size * 9 // 10 <= read <= size + (256 << 10), f"{read} bytes read of {size}")
    return None


@tests.add
def what_is_written_behind_is_its_writers():
    path = os.path.join(WORK, "behind")
    recording = fathom.record("behind", "-a", "--detail", "calls", "--", "sh", "-c",
                              f"dd if=/dev/zero of={path} bs=64k count=64 2>/dev/null; "
                              f"sync -f {path}")
    disk = Disk(recording)
    check_spans(disk)
    behind = [s for s in disk.blocks if "writeback" in s["attributes"].get("disk.flags", "")]
    if not behind:
        return "the file lies on no disk"
    check(sum(s["attributes"].get("disk.bytes", 0) for s in behind) >= 4 * MIB, "bytes")
    equal({disk.parent(s)["kind"] for s in behind}, {"thread"}, "under whom")
    check(all(s["thread"].startswith("kworker") for s in behind), "written by workers")
    return None


JOURNALLED = """
import os, subprocess, sys
device, place = sys.argv[1:]
subprocess.run(["mount", device, place], check=True)
try:
    file = os.open(place + "/file", os.O_CREAT | os.O_RDWR)
    for _ in range(20):
        os.write(file, bytes(5000))
        os.fsync(file)
    os.close(file)
finally:
    subprocess.run(["umount", place], check=True)
"""


def loop_device(image, system="ext4"):
    """A disk with a cache, but without writes that go past it: some want a flush behind them."""
    with open(image, "wb") as file:
        file.truncate(200 * MIB)
    servers.run("mkfs." + system, "-q", image)
    made = subprocess.run(["losetup", "-f", "--show", image], text=True, capture_output=True)
    return made.stdout.strip()


@tests.add
def each_flush_of_a_journal_is_recorded():
    image, place = os.path.join(WORK, "image"), os.path.join(WORK, "mounted")
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    if not shutil.which("mkfs.ext4"):
        return "mkfs.ext4 is missing"
    os.mkdir(place)
    device = loop_device(image)
    if not device:
        return "there are no loop devices"
    try:
        recording = fathom.record("journal", "-a", "--detail", "calls", "--event",
                                  "block:block_rq_issue", "--", "unshare", "-m", sys.executable, "-c", JOURNALLED, device, place)
        number = os.stat(device).st_rdev
    finally:
        servers.run("losetup", "-d", device)
    name = os.path.basename(device)
    disk = Disk(recording)
    check_spans(disk)
    issued = [e for span in disk.spans for e in span["events"]
              if e["name"] == "block:block_rq_issue" and "F" in e["attributes"]["rwbs"] and
              e["attributes"]["dev"] == os.major(number) << 20 | os.minor(number) and
              e["attributes"]["bytes"] == 0]
    flushes = [s for s in disk.blocks if s["attributes"]["system.device"] == name and
               s["name"] == "block flush"]
    servers.check_loss(fathom, recording)
    check(len(issued) >= 20, f"{len(issued)} flushes of 20 fsync")
    equal(len(flushes), len(issued), "flushes")
    return None


BRINGS_IN = """
import ctypes, mmap, os, subprocess, sys
device, system, place = sys.argv[1:]
if subprocess.run(["mount", "-t", system, device, place]).returncode:
    sys.exit(77)
libc, size, page = ctypes.CDLL(None), 4 << 20, mmap.PAGESIZE
try:
    with open(place + "/file", "wb+") as file:
        file.write(os.urandom(size))
        copy, (out, into) = ctypes.create_string_buffer(page), os.pipe()
        class Part(ctypes.Structure):
            _fields_ = [("at", ctypes.c_void_p), ("bytes", ctypes.c_size_t)]
        mine = Part(ctypes.addressof(copy), page)
        def moves(at, part):
            libc.vmsplice(into, ctypes.byref(part), ctypes.c_size_t(1), 0)
            os.read(out, page)
        def copies(at, part):
            libc.process_vm_readv(os.getpid(), ctypes.byref(mine), ctypes.c_ulong(1),
                                  ctypes.byref(part), ctypes.c_ulong(1), ctypes.c_ulong(0))
        def locks(at, part):
            libc.mlock(ctypes.c_void_p(at), ctypes.c_size_t(size))
        def populates(at, part):
            libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(size), 22)
        for reads in locks, populates, copies, moves, None:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
            flags = mmap.MAP_PRIVATE | (0 if reads else 0x8000)  # MAP_POPULATE
            with mmap.mmap(file.fileno(), size, flags=flags) as area:
                at = ctypes.addressof(ctypes.c_char.from_buffer(area))
                if reads in (copies, moves):
                    area.madvise(mmap.MADV_RANDOM)
                    for i in range(32):
                        reads(at, Part(at + i * size // 32, page))
                elif reads:
                    reads(at, None)
finally:
    subprocess.run(["umount", "-l", place], check=True)
"""


def brings_in(system):
    """The spans of calls that read cold memory of a file in such a file system."""
    image, place = os.path.join(WORK, system), os.path.join(WORK, "on-" + system)
    os.mkdir(place)
    device = loop_device(image, system)
    if not device:
        return None, "there are no loop devices"
    recording = fathom.path(system)
    try:
        result = fathom.run("record", "-o", recording, "--", "unshare", "-m", sys.executable, "-c",
                            BRINGS_IN, device, system, place)
    finally:
        servers.run("losetup", "-d", device)
    if result.returncode == 77:
        return None, f"{system} cannot be mounted: {result.stderr}"
    equal(result.returncode, 0, result.stderr)
    harness.check_sums(fathom, recording)
    return Disk(recording).spans, None


def check_brought_in(system):
    """No wait in them is for a lock or the like; a file system's own thread may end it."""
    if not shutil.which("mkfs." + system):
        return f"mkfs.{system} is missing"
    spans, skip = brings_in(system)
    if skip:
        return skip
    ended = set()
    for name in ("mlock", "madvise", "process_vm_readv", "vmsplice", "mmap"):
        calls = {s["span_id"] for s in spans if s["name"] == name and
                 (name != "mmap" or "MAP_POPULATE" in s["attributes"]["args"])}
        waits = [s for s in spans if s["kind"] == "wait" and s.get("parent_id") in calls and
                 s["name"] != "runnable"]
        check(waits, f"{system}: {name} waits")
        equal({s["attributes"]["cause"] for s in waits}, {"disk"}, f"{system}: {name}")
        ended |= {s["attributes"]["waker"].split("/")[0] for s in waits}
    print(f"# {system}: ended by {sorted(ended)}")
    return None


@tests.add
def memory_that_a_call_brings_in_is_read_from_the_disk():
    return check_brought_in("ext4")


@tests.add
def memory_that_a_call_brings_in_by_a_thread_of_the_kernel_is_read_from_the_disk():
    return check_brought_in("btrfs")


@tests.add
def processes_end_as_wait_says():
    recording = fathom.path("ends")
    fathom.run("record", "-o", recording, "--", "sh", "-c",
               "sh -c 'exit 3'; sh -c 'kill -TERM $$'; sh -c 'kill -KILL $$'; exit 5")
    threads = [s for s in Disk(recording).spans if s["kind"] == "thread"]
    ends = [(s["attributes"].get("process.exit.code"), s["attributes"].get("process.exit.signal"))
            for s in sorted(threads, key=lambda s: (s["begin_ns"], s["tid"]))]
    equal(ends, [(5, None), (3, None), (None, signal.SIGTERM.name), (None, signal.SIGKILL.name)],
          "ends")


try:
    with fathom:
        tests.run()
finally:
    shutil.rmtree(WORK, ignore_errors=True)
