#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which code ran on the CPUs: functions of programs whose functions are known."""
import glob
import os
import shutil
import subprocess
import sys
import xml.dom.minidom

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
PROGRAM, SPIN_JS, SPIN_JAVA = map(os.path.abspath, sys.argv[2:5])
HZ = 499
PERIOD_NS = 10**9 // HZ
MS = 400
tests = harness.Tests()
recorded = {}


def recording():
    """Of the program, once for all tests."""
    if "program" not in recorded:
        recorded["program"] = fathom.record(
            "program", "--sample", HZ, "--stacks", "20ms", "--rotate", "300ms", "--", PROGRAM, MS)
    return recorded["program"]


def functions(directory, *args):
    """{name: row} of functions."""
    return {row["key"]: row for row in fathom.report(directory, "function", *args)["rows"]}


def folded(directory, *args):
    """[(process, functions from the outermost on, ns)]"""
    lines = [line.rsplit(" ", 1)
             for line in fathom.ok("report", "--folded", *args, directory).splitlines()]
    stacks = [(line.split(";"), int(ns)) for line, ns in lines]
    return [(stack[0], stack[1:], ns) for stack, ns in stacks]


def check_time(ns, what, of_ms=MS):
    """Samples of so much CPU time; a kernel can lose some to what interrupts it."""
    check(of_ms * 0.6e6 <= ns <= of_ms * 1.4e6, f"{what}: {ns / 1e6:.0f} ms of {of_ms}")


def check_below(stacks, names):
    """Some stack has these functions in this order, with nothing between them."""
    for _, stack, _ in stacks:
        if names[0] in stack:
            at = stack.index(names[0])
            if stack[at:at + len(names)] == names:
                return
    raise harness.Failure(f"{names} in none of {[stack for _, stack, _ in stacks][:20]}")


@tests.add
def functions_have_the_time_that_they_ran():
    rows = functions(recording())
    check({"spin", "inner", "beside", "in_kernel"} <= rows.keys(), f"functions: {sorted(rows)}")
    check_time(rows["spin"]["total_ns"], "spin", 2 * MS)
    check_time(rows["inner"]["with_callees_ns"], "inner")
    check_time(rows["beside"]["with_callees_ns"], "beside")
    check_time(rows["in_kernel"]["with_callees_ns"], "in_kernel")
    for name, row in rows.items():
        equal(sum(row["time"].values()), row["total_ns"], f"parts of {name}")
        equal(row["count"] * PERIOD_NS, row["total_ns"], f"samples of {name}")
        check(row["total_ns"] <= row["with_callees_ns"], f"{name} with callees")
    kernel = sum(row["total_ns"] for name, row in rows.items() if name.endswith(" [kernel]"))
    check(kernel > MS * 0.4e6, f"time in the kernel: {kernel}")


@tests.add
def folded_stacks_are_those_of_the_source():
    stacks = folded(recording(), "--program", "e2e-code")
    check_below(stacks, ["main", "outer", "middle", "inner", "spin"])
    check_below(stacks, ["main", "beside", "spin"])
    equal({process for process, _, _ in stacks}, {"e2e-code"}, "processes")
    rows = functions(recording(), "--program", "e2e-code")
    equal(sum(ns for _, _, ns in stacks), sum(row["total_ns"] for row in rows.values()),
          "all samples")
    in_kernel = [stack for _, stack, _ in stacks if "in_kernel" in stack]
    check(any(name.endswith("_[k]") for stack in in_kernel for name in stack), "the kernel's part")


@tests.add
def spans_have_their_functions():
    rows = functions(recording(), "--name", "bu?y")
    check("inner" in rows and "beside" not in rows, f"under the span: {sorted(rows)}")
    check_time(rows["spin"]["total_ns"], "spin under the span")
    equal(functions(recording(), "--name", "other"), {}, "under a span that is none")
    check_time(functions(recording(), "--service", "code")["spin"]["total_ns"], "the service",
               2 * MS)


