# SPDX-License-Identifier: Apache-2.0
"""Counts a tracepoint as perf does: on each CPU, or in a process and all that it creates."""
import contextlib
import ctypes
import fcntl
import os
import struct
import subprocess
import tempfile

NR_PERF_EVENT_OPEN = 298
TYPE_TRACEPOINT = 2
ATTR_BYTES = 64
INHERIT = 2
SET_FILTER = 0x40082406


@contextlib.contextmanager
def tracefs():
    """Where tracefs is; mounted for as long as that takes if it is nowhere."""
    for place in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"):
        if os.path.isdir(place + "/events"):
            yield place
            return
    with tempfile.TemporaryDirectory(prefix="fathom-e2e-") as place:
        subprocess.run(["mount", "-t", "tracefs", "tracefs", place], check=True)
        try:
            yield place
        finally:
            subprocess.run(["umount", "-l", place], check=True)


class Counter:
    """`with Counter("subsystem:name") as counter: ...; counter.read()`; of one process with pid."""

    def __init__(self, event, pid=None, only=None):
        self.event, self.only, self.fds = event, only, []
        self.where = [(-1, cpu) for cpu in sorted(os.sched_getaffinity(0))]
        if pid:
            self.where = [(int(tid), -1) for tid in os.listdir(f"/proc/{pid}/task")]

    def __enter__(self):
        with tracefs() as place:
            path = f"{place}/events/{self.event.replace(':', '/')}/id"
            with open(path, encoding="ascii") as file:
                number = int(file.read())
        attr = struct.pack("IIQ24xQ", TYPE_TRACEPOINT, ATTR_BYTES, number, INHERIT)
        attr = attr.ljust(ATTR_BYTES, b"\0")
        libc = ctypes.CDLL(None, use_errno=True)
        for tid, cpu in self.where:
            fd = libc.syscall(NR_PERF_EVENT_OPEN, attr, tid, cpu, -1, 8)  # closed by an exec
            if fd < 0:
                self.__exit__()
                raise OSError(ctypes.get_errno(), f"perf_event_open of {self.event}")
            self.fds.append(fd)
            if self.only:
                fcntl.ioctl(fd, SET_FILTER, self.only.encode() + b"\0")
        return self

    def __exit__(self, *_):
        while self.fds:
            os.close(self.fds.pop())

    def read(self):
        return sum(struct.unpack("Q", os.read(fd, 8))[0] for fd in self.fds)
