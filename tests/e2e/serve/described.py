# SPDX-License-Identifier: Apache-2.0
"""Holds answers of /api/v1 against docs/openapi.json: nothing lacks there, and nothing is made up."""
import glob
import json
import os
import re

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float),
         "boolean": bool}
RARE = {"Gap.begin_ns", "Gap.end_ns", "Gap.reason",  # only what records has them: tests/e2e/up
        "CpuRuns.host", "CpuThread.pid", "CpuThread.tid", "CpuThread.name",  # only what records has them: tests/e2e/up
        "Status.log.error", "Status.store.error",
        "Search.partial", "CompareSide.partial", "Edges.partial", "Where.partial", "CriticalPath.cut", "Status.store.lost_why",  # only what fails has them
        "Sender.pid", "Sender.program", "Sender.language",  # who may look into the sender
        "Monitors.not_saved",  # only where the directory cannot be written
        *(f"Pin.{key}" for key in ("name", "trace_id", "why", "from_unix_ns", "to_unix_ns",
                                   "chunks", "bytes", "made_unix_ns")),
        "Removed.version", "Removed.removed"}  # only `fathom up` has chunks: tests/e2e/up


class Described:
    def __init__(self):
        with open(f"{ROOT}/docs/openapi.json", encoding="utf-8") as file:
            self.api = json.load(file)
        self.seen = set()  # SCHEMA.MEMBER of answers
        self.asked = set()  # paths with status

    def validate(self, value, schema, place):
        """Raises AssertionError with the place and the reason."""
        if "$ref" in schema:
            place = schema["$ref"].rsplit("/", 1)[1]
            schema = self.api["components"]["schemas"][place]
        if not schema:  # any value
            return
        kind = schema["type"]
        if isinstance(kind, list):  # such a value, or null
            if value is None:
                return
            kind = kind[0]
        assert isinstance(value, TYPES[kind]) and isinstance(value, bool) == (kind == "boolean"), f"{place}: {value!r}"
        assert value in schema.get("enum", [value]), f"{place} cannot be {value!r}"
        assert re.search(schema.get("pattern", ""), value if kind == "string" else ""), place
        assert kind == "object" or "minimum" not in schema or value >= schema["minimum"], place
        if kind == "array":
            for item in value:
                self.validate(item, schema["items"], place)
        members = schema.get("properties")
        if kind != "object" or members is None:
            return
        assert set(schema["required"]) <= set(value), f"{place} lacks {set(schema['required']) - set(value)}"
        assert set(value) <= set(members), f"{place} has {set(value) - set(members)}"
        for key, item in value.items():
            self.seen.add(f"{place}.{key}")
            self.validate(item, members[key], f"{place}.{key}")

    def check(self, path, status, answer, method="get"):
        """An answer of a path, as the document names it; "" or what is wrong."""
        answers = self.api["paths"][path][method]["responses"]
        self.asked.add((path, str(status)))
        try:
            assert str(status) in answers, f"status {status} is not described"
            (content,) = answers[str(status)]["content"].values()
            self.validate(answer, content["schema"], path)
        except AssertionError as error:
            return str(error)
        return ""

    def unseen(self):
        """Members that no answer had."""
        def members(schema, place):
            for key, item in schema.get("properties", {}).items():
                yield f"{place}.{key}"
                yield from members(item, f"{place}.{key}")
        named = {name for key, schema in self.api["components"]["schemas"].items()
                 for name in members(schema, key)}
        return sorted(named - self.seen - RARE)

    def unasked(self):
        """Answers that are described and were not seen, but for those of a query that fails."""
        return sorted({(path, status) for path, item in self.api["paths"].items()
                       for status in item["get"]["responses"]
                       if status not in ("503", "default")} - self.asked)

    def parameters(self):
        """Of queries, as described."""
        return {parameter["name"] for item in self.api["paths"].values() for asked in item.values()
                for parameter in asked["parameters"] if parameter["in"] == "query"}


def read_sources():
    """Paths and parameters of the sources."""
    text = ""
    for path in [*glob.glob(f"{ROOT}/src/serve/own*.c"), f"{ROOT}/src/serve/api.c"]:
        with open(path, encoding="utf-8") as file:
            text += file.read()
    paths = {path.replace("*", "{id}") for path in re.findall(r'\{"(/api/v1/[^"]*)"', text)}
    return paths, set(re.findall(r'query_value\(q, "(\w+)"\)', text)) | set(
        re.findall(r'strcmp\(key, "(\w+)"\)', text))
