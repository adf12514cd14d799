#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records programs with libfathom: their spans, and under each what it really did."""
import json
import os
import re
import subprocess
import sys
import time
from collections import Counter

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
PROGRAM = sys.argv[2]
ROUNDS = 5
US = 1000
NAMES = ["request", "sleep", "read", "queued"]
tests = harness.Tests()
recording = None


def spans_of(where):
    return [span for trace in fathom.trace_all(where)["traces"] if trace["trace_id"]
            for span in trace["spans"]]


def check_round(spans, request):
    """One round of program.c: who is under whom."""
    def under(span, kind):
        return [s for s in spans if s.get("parent_id") == span["span_id"] and s["kind"] == kind]

    phases = {s["name"]: s for s in under(request, "internal")}
    equal(sorted(phases), sorted(NAMES[1:]), "phases of a request")
    calls = Counter(s["name"] for s in under(request, "syscall"))
    equal(calls["getppid"], 1, "getppid under request")
    for other in ("read", "nanosleep", "clock_nanosleep", "getuid", "gettid"):
        equal(calls[other], 0, f"{other} under request")
    equal([s["name"] for s in under(phases["sleep"], "syscall")], ["clock_nanosleep"],
          "calls under sleep")
    time_of = phases["sleep"]["time"]
    # a slow machine takes a while, or takes the CPU away, between the clock's start and the sleep
    late = time_of["kernel_ns"] + time_of["runnable_ns"]
    least = 1 if harness.SLOWER == 1 else 0
    check(time_of["timer_ns"] >= max(least, 2000000 - late), f"sleep is timer: {time_of}")
    equal([s["name"] for s in under(phases["read"], "syscall")], ["read"] * 64,
          "calls under read")
    equal([e["name"] for e in phases["read"]["events"]], ["begins to read"], "events")
    equal([s["name"] for s in under(phases["queued"], "syscall")][:2], ["getuid"] * 2,
          "calls under queued")
    check(phases["queued"]["time"]["off_thread_ns"] > 0, "what is queued is on no thread")
    for span in [request, *phases.values()]:
        equal((span["begin_bound"], span["end_bound"]), ("hard", "hard"), "bounds")
        equal(harness.total(span["time"]), span["end_ns"] - span["begin_ns"],
              f"split of {span['name']}")


def check_rounds(where, rounds):
    spans = spans_of(where)
    requests = [s for s in spans if s["name"] == "request"]
    equal(len(requests), rounds, "requests")
    equal(sorted(s["attributes"]["number"] for s in requests),
          sorted(number % ROUNDS for number in range(rounds)), "numbers")
    for request in requests:
        equal(request.get("parent_id"), None, "parent of a request")
        equal(request["service"], "e2e-application", "service")
        check_round(spans, request)
    return requests


@tests.add
def spans_have_what_they_did():
    global recording
    recording = fathom.record("plain", "--", PROGRAM, ROUNDS)
    equal(fathom.report(recording, "name")["lost"]["total"], 0, "lost records")
    check_rounds(recording, ROUNDS)


def pairs_once(pairs):
    """An object of JSON whose keys are different."""
    equal(sorted({key for key, _ in pairs}), sorted(key for key, _ in pairs), "keys")
    return dict(pairs)


@tests.add
def attributes_and_status():
    text = fathom.ok("trace", "--json", "--name", "request", recording)
    spans = [span for trace in json.loads(text, object_pairs_hook=pairs_once)["traces"]
             for span in trace["spans"]]
    names = {span["attributes"].get("process.executable.name") for span in spans
             if span["kind"] == "internal"}
    equal(names, {os.path.basename(PROGRAM)}, "executables")
    failed = {span["name"]: (span["attributes"]["otel.status_code"],
                             span["attributes"]["otel.status_description"])
              for span in spans if "otel.status_code" in span["attributes"]}
    equal(failed, {"read": ("ERROR", "it never ends")}, "spans that failed")
    errors = {row["key"]: row["errors"] for row in fathom.report(recording, "name")["rows"]}
    equal((errors["read"], errors["request"]), (ROUNDS, 0), "errors by name")


