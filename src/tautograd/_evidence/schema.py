"""Checks evidence against its JSON Schema, `evidence.schema.json` beside this file.

The schema is published for other programs, in JSON Schema's own language. It uses a dozen of that
language's keywords, and a keyword that this checker does not know is an error rather than
ignored: a rule in the schema can never go unchecked.
"""

from __future__ import annotations

import functools
import json
import re
from collections.abc import Iterator, Mapping
from importlib.resources import files
from typing import Any

VERSION = 1
"""The format version that is written; files with others are refused."""

_ANNOTATIONS = {"$schema", "$id", "$defs", "title", "description"}
_KNOWN = {
    *("$ref", "type", "const", "enum", "anyOf", "pattern", "minimum", "maximum"),
    *("properties", "required", "additionalProperties", "items", "maxItems"),
    *_ANNOTATIONS,
}
_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


@functools.cache
def text() -> str:
    """The schema as published."""
    return files(__package__).joinpath("evidence.schema.json").read_text(encoding="utf-8")


@functools.cache
def schema() -> dict[str, Any]:
    """The schema as Python values."""
    loaded: dict[str, Any] = json.loads(text())
    return loaded


def problems(content: Any, rules: Mapping[str, Any] | None = None) -> list[str]:
    """Violations of the schema in a content, each as 'where: what'; empty if there are none."""
    root = schema() if rules is None else rules
    return list(_check(content, root, root, ""))


def _check(
    value: Any, rules: Mapping[str, Any], root: Mapping[str, Any], where: str
) -> Iterator[str]:
    unknown = rules.keys() - _KNOWN
    if unknown:
        raise NotImplementedError(f"the schema uses {sorted(unknown)}, which is not checked here")
    here = where or "the file"
    if "$ref" in rules:
        yield from _check(value, _resolve(rules["$ref"], root), root, where)
    if "anyOf" in rules:
        found = [list(_check(value, choice, root, where)) for choice in rules["anyOf"]]
        if all(found):
            yield min(found, key=_how_wrong)[0]
            return
    if "type" in rules and not _is_a(value, rules["type"]):
        yield f"{here}: {_shown(value)} is not of type {_names(rules['type'])}"
        return
    if "const" in rules and not _equal(value, rules["const"]):
        yield f"{here}: {_shown(value)} is not {json.dumps(rules['const'])}"
    if "enum" in rules and not any(_equal(value, choice) for choice in rules["enum"]):
        yield f"{here}: {_shown(value)} is none of {', '.join(map(json.dumps, rules['enum']))}"
    if "pattern" in rules and isinstance(value, str) and not _matches(rules["pattern"], value):
        yield f"{here}: {_shown(value)} does not look as it must ({rules['pattern']})"
    if "minimum" in rules and isinstance(value, (int, float)) and value < rules["minimum"]:
        yield f"{here}: {value} is below {rules['minimum']}"
    if "maximum" in rules and isinstance(value, (int, float)) and value > rules["maximum"]:
        yield f"{here}: {_shown(value)} is above {rules['maximum']}"
    if "maxItems" in rules and isinstance(value, list) and len(value) > rules["maxItems"]:
        yield f"{here}: {len(value)} items are more than {rules['maxItems']}"
        return
    if isinstance(value, dict):
        yield from _check_object(value, rules, root, where)
    elif isinstance(value, list) and "items" in rules:
        for index, item in enumerate(value):
            yield from _check(item, rules["items"], root, f"{where}[{index}]")


def _check_object(
    value: dict[str, Any], rules: Mapping[str, Any], root: Mapping[str, Any], where: str
) -> Iterator[str]:
    known = rules.get("properties", {})
    others = rules.get("additionalProperties", True)
    for name, rule in known.items():
        if "const" in rule and name in value and not _equal(value[name], rule["const"]):
            # Of another type altogether: descending further would try every type at every level.
            yield from _check(value[name], rule, root, f"{where}.{name}" if where else name)
            return
    for name in rules.get("required", ()):
        if name not in value:
            yield f"{where or 'the file'}: '{name}' is missing"
    for name, item in value.items():
        inside = f"{where}.{name}" if where else name
        if name in known:
            yield from _check(item, known[name], root, inside)
        elif others is False:
            yield f"{where or 'the file'}: '{name}' is not part of the format"
        elif others is not True:
            yield from _check(item, others, root, inside)


def _resolve(reference: str, root: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Any = root
    for step in reference.removeprefix("#/").split("/"):
        found = found[step]
    resolved: Mapping[str, Any] = found
    return resolved


def _matches(pattern: str, text: str) -> bool:
    # JSON Schema's `$` matches only the end of the text; Python's also before a final line feed.
    return re.search(re.sub(r"\$$", r"\\Z", pattern), text) is not None


def _is_a(value: Any, kinds: str | list[str]) -> bool:
    for kind in [kinds] if isinstance(kinds, str) else kinds:
        # In Python a bool is an int; in JSON it is not.
        if isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool)):
            return True
    return False


def _equal(value: Any, other: Any) -> bool:
    return type(value) is type(other) and bool(value == other)


def _how_wrong(found: list[str]) -> tuple[bool, int]:
    # Of several alternatives, report the one with the right type and the fewest faults.
    return re.match(r"(.*\.)?kind: .* is not ", found[0]) is not None, len(found)


def _names(kinds: str | list[str]) -> str:
    return kinds if isinstance(kinds, str) else " or ".join(kinds)


def _shown(value: Any) -> str:
    if isinstance(value, (dict, list)):
        return "an object" if isinstance(value, dict) else "an array"
    shown = json.dumps(value)
    return shown if len(shown) <= 40 else f"{shown[:37]}..."
