#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records a command whose system calls are known, and asks for all of them."""
import fcntl
import os
import pwd
import re
import shutil
import signal
import subprocess
import sys
import time

import harness
from harness import check, equal
from privileges import CAPABILITIES, NOBODY, binary_for_all, directory_of, with_capabilities

harness.require_root()
fathom = harness.Fathom(sys.argv[1])
CALLS = os.path.abspath(sys.argv[2])
N = 5000
tests = harness.Tests()
before = harness.programs_left(set())
recording = None


@tests.add
def records_the_command():
    global recording
    recording = fathom.record("calls", "--", CALLS, N)
    lost = fathom.report(recording, "syscall")["lost"]
    equal(lost["total"], 0, "lost records")


@tests.add
def counts_every_call_exactly_once():
    rows = {row["key"]: row for row in fathom.report(recording, "syscall")["rows"]}
    for name in ("getppid", "gettid", "getuid"):
        equal(rows[name]["count"], N, name)
    equal(rows["nanosleep"]["count"], 10, "nanosleep")
    equal(rows["wait4"]["count"], 1, "wait4")
    check("exit_group" not in rows, "a call that does not return is not counted")
    check(rows["nanosleep"]["time"]["timer_ns"] >= 10 * 2000000, "sleep is timer")


@tests.add
def what_is_cut_is_counted():
    """A command line that is longer than its record: in the chunk, and in the summary."""
    path = fathom.path("cut")
    result = fathom.run("record", "-o", path, "--", "/bin/true", "x" * 20000)
    equal(result.returncode, 0, "status")
    counts = [chunk["incomplete"] for chunk in fathom.chunks(path)]
    check(sum(counts) > 0, f"incomplete: {counts}")
    check(f", {sum(counts)} incomplete field" in result.stderr, result.stderr)


@tests.add
def what_the_snapshot_cuts_is_counted():
    """The command line of a process that runs already: capture reads it from /proc."""
    for argument, cut in (("x" * 3000, 1), ("x", 0)):
        path = fathom.path(f"cut-{len(argument)}")
        command = ["python3", "-c", "import time; print(flush=True); time.sleep(600)", argument]
        with harness.Process(command, stdout=subprocess.PIPE) as sleeper:
            sleeper.stdout.readline()
            fathom.ok("record", "-o", path, "-p", str(sleeper.pid), "-d", "200ms")
            sleeper.kill()
        equal(sum(chunk["incomplete"] for chunk in fathom.chunks(path)), cut,
              f"incomplete, with an argument of {len(argument)} bytes")


@tests.add
def numbers_of_no_table():
    """Their low bits are those of close(): nothing was closed."""
    spans = [span for trace in fathom.trace_all(recording)["traces"] for span in trace["spans"]]
    none = [span["attributes"]["result"] for span in spans if span["name"] == "syscall_0xffff"]
    equal(none, [-38], "calls with a number that there cannot be")
    after = [span["attributes"].get("fd.name") for span in spans if span["name"] == "fcntl"]
    check("/etc/passwd" in after, f"the file is still open: {after}")


@tests.add
def a_command_for_each_chunk():
    """Each gets its turn, in the order of the chunks, eight at once at most."""
    told = fathom.path("told")
    path = fathom.record("hooked", "--rotate", "20ms", "--on-chunk",
                         f'echo "+ $1" >> {told}; sleep 0.5; echo "- $1" >> {told}', "--",
                         "sleep", "0.6")
    with open(told, encoding="ascii") as file:
        lines = [line.split() for line in file]
    running = most = 0
    for what, _ in lines:
        running += 1 if what == "+" else -1
        most = max(most, running)
    equal(sorted(chunk for what, chunk in lines if what == "-"),
          sorted(chunk["path"] for chunk in fathom.chunks(path)), "chunks told")
    check(2 <= most <= 8, f"at once: {most}")


