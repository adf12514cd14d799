#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes otlp_sample.bin, which the test of the decoder reads.

otlp_sample.py FILE: needs opentelemetry-proto from PyPI, whose encoder is not ours.
"""
import sys

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, KeyValue

TRACE = bytes.fromhex("0123456789abcdef1122334455667788")


def value(v):
    if isinstance(v, bool):
        return AnyValue(bool_value=v)
    if isinstance(v, int):
        return AnyValue(int_value=v)
    if isinstance(v, float):
        return AnyValue(double_value=v)
    if isinstance(v, bytes):
        return AnyValue(bytes_value=v)
    if isinstance(v, str):
        return AnyValue(string_value=v)
    one = AnyValue()
    if isinstance(v, list):
        one.array_value.SetInParent()
        one.array_value.values.extend(value(x) for x in v)
    elif isinstance(v, dict):
        one.kvlist_value.SetInParent()
        one.kvlist_value.values.extend(pairs(v))
    return one


def pairs(attributes):
    return [KeyValue(key=k, value=value(v)) for k, v in attributes.items()]


def main():
    request = ExportTraceServiceRequest()
    group = request.resource_spans.add(schema_url="https://opentelemetry.io/schemas/1.30.0")
    group.resource.attributes.extend(pairs({"service.name": "shop", "host.name": "node-7"}))
    group.resource.dropped_attributes_count = 1
    scoped = group.scope_spans.add()
    scoped.scope.name, scoped.scope.version = "lib.http", "1.2"
    scoped.scope.attributes.extend(pairs({"short": True}))
    span = scoped.spans.add(
        trace_id=TRACE, span_id=bytes.fromhex("a1a2a3a4a5a6a7a8"), trace_state="vendor=1",
        parent_span_id=bytes.fromhex("b1b2b3b4b5b6b7b8"), name="GET /café", kind=2, flags=0x101,
        start_time_unix_nano=1_700_000_000_000_000_001,
        end_time_unix_nano=1_700_000_000_250_000_001, dropped_attributes_count=2,
        dropped_events_count=3, dropped_links_count=4)
    span.attributes.extend(pairs({
        "text": "value", "yes": True, "least": -2**63, "most": 2**63 - 1, "real": 0.5,
        "whole": 3.0, "bytes": b"\0\xff", "none": None, "empty": "",
        "array": ["a", 1, [2.5, False]], "map": {"k": {"inner": [1]}}, "nothing": []}))
    event = span.events.add(time_unix_nano=1_700_000_000_100_000_000, name="cache miss",
                            dropped_attributes_count=5)
    event.attributes.extend(pairs({"key": "k1"}))
    link = span.links.add(trace_id=TRACE[::-1], span_id=bytes.fromhex("c1c2c3c4c5c6c7c8"),
                          trace_state="x=y", dropped_attributes_count=6)
    link.attributes.extend(pairs({"why": "retry"}))
    span.status.code, span.status.message = 2, "no luck"
    scoped.spans.add(trace_id=TRACE, name="without an id")
    scoped.spans.add(trace_id=bytes(16), span_id=b"12345678", name="with an id of zeros")
    other = request.resource_spans.add().scope_spans.add()
    other.spans.add(trace_id=TRACE, span_id=b"\0\0\0\0\0\0\0\1", name="bare")
    with open(sys.argv[1], "wb") as out:
        out.write(request.SerializeToString())


main()
