# SPDX-License-Identifier: Apache-2.0
"""Threads that compute, and share the interpreter's lock (the GIL). gil.py MS"""
import sys
import threading
import time

END = time.monotonic() + int(sys.argv[1]) / 1000


def compute():
    number = 0
    while time.monotonic() < END:
        number += sum(range(1000))


THREADS = [threading.Thread(target=compute) for _ in range(3)]
for thread in THREADS:
    thread.start()
for thread in THREADS:
    thread.join()
