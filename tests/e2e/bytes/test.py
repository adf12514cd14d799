#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which bytes of a connection each call moved, against those who moved them."""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

import harness
import loopback
import servers
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
TALK, SHARED, SPANS = sys.argv[2:5]
QUEUE_IS_KNOWN = tuple(int(n) for n in os.uname().release.split(".")[:2]) >= (6, 17)
UNIX_UNSURE = 0 if QUEUE_IS_KNOWN else 5  # of what comes first: until the queue was empty once
UNSURE, MESSAGE = 1, 2  # flags of a record
SENT = 0  # direction of a record
tests = harness.Tests()

Range = collections.namedtuple("Range", "socket peer direction begin end unsure more span")


def ranges_of(spans):
    """What the calls moved, in the order of their ends; of each socket by its name."""
    found = []
    for span in sorted(spans, key=lambda s: s["end_ns"]):
        a = span["attributes"]
        unit = "messages" if "messages.from" in a else "bytes"
        if span["kind"] == "syscall" and f"{unit}.from" in a:
            found.append(Range(a["fd.name"], a.get("peer.fd.name"), a["bytes.direction"],
                               a[f"{unit}.from"], a[f"{unit}.to"], a.get("bytes.unsure", False),
                               a.get("bytes.more", 0), span))
    return found


def record_talk(name, *args, options=()):
    """Records a conversation from its begin; returns the recording and what both ends noted."""
    result = fathom.run("record", "-o", fathom.path(name), *options, "--", sys.executable, TALK,
                        *args)
    equal(result.returncode, 0, f"record: {result.stderr}")
    return fathom.path(name), json.loads(result.stdout.splitlines()[-1])


def record_talk_late(name, *args):
    """Records it from when it was under way."""
    command = [sys.executable, TALK, "--wait", *map(str, args)]
    with harness.Process(command, text=True, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE) as talk:
        _, *pids = talk.stdout.readline().split()
        recorder = servers.Recorder(fathom, name, *(f"-p{pid}" for pid in pids))
        out, _ = talk.communicate("\n", timeout=60)
    equal(talk.returncode, 0, "the conversation")
    return recorder.stop(), json.loads(out)


def check_notes(recording, ends, minus=None):
    """Each call of each end moved what the end noted, less what had gone before the first sight."""
    minus = minus or {}
    kept = []
    for number, end in enumerate(ends):
        name = f"socket:[{end['inode']}]"
        other = f"socket:[{ends[1 - number]['inode']}]"
        seen = [r for r in ranges_of(servers.spans_of(fathom, recording, end["pid"]))
                if r.socket == name]
        expected = [[direction, begin - minus.get((number, direction), 0),
                     to - minus.get((number, direction), 0)]
                    for direction, begin, to in end["notes"]]
        equal([[r.direction, r.begin, r.end] for r in seen], expected, f"ranges of {name}")
        equal({r.peer for r in seen}, {other}, f"peer of {name}")
        equal({r.more for r in seen}, {0}, "calls with more than one range")
        kept.append(seen)
    servers.check_loss(fathom, recording)
    return kept


def check_kernel_counts(ends):
    """
    The kernel's own counts at the end; the SYN of the end that connected was
    acknowledged, too, and the end of the one that ended first received.
    """
    for number, end in enumerate(ends):
        last = {direction: to for direction, _, to in end["notes"]}
        check(last["received"] <= end["received"] <= last["received"] + 1,
              f"{end['received']} bytes came of {last['received']}")
        # the last answer may not be acknowledged yet
        check(last["sent"] - 9000 <= end["acked"] - (number == 0) <= last["sent"],
              f"{end['acked']} bytes were acknowledged of {last['sent']}")


def all_sure(seen):
    return not any(r.unsure for end in seen for r in end)


@tests.add
def tcp_from_its_begin():
    recording, ends = record_talk("tcp", "tcp", "--splice")
    check(all_sure(check_notes(recording, ends)), "all is sure")
    check_kernel_counts(ends)
    splices = servers.calls_of(servers.spans_of(fathom, recording, ends[1]["pid"]), "splice")
    check(len(splices) > 3, "some was taken by splice")
    check(fathom.report(recording, "cause")["incomplete"] >= len(splices), "holes are counted")
    harness.check_babeltrace(fathom, recording)


@tests.add
def tcp_begun_before_the_recording():
    recording, ends = record_talk_late("tcp-late", "tcp", "--early", 70000, 50000)
    check(all_sure(check_notes(recording, ends)), "all is sure")
    check_kernel_counts(ends)


