#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The context that Datadog's tracer for Python publishes is found and read.

test.py CONTEXT_SHOW VENV FATHOM: installs ddtrace from PyPI into VENV unless it
is there, runs app.py under ddtrace-run and compares what each thread says with
what context_show reads from outside, and with the spans under which fathom
shows its calls. Exit 77 if PyPI cannot be reached.
"""
import json
import os
import subprocess
import sys
import time
from collections import Counter

import harness
from checks import Checks

PACKAGE = "ddtrace==4.16.*"
HERE = os.path.dirname(os.path.abspath(__file__))
CALLS = 5  # in each span, as in app.py


def skip(why):
    print(f"1..1\nok 1 - ddtrace_context # SKIP {why}")
    sys.exit(77)


def install(venv):
    """The folder of programs of a venv with ddtrace; the mark says it is whole."""
    mark = os.path.join(venv, "ddtrace-is-installed")
    if os.path.exists(mark):
        return os.path.join(venv, "bin")
    try:
        subprocess.run([sys.executable, "-m", "venv", venv], check=True, capture_output=True)
        subprocess.run([f"{venv}/bin/pip", "install", "--quiet", "--retries", "1", "--timeout",
                        "20", PACKAGE], check=True, capture_output=True, timeout=240)
    except (subprocess.SubprocessError, OSError) as error:
        reason = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip()
        skip(f"ddtrace cannot be installed from PyPI: {(reason.splitlines() or [error])[-1]}")
    with open(mark, "w", encoding="utf-8"):
        pass
    return os.path.join(venv, "bin")


def environment(programs):
    return dict(os.environ, DD_TRACE_OTEL_CTX_ENABLED="true", DD_SERVICE="shop",
                DD_TRACE_STARTUP_LOGS="false",
                DD_INSTRUMENTATION_TELEMETRY_ENABLED="false",
                DD_REMOTE_CONFIGURATION_ENABLED="false",
                PATH=f"{programs}:{os.environ['PATH']}")


def command(programs, *args):
    return [f"{programs}/ddtrace-run", f"{programs}/python3", f"{HERE}/app.py", *args]


class App:
    """app.py, and what it last said about each of its threads."""

    def __init__(self, programs):
        self.process = subprocess.Popen(
            command(programs), env=environment(programs),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.pid = self.process.pid
        self.said = {}

    def wait_ready(self):
        for line in self.process.stdout:
            if line.strip() == "ready":
                return
            said = json.loads(line)
            self.said[said["tid"]] = (said["trace"], said["span"])
        raise RuntimeError("the program ended early")

    def go_on(self):
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        self.wait_ready()

    def end(self):
        self.process.kill()
        self.process.wait()


def look(show, pid):
    """The process as context_show sees it, and the span of each thread."""
    output = subprocess.run([show, str(pid)], check=True, capture_output=True, text=True).stdout
    process, *threads = [json.loads(line) for line in output.splitlines()]
    return process, {thread["tid"]: (thread["trace"], thread["span"]) for thread in threads}


def check(show, app, checks):
    app.wait_ready()
    process, threads = look(show, app.pid)
    checks.equal("located", process["located"], 1)
    checks.equal("process context read", process["described"], 1)
    checks.equal("schema", process["schema"], "tlsdesc_v1_dev")
    checks.equal("language", process["language"], "python")
    checks.equal("four threads in a span", len(app.said), 4)
    checks.equal("each thread's span", threads, app.said)
    app.go_on()
    checks.equal("the next span", look(show, app.pid)[1], app.said)
    app.go_on()
    del app.said[app.pid]
    checks.equal("no span any more", look(show, app.pid)[1], app.said)


def calls_recorded(fathom, programs, folder):
    """Each getppid of app.py: (tid, trace, span), as it says, and as fathom shows it; services."""
    done = fathom.run("record", "-o", folder, "--", *command(programs, "calls"),
                      env=environment(programs))
    harness.equal(done.returncode, 0, done.stderr)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    shown, services = Counter(), set()
    for trace in fathom.trace_all(folder)["traces"]:
        for span in trace["spans"]:
            if span["kind"] == "context":
                services.add(span.get("service"))
            if span["name"] == "getppid" and trace["trace_id"]:
                shown[span["tid"], trace["trace_id"], span["parent_id"]] += 1
    return Counter({key: CALLS * n for key, n in Counter(
        (one["tid"], one["trace"], one["span"]) for one in said).items()}), shown, services


def check_recorded(binary, programs, checks):
    with harness.Fathom(binary) as fathom:
        said, shown, services = calls_recorded(fathom, programs, fathom.path("calls"))
        fathom.check_recordings()
    checks.equal("spans with calls", len(said), 11)
    checks.equal("each call stands under the span that was active", shown, said)
    checks.equal("its service", services, {"shop"})


def main():
    show, venv, fathom = sys.argv[1:]
    programs = install(venv)
    app = App(programs)
    checks = Checks()
    started = time.monotonic()
    try:
        check(show, app, checks)
    finally:
        app.end()
    if os.geteuid() == 0:
        check_recorded(fathom, programs, checks)
    print(f"1..{checks.number}")
    print(f"# {time.monotonic() - started:.1f} s")
    return 1 if checks.failed else 0


sys.exit(main())
