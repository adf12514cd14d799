#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attached and detached many times in one process: no program, map, link or fd is left behind."""
import json
import os
import shutil
import subprocess
import sys
import time

import harness
from harness import check, equal

harness.require_root()
REPEAT = os.path.abspath(sys.argv[2])
BPFTOOL = shutil.which("bpftool") or shutil.which("bpftool", path="/usr/sbin")
KINDS = ["prog", "map", "link"]
tests = harness.Tests()


def objects(kind):
    """{id: pids that hold it} of what is loaded in the kernel."""
    result = subprocess.run([BPFTOOL, kind, "show", "--json"], text=True, capture_output=True,
                            check=True)
    return {o["id"]: {p["pid"] for p in o.get("pids", [])}
            for o in json.loads(result.stdout or "[]")}


def left(before, pid):
    """What is new and held by that process, or by nobody: (kind, id)s."""
    found = set()
    for kind in KINDS:
        found |= {(kind, number) for number, pids in objects(kind).items()
                  if number not in before[kind] and (pid in pids or not pids)}
    return found


@tests.add
def many_times():
    if not BPFTOOL:
        return "bpftool is missing"
    before = {kind: set(objects(kind)) for kind in KINDS}
    times = (100 if os.environ.get("FATHOM_TEST_LONG") else 12) // harness.SLOWER
    with harness.Process([REPEAT, str(times)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stdout.readline()
            check(line.startswith("done"), f"it ran: {line}")
            check(int(line.split()[1]) > 10 * times, f"it recorded: {line}")
            # the kernel frees them a little after their last descriptor, and those of
            # other recorders on the host come and go: what is left is there each time
            found = left(before, process.pid)
            for _ in range(100):
                if not found:
                    break
                time.sleep(0.1)
                found &= left(before, process.pid)
            equal(sorted(found), [], "left in the kernel while the process lives")
        finally:
            _, stderr = process.communicate(timeout=30)
    equal((process.returncode, stderr), (0, ""), "status")
    return None


tests.run()
