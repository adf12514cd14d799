# SPDX-License-Identifier: Apache-2.0
"""What serves on the loopback: a port that is free, and nginx with a directory of its own."""
import contextlib
import os
import random
import socket

NGINX_CONFIG = """user root;
daemon off;
worker_processes {workers};
pid {dir}/nginx.pid;
error_log {dir}/error.log {level};
events {{ worker_connections 256; }}
http {{
  {http}
  sendfile on;
  client_body_temp_path {dir}/t1;
  proxy_temp_path {dir}/t2;
  fastcgi_temp_path {dir}/t3;
  uwsgi_temp_path {dir}/t4;
  scgi_temp_path {dir}/t5;
  server {{ listen 127.0.0.1:{port}; root {dir}; }}
}}
"""


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def free_ports(count):
    """As many, none of which a connection of somebody gets before its server has begun."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as text:
        first = int(text.read().split()[0])
    ports, found = range(max(1024, first - 16000), first), []
    for port in random.Random().sample(ports, len(ports)):
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            found.append(port)
        if len(found) == count:
            return found
    return [free_port() for _ in range(count)]


def nginx_command(directory, port, http="access_log off;", workers=1, level="error"):
    """Writes a configuration that serves the directory; the command that runs it."""
    os.chmod(directory, 0o755)
    config = os.path.join(directory, "nginx.conf")
    with open(config, "w", encoding="ascii") as text:
        text.write(NGINX_CONFIG.format(dir=directory, port=port, http=http, workers=workers,
                                       level=level))
    return ["nginx", "-p", directory, "-e", os.path.join(directory, "error.log"), "-c", config]
