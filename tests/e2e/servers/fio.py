#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fio, which counts its own I/O: as a command, and with the whole host."""
import json
import os
import subprocess
import sys

import harness
import servers
from harness import check, equal

harness.require_root()
servers.need("fio")
fathom = harness.Fathom(sys.argv[1])
tests = harness.Tests()
DATA = fathom.path("data")
JOBS = 2
IO = ("pread64", "pwrite64")


def fio_args(result):
    return ["fio", "--name=job", f"--filename={DATA}", "--rw=randrw", "--bs=4k", "--size=8m",
            "--io_size=4m", "--ioengine=psync", "--fsync=16", f"--numjobs={JOBS}", "--randseed=7",
            "--invalidate=0", "--output-format=json", f"--output={fathom.path(result)}"]


def record(name, result, *args):
    """The recording, the pid of fio, which begins when the witness is there, and the witness."""
    recording = fathom.path(name)
    with harness.Process([fathom.binary, "record", "-o", recording, *args, "--", "sh", "-c",
                          'read line; exec "$@"', "gate", *fio_args(result)], text=True,
                         stdin=subprocess.PIPE, stderr=subprocess.PIPE) as recorder:
        harness.until(lambda: gates(recorder.pid), "the command")
        [pid] = gates(recorder.pid)
        with servers.Witness(pid) as witness:
            _, errors = recorder.communicate("\n", timeout=120)
    equal(recorder.returncode, 0, f"status of the recorder: {errors}")
    return recording, pid, witness


def gates(recorder):
    """The command, once it runs: it is recorded then."""
    return [pid for pid in servers.children(recorder)
            if os.readlink(f"/proc/{pid}/exe") != os.path.realpath(fathom.binary)]


def counts(result):
    with open(fathom.path(result), encoding="ascii") as text:
        jobs = json.load(text)["jobs"]
    equal(len(jobs), JOBS, "jobs")
    return ([(job["read"]["total_ios"], job["write"]["total_ios"]) for job in jobs],
            {"pread64": sum(job["read"]["total_ios"] for job in jobs),
             "pwrite64": sum(job["write"]["total_ios"] for job in jobs),
             "fsync": sum(job["sync"]["total_ios"] for job in jobs)})


def check_io(recording, jobs, expected):
    """The calls on the data file, by each process and by all, and the report by file."""
    each = [servers.spans_of(fathom, recording, pid)
            for pid in servers.pids_named(fathom, recording, "fio")]
    spans = [span for spans in each for span in spans]
    made = [tuple(len(servers.on_path(servers.calls_of(spans, name), DATA)) for name in IO)
            for spans in each]
    equal(sorted(counts for counts in made if any(counts)), sorted(jobs),
          f"{IO} of each process that fathom and fio counted")
    for name in ("pread64", "pwrite64"):
        calls = servers.on_path(servers.calls_of(spans, name), DATA)
        equal(len(calls), expected[name], f"{name} that fathom and fio counted")
        equal({call["attributes"]["result"] for call in calls}, {4096}, f"results of {name}")
    syncs = servers.on_path(servers.calls_of(spans, "fsync"), DATA)
    check(expected["fsync"] > 0 and len(syncs) >= expected["fsync"],
          f"{len(syncs)} fsyncs, fio counted {expected['fsync']}")
    rows = {row["key"]: row for row in fathom.report(recording, "file")["rows"]}
    check(rows[DATA]["count"] >= sum(expected.values()), "calls on the data file")
    return spans


@tests.add
def as_a_command_agrees_with_fio():
    servers.run("truncate", "-s", "8m", DATA)
    recording, pid, witness = record("command", "command.json")
    equal({row["process"] for row in fathom.report(recording, "process")["rows"]}, {"fio"},
          "processes")
    spans = check_io(recording, *counts("command.json"))
    witness.check(pid, spans)
    servers.check_report_and_trace(fathom, recording, spans)
    causes = {row["key"]: row for row in fathom.report(recording, "cause")["rows"]}
    check(causes["kernel"]["total_ns"] > 0 and causes["user"]["total_ns"] > 0, "it ran")
    servers.check_all(fathom, recording)


@tests.add
def with_the_whole_host():
    recording, pid, witness = record("host", "host.json", "-a", "--detail", "calls",
                                     *servers.ROOM)
    names = {row["process"] for row in fathom.report(recording, "process")["rows"]}
    check("fio" in names, f"processes: {names}")
    witness.check(pid, check_io(recording, *counts("host.json")))
    servers.check_all(fathom, recording)


with fathom:
    tests.run()
