#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A command whose file does not come: the recording goes on without it, and ends when it should."""
import contextlib
import os
import signal
import subprocess
import sys
import time

import fuse
import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
tests = harness.Tests()
PATIENCE = 60 * harness.SLOWER


@contextlib.contextmanager
def silence(name):
    """A directory to record in, and a file that does not answer."""
    folder = fathom.path(name)
    os.mkdir(folder)
    silent = fuse.Silent(os.path.join(folder, "mounted"))
    silent.__enter__()
    try:
        yield folder, silent
    finally:
        silent.__exit__()


@contextlib.contextmanager
def recorder(folder, *words):
    """What it says goes to a file: a command that does not begin would hold a pipe open."""
    with open(os.path.join(folder, "said"), "w", encoding="utf-8") as said:
        with harness.Process([fathom.binary, "record", *words], cwd=folder, stderr=said) as process:
            try:
                yield process
            finally:
                process.kill()


def has_said(folder):
    with open(os.path.join(folder, "said"), encoding="utf-8") as said:
        return said.read()


def is_executed(silent, process, folder):
    """Waits until the command's bytes are asked for."""
    harness.until(lambda: silent.asked.is_set() or process.poll() is not None,
                  "the command to be executed", 60)
    check(silent.asked.is_set(), f"ended before, {process.returncode}: {has_said(folder)}")


def end(process, folder):
    """The status, and what was said; fails if it does not come to its end."""
    try:
        status = process.wait(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        raise harness.Failure("it does not end") from None
    return status, has_said(folder)


def rows_of(recording):
    return fathom.report(recording, "process")["rows"]


def was_seen(rows, name):
    return any(row["key"].startswith(name) for row in rows)


def names_in(folder):
    return sorted(name for name in os.listdir(folder) if name not in ("mounted", "said"))


@tests.add
def its_time_counts():
    """Of the host meanwhile nothing is missing, and the directory is free then."""
    with silence("time") as (folder, silent):
        with recorder(folder, "-a", "-d", "4s", "-o", "out", "--", silent.path) as process:
            is_executed(silent, process, folder)
            time.sleep(0.3)
            subprocess.run(["ls", "/"], stdout=subprocess.DEVNULL, check=True)
            status, said = end(process, folder)
            equal(status, 0, f"status: {said}")
        where = os.path.join(folder, "out")
        (chunk,) = fathom.chunks(where)
        check(chunk["lost"]["buffer"] * 10 < chunk["records"], f"lost: {chunk}")
        rows = rows_of(where)
        check(was_seen(rows, "ls"), f"processes: {rows}")
        result = fathom.run("record", "-o", where, "--", "true", timeout=PATIENCE)
        equal(result.returncode, 0, f"another one there: {result.stderr}")


@tests.add
def a_signal_ends_it():
    for number in (signal.SIGINT, signal.SIGTERM):
        with silence(number.name) as (folder, silent):
            with recorder(folder, "--", silent.path) as process:
                is_executed(silent, process, folder)
                process.send_signal(number)
                status, said = end(process, folder)
                equal(status, 0, f"status: {said}")
            equal(names_in(folder), ["fathom.data"], "what is there")


@tests.add
def it_begins_late():
    with silence("late") as (folder, silent):
        with recorder(folder, "--rotate", "100ms", "--keep", "1h", "--", silent.path) as process:
            is_executed(silent, process, folder)
            time.sleep(0.5)
            silent.speak("#!/bin/sh\n/bin/echo it runs >/dev/null\nexit 7")
            equal(end(process, folder)[0], 7, "status of the command")
        where = os.path.join(folder, "fathom.data")
        check(len(fathom.chunks(where)) > 2, "chunks before and after it")
        rows = rows_of(where)
        check(was_seen(rows, "echo"), f"processes: {rows}")


@tests.add
def it_cannot_be_executed_in_the_end():
    for words, left in (((), []), (("--rotate", "100ms"), ["fathom.data"])):
        with silence("fails" + "".join(words[:1])) as (folder, silent):
            with recorder(folder, *words, "--", silent.path) as process:
                is_executed(silent, process, folder)
                time.sleep(0.5)
                silent.speak("#!/no/such/interpreter")
                status, said = end(process, folder)
                equal(status, 127, f"status: {said}")
                equal(said, f"fathom: cannot run {silent.path}: No such file or directory\n",
                      "it says")
            equal(names_in(folder), left, "what is there")


@tests.add
def what_goes_wrong_at_the_end_is_told():
    """It waits a little for the command after a signal: what fails then is no success."""
    with silence("wrong") as (folder, silent):
        for word in ("first", "second"):
            subprocess.run([fathom.binary, "record", "--", "echo", word], cwd=folder, check=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with recorder(folder, "--", silent.path) as process:
            is_executed(silent, process, folder)
            with open(os.path.join(folder, "fathom.data.old", "foreign"), "w", encoding="ascii"):
                pass  # what is not ours stays, so the new recording has no place
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
            silent.speak("#!/bin/sh\nexec sleep 1")
            status, said = end(process, folder)
            equal(status, 1, f"status: {said}")
            check("fathom.data.old" in said, said)
            check(" records, " not in said, f"a summary: {said}")


with fathom:
    try:
        with fuse.Silent(fathom.path("probe")):
            pass
    except OSError as problem:
        print(f"no FUSE here: {problem}")
        sys.exit(77)
    tests.run()
