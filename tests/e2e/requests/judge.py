#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
Holds the answer of `fathom requests --json --all` against the ledgers of the services, and prints how
many of its edges are right.

usage: judge.py ANSWER.json LEDGERS

LEDGERS is a folder of files whose lines are "service side local remote begin end identity pid tid":
a call that was made (side c) or a request that was served (side s), with its ports and the times
between which it lies. The identity of a request is that of the one for which it was made, a dot, and
a word; one without a dot is of no other. Its first letter names the phase.
"""
import bisect
import json
import os
import sys
from collections import Counter, defaultdict
from typing import NamedTuple, Optional

LATE_NS = 200000  # a server's span ends so much after its client's at most
SURE = 0.95


class Row(NamedTuple):
    service: str
    side: str
    local: int
    remote: int
    begin: int
    end: int
    ident: str
    pid: int
    tid: int


class Edge(NamedTuple):
    """One that should be there, or that is and should not."""
    service: str            # of the caller
    ident: str
    parent: Optional[str]   # None: of no other
    is_given: bool
    found: Optional[str]    # the identity of the parent that was given, if it is known
    probability: float
    evidence: str

    def is_right(self):
        return self.is_given and self.parent is not None and self.found == self.parent


def rows_read(folder):
    rows = []
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), encoding="ascii") as file:
            for line in file:
                service, side, *words = line.split()
                local, remote, begin, end = map(int, words[:4])
                rows.append(Row(service, side, local, remote, begin, end, words[4],
                                *map(int, words[5:7])))
    return rows


def root_of(ident):
    return ident.split(".", 1)[0]


def parent_of(ident):
    return ident.rsplit(".", 1)[0] if "." in ident else None


class Ledgers:
    """Which request moved over a connection at a time. Calls outside of a time are not judged."""

    def __init__(self, rows, since=0, until=sys.maxsize):
        self.called, self.served, self.unnamed = (defaultdict(list) for _ in range(3))
        self.services = {}  # identity -> service that made the call
        for row in sorted(rows, key=lambda row: row.begin):
            if not row.local and row.side == "c":
                self.unnamed[row.pid, row.tid].append(row)
            elif row.side == "c":
                self.called[row.local, row.remote].append(row)
            elif row.local:
                self.served[row.remote, row.local].append(row)
        rows = [row for row in rows if since < row.begin and row.end < until]
        for row in rows:
            if row.side == "c":
                self.services[row.ident] = row.service
        for row in rows:  # a service without a ledger is in front of one that has one
            if row.side == "s":
                self.services.setdefault(row.ident, "nginx")

    def idents(self, phase):
        return {ident for ident in self.services if ident.startswith(phase)}

    @staticmethod
    def last_before(rows, time):
        """The call under way: it began before its first byte was sent, and ended later."""
        at = bisect.bisect_right(rows, time, key=lambda row: row.begin) - 1
        return rows[at].ident if at >= 0 and time <= rows[at].end else None

    def within(self, key, begin, end):
        """The first request that was read between these times."""
        rows = self.served.get(key, [])
        at = bisect.bisect_left(rows, begin, key=lambda row: row.begin)
        return rows[at].ident if at < len(rows) and rows[at].begin < end else None

    def of(self, span):
        """The identity of the request of a span, by its own ports and times."""
        a = span["attributes"]
        near, far = a.get("network.local.port"), a.get("network.peer.port")
        if not near:
            rows = self.unnamed.get((span["pid"], span["tid"]), [])
            return self.last_before(rows, span["begin_ns"]) if span["kind"] == "client" else None
        key = (near, far) if span["kind"] == "client" else (far, near)
        if key in self.called:
            return self.last_before(self.called[key], span["begin_ns"])
        return self.within(key, span["begin_ns"], span["end_ns"])


class Answer:
    """The spans of an answer, and the request that each is of."""

    def __init__(self, document, ledgers):
        self.ledgers = ledgers
        self.spans, self.trace_of, self.idents = {}, {}, {}
        for trace in document["traces"]:
            for span in trace["spans"]:
                self.spans[span["span_id"]] = span
                self.trace_of[span["span_id"]] = trace["trace_id"]
        self.clients, self.servers = defaultdict(list), defaultdict(list)
        for span in self.spans.values():
            if span["kind"] in ("client", "server"):
                (self.clients if span["kind"] == "client" else self.servers)[
                    self.ident(span)].append(span)
        self.unknown = [*self.clients.pop(None, []), *self.servers.pop(None, [])]

    def above(self, span):
        return self.spans.get(span.get("parent_id"))

    def caller_of(self, server):
        """The other end of the exchange, if it is recorded."""
        above = self.above(server)
        return above if above and above["kind"] == "client" and \
            above["pid"] != server["pid"] else None

    def ident(self, span):
        key = span["span_id"]
        if key not in self.idents:
            caller = self.caller_of(span) if span["kind"] == "server" else None
            self.idents[key] = self.ident(caller) if caller else self.ledgers.of(span)
        return self.idents[key]

    def served_above(self, span):
        """The request for which a call is said to be made."""
        above = self.above(span)
        while above and above["kind"] != "server":
            above = self.above(above)
        return self.ident(above) if above else None

    def edge(self, ident):
        """The edge of a call; without one if the call was not found."""
        service, parent = self.ledgers.services[ident], parent_of(ident)
        spans = self.clients.get(ident, [])
        if len(spans) != 1:
            return Edge(service, ident, parent, False, None, 0, "not one span")
        [span] = spans
        a = span["attributes"]
        return Edge(service, ident, parent, "parent_id" in span, self.served_above(span),
                    float(a.get("edge.probability", 1)), a.get("edge.evidence", "none"))


class Verdict:
    """The figures of a phase, in percent."""

    def __init__(self, answer, phase):
        self.answer, self.phase = answer, phase
        self.idents = answer.ledgers.idents(phase)
        self.edges = [answer.edge(ident) for ident in sorted(self.idents)]
        self.given = [edge for edge in self.edges if edge.is_given]
        self.right = [edge for edge in self.edges if edge.is_right()]

    @staticmethod
    def share(some, all_of_them):
        return 100 * some / all_of_them if all_of_them else 100.0

    def precision(self, service=None):
        given = [e for e in self.given if service in (None, e.service)]
        return self.share(sum(e.is_right() for e in given), len(given))

    def recall(self, *services):
        wanted = [e for e in self.edges
                  if e.parent is not None and (not services or e.service in services)]
        return self.share(sum(e.is_right() for e in wanted), len(wanted))

    def services(self):
        return sorted({edge.service for edge in self.edges if edge.parent is not None})

    def found(self):
        """Calls that have exactly one span of the client and, if it is served here, of the server."""
        one = sum(len(self.answer.clients.get(ident, [])) == 1 for ident in self.idents)
        return self.share(one, len(self.idents))

    def joined(self):
        pairs = sum(len(self.answer.servers.get(ident, [])) == 1 for ident in self.idents)
        return self.share(pairs, len(self.idents))

    def roots_kept(self):
        """Calls of no request, such as those on a timer, that were given to none."""
        roots = [edge for edge in self.edges if edge.parent is None]
        return self.share(sum(not edge.is_given for edge in roots), len(roots))

    def mean_probability(self):
        return self.share(sum(edge.probability for edge in self.given), len(self.given))

    def sure(self):
        """The share of edges above SURE, and how many of those are right."""
        sure = [edge for edge in self.given if edge.probability > SURE]
        return (self.share(len(sure), len(self.given)),
                self.share(sum(edge.is_right() for edge in sure), len(sure)))

    def traces(self):
        """Requests that are whole and alone in their trace."""
        members, inside = defaultdict(set), defaultdict(set)
        for ident in self.idents:
            for span in self.answer.clients.get(ident, []):
                members[root_of(ident)].add(self.answer.trace_of[span["span_id"]])
        for ident, spans in self.answer.clients.items():
            for span in spans:
                inside[self.answer.trace_of[span["span_id"]]].add(root_of(ident))
        lost = {root_of(ident) for ident in self.idents if ident not in self.answer.clients}
        roots = {root_of(ident) for ident in self.idents}
        good = [root for root in roots - lost if len(members[root]) == 1 and
                inside[next(iter(members[root]))] == {root}]
        return self.share(len(good), len(roots))

    def late(self):
        """How much later than its client's a server's span ends, in us: 99 of 100, and the most."""
        over = sorted(server["end_ns"] - client["end_ns"]
                      for ident in self.idents for server in self.answer.servers.get(ident, [])
                      for client in [self.answer.caller_of(server)] if client)
        return (over[len(over) * 99 // 100] // 1000, over[-1] // 1000) if over else (0, 0)

    def evidence(self):
        """{kind of evidence: (edges, percent of them that are right)}"""
        count, right = (Counter(edge.evidence for edge in edges)
                        for edges in (self.given, self.right))
        return {kind: (n, self.share(right[kind], n)) for kind, n in count.most_common()}

    def told(self):
        sure, sure_right = self.sure()
        late, latest = self.late()
        wanted = sum(edge.parent is not None for edge in self.edges)
        lines = [f"{len(self.idents)} exchanges, {self.found():.2f} % found, "
                 f"{self.joined():.2f} % at both ends; {wanted} edges: "
                 f"precision {self.precision():.2f} %, recall {self.recall():.2f} %",
                 f"whole and alone {self.traces():.2f} %; mean probability "
                 f"{self.mean_probability():.2f} %, right {self.precision():.2f} %; above {SURE}: "
                 f"{sure:.2f} %, of which {sure_right:.2f} % right; the server ends "
                 f"{late} us later in 99 %, {latest} us at most",
                 "precision / recall: " + ", ".join(
                     f"{name} {self.precision(name):.2f} / {self.recall(name):.2f}"
                     for name in self.services()),
                 "evidence: " + ", ".join(f"{kind} {n} ({right:.1f} %)"
                                          for kind, (n, right) in self.evidence().items())]
        return lines

    def wrong(self, count=10):
        """Some edges that are not as they should be."""
        return [edge for edge in self.edges
                if (edge.is_given or edge.parent is not None) and not edge.is_right()][:count]


def judge(document, rows):
    """{phase: verdict}"""
    ledgers = Ledgers(rows)
    answer = Answer(document, ledgers)
    return {phase: Verdict(answer, phase)
            for phase in sorted({ident[0] for ident in ledgers.services})}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        document = json.load(file)
    for phase, verdict in judge(document, rows_read(sys.argv[2])).items():
        if not verdict.found():
            continue  # it was not recorded
        print(f"phase {phase}:", *verdict.told(), sep="\n  ")
        for edge in verdict.wrong():
            print("   ", edge)


if __name__ == "__main__":
    main()
