#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fd.name is what readlink of /proc/thread-self/fd says, in whatever way a descriptor came."""
import os
import socket
import struct
import subprocess
import sys

import harness
import servers
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
MAKES = os.path.abspath(sys.argv[2])
tests = harness.Tests()


def send_files(sock):
    """Two files that nobody in the recording has opened, twice."""
    for name in ("sent", "sent too"):
        with open(fathom.path(name + " 1"), "w+", encoding="ascii") as one, \
                open(fathom.path(name + " 2"), "w+", encoding="ascii") as two:
            socket.send_fds(sock, [b"x"], [one.fileno(), two.fileno()])


def run(name, *options):
    """Records the program; returns the recording and what it said: number -> fd, way, name."""
    work = fathom.path(name + "-work")
    os.mkdir(work)
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs:
        send_files(ours)
        result = subprocess.run([fathom.binary, "record", "-o", fathom.path(name), *options, "--",
                                 MAKES, work], stdin=theirs, text=True, capture_output=True,
                                timeout=60)
    equal(result.returncode, 0, f"status: {result.stderr}")
    said = parse(result.stdout)
    check(len(said) > 50, f"what it said: {result.stdout}")
    return fathom.path(name), said


def parse(text):
    said = {}
    for line in text.splitlines():
        number, fd, *rest = line.split(" ", 3)
        if number == "skip":
            print(f"# no {fd} here: errno {rest[0]}")
        else:
            said[int(number)] = (int(fd), rest[0], None if rest[1] == "-" else rest[1])
    return said


def calls_by_number(recording):
    calls = {}
    for trace in fathom.trace_all(recording)["traces"]:
        for span in trace["spans"]:
            args = span["attributes"].get("args", "").split(", ")
            if span["name"] == "lseek" and len(args) == 3 and args[2].startswith("0x63"):
                calls[int(args[1])] = span["attributes"]
    return calls


def check_names(recording, said):
    calls = calls_by_number(recording)
    equal(sorted(calls), sorted(said), "numbers of the calls")
    for number, (fd, way, name) in said.items():
        equal(calls[number]["fd"], fd, f"fd of {way}")
        equal(calls[number].get("fd.name"), name, f"name of {fd}, {way}")
        if name is None:
            equal(calls[number]["error.type"], "EBADF", f"error of {way}")
    return said


@tests.add
def names_are_those_of_the_kernel():
    recording, said = run("data")
    check_names(recording, said)
    ways = {way for _, way, name in said.values() if name}
    check({"recvmsg", "recvmmsg", "memfd_create", "pidfd_getfd", "clone", "clone3", "seccomp", "openat2", "accept4",
           "unshared", "of-child", "after-exec"} <= ways, f"ways: {ways}")
    sent = [name for _, way, name in said.values() if way.startswith("recv")]
    equal(sent, [fathom.path(f"{name} {n}") for name in ("sent", "sent too") for n in (1, 2)],
          "names of what was sent")


@tests.add
def over_many_chunks():
    recording, said = run("chunks", "--rotate", "2ms")
    check_names(recording, said)
    check(len(fathom.chunks(recording)) > 1, "there was no cut")


@tests.add
def those_of_before_the_recording():
    work = fathom.path("later-work")
    os.mkdir(work)
    with harness.Process([MAKES, "later", work], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         text=True) as program:
        try:
            equal(program.stdout.readline(), "ready\n", "first line")
            recorder = servers.Recorder(fathom, "later", "-p", program.pid)
            text, _ = program.communicate("x", timeout=60)
            recording = recorder.stop()
        finally:
            program.kill()
    said = check_names(recording, parse(text))
    equal({way for _, way, name in said.values() if name},
          {"snapshot", "apart-before", "after-exec", "dup-after-exec"}, "ways")
    closed = [fd for fd, way, name in said.values() if way == "after-exec" and not name]
    equal(closed[:2], [101, 102], "closed by the exec")


RECEIVES = """
import ctypes, os, socket, struct
unix = socket.socket(fileno=0)
unix.send(b"r")
libc = ctypes.CDLL(None, use_errno=True)
data, fds, _, _ = socket.recv_fds(unix, 8, 1)
pid, fd = struct.unpack("ii", data)
taken = libc.syscall(438, libc.syscall(434, pid, 0), fd, 0)  # pidfd_getfd, pidfd_open
for each in (fds[0], taken):
    if each >= 0:
        with socket.socket(fileno=each) as peer:
            peer.recv(100)
            peer.send(b"answer")
unix.send(b"y" if taken >= 0 else b"n")
"""


