#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each command's --help and its manual page say the same.

Usage: check_manual.py FATHOM DIR. For each command: its page is there, mandoc
finds nothing in it, its name line is the command's summary, and both list the
same options, with the same letters and values, as does the page's synopsis, which names
each but --help. Each page belongs to a command.
"""
import os
import re
import shutil
import subprocess
import sys

HELP = re.compile(r"^  (?:(-\w),)?\s+(--[\w-]+)(?: \[?([A-Z][\w:]*)\]?)?(?=\s|$)", re.M)
PAGE = re.compile(r"^\.It (Fl .*)$", re.M)


def help_of(fathom, *words):
    return subprocess.run([fathom, *words], stdout=subprocess.PIPE, text=True, check=True).stdout


def options_of_help(text):
    """{long name: (letter, metavar)} from the part between options: and examples:"""
    part = text.split("\noptions:\n", 1)[1].split("\nexamples:\n", 1)[0]
    return {name: (letter or "", metavar or "") for letter, name, metavar in HELP.findall(part)}


def options_of_page(text):
    """The same from lines like `.It Fl o , Fl -output Ar DIR`."""
    options = {}
    for line in PAGE.findall(text):
        words = line.split()
        flags = ["-" + words[i + 1] for i, word in enumerate(words) if word == "Fl"]
        names = [flag for flag in flags if flag.startswith("--")]
        letters = [flag for flag in flags if not flag.startswith("--")]
        metavar = words[words.index("Ar") + 1] if "Ar" in words else ""
        for name in names:
            options[name] = (letters[0] if letters else "", metavar)
    return options


def synopsis_differences(page, options):
    """What in the page's synopsis is no option, or misses, or has another value."""
    part = page.split("\n.Sh SYNOPSIS\n", 1)[1].split("\n.Sh ", 1)[0]
    letters = {letter: name for name, (letter, _) in options.items() if letter}
    shown = {"--help"}
    for flag, metavar in re.findall(r"\bFl (-?[\w][\w-]*)(?: (?:Op )?Ar ([A-Z][\w:]*))?", part):
        name = letters.get("-" + flag, "-" + flag)
        shown.add(name)
        if name not in options:
            yield f"synopsis: -{flag} is no option"
        elif options[name][1] != metavar:
            yield f"synopsis: {name} has '{metavar}', help '{options[name][1]}'"
    for name in sorted(options.keys() - shown):
        yield f"synopsis: {name} is missing"


def differences(fathom, directory, command, summary):
    path = os.path.join(directory, f"fathom-{command}.1")
    if not os.path.exists(path):
        yield "has no manual page"
        return
    with open(path, encoding="utf-8") as file:
        page = file.read()
    text = help_of(fathom, command, "--help")
    if text != help_of(fathom, "help", command):
        yield "'help COMMAND' and 'COMMAND --help' differ"
    for line in text.splitlines():
        if len(line) > 80:
            yield f"help: wider than a terminal: {line}"
    in_help, in_page = options_of_help(text), options_of_page(page)
    for name in sorted(in_help.keys() | in_page.keys()):
        if in_help.get(name) != in_page.get(name):
            yield f"{name}: help {in_help.get(name)}, page {in_page.get(name)}"
    yield from synopsis_differences(page, in_help)
    if f".Nd {summary}\n" not in page:
        yield f"the page's name line is not '{summary}'"


def is_known(line, directory):
    """Pages of others, and ours before they are installed, may be referred to."""
    match = re.search(r"referenced manual not found: Xr (\S+) (\d)", line)
    if not match:
        return "mandoc.db" in line
    name, section = match.groups()
    ours = os.path.exists(os.path.join(directory, f"{name}.{section}"))
    return ours or not name.startswith("fathom")


def lint(directory, file):
    if not shutil.which("mandoc"):
        return ["mandoc is not installed"]
    out = subprocess.run(["mandoc", "-T", "lint", "-W", "style", os.path.join(directory, file)],
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout
    return [line for line in out.splitlines() if not is_known(line, directory)]


def main():
    fathom, directory = sys.argv[1:]
    listed = re.findall(r"^  ([\w-]+) +(.*)$",
                        help_of(fathom, "help").split("commands:\n", 1)[1], re.M)
    results = []
    for command, summary in listed:
        results.append((f"fathom-{command}",
                        list(differences(fathom, directory, command, summary))))
    for file in sorted(os.listdir(directory)):
        results.append((f"lint {file}", lint(directory, file)))
        match = re.fullmatch(r"fathom-(.*)\.1", file)
        if match and match.group(1) not in dict(listed):
            results.append((f"{file} has its command", ["there is no such command"]))
    with open(os.path.join(directory, "fathom.1"), encoding="utf-8") as page:
        shown = re.findall(r"^\.It Xr fathom-([\w-]+) 1$", page.read(), re.M)
    results.append(("fathom.1 lists each command",
                    [name for name, _ in listed if name not in shown]))
    print(f"1..{len(results)}")
    failed = 0
    for number, (name, why) in enumerate(results, 1):
        failed += bool(why)
        for line in why:
            print(f"# {name}: {line}")
        print(f"{'not ok' if why else 'ok'} {number} - {name}")
    return 1 if failed else 0


sys.exit(main())
