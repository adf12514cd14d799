# SPDX-License-Identifier: Apache-2.0
"""
A graph of real services whose ledgers say which call belongs to which request:

    load -> nginx -> pool (threads of Python)  -> workers (pool in C), node, loop, redis
                     aio (asyncio)             -> loop (epoll in C), node, redis, memcached
                     go (net/http)             -> workers, loop, redis
                     workers -> PostgreSQL, memcached;  loop -> redis, memcached
                     node -> redis, PostgreSQL

A request is 7 to 14 exchanges. No service publishes anything.
"""
import json
import os
import select
import shutil
import signal
import subprocess
import sys

import harness
import judge
import loopback
import servers
from harness import check, equal

HERE = os.path.dirname(os.path.abspath(__file__))
FRONTS = ("pool", "aio", "go")
PORTS = (*FRONTS, "nginx", "loop", "workers", "node", "redis", "postgres", "memcached", "pages")
NEEDS = ("nginx", "redis-server", "memcached", "node", "go")
UPSTREAM = "upstream {name} {{ server 127.0.0.1:{port}; keepalive 256; }} "
LOCATION = "location /{name}/ {{ proxy_pass http://{name}; }} "
PROXY = """access_log off; keepalive_requests 1000000; {upstreams}
  server {{ listen 127.0.0.1:{port}; proxy_http_version 1.1; proxy_set_header Connection "";
    {locations} }}"""
PHASE_S = 300
WARM = ("w", 16, 96)  # before the recording: pools have their connections then


def missing():
    """What is not installed of what the graph needs."""
    os.environ["PATH"] += ":/usr/sbin:/sbin"
    found = [program for program in NEEDS if not shutil.which(program)]
    return found + ([] if servers.postgres_program("initdb") else ["postgresql"])


def go_build(program, source):
    """A process that compiles a service in Go."""
    return subprocess.Popen(
        ["go", "build", "-o", program, *[os.path.join(HERE, n) for n in (source, "ledger.go")]],
        stderr=subprocess.PIPE, text=True, env=dict(os.environ, GOTOOLCHAIN="local"))


class Graph:
    """All services, in a folder of their own, until stop(). Their ledgers are in `ledgers` then."""

    def __init__(self, place, loop, workers):
        self.place, self.ledgers = place, os.path.join(place, "ledgers")
        os.makedirs(self.ledgers)
        for each in (place, os.path.dirname(place)):
            os.chmod(each, 0o755)  # PostgreSQL runs as another user
        self.ports = dict(zip(PORTS, loopback.free_ports(len(PORTS))))
        self.programs = {}
        self.load = None
        try:
            self.start(loop, workers)
        except BaseException:
            self.stop()
            raise

    def path(self, name):
        return os.path.join(self.place, name)

    def start(self, loop, workers):
        build = go_build(self.path("front"), "front.go")
        self.start_stores()
        equal(build.communicate(timeout=300)[1], "", "go build")
        self.service("loop", loop, "redis", "memcached")
        self.service("workers", workers, "postgres", "memcached")
        self.service("node", shutil.which("node"), "redis", "postgres",
                     source=os.path.join(HERE, "node.js"))
        for name, peers in (("pool", ("workers", "node", "loop", "redis")),
                            ("aio", ("loop", "node", "redis", "memcached"))):
            self.service(name, sys.executable, *peers, source=os.path.join(HERE, name + ".py"))
        self.service("go", self.path("front"), "workers", "loop", "redis")
        self.start_nginx()
        self.load = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "load.py"), os.path.join(self.ledgers, "load"),
             str(self.ports["nginx"]), *FRONTS],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, name, *command, **options):
        with open(self.path(name + ".err"), "wb") as errors:
            self.programs[name] = servers.Server(*command, stderr=errors, **options)
        harness.until(lambda: servers.answers(self.ports[name]) or
                      self.programs[name].process.poll() is not None, name)
        check(self.programs[name].process.poll() is None, f"{name} runs: {self.errors(name)}")

    def errors(self, name):
        with open(self.path(name + ".err"), encoding="utf-8", errors="replace") as file:
            return file.read()

    def start_stores(self):
        self.run("redis", "redis-server", "--port", self.ports["redis"], "--bind", "127.0.0.1",
                 "--dir", self.place, "--save", "", "--appendonly", "no", "--daemonize", "no")
        self.run("memcached", "memcached", "-p", self.ports["memcached"], "-l", "127.0.0.1",
                 "-u", "root", "-t", "2")
        place, as_user = servers.postgres_create(self.path("postgres"))
        self.run("postgres", servers.postgres_program("postgres"), "-D",
                 os.path.join(place, "data"), "-k", place, "-p", self.ports["postgres"],
                 "-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c",
                 "max_connections=200", **as_user)
        ready = [servers.postgres_program("pg_isready"), "-q", "-h", "127.0.0.1", "-p",
                 str(self.ports["postgres"])]
        harness.until(lambda: subprocess.run(ready, check=False).returncode == 0, "PostgreSQL")

    def service(self, name, program, *peers, source=None):
        self.run(name, program, *([source] if source else []), os.path.join(self.ledgers, name),
                 self.ports[name], *[f"{peer}={self.ports[peer]}" for peer in peers])

    def start_nginx(self):
        folder = self.path("nginx")
        os.mkdir(folder)
        http = PROXY.format(
            port=self.ports["nginx"],
            upstreams="".join(UPSTREAM.format(name=n, port=self.ports[n]) for n in FRONTS),
            locations="".join(LOCATION.format(name=n) for n in FRONTS))
        self.run("nginx", *loopback.nginx_command(folder, self.ports["pages"], http, workers=2))

    def pids(self):
        return [program.pid for program in self.programs.values()] + [self.load.pid]

    def phase(self, letter, at_once, count):
        """So many requests, so many at once; their identities begin with the letter."""
        print(letter, at_once, count, file=self.load.stdin, flush=True)
        ready, _, _ = select.select([self.load.stdout], [], [], PHASE_S * harness.SLOWER)
        said = self.load.stdout.readline().strip() if ready else "nothing"
        told = "".join(self.errors(name) for name in FRONTS)
        equal(said, "done", f"what the load says of phase {letter} ({told[-500:]})")

    def stop(self):
        """Services end from the front, so that each writes its ledger after the last request."""
        if self.load:
            self.load.stdin.close()
            try:
                self.load.wait(timeout=30)
            except subprocess.TimeoutExpired:
                self.load.kill()
                self.load.wait()
            self.load.stdout.close()
        for name in reversed(self.programs):
            self.programs[name].stop(signal.SIGINT if name == "postgres" else signal.SIGTERM)
        self.programs = {}


def record(fathom, place, programs, phases, recordings):
    """
    Records the graph several times at once, while it has requests: `recordings` is {name: options},
    `phases` is {letter: (at once, in all)}. Recordings are place/NAME. Returns the rows of the ledgers.
    """
    services = Graph(os.path.join(place, "graph"), *programs)
    try:
        services.phase(*WARM)
        pids = ",".join(map(str, services.pids()))
        recorders = [servers.Recorder(fathom, os.path.join(place, name), *options, "-p", pids)
                     for name, options in recordings.items()]
        for letter, counts in phases.items():
            services.phase(letter, *counts)
        for recorder in recorders:
            recorder.stop()
    finally:
        services.stop()
    return judge.rows_read(services.ledgers)


def at_level(level):
    """Options of a recording that loses nothing."""
    return ["--detail", level, *servers.ROOM]


def answer(fathom, recording):
    return json.loads(fathom.ok("requests", "--json", "--all", recording))
