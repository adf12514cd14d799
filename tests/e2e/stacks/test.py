#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of long waits: of programs whose stack is known, that are gone when it is shown."""
import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
LAW_OF, LIBRARY, STRANGE, POINTERS, BARE, OTHER, UNNAMED, UNNAMED_OTHER, GO_SOURCE = map(
    os.path.abspath, sys.argv[2:11])
KNOWN = ["inner", "middle", "outer", "main"]
IN_LIBRARY = "Library::inner<...>"
NOBODY = 65534
tests = harness.Tests()
known = None


def spans_of(directory):
    return [span for trace in fathom.trace_all(directory)["traces"] for span in trace["spans"]]


def stacks(directory):
    """(name of the call or fault it lies in, wait, stack) of each wait that has one."""
    spans = spans_of(directory)
    names = {span["span_id"]: span["name"] for span in spans}
    return [(names.get(span.get("parent_id"), ""), span, span["stack"])
            for span in spans if "stack" in span]


def stack_of(directory, call, at_least_ns=50_000_000):
    """The stack of the longest wait in calls of that name; None: in any."""
    found = [(span["end_ns"] - span["begin_ns"], stack) for name, span, stack in stacks(directory)
             if call in (None, name)]
    check(found, f"no stack of a wait in {call}")
    length, stack = max(found, key=lambda one: one[0])
    check(length >= at_least_ns, f"the longest wait in {call}: {length} ns")
    return stack


def functions(stack, kernel):
    return [frame.get("function") for frame in stack if frame["kernel"] == kernel]


def check_inside(stack, names, file):
    """The functions of a file, in their order, with nothing between them."""
    got = functions(stack, False)
    check(names[0] in got, f"{names[0]} among {got}")
    at = got.index(names[0])
    equal(got[at:at + len(names)], names, "functions of the program")
    frames = [frame for frame in stack if not frame["kernel"]]
    for frame in frames[at:at + len(names)]:
        equal(frame["file"], file, f"file of {frame['function']}")


@tests.add
def the_stack_is_the_one_of_the_source():
    global known
    known = fathom.record("known", "--stacks", "20ms", "--", POINTERS, "nanosleep", "futex", "pipe")
    for call, of_kernel in (("nanosleep", "nanosleep"), ("futex", "futex"), ("read", "pipe_read")):
        stack = stack_of(known, call)
        kernel = functions(stack, True)
        check(any(of_kernel in (name or "") for name in kernel), f"{of_kernel} among {kernel}")
        check(None not in kernel, f"a function of the kernel without a name: {kernel}")
        equal([frame["kernel"] for frame in stack],
              sorted((frame["kernel"] for frame in stack), reverse=True), "the kernel is inside")
        check_inside(stack, KNOWN, POINTERS)
    text = fathom.ok("trace", "--all", known)
    check(f" ({POINTERS})\n" in text and "    inner+0x" in text, f"as text: {text[-2000:]}")
    equal(fathom.report(known, "thread")["lost"]["total"], 0, "lost records")


@tests.add
def only_waits_that_are_long_have_one():
    for name, span, _ in stacks(known):
        # a cut can come while it lasts; else it is longer than the limit
        check(span["end_ns"] - span["begin_ns"] > 20_000_000, f"a short wait in {name}")
    directory = fathom.record("short", "--stacks", "10s", "--", POINTERS, "nanosleep")
    equal(stacks(directory), [], "stacks of waits that were not so long")
    directory = fathom.record("none", "--", POINTERS, "nanosleep")
    equal(stacks(directory), [], "stacks that nobody asked for")


@tests.add
def without_frame_pointers():
    if os.uname().machine != "x86_64":
        return "unwind tables are used on x86-64"
    directory = fathom.record("bare", "--stacks", "20ms", "--", BARE, "nanosleep", "futex")
    for call in ("nanosleep", "futex"):
        check_inside(stack_of(directory, call), KNOWN, BARE)
    return None


