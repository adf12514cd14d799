#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What cannot be recorded is said in one clear line; with few privileges much can be."""
import contextlib
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

import harness
import privileges
from harness import check, equal
from privileges import AS_NOBODY, CAPABILITIES, NOBODY, binary_for_all, mask, with_capabilities

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
tests = harness.Tests()
ONE = ("--", "true")  # what is recorded if nothing fails: a recorder of the host disturbs others


def record(prefix, *args):
    """fathom record, by way of a command that changes who runs it."""
    return subprocess.run([*prefix, binary(), "record", *map(str, args)], text=True, timeout=60,
                          capture_output=True, cwd=fathom.dir)


def binary():
    return binary_for_all(fathom)


def directory_of(user, name):
    return privileges.directory_of(fathom, user, name)


def fails(result, *texts):
    """Status 1 and one line that names what is wrong."""
    equal(result.returncode, 1, f"status: {result.stderr}")
    equal(result.stdout, "", "output")
    lines = result.stderr.splitlines()
    equal(len(lines), 1, f"lines: {lines}")
    check(lines[0].startswith("fathom"), lines[0])
    check(len(lines[0]) < 300, f"a line to be read: {lines[0]}")
    for text in texts:
        check(text in lines[0], f"{text!r} in: {lines[0]}")


@contextlib.contextmanager
def mounted(name, options):
    path = fathom.path(name)
    os.mkdir(path)
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "none", path], check=True)
    try:
        yield path
    finally:
        subprocess.run(["umount", "-l", path], check=True)


@tests.add
def unknown_pid():
    with open("/proc/sys/kernel/pid_max", encoding="ascii") as file:
        nobody = int(file.read()) - 1
    check(not os.path.exists(f"/proc/{nobody}"), "no such process")
    fails(fathom.run("record", "-o", "x", "-p", nobody, "-d", "1"), f"no process {nobody}")


@tests.add
def unknown_cgroup():
    fails(fathom.run("record", "-o", "x", "--cgroup", "/sys/fs/cgroup/no-such", "-d", "1"),
          "no cgroup /sys/fs/cgroup/no-such")
    fails(fathom.run("record", "-o", "x", "--cgroup", fathom.dir, "-d", "1"), "no cgroup")


@tests.add
def a_file_is_no_directory():
    with open(fathom.path("file"), "w", encoding="ascii"):
        pass
    fails(fathom.run("record", "-o", "file", *ONE), "file", "Not a directory")


@tests.add
def read_only_file_system():
    with mounted("ro", "ro") as path:
        fails(fathom.run("record", "-o", path + "/new", *ONE), "Read-only file system")
        fails(fathom.run("record", "-o", path, *ONE), "Read-only file system")


@tests.add
def two_recorders_in_one_directory():
    path = fathom.path("two")
    first = subprocess.Popen([fathom.binary, "record", "-o", path, "--", "sh", "-c", "read x"],
                             stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        harness.until(lambda: fathom.run("rotate", path).returncode == 0, "the first one")
        fails(fathom.run("record", "-o", path, *ONE), "another recorder writes to")
    finally:
        _, stderr = first.communicate("\n", timeout=60)
    equal(first.returncode, 0, f"the first one goes on: {stderr}")


@tests.add
def full_disk():
    """What was sealed before stays readable, and the next start goes on."""
    with mounted("full", "size=1m") as path:
        out = os.path.join(path, "out")
        loop = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); read x < /etc/hostname; done"
        result = fathom.run("record", "-o", out, "--rotate", "100K", "--", "sh", "-c", loop)
        fails(result, "No space left on device", "the disk is full", "set a limit with --keep")
        equal([name for name in os.listdir(out) if name.startswith(".open")], [], "left open")
        sealed = fathom.chunks(out)
        check(len(sealed) >= 1, "chunks were sealed before")
        whole = [chunk for chunk in sealed if chunk["state"] == "sealed"]
        check(fathom.report(out, "process")["rows"], "they are read")
        subprocess.run(["mount", "-o", "remount,size=64m", path], check=True)
        fathom.ok("record", "-o", out, "--", "true")
        after = {chunk["path"] for chunk in fathom.chunks(out)}
        check({chunk["path"] for chunk in whole} <= after, "they are still there")
        check(len(after) > len(whole), "and more")
        harness.check_sums(fathom, out)
    with mounted("limited", "size=1m") as path:
        result = fathom.run("record", "-o", os.path.join(path, "out"), "--rotate", "100K",
                            "--keep", "1G", "--", "sh", "-c", loop)
        fails(result, "the disk is full", "set a lower limit with --keep")


