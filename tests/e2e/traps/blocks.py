#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Block I/O belongs to who submitted it, whoever issues it, and all of its bytes are counted."""
import os
import shutil
import sys

import harness
from harness import check, equal
from trapped import events, fathom, record, skips, spans

WRITE, FLUSH, DISCARD, WRITEBACK, SYNC, FAILED = 1, 2, 4, 8, 16, 32
MIB = 1 << 20
tests = harness.Tests()


def requests(path):
    return [e for e in events(path, "block") if not e["flags"] & DISCARD]


@tests.add
@skips
@harness.tries
def large_writes_have_all_their_bytes():
    """8 MiB in one call are many bios and requests, of one thread, whoever issues them."""
    path, _ = record("direct", "8")
    thread = [s["tid"] for s in spans(path, "thread")]
    written = [r for r in requests(path) if r["flags"] & WRITE and r["tid"] in thread and
               not r["flags"] & FAILED]
    check(written, "there are requests")
    total = sum(r["bytes"] for r in written)
    # the file's own blocks may be written, too
    check(4 * 8 * MIB <= total <= 4 * 8 * MIB + MIB, f"{total} bytes of {4 * 8 * MIB}")
    check(len(written) > 4, f"{len(written)} requests of 4 calls")
    for request in written:
        check(request["duration_ns"] > 0, f"takes time: {request}")
        check(request.get("queued_ns", 0) < 10**10, f"waits a while before: {request}")
    check(any(r.get("queued_ns", 0) > 0 for r in written), "time between submission and issue")
    equal({r["dev"] for r in written} & {0}, set(), "requests without a device")


@tests.add
@skips
@harness.tries
def writeback_is_named():
    """Dirty pages that a worker writes are writeback, with the cgroup of the bio."""
    path, _ = record("dirty", "16", options=["-a", "--detail", "calls"])
    made = {s["pid"] for s in spans(path, "syscall") if s["name"] == "syncfs"}
    written = [r for r in requests(path) if r["flags"] & WRITE]
    behind = [r for r in written if r["flags"] & WRITEBACK]
    total = sum(r["bytes"] for r in behind)
    check(total >= 16 * MIB, f"{total} bytes of writeback")
    check(all(r["tid"] not in made for r in behind), "nobody's own")
    check(all(not r["flags"] & WRITEBACK for r in written if r["tid"] in made), "what is its own")
    groups = {r.get("cgroup", 0) for r in behind}
    check(0 not in groups, f"cgroups {groups}")
    for place in ("/sys/fs/cgroup/blkio", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"):
        if os.path.exists(place):
            check(os.stat(place).st_ino in groups, f"the root of {place}: {groups}")
            break


@tests.add
@skips
def flushes_belong_to_who_asked():
    path, _ = record("flush", "10", options=["-a"])
    if "write back" not in open_queue():
        return "the disk has no cache to flush"
    flushed = [r for r in requests(path) if r["flags"] & FLUSH]
    check(len(flushed) >= 1, f"flushes: {len(requests(path))} requests")
    check(all(r["tid"] > 0 and r["dev"] > 0 for r in flushed), f"whose and where: {flushed[:3]}")
    return None


def open_queue():
    """What kind of cache the disk has that the file lies on."""
    device = os.stat(os.environ.get("TMPDIR", "/var/tmp")).st_dev
    where = os.path.realpath(f"/sys/dev/block/{os.major(device)}:{os.minor(device)}")
    while where != "/" and not os.path.exists(os.path.join(where, "queue/write_cache")):
        where = os.path.dirname(where)
    if where == "/":
        return ""
    with open(os.path.join(where, "queue/write_cache"), encoding="ascii") as file:
        return file.read()


@tests.add
@skips
def what_others_submit_is_not_ours():
    """With a scope, a bio's address that was used before is nobody's any more."""
    path, _ = record("dirty", "4")
    made = {s["tid"] for s in spans(path, "thread")}
    check(all(r["tid"] in made for r in requests(path)), "requests of others")


if not shutil.which("babeltrace2"):
    print("babeltrace2 is missing")
    sys.exit(77)
with fathom:
    tests.run()