@tests.add
def libraries_that_come_late_and_other_programs():
    directory = fathom.record("late", "--stacks", "20ms", "--", POINTERS, "nanosleep", "library",
                              LIBRARY, "exec", OTHER, "futex")
    sleeps = [stack for call, _, stack in stacks(directory) if call == "nanosleep"]
    equal(len(sleeps), 2, "in the program, and in its library")
    check_inside(next(s for s in sleeps if "library_waits" not in functions(s, False)), KNOWN,
                 POINTERS)
    late = next(s for s in sleeps if "library_waits" in functions(s, False))
    check_inside(late, [IN_LIBRARY, "library_waits"], LIBRARY)
    equal([frame["symbol"] for frame in late if frame.get("function") == IN_LIBRARY],
          ["_ZN7Library5innerIiEEvT_"], "what the file calls it")
    check("symbol" not in next(f for f in late if f.get("function") == "library_waits"), "alike")
    check_inside(late, ["main"], POINTERS)
    check_inside(stack_of(directory, "futex"), ["other_inner", "other_middle", "other_outer"],
                 OTHER)


def named_then(place, names=None):
    """Records a program, checks its names, and returns a check that there are none any more."""
    directory = fathom.record(place + ".d", "--stacks", "20ms", "--", place, "nanosleep")
    check_inside(stack_of(directory, "nanosleep"), names or KNOWN, place)
    places = [frame["file_offset"] for frame in stack_of(directory, "nanosleep")
              if frame.get("file") == place]

    def nameless(why):
        own = [f for f in stack_of(directory, "nanosleep") if f.get("file") == place]
        check(own, f"{why}: the file is told")
        equal([f for f in own if "function" in f], [], f"{why}: names")
        check(set(f["file_offset"] for f in own) <= set(places), f"{why}: where in the file")

    return nameless


@tests.add
def a_file_of_another_build_gives_no_names():
    place = fathom.path("replaced")
    shutil.copy(POINTERS, place)
    nameless = named_then(place)
    os.unlink(place)
    shutil.copy(OTHER, place)
    nameless("another build")
    os.unlink(place)
    nameless("no file")
    with open(place, "wb") as file:
        file.write(b"\x7fELF\x02\x01\x01" + bytes(5000))
    nameless("a damaged file")
    shutil.copy(POINTERS, place)
    check_inside(stack_of(place + ".d", "nanosleep"), KNOWN, place)


def overwrite(place, contents):
    """Changes a file in place, which nobody can tell by its size or modification time."""
    before = os.stat(place)
    with open(place, "r+b") as file:
        file.write(contents.ljust(before.st_size, b"\0"))
    os.utime(place, ns=(before.st_atime_ns, before.st_mtime_ns))
    equal(os.stat(place).st_ino, before.st_ino, "it is the same file")


@tests.add
def a_program_without_a_build_id():
    place = fathom.path("unnamed")
    shutil.copy(UNNAMED, place)
    nameless = named_then(place)
    moved = place + ".moved"
    os.rename(place, moved)
    nameless("no file")
    shutil.copy(UNNAMED_OTHER, place)
    nameless("another build")
    shutil.copy2(moved, place)
    nameless("a copy, which could be anything")

    shutil.copy(UNNAMED_OTHER, place + ".other")
    os.rename(place + ".other", place)
    shutil.rmtree(place + ".d")
    nameless = named_then(place, ["other_" + name for name in KNOWN[:-1]])
    shutil.copy(UNNAMED, place + ".other")
    os.rename(place + ".other", place)
    nameless("another build by rename")


@tests.add
def a_program_without_a_build_id_that_is_rebuilt_in_place():
    place = fathom.path("rebuilt")
    with open(UNNAMED, "rb") as one, open(UNNAMED_OTHER, "rb") as other:
        one, other = one.read(), other.read()
    with open(place, "wb") as file:  # as long as either
        file.write(one.ljust(len(other), b"\0"))
    os.chmod(place, 0o700)
    nameless = named_then(place)
    overwrite(place, other)
    nameless("another build in place")
    overwrite(place, one)
    nameless("as it was, but nobody can know")


