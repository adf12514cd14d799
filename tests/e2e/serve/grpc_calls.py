#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Calls the receiver of OTLP over gRPC with gRPC for Python.

grpc_calls.py answers ADDRESS SAMPLE: prints, in JSON, the status and text of calls by their names.
grpc_calls.py once ADDRESS SAMPLE [AUTHORIZATION]: prints the status of one call.
grpc_calls.py send ADDRESS SAMPLE: sends the sample in new traces, in several threads, and prints
the id of each trace that is acknowledged, until the server ends.
"""
import itertools
import json
import sys
import threading

import grpc

SERVICE = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
METRICS = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
TRACE = bytes.fromhex("0123456789abcdef1122334455667788")  # of the sample
SENDERS, CALLS = 4, 8  # calls at once, of each sender
PATIENCE = 60


def method(address, path=SERVICE, **options):
    channel = grpc.insecure_channel(address, options=[
        ("grpc.use_local_subchannel_pool", 1),
        *((f"grpc.{name}", value) for name, value in options.items())])
    return channel.unary_unary(path, request_serializer=bytes, response_deserializer=bytes)


def answer(call, data, **options):
    try:
        return "OK", call(data, timeout=PATIENCE, **options).hex()
    except grpc.RpcError as error:
        return error.code().name, error.details()


def answers(address, sample):
    call = method(address)
    gzip = grpc.Compression.Gzip
    print(json.dumps({
        "plain": answer(call, sample),
        "gzip": answer(call, sample, compression=gzip),
        "nothing": answer(call, b""),
        "a cut request": answer(call, sample[:-1]),
        "another compression": answer(call, sample, compression=grpc.Compression.Deflate),
        "metrics": answer(method(address, METRICS), sample),
        "another host": answer(method(address, default_authority="evil.example"), sample),
        "17 MB": answer(call, bytes(17 << 20)),
        "a gzip bomb": answer(call, bytes(100 << 20), compression=gzip),
        "the same connection": answer(call, sample)}))


def once(address, sample):
    metadata = [("authorization", text) for text in sys.argv[4:]]
    print(answer(method(address), sample, metadata=metadata)[0])


def send(address, sample):
    numbers = itertools.count(1 << 40)

    def run():
        call = method(address)
        while True:
            traces = [next(numbers).to_bytes(16, "big") for _ in range(CALLS)]
            futures = [call.future(sample.replace(TRACE, trace)) for trace in traces]
            for trace, future in zip(traces, futures):
                if future.exception():
                    return
                sys.stdout.write(trace.hex() + "\n")  # in one piece
                sys.stdout.flush()

    threads = [threading.Thread(target=run) for _ in range(SENDERS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def main():
    with open(sys.argv[3], "rb") as file:
        {"answers": answers, "once": once, "send": send}[sys.argv[1]](sys.argv[2], file.read())


main()
