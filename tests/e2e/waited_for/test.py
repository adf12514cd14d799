#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which file, peer or program a thread waited for, and how often it called it."""
import itertools
import os
import subprocess
import sys
import time

import fuse
import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
tests = harness.Tests()
numbers = itertools.count()
PYTHON = ["/usr/bin/python3", "-S", "-E"]


def record(name, program, *options):
    """Records a Python program in a folder of its own; returns the recording and the folder."""
    folder = fathom.path(name + "-work")
    os.mkdir(folder)
    with open(os.path.join(folder, "t.py"), "w", encoding="ascii") as file:
        file.write(program)
    result = subprocess.run([fathom.binary, "record", "-o", fathom.path(name), *options, "--",
                             *PYTHON, "t.py"], cwd=folder, text=True, capture_output=True,
                            timeout=60)
    equal(result.returncode, 0, f"status: {result.stderr}")
    return fathom.path(name), folder


def rows(recording, by):
    """The rows of a report: key -> row."""
    return {row["key"]: row for row in fathom.report(recording, by)["rows"]}


@tests.add
def a_reused_inode_has_the_name_of_its_time():
    recording, folder = record("inodes", """
import os
for i in range(4):
    f = os.open("log.%d" % i, os.O_CREAT | os.O_WRONLY)
    for k in range(10 * (i + 1)): os.write(f, b"x" * 4096)
    os.close(f); os.unlink("log.%d" % i)
""")
    files = rows(recording, "file")
    for i in range(4):
        row = files[f"{folder}/log.{i}"]
        equal(row["written_bytes"], 4096 * 10 * (i + 1), f"bytes written to log.{i}")
        calls = rows_of_pair(recording, f"{folder}/log.{i}")
        equal((calls.get("write"), calls.get("close")), (10 * (i + 1), 1), f"calls of log.{i}")


def rows_of_pair(recording, file):
    """The counts of the calls on a file: name of the call -> count."""
    return {row["keys"]["syscall"]: row["count"]
            for row in fathom.report(recording, "syscall,file")["rows"]
            if row["keys"]["file"] == file}


@tests.add
def an_inherited_descriptor_has_the_name_that_it_had():
    recording, folder = record("inherited", """
import os
a = os.open("first", os.O_CREAT | os.O_WRONLY)
r, w = os.pipe()
if os.fork() == 0:
    os.read(r, 1)  # the parent has another file at this number by now
    for i in range(5): os.write(a, b"x")
    os._exit(0)
os.close(a)
b = os.open("second", os.O_CREAT | os.O_WRONLY)
assert a == b
for i in range(7): os.write(b, b"x")
os.write(w, b"x")
os.wait()
""")
    equal(rows_of_pair(recording, f"{folder}/first").get("write"), 5, "writes to the first file")
    equal(rows_of_pair(recording, f"{folder}/second").get("write"), 7, "writes to the second")


def spans(recording, *names):
    """The spans of calls of these names, in the order of time."""
    found = [span for trace in fathom.trace_all(recording)["traces"] for span in trace["spans"]
             if span["name"] in names and span["kind"] == "syscall"]
    return sorted(found, key=lambda span: span["begin_ns"])


def peer_of(span):
    """The peer of a span as rows name it."""
    attributes = span["attributes"]
    return f"{attributes.get('network.peer.address')}:{attributes.get('network.peer.port')}"


