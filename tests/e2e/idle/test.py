#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Idle is what waits for work, and a lock is what its name says: servers without load, pools and
locks of several languages, and nginx in front of a slow server, all in one recording.
"""
import contextlib
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request

import harness
import loopback
import servers
from harness import check, equal

harness.require_root()
servers.need("nginx", "redis-server", "strace")
fathom = harness.Fathom(sys.argv[1])
LOCKS, FOLDER = sys.argv[2:4]
tests = harness.Tests()
LOAD_MS = 500 * harness.SLOWER
SHARE = 0.95
DELAY_S = 0.1 * harness.SLOWER
HELD_MS = 300 * harness.SLOWER  # a row of PostgreSQL, or a monitor of Java
REQUESTS = 10
PIDS = {}  # the name of a program -> its pids
UPSTREAM = {}  # the proxy's worker, the port of the server behind it, what strace saw
ROWS = {}  # how to ask PostgreSQL; recording -> the pids of who has a row and of who waits for it


def source(name):
    return os.path.join(FOLDER, name)


def get(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=30) as answer:
        return answer.read()


# ---- programs ----

class Slow(threading.Thread):
    """A server that answers each request after a while."""

    def __init__(self):
        super().__init__(daemon=True)
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.start()

    def run(self):
        while True:
            connection, _ = self.listener.accept()
            with connection:
                connection.recv(4096)
                time.sleep(DELAY_S)
                connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok")


def start_redis(stack):
    port = loopback.free_port()
    redis = stack.enter_context(servers.Server(
        "redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", fathom.dir, "--save", "",
        "--daemonize", "no"))
    harness.until(lambda: servers.answers(port), "redis")
    PIDS["redis"] = [redis.pid]

    def ask():
        with socket.create_connection(("127.0.0.1", port)) as client:
            client.sendall(b"PING\r\n")
            equal(client.recv(100), b"+PONG\r\n", "answer of redis")
    return ask


def start_nginx(stack, name, http=""):
    port = loopback.free_port()
    folder = fathom.path(name)
    os.mkdir(folder)
    with open(os.path.join(folder, "index.html"), "w", encoding="ascii") as page:
        page.write("page")
    command = loopback.nginx_command(folder, port, "access_log off;" + http)
    nginx = stack.enter_context(servers.Server(*command))
    harness.until(lambda: servers.answers(port) and servers.children(nginx.pid), "nginx")
    PIDS[name] = [nginx.pid, *servers.children(nginx.pid)]
    return lambda: equal(get(port), b"page", "answer of nginx")


def start_node(stack):
    port = loopback.free_port()
    node = stack.enter_context(servers.Server("node", source("server.js"), port))
    harness.until(lambda: servers.answers(port), "node")
    get(port)  # its threads have begun
    PIDS["node"] = [node.pid]
    return lambda: get(port)


def works_in_background(pid):
    """Whether it stays; a process for a client or for autovacuum ends by itself."""
    with contextlib.suppress(OSError), open(f"/proc/{pid}/cmdline", encoding="ascii") as text:
        return re.search("checkpointer|writer|launcher", text.read())
    return False


def start_postgres(stack):
    place, as_user = servers.postgres_create(fathom.path("postgres"))
    postgres = servers.Server(servers.postgres_program("postgres"), "-D",
                              os.path.join(place, "data"), "-k", place,
                              "-c", "listen_addresses=", "-c", "fsync=off", **as_user)
    stack.callback(lambda: postgres.stop(signal.SIGINT))
    ready = os.path.join(place, ".s.PGSQL.5432")
    ask = ["psql", "-h", place, "-U", "postgres", "-Atc", "select 1", "postgres"]
    harness.until(lambda: os.path.exists(ready) and
                  subprocess.run(ask, capture_output=True, check=False).returncode == 0, "postgres")
    PIDS["postgres"] = [postgres.pid, *[pid for pid in servers.children(postgres.pid)
                                        if works_in_background(pid)]]
    ROWS["psql"] = ["psql", "-h", place, "-U", "postgres", "-qAt", "postgres"]
    servers.run(*ROWS["psql"], "-c", "create table t as select 1 as n")
    return lambda: equal(servers.run(*ask), "1\n", "answer of postgres")


class LockedRow:
    """One session of PostgreSQL has changed a row, and another one waits to change it, too."""

    def __init__(self, stack):
        session = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self.holder = stack.enter_context(harness.Process(ROWS["psql"], **session))
        self.waiter = stack.enter_context(harness.Process(ROWS["psql"], **session))
        self.pids = self.ask(self.holder, "begin; update t set n = n + 1"), self.ask(self.waiter)
        self.tell(self.waiter, "update t set n = n + 1")
        harness.until(lambda: servers.run(
            *ROWS["psql"], "-c", "select wait_event_type from pg_stat_activity "
            f"where pid = {self.pids[1]}") == "Lock\n", "a session that waits for a row")

    @staticmethod
    def tell(session, *statements):
        session.stdin.write("".join(f"{statement};\n" for statement in statements))
        session.stdin.flush()

    def ask(self, session, *statements):
        self.tell(session, *statements, "select pg_backend_pid()")
        return int(session.stdout.readline())

    def release(self):
        self.tell(self.holder, "commit")
        for session in self.holder, self.waiter:
            session.stdin.close()
            equal(session.wait(60), 0, "status of psql")


def wait_for_row():
    """As long as HELD_MS in the recording."""
    with contextlib.ExitStack() as stack:
        row = LockedRow(stack)
        row.ask(row.holder, f"do $$ begin perform pg_sleep({HELD_MS / 1000}); end $$")
        row.release()
        return row.pids


def start_go(stack):
    program = fathom.path("go-pool")
    servers.run("go", "build", "-o", program, source("pool.go"))
    PIDS["go"] = [stack.enter_context(servers.Server(program)).pid]
    return lambda: None


def start_pool(stack):
    pool = stack.enter_context(servers.Server(LOCKS, 3600000, "idle"))
    harness.until(lambda: len(os.listdir(f"/proc/{pool.pid}/task")) == 7, "the pool")
    PIDS["pool"] = [pool.pid]
    return lambda: None


def start_held(stack, name, *command):
    """A command that begins once its standard input ends."""
    held = stack.enter_context(harness.Process(
        ["sh", "-c", "read line; exec \"$@\"", "sh", *map(str, command)], stdin=subprocess.PIPE,
        stdout=subprocess.PIPE))
    PIDS[name] = [held.pid]
    return held


def start_loads(stack):
    """Programs with locks and pools at work."""
    loads = [start_held(stack, "c", LOCKS, LOAD_MS),
             start_held(stack, "python", "/usr/bin/python3", "-S", "-E", source("gil.py"), LOAD_MS)]
    if shutil.which("java") and shutil.which("javac"):
        servers.run("javac", "-d", fathom.dir, source("Locks.java"))
        loads.append(start_held(stack, "java", "java", "-cp", fathom.dir, "Locks", LOAD_MS,
                                HELD_MS))
    if shutil.which("rustc"):
        servers.run("rustc", "-o", fathom.path("rust-locks"), source("locks.rs"))
        loads.append(start_held(stack, "rust", fathom.path("rust-locks"), LOAD_MS))
    return loads


def ask_java(java):
    """Two clients at once, of which one waits for the other's monitor."""
    port = int(java.stdout.readline())
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(socket.create_connection(("127.0.0.1", port)))
                   for _ in range(2)]
        for client in clients:
            client.sendall(b"x")
        for client in clients:
            equal(client.recv(1), b"x", "answer of java")