@tests.add
def a_span_that_threads_have_in_turn():
    where = fathom.record("hop", "--", PROGRAM, 1, "hop")
    spans = {span["name"]: span for span in spans_of(where)}
    hops, both = spans["hops"], spans["both"]
    equal(hops["threads"], 1, "threads at once")
    check(hops["time"]["off_thread_ns"] >= 8 * 2000000, f"between two threads: {hops['time']}")
    check(hops["time"]["timer_ns"] >= 8 * 900000, f"on the threads: {hops['time']}")
    equal(both["threads"], 2, "threads at once")
    equal(spans["early"]["time"]["timer_ns"], 0, "what its child does later")
    check(spans["late"]["time"]["timer_ns"] >= 19000000, f"the child: {spans['late']}")
    harness.check_sums(fathom, where)
    for row in fathom.report(where, "name")["rows"]:
        if row["key"] in ("hops", "both"):
            span = spans[row["key"]]
            equal(row["max_ns"], span["end_ns"] - span["begin_ns"], f"length of {row['key']}")
            equal(row["time"], span["time"], f"split of {row['key']}")


def runs_another_program(name, *options):
    where = fathom.record(name, *options, "--", PROGRAM, 1, "exec")
    spans = {span["name"]: span for span in spans_of(where)}
    for name, slept in (("prepares", 20), ("becomes", 40)):
        span, end_ns = spans[name], spans[name]["end_ns"]
        equal((span["begin_bound"], span["end_bound"]), ("hard", "soft"), f"bounds of {name}")
        equal(span["threads"], 1, f"threads of {name}")
        equal(harness.total(span["time"]), end_ns - span["begin_ns"], f"sum of {name}")
        equal((span["time"]["unknown_ns"], span["time"]["off_thread_ns"]), (0, 0),
              f"all of {name} was seen: {span['time']}")
        sleeps = [s for s in spans_of(where) if s["name"] == "timer" and s["kind"] == "wait" and
                  s["tid"] == span["tid"] and span["begin_ns"] <= s["begin_ns"] < end_ns]
        equal(span["time"]["timer_ns"], sum(s["time"]["timer_ns"] for s in sleeps),
              f"what {name} slept")
        check(span["time"]["timer_ns"] > (slept - 1) * 1000000 / harness.SLOWER, f"{name}: {span}")
    check(spans["job"]["end_ns"] - spans["prepares"]["end_ns"] > 45000000, "the other program")
    equal(spans["job"]["time"]["unknown_ns"], 0, f"of job: {spans['job']}")
    harness.check_sums(fathom, where)


@tests.add
def a_span_lasts_until_its_program_runs_another_one():
    runs_another_program("exec")


@tests.add
def a_span_lasts_until_its_program_runs_another_one_across_cuts():
    """The child waits until its ring is heard: a cut before leaves in doubt what it did."""
    runs_another_program("exec-cuts", "--rotate", "3ms")


def threads_that_end_in_a_span(name, *options):
    """Their spans go on, on no thread: one until another thread ends it, one as long as can be."""
    where = fathom.record(name, *options, "--", PROGRAM, 1, "leave")
    everything = [s for trace in fathom.trace_all(where)["traces"] for s in trace["spans"]]
    spans = {span["name"]: span for span in everything if span["kind"] == "internal"}
    threads = {s["tid"]: s for s in everything if s["kind"] == "thread"}
    for name, end in (("left", "soft"), ("handed", "hard")):
        span, thread = spans[name], threads[spans[name]["tid"]]
        calls = [s["name"] for s in everything if s.get("parent_id") == span["span_id"] and
                 s["kind"] == "syscall" and s["tid"] == thread["tid"]]
        equal(calls[:2], ["getuid", "clock_nanosleep"], f"calls under {name}")
        equal((span["begin_bound"], span["end_bound"]), ("hard", end), f"bounds of {name}")
        equal((thread["end_bound"], span["threads"]), ("hard", 1), f"thread of {name}")
        gone = span["end_ns"] - thread["end_ns"]
        check(gone > 0, f"{name} goes on for {gone} ns: {span}")
        time_of = span["time"]
        equal(harness.total(time_of), span["end_ns"] - span["begin_ns"], f"sum of {name}")
        check(gone <= time_of["off_thread_ns"], f"{gone} ns on none: {span}")
        slept = harness.total(time_of) - time_of["off_thread_ns"]
        check(slept >= 20000000, f"the sleep is on its thread: {span}")
    rows = {row["key"]: row for row in fathom.report(where, "name")["rows"]}
    equal((rows["handed"]["count"], rows["handed"]["time"]), (1, spans["handed"]["time"]), "its row")
    text = fathom.ok("trace", "--name", "left", where)
    check(re.search(r"\bleft\b", text), text)
    harness.check_sums(fathom, where)


