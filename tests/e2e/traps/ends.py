#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who woke a thread that waited on a socket: what the other end did, wherever in the host it is."""
import contextlib
import os
import subprocess

import harness
from harness import check, equal
from trapped import TRAPS, Skip, fathom, record_command, recording, skips, spans

tests = harness.Tests()
ROUNDS = 20
# Older kernels close on the way to user mode, where nothing says that it is a close that waits.
CLOSE_WAITS = tuple(int(part) for part in os.uname().release.split(".")[:2]) >= (6, 6)


def check_woken(found, pid, calls, other, cause):
    """What the other end did ended the waits of one end in these calls: the last of each call."""
    called = {s["span_id"]: s["name"] for s in found if s["kind"] == "syscall"}
    last = {s["parent_id"]: s for s in sorted(found, key=lambda s: s["begin_ns"])
            if s["kind"] == "wait" and s["name"] in ("network", "idle") and s["pid"] == pid and
            called.get(s.get("parent_id")) in calls}
    end = "taker" if other == "giver" else "giver"
    named = {s["name"] for s in last.values()}
    wrong = [s for s in last.values()
             if not s["attributes"].get("waker", "").startswith(other + "/")]
    # the kernel hides a few, and ksoftirqd helps a busy machine; one way of five takes 4 of them
    allowed = 3 if harness.SLOWER == 1 else ROUNDS / 4
    check(len(last) > 0.7 * ROUNDS, f"{len(last)} waits of the {end} in {calls}")
    equal(named, {cause}, f"causes of the waits of the {end} in {calls}")
    check(len(wrong) <= allowed, f"{len(wrong)} of {len(last)} waits of the {end} in {calls}: "
                                 f"{[(called[s['parent_id']], s) for s in wrong[:2]]}")


ACCEPT = ("accept",)
DATAGRAMS = ("cc", "cu", "uc", "uu")  # whether the giver's socket is connected, and the taker's
TAKE = ("read", "readv", "recvfrom", "recvmsg", "recvmmsg")


def cause_of(way, end):
    """Only a socket that its end has not connected brings work: clients send to it."""
    made = way[end == "taker"] == "c" if way in DATAGRAMS else end == "giver"
    return "network" if made else "idle"


def check_ends(found, way, giver, taker, alone=None):
    """The numbers are those of the processes; `alone`: only that one was recorded."""
    if way != "linger" and alone != "giver":
        if way not in DATAGRAMS:
            check_woken(found, taker, ACCEPT, "giver", "idle")
        check_woken(found, taker, TAKE, "giver", cause_of(way, "taker"))
    if way in ("shutdown", *DATAGRAMS) and alone != "taker":
        check_woken(found, giver, TAKE, "taker", cause_of(way, "giver"))
    if way == "linger" and CLOSE_WAITS and alone != "taker":
        check_woken(found, giver, ("close",), "taker", "network")


EACH = 'for way in $4; do "$1" ends "$2" "$way" "$3" || exit; done'


def ends(ways, where="lo"):
    """One after the other, in one recording."""
    path, said = record_command("-".join(ways) + where, "sh", "-c", EACH, "sh", TRAPS, ROUNDS,
                                where, " ".join(ways))
    found, lines = spans(path), said.splitlines()
    equal(len(lines), len(ways), "pairs of ends")
    for way, line in zip(ways, lines):
        check_ends(found, way, *map(int, line.split()))


@contextlib.contextmanager
def held(way):
    """Two ends that wait for a line: their process, and their numbers."""
    with harness.Process([TRAPS, "ends", str(ROUNDS), way, "lo", "held"], text=True,
                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                         stderr=subprocess.PIPE) as trap:
        pids = [int(word) for word in trap.stdout.readline().split()]
        if not pids:
            _, why = trap.communicate()
            equal(trap.returncode, 77, why)
            raise Skip(why.splitlines()[0])
        yield trap, pids


def one_end(ways):
    """{way: which of its ends is recorded}: of the other is known what the kernel has of it."""
    with contextlib.ExitStack() as stack:
        traps = {way: stack.enter_context(held(way)) for way in ways}
        recorded = ",".join(str(traps[way][1][which == "taker"]) for way, which in ways.items())
        with recording("-".join(ways) + "-alone", recorded) as path:
            for trap, _ in traps.values():
                trap.communicate("\n", timeout=60)
                equal(trap.returncode, 0, "the trap")
    found = spans(path)
    for way, which in ways.items():
        check_ends(found, way, *traps[way][1], which)


@tests.add
@skips
def what_the_other_end_of_a_connection_does():
    """It connects, sends, closes, shuts down, resets, is gone, or takes what a close waits for."""
    ends(("send", "close", "shutdown", "reset", "exit", "linger"))


@tests.add
@skips
def an_end_that_is_not_recorded():
    one_end({**dict.fromkeys(("send", "close", "shutdown", "reset", "exit"), "taker"),
             "linger": "giver"})


@tests.add
@skips
def datagrams_with_and_without_peers():
    ends(DATAGRAMS)
    one_end(dict.fromkeys(DATAGRAMS, "taker"))


@tests.add
@skips
def ends_in_two_network_namespaces():
    """Two addresses, and no loopback: containers of one host."""
    ends(("send", "close", "shutdown", "uc", "uu"), "veth")


with fathom:
    tests.run()