def traced(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as status:
        return "TracerPid:\t0" not in status.read()


def start_proxy(stack):
    """nginx in front of a slow server; returns what asks it, watched by strace."""
    slow, port = Slow(), loopback.free_port()
    start_nginx(stack, "proxy", f"server {{ listen 127.0.0.1:{port}; location / {{ "
                f"proxy_pass http://127.0.0.1:{slow.port}; }} }}")
    worker, log = PIDS["proxy"][1], fathom.path("strace.log")
    UPSTREAM.update(pid=worker, port=slow.port, log=log, proxy=port)

    def ask():
        with servers.Server("strace", "-T", "-e", "trace=epoll_wait", "-o", log, "-p",
                            worker) as strace:
            harness.until(lambda: traced(worker), "strace")
            for _ in range(REQUESTS):
                equal(get(port), b"ok", "answer through nginx")
            strace.stop(signal.SIGINT)
    return ask


def start_idle(stack):
    asks = [start_redis(stack), start_nginx(stack, "nginx"), start_pool(stack)]
    for name, program, start in (("node", "node", start_node), ("go", "go", start_go),
                                 ("postgres", servers.postgres_program("initdb"), start_postgres)):
        if program and shutil.which(program):
            asks.append(start(stack))
    return asks


def record():
    with contextlib.ExitStack() as stack:
        asks, loads, proxy = start_idle(stack), start_loads(stack), start_proxy(stack)
        pids = ",".join(str(pid) for of in PIDS.values() for pid in of)
        recorder = servers.Recorder(fathom, "all", *servers.ROOM, "-p", pids)
        proxy()
        for ask in asks:
            ask()
        for load in loads:
            load.stdin.close()
        if "java" in PIDS:
            ask_java(next(load for load in loads if load.pid in PIDS["java"]))
        if ROWS:
            ROWS["all"] = wait_for_row()
        for load in loads:
            equal(load.wait(120), 0, "status of a program")
        return recorder.stop(), record_waits()


def record_waits():
    """The proxy once more, where no call is recorded, and a row that is locked before."""
    pids = [UPSTREAM["pid"], *PIDS.get("postgres", [])[:1]]
    with contextlib.ExitStack() as stack:
        row = LockedRow(stack) if ROWS else None
        recorder = servers.Recorder(fathom, "waits", "--detail", "waits", "-p",
                                    ",".join(map(str, pids)))
        begin = time.monotonic_ns()
        for _ in range(REQUESTS // 2):
            get(UPSTREAM["proxy"])
        UPSTREAM["asked_ns"] = time.monotonic_ns() - begin
        if row:
            row.release()
            ROWS["waits"] = row.pids
    return recorder.stop()


# ---- what they wait for ----

SLEEPS = ["disk_ns", "network_ns", "lock_ns", "timer_ns", "ipc_ns", "fault_ns", "child_ns",
          "other_ns", "idle_ns"]


def sleep_of(name, thread=None):
    """The time that threads of a program slept, by its parts; * are all but the first."""
    rows = [row for row in fathom.report(RECORDING, "thread")["rows"] if row["pid"] in PIDS[name] and
            (thread in (None, row["thread"]) or thread == "*" and row["tid"] != row["pid"])]
    check(rows, f"threads of {name} {thread or ''}")
    return {part: sum(row["time"][part] for row in rows) for part in SLEEPS}


def check_share(name, part, thread=None, besides=()):
    if name not in PIDS:
        print(f"# {name} is missing")
        return
    sleep = sleep_of(name, thread)
    share = sleep[part] / sum(sleep[other] for other in SLEEPS if other not in besides)
    print(f"# {name} {thread or ''}: {100 * share:.1f} % of its sleep is {part[:-3]}: "
          f"{ {key: ns for key, ns in sleep.items() if ns} }")
    check(share > SHARE, f"{share} of the sleep of {name} {thread or ''} is {part}: {sleep}")


@tests.add
def a_server_without_load_is_idle():
    for name in ("redis", "nginx", "postgres", "node", "pool", "go"):
        check_share(name, "idle_ns")


@tests.add
def a_lock_is_a_lock():
    for thread in ("mutex", "rwlock", "semaphore", "monitor"):
        check_share("c", "lock_ns", thread, besides=("timer_ns",))  # they hold it asleep
    check_share("rust", "lock_ns", "mutex", besides=("timer_ns",))
    check_share("python", "lock_ns", "*")


def check_row(recording, name, least_ns):
    """Who waits for a row of another one is in the middle of a request, and not idle."""
    if not ROWS:
        return "PostgreSQL is missing"
    rows = {row["tid"]: row["time"] for row in fathom.report(recording, "thread")["rows"]}
    time_ns = rows[ROWS[name][1]]
    sleep_ns = {part: time_ns[part] for part in SLEEPS if time_ns[part]}
    print(f"# who waits for a row: {sleep_ns}")
    waited_ns = sum(ns for part, ns in sleep_ns.items() if part != "idle_ns")
    check(waited_ns >= least_ns, f"it waits for {least_ns} ns: {sleep_ns}")
    return None


@tests.add
def who_waits_for_a_row_is_not_idle():
    return check_row(RECORDING, "all", 0.98e6 * HELD_MS)


@tests.add
def nor_is_who_waits_since_before_the_recording():
    return check_row(WAITS, "waits", 0.98e9 * REQUESTS // 2 * DELAY_S)


@tests.add
def who_waits_for_a_monitor_in_a_request_waits_for_a_lock():
    if "java" not in PIDS:
        return "Java is missing"
    sleep_ns = sleep_of("java", "request")
    print(f"# in requests: { {key: ns for key, ns in sleep_ns.items() if ns} }")
    check(sleep_ns["lock_ns"] > 0.5e6 * HELD_MS, f"a lock: {sleep_ns}")
    check(sleep_ns["timer_ns"] > 1.9e6 * HELD_MS, f"who has it sleeps: {sleep_ns}")
    return None


@tests.add
def a_worker_without_work_is_idle():
    for name, thread in (("c", "pool"), ("c", "workers"), ("rust", "worker"), ("java", "pool")):
        check_share(name, "idle_ns", thread)


@tests.add
def a_server_behind_a_proxy_takes_what_strace_says():
    with open(UPSTREAM["log"], encoding="ascii") as log:
        waits = [float(ns) for ns in re.findall(r"^epoll_wait\(.*<([\d.]+)>$", log.read(), re.M)]
    took_ns = 1e9 * sum(wait for wait in waits if wait > DELAY_S / 2)
    key = f"127.0.0.1:{UPSTREAM['port']}"
    rows = {row["key"]: row for row in fathom.report(RECORDING, "peer", "--pid",
                                                     UPSTREAM["pid"])["rows"]}
    check(key in rows, f"{key} is a peer: {list(rows)}")
    print(f"# {rows[key]['total_ns']} ns by fathom, {took_ns:.0f} by strace: {rows[key]['time']}")
    check(abs(rows[key]["total_ns"] - took_ns) < 0.02 * took_ns, f"{key} took {took_ns} ns: {rows}")
    check(took_ns >= 0.9e9 * REQUESTS * DELAY_S, f"strace saw all: {waits}")
    idle = [row["time"]["network_ns"] for name, row in rows.items() if name != key]
    check(sum(idle) < 0.02 * took_ns, f"clients are not waited for: {rows}")


@tests.add
def it_has_its_name_where_no_call_is_recorded():
    """It sleeps in epoll_wait alone, so no call tells whom its connection goes to."""
    key = f"127.0.0.1:{UPSTREAM['port']}"
    rows = {row["key"]: row for row in fathom.report(WAITS, "peer")["rows"]}
    check(key in rows, f"{key} is a peer: {list(rows)}")
    took_ns = rows[key]["time"]["network_ns"]
    least_ns = 1e9 * REQUESTS // 2 * DELAY_S
    check(least_ns * 0.98 < took_ns < UPSTREAM["asked_ns"], f"{key} took {took_ns} ns")
    waits = [span for trace in fathom.trace_all(WAITS)["traces"] for span in trace["spans"]
             if span["kind"] == "wait" and span["name"] == "network"]
    peers = {span["attributes"].get("network.peer.port") for span in waits
             if span["end_ns"] - span["begin_ns"] > 1e9 * DELAY_S / 2}
    equal(peers, {UPSTREAM["port"]}, "whom it waited for")


with fathom:
    RECORDING, WAITS = record()
    tests.run()
