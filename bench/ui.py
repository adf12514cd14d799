# SPDX-License-Identifier: Apache-2.0
"""The page in Chromium: how soon it shows something, how smoothly it moves, what it takes."""
import contextlib
import json
import os
import struct
import subprocess
import time
from random import Random

from page.needed import missing
from stored import OPERATIONS, Serving, Sender, field, number_of, text_of, varint
from tell import Goal, figure, ratio, say, summary
from whole import MB, Up

KB = 1024
TRACE_SPANS = 100000
COMPARED_SPANS = 10000000
LOADED_SPANS = 200000
HALF_HOUR_NS = 1800 * 10**9
DEPTH, NAMES, LANES = 8, 40, 200
STATES_OF_LANE = 5000
LANES_LENGTH_NS = 10 * 10**9
WAITS = (("lock", "futex"), ("network", "recvfrom"), ("disk", "fsync"), ("timer", "nanosleep"), ("ipc", "read"))


def packages_of(bench):
    """The folder with the page's packages of npm; None, with a message, where something lacks."""
    page = os.path.join(bench.build, "src/share/fathom/web")
    packages = os.path.join(bench.build, "web-dev")
    lacks = missing(packages, page)
    if lacks:
        say(f"  left out: {lacks}")
        return None
    os.environ["FATHOM_PAGE"] = page
    return packages


