#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each fault of the thumbnail server is told by the page in three clicks: faults.py FATHOM PROGRAMS MAKE-VIDEO PACKAGES PAGE

Each has a recording of its own: normal requests, then the fault. It runs only with FATHOM_TEST_LONG, or for one
FAULT that is named as a last argument; the test `page` follows one of them at its end.
"""
import contextlib
import os
import subprocess
import sys
import tempfile
import time

import cgroups
from host import Thumbnails, Up, wait_until
from needed import missing, programs_of

HERE = os.path.dirname(os.path.abspath(__file__))
FAULTS = ("lock", "fsync", "peer", "quota")
NORMAL = 150  # requests before the fault,
NORMAL_S = 22  # and for so long: sums have steps of ten seconds
FAULTY = 40
PERIOD_US, QUOTA_US = 100000, 20000


def quota_set(thumbnails, stack):
    """Moves the server into a cgroup that may use a fifth of a CPU."""
    mounts = cgroups.mounts()
    root = mounts.get("cpu", mounts.get("v2"))
    made = stack.enter_context(cgroups.Cgroups(root)).make(f"thumbnailer-{os.getpid()}")
    # a weight with which nothing but the quota keeps it off the CPUs
    files = {"cpu.shares": 262144, "cpu.cfs_period_us": PERIOD_US, "cpu.cfs_quota_us": QUOTA_US}
    if "cpu" not in mounts:
        files = {"cpu.weight": 10000, "cpu.max": f"{QUOTA_US} {PERIOD_US}"}
    for name, value in files.items():
        with open(os.path.join(made, name), "w", encoding="ascii") as file:
            file.write(str(value))
    cgroups.move(thumbnails.server.pid, made)


def follow(up, thumbnails, fault, packages):
    """Switches a fault on under the load that runs, and follows what the page puts first. The status of that."""
    with contextlib.ExitStack() as stack:
        stack.callback(thumbnails.end)  # before the cgroup goes
        if fault == "quota":
            quota_set(thumbnails, stack)
        else:
            thumbnails.fault(fault)
        before = up.stored()
        wait_until("requests with the fault", lambda: up.stored() >= before + FAULTY)
        done = subprocess.run(["node", f"{HERE}/three_clicks.mjs", packages, up.base, fault], check=False, timeout=300)
        return done.returncode


def normal_then(up, thumbnails, fault, seconds):
    """Normal requests for a time, and then some with a fault; the load goes on."""
    for name in ("", fault):
        if name:
            thumbnails.fault(name)
        else:
            thumbnails.load()
        before, since = up.stored(), time.monotonic()
        wait_until(f"requests {name or 'without a fault'}",
                   lambda: up.stored() >= before + FAULTY and time.monotonic() - since > seconds)


def record(fathom, programs, page, packages, fault):
    with tempfile.TemporaryDirectory(prefix="fathom-page-") as folder, contextlib.ExitStack() as stack:
        os.chmod(folder, 0o755)
        up = Up(fathom, folder, page)
        stack.callback(up.end)
        thumbnails = Thumbnails(programs, folder)
        stack.callback(thumbnails.end)
        since = time.monotonic()
        thumbnails.load()
        wait_until("normal requests", lambda: up.stored() >= NORMAL and time.monotonic() - since > NORMAL_S)
        return follow(up, thumbnails, fault, packages)


def main():
    fathom, programs, make_video, packages, page, *chosen = sys.argv[1:]
    if os.geteuid() != 0:
        why = "recording needs root"
    elif not chosen and not os.environ.get("FATHOM_TEST_LONG"):
        why = "it takes some minutes: FATHOM_TEST_LONG=1 runs it"
    else:
        why = missing(packages, page)
    if why:
        print(f"1..1\nok 1 - page-faults # SKIP {why}")
        return 0
    failed = 0
    for fault in chosen or FAULTS:
        failed |= record(fathom, programs_of(programs, make_video), page, packages, fault)
    return failed


if __name__ == "__main__":
    sys.exit(main())
