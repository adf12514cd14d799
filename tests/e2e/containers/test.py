#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Containers of processes, by the cgroups of both versions that they are in."""
import contextlib
import hashlib
import os
import subprocess
import sys
import time

import harness
import servers
from cgroups import Cgroups, mounts, move
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
SPANS = os.path.abspath(sys.argv[2])
tests = harness.Tests()


def container_id(name):
    return hashlib.sha256(f"{os.getpid()} {name}".encode()).hexdigest()


class Program:
    """Does what it is told: a span of that name."""

    def __init__(self, stack, directory=None):
        enter = (lambda: move(os.getpid(), directory)) if directory else None
        self.process = stack.enter_context(subprocess.Popen(
            [SPANS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, preexec_fn=enter))
        self.pid = self.process.pid
        stack.callback(self.process.kill)

    def span(self, name):
        self.process.stdin.write(name + "\n")
        self.process.stdin.flush()
        equal(self.process.stdout.readline(), "done\n", "answer")

    def end(self):
        self.process.stdin.close()
        equal(self.process.wait(), 0, "status")


def spans_of(recording, *args):
    return [span for trace in fathom.trace_all(recording, *args)["traces"]
            for span in trace["spans"]]


def story(hierarchy, prefix, suffix):
    """Programs that are in a container, come into one, leave it, or never see one."""
    root = mounts().get(hierarchy)
    if not root:
        return f"no cgroups of {hierarchy}"
    one, two, three = (container_id(hierarchy + name) for name in ("one", "two", "three"))
    top = f"fathom-test-{os.getpid()}"
    with Cgroups(root) as cgroups, contextlib.ExitStack() as stack:
        before = cgroups.make(top, prefix + one + suffix)
        known = cgroups.make(top, prefix + two + suffix)
        inside, outside = Program(stack, before), Program(stack)
        moved = Program(stack)
        recorder = servers.Recorder(fathom, hierarchy)
        for attempt in range(200):  # its spans are read from a moment on
            inside.span(f"warm{attempt}")
            time.sleep(0.01)
            if attempt > 20:
                break
        made = cgroups.make(top, "a.service", prefix + three + suffix)
        born = Program(stack, made)
        time.sleep(0.5)
        for program in (inside, outside, moved, born):
            program.span("first")
        move(moved.pid, known)
        moved.span("second")
        move(moved.pid, made)
        moved.span("third")
        move(moved.pid, root)
        moved.span("fourth")
        for program in (inside, outside, moved, born):
            program.end()
        recording = recorder.stop()
    spans = spans_of(recording)
    check_story(spans, inside, {"first": one})
    check_story(spans, outside, {"first": None})
    check_story(spans, born, {"first": three})
    check_story(spans, moved, {"first": None, "second": two, "third": three, "fourth": None})
    parts = [chunk["path"] for chunk in fathom.chunks(recording)]
    check(parts, "chunks")
    harness.check_babeltrace(fathom, recording)
    return None


def check_story(spans, program, expected):
    mine = [span for span in spans if span.get("pid") == program.pid]
    got = {span["name"]: span["attributes"].get("container.id") for span in mine
           if span["kind"] == "internal" and not span["name"].startswith("warm")}
    equal(got, expected, "containers of spans")
    threads = [span for span in mine if span["kind"] == "thread"]
    equal(len(threads), 1, "threads")
    last = list(expected.values())[-1]
    equal(threads[0]["attributes"].get("container.id"), last, "container of its thread")
    equal({span["attributes"].get("container.id") for span in mine
           if span["kind"] in ("syscall", "wait")}, {None}, "what lies below says it again")


@tests.add
def of_version_2():
    return story("v2", "docker-", ".scope")


@tests.add
def of_version_1():
    return story("freezer", "", "")


@tests.add
def of_a_command():
    """Where it was started, and that of a process that is recorded beside it."""
    root = mounts().get("v2")
    if not root:
        return "no cgroups of version 2"
    mine, other = container_id("command"), container_id("beside")
    with Cgroups(root) as cgroups, contextlib.ExitStack() as stack:
        top = f"fathom-test-{os.getpid()}"
        place = cgroups.make(top, f"docker-{mine}.scope")
        beside = Program(stack, cgroups.make(top, f"docker-{other}.scope"))
        for name, options in (("alone", ()), ("with", ("-p", beside.pid))):
            result = fathom.run("record", "-o", fathom.path(name), *options, "--", "true",
                                preexec_fn=lambda: move(os.getpid(), place))
            equal(result.returncode, 0, result.stderr)
        beside.end()
    for name, expected in (("alone", {mine}), ("with", {mine, other})):
        got = {span["attributes"].get("container.id") for span in spans_of(fathom.path(name))
               if span["kind"] == "thread"}
        equal(got, expected, f"containers, {name}")
    return None


@tests.add
def what_is_kept_of_deleted_chunks():
    """The chunk that named the container is gone; where the process is, is known."""
    root = mounts().get("v2")
    if not root:
        return "no cgroups of version 2"
    one = container_id("kept")
    with Cgroups(root) as cgroups, contextlib.ExitStack() as stack:
        inside = Program(stack, cgroups.make(f"fathom-test-{os.getpid()}", f"crio-{one}.scope"))
        recorder = servers.Recorder(fathom, "kept", "--rotate", "100ms", "--keep",
                                    f"{harness.SLOWER}s")
        first = min(c["begin_ns"] for c in fathom.chunks(fathom.path("kept")))
        for _ in range(300):
            inside.span("again")
            time.sleep(0.05)
            chunks = fathom.chunks(fathom.path("kept"))
            kept = min((c["begin_ns"] for c in chunks), default=0)
            if kept > first + 1_500_000_000 * harness.SLOWER:
                break
        inside.end()
        recording = recorder.stop()
    mine = [span for span in spans_of(recording) if span.get("pid") == inside.pid]
    got = {span["attributes"].get("container.id") for span in mine if span["kind"] == "internal"}
    equal(got, {one}, "containers of spans")
    return None


with fathom:
    tests.run()