@tests.add
def a_command_that_hangs_holds_nothing_of_the_recording():
    """The next recorder begins meanwhile, and a signal ends the wait."""
    directory = fathom.path("hanging")
    with subprocess.Popen([fathom.binary, "record", "-o", directory, "--on-chunk",
                           "exec sleep 300 #", "--", "true"], stderr=subprocess.PIPE,
                          text=True) as recorder:
        try:
            check("nothing lost" in recorder.stderr.readline(), "the recording ended")
            cost = recorder.stderr.readline()
            check(cost.startswith("fathom took "), f"the cost is said: {cost}")
            harness.until(lambda: fathom.run("record", "-o", directory, "--", "true").returncode
                          == 0, "another recorder in its place", 20)
            check(recorder.poll() is None, "it waits for its command")
            recorder.send_signal(signal.SIGTERM)
            begin = time.monotonic()
            said = recorder.stderr.readline()
            equal(recorder.wait(30), 0, "status")
            check(time.monotonic() - begin < 20, "and ends soon after the signal")
        finally:
            recorder.kill()
    check(said.startswith(f"fathom: --on-chunk still runs for {directory}/"), said)
    os.kill(int(said.split("(pid ")[1].split(")")[0]), signal.SIGKILL)


@tests.add
def a_command_for_a_chunk_inherits_no_descriptor():
    """Also none that the caller left open for its children."""
    told = fathom.path("told-open")
    with open("/etc/hostname", encoding="utf-8") as file:
        opened = fcntl.fcntl(file, fcntl.F_DUPFD, 57)
    os.set_inheritable(opened, True)
    try:
        result = fathom.run("record", "-o", fathom.path("hooked-open"), "--on-chunk",
                            f'ls /proc/self/fd >{told}; : "$1"', "--", "true", close_fds=False)
    finally:
        os.close(opened)
    equal(result.returncode, 0, f"status: {result.stderr}")
    with open(told, encoding="ascii") as file:
        equal(file.read().split(), ["0", "1", "2", "3"], "descriptors; the last is that of ls")


@tests.add
def a_buffer_that_the_host_has_not_is_refused():
    where = fathom.path("too-large")
    result = fathom.run("record", "-o", where, "--buffer", "100T", "--", "true")
    equal(result.returncode, 1, "status")
    check("more than half of this host's memory" in result.stderr, result.stderr)
    check(not os.path.exists(where), "and nothing is made")


@tests.add
def a_command_that_does_not_ask_gets_the_path_last():
    told = fathom.path("told-last")
    path = fathom.record("hooked-last", "--on-chunk", f">> {told} echo chunk:", "--", "true")
    with open(told, encoding="ascii") as file:
        equal(file.read().split(), ["chunk:", fathom.chunks(path)[0]["path"]], "told")


@tests.add
def sums_are_exact():
    harness.check_sums(fathom, recording)


@tests.add
def first_record_is_the_exec():
    names = [row["process"] for row in fathom.report(recording, "process")["rows"]]
    equal(names, ["e2e-calls", "e2e-calls"], "processes")
    users = [row["key"] for row in fathom.report(recording, "user")["rows"]]
    equal(users, [pwd.getpwuid(os.getuid()).pw_name], "users")
    threads = fathom.report(recording, "thread")["rows"]
    equal(len(threads), 3, "threads")


@tests.add
def calls_have_arguments_and_results():
    traces = fathom.trace_all(recording)["traces"]
    spans = [span for trace in traces for span in trace["spans"]]
    opens = [span["attributes"] for span in spans if span["name"] == "openat"]
    missing = [a for a in opens if "ENOENT" == a.get("error.type")]
    check(any(a["result"] == -2 for a in missing), f"the open that fails: {opens}")
    seek = next(span for span in spans if span["name"] == "lseek" and
                span["attributes"]["args"].endswith("7, SEEK_SET"))
    equal(seek["attributes"]["result"], 7, "result of lseek")
    equal(seek["attributes"].get("fd.name"), "/etc/passwd", "name of the fd")
    roots = [s for s in spans if s["kind"] == "thread"]
    equal(len(roots), 3, "roots")
    ids = {span["span_id"] for span in spans}
    equal(len(ids), len(spans), "span ids are unique")
    harness.check_trees(traces)


