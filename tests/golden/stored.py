#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What earlier versions wrote gives the answers that it gave then.

Usage: stored.py FATHOM [--write]. Each folder NAME-vN holds what a fathom of format N wrote: a
directory `recording` of chunks, or a file `partial`. Beside it stand the answers as JSON. A new
format gets a new folder, beside those that are there; --write is for the answers of a new one.
"""
import difflib
import glob
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
# name of the file -> the command, to which the input is added
ANSWERS = {
    "report": ["report", "--json"],
    "report-by-thread": ["report", "--json", "--by", "thread"],
    "report-by-syscall": ["report", "--json", "--by", "syscall"],
    "trace": ["trace", "--all", "--json"],
    "chunks": ["chunks", "--json"],
}
INPUTS = {"recording": ANSWERS,
          "partial": {name: words for name, words in ANSWERS.items() if name != "chunks"}}


def cases():
    """Each (folder, input, name of the answer, command)."""
    for folder in sorted(glob.glob(f"{HERE}/*-v[0-9]*")):
        for source, answers in INPUTS.items():
            if os.path.exists(os.path.join(folder, source)):
                for name, words in answers.items():
                    yield folder, source, name, words


def compare(path, text):
    """The difference, as lines of TAP; none: ""."""
    with open(path, encoding="utf-8") as file:
        golden = file.read()
    return "".join(f"# {line}" for line in difflib.unified_diff(
        golden.splitlines(True), text.splitlines(True), "stored", "now"))


def main():
    fathom, write = os.path.abspath(sys.argv[1]), "--write" in sys.argv
    found = list(cases())
    if not found:
        sys.exit("nothing is stored")
    failed = 0
    print(f"1..{len(found)}")
    for number, (folder, source, name, words) in enumerate(found, 1):
        result = subprocess.run([fathom, *words, source], cwd=folder, text=True,
                                capture_output=True, check=False)
        path = f"{folder}/{name}.json"
        if write:
            with open(path, "w", encoding="utf-8") as file:
                file.write(result.stdout)
        why = compare(path, result.stdout)
        if result.returncode or result.stderr:
            why += f"# status {result.returncode}: {result.stderr.strip()}\n"
        failed += bool(why)
        print(why, end="")
        print(f"{'not ok' if why else 'ok'} {number} - {os.path.basename(folder)} {name}")
    return 1 if failed else 0


sys.exit(main())