@tests.add
def a_flame_graph_is_whole():
    place = fathom.path("flame.svg")
    fathom.ok("report", "--flame", place, recording())
    document = xml.dom.minidom.parse(place)
    titles = {title.firstChild.data.split(": ")[0] for title in
              document.getElementsByTagName("title")}
    check({"all", "main", "outer", "middle", "inner", "spin", "beside"} <= titles,
          f"boxes: {sorted(titles)}")
    boxes = document.getElementsByTagName("rect")
    check(all(float(box.getAttribute("width")) <= 1200.01 for box in boxes), "widths")
    equal(document.getElementsByTagName("script").length, 1, "the script is in it")
    with open(place, encoding="utf-8") as file:
        check("http" not in file.read().replace("http://www.w3.org/2000/svg", ""),
              "nothing is fetched")


@tests.add
def waits_have_functions_by_cause():
    stacks = folded(recording(), "--of", "timer")
    check(any("deep_leaf" in stack and stack[-1] == "[timer]" for _, stack, _ in stacks),
          f"the sleep: {stacks}")
    check(all("deep_leaf" not in stack for _, stack, _ in folded(recording(), "--of", "disk")),
          "another cause")


@tests.add
def a_stack_that_is_cut_says_so():
    if os.uname().machine != "x86_64":
        return "unwind tables are used on x86-64"
    short = fathom.record("short", "--stacks", "20ms", "--", PROGRAM, 1)
    check("    …\n" in fathom.ok("trace", "--all", short), "the text ends with …")
    stacks = folded(short, "--of", "timer")
    check(any(stack[0] == "…" and "deep_leaf" in stack for _, stack, _ in stacks), stacks)
    check(fathom.report(short, "process")["incomplete"] >= 1, "it counts as incomplete")
    long = fathom.record("long", "--stacks", "20ms,4K", "--", PROGRAM, 1)
    check_below(folded(long, "--of", "timer"), ["main", "deep_a", "deep_b", "deep_c", "deep_leaf"])
    equal(fathom.report(long, "process")["incomplete"], 0, "with 4K")
    return None


@tests.add
def the_host_is_sampled_without_calls():
    directory = fathom.path("host")
    result = fathom.run("record", "-a", "--detail", "waits", "--sample", HZ, "-o", directory,
                        "--", PROGRAM, MS)
    equal(result.returncode, 0, result.stderr)
    check_time(functions(directory, "--program", "e2e-code")["spin"]["total_ns"], "spin", 2 * MS)


@tests.add
def chunks_merge_to_the_same_functions():
    parts = []
    for number, chunk in enumerate(sorted(glob.glob(os.path.join(recording(), "0*")))):
        parts.append(fathom.path(f"{number}.partial"))
        fathom.ok("map", chunk, "-o", parts[-1])
    check(len(parts) > 2, f"{len(parts)} chunks")
    merged = fathom.path("merged.partial")
    fathom.ok("merge", *reversed(parts), "-o", merged)
    equal(folded(merged), folded(recording()), "from partial files")


@tests.add
def nothing_is_sampled_that_nobody_asked_for():
    directory = fathom.record("unasked", "--", PROGRAM, 1)
    result = fathom.run("report", "--by", "function", directory)
    equal(result.returncode, 1, "status")
    check("--sample" in result.stderr, result.stderr)


def check_jit(name, command, names):
    """The functions of a program that a compiler in it makes, in their order."""
    directory = fathom.record(name, "--sample", HZ, "--", *command)
    stacks = folded(directory)
    found = [stack for _, stack, _ in stacks if any(names[-1] in frame for frame in stack)]
    check(found, f"{names[-1]} in none of {[stack[-3:] for _, stack, _ in stacks][-40:]}")
    for stack in found:
        at = next(i for i, frame in enumerate(stack) if names[-1] in frame)
        if at and all(part in frame and frame.endswith("_[j]")
                      for part, frame in zip(names, stack[at - 1:at + 1])):
            break
    else:
        raise harness.Failure(f"{names} in none of {found}")
    place = fathom.path(name + ".svg")
    fathom.ok("report", "--flame", place, directory)
    with open(place, encoding="utf-8") as file:
        check(names[-1] in file.read(), f"{names[-1]} in the flame graph")


