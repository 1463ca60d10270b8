"""Which dimension of which input or output is the batch: `vmap`'s `in_dims` and `out_dims`.

Both are an integer (or None) for all, or a nest of them that matches the arguments' nest, in which
one integer may stand for a whole branch. Here they become one per leaf.
"""

from __future__ import annotations

import functools
from typing import Any

from ..._tensor.tensor import Tensor
from ..._trees.nests import TUPLES_LISTS_DICTS as NESTS


def name_of(func: Any) -> str:
    """A function as `vmap`'s messages call it."""
    if isinstance(func, functools.partial):
        return f"functools.partial({name_of(func.func)}, ...)"
    return getattr(func, "__name__", repr(func))


def flat_in_dims(in_dims: Any, args: tuple[Any, ...], func: Any) -> list[int | None]:
    """The batch dimension of each leaf of the arguments; None where there is none."""
    prefix = f"vmap({name_of(func)}, in_dims={in_dims}, ...)(<inputs>): "
    if not isinstance(in_dims, (int, tuple)):
        raise ValueError(
            f"{prefix}expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({name_of(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or "
            "you are trying to vmap over a function with no inputs. The latter is unsupported."
        )
    found = _spread(in_dims, args)
    if found is None:
        raise ValueError(
            f"{prefix}in_dims is not compatible with the structure of `inputs`. in_dims has "
            f"structure {_structure(in_dims)} but inputs has structure {_structure(args)}."
        )
    return [
        _checked(dim, leaf, prefix) for dim, leaf in zip(found, NESTS.leaves(args), strict=True)
    ]


def _checked(dim: Any, leaf: Any, prefix: str) -> int | None:
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{prefix}Got in_dim={dim} for an input but in_dim must be either an integer dimension "
            "or None."
        )
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"{prefix}Got in_dim={dim} for an input but the input is of type {type(leaf)}. We "
            "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -leaf.ndim <= dim < leaf.ndim:
        raise ValueError(
            f"{prefix}Got in_dim={dim} for some input, but that input is a Tensor of "
            f"dimensionality {leaf.ndim} so expected in_dim to satisfy -{leaf.ndim} <= in_dim < "
            f"{leaf.ndim}."
        )
    return dim % leaf.ndim


def batch_size(flat: list[Any], dims: list[int | None]) -> int:
    """How many examples there are."""
    sizes = [x.shape[d] for x, d in zip(flat, dims, strict=True) if d is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if len(set(sizes)) > 1:
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return int(sizes[0])


def check_out_dims(out_dims: Any, func: Any) -> None:
    """Refuse what cannot say where a batch goes, before anything runs."""
    if not all(dim is None or isinstance(dim, int) for dim in NESTS.leaves(out_dims)):
        raise ValueError(
            f"vmap({name_of(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or "
            "a python collection of ints representing where in the outputs the vmapped dimension "
            "should appear."
        )


def flat_out_dims(out_dims: Any, outputs: Any, func: Any) -> list[int | None]:
    """Where the batch goes in each leaf of the outputs; None where it must not be."""
    found: list[int | None] | None
    if isinstance(outputs, Tensor):
        alone = isinstance(out_dims, tuple) and len(out_dims) == 1
        plain = out_dims is None or isinstance(out_dims, int)
        found = list(out_dims) if alone else [out_dims] if plain else None
    else:
        found = _spread(out_dims, outputs)
    if found is None:
        raise ValueError(
            f"vmap({name_of(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not "
            "compatible with the structure of `outputs`. out_dims has structure "
            f"{_structure(out_dims)} but outputs has structure {_structure(outputs)}."
        )
    return found


def _spread(spec: Any, tree: Any) -> list[Any] | None:
    """The leaf of `spec` that stands for each leaf of `tree`; None if they do not match."""
    if not isinstance(spec, (dict, list, tuple)):
        return [spec] * len(NESTS.leaves(tree))
    if type(spec) is not type(tree) or len(spec) != len(tree):
        return None
    if isinstance(spec, dict):
        if spec.keys() != tree.keys():  # type: ignore[union-attr]
            return None
        parts = [_spread(spec[key], tree[key]) for key in tree]
    else:
        parts = [_spread(one, other) for one, other in zip(spec, tree, strict=True)]
    if any(part is None for part in parts):
        return None
    return [dim for part in parts if part is not None for dim in part]


def _structure(tree: Any) -> str:
    """A nest with stars for its leaves."""
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key!r}: {_structure(v)}" for key, v in tree.items()) + "}"
    if isinstance(tree, list):
        return "[" + ", ".join(map(_structure, tree)) + "]"
    if isinstance(tree, tuple):
        return "(" + ", ".join(map(_structure, tree)) + ("," if len(tree) == 1 else "") + ")"
    return "*"