def connection(listener):
    one = socket.create_connection(listener.getsockname())
    other, _ = listener.accept()
    one.send(b"question")
    return one, other


@tests.add
def connections_that_came_have_their_peers():
    """They were made outside the recording, after it began."""
    where = fathom.path("came")
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    with ours, theirs, socket.create_server(("127.0.0.1", 0)) as listener, \
            harness.Process([fathom.binary, "record", "-o", where, "--", sys.executable, "-c",
                             RECEIVES], stdin=theirs, stderr=subprocess.PIPE,
                            text=True) as recorder:
        ours.settimeout(60)
        equal(ours.recv(1), b"r", "ready")
        sent, taken = connection(listener), connection(listener)
        socket.send_fds(ours, [struct.pack("ii", os.getpid(), taken[1].fileno())],
                        [sent[1].fileno()])
        done = ours.recv(1)
        ports = [sent[0].getsockname()[1], taken[0].getsockname()[1]]
        for each in (*sent, *taken):
            each.close()
        _, stderr = recorder.communicate(timeout=60)
    equal(recorder.returncode, 0, stderr)
    for name in ("recvfrom", "sendto"):
        found = [span["attributes"]["network.peer.port"]
                 for trace in fathom.trace_all(where)["traces"] for span in trace["spans"]
                 if span["name"] == name and "network.peer.port" in span["attributes"]]
        equal(found, ports if done == b"y" else ports[:1], f"ports of {name}")
    harness.check_sums(fathom, where)


READS = """
import os
for fd in range(3):
    os.fstat(fd)
os.read(0, 1)
"""


def names_at_fstat(recording, pid_of="python3"):
    """By descriptor: what its first fstat has for a name."""
    names = {}
    for trace in fathom.trace_all(recording)["traces"]:
        for span in trace["spans"]:
            if span["name"] in ("fstat", "newfstatat") and span["process"].startswith(pid_of):
                attributes = span["attributes"]
                if attributes.get("fd") in range(3) and attributes["fd"] not in names:
                    names[attributes["fd"]] = (attributes.get("fd.name"),
                                               attributes.get("file.path"))
    return names


@tests.add
def what_a_command_inherits_has_names():
    """Files, a pipe and sockets, also where the whole host is recorded."""
    given, taken = fathom.path("given"), fathom.path("taken")
    with open(given, "w", encoding="ascii") as file:
        file.write("x")
    for options in ([], ["-a", "--detail", "calls"], ["-p", str(os.getpid())]):
        where = fathom.path("inherits" + "".join(options[:1]))
        with open(given, "rb") as source, open(taken, "wb") as out, \
                subprocess.Popen([fathom.binary, "record", *options, "-o", where, "--",
                                  sys.executable, "-c", READS], stdin=source, stdout=out,
                                 stderr=subprocess.PIPE) as recorder:
            pipe = os.readlink(f"/proc/self/fd/{recorder.stderr.fileno()}")
            _, stderr = recorder.communicate(timeout=60)
        equal(recorder.returncode, 0, stderr)
        equal(names_at_fstat(where), {0: (given, given), 1: (taken, taken), 2: (pipe, None)},
              f"names, {options}")
        rows = [row["key"] for row in fathom.report(where, "file")["rows"]]
        check(given in rows, f"files: {rows}")
        harness.check_babeltrace(fathom, where)


@tests.add
def an_inherited_connection_has_its_peer():
    where = fathom.path("inherits-connection")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        one, other = connection(listener)
        with one, other:
            result = fathom.run("record", "-o", where, "--", sys.executable, "-c", READS,
                                stdin=other)
            port = one.getsockname()[1]
    equal(result.returncode, 0, result.stderr)
    found = [span["attributes"].get("network.peer.port")
             for trace in fathom.trace_all(where)["traces"] for span in trace["spans"]
             if span["name"] == "read" and span["attributes"]["fd"] == 0]
    equal(found, [port], "peer of what it read from")


@tests.add
def the_descriptors_of_a_command_in_a_flight_recorder():
    """Also of one that is snapshot long after its begin."""
    given, where = fathom.path("given-in-flight"), fathom.path("inherits-flight")
    with open(given, "w", encoding="ascii") as file:
        file.write("x")
    with open(given, "rb") as source:
        result = fathom.run("record", "--flight", "--detail", "calls", "-o", where, "--", "sh", "-c",
                            f"sleep 0.5; cat; exec {fathom.binary} snapshot {where}",
                            stdin=source)
    equal(result.returncode, 0, result.stderr)
    names = {span["attributes"].get("fd.name") for trace in fathom.trace_all(where)["traces"]
             for span in trace["spans"] if span["name"] == "read"
             and span["process"] == "cat" and span["attributes"]["fd"] == 0}
    equal(names, {given}, "names of what cat read")


