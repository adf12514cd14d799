#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The merge law over recorded traces: cut anywhere, grouped anyhow, the answers are the same."""
import os
import json
import random
import subprocess
import sys

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
LAW_OF, RECUT, CALLS = map(os.path.abspath, sys.argv[2:5])
SEED = 20261121
tests = harness.Tests()
random.seed(SEED)


def record_busy_host(detail):
    """Whole host: processes that come and go, sleep, read, talk through pipes."""
    rounds = "1 2 3" if os.environ.get("FATHOM_TEST_LONG") else "1"
    script = (f"for i in {rounds}; do ls -lR /etc/apt >/dev/null; cat /etc/passwd | sort | wc -l;"
              " sleep 0.05; python3 -c 'import threading,time;"
              " t=[threading.Thread(target=time.sleep,args=(.02,)) for _ in range(4)];"
              " [x.start() for x in t]; [x.join() for x in t]'; done")
    return fathom.record(f"host-{detail}", "-a", "--detail", detail, "--", "sh", "-c", script)


def check_law(recording):
    chunk = fathom.chunks(recording)[0]["path"]
    result = subprocess.run([LAW_OF, chunk, str(SEED), "25"], text=True, capture_output=True,
                            timeout=500)
    equal(result.returncode, 0, f"law over {chunk}: {result.stdout}{result.stderr}")


@tests.add
def answers_of_a_cut_trace_are_those_of_the_whole():
    check_law(record_busy_host("calls"))


@tests.add
def answers_of_waits_alone_are_those_of_the_whole():
    check_law(record_busy_host("waits"))


@tests.add
def the_law_holds_over_what_was_lost():
    recording = fathom.record("lossy", "--buffer", "64K", "-a", "--detail", "calls", "--", CALLS,
                              "30000")
    chunk = fathom.chunks(recording)[0]
    if not chunk["lost"]["buffer"]:
        return "nothing was lost"
    result = subprocess.run([LAW_OF, chunk["path"], str(SEED), "7"], text=True,
                            capture_output=True, timeout=500)
    equal(result.returncode, 0, f"law over {chunk['path']}: {result.stdout}{result.stderr}")
    harness.check_babeltrace(fathom, recording)
    return None


def answers_of(*directories):
    """What the command line says, but for the clock, which has an entry for each cut."""
    answers = []
    for by in ("thread", "process", "syscall", "cause", "file"):
        report = json.loads(fathom.ok("report", "--json", "--by", by, *directories))
        del report["clock"], report["incomplete"]  # which the manifest of the whole counts
        answers.append(report)
    traces = json.loads(fathom.ok("trace", "--json", "--all", *directories))
    del traces["clock"], traces["incomplete"]
    answers.append(traces)
    return answers


@tests.add
def reports_over_chunks_are_those_over_one():
    chunk = fathom.chunks(fathom.path("host-calls"))[0]
    whole = answers_of(fathom.path("host-calls"))
    for number in range(2):
        cuts = sorted(random.sample(range(chunk["begin_ns"] + 1, chunk["end_ns"]), 2 + number * 6))
        pieces = fathom.path(f"pieces{number}")
        subprocess.run([RECUT, chunk["path"], pieces, *map(str, cuts)], check=True)
        equal(len(fathom.chunks(pieces)), len(cuts) + 1, "pieces")
        cut = answers_of(pieces)
        for one, other in zip(whole, cut):
            check(one == other, f"seed {SEED}, cuts {cuts}: {difference(one, other)}")


def difference(one, other, where=""):
    """The first place in which two answers differ."""
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            if one[key] != other[key]:
                return difference(one[key], other[key], f"{where}.{key}")
    if isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for number, (left, right) in enumerate(zip(one, other)):
            if left != right:
                return difference(left, right, f"{where}[{number}]")
    return f"{where}: whole {str(one)[:600]}, cut {str(other)[:600]}"


