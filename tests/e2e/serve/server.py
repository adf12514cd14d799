# SPDX-License-Identifier: Apache-2.0
"""What tests of fathom serve share: the server, the checks, and the SDKs that send to it."""
import contextlib
import fcntl
import http.client
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.parse

PACKAGES = ("opentelemetry-sdk==1.*", "opentelemetry-exporter-otlp-proto-http==1.*",
            "opentelemetry-exporter-otlp-proto-grpc==1.*", "opentelemetry-exporter-zipkin-json==1.*")
NODE_PACKAGES = ("@opentelemetry/sdk-trace-base@2", "@opentelemetry/resources@2",
                 "@opentelemetry/exporter-trace-otlp-http@0.223",
                 "@opentelemetry/exporter-trace-otlp-grpc@0.223", "@opentelemetry/exporter-zipkin@2")
GO_VERSION = "v1.47.0"
GO_MODULES = ("go.opentelemetry.io/otel", "go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/trace",
              "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp",
              "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc")
HERE = os.path.dirname(os.path.abspath(__file__))
PROTOBUF = {"Content-Type": "application/x-protobuf"}
PATIENCE = 60  # seconds: the machine may be busy
ADDRESSES = ("--otlp-grpc", "127.0.0.1:0", "--zipkin", "127.0.0.1:0", "--jaeger", "off")


class Server:
    """fathom serve in a directory, at ports that the kernel chooses. Early versions have fewer addresses."""

    def __init__(self, fathom, folder, *options, env=None, addresses=ADDRESSES):
        self.process = subprocess.Popen(
            [fathom, "serve", "-o", folder, "--http", "127.0.0.1:0", "--otlp-http", "127.0.0.1:0", *addresses, *options],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env={**os.environ, **(env or {})})
        self.ports, self.said = {}, ""
        for line in self.process.stdout:
            self.said += line
            found = re.match(r"(OTLP over gRPC|OTLP|Zipkin|Jaeger|queries).*?http://[\d.]+:(\d+)", line)
            if found:
                self.ports[found.group(1)] = int(found.group(2))
            if "queries" in self.ports:
                return
        error = self.process.stderr.read()
        self.process.wait()
        if "cannot open DuckDB" in error:
            print(f"1..1\nok 1 - serve # SKIP {error.strip()[:200]}")
            sys.exit(77)
        raise RuntimeError(f"fathom serve ended: {self.said}{error}")

    def ask(self, which, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.ports[which], timeout=PATIENCE)
        try:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def post(self, body, path="/v1/traces", **headers):
        named = {key.replace("_", "-"): value for key, value in headers.items()}
        return self.ask("OTLP", "POST", path, body, {**PROTOBUF, **named})

    def get(self, path, **parameters):
        query = "?" + urllib.parse.urlencode(parameters) if parameters else ""
        status, body = self.ask("queries", "GET", path + query)
        return status, json.loads(body)

    def trace(self, trace):
        """The spans of a trace, none if there are none."""
        return self.get(f"/api/v1/traces/{trace}")[1].get("spans", [])

    def wait_stored(self):
        """Waits until all that is acknowledged can be found."""
        self.wait("all is stored",
                  lambda: self.get("/api/v1/status")[1]["store"]["behind_bytes"] == 0)

    def pids(self):
        """The supervisor and the process that serves."""
        with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children",
                  encoding="ascii") as file:
            return [self.process.pid, *map(int, file.read().split())]

    def wait(self, what, done):
        end = time.monotonic() + PATIENCE
        while not done():
            if time.monotonic() > end:
                raise RuntimeError(f"not in {PATIENCE} s: {what}")
            time.sleep(0.02)

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        status = self.process.wait(PATIENCE)
        self.process.stdout.close()
        self.process.stderr.close()
        return status


@contextlib.contextmanager
def alone(folder):
    """One test at a time installs into a folder."""
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with open(folder + ".lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install(venv):
    """Python with the SDK; None and why if it cannot be had."""
    with alone(venv):
        return install_alone(venv)


def install_alone(venv):
    python, mark = os.path.join(venv, "bin/python3"), os.path.join(venv, "all-is-installed")
    if os.path.exists(mark):
        return python, ""
    try:
        subprocess.run([sys.executable, "-m", "venv", venv], check=True, capture_output=True)
        subprocess.run([f"{venv}/bin/pip", "install", "--quiet", "--retries", "1", "--timeout",
                        "20", *PACKAGES], check=True, capture_output=True, timeout=240)
    except (subprocess.SubprocessError, OSError) as error:
        reason = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip()
        return None, (f"OpenTelemetry cannot be installed from PyPI: "
                      f"{(reason.splitlines() or [error])[-1]}")
    with open(mark, "w", encoding="utf-8"):
        pass
    return python, ""


def install_go(folder):
    """The program sdk.go, built; None and why if its modules cannot be had. It takes a minute or two."""
    program = os.path.join(folder, "sdk")
    if os.path.exists(program):
        return program, ""
    try:
        os.makedirs(folder, exist_ok=True)
        shutil.copy(f"{HERE}/sdk.go", folder)
        with open(os.path.join(folder, "go.mod"), "w", encoding="utf-8") as file:
            file.write("module sdk\n\ngo 1.22\n\n" +
                       "".join(f"require {module} {GO_VERSION}\n" for module in GO_MODULES))
        for command in (("go", "mod", "tidy"), ("go", "build", "-o", "sdk", "sdk.go")):
            subprocess.run(command, cwd=folder, check=True, capture_output=True, timeout=400,
                           env={**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-mod=mod -buildvcs=false"})
    except (subprocess.SubprocessError, OSError) as error:
        reason = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip()
        return None, (f"OpenTelemetry for Go cannot be built from its modules: "
                      f"{(reason.splitlines() or [error])[-1]}")
    return program, ""


def install_node(folder):
    """The folder of the SDK's packages for Node; None and why if they cannot be had."""
    packages, mark = os.path.join(folder, "node_modules"), os.path.join(folder, "is-installed")
    if os.path.exists(mark):
        return packages, ""
    try:
        os.makedirs(folder, exist_ok=True)
        subprocess.run(["node", "--version"], check=True, capture_output=True)
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error",
                        "--fetch-retries=1", "--prefix", folder, *NODE_PACKAGES],
                       check=True, capture_output=True, timeout=240)
    except (subprocess.SubprocessError, OSError) as error:
        reason = (getattr(error, "stderr", None) or b"").decode(errors="replace").strip()
        return None, (f"OpenTelemetry for Node cannot be installed from npm: "
                      f"{(reason.splitlines() or [error])[0]}")
    with open(mark, "w", encoding="utf-8"):
        pass
    return packages, ""
