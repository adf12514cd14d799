# SPDX-License-Identifier: Apache-2.0
"""What the end-to-end tests share: running fathom, and checks that hold of every recording."""
import fcntl
import functools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

# meson names programs relative to its build directory; tests go elsewhere
sys.argv[1:] = [os.path.abspath(word) if os.path.exists(word) else word for word in sys.argv[1:]]

# a test is root; for whom it was called is another matter
for variable in ("SUDO_UID", "SUDO_GID"):
    os.environ.pop(variable, None)

PARTS = ["user_ns", "kernel_ns", "runnable_ns", "throttled_ns", "disk_ns", "network_ns", "lock_ns",
         "timer_ns", "ipc_ns", "fault_ns", "child_ns", "other_ns", "off_thread_ns", "unknown_ns", "cpu_ns",
         "idle_ns"]
GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden")
SLOWER = int(os.environ.get("SLOWER", "1"))  # an emulated machine: how many times
WAITS = ["runnable_ns", "throttled_ns", "disk_ns", "network_ns", "lock_ns", "timer_ns", "ipc_ns",
         "child_ns", "other_ns", "idle_ns"]
CHECKERS = 2  # threads that check what was recorded
SUMMED = ["thread", "process", "syscall", "cause", "name", "service"]
CHUNK = re.compile(r"(\.open-\d{20}|\d{20}-\d{20})-\d{6}")
opened = []  # the Fathom objects of this test


class Failure(Exception):
    """A check that does not hold."""


class Broken(Failure):
    """What holds whatever a machine hides, takes or does meanwhile: nobody tries it again."""


def records_host(words):
    """Whether this is a command of fathom that looks at all programs of the host."""
    for at, command in enumerate(words):
        if command not in ("record", "top", "up") or not at or \
                not os.path.basename(words[at - 1]).endswith("fathom"):
            continue
        options, _, program = " ".join(["", *words[at + 1:]]).partition(" -- ")
        options = options.split()
        return command == "up" or "-a" in options or "--all" in options or not (
            program or any(word.startswith(("-p", "--pid", "--cgroup")) for word in options))
    return False


class Popen(subprocess.Popen):
    """
    On an emulated machine, a test's time limits are there against hanging only. While tests that
    listen to rings run beside (tools/run-tests), nobody may record the host.
    """

    def __init__(self, args, *rest, **options):
        if os.environ.get("FATHOM_TEST_SCOPED") and not isinstance(args, (str, bytes)) and \
                records_host([os.fsdecode(word) for word in args]):
            raise Broken(f"only tests of the suite 'host' may record the host: {args}")
        super().__init__(args, *rest, **options)

    def communicate(self, input=None, timeout=None):
        return super().communicate(input, timeout and timeout * SLOWER)

    def wait(self, timeout=None):
        return super().wait(timeout and timeout * SLOWER)


subprocess.Popen = Popen


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
        """
        All; or those that ONLY names in the environment, or all but those, if with a "-". Those
        of SHORT, if there is one, are enough unless FATHOM_TEST_LONG is set or somebody asks
        for others.
        """
        only = os.environ.get("ONLY", "").split(",")
        short = os.environ.get("SHORT", "")
        if short and not os.environ.get("FATHOM_TEST_LONG") and all(
                name[:1] in ("", "-") for name in only):
            only += short.split(",")
        left_out = [name[1:] for name in only if name.startswith("-")]
        wanted = [name for name in only if name and name[0] != "-"]
        known = {test.__name__ for test in self.list}
        check(known.issuperset(left_out + wanted), f"there are tests of these names: {only}")
        self.list = [test for test in self.list if test.__name__ not in left_out and
                     (not wanted or test.__name__ in wanted)]
        failed = 0
        print(f"1..{len(self.list)}", flush=True)
        for number, test in enumerate(self.list, 1):
            begin = time.monotonic()
            try:
                skip = test()
                tested = time.monotonic()
                for fathom in opened:
                    fathom.check_recordings()
                print(f"# {tested - begin:.1f} s, and {time.monotonic() - tested:.1f} s to check "
                      "what it recorded")
                print(f"ok {number} - {test.__name__}" + (f" # SKIP {skip}" if skip else ""),
                      flush=True)
            except Exception as problem:  # a test that breaks has failed
                failed += 1
                for line in f"{type(problem).__name__}: {problem}".splitlines():
                    print("#", line)
                print(f"not ok {number} - {test.__name__}", flush=True)
        sys.exit(1 if failed else 0)


