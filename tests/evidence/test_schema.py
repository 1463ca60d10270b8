"""The schema is checked as JSON Schema means it, and no rule of it is passed over."""

from __future__ import annotations

import pytest

from tautograd._evidence import schema

RULES = [
    # rules, a value they allow, a value they do not, what is said of it
    ({"type": "integer"}, 1, 1.5, "is not of type integer"),
    ({"type": "integer"}, 0, True, "is not of type integer"),
    ({"type": "number"}, 1.5, "1.5", "is not of type number"),
    ({"type": "boolean"}, True, 1, "is not of type boolean"),
    ({"type": ["string", "null"]}, None, 1, "is not of type string or null"),
    ({"type": "array", "items": {"type": "integer"}}, [1, 2], [1, "2"], "[1]: "),
    ({"type": "object"}, {}, [], "is not of type object"),
    ({"const": 1}, 1, True, "is not 1"),
    ({"enum": ["a", "b"]}, "a", "c", 'is none of "a", "b"'),
    ({"pattern": "^[0-9a-f]{4}$"}, "00ff", "00fg", "does not look as it must"),
    ({"minimum": 0}, 0, -1, "-1 is below 0"),
    ({"required": ["a"]}, {"a": 1}, {"b": 1}, "'a' is missing"),
    ({"properties": {"a": {"type": "null"}}}, {"a": None, "b": 1}, {"a": 1}, "a: 1 is not"),
    (
        {"properties": {"a": {}}, "additionalProperties": False},
        {"a": 1},
        {"b": 1},
        "'b' is not part",
    ),
    ({"additionalProperties": {"type": "string"}}, {"a": "x"}, {"a": 1}, "a: 1 is not of type"),
    ({"anyOf": [{"type": "null"}, {"type": "integer"}]}, 1, "x", "is not of type"),
    ({"$ref": "#/$defs/n", "$defs": {"n": {"minimum": 3}}}, 3, 2, "2 is below 3"),
]


@pytest.mark.parametrize(
    ("rules", "allowed", "refused", "phrase"), RULES, ids=lambda v: str(v)[:40]
)
def test_a_rule_allows_and_refuses(rules, allowed, refused, phrase):
    assert schema.problems(allowed, rules) == []
    (problem, *_) = schema.problems(refused, rules)
    assert phrase in problem


def test_a_rule_that_is_not_known_is_an_error():
    with pytest.raises(NotImplementedError, match="uniqueItems"):
        schema.problems([1], {"uniqueItems": True})


def test_the_schema_uses_known_rules_only():
    def walk(rules):
        assert rules.keys() <= schema._KNOWN
        for part in (*rules.get("properties", {}).values(), *rules.get("$defs", {}).values()):
            walk(part)
        for part in (
            *rules.get("anyOf", ()),
            rules.get("items"),
            rules.get("additionalProperties"),
        ):
            if isinstance(part, dict):
                walk(part)

    walk(schema.schema())


def test_of_several_kinds_the_nearest_is_talked_about():
    definition = schema.schema()["properties"]["data"]["properties"]["definition"]
    rules = {**definition, "$defs": schema.schema()["$defs"]}
    (problem,) = schema.problems({"kind": "file", "path": "x.npz", "sha256": "zz"}, rules)
    assert "sha256" in problem