def measured(packages, what, serving, *arguments):
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ui.mjs")
    base = f"http://127.0.0.1:{serving.ports['queries']}"
    done = subprocess.run(["node", script, packages, what, base, *map(str, arguments)], check=True,
                          stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


@contextlib.contextmanager
def served(bench):
    """A server that ends whatever happens."""
    serving = Serving(bench)
    try:
        yield serving
    finally:
        serving.end()
        subprocess.run(["rm", "-rf", serving.dir], check=True)


def live(bench):
    """from the end of a span of a program to its row on the page /live, in chunks of a second"""
    packages = packages_of(bench)
    program = os.path.join(bench.build, "tests/e2e/up/e2e-up-program")
    if not packages:
        return
    if not os.path.exists(program):
        say(f"  left out: {program} is not built")
        return
    up = Up(bench)
    try:
        up.wait_recording()
        took = measured(packages, "live", up, max(bench.rounds, 20), program)["seconds"]
        summary("to its row", took, "s", Goal(2.3, 1.5), 3)
        figure("the longest", max(took), "s", 3)
    finally:
        up.end()


def ui_load(bench):
    """first load of the overview: an empty cache, a CPU that is slowed four times"""
    packages = packages_of(bench)
    if not packages:
        return
    now = time.time_ns()
    with served(bench) as serving:
        serving.send(LOADED_SPANS, lambda share: now - int(share * HALF_HOUR_NS))
        serving.settle()
        got = measured(packages, "load", serving, bench.rounds)
    summary("to the first row", got["seconds"], "s", Goal(1, 0.5), 2)
    figure("files, as they are sent", got["files"] / KB, "KB")
    say(f"  {Goal(150, 90)}")
    figure("with the answers of the API", got["all"] / KB, "KB")


def trace_requests(trace, begin_ns):
    """Requests of OTLP for one trace: a tree of spans, each within its parent."""
    resource = b"".join(field(1, text_of(key, value)) for key, value in (
        ("service.name", "shop"), ("host.name", "node-7")))
    span_ns = 10**9 * 60
    spans = []
    for i in range(TRACE_SPANS):
        level = (i % DEPTH) if i else 0
        parent = i - 1 if level else 0
        share = i // DEPTH * DEPTH * span_ns // TRACE_SPANS
        begin = begin_ns + (share + level * 1000 if i else 0)
        end_ns = begin + (span_ns if not i else (DEPTH - level) * 50000 + 1000)
        body = field(1, trace) + field(2, struct.pack(">Q", i + 1))
        if i:
            body += field(4, struct.pack(">Q", parent + 1))
        body += field(5, f"name-{i % NAMES}".encode()) + varint(6 << 3) + bytes([2 if level else 1])
        body += varint(7 << 3 | 1) + struct.pack("<Q", begin) + varint(8 << 3 | 1) + struct.pack("<Q", end_ns)
        body += field(9, number_of("thread.id", 100 + i % LANES))
        spans.append(field(2, body))
    for i in range(0, TRACE_SPANS, 2000):
        scope = field(1, field(1, b"lib")) + b"".join(spans[i:i + 2000])
        yield field(1, field(1, resource) + field(2, scope))


def jaeger_built():
    """The folder of a built Jaeger UI, or the reason why there is none."""
    folder = os.environ.get("JAEGER_UI")
    if not folder:
        return None, ("no registry has it: build its release (npm ci; npm run build) and name the folder "
                      "packages/jaeger-ui/build in the variable JAEGER_UI")
    if not os.path.exists(os.path.join(folder, "index.html")):
        return None, f"JAEGER_UI={folder} has no index.html"
    return os.path.abspath(folder), None


def jaeger_tell(ours, theirs):
    """Jaeger UI with the same trace from the same server."""
    summary("Jaeger UI: address to rows", theirs["seconds"], "s", digits=2)
    ratio("  ours to that", ours["seconds"], theirs["seconds"])
    summary("Jaeger UI: scroll, frames a second", [each["perSecond"] for each in theirs["scroll"]], "")
    summary("Jaeger UI: scroll, longest gap", [each["longest"] for each in theirs["scroll"]], "ms")
    summary("Jaeger UI: memory of the page's process", [each / MB for each in theirs["bytes"]], "MB")
    ratio("  ours to that", ours["bytes"], theirs["bytes"])


def ui_trace(bench):
    """a trace of 100,000 spans: address to rows, scrolling, zooming, 200 lanes, finding, memory"""
    packages = packages_of(bench)
    if not packages:
        return
    trace, theirs = os.urandom(16), None
    folder, lacks = jaeger_built()
    with served(bench) as serving:
        sender = Sender(serving.ports)
        for request in trace_requests(trace, time.time_ns() - HALF_HOUR_NS):
            while not sender.send(request):
                time.sleep(0.1)
        serving.settle()
        got = measured(packages, "trace", serving, bench.rounds, trace.hex())
        if folder:
            theirs = measured(packages, "jaeger", serving, bench.rounds, folder, trace.hex())
    summary("address to rows", got["seconds"], "s", Goal(1, 0.5), 2)
    for name in ("scroll", "zoom", "lanes"):
        summary(f"{name}, frames a second", [each["perSecond"] for each in got[name]], "", Goal(50, 60, most=True))
        summary(f"{name}, longest gap", [each["longest"] for each in got[name]], "ms", Goal(50, None))
    summary("find", got["find"], "s", Goal(0.2, 0.1), 3)
    summary("memory of the page's process", [each / MB for each in got["bytes"]], "MB", Goal(300, 150))
    if theirs:
        jaeger_tell(got, theirs)
    else:
        say(f"  Jaeger UI: SKIP, {lacks}")


def lane_spans(random, lane, begin_ns):
    """A request of one thread, as OTLP has it, and the waits in it: with the running between them they fill it."""
    trace, tid = random.randbytes(16), 100 + lane
    parent, used = lane + 1, {}
    lengths = [(random.expovariate(1), random.expovariate(2)) for _ in range(STATES_OF_LANE)]
    scale = LANES_LENGTH_NS / sum(map(sum, lengths))
    parts = [random.choice(WAITS) for _ in lengths]
    thread = field(9, number_of("thread.id", tid))
    tails = {part: thread + b"".join(field(9, text_of(key, value)) for key, value in (
        ("fathom.kind", "wait"), ("syscall", call), ("waker", f"worker/{100 + (lane + 1) % LANES}"))) for part, call in WAITS}
    names = {part: field(5, part.encode()) + varint(6 << 3) + bytes([1]) for part, _ in WAITS}
    head, at = field(1, trace), begin_ns
    for i, (wait, run) in enumerate(lengths):
        (part, _), took = parts[i], int(wait * scale)
        used[part] = used.get(part, 0) + took
        yield field(2, head + field(2, struct.pack(">Q", (lane + 1) << 32 | i)) + field(4, struct.pack(">Q", parent)) + names[part]
                    + struct.pack("<BQBQ", 7 << 3 | 1, at, 8 << 3 | 1, at + took) + tails[part]
                    + field(9, number_of(f"fathom.time.{part}_ns", took)))
        at += took + int(run * scale)
    used["user"] = at - begin_ns - sum(used.values())
    yield field(2, head + field(2, struct.pack(">Q", parent)) + field(5, b"request") + varint(6 << 3) + bytes([2])
                + struct.pack("<BQBQ", 7 << 3 | 1, begin_ns, 8 << 3 | 1, at) + thread
                + b"".join(field(9, number_of(f"fathom.time.{part}_ns", ns)) for part, ns in used.items()))


def lanes_fill(serving, begin_ns):
    """The requests of 200 threads of one process, with a million waits."""
    sender, random = Sender(serving.ports), Random(31)
    resource = b"".join(field(1, each) for each in (
        text_of("service.name", "shop"), text_of("host.name", "node-7"), number_of("process.pid", 100)))
    for lane in range(LANES):
        scope = field(1, field(1, b"lib")) + b"".join(lane_spans(random, lane, begin_ns))
        while not sender.send(field(1, field(1, resource) + field(2, scope))):
            time.sleep(0.1)
    serving.settle()


def lanes_answer_tell(serving, path):
    """How large the answer is that the page draws, and how many states are told in it."""
    serving.queries.request("GET", path)
    answer = serving.queries.getresponse()
    body = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"{path}: {answer.status} {body[:200]}")
    got = json.loads(body)
    columns = {column["key"]: column for column in got["attributes"]}
    states = columns["fathom.kind"]["spans"]
    joined = columns.get("fathom.joined", {"values": []})["values"]
    figure("the answer", len(body) / MB, "MB")
    figure("states that it has", len(states), "", 0)
    figure("states that these tell", len(states) - len(joined) + sum(joined), "", 0)


