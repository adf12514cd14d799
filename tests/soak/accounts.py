# SPDX-License-Identifier: Apache-2.0
"""What a recording misses, held against what it says it has lost. Knows numbers only."""
import bisect
import statistics

MS = 1000000
SWITCH, WAKING, SYSCALL = 9, 10, 11  # record/record.h
WHY_APPLICATION = 3
NO_NUMBER = 1 << 62
LONGEST = 60000 * MS  # of a loss: none goes on across the end of a chunk


class Losses:
    """
    Where records of a kind were lost on a CPU (None: on any), and how many: each
    is taken for a missing one. Stretches are (begin, end, count, why, kind, cpu).
    """

    def __init__(self, stretches, kind, cpu=None):
        self.stretches, cut, self.open = [], {}, 0
        for begin, end, count, why, of, on in sorted(stretches, key=lambda stretch: stretch[1]):
            if of not in (0, kind) or why == WHY_APPLICATION or cpu not in (None, on):
                continue
            before = cut.pop((why, of, on), None)
            if before and begin > before[1]:
                self.end(*before)
            elif before:
                begin = before[0]
            if count:
                self.stretches.append([begin, end, count])
            else:  # around a cut: the chunk that follows has the number
                cut[why, of, on] = begin, end
        for before in cut.values():
            self.end(*before)
        self.stretches.sort(key=lambda stretch: stretch[1])
        self.ends = [end for _, end, _ in self.stretches]
        self.after = list(range(len(self.ends) + 1))  # the next one that has some left
        self.told = sum(count for _, _, count in self.stretches if count < NO_NUMBER)

    def end(self, begin, end):
        """Nothing followed, since a kill took it: so many that nobody knows."""
        self.open += 1
        self.stretches.append([begin, end, NO_NUMBER])

    def left_from(self, i):
        while self.after[i] != i:
            self.after[i] = self.after[self.after[i]]
            i = self.after[i]
        return i

    def take(self, begin, end, missing):
        """Of so many that are missing between these times, how many nothing tells."""
        i = self.left_from(bisect.bisect_left(self.ends, begin))
        while missing and i < len(self.ends) and self.ends[i] <= end + LONGEST:
            if self.stretches[i][0] <= end:
                taken = min(missing, self.stretches[i][2])
                self.stretches[i][2] -= taken
                missing -= taken
                if not self.stretches[i][2]:
                    self.after[i] = i + 1
            i = self.left_from(i + 1)
        return missing

    def untold(self, missing):
        """Those (begin, end, count) of which nothing tells as many as that."""
        return [one for one in sorted(missing, key=lambda one: one[1]) if self.take(*one)]


class Stretches:
    """Of time, in which records may be missing."""

    def __init__(self, pairs):
        self.joined = []
        for begin, end in sorted(pairs):
            if self.joined and begin <= self.joined[-1][1]:
                self.joined[-1][1] = max(self.joined[-1][1], end)
            else:
                self.joined.append([begin, end])

    def touch(self, begin, end):
        i = bisect.bisect_right(self.joined, [end, NO_NUMBER])
        return i > 0 and self.joined[i - 1][1] >= begin


def growth(samples):
    """
    Of (age, memory in KB, RSS in KB, KB of kernel maps, fds) of a process: [at first, at last].
    Rings of programs come and go, and a chunk is read before it is deleted, which of one that a
    crash left takes memory for a while: so the fds are the fewest, and the memory the least.
    """
    third = len(samples) // 3
    parts = samples[:third], samples[-third:]
    return [[of(sample[i] for sample in part) for part in parts]
            for i, of in ((1, min), (2, statistics.median), (3, statistics.median),
                          (4, min))]