@tests.add
def tcp_over_ipv6():
    recording, ends = record_talk("tcp6", "tcp6")
    check(all_sure(check_notes(recording, ends)), "all is sure")
    check_kernel_counts(ends)


def check_files_sent(kind):
    """Returns what each end did."""
    recording, ends = record_talk(f"files-{kind}", kind, "--sendfile")
    seen = check_notes(recording, ends)
    for end in seen:
        equal({r.span["name"] for r in end if r.direction == "sent"}, {"sendfile"}, "who sent")
    return seen


@tests.add
def files_sent_over_ipv4():
    check(all_sure(check_files_sent("tcp")), "all is sure")


@tests.add
def files_sent_over_ipv6():
    check(all_sure(check_files_sent("tcp6")), "all is sure")


FAST_OPEN = """
import json, os, socket, sys, threading
FASTOPEN_CONNECT = 30
listener = socket.socket()
listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)
listener.bind(("127.0.0.1", 0))
listener.listen(16)

def serve():
    sock, _ = listener.accept()
    while sock.recv(1 << 20):
        pass

def talk(way, size):
    server = threading.Thread(target=serve)
    server.start()
    sock = socket.socket()
    if way == "connect":
        sock.setsockopt(socket.IPPROTO_TCP, FASTOPEN_CONNECT, 1)
        sock.connect(listener.getsockname())
        sent = [sock.send(bytes(size))]
    else:
        sent = [sock.sendto(bytes(size), socket.MSG_FASTOPEN, listener.getsockname())]
    syn = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 8)[5] >> 5 & 1
    sent.append(sock.send(bytes(1000)))
    inode = os.fstat(sock.fileno()).st_ino
    sock.close()
    server.join()
    return {"inode": inode, "sent": sent, "way": way, "with_syn": syn}

talk("message", 10)  # which brings the cookie
print(json.dumps([talk(way, size) for way in ("message", "connect")
                  for size in (500, 200000)]))
"""


@tests.add
def fast_open_sends_before_there_is_a_connection():
    script = ("ip link set lo up && echo 3 >/proc/sys/net/ipv4/tcp_fastopen && "
              "exec \"$0\" -c \"$1\"")
    result = fathom.run("record", "-o", fathom.path("fast"), "--", "unshare", "-n", "sh", "-c",
                        script, sys.executable, FAST_OPEN)
    equal(result.returncode, 0, f"record: {result.stderr}")
    spans = [span for trace in fathom.trace_all(fathom.path("fast"))["traces"]
             for span in trace["spans"]]
    talks = json.loads(result.stdout)
    for talk in talks:
        seen = [r for r in ranges_of(spans) if r.socket == f"socket:[{talk['inode']}]"]
        equal([(r.begin, r.end) for r in seen],
              [(0, talk["sent"][0]), (talk["sent"][0], sum(talk["sent"]))], f"ranges of {talk}")
        check(not any(r.unsure or r.more for r in seen), f"all is sure: {seen}")
    return None if any(t["with_syn"] for t in talks) else "no data went with a SYN"


@tests.add
def unix_from_its_begin():
    recording, ends = record_talk("unix", "unix", "--splice")
    seen = check_notes(recording, ends)
    check(all_sure(end[UNIX_UNSURE:] for end in seen), "all is sure")


@tests.add
def files_sent_on_unix_streams():
    check(all_sure(end[UNIX_UNSURE:] for end in check_files_sent("unix")), "all is sure")


@tests.add
@harness.tries_when_emulated
def sequenced_packets_have_numbers():
    """The first may be told after its receipt: then nobody knows whether it is the first."""
    if not shutil.which("babeltrace2"):
        return "babeltrace2 is missing"
    recording, ends = record_talk("packets", "packets")
    for end in ends:
        unsure = [(direction, begin) for tid, direction, flags, begin, _ in raw_bytes(recording)
                  if tid == end["pid"] and flags & UNSURE]
        check(unsure in ([], [(SENT, 0)]), f"others are sure: {unsure}")
        for _ in unsure:
            end["notes"].remove(["sent", 0, 1])
    check_notes(recording, ends)
    return None


DATAGRAMS = """
import json, os, socket, sys, tempfile
made = []

def note(direction, sock, size):
    made.append([direction, os.fstat(sock.fileno()).st_ino, size])

def talk(one, other, name=None):
    for size in (1, 700, 3000):
        sent = one.sendto(bytes(size), name) if name else one.send(bytes(size))
        note("sent", one, sent)
    for _ in range(3):
        note("received", other, len(other.recv(10000)))

one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
talk(one, other)
talk(other, one)
bound, client, stranger = (socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) for _ in range(3))
bound.bind(sys.argv[1])
client.connect(sys.argv[1])
talk(client, bound)
talk(stranger, bound, sys.argv[1])
ends = {"pair": [one, other], "bound": [bound], "client": [client], "stranger": [stranger]}
print(json.dumps([made, {name: [os.fstat(s.fileno()).st_ino for s in list_]
                         for name, list_ in ends.items()}]))
"""


