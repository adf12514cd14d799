# SPDX-License-Identifier: Apache-2.0
"""fathom up as a whole: how fresh its answers are, what it costs servers, what it keeps in memory."""
import http.client
import json
import os
import re
import statistics
import struct
import subprocess
import threading
import time

from host import TICKS, Recorder, used_ticks
from loads import Nginx, Postgres, Thumbnailer, server_missing
from servers import used_by_all
from stored import SPANS, TRACES, Request, Sender, Serving, field, number_of
from tell import Goal, Runs, figure, say, summary

FRESH_SPANS = 60
FRESH_MOST_S = 30
JOIN_RATE = 5000  # received spans a second
JOIN_SECONDS = 20
STEP_NS = 150000  # from the begin of a span to that of the next one
MEMORY_RATE, MEMORY_SECONDS = 50000, 600
SETTLE_SECONDS = 20  # of load, until a budget has found its level
TURN_SECONDS = 30  # from one second with byte ranges to the next
MB = 1 << 20


class Up(Serving):
    """fathom up with its defaults."""
    command, placed = "up", ()

    def parts(self, *names):
        """The pids of some of its processes."""
        return [part["pid"] for part in self.get("/api/v1/status")["processes"]
                if part["name"] in names and part.get("pid")]

    def wait_recording(self):
        while not self.get("/api/v1/status").get("map", {}).get("chunks"):
            time.sleep(0.1)

    def end(self):
        super().end()
        self.queries.close()
        self.process.stdout.close()
        subprocess.run(["rm", "-r", self.dir], check=True)

    def found_after(self, trace, since):
        """Seconds from `since` until a trace is found."""
        while time.monotonic() - since < FRESH_MOST_S:
            self.queries.request("GET", f"/api/v1/traces/{trace}")
            answer = self.queries.getresponse()
            answer.read()
            if answer.status == 200:
                return time.monotonic() - since
            time.sleep(0.005)
        raise RuntimeError(f"trace {trace} is not found")