def tries(test):
    """
    For what needs threads and interrupts that some kernels hide from BPF programs: who is
    preempted by such a thread comes back unseen, and is unknown until its next switch; of a
    request that ends in an interrupt above it nobody hears. And for what needs a CPU in time,
    which others on the machine may have. Three times at most.
    """
    @functools.wraps(test)
    def run():
        for left in (2, 1, 0):
            try:
                return test()
            except Failure as problem:
                if not left or isinstance(problem, Broken):
                    raise
                print(f"# once more: {problem}")
        return None
    return run


def tries_when_emulated(test):
    """For what an emulated machine may be too slow for, where that is told as a loss."""
    return tries(test) if SLOWER > 1 else test


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
    """
    The binary under test, and a directory for its recordings, removed at the end. What lies
    there when a test has passed is checked then: its sums, and that babeltrace2 agrees.
    """

    def __init__(self, binary):
        self.binary = os.path.abspath(binary)
        self.dir = self.top = tempfile.mkdtemp(prefix="fathom-e2e-")
        self.checked = {}  # (check, recording), or that with the limit -> its contents then
        self.broken = set()
        opened.append(self)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        opened.remove(self)
        shutil.rmtree(self.top, ignore_errors=True)

    def check_recordings(self):
        """What is in use is left for later; what was checked already is not again."""
        recordings = [each for each in recordings_in(self.top)
                      if each not in self.broken and not in_use(each)]
        with ThreadPoolExecutor(CHECKERS) as pool:
            looks = [(each, pool.submit(look, self, each, CHECKED_AT_END))
                     for each in recordings for look in (check_sums, check_babeltrace)]
        skips = set()
        for recording, look in looks:
            try:
                skips.add(look.result())
            except Failure as problem:
                raise Failure(f"{recording} at the end: {problem}") from None
        for skip in skips - {None}:
            print(f"# not all that was recorded is checked: {skip}")

    def breaks(self, recording):
        """A test damages this recording on purpose: it is checked now, and then no more."""
        if any(recordings_in(recording)):
            check_sums(self, recording)
            check_babeltrace(self, recording)
        self.broken.add(recording)

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

    def report(self, recording, by, *args, **options):
        return json.loads(self.ok("report", "--json", "--by", by, *args, recording, **options))

    def trace_all(self, recording, *args, **options):
        return json.loads(self.ok("trace", "--json", "--all", *args, recording, **options))

    def chunks(self, recording):
        return json.loads(self.ok("chunks", "--json", recording))["chunks"]


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


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


def check_places(traces):
    """
    What a thread did in the kernel lies inside the span that it stands under. A thread begins with
    the recording, and its call may have before; an exec ends the span.
    """
    for trace in traces:
        spans = {span["span_id"]: span for span in trace["spans"] if span["kind"] != "thread"}
        for span in trace["spans"]:
            above = spans.get(span.get("parent_id"), {})
            if span["kind"] in ("syscall", "fault", "wait") and above.get("tid") == span["tid"] and \
                    not (above["begin_ns"] <= span["begin_ns"] and span["end_ns"] <= above["end_ns"]):
                check(span["name"].startswith("execve"), f"{span} is not inside {above}")


def check_waits(traces, was_deleted):
    """
    What a call waited for, waits and faults in it tell, if nothing was lost. Of a call that began
    before chunks that were deleted the time is known, and its waits that ended in them are not.
    """
    for trace in traces:
        told = {}
        for span in trace["spans"]:
            if span["kind"] in ("wait", "fault"):
                told.setdefault(span.get("parent_id"), []).append(span["time"])
        for span in trace["spans"]:
            if span["kind"] == "syscall" and (
                    span["begin_bound"] == "hard" or not was_deleted):
                parts = told.get(span["span_id"], [])
                sums = [sum(time[part] for time in parts) for part in WAITS]
                if sums != [span["time"][part] for part in WAITS]:
                    check(False, f"waits tell {dict(zip(WAITS, sums))} of {span}")


