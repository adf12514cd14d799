# SPDX-License-Identifier: Apache-2.0
"""An ordinary traced program: says which span each thread is in, and stays there.

Lines on stdout: {"tid", "trace", "span"} per thread in a span, then "ready".
Each line on stdin moves the main thread into another span; the end of stdin ends it.
"""
import json
import sys
import threading

from ddtrace.trace import tracer

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


main()