def p95_tell(name, took, goal):
    figure(f"{name}, median", statistics.median(took), "s", 3)
    figure(f"{name}, p95", sorted(took)[len(took) * 95 // 100], "s", 3)
    say(f"  p95: {goal}")


def fresh(bench):
    """from the end of a span of libfathom, and from the acknowledgement of one of OTLP, until found"""
    program = os.path.join(bench.build, "tests/e2e/up/e2e-up-program")
    if not os.path.exists(program):
        say(f"{program} is not built")
        return
    up = Up(bench)
    shop = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                            bufsize=1)
    try:
        up.wait_recording()
        took = []
        for i in range(FRESH_SPANS):
            shop.stdin.write(f"{i % 20}\n")
            trace = shop.stdout.readline().split("-")[1]
            took.append(up.found_after(trace, time.monotonic()))
        p95_tell("a span of libfathom", took, Goal(2, 1.2))
        request, sender, took = Request(1), Sender(up.ports), []
        for _ in range(FRESH_SPANS):
            trace = request.renew(time.time_ns())
            if sender.send(bytes(request.body)):
                took.append(up.found_after(trace, time.monotonic()))
        p95_tell("a span of OTLP", took, Goal(1, 0.3))
    finally:
        shop.stdin.close()
        shop.wait()
        up.end()


class LocalRequest(Request):
    """Spans of a thread of this process, or, if `host` is given, of a process of another host."""

    def __init__(self, seed, host=None):
        self.node = host or os.uname().nodename
        super().__init__(seed)

    def resource(self, service):
        return super().resource(service) + field(1, number_of("process.pid", os.getpid()))

    def thread(self):
        return threading.get_native_id()

    def renew(self, begin_ns):
        """One span after the other, so that each has the thread for itself."""
        trace = super().renew(begin_ns)
        for i, (_, _, _, begin, end) in enumerate(self.places):
            start = begin_ns - (len(self.places) - i) * STEP_NS
            self.body[begin:begin + 8] = struct.pack("<Q", start)
            self.body[end:end + 8] = struct.pack("<Q", start + STEP_NS * 3 // 4)
        return trace


def paced(rate, seconds, send):
    """Calls `send` so often that `rate` spans a second are sent. Returns how many were."""
    begin, sent = time.monotonic(), 0
    while time.monotonic() - begin < seconds:
        if sent > (time.monotonic() - begin) * rate:
            time.sleep(0.005)
            continue
        sent += TRACES * SPANS * bool(send())
    return sent / (time.monotonic() - begin)


def used_by(pids):
    return sum(map(used_ticks, pids)) / TICKS


def join_cpu(up, host, seconds):
    """Shares of a core that map and serve use while spans of a host are sent."""
    request, sender = LocalRequest(1, host), Sender(up.ports)
    pids, begin = up.parts("map", "serve"), time.monotonic()
    before = used_by(pids)

    def send():
        request.renew(time.time_ns())
        return sender.send(bytes(request.body))

    rate = paced(JOIN_RATE, seconds, send)
    time.sleep(6)  # at most once in five seconds per chunk
    return 100 * (used_by(pids) - before) / (time.monotonic() - begin), rate


def join(bench):
    """CPU time that joining 5,000 received spans a second takes: spans of this host and of another"""
    seconds, added, rates = bench.long or JOIN_SECONDS, Runs(), []
    up = Up(bench)
    try:
        up.wait_recording()
        for turn in range(bench.pairs):
            used = {}
            for host in (None, "elsewhere")[::-1 if turn % 2 else 1]:
                used[host], rate = join_cpu(up, host, seconds)
                rates.append(rate)
            added.add(used[None] - used["elsewhere"], 0)
        told = up.get("/api/v1/status").get("join")
    finally:
        up.end()
    figure("received", min(rates), "spans/s", 0)
    if told:
        say(f"  joined: {json.dumps(told)}")
    summary("map and serve, added by the join", added, "% of a core", Goal(10, 5))


def settled_once(loaded, start):
    """
    The CPU time of a request once a recorder has settled under the load: the budget of `up` has
    found its level by then, and a whole turn of byte ranges is measured.
    """
    recorder = start()
    try:
        loaded.load_end(loaded.load_start(SETTLE_SECONDS))
        before = used_by_all(loaded, recorder)
        _, requests = loaded.load_end(loaded.load_start(TURN_SECONDS))
        return (used_by_all(loaded, recorder) - before) * 1e6 / requests
    finally:
        if recorder:
            recorder.stop()


def server(bench, make, goal):
    """CPU time of a request that `up` adds to `record --detail waits,bytes`, in points."""
    missing = server_missing(make)
    if missing:
        say(missing)
        return
    loaded = make(bench)
    target = bench.path("up")
    runs = {"record": [], "up": [], None: []}
    starts = {
        None: lambda: None,
        "record": lambda: bench.record_host("-a", "--detail", "waits,bytes"),
        "up": lambda: Recorder([bench.fathom, "up", "-o", target, "--http", "off", "--otlp-http",
                                "off", "--otlp-grpc", "off", "--zipkin", "off", "--jaeger", "off"],
                               target)}
    try:
        for turn in range(bench.pairs):
            for kind in list(starts)[::-1 if turn % 2 else 1]:
                runs[kind].append(settled_once(loaded, starts[kind]))
    finally:
        loaded.stop()
    plain = statistics.median(runs[None])
    figure("not recorded: CPU of a request", plain, "us")
    for kind in ("record", "up"):
        summary(f"{kind}: CPU of a request added", Runs(
            [100 * with_ / none - 100 for none, with_ in zip(runs[None], runs[kind])], 0), "% ")
    summary("up beyond record --detail waits,bytes", Runs(
        [100 * (up - record) / plain
         for record, up in zip(runs["record"], runs["up"])], 0), "points", goal)


def up_nginx(bench):
    """nginx under wrk beside fathom up: CPU time of a request beyond record --detail waits,bytes"""
    server(bench, Nginx, Goal(3, 1.5))


def up_postgres(bench):
    """PostgreSQL under pgbench beside fathom up: the same"""
    server(bench, Postgres, Goal(3, 1.5))


def up_thumbnail(bench):
    """the thumbnail server beside fathom up: the same"""
    server(bench, Thumbnailer, Goal(0.5, 0.3))


def resident_bytes(pid):
    with open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as text:
        return int(re.search(r"^VmRSS:\s+(\d+)", text.read(), re.M).group(1)) * 1024


def up_memory(bench):
    """memory of map and serve while 50,000 spans a second are received for ten minutes"""
    seconds = bench.long or MEMORY_SECONDS
    up = Up(bench)
    most, ends = [0], threading.Event()

    def watch():
        own = http.client.HTTPConnection("127.0.0.1", up.ports["queries"], timeout=120)
        own.request("GET", "/api/v1/status")
        status = json.loads(own.getresponse().read())
        pids = [part["pid"] for part in status["processes"] if part["name"] in ("map", "serve")]
        while not ends.wait(0.2):
            most[0] = max(most[0], sum(map(resident_bytes, pids)))

    try:
        up.wait_recording()
        watcher = threading.Thread(target=watch)
        watcher.start()
        requests, sender, turn = [Request(i) for i in range(3)], Sender(up.ports), [0]

        def send():
            turn[0] += 1
            requests[turn[0] % 3].renew(time.time_ns())
            return sender.send(bytes(requests[turn[0] % 3].body))

        rate = paced(MEMORY_RATE, seconds, send)
        ends.set()
        watcher.join()
        figure("received", rate, "spans/s", 0)
        figure("map and serve, resident, at most", most[0] / MB, "MB")
        say(f"  {Goal(600, 300)}; one run of {seconds} s")
    finally:
        ends.set()
        up.end()
