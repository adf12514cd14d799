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


def load():
    loader = importlib.machinery.SourceFileLoader("run_tests_tool", TOOL)
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(loader.name, loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def main():
    tool = load()
    failed = 0
    print(f"1..{len(CASES)}")
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
    return 1 if failed else 0


sys.exit(main())
