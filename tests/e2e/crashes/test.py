#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What recorders that were killed, interrupted or never began leave in the default directory."""
import contextlib
import ctypes
import json
import os
import shutil
import signal
import struct
import subprocess
import sys
import time

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
tests = harness.Tests()
LOOP = "i=0; while [ $i -lt 3000 ]; do i=$((i+1)); read x < /etc/hostname; done; sleep 0.6"


@contextlib.contextmanager
def folder(name):
    """A directory in which fathom is called."""
    path = fathom.path(name)
    os.mkdir(path)
    outer, fathom.dir = fathom.dir, path
    try:
        yield path
    finally:
        fathom.dir = outer


def data(suffix=""):
    return fathom.path("fathom.data" + suffix)


def killed_recording():
    result = fathom.run("record", "--", "sh", "-c", LOOP + "; kill -9 $PPID")
    equal(result.returncode, -signal.SIGKILL, "the recorder was killed")


@tests.add
def what_was_left_open_is_read():
    with folder("left"):
        killed_recording()
        result = fathom.run("report", "--json", "--by", "syscall")
        equal(result.returncode, 0, f"report: {result.stderr}")
        equal(len(result.stderr.splitlines()), 1, f"lines: {result.stderr}")
        check("a crash left open" in result.stderr, result.stderr)
        rows = {row["key"]: row["count"] for row in fathom.report(data(), "syscall")["rows"]}
        check(rows["openat"] >= 3000, f"calls: {rows}")
        harness.check_sums(fathom, data())
        (chunk,) = fathom.chunks(data())
        equal(chunk["state"], "open", "state")
        check(chunk["records"] > 6000, f"it was counted: {chunk}")
        check(chunk["end_ns"] > chunk["begin_ns"] + 500000000, f"and measured: {chunk}")


@tests.add
def it_is_recovered_before_it_makes_way():
    with folder("way"):
        killed_recording()
        before = fathom.ok("report", "--json", "--by", "syscall")
        fathom.ok("record", "--", "true")
        (chunk,) = fathom.chunks(data(".old"))
        equal(chunk["state"], "recovered", "state")
        equal(fathom.ok("report", "--json", "--by", "syscall", data(".old")), before, "the answer")


@tests.add
def a_chunk_without_its_manifest_is_counted():
    with folder("manifest"):
        fathom.ok("record", "--", "sh", "-c", LOOP)
        (whole,) = fathom.chunks(data())
        answer = fathom.report(data(), "syscall")
        os.unlink(os.path.join(fathom.path(whole["path"]), ".manifest"))
        result = fathom.run("chunks", "--json")
        check("damaged" in result.stderr, f"it is told: {result.stderr}")
        (chunk,) = fathom.chunks(data())
        equal(chunk["records"], whole["records"], "records")
        equal(chunk["state"], "recovered", "state")
        equal(fathom.report(data(), "syscall")["rows"], answer["rows"], "what is read")


@tests.add
def a_command_that_cannot_be_run_costs_nothing():
    with folder("typo"):
        for word in ("first", "second"):
            fathom.ok("record", "--", "echo", word)
        before = [fathom.chunks(data()), fathom.chunks(data(".old"))]
        script = fathom.path("script")
        with open(script, "w", encoding="ascii") as file:
            file.write("#!/no/such/interpreter\n")
        os.chmod(script, 0o755)
        for command, status in (("nosuchcmd", 127), (script, 127), ("/etc/passwd", 126)):
            result = fathom.run("record", "--", command)
            equal(result.returncode, status, f"status of {command}")
            equal(len(result.stderr.splitlines()), 1, f"lines: {result.stderr}")
            check(f"cannot run {command}: " in result.stderr, result.stderr)
        equal(fathom.run("record", "--event", "no:such").returncode, 1, "no such event")
        equal([fathom.chunks(data()), fathom.chunks(data(".old"))], before, "all is there")
        equal(sorted(os.listdir(fathom.dir)), ["fathom.data", "fathom.data.old", "script"],
              "nothing else is left")
        for command, status in (("nosuchcmd", 127), ("/etc/passwd", 126)):
            equal(fathom.run("record", "-o", "mine", "--", command).returncode, status, command)
            check(not os.path.exists(fathom.path("mine")), "a directory that it made is gone again")


