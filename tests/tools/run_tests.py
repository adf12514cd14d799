#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tools/run-tests counts, given lines of meson's test log."""
import importlib.machinery
import importlib.util
import contextlib
import io
import os
import sys

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/run-tests")

# name, stdout, result, return code -> passed, failed, skipped
CASES = [
    ("one without TAP that passes", "", "OK", 0, (1, 0, 0)),
    ("one without TAP that fails", "oops", "FAIL", 1, (0, 1, 0)),
    ("one without TAP that skips", "no root", "SKIP", 77, (0, 0, 1)),
    ("each TAP line counts", "1..3\nok 1 - a\nok 2 - b # SKIP why\nok 3 - c\n", "OK", 0, (2, 0, 1)),
    ("a failed line", "1..2\n# x.c:1: is false\nnot ok 1 - a\nok 2 - b\n", "FAIL", 1, (1, 1, 0)),
    ("a crash before the end", "1..3\nok 1 - a\n", "FAIL", -11, (1, 1, 0)),
    ("a failure after all passed", "1..1\nok 1 - a\n", "FAIL", 99, (1, 1, 0)),
    ("a timeout", "", "TIMEOUT", -15, (0, 1, 0)),
    ("all skipped", "1..1\nok 1 - a # SKIP no kernel\n", "SKIP", 77, (0, 0, 1)),
]

FAILS = ("1..2\nok 1 - a\nnot ok 2 - b\n", "FAIL", 1)
PASSES = ("1..2\nok 1 - a\nok 2 - b\n", "OK", 0)
SKIPS = ("1..1\nok 1 - a # SKIP no root\n", "SKIP", 77)
SKIPS_ONE = ("1..2\nok 1 - a\nok 2 - b # SKIP no room\n", "OK", 0)
FAILS_BESIDE_SKIP = ("1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no root\n", "FAIL", 1)
BREAKS = ("1..2\nok 1 - a\n# Broken: split of thread 7: is 9\nnot ok 2 - b\n", "FAIL", 1)
SANITIZER = ("1..1\nok 1 - a\n==7==ERROR: LeakSanitizer: detected memory leaks\n", "FAIL", 1)
PASSES_BESIDE_SKIP = ("1..3\nok 1 - a\nok 2 - b\nok 3 - c # SKIP no root\n", "OK", 0)
FLAKY = ["tests/t/b: passed at the second try"]

# name, suite, or folder of its program; each try -> passed, failed, skipped; what is flaky. A try
# that is not made is an error.
TRIES = [
    ("one that passes is tried once", "e2e", [PASSES], (2, 0, 0), []),
    ("one that passes at the second try is flaky", "e2e", [FAILS, PASSES], (2, 0, 0), FLAKY),
    ("one that fails twice has failed once", "e2e", [FAILS, FAILS], (1, 1, 0), []),
    ("one that leaves no second log has failed", "e2e", [FAILS, None], (1, 1, 0), []),
    ("one that skips the second time has failed", "e2e", [FAILS, SKIPS], (1, 1, 0), []),
    ("one that skips what had failed has failed", "e2e", [FAILS, SKIPS_ONE], (1, 1, 0), []),
    ("one may skip what it skipped at first", "e2e", [FAILS_BESIDE_SKIP, PASSES_BESIDE_SKIP],
     (2, 0, 1), FLAKY),
    ("one that finds a law broken is tried once", "e2e", [BREAKS], (1, 1, 0), []),
    ("one of two suites is tried twice", "e2e+host", [FAILS, PASSES], (2, 0, 0), FLAKY),
    ("a unit test is tried once", "unit", [FAILS], (1, 1, 0), []),
    ("a test of another folder is tried once", "tests/unit/chunk", [FAILS], (1, 1, 0), []),
    ("one that listens to rings is tried twice", "tests/unit/capture/app", [FAILS, PASSES],
     (2, 0, 0), FLAKY),
    ("one in which a sanitizer finds something is tried once", "tests/unit/lib", [SANITIZER],
     (1, 1, 0), []),
    ("a test of the house is tried once", "house", [FAILS], (1, 1, 0), []),
]


def load():
    loader = importlib.machinery.SourceFileLoader("run_tests_tool", TOOL)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def tried(tool, suite, tries):
    """What is counted of one test that goes like this each time, and what was left to try."""
    left = list(tries)

    def log(*_, **__):
        if not left[0]:
            return 1, left.pop(0)
        output, result, code = left.pop(0)
        return code, [{"name": f"fathom:{suite} / t", "stdout": output, "result": result,
                       "returncode": code, "command": [f"/build/{suite}/test-t"]}]

    tool.meson_log = log
    count = tool.Count()
    with contextlib.redirect_stdout(io.StringIO()) as text:
        tool.count_log("tests", "build", count, log())
    kept = sum(output in text.getvalue() for output, result, _ in filter(None, tries)
               if result == "FAIL")
    return (count.passed, count.failed, count.skipped), count.flaky, left, kept


def check_tries(tool, number):
    failed = 0
    for number, (name, suite, tries, expected, flaky) in enumerate(TRIES, number):
        fails = sum(one[1] == "FAIL" for one in filter(None, tries))
        got, wanted = tried(tool, suite, tries), (expected, flaky, [], fails)
        failed += got != wanted
        if got != wanted:
            print(f"# {got}, should be {wanted}")
        print(f"{'ok' if got == wanted else 'not ok'} {number} - {name}")
    return failed


def counts_and_says(count, half, name):
    half()
    print("said beside")
    count.add("passed", name)


def dies(*_):
    os._exit(3)


def check_beside(tool, number):
    """What runs in another process is counted and shown here, also when that process dies."""
    failed = 0
    for number, (name, work, args, expected, said) in enumerate([
            ("what runs beside is counted", counts_and_says, ["t"], (1, 0, 0), "said beside\n"),
            ("what dies beside has failed", dies, [], (0, 1, 0), "")], number):
        count = tool.Count()
        with contextlib.redirect_stdout(io.StringIO()) as text:
            beside = tool.Beside(work, *args)
            beside.wait()
            beside.join(count)
        got = (count.passed, count.failed, count.skipped), text.getvalue()
        failed += got != (expected, said)
        print(f"{'ok' if got == (expected, said) else 'not ok'} {number} - {name}")
    return failed


def main():
    tool = load()
    failed = 0
    print(f"1..{len(CASES) + len(TRIES) + 2}", flush=True)
    for number, (name, output, result, code, expected) in enumerate(CASES, 1):
        count = tool.Count()
        with contextlib.redirect_stdout(io.StringIO()):
            count.add_test("run", {"name": "t", "stdout": output, "result": result,
                                   "returncode": code})
        got = (count.passed, count.failed, count.skipped)
        failed += got != expected
        if got != expected:
            print(f"# {got}, should be {expected}")
        print(f"{'ok' if got == expected else 'not ok'} {number} - {name}")
    failed += check_tries(tool, len(CASES) + 1)
    failed += check_beside(tool, len(CASES) + len(TRIES) + 1)
    return 1 if failed else 0


sys.exit(main())
