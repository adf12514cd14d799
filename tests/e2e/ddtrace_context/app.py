# SPDX-License-Identifier: Apache-2.0
"""An ordinary traced program: says which span each thread is in, and stays there.

Lines on stdout: {"tid", "trace", "span"} per thread in a span, then "ready".
Each line on stdin moves the main thread into another span; the end of stdin ends it.

With the argument "calls" it makes CALLS times getppid in each span instead, and says
so: {"tid", "trace", "span"} for every time.
"""
import json
import os
import sys
import threading
import time

from ddtrace.trace import tracer

CALLS = 5
lock = threading.Lock()


def say(span):
    with lock:
        print(json.dumps({"tid": threading.get_native_id(), "trace": f"{span.trace_id:032x}",
                          "span": f"{span.span_id:016x}"}), flush=True)


def thread_run(said):
    with tracer.trace("in a thread") as span:
        say(span)
        said.release()
        threading.Event().wait()


def calls_make(span):
    for _ in range(CALLS):
        os.getppid()
    say(span)


def calls_in_thread():
    for _ in range(3):
        with tracer.trace("in a thread") as span:
            calls_make(span)


def calls_main():
    with tracer.trace("the first loads what is needed"):
        time.sleep(1)
    threads = [threading.Thread(target=calls_in_thread) for _ in range(3)]
    for thread in threads:
        thread.start()
    with tracer.trace("outer") as outer:
        calls_make(outer)
        with tracer.trace("inner") as inner:
            calls_make(inner)
        calls_make(outer)
    for thread in threads:
        thread.join()
    for _ in range(CALLS):
        os.getppid()  # in no span


def main():
    said = threading.Semaphore(0)
    for _ in range(3):
        threading.Thread(target=thread_run, args=(said,), daemon=True).start()
        said.acquire()
    with tracer.trace("outer"):
        with tracer.trace("inner") as span:
            say(span)
            print("ready", flush=True)
            sys.stdin.readline()
        with tracer.trace("next") as span:
            say(span)
            print("ready", flush=True)
            sys.stdin.readline()
    print("ready", flush=True)  # the main thread is in no span
    sys.stdin.readline()


if sys.argv[1:] == ["calls"]:
    calls_main()
else:
    main()
