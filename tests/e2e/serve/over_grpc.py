# SPDX-License-Identifier: Apache-2.0
"""OTLP over gRPC: answers, many clients at once, and a kill. Runs with gRPC for Python."""
import json
import signal
import subprocess
import threading

from server import HERE, PATIENCE

CLIENTS, SPANS = 32, 300  # at once; of each trace
ACKNOWLEDGED = 200        # calls, before the server is killed
WANTED = {"plain": "OK", "gzip": "OK", "nothing": "OK", "the same connection": "OK",
          "a cut request": "INVALID_ARGUMENT", "another compression": "UNIMPLEMENTED",
          "metrics": "UNIMPLEMENTED", "another host": "PERMISSION_DENIED",
          "17 MB": "RESOURCE_EXHAUSTED", "a gzip bomb": "RESOURCE_EXHAUSTED"}


def address(server):
    return f"127.0.0.1:{server.ports['OTLP over gRPC']}"


def run(python, script, *words):
    return subprocess.run([python, f"{HERE}/{script}", *map(str, words)], capture_output=True,
                          text=True, timeout=4 * PATIENCE, check=True).stdout


def check_answers(server, checks, python, sample):
    answers = json.loads(run(python, "grpc_calls.py", "answers", address(server), sample))
    checks.equal("gRPC: the status of each call", {n: a[0] for n, a in answers.items()}, WANTED)
    checks.equal("gRPC: each refusal says why",
                 [n for n, (code, text) in answers.items() if code != "OK" and len(text) < 10], [])
    # partial_success { rejected_spans: 2, error_message: ... }
    checks.equal("gRPC: spans without ids are rejected",
                 [answers[n][1][:2] + answers[n][1][4:8] for n in ("plain", "gzip", "nothing")],
                 ["0a0802", "0a0802", ""])


def check_clients(server, checks, python):
    """Each span of many SDKs that send at once is there."""
    traces = run(python, "sdk_many.py", address(server), CLIENTS, SPANS).split()
    checks.equal("gRPC: traces of 32 SDKs", len(set(traces)), CLIENTS)
    server.wait("their spans are stored",
                lambda: all(len(server.trace(trace)) >= SPANS for trace in traces))
    wrong = {trace: len(server.trace(trace)) for trace in traces
             if len({span["span_id"] for span in server.trace(trace)}) != SPANS}
    checks.equal("gRPC: each has all its spans, once", wrong, {})


def check_older(server, checks):
    """A client of HTTP/1 is told where it is."""
    server.ports["gRPC as HTTP/1"] = server.ports["OTLP over gRPC"]
    status, text = server.ask("gRPC as HTTP/1", "GET", "/")
    checks.equal("gRPC: HTTP/1 is told", (status, b"only gRPC" in text), (400, True))


def check(server, checks, python, sample):
    check_answers(server, checks, python, sample)
    check_clients(server, checks, python)
    check_older(server, checks)


def send_until_killed(server, python, sample):
    """Ids of the traces that were acknowledged when the server was killed."""
    acknowledged = []
    with subprocess.Popen([python, f"{HERE}/grpc_calls.py", "send", address(server), sample],
                          stdout=subprocess.PIPE, text=True) as sender:
        ends = threading.Timer(2 * PATIENCE, sender.kill)
        ends.start()
        for line in sender.stdout:
            acknowledged.append(line.strip())
            if len(acknowledged) == ACKNOWLEDGED:
                server.end(signal.SIGKILL)
        ends.cancel()
    return acknowledged
