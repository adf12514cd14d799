#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""sqlite3: as a command, as strace counts; and by pid, with its database open before."""
import os
import shutil
import subprocess
import sys

import harness
import servers
from harness import check, equal

harness.require_root()
servers.need("sqlite3", "strace")
fathom = harness.Fathom(sys.argv[1])
tests = harness.Tests()
TABLE = "create table t(a integer primary key, b text);\n"
ROWS = 200
INSERTS = "".join(f"insert into t(b) values('row {i}');\n" for i in range(ROWS))
QUERY = "select count(*), max(length(b)) from t;\n"


def database(name):
    path = fathom.path(name)
    servers.run("sqlite3", "-init", "/dev/null", path, input=TABLE)
    return path


def strace_counts(*args, **options):
    """{call: (count, errors)}, and how the program ended."""
    log = fathom.path("strace.log")
    servers.run("strace", "-f", "-c", "-o", log, *args, **options)
    counts = {}
    with open(log, encoding="ascii") as text:
        for line in text:
            words = line.split()
            if len(words) in (5, 6) and words[3].isdigit() and words[-1] != "total":
                counts[words[-1]] = (int(words[3]), int(words[4]) if len(words) == 6 else 0)
    return counts


@tests.add
def as_a_command_agrees_with_strace():
    path = database("command.db")
    shutil.copy(path, fathom.path("traced.db"))
    args = ["sqlite3", "-init", "/dev/null"]
    recording = fathom.path("command")
    result = subprocess.run([fathom.binary, "record", "-o", recording, "--", *args, path],
                            input=INSERTS + QUERY, text=True, capture_output=True, timeout=60)
    equal(result.returncode, 0, f"record: {result.stderr}")
    equal(result.stdout.split(), [f"{ROWS}|7"], "answer of sqlite3")
    servers.check_loss(fathom, recording)
    rows = {row["key"]: row for row in fathom.report(recording, "syscall")["rows"]}
    check(rows["fdatasync"]["count"] >= ROWS, "a commit is on the disk")
    expected = strace_counts(*args, fathom.path("traced.db"), input=INSERTS + QUERY)
    expected.pop("exit_group", None)  # it does not return
    equal({key: (row["count"], row["errors"]) for key, row in rows.items()}, expected,
          "counts and errors of fathom and of strace")
    pid = fathom.report(recording, "process")["rows"][0]["pid"]
    spans = servers.spans_of(fathom, recording, pid)
    servers.check_report_and_trace(fathom, recording, spans)
    for name in ("pread64", "pwrite64", "fdatasync"):
        check(servers.on_path(servers.calls_of(spans, name), path), f"{name} on {path}")
    journal = path + "-journal"
    check(len(servers.on_path(servers.calls_of(spans, "openat"), journal)) >= ROWS,
          "a journal was opened for each commit")
    check(len(servers.on_path(servers.calls_of(spans, "unlink"), journal)) >= ROWS,
          "and removed")
    missing = [s["attributes"] for s in servers.calls_of(spans, "newfstatat", "access")
               if s["attributes"].get("file.path") == path + "-wal"]
    check(missing and all(a["error.type"] == "ENOENT" for a in missing),
          f"a path is told where there is no file: {missing}")
    servers.check_all(fathom, recording)


def record_shell(name, path):
    """The recording, the shell's pid, its descriptor of the database, the witness."""
    shell = subprocess.Popen(["sqlite3", "-init", "/dev/null", path], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, text=True, bufsize=1)
    shell.stdin.write(QUERY)
    equal(shell.stdout.readline().strip(), "0|", "answer before")
    database_fds = [fd for fd in os.listdir(f"/proc/{shell.pid}/fd")
                    if os.readlink(f"/proc/{shell.pid}/fd/{fd}") == path]
    equal(len(database_fds), 1, "descriptors of the database")
    recorder = servers.Recorder(fathom, name, "-p", shell.pid)
    with servers.Witness(shell.pid) as witness:
        shell.stdin.write(INSERTS + QUERY)
        equal(shell.stdout.readline().strip(), f"{ROWS}|7", "answer after")
        shell.stdin.close()
        equal(shell.wait(timeout=30), 0, "status of sqlite3")
    return recorder.stop(), shell.pid, int(database_fds[0]), witness


@tests.add
def by_pid_knows_the_open_database():
    path = database("pid.db")
    recording, pid, fd, witness = record_shell("pid", path)
    spans = servers.spans_of(fathom, recording, pid)
    witness.check(pid, spans)
    on_database = [s for s in servers.calls_of(spans, "pread64", "pwrite64", "fdatasync", "fcntl")
                   if s["attributes"]["fd"] == fd]
    check(len(on_database) > 3 * ROWS, f"{len(on_database)} calls on the database")
    equal({s["attributes"].get("file.path") for s in on_database}, {path}, "their path")
    stdin = servers.calls_of(spans, "read")
    check(any(s["attributes"].get("fd.name", "").startswith("pipe:[") for s in stdin),
          "it reads what to do from a pipe")
    syncs = [s for s in on_database if s["name"] == "fdatasync"]
    equal(len(syncs), ROWS, "the database was synced once in each commit")
    servers.check_report_and_trace(fathom, recording, spans)
    files = {row["key"] for row in fathom.report(recording, "file")["rows"]}
    check(path in files, f"the database is among the files {files}")
    servers.check_all(fathom, recording)


with fathom:
    tests.run()
