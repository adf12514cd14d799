#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""
A service in asyncio: each request asks redis, then two services at once, and memcached if it is of
one kind, over connections that requests share one after the other.

usage: aio.py LEDGER PORT loop=PORT node=PORT redis=PORT memcached=PORT
"""
import asyncio
import sys

import service
from service import HTTP_ANSWER, Ledger, ident_of, is_whole, kind_of, message, now

ledger = Ledger("aio", sys.argv[1])
PORT = int(sys.argv[2])
PORTS = service.ports_of(sys.argv[3:])
FREE = {peer: [] for peer in PORTS}


async def call(peer, ident):
    if FREE[peer]:
        reader, writer = FREE[peer].pop()
    else:
        reader, writer = await asyncio.open_connection("127.0.0.1", PORTS[peer])
    begin, answer = now(), b""
    writer.write(message(peer, ident))
    while not is_whole(peer, answer):
        answer += await reader.read(65536)
    ledger.add("c", writer.get_extra_info("sockname")[1], PORTS[peer], begin, now(), ident)
    FREE[peer].append((reader, writer))


async def work(ident):
    await call("redis", ident + ".0")
    await asyncio.gather(call("loop", ident + ".1"), call("node", ident + ".2"))
    if kind_of(ident) == 1:
        await call("memcached", ident + ".3")


async def serve(reader, writer):
    remote = writer.get_extra_info("peername")[1]
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            begin, ident = now(), ident_of(head) + ".n"
            await work(ident)
            writer.write(HTTP_ANSWER)
            ledger.add("s", PORT, remote, begin, now(), ident)
    except asyncio.IncompleteReadError:
        writer.close()


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", PORT, backlog=256)
    async with server:
        await server.serve_forever()


asyncio.run(main())