@tests.add
def a_chunk_that_cannot_be_recovered_stops_nobody():
    """Such as one of a newer fathom, or what has only the name of a chunk."""
    name = ".open-01700000000000000000-000007"
    with folder("unrecovered"):
        fathom.ok("record", "-o", "mine", "--", "true")
        with open(os.path.join(fathom.path("mine"), name), "w", encoding="ascii"):
            pass
        result = fathom.run("record", "-o", "mine", "--", "true")
        equal(result.returncode, 0, f"status: {result.stderr}")
        told = [line for line in result.stderr.splitlines() if name in line]
        equal(len(told), 1, f"told once: {result.stderr}")
        check("cannot be recovered" in told[0], told[0])
        check(os.path.exists(os.path.join(fathom.path("mine"), name)), "it is there")
        equal(len([n for n in os.listdir(fathom.path("mine")) if n.startswith("0")]), 2, "chunks")


def began(path, recorder):
    """Waits until the recorder has made its directory."""
    for _ in range(3000):
        if os.path.exists(path) or recorder.poll() is not None:
            return
        time.sleep(0.001)


@tests.add
def ctrl_c_while_it_begins():
    """At every moment from the first one on: it ends well, and so does the next one."""
    with folder("interrupted"):
        for delay in (0, 0.02, 0.1, 0.3, 0.8):
            recorder = subprocess.Popen([fathom.binary, "record"], cwd=fathom.dir,
                                        stderr=subprocess.PIPE, text=True)
            began(data(".new"), recorder)
            time.sleep(delay)
            recorder.send_signal(signal.SIGINT)
            _, stderr = recorder.communicate(timeout=60)
            equal(recorder.returncode, 0, f"status after {delay} s: {stderr}")
            check(set(os.listdir(fathom.dir)) <= {"fathom.data", "fathom.data.old"}, "names")
            left = [n for n in os.listdir(data()) if n.startswith(".open")]
            equal(left, [], "open chunks")


@tests.add
def a_command_gets_the_signals_that_fathom_was_given():
    text = "grep -E '^Sig(Blk|Ign|Cgt)' /proc/self/status"
    ignoring = ["sh", "-c", "trap '' INT HUP; exec \"$@\"", "sh"]
    plain = subprocess.run([*ignoring, "sh", "-c", text], text=True, capture_output=True)
    recorded = subprocess.run([*ignoring, fathom.binary, "record", "-o", fathom.path("signals"),
                               "--", "sh", "-c", text], text=True, capture_output=True, timeout=60)
    equal(recorded.stdout, plain.stdout, "signals of the command")


@tests.add
def a_recorder_that_goes_on_is_left_alone():
    with folder("running"):
        with harness.Process([fathom.binary, "record", "--", "sh", "-c", "echo; read x"],
                             cwd=fathom.dir, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE, text=True) as recorder:
            recorder.stdout.readline()
            for _ in range(500):
                if os.path.exists(data()):
                    break
                time.sleep(0.01)
            result = fathom.run("report")
            equal(result.returncode, 1, "there is nothing yet")
            check("fathom rotate" in result.stderr, result.stderr)
            result = fathom.run("record", "--", "true")
            equal(result.returncode, 1, "status of another one")
            check("another recorder writes to fathom.data" in result.stderr, result.stderr)
            fathom.ok("rotate")
            result = fathom.run("report", "--json")
            equal((result.returncode, result.stderr), (0, ""), "report")
            recorder.communicate("\n", timeout=60)
        equal([chunk["state"] for chunk in fathom.chunks(data())], ["sealed"] * 2, "chunks")


@tests.add
def names_of_chunks_join():
    """The end of one is the begin of the next, in the names, too."""
    where = fathom.record("joined", "--rotate", "50ms", "--", "sleep", "0.5")
    names = [os.path.basename(chunk["path"]).split("-") for chunk in fathom.chunks(where)]
    check(len(names) >= 4, f"chunks: {names}")
    for one, next_one in zip(names, names[1:]):
        equal(one[1], next_one[0], "end and begin")


@contextlib.contextmanager
def program(number, name):
    """It sleeps, under that number."""
    path = fathom.path(name)
    shutil.copy("/bin/sleep", path)
    wanted = ctypes.c_int(number)
    call = struct.pack("=11Q", 0, 0, 0, 0, signal.SIGCHLD, 0, 0, 0, ctypes.addressof(wanted), 1, 0)
    child = ctypes.CDLL(None, use_errno=True).syscall(435, call, len(call))  # clone3
    if child == 0:
        try:
            os.execv(path, [path, "100"])
        finally:
            os._exit(127)
    equal(child, number, f"its number: {os.strerror(ctypes.get_errno())}")
    try:
        harness.until(lambda: os.readlink(f"/proc/{number}/exe") == path, "its exec")
        yield
    finally:
        os.kill(number, signal.SIGKILL)
        os.waitpid(number, 0)


