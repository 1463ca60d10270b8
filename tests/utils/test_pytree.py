"""Trees of containers, taken apart and put together as PyTorch's `_pytree` does."""

from __future__ import annotations

import collections
import importlib
import time

import pytest

from tests.both import same

Point = collections.namedtuple("Point", "x y")

TREES = [
    1,
    None,
    [],
    (),
    {},
    {"b": 1, "a": [2, (3, None)]},
    [Point(1, [2]), collections.OrderedDict(z=1, y=(2,))],
    collections.defaultdict(list, {"k": [1], "j": [2, 3]}),
    collections.deque([1, (2, 3)], maxlen=5),
    (("text", b"bytes"), {1, 2}, range(3), time.gmtime(0)),
    [[[[]]], [()], {"a": {}}],
]


def _pytree(torch):
    return importlib.import_module(f"{torch.__name__}.utils._pytree")


def _said(call):
    try:
        return call()
    except Exception as error:
        return [type(error).__name__, str(error)]


@pytest.mark.parametrize("tree", TREES, ids=str)
@same
def test_apart_and_together(torch, tree):
    p = _pytree(torch)
    leaves, spec = p.tree_flatten(tree)
    again = p.tree_unflatten(leaves, spec)
    assert again == tree
    assert type(again) is type(tree)
    assert p.tree_structure(again) == spec
    counts = [spec.num_leaves, spec.num_nodes, spec.num_children, spec.is_leaf()]
    ways = [
        [p.keystr(way), p.key_get(tree, way) is leaf] for way, leaf in p.tree_leaves_with_path(tree)
    ]
    return [
        list(map(str, leaves)),
        str(spec),
        counts,
        ways,
        p.tree_is_leaf(tree),
        str(p.tree_map(lambda leaf: [leaf], tree)),
        list(map(str, p.tree_iter(tree))),
        p.treespec_pprint(spec),
        str(p.tree_leaves(tree, is_leaf=lambda node: isinstance(node, (tuple, list)))),
    ]


@same
def test_tensors_are_leaves(torch):
    p = _pytree(torch)
    x = torch.arange(6.0).view(2, 3)
    values, shape = x.max(1), x.shape
    found = p.tree_map_only(torch.Tensor, lambda t: t * 2, {"x": x, "n": 3, "max": values})
    return [
        [found["x"], found["n"], found["max"].indices],
        p.tree_leaves(shape),
        type(p.tree_map(lambda n: n + 1, shape)).__name__,
        p.tree_any_only(torch.Tensor, lambda t: bool((t > 4).any()), [x, 5]),
        p.tree_all_only(int, lambda n: n == 5, [x, 5]),
        p.tree_any(callable, [1]),
        p.tree_all(lambda n: n > 0, [1, (2,)]),
    ]


@same
def test_several_trees(torch):
    p = _pytree(torch)
    seen = []
    assert p.tree_map_(lambda a, b: seen.append((a, b)), [1, {"k": 2}], [3, {"k": (4,)}]) == [
        1,
        {"k": 2},
    ]
    paths = p.tree_map_with_path(lambda way, a, b: f"{p.keystr(way)}={a + b}", [1, [2]], [3, [4]])
    other_dict = p.tree_map(
        lambda a, b: a - b, {"x": 1, "y": 2}, collections.OrderedDict(y=10, x=20)
    )
    return [seen, paths, other_dict]


ERRORS = [
    "p.tree_unflatten([1], p.tree_structure([1, 2]))",
    "p.tree_unflatten([1], 'shape')",
    "p.tree_map(lambda a, b: a, [1, 2], (1, 2))",
    "p.tree_map(lambda a, b: a, [1, 2], [1])",
    "p.tree_map(lambda a, b: a, {'a': 1}, {'b': 1})",
    "p.tree_map(lambda a, b: a, Point(1, 2), Other(1, 2))",
    "p.register_pytree_node(list, None, None)",
    "p.register_pytree_node(complex, None, None, to_dumpable_context=str)",
    "p.treespec_dumps(3)",
    "p.treespec_loads('[7, {}]')",
    "p.tree_map_only(3, str, [1])",
]


@pytest.mark.parametrize("call", ERRORS)
@same
def test_errors(torch, call):
    other = collections.namedtuple("Other", "x y")
    names = {"p": _pytree(torch), "Point": Point, "Other": other}
    with pytest.raises((ValueError, TypeError)) as error:
        eval(call, names)
    return [type(error.value).__name__, str(error.value).replace("tautograd", "torch")]


@same
def test_a_kind_of_ones_own(torch):
    p = _pytree(torch)

    class Pair:
        def __init__(self, one, other, tag):
            self.one, self.other, self.tag = one, other, tag

    p.register_pytree_node(
        Pair,
        lambda pair: ([pair.one, pair.other], pair.tag),
        lambda values, tag: Pair(*values, tag),
        serialized_type_name=f"tests.Pair.{torch.__name__}",
        flatten_with_keys_fn=lambda pair: (
            [(p.GetAttrKey("one"), pair.one), (p.GetAttrKey("other"), pair.other)],
            pair.tag,
        ),
    )
    tree = {"pair": Pair(1, [2, 3], "t")}
    leaves, spec = p.tree_flatten(tree)
    doubled = p.tree_map(lambda n: 2 * n, tree)["pair"]
    assert p.treespec_loads(p.treespec_dumps(spec)) == spec
    mismatch = _said(lambda: p.tree_map(lambda a, b: a, tree, {"pair": Pair(1, [2, 3], "u")}))
    mismatch[1] = mismatch[1].split("'")[0]
    return [
        leaves,
        str(spec),
        [doubled.one, doubled.other, doubled.tag],
        [p.keystr(way) for way, _ in p.tree_leaves_with_path(tree)],
        mismatch,
    ]


@same
def test_shapes_as_text(torch):
    p = _pytree(torch)
    specs = [p.tree_structure(tree) for tree in ({"b": 1, "a": [2, (3, None)]}, 1, [(), {}])]
    for spec in specs:
        assert p.treespec_loads(p.treespec_dumps(spec)) == spec
    return [p.treespec_dumps(spec) for spec in specs]


@same
def test_shapes_are_compared(torch):
    p = _pytree(torch)
    shapes = [p.tree_structure(t) for t in ([1], (1,), [2], {"a": 1}, {"b": 1}, [1, 2])]
    return [[a == b for a in shapes] for b in shapes]