@tests.add
def messages_without_a_connection_have_their_peers():
    recording, _ = record("messages", """
import socket
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("127.0.0.1", 0))
v = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
six = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
for i in range(5):
    v.sendto(b"q", u.getsockname()); _, a = u.recvfrom(9); u.sendto(b"a", a); v.recvfrom(9)
v.sendmsg([b"x"], [], 0, u.getsockname()); u.recvmsg(9)
six.sendto(b"x", ("::ffff:127.0.0.1", u.getsockname()[1])); u.recvfrom(9)
n = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); n.bind("here")
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", "here")
print(u.getsockname()[1], v.getsockname()[1])
""")
    calls = spans(recording, "sendto", "recvfrom", "sendmsg", "recvmsg")
    equal(len(calls), 25, "calls")
    peers = [peer_of(span) for span in calls]
    to_u, to_v = peers[0], peers[1]
    equal(peers[:20], [to_u, to_v, to_v, to_u] * 5, "peers in turn")
    check(to_u != to_v and to_u.startswith("127.0.0.1:"), f"peers: {to_u}, {to_v}")
    equal(peers[20:22], [to_u, to_v], "of sendmsg and recvmsg")
    equal(calls[24]["attributes"].get("network.peer.address"), "here", "path of a Unix socket")
    counts = {key: row["count"] for key, row in rows(recording, "peer").items()}
    equal(counts.get(to_u), 12, f"calls to {to_u}, rows {counts}")
    equal(counts.get("unix:here"), 1, f"calls to a Unix socket, rows {counts}")


@tests.add
def a_socket_has_the_peer_of_each_call():
    recording, _ = record("connected twice", """
import socket
a = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); a.bind(("127.0.0.2", 5301))
b = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); b.bind(("127.0.0.3", 5302))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.connect(("127.0.0.2", 5301)); [s.send(b"a") for i in range(3)]
s.connect(("127.0.0.3", 5302)); [s.send(b"b") for i in range(5)]
""")
    first, second = "127.0.0.2:5301", "127.0.0.3:5302"
    peers = [peer_of(span) for span in spans(recording, "connect", "sendto")]
    equal(peers, [first] * 4 + [second] * 6, "peers of connects and sends")
    counts = {key: row["count"] for key, row in rows(recording, "peer").items()}
    equal(counts[first], 4, "calls to the first peer")
    check(counts[second] >= 6, f"calls to the second peer, and those of the end: {counts}")


@tests.add
def a_connect_without_success_has_its_peer():
    recording, _ = record("refused", REFUSED)
    calls = spans(recording, "connect")
    refused = [span for span in calls if span["attributes"].get("error.type") == "ECONNREFUSED"]
    equal([peer_of(span).split(":")[0] for span in refused], ["127.0.0.4"], "refused")
    waiting = [span for span in calls if "result" not in span["attributes"]]
    equal([peer_of(span).split(":")[0] for span in waiting], ["127.0.0.5"], "open at the end")
    polls = [span for span in spans(recording, "poll") if span["attributes"].get("result") == 0]
    equal([peer_of(span).split(":")[0] for span in polls], ["127.0.0.5"], "time-out of a poll")
    total = {key.split(":")[0]: row["total_ns"] for key, row in rows(recording, "peer").items()}
    check(total["127.0.0.5"] > 4e8, f"time of the peer that does not answer: {total}")


REFUSED = """
import os, signal, socket, time
taken = socket.socket(); taken.bind(("127.0.0.4", 0))  # and does not listen
try: socket.create_connection(taken.getsockname())
except ConnectionRefusedError: pass
full = socket.socket(); full.bind(("127.0.0.5", 0)); full.listen(0)
keep = [socket.socket() for i in range(3)]
for s in keep: s.setblocking(False); s.connect_ex(full.getsockname())
late = socket.socket(); late.settimeout(0.2)
try: late.connect(full.getsockname())
except TimeoutError: pass
if os.fork() == 0:
    signal.alarm(5)
    socket.socket().connect(full.getsockname())
time.sleep(0.4)
"""


@tests.add
def calls_that_take_a_path_count_for_it():
    recording, folder = record("paths", """
import os
open("x", "w").close()
for i in range(6): os.stat("x")
os.rename("x", "y")
for i in range(3):
    try: os.stat("nowhere")
    except FileNotFoundError: pass
os.unlink("y")
""")
    calls = rows_of_pair(recording, f"{folder}/x")
    equal(sum(calls.get(name, 0) for name in ("stat", "newfstatat", "statx", "fstat")), 7,
          "stats of x, one of them of its descriptor")
    equal((calls.get("openat"), calls.get("rename")), (1, 1), f"calls of x: {calls}")
    equal(rows_of_pair(recording, f"{folder}/y").get("unlink"), 1, "unlink of y")
    nowhere = rows(recording, "file")[f"{folder}/nowhere"]
    equal((nowhere["count"], nowhere["errors"]), (3, 3), "stats of what is not there")