def recordings_in(directory):
    """The directories at or below this one that hold chunks."""
    for path, names, _ in os.walk(directory):
        if any(CHUNK.fullmatch(name) for name in names):
            yield path
        names[:] = [name for name in names if not CHUNK.fullmatch(name)]


def in_use(recording):
    """Whether somebody records there."""
    try:
        with open(os.path.join(recording, ".lock"), "rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def contents(directory):
    found = []
    for path, _, names in os.walk(directory):
        for name in names:
            file = os.lstat(os.path.join(path, name))
            found.append((path, name, file.st_ino, file.st_size, file.st_mtime_ns))
    return sorted(found)


def once(look):
    """For a check of a recording, which returns why it was not done: again only after changes."""
    @functools.wraps(look)
    def wrapper(fathom, recording, most=CHECKED_RECORDS):
        which, now = (look.__name__, os.path.abspath(recording)), contents(recording)
        if now in (fathom.checked.get(which), fathom.checked.get((which, most))):
            return None
        skip = look(fathom, recording, most)
        fathom.checked[(which, most) if skip else which] = now
        return skip
    return wrapper


# babeltrace2 reads some 60,000 a second, and a tree of so many spans takes as long. What has more is
# the work of loops, which says the same again: at the end of a test it is checked for a part.
CHECKED_RECORDS = 400000
CHECKED_AT_END = CHECKED_RECORDS if os.environ.get("FATHOM_TEST_LONG") else 100000


@once
def check_sums(fathom, recording, most):
    """The sums that the command line promises of every recording; returns why not all of them."""
    try:
        return check_laws(fathom, recording, most)
    except Failure as problem:
        raise Broken(problem) from None


def check_laws(fathom, recording, most):
    rows = {by: fathom.report(recording, by)["rows"] for by in SUMMED}
    for by in SUMMED:
        for row in rows[by]:
            equal(total(row["time"]), row["total_ns"], f"split of {by} {row['key']}")
    threads = {}
    for row in rows["thread"]:
        threads[row.get("pid")] = threads.get(row.get("pid"), 0) + row["total_ns"]
    processes = {}  # a number can have been that of several, one after the other
    for row in rows["process"]:
        processes[row.get("pid")] = processes.get(row.get("pid"), 0) + row["total_ns"]
    equal(processes, threads, "processes over their threads")
    records = sum(chunk["records"] for chunk in fathom.chunks(recording))
    if records > most:
        return f"the trees of {records} records"
    answer = fathom.trace_all(recording)
    traces = answer["traces"]
    check_trees(traces)
    check_places(traces)
    if not answer["lost"]["total"] and not answer["gaps"]:
        check_waits(traces, os.path.exists(os.path.join(recording, "checkpoint")))
    for trace in traces:
        for span in trace["spans"]:
            hard = span["begin_bound"] == span["end_bound"] == "hard"
            length = span["end_ns"] - span["begin_ns"]
            if span["threads"] == 1 and hard:
                equal(total(span["time"]), length, f"split of {span['kind']} {span['name']}")
            elif span["threads"] > 1 and hard:
                check(total(span["time"]) > length, f"several threads' time: {span}")
    return None


# keys of rows of which there is something to say
SOMETIMES = ("program", "command", "unknown", "read_bytes", "written_bytes",
             "errnos", "connections", "network_namespace", "mount_namespace", "addresses")


def check_row_keys(fathom, recording, *groupings):
    """Real rows have the keys that the golden files show, in their order."""
    def always(row):
        return tuple(key for key in row if key not in SOMETIMES)

    for by in groupings:
        with open(f"{GOLDEN}/report-by-{by}/expected.json", encoding="utf-8") as file:
            shapes = {always(row) for row in json.load(file)["rows"]}
        rows = fathom.report(recording, by)["rows"]
        check(rows, f"there are rows by {by}")
        for row in rows:
            check(always(row) in shapes, f"keys by {by}: {list(row)} is none of {shapes}")
            time = row.get("time", {})
            check(by != "cause" or [key for key in time if time[key]] in ([], [row["key"] + "_ns"]),
                  f"a cause has time of its own alone: {row}")
        if by == "cause":
            equal(sorted(row["key"] + "_ns" for row in rows), sorted(PARTS), "rows by cause")


def babeltrace(*args):
    result = subprocess.run(["babeltrace2", *args], text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, timeout=300)
    equal(result.returncode, 0, f"babeltrace2 {' '.join(args)}: {result.stderr}")
    return result


def babeltrace_counts(chunk):
    """How many events babeltrace2 counts in a chunk, and how many it says were discarded."""
    text = babeltrace(chunk, "-c", "sink.utils.counter", "-p", "step=+0").stdout
    events = re.findall(r"(\d+) Event message", text)
    check(events, f"babeltrace2 {chunk} counts nothing: {text}")
    if not re.search(r"[1-9]\d* Discarded", text):
        return int(events[-1]), 0
    text = babeltrace(chunk).stderr  # which says how many at a time
    check("may have discarded" not in text, "a loss without a number")
    discarded = [int(n) for n in re.findall(r"discarded (\d+) event", text)]
    check(discarded, f"discarded events of {chunk} are told: {text}")
    return int(events[-1]), sum(discarded)


def plain_counts(chunk):
    """The same of a chunk that may be compressed, which babeltrace2 does not read."""
    if not any(name.endswith(".zst") for name in os.listdir(chunk)):
        return babeltrace_counts(chunk)
    with tempfile.TemporaryDirectory(prefix="fathom-e2e-") as place:
        plain = shutil.copytree(chunk, os.path.join(place, os.path.basename(chunk)))
        packed = [os.path.join(plain, n) for n in os.listdir(plain) if n.endswith(".zst")]
        subprocess.run(["zstd", "-q", "-d", "--rm", *packed], check=True)
        return babeltrace_counts(plain)


@once
def check_babeltrace(fathom, recording, most):
    """Returns why not, if babeltrace2 cannot be asked, or why not all of it."""
    skipped = None
    for program in ("babeltrace2", "zstd"):
        if not shutil.which(program):
            return f"{program} is missing"
    left = most
    for chunk in fathom.chunks(recording):
        left -= chunk["records"]
        if left < 0:
            skipped = f"babeltrace2 takes long for {chunk['records']} records"
            continue
        events, discarded = plain_counts(os.path.join(fathom.dir, chunk["path"]))
        lost = chunk["lost"]
        equal(events, chunk["records"], f"events of {chunk['path']}")
        equal(discarded, lost["buffer"] + lost["recursion"] + lost["application"],
              f"discarded events of {chunk['path']}")
    return skipped


def programs_loaded(tool):
    """Programs in the kernel that no living process holds, neither itself nor by a link."""
    shown = [subprocess.run([tool, what, "show", "--json"], text=True, capture_output=True)
             for what in ("prog", "link")]
    if any(result.returncode for result in shown):
        return None
    programs, links = (json.loads(result.stdout or "[]") for result in shown)
    held = {link.get("prog_id") for link in links if link.get("pids")}
    return {program["id"] for program in programs if not program.get("pids")} - held


def programs_left(before):
    """
    Those of programs_loaded() that were not there before, and stay: the kernel frees them a little
    after their last descriptor, and another recorder may begin or end meanwhile.
    """
    tool = shutil.which("bpftool") or shutil.which("bpftool", path="/usr/sbin")
    left = programs_loaded(tool) if tool else None
    for _ in range(50):
        if not left or not left - before:
            break
        time.sleep(0.1)
        left &= programs_loaded(tool) or set()
    return left and left - before


def nothing_is_left_in_the_kernel(before):
    """What a test returns: no program is there that was not before."""
    if before is None:
        return "bpftool is missing"
    equal(sorted(programs_left(before)), [], "programs still loaded")
    return None
