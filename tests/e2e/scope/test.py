#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who is recorded and what: -p, --cgroup of both versions, --syscalls, --spans-only."""
import collections
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

import harness
from cgroups import Cgroups, mounts, move, remove
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
CHURN = os.path.abspath(sys.argv[2])
tests = harness.Tests()


@contextlib.contextmanager
def cgroup(hierarchy):
    """A new cgroup with one below it."""
    with Cgroups(mounts()[hierarchy]) as cgroups:
        name = f"fathom-test-{os.getpid()}"
        yield cgroups.make(name), cgroups.make(name, "below")


@contextlib.contextmanager
def running(*command):
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()


def start_recording(name, *args, within=()):
    """Starts a recorder, by the command `within`, and returns when it records."""
    path = fathom.path(name)
    recorder = subprocess.Popen([*within, fathom.binary, "record", "-o", path, *map(str, args)],
                                stderr=subprocess.PIPE, text=True)
    for _ in range(1000):
        result = fathom.run("rotate", path)
        if result.returncode == 0:
            return recorder, path
        if recorder.poll() is not None:
            break
        time.sleep(0.02)
    raise harness.Failure(f"no recording: {result.stderr} {recorder.communicate()[1]}")


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
        return file.read().rpartition(")")[2].split()[0]


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def stop(recorder):
    recorder.send_signal(2)
    _, stderr = recorder.communicate(timeout=60)
    equal(recorder.returncode, 0, f"recorder: {stderr}")


def rows(path, by):
    return fathom.report(path, by)["rows"]


def pids(path):
    return {row["pid"] for row in rows(path, "process")}


@tests.add
def pid_with_children_and_threads_made_at_any_moment():
    """Every thread made while the snapshot walks is there from its first call on."""
    for attempt in range(3):
        with running(CHURN, "60") as churn:
            time.sleep(0.05)
            path = fathom.record(f"pid{attempt}", "-p", churn.pid, "-d", "30",
                                 "--", "sleep", "0.7")
            churn.terminate()
            rounds = int(churn.communicate()[0])
        check(rounds > 20, f"{rounds} rounds")
        threads = rows(path, "thread")
        # a child that ends between the attaching and the snapshot has no name to be found
        nameless = [row for row in threads if row["process"] == "?"]
        check(len(nameless) <= 3 and all(row["total_ns"] < 50e6 for row in nameless),
              f"threads without a name: {nameless}")
        names = {row["process"] for row in threads} - {"?"}
        equal(names, {"e2e-churn", "sleep"}, "processes")
        # all but what is born before the start makes one getppid: 5 of each round
        calls = sum(row["count"] for row in rows(path, "syscall") if row["key"] == "getppid")
        born = [row for row in threads if row["process"] == "e2e-churn" and
                row["tid"] != churn.pid]
        check(abs(len(born) - calls) <= 5, f"{len(born)} threads, {calls} getppid")
        check(calls >= 20, f"{calls} calls")
        if attempt:
            shutil.rmtree(path)  # the sums of one are enough: its traces are 200 MB


@tests.add
def children_of_now_and_of_later():
    """Descendants that exist, one that is born later, and none of now with --no-children."""
    script = "sh -c 'sleep 60 & echo $! $$; wait' & read wait; sleep 60; :"
    with subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          text=True, start_new_session=True) as parent:
        try:
            below = {int(pid) for pid in parent.stdout.readline().split()}
            alone = fathom.record("no-children", "-p", parent.pid, "--no-children", "-d", "10ms")
            recorder, path = start_recording("with-children", "-p", parent.pid)
            parent.stdin.write("\n")
            parent.stdin.flush()
            children = f"/proc/{parent.pid}/task/{parent.pid}/children"
            harness.until(lambda: len(read(children).split()) == 2, "a later child")
            stop(recorder)
        finally:
            os.killpg(parent.pid, signal.SIGKILL)
    equal(pids(alone), {parent.pid}, "without children")
    check(pids(path) > below | {parent.pid}, f"{pids(path)}, with {below} and later ones")


