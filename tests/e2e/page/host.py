# SPDX-License-Identifier: Apache-2.0
"""fathom up with its page, and the thumbnail server, for tests of the page."""
import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import time

PATIENCE = 120  # seconds: the machine may be busy
VIDEO_S = 5
VIDEO_SIZE = "320x180"
PAUSE_MS = 20  # of each connection, so that the server does not fill the CPUs
NICE = -15


def wait_until(what, is_so):
    end = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > end:
            raise RuntimeError(f"in vain: {what}")
        time.sleep(0.2)


def end(process, number=signal.SIGTERM):
    if process.poll() is None:
        process.send_signal(number)
    process.wait(30)
    if process.stdout:
        process.stdout.close()


def start(command, **options):
    """Starts a program that comes before others on a busy machine."""
    process = subprocess.Popen(["nice", "-n", str(NICE), *command], stdout=subprocess.PIPE, text=True,
                               start_new_session=True, **options)
    with contextlib.suppress(OSError):  # where sessions are no groups of the scheduler there is no need
        with open(f"/proc/{process.pid}/autogroup", "w", encoding="ascii") as file:
            file.write(str(NICE))
    return process


class Up:
    """fathom up on ports that the kernel chooses."""

    def __init__(self, fathom, folder, page, *options):
        self.dir = f"{folder}/kept"
        self.process = start(
            [fathom, "up", "-o", self.dir, "--http", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0",
             "--otlp-grpc", "off", "--zipkin", "off", "--jaeger", "off", *options], env={**os.environ, "FATHOM_PAGE": page})
        self.port, said = 0, ""
        for line in self.process.stdout:
            said += line
            found = re.match(r"page: http://127\.0\.0\.1:(\d+)/", line)
            self.port = int(found.group(1)) if found else self.port
            if "is recorded into" in line:
                break
        if not self.port:
            self.end()
            raise RuntimeError(f"fathom up has no page: {said}")
        self.base = f"http://127.0.0.1:{self.port}"

    def end(self):
        end(self.process)

    def ask(self, path):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def settled(self):
        """Whether all that was sent is stored, and spans of the load are among it."""
        status = self.ask("/api/v1/status")
        return status["store"]["behind_bytes"] == 0 and status["map"]["behind_ns"] < 3e9

    def operations(self):
        return self.ask("/api/v1/operations?from=15m")["operations"]

    def busiest(self):
        return max(self.operations(), key=lambda row: row["count"] * row["mean_ns"] * bool(row["measured"]))

    def stored(self):
        """How many requests of the thumbnail server are in the store."""
        return sum(row["count"] for row in self.operations()
                   if row["operation"] == "GET /thumbnail" and row["kind"] == "server")

    def wait_until_it_rests(self):
        """Nothing comes any more: the numbers stay as they are."""
        last, since = None, time.monotonic()

        def is_so():
            nonlocal last, since
            now = [(row["service"], row["operation"], row["count"]) for row in self.operations()]
            if now != last or not now or not self.settled():
                last, since = now, time.monotonic()
            return time.monotonic() - since > 3
        wait_until("spans come for longer than expected", is_so)


class Thumbnails:
    """
    The thumbnail server, with the service that it asks, and its load. What differs between two times is to be the
    fault, and not how busy the machine was.
    """

    def __init__(self, programs, folder):
        self.programs, self.started, self.videos = programs, [], os.path.join(folder, "videos")
        os.mkdir(self.videos)
        subprocess.run([programs["make-video"], f"{self.videos}/video.mp4", str(VIDEO_S), VIDEO_SIZE], check=True)
        rights = self.start("thumbnailer-rights")
        self.server = self.start("thumbnailer-server", "-f", "-r", str(self.port_of(rights)), self.videos)
        self.port = self.port_of(self.server)

    def start(self, name, *arguments):
        self.started.append(start([self.programs[name], *arguments]))
        return self.started[-1]

    @staticmethod
    def port_of(process):
        line = process.stdout.readline()
        if not line.startswith("port "):
            raise RuntimeError("a server did not start")
        return int(line.split()[1])

    def load(self, *options):
        """Requests, without an option until the end."""
        return self.start("thumbnailer-client", "-p", str(self.port), "-v", "video.mp4", "-l", str(VIDEO_S),
                          "-g", str(PAUSE_MS), *(options or ("-d", "600")))

    def request(self, count):
        if self.load("-n", str(count)).wait(PATIENCE):
            raise RuntimeError("requests failed")

    def fault(self, name):
        subprocess.run([self.programs["thumbnailer-client"], "-p", str(self.port), "-F", name], check=True,
                       stdout=subprocess.DEVNULL)

    def end(self):
        """Twice does no harm."""
        while self.started:
            end(self.started.pop())
