# SPDX-License-Identifier: Apache-2.0
"""nginx under wrk: a server that does nothing but system calls, and its load."""
import os
import re
import shutil
import signal
import socket
import subprocess
import time

CONFIG = """user root;
daemon off;
worker_processes 1;
pid {dir}/nginx.pid;
error_log {dir}/error.log;
events {{ worker_connections 256; }}
http {{
  access_log off;
  sendfile on;
  keepalive_requests 1000000000;
  client_body_temp_path {dir}/t1;
  proxy_temp_path {dir}/t2;
  fastcgi_temp_path {dir}/t3;
  uwsgi_temp_path {dir}/t4;
  scgi_temp_path {dir}/t5;
  server {{ listen 127.0.0.1:{port}; root {dir}; }}
}}
"""
CONNECTIONS = 16
SETTLE_S = 1.5  # programs are loaded, what is there is told


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def host_ticks():
    """Busy and stolen ticks of the host."""
    with open("/proc/stat", encoding="ascii") as text:
        user, nice, system, _, _, irq, softirq, steal = map(int, text.readline().split()[1:9])
    return user + nice + system + irq + softirq, steal


class Server:
    """nginx in a directory of its own; stop() ends it."""

    def __init__(self, directory):
        os.chmod(directory, 0o755)
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}/page.html"
        config = os.path.join(directory, "nginx.conf")
        with open(config, "w", encoding="ascii") as text:
            text.write(CONFIG.format(dir=directory, port=self.port))
        with open(os.path.join(directory, "page.html"), "w", encoding="ascii") as text:
            text.write("x" * 600)
        log = os.path.join(directory, "error.log")
        self.process = subprocess.Popen(["nginx", "-p", directory, "-e", log, "-c", config])
        time.sleep(0.5)

    def load_start(self, seconds):
        return subprocess.Popen(["wrk", "-t", "1", "-c", str(CONNECTIONS), "-d", f"{seconds}s",
                                 self.url], stdout=subprocess.PIPE, text=True)

    @staticmethod
    def load_end(load):
        """Requests per second, and how many."""
        text = load.communicate()[0]
        return (float(re.search(r"Requests/sec:\s+([\d.]+)", text).group(1)),
                int(re.search(r"(\d+) requests in", text).group(1)))

    def stop(self):
        self.process.terminate()
        self.process.wait()


class Recorder:
    """A recorder in the background, `fathom record` or `perf record`."""

    def __init__(self, command, target):
        shutil.rmtree(target, ignore_errors=True)
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.PIPE, text=True)
        time.sleep(SETTLE_S)

    def stop(self):
        """What it says at its end."""
        self.process.send_signal(signal.SIGINT)
        return self.process.communicate()[1]


def lost_events(said):
    """Of what a recorder said at its end."""
    found = re.search(r"(\d+) LOST|[Ll]ost (\d+)", said)
    return int(found.group(1) or found.group(2)) if found else 0


def interval(values):
    """Of the median, with at least 95 % (order statistics; ten values or more)."""
    ordered = sorted(values)
    rank = {10: 1, 11: 1, 12: 2}.get(len(ordered), max(0, int(len(ordered) / 2 -
                                                              0.98 * len(ordered) ** 0.5)))
    return ordered[rank], ordered[-1 - rank]