@tests.add
@harness.tries
def a_wait_for_many_is_for_the_socket_that_ended_it():
    name = f"epoll{next(numbers)}"
    recording, _ = record(name, """
import os, select, socket, time
l = socket.socket(); l.bind(("127.0.0.6", 0)); l.listen()
if os.fork() == 0:
    a, _ = l.accept()
    while a.recv(9): time.sleep(0.05); a.send(b"x")
    os._exit(0)
c = socket.create_connection(l.getsockname())
p = select.epoll(); p.register(c, select.EPOLLIN)
took = 0
for i in range(8):
    c.send(b"x"); begin = time.monotonic_ns(); p.poll(); took += time.monotonic_ns() - begin
    c.recv(9)
open("took", "w").write(str(took))
""")
    with open(os.path.join(fathom.path(f"{name}-work"), "took"), encoding="ascii") as file:
        took = int(file.read())
    calls = spans(recording, "epoll_wait")
    equal(len(calls), 8, "calls of epoll_wait")
    waited = [row for key, row in rows(recording, "peer").items() if key.startswith("127.0.0.6:")]
    equal(len(waited), 1, "rows of the server")
    total = waited[0]["time"]
    other = sum(span["time"]["runnable_ns"] for span in spans(recording, "sendto", "recvfrom", "connect")
                if span["pid"] == calls[0]["pid"])  # they wait for a CPU, too, where others want it
    slept = total["network_ns"] + total["ipc_ns"] + total["runnable_ns"] - other
    check(abs(slept - took) < 0.02 * took, f"waited {slept} ns, the program says {took}")
    waits = [span for trace in fathom.trace_all(recording)["traces"] for span in trace["spans"]
             if span["parent_id" if "parent_id" in span else "span_id"] in
             {call["span_id"] for call in calls} and span["kind"] == "wait"]
    ended = [span for span in waits if span["attributes"].get("network.peer.address") == "127.0.0.6"]
    check(len(ended) >= 8, f"waits that a socket ended: {len(ended)} of {len(waits)}")


@tests.add
def waits_for_a_futex_are_told_apart_by_its_address():
    recording, _ = record("locks", """
import threading, time
locks = [threading.Lock() for i in range(2)]
def take(lock): lock.acquire()
for lock, seconds in zip(locks, (0.1, 0.2)):
    lock.acquire(); t = threading.Thread(target=take, args=[lock]); t.start()
    time.sleep(seconds); lock.release(); t.join()
""")
    long = [row for key, row in rows(recording, "lock").items() if row["total_ns"] > 8e7]
    check(len(long) >= 2, f"rows of locks: {rows(recording, 'lock').keys()}")
    check(all(row["key"].startswith("0x") for row in long), "addresses of locks")


@tests.add
def a_wait_for_a_cpu_names_who_had_it():
    try:  # no other thread comes between two of this class
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    except PermissionError:
        return "SCHED_FIFO is not allowed here"
    recording, folder = record("turns", """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
pids = []
for i in range(3):
    pids.append(os.fork())
    if not pids[-1]:
        for k in range(1000000): pass
        os._exit(0)
for pid in pids: os.waitpid(pid, 0)
open("pids", "w").write("%d %d %d" % tuple(pids))
""")
    with open(os.path.join(folder, "pids"), encoding="ascii") as file:
        first, second, third = (int(pid) for pid in file.read().split())
    pairs = {(row["pid"], row["keys"]["preempted-by"]): row
             for row in fathom.report(recording, "process,preempted-by")["rows"]}
    for who, had in (second, first), (third, first), (third, second):  # one wait for both
        row = pairs.get((who, f"python3 (tid {had})"))
        check(row and row["time"]["runnable_ns"] == row["total_ns"] > 5e6,
              f"time that {who} waited for {had}: {row}, of {pairs.keys()}")
    waits = [span["attributes"] for trace in fathom.trace_all(recording)["traces"]
             for span in trace["spans"] if span["kind"] == "wait" and span["tid"] == second]
    check(any(wait.get("on_cpu_instead") == f"python3/{first}" and
              wait["on_cpu_instead.tid"] == first for wait in waits), f"waits: {waits}")
    check(f"CPU taken by python3[{first}]" in fathom.ok("trace", recording, "--all"), "the text")
    return None