@tests.add
def a_command_is_followed_to_its_last_descendant():
    """It ends at once; what it left in another session, with a thread, ends later."""
    thread = "import threading, time; threading.Thread(target=time.sleep, args=(0.3,)).start()"
    path = fathom.path("followed")
    result = fathom.run("record", "-o", path, "--follow", "--", "sh", "-c",
                        'setsid sh -c \'sleep 0.2; "$0" -c "$1"; exit 0\' "$0" "$1" & exit 3',
                        sys.executable, thread)
    equal(result.returncode, 3, f"the status of the command: {result.stderr}")
    slept = [row for row in rows(path, "thread") if row["total_ns"] > 0.25e9 and
             row["process"].startswith("python")]
    equal(len(slept), 2, "the leader that waits for its thread, and the thread")
    for trace in fathom.trace_all(path)["traces"]:
        for span in trace["spans"]:
            # the last one may still be on its way out, with its exit code
            check(span["kind"] != "thread" or span["end_bound"] == "hard" or
                  "process.exit.code" in span["attributes"], f"it ended: {span}")


# Threads, some of which are born and fall asleep at any moment of a recording's begin.
SLEEPERS = """
import threading, time
while True:
    threading.Thread(target=time.sleep, args=(0.4,)).start()
    time.sleep(0.0002)
"""


@tests.add
def no_call_of_a_thread_that_is_born_while_programs_are_attached_is_missed():
    with running(sys.executable, "-c", SLEEPERS) as sleepers:
        time.sleep(0.5)
        path = fathom.record("born", "-p", sleepers.pid, "--", "sleep", "1")
    slept, threads = collections.Counter(), set()
    for trace in fathom.trace_all(path)["traces"]:
        for span in trace["spans"]:
            slept[span["tid"]] += span["kind"] == "syscall" and span["name"] == "clock_nanosleep"
            if span["kind"] == "thread" and span["tid"] != sleepers.pid and \
                    span["end_bound"] == "hard" and span["end_ns"] - span["begin_ns"] > 10e6:
                threads.add(span["tid"])
    check(len(threads) > 200, f"{len(threads)} threads ended")
    equal({tid: slept[tid] for tid in threads if slept[tid] != 1}, {}, "threads that did not sleep")


CORE_PATTERN = "/proc/sys/kernel/core_pattern"


