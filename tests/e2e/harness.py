# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: running fathom, and checks that hold of every recording."""
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

# meson names programs relative to its build directory; tests go elsewhere
sys.argv[1:] = [os.path.abspath(word) if os.path.exists(word) else word for word in sys.argv[1:]]

# a test is root; for whom it was called is another matter
for variable in ("SUDO_UID", "SUDO_GID"):
    os.environ.pop(variable, None)

PARTS = ["user_ns", "kernel_ns", "runnable_ns", "throttled_ns", "disk_ns", "network_ns", "lock_ns",
         "timer_ns", "ipc_ns", "fault_ns", "child_ns", "other_ns", "off_thread_ns", "unknown_ns"]
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")
SLOWER = int(os.environ.get("SLOWER", "1"))  # an emulated machine: how many times
SUMMED = ["thread", "process", "syscall", "cause", "name", "service"]


class Failure(Exception):
    """A check that does not hold."""


class PatientPopen(subprocess.Popen):
    """On an emulated machine: a test's time limits are there against hanging only."""

    def communicate(self, input=None, timeout=None):
        return super().communicate(input, timeout and timeout * SLOWER)

    def wait(self, timeout=None):
        return super().wait(timeout and timeout * SLOWER)


if SLOWER > 1:
    subprocess.Popen = PatientPopen


def check(condition, text):
    if not condition:
        raise Failure(text)


def equal(got, expected, text):
    check(got == expected, f"{text}: is {got!r}, should be {expected!r}")


class Tests:
    """Runs functions as TAP tests: `tests = Tests(); @tests.add; def name(): ...; tests.run()`."""

    def __init__(self):
        self.list = []

    def add(self, function):
        self.list.append(function)
        return function

    def run(self):
        """All; or those that ONLY names in the environment, or all but those, if with a "-"."""
        only = os.environ.get("ONLY", "").split(",")
        left_out = [name[1:] for name in only if name.startswith("-")]
        wanted = [name for name in only if name and name[1:] not in left_out]
        known = {test.__name__ for test in self.list}
        check(known.issuperset(left_out + wanted), f"there are tests of these names: {only}")
        self.list = [test for test in self.list if test.__name__ not in left_out and
                     (not wanted or test.__name__ in wanted)]
        failed = 0
        print(f"1..{len(self.list)}", flush=True)
        for number, test in enumerate(self.list, 1):
            try:
                skip = test()
                print(f"ok {number} - {test.__name__}" + (f" # SKIP {skip}" if skip else ""),
                      flush=True)
            except Exception as problem:  # a test that breaks has failed
                failed += 1
                for line in f"{type(problem).__name__}: {problem}".splitlines():
                    print("#", line)
                print(f"not ok {number} - {test.__name__}", flush=True)
        sys.exit(1 if failed else 0)


def until(holds, what, seconds=30):
    """Waits for a condition."""
    end = time.monotonic() + seconds * SLOWER
    while not holds():
        check(time.monotonic() < end, f"waited {seconds * SLOWER} s for {what}")
        time.sleep(0.02)


class Process(subprocess.Popen):
    """A program that a failure inside its `with` ends, which would wait for it otherwise."""

    def __exit__(self, kind, *problem):
        if kind and self.poll() is None:
            self.terminate()
            try:
                self.wait(10)
            except subprocess.TimeoutExpired:
                self.kill()
        super().__exit__(kind, *problem)


def require_root():
    if os.geteuid() != 0:
        print("recording needs root")
        sys.exit(77)


class Fathom:
    """The binary under test, and a directory for its recordings, removed at the end."""

    def __init__(self, binary):
        self.binary = os.path.abspath(binary)
        self.dir = tempfile.mkdtemp(prefix="fathom-e2e-")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.dir, name)

    def run(self, *args, **options):
        options.setdefault("timeout", 120)
        return subprocess.run([self.binary, *map(str, args)], text=True, capture_output=True,
                              cwd=self.dir, **options)

    def ok(self, *args, **options):
        result = self.run(*args, **options)
        equal(result.returncode, 0, f"fathom {' '.join(map(str, args))}: {result.stderr}")
        return result.stdout

    def record(self, name, *args):
        """Records into a directory of that name; the command's status must be 0."""
        result = self.run("record", "-o", self.path(name), *args)
        equal(result.returncode, 0, f"record {' '.join(map(str, args))}: {result.stderr}")
        return self.path(name)

    def report(self, recording, by, *args):
        return json.loads(self.ok("report", "--json", "--by", by, *args, recording))

    def trace_all(self, recording, *args):
        return json.loads(self.ok("trace", "--json", "--all", *args, recording))

    def chunks(self, recording):
        return json.loads(self.ok("chunks", "--json", recording))["chunks"]


