"""Sparse inputs are verified by the values they hold: what is not stored is not a variable.

The computation receives sparse tensors built from their values with the same indices; the gradient by
those values is what a sparse gradient holds, and differences can move them like any other numbers.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..._trees.nests import WITH_DATACLASSES as NESTS
from .engines import engine_of, is_module, is_tensor
from .training_step import with_parameters_of

_INDICES = {
    "sparse_csr": ("crow_indices", "col_indices"),
    "sparse_csc": ("ccol_indices", "row_indices"),
}
_BLOCKS = {"sparse_bsr": "sparse_csr", "sparse_bsc": "sparse_csc"}


def by_their_values(target: Any, args: Any, kwargs: Any) -> tuple[Any, Any, Any]:
    """The same computation as a function of its sparse inputs' values; unchanged if there are none."""
    makers: dict[int, Callable[[Any], Any]] = {}

    def values_of(value: Any) -> Any:
        if not is_tensor(value) or not _layout(value).startswith("sparse"):
            return value
        if not (value.is_floating_point() or value.is_complex()):
            return value
        values, make = _apart(value)
        kept.append(values)
        makers[len(kept) - 1] = make
        return values

    kept: list[Any] = []
    args, kwargs = NESTS.mapped((args, kwargs), values_of)
    if not makers:
        return target, args, kwargs
    places = [i for i, leaf in enumerate(_leaves((args, kwargs))) if _is_one_of(leaf, kept)]
    made_at = dict(zip(places, makers.values(), strict=True))

    @functools.wraps(target.forward if is_module(target) else target)
    def remade(*given: Any, **named: Any) -> Any:
        count = iter(range(len(_leaves((given, named)))))

        def sparse(value: Any) -> Any:
            make = made_at.get(next(count))
            return value if make is None else make(value)

        given, named = NESTS.mapped((given, named), sparse)
        return target(*given, **named)

    return (with_parameters_of(remade, target) if is_module(target) else remade), args, kwargs


def _leaves(nest: Any) -> list[Any]:
    """The leaves that `NESTS.mapped` visits, in its order."""
    found: list[Any] = []

    def note(leaf: Any) -> Any:
        found.append(leaf)
        return leaf

    NESTS.mapped(nest, note)
    return found


def _is_one_of(leaf: Any, kept: list[Any]) -> bool:
    return any(leaf is one for one in kept)


def _layout(tensor: Any) -> str:
    return str(tensor.layout).rpartition(".")[2]


def _apart(tensor: Any) -> tuple[Any, Callable[[Any], Any]]:
    """A sparse tensor's values, and a function that rebuilds it from others."""
    engine, layout, shape = engine_of([tensor]), _layout(tensor), tuple(tensor.shape)
    wanted, tensor = tensor.requires_grad, tensor.detach()
    if layout == "sparse_coo":
        tensor = tensor.coalesce()
        indices = tensor.indices()

        def make(values: Any) -> Any:
            return engine.sparse_coo_tensor(indices, values, shape, is_coalesced=True)

    else:
        rows, columns = _INDICES[_BLOCKS.get(layout, layout)]
        outer, inner = getattr(tensor, rows)(), getattr(tensor, columns)()

        def make(values: Any) -> Any:
            return getattr(engine, f"{layout}_tensor")(outer, inner, values, shape)

    return tensor.values().clone().requires_grad_(wanted), make