NAMES = """
import ctypes, os, select, socket
pipes = [os.pipe() for _ in range(5)]
os.writev(pipes[3][1], [b"abc", b"de"])
for count in (2, 5):
    poll = select.poll()
    for read, _ in (pipes[3:] if count == 2 else pipes):
        poll.register(read, select.POLLIN)
    poll.poll()
os.readv(pipes[3][0], [bytearray(7)])
ctypes.CDLL(None).syscall(241, b"no queue")
os.memfd_create("a memory file")
for family, address in ((socket.AF_UNIX, "/no/socket"), (socket.AF_UNIX, "\\0abstract"),
                        (socket.AF_INET, ("127.0.0.1", 1)), (socket.AF_INET6, ("::1", 1))):
    socket.socket(family).connect_ex(address)
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("127.0.0.1", 9))
os.execv("/bin/true", ["true", 'a "word"'])
"""


@tests.add
def arguments_are_told_whose_memory_other_records_know():
    """As strace shows them: names, addresses, and what was executed with what."""
    path = fathom.record("names", "--", sys.executable, "-c", NAMES)
    args = {}
    calls = [span for trace in fathom.trace_all(path)["traces"] for span in trace["spans"]
             if span["kind"] == "syscall" and "args" in span["attributes"]]
    for span in calls:
        args.setdefault(span["name"], []).append(span["attributes"]["args"])
    check(args["memfd_create"][0].startswith('"a memory file", '), f"{args['memfd_create']}")
    inet = '{{sa_family=AF_INET, sin_port=htons({}), sin_addr=inet_addr("127.0.0.1")}}, 16'
    equal([one.partition(", ")[2] for one in args["connect"][-4:]], [
        '{sa_family=AF_UNIX, sun_path="/no/socket"}, 13',
        '{sa_family=AF_UNIX, sun_path=@"abstract"}, 11', inet.format(1),
        '{sa_family=AF_INET6, sin6_port=htons(1), inet_pton(AF_INET6, "::1", &sin6_addr)}, 28'],
          "connect")
    check(args["mq_unlink"] == ['"no queue"'], f"{args['mq_unlink']}")
    check(args["writev"][-1].endswith(", [{iov_len=3}, {iov_len=2}], 2"), f"{args['writev']}")
    check(args["readv"][-1].endswith(", [{iov_len=7}], 1"), f"{args['readv']}")
    fds = [int(word) for word in re.findall(r"fd=([0-9]+), events=POLLIN}", args["poll"][-2])]
    equal(args["poll"][-2:], [
        f"[{{fd={fds[0]}, events=POLLIN}}, {{fd={fds[1]}, events=POLLIN}}], 2, -1",
        f"[{{fd={fds[0]}, events=POLLIN}}, ...], 5, -1"], "what is polled")
    equal([span["attributes"].get("poll.ready") for span in calls if span["name"] == "poll"][-2:],
          [f"[{{fd={fds[0]}, revents=POLLIN}}]"] * 2, "what was ready")
    check(args["execve"][-1].startswith(r'"/bin/true", ["true", "a \"word\""], 0x'), f"{args['execve']}")
    check(args["sendto"][0].endswith(", 1, 0, " + inet.format(9)), f"{args['sendto']}")


@tests.add
def agrees_with_babeltrace():
    return harness.check_babeltrace(fathom, recording)


@tests.add
def same_input_gives_same_bytes():
    first = fathom.ok("trace", "--json", "--all", recording)
    equal(fathom.ok("trace", "--json", "--all", recording), first, "a second look")
    check(fathom.ok("report", recording).strip(), "the report says something")


