#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each example of each --help, of the manual pages and of the README is right usage.

Usage: examples.py FATHOM DIR README. Runs them as they stand, in an empty directory and without the
capabilities that recording asks for, so that they end soon; whatever becomes of them, none may
end with the status of wrong usage, and each must get as far as fathom.
"""
import ctypes
import os
import re
import subprocess
import sys
import tempfile

FATHOM = os.path.abspath(sys.argv[1])
PAGES, README = sys.argv[2:]
PR_CAPBSET_DROP = 24
# What stands beside fathom in an example is not what is tested, and not everywhere.
BESIDE = {"pidof": "echo 1", "jq": "cat >/dev/null", "less": "cat >/dev/null",
          "babeltrace2": "exit 0"}
RUNNER = """#!/bin/sh
limit=
case $1 in serve | up) limit="timeout 2" ;; esac # they end when they are told to
$limit "%s" "$@"
status=$?
echo $status "$*" >>"$EXAMPLE_STATUS"
exit $status
"""


def help_of(*words):
    return subprocess.run([FATHOM, *words], stdout=subprocess.PIPE, text=True, check=True).stdout


def examples():
    """(where it stands, the line)"""
    listed = help_of("help").split("commands:\n", 1)[1]
    for command in re.findall(r"^  ([\w-]+) ", listed, re.M):
        text = help_of(command, "--help")
        if "\nexamples:\n" in text:
            for line in text.split("\nexamples:\n", 1)[1].splitlines():
                yield f"{command} --help", line.strip()
    for name in sorted(os.listdir(PAGES)):
        with open(os.path.join(PAGES, name), encoding="utf-8") as page:
            for line in re.findall(r"^\.D[l1] (.*\bfathom .*)$", page.read(), re.M):
                yield name, line.replace("\\-", "-").replace("\\&", "")
    with open(README, encoding="utf-8") as text:
        for line in re.findall(r"^    ((?:\S*/)?fathom .*)$", text.read(), re.M):
            yield "README", line


def without_capabilities():
    prctl = ctypes.CDLL(None).prctl
    number = 0
    while prctl(PR_CAPBSET_DROP, number, 0, 0, 0) == 0:
        number += 1


def tool_write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    os.chmod(path, 0o755)


def statuses_of(line, directory):
    """Status and words of each fathom that the line ran."""
    tools, status = os.path.join(directory, "tools"), os.path.join(directory, "status")
    os.mkdir(tools)
    tool_write(os.path.join(tools, "fathom"), RUNNER % FATHOM)
    for name, script in BESIDE.items():
        tool_write(os.path.join(tools, name), f"#!/bin/sh\n{script}\n")
    line = line.replace("/var/lib/", directory + "/")
    env = dict(os.environ, PATH=tools + ":" + os.environ["PATH"], EXAMPLE_STATUS=status)
    subprocess.run(["sh", "-c", line.rstrip("&") + "\nwait"], env=env, cwd=directory, timeout=60,
                   stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   preexec_fn=without_capabilities, check=False)
    if not os.path.exists(status):
        return []
    with open(status, encoding="utf-8") as file:
        return [(int(one.split()[0]), one) for one in file]


def main():
    found = list(examples())
    failed = 0
    print(f"1..{len(found) + 2}", flush=True)
    for number, (where, line) in enumerate(found, 1):
        with tempfile.TemporaryDirectory(prefix="fathom-examples-") as directory:
            statuses = statuses_of(line, directory)
        good = statuses and all(status != 2 for status, _ in statuses)
        failed += not good
        if not good:
            print(f"# {statuses}")
        print(f"{'ok' if good else 'not ok'} {number} - {where}: {line}", flush=True)
    with tempfile.TemporaryDirectory(prefix="fathom-examples-") as directory:
        wrong = [status for status, _ in statuses_of("fathom trace --all --slowest 3", directory)]
    print(f"{'ok' if wrong == [2] else 'not ok'} {len(found) + 1} - wrong usage is seen: {wrong}")
    many = len(found) >= 20
    print(f"{'ok' if many else 'not ok'} {len(found) + 2} - there are examples: {len(found)}")
    return 1 if failed or wrong != [2] or not many else 0


sys.exit(main())
