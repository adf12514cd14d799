#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Who can read a recording, and what fathom does not touch on the way to it."""
import os
import shutil
import stat
import subprocess
import sys
import time

import harness
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
tests = harness.Tests()
NOBODY, OTHER = 65534, 65533
os.umask(0)


def entries(path):
    yield path
    for base, dirs, files in os.walk(path):
        for name in dirs + files:
            yield os.path.join(base, name)


def owners(path):
    """Everything in a recording is for its owner alone; the set of owners."""
    found = set()
    for name in entries(path):
        info = os.lstat(name)
        mode = 0o700 if stat.S_ISDIR(info.st_mode) else 0o600
        equal(stat.S_IMODE(info.st_mode), mode, f"mode of {name}")
        found.add((info.st_uid, info.st_gid))
    return found


def wait_for(is_so, what):
    """For something that comes while a recorder runs; generous."""
    for _ in range(500):
        if is_so():
            return
        time.sleep(0.02)
    check(False, f"in ten seconds: {what}")


def as_user(user, *args):
    binary = fathom.path("fathom")
    if not os.path.exists(binary):
        os.chmod(fathom.dir, 0o711)
        shutil.copy(fathom.binary, binary)
        os.chmod(binary, 0o755)
    return subprocess.run(["setpriv", "--reuid", str(user), "--regid", str(user),
                           "--clear-groups", binary, *args], text=True, timeout=60,
                          capture_output=True, cwd="/")


@tests.add
def a_recording_is_for_its_owner_alone():
    for name, *args in (["small", "--compress"], ["plain"]):
        path = fathom.record(name, "--rotate", "50ms", *args, "--", "sleep", "0.2")
        equal(owners(path), {(0, 0)}, "owners")
        check(as_user(NOBODY, "report", path).returncode != 0, "nobody else reads it")
    harness.check_babeltrace(fathom, path)


