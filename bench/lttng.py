# SPDX-License-Identifier: Apache-2.0
"""LTTng-UST as a peer: a session daemon of an ordinary user, in its own directory."""
import os
import pwd
import shutil
import subprocess
import time

from tell import say

USER = "nobody"  # as root the daemon would use the host's own directories
SESSION = "fathom-bench"
LEFT = "/dev/shm"  # where LTTng-UST leaves a file of each user behind, on purpose


class Lttng:
    def __init__(self, bench):
        self.home = bench.path("lttng")
        self.program = bench.program("lttng")
        self.daemon = None
        self.runs = False
        self.there = self.left()

    @staticmethod
    def left():
        return {name for name in os.listdir(LEFT) if name.startswith("lttng-ust-wait")}

    def missing(self):
        if not shutil.which("lttng-sessiond") or not shutil.which("lttng"):
            return "lttng-tools is not installed"
        if not os.path.exists(self.program):
            return "built without liblttng-ust-dev (meson setup --reconfigure)"
        if os.geteuid() != 0:
            return "not root"
        return None

    def run(self, *command, **options):
        return subprocess.run(command, env=self.environment, cwd=self.home, user=self.user.pw_uid,
                              group=self.user.pw_gid, extra_groups=[], text=True, check=True,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options).stdout

    def lttng(self, *arguments):
        self.run("lttng", "--no-sessiond", *arguments)

    def start(self):
        """Sets `runs`, or prints why this peer is missing."""
        why = self.missing()
        if why:
            say(f"  {why}: no ratio to LTTng-UST")
            return
        self.user = pwd.getpwnam(USER)
        os.makedirs(self.home)
        shutil.copy(self.program, self.home)  # the build directory may be readable for root only
        self.program = os.path.join(self.home, os.path.basename(self.program))
        os.chown(self.home, self.user.pw_uid, self.user.pw_gid)
        self.environment = {"PATH": os.environ["PATH"], "HOME": self.home, "LTTNG_HOME": self.home,
                            "LTTNG_UST_REGISTER_TIMEOUT": "5000"}
        self.daemon = subprocess.Popen(
            ["lttng-sessiond", "--no-kernel"], env=self.environment, cwd=self.home,
            user=self.user.pw_uid, group=self.user.pw_gid, extra_groups=[],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.session()
            self.runs = True
        except subprocess.CalledProcessError as failure:
            say(f"  {' '.join(failure.cmd)}: {failure.stderr.strip()}: no ratio to LTTng-UST")

    def session(self):
        """Uses buffers that are overwritten and not read, since our reader is not timed either."""
        for tries in range(100):
            try:
                self.lttng("list")
                break
            except subprocess.CalledProcessError:
                if tries == 99 or self.daemon.poll() is not None:
                    raise
                time.sleep(0.1)
        self.lttng("create", SESSION, "--snapshot", f"--output={self.home}/snapshots")
        self.lttng("enable-channel", "--userspace", "--subbuf-size=1M", "--num-subbuf=4",
                   "--session", SESSION, "spans")
        self.lttng("enable-event", "--userspace", "fathom_bench:*", "--channel", "spans",
                   "--session", SESSION)
        self.lttng("start", SESSION)

    def two_tracepoints_ns(self):
        return float(self.run(self.program, "1000").split()[1])

    def stop(self):
        if self.runs:
            self.lttng("destroy", SESSION)
        if self.daemon:
            self.daemon.terminate()
            self.daemon.wait()
            for name in self.left() - self.there:
                os.unlink(os.path.join(LEFT, name))
        self.runs, self.daemon = False, None
