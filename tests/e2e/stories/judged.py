# SPDX-License-Identifier: Apache-2.0
"""What fathom says of each story (told.h), beside what is true of it."""
from harness import PARTS, WAITS, total

MS = 1000000
BLOCKED = [part for part in WAITS if part not in ("runnable_ns", "throttled_ns")] + ["fault_ns"]
SETTLE_NS = 100 * MS  # from the begin of a recording until its programs are followed
SWITCH_NS = 20e3  # the kernel counts from where it begins to choose, and a record comes behind it
ACCURATE_NS = 1000  # the clock of libfathom beside the kernel's


def meet(stretches, others):
    """What lies in both."""
    return [(max(a, c), min(b, d)) for a, b in stretches for c, d in others
            if max(a, c) < min(b, d)]


def without(stretches, others):
    for low, high in others:
        stretches = [(a, b) for begin, end in stretches
                     for a, b in ((begin, min(end, low)), (max(begin, high), end)) if a < b]
    return stretches


def length(stretches):
    return sum(end - begin for begin, end in stretches)


class Seen:
    """When a recording saw what: it has gaps, and each recorder needs a while at its begin."""

    def __init__(self, chunks, gaps):
        self.range = (chunks[0]["begin_ns"], chunks[-1]["end_ns"])
        self.gaps = [(gap["from_ns"], gap["to_ns"]) for gap in gaps]
        begins = [self.range[0]] + [end for _, end in self.gaps]
        self.settles = [(begin, begin + SETTLE_NS) for begin in begins]

    def where(self, row):
        """Of a story: in, or over the begin, over a gap, over the end; None: it was not seen."""
        begin, end = row["outer"]
        if end < self.range[0] or begin > self.range[1] or \
                not length(without([(begin, end)], self.gaps)):
            return None
        if meet([(begin, end)], self.gaps):
            return "gap"
        if begin < self.range[0] or meet([(begin, end)], self.settles):
            return "begin"
        return "end" if end > self.range[1] else "in"