@tests.add
def through_sudo_it_is_for_who_called():
    path = fathom.path("called")
    result = fathom.run("record", "-o", path, "--rotate", "50ms", "--", "sh", "-c",
                        f"stat -c '%a %u' {path}/.control; sleep 0.2",
                        env={**os.environ, "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)})
    equal(result.returncode, 0, f"status: {result.stderr}")
    equal(result.stdout, "600 0\n", "who may ask the recorder")
    equal(owners(path), {(NOBODY, NOBODY)}, "owners")
    check(len(fathom.chunks(path)) > 2, "it went on after privileges were given up")
    equal(as_user(NOBODY, "report", path).returncode, 0, "who called reads it")
    check(as_user(OTHER, "report", path).returncode != 0, "nobody else does")


@tests.add
def through_sudo_only_root_asks_the_recorder():
    """And who called is not told that nobody records there."""
    path = fathom.path("asked")
    with harness.Process([fathom.binary, "record", "-o", path, "-p", str(os.getpid())],
                         stderr=subprocess.PIPE, text=True,
                         env={**os.environ, "SUDO_UID": str(NOBODY),
                              "SUDO_GID": str(NOBODY)}) as recorder:
        try:
            wait_for(lambda: os.path.exists(os.path.join(path, ".control")), "it can be asked")
            refused = as_user(NOBODY, "rotate", path)
            unheard = as_user(NOBODY, "rotate", fathom.path("nowhere"))
        finally:
            recorder.terminate()
            recorder.communicate(timeout=60)
    equal((refused.returncode, unheard.returncode), (1, 1), "status")
    check("no permission to ask" in refused.stderr, f"why: {refused.stderr}")
    check("nothing records" in unheard.stderr, f"why: {unheard.stderr}")


@tests.add
def in_a_directory_of_root_it_is_for_who_called():
    """What stands for deleted chunks, too."""
    path = fathom.path("shared")
    os.mkdir(path, 0o755)
    result = fathom.run("record", "-o", path, "--rotate", "100ms", "--keep", "200ms", "--",
                        "sleep", "2", env={**os.environ, "SUDO_UID": str(NOBODY),
                                           "SUDO_GID": str(NOBODY)})
    equal(result.returncode, 0, f"status: {result.stderr}")
    check(os.path.exists(os.path.join(path, "checkpoint")), "chunks were deleted")
    result = as_user(NOBODY, "report", path)
    equal(result.returncode, 0, f"who called reads it: {result.stderr}")


@tests.add
def through_sudo_its_commands_are_those_of_who_called():
    """They read their chunks, and have nothing of root: no group, no capability."""
    told = fathom.path("told")
    with open(told, "w", encoding="ascii"):
        os.chown(told, NOBODY, NOBODY)
    looks = f'(id -u; id -g; id -G; grep -E "^Cap(Prm|Eff|Bnd)" /proc/self/status; ' \
            f'ls "$1"; cat "$1"/* | wc -c) >>{told} 2>&1'
    os.chmod(fathom.dir, 0o711)
    result = fathom.run("record", "-o", fathom.path("told-to"), "--on-chunk", looks, "--", "true",
                        env={**os.environ, "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)})
    equal(result.returncode, 0, f"status: {result.stderr}")
    with open(told, encoding="ascii") as file:
        lines = file.read().split("\n")
    equal(lines[:3], [str(NOBODY)] * 3, "user, group, groups")
    caps = [line.split()[1] for line in lines if line.startswith("Cap")]
    equal(caps, ["0" * 16] * 3, "capabilities")
    check("metadata" in lines and int(lines[-2]) > 1000, f"it reads its chunk: {lines}")


@tests.add
def a_crash_is_recovered_for_the_same_owner():
    path = fathom.path("crashed")
    env = {**os.environ, "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)}
    recorder = subprocess.Popen([fathom.binary, "record", "-o", path, "--", "sh", "-c",
                                 "sleep 0.5; kill -9 $PPID"], env=env, stderr=subprocess.PIPE)
    recorder.communicate(timeout=60)
    equal(fathom.run("record", "-o", path, "--", "true", env=env).returncode, 0, "the next one")
    check("recovered" in {chunk["state"] for chunk in fathom.chunks(path)}, "recovered")
    equal(owners(path), {(NOBODY, NOBODY)}, "owners")


@tests.add
def a_link_in_place_of_the_recording_leads_nowhere():
    """Its owner moves it away while it is written, and puts a link to what is not theirs."""
    home, other = fathom.path("home"), fathom.path("roots")
    path = os.path.join(home, "rec")
    os.mkdir(home, 0o755)
    os.chown(home, NOBODY, NOBODY)
    os.mkdir(other, 0o755)
    checkpoint = os.path.join(other, "checkpoint")
    with open(checkpoint, "w", encoding="ascii") as file:
        file.write("mine")
    before = os.lstat(checkpoint)
    recorder = subprocess.Popen(
        [fathom.binary, "record", "-o", path, "--rotate", "100ms", "--keep", "300ms", "--",
         "sh", "-c", "read x"], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "SUDO_UID": str(NOBODY), "SUDO_GID": str(NOBODY)})
    try:
        wait_for(lambda: os.path.exists(os.path.join(path, "checkpoint")), "chunks go")
        moved = os.path.join(home, "moved")
        os.rename(path, moved)
        os.symlink(other, path)
        seen = max(name for name in os.listdir(moved) if name[0].isdigit())
        # it goes on, and older chunks go, where its directory is now
        wait_for(lambda: seen not in os.listdir(moved), "later chunks go")
        stderr = recorder.communicate("\n", timeout=60)[1]
    finally:
        recorder.kill()
        recorder.wait()
    equal(recorder.returncode, 0, f"status: {stderr}")
    equal(os.listdir(other), ["checkpoint"], "nothing was put there")
    after = os.lstat(checkpoint)
    equal((after.st_ino, after.st_uid, after.st_size), (before.st_ino, 0, 4), "what was there")
    check(fathom.chunks(moved), "the recording is whole")
    equal(owners(moved), {(NOBODY, NOBODY)}, "owners")


def record_here():
    return fathom.run("record", "--", "true")


@tests.add
def an_old_recording_makes_way():
    for _ in range(3):
        equal(record_here().returncode, 0, "into the default directory")
    for name in ("fathom.data", "fathom.data.old"):
        equal(len(fathom.chunks(fathom.path(name))), 1, f"chunks of {name}")


@tests.add
def what_is_no_recording_stays():
    old = fathom.path("fathom.data.old")
    letter = os.path.join(old, "letter")
    with open(letter, "w", encoding="ascii"):
        pass
    result = record_here()
    equal(result.returncode, 1, "status")
    check("letter" in result.stderr and "left alone" in result.stderr, result.stderr)
    check(os.path.exists(letter) and fathom.chunks(old), "all of it is there")
    shutil.rmtree(old)
    shutil.copytree(fathom.path("fathom.data"), fathom.path("target"))
    os.symlink("target", old)
    equal(record_here().returncode, 0, "a link makes way")
    check(not os.path.islink(old) and fathom.chunks(old), "the recording before is there now")
    check(fathom.chunks(fathom.path("target")), "what the link led to is there")


with fathom:
    tests.run()
