#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a recording says of its own cost: at its end, by program, by process and by span."""
import json
import os
import re
import signal
import subprocess
import sys
import time

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
calls = sys.argv[2]
tests = harness.Tests()

COUNTED = 50000
LINE = re.compile(r"^fathom took ([\d.]+) % of the CPUs, ([\d.]+) % in kernel programs$", re.M)


def record(name, *options, seconds=2.2, counted=()):
    recording = fathom.path(name)
    result = fathom.run("record", "-o", recording, *options, "--", calls, seconds, *counted)
    equal(result.returncode, 0, f"record: {result.stderr}")
    return recording, result.stderr


def sections(report):
    found = {}
    for row in report["rows"]:
        found.setdefault(row["of"], []).append(row)
    return found


def total(rows):
    return sum(row["total_ns"] for row in rows)


@tests.add
def the_last_line_and_the_report_say_the_same():
    recording, said = record("told", "--rotate", "300ms")
    line = LINE.search(said)
    check(line, f"a line with the cost: {said}")
    report = fathom.report(recording, "overhead")
    cost, rows = report["cost"], sections(report)
    equal(total(rows["program"]), cost["programs_ns"], "programs")
    equal(total(rows["recorder"]), cost["processes_ns"], "processes")
    check(0 < cost["programs_ns"] < cost["cpu_ns"], f"{cost}")
    percent = 100 * (cost["programs_ns"] + cost["processes_ns"]) / cost["cpu_ns"]
    check(abs(percent - float(line.group(1))) < 0.5 + percent / 4, f"{percent} % and {line.group()}")
    text = fathom.ok("report", "--by", "overhead", recording)
    check(re.search(r"^cost: fathom took [\d.]+ % of the CPUs", text, re.M), text)
    check("cost" in fathom.report(recording, "process"), "in other answers")


@tests.add
@harness.tries  # the recorder must find the ring of the program before the span ends
def calls_are_charged_to_their_process_and_span():
    recording, _ = record("charged", counted=[COUNTED])
    made = {row["key"]: row["count"] for row in fathom.report(recording, "syscall")["rows"]}
    rows = sections(fathom.report(recording, "overhead"))
    programs = {row["key"]: row for row in rows["program"]}
    check(programs["sys_exit"]["total_ns"] > 0, f"{programs['sys_exit']}")
    hit = {row.get("process"): row for row in rows["process"]}
    mine = hit[os.path.basename(calls)[:15]]
    check(made["getppid"] <= mine["count"] < made["getppid"] + 50000, f"{made['getppid']}: {mine}")
    check(total(rows["process"]) <= total(rows["program"]) * 2, "what programs took, about")
    span, = rows["span"]
    equal((span["key"], span["service"]), ("counted", "overhead"), "the span")
    # it has no context before the recorder has found the place of it
    check(COUNTED / 2 < span["count"] < COUNTED + 20000, f"{span}")
    check(0 < span["total_ns"] < mine["total_ns"], f"{span} of {mine}")


@tests.add
def the_account_is_the_same_in_pieces_and_in_files():
    recording = fathom.path("told")
    whole = fathom.ok("report", "--json", "--by", "overhead", recording)
    chunks = [chunk["path"] for chunk in fathom.chunks(recording)]
    check(len(chunks) >= 4, "several chunks")
    equal(fathom.ok("report", "--json", "--by", "overhead", *reversed(chunks)), whole, "chunks")
    files = []
    for number, chunk in enumerate(chunks):
        files.append(fathom.path(f"{number}.partial"))
        fathom.ok("map", chunk, "-o", files[-1])
    fathom.ok("merge", *files[::2], "-o", fathom.path("even.partial"))
    fathom.ok("merge", *files[1::2], fathom.path("even.partial"), "-o", fathom.path("all.partial"))
    merged = json.loads(fathom.ok("report", "--json", "--by", "overhead", fathom.path("all.partial")))
    equal(merged["rows"], json.loads(whole)["rows"], "merged files")


@tests.add
def commands_for_chunks_count():
    spin = "python3 -c 'import time\nwhile time.process_time() < 0.3: pass' \"$1\""
    recording, _ = record("hooks", "--rotate", "500ms", "--on-chunk", spin, seconds=2)
    rows = {row["key"]: row for row in sections(fathom.report(recording, "overhead"))["recorder"]}
    check(rows["--on-chunk"]["total_ns"] > 2e8, f"{rows}")
    check(rows["fathom"]["total_ns"] > 0, f"{rows}")


@tests.add
def top_shows_what_it_costs():
    with subprocess.Popen([calls, "20"]) as load:
        try:
            text = fathom.ok("top", "-n", "2", "-p", str(load.pid))
            answer = json.loads(fathom.ok("top", "--once", "--json", "-p", str(load.pid)))
        finally:
            load.kill()
    check(len(re.findall(r"  fathom [\d.]+ % of the CPUs, [\d.]+ % in", text)) == 2, text)
    check(answer["cost"]["processes_ns"] > 0, f"{answer['cost']}")


