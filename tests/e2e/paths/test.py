#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""file.path of calls that take a path: as asked, made absolute, whether it exists or not."""
import os
import re
import shutil
import subprocess
import sys

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
tests = harness.Tests()
LONG = "/".join(["l" * 200] * 20)

PROGRAM = f"""
import os
def fails(call, *args, **options):
    try: call(*args, **options)
    except OSError: return
    raise SystemExit(1)
os.mkdir("sub")
os.chdir("sub")
os.chdir("..")
os.symlink("target", ".//sub/./link")
os.rename("sub/link", "sub/other")
os.unlink("./sub/other")
fd = os.open("sub", os.O_RDONLY)
os.mkdir("made", dir_fd=fd)
os.rmdir("made", dir_fd=fd)
os.rmdir("../" + os.path.basename(os.getcwd()) + "/sub")
fails(os.mkdir, "{LONG}")
fails(os.rmdir, "/" + "{LONG}")
fails(os.execv, "./nothing", ["nothing"])
os.chdir("/")
os.rmdir("usr/nowhere") if os.path.isdir("/usr/nowhere") else fails(os.rmdir, "usr/nowhere")
os.execv("/bin/true", ["true"])
"""


def expected(directory):
    base = os.path.basename(directory)
    return [("mkdir", directory + "/sub"), ("chdir", directory + "/sub"), ("chdir", directory),
            ("symlink", directory + "/sub/link"), ("rename", directory + "/sub/link"),
            ("unlink", directory + "/sub/other"), ("openat", directory + "/sub"),
            ("mkdirat", directory + "/sub/made"), ("unlinkat", directory + "/sub/made"),
            ("rmdir", f"{directory}/../{base}/sub"), ("mkdir", f"{directory}/{LONG}"[:4096]),
            ("rmdir", "/" + LONG), ("execve", directory + "/nothing"), ("chdir", "/"),
            ("rmdir", "/usr/nowhere"), ("execve", None)]


@tests.add
def paths_are_as_asked():
    directory = fathom.path("work")
    os.mkdir(directory)
    interpreter = os.path.realpath(sys.executable)
    recording = fathom.path("data")
    result = subprocess.run([fathom.binary, "record", "-o", recording, "--", interpreter, "-I",
                             "-S", "-c", PROGRAM], cwd=directory, text=True,
                            capture_output=True, timeout=60)
    equal(result.returncode, 0, f"status: {result.stderr}")
    spans = [span for trace in fathom.trace_all(recording)["traces"] for span in trace["spans"]
             if span["kind"] == "syscall"]
    spans.sort(key=lambda span: span["begin_ns"])
    wanted = expected(directory)
    first = next(i for i, span in enumerate(spans) if span["name"] == "mkdir")
    names = {name for name, _ in wanted} - {"openat"}
    calls = [(span["name"], span["attributes"].get("file.path")) for span in spans[first:]
             if span["name"] in names or
             span["attributes"].get("file.path") == directory + "/sub"]
    equal([name for name, _ in calls], [name for name, _ in wanted], "calls")
    for (name, path), (_, want) in zip(calls, wanted):
        if want is not None:
            equal(path, want, f"path of {name}")
    check(calls[-1][1] in ("/bin/true", "/usr/bin/true"), f"path of the exec: {calls[-1]}")
    directory_calls = [s for s in spans if s["name"] == "mkdirat"]
    equal(directory_calls[0]["attributes"].get("fd.name"), directory + "/sub", "its directory")
    check(all("fd" not in s["attributes"] for s in spans
              if s["attributes"].get("args", "").startswith("(AT_FDCWD")),
          "the working directory is no descriptor")
    equal(spans[0]["attributes"].get("file.path"), interpreter, "path of the first exec")


DEEP = """
import os
for top, depth in DEPTHS:
    os.chdir(TOP)
    for part in [top] + ["e"] * depth:
        os.mkdir(part)
        os.chdir(part)
    os.write(os.open("f", os.O_WRONLY | os.O_CREAT), b"x")
"""
STEPS = 48  # of names and mounts, from a file up to the root


def steps_to(path):
    """How many lie between the root and a directory."""
    count = 0
    while path != "/":
        count += 1 + os.path.ismount(path)
        path = os.path.dirname(path)
    return count


@tests.add
def what_is_too_deep_is_no_other_path():
    directory = os.path.realpath(fathom.path("deep"))
    os.mkdir(directory)
    fits = STEPS - steps_to(directory) - 2
    depths = [("one", fits + 1), ("two", fits + 9), ("whole", fits)]
    program = DEEP.replace("TOP", repr(directory)).replace("DEPTHS", repr(depths))
    where = fathom.record("depths", "--", sys.executable, "-I", "-S", "-c", program)
    spans = [(span["name"], span["attributes"]) for trace in fathom.trace_all(where)["traces"]
             for span in trace["spans"] if span["kind"] == "syscall"]
    opens = [call for name, call in spans if name == "openat" and '"f"' in call["args"]]
    writes = [call for name, call in spans if name == "write" and
              call.get("fd.name", "").endswith("/e/f")]
    whole = f"{directory}/whole{'/e' * fits}/f"
    beside = f"{directory}/one{'/e' * (fits + 1)}/f"  # its directory fits
    equal([call.get("file.path") for call in opens], [beside, None, whole], "what was opened")
    equal([call.get("file.path") for call in writes], [None, None, whole], "what was written to")
    for call in writes[:2]:
        check(call["fd.name"].startswith("…/"), f"a name that is not whole: {call}")


