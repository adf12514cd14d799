#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What holds for every command: exit codes, and one clear line on stderr.

Usage: command_line.py FATHOM. 0 done, 1 could not be done, 2 wrong usage.
"""
import os
import re
import subprocess
import sys
import tempfile

FATHOM = os.path.abspath(sys.argv[1])
# What the error of a reader of nothing says to do next.
RECORD_FIRST = (r".+: start 'fathom record (--flight )?-o |"
                r".+; record something first \('fathom record'\), or name")
READERS = ("chunks", "report", "trace", "rotate", "snapshot")  # they need a recording


def run(*words, cwd=None, stdout=subprocess.PIPE):
    done = subprocess.run([FATHOM, *words], stdout=stdout, stderr=subprocess.PIPE, text=True,
                          cwd=cwd, timeout=60)
    return done.returncode, done.stdout or "", done.stderr


def commands():
    return re.findall(r"^  ([\w-]+) ", run("help")[1].split("commands:\n", 1)[1], re.M)


def cases():
    def expect(name, got, status, error=None):
        code, out, err = got
        good = code == status and (error is None) == (err == "")
        if error:
            good = good and re.match(error, err) is not None
        return name, good, f"status {code}, stderr {err!r}"

    with tempfile.TemporaryDirectory() as empty, open("/dev/full", "w", encoding="ascii") as full:
        yield expect("help", run("help"), 0)
        yield expect("--help", run("--help"), 0)
        yield expect("--version", run("--version"), 0)
        yield expect("no command", run(), 2, "fathom shows")
        yield expect("an unknown command", run("frobnicate"), 2, "fathom: unknown command 'frobnicate'")
        yield expect("a full disk", run("help", stdout=full), 1, "fathom help: cannot write")
        for name in commands():
            line = f"fathom {name}: "
            yield expect(f"{name} --help", run(name, "--help"), 0)
            yield expect(f"{name} --nonsense", run(name, "--nonsense"), 2,
                         line + "unknown option --nonsense")
            if name not in READERS:
                continue
            first = f"{line}({RECORD_FIRST}).*\n$"
            yield expect(f"{name} without a recording", run(name, cwd=empty), 1, first)
            yield expect(f"{name} of nothing", run(name, empty + "/none"), 1, first)
            yield expect(f"{name} of an empty directory", run(name, empty), 1, first)
            yield expect(f"{name} --json of nothing", run(name, "--json", empty + "/none"), 1,
                         first)
        yield from partials(expect, empty)
        yield from recorders(expect, empty + "/new")


def partials(expect, empty):
    """Partial files: what is named in the wrong place is told where it belongs."""
    file = empty + "/file"
    with open(file, "w", encoding="ascii") as no_partial:
        no_partial.write("no partial")
    for what, words, status, why in (
            ("map without a file to write", ("map", empty), 2, ".+: -o FILE"),
            ("map a file", ("map", file, "-o", file), 2, ".+'fathom merge'"),
            ("map --from Unix time", ("map", "--from", "@1795701780", "-o", file + "2", empty), 2,
             ".+ cannot be a date or a time of day"),
            ("map into a device", ("map", empty, "-o", "/dev/null"), 1, ".+: it is a device"),
            ("report --boot on a file and a directory", ("report", "--boot", "-1", file, empty), 2,
             "--boot cannot count"),
            ("report on a device", ("report", "/dev/null"), 1, ".+: it is a device"),
            ("map an empty directory", ("map", empty, "-o", file + "2"), 1, ".+record something"),
            ("merge without a file to write", ("merge", file), 2, ".+: -o FILE"),
            ("merge nothing", ("merge", "-o", file), 2, "name the partial files"),
            ("merge a directory", ("merge", empty, "-o", file), 2, ".+'fathom map'"),
            ("merge what is no partial", ("merge", file, "-o", file), 1,
             ".+ no partial file: .+'fathom map'"),
            ("report on what is no partial", ("report", file), 1, ".+ no partial file"),
            ("trace what is no partial", ("trace", file), 1, ".+ no partial file"),
            ("report --from on a file", ("report", "--from", "1s", file), 2,
             ".+--from and --to to 'fathom map'"),
            ("report --to on a file", ("report", "--to", "1s", file), 2, ".+'fathom map'")):
        yield expect(what, run(*words), status, f"fathom {words[0]}: {why}")


def recorders(expect, new):
    """Who may not record is told so first, and what it takes."""
    line = "fathom record: "
    or_root = "" if os.geteuid() == 0 else "|.*run as root"
    for what, words, hint in (
            ("a process that is not there", ("-o", new, "-p", "99999999"), "'ps -e' lists"),
            ("a cgroup that is not there", ("-o", new, "--cgroup", "no/such"), "/proc/PID/cgroup"),
            ("into /proc", ("-o", "/proc/x"), "choose a writable directory with -o")):
        yield expect(f"record {what}", run("record", "-d", "1ms", *words), 1,
                     f"{line}(.+; .*{hint}{or_root}).*\n$")


def main():
    failed = number = 0
    os.environ.pop("FATHOM_LEVEL", None)
    for number, (name, good, why) in enumerate(cases(), 1):
        failed += not good
        if not good:
            print(f"# {why}")
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
    print(f"1..{number}")
    return 1 if failed else 0


sys.exit(main())