@tests.add
def keeps_the_status_of_the_command():
    equal(fathom.run("record", "-o", fathom.path("s"), "--", "sh", "-c", "exit 7").returncode, 7,
          "status")
    equal(fathom.run("record", "-o", fathom.path("s"), "--", "sh", "-c", "kill -9 $$").returncode,
          137, "killed")
    equal(fathom.run("record", "-o", fathom.path("s"), "--", "/no/such/program").returncode, 127,
          "not there")
    equal(fathom.run("record", "-o", fathom.path("s"), "--", "/etc/passwd").returncode, 126,
          "not a program")


@tests.add
def what_cannot_begin_leaves_no_directory():
    """But one that was there stays."""
    for options in (["--", "/no/such/program"], ["-p", "4194305"]):
        path = fathom.path("never")
        check(fathom.run("record", "-o", path, *options).returncode != 0, f"it fails: {options}")
        check(not os.path.exists(path), f"it is gone: {options}")
    os.mkdir(path)
    fathom.run("record", "-o", path, "--", "/no/such/program")
    check(os.path.isdir(path), "it stays")


@tests.add
def the_command_inherits_what_the_caller_left_open():
    """And nothing of the recorder's."""
    listing = fathom.run("record", "-o", fathom.path("i"), "--", "ls", "/proc/self/fd").stdout
    equal(listing.split(), ["0", "1", "2", "3"], "fds of the command (3 is its listing)")
    with open("/etc/hostname", encoding="utf-8") as file:
        opened = [fcntl.fcntl(file, fcntl.F_DUPFD, least) for least in (57, 300)]
    for fd in opened:
        os.set_inheritable(fd, True)
    try:
        listing = fathom.run("record", "-o", fathom.path("i2"), "--event",
                             "sched:sched_process_exec", "--stacks", "10ms", "--", "ls",
                             "/proc/self/fd", close_fds=False).stdout
        without = subprocess.run(["ls", "/proc/self/fd"], close_fds=False, text=True,
                                 capture_output=True, check=True).stdout
    finally:
        for fd in opened:
            os.close(fd)
    equal(sorted(listing.split()), sorted(without.split()), "with those of the caller")
    check(set(map(str, opened)) <= set(listing.split()), f"{opened} are among {listing}")
    if shutil.which("bash"):
        given = subprocess.run(["bash", "-c", 'exec "$0" "$@" <(echo given)', fathom.binary,
                                "record", "-o", fathom.path("i3"), "--", "cat"], text=True,
                               capture_output=True, timeout=60)
        equal((given.returncode, given.stdout), (0, "given\n"), given.stderr)


@tests.add
def ctrl_c_ends_a_recording_of_the_host():
    recorder = subprocess.Popen([fathom.binary, "record", "-o", fathom.path("host")],
                                stderr=subprocess.PIPE, text=True)
    harness.until(lambda: fathom.run("rotate", fathom.path("host")).returncode == 0 or
                  recorder.poll() is not None, "it records")
    subprocess.run(["ls", "/"], stdout=subprocess.DEVNULL)
    time.sleep(0.2)
    recorder.send_signal(signal.SIGINT)
    _, stderr = recorder.communicate(timeout=60)
    equal(recorder.returncode, 0, f"status after Ctrl-C: {stderr}")
    names = {row["process"] for row in fathom.report(fathom.path("host"), "process")["rows"]}
    check("ls" in names, f"ls is among {names}")
    check(recorder.pid not in {row.get("pid") for row in
                               fathom.report(fathom.path("host"), "process")["rows"]},
          "fathom does not record itself")
    harness.check_sums(fathom, fathom.path("host"))


@tests.add
def four_capabilities_record_the_host():
    path = directory_of(fathom, NOBODY, "capable") + "/host"
    result = subprocess.run([*with_capabilities(CAPABILITIES), binary_for_all(fathom), "record",
                             "-o", path, "-d", "300ms"], text=True, capture_output=True, timeout=60,
                            cwd=fathom.dir)
    equal(result.returncode, 0, f"the host: {result.stderr}")
    names = {row["process"] for row in fathom.report(path, "process")["rows"]}
    check(len(names) > 3, f"processes of others are seen: {names}")


