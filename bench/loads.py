# SPDX-License-Identifier: Apache-2.0
"""Servers, each in its own directory, and their load generators."""
import os
import pwd
import re
import shutil
import subprocess
import time

from host import descendants, quiet
from loopback import free_port, nginx_command

CONNECTIONS = 16
VIDEO_S = 60


def first_line(process, pattern):
    """Waits for the line that a server prints when it is ready."""
    found = re.match(pattern, process.stdout.readline())
    if not found:
        raise RuntimeError(f"{process.args[0]} did not start")
    return found.group(1)


class Server:
    """
    The common part of all servers. A subclass lists the programs that it `needs`, and starts
    self.process. Its load_command() returns the command that loads the server for a time, and
    load_read() reads the output of this command.
    """
    needs = ()

    @classmethod
    def missing(cls):
        """The programs that it needs and that are not installed."""
        return [name for name in cls.needs if not shutil.which(name)]

    def __init__(self, bench):
        self.dir = bench.path(type(self).__name__)
        os.makedirs(self.dir)
        os.chmod(self.dir, 0o755)
        self.process = None

    def pids(self):
        return descendants(self.process.pid)

    def load_start(self, seconds):
        return subprocess.Popen(self.load_command(seconds), stdout=subprocess.PIPE,
                                stderr=subprocess.DEVNULL, text=True)

    def load_end(self, load):
        """Requests per second, and their number."""
        text = load.communicate()[0]
        if load.returncode:
            raise RuntimeError(f"{load.args[0]} ended with {load.returncode}")
        return self.load_read(text)

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait()
            if self.process.stdout:
                self.process.stdout.close()
        shutil.rmtree(self.dir, ignore_errors=True)  # another row may start the same server


class UnderWrk(Server):
    url = None

    def load_command(self, seconds):
        return ["wrk", "-t", "1", "-c", str(CONNECTIONS), "-d", f"{seconds}s", self.url]

    @staticmethod
    def load_read(text):
        return (float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1)),
                int(re.search(r"(\d+) requests in", text).group(1)))


class Nginx(UnderWrk):
    """nginx under wrk: a server that does nothing but system calls."""
    needs = ("nginx", "wrk")

    def __init__(self, bench):
        super().__init__(bench)
        port = free_port()
        self.url = f"http://127.0.0.1:{port}/page.html"
        command = nginx_command(self.dir, port,
                                "access_log off; keepalive_requests 1000000000;")
        with open(os.path.join(self.dir, "page.html"), "w", encoding="ascii") as text:
            text.write("x" * 600)
        self.process = subprocess.Popen(command)
        time.sleep(0.5)


class Epoll(UnderWrk):
    """A small server linked with libfathom, a span for each request, one in a thousand sampled."""
    needs = ("wrk",)

    def __init__(self, bench):
        super().__init__(bench)
        self.process = subprocess.Popen([bench.program("epoll"), "1/1000"],
                                        stdout=subprocess.PIPE, text=True)
        self.url = f"http://127.0.0.1:{first_line(self.process, r'port ([0-9]+)')}/"


class Redis(Server):
    """redis under redis-benchmark."""
    needs = ("redis-server", "redis-benchmark")

    def __init__(self, bench):
        super().__init__(bench)
        self.port = str(free_port())
        self.process = subprocess.Popen(
            ["redis-server", "--port", self.port, "--bind", "127.0.0.1", "--save", "",
             "--appendonly", "no", "--dir", self.dir], stdout=subprocess.DEVNULL)
        time.sleep(0.5)

    def load_command(self, seconds):
        self.requests = 40000 * seconds
        return ["redis-benchmark", "-p", self.port, "-P", "1", "-c", "50", "-t", "get", "-q",
                "-n", str(self.requests)]

    def load_read(self, text):
        return float(re.findall(r"([\d.]+) requests per second", text)[-1]), self.requests


class Postgres(Server):
    """PostgreSQL under pgbench with its own script, by a Unix socket, as an ordinary user."""
    needs = ("pgbench",)
    user = "postgres"

    @staticmethod
    def program(name):
        """Finds programs of the server, which Debian keeps out of PATH."""
        root = "/usr/lib/postgresql"
        versions = sorted(os.listdir(root), key=float) if os.path.isdir(root) else []
        path = os.path.join(root, versions[-1], "bin", name) if versions else name
        return path if os.path.exists(path) else shutil.which(name)

    @classmethod
    def missing(cls):
        return super().missing() + [name for name in ("initdb", "postgres")
                                    if not cls.program(name)]

    def __init__(self, bench):
        super().__init__(bench)
        who = pwd.getpwnam(self.user)
        as_user = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": [], "cwd": self.dir}
        os.chown(self.dir, who.pw_uid, who.pw_gid)
        data = os.path.join(self.dir, "data")
        quiet([self.program("initdb"), "-D", data, "-A", "trust", "-U", self.user, "--no-sync"],
              **as_user)
        self.process = subprocess.Popen(
            [self.program("postgres"), "-D", data, "-k", self.dir, "-c", "listen_addresses=",
             "-c", "checkpoint_timeout=1h", "-c", "max_wal_size=8GB"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **as_user)
        try:
            self.fill()
        except BaseException:
            self.stop()
            raise

    def fill(self):
        for tries in range(100):
            if os.path.exists(os.path.join(self.dir, ".s.PGSQL.5432")):
                break
            if tries == 99 or self.process.poll() is not None:
                raise RuntimeError("postgres did not start")
            time.sleep(0.1)
        time.sleep(0.5)
        quiet(["pgbench", "-h", self.dir, "-U", self.user, "-i", "-q", "-s", "10", "postgres"])

    def load_command(self, seconds):
        return ["pgbench", "-h", self.dir, "-U", self.user, "-n", "-c", "8", "-T", str(seconds),
                "postgres"]

    @staticmethod
    def load_read(text):
        return (float(re.search(r"tps = ([\d.]+)", text).group(1)),
                int(re.search(r"actually processed: (\d+)", text).group(1)))


class PostgresSimple(Postgres):
    """The same without the rows that all transactions update, for which they wait."""

    def load_command(self, seconds):
        program, *rest = super().load_command(seconds)
        return [program, "-N", *rest]


class Thumbnailer(Server):
    """The thumbnail server of the example and its client: the same pictures each time."""
    needs = ("ffmpeg",)
    per_second = 12  # requests of a run, so that it takes about this long

    def __init__(self, bench):
        super().__init__(bench)
        here = os.path.join(os.path.dirname(__file__), "..", "examples", "thumbnailer")
        programs = os.path.join(bench.build, "examples", "thumbnailer")
        self.client = os.path.join(programs, "thumbnailer-client")
        quiet([os.path.join(here, "make-video"), os.path.join(self.dir, "video.mp4"),
               str(VIDEO_S)])
        self.process = subprocess.Popen([os.path.join(programs, "thumbnailer-server"), "-t", "4",
                                         self.dir], stdout=subprocess.PIPE, text=True)
        self.port = first_line(self.process, r"port ([0-9]+)")

    def load_command(self, seconds):
        return [self.client, "-p", self.port, "-v", "video.mp4", "-c", "4", "-l", str(VIDEO_S),
                "-n", str(self.per_second * seconds)]

    @staticmethod
    def load_read(text):
        return (float(re.search(r"per_second ([\d.]+)", text).group(1)),
                int(re.search(r"requests (\d+)", text).group(1)))


def server_missing(kind):
    """Returns the reason why there is no figure, or None."""
    names = kind.missing()
    return f"  {', '.join(names)} not installed: no figure" if names else None