@tests.add
def threads_end_in_spans():
    threads_that_end_in_a_span("leave")


@tests.add
def threads_end_in_spans_across_cuts():
    threads_that_end_in_a_span("leave-cuts", "--rotate", "5ms")


@tests.add
def a_thread_changes_its_name_in_a_span():
    where = fathom.record("rename", "--", PROGRAM, 1, "rename")
    everything = [s for trace in fathom.trace_all(where)["traces"] for s in trace["spans"]]
    spans = {span["name"]: span for span in everything if span["kind"] == "internal"}
    renamed, inner = spans["renamed"], spans["inner"]
    equal((renamed["thread"], inner["thread"]), ("before", "behind"), "threads when they began")
    equal((inner["parent_id"], inner["tid"]), (renamed["span_id"], renamed["tid"]), "one thread")
    under = {s["name"]: s["thread"] for s in everything if s["kind"] == "syscall" and
             s["parent_id"] in (renamed["span_id"], inner["span_id"])}
    equal((under["getuid"], under["getppid"], under["clock_nanosleep"]),
          ("before", "behind", "behind"), "threads of calls")
    for span in (renamed, inner):
        equal((span["begin_bound"], span["end_bound"], span["threads"]), ("hard", "hard", 1),
              f"bounds of {span['name']}")
        equal(harness.total(span["time"]), span["end_ns"] - span["begin_ns"], "its sum")
    equal(renamed["time"]["timer_ns"], inner["time"]["timer_ns"], "the sleep of both")
    rows = [row for row in fathom.report(where, "thread")["rows"] if row["tid"] == renamed["tid"]]
    equal([(row["key"], row["thread"], row["count"]) for row in rows], [("behind", "behind", 1)],
          "its row, under its name at the end")
    rows = {row["key"]: row["count"] for row in fathom.report(where, "name")["rows"]}
    equal((rows["renamed"], rows["inner"]), (1, 1), "spans by name")


@tests.add
def names_are_counted():
    rows = {row["key"]: row for row in fathom.report(recording, "name")["rows"]}
    counts = {name: row["count"] for name, row in rows.items() if name in NAMES}
    equal(counts, {name: ROUNDS for name in NAMES}, "spans by name")


@tests.add
def sums_are_exact():
    harness.check_sums(fathom, recording)


@tests.add
def babeltrace_agrees():
    return harness.check_babeltrace(fathom, recording)


@tests.add
def a_forked_child_is_heard_too():
    where = fathom.record("fork", "--", PROGRAM, ROUNDS, "fork")
    requests = check_rounds(where, 2 * ROUNDS)
    equal(len({s["pid"] for s in requests}), 2, "processes")
    harness.check_sums(fathom, where)
    check_choices(where, requests)


def fails(*args):
    """What it says where nothing is found: alike as text and as JSON."""
    for form in ((), ("--json",)):
        result = fathom.run("trace", *args, *form)
        equal(result.returncode, 1, f"status of trace {args} {form}")
        equal(len(result.stderr.splitlines()), 1, f"lines of {result.stderr!r}")
    equal(json.loads(result.stdout)["traces"], [], "traces")


