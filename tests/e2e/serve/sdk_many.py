#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends traces with many of OpenTelemetry's SDKs for Python at once, by OTLP over gRPC.

sdk_many.py ADDRESS CLIENTS SPANS: each client has its own connection, every second one gzip, and a
trace with that many spans. Prints the ids of the traces.
"""
import sys
import threading

import grpc
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def send(number, spans, begin):
    provider = TracerProvider(resource=Resource.create({"service.name": f"client-{number}"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(
        endpoint=sys.argv[1], insecure=True,
        compression=grpc.Compression.Gzip if number % 2 else grpc.Compression.NoCompression,
        channel_options=(("grpc.use_local_subchannel_pool", 1),))))
    tracer = provider.get_tracer("many")
    begin.wait()
    with tracer.start_as_current_span("all") as first:
        for i in range(spans - 1):
            with tracer.start_as_current_span("step") as span:
                span.set_attribute("i", i)
    provider.shutdown()
    sys.stdout.write(format(first.get_span_context().trace_id, "032x") + "\n")  # in one piece


def main():
    clients, spans = int(sys.argv[2]), int(sys.argv[3])
    begin = threading.Barrier(clients)
    threads = [threading.Thread(target=send, args=(i, spans, begin)) for i in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


main()