@tests.add
def a_lock_with_priority_inheritance_names_its_owner():
    recording, folder = record("owner", """
import ctypes, threading, time
libc = ctypes.CDLL(None)
owner = threading.get_native_id()
word = ctypes.c_uint32(owner)  # as a lock without contention is taken
def futex(command): return libc.syscall(202, ctypes.byref(word), command | 128, 0, None)
taker = threading.Thread(target=lambda: (futex(6), futex(7)))
taker.start()
while not word.value & 0x80000000: time.sleep(0.01)
time.sleep(0.02)
futex(7)
taker.join()
open("owner", "w").write(str(owner))
""")
    with open(os.path.join(folder, "owner"), encoding="ascii") as file:
        owner = int(file.read())
    owned = [span["attributes"] for trace in fathom.trace_all(recording)["traces"]
             for span in trace["spans"] if "lock.owner" in span["attributes"]]
    equal([wait["lock.owner.tid"] for wait in owned], [owner], f"owners of locks: {owned}")
    check(owned[0]["lock.owner"] == owned[0]["waker"] == f"python3/{owner}", f"names: {owned}")
    check(f"held by python3[{owner}]" in fathom.ok("trace", recording, "--all"), "the text")


@tests.add
def two_files_of_a_call_and_files_and_peers_in_two_namespaces():
    recording, folder = record("two", TWO)
    calls = {span["name"]: span["attributes"] for span in
             spans(recording, "sendfile", "splice", "copy_file_range", "rename", "link")}
    equal(calls["sendfile"].get("from.fd.name"), f"{folder}/a", "file that sendfile reads")
    check(calls["sendfile"]["fd.name"].startswith("pipe:"), "file that sendfile writes")
    equal((calls["splice"]["fd.name"], calls["splice"].get("to.fd.name")),
          (calls["sendfile"]["fd.name"], f"{folder}/b"), "files of splice")
    equal((calls["copy_file_range"]["fd.name"], calls["copy_file_range"].get("to.fd.name")),
          (f"{folder}/a", f"{folder}/b"), "files of copy_file_range")
    text = fathom.ok("trace", recording, "--all")
    for second in (f"<{folder}/a> -> <{folder}/c>", f"<{folder}/c> -> <{folder}/d>",
                   f"> from <{folder}/a>", f"> to <{folder}/b>"):
        check(second in text, f"{second} in the text")
    files = {row["key"]: row for row in fathom.report(recording, "file")["rows"]}
    equal([files[f"{folder}/{name}"][way] for name in "ab" for way in ("read_bytes", "written_bytes")],
          [60, 100, 0, 60], "bytes of the two files")
    two = [row for row in fathom.report(recording, "file")["rows"] if row["key"] == f"{folder}/place/file"]
    equal(sorted((row["written_bytes"], "mount_namespace" in row) for row in two),
          [(3, False), (5, True)], f"one path in two mount namespaces: {two}")
    check(f"{folder}/place/file, mount namespace {max(row.get('mount_namespace', 0) for row in two)}" in
          fathom.ok("report", recording, "--by", "file"), "the text")
    calls = {row["key"]: row["count"] for row in fathom.report(recording, "syscall")["rows"]}
    equal([calls[name] for name in ("sendfile", "splice", "copy_file_range")], [1, 1, 1], "calls")
    peers = [row for row in fathom.report(recording, "peer")["rows"]
             if row["key"] == "127.0.0.1:5310"]
    equal(len({row["network_namespace"] for row in peers}), 2, f"namespaces of {peers}")
    equal(len(peers), 2, f"rows of one address in two namespaces: {peers}")


