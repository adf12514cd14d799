# SPDX-License-Identifier: Apache-2.0
"""What the tests of traps share: running a trap, spans by what they are, records as they lie."""
import os
import re
import subprocess
import sys

import harness

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
TRAPS = os.path.abspath(sys.argv[2])


class Skip(Exception):
    """The machine cannot do what the trap is about."""


def record(name, *args, options=()):
    """Records a trap; nothing may be lost. -> (recording, what it printed)"""
    path = fathom.path(f"{name}-{len(os.listdir(fathom.dir))}")
    result = fathom.run("record", "-o", path, *options, "--", TRAPS, name, *args)
    if result.returncode == 77:
        raise Skip(result.stderr.splitlines()[0])
    harness.equal(result.returncode, 0, f"{name}: {result.stderr}")
    harness.equal(fathom.report(path, "thread")["lost"]["total"], 0, "lost records")
    harness.check_sums(fathom, path)
    return path, result.stdout


def skips(test):
    """A test whose trap says that it cannot be done here is skipped."""
    def run():
        try:
            return test()
        except Skip as why:
            return str(why)
    run.__name__ = test.__name__
    return run


def spans(path, kind=None, name=None):
    found = [s for trace in fathom.trace_all(path)["traces"] for s in trace["spans"]]
    return [s for s in found if kind in (None, s["kind"]) and name in (None, s["name"])]


def length(span):
    return span["end_ns"] - span["begin_ns"]


def thread_rows(path):
    return fathom.report(path, "thread")["rows"]


def events(path, kind):
    """The records of a kind as babeltrace2 prints them: dicts of their numbers."""
    found = []
    for chunk in fathom.chunks(path):
        text = subprocess.run(["babeltrace2", chunk["path"]], text=True, capture_output=True,
                              check=True).stdout
        for line in text.splitlines():
            if f" {kind}: " in line:
                found.append({key: int(value) for key, value in
                              re.findall(r"\b(\w+) = (?:\{ )?(-?\d+)", line)})
    return found
