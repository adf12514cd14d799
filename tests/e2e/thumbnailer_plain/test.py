#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The thumbnail server by itself: pictures, refusals, load, end. No recording, no privilege.

usage: test.py SERVER CLIENT MAKE-VIDEO RIGHTS
"""
import http.client
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

SERVER, CLIENT, MAKE_VIDEO, RIGHTS = sys.argv[1:5]
LENGTH_S = 12
RESULTS = []


def check(name, true, detail=""):
    RESULTS.append(bool(true))
    if not true:
        print(f"# {detail}")
    print(f"{'ok' if true else 'not ok'} {len(RESULTS)} - {name}", flush=True)


def png_size(data):
    if data[:8] != b"\x89PNG\r\n\x1a\n" or data[12:16] != b"IHDR" or b"IEND" not in data[-12:]:
        return None
    return struct.unpack(">II", data[16:24])


def jpeg_size(data):
    """Walks the segments up to the frame header."""
    if data[:2] != b"\xff\xd8" or data[-2:] != b"\xff\xd9":
        return None
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        if data[at + 1] in (0xC0, 0xC1, 0xC2):
            height, width = struct.unpack(">HH", data[at + 5:at + 9])
            return width, height
        at += 2 + struct.unpack(">H", data[at + 2:at + 4])[0]
    return None


def get(port, target, method="GET"):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    try:
        connection.request(method, target)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Content-Type"), answer.read()
    finally:
        connection.close()


def raw(port, data):
    """Everything that comes back for these bytes until the server closes."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as peer:
        peer.sendall(data)
        answer = b""
        while part := peer.recv(65536):
            answer += part
        return answer


def start(folder, *options, program=SERVER):
    server = subprocess.Popen([program, *options, *([folder] if folder else [])], stdout=subprocess.PIPE)
    if not select.select([server.stdout], [], [], 60)[0]:
        server.kill()
        sys.exit("the server did not say its port")
    return server, int(server.stdout.readline().split()[1])


def pictures(port):
    base = "/thumbnail?video=clip.mp4&second="
    status, kind, body = get(port, base + "3.5&width=160")
    check("a JPEG of the width asked for", (status, kind, jpeg_size(body)) ==
          (200, "image/jpeg", (160, 90)), (status, kind, body[:40]))
    status, kind, body = get(port, base + "7&width=200&format=png")
    check("a PNG keeps the shape", (status, kind, png_size(body)) ==
          (200, "image/png", (200, 112)), (status, kind, body[:40]))
    same = get(port, base + "7&width=200&format=png")[2]
    other = get(port, base + "8&width=200&format=png")[2]
    check("the same second gives the same picture", same == body)
    check("another second gives another", other != body)
    check("an escaped name", get(port, "/thumbnail?video=clip%2Emp4&second=0")[0] == 200)
    check("the last moment", get(port, base + f"{LENGTH_S - 1}.999")[0] == 200)


REFUSED = [
    ("/", 404), ("/thumbnail", 400), ("/thumbnail?second=1", 400),
    ("/thumbnail?video=clip.mp4", 400), ("/thumbnail?video=none.mp4&second=1", 404),
    ("/thumbnail?video=../clip.mp4&second=1", 404),
    ("/thumbnail?video=..%2f..%2fetc%2fpasswd&second=1", 404),
    ("/thumbnail?video=/etc/passwd&second=1", 404), ("/thumbnail?video=.&second=1", 404),
    ("/thumbnail?video=folder&second=1", 404), ("/thumbnail?video=pipe&second=1", 404),
    ("/thumbnail?video=clip.mp4%00.txt&second=1", 400),
    ("/thumbnail?video=clip.mp4%2&second=1", 400),
    ("/thumbnail?video=" + "a" * 500 + "&second=1", 400),
    ("/thumbnail?video=clip.mp4&video=clip.mp4&second=1", 400),
    ("/thumbnail?video=text.mp4&second=1", 422), ("/thumbnail?video=empty.mp4&second=1", 422),
    ("/thumbnail?video=list.m3u8&second=1", 422),
] + [(f"/thumbnail?video=clip.mp4&second={s}", 400)
     for s in ("", "-1", "x", "1e3", "nan", "inf", "0x1", "1.", ".5", "1,5", "12", "99999999")
] + [(f"/thumbnail?video=clip.mp4&second=1&width={w}", 400)
     for w in ("", "0", "-5", "15", "4097", "99999999999", "ten")
] + [("/thumbnail?video=clip.mp4&second=1&format=gif", 400)]

