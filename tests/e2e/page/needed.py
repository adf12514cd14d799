# SPDX-License-Identifier: Apache-2.0
"""What tests of the page need beside fathom."""
import os
import shutil
import subprocess

BUILD_PAGE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../tools/build-page")


def missing(packages, page):
    """Puts the packages of npm into a folder; the reason why a test cannot run, or ""."""
    if not os.path.exists(f"{page}/index.html"):
        return "the page is not built"
    return browser_missing(packages)


def browser_missing(packages):
    """The same without a page."""
    if not shutil.which("chromium"):
        return "chromium is not installed"
    subprocess.run([BUILD_PAGE, "--dev", packages], check=True, timeout=300)
    if not os.path.isdir(f"{packages}/node_modules/playwright-core"):
        return "the packages of npm are not there"
    return ""


def programs_of(folder, make_video):
    """The programs of the thumbnail server by their names."""
    names = ("thumbnailer-server", "thumbnailer-client", "thumbnailer-rights")
    return {"make-video": make_video, **{name: os.path.join(folder, name) for name in names}}