def check_choices(where, requests):
    """Spans of one process or thread, and the slowest of these."""
    def shown(*args):
        return json.loads(fathom.ok("trace", "--json", *args, where))["traces"]

    def ids(spans):
        return sorted(s["span_id"] for s in spans)

    everything = [s for trace in fathom.trace_all(where)["traces"] for s in trace["spans"]]
    for key in ("pid", "tid"):
        for one in {s[key] for s in requests}:
            spans = [s for trace in shown("--all", f"--{key}", one) for s in trace["spans"]]
            equal(ids(spans), ids(s for s in everything if s[key] == one), f"spans of {key} {one}")
            mine = sorted((s for s in requests if s[key] == one),
                          key=lambda s: s["begin_ns"] - s["end_ns"])
            for args in ((), ("--name", "req*"), ("--service", "e2e-application")):
                slowest = shown("--slowest", 2, f"--{key}", one, *args)
                equal([t["spans"][0]["span_id"] for t in slowest], [s["span_id"] for s in mine[:2]],
                      f"the slowest two of {key} {one}")
                equal({s[key] for t in slowest for s in t["spans"]}, {one}, "whose spans these are")
    fails("--all", "--pid", 4194304, where)
    fails("--slowest", 2, "--tid", 4194304, where)
    fails("--name", "nosuch", where)
    fails("f" * 32, where)


@tests.add
def a_crash_loses_nothing_that_was_written():
    where = fathom.path("die")
    result = fathom.run("record", "-o", where, "--", PROGRAM, ROUNDS, "die")
    equal(result.returncode, 128 + 9, "status of a program that was killed")
    check_rounds(where, ROUNDS)
    crash = [s for s in spans_of(where) if s["name"] == "crash"]
    equal(len(crash), 1, "the span in which it died")
    equal((crash[0]["begin_bound"], crash[0]["end_bound"]), ("hard", "soft"), "its bounds")


