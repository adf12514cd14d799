# SPDX-License-Identifier: Apache-2.0
"""How many edges of requests through services that nobody instrumented are right."""
import os
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TESTS = os.path.join(ROOT, "tests/e2e")


def measured(bench, script, *options):
    folders = [TESTS, os.path.join(TESTS, "servers")]
    programs = [os.path.join(bench.build, "tests/e2e/requests", f"e2e-requests-{name}")
                for name in ("loop", "workers")]
    subprocess.run(
        [sys.executable, os.path.join(TESTS, "requests", script), bench.fathom, *programs, *options],
        env=dict(os.environ, PYTHONPATH=os.pathsep.join(folders)), check=True)


def requests_truth(bench):
    """a graph of services at 1, 8 and 64 requests at once: edges against the services' ledgers"""
    measured(bench, "measure.py", "--rounds", str(max(1, bench.rounds // 3)))


def requests_up(bench):
    """the same as `fathom up` stores it, and what following takes"""
    measured(bench, "measure_up.py")