def total(time):
    equal(sorted(time), sorted(PARTS), "parts of a time split")
    return sum(time.values())


def check_trees(traces):
    """What ran in the kernel stands under something; what ran under no span, under its thread."""
    for trace in traces:
        ids = {span["span_id"] for span in trace["spans"]}
        roots = [span["kind"] for span in trace["spans"] if "parent_id" not in span]
        if not trace["trace_id"]:
            equal(roots, ["thread"], "roots of what ran under no span")
        for span in trace["spans"]:
            if span["kind"] in ("syscall", "fault", "wait", "block"):
                check(span.get("parent_id") in ids,
                      f"{span['kind']} {span['name']} of {span['tid']} at {span['begin_ns']} is an "
                      f"orphan in trace {trace['trace_id']!r}")


def check_sums(fathom, recording):
    """The sums that the command line promises of every recording."""
    for by in SUMMED:
        for row in fathom.report(recording, by)["rows"]:
            equal(total(row["time"]), row["total_ns"], f"split of {by} {row['key']}")
    threads = {}
    for row in fathom.report(recording, "thread")["rows"]:
        threads[row.get("pid")] = threads.get(row.get("pid"), 0) + row["total_ns"]
    processes = {}  # a number can have been that of several, one after the other
    for row in fathom.report(recording, "process")["rows"]:
        processes[row.get("pid")] = processes.get(row.get("pid"), 0) + row["total_ns"]
    equal(processes, threads, "processes over their threads")
    traces = fathom.trace_all(recording)["traces"]
    check_trees(traces)
    for trace in traces:
        for span in trace["spans"]:
            hard = span["begin_bound"] == span["end_bound"] == "hard"
            if span["threads"] == 1 and hard:
                equal(total(span["time"]), span["end_ns"] - span["begin_ns"],
                      f"split of {span['kind']} {span['name']}")


def check_row_keys(fathom, recording, *groupings):
    """Real rows have the keys that the golden files show, in their order."""
    for by in groupings:
        with open(f"{GOLDEN}/report-by-{by}/expected.json", encoding="utf-8") as file:
            shapes = {tuple(row) for row in json.load(file)["rows"]}
        rows = fathom.report(recording, by)["rows"]
        check(rows, f"there are rows by {by}")
        for row in rows:
            check(tuple(row) in shapes, f"keys by {by}: {list(row)} is none of {shapes}")
            time = row.get("time", {})
            check(by != "cause" or [key for key in time if time[key]] in ([], [row["key"] + "_ns"]),
                  f"a cause has time of its own alone: {row}")
        if by == "cause":
            equal(sorted(row["key"] + "_ns" for row in rows), sorted(PARTS), "rows by cause")


def babeltrace_counts(chunk):
    """How many events babeltrace2 counts in a chunk, and how many it says were discarded."""
    result = subprocess.run(["babeltrace2", chunk, "-c", "sink.utils.counter", "-p", "step=+0"],
                            text=True, capture_output=True, timeout=300)
    equal(result.returncode, 0, f"babeltrace2 {chunk}: {result.stderr}")
    events = re.findall(r"(\d+) Event message", result.stdout)
    check(events, f"babeltrace2 {chunk} counts nothing: {result.stdout}")
    text = subprocess.run(["babeltrace2", chunk], text=True, capture_output=True, timeout=300)
    equal(text.returncode, 0, f"babeltrace2 {chunk}: {text.stderr}")
    discarded = sum(int(n) for n in re.findall(r"discarded (\d+) event", text.stderr))
    check("may have discarded" not in text.stderr, "a loss without a number")
    return int(events[-1]), discarded


def check_babeltrace(fathom, recording):
    if not shutil.which("babeltrace2"):
        return
    for chunk in fathom.chunks(recording):
        events, discarded = babeltrace_counts(chunk["path"])
        lost = chunk["lost"]
        equal(events, chunk["records"], f"events of {chunk['path']}")
        equal(discarded, lost["buffer"] + lost["recursion"] + lost["application"],
              f"discarded events of {chunk['path']}")


def programs_left(before):
    """Programs in the kernel that were not there before and that no living process holds."""
    tool = shutil.which("bpftool") or shutil.which("bpftool", path="/usr/sbin")
    if not tool:
        return None
    left = set()
    for _ in range(50):  # the kernel frees them a little after their last descriptor
        result = subprocess.run([tool, "prog", "show", "--json"], text=True, capture_output=True)
        if result.returncode:
            return None
        left = {program["id"] for program in json.loads(result.stdout or "[]")
                if not program.get("pids")} - before
        if not left:
            break
        time.sleep(0.1)
    return left
