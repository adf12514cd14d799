# SPDX-License-Identifier: Apache-2.0
"""Cgroups of both versions for tests, gone at their end."""
import contextlib
import os
import time


def mounts():
    """Where hierarchies are: {"v2": path, controller of version 1: path}."""
    found = {}
    with open("/proc/self/mounts", encoding="ascii") as lines:
        for line in lines:
            _, path, kind, options = line.split()[:4]
            if kind == "cgroup2":
                found.setdefault("v2", path)
            elif kind == "cgroup":
                for name in options.split(","):
                    found.setdefault(name, path)
    return found


def move(pid, directory):
    with open(os.path.join(directory, "cgroup.procs"), "w", encoding="ascii") as file:
        file.write(str(pid))


def pids(directory):
    with open(os.path.join(directory, "cgroup.procs"), encoding="ascii") as inside:
        return inside.read().split()


def remove(directory):
    """Removes a cgroup, whose processes have ended; the kernel may not yet know of the last one."""
    for _ in range(500):
        with contextlib.suppress(OSError):
            os.rmdir(directory)
            return
        time.sleep(0.01)
    os.rmdir(directory)


class Cgroups:
    """Makes cgroups below `root`; they are removed at the end, whoever is inside moved out."""

    def __init__(self, root):
        self.root, self.made = root, []

    def make(self, *names):
        path = self.root
        for name in names:
            path = os.path.join(path, name)
            if not os.path.exists(path):
                os.mkdir(path)
                self.made.append(path)
        return path

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for path in reversed(self.made):
            for _ in range(100):
                if not os.path.exists(path):
                    break
                for pid in pids(path):
                    with contextlib.suppress(OSError):
                        move(pid, self.root)
                try:
                    os.rmdir(path)
                    break
                except OSError:
                    time.sleep(0.05)