@tests.add
def the_level_follows_what_is_recorded():
    for name, words, level, said in (
            ("level-host", ["-d", "0.3"], "waits",
             "recording waits of the whole host for 300 ms; --detail calls records each call, too"),
            ("level-all", ["-a", "--", "sleep", "0.1"], "waits",
             "waits of the whole host while the command runs; --detail calls"),
            ("level-given", ["--detail", "calls", "-d", "0.3"], None,
             "recording calls of the whole host"),
            ("level-raised", ["--syscalls", "read", "-d", "0.3"], None,
             "because --syscalls is given"),
            ("level-process", ["-p", os.getpid(), "-d", "0.3"], None,
             "recording calls of the process and its children for 300 ms"),
            ("level-command", ["--", "sleep", "0.1"], None, "records, ")):
        path = fathom.path(name)
        result = fathom.run("record", "-o", path, *words)
        equal(result.returncode, 0, result.stderr)
        check(said in result.stderr.splitlines()[0], f"{words}: the first line of {result.stderr}")
        equal(fathom.report(path, "syscall").get("detail"), level, f"level of {words}")
        text = fathom.ok("report", "--by", "syscall", path)
        equal("--detail calls" in text, level == "waits", f"how to get calls: {text}")
        shutil.rmtree(path)  # a busy host makes many calls, of which nothing else is asked


@tests.add
def how_much_an_hour_has_is_said_after_ten_seconds():
    with subprocess.Popen([fathom.binary, "record", "-o", fathom.path("rate"), "-p",
                           str(os.getpid())], stderr=subprocess.PIPE, text=True) as recorder:
        try:
            begin = time.monotonic()
            lines = [recorder.stderr.readline(), recorder.stderr.readline()]
            took = time.monotonic() - begin
        finally:
            recorder.send_signal(signal.SIGINT)
            recorder.communicate(timeout=60)
    check(re.fullmatch(r"fathom: [\d.]+ [KMGT]?B an hour at this rate\n", lines[1]), f"{lines}")
    check(took > 9, f"after {took} s")


def ignore_some():
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)


@tests.add
def a_signal_that_was_ignored_stays_ignored():
    """As with nohup, and in the background of a shell without job control."""
    directory = fathom.path("ignores")
    with subprocess.Popen([fathom.binary, "record", "-o", directory], stderr=subprocess.PIPE,
                          text=True, preexec_fn=ignore_some) as recorder:
        try:
            harness.until(lambda: fathom.run("rotate", directory).returncode == 0 or
                          recorder.poll() is not None, "it records")
            for number in (signal.SIGHUP, signal.SIGINT):
                recorder.send_signal(number)
                equal(fathom.run("rotate", directory).returncode, 0, f"rotates after {number}")
            recorder.send_signal(signal.SIGTERM)
            _, stderr = recorder.communicate(timeout=60)
        finally:
            recorder.kill()
    equal(recorder.returncode, 0, stderr)


@tests.add
def a_default_directory_that_is_a_link():
    """It is moved and removed as a link, and what it leads to stays."""
    work, big = fathom.path("linked"), fathom.path("big")
    os.mkdir(work)
    os.mkdir(big)
    os.symlink(big, os.path.join(work, "fathom.data"))
    for count in range(3):
        result = subprocess.run([fathom.binary, "record", "--", "true"], cwd=work, timeout=60,
                                check=False, capture_output=True, text=True)
        equal(result.returncode, 0, f"{count}: {result.stderr}")
        check(not os.path.islink(os.path.join(work, "fathom.data")), f"{count}: still the link")
        equal(os.path.islink(os.path.join(work, "fathom.data.old")), count == 0, "the link is old")
    check(os.path.isdir(big), "what it led to")


