# SPDX-License-Identifier: Apache-2.0
"""A running `fathom up`, and programs that send it spans: what the tests of this folder share.

Their arguments are FATHOM PROGRAM PUBLISHER SAMPLE: PROGRAM makes spans when it is told to; PUBLISHER
only publishes their context; SAMPLE is an OTLP request.
"""
import http.client
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

from harness import check, equal, until

FATHOM, PROGRAM, PUBLISHER, SAMPLE = sys.argv[1:5]  # a test may have more
HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLE_TRACE = "0123456789abcdef1122334455667788"
PARTS = ("capture", "map", "serve")

folder = tempfile.mkdtemp(prefix="fathom-up-")
os.chmod(folder, 0o700)  # nobody but root can search the parent
started = []  # processes
received = []  # spans of programs that send them


def finish():
    """Ends what runs, and removes the folder."""
    for process in started:
        if process.poll() is None:
            process.kill()
    shutil.rmtree(folder, ignore_errors=True)


class Up:
    """A running `fathom up`, at ports that the kernel chooses."""

    def __init__(self, folder, *options, user=None, library=None, env=None):
        self.dir = folder
        self.error = tempfile.TemporaryFile("w+")
        self.process = subprocess.Popen(
            [FATHOM, "up", "-o", folder, "--http", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0",
             "--otlp-grpc", "off", "--zipkin", "off", "--jaeger", "off", *options], stdout=subprocess.PIPE, stderr=self.error, text=True,
            user=user, env={**os.environ, **(env or {}), **({"FATHOM_DUCKDB": library} if library else {})})
        started.append(self.process)
        self.ports = {}
        if library:
            return
        for line in self.process.stdout:
            found = re.match(r"(OTLP over HTTP|queries).*?http://127\.0\.0\.1:(\d+)/", line)
            if found:
                self.ports[found.group(1)] = int(found.group(2))
            if len(self.ports) == 2:
                break
        check(len(self.ports) == 2, f"fathom up did not begin: {self.said()}")

    def said(self):
        self.error.seek(0)
        return self.error.read()

    def ask(self, which, path, body=None, kind="application/x-protobuf"):
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[which], timeout=30)
        try:
            connection.request("POST" if body else "GET", path, body,
                               {"Content-Type": kind} if body else {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def get(self, path):
        status, body = self.ask("queries", path)
        return status, json.loads(body or "null")

    def sample_send(self):
        with open(SAMPLE, "rb") as sample:
            equal(self.ask("OTLP over HTTP", "/v1/traces", sample.read())[0], 200, "status")

    def spans(self, trace, query=""):
        try:
            return (self.get(f"/api/v1/traces/{trace}{query}")[1] or {}).get("spans", [])
        except OSError:  # serve is being started again
            return []

    def span_found(self, trace, span_id, seconds=30):
        """The span, and how long it took until it was found."""
        begin = time.monotonic()
        found = []

        def look():
            found[:] = [span for span in self.spans(trace) if span["span_id"] == span_id]
            return found

        until(look, f"span {span_id} of {trace} is found", seconds)
        return found[0], time.monotonic() - begin

    def status(self):
        done = subprocess.run([FATHOM, "status", "-o", self.dir, "--json"], capture_output=True,
                              text=True)
        check(done.returncode == 0, f"fathom status: {done.stderr}")
        return json.loads(done.stdout)

    def part(self, name):
        return next(part for part in self.status()["processes"] if part["name"] == name)

    def pid(self, name):
        return self.part(name).get("pid", 0)

    def runs(self):
        return all(self.part(name)["state"] == "running" for name in PARTS)

    def records(self):
        return self.status()["capture"]["chunks"] > 0

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        status = self.process.wait(30)
        self.process.stdout.close()
        return status


class Shop:
    """The program with libfathom."""

    def __init__(self):
        self.process = subprocess.Popen([PROGRAM], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, bufsize=1)
        started.append(self.process)

    def request(self, what):
        """Trace id and span id of a span that has ended."""
        self.process.stdin.write(f"{what}\n")
        return self.process.stdout.readline().split("-")[1:3]

    def end(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


class Traced:
    """What a program without libfathom sent: tests/e2e/up/traced.py."""

    def __init__(self, up, case, service="plainshop", env=None):
        self.up = up
        self.process = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "traced.py"), str(up.ports["OTLP over HTTP"]),
             service, case], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            env={**os.environ, **(env or {})})
        started.append(self.process)
        self.pid = self.process.pid
        self.spans = []
        while (line := self.process.stdout.readline().strip()):
            self.spans.append(dict(zip(("name", "trace", "id", "begin", "end"), line.split())))
        check(self.spans, f"traced.py {case} made spans")
        received.append(len(self.spans))

    def end(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()

    def joined(self):
        """The spans as they are found, once it is told how each was joined."""
        found = []

        def look():
            found[:] = []
            for given in self.spans:
                found.extend(span for span in self.up.spans(given["trace"], "?kernel=0")
                             if span["span_id"] == given["id"] and attribute(span, "fathom.join"))
            return len(found) == len(self.spans)

        until(look, f"the spans of {self.pid} are joined", 30)
        return found


def connected(port):
    """A connection to a service of this host, once it listens."""
    found = []

    def connects():
        try:
            found[:] = [socket.create_connection(("127.0.0.1", port), 5)]
        except OSError:
            return False
        return True

    until(connects, f"port {port} is listened at")
    return found[0]


def split_of(span):
    return {key[len("fathom.time."):-len("_ns")]: value
            for key, value in span["attributes"].items() if key.startswith("fathom.time.")}


def attribute(span, key):
    return span["attributes"].get(key)