@tests.add
def a_disk_that_is_full_before():
    """Where a recording is begun, and where one is gone on with."""
    with mounted("filled", "size=1m") as path:
        out = os.path.join(path, "out")
        fathom.ok("record", "-o", out, "--", "true")
        fill(os.path.join(path, "fill"))
        for name in ("out", "new"):
            result = fathom.run("record", "-o", os.path.join(path, name), "--", "true")
            fails(result, "No space left on device", "the disk is full: free some space")
        check(fathom.report(out, "process")["rows"], "what was recorded before is read")


@tests.add
def a_directory_that_cannot_be_written_any_more():
    """Not by its owner either, once the recorder has given up its privileges."""
    out = fathom.path("frozen")
    with running("record", "-o", out, "--rotate", "50ms", "--", "sleep", "60") as recorder:
        harness.until(lambda: fathom.run("rotate", out).returncode == 0, "a sealed chunk")
        os.chmod(out, 0o500)
        equal(recorder.wait(timeout=20), 1, "status")
        # one that was open meanwhile may stay so, which is told before
        lines = [recorder.stderr.readline()]
        if "stays unsealed" in lines[0]:
            lines.append(recorder.stderr.readline())
        check("choose a writable directory with -o" in lines[-1], f"{lines}")
    check(fathom.report(out, "cause")["lost"]["total"] == 0, "what was recorded before is read")