@tests.add
def a_program_of_pure_go():
    if not shutil.which("go"):
        return "go is missing"
    env = {"GOCACHE": fathom.path("go-cache"), **os.environ, "CGO_ENABLED": "0", "GOFLAGS": "",
           "GO111MODULE": "off", "GOTOOLCHAIN": "local"}
    names = ["main.inner", "main.outer", "main.main"]
    for name, flags in (("linked", ""), ("older", "-B=none")):  # with GNU's id, and without
        place = fathom.path(name)
        built = subprocess.run(["go", "build", "-ldflags=" + flags, "-o", place, GO_SOURCE],
                               env=env, capture_output=True, text=True)
        if built.returncode:
            return f"go cannot build it: {built.stderr.strip().splitlines()[-1:]}"
        nameless = named_then(place, names)
        os.rename(place, place + ".moved")
        shutil.copy(UNNAMED, place)
        nameless("another program")
        shutil.copy(place + ".moved", place)
        check_inside(stack_of(place + ".d", "nanosleep"), names, place)
    return None


class Sleeper:
    """A program that waits for ever, in its known stack if not said otherwise, in a block."""

    def __init__(self, *args):
        self.args = args or (POINTERS, "forever")

    def __enter__(self):
        self.process = subprocess.Popen(self.args, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        equal(self.process.stdout.readline(), "ready\n", "what the program says")
        with open(f"/proc/{self.process.pid}/wchan", encoding="ascii") as file:
            for _ in range(100):  # until it sleeps
                file.seek(0)
                if file.read() != "0":
                    break
                time.sleep(0.02)
        return self.process.pid

    def end(self):
        """Ends its input; what it says then."""
        return self.process.communicate("x", timeout=30)[0]

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


@tests.add
def a_wait_that_does_not_end():
    with Sleeper() as pid:
        directory = fathom.record("open", "--stacks", "100ms", "-d", "700ms", "-p", pid)
    equal(incomplete(directory), 0, "what could not be read")
    stack = stack_of(directory, None, 500_000_000)
    check(any("pipe_read" in name for name in functions(stack, True)), f"in the kernel: {stack}")
    check_inside(stack, KNOWN, POINTERS)


@tests.add
def stacks_of_sleepers_are_whole():
    """Forty of them, since where a stack lies in its pages is another each time."""
    with contextlib.ExitStack() as stack:  # a cut waits for 0.1 s to know their files
        pids = [stack.enter_context(Sleeper()) for _ in range(40 // harness.SLOWER)]
        directory = fathom.record("many", "--stacks", "100ms", "-d", "700ms", "-p",
                                  ",".join(map(str, pids)))
    found = {span["pid"]: stack for _, span, stack in stacks(directory)}
    for pid in pids:
        check(pid in found, f"no stack of {pid}")
        check_inside(found[pid], KNOWN, POINTERS)
    equal(incomplete(directory), 0, "what could not be read")


def incomplete(directory):
    return sum(chunk["incomplete"] for chunk in fathom.chunks(directory))


def strange(mode, *place):
    """A recording of a thread in strange memory, and what the program says at its end."""
    sleeper = Sleeper(STRANGE, mode, *place)
    with sleeper as pid:
        directory = fathom.record(mode, "--stacks", "100ms", "-d", "700ms", "-p", pid)
        said = sleeper.end() if mode in ("untouched", "file") else ""
    return directory, said


def needs_x86():
    return "stacks are moved on x86-64" if os.uname().machine != "x86_64" else None


def check_begin(directory):
    """What the registers tell of a stack whose memory is strange."""
    inside = [stack for _, _, stack in stacks(directory)
              if functions(stack, False)[:1] == ["call_astray"]]
    equal(len(inside), 1, "stacks in strange memory")
    check(any("pipe_read" in name for name in functions(inside[0], True)), f"kernel: {inside}")


@tests.add
def no_page_is_brought_in():
    if needs_x86():
        return needs_x86()
    for mode, lost, place in (("untouched", 0, ()), ("file", 1, [fathom.path("page")])):
        directory, said = strange(mode, *place)
        equal(said, "untouched\n", f"{mode}: the page that the stack pointer leads to")
        check_begin(directory)
        equal(incomplete(directory), lost, f"{mode}: stacks that could not be read")
    return None


@tests.add
def nobody_waits_for_memory_that_does_not_come():
    """Its faults, or reads of its file, are for the program itself to answer; it does not."""
    if needs_x86():
        return needs_x86()
    place = fathom.path("served")
    os.mkdir(place)
    for mode in ("handled", "served"):
        directory, _ = strange(mode, place)
        check_begin(directory)
        equal(incomplete(directory), 1, f"{mode}: stacks that could not be read")
    return None


@tests.add
def memory_that_changes_while_it_is_read():
    if needs_x86():
        return needs_x86()
    place = fathom.path("restless")
    os.mkdir(place)
    with Sleeper(STRANGE, "restless", place) as pid:
        begin = time.monotonic()
        directory = fathom.record("changes", "--stacks", "1ms", "--rotate", "50ms", "-d", "3s",
                                  "-p", pid)
        check(time.monotonic() - begin < 60 * harness.SLOWER, "the recorder ends in time")
    chunks = fathom.chunks(directory)
    check(len(chunks) >= 20 // harness.SLOWER, f"it is not held up: {len(chunks)} chunks in 3 s")
    check(len(stacks(directory)) > 100 // harness.SLOWER, "stacks are told")
    return None


@tests.add
def stacks_in_large_pages_and_in_such_that_nobody_may_read():
    for mode in ("closed", "huge"):
        directory, _ = strange(mode)
        whole = [stack for _, _, stack in stacks(directory) if "inner" in functions(stack, False)]
        equal(len(whole), 1, f"{mode}: stacks of the thread")
        check_inside(whole[0], KNOWN[:-1] + ["stack_sleep"], STRANGE)
        equal(incomplete(directory), 0, f"{mode}: what could not be read")


@tests.add
def a_flight_recorder_has_them():
    directory = fathom.path("flight")
    with Sleeper() as pid, harness.Process(
            [fathom.binary, "record", "--flight", "--stacks", "20ms", "-o", directory, "-p",
             str(pid)], stderr=subprocess.PIPE, text=True) as recorder:
        try:
            for _ in range(200):
                if os.path.exists(os.path.join(directory, ".control")):
                    break
                time.sleep(0.02)
            for _ in range(50):  # until the wait is long enough
                chunk = fathom.ok("snapshot", directory).strip()
                if stacks(chunk):
                    break
                time.sleep(0.1)
        finally:
            recorder.terminate()
            recorder.communicate(timeout=60)
    check_inside(stack_of(chunk, None, 0), KNOWN, POINTERS)
    harness.check_sums(fathom, directory)
    check_inside(stack_of(directory, None, 0), KNOWN, POINTERS)


@tests.add
def any_user_sees_the_same():
    """Nothing is asked of the running kernel or of processes when a stack is shown."""
    copy = shutil.copytree(known, fathom.path("theirs"))
    os.chmod(fathom.dir, 0o755)
    for path, _, files in os.walk(copy):
        for name in [path, *(os.path.join(path, file) for file in files)]:
            os.chown(name, NOBODY, NOBODY)
    if subprocess.run(["test", "-r", POINTERS, "-a", "-x", fathom.binary], user=NOBODY).returncode:
        return "the program is where nobody else may read"
    shown = fathom.run("trace", "--all", "--json", copy, user=NOBODY, group=NOBODY,
                       extra_groups=[])
    equal(shown.returncode, 0, shown.stderr)
    equal(json.loads(shown.stdout)["traces"], fathom.trace_all(known)["traces"], "the traces")
    return None


@tests.add
def the_merge_law_holds():
    directory = fathom.record("rotated", "--rotate", "100ms", "--stacks", "20ms", "--", POINTERS,
                              "nanosleep", "futex", "pipe", "nanosleep", "library", LIBRARY)
    chunks = [chunk["path"] for chunk in fathom.chunks(directory)]
    check(len(chunks) >= 3, f"{len(chunks)} chunks")
    for chunk in [fathom.chunks(known)[0]["path"], *chunks[:3]]:
        result = subprocess.run([LAW_OF, chunk, "7", "10"], text=True, capture_output=True,
                                timeout=200)
        equal(result.returncode, 0, f"law over {chunk}: {result.stdout}{result.stderr}")
    whole = fathom.ok("trace", "--json", "--all", directory)
    equal(fathom.ok("trace", "--json", "--all", *reversed(chunks)), whole, "dealt out otherwise")
    for call in ("futex", "read"):
        check_inside(stack_of(directory, call), KNOWN, POINTERS)
    sleeps = [functions(stack, False) for call, _, stack in stacks(directory)
              if call == "nanosleep"]
    equal(sorted(IN_LIBRARY in names for names in sleeps), [False, False, True], "sleeps")
    for recording in (known, directory):
        harness.check_sums(fathom, recording)
        harness.check_babeltrace(fathom, recording)


@tests.add
def a_server_that_nobody_changed():
    for name in ("redis-server", "redis-benchmark"):
        if not shutil.which(name):
            return f"{name} is missing"
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    with harness.Process(["redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "",
                          "--dir", fathom.dir], stdout=subprocess.DEVNULL) as redis:
        try:
            for _ in range(100):
                if socket.socket().connect_ex(("127.0.0.1", int(port))) == 0:
                    break
                time.sleep(0.05)
            script = (f"redis-benchmark -p {port} -n 3000 -c 8 -q -t set,get >/dev/null; sleep 0.3")
            directory = fathom.path("redis")
            result = fathom.run("record", "-a", "--detail", "calls", "-o", directory, "--stacks",
                                "10ms", "--", "sh", "-c", script)
            equal(result.returncode, 0, result.stderr)
        finally:
            redis.terminate()
    of_redis = [stack for name, span, stack in stacks(directory)
                if span.get("pid") == redis.pid and name == "epoll_wait"]
    check(of_redis, "redis waits for more than 10 ms when nobody asks it anything")
    for stack in of_redis:
        check(any("epoll" in (name or "") for name in functions(stack, True)), f"kernel: {stack}")
        check(any("redis" in frame.get("file", "") for frame in stack), f"redis: {stack}")
        check("epoll_wait" in functions(stack, False), f"libc: {stack}")
    harness.check_sums(fathom, directory)
    harness.check_babeltrace(fathom, directory)
    return None


@tests.add
def stacks_of_a_kernel_that_hides_its_symbols_are_counted():
    directory = fathom.path("hidden")
    unshare = ("unshare", "--mount", "sh", "-c",
               'mount --bind /dev/null /proc/kallsyms && exec "$@"', "sh")
    if subprocess.run([*unshare, "true"], capture_output=True).returncode:
        return "nothing can be mounted here"
    result = subprocess.run([*unshare, fathom.binary, "record", "-o", directory, "--stacks",
                             "10ms", "--", "sleep", "0.1"], capture_output=True, text=True)
    equal(result.returncode, 0, result.stderr)
    check("kernel stacks are not recorded" in result.stderr, result.stderr)
    check(fathom.report(directory, "thread")["incomplete"] > 0, "they are counted")
    for _, _, stack in stacks(directory):
        equal([frame for frame in stack if frame["kernel"]], [], "frames of the kernel")
    return None


@tests.add
def a_limit_that_is_too_low_loses_nothing_silently():
    directory = fathom.path("all")
    result = fathom.run("record", "-o", directory, "--stacks", "1us", "--", "sh", "-c",
                        "for i in 1 2 3 4 5 6 7 8 9; do sleep 0.001 | sleep 0.001; done")
    equal(result.returncode, 0, result.stderr)
    # those of the sleeps and of the shell that waits for them are sure, whatever the machine does
    check(len(stacks(directory)) >= 27, "every wait has its stack")
    harness.check_sums(fathom, directory)
    harness.check_babeltrace(fathom, directory)


with fathom:
    tests.run()