@tests.add
def without_the_privilege_programs_are_not_measured():
    if subprocess.run(["setpriv", "--version"], capture_output=True).returncode:
        return "setpriv is missing"
    recording = fathom.path("few")
    result = subprocess.run(
        ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin", fathom.binary,
         "record", "-o", recording, "--", calls, "1.5"], text=True, capture_output=True, timeout=60)
    equal(result.returncode, 0, f"record: {result.stderr}")
    check("its kernel programs were not measured (only CAP_SYS_ADMIN" in result.stderr, result.stderr)
    report = fathom.report(recording, "overhead")
    check("programs_ns" not in report["cost"], f"{report['cost']}")
    equal({row["of"] for row in report["rows"]}, {"recorder"}, "rows")
    return None


STEP_DOWN = re.compile("only (waits|waits and bytes|waits, with bytes for 1 s in each 30 s,) are recorded from now on")


def at_softirqs(recording):
    rows = sections(fathom.report(recording, "overhead"))["program"]
    return {row["key"] for row in rows if row["key"].startswith("softirq")}


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


@tests.add
def a_budget_lowers_the_level_and_says_so():
    recording, said = fathom.path("budget"), fathom.path("budget.said")
    budget = 1.2 / os.cpu_count()
    with open(said, "w", encoding="utf-8") as stderr, subprocess.Popen(
            [fathom.binary, "record", "-o", recording, "--detail", "calls", "--budget", f"{budget:.2f}%",
             "--", calls, "90", "0", "400"], stderr=stderr, start_new_session=True) as recorder:
        try:
            # on a busy host waits may cost nearly what waits with bytes do: then these stay
            harness.until(lambda: STEP_DOWN.search(lines_of(said)), "a step", 60)
            harness.until(lambda: fathom.ok("detail", recording).startswith("waits"), "its level", 10)
            # what somebody asks for counts for its time, whatever it costs
            check(fathom.ok("detail", recording, "calls", "--for", "2s").startswith("calls for"), "asked")
            harness.until(lambda: fathom.ok("detail", recording).startswith("waits"), "the end of it", 20)
        finally:
            recorder.send_signal(signal.SIGINT)
            recorder.wait(60)
            os.killpg(recorder.pid, signal.SIGKILL)  # the load, which holds our output
    equal(len(STEP_DOWN.findall(lines_of(said))), len({*STEP_DOWN.findall(lines_of(said))}), lines_of(said))
    report = fathom.report(recording, "syscall")
    steps = [step for step in report["steps"] if step["why"] == "above"]
    levels = [steps[0]["from"], *(step["to"] for step in steps)]
    lower = ["calls", "waits,bytes", "waits,bytes=1s/30s", "waits"]
    check(len(levels) > 1 and levels == [level for level in lower if level in levels], f"{report['steps']}")
    step = steps[0]
    check(step["cost_ppm"] > max(step["budget_ppm"], step["predicted_ppm"]), f"{step}")
    check(step["time_ns"] - report["from_ns"] < 15e9 * harness.SLOWER or os.getloadavg()[0] > 4,
          f"it took {(step['time_ns'] - report['from_ns']) / 1e9} s")
    equal(report["detail"], "waits", "some of the time")
    with_calls = step["time_ns"] - report["from_ns"]  # and the two seconds asked for
    check(with_calls < report["calls_ns"] < with_calls + 10e9 and
          report["calls_ns"] < report["recorded_ns"], f"calls in {report['calls_ns']} ns: {step}")
    check(any(row["key"] == "getppid" for row in report["rows"]), "calls before the step")
    # calls may be given up, so none runs at softirqs where waits need none
    waits, _ = record("waits", "--detail", "waits", seconds=1.2)
    equal(at_softirqs(recording), at_softirqs(waits), "programs at softirqs")
    text = fathom.ok("report", recording)
    check(re.search(r"^budget: from \d\d:\d\d:\d\d on only waits(,bytes(=1s/30s)?)? were recorded: (calls|waits,bytes(=1s/30s)?) took", text, re.M), text)
    for row in fathom.report(recording, "thread")["rows"]:
        equal(sum(row["time"].values()), row["total_ns"], f"sum of {row}")


# Forks, execs, sleeps and ends, ten times a second or so.
SLEEPS = "while sleep 0.1; do :; done"


def sealed(recording):
    return [chunk for chunk in fathom.chunks(recording) if chunk["state"] == "sealed"]


