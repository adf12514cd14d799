#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What chunks that --keep deleted knew: names, and what a long wait was for."""
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time

import harness
from harness import check, equal
from told_once import Fed

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
REQUESTS = sys.argv[2]
tests = harness.Tests()
LIMITS = ["--rotate", "200ms", "--keep", "1s"]

# All that has a name is made before the one long call.
PROGRAM = """
import os, sys
with open("/proc/self/comm", "w") as comm:
    comm.write("the-sleeper")
file = os.open(sys.argv[1], os.O_RDWR | os.O_CREAT)
out, into = os.pipe()
print(os.readlink(f"/proc/self/fd/{into}"), flush=True)
os.read(0, 1)
os.pread(file, 1, 4242)
os.write(into, b"x")
"""


def program(*prefix):
    """The program, by itself or by a recorder; it goes on when it gets a byte."""
    return subprocess.Popen([*prefix, sys.executable, "-c", PROGRAM, fathom.path("file")],
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True)


def recorder_of(pid, path):
    return harness.Process([fathom.binary, "record", "-o", path, *LIMITS, "-p", str(pid)],
                           stderr=subprocess.PIPE, text=True)


def sealed(path):
    with contextlib.suppress(FileNotFoundError):
        return sorted(name for name in os.listdir(path) if name[0].isdigit())
    return []


def wait_for(condition, what):
    for _ in range(3000):
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    raise harness.Failure(f"in vain: {what}")


def first_chunk_kept(path, aside):
    """A copy of the oldest chunk from before its deletion, under its name."""
    name = wait_for(lambda: sealed(path), "a chunk")[0]
    shutil.copytree(os.path.join(path, name), os.path.join(aside, name))
    return name


def check_answer(path, pipe):
    spans = [span for trace in fathom.trace_all(path)["traces"] for span in trace["spans"]]
    names = {span["name"]: span["attributes"].get("fd.name") for span in spans
             if span["name"] == "write" or
             span["attributes"].get("args", "").endswith(", 1, 4242")}
    equal(names, {"pread64": fathom.path("file"), "write": pipe}, "names of descriptors")
    (row,) = fathom.report(path, "thread")["rows"]
    equal((row["thread"], row["process"]), ("the-sleeper", "the-sleeper"), "its name")
    check(row["time"]["ipc_ns"] > row["total_ns"] / 2, f"it waited for a pipe: {row}")
    (read,) = [span for span in spans if span["name"] == "read" and span["threads"] == 1
               and span["attributes"]["args"].startswith("0, ")]
    check(read["time"]["ipc_ns"] > (read["end_ns"] - read["begin_ns"]) / 2, f"the wait: {read}")
    harness.check_sums(fathom, path)
    return row


@tests.add
def what_deleted_chunks_knew():
    path, aside = fathom.path("kept"), fathom.path("aside")
    os.mkdir(aside)
    with program(fathom.binary, "record", "-o", path, *LIMITS, "--") as recorder:
        pipe = recorder.stdout.readline().strip()
        first = first_chunk_kept(path, aside)
        wait_for(lambda: first not in sealed(path), "the first chunk goes")
        deleted = sealed(path)
        wait_for(lambda: not set(deleted) & set(sealed(path)), "all that were there then go")
        recorder.communicate("\n", timeout=60)
        equal(recorder.returncode, 0, "status")
    row = check_answer(path, pipe)
    equal(row["time"]["unknown_ns"], 0, "nothing is unknown")
    check(os.path.exists(os.path.join(path, "checkpoint")), "the checkpoint is there")


@tests.add
def what_was_told_once():
    """Who woke it from out of scope, and what a slot of its io_uring is."""
    path = fathom.path("fed")
    with Fed(REQUESTS, fathom.path("fed-work")) as fed:
        if not fed.pid:
            return "no io_uring here"
        with recorder_of(fed.pid, path) as recorder:
            wait_for(lambda: sealed(path), "a chunk")
            for name in ("waker-one", "waker-two"):
                # the name is told in this chunk, or in the next if this one was just cut
                for _ in range(2):
                    begun = sealed(path)[-1]
                    fed.wake(20, name)
                    wait_for(lambda: sealed(path)[-1] > begun, "the chunk with the first of these")
                before = sealed(path)[-1]
                for _ in range(600):
                    fed.wake(20, name)
                    if sealed(path)[0] > before:
                        break
                check(sealed(path)[0] > before, "the chunks that were there then go")
            recorder.send_signal(signal.SIGINT)
            _, stderr = recorder.communicate(timeout=60)
            equal(recorder.returncode, 0, f"status: {stderr}")
        fed.check(fathom, path, ["waker-two"], 20)
    harness.check_sums(fathom, path)
    return None