@tests.add
def datagrams_of_unix_sockets_have_no_number():
    """Of a pair and of bound names: who moved how much between whom is told, and no position."""
    name = fathom.path("bound")
    result = fathom.run("record", "-o", fathom.path("datagrams"), "--", sys.executable, "-c",
                        DATAGRAMS, name)
    equal(result.returncode, 0, f"record: {result.stderr}")
    made, ends = json.loads(result.stdout)
    spans = [span for trace in fathom.trace_all(fathom.path("datagrams"))["traces"]
             for span in trace["spans"]]
    inodes = {f"socket:[{inode}]": inode for _, inode, _ in made}
    calls = sorted((s for s in servers.calls_of(spans, "sendto", "recvfrom")
                    if s["attributes"].get("fd.name") in inodes), key=lambda s: s["end_ns"])
    equal([["sent" if s["name"] == "sendto" else "received", inodes[s["attributes"]["fd.name"]],
            s["attributes"]["result"]] for s in calls], made, "calls")
    equal(ranges_of(spans), [], "positions")
    peers = {inodes[s["attributes"]["fd.name"]]: tuple(s["attributes"].get(name) for name in (
        "network.transport", "peer.fd.name", "network.peer.address")) for s in calls}
    one, other = ends["pair"]
    [bound], [client], [stranger] = ends["bound"], ends["client"], ends["stranger"]
    equal(peers, {one: ("unix", f"socket:[{other}]", None),
                  other: ("unix", f"socket:[{one}]", None),
                  client: ("unix", f"socket:[{bound}]", name), bound: (None, None, None),
                  stranger: ("unix", None, name)}, "other ends")
    servers.check_loss(fathom, fathom.path("datagrams"))
    if not shutil.which("babeltrace2"):
        return "babeltrace2 is missing"
    equal([[("sent", "received")[direction], flags, begin, size]
           for _, direction, flags, begin, size in raw_bytes(fathom.path("datagrams"))],
          [[direction, UNSURE | MESSAGE, 0, size] for direction, _, size in made], "records")
    return None


DATAGRAM_FILES = """
import json, os, socket
moved = []
file = os.memfd_create("file")
os.write(file, bytes(3000))
for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
    here, there = (socket.socket(family, socket.SOCK_DGRAM) for _ in range(2))
    there.bind((address, 0))
    here.connect(there.getsockname()[:2])
    for size in (1, 3000):
        moved.append(["sent", os.sendfile(here.fileno(), file, 0, size)])
        moved.append(["received", len(there.recv(10000))])
print(json.dumps(moved))
"""


@tests.add
def files_sent_as_datagrams():
    """Each is told once, also where the protocol takes no pages."""
    if not shutil.which("babeltrace2"):
        return "babeltrace2 is missing"
    recording = fathom.path("datagram-files")
    result = fathom.run("record", "-o", recording, "--", sys.executable, "-c", DATAGRAM_FILES)
    equal(result.returncode, 0, f"record: {result.stderr}")
    equal([[("sent", "received")[direction], flags, size]
           for _, direction, flags, _, size in raw_bytes(recording)],
          [[direction, UNSURE | MESSAGE, size] for direction, size in json.loads(result.stdout)],
          "records")
    return None


@tests.add
def unix_begun_before_the_recording():
    """What lies in the queue at first sight is counted, and unsure until both ends agree."""
    if not QUEUE_IS_KNOWN:
        return "this kernel does not tell how much lies in the queue of a Unix stream"
    recording, ends = record_talk_late("unix-late", "unix", "--early", 1000, 300)
    seen = check_notes(recording, ends, {(0, "sent"): 300, (1, "received"): 300})
    check(seen[0][0].unsure and seen[1][0].unsure, "the first are unsure")
    check(not any(r.unsure for end in seen for r in end[5:]), "the later ones are sure")
    return None


