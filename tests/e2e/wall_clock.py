# SPDX-License-Identifier: Apache-2.0
"""A wall clock that a test sets, which only the programs see that are started with it."""
import mmap
import os
import struct
import time

SECOND = 10**9
HOUR = 3600 * SECOND
DAY = 24 * HOUR


class Clock:
    """`env` gives a program the clock. LIBRARY is built from tests/e2e/serve/stepped.c."""

    def __init__(self, folder, library):
        path = os.path.join(folder, "stepped-clock")
        with open(path, "wb") as file:
            file.write(bytes(8))
        os.chmod(path, 0o644)
        with open(path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), 8)
        self.ahead_ns = 0
        self.env = {"LD_PRELOAD": os.path.abspath(library), "STEPPED_CLOCK": path}

    def set(self, ahead_ns):
        """How far it is ahead of the true one; less than 0: behind."""
        self.map[:8] = struct.pack("=q", ahead_ns)
        self.ahead_ns = ahead_ns

    def now_ns(self):
        return time.time_ns() + self.ahead_ns