@tests.add
def the_file_that_sendfile_reads_has_its_waits():
    recording, folder = record("source", SOURCE)
    sends = spans(recording, "sendfile")
    waited = sum(span["time"]["disk_ns"] for span in sends)
    files = {row["key"]: row for row in fathom.report(recording, "file")["rows"]}
    source = files[f"{folder}/source"]
    equal(source["read_bytes"], 8 << 20, "bytes that were read")
    check(waited > 0, "sendfile waited for no disk")
    check(source["time"]["disk_ns"] >= waited, f"disk of the source {source}, of the calls {waited}")
    equal(sum(row["time"]["disk_ns"] for key, row in files.items() if key.startswith("socket:")), 0,
          "disk of sockets")
    whole = sum(row["total_ns"] for row in fathom.report(recording, "syscall")["rows"]
                if row["key"] == "sendfile")
    equal(whole, sum(sum(span["time"].values()) for span in sends), "all time of the calls")


SOURCE = """
import os, socket, threading
fd = os.open("source", os.O_CREAT | os.O_RDWR); os.write(fd, os.urandom(8 << 20)); os.fsync(fd)
os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED); os.lseek(fd, 0, 0)
left, right = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
def sink():
    while right.recv(1 << 20): pass
thread = threading.Thread(target=sink); thread.start()
os.close(fd); fd = os.open("source", os.O_RDONLY)
while os.sendfile(left.fileno(), fd, None, 4 << 20): pass
left.close(); thread.join()
"""

@tests.add
def a_mapped_file_has_its_faults():
    recording, folder = record("mapped", MAPPED, "--rotate", "5ms")
    faults = [span for trace in fathom.trace_all(recording)["traces"] for span in trace["spans"]
              if span["attributes"].get("file.path") == f"{folder}/mapped"
              and span["name"] == "major fault"]
    check(len(faults) >= 16, f"{len(faults)} faults")
    offsets = {span["attributes"]["file.offset"] for span in faults}
    check(set(range(0, 4 << 20, 256 << 10)) <= offsets, f"offsets {offsets}")
    row = rows(recording, "file")[f"{folder}/mapped"]
    check(row["count"] >= len(faults), f"{row}")
    check(row["time"]["fault_ns"] >= sum(span["time"]["fault_ns"] for span in faults) > 0, "time")
    shown = fathom.trace_all(recording, "--file", f"{folder}/mapped")
    names = [span["name"] for trace in shown["traces"] for span in trace["spans"]]
    check(names.count("major fault") >= 16, f"with --file: {names}")
    check(len(fathom.chunks(recording)) > 1, "there was no cut")


MAPPED = """
import ctypes, os
f = os.open("mapped", os.O_CREAT | os.O_RDWR); os.write(f, os.urandom(4 << 20)); os.fsync(f)
libc = ctypes.CDLL(None); libc.mmap.restype = ctypes.c_void_p
at = libc.mmap(None, ctypes.c_size_t(4 << 20), 1, 1, f, ctypes.c_long(0))
os.close(f)  # no descriptor tells its name
libc.madvise(ctypes.c_void_p(at), ctypes.c_size_t(4 << 20), 1)  # MADV_RANDOM
f = os.open("mapped", os.O_RDONLY); os.posix_fadvise(f, 0, 0, os.POSIX_FADV_DONTNEED); os.close(f)
for i in range(0, 4 << 20, 256 << 10): ctypes.c_char.from_address(at + i).value
"""

