# SPDX-License-Identifier: Apache-2.0
"""Printing figures: the median, its interval, and the goal."""
import math
import statistics


def say(text):
    print(text, flush=True)


def interval(values):
    """The interval of the median with at least 95 % (order statistics); None: too few values."""
    n = len(values)
    outside, rank = 0.0, 0
    while True:
        outside += 2 * math.comb(n, rank) / 2 ** n
        if outside > 0.05:
            break
        rank += 1
    ordered = sorted(values)
    return (ordered[rank - 1], ordered[n - rank]) if rank else None


class Goal:
    """What a figure must reach and aims at; `most`: it must not be smaller, instead of larger."""

    def __init__(self, must, aim, most=False):
        self.must, self.aim, self.sign = must, aim, -1 if most else 1

    def __str__(self):
        return f"must {self.must:g}" + (f", aim {self.aim:g}" if self.aim is not None else "")

    def judge(self, low, high):
        """Judges a figure between low and high. It is not measurable if the goal lies between."""
        if self.sign < 0:
            low, high = -high, -low
        must, aim = self.sign * self.must, None if self.aim is None else self.sign * self.aim
        if aim is not None and high <= min(aim, must):  # a measured floor may lie above both
            return "aim reached"
        if high <= must:
            return "reached"
        return "NOT REACHED" if low > must else "not measurable"


def figure(name, value, unit, digits=1):
    """Prints a figure of one measurement, which cannot be judged."""
    say(f"  {name:48} {value:10.{digits}f} {unit}")


class Runs(list):
    """Values that were measured during recordings, and the number of records that these lost."""

    def __init__(self, values=(), lost=0):
        super().__init__(values)
        self.lost = lost

    def add(self, value, lost):
        self.append(value)
        self.lost += lost


def doubt(values, bounds):
    """Returns the reason why the values cannot be judged, or None."""
    if lost_in(values):
        return f"{lost_in(values)} records were lost"
    if not bounds:
        return "too few runs"
    if bounds[1] < 0:
        return "biased, as all of it is below zero"
    if bounds[0] <= 0:
        return "zero lies in it"
    return None if bounds[1] < math.inf else "the peer took nothing"


def lost_in(values):
    return getattr(values, "lost", 0)


def summary(name, values, unit, goal=None, digits=1):
    """
    Prints the median of a figure that was measured several times, with its 95 % interval and the
    records that were lost meanwhile. A goal is reached or not reached if the whole interval says
    so, and there is no other doubt.
    """
    bounds = interval(values)
    low, high = bounds or (min(values), max(values))
    why_not = doubt(values, bounds)
    judged = f"not measurable ({why_not})" if why_not else goal.judge(low, high) if goal else ""
    lost = f", {values.lost} lost" if isinstance(values, Runs) else ""
    say(f"  {name:48} {statistics.median(values):10.{digits}f} {unit}   "
        f"({'95 %' if bounds else 'too few'}: {low:.{digits}f} to {high:.{digits}f}, "
        f"{len(values)} runs{lost})" + (f"   {goal}:" if goal else "") +
        (f" {judged}" if goal else f"   {judged}" if judged else ""))


def ratio(name, ours, theirs, goal=None):
    """Prints the median of the ratios of pairs. A peer that took no time is infinitely better."""
    pairs = [a / b if b > 0 else math.inf for a, b in zip(ours, theirs)]
    if statistics.median(pairs) < math.inf:
        lost = lost_in(ours) + lost_in(theirs)
        summary(name, Runs(pairs, lost) if lost else pairs, "times", goal, 2)
    else:
        say(f"  {name:48} the peer could not be measured")
