#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The check of stacks finds what a kernel adds up, and only that."""
import os
import subprocess
import sys
import tempfile

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/check-bpf-stack")
HEAD = """
#define FUNCTION(kind, name, bytes, ...) \\
	kind __attribute__((noinline)) int name(int n) \\
	{ char room[bytes]; asm volatile("" :: "r"(room) : "memory"); return room[0] + (__VA_ARGS__); }
#define PROGRAM __attribute__((section("tp_btf/x"), used))
"""

# A way of nine functions: b9 is the last.
LONG = "".join(f"FUNCTION(, b{i}, 8, {'n' if i == 9 else f'b{i + 1}(n)'})" for i in range(9, 1, -1))

# What is compiled; the bytes that the deepest way takes; the way. Above 512 it is refused, or if
# something is said besides.
CASES = [
    ("one function", "FUNCTION(PROGRAM, a, 100, 0)", 128, "a"),
    ("a call adds up", "FUNCTION(, b, 200, n) FUNCTION(PROGRAM, a, 200, b(n))", 448, "a > b"),
    ("static functions count", "FUNCTION(static, b, 200, n) FUNCTION(PROGRAM, a, 200, b(n))", 448,
     "a > b"),
    ("the deeper of two", "FUNCTION(, b, 64, n) FUNCTION(, c, 128, n)"
     "FUNCTION(PROGRAM, a, 64, b(n) + c(n))", 192, "a > c"),
    ("no stack takes some", "FUNCTION(, b, 64, n) __attribute__((noinline)) int e(int n)"
     "{ return b(n) + 1; } FUNCTION(PROGRAM, a, 64, e(n))", 160, "a > e > b"),
    ("in one section", "FUNCTION(PROGRAM, b, 64, n) FUNCTION(PROGRAM, a, 64, b(n))", 128, "a > b"),
    ("too deep", "FUNCTION(, c, 200, n) FUNCTION(static, b, 200, c(n))"
     "FUNCTION(PROGRAM, a, 200, b(n))", 672, "a > b > c"),
    ("handed over", "long (*each)(int, void *, void *, long) = (void *)181;"
     "FUNCTION(static, b, 300, n) FUNCTION(PROGRAM, a, 300, each(n, b, 0, 0))", 640, "a > b"),
    ("eight functions deep", LONG + "FUNCTION(PROGRAM, a, 40, b3(n))", 288,
     "a > b3 > b4 > b5 > b6 > b7 > b8 > b9"),
    ("too long beside what takes most", LONG + "FUNCTION(, c, 400, n)"
     "FUNCTION(PROGRAM, a, 8, c(n) + b2(n))", 448, "a > c",
     "9 functions deep, 8 are allowed: a, b2, b3, b4, b5, b6, b7, b8, b9\n"),
]


def main():
    failed = 0
    print(f"1..{len(CASES)}")
    for number, (what, source, total, way, *said) in enumerate(CASES, 1):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.o")
            subprocess.run([sys.argv[1], "-O2", "-target", "bpf", "-mcpu=v3", "-x", "c", "-c", "-",
                            "-o", path], input=HEAD + source, text=True, check=True)
            result = subprocess.run([sys.executable, TOOL, path], text=True, capture_output=True,
                                    check=False)
        want = f"{path}: {total} bytes of 512 at most, in {way}"
        if (result.stdout.splitlines()[-1:] == [want] and all(s in result.stdout for s in said) and
                result.returncode == (total > 512 or len(said) > 0)):
            print(f"ok {number} - {what}")
        else:
            failed += 1
            print(f"# status {result.returncode}, should be: {want}")
            print(f"# {result.stdout}{result.stderr}")
            print(f"not ok {number} - {what}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