@tests.add
def a_chunk_that_the_base_stands_for():
    """A crash came between its merging and its deletion: it counts once."""
    path = fathom.path("kept")
    questions = [["report", "--json", "--by", by] for by in ("thread", "syscall", "cause")]
    questions.append(["trace", "--json", "--all"])
    before = [fathom.ok(*question, path) for question in questions]
    (name,) = os.listdir(fathom.path("aside"))
    shutil.copytree(os.path.join(fathom.path("aside"), name), os.path.join(path, name))
    equal([fathom.ok(*question, path) for question in questions], before, "answers")


@tests.add
def chunks_that_are_named():
    """What is told of all chunks of a directory is what is told of the directory."""
    path = fathom.path("kept")
    chunks = [os.path.join(path, name) for name in reversed(sealed(path))]
    for question in (["report", "--json", "--by", "file"], ["report", "--json", "--by", "thread"],
                     ["trace", "--json", "--all"]):
        equal(fathom.ok(*question, *chunks), fathom.ok(*question, path), question)


@tests.add
def a_damaged_base():
    path = fathom.path("kept")
    checkpoint = os.path.join(path, "checkpoint")
    with open(checkpoint, "r+b") as file:
        file.seek(os.path.getsize(checkpoint) // 2)
        byte = file.read(1)
        file.seek(-1, os.SEEK_CUR)
        file.write(bytes([byte[0] ^ 0x55]))
    for name in sealed(path)[:1]: # the one that was put back
        shutil.rmtree(os.path.join(path, name))
    result = fathom.run("report", "--json", "--by", "syscall", path)
    equal(result.returncode, 0, f"status: {result.stderr}")
    lines = result.stderr.splitlines()
    equal(len(lines), 1, f"lines: {lines}")
    check("checkpoint" in lines[0] and "damaged" in lines[0], lines[0])
    calls = {row["key"]: row["count"] for row in fathom.report(path, "syscall")["rows"]}
    equal((calls["pread64"], calls["write"]), (1, 1), "what the chunks tell is told")
    harness.check_sums(fathom, path)
    result = fathom.run("record", "-o", path, *LIMITS, "--", "true")
    equal(result.returncode, 0, f"the next recording begins another: {result.stderr}")
    check("checkpoint is damaged" in result.stderr, f"and says so: {result.stderr}")


@tests.add
def a_base_of_another_version():
    path = fathom.path("kept")
    checkpoint = os.path.join(path, "checkpoint")
    body = b"\0" * 37 + b"\xff" * 7 + b"\x3f" + b"fathombs" + b"\x7f" * 8
    with open(checkpoint, "wb") as file:
        file.write(b"fathomB1" + harness.crc32c(body).to_bytes(4, "little") + body)
    result = fathom.run("record", "-o", path, *LIMITS, "--", "true")
    equal(result.returncode, 0, f"status: {result.stderr}")
    check("another version of fathom" in result.stderr, f"it says so: {result.stderr}")


@tests.add
def after_a_crash_and_a_restart():
    path = fathom.path("crashed")
    with program() as sleeper:
        pipe = sleeper.stdout.readline().strip()
        try:
            with recorder_of(sleeper.pid, path) as recorder:
                wait_for(lambda: os.path.exists(os.path.join(path, "checkpoint")), "a checkpoint")
                recorder.send_signal(signal.SIGKILL)
            before = sealed(path)
            with recorder_of(sleeper.pid, path) as recorder:
                wait_for(lambda: sealed(path) and not set(before) & set(sealed(path)),
                         "the chunks of the first recorder go")
                # a slow start leaves a long gap, which goes with the first of them
                second = wait_for(lambda: sealed(path), "chunks of the second one")
                wait_for(lambda: not set(second) & set(sealed(path)), "the first of them go")
                wait_for(lambda: len(sealed(path)) > 3, "further ones")
                sleeper.communicate("\n", timeout=60)
                last = sealed(path)[-1]
                wait_for(lambda: sealed(path)[-1] > last, "another chunk")
                recorder.send_signal(signal.SIGINT)
                _, stderr = recorder.communicate(timeout=60)
                equal(recorder.returncode, 0, f"status: {stderr}")
        finally:
            sleeper.kill()
    equal({chunk["state"] for chunk in fathom.chunks(path)}, {"sealed"}, "chunks")
    check_answer(path, pipe)


@tests.add
def a_chunk_goes_once_it_is_too_much():
    """Not only at the next second: a busy host fills a disk by then."""
    path, took = fathom.path("small"), []
    with program() as sleeper:
        sleeper.stdout.readline()
        with subprocess.Popen([fathom.binary, "record", "-o", path, "--keep", "1K", "--rotate",
                               "1h", "-p", str(sleeper.pid)], stderr=subprocess.PIPE,
                              text=True) as recorder:
            wait_for(lambda: os.path.exists(os.path.join(path, ".control")), "the recorder")
            wait_for(lambda: fathom.run("rotate", path).returncode == 0, "a chunk")
            for _ in range(8):
                fathom.ok("rotate", path)
                begin = time.monotonic()
                wait_for(lambda: len(sealed(path)) == 1, "the chunk before goes")
                took.append(time.monotonic() - begin)
            recorder.send_signal(signal.SIGINT)
            recorder.communicate(timeout=60)
        sleeper.kill()
    check(min(took) < 0.5, f"seconds until it was gone: {took}")


@contextlib.contextmanager
def small_disk(megabytes):
    path = fathom.path("disk")
    os.mkdir(path)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "none", path],
                      check=False, stderr=subprocess.DEVNULL).returncode:
        yield None
        return
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)
        os.rmdir(path)