class Judged:
    """A span, and the row of its story. `problems` is what does not agree."""

    def __init__(self, row, span, seen, where):
        self.row, self.span, self.seen, self.where = row, span, seen, where
        self.problems = []
        self.time = span["time"]
        window = [(span["begin_ns"], span["end_ns"])]
        self.possible = without(window, seen.gaps)
        self.sure = without(self.possible, seen.settles)
        self.cpu = self.time["user_ns"] + self.time["kernel_ns"] + self.time["cpu_ns"]

    def expect(self, holds, text):
        if not holds:
            self.problems.append(text)

    def room(self, ns):
        """What was not seen can be neither right nor wrong."""
        return max(0.02 * ns, 200e3) + 2500 * self.row["switches"] + self.time["unknown_ns"]

    def pieces(self, part, stretches):
        return length(meet([(a, b) for name, a, b in self.row["pieces"] if name + "_ns" == part],
                           stretches))

    def between(self, part, low, high, more=0):
        room = self.room(high) + more
        self.expect(low - room <= self.time[part] <= high + room,
                    f"{part} is {self.time[part]}, should be {low} to {high} within {room:.0f}")

    def check_bounds(self):
        row, span = self.row, self.span
        ends = "soft" if row["story"] == "exec" else "hard"
        equal = (span["begin_bound"], span["end_bound"]) == ("hard", ends)
        self.expect(equal, f"kinds of bounds is {span['begin_bound']}, {span['end_bound']}")
        for at, (low, high) in ((span["begin_ns"], (row["outer"][0], row["inner"][0])),
                                (span["end_ns"], (row["inner"][1], row["outer"][1]))):
            self.expect(low - ACCURATE_NS <= at <= high + ACCURATE_NS,
                        f"a bound is {at}, should in {low} to {high}")

    def check_sum(self):
        self.expect(self.span["threads"] == 1, f"threads is {self.span['threads']}")
        equal = total(self.time) == self.span["end_ns"] - self.span["begin_ns"]
        self.expect(equal, f"the sum of the split is {total(self.time)}")

    def check_causes(self, other):
        """`other`: a wait of which the end was not seen may be taken for that."""
        told = sum(self.pieces(part, [tuple(self.row["outer"])]) for part in BLOCKED)
        late = max(0, self.row["blocked_ns"] - told)
        for part in BLOCKED:
            low, high = self.pieces(part, self.sure), self.pieces(part, self.possible)
            if self.row["story"] == "touch" and part == "fault_ns":
                low, high = (late - max(0, self.beside()) if self.where == "in" else 0), late
            elif high:
                high += late
            if self.where == "gap":  # behind a crash what some of the CPUs said is in the gap
                high += self.span["end_ns"] - self.span["begin_ns"] - length(self.possible)
            if not high and part in ("lock_ns", "fault_ns"):
                # threads of a process share its memory
                high = length(self.possible)
            elif part == "other_ns" and other:
                high = length(self.possible)
            low -= self.time["runnable_ns"] + (length(self.possible) if other else 0)
            self.between(part, low, high)
        low, high = (self.pieces("off_thread_ns", w) for w in (self.sure, self.possible))
        self.between("off_thread_ns", low - self.time["runnable_ns"] - self.cpu, high)

    def beside(self):
        """
        The kernel's counts begin a little before the span, and end behind it; below 0: they
        leave out a little where it is dropped and taken up.
        """
        row = self.row
        counted = row["blocked_ns"] + row["wait_ns"] + row["run_ns"]
        dropped = self.pieces("off_thread_ns", self.possible)
        return counted + dropped + self.exec_ns() - length(self.possible)

    def exec_ns(self):
        """It goes on behind the kernel's count."""
        return max(0, self.span["end_ns"] - self.row["inner"][1])

    def check_cpu(self, left_out):
        row, beside = self.row, max(0, self.beside())
        dropped = self.pieces("off_thread_ns", self.possible) \
            if row["story"] in ("dropped busy", "turns") else 0
        unknown = self.time["unknown_ns"] if left_out else 0
        late = max(0, self.time["runnable_ns"] - row["wait_ns"])
        # what sleeps can be on a run queue still, and what was woken not yet
        slept = sum(self.time[part] for part in BLOCKED)
        asleep = max(0, slept - row["blocked_ns"])
        self.expect(self.cpu + unknown >= row["run_ns"] - beside - dropped - late -
                    self.room(row["run_ns"]), f"CPU time is {self.cpu}, beside {beside}")
        each_ns = 100e3 if row["story"] == "touch" else SWITCH_NS  # woken long before it is queued
        self.between("runnable_ns", row["wait_ns"] - beside - dropped - asleep,
                     row["wait_ns"] + max(0, row["blocked_ns"] - slept) +
                     self.exec_ns() + max(0, -self.beside()), each_ns * row["switches"])

    def on_cpu_ns(self):
        """At most."""
        return 1.02 * self.row["run_ns"] + 200e3 + self.exec_ns()

    def check_unknown(self, most):
        unknown = self.time["unknown_ns"]
        self.expect(unknown <= most, f"unknown is {unknown}, {most} may be")

    def check_waits(self, below):
        """
        What is under it tells what it waited for. Of what it lost its CPU for while it began,
        ended, dropped or took up the span itself either may have it.
        """
        sums = {part: sum(s["time"][part] for s in below) for part in WAITS}
        sums = {part: (ns, self.time[part]) for part, ns in sums.items() if ns != self.time[part]}
        row = self.row
        edges = row["inner"][0] - row["outer"][0] + row["outer"][1] - row["inner"][1]
        if self.time["off_thread_ns"]:
            edges += SWITCH_NS * row["switches"]
        if list(sums) == ["runnable_ns"]:
            under, has = sums["runnable_ns"]
            if abs(under - has) <= edges:
                return
        self.expect(not sums, f"waits under it have (it has): {sums}")


def check_thread(rows, thread, seen):
    """A thread was on a CPU no longer than the kernel counted; None, or what is wrong."""
    begin, end = seen.range
    before = [row["thread"] for row in rows if row["thread"][0] <= begin]
    after = [row["thread"] for row in rows if row["thread"][0] >= end]
    if not before or not after:
        return None
    (_, ran_then, left_then), (_, ran, left) = max(before), min(after)
    ran, left = ran - ran_then, left - left_then
    told = sum(thread["time"][part] for part in ("user_ns", "kernel_ns", "cpu_ns"))
    # what a switch takes is the thread's in part
    if told <= ran + max(0.02 * ran, 200e3) + SWITCH_NS * left:
        return None
    return f"CPU time of the thread is {told}, the kernel counts {ran} and {left} switches"


def below(trace):
    """The waits under each span: {span id: [span]}."""
    by_id = {span["span_id"]: span for span in trace["spans"]}
    found = {}
    for span in trace["spans"]:
        above = span
        while span["kind"] == "wait" and "parent_id" in above and \
                above["parent_id"] in by_id:
            above = by_id[above["parent_id"]]
            found.setdefault(above["span_id"], []).append(span)
    return found


def places(trace):
    """Children that do not lie inside of their parents. A request may outlive who made it."""
    by_id = {span["span_id"]: span for span in trace["spans"]}
    for span in trace["spans"]:
        above = by_id.get(span.get("parent_id"))
        if not above or above.get("tid") != span.get("tid") or span["name"].startswith("execve"):
            continue
        end = span["begin_ns"] if span["kind"] in ("block", "io_uring") else span["end_ns"]
        if not above["begin_ns"] <= span["begin_ns"] <= end <= above["end_ns"]:
            yield f"{span} is not inside of {above}"
