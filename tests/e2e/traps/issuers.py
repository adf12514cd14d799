#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Block I/O that workers of the kernel issue: it is of the thread that submitted it."""
import contextlib
import os
import shutil
import subprocess

import harness
from harness import check, equal
from trapped import Skip, events, fathom, skips, spans, write

MIB = 1 << 20
SMALL = {"scheduler": "mq-deadline", "max_sectors_kb": "4"}
tests = harness.Tests()


def setting(queue, name):
    """What a file of a queue says; of several the one in brackets."""
    with open(os.path.join(queue, name), encoding="ascii") as file:
        text = file.read().strip()
    return text[text.index("[") + 1:text.index("]")] if "[" in text else text


@contextlib.contextmanager
def loop_device():
    """
    Whose requests are small, so that there are more at once than it takes: those that are left
    over a worker issues, when others have ended.
    """
    losetup = shutil.which("losetup") or shutil.which("losetup", path="/usr/sbin:/sbin")
    if not losetup:
        raise Skip("losetup is missing")
    with open(fathom.path("disk"), "wb") as file:
        file.truncate(8 * MIB)
    result = subprocess.run([losetup, "-f", "--show", fathom.path("disk")], text=True,
                            capture_output=True, check=False)
    if result.returncode:
        raise Skip(f"no loop device: {result.stderr.strip()}")
    device = result.stdout.strip()
    queue = f"/sys/block/{os.path.basename(device)}/queue"
    before = {name: setting(queue, name) for name in SMALL}
    try:
        for name, value in SMALL.items():
            try:
                write(value, queue, name)
            except OSError as problem:
                raise Skip(f"no {value} as {name} of a loop device: {problem}") from None
        yield device
    finally:
        for name, value in before.items():
            write(value, queue, name)
        subprocess.run([losetup, "-d", device], check=True)


@tests.add
@skips
@harness.tries
def what_a_worker_issues_is_its_submitters():
    with loop_device() as device:
        number = os.stat(device).st_rdev
        path = fathom.record(f"issued-{len(os.listdir(fathom.dir))}", "-a", "--detail", "calls",
                             "--buffer", "64M", "--event", "block:block_rq_issue", "--", "dd", "if=/dev/zero",
                             f"of={device}", "bs=8M", "count=1", "oflag=direct")
    [writer] = {s["tid"] for s in spans(path, "syscall", "write") if s["process"] == "dd"
                and s["attributes"].get("fd.name") == device}
    dev = os.major(number) << 20 | os.minor(number)
    issued = [s["thread"] for s in spans(path) for event in s["events"]
              if event["name"] == "block:block_rq_issue" and event["attributes"]["dev"] == dev]
    workers = sum(name.startswith("kworker") for name in issued)
    print(f"# {workers} of {len(issued)} requests are issued by workers")
    check(workers > 20, f"{workers} of {len(issued)} requests are issued by workers")
    requests = [e for e in events(path, "block") if e["dev"] == dev]
    equal({e["tid"] for e in requests}, {writer}, "whose they are")
    equal(sum(e["bytes"] for e in requests), 8 * MIB, "bytes")


if not shutil.which("babeltrace2"):
    print("babeltrace2 is missing")
    raise SystemExit(77)
with fathom:
    tests.run()