DELETED = """
import os, sys
os.mkdir(sys.argv[1])
before = os.open(sys.argv[1], os.O_RDONLY)
os.rmdir(sys.argv[1])
after = os.open(f"/proc/self/fd/{before}", os.O_RDONLY)
for fd in (before, after):
    os.lseek(fd, 0, os.SEEK_SET)
    try:
        os.open("x", os.O_RDONLY, dir_fd=fd)
    except OSError:
        pass
"""


@tests.add
def a_deleted_directory_has_its_path():
    """Opened before or after it was deleted: as readlink says it, and where it was."""
    gone = fathom.path("gone")
    where = fathom.record("deleted", "--", sys.executable, "-c", DELETED, gone)
    spans = [span for trace in fathom.trace_all(where)["traces"] for span in trace["spans"]]
    names = [(span["attributes"]["fd.name"], span["attributes"]["file.path"]) for span in spans
             if span["name"] == "lseek" and gone in span["attributes"].get("fd.name", "")]
    equal(names, [(f"{gone} (deleted)", gone)] * 2, "names and paths")
    paths = [span["attributes"].get("file.path") for span in spans if span["name"] == "openat"
             and "\"x\"" in span["attributes"]["args"]]
    equal(paths, [f"{gone}/x"] * 2, "paths below it")


CONNECTS = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 5)
at = listener.getsockname()
print(at[1])
for way in range(2):
    client = socket.socket()
    if way == 0:
        client.sendto(b"hello", socket.MSG_FASTOPEN, at)
    else:
        client.sendmsg([b"hello"], [], socket.MSG_FASTOPEN, at)
    other, _ = listener.accept()
    other.recv(10)
    other.send(b"yo")
    client.recv(50)
    client.send(b"again")
    client.close()
    other.close()
"""


@tests.add
def a_send_that_connects_tells_its_peer():
    where = fathom.path("fast")
    result = fathom.run("record", "-o", where, "--", sys.executable, "-c", CONNECTS)
    equal(result.returncode, 0, result.stderr)
    port = int(result.stdout)
    calls = [span for trace in fathom.trace_all(where)["traces"] for span in trace["spans"]
             if span["name"] in ("sendto", "sendmsg", "recvfrom")]
    client = [span for span in calls if span["attributes"].get("network.peer.port") == port]
    equal(len([s for s in client if s["name"] == "sendmsg"]), 1, "sendmsg that connects")
    equal(len([s for s in client if s["name"] == "sendto"]), 3, "what else the clients sent")
    equal(len([s for s in client if s["name"] == "recvfrom"]), 2, "what they received")
    equal([s["attributes"] for s in calls if "network.peer.port" not in s["attributes"]], [],
          "calls without a peer")


RENAMES = """
import os, sys
one, two = sys.argv[1:]
fd = os.open(one, os.O_RDWR | os.O_CREAT)
os.pread(fd, 1, 4242)
os.rename(one, two)
copy = os.dup(fd)
for each in (fd, copy):
    os.pread(each, 1, 4242)
again = os.open(two, os.O_RDWR)
os.pread(again, 1, 4242)
"""


@tests.add
def a_file_has_the_name_of_its_open():
    """Also when it is renamed, and through duplicates: one name at a time, one row."""
    one, two = fathom.path("one"), fathom.path("two")
    where = fathom.record("renamed", "--", sys.executable, "-c", RENAMES, one, two)
    names = [span["attributes"].get("fd.name") for trace in fathom.trace_all(where)["traces"]
             for span in trace["spans"] if span["name"] == "pread64"
             and span["attributes"]["args"].endswith(", 1, 4242")]
    equal(names, [one, one, one, two], "names")


PLACES = """
import ctypes, os, sys
top, wait = sys.argv[1:]
libc = ctypes.CDLL(None, use_errno=True)
NEWNS, BIND, REC, PRIVATE = 0x20000, 0x1000, 0x4000, 0x40000
number = 1000

def mount(source, target, kind, flags):
    if libc.mount(source.encode(), target.encode(), kind, flags, None):
        raise SystemExit(f"mount {target}: {os.strerror(ctypes.get_errno())}")

