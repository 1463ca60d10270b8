"""Nests of containers are walked in order, and rebuilt as what they were."""

from __future__ import annotations

import dataclasses
from collections import ChainMap, OrderedDict, defaultdict, namedtuple
from types import MappingProxyType

import pytest
import torch

import tautograd
from tautograd._trees.nests import ANY_MAPPING, TUPLES_LISTS_DICTS, Nests, at_path

Pair = namedtuple("Pair", "first second")


class Sum(Pair):
    """A named tuple whose constructor takes something else."""

    def __new__(cls, total):
        return super().__new__(cls, total, -total)


class Tagged(list):
    def __init__(self, *, tag):
        super().__init__()
        self.tag = tag


class Counted(dict):
    def __init__(self, count):
        super().__init__()
        self.count = count


@dataclasses.dataclass(frozen=True)
class Batch:
    x: object
    y: object


def tagged(*values):
    found = Tagged(tag="mine")
    found.extend(values)
    return found


def counted(**values):
    found = Counted(3)
    found.update(values)
    return found


def factory(**values):
    return defaultdict(list, values)


NESTS = [
    (1, (2, [3]), {"b": 4, "a": 5}),
    Pair(1, Pair(2, 3)),
    Sum(4),
    tagged(1, tagged(2)),
    counted(b=1, a=2),
    factory(z=1, a=[2, 3]),
    OrderedDict([("z", 1), ("a", (2,))]),
    torch.Size([2, 3]),
    torch.max(torch.eye(2), 0),
    tautograd.max(tautograd.eye(2), 0),
    (), [], {}, Pair((), []),
]  # fmt: skip


@pytest.mark.parametrize("nest", NESTS, ids=lambda nest: type(nest).__name__)
def test_a_nest_is_rebuilt_as_what_it_was(nest):
    walk = TUPLES_LISTS_DICTS
    leaves = walk.leaves(nest)
    again = walk.filled(nest, leaves)
    assert type(again) is type(nest)
    assert [id(leaf) for leaf in walk.leaves(again)] == [id(leaf) for leaf in leaves]
    assert vars(again) == vars(nest) if hasattr(nest, "__dict__") else True
    assert getattr(again, "default_factory", None) is getattr(nest, "default_factory", None)
    assert list(map(type, dict(walk.containers(again)).values())) == list(
        map(type, dict(walk.containers(nest)).values())
    )
    for path, inner in walk.containers(nest):
        assert at_path(nest, path) is inner


def test_the_original_stays():
    nest = factory(a=[1])
    changed = TUPLES_LISTS_DICTS.mapped(nest, lambda leaf: leaf + 1)
    assert nest == {"a": [1]}
    assert changed == {"a": [2]}


def test_order_is_that_of_the_dictionary():
    assert TUPLES_LISTS_DICTS.leaves({"z": 1, "a": 2, "m": [3]}) == [1, 2, 3]


def test_names():
    found = dict(ANY_MAPPING.named_leaves({"x": [1, {"mask": 2}], "y": 3}))
    assert found == {"x[0]": 1, "x[1]['mask']": 2, "y": 3}


@pytest.mark.parametrize("kind", [MappingProxyType, ChainMap])
def test_any_mapping_where_asked_for(kind):
    assert TUPLES_LISTS_DICTS.leaves(kind({"a": 1})) == [kind({"a": 1})]
    assert ANY_MAPPING.leaves(kind({"a": 1})) == [1]
    again = ANY_MAPPING.mapped(kind({"a": 1}), lambda leaf: leaf + 1)
    assert type(again) is kind
    assert again["a"] == 2


def test_dataclasses_where_asked_for():
    walk = Nests(fields=lambda v: ["x", "y"] if isinstance(v, Batch) else ())
    assert TUPLES_LISTS_DICTS.leaves([Batch(1, 2)]) == [Batch(1, 2)]
    assert walk.leaves([Batch(1, {"k": 2})]) == [1, 2]
    assert walk.mapped(Batch(1, [2]), lambda leaf: -leaf) == Batch(-1, [-2])


def test_others_are_taken_along():
    found = TUPLES_LISTS_DICTS.mapped({"a": [1, 2]}, lambda a, b: a * b, {"a": [3, 4]})
    assert found == {"a": [3, 8]}


def test_one_container_met_twice_is_one():
    inner = [1]
    first, second = TUPLES_LISTS_DICTS.alike((inner, inner), lambda leaf: leaf + 1, {})
    assert first is second
    assert first == [2]


def test_a_nest_in_itself_can_be_changed_in_place():
    nest: list[object] = [1]
    nest.append(nest)
    assert TUPLES_LISTS_DICTS.changed_within(nest, lambda leaf: leaf + 1, {}) is nest
    assert nest[0] == 2
    assert nest[1] is nest


@pytest.mark.parametrize("torch", [torch, tautograd], ids=["torch", "tautograd"])
def test_a_gradient_by_a_defaultdict(torch):
    """Which a constructor that takes pairs cannot make."""
    weights = factory(w=torch.tensor(2.0))
    found = torch.func.grad(lambda p: p["w"] ** 2)(weights)
    assert found["w"].item() == 4.0
    assert type(found) is defaultdict
    assert found["missing"] == []