GET = b"GET /thumbnail?video=clip.mp4&second=1 HTTP/1.1\r\nHost: x\r\n"
MALFORMED = [
    ("no HTTP", b"hello\r\n\r\n", 400), ("no host", b"GET / HTTP/1.1\r\n\r\n", 400),
    ("a later version", b"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505),
    ("a long head", GET + b"a: " + b"b" * 9000 + b"\r\n\r\n", 431),
    ("many fields", GET + b"a: b\r\n" * 100 + b"\r\n", 431),
    ("a folded field", GET + b"a: b\r\n c\r\n\r\n", 400),
    ("a lone line feed", GET + b"a: b\nc: d\r\n\r\n", 400),
    ("a NUL", GET + b"a: \0\r\n\r\n", 400),
    ("a body", GET + b"Content-Length: 3\r\n\r\nabc", 413),
    ("a chunked body", GET + b"Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 413),
]


def refusals(port):
    for target, expected in REFUSED:
        status = get(port, target)[0]
        check(f"{target[:60]} gives {expected}", status == expected, status)
    check("POST gives 405", get(port, "/thumbnail", "POST")[0] in (405, 413))
    check("DELETE gives 405", get(port, "/thumbnail", "DELETE")[0] == 405)
    for name, data, expected in MALFORMED:
        answer = raw(port, data)
        check(f"{name} gives {expected}, once", answer.startswith(b"HTTP/1.1 %d " % expected) and
              answer.count(b"HTTP/1.1 ") == 1, answer[:80])


def connections(port):
    last = GET + b"Connection: close\r\n\r\n"
    answer = raw(port, (GET + b"\r\n") * 3 + last)
    check("four requests sent at once are answered in turn", answer.count(b"HTTP/1.1 200 ") == 4)
    with socket.create_connection(("127.0.0.1", port), timeout=60) as slow:
        slow.sendall(GET[:20])
        check("a slow client holds nobody up", get(port, "/thumbnail?video=clip.mp4&second=1")[0]
              == 200)
        slow.sendall(GET[20:] + b"\r\n")
        check("and is served in the end", slow.recv(15) == b"HTTP/1.1 200 OK")
    gone = socket.create_connection(("127.0.0.1", port))
    gone.sendall(GET + b"\r\n")
    gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    gone.close()
    check("a client that goes away harms nobody",
          get(port, "/thumbnail?video=clip.mp4&second=1")[0] == 200)


def load(port, folder):
    picture = os.path.join(folder, "last.png")
    done = subprocess.run([CLIENT, "-p", str(port), "-v", "clip.mp4", "-l", str(LENGTH_S), "-n",
                           "200", "-c", "8", "-w", "128"], stdout=subprocess.PIPE, text=True)
    values = dict(line.split() for line in done.stdout.splitlines())
    check("200 requests without an error", done.returncode == 0 and
          (values.get("requests"), values.get("errors")) == ("200", "0"), done.stdout)
    ranks = [float(values.get(key, -1)) for key in ("p50_ms", "p95_ms", "p99_ms", "max_ms")]
    check("latencies in order", 0 < ranks[0] and ranks == sorted(ranks), ranks)
    done = subprocess.run([CLIENT, "-p", str(port), "-v", "clip.mp4", "-l", "5", "-n", "1", "-c",
                           "1", "-f", "png", "-w", "64", "-o", picture], stdout=subprocess.PIPE)
    with open(picture, "rb") as file:
        check("the client keeps a picture", done.returncode == 0 and
              png_size(file.read()) == (64, 36))
    done = subprocess.run([CLIENT, "-p", str(port), "-v", "none.mp4", "-n", "3"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    check("the client counts refusals as errors", done.returncode == 1 and
          "errors 3" in done.stdout and "404" in done.stderr, done.stdout)


def end(number, folder, busy):
    server, port = start(folder)
    with socket.create_connection(("127.0.0.1", port), timeout=60) as peer:
        if busy:
            peer.sendall(GET + b"\r\n")
        else:
            peer.sendall(GET[:10])
        server.send_signal(number)
        check(f"{signal.Signals(number).name} ends it with 0, busy: {busy}",
              server.wait(timeout=60) == 0, server.returncode)


def took(port):
    before = time.monotonic()
    status = get(port, "/thumbnail?video=clip.mp4&second=1")[0]
    return status, time.monotonic() - before


def faults(folder):
    """Each is switched on while the server runs, and off."""
    rights, rights_port = start(None, program=RIGHTS)
    server, port = start(folder, "-r", str(rights_port))
    journal = os.path.join(folder, ".journal")
    try:
        check("no fault at first", took(port)[0] == 200 and not os.path.exists(journal))
        check("a fault that is none", get(port, "/fault?name=x")[0] == 400)
        for name, least_s in (("lock", 0.02), ("peer", 0.06)):
            done = subprocess.run([CLIENT, "-p", str(port), "-F", name], stdout=subprocess.PIPE, text=True)
            check(f"fault {name} is on", (done.returncode, done.stdout) == (0, f"fault: {name}\n"), done)
            status, seconds = took(port)
            check(f"{name}: a picture takes longer", status == 200 and seconds >= least_s, seconds)
        get(port, "/fault?name=fsync")
        check("fsync: the journal has the picture", took(port)[0] == 200 and os.path.getsize(journal) > 100)
        size = os.path.getsize(journal)
        get(port, "/fault?name=none")
        check("none: it grows no more", took(port)[0] == 200 and os.path.getsize(journal) == size)
        server.send_signal(signal.SIGTERM)
        check("with faults it ends, too", server.wait(timeout=60) == 0 and not os.path.exists(journal))
    finally:
        for process in (server, rights):
            if process.poll() is None:
                process.kill()
            process.wait()
    server, port = start(folder, "-f")
    check("peer needs the service", get(port, "/fault?name=peer")[0] == 400)
    server.send_signal(signal.SIGTERM)
    server.wait(timeout=60)


def main():
    folder = tempfile.mkdtemp(prefix="thumbnailer.")
    server = None
    try:
        videos = os.path.join(folder, "videos")
        os.makedirs(os.path.join(videos, "folder"))
        subprocess.run([MAKE_VIDEO, os.path.join(videos, "clip.mp4"), str(LENGTH_S), "640x360"],
                       check=True)
        shutil.copy(os.path.join(videos, "clip.mp4"), os.path.join(folder, "clip.mp4"))
        os.mkfifo(os.path.join(videos, "pipe"))
        for name, text in (("text.mp4", "no video\n" * 99), ("empty.mp4", ""),
                           ("list.m3u8", "#EXTM3U\n#EXTINF:5,\nclip.mp4\n#EXT-X-ENDLIST\n")):
            with open(os.path.join(videos, name), "w", encoding="ascii") as file:
                file.write(text)
        server, port = start(videos)
        pictures(port)
        refusals(port)
        connections(port)
        load(port, folder)
        check("without -f there is no fault", get(port, "/fault?name=lock")[0] == 404)
        check("it still runs", server.poll() is None)
        server.send_signal(signal.SIGTERM)
        check("SIGTERM ends it with 0", server.wait(timeout=60) == 0, server.returncode)
        end(signal.SIGTERM, videos, True)
        end(signal.SIGINT, videos, False)
        faults(videos)
    finally:
        if server and server.poll() is None:
            server.kill()
        shutil.rmtree(folder)
    print(f"1..{len(RESULTS)}")
    return 0 if all(RESULTS) else 1


sys.exit(main())