def probe(fd, way):
    global number
    number += 1
    print(number, fd, way, os.readlink(f"/proc/thread-self/fd/{fd}"), flush=True)
    libc.lseek(fd, ctypes.c_long(number), 99)

def opened(way, path, at=None):
    fd = os.open(path, os.O_RDONLY, dir_fd=at)
    probe(fd, way)
    return fd

for name in ("one", "two", "bare", "root/in", "root/proc"):
    os.makedirs(f"{top}/{name}")
    open(f"{top}/{name}/file", "w").close()
under = os.open(f"{top}/one/file", os.O_RDONLY)
if libc.unshare(NEWNS):
    raise SystemExit(os.strerror(ctypes.get_errno()))
mount("none", "/", None, REC | PRIVATE)
mount(f"{top}/two", f"{top}/one", None, BIND)
mount("none", f"{top}/bare", b"tmpfs", 0)
mount("/proc", f"{top}/root/proc", None, BIND | REC)
kept = os.open(f"{top}/one/file", os.O_RDONLY)
outside, inside = (os.open(f"{top}/{name}", os.O_RDONLY) for name in ("two", "root/in"))
if wait == "mounts":
    print("ready", flush=True)
    sys.stdin.readline()
probe(under, "below-a-mount")
probe(kept, "bound")
opened("bound-again", f"{top}/one/file")
opened("where-it-is-bound-from", f"{top}/two/file")
opened("of-directory", "file", outside)
open(f"{top}/bare/own", "w").close()
own = opened("tmpfs", f"{top}/bare/own")
os.chroot(f"{top}/root")
os.chdir("/in")
cut = os.open("/in/file", os.O_RDONLY)
if wait == "root":
    print("ready", flush=True)
    sys.stdin.readline()
    probe(own, "above-the-root")
    probe(inside, "in-the-root")
    probe(os.open("/in/file", os.O_RDONLY), "opened-there")
probe(cut, "in-a-root")
opened("relative", "file")
opened("root", "/")
opened("from-above", "file", outside)
opened("from-inside", "file", inside)
opened("upwards", "../../../in/./file")
os.mkdir("made")
os.rmdir("/in/made")
"""


def places(name, wait):
    """Runs the program; from its begin or from where it waits for that."""
    top = os.path.realpath(fathom.path(name + "-work"))
    os.mkdir(top)
    command = [sys.executable, "-c", PLACES, top, wait]
    if not wait:
        result = fathom.run("record", "-o", fathom.path(name), "--", *command)
        equal(result.returncode, 0, f"status: {result.stderr}")
        return top, fathom.path(name), parse(result.stdout)
    with harness.Process(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         text=True) as program:
        try:
            harness.until(lambda: program.stdout.readline() == "ready\n", "it to wait")
            recorder = servers.Recorder(fathom, name, "-p", program.pid)
            text, _ = program.communicate("x\n", timeout=60)
            recording = recorder.stop()
        finally:
            program.kill()
    equal(program.returncode, 0, "status")
    return top, recording, parse(text)


def check_places(top, recording, said):
    """As the process sees them then: behind a mount, and from its own root on."""
    check_names(recording, said)
    ways = {way: name for _, way, name in said.values()}
    expected = {"below-a-mount": f"{top}/one/file", "bound": f"{top}/one/file",
                "bound-again": f"{top}/one/file", "where-it-is-bound-from": f"{top}/two/file",
                "of-directory": f"{top}/two/file", "tmpfs": f"{top}/bare/own",
                "above-the-root": f"{top}/bare/own", "in-the-root": "/in",
                "opened-there": "/in/file", "in-a-root": "/in/file", "relative": "/in/file",
                "root": "/", "from-above": f"{top}/two/file", "from-inside": "/in/file",
                "upwards": "/in/file"}
    equal(ways, {way: expected[way] for way in ways}, "names")
    paths = [span["attributes"].get("file.path") for trace in fathom.trace_all(recording)["traces"]
             for span in trace["spans"] if span["name"] in ("mkdir", "rmdir")
             and "made" in span["attributes"]["args"]]
    equal(paths, ["/in/made"] * 2, "paths of calls below a root")
    return ways


@tests.add
def mounts_and_a_root_of_its_own():
    """Also of what a process had open in them when the recording began."""
    for name, wait, count in (("places", "", 12), ("mounts", "mounts", 12), ("root", "root", 9)):
        equal(len(check_places(*places(name, wait))), count, f"ways, {name}")


@tests.add
def babeltrace_reads_them():
    return harness.check_babeltrace(fathom, fathom.path("data"))


with fathom:
    tests.run()