def ranges_behind_no_span(kind, before):
    """What moves under no span counts with --spans-only, though it is not told."""
    with harness.Process([SPANS, kind, "5"], text=True, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE) as process:
        equal(process.stdout.readline(), "ready\n", "what it says")
        recorder = servers.Recorder(fathom, f"no-span-{kind}", "--spans-only", "-p",
                                    str(process.pid))
        process.communicate("\n", timeout=60)
    equal(process.returncode, 0, "status")
    seen = ranges_of(servers.spans_of(fathom, recorder.stop(), process.pid))
    expected = [(direction, before + 30 * i, before + 30 * (i + 1))
                for i in range(5) for direction in ("sent", "received")]
    equal([(r.direction, r.begin, r.end) for r in seen], expected, "ranges under spans")
    return seen


@tests.add
def unix_begun_before_under_no_span():
    seen = ranges_behind_no_span("unix", 150)
    check(not any(r.unsure for r in seen[2:]), f"sure, once both ends agree: {seen}")


@tests.add
def tcp_begun_under_no_span():
    """The first send that is told is not the first of its connection."""
    seen = ranges_behind_no_span("tcp", 50)
    check(not any(r.unsure for r in seen), f"all is sure: {seen}")


OVERLAP = """
import json, select, socket, threading, time
mine, other = socket.socketpair()
made = []

def send(size):
    made.append((threading.get_native_id(), mine.send(bytes(size))))

def call_of(thread):
    with open(f"/proc/self/task/{thread.native_id}/syscall") as file:
        return file.read().split()[0]

def begin(size):
    thread = threading.Thread(target=send, args=(size,))
    thread.start()
    return thread

send(10)
other.recv(10)  # the queue is empty: all is known
first = begin(1 << 20)  # more than there is room for, so that it waits for the reader
while select.select([], [mine], [], 0)[1] or call_of(first) == "running":
    time.sleep(0.001)
second = begin(10)  # which waits, too
while call_of(second) != call_of(first):
    time.sleep(0.001)
left = (1 << 20) + 10
while left:
    left -= len(other.recv(left))
first.join()
second.join()
send(10)
other.recv(10)
print(json.dumps(made))
"""


@tests.add
def senders_on_a_unix_stream_that_overlap():
    """The one that is counted last: what the other sent may lie within its bytes."""
    result = fathom.run("record", "-o", fathom.path("overlap"), "--", sys.executable, "-c", OVERLAP)
    equal(result.returncode, 0, f"record: {result.stderr}")
    spans = [span for trace in fathom.trace_all(fathom.path("overlap"))["traces"]
             for span in trace["spans"]]
    sent = sorted((r for r in ranges_of(spans) if r.direction == "sent"), key=lambda r: r.end)
    equal(sorted([r.span["tid"], r.end - r.begin] for r in sent), sorted(json.loads(result.stdout)),
          "who sent how much")
    equal([r.unsure for r in sent[2:]], [True, False], "whether the last two are unsure")


def raw_bytes(recording):
    """(tid, direction, flags, from, length) of the records, as babeltrace2 reads them."""
    found = []
    for chunk in fathom.chunks(recording):
        text = servers.run("babeltrace2", chunk["path"])
        for line in text.splitlines():
            if " bytes: " not in line:
                continue
            values = [int(re.search(pattern, line).group(1) or 0) for pattern in (
                r"\{ tid = (\d+) \}", r" direction = (\d+)", r" flags = (\d+)",
                r" from = \{ \{? ?(\d*) ?\}", r" length = \{ \{? ?(\d*) ?\}")]
            found.append(values)
    return found


@tests.add
def threads_that_share_a_socket():
    if not shutil.which("babeltrace2"):
        return "babeltrace2 is missing"
    result = fathom.run("record", "-o", fathom.path("shared"), "--", sys.executable, SHARED)
    equal(result.returncode, 0, f"record: {result.stderr}")
    truth = json.loads(result.stdout)
    records = raw_bytes(fathom.path("shared"))
    check(len(truth) > 24 or harness.SLOWER > 1, "calls were interleaved")
    equal({flags for _, _, flags, _, _ in records}, {0}, "flags")
    sent = sorted([begin, begin + size, tid] for tid, direction, _, begin, size in records
                  if direction == SENT)
    runs = []
    for begin, end, tid in sent:
        if runs and runs[-1][0] == tid and runs[-1][2] == begin:
            runs[-1][2] = end
        else:
            runs.append([tid, begin, end])
    equal(runs, truth, "who sent which bytes")
    at = 0
    for _, direction, _, begin, size in sorted(records, key=lambda r: r[3]):
        if direction == 1:
            equal(begin, at, "what was received has no hole")
            at = begin + size
    equal(at, truth[-1][2], "all was received")
    return None