@tests.add
def a_number_that_another_one_has_behind_a_gap():
    """Nothing that was told of the one is true of the other."""
    names = ["first", "second"]
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
        numbers = range(int(file.read()) - 1, 300, -1)
    number = next(n for n in numbers if not os.path.exists(f"/proc/{n}"))
    with folder("number"):
        for name in names:
            with program(number, name):
                fathom.ok("record", "-o", "both", "-d", "0.5")
        for by in ("thread", "process"):
            rows = [row for row in fathom.report("both", by)["rows"] if row["pid"] == number]
            equal(sorted((row["key"], row["process"]) for row in rows),
                  [(name, name) for name in names], f"rows by {by}")
            equal([row["count"] for row in rows], [1, 1], f"threads by {by}")
        roots = [span for trace in fathom.trace_all("both", "--tid", number)["traces"]
                 for span in trace["spans"] if span["kind"] == "thread"]
        equal([(root["thread"], root["process"], root["attributes"]["process.executable.name"])
               for root in roots], [(name, name, name) for name in names], "threads")


@tests.add
def a_range_beside_the_recording():
    where = fathom.record("range", "--", "true")
    result = fathom.run("report", "--from", "100s", where)
    equal((result.returncode, result.stdout), (1, ""), "status and output")
    equal(len(result.stderr.splitlines()), 1, f"lines: {result.stderr}")
    check("outside of the recording" in result.stderr and "which lasts" in result.stderr,
          result.stderr)


def damaged(chunk, how):
    """What is done to the files of a chunk."""
    for name in os.listdir(chunk):
        path = os.path.join(chunk, name)
        size = os.path.getsize(path)
        if how == "cut short" and name.startswith(("cpu", "life")):
            os.truncate(path, size // 2)
        elif how == "overwritten":
            with open(path, "wb") as file:
                file.write(os.urandom(size))
        elif how == "a newer one" and name == ".manifest":
            with open(path, "r+b") as file:
                text = file.read().replace(b"fathom_chunk=", b"fathom_chunk=9", 1)
                text = text[:text.rindex(b"checksum=")]
                file.seek(0)
                file.write(text + f"checksum={harness.crc32c(text):08x}\n".encode())


def calls_in(*where):
    answer = json.loads(fathom.run("report", "--json", "--by", "syscall", *where).stdout)
    return {row["key"]: row["count"] for row in answer["rows"]}


@tests.add
def damage_is_told_and_the_others_are_read():
    where = fathom.record("whole", "--rotate", "300ms", "--", "sh", "-c",
                          "for i in 1 2 3 4; do sleep 0.25; done")
    chunks = sorted(name for name in os.listdir(where) if name[0] != ".")
    check(len(chunks) > 2, f"chunks: {chunks}")
    for how, told in {"cut short": "is damaged: ", "overwritten": "manifest is damaged",
                      "a newer one": "use the one that recorded it"}.items():
        for alone in (False, True):
            copy = fathom.path(f"{how}-{alone}".replace(" ", "-"))
            shutil.copytree(where, copy)
            fathom.broken.add(copy)
            damaged(os.path.join(copy, chunks[1]), how)
            for name in (chunks[:1] + chunks[2:] if alone else []):
                shutil.rmtree(os.path.join(copy, name))
            for command in (["report", "--json"], ["trace", "--all", "--json"],
                            ["chunks", "--json"]):
                result = fathom.run(*command, copy)
                lines = result.stderr.splitlines()
                none = alone and (how == "a newer one" or
                                  (how == "overwritten" and command[0] != "chunks"))
                equal(result.returncode, int(none), f"status of {command}, {how}: {lines}")
                equal(len(lines), 2 if none else 1, f"lines of {command}, {how}: {lines}")
                check(chunks[1] in lines[0] and told in lines[0], f"{how}: {lines}")
                if not none and command[0] != "chunks":
                    answer = json.loads(result.stdout)
                    check(answer["lost"]["damaged"] > 0, f"{how}: {answer['lost']}")
            if not alone:
                whole = calls_in(*(os.path.join(where, name) for name in chunks[:1] + chunks[2:]))
                left = calls_in(copy)
                check(whole and all(left.get(key, 0) >= count for key, count in whole.items()) and
                      (how == "cut short" or left == whole),
                      f"calls, {how}: {left}, what is whole has {whole}")


with fathom:
    tests.run()
