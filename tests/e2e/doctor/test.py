#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What doctor says is so: with every privilege, and with none."""
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
tests = harness.Tests()
before = harness.programs_left(set())
NOBODY = 65534
MMAPABLE = "0x400"
MEMORY_PERCENT = 2
COUNTS_WHAT_IS_TAKEN = tuple(int(n) for n in os.uname().release.split(".")[:2]) >= (6, 4)


@functools.cache
def doctors_answer():
    """To load all programs takes doctor seconds: it is asked once."""
    return json.loads(fathom.ok("doctor", "--json"))


def findings(answer, section):
    return {f["name"]: f for f in answer["findings"] if f["section"] == section}


@tests.add
def root_can_record():
    answer = doctors_answer()
    equal(answer["can_record"], True, "can_record")
    check("reason" not in answer, "no reason where there is nothing to explain")
    for finding in answer["findings"]:
        check(finding["available"] or not finding["needed"], f"{finding} is there")
    check(findings(answer, "tracepoint")["sched_switch"]["needed"], "sched_switch is needed")
    equal({name: f["available"] for name, f in findings(answer, "option").items()},
          {"--stacks": True, "--sample": True, "--event": True,
           "--detail SCOPE=calls": True}, "options")
    check("Go" in findings(answer, "program")["goroutines"]["text"], "goroutines")
    with open("/sys/devices/system/clocksource/clocksource0/current_clocksource",
              encoding="ascii") as file:
        check(file.read().strip() in findings(answer, "kernel")["fast clock"]["text"], "clock")


def maps_bytes(pid):
    """What the kernel counts for the maps of a process: all, and the rings' slots among them."""
    taken, slots = {}, 0
    for name in os.listdir(f"/proc/{pid}/fdinfo"):
        try:
            with open(f"/proc/{pid}/fdinfo/{name}", encoding="ascii") as file:
                text = file.read()
        except FileNotFoundError:  # closed meanwhile: no map is
            continue
        info = dict(line.split(":\t") for line in text.splitlines() if ":\t" in line)
        if "map_id" in info:
            taken[info["map_id"]] = of_it = int(info["memlock"])
            if info["map_flags"] == MMAPABLE and info["value_size"] == "64":
                slots = max(slots, of_it)
    return sum(taken.values()), slots


@tests.add
def memory_is_what_a_recorder_takes():
    if not COUNTS_WHAT_IS_TAKEN:
        return "this kernel counts what maps would take if they were full"
    answer = doctors_answer()
    with harness.Process([fathom.binary, "record", "-a", "-o", fathom.path("host")],
                         stderr=subprocess.PIPE, text=True) as recorder:
        harness.until(lambda: fathom.run("rotate", fathom.path("host")).returncode == 0 or
                      recorder.poll() is not None, "it records")
        taken, slots = maps_bytes(recorder.pid)
        recorder.send_signal(signal.SIGINT)
        recorder.communicate(timeout=60)
    told = {"ring_bytes": slots, "table_bytes": taken - slots}
    for name, kernel in told.items():
        check(abs(answer[name] - kernel) <= kernel * MEMORY_PERCENT / 100,
              f"{name}: doctor says {answer[name]}, the kernel {kernel}")
    return None


@tests.add
def the_text_says_the_same():
    text = fathom.ok("doctor")
    check("fathom can record here" in text.splitlines()[0], "the first line")
    for finding in doctors_answer()["findings"]:
        word = "yes" if finding["available"] else "no"
        check(re.search(rf"^  {re.escape(finding['name'])} +{word} ", text, re.M), finding["name"])


@tests.add
def who_may_not_record_is_told_why():
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        binary = shutil.copy(fathom.binary, place)
        result = subprocess.run([binary, "doctor", "--json"], text=True, capture_output=True,
                                user=NOBODY, group=NOBODY, extra_groups=[], cwd="/", timeout=60)
    equal(result.returncode, 1, "status")
    equal(len(result.stderr.splitlines()), 1, f"lines of {result.stderr!r}")
    answer = json.loads(result.stdout)
    equal(answer["can_record"], False, "can_record")
    check(answer["reason"] in result.stderr, "the line is the reason")
    for name, finding in findings(answer, "privilege").items():
        equal(finding["available"], False, name)


@tests.add
def four_capabilities_are_as_good_as_root():
    """What asks access(2) does not see them: that one goes by who started the program."""
    if not shutil.which("setpriv"):
        return "setpriv is missing"
    names = "-all,+bpf,+perfmon,+sys_ptrace,+dac_read_search"
    nobody = ["setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups",
              "--inh-caps", names, "--ambient-caps", names, "--bounding-set", names]
    with tempfile.TemporaryDirectory() as place:
        os.chmod(place, 0o755)
        binary = shutil.copy(fathom.binary, place)
        result = subprocess.run([*nobody, binary, "doctor", "--json"], text=True,
                                capture_output=True, cwd="/", timeout=60)
    root = findings(doctors_answer(), "kernel")
    answer = json.loads(result.stdout)
    equal(answer["can_record"], True, f"can_record: {result.stderr}")
    equal({name: f["available"] for name, f in findings(answer, "kernel").items()
           if name in ("types (BTF)", "tracefs")},
          {name: root[name]["available"] for name in ("types (BTF)", "tracefs")}, "the kernel")
    return None


@tests.add
def nothing_is_left_in_the_kernel():
    if before is None:
        return "bpftool is missing"
    left = harness.programs_left(before)
    check(not left, f"programs {sorted(left)} are still loaded")
    return None


with fathom:
    tests.run()
