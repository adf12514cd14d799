#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page over a recording of the thumbnail server: test.py FATHOM PROGRAMS MAKE-VIDEO PACKAGES PAGE

PROGRAMS is the folder of the thumbnail server, PACKAGES that with the page's packages of npm, PAGE that with the
built page. At the end the server gets a fault, which the page must tell in three clicks. With the variable
FATHOM_SCREENSHOTS it puts pictures of each view into that folder and checks nothing: of a server that had the fault
of FATHOM_SCREENSHOTS_FAULT (lock) for a minute, after a minute without it.
"""
import os
import subprocess
import sys
import tempfile

from faults import follow, normal_then
from host import Thumbnails, Up
from needed import missing, programs_of

HERE = os.path.dirname(os.path.abspath(__file__))
REQUESTS = 120
PICTURED_S = 60  # without the fault, and with it
SLOW = "2ms"  # whose waits are stored, so that there is something to see


def skip(why):
    print(f"1..1\nok 1 - page # SKIP {why}")
    sys.exit(0)


def run(script, *arguments):
    return subprocess.run(["node", f"{HERE}/{script}", *arguments], check=False, timeout=600).returncode


def pictures(up, thumbnails, packages):
    normal_then(up, thumbnails, os.environ.get("FATHOM_SCREENSHOTS_FAULT", "lock"), PICTURED_S)
    return run("screenshots.mjs", packages, up.base, os.environ["FATHOM_SCREENSHOTS"])


def checks(up, thumbnails, fathom, packages):
    thumbnails.request(REQUESTS)
    up.wait_until_it_rests()
    failed = run("recorded.mjs", packages, up.base, up.busiest()["service"], fathom, up.dir)
    thumbnails.load()
    return failed | follow(up, thumbnails, "lock", packages)


def main():
    fathom, programs, make_video, packages, page = sys.argv[1:]
    if os.geteuid() != 0:
        skip("recording needs root")
    lacks = missing(packages, page)
    if lacks:
        skip(lacks)
    with tempfile.TemporaryDirectory(prefix="fathom-page-") as folder:
        os.chmod(folder, 0o755)
        # requests of programs without spans come ten seconds later, while numbers are to stay as they are
        up = Up(fathom, folder, page, "--slow", SLOW, "--detail", "waits")
        try:
            thumbnails = Thumbnails(programs_of(programs, make_video), folder)
            try:
                if os.environ.get("FATHOM_SCREENSHOTS"):
                    return pictures(up, thumbnails, packages)
                return checks(up, thumbnails, fathom, packages)
            finally:
                thumbnails.end()
        finally:
            up.end()


if __name__ == "__main__":
    sys.exit(main())
