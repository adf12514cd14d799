# SPDX-License-Identifier: Apache-2.0
"""Checks of tests that record nothing with the harness, as TAP."""


class Checks:
    """TAP."""

    def __init__(self):
        self.number = self.failed = 0

    def equal(self, name, got, wanted):
        self.number += 1
        if got != wanted:
            self.failed += 1
            print(f"# {name}: {got!r}, should be {wanted!r}")
        print(f"{'ok' if got == wanted else 'not ok'} {self.number} - {name}", flush=True)

    def skip(self, name, why):
        self.number += 1
        print(f"ok {self.number} - {name} # SKIP {why}", flush=True)
