#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Requests through services that speak Thrift, behind nginx and in front of memcached and redis, which
stand in for DeathStarBench's social network. None is instrumented; the truth is their ledgers.
"""
import os
import select
import shutil
import subprocess
import sys
import tempfile

import graph
import harness
import judge
import loopback
import servers
from harness import check, equal

harness.require_root()
servers.need("nginx", "redis-server", "memcached")
PYTHON = "/usr/bin/python3"  # of which python3-thrift is
if subprocess.run([PYTHON, "-c", "import thrift"], stderr=subprocess.DEVNULL, check=False).returncode:
    print("missing: python3-thrift")
    sys.exit(77)
fathom = harness.Fathom(sys.argv[1])
tests = harness.Tests()
SERVICES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "thrift_services.py")
NAMES = ("compose", "user", "post", "nginx", "redis", "memcached", "pages")
PHASES = {"a": (1, 40), "b": (8, 240)}  # letter of the identities: requests at once, and in all
EXCHANGES = (6, 9)                      # of a request
# Several threads of its pool can have answers before its loop answers: it is not known which is first then.
POST_LEAST = 40
PROXY = """access_log off; keepalive_requests 1000000;
  server {{ listen 127.0.0.1:{nginx}; location / {{ proxy_pass http://127.0.0.1:{compose}; }} }}"""


class Network:
    """All services, until stop(). Their ledgers are in `ledgers` then."""

    def __init__(self, place):
        self.place, self.ledgers = place, os.path.join(place, "ledgers")
        os.makedirs(self.ledgers)
        self.ports = dict(zip(NAMES, loopback.free_ports(len(NAMES))))
        self.programs, self.load = {}, None
        try:
            self.start()
        except BaseException:
            self.stop()
            raise

    def run(self, name, *command):
        with open(os.path.join(self.place, name + ".err"), "wb") as errors:
            self.programs[name] = servers.Server(*command, stderr=errors)
        harness.until(lambda: servers.answers(self.ports[name]) or
                      self.programs[name].process.poll() is not None, name)
        check(self.programs[name].process.poll() is None, f"{name} runs: {self.errors(name)}")

    def errors(self, name):
        with open(os.path.join(self.place, name + ".err"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def command(self, name, port, *peers):
        return [PYTHON, SERVICES, name, os.path.join(self.ledgers, name), str(port),
                *[f"{peer}={self.ports[peer]}" for peer in peers]]

    def start(self):
        self.run("redis", "redis-server", "--port", self.ports["redis"], "--bind", "127.0.0.1",
                 "--dir", self.place, "--save", "", "--appendonly", "no", "--daemonize", "no")
        self.run("memcached", "memcached", "-p", self.ports["memcached"], "-l", "127.0.0.1",
                 "-u", "root", "-t", "2")
        for name, peers in (("user", ["memcached"]), ("post", ["redis", "memcached"]),
                            ("compose", ["user", "post"])):
            self.run(name, *self.command(name, self.ports[name], *peers))
        folder = os.path.join(self.place, "nginx")
        os.mkdir(folder)
        self.run("nginx", *loopback.nginx_command(folder, self.ports["pages"],
                                                  PROXY.format(**self.ports)))
        self.load = subprocess.Popen(self.command("load", self.ports["nginx"]),
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def phase(self, letter, at_once, count):
        print(letter, at_once, count, file=self.load.stdin, flush=True)
        ready, _, _ = select.select([self.load.stdout], [], [], 60 * harness.SLOWER)
        said = self.load.stdout.readline().strip() if ready else "nothing"
        equal(said, "done", f"what the load says of phase {letter} ({self.errors('compose')[-500:]})")

    def pids(self):
        return ",".join(str(p.pid) for p in [*self.programs.values(), self.load])

    def stop(self):
        if self.load:
            self.load.stdin.close()
            self.load.wait(timeout=30)
            self.load.stdout.close()
        for name in reversed(self.programs):
            self.programs[name].stop()


def record(place):
    network = Network(os.path.join(place, "network"))
    try:
        network.phase("w", 8, 16)  # before the recording: pools have their connections then
        recorder = servers.Recorder(fathom, os.path.join(place, "recording"), *graph.at_level("waits,bytes"),
                                    "-p", network.pids())
        for letter, counts in PHASES.items():
            network.phase(letter, *counts)
        recording = recorder.stop()
    finally:
        network.stop()
    servers.check_loss(fathom, recording)
    return recording, network


def check_phase(verdict, phase, least):
    """`least`: percent of the edges of each service that are right; the rest is of the ledger alone."""
    at_once, count = PHASES[phase]
    print(f"# {at_once} at once:")
    for line in verdict.told() + verdict.wrong(5):
        print("#  ", line)
    roots = {judge.root_of(ident) for ident in verdict.idents}
    equal(len(roots), count, f"requests of phase {phase}")
    sizes = [sum(judge.root_of(ident) == root for ident in verdict.idents) for root in sorted(roots)]
    check(EXCHANGES[0] <= min(sizes) and max(sizes) <= EXCHANGES[1], f"exchanges: {sorted(sizes)}")
    equal((verdict.found(), verdict.joined()), (100, 100), "exchanges found, and at both ends")
    for name in ("nginx", "compose", "user", "post"):
        figures = verdict.precision(name), verdict.recall(name)
        check(min(figures) >= least[name], f"precision and recall of {name}: {figures}")


def check_rows(recording, ports):
    """A row for each server, at both ends, whatever ports its clients have."""
    served = {str(ports[name]) for name in NAMES if name != "pages"}
    called = {row["callee"].rsplit(":", 1)[1] for row in fathom.report(recording, "edge")["rows"]}
    equal(called, served, "servers that were called")
    rows = [row for row in fathom.report(recording, "peer")["rows"] if ":" in row["key"]
            and not row["key"].startswith("unix:")]
    keys = sorted(row["key"].rsplit(":", 1)[1] for row in rows)
    # nginx sends with its connection: whoever accepts that may find the request there, and waits for nobody
    once = {str(ports["compose"])} if keys.count(str(ports["compose"])) == 1 else set()
    equal(keys, sorted([*served, *(served - once)]), "ports of the rows by peer")
    equal([row for row in rows if "service" not in row], [], "rows by peer without their service")


@tests.add
def services_that_speak_thrift():
    place = tempfile.mkdtemp(prefix="fathom-thrift-")  # recordings of other tests are checked
    try:
        recording, network = record(place)
        verdicts = judge.judge(graph.answer(fathom, recording), judge.rows_read(network.ledgers))
        check_phase(verdicts["a"], "a", {"nginx": 99, "compose": 99, "user": 99, "post": 99})
        check_phase(verdicts["b"], "b", {"nginx": 98, "compose": 98, "user": 98, "post": POST_LEAST})
        check_rows(recording, network.ports)
    finally:
        shutil.rmtree(place)


with fathom:
    tests.run()