def ui_lanes(bench):
    """200 threads with a million states in ten seconds: address to lanes, scrolling, zooming, and keys"""
    packages = packages_of(bench)
    if not packages:
        return
    begin_ns = time.time_ns() - HALF_HOUR_NS
    range_of = f"from={begin_ns}&to={begin_ns + LANES_LENGTH_NS}"
    with served(bench) as serving:
        lanes_fill(serving, begin_ns)
        lanes_answer_tell(serving, f"/api/v1/lanes/columns?{range_of}")
        got = measured(packages, "lanes", serving, bench.rounds, f"/lanes?{range_of}")
    summary("address to lanes", got["seconds"], "s", digits=2)
    for name in ("scroll", "zoom", "keys"):
        summary(f"{name}, frames a second", [each["perSecond"] for each in got[name]], "", Goal(50, 60, most=True))
        summary(f"{name}, longest gap", [each["longest"] for each in got[name]], "ms")
    summary("memory of the page's process", [each / MB for each in got["bytes"]], "MB")


def ui_compare(bench):
    """a box drawn over the heat map of an operation, until the first difference"""
    packages = packages_of(bench)
    if not packages:
        return
    spans, now = min(bench.spans, COMPARED_SPANS), time.time_ns()
    with served(bench) as serving:
        serving.send(spans, lambda share: now - int(share * HALF_HOUR_NS))
        serving.settle()
        got = measured(packages, "compare", serving, bench.rounds, "/o/service-1/GET%20%2Fapi%2F1%2F1?last=1h")
    figure("spans stored, in millions", spans / 1e6, "M")
    figure("operations", OPERATIONS * 10, "", 0)
    summary("drag to the first difference", got["seconds"], "s", Goal(1, 0.5), 2)
