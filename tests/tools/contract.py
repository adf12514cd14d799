#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/contract.md names what programs can build on: each command, key of rows, filter, and each
member of the JSON documents.

Usage: contract.py FATHOM DOCS.
"""
import json
import os
import re
import subprocess
import sys

LOCAL = {"help", "version"}  # they answer nothing
PLAIN = {"rotate.json", "doctor.json"}  # a path, and a table for people


def help_of(fathom, *words):
    return subprocess.run([fathom, *words], stdout=subprocess.PIPE, text=True, check=True).stdout


def members(schema):
    """The names of all members that a schema describes."""
    for name, item in schema.get("properties", {}).items():
        yield name
        yield from members(item)
    for item in schema.get("$defs", {}).values():
        yield from members(item)
    if isinstance(schema.get("items"), dict):
        yield from members(schema["items"])


def main():
    fathom, docs = sys.argv[1:]
    with open(os.path.join(docs, "contract.md"), encoding="utf-8") as file:
        text = file.read()
    words = set(re.findall(r"[\w-]+", text)) | set(re.findall(r"`([\w.-]+)`", text))
    wanted = {}
    commands = re.findall(r"^  ([a-z]+) ", help_of(fathom, "help"), re.M)
    wanted["commands"] = set(commands) - LOCAL
    listed = re.search(r"a row per (.*?);", help_of(fathom, "report", "--help"), re.S).group(1)
    wanted["keys"] = set(re.findall(r"[\w-]+", listed)) - {"or"}
    for command in ("report", "top"):
        text = help_of(fathom, command, "--help")
        listed = re.search(r"--sort KEY +(.*?)(?=\n +\(|\n +--)", text, re.S).group(1)
        wanted[f"sort keys of {command}"] = set(re.findall(r"\w+", listed)) - {"or"}
    for command in ("report", "trace", "top"):
        text = help_of(fathom, command, "--help").split("\noptions:\n")[1]
        filters = {name for name in re.findall(r"--([a-z-]+) (?:PIDS|TID|NAME|GLOB|PATH|LIST)", text)}
        wanted[f"filters of {command}"] = filters
    for name in sorted(os.listdir(os.path.join(docs, "schema"))):
        if name not in PLAIN:
            with open(os.path.join(docs, "schema", name), encoding="utf-8") as file:
                wanted[name] = set(members(json.load(file)))
    # attributes of frames, links and events are those of OpenTelemetry and of a manual page
    wanted["common.json"] -= {"symbol", "offset", "address", "file_offset", "links", "stack"}
    failed = 0
    print(f"1..{len(wanted)}")
    for number, (what, names) in enumerate(wanted.items(), 1):
        missing = sorted(names - words)
        failed += bool(missing) or not names
        print(f"{'not ok' if missing or not names else 'ok'} {number} - {what}",
              f"# missing: {' '.join(missing)}" if missing else "")
    return 1 if failed else 0


sys.exit(main())