def check_tiles(spans, at_least):
    """Both directions of each connection lie without hole or overlap, as seen by each end."""
    streams = collections.defaultdict(list)
    for r in ranges_of(spans):
        check(not r.unsure and not r.more, f"{r} is sure")
        streams[r.socket, r.direction].append(r)
    matched = 0
    for (name, direction), list_ in streams.items():
        list_.sort(key=lambda r: r.begin)
        for one, other in zip(list_, list_[1:]):
            equal(other.begin, one.end, f"what {name} {direction} goes on behind {one}")
        if direction == "received" or not list_[0].peer:
            continue
        got = streams.get((list_[0].peer, "received"))
        if got:
            equal((got[0].begin, max(r.end for r in got)), (list_[0].begin, list_[-1].end),
                  f"what {name} sent and its other end received")
            matched += 1
    check(matched >= at_least, f"{matched} directions have both ends")


def record_host(name, *command):
    """Records the whole host under a command."""
    recording = fathom.record(name, "-a", "--detail", "calls", *servers.ROOM, "--", *command)
    servers.check_loss(fathom, recording)
    return recording


@tests.add
def redis_and_its_clients():
    if not shutil.which("redis-server"):
        return "redis is missing"
    port = loopback.free_port()
    with servers.Server("redis-server", "--port", port, "--save", "", "--dir", fathom.dir) as redis:
        harness.until(lambda: servers.answers(port), "redis")
        recording = record_host("redis", "redis-benchmark", "-p", port, "-n", 2000, "-c", 4,
                                "-t", "set,get", "-d", 5000, "-q")
    client = servers.pids_named(fathom, recording, "redis-benchmark").pop()
    check_tiles(servers.spans_of(fathom, recording, client) +
                servers.spans_of(fathom, recording, redis.pid), 8)
    return None


@tests.add
def nginx_sends_files():
    os.environ["PATH"] += ":/usr/sbin"
    if not shutil.which("nginx") or not shutil.which("wrk"):
        return "nginx or wrk is missing"
    port = loopback.free_port()
    with open(fathom.path("page"), "wb") as page:
        page.write(bytes(300000))
    with open(fathom.path("pace.lua"), "w", encoding="ascii") as text:
        text.write("function delay() return 20 end\n")
    with servers.Server(*loopback.nginx_command(fathom.dir, port, workers=2)):
        harness.until(lambda: servers.answers(port), "nginx")
        recording = record_host("nginx", "wrk", "-t", 1, "-c", 4, "-d", "1s", "-s",
                                fathom.path("pace.lua"), f"http://127.0.0.1:{port}/page")
    spans = [span for name in ("nginx", "wrk")
             for pid in servers.pids_named(fathom, recording, name)
             for span in servers.spans_of(fathom, recording, pid)]
    files = [r for r in ranges_of(spans) if r.span["name"] == "sendfile"]
    check(files, "files were sent")
    for r in files:
        equal(r.end - r.begin, r.span["attributes"]["result"], "bytes of a sendfile")
    check_requests(spans)
    return None


def check_requests(spans):
    """
    wrk ends in the middle of answers: what it did not read is not received. On a busy machine
    some of its connections can be left without an answer.
    """
    streams = collections.defaultdict(list)
    for r in ranges_of(spans):
        streams[r.socket, r.direction].append(r)
    answered = 0
    for (name, direction), list_ in streams.items():
        list_.sort(key=lambda r: r.begin)
        for one, other in zip(list_, list_[1:]):
            equal(other.begin, one.end, f"what {name} {direction} goes on behind {one}")
        got = streams.get((list_[0].peer, "received"))
        if direction == "sent" and got:
            equal(min(r.begin for r in got), list_[0].begin, "where both begin")
            check(max(r.end for r in got) <= list_[-1].end, "nothing is received that was not sent")
            answered += 1
    used = {s["attributes"]["fd.name"] for s in servers.calls_of(spans, "read")
            if s["process"] == "wrk" and s["attributes"].get("result", 0) > 0 and
            s["attributes"].get("fd.name", "").startswith("socket:")}
    check(used, "connections on which wrk got something")
    check(answered >= 2 * len(used), f"{answered} directions of {len(used)} have both ends")


@tests.add
def filters_leave_what_they_should():
    recording, ends = record_talk("filtered", "tcp", options=["--syscalls", "openat"])
    moved = sum(len(end["notes"]) for end in ends)
    tids = {end["pid"] for end in ends}
    equal(len([r for r in raw_bytes(recording) if r[0] in tids]), moved, "records without calls")
    recording, _ = record_talk("spans", "tcp", options=["--spans-only"])
    equal(raw_bytes(recording), [], "records under no span")


with fathom:
    tests.run()
