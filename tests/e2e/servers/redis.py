#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""redis-server under redis-benchmark: by pid, as a command, and with the whole host."""
import contextlib
import os
import re
import socket
import sys

import harness
import loopback
import servers
from harness import check, equal

harness.require_root()
servers.need("redis-server", "redis-benchmark", "redis-cli")
fathom = harness.Fathom(sys.argv[1])
tests = harness.Tests()
port = loopback.free_port()
REQUESTS = 2000


def server_args(at_port):
    return ["redis-server", "--port", at_port, "--bind", "127.0.0.1", "--dir", fathom.dir,
            "--save", "", "--appendonly", "yes", "--appendfsync", "always", "--daemonize", "no"]


def benchmark_args(at_port, requests=REQUESTS):
    return ["redis-benchmark", "-p", at_port, "-n", requests, "-c", 4, "-t", "set,get", "-q"]


def listener_name(pid):
    """readlink of the descriptor that listens at our port."""
    with open("/proc/net/tcp", encoding="ascii") as table:
        rows = [line.split() for line in table][1:]
    inode = next(row[9] for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "0A")
    for fd in os.listdir(f"/proc/{pid}/fd"):
        name = os.readlink(f"/proc/{pid}/fd/{fd}")
        if name == f"socket:[{inode}]":
            return name
    raise harness.Failure("nothing listens")


def appended_to(pid):
    """The file that it appends to; None while it begins one, under another name."""
    found = []
    for fd in os.listdir(f"/proc/{pid}/fd"):
        with contextlib.suppress(FileNotFoundError):
            name = os.readlink(f"/proc/{pid}/fd/{fd}")
            found += [name] if name.endswith(".aof") else []
    return found[0] if len(found) == 1 and "/temp-" not in found[0] else None


def record_pid(name):
    """The recording, redis' pid, what it listens on and appends to, the early peer, the witness."""
    with servers.Server(*server_args(port)) as redis:
        harness.until(lambda: servers.answers(port), "redis")
        listener = listener_name(redis.pid)
        early = socket.create_connection(("127.0.0.1", port))
        harness.until(lambda: appended_to(redis.pid), "redis to write where it will append")
        aof = appended_to(redis.pid)
        recorder = servers.Recorder(fathom, name, "-p", redis.pid)
        with servers.Witness(redis.pid) as witness:
            early.sendall(b"PING\r\n")
            equal(early.recv(100), b"+PONG\r\n", "answer of redis")
            servers.run(*benchmark_args(port))
        recording = recorder.stop()
        early_peer = early.getsockname()
        early.close()
    return recording, redis.pid, listener, aof, early_peer, witness


@tests.add
def by_pid_agrees_with_the_kernels_counters():
    recording, pid, listener, aof, early_peer, witness = record_pid("pid")
    spans = servers.spans_of(fathom, recording, pid)
    check({row["pid"] for row in fathom.report(recording, "process")["rows"]} == {pid},
          "only redis is recorded")
    for name in ("epoll_wait", "read", "write", "accept4", "fdatasync", "openat", "close"):
        check(servers.calls_of(spans, name), f"{name} is among the calls")
    accepts = servers.calls_of(spans, "accept4")
    equal({a["attributes"]["fd.name"] for a in accepts}, {listener}, "name of the listener")
    check(early_peer in servers.peers(servers.calls_of(spans, "read")),
          f"peer {early_peer} of a connection made before is among {servers.peers(spans)}")
    accepted = [a for a in accepts if a["attributes"]["result"] >= 0]
    others = servers.peers(spans) - {early_peer}
    equal(len(others), len(accepted), "peers, one for each connection accepted")
    equal({address for address, _ in others}, {"127.0.0.1"}, "addresses of peers")
    check(len(servers.on_path(servers.calls_of(spans, "write"), aof)) >= 1, f"writes to {aof}")
    syncs = servers.calls_of(spans, "fdatasync")
    equal({s["attributes"].get("file.path") for s in syncs}, {aof}, "what was synced")
    reads = [r for r in servers.calls_of(spans, "read") if "network.peer.port" in r["attributes"]]
    got = [r for r in reads if r["attributes"]["result"] > 0]
    check(len(got) >= 2 * REQUESTS, f"{len(got)} reads for {2 * REQUESTS} requests")
    servers.check_report_and_trace(fathom, recording, spans)
    witness.check(pid, spans)
    servers.check_all(fathom, recording)


def info(at_port, field):
    text = servers.run("redis-cli", "-p", at_port, "info", "stats")
    return int(re.search(rf"^{field}:(\d+)", text, re.M).group(1))


@tests.add
def as_a_command_agrees_with_redis():
    """Recorded from its exec on, redis itself says how many reads it did."""
    own_port = loopback.free_port()
    with servers.Server(fathom.binary, "record", "-o", fathom.path("command"), "--",
                        *server_args(own_port)) as recorder:
        harness.until(lambda: servers.answers(own_port), "redis")
        servers.run(*benchmark_args(own_port))
        reads = info(own_port, "total_reads_processed")
        servers.run("redis-cli", "-p", own_port, "shutdown", "nosave")
        equal(recorder.process.wait(timeout=60), 0, "status")
    recording = fathom.path("command")
    rows = [row for row in fathom.report(recording, "process")["rows"]]
    equal({row["process"] for row in rows}, {"redis-server"}, "processes")
    pid = min(row["pid"] for row in rows)
    spans = servers.spans_of(fathom, recording, pid)
    sockets = [r for r in servers.calls_of(spans, "read")
               if r["attributes"].get("fd.name", "").startswith("socket:")]
    # behind the answer: the end of redis-cli, then its shutdown
    check(reads + 1 <= len(sockets) <= reads + 2, f"{len(sockets)} reads, redis says {reads}")
    thread = next(row for row in fathom.report(recording, "thread")["rows"] if row["tid"] == pid)
    check(thread["time"]["user_ns"] > 0 and thread["time"]["kernel_ns"] > 0, "it ran")
    servers.check_all(fathom, recording)


@tests.add
def with_the_whole_host():
    with servers.Server(*server_args(port)) as redis:
        harness.until(lambda: servers.answers(port), "redis")
        recording = fathom.record("host", "-a", "--detail", "calls", *servers.ROOM, "--",
                                  *benchmark_args(port, 1000))
    names = {row["process"] for row in fathom.report(recording, "process")["rows"]}
    check({"redis-server", "redis-benchmark"} <= names, f"processes: {names}")
    client = servers.pids_named(fathom, recording, "redis-benchmark")
    equal(len(client), 1, "clients")
    ask = servers.spans_of(fathom, recording, client.pop())
    reply = servers.spans_of(fathom, recording, redis.pid)
    connects = servers.calls_of(ask, "connect")
    check(("127.0.0.1", port) in servers.peers(connects), "the server is the client's peer")
    # what the one wrote the other read, byte by byte
    wrote = sum(w["attributes"]["result"] for w in servers.calls_of(ask, "write", "sendto")
                if w["attributes"].get("network.peer.port") == port)
    read = sum(r["attributes"]["result"] for r in servers.calls_of(reply, "read")
               if r["attributes"].get("network.peer.address") == "127.0.0.1" and
               r["attributes"]["result"] > 0)
    equal(read, wrote, "bytes that the server read")
    peers = {row["key"] for row in fathom.report(recording, "peer")["rows"]}
    check(f"127.0.0.1:{port}" in peers, f"the server is among the peers {peers}")
    servers.check_all(fathom, recording)


with fathom:
    tests.run()