def fill(path):
    """All but nothing of the disk."""
    with open(os.path.join(path, "rest"), "wb", buffering=0) as file, \
            contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 4096)


@tests.add
def a_full_disk_on_which_old_chunks_may_go():
    """When a recording begins, and while it runs: the limits make room, else it ends."""
    with small_disk(8) as disk:
        if not disk:
            return "no tmpfs can be mounted here"
        path = os.path.join(disk, "recording")
        calls = ["--", "dd", "if=/dev/zero", "of=/dev/null", "bs=1"]
        # more than the next one needs: on a busy host much is written at once
        fathom.ok("record", "-o", path, "--rotate", "500K", *calls, "count=70000")
        before = sealed(path)
        check(len(before) > 2, f"chunks: {before}")
        fill(disk)
        full = fathom.run("record", "-o", path, "--keep", "1h", "--", "true")
        equal(full.returncode, 1, "nothing may go")
        check("the disk is full" in full.stderr, full.stderr)
        result = fathom.run("record", "-o", path, "--keep", "1M", "--rotate", "500K", *calls,
                            "count=30000")
        equal(result.returncode, 0, f"the oldest go: {result.stderr}")
        check(not set(before[:-1]) & set(sealed(path)), f"they are gone: {sealed(path)}")
        equal({chunk["state"] for chunk in fathom.chunks(path)}, {"sealed"}, "chunks")
    return None


def niceness(pid):
    """Of each thread."""
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/stat", encoding="utf-8") as stat:
            found.append(int(stat.read().rsplit(")", 1)[1].split()[16]))
    return found


@tests.add
def who_deletes_waits_for_nobody():
    """On a busy host a thread that is nicer than others hardly runs, and the disk fills."""
    path = fathom.path("busy")
    with program() as sleeper:
        sleeper.stdout.readline()
        with recorder_of(sleeper.pid, path) as recorder:
            wait_for(lambda: os.path.exists(os.path.join(path, "checkpoint")), "a checkpoint")
            nice = niceness(recorder.pid)
            recorder.send_signal(signal.SIGTERM)
            recorder.communicate(timeout=60)
        sleeper.kill()
    check(max(nice) <= os.getpriority(os.PRIO_PROCESS, 0), f"niceness of its threads: {nice}")


@tests.add
def a_hole_behind_the_base():
    """The recorder ended, another began later: what is told begins with its first chunk."""
    path = fathom.path("again")
    with program() as gone:
        gone.stdout.readline()
        with recorder_of(gone.pid, path) as recorder:
            wait_for(lambda: os.path.exists(os.path.join(path, "checkpoint")), "a checkpoint")
            recorder.send_signal(signal.SIGINT)
            recorder.communicate(timeout=60)
        gone.kill()
    first = sealed(path)
    fathom.ok("record", "-o", path, "--rotate", "200ms", "--", "sleep", "0.5")
    for name in first: # as if they had become too old
        shutil.rmtree(os.path.join(path, name))
    chunks, report = fathom.chunks(path), fathom.report(path, "thread")
    begin, end = report["from_ns"], report["to_ns"]
    equal((begin, end), (chunks[0]["begin_ns"], chunks[-1]["end_ns"]), "the range")
    equal(report["gaps"], [], "gaps")
    equal([row for row in report["rows"] if row["tid"] == gone.pid], [], "who is gone")
    equal([row for row in report["rows"] if row["total_ns"] > end - begin], [], "longer lives")
    equal([span for trace in fathom.trace_all(path)["traces"] for span in trace["spans"]
           if span["end_ns"] < begin], [], "spans of before")
    harness.check_sums(fathom, path)


with fathom:
    tests.run()
