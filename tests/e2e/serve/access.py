#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""fathom serve: who may ask and send.

access.py FATHOM VENV SAMPLE: runs itself again in a network namespace, where this host has an
address that is not of the loopback range. VENV is that of test.py.
"""
import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile

from checks import Checks
from server import HERE, PATIENCE, PROTOBUF, Server, install

OUTSIDE, TRUSTED = "10.9.8.7", "172.17.3.4"
TOKEN = "open-sesame"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def ask(server, which, host, method="GET", path="/api/v1/status", **options):
    """The status of a request to that address of this host."""
    connection = http.client.HTTPConnection(host, server.ports[which], timeout=PATIENCE)
    try:
        connection.request(method, path, options.get("body"),
                           {"Host": "localhost", **options.get("headers", {})})
        answer = connection.getresponse()
        answer.body = answer.read()
        return answer.status, answer
    finally:
        connection.close()


def send(server, host, headers=None):
    return ask(server, "OTLP", host, "POST", "/v1/traces", body=b"",
               headers={**PROTOBUF, **(headers or {})})[0]


def send_zipkin(server, host):
    return ask(server, "Zipkin", host, "POST", "/api/v2/spans", body=b"[]",
               headers={"Content-Type": "application/json"})[0]


def call(server, host, python, sample, *authorization):
    return subprocess.run([python, f"{HERE}/grpc_calls.py", "once",
                           f"{host}:{server.ports['OTLP over gRPC']}", sample, *authorization],
                          capture_output=True, text=True, timeout=PATIENCE, check=True).stdout.strip()


def check_token(server, checks, python, sample):
    wrong = {"Authorization": f"Bearer {TOKEN}x"}
    for host in ("127.0.0.1", OUTSIDE):
        checks.equal(f"a query of {host} without the token", ask(server, "queries", host)[0], 401)
        checks.equal(f"with a wrong one: {host}",
                     ask(server, "queries", host, headers=wrong)[0], 401)
        checks.equal(f"with it: {host}", ask(server, "queries", host, headers=BEARER)[0], 200)
        checks.equal(f"spans of {host}", (send(server, host), send(server, host, wrong),
                                          send(server, host, BEARER)), (401, 401, 200))
        if python:
            checks.equal(f"gRPC: spans of {host}", [
                call(server, host, python, sample, *words)
                for words in ([], [f"Bearer {TOKEN}x"], [f"Bearer {TOKEN}"])],
                ["UNAUTHENTICATED", "UNAUTHENTICATED", "OK"])
    _, answer = ask(server, "queries", "127.0.0.1")
    checks.equal("401 says how", (answer.getheader("WWW-Authenticate"), answer.getheader("Content-Type"), json.loads(answer.body)),
                 ("Bearer", "application/json", {"version": 1, "error": "the request needs the token of this server: "
                                                 "Authorization: Bearer TOKEN"}))
    checks.equal("no type is guessed", answer.getheader("X-Content-Type-Options"), "nosniff")
    checks.equal("no page of another origin may read",
                 [name for name, _ in answer.getheaders() if name.startswith("Access-Control")], [])
    checks.equal("a trusted network sends without it",
                 (send(server, TRUSTED), send_zipkin(server, TRUSTED)), (200, 202))
    checks.equal("and does not ask without it",
                 (ask(server, "queries", TRUSTED)[0],
                  ask(server, "Zipkin", TRUSTED, path="/api/v2/services")[0]), (401, 401))
    checks.equal("another name", ask(server, "queries", "127.0.0.1", headers={
        **BEARER, "Host": "evil.example"})[0], 403)
    checks.equal("a name that was added", ask(server, "queries", "127.0.0.1", headers={
        **BEARER, "Host": "Trace.example:80"})[0], 200)
    checks.equal("it is said that there is no TLS", "no TLS" in server.said, True)


def refusal(fathom, folder, *words):
    """Status and text of a start that fails."""
    done = subprocess.run([fathom, "serve", "-o", folder, *words], capture_output=True, text=True,
                          timeout=PATIENCE, check=False)
    return done.returncode, done.stderr


def check_starts(fathom, checks, folder, token):
    away = f"{folder}/other"
    for name, words, status, says in (
            ("a query address without a token", ("--http", "0.0.0.0:0"), 2, "--token-file"),
            ("one with trust alone", ("--http", "0.0.0.0:0", "--trust", "10.0.0.0/8"), 2,
             "--token-file"),
            ("a receiver without either", ("--otlp-grpc", "[::]:0"), 2, "--trust"),
            ("no network", ("--trust", "10.0.0.0/40"), 2, "10.0.0.0/40"),
            ("a missing token", ("--token-file", f"{folder}/none"), 1, "No such file"),
            ("an unknown limit", ("--limits", "bodies=1M"), 2, "body="),
            ("a limit of 0", ("--limits", "body=0"), 2, "body"),
            ("a limit that is too large", ("--limits", "body=17M"), 2, "that is too large\n"),
            ("a period beyond an hour", ("--store-period", "2h"), 2, "an hour at most")):
        got = refusal(fathom, away, "--http", "off", *words)
        checks.equal(f"refused: {name}", (got[0], got[1].count("\n"), says in got[1]),
                     (status, status, True))  # wrong usage adds a line about --help
    os.chmod(token, 0o644)
    got = refusal(fathom, away, "--token-file", token)
    checks.equal("refused: a token that others may read", (got[0], "chmod 600" in got[1]), (1, True))
    os.chmod(token, 0o600)


def jaeger_address(fathom, folder):
    """What is said of Jaeger's address, where nobody asked for one: on stdout, on stderr."""
    process = subprocess.Popen([fathom, "serve", "-o", folder, *(word for name in (
        "http", "otlp-http", "otlp-grpc", "zipkin") for word in (f"--{name}", "127.0.0.1:0"))],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    said = ""
    for line in process.stdout:
        said += line
        if line.startswith("queries"):
            break
    process.terminate()
    error = process.communicate(timeout=PATIENCE)[1]
    return "Jaeger: http://127.0.0.1:16686/" in said, error.count("\n"), "Jaeger" in error


def check_jaeger_address(fathom, checks, folder):
    checks.equal("Jaeger's address is served", jaeger_address(fathom, folder), (True, 0, False))
    with socket.create_server(("127.0.0.1", 16686)):
        checks.equal("where another program has it, a line says so",
                     jaeger_address(fathom, folder), (False, 1, True))


def check_pin(fathom, checks, folder, token):
    def pins(*options):
        done = subprocess.run([fathom, "pin", "-o", f"{folder}/data", "--list", *options], capture_output=True, text=True, check=False)
        return done.returncode, done.stderr.strip()
    checks.equal("fathom pin says how to bring the token", pins(), (1, "fathom pin: it wants a token: --token-file FILE"))
    checks.equal("fathom pin with the token", pins("--token-file", token)[0], 0)


def check(fathom, python, sample, folder):
    checks, token = Checks(), f"{folder}/token"
    with open(token, "w", encoding="utf-8", opener=lambda path, flags: os.open(path, flags, 0o600)
              ) as file:
        file.write(TOKEN + "\n")
    anywhere = [word for name in ("http", "otlp-http", "otlp-grpc", "zipkin")
                for word in (f"--{name}", "0.0.0.0:0")]
    server = Server(fathom, f"{folder}/data", *anywhere, "--token-file", token, "--trust",
                    "192.168.0.0/16,172.17.0.0/16", "--allow-host", f"trace.example,{OUTSIDE}")
    try:
        check_token(server, checks, python, sample)
        check_pin(fathom, checks, folder, token)
        check_starts(fathom, checks, folder, token)
        check_jaeger_address(fathom, checks, f"{folder}/jaeger")
        server.end(signal.SIGTERM)
        server = Server(fathom, f"{folder}/data", "--otlp-http", "0.0.0.0:0", "--trust",
                        "172.17.0.0/16")
        checks.equal("without a token: this host, trusted, others",
                     [send(server, host) for host in ("127.0.0.1", TRUSTED, OUTSIDE)],
                     [200, 200, 401])
    finally:
        server.process.kill()
        server.process.wait()
    print(f"1..{checks.number}")
    return 1 if checks.failed else 0


def main():
    if len(sys.argv) == 4:  # outside of the namespace
        python, _ = install(sys.argv[2])
        add = "".join(f" && ip address add {a}/32 dev lo" for a in (OUTSIDE, TRUSTED))
        words = ["unshare", "-rn", "sh", "-c", f'ip link set lo up{add} && exec "$@"', "sh"]
        if subprocess.run([*words, "true"], capture_output=True, check=False).returncode:
            print("1..1\nok 1 - serve-access # SKIP no network namespace can be made here")
            return 77
        os.execvp(words[0], [*words, sys.executable, *sys.argv[:2], python or "", sys.argv[3], "in"])
    with tempfile.TemporaryDirectory(prefix="fathom-access-") as folder:
        return check(sys.argv[1], sys.argv[2], sys.argv[3], folder)


sys.exit(main())