@tests.add
def a_node_program():
    if not shutil.which("node"):
        return "node is missing"
    check_jit("node", ["node", "--perf-basic-prof", "--interpreted-frames-native-stack", SPIN_JS,
                       str(MS)], ["handleRequest", "hotInner"])
    return None


@tests.add
def a_java_program():
    if not shutil.which("java") or not shutil.which("javac"):
        return "a JDK is missing"
    built = subprocess.run(["javac", "-d", fathom.path(""), SPIN_JAVA], capture_output=True,
                           text=True, check=False)
    if built.returncode:
        return f"javac cannot build it: {built.stderr.strip().splitlines()[-1:]}"
    flags = ["-XX:+PreserveFramePointer", "-XX:+UnlockDiagnosticVMOptions",
             "-XX:+DumpPerfMapAtExit"]
    if subprocess.run(["java", *flags, "-version"], capture_output=True, check=False).returncode:
        return "this java writes no names at its end (JDK 17 does)"
    check_jit("java", ["java", *flags, "-cp", fathom.path(""), "Spin", str(3 * MS)],
              ["handleRequest", "hotInner"])
    return None


def python_with_trampolines():
    """An interpreter that can name its functions for perf (3.12 and later); None: there is none."""
    places = [shutil.which(f"python3.{minor}") for minor in range(12, 20)]
    places += glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python3"))
    for place in filter(None, [sys.executable, *places]):
        tried = subprocess.run([place, "-c", "import sys; sys.activate_stack_trampoline('perf')"],
                               capture_output=True, check=False)
        if not tried.returncode:
            return place
    return None


@tests.add
def a_python_program():
    """Each function of Python is called by code of its own, which keeps no frame pointer."""
    python = python_with_trampolines()
    if not python:
        return "no Python can name its functions for perf"
    place = fathom.path("spin.py")
    with open(place, "w", encoding="ascii") as file:
        file.write(SPIN_PY)
    directory = fathom.record("python", "--sample", f"{HZ},4K", "--", python, place, 3 * MS)
    found = [[frame for frame in stack if frame.startswith("py::")]
             for _, stack, _ in folded(directory)]
    names = [f"py::{name}:{place}_[j]" for name in ("handle_request", "hot_inner")]
    check(names in [stack[-2:] for stack in found], f"{names} in none of {found}")
    text = fathom.ok("report", "--by", "function", "--sort", "callees", directory)
    check("py::hot_inner" in text, f"a function that only calls others: {text}")
    return None


SPIN_PY = """
import sys, time
sys.activate_stack_trampoline("perf")
def hot_inner(n):
    sum = 0
    for i in range(n): sum += i * i
    return sum
def handle_request(end):
    while time.process_time() < end: hot_inner(2000)
handle_request(time.process_time() + int(sys.argv[1]) / 1000)
"""


@tests.add
def names_that_another_user_wrote_are_not_believed():
    """A program with code of its own, and a file of somebody else with names for it."""
    if not shutil.which("node"):
        return "node is missing"
    script = ("process.setuid && process.setuid(65534);" +
              open(SPIN_JS, encoding="utf-8").read())
    place = fathom.path("foreign.js")
    os.chmod(fathom.top, 0o755)
    with open(place, "w", encoding="utf-8") as file:
        file.write(script)
    os.chmod(place, 0o644)
    # the file is made by root, as what the program names; then it is given to another user
    wrapper = (f'node {place} {MS} & pid=$!; printf "0 ffffffffffff forged\\n" > '
               '/tmp/perf-$pid.map; chown 12345 /tmp/perf-$pid.map; wait $pid; '
               'status=$?; rm -f /tmp/perf-$pid.map; exit $status')
    directory = fathom.record("foreign", "--sample", HZ, "--", "sh", "-c", wrapper)
    check(all("forged" not in frame for _, stack, _ in folded(directory) for frame in stack),
          "names of another user")
    return None


with fathom:
    tests.run()
