#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks JSON documents against docs/schema, without a package for it.

check(document, name) raises AssertionError with the place and the reason. It knows the words of
JSON Schema that these files use, and refuses a file that uses another one.
Usage: schema.py checks the files themselves; schema.py NAME < DOCUMENT checks a document.
"""
import functools
import glob
import json
import os
import sys

SCHEMAS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "schema")
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float),
         "boolean": bool, "null": type(None)}
WORDS = {"type", "properties", "required", "additionalProperties", "items", "$ref", "enum", "const",
         "minimum", "description", "title", "$schema", "$id", "$defs"}


@functools.lru_cache(None)
def load(name):
    with open(os.path.join(SCHEMAS, name), encoding="utf-8") as file:
        return json.load(file)


def find(reference):
    name, path = reference.split("#")
    schema = load(name)
    for part in path.strip("/").split("/"):
        schema = schema[part]
    return schema


def is_of(value, kind):
    return isinstance(value, TYPES[kind]) and not (isinstance(value, bool) and kind != "boolean")


def validate(value, schema, place):
    if "$ref" in schema:
        return validate(value, find(schema["$ref"]), place)
    kinds = schema.get("type", [])
    kinds = kinds if isinstance(kinds, list) else [kinds]
    assert not kinds or any(is_of(value, kind) for kind in kinds), f"{place} is no {kinds}: {value!r}"
    assert "enum" not in schema or value in schema["enum"], f"{place} cannot be {value!r}"
    assert "const" not in schema or value == schema["const"], f"{place} cannot be {value!r}"
    assert not ("minimum" in schema and value < schema["minimum"]), f"{place} is {value!r}"
    if isinstance(value, list):
        for number, item in enumerate(value):
            validate(item, schema.get("items", {}), f"{place}[{number}]")
    if not isinstance(value, dict):
        return None
    properties = schema.get("properties", {})
    missing = [key for key in schema.get("required", []) if key not in value]
    assert not missing, f"{place} lacks {missing}"
    for key, item in value.items():
        more = schema.get("additionalProperties", True)
        assert key in properties or more is not False, f"{place} has {key}"
        validate(item, properties.get(key, more if isinstance(more, dict) else {}), f"{place}.{key}")
    return None


def check(document, name):
    validate(document, load(name + ".json"), name)


def check_schema(schema, place):
    unknown = set(schema) - WORDS
    assert not unknown, f"{place}: unknown words {sorted(unknown)}"
    if "$ref" in schema:
        find(schema["$ref"])
    for key in ("properties", "$defs"):
        for name, item in schema.get(key, {}).items():
            check_schema(item, f"{place}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            check_schema(schema[key], f"{place}.{key}")
    assert set(schema.get("required", [])) <= set(schema.get("properties", {})), f"{place}: required"


def main():
    if len(sys.argv) > 1:
        check(json.load(sys.stdin), sys.argv[1])
        return 0
    files = sorted(glob.glob(SCHEMAS + "/*.json"))
    print(f"1..{len(files)}")
    failed = 0
    for number, path in enumerate(files, 1):
        name = os.path.basename(path)
        try:
            check_schema(load(name), name)
            why = ""
        except (AssertionError, KeyError, ValueError) as error:
            why = f"# {error!r}\n"
        failed += bool(why)
        print(f"{why}{'not ok' if why else 'ok'} {number} - {name}")
    return 1 if failed or not files else 0


if __name__ == "__main__":
    sys.exit(main())