@tests.add
def each_cpu_may_be_cut_at_its_own_time():
    chunk = fathom.chunks(fathom.path("host-calls"))[0]
    whole = answers_of(fathom.path("host-calls"))
    length = chunk["end_ns"] - chunk["begin_ns"]
    for number, width in enumerate((length // 100, length // 3)):
        pieces = fathom.path(f"streams{number}")
        starts = sorted(random.sample(range(chunk["begin_ns"] + 1, chunk["end_ns"] - width), 4))
        cuts, last = [], [0] * 4
        for start in starts:
            cut = [max(before, start + random.randrange(width)) for before in last]
            if min(cut) == min(last) or max(cut) == max(last):
                continue  # no recorder cuts twice at one time
            last = cut
            cuts.append(",".join(map(str, last)))
        subprocess.run([RECUT, chunk["path"], pieces, *cuts], check=True)
        cut = answers_of(pieces)
        for one, other in zip(whole, cut):
            check(one == other, f"seed {SEED}, cuts {cuts}: {difference(one, other)}")


@tests.add
def the_order_of_directories_does_not_matter():
    chunks = [chunk["path"] for chunk in fathom.chunks(fathom.path("pieces1"))]
    first = fathom.ok("report", "--json", "--by", "thread", *chunks)
    random.shuffle(chunks)
    equal(fathom.ok("report", "--json", "--by", "thread", *chunks), first, "shuffled")
    equal(fathom.ok("report", "--json", "--by", "thread", *chunks, fathom.path("pieces1")), first,
          "given twice")


def merged(files, name):
    """One file of all of these, by merges of a few at a time in a random order."""
    number = 0
    while len(files) > 1:
        some = random.sample(files, random.randrange(2, min(4, len(files)) + 1))
        joined = fathom.path(f"{name}-{number}")
        fathom.ok("merge", *some, "-o", joined)
        files = [file for file in files if file not in some] + [joined]
        number += 1
    return files[0]


def bytes_of(path):
    with open(path, "rb") as file:
        return file.read()


def check_partial_files(chunks, name, *options):
    """Files of these chunks: merged in two trees they are the same, and answer as the chunks do."""
    leaves = [fathom.path(f"{name}-leaf{i}") for i in range(len(chunks))]
    for chunk, leaf in zip(chunks, leaves):
        fathom.ok("map", chunk, "-o", leaf, *options)
    one, other = merged(leaves, name + "-one"), merged(leaves, name + "-other")
    fathom.ok("map", *chunks, "-o", fathom.path(name), *options)
    check(bytes_of(one) == bytes_of(other) == bytes_of(fathom.path(name)),
          f"seed {SEED}: trees of {name} differ")
    for by in ("name", "thread", "process", "syscall", "file", "peer", "cause", "event"):
        equal(fathom.ok("report", "--json", "--by", by, one),
              fathom.ok("report", "--json", "--by", by, *chunks), f"{name} by {by}")
    size = sum(os.path.getsize(os.path.join(chunk, file))
               for chunk in chunks for file in os.listdir(chunk))
    share = 100 * os.path.getsize(one) / size
    print(f"# {name}: {len(chunks)} chunks of {size} bytes, as a file {share:.1f} % of that")
    return one


@tests.add
def partial_files_merge_in_any_tree():
    chunks = [chunk["path"] for chunk in fathom.chunks(fathom.path("pieces1"))]
    check_partial_files(chunks, "without-kernel-spans")
    file = check_partial_files(chunks, "with-kernel-spans", "--spans")
    rows = json.loads(fathom.ok("report", "--json", "--by", "thread", *chunks))["rows"]
    for words in (["--all"], ["--tid", rows[0]["tid"]], ["--pid", rows[0]["pid"]]):
        check(fathom.ok("trace", "--json", *words, file)
              == fathom.ok("trace", "--json", *words, *chunks), f"traces {words} differ")


@tests.add
def partial_files_have_gaps_and_uneven_cuts():
    chunks = [chunk["path"] for chunk in fathom.chunks(fathom.path("pieces1"))]
    check_partial_files(chunks[:2] + chunks[4:], "gap", "--spans")
    chunks = [chunk["path"] for chunk in fathom.chunks(fathom.path("streams1"))]
    check_partial_files(chunks, "uneven", "--spans")


@tests.add
def a_rotated_recording_is_whole():
    directory = fathom.path("rotating")
    fathom.record("rotating", "--rotate", "100ms", "--", "sh", "-c",
                  f"{CALLS} 10000; sleep 0.35; {CALLS} 10000")
    chunks = fathom.chunks(directory)
    check(len(chunks) >= 4, f"{len(chunks)} chunks")
    rows = {row["key"]: row for row in fathom.report(directory, "syscall")["rows"]}
    equal(rows["gettid"]["count"], 20000, "gettid")  # the shell has its own getppid and getuid
    harness.check_sums(fathom, directory)
    harness.check_babeltrace(fathom, directory)


with fathom:
    tests.run()
