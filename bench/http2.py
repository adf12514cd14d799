# SPDX-License-Identifier: Apache-2.0
"""The least of HTTP/2 that calls of gRPC need, one after another over a connection."""
import socket
import struct

DATA, HEADERS, RESET, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1
INITIAL_WINDOW = 4
FRAME_BYTES = 16384


def literal(name, value):
    """A header that is not indexed, as HPACK has it; both parts are shorter than 127 bytes."""
    return (b"\0" + bytes([len(name)]) + name.encode() + bytes([len(value)]) + value.encode())


class GrpcConnection:
    """Calls one method. A call that fails raises an error, if its stream is reset."""

    def __init__(self, port, path):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=120)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.input = self.socket.makefile("rb")
        self.headers = b"".join(literal(name, value) for name, value in (
            (":method", "POST"), (":scheme", "http"), (":path", path),
            (":authority", f"127.0.0.1:{port}"), ("te", "trailers"),
            ("content-type", "application/grpc")))
        self.stream, self.window, self.stream_window, self.ended = -1, 65535, 65535, True
        self.initial = 65535
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + self.frame(SETTINGS, 0, 0, b""))

    @staticmethod
    def frame(kind, flags, stream, payload):
        return struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, stream) + payload

    def take(self):
        """Takes a frame."""
        head = self.input.read(9)
        if len(head) < 9:
            raise RuntimeError("the server closed the connection")
        size, kind, flags = int.from_bytes(head[:3], "big"), head[3], head[4]
        stream, payload = int.from_bytes(head[5:], "big"), self.input.read(size)
        if kind == SETTINGS and not flags & ACK:
            for at in range(0, size, 6):
                name, value = struct.unpack(">HI", payload[at:at + 6])
                if name == INITIAL_WINDOW:
                    self.stream_window += value - self.initial
                    self.initial = value
            self.socket.sendall(self.frame(SETTINGS, ACK, 0, b""))
        elif kind == WINDOW_UPDATE:
            more = int.from_bytes(payload, "big")
            if stream == 0:
                self.window += more
            elif stream == self.stream:
                self.stream_window += more
        elif kind == PING and not flags & ACK:
            self.socket.sendall(self.frame(PING, ACK, 0, payload))
        elif kind in (RESET, GOAWAY):
            raise RuntimeError("the server refused a call")
        elif kind in (DATA, HEADERS) and stream == self.stream and flags & END_STREAM:
            self.ended = True

    def call(self, message):
        """Sends a message, and waits for the end of the answer."""
        self.stream += 2
        self.stream_window, self.ended = self.initial, False
        body = b"\0" + struct.pack(">I", len(message)) + message
        self.socket.sendall(self.frame(HEADERS, END_HEADERS, self.stream, self.headers))
        at = 0
        while at < len(body) and not self.ended:
            size = min(len(body) - at, FRAME_BYTES, self.window, self.stream_window)
            if size <= 0:
                self.take()
                continue
            last = at + size == len(body)
            self.socket.sendall(self.frame(DATA, END_STREAM * last, self.stream, body[at:at + size]))
            self.window -= size
            self.stream_window -= size
            at += size
        while not self.ended:
            self.take()
