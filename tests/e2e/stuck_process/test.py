#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A process that cannot be looked into stops no recorder."""
import os
import subprocess
import sys
import time

import fuse
import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
STUCK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "stuck.py")
tests = harness.Tests()


def is_stuck(pid):
    """Its command line cannot be read, within 10 s of trying."""
    for _ in range(20):
        with harness.Process(["cat", f"/proc/{pid}/cmdline"], stdout=subprocess.DEVNULL) as cat:
            try:
                cat.wait(timeout=0.5)
            except subprocess.TimeoutExpired:
                return True
            finally:
                cat.kill()
        time.sleep(0.1)
    return False


@tests.add
def a_recording_of_the_host_begins_and_ends():
    try:
        silent = fuse.Silent(fathom.path("mounted")).__enter__()
    except OSError as problem:
        return f"no FUSE here: {problem}"
    try:
        with harness.Process([sys.executable, STUCK, silent.path], start_new_session=True) as stuck:
            try:
                if not is_stuck(stuck.pid):
                    return "nothing is stuck on this kernel"
                where = fathom.path("host")
                result = fathom.run("record", "-a", "-o", where, "-d", "1s", timeout=60)
                equal(result.returncode, 0, f"record: {result.stderr}")
                rows = fathom.report(where, "process")["rows"]
                check(any(row.get("pid") == stuck.pid for row in rows) or len(rows) > 1,
                      f"processes: {rows}")
            finally:
                os.killpg(stuck.pid, 9)
    finally:
        silent.__exit__()
    return None


with fathom:
    tests.run()