@contextlib.contextmanager
def running(*args, before=()):
    """A recorder whose command may outlive it, but not the test."""
    recorder = subprocess.Popen([*before, fathom.binary, *args], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, start_new_session=True)
    try:
        yield recorder
    finally:
        try:
            os.killpg(recorder.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        recorder.communicate()


def fill(path):
    fd = os.open(path, os.O_WRONLY | os.O_CREAT)
    try:
        while os.write(fd, b"x" * 4096):
            pass
    except OSError:
        pass
    finally:
        os.close(fd)


@tests.add
def full_disk_without_rotation():
    """The only chunk is sealed with what fitted, and says what is missing."""
    with mounted("narrow", "size=600k") as path:
        out = os.path.join(path, "out")
        loop = "while :; do read x < /etc/hostname; done"
        with running("record", "-o", out, "--", "sh", "-c", loop) as recorder:
            equal(recorder.wait(timeout=60), 1, "status")
            line = recorder.stderr.readline()
            check("the disk is full" in line, line)
        chunks = fathom.chunks(out)
        equal([chunk["state"] for chunk in chunks], ["sealed"], "chunks")
        check(chunks[0]["records"] > 100, f"what fitted: {chunks}")
        check(chunks[0]["lost"]["total"] > 0, f"and what did not: {chunks}")
        harness.check_sums(fathom, out)


@tests.add
def files_that_may_not_grow():
    """RLIMIT_FSIZE is a reason to end, told in a line, and the command keeps its signal for it."""
    out = fathom.path("limited")
    limit = ["prlimit", "--fsize=200000"]
    loop = "while :; do read x < /etc/hostname; done"
    with running("record", "-o", out, "--", "sh", "-c", loop, before=limit) as recorder:
        equal(recorder.wait(timeout=60), 1, "status")
        line = recorder.stderr.readline()
        check("ulimit -f" in line and "--rotate" in line, line)
    chunks = fathom.chunks(out)
    equal([chunk["state"] for chunk in chunks], ["sealed"], "chunks")
    # Not how much fitted: what the recorder takes at once, on a busy machine, may be too much.
    check(chunks[0]["records"] > 0, f"what fitted: {chunks}")
    check(chunks[0]["lost"]["total"] > 0, f"and what did not: {chunks}")
    harness.check_sums(fathom, out)
    for given, status in ((["env"], 128 + signal.SIGXFSZ),
                          (["env", "--ignore-signal=XFSZ"], 0)):
        result = record(given, "-o", fathom.path("given"), "--", "sh", "-c", "kill -XFSZ $$")
        equal(result.returncode, status, f"{given}: {result.stderr}")


@tests.add
def a_chunk_that_cannot_be_sealed():
    """It is told at once, the recording goes on, and the next one recovers the chunk."""
    path = fathom.path("unsealed")
    with harness.Process([fathom.binary, "record", "-o", path, "--", "sh", "-c",
                          "echo begun; read x"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True) as recorder:
        recorder.stdout.readline()
        (name,) = [n for n in os.listdir(path) if n.startswith(".open")]
        os.mkdir(os.path.join(path, name, "..manifest.new"))
        result = fathom.run("rotate", path)
        equal(result.returncode, 1, "who asked for it")
        check("could not be sealed" in result.stderr, result.stderr)
        check("stays unsealed" in recorder.stderr.readline(), "told at once")
        fathom.ok("rotate", path)
        recorder.stdin.write("\n")
        recorder.stdin.close()
        equal(recorder.wait(timeout=60), 1, "status")
    states = sorted(chunk["state"] for chunk in fathom.chunks(path))
    equal(states, ["open", "sealed", "sealed"], "the others")
    os.rmdir(os.path.join(path, name, "..manifest.new"))
    fathom.ok("record", "-o", path, "--", "true")
    states = [chunk["state"] for chunk in fathom.chunks(path)]
    equal(states, ["recovered", "sealed", "sealed", "sealed"], "chunks")


@tests.add
def chunks_that_cannot_be_sealed():
    """If none can be, the recording ends."""
    path = fathom.path("never-sealed")
    with running("record", "-o", path, "--", "sh", "-c", "echo begun; exec sleep 60") as recorder:
        recorder.stdout.readline()
        for _ in range(8):
            (name,) = [n for n in os.listdir(path) if n.startswith(".open")
                       and not os.path.exists(os.path.join(path, n, "..manifest.new"))]
            os.mkdir(os.path.join(path, name, "..manifest.new"))
            equal(fathom.run("rotate", path).returncode, 1, "rotate")
        equal(recorder.wait(timeout=60), 1, "status")
        recorder.stderr.readline()
        line = recorder.stderr.readline()
        check("8 chunks in a row" in line, f"why: {line}")


@tests.add
def flight_recorder_on_a_full_disk():
    """A snapshot that cannot be written is an error, and the next one is another try."""
    with mounted("flight", "size=64k") as path:
        out = os.path.join(path, "out")
        with harness.Process([fathom.binary, "record", "--flight", "--detail", "calls", "-o", out, "--", "sh", "-c",
                              "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); read x < /etc/hostname;"
                              " done; echo begun; read x"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True) as recorder:
            recorder.stdout.readline()
            fill(os.path.join(path, "fill"))
            equal(fathom.run("snapshot", out).returncode, 1, "snapshot")
            check("No space left" in recorder.stderr.readline(), "the recorder says it, too")
            subprocess.run(["mount", "-o", "remount,size=64m", path], check=True)
            chunk = fathom.ok("snapshot", out).strip()
            check(fathom.report(chunk, "syscall")["rows"], "what memory held is there")
            recorder.stdin.close()
            equal(recorder.wait(timeout=60), 1, "the command's own status: read has no input")


@tests.add
def a_full_disk_is_told_before_commands_are_waited_for():
    with mounted("hooked", "size=600k") as path:
        loop = "while :; do read x < /etc/hostname; done"
        with running("record", "-o", os.path.join(path, "out"), "--rotate", "100K", "--on-chunk",
                     f"exec sleep {12 * harness.SLOWER} #", "--", "sh", "-c", loop) as recorder:
            line = recorder.stderr.readline()
            check("the disk is full" in line, line)
            check(recorder.poll() is None, "it waits for its commands")
            recorder.send_signal(signal.SIGTERM)
            line = recorder.stderr.readline()
            check("--on-chunk still runs" in line, f"told once: {line}")
            equal(recorder.wait(timeout=20 * harness.SLOWER), 1, "status")
            for pid in re.findall(r"\(pid (\d+)\)", line):  # they hold our pipes
                os.kill(int(pid), signal.SIGKILL)


@tests.add
def retention_on_a_full_disk():
    """No chunk is deleted before the checkpoint that replaces it is written, in space reserved for it."""
    with mounted("retained", "size=4m") as path:
        out, held = os.path.join(path, "out"), os.path.join(path, "held")
        os.mkdir(held)
        with harness.Process([fathom.binary, "record", "--flight", "--keep", "2s", "-o", out, "--",
                              "sh", "-c", "echo begun; read x"], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                             text=True) as recorder:
            recorder.stdout.readline()
            harness.until(lambda: os.path.exists(os.path.join(out, ".checkpoint.new")), "room for it")
            first, last = (fathom.ok("snapshot", out).strip() for _ in range(2))
            for name in os.listdir(first):  # its deletion makes no room
                os.link(os.path.join(first, name), os.path.join(held, name))
            fill(os.path.join(path, "fill"))
            harness.until(lambda: not os.path.exists(first), "the first one goes")
            check(os.path.getsize(os.path.join(out, "checkpoint")) > 100, "the checkpoint is there")
            check(os.path.exists(last), "the last one stays")
            recorder.stdin.close()
            recorder.wait(timeout=60)
        equal([name for name in os.listdir(out) if "checkpoint" in name], ["checkpoint"], "what is left")


def descriptors_of(pid):
    """Looked at now and again: of new programs it has some for a moment."""
    time.sleep(0.01)
    return {int(name) for name in os.listdir(f"/proc/{pid}/fd")}


@tests.add
def a_snapshot_that_fails_leaves_nothing():
    """At whichever step, for want of descriptors; but of one that is not sealed it is said."""
    out, failed, left = fathom.path("few"), 0, set()
    with harness.Process([fathom.binary, "record", "--flight", "--detail", "calls", "-o", out, "--", "sh", "-c",
                          "echo begun; read x"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True) as recorder:
        recorder.stdout.readline()
        had = resource.prlimit(recorder.pid, resource.RLIMIT_NOFILE)
        used = set.intersection(*[descriptors_of(recorder.pid) for _ in range(20)])
        free = [number for number in range(len(used) + 16) if number not in used]
        for limit in free[1:9]:
            resource.prlimit(recorder.pid, resource.RLIMIT_NOFILE, (limit, had[1]))
            failed += fathom.run("snapshot", out).returncode
            left |= {name for name in os.listdir(out) if name.startswith(".open")}
        check(failed >= 3, f"{failed} of 8 failed")
        resource.prlimit(recorder.pid, resource.RLIMIT_NOFILE, had)
        fathom.ok("snapshot", out)
        _, stderr = recorder.communicate("")
        equal(recorder.returncode, 1, "the command's own status: read has no input")
        check(not left or "a chunk stays unsealed" in stderr, f"{left} are left: {stderr}")


@tests.add
def too_few_descriptors():
    """At whichever step, it is said how many there have to be; and as many are enough."""
    for allowed, *asked in ((60,), (150,), (155,), (160,), (170, "--event", "sched:*")):
        def try_with(limit):
            return record(["prlimit", f"--nofile={limit}"], "-o", "scant", *asked, "--", "true")
        result = try_with(allowed)
        if result.returncode == 0:  # a kernel of which fewer programs or events are wanted
            check(allowed > 60, f"{allowed} suffice")
            continue
        fails(result, "Too many open files", "file descriptors")
        [wanted] = re.findall(r"'ulimit -n (\d+)'", result.stderr)
        check(int(wanted) > allowed, result.stderr)
        result = try_with(wanted)
        equal(result.returncode, 0, f"{wanted} are enough: {result.stderr}")


@tests.add
def no_types_of_the_kernel():
    """BTF is hidden from fathom by a mount over it, in a mount namespace of its own."""
    hide = "mount -t tmpfs none /sys/kernel/btf && exec \"$@\""
    if not os.path.exists("/sys/kernel/btf/vmlinux"):
        return "this kernel has none anyway"
    fails(record(["unshare", "-m", "sh", "-c", hide, "sh"], "-o", "x", *ONE),
          "CONFIG_DEBUG_INFO_BTF")
    return None


@tests.add
def no_privilege():
    path = directory_of(NOBODY, "unprivileged")
    for prefix in (AS_NOBODY, with_capabilities(["bpf"]), with_capabilities(["sys_ptrace"])):
        fails(record(prefix, "-o", path + "/out", *ONE), "CAP_BPF", "CAP_PERFMON")


@tests.add
def root_of_a_container():
    """It has what such a root has, or all, but in a user namespace of its own."""
    for prefix in (["setpriv", "--bounding-set=-bpf,-sys_admin"],
                   ["setpriv", "--bounding-set=-perfmon,-sys_admin"], ["unshare", "-Ur"]):
        result = record(prefix, "-o", "contained", *ONE)
        fails(result, "CAP_BPF", "CAP_PERFMON", "container")
        check("libbpf" not in result.stderr, result.stderr)


@tests.add
def directory_of_somebody_else():
    path = directory_of(0, "roots")
    os.chmod(path, 0o755)
    prefix = with_capabilities(CAPABILITIES)
    fails(record(prefix, "-o", path, *ONE), path, "Permission denied")
    fails(record(prefix, "-o", path + "/out", *ONE), path + "/out", "Permission denied")
    path = directory_of(NOBODY, "nobodys")
    equal(record([], "-o", path, "--rotate", "50ms", "--", "sleep", "0.3").returncode, 0,
          "root may write anywhere")


STATUS = "grep -E '^(Uid|Cap|SigBlk)' /proc/self/status; echo $FATHOM_TEST; sleep 0.3"


def status(text):
    return dict(re.findall(r"^(\w+):\s*(.*)$", text, re.M))


@tests.add
def four_capabilities_instead_of_root():
    """All that root records; the command is what it would be without fathom."""
    path = directory_of(NOBODY, "capable")
    prefix = ["env", "FATHOM_TEST=kept", *with_capabilities(CAPABILITIES)]
    plain = subprocess.run([*prefix, "sh", "-c", STATUS], text=True, capture_output=True)
    result = record(prefix, "-o", path + "/out", "--", "sh", "-c", STATUS)
    equal(result.returncode, 0, f"status: {result.stderr}")
    equal(result.stdout, plain.stdout, "user, capabilities, signals and environment of CMD")
    equal(int(status(result.stdout)["CapEff"], 16), mask(CAPABILITIES), "what it was given")
    rows = fathom.report(path + "/out", "process")["rows"]
    equal(sorted(row["process"] for row in rows), ["grep", "sh", "sleep"], "processes")
    calls = {row["key"] for row in fathom.report(path + "/out", "syscall")["rows"]}
    check({"openat", "clock_nanosleep", "wait4", "execve"} <= calls, f"calls {calls}")
    faults = [row for row in rows if row["time"]["user_ns"] > 0]
    equal(len(faults), 3, "all of them ran")
    harness.check_sums(fathom, path + "/out")


@contextlib.contextmanager
def tracefs_at_its_place():
    """Mounted for as long as that takes, if it is nowhere: few privileges do not mount it."""
    place = "/sys/kernel/tracing"
    if any(os.path.isdir(f"{at}/events") for at in (place, "/sys/kernel/debug/tracing")):
        yield
        return
    subprocess.run(["mount", "-t", "tracefs", "tracefs", place], check=True)
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", place], check=True)


@tests.add
def events_with_few_privileges():
    """By capabilities of the file, and without the one that opens tracefs."""
    if not shutil.which("setcap"):
        return "no setcap here"
    with tracefs_at_its_place():
        return events_by_capabilities()


def events_by_capabilities():
    path = directory_of(NOBODY, "events")
    capable = fathom.path("capable-fathom")
    shutil.copy(binary(), capable)
    os.chmod(capable, 0o755)
    event = ["--event", "sched:sched_switch", "--", "true"]
    for names, status in ((CAPABILITIES, 0), (CAPABILITIES[:3], 1)):
        if subprocess.run(["setcap", "".join(f"cap_{n}," for n in names)[:-1] + "+ep", capable],
                          capture_output=True).returncode:
            return "no capabilities of files here"
        result = subprocess.run([*AS_NOBODY, capable, "record", "-o", path + "/out", *event],
                                text=True, timeout=60, capture_output=True)
        equal(result.returncode, status, f"with {names}: {result.stderr}")
    check("CAP_DAC_READ_SEARCH" in result.stderr, result.stderr)
    check("has no event" not in result.stderr, result.stderr)
    return None


def capabilities_of(pid):
    """Of each thread of a process: (permitted, effective)."""
    found = []
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/status", encoding="ascii") as file:
            fields = status(file.read())
        found.append((int(fields["CapPrm"], 16), int(fields["CapEff"], 16)))
    return found


@tests.add
def what_is_not_needed_is_given_up():
    """Root, too: the recorder keeps what it looks into processes with; its command keeps all.

    Where a CPU can go and come back, it keeps what opens events there, too. One thread has the
    kernel measure the programs, which is its only capability.
    """
    path = fathom.path("dropped")
    kept = mask(["sys_ptrace", "dac_read_search"]) | 1 << 40
    kept |= mask(["perfmon"]) if os.path.exists("/sys/devices/system/cpu/cpu1") else 0
    recorder = subprocess.Popen([fathom.binary, "record", "-o", path, "--", "sh", "-c",
                                 "grep CapEff /proc/self/status; read x"],
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True)
    try:
        line = recorder.stdout.readline()
        equal(fathom.run("rotate", path).returncode, 0, "it records")
        threads = capabilities_of(recorder.pid)
    finally:
        _, stderr = recorder.communicate("\n", timeout=60)
    equal(recorder.returncode, 0, f"it ends well: {stderr}")
    check(len(threads) >= 2, f"threads: {threads}")
    meter = 1 << 21  # CAP_SYS_ADMIN
    equal(threads.count((meter, meter)), 1, f"threads that measure: {threads}")
    threads.remove((meter, meter))
    for permitted, effective in threads:
        equal((permitted & ~kept, effective & ~kept), (0, 0), "nothing else is left")
    with open("/proc/self/status", encoding="ascii") as file:
        mine = int(status(file.read())["CapEff"], 16)
    equal(int(line.split()[1], 16), mine, "the command has what the caller has")
    equal(len(fathom.chunks(path)), 2, "chunks")


with fathom:
    tests.run()
