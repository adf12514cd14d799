# SPDX-License-Identifier: Apache-2.0
"""usage: stuck.py FILE: whoever wants to look into the memory of this process waits.

Its child reads the byte of FILE that is mapped here, through /proc/PID/mem, and holds the lock of
the mappings for as long as FILE does not answer; a mapping that is wanted then keeps all others
from having that lock.
"""
import ctypes
import os
import sys
import time

libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                      ctypes.c_long]
where = libc.mmap(None, 4096, 1, 2, os.open(sys.argv[1], os.O_RDONLY), 0)
pid = os.getpid()
if os.fork() == 0:
    memory = os.open(f"/proc/{pid}/mem", os.O_RDONLY)
    libc.pread(memory, ctypes.create_string_buffer(1), 1, ctypes.c_long(where))
    os._exit(0)
time.sleep(0.5)
libc.mmap(None, 1 << 20, 3, 0x22, -1, 0)
libc.pause()