FAR = """
import ctypes, os
libc = ctypes.CDLL(None)
group, below = libc.fanotify_init(0, 0), os.open("..", os.O_RDONLY)
libc.fanotify_mark(group, 1, ctypes.c_uint64(2), below, b"far")
libc.syscall(324, 0, 1, 7)
"""


@tests.add
def arguments_behind_others():
    directory = fathom.path("far")
    os.mkdir(directory)
    result = fathom.run("record", "-o", fathom.path("marks"), "--", "sh", "-c", "cd far && exec "
                        "\"$@\"", "sh", sys.executable, "-I", "-S", "-c", FAR)
    equal(result.returncode, 0, f"status: {result.stderr}")
    spans = [span["attributes"] | {"name": span["name"]}
             for trace in fathom.trace_all(fathom.path("marks"))["traces"]
             for span in trace["spans"] if span["kind"] == "syscall"]
    marks = [span for span in spans if span["name"] == "fanotify_mark"]
    equal([span.get("file.path") for span in marks], [directory], "path of fanotify_mark")
    barriers = [span["args"] for span in spans if span["name"] == "membarrier"]
    equal([args.split(", ")[1:] for args in barriers], [["MEMBARRIER_CMD_FLAG_CPU", "7"]],
          f"membarrier: {barriers}")


TWO = """
import ctypes, os
libc = ctypes.CDLL(None)
fd = os.open(".", os.O_RDONLY)
open("one \\"quoted\\"\\tand \\u00e9", "w").close()
os.link("one \\"quoted\\"\\tand \\u00e9", "./two")
os.rename("two", os.getcwd() + "/three")
os.symlink("nowhere/at all", "four")
os.symlink("/over there", "five", dir_fd=fd)
os.rename("three", "six", src_dir_fd=fd, dst_dir_fd=fd)
os.link("six", "seven", src_dir_fd=fd, dst_dir_fd=fd)
libc.renameat2(-100, b"seven", fd, b"eight", 1)
libc.renameat2(-100, b"eight", fd, b"./six", 1)
libc.mount(b"not there", b"neither", b"tmpfs", 0, 0)
os.unlink("one \\"quoted\\"\\tand \\u00e9")
for name in ("four", "five", "six", "eight"): os.unlink(name)
"""
BOTH = {"link", "rename", "symlink", "symlinkat", "renameat", "renameat2", "linkat", "mount",
        "unlink"}


def recorded_calls(name, directory, program):
    recording = fathom.path(name)
    result = subprocess.run([fathom.binary, "record", "-o", recording, "--",
                             os.path.realpath(sys.executable), "-I", "-S", "-c", program],
                            cwd=directory, text=True, capture_output=True, timeout=60)
    equal(result.returncode, 0, f"status: {result.stderr}")
    spans = [span for trace in fathom.trace_all(recording)["traces"] for span in trace["spans"]
             if span["kind"] == "syscall" and span["name"] in BOTH]
    return sorted(spans, key=lambda span: span["begin_ns"])


@tests.add
def both_paths_are_shown_as_strace_shows_them():
    directory = fathom.path("two")
    os.mkdir(directory)
    spans = recorded_calls("two-data", directory, TWO)
    told = [(span["name"], span["attributes"].get("file.path"),
             span["attributes"].get("file.path.new") or
             span["attributes"].get("file.symbolic_link.target_path") or
             span["attributes"].get("mount.source")) for span in spans]
    at = directory + "/"
    odd = at + 'one "quoted"\tand \u00e9'
    equal(told[:10], [
        ("link", odd, at + "two"), ("rename", at + "two", at + "three"),
        ("symlink", at + "four", "nowhere/at all"), ("symlinkat", at + "five", "/over there"),
        ("renameat", at + "three", at + "six"), ("linkat", at + "six", at + "seven"),
        ("renameat2", at + "seven", at + "eight"), ("renameat2", at + "eight", at + "six"),
        ("mount", at + "neither", "not there"), ("unlink", odd, None)], "paths of calls")
    if not shutil.which("strace"):
        return "without strace"
    log = fathom.path("strace.log")
    result = subprocess.run(["strace", "-o", log, "-e", "trace=" + ",".join(BOTH),
                             os.path.realpath(sys.executable), "-I", "-S", "-c", TWO],
                            cwd=directory, text=True, capture_output=True, timeout=60)
    equal(result.returncode, 0, f"strace: {result.stderr}")
    with open(log, encoding="utf-8") as text:
        lines = re.findall(r"^(\w+)\((.*)\) += (-?\d+)", text.read(), re.MULTILINE)
    ours = [(span["name"], span["attributes"]["args"], str(max(span["attributes"]["result"], -1)))
            for span in spans]
    for mine, theirs in zip(ours, lines):
        if mine[0] != "mount":  # its type is text, too
            equal(mine, theirs, "a call as strace shows it")
    equal(len(ours), len(lines), "calls")
    return None