@tests.add
def a_program_that_the_kernel_starts_was_not_executed_by_a_call():
    """Its first thread comes out of the kernel as from a call that nobody made."""
    helper = fathom.path("helper")
    with open(helper, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\ncat >/dev/null\n")
    os.chmod(helper, 0o755)
    with open(CORE_PATTERN, encoding="ascii") as file:
        before = file.read()
    try:
        with open(CORE_PATTERN, "w", encoding="ascii") as file:
            file.write("|" + os.path.abspath(helper))
    except OSError as problem:
        return f"{CORE_PATTERN}: {problem.strerror}"
    try:
        path = fathom.record("helped", "-a", "--detail", "calls", "--", "sh", "-c", """
            for i in 1 2 3; do sh -c 'ulimit -c unlimited; kill -SEGV $$'; done; sleep 0.3""")
    finally:
        with open(CORE_PATTERN, "w", encoding="ascii") as file:
            file.write(before)
    spans = [s for t in fathom.trace_all(path)["traces"] for s in t["spans"]]
    helpers = {s["pid"] for s in spans if s.get("process") == "helper"}
    check(len(helpers) >= 3, f"{len(helpers)} helpers and what they made")
    equal([s for s in spans if s.get("pid") in helpers and s["name"] == "execve" and
           s["end_ns"] == s["begin_ns"]], [], "executed in no time")
    return None


@tests.add
def others_appear_nowhere():
    with running(CHURN, "30") as other, running(CHURN, "still", "30", "2") as named:
        time.sleep(0.1)
        path = fathom.record("others", "-p", named.pid, "-d", "1")
        equal(pids(path), {named.pid}, "processes")
        equal(len(rows(path, "thread")), 3, "threads")
        for by in ("process", "thread", "syscall", "file", "cause"):
            for row in rows(path, by):
                check(row.get("pid") in (None, named.pid), f"{by}: {row}")
        for trace in fathom.trace_all(path)["traces"]:
            for span in trace["spans"]:
                equal(span["pid"], named.pid, f"owner of {span['name']}")
        check(other.poll() is None, "the other one ran all the time")
    harness.check_sums(fathom, path)


def follows_a_cgroup(hierarchy):
    if hierarchy not in mounts():
        return f"no hierarchy {hierarchy}"
    with cgroup(hierarchy) as (path, below), running("sleep", "60") as outside, \
            running(CHURN, "still", "60", "3") as inside, \
            running(CHURN, "still", "60", "3") as later:
        move(inside.pid, below)
        recorder, recording = start_recording(f"cgroup-{hierarchy}", "--cgroup", path)
        time.sleep(0.3)
        move(later.pid, path)
        time.sleep(0.7)
        move(inside.pid, mounts()[hierarchy])
        time.sleep(0.7)
        stop(recorder)
        equal(pids(recording), {inside.pid, later.pid}, f"processes, {outside.pid} is outside")
    threads = rows(recording, "thread")
    for process, least, most in ((inside, 0.95, 1.5), (later, 1.35, 2.0)):
        mine = [row for row in threads if row["pid"] == process.pid]
        equal(len(mine), 4, "threads")
        for row in mine:
            check(least * 1e9 < row["total_ns"] < most * 1e9, f"in scope from move to move: {row}")
            check(row["time"]["unknown_ns"] < 0.2e9, f"little is unknown: {row}")
    check(all(row["process"] == "e2e-churn" for row in threads), "processes have names")
    harness.check_sums(fathom, recording)
    return None


@tests.add
def cgroup_of_version_1():
    return follows_a_cgroup("cpu")


@tests.add
def cgroup_of_version_2():
    return follows_a_cgroup("v2")


def makes_a_child(*command):
    """The pids of a process and of the child that it makes in a cgroup; None: none can be made."""
    with harness.Process(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         text=True) as parent:
        child = parent.stdout.readline()
        time.sleep(0.5)
        parent.communicate(timeout=30)
    if parent.returncode == 77:
        return None
    equal(parent.returncode, 0, "status")
    return parent.pid, int(child)


@tests.add
def made_in_a_cgroup():
    """A child that its parent, outside, makes in the cgroup: what it has open has a name."""
    if "v2" not in mounts():
        return "no cgroups of version 2"
    file = fathom.path("opened-outside")
    with open(file, "w", encoding="ascii") as out:
        out.write("x")
    with cgroup("v2") as (path, below):
        recorder, recording = start_recording("into", "--cgroup", path)
        made = makes_a_child(CHURN, "into", below, file)
        stop(recorder)
    if not made:
        return "no child can be made in a cgroup here"
    [row] = rows(recording, "thread")
    equal((row["pid"], row["process"]), (made[1], "e2e-churn"), "who is in scope")
    reads = [s for t in fathom.trace_all(recording)["traces"] for s in t["spans"]
             if s["name"] == "pread64"]
    check(len(reads) > 5, f"{len(reads)} reads")
    equal({s["attributes"].get("fd.name") for s in reads}, {file}, "what it read")
    harness.check_sums(fathom, recording)
    return None


@tests.add
def made_out_of_a_cgroup():
    """A child that its parent, inside, makes in another cgroup was never in scope."""
    if "v2" not in mounts():
        return "no cgroups of version 2"
    with cgroup("v2") as (path, _):
        recorder, recording = start_recording("out-of", "--cgroup", path)
        made = makes_a_child("sh", "-c", 'echo $$ >"$1"; shift; exec "$@"', "sh",
                             path + "/cgroup.procs", CHURN, "into", mounts()["v2"], CHURN)
        stop(recorder)
    if not made:
        return "no child can be made in a cgroup here"
    equal({row["pid"] for row in rows(recording, "thread")}, {made[0]}, "who is in scope")
    harness.check_sums(fathom, recording)
    return None


@tests.add
def many_threads_come_into_scope_at_once():
    """What is told of them fills the kernel's buffer more than once: each begins with the move."""
    hierarchy = "cpu" if "cpu" in mounts() else "v2"
    with cgroup(hierarchy) as (path, _), running(CHURN, "still", "60", "1000") as many:
        harness.until(lambda: len(os.listdir(f"/proc/{many.pid}/task")) == 1001, "threads")
        recorder, recording = start_recording("many", "--cgroup", path)
        time.sleep(2)
        move(many.pid, path)
        time.sleep(0.5)
        stop(recorder)
    threads = rows(recording, "thread")
    equal(len(threads), 1001, "threads")
    shortest = min(row["total_ns"] for row in threads)
    equal([row for row in threads if row["total_ns"] > shortest + 1e9], [],
          "threads that were there before the move")


NAPS = """
import random, time
while True:
    time.sleep(random.uniform(0.0005, 0.01))
"""


@tests.add
def moved_while_asleep():
    """A call lasts from the move on, also of who is woken before the snapshot reaches it."""
    if "v2" not in mounts():
        return "no cgroups of version 2"
    with cgroup("v2") as (path, _), contextlib.ExitStack() as stack:
        sleepers = [stack.enter_context(running(sys.executable, "-c", NAPS)) for _ in range(6)]
        recorder, recording = start_recording("moved-asleep", "--cgroup", path)
        for turn in range(180):
            sleeper = sleepers[turn % len(sleepers)]
            move(sleeper.pid, path)
            time.sleep(0.001 * (turn % 25))
            move(sleeper.pid, mounts()["v2"])
        stop(recorder)
    equal(pids(recording), {sleeper.pid for sleeper in sleepers}, "who was in scope")
    harness.check_sums(fathom, recording)
    return None


HOG = """
import os, sys, time
os.sched_setaffinity(0, [int(sys.argv[1])])
os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(50))
print("ready", flush=True)
end = time.monotonic() + 0.3
while time.monotonic() < end:
    pass
"""

NOT_RUN = """
import os, sys, time
here, there = sorted(os.sched_getaffinity(0))[:2]
os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK, os.sched_param(60))
os.sched_setaffinity(0, [there])
child = os.fork()
if not child:
    os.getppid()
    time.sleep(0.05)
    os._exit(0)
os.sched_setaffinity(0, [here])
with open(sys.argv[1] + "/cgroup.procs", "w") as procs:
    procs.write(str(child))
with open(f"/proc/{child}/schedstat") as file:
    ran = file.read().split()[0]
os.waitpid(child, 0)
print(child, ran)
"""


@tests.add
def moved_before_it_ran():
    """A child that comes into scope then comes back from a clone that is none of its own."""
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        return "one CPU"
    hierarchy = "cpu" if "cpu" in mounts() else "v2"
    with cgroup(hierarchy) as (path, _):
        recorder, recording = start_recording("not-run", "--cgroup", path)
        for _ in range(20):
            with running(sys.executable, "-c", HOG, str(cpus[1])) as hog:
                hog.stdout.readline()
                made = subprocess.run([sys.executable, "-c", NOT_RUN, path], check=True,
                                      stdout=subprocess.PIPE, text=True)
            child, ran = map(int, made.stdout.split())
            if not ran:
                break
        stop(recorder)
    equal(ran, 0, "it ran before it was moved, each time")
    calls = [s["name"] for t in fathom.trace_all(recording)["traces"] for s in t["spans"]
             if s["kind"] == "syscall" and s["pid"] == child]
    check("getppid" in calls and "clone" not in calls, f"its calls: {calls}")
    harness.check_sums(fathom, recording)
    return None


READS = """
import os, time
print("ready", flush=True)
os.read(0, 1)
time.sleep(0.05)
"""


@tests.add
def moved_while_asleep_and_woken_at_once():
    """Nothing has told what it is in but its call's end: that lasts from the move on."""
    hierarchy = "cpu" if "cpu" in mounts() else "v2"
    with cgroup(hierarchy) as (path, _):
        recorder, recording = start_recording("woken-at-once", "--cgroup", path)
        with harness.Process([sys.executable, "-c", READS], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE) as reader:
            reader.stdout.readline()
            harness.until(lambda: state_of(reader.pid) == "S", "it to sleep")
            recorder.send_signal(signal.SIGSTOP)  # the snapshot comes later
            try:
                harness.until(lambda: state_of(recorder.pid) == "T", "the recorder to stop")
                move(reader.pid, path)
                time.sleep(0.02)
                reader.communicate(b"x", timeout=30)
            finally:
                recorder.send_signal(signal.SIGCONT)
        stop(recorder)
    spans = [s for t in fathom.trace_all(recording, "--pid", reader.pid)["traces"]
             for s in t["spans"]]
    [thread] = [s for s in spans if s["kind"] == "thread"]
    [call] = [s for s in spans if s["name"] == "read" and s["begin_bound"] == "soft"]
    equal(call["begin_ns"], thread["begin_ns"], "it is known from the move on")
    waits = [(s["name"], s["begin_ns"]) for s in spans if s.get("parent_id") == call["span_id"]]
    equal(waits, [("ipc", call["begin_ns"])], "its wait")
    check(call["time"]["ipc_ns"] >= 20e6 and call["time"]["unknown_ns"] == 0, f"{call['time']}")
    harness.check_sums(fathom, recording)


IN_NAMESPACE = """
python3 -c 'import os, sys, time
file = os.open(sys.argv[1], os.O_RDONLY)
while True:
    os.pread(file, 16, 0)
    time.sleep(0.01)' "$FILE" &
reader=$!
"$FATHOM" record -o "$DATA" --cgroup "$CGROUP" -d 60 &
recorder=$!
until "$FATHOM" rotate "$DATA" >/dev/null 2>&1; do
    kill -0 $recorder || exit 1
    sleep 0.05
done
echo $reader >"$CGROUP/cgroup.procs"
sleep 1
kill -TERM $recorder # a shell's job in the background ignores SIGINT
wait $recorder
"""


@tests.add
def cgroup_in_a_pid_namespace():
    """What a process that moves in has open has its name, though it has another number there."""
    unshare = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
    if "v2" not in mounts() or subprocess.run([*unshare, "true"], capture_output=True).returncode:
        return "no cgroups of version 2, or no pid namespace"
    with cgroup("v2") as (path, _):
        file, data = fathom.path("read-after-the-move"), fathom.path("in-namespace")
        with open(file, "w", encoding="ascii") as out:
            out.write("read again and again")
        subprocess.run([*unshare, "sh", "-c", IN_NAMESPACE], check=True, timeout=120, env={
            **os.environ, "FATHOM": fathom.binary, "DATA": data, "CGROUP": path, "FILE": file})
    check(file in {row["key"] for row in rows(data, "file")}, f"files: {rows(data, 'file')}")
    return None


@tests.add
def cgroup_relative_to_its_mount():
    hierarchy = "cpu" if "cpu" in mounts() else "v2"
    with cgroup(hierarchy) as (path, below), running(CHURN, "still", "60", "1") as inside:
        move(inside.pid, below)
        for name in (os.path.basename(path), os.path.basename(path) + "/below",
                     "/" + os.path.basename(path)):
            recording = fathom.record(f"relative{len(name)}{name[0] == '/'}", "--cgroup", name,
                                      "-d", "300ms")
            equal(pids(recording), {inside.pid}, f"--cgroup {name}")
    result = fathom.run("record", "-o", fathom.path("none"), "--cgroup", "no/such", "-d", "1")
    equal(result.returncode, 1, "status")
    check("there is no cgroup no/such" in result.stderr, result.stderr)


@tests.add
def cgroup_in_several_hierarchies():
    """Each that has it is recorded, and it is said which those are."""
    roots = [mounts()[name] for name in ("cpu", "pids", "v2") if name in mounts()][:2]
    if len(roots) < 2:
        return "only one hierarchy"
    with Cgroups(roots[0]) as one, Cgroups(roots[1]) as other, \
            running(CHURN, "still", "60", "1") as first, \
            running(CHURN, "still", "60", "1") as second:
        name = f"fathom-test-{os.getpid()}"
        move(first.pid, one.make(name))
        move(second.pid, other.make(name))
        path = fathom.path("several")
        result = fathom.run("record", "-o", path, "--cgroup", name, "-d", "300ms")
        alone = fathom.run("record", "-o", fathom.path("alone"), "--cgroup",
                           os.path.join(roots[0], name), "-d", "300ms")
    equal((result.returncode, alone.returncode), (0, 0), result.stderr + alone.stderr)
    equal(pids(path), {first.pid, second.pid}, "both are recorded")
    for root in roots:
        check(root in result.stderr, f"it says that {root} has one: {result.stderr}")
    equal(pids(fathom.path("alone")), {first.pid}, "a directory is one cgroup")
    check("hierarchies" not in alone.stderr, alone.stderr)
    return None


ROUNDS = 3


def recorded_each_time(hierarchy, names, mount=None, within=()):
    """
    Processes in a cgroup and in one below it, which are removed and made again. The recorder,
    started by the command `within`, sees the first of `names` as the root at `mount`.
    """
    root = mounts()[hierarchy]
    seen_as = os.path.join(mount, *names[1:]) if mount else os.path.join(root, *names)
    with Cgroups(root) as cgroups:
        named, below = cgroups.make(*names), cgroups.make(*names, "below")
        recorder, recording = start_recording(f"again-{hierarchy}-{len(names)}-{bool(mount)}",
                                              "--cgroup", seen_as, within=within)
        seen = set()
        for turn in range(ROUNDS):
            other = cgroups.make(*names[:-1], names[-1] + "-other")
            with running(CHURN, "still", "60", "2") as inside, \
                    running(CHURN, "still", "60", "2") as outside:
                harness.until(lambda: len(os.listdir(f"/proc/{inside.pid}/task")) == 3, "threads")
                move(inside.pid, below if turn % 2 else named)
                move(outside.pid, other)
                time.sleep(0.6)
                seen.add(inside.pid)
            for gone in (below, named, other):
                remove(gone)
            if len(names) > 1 and not mount:
                remove(os.path.dirname(named))
            cgroups.make(*names, "below")
        stop(recorder)
    equal(pids(recording), seen, "those inside, each time, and no others")
    threads = rows(recording, "thread")
    for pid in seen:
        mine = [row for row in threads if row["pid"] == pid]
        equal([row["process"] for row in mine], 3 * ["e2e-churn"], f"threads of {pid}")
        check(all(row["total_ns"] > 0.2e9 for row in mine), f"from move to end: {mine}")
    calls = sum(row["count"] for row in rows(recording, "syscall") if row["key"] == "getppid")
    check(calls >= ROUNDS * 4, f"{calls} calls")
    harness.check_sums(fathom, recording)


@tests.add
def made_again():
    """The path is in scope: whoever enters what is made there later is recorded."""
    hierarchies = [name for name in ("cpu", "v2") if name in mounts()]
    name = f"fathom-test-{os.getpid()}"
    places = [(hierarchy, names) for hierarchy in hierarchies for names in ([name, "service"], [name])]
    if not os.environ.get("FATHOM_TEST_LONG"):  # one far below, and one at the top of the other one
        places = places[:1] + places[1:][-1:]
    for place in places:
        recorded_each_time(*place)
    return None if hierarchies else "no cgroups"


IN_CGROUP_NAMESPACE = """
echo $$ >"$1/cgroup.procs" || exit
mount=$2
shift 2
exec unshare --cgroup --mount sh -c 'mount -t cgroup2 none "$0" && exec "$@"' "$mount" "$@"
"""


@tests.add
def made_again_seen_from_a_cgroup_namespace():
    """The recorder knows it by another path than the kernel."""
    if "v2" not in mounts() or subprocess.run(["unshare", "--cgroup", "--mount", "true"],
                                              capture_output=True).returncode:
        return "no cgroups of version 2, or no cgroup namespace"
    names = [f"fathom-test-{os.getpid()}", "service"]
    os.mkdir(fathom.path("mounted"))
    with Cgroups(mounts()["v2"]) as cgroups:
        recorded_each_time("v2", names, fathom.path("mounted"),
                           ("sh", "-c", IN_CGROUP_NAMESPACE, "sh", cgroups.make(names[0]),
                            fathom.path("mounted")))
    return None


@tests.add
def children_of_a_cgroup():
    hierarchy = "cpu" if "cpu" in mounts() else "v2"
    with cgroup(hierarchy) as (path, _), running("sh") as _, \
            harness.Process(["sh"], stdin=subprocess.PIPE, text=True) as shell:
        move(shell.pid, path)
        recorder, recording = start_recording("children", "--cgroup", path)
        shell.communicate("ls / >/dev/null; /bin/true; exit\n")
        stop(recorder)
    names = sorted(row["process"] for row in rows(recording, "process"))
    equal(names, ["ls", "sh", "true"], "processes")


@tests.add
def one_far_below_a_cgroup():
    """Whether it is in scope is not seen: that is told once, and not at each fork."""
    hierarchy = "cpu" if "cpu" in mounts() else "v2"
    with Cgroups(mounts()[hierarchy]) as cgroups, \
            harness.Process(["sh"], stdin=subprocess.PIPE, text=True) as shell:
        names = [f"fathom-test-{os.getpid()}"] + ["d"] * 30
        move(shell.pid, cgroups.make(*names))
        recorder, recording = start_recording("deep", "--cgroup", cgroups.make(names[0]))
        shell.communicate("for i in $(seq 100); do /bin/true; done; exit\n")
        stop(recorder)
    incomplete = sum(chunk["incomplete"] for chunk in fathom.chunks(recording))
    check(0 < incomplete < 20, f"incomplete: {incomplete}")


def spends(row):
    return {part: ns for part, ns in row["time"].items() if ns}


@tests.add
def only_some_system_calls():
    recording = fathom.record("syscalls", "--syscalls", "getppid", "--", CHURN, "mixed")
    calls = {row["key"]: row["count"] for row in rows(recording, "syscall")}
    equal(calls, {"getppid": 1000}, "calls")
    row = rows(recording, "thread")[0]
    equal(row["time"]["user_ns"], 0, "user code cannot be told from calls that were left out")
    check(row["time"]["cpu_ns"] > 20e6, f"it computes, in one part with these: {spends(row)}")
    check(row["time"]["timer_ns"] > 49e6, f"waits keep their cause: {spends(row)}")
    check(row["time"]["kernel_ns"] > 0, f"calls that were recorded: {spends(row)}")
    said = " ".join(fathom.ok("report", recording).split())
    check("(--syscalls); time on a CPU outside of these is cpu" in said, f"it says so: {said}")
    files = [row["key"] for row in rows(recording, "file")]
    text = subprocess.run(["babeltrace2", fathom.chunks(recording)[0]["path"]], text=True,
                          capture_output=True).stdout
    if text:
        check("/etc/hostname" in text, f"fds are recorded whatever is left out: {files}")
    harness.check_sums(fathom, recording)
    harness.check_babeltrace(fathom, recording)


# polls until there is a file of that name, then says so and goes on without end
POLLS = """
import os, select, sys
events = select.epoll()
while not os.path.exists(sys.argv[1]):
    events.poll(0.02)
    open("/etc/hostname").close()
print("polls", flush=True)
events.poll()
"""


@tests.add
def a_call_that_was_not_asked_for_and_goes_on_is_not_counted():
    with running(sys.executable, "-c", POLLS, fathom.path("enough")) as program:
        recorder, recording = start_recording("polls", "--syscalls", "openat", "-p", program.pid)
        with open(fathom.path("enough"), "w", encoding="utf-8"):
            equal(program.stdout.readline(), "polls\n", "it says that it ends its loop")
        harness.until(lambda: state_of(program.pid) == "S", "the program to sleep")
        stop(recorder)
    equal([row["key"] for row in rows(recording, "syscall")], ["openat"], "calls")
    spans = [s for t in fathom.trace_all(recording)["traces"] for s in t["spans"]]
    [last] = [s for s in spans if s["name"] == "epoll_wait"]
    equal(last["end_bound"], "soft", "the trace shows what it waits in")
    check(any(s["kind"] == "wait" and s.get("parent_id") == last["span_id"] for s in spans),
          "and the wait in it")
    harness.check_sums(fathom, recording)


@tests.add
def all_but_some_system_calls():
    recording = fathom.record("but", "--syscalls", "!getppid", "--", CHURN, "mixed")
    calls = {row["key"]: row["count"] for row in rows(recording, "syscall")}
    check("getppid" not in calls, "left out")
    equal(calls["getuid"], 1000, "getuid")


@tests.add
def all_system_calls_leave_nothing_out():
    recording = fathom.record("all", "--", CHURN, "mixed")
    row = rows(recording, "thread")[0]
    check(row["time"]["user_ns"] > 20e6, f"user code is known: {spends(row)}")
    check("filter:" not in fathom.ok("report", recording), "the report says nothing of a filter")


@tests.add
def without_spans_only_life_remains():
    recording = fathom.record("spans", "--spans-only", "--", CHURN, "0.3")
    equal(rows(recording, "syscall"), [], "calls")
    threads = rows(recording, "thread")
    check(len(threads) > 20, "threads are recorded")
    for row in threads:
        known = {part for part in spends(row) if part not in ("unknown_ns", "runnable_ns")}
        equal(known, set(), f"what is known of {row['key']}")
    ends = sorted(row["total_ns"] for row in threads)
    check(ends[len(ends) // 2] < 0.25e9, "lives end where they ended")
    check("--spans-only" in fathom.ok("report", recording), "the report says it")
    harness.check_sums(fathom, recording)


@tests.add
def what_the_kernel_hides_is_said():
    """Of some machines' first process no program sees a thread: a line says so, or it is there."""
    for pid in (1, os.getpid()):
        path = fathom.path(f"hidden-{pid}")
        result = fathom.run("record", "-o", path, "-p", pid, "-d", "300ms")
        equal(result.returncode, 0, f"status: {result.stderr}")
        shown = any(row.get("pid") == pid for row in fathom.report(path, "thread")["rows"])
        equal(f"no thread of process {pid}" in result.stderr, not shown, "it is said")
    check(shown, "this process is shown")


@tests.add
def whatever_runs_has_its_name():
    path = fathom.path("named")
    fathom.ok("record", "-o", path, "-d", "500ms")
    for row in fathom.report(path, "thread")["rows"]:
        check(row.get("pid") != 1 or row["thread"] != "?", f"the first process has a name: {row}")


with fathom:
    tests.run()