@tests.add
def a_submission_has_the_file_of_its_requests():
    recording, folder = record("submits", SUBMITS)
    calls = {name: rows_of_pair(recording, f"{folder}/{name}").get("io_submit") for name in "ab"}
    equal(calls, {"a": 2, "b": 1}, "submissions to each file")
    names = [span["attributes"].get("fd.name") for span in spans(recording, "io_submit")]
    equal(names, [f"{folder}/{name}" if name else None for name in ("a", "b", "a", None)], "files")


SUBMITS = """
import ctypes, os, struct
libc = ctypes.CDLL(None)
ring = ctypes.c_uint64(0)
assert libc.syscall(206, 16, ctypes.byref(ring)) == 0  # io_setup
buffer = ctypes.create_string_buffer(16)
a = os.open("a", os.O_CREAT | os.O_RDWR); b = os.open("b", os.O_CREAT | os.O_RDWR)
def submit(*fds):
    requests = [ctypes.create_string_buffer(struct.pack("<QIIHhIQQqQII", 0, 0, 0, 1, 0, fd,
                ctypes.addressof(buffer), 16, 0, 0, 0, 0), 64) for fd in fds]
    list = (ctypes.c_void_p * len(fds))(*[ctypes.addressof(request) for request in requests])
    assert libc.syscall(209, ring, ctypes.c_long(len(fds)), list) == len(fds)
submit(a); submit(b); submit(a, a); submit(a, b)
"""

@tests.add
def a_file_system_of_a_program_has_its_file_and_its_daemon():
    if not os.path.exists("/dev/fuse"):
        return "/dev/fuse is missing"
    recording = fathom.path("fuse")
    with fuse.Silent(fathom.path("mount")) as silent:
        with harness.Process([fathom.binary, "record", "-o", recording, "--", "cat", silent.path],
                             stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as recorder:
            check(silent.asked.wait(60), "nobody read the file")
            asked = time.monotonic_ns()
            harness.until(lambda: time.monotonic_ns() > asked + 100_000_000, "some time")
            silent.speak("text")
            equal(recorder.wait(60), 0, "status")
        row = rows(recording, "file")[silent.path]
    check(row["total_ns"] >= 100_000_000, f"time of the file: {row}")
    waits = [span["attributes"] for trace in fathom.trace_all(recording)["traces"]
             for span in trace["spans"] if span["kind"] == "wait"
             and span["end_ns"] - span["begin_ns"] >= 100_000_000]
    # a thread of this process, which has another number outside of a container
    check(any(wait.get("waker", "").startswith("python3/") for wait in waits), f"wakers: {waits}")
    return None


TWO = """
import ctypes, fcntl, os, socket, struct
a = os.open("a", os.O_CREAT | os.O_RDWR); os.write(a, b"x" * 100)
b = os.open("b", os.O_CREAT | os.O_RDWR)
r, w = os.pipe()
os.sendfile(w, a, 0, 50)
libc = ctypes.CDLL(None)
libc.splice(r, None, b, None, ctypes.c_size_t(50), 0)
os.copy_file_range(a, b, 10, 0)
os.link("a", "c"); os.rename("c", "d")
os.mkdir("place"); os.write(os.open("place/file", os.O_CREAT | os.O_RDWR), b"x" * 3)
if not os.fork():
    assert libc.unshare(0x20000) == 0  # CLONE_NEWNS
    assert libc.mount(b"none", b"/", None, 0x44000, None) == 0  # MS_PRIVATE | MS_REC
    assert libc.mount(b"none", b"place", b"tmpfs", 0, None) == 0
    os.write(os.open("place/file", os.O_CREAT | os.O_RDWR), b"x" * 5)
    os.stat("place/file"); os._exit(0)
os.wait()
def talk():
    u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.bind(("127.0.0.1", 5310))
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); s.connect(("127.0.0.1", 5310))
    for i in range(4): s.send(b"x")
talk()
assert libc.unshare(0x40000000) == 0  # CLONE_NEWNET
with socket.socket() as s:  # its loopback goes up
    fcntl.ioctl(s, 0x8914, struct.pack("16sh14x", b"lo", 1))
talk()
"""


tests.run()
