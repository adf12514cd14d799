#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What earlier versions wrote gives the answers that it gave then.

Usage: stored.py FATHOM [--write]. Each folder NAME-vN holds what a fathom of format N wrote: a
directory `recording` of chunks, or a file `partial`. Beside it stand the answers as JSON. A new
format gets a new folder, beside those that are there; --write is for the answers of a new one.
Only partials of the latest format can be read, so that there is one such folder, which goes when a
new one comes. Its file is what `fathom map --spans` makes of the chunks in PARTIAL_OF, byte for
byte: other bytes of one format are a mistake. --write writes it, too.
"""
import difflib
import glob
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
# name of the file -> the command, to which the input is added
ANSWERS = {
    "report": ["report", "--json"],
    "report-by-thread": ["report", "--json", "--by", "thread"],
    "report-by-syscall": ["report", "--json", "--by", "syscall"],
    "trace": ["trace", "--all", "--json"],
    "requests": ["requests", "--all", "--json"],
    "chunks": ["chunks", "--json"],
}
PARTIAL_OF = "chunk-v3/recording"
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


def map_of(fathom):
    """The bytes of a partial file."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "partial")
        subprocess.run([fathom, "map", "--spans", PARTIAL_OF, "-o", path], cwd=HERE, check=True)
        with open(path, "rb") as file:
            return file.read()


def partial_bytes(fathom, write):
    """What is wrong with the bytes of the stored partial; nothing: ""."""
    paths = glob.glob(f"{HERE}/*-v[0-9]*/partial")
    if len(paths) != 1:
        return f"# {len(paths)} partials are stored\n"
    now = map_of(fathom)
    if write:
        with open(paths[0], "wb") as file:
            file.write(now)
    with open(paths[0], "rb") as file:
        stored = file.read()
    return "" if stored == now else ("# 'fathom map' writes other bytes: raise"
                                     " PARTIAL_FILE_VERSION, and store the partial anew\n")


def main():
    fathom, write = os.path.abspath(sys.argv[1]), "--write" in sys.argv
    wrong = partial_bytes(fathom, write)
    found = list(cases())
    if not found:
        sys.exit("nothing is stored")
    failed = bool(wrong)
    print(f"1..{len(found) + 1}")
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
    print(f"{wrong}{'not ok' if wrong else 'ok'} {len(found) + 1} - bytes of a partial")
    return 1 if failed else 0


sys.exit(main())
