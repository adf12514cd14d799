# SPDX-License-Identifier: Apache-2.0
"""Common to all rows: the programs, a directory for recordings, recorders and peers."""
import collections
import os
import re
import shutil
import signal
import subprocess
import tempfile
import time

CALLS = 2000000
SETTLE_S = 1.5  # reported if it is there
ATTACH_S = 30
TICKS = os.sysconf("SC_CLK_TCK")


def quiet(command, **options):
    return subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=True, **options)


def output(command, **options):
    return subprocess.run(command, text=True, check=True, stdout=subprocess.PIPE,
                          **options).stdout


def cpu_seconds(command):
    """CPU time, user and system, of a command and its children."""
    before = os.times()
    quiet(command)
    after = os.times()
    return (after.children_user - before.children_user +
            after.children_system - before.children_system)


def host_ticks():
    """Busy and stolen ticks of the host."""
    with open("/proc/stat", encoding="ascii") as text:
        user, nice, system, _, _, irq, softirq, steal = map(int, text.readline().split()[1:9])
    return user + nice + system + irq + softirq, steal


class Machine:
    """Conditions of a row: other load on this machine, and time that its host stole."""

    def __init__(self):
        self.load, self.since, self.steal = os.getloadavg()[0], time.monotonic(), host_ticks()[1]

    def told(self):
        stolen_s = (host_ticks()[1] - self.steal) / TICKS
        cpus_s = (time.monotonic() - self.since) * os.cpu_count()
        return (f"the machine: load {self.load:.1f} before, {stolen_s:.1f} s of {cpus_s:.0f} s "
                "on its CPUs stolen by the host")


def descendants(pid):
    """A process and all its descendants."""
    found = [pid]
    for parent in found:
        try:
            for task in os.listdir(f"/proc/{parent}/task"):
                with open(f"/proc/{parent}/task/{task}/children", encoding="ascii") as text:
                    found += map(int, text.read().split())
        except OSError:  # it ended meanwhile
            continue
    return [each for each in found if os.path.exists(f"/proc/{each}")]


def used_ticks(pid):
    """CPU time of a process, and of its children that ended."""
    with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as text:
        return sum(map(int, text.read().rpartition(")")[2].split()[11:15]))


def used_seconds(pid):
    """CPU time of a process and of its descendants, including those that ended."""
    while True:
        try:
            return sum(map(used_ticks, descendants(pid))) / TICKS
        except OSError:  # a child ended meanwhile: its time may be counted at its parent by now
            continue


def links_of(pid):
    """The number of programs that a process and its descendants have attached to the kernel."""
    try:
        return sum("bpf_link" in os.readlink(f"/proc/{each}/fd/{name}")
                   for each in descendants(pid) for name in os.listdir(f"/proc/{each}/fd"))
    except OSError:  # one was closed meanwhile, or the process has ended
        return 0


class Recorder:
    """A recorder in the background, `fathom record`, `perf record`, or programs that do nothing."""

    def __init__(self, command, target, settle_s=SETTLE_S):
        shutil.rmtree(target, ignore_errors=True)
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        try:
            if os.path.basename(command[0]) != "perf":
                self.wait_attached()
            time.sleep(settle_s)
        except BaseException:
            self.stop()
            raise
        if self.process.poll() is not None:
            raise RuntimeError(f"{command[0]} ended: {self.process.communicate()[1].strip()}")

    def wait_attached(self):
        """Waits until its programs are attached, and their number does not change any more."""
        links, until = 0, time.monotonic() + ATTACH_S
        while self.process.poll() is None and time.monotonic() < until:
            before, links = links, links_of(self.process.pid)
            if links and links == before:
                break
            time.sleep(0.1)

    def stop(self):
        """Ends the recorder, and returns its output."""
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate()[1]


PEER_EVENTS = ("raw_syscalls:sys_enter,raw_syscalls:sys_exit,sched:sched_switch,"
               "sched:sched_waking")


def perf_command(data):
    """`perf record` on the whole host, of the tracepoints that give fathom most of its records."""
    return ["perf", "record", "-a", "-m", "8M", "-e", PEER_EVENTS, "-o", data]


def lost_events(said):
    """The lost records in the last output of a recorder."""
    found = re.search(r"(\d+) LOST|[Ll]ost (\d+)", said)
    return int(found.group(1) or found.group(2)) if found else 0


class Ftrace:
    """An instance of ftrace, in memory and without a reader."""

    def __init__(self):
        self.directory = None
        for root in ("/sys/kernel/tracing", "/sys/kernel/debug/tracing"):
            if os.access(os.path.join(root, "instances"), os.W_OK):
                self.directory = os.path.join(root, "instances", f"fathom-bench-{os.getpid()}")

    def set_on(self, on):
        switch = os.path.join(self.directory, "events/raw_syscalls/enable")
        with open(switch, "w", encoding="ascii") as text:
            text.write("1" if on else "0")

    def around(self, measure):
        os.mkdir(self.directory)
        try:
            self.set_on(True)
            return measure()
        finally:
            self.set_on(False)
            os.rmdir(self.directory)


Turn = collections.namedtuple("Turn", "ns lost")  # how long it takes; records lost meanwhile


class Bench:
    """One run of the benchmarks, with the options of `run`."""

    def __init__(self, options):
        self.build = os.path.abspath(options.build)
        self.fathom = os.path.join(self.build, "src/cli/fathom")
        self.rounds, self.pairs = options.rounds, options.pairs
        self.long = options.long
        self.seconds, self.records = options.seconds, options.records
        self.spans = options.spans
        self.dir = tempfile.mkdtemp(prefix="fathom-bench-")
        os.chmod(self.dir, 0o755)  # servers run as other users
        self.kept = {}  # recordings that several rows read, by name

    def path(self, name):
        return os.path.join(self.dir, name)

    def program(self, name):
        return os.path.join(self.build, "bench", f"bench-{name}")

    def close(self):
        shutil.rmtree(self.dir, ignore_errors=True)

    @staticmethod
    def turn(*command):
        """Runs a program under bench/, with the command that records it, if any."""
        result = subprocess.run(command, text=True, check=True, capture_output=True)
        return Turn(float(re.search(r"ns_per_call ([\d.]+)", result.stdout).group(1)),
                    lost_events(result.stderr))

    def loop(self, *before):
        """The time of getppid in a loop, under the command `before`."""
        return self.turn(*before, self.program("loop"), str(CALLS))

    def record(self, *options):
        """The begin of a command line that records the command appended to it."""
        target = self.path("record")
        shutil.rmtree(target, ignore_errors=True)
        return [self.fathom, "record", "-o", target, *options, "--"]

    def record_host(self, *options):
        target = self.path("host")
        return Recorder([self.fathom, "record", "-o", target,
                         *(options or ["-a", "--detail", "calls"])], target)

    def chunk_of(self, directory):
        """The only chunk of a recording, and its number of records."""
        listing = output([self.fathom, "chunks", directory])
        chunk = next(os.path.join(directory, name) for name in sorted(os.listdir(directory))
                     if name[0].isdigit())
        return chunk, int(re.search(r"chunks?, (\d+) records", listing).group(1))
