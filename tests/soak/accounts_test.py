# SPDX-License-Identifier: Apache-2.0
"""accounts.py, and which loads count as working."""
import os
import sys
import unittest

sys.path[:0] = [os.path.dirname(os.path.abspath(__file__)),
                os.path.join(os.path.dirname(os.path.abspath(__file__)), "../e2e")]
sys.dont_write_bytecode = True
import accounts
import loads

BUFFER = 1


def lost(begin, end, count, kind=accounts.SWITCH, cpu=0, why=BUFFER):
    return begin, end, count, why, kind, cpu


class Losses(unittest.TestCase):
    def test_each_lost_one_is_taken_once(self):
        losses = accounts.Losses([lost(10, 20, 2)], accounts.SWITCH, 0)
        missing = [(5, 11, 1), (11, 12, 1), (18, 30, 1)]
        self.assertEqual(losses.untold(missing), [(18, 30, 1)])

    def test_only_of_its_time_kind_and_cpu(self):
        for other in (lost(0, 4, 9), lost(13, 20, 9), lost(10, 12, 9, accounts.WAKING),
                      lost(10, 12, 9, cpu=1), lost(10, 12, 9, why=accounts.WHY_APPLICATION)):
            losses = accounts.Losses([other], accounts.SWITCH, 0)
            self.assertEqual(losses.take(5, 12, 1), 1, other)
        for its in (lost(10, 12, 1, kind=0), lost(0, 5, 1), lost(12, 20, 1)):
            self.assertEqual(accounts.Losses([its], accounts.SWITCH, 0).take(5, 12, 1), 0, its)
        self.assertEqual(accounts.Losses([lost(0, 9, 1, cpu=7)], accounts.SWITCH).take(5, 12, 1), 0)

    def test_what_is_used_up_is_passed_over(self):
        losses = accounts.Losses([lost(i, i + 1, 1) for i in range(5)], accounts.SWITCH, 0)
        self.assertEqual(losses.take(0, 10, 3), 0)
        self.assertEqual(losses.take(0, 10, 3), 1)
        self.assertEqual(losses.take(0, 10, 1), 1)

    def test_around_a_cut(self):
        joined = accounts.Losses([lost(10, 20, 0), lost(20, 30, 3)], accounts.SWITCH, 0)
        self.assertEqual((joined.told, joined.open, joined.take(12, 13, 4)), (3, 0, 1))
        alone = accounts.Losses([lost(10, 20, 0)], accounts.SWITCH, 0)
        self.assertEqual((alone.told, alone.open, alone.take(12, 13, 4000)), (0, 1, 0))


class Stretches(unittest.TestCase):
    def test_touch(self):
        gaps = accounts.Stretches([(50, 60), (10, 20), (15, 17)])
        self.assertTrue(all(gaps.touch(*one) for one in ((0, 10), (12, 13), (18, 40), (0, 99))))
        self.assertFalse(any(gaps.touch(*one) for one in ((0, 9), (21, 49), (61, 70))))


class Growth(unittest.TestCase):
    def test_one_that_leaks_grows(self):
        flat = [(age, 9000, 50000 + age % 3, 900, 150 + age % 2) for age in range(90)]
        self.assertEqual(accounts.growth(flat),
                         [[9000, 9000], [50001, 50001], [900, 900], [150, 150]])
        leaks = [(age, 9000 + age * 50, 50000 + age * 50, 900 + age, 150 + age // 41)
                 for age in range(90)]
        self.assertTrue(all(last > first for first, last in accounts.growth(leaks)))


class Loads(unittest.TestCase):
    def test_faults(self):
        works = {"canary-0": 50, "redis": 5000, "redis-benchmark": 4}
        self.assertEqual(loads.faults({"redis": 1}, works), [])
        self.assertEqual(len(loads.faults({"canary-0": 1}, works)), 1)
        self.assertEqual(len(loads.faults({"redis": 40}, works)), 1)
        self.assertEqual(len(loads.faults({}, {**works, "redis": 0})), 1)


unittest.main()
