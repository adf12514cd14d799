#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Programs that hand requests on in one way each: threads, pools, loops, processes, and what clients and
connections may do to them. One recording has all of them, and each must have its edges.
"""
import json
import os
import random
import resource
import select
import shutil
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import graph
import harness
import judge
import loopback
import servers
from harness import check, equal

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
PROGRAM, RECUT = map(os.path.abspath, sys.argv[2:4])
PLACE = tempfile.mkdtemp(prefix="fathom-rules-")  # recordings of other tests are checked
RECORDING = os.path.join(PLACE, "recording")
HERE = os.path.dirname(os.path.abspath(__file__))
FILES = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
IDLE = min(10000 if os.environ.get("FATHOM_TEST_LONG") else 400, FILES - 100)
CUTS = 20 if os.environ.get("FATHOM_TEST_LONG") else 3
EACH, CONNECTIONS = 8, 4
SEED = 20261127
tests = harness.Tests()
random.seed(SEED)
resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))


class Case(NamedTuple):
    """A service, how it is asked, and the least shares in percent."""
    name: str
    mode: str
    way: str = "plain"
    least: float = 100   # precision and recall of edges, and calls of no request that are roots
    traces: float = 100  # requests whole and alone

    def why_not(self):
        """Why it cannot be tested here."""
        return "go is missing" if self.mode == "raw" and not shutil.which("go") else None


CASES = {letter: case for letter, case in zip(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghij", (
        Case("thread_for_each_connection", "threads"),
        Case("thread_for_each_request", "made"),
        Case("two_listeners_with_one_port", "reuseport"),
        Case("lock_hands_nothing_over", "mutex"),
        Case("interpreter_lock_hands_nothing_over", "gil"),
        Case("connections_are_shared", "pooled"),
        Case("calls_on_a_timer_are_roots", "background"),
        Case("calls_outlive_their_request", "outlives"),
        Case("unix_socket", "unix"),
        Case("answer_by_sendfile", "sendfile"),
        Case("answer_before_the_request_is_whole", "early", "early"),
        Case("two_requests_in_one_send", "twos", "twos"),
        Case("request_in_two_sends", "sips", "halves"),
        Case("requests_are_pipelined", "threads", "pipeline"),
        Case("half_close", "threads", "half_closed"),
        Case("connection_reset", "threads", "reset"),
        # a wake-up may end the section of a worker too early
        Case("pool_with_condition", "condition", least=95, traces=85),
        Case("pool_with_eventfd", "eventfd", least=95, traces=85),
        Case("pool_with_pipe", "pipe", least=95, traces=85),
        # a worker that is not asleep takes its next work without being woken for it
        Case("pool_whose_reader_answers", "returned", least=60, traces=45),
        Case("futures", "futures", least=95, traces=85),
        Case("process_for_each_connection", "forked"),
        Case("processes_made_before", "prefork"),
        Case("process_for_each_request", "cgi"),
        Case("loop", "loop", least=95, traces=90),
        Case("loop_that_defers", "defers", least=95, traces=90),
        Case("calls_are_pipelined", "pipelines", least=95, traces=90),
        Case("io_uring", "uring"),
        Case("goroutines", "raw"),
    ))}


class Programs:
    """All services, their backend and their load, until stop()."""

    def __init__(self, place):
        self.ledgers = os.path.join(place, "ledgers")
        os.mkdir(self.ledgers)
        self.path = os.path.join(place, "unix")
        self.backend, *ports = loopback.free_ports(1 + len(CASES))
        self.ports = dict(zip(CASES, ports))
        self.go = os.path.join(place, "raw")
        if shutil.which("go"):
            equal(graph.go_build(self.go, "raw.go").communicate(timeout=300)[1], "", "go build")
        self.running = {"backend": self.start("-", "backend", self.backend)}
        harness.until(lambda: servers.answers(self.backend), "the backend")
        for letter, case in CASES.items():
            if not case.why_not():
                self.running[letter] = self.start(letter, case.mode, self.ports[letter])
        self.load = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "rules_load.py"), os.path.join(self.ledgers, "load")],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for letter, program in self.running.items():
            harness.until(lambda: servers.answers(self.ports.get(letter, self.backend)) or
                          program.process.poll() is not None, f"program {letter}")
        harness.until(lambda: os.path.exists(self.path), "the backend's Unix socket")

    def start(self, letter, mode, port):
        other = {"raw": [self.go], "gil": [sys.executable, os.path.join(HERE, "gil.py")]}
        return servers.Server(*other.get(mode, [PROGRAM]),
                              os.path.join(self.ledgers, f"{mode}{letter}"), letter, mode, port,
                              self.backend, self.path)

    def is_running(self, letter):
        """Where there is no io_uring, its program says so by ending."""
        return letter in self.running and self.running[letter].process.poll() is None

    def pids(self):
        return [self.running[name].pid for name in self.running
                if self.is_running(name)] + [self.load.pid]

    def ask(self, *words):
        print(*words, file=self.load.stdin, flush=True)
        ready, _, _ = select.select([self.load.stdout], [], [], 60 * harness.SLOWER)
        equal(self.load.stdout.readline().strip() if ready else "nothing", "done",
              f"what the load says of {words}")

    def stop(self):
        self.load.stdin.close()
        self.load.wait(timeout=30)
        self.load.stdout.close()
        for name in reversed(self.running):
            self.running[name].stop()


def requests_of(*directories):
    """But for the clock, which has an entry for each cut, and what manifests count of a chunk."""
    document = json.loads(fathom.ok("requests", "--json", "--all", *directories))
    del document["clock"], document["incomplete"]
    return document


def record():
    """The verdicts, by letter; the answer, and the document that it is of."""
    programs = Programs(PLACE)
    try:
        recorder = servers.Recorder(fathom, RECORDING, "--detail", "calls", *servers.ROOM,
                                    "-p", ",".join(map(str, programs.pids())))
        begin = time.monotonic_ns()
        for letter, case in CASES.items():
            if not programs.is_running(letter):
                continue
            if case.mode == "loop":
                programs.ask("idle", programs.ports[letter], IDLE)
            programs.ask(letter, case.way, programs.ports[letter], CONNECTIONS, EACH)
        end = time.monotonic_ns()
        recorder.stop()
    finally:
        programs.stop()
    servers.check_loss(fathom, RECORDING)
    document = requests_of(RECORDING)
    ledgers = judge.Ledgers(judge.rows_read(programs.ledgers), begin, end)
    answer = judge.Answer(document, ledgers)
    return {letter: judge.Verdict(answer, letter) for letter in CASES}, answer, document


def judged(verdict, case):
    """What is wrong with the edges of a case."""
    figures = {"calls found": (verdict.found(), 100), "precision": (verdict.precision(), case.least),
               "recall": (verdict.recall(), case.least), "roots kept": (verdict.roots_kept(), case.least),
               "whole and alone": (verdict.traces(), case.traces)}
    return [f"{what} {got:.2f} %, should be {least} %"
            for what, (got, least) in figures.items() if got < least]


def add_case(letter, case):
    def test():
        if case.why_not() or not verdicts[letter].idents and case.mode == "uring":
            return case.why_not() or "there is no io_uring here"
        verdict = verdicts[letter]
        evidence = ", ".join(f"{kind} {n} ({right:.0f} %)"
                             for kind, (n, right) in verdict.evidence().items())
        print(f"# {case.name}: {len(verdict.idents)} calls; edges by {evidence}")
        count = EACH * (CONNECTIONS + 1)
        check(sum("." not in ident for ident in verdict.idents) >= count, "all was asked")
        wrong = judged(verdict, case)
        check(not wrong, "; ".join(wrong) + "; such as " +
              "\n".join(map(str, verdict.wrong(4))))
        return None
    test.__name__ = case.name
    tests.add(test)


@tests.add
def idle_connections_are_no_requests():
    """Nor is anything else that no program has in its ledger."""
    equal([(span["kind"], span["service"], span["attributes"]) for span in whole.unknown][:3], [],
          "exchanges that nobody made")


@tests.add
def cuts_change_nothing():
    """The same requests come of chunks that are cut anywhere."""
    chunks = fathom.chunks(RECORDING)
    largest = max(chunks, key=lambda chunk: chunk["records"])
    others = [chunk["path"] for chunk in chunks if chunk is not largest]
    for number in range(CUTS):
        cuts = sorted(random.sample(range(largest["begin_ns"] + 1, largest["end_ns"]),
                                    1 + number % 7))
        pieces = os.path.join(PLACE, "pieces")
        subprocess.run([RECUT, largest["path"], pieces, *map(str, cuts)], check=True)
        same = requests_of(pieces, *others) == entire
        shutil.rmtree(pieces)
        check(same, f"the same requests if seed {SEED} cuts at {cuts}")


with fathom:
    try:
        verdicts, whole, entire = record()
        for each, wanted in CASES.items():
            add_case(each, wanted)
        tests.run()
    finally:
        shutil.rmtree(PLACE)
