#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The layer check finds each kind of violation, and only these."""
import os
import subprocess
import sys
import tempfile

TOOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/check-layers")

CASES = [
    ("a clean tree passes", {
        "src/base/a.c": '#include "base/a.h"\n#include <stdio.h>\n',
        "src/base/a.h": "",
        "src/map/a.c": '#include "model/a.h"\n#include "record/record.h"\n#include "chunk/x.h"\n',
        "src/model/a.h": "",
        "record/record.h": "",
        "src/cli/a.c": '#include "capture/a.h"\n#include "map/a.h"\n',
        "src/capture/a.c": '#include "fathom.skel.h"\n#include "bpf/shared.h"\n',
    }, []),
    ("a folder behind is refused", {
        "src/model/a.c": '#include "map/a.h"\n', "src/map/a.h": "",
    }, ["src/model/a.c:1"]),
    ("capture does not include chunk", {
        "src/capture/a.c": '\n#include "chunk/chunk.h"\n', "src/chunk/chunk.h": "",
    }, ["src/capture/a.c:2"]),
    ("a relative path does not hide it", {
        "src/base/a.c": '#include "../chunk/chunk.h"\n', "src/chunk/chunk.h": "",
    }, ["src/base/a.c:1"]),
    ("angle brackets do not hide it", {
        "src/lib/a.c": "#  include <capture/a.h>\n", "src/capture/a.h": "",
    }, ["src/lib/a.c:1"]),
    ("kernel programs use the contract alone", {
        "bpf/a.bpf.c": '#include "record/record.h"\n#include "base/map.h"\n',
        "record/record.h": "", "src/base/map.h": "",
    }, ["bpf/a.bpf.c:2"]),
    ("only cli composes", {
        "src/map/a.c": '#include "cli/a.h"\n', "src/cli/a.h": "",
    }, ["src/map/a.c:1"]),
    ("what is no layer cannot be included", {
        "src/map/a.c": '#include "tests/a.h"\n#include "../../bench/b.h"\n#include <tests/a.h>\n',
        "tests/a.h": "", "bench/b.h": "",
    }, ["src/map/a.c:1", "src/map/a.c:2", "src/map/a.c:3"]),
    ("what is in quotes must be there", {
        "src/map/a.c": '#include "a.h"\n',
    }, ["src/map/a.c:1"]),
    ("files that are only included count too", {
        "src/model/a.c": '#include "model/a.inc"\n', "src/model/a.inc": '#include "map/a.h"\n',
        "src/map/a.h": "",
    }, ["src/model/a.inc:1"]),
    ("a source is named as one", {
        "src/model/a.c": '#include "model/a.txt"\n', "src/model/a.txt": '#include "map/a.h"\n',
    }, ["src/model/a.c:1"]),
    ("a source outside of the folders is refused", {"src/a.c": ""}, ["src/a.c"]),
    ("include_next does not hide it", {
        "src/model/a.c": '#include_next "map/a.h"\n', "src/map/a.h": "",
    }, ["src/model/a.c:1"]),
    ("import does not hide it", {
        "src/model/a.c": '#import "map/a.h"\n', "src/map/a.h": "",
    }, ["src/model/a.c:1"]),
    ("a macro does not hide it", {
        "src/model/a.c": '#define H "map/a.h"\n#include H\n', "src/map/a.h": "",
    }, ["src/model/a.c:2"]),
    ("other spellings of the hash do not hide it", {
        "src/model/a.c": '%:include "map/a.h"\n??=include "map/a.h"\n', "src/map/a.h": "",
    }, ["src/model/a.c:1", "src/model/a.c:2"]),
    ("comments do not hide it", {
        "src/model/a.c": '/* a */ # /* b */ include /* c */ "map/a.h" // d\n'
                         '/* a\n */ #include "map/a.h"\n',
        "src/map/a.h": "",
    }, ["src/model/a.c:1", "src/model/a.c:2"]),
    ("a line in two pieces does not hide it", {
        "src/model/a.c": 'int a; \\\nint b;\n#inc\\\nlude "map/a.h"\n', "src/map/a.h": "",
    }, ["src/model/a.c:3"]),
    ("what only looks like an include passes", {
        "src/model/a.c": '// #include "map/a.h"\n/*\n#include "map/a.h"\n*/\n'
                         'char a[] = "/*";\n#include "model/a.h" /* b */\nchar b[] = "*/";\n',
        "src/model/a.h": "", "src/map/a.h": "",
    }, []),
    ("skeletons are of the kernel programs", {
        "src/model/a.c": '#include "a.skel.h"\n',
    }, ["src/model/a.c:1"]),
    ("kernels are told apart in one place", {
        "bpf/kernel_versions.h": "struct bio___old { int a; };\n"
                                 "bool a = bpf_core_field_exists(b);\n",
        "bpf/a.h": "bool a = bpf_core_field_exists(struct bio, b);\nstruct  bio___old *b;\n"
                   "bool c = bpf_core_type_exists(struct d);\n",
        "bpf/b.bpf.c": "bool a = bpf_core_field_\\\nexists(b);\n",
    }, ["bpf/a.h:1", "bpf/a.h:2", "bpf/a.h:3", "bpf/b.bpf.c:1"]),
    ("nor are casts asked for elsewhere", {
        "bpf/kernel_versions.h": "#ifdef KERNEL_CASTS\nextern int a(void) __ksym;\n#endif\n",
        "bpf/a.h": "#ifdef KERNEL_CASTS\nextern int a(void) __ksym;\n#endif\n"
                   "int b = KERNEL_CASTS_ON;\n",
    }, ["bpf/a.h:1", "bpf/a.h:2", "bpf/a.h:4"]),
    ("stand-ins are in one place", {
        "src/capture/kernel/feature_table.c": "static const struct stand_in_row {\n} stand_in_rows[] = {\n"
                                       '\t{"old", NULL, "new"},\n\t{"older", "f", "newer"},\n};\n'
                                       '{"other"}\n',
        "bpf/older.bpf.c": "int BPF_PROG(old, int a)\n",
        "bpf/a.bpf.c": "int BPF_PROG(new)\nint BPF_PROG(old, int a)\nint older(u64 *args)\n"
                       "int BPF_PROG(other, int a)\n",
    }, ["bpf/a.bpf.c:2", "bpf/a.bpf.c:3"]),
    ("what does not tell kernels apart passes", {
        "bpf/a.h": "/* bpf_core_field_exists() */ struct bpf_iter__task *a = ___type(b);\n"
                   "u32 at = bpf_core_field_offset(struct c, d);\n",
        "src/map/a.c": "struct a___b;\n",
    }, []),
    ("headers that include each other across folders are a circle", {
        "src/map/a.h": '#include "map/fact/b.h"\n', "src/map/fact/b.h": '#include "map/a.h"\n',
    }, ["src/map/a.h, src/map/fact/b.h"]),
    ("two files of a folder may call each other", {
        "src/map/a.c": "int a(void)\n{\n\treturn b();\n}\n",
        "src/map/b.c": "int b(void)\n{\n\treturn a();\n}\n",
    }, []),
    ("three may not", {
        "src/map/a.c": "int a(void)\n{\n\treturn b();\n}\n",
        "src/map/b.c": "int b(void)\n{\n\treturn c(d);\n}\n",
        "src/map/c.c": "int c(fn *d)\n{\n\treturn d(a);\n}\n",
    }, ["src/map/a, src/map/b, src/map/c"]),
    ("nor may two of different folders", {
        "src/map/a.c": "int a(void)\n{\n\treturn b();\n}\n",
        "src/map/fact/b.c": "int b(void)\n{\n\treturn a();\n}\n",
    }, ["src/map/a, src/map/fact/b"]),
    ("fields, texts, static functions and headers that declare are no calls", {
        "src/map/a.c": "int a(void)\n{\n\treturn x->b + b_of(y.b, \"b()\");\n}\n",
        "src/map/a.h": "int a(void);\nint b(void);\n",
        "src/map/fact/b.c": "static int a(void)\n{\n\treturn 0;\n}\nint b(void)\n{\n\treturn a();\n}\n",
    }, []),
    ("kernel programs call what headers hold", {
        "bpf/a.h": "static int a(void)\n{\n\treturn b();\n}\n",
        "bpf/b.bpf.c": "static __always_inline int b(void)\n{\n\treturn 0;\n}\n",
        "bpf/b.h": "static int c(void)\n{\n\treturn a();\n}\n",
    }, []),
    ("a new folder needs its place", {"src/misc/a.c": ""}, ["src/misc"]),
]


def check(files):
    with tempfile.TemporaryDirectory() as tree:
        for path, text in files.items():
            os.makedirs(os.path.dirname(os.path.join(tree, path)), exist_ok=True)
            with open(os.path.join(tree, path), "w", encoding="utf-8") as file:
                file.write(text)
        done = subprocess.run([sys.executable, TOOL, tree], stdout=subprocess.PIPE, text=True)
        return done.returncode, done.stdout.splitlines()


def main():
    failed = 0
    print(f"1..{len(CASES)}")
    for number, (name, files, expected) in enumerate(CASES, 1):
        code, lines = check(files)
        good = code == (1 if expected else 0) and len(lines) == len(expected) and all(
            line.startswith(start + ":") for line, start in zip(lines, expected))
        failed += not good
        if not good:
            print(f"# status {code}: {lines}, should be {expected}")
        print(f"{'ok' if good else 'not ok'} {number} - {name}")
    return 1 if failed else 0


sys.exit(main())
