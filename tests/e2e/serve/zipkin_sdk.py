#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sends a trace of two services to Zipkin's receiver with OpenTelemetry's SDK for Python.

zipkin_sdk.py URL: prints the id of the trace.
"""
import sys

from opentelemetry import trace
from opentelemetry.exporter.zipkin.json import ZipkinExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor


def provider(service):
    made = TracerProvider(resource=Resource.create({"service.name": service}))
    made.add_span_processor(BatchSpanProcessor(ZipkinExporter(endpoint=sys.argv[1])))
    return made


def main():
    web, cache = provider("Zweb"), provider("zcache")
    with web.get_tracer("web").start_as_current_span("fetch", kind=trace.SpanKind.CLIENT) as span:
        span.set_attribute("size", 12)
        with cache.get_tracer("rpc").start_as_current_span(
                "lookup", kind=trace.SpanKind.SERVER) as lookup:
            lookup.add_event("cache miss")
            lookup.set_status(trace.StatusCode.ERROR, "no entry")
        print(format(span.get_span_context().trace_id, "032x"))
    web.shutdown()
    cache.shutdown()


main()
