"""A call's arguments as the called function's own parameters have them."""

from __future__ import annotations

import inspect
from typing import Any, NamedTuple

__all__ = ["ArgsKwargsPair", "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """Positional and named arguments."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]


def normalize_function(
    target: Any, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, arg_types: Any = None,
    kwarg_types: Any = None, normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """The arguments by the signature of the function, defaults included; None if they fit none."""
    try:
        signature = inspect.signature(inspect.unwrap(target))
    except (TypeError, ValueError):
        return None
    return _fitted(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def normalize_module(
    root: Any, target: str, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None,
    normalize_to_only_use_kwargs: bool = False,
) -> ArgsKwargsPair | None:  # fmt: skip
    """The same for a submodule's `forward`."""
    try:
        found = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize arguments for module {target} but root did not contain module {target}!"
        ) from error
    signature = inspect.signature(found.forward)
    return _fitted(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def _fitted(signature: Any, args: Any, kwargs: Any, only_named: bool) -> ArgsKwargsPair | None:
    kinds = {p.kind for p in signature.parameters.values()}
    if kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}:
        return None
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    given = {
        name: value for name, value in bound.arguments.items() if name != "out" or value is not None
    }
    if only_named:
        return ArgsKwargsPair((), given)
    count = len(args)
    names = list(bound.arguments)
    first = tuple(given[name] for name in names[:count])
    return ArgsKwargsPair(first, {name: given[name] for name in names[count:] if name in given})
