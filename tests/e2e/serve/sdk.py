#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends two traces with OpenTelemetry's SDK for Python.

sdk.py URL: one trace of two services in plain requests, one in gzip; prints their ids.
"""
import sys

from opentelemetry import trace
from opentelemetry.exporter.otlp.proto.http import Compression
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def provider(service, compression):
    made = TracerProvider(resource=Resource.create({"service.name": service, "team": "a/b"}))
    made.add_span_processor(BatchSpanProcessor(
        OTLPSpanExporter(endpoint=sys.argv[1], compression=compression)))
    return made


def main():
    shop, bank = (provider("shop", Compression.NoCompression), provider("bank", Compression.Gzip))
    with shop.get_tracer("web", "1.0").start_as_current_span(
            "GET /buy", kind=trace.SpanKind.SERVER) as span:
        span.set_attribute("user", 'ann "q"')
        span.set_attribute("items", [1, 2])
        span.add_event("cache miss", {"key": "k1"})
        with bank.get_tracer("rpc").start_as_current_span("pay", kind=trace.SpanKind.CLIENT) as pay:
            pay.set_status(trace.StatusCode.ERROR, "no money")
        print(format(span.get_span_context().trace_id, "032x"))
    with bank.get_tracer("rpc").start_as_current_span("audit") as span:
        print(format(span.get_span_context().trace_id, "032x"))
    shop.shutdown()
    bank.shutdown()


main()
