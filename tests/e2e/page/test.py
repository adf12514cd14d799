#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page over a recording of the thumbnail server: test.py FATHOM PROGRAMS MAKE-VIDEO PACKAGES PAGE

PROGRAMS is the folder of the thumbnail server, PACKAGES that with the page's packages of npm, PAGE that with the
built page. At the end the server gets a fault, which the page must tell in three clicks. With the variable
FATHOM_SCREENSHOTS it puts pictures of each view into that folder and checks nothing.
"""
import os
import subprocess
import sys
import tempfile

from faults import follow
from host import Thumbnails, Up
from needed import missing, programs_of

HERE = os.path.dirname(os.path.abspath(__file__))
REQUESTS = 120
SLOW = "2ms"  # whose waits are stored, so that there is something to see


def skip(why):
    print(f"1..1\nok 1 - page # SKIP {why}")
    sys.exit(0)


def read(up, fathom, packages):
    pictures = os.environ.get("FATHOM_SCREENSHOTS")
    script = "screenshots.mjs" if pictures else "recorded.mjs"
    done = subprocess.run(["node", f"{HERE}/{script}", packages, up.base, up.busiest()["service"],
                           *([pictures] if pictures else [fathom, up.dir])], check=False, timeout=600)
    return done.returncode


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
                thumbnails.request(REQUESTS)
                up.wait_until_it_rests()
                failed = read(up, fathom, packages)
                if not os.environ.get("FATHOM_SCREENSHOTS"):
                    thumbnails.load()
                    failed |= follow(up, thumbnails, "lock", packages)
                return failed
            finally:
                thumbnails.end()
        finally:
            up.end()


if __name__ == "__main__":
    sys.exit(main())