@tests.add
def chunks_may_end_anywhere():
    where = fathom.record("cuts", "--rotate", "10ms", "--", PROGRAM, ROUNDS)
    check(len(fathom.chunks(where)) > max(1, 5 // harness.SLOWER), "several chunks")
    equal(fathom.report(where, "name")["lost"]["total"], 0, "lost records")
    check_rounds(where, ROUNDS)
    harness.check_sums(fathom, where)
    for command in (["report", "--by", "syscall"], ["report", "--by", "name"], ["trace", "--all"]):
        one, more = (fathom.ok(*command, "--json", "--threads", n, where) for n in (1, 4))
        check(one == more, f"{' '.join(command)} by 4 threads: what one thread says")


def moves_to(host, boot, recording):
    """As if another host had recorded it."""
    for chunk in fathom.chunks(recording):
        with open(os.path.join(chunk["path"], ".manifest"), "r+b") as file:
            text = file.read()
            text = re.sub(rb"^host=.*", b"host=" + host, text[:text.rindex(b"checksum=")],
                          flags=re.M)
            text = re.sub(rb"^boot=.{8}", b"boot=" + boot, text, flags=re.M)
            file.seek(0)
            file.truncate()
            file.write(text + f"checksum={harness.crc32c(text):08x}\n".encode())


@tests.add
def two_hosts_are_answered_together():
    here, there = (fathom.record(name, "--", PROGRAM, ROUNDS) for name in ("here", "there"))
    moves_to(b"elsewhere", b"01234567", there)
    alone = {where: fathom.report(where, "name")["rows"] for where in (here, there)}
    answer = fathom.report(here, "name", there)
    check("from_ns" not in answer and "to_ns" not in answer, "a range of both")
    equal(len({clock["host"] for clock in answer["clock"]}), 2, "clocks")
    for where in (here, there):
        rows = [{key: value for key, value in row.items() if key != "host"}
                for row in answer["rows"] if (row["host"] == "elsewhere") == (where == there)]
        equal(rows, alone[where], f"rows of {where}")
    traces = fathom.trace_all(here, there)["traces"]
    check(traces and all(span["host"] == trace["host"]
                         for trace in traces for span in trace["spans"]), "the hosts of spans")
    equal(len(traces), sum(len(fathom.trace_all(where)["traces"]) for where in (here, there)),
          "traces")
    for command in ("report --from 1s", "report --to 5", "report --boot -1", "trace --boot -1"):
        equal(fathom.run(*command.split(), here, there).returncode, 2, command)
    result = fathom.run("report", "--from", "@1", "--to", "@2", here, there)
    check(result.returncode == 1 and "all 2 hosts" in result.stderr, result.stderr)


@tests.add
def what_does_not_fit_is_counted():
    where = fathom.record("flood", "--", PROGRAM, ROUNDS, "flood")
    lost = fathom.report(where, "name")["lost"]
    check(lost["application"] > 0, "records that did not fit")
    equal(lost["total"], lost["application"], "other losses")
    check_rounds(where, ROUNDS)
    harness.check_babeltrace(fathom, where)


def unshared(name, *options):
    """The program in namespaces of its own."""
    if subprocess.run(["unshare", *options, "true"], capture_output=True).returncode:
        return f"no unshare {options[0]} here"
    where = fathom.record(f"{name}-{len(os.listdir(fathom.dir))}", "--", "unshare", *options,
                          PROGRAM, ROUNDS)
    equal(fathom.report(where, "name")["lost"]["total"], 0, "lost records")
    for request in check_rounds(where, ROUNDS):
        equal(request["process"][:8], "e2e-appl", "the process")
    harness.check_sums(fathom, where)
    return None


@tests.add
@harness.tries_when_emulated
def in_a_pid_namespace():
    return unshared("pids", "--pid", "--mount-proc", "--fork")


@tests.add
def in_a_time_namespace():
    return unshared("time", "--time", "--monotonic", "100000", "--fork")


def stamps_are_true(name, ahead_ns, *command):
    """Each span begins and ends where its program did that, as the host's clock says."""
    where = fathom.path(name)
    result = fathom.run("record", "-o", where, "--rotate", "100ms", "--", *command, PROGRAM, 1,
                        "stamps")
    equal(result.returncode, 0, result.stderr)
    said = [[int(ns) - ahead_ns for ns in line.split()] for line in result.stdout.splitlines()]
    spans = sorted((s["begin_ns"], s["end_ns"]) for s in spans_of(where) if s["name"] == "stamp")
    equal(len(spans), len(said), "stamps")
    for (begin, end), (before, after, before_end, after_end) in zip(spans, said):
        check(before - US <= begin <= after + US, f"begins at {begin}: {before} to {after}")
        check(before_end - US <= end <= after_end + US, f"ends at {end}: {before_end} on")
    for (_, end), (begin, _) in zip(spans, spans[1:]):
        check(end <= begin, f"one ends at {end}, the next begins at {begin}")
    harness.check_sums(fathom, where)


@tests.add
def times_are_those_of_the_clock():
    stamps_are_true("stamps", 0)


@tests.add
def times_are_those_of_the_clock_in_a_time_namespace():
    unshare = ["unshare", "--time", "--monotonic", "100000", "--fork"]
    if subprocess.run([*unshare, "true"], capture_output=True).returncode:
        return "no unshare --time here"
    stamps_are_true("stamps-namespace", 100000 * 10**9, *unshare)
    return None


def recorded_within(name, monotonic, *command):
    """The recorder itself in a time namespace; its command in that one, or in another."""
    unshare = ["unshare", "--time", "--monotonic", monotonic, "--boottime", "200000", "--fork"]
    if subprocess.run([*unshare, "true"], capture_output=True).returncode:
        return "no unshare --time here"
    where = fathom.path(name)
    before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    result = subprocess.run([*unshare, fathom.binary, "record", "-o", where, "--rotate", "20ms",
                             "--", *command, PROGRAM, str(ROUNDS)], text=True,
                            capture_output=True, timeout=120)
    after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    equal(result.returncode, 0, result.stderr)
    report = fathom.report(where, "name")
    equal(report["lost"]["total"], 0, "lost records")
    for chunk in fathom.chunks(where):
        check(before <= chunk["begin_ns"] < chunk["end_ns"] <= after, f"the host's time: {chunk}")
        check_clock(chunk["path"])
    check_rounds(where, ROUNDS)
    harness.check_sums(fathom, where)
    return None


def check_clock(chunk):
    """Monotonic, real and boot time at one instant, as the chunk has them."""
    with open(os.path.join(chunk, ".manifest"), encoding="utf-8") as manifest:
        clock = [int(n) for n in re.search(r"\bclock=([\d ]+)", manifest.read())[1].split()]
    for place, name in ((1, time.CLOCK_REALTIME), (2, time.CLOCK_BOOTTIME)):
        now = time.clock_gettime_ns(name) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        check(abs(now - (clock[place] - clock[0])) < 1e9, f"the relation of clocks: {clock}")


@tests.add
def the_recorder_in_a_time_namespace():
    return recorded_within("within", "100000")


@tests.add
def the_recorder_in_a_time_namespace_that_is_behind():
    """A time that the host had long ago, but not before it was started."""
    seconds = min(30000, int(time.clock_gettime(time.CLOCK_MONOTONIC)) // 2)
    return recorded_within("behind", f"-{seconds}")


@tests.add
def the_recorder_in_another_time_namespace_than_its_program():
    return recorded_within("other", "100000", "unshare", "--time", "--monotonic", "5000", "--fork")


@tests.add
def in_a_container_without_shared_memory():
    """Namespaces of its own, and a /dev/shm in which nothing can be made."""
    options = ["--mount", "--pid", "--fork", "--ipc", "--uts", "--mount-proc"]
    if subprocess.run(["unshare", *options, "true"], capture_output=True).returncode:
        return "no unshare here"
    script = ('mount -t tmpfs -o ro none /dev/shm && ! touch /dev/shm/x 2>/dev/null && '
              'exec "$0" "$@"')
    where = fathom.record("container", "--", "unshare", *options, "sh", "-c", script, PROGRAM,
                          ROUNDS)
    equal(fathom.report(where, "name")["lost"]["total"], 0, "lost records")
    check_rounds(where, ROUNDS)
    harness.check_sums(fathom, where)
    return None


def calls_recorded(name, sampling):
    where = fathom.record(name, "--spans-only", "--", "env", f"FATHOM_SAMPLING={sampling}",
                          PROGRAM, ROUNDS)
    return where, {row["key"]: row["count"] for row in fathom.report(where, "syscall")["rows"]}


@tests.add
def only_what_ran_under_a_span():
    where, calls = calls_recorded("spans-only", "always")
    equal((calls["getppid"], calls["read"], calls["getuid"]), (ROUNDS, 64 * ROUNDS, 2 * ROUNDS),
          "calls under spans")
    check("gettid" not in calls, "a call under no span")
    check_rounds(where, ROUNDS)


@tests.add
def a_span_that_is_not_sampled_is_none():
    where, calls = calls_recorded("not-sampled", "never")
    for name in ("getppid", "read", "getuid"):
        check(name not in calls, f"{name} under a span that is not sampled")
    equal([s["name"] for s in spans_of(where)], [], "spans")


@tests.add
def a_span_that_is_not_sampled_has_no_calls():
    """Its thread has them: what is not sampled must not stand in a report by name."""
    where = fathom.record("not-sampled-at-all", "--", "env", "FATHOM_SAMPLING=never", PROGRAM,
                          ROUNDS)
    equal(fathom.report(where, "name")["rows"], [], "rows by name")
    under = [span["name"] for trace in fathom.trace_all(where)["traces"] if trace["trace_id"]
             for span in trace["spans"]]
    equal(under, [], "what lies in a trace")
    calls = {row["key"]: row["count"] for row in fathom.report(where, "syscall")["rows"]}
    equal((calls["getppid"], calls["gettid"] > 0), (ROUNDS, True), "calls of the thread")


@tests.add
def a_program_that_runs_already():
    with harness.Process([PROGRAM, str(ROUNDS), "wait"], stdin=subprocess.PIPE) as program:
        try:
            where = fathom.path("later")
            result = fathom.run("record", "-o", where, "-p", program.pid, "-d",
                                f"{2 * harness.SLOWER}s")
            equal(result.returncode, 0, f"record -p: {result.stderr}")
        finally:
            program.kill()
    check_rounds(where, ROUNDS)


def call_open_at_the_begin(name, *options):
    """A read that began in a span before the recording: it stands under that, which waited."""
    where = fathom.path(name)
    with harness.Process([PROGRAM, "0", "held"], stdin=subprocess.PIPE) as program:
        asks = f"/proc/{program.pid}/syscall"
        harness.until(lambda: open(asks, encoding="ascii").read().startswith("0 0x0 "),
                      "it to read")
        with harness.Process([fathom.binary, "record", "-o", where, "-p", str(program.pid),
                              *options]) as recorder:
            harness.until(lambda: fathom.run("rotate", where).returncode == 0, "a recording")
            time.sleep(0.5)
            program.stdin.close()
            program.wait()
            recorder.terminate()
            equal(recorder.wait(), 0, "status of the recorder")
    spans = spans_of(where)
    reads = [s for s in spans if s["name"] == "read" and s["begin_bound"] == "soft"]
    equal(len(reads), 1, f"reads that were open: {spans}")
    owner = [s for s in spans if s["span_id"] == reads[0]["parent_id"]]
    equal(len(owner), 1, f"the span of the read: {spans}")
    time_of = owner[0]["time"]
    check(time_of["ipc_ns"] > 300000000 and time_of["kernel_ns"] < 100000000,
          f"the time of the span: {spans}")
    equal(owner[0]["begin_ns"], reads[0]["begin_ns"], "since when its span is known")


@tests.add
def a_call_that_was_open_in_a_span_at_the_begin():
    call_open_at_the_begin("held")


@tests.add
def a_call_that_was_open_in_a_span_at_the_begin_of_spans_alone():
    call_open_at_the_begin("held-spans", "--spans-only")


@tests.add
def spans_have_their_waits_where_calls_are_not_recorded():
    """The ring is found, although no call that makes it is seen."""
    for options in ([], ["--spans-only"]):
        where = fathom.record("waits" + "".join(options), "--detail", "waits", *options, "--",
                              PROGRAM, ROUNDS)
        answer = fathom.report(where, "name")
        equal(answer["lost"]["total"], 0, "lost records")
        rows = {row["key"]: row for row in answer["rows"]}
        equal({name: rows[name]["count"] for name in NAMES}, dict.fromkeys(NAMES, ROUNDS),
              f"spans, {options}")
        least = ROUNDS * 1500 * US if harness.SLOWER == 1 else 1
        check(rows["sleep"]["time"]["timer_ns"] > least, f"sleep: {rows['sleep']}")
        for name in ("request", "sleep", "read"):
            time_of = rows[name]["time"]
            # until a record of the kernel says so, a thread counts as one whose calls are recorded
            check(time_of["user_ns"] + time_of["kernel_ns"] < 0.05 * time_of["cpu_ns"],
                  f"parts of {name} by calls: {time_of}")
            check(time_of["cpu_ns"] > 0, f"on a CPU in {name}: {time_of}")
            equal(time_of["unknown_ns"], 0, f"unknown in {name}")
        spans = spans_of(where)
        sleeps = {span["span_id"] for span in spans if span["name"] == "sleep"}
        asleep = {span["parent_id"] for span in spans
                  if span["attributes"].get("syscall") == "clock_nanosleep"}
        # on a slow machine the time may be over before the sleep begins
        check(len(sleeps - asleep) <= (0 if harness.SLOWER == 1 else ROUNDS // 2),
              f"spans without their sleep: {sleeps - asleep}")


@tests.add
def start_order_does_not_matter_for_the_whole_host():
    with harness.Process([PROGRAM, str(ROUNDS), "wait"], stdin=subprocess.PIPE) as program:
        try:
            where = fathom.path("host")
            result = fathom.run("record", "--detail", "calls", "-o", where, "-d",
                                f"{2 * harness.SLOWER}s")
            equal(result.returncode, 0, f"record: {result.stderr}")
        finally:
            program.kill()
    check_rounds(where, ROUNDS)


with fathom:
    tests.run()
