"""What `torch.func`'s transforms ask of arguments and results, and say when they do not get it."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from ..._trees.nests import TUPLES_LISTS_DICTS as NESTS

Argnums = int | tuple[int, ...]


def choose(args: tuple[Any, ...], argnums: Argnums) -> Any:
    """The arguments to differentiate: one, or a tuple of them."""
    if isinstance(argnums, int):
        return args[_place(argnums, len(args))]
    if not isinstance(argnums, tuple):
        raise RuntimeError(f"argnums must be int or Tuple[int, ...], got: {type(argnums)}")
    if not argnums:
        raise RuntimeError("argnums must be non-empty")
    places = [_place(number, len(args)) for number in argnums]
    if len(set(places)) != len(places):
        raise RuntimeError(f"argnums elements must be unique, got {argnums}")
    return tuple([args[place] for place in places])


def _place(number: Any, count: int) -> int:
    if not isinstance(number, int):
        raise RuntimeError(f"argnum must be int, got: {type(number)}")
    if not -count <= number < count:
        raise RuntimeError(f"Got argnum={number}, but only {count} positional inputs")
    return number % count


def replaced(args: tuple[Any, ...], argnums: Argnums, values: Any) -> tuple[Any, ...]:
    """All arguments, with these values for the chosen ones."""
    new = list(args)
    if isinstance(argnums, int):
        new[argnums] = values
    else:
        for i, value in zip(argnums, values, strict=True):
            new[i] = value
    return tuple(new)


def split_aux(api: str, output: Any) -> tuple[Any, Any]:
    """What a function with `has_aux` returned: its output, and tensors besides."""
    if not (isinstance(output, tuple) and len(output) == 2):
        raise RuntimeError(
            f"{api}: output of function f should be a tuple: (output, aux) if has_aux is True"
        )
    for value in NESTS.leaves(output[1]):
        if not isinstance(value, Tensor):
            raise RuntimeError(f"Expected tensors, got unsupported type {type(value)}")
    return output


def tensors_returned(api: str, output: Any) -> list[Tensor]:
    """The tensors in what a function returned, which must be all there is."""
    found = NESTS.leaves(output)
    if not found or output is None:
        raise RuntimeError(
            f"{api}: Expected f to be a function that has non-empty output (got output = {output})"
        )
    for value in found:
        if not isinstance(value, Tensor):
            raise RuntimeError(
                f"{api}: expected f(*primals) to return only tensors, got unsupported type "
                f"{type(value)}"
            )
    return found


def check_directions(api: str, primals: Any, tangents: Any) -> None:
    """A tangent for each primal, tensors all."""
    if not isinstance(primals, tuple):
        raise RuntimeError(
            f"{api}: Expected primals to be a tuple. E.g. it should be valid to call f(*primals)."
        )
    if not same_nest(primals, tangents):
        raise RuntimeError(
            f"{api}: Expected primals and tangents to have the same python structure. For example, "
            "if primals is a tuple of 3 tensors, tangents also must be. Got primals with structure "
            f"{type(primals)} and tangents with structure {type(tangents)}"
        )
    for name, tree in (("primals", primals), ("tangents", tangents)):
        found = NESTS.leaves(tree)
        if not found:
            raise RuntimeError(f"{api}: Expected {name} to contain at least one Tensor.")
        for value in found:
            if not isinstance(value, Tensor):
                raise RuntimeError(
                    f"{api}: Expected {name} to only contain Tensors, got {type(value)}"
                )


def same_nest(one: Any, other: Any) -> bool:
    """Whether two nests have the same containers with the same places in them."""
    if not isinstance(one, (dict, list, tuple)):
        return not isinstance(other, (dict, list, tuple))
    if type(one) is not type(other) or len(one) != len(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same_nest(one[k], other[k]) for k in one)  # type: ignore[union-attr]
    return all(same_nest(a, b) for a, b in zip(one, other, strict=True))


def refuse_complex(api: str, what: str, tensors: list[Tensor]) -> None:
    """A Jacobian of complex numbers could mean several things."""
    if any(tensor.dtype.is_complex for tensor in tensors):
        raise RuntimeError(
            f"{api}: Expected all {what} to be real but received complex tensor at flattened "
            f"input idx: {[t.dtype.is_complex for t in tensors].index(True)}"
        )
