#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page over a recording of the thumbnail server: test.py FATHOM LOAD SERVER CLIENT PACKAGES PAGE

PACKAGES is the folder with the page's packages of npm, PAGE that with the built page. With the variable
FATHOM_SCREENSHOTS it puts pictures of each view into that folder and checks nothing.
"""
import http.client
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time

from needed import missing

HERE = os.path.dirname(os.path.abspath(__file__))
PATIENCE = 120  # seconds: the machine may be busy
REQUESTS = 80


def skip(why):
    print(f"1..1\nok 1 - page # SKIP {why}")
    sys.exit(0)


def ask(port, path):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def settled(port):
    """Whether all that was sent is stored, and spans of the load are among it."""
    status = ask(port, "/api/v1/status")
    return status["store"]["behind_bytes"] == 0 and status["map"]["behind_ns"] < 3e9


def operations(port):
    return ask(port, "/api/v1/operations?from=15m")["operations"]


def wait_until_it_rests(port):
    """Nothing comes any more: the numbers stay as they are."""
    end, last, since = time.monotonic() + PATIENCE, None, time.monotonic()
    while time.monotonic() < end:
        now = [(row["service"], row["operation"], row["count"]) for row in operations(port)]
        if now != last or not now or not settled(port):
            last, since = now, time.monotonic()
        elif time.monotonic() - since > 3:
            return
        time.sleep(0.2)
    raise RuntimeError("spans come for longer than expected")


def main():
    fathom, load, server, client, packages, page = sys.argv[1:]
    if os.geteuid() != 0:
        skip("recording needs root")
    lacks = missing(packages, page)
    if lacks:
        skip(lacks)
    with tempfile.TemporaryDirectory(prefix="fathom-page-") as folder:
        os.chmod(folder, 0o755)
        up = subprocess.Popen([fathom, "up", "-o", f"{folder}/kept", "--http", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0",
                               # requests come ten seconds later, while numbers are to stay as they are
                               "--otlp-grpc", "off", "--zipkin", "off", "--detail", "waits"], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "FATHOM_PAGE": page})
        try:
            port, said = 0, ""
            for line in up.stdout:
                said += line
                found = re.match(r"page: http://127\.0\.0\.1:(\d+)/", line)
                port = int(found.group(1)) if found else port
                if "is recorded into" in line:
                    break
            if not port:
                raise RuntimeError(f"fathom up has no page: {said}")
            subprocess.run([load, "-n", str(REQUESTS), "-l", "5", server, client], check=True, capture_output=True)
            wait_until_it_rests(port)
            service = max(operations(port), key=lambda row: row["count"] * row["mean_ns"] * bool(row["measured"]))["service"]
            pictures = os.environ.get("FATHOM_SCREENSHOTS")
            script = "screenshots.mjs" if pictures else "recorded.mjs"
            done = subprocess.run(["node", f"{HERE}/{script}", packages, f"http://127.0.0.1:{port}", service,
                                   *([pictures] if pictures else [])], check=False, timeout=600)
            return done.returncode
        finally:
            up.send_signal(signal.SIGTERM)
            up.wait(30)
            up.stdout.close()


if __name__ == "__main__":
    sys.exit(main())