EXECS = """
import ctypes, os
libc = ctypes.CDLL(None)
AT_EMPTY_PATH, EXECVEAT = 0x1000, 322
argv = (ctypes.c_char_p * 2)(b"true", None)
def child(run):
    pid = os.fork()
    if pid == 0:
        run()
        os._exit(1)
    if os.waitpid(pid, 0)[1]: raise SystemExit(1)
def at(path, name, kept, flags=0):
    def run():
        fd = os.open(path, os.O_PATH)
        os.set_inheritable(fd, kept)
        libc.syscall(EXECVEAT, fd, name, argv, None, flags)
    return run
os.chdir("execs")
child(lambda: os.execv("./true", ["true"]))
child(lambda: os.execv(".//./true", ["true"]))
child(lambda: os.execv(LONG + "/true", ["true"]))
child(lambda: os.execv(os.getcwd() + "/" + LONG + "/true", ["true"]))
child(at("..", b"execs/../execs/true", True))
child(at("..", b"execs/../execs/true", False))
child(at("true", b"", True, AT_EMPTY_PATH))
child(at("true", b"", False, AT_EMPTY_PATH))
child(at(".", b"/bin/true", False))
"""
LONG_EXEC = "/".join(["e" * 200] * 6)


def execs_expected(at):
    """Of each exec: file.path, and what stands for it in args."""
    return [(at + "/execs/true", "./true"), (at + "/execs/true", ".//./true"),
            (f"{at}/execs/{LONG_EXEC}/true", LONG_EXEC + "/true"),
            (f"{at}/execs/{LONG_EXEC}/true", f"{at}/execs/{LONG_EXEC}/true"),
            (at + "/execs/../execs/true", "execs/../execs/true"),
            (at + "/execs/../execs/true", "execs/../execs/true"),
            (at + "/execs/true", ""), (at + "/execs/true", ""), ("/bin/true", "/bin/true")]


@tests.add
def execs_that_succeed_have_their_paths():
    """Relative, of more than a thousand bytes, from a descriptor that the exec closes or not."""
    directory = fathom.path("exec")
    os.makedirs(f"{directory}/execs/{LONG_EXEC}")
    for name in ("true", LONG_EXEC + "/true"):
        shutil.copy("/bin/true", f"{directory}/execs/{name}")
    recording = fathom.path("exec-data")
    result = subprocess.run([fathom.binary, "record", "-o", recording, "--",
                             os.path.realpath(sys.executable), "-I", "-S", "-c",
                             f"LONG = {LONG_EXEC!r}" + EXECS],
                            cwd=directory, text=True, capture_output=True, timeout=60)
    equal(result.returncode, 0, f"status: {result.stderr}")
    spans = [span for trace in fathom.trace_all(recording)["traces"] for span in trace["spans"]
             if span["name"] in ("execve", "execveat")]
    spans.sort(key=lambda span: span["begin_ns"])
    told = [(span["attributes"].get("file.path"),
             re.fullmatch(r'(?:\d+, )?"([^"]*)", .*', span["attributes"]["args"]).group(1))
            for span in spans[1:]]
    equal(told, execs_expected(directory), "execs")
    execveat = [span["attributes"] for span in spans if span["name"] == "execveat"]
    check(all(has["args"].startswith(f"{has['fd']}, ") for has in execveat), "their descriptors")
    check(execveat[2]["args"].endswith(", AT_EMPTY_PATH"), f"their flags: {execveat[2]}")
    harness.check_sums(fathom, recording)


@tests.add
def the_first_exec_has_its_path():
    """Of the command that is recorded, asked for by a relative path."""
    directory, recording = fathom.path("first"), fathom.path("first-data")
    os.makedirs(directory + "/bin")
    shutil.copy("/bin/true", directory + "/bin/it")
    result = subprocess.run([fathom.binary, "record", "-o", recording, "--", "bin/it"],
                            cwd=directory, text=True, capture_output=True, timeout=60)
    equal(result.returncode, 0, f"status: {result.stderr}")
    execs = [span["attributes"] for trace in fathom.trace_all(recording)["traces"]
             for span in trace["spans"] if span["name"] == "execve"]
    equal([(has.get("file.path"), has["args"].split(",")[0]) for has in execs],
          [(directory + "/bin/it", '"bin/it"')], "the exec")


@tests.add
def babeltrace_reads_them():
    return harness.check_babeltrace(fathom, fathom.path("data"))


with fathom:
    tests.run()
