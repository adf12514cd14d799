#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
What records tell of hand-overs inside a process, against programs that know it: which goroutine
sent or received, and on which word a woken thread slept.
"""
import collections
import json
import os
import re
import shutil
import subprocess
import sys

import harness
import servers
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
RECORDS_OF, WORDS, GO = sys.argv[2:5]
SENDER, SENDER_NEWER, SENDER_STRIPPED = sys.argv[5:8]
WORD = 2048  # FILE_NONE_WORD
LEVELS = [("calls",), ("waits,bytes",), ("calls", "--syscalls", "getppid")]
tests = harness.Tests()

File = collections.namedtuple("File", "kind dev key flags")


def records(recording, kind):
    """The fields of each record of a kind, with pid and tid; a field that is 0 is absent."""
    chunks = [os.path.join(fathom.dir, chunk["path"]) for chunk in fathom.chunks(recording)
              if chunk["state"] == "sealed"]
    text = subprocess.run([RECORDS_OF, kind, *chunks], text=True, capture_output=True, check=True,
                          timeout=60).stdout
    for line in text.splitlines():
        found = {key: int(value) for key, value in re.findall(r" (\w+)=(-?\d+)(?= |$)", line)}
        file = re.search(r" file=(\w+):(\d+):(\d+):(\d+)", line)
        if file:
            found["file"] = File(file[1], *map(int, file.groups()[1:]))
        found["pid"], found["tid"] = map(int, re.search(r" (\d+)/(\d+) ", line).groups())
        yield found


# ---- goroutines ----

def goroutines_run(program, name, detail):
    """Records the program from before its first message; returns what it noted, and its pid."""
    with harness.Process([program], text=True, stdin=subprocess.PIPE,
                         stdout=subprocess.PIPE) as running:
        recorder = servers.Recorder(fathom, name, "--detail", detail, "-p", str(running.pid))
        running.stdin.write("\n")
        running.stdin.flush()
        notes = json.loads(running.stdout.readline())
        running.stdin.write("\n")
        running.stdin.close()
        recorder.stop()
        return notes, running.pid


def goroutines_check(notes, name, pid):
    """Each message has the numbers that the runtime printed in the goroutine that moved it."""
    recorded, lights = {}, 0
    for r in records(fathom.path(name), "bytes"):
        if r["pid"] == pid:
            direction = "received" if r.get("direction") else "sent"
            recorded[r["file"].key, direction, r.get("from", 0)] = r
    for note in notes:
        r = recorded.pop((note["inode"], note["direction"], note["from"]), None)
        check(r, f"{note} was recorded")
        equal(r["length"], note["length"], f"length of {note}")
        if "light" in r:
            lights += 1
            equal((r["light"], r.get("light_maker", 0)), (note["light"], note["maker"]),
                  f"{note} in {r}")
    check(len(notes) > 1000, f"{len(notes)} messages")
    # capture looks at the process when the recording begins; a busy machine may delay that
    check(lights > 0.9 * len(notes), f"{lights} of {len(notes)} messages have a goroutine")
    makers = {note["maker"] for note in notes if note["maker"] in {n["light"] for n in notes}}
    check(len(makers) > 5, f"goroutines that made others: {makers}")


@tests.add
def each_message_has_its_goroutine():
    if not shutil.which("go"):
        return "go is missing"
    program = fathom.path("goroutines")
    servers.run("go", "build", "-o", program, GO)
    for detail in ("waits,bytes", "calls"):
        notes, pid = goroutines_run(program, f"go-{detail}", detail)
        goroutines_check(notes, f"go-{detail}", pid)
    return None


def lights_of(recording):
    """How many records of sent and received bytes have which goroutine and maker, by process."""
    found = collections.defaultdict(collections.Counter)
    for r in records(recording, "bytes"):
        found[r["pid"]][r["pid"] == r["tid"], r.get("light"), r.get("light_maker")] += 1
    return list(found.values())


def lights_of_now(recording):
    fathom.ok("rotate", recording)
    return lights_of(recording)


@tests.add
def a_program_that_was_seen_before_is_known_from_its_exec_on():
    """The first one runs until it is known; the second has its goroutine from the first byte on."""
    recording = fathom.path("again")
    recorder = servers.Recorder(fathom, "again", "--detail", "waits,bytes", "-p", str(os.getpid()))
    try:
        with harness.Process([SENDER]) as first:
            harness.until(lambda: any((True, 4711, 42) in lights
                                      for lights in lights_of_now(recording)), "its goroutine")
            first.terminate()
        equal(subprocess.run([SENDER, "50"], check=False).returncode, 0, "the second")
    finally:
        recorder.stop()
    equal(lights_of(recording)[-1], {(True, 4711, 42): 100, (False, None, None): 100},
          "messages of the second")


@tests.add
def goroutines_that_cannot_be_read_are_told():
    for name, program in ("newer", SENDER_NEWER), ("stripped", SENDER_STRIPPED):
        with harness.Process([program]) as sender:
            recorder = servers.Recorder(fathom, name, "--detail", "waits,bytes", "-p", sender.pid)
            recorder.stop()
            sender.terminate()
        check("goroutines of 1 program not told" in recorder.stderr, recorder.stderr)
        found, = lights_of(fathom.path(name))
        equal(set(found), {(True, None, None)}, f"messages of {program}")


# ---- words ----

def words_record(name, detail):
    result = fathom.run("record", "--detail", *detail, "-o", fathom.path(name), "--", WORDS)
    equal(result.returncode, 0, result.stderr)
    lines = [tuple(map(int, line.split())) for line in result.stdout.splitlines()]
    return lines[:2], lines[2][0]


@tests.add
def a_waking_has_the_word_on_which_the_thread_slept():
    for number, detail in enumerate(LEVELS):
        name = f"words{number}"
        sides, nobodys = words_record(name, detail)
        wakings = list(records(fathom.path(name), "waking"))
        check(not any(r.get("file") and r["file"].key == nobodys for r in wakings),
              "nobody woke who slept there")
        for word, sleeper, waker, woken in sides:
            found = [r.get("file") for r in wakings
                     if (r["tid"], r.get("waker_tid")) == (sleeper, waker)]
            check(woken > 100, f"{woken} woken")
            check(0.9 * woken < len(found) <= woken + 2, f"{len(found)} wakings of {woken}")
            equal(collections.Counter(found).most_common(1)[0][0], File("none", 0, word, WORD),
                  f"the word at {' '.join(detail)}")
            check(found.count(File("none", 0, word, WORD)) >= len(found) - 2, f"others: {found}")


tests.run()
