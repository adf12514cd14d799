#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Kernel events of requests by service: fathom requests DIR --each 'python3 events.py'"""
import collections
import json
import sys

services = collections.defaultdict(collections.Counter)
for line in sys.stdin:
    for span in json.loads(line)["spans"]:
        if span["kind"] == "server":
            services[span["service"]].update({"requests": 1, **span["attributes"].get("events.count", {})})
names = sorted({name for counts in services.values() for name in counts} - {"requests"})
print("service", "requests", *names, sep="\t")
for service, counts in sorted(services.items()):
    print(service, *(counts[name] for name in ["requests"] + names), sep="\t")