@tests.add
def a_hard_budget_pauses_and_goes_on_when_a_level_is_asked_for():
    recording, said = fathom.path("hard"), fathom.path("hard.said")
    with open(said, "w", encoding="utf-8") as stderr, subprocess.Popen(
            [fathom.binary, "record", "-o", recording, "--detail", "waits", "--budget", "0.01%,hard",
             "--", "sh", "-c", SLEEPS], stderr=stderr, start_new_session=True) as recorder:
        try:
            harness.until(lambda: "nothing is recorded for 30 s" in lines_of(said), "a pause", 60)
            harness.until(lambda: fathom.ok("detail", recording).startswith("nothing"), "its level", 10)
            harness.until(lambda: len(sealed(recording)) == 1, "the chunk before the pause", 20)
            refused = fathom.run("rotate", recording)
            check(refused.returncode and "to hold the budget" in refused.stderr, f"rotate: {refused}")
            began_ns = time.monotonic_ns()
            fathom.ok("detail", recording, "waits", "--for", "1500ms")
            harness.until(lambda: len(sealed(recording)) == 2, "a second chunk", 20)
            ended_ns = time.monotonic_ns()
            harness.until(lambda: fathom.ok("detail", recording).startswith("nothing"), "a pause", 10)
        finally:
            recorder.send_signal(signal.SIGINT)
            recorder.wait(60)
            os.killpg(recorder.pid, signal.SIGKILL)  # the load, which holds our output
    report = fathom.report(recording, "thread")
    gap, = report["gaps"]
    equal(gap.get("why"), "budget", f"{gap}")
    check(began_ns <= gap["to_ns"] < report["to_ns"] <= ended_ns, f"{began_ns} {gap} {ended_ns}")
    for step in report["steps"]:
        equal((step["from"], step["to"], step["why"]), ("waits", "nothing", "above"), f"{step}")
    text = " ".join(fathom.ok("report", recording).split())
    check("the recorder paused to hold its budget" in text, text)
    check(re.search(r"budget: from \d\d:\d\d:\d\d on nothing was recorded: waits took", text), text)
    for row in report["rows"]:
        equal(sum(row["time"].values()), row["total_ns"], f"sum of {row}")
    second, = [chunk for chunk in sealed(recording) if chunk["begin_ns"] == gap["to_ns"]]
    rows = fathom.report(second["path"], "thread")["rows"]
    check({"sh", "sleep"} <= {row["program"].split("/")[-1] for row in rows if row.get("program")},
          f"names behind the pause: {rows}")
    check(all(row["time"]["unknown_ns"] < 1e8 for row in rows), f"unknown behind the pause: {rows}")


@tests.add
def a_pause_ends_by_itself():
    """And the next one is twice as long, since waits do not fit into the budget."""
    recording, said = fathom.path("pauses"), fathom.path("pauses.said")
    with open(said, "w", encoding="utf-8") as stderr, subprocess.Popen(
            [fathom.binary, "record", "-o", recording, "--detail", "waits", "--budget",
             "0.01%,hard,1s", "--", "sh", "-c", SLEEPS], stderr=stderr,
            start_new_session=True) as recorder:
        try:
            harness.until(lambda: "nothing is recorded for 1 s" in lines_of(said), "a pause", 60)
            harness.until(lambda: "waits are recorded again" in lines_of(said), "its end", 30)
            harness.until(lambda: "nothing is recorded for 2 s" in lines_of(said), "the next", 30)
            harness.until(lambda: lines_of(said).count("waits are recorded again") == 2, "its end", 30)
        finally:
            recorder.send_signal(signal.SIGINT)
            recorder.wait(60)
            os.killpg(recorder.pid, signal.SIGKILL)  # the load, which holds our output
    report = fathom.report(recording, "thread")
    gaps = [gap for gap in report["gaps"] if gap.get("why") == "budget"]
    lengths = [gap["to_ns"] - gap["from_ns"] for gap in gaps]
    check(len(gaps) >= 2 and lengths[0] >= 9e8 and lengths[1] >= 19e8, f"pauses: {report['gaps']}")
    equal([(step["from"], step["to"], step["why"]) for step in report["steps"]][:4],
          [("waits", "nothing", "above"), ("nothing", "waits", "below")] * 2, "steps")
    for row in report["rows"]:
        equal(sum(row["time"].values()), row["total_ns"], f"sum of {row}")


@tests.add
def a_budget_that_cannot_be_held_is_refused():
    for share in ("3", "0%", "101%", "x%", "%", "3%,soft", "3%,", "3%hard", "3%,hard,", "3%,hard,x",
                  "3%,hard1s"):
        result = fathom.run("record", "--budget", share, "-d", "1")
        equal(result.returncode, 2, f"status with {share}: {result.stderr}")
    for command in ["record", "--flight"], ["up"]:
        result = fathom.run(*command, "--budget", "3%,hard")
        equal(result.returncode, 2, f"status of {command}: {result.stderr}")
        check("leave out ,hard" in result.stderr, result.stderr)
    if subprocess.run(["setpriv", "--version"], capture_output=True).returncode:
        return "setpriv is missing"
    result = subprocess.run(
        ["setpriv", "--bounding-set", "-sys_admin", "--inh-caps", "-sys_admin", fathom.binary,
         "record", "-o", fathom.path("refused"), "--budget", "3%", "-d", "1"], text=True,
        capture_output=True, timeout=60)
    equal(result.returncode, 1, f"status: {result.stderr}")
    check("--budget needs CAP_SYS_ADMIN" in result.stderr, result.stderr)
    return None


with fathom:
    tests.run()