@tests.add
def a_recording_is_rotated_on_demand():
    directory = fathom.path("rotated")
    recorder = subprocess.Popen([fathom.binary, "record", "-o", directory, "--", "sleep", "3"],
                                stderr=subprocess.DEVNULL)
    time.sleep(1)
    path = fathom.ok("rotate", directory).strip()
    check(os.path.isdir(path), f"{path} is sealed")
    equal(recorder.wait(timeout=60), 0, "status")
    equal(len(fathom.chunks(directory)), 2, "chunks")
    sleep = [span for trace in fathom.trace_all(directory)["traces"] for span in trace["spans"]
             if span["name"] == "clock_nanosleep"]
    equal(len(sleep), 1, "one sleep across two chunks")
    check(sleep[0]["time"]["timer_ns"] > 2900000000, "it slept all the time")
    harness.check_sums(fathom, directory)


def middle(values):
    values = sorted(values)
    return values[len(values) // 2]


def limited(name, *args):
    path = fathom.path(f"{name}-{time.monotonic_ns()}")
    fathom.ok("record", "-o", path, *args)
    return fathom.chunks(path)


@tests.add
@harness.tries
def limits_are_kept():
    """The recorder sleeps, but not beyond the end of a chunk, nor its own."""
    late = 20000000 * harness.SLOWER
    with harness.Process(["sleep", "600"]) as sleeper:
        chunks = limited("timed", "-p", str(sleeper.pid), "--rotate", "130ms", "-d", "1365ms")
        sleeper.kill()
    took = middle(chunk["end_ns"] - chunk["begin_ns"] for chunk in chunks)
    check(130000000 <= took < 130000000 + late, f"a chunk takes {took} ns")
    took = chunks[-1]["end_ns"] - chunks[0]["begin_ns"]
    check(1360000000 <= took < 1375000000 + late, f"all of them {took} ns")
    sized = limited("sized", "--rotate", "1M", "--buffer", "64M", "--", "dd", "if=/dev/zero",
                    "of=/dev/null", "bs=1", "count=80000")
    size = middle(chunk["bytes"] for chunk in sized)
    check(1 << 20 <= size < 2 << 20, f"a chunk has {size} bytes")


@tests.add
def the_thread_that_drains_goes_first_and_nobody_else():
    if os.getpriority(os.PRIO_PROCESS, 0) or \
            subprocess.run(["nice", "-n", "-10", "true"], stderr=subprocess.PIPE).stderr:
        return "no thread may be hurried here"
    looks = "sleep 0.5; ps -L -o ni= -p $PPID; nice"
    result = fathom.run("record", "-o", fathom.path("hurried"), "--rotate", "100ms",
                        "--on-chunk", f"nice >>{fathom.path('hooks')}; :", "--",
                        "sh", "-c", looks)
    equal(result.returncode, 0, result.stderr)
    first, *others, command = map(int, result.stdout.split())
    equal((first, command), (-10, 0), "niceness of the thread that drains, and of the command")
    check(others and min(others) >= 0, f"that of its other threads: {others}")
    with open(fathom.path("hooks"), encoding="ascii") as lines:
        equal(set(lines), {"0\n"}, "that of --on-chunk")
    return None


@tests.add
def stop_ends_a_recording():
    directory = fathom.path("stopped")
    with harness.Process(["sleep", "60"]) as command, harness.Process(
            [fathom.binary, "record", "-o", directory, "-p", str(command.pid)],
            stderr=subprocess.PIPE, text=True) as recorder:
        harness.until(lambda: os.path.exists(os.path.join(directory, ".control")), "it records")
        equal(fathom.ok("stop", directory), "", "output")
        equal([chunk["state"] for chunk in fathom.chunks(directory)], ["sealed"], "chunks")
        equal(recorder.wait(timeout=60), 0, "status of the recorder")
        equal(command.poll(), None, "the command runs on")
        command.kill()
    again = fathom.run("stop", directory)
    equal(again.returncode, 1, "nobody records any more")
    check("nothing records into" in again.stderr, again.stderr)


@tests.add
def nothing_is_left_in_the_kernel():
    return harness.nothing_is_left_in_the_kernel(before)


with fathom:
    tests.run()
