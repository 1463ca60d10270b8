"""Tensors inside what a function takes and gives: tuples, lists, dictionaries and nests of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from .engines import is_tensor


def tensors_in(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The tensors of a nest with a name for each: `name`, `name[0]`, `name['key']`."""
    if is_tensor(value):
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from tensors_in(item, f"{name}[{key!r}]")
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from tensors_in(item, f"{name}[{i}]")


def replaced(value: Any, name: str, change: Callable[[str, Any], Any]) -> Any:
    """The same nest with every tensor replaced by `change(name, tensor)`."""
    if is_tensor(value):
        return change(name, value)
    if isinstance(value, Mapping):
        items = {key: replaced(item, f"{name}[{key!r}]", change) for key, item in value.items()}
        return items if type(value) is dict else type(value)(items)  # type: ignore[call-arg]
    if isinstance(value, (list, tuple)):
        made = [replaced(item, f"{name}[{i}]", change) for i, item in enumerate(value)]
        return type(value)(*made) if hasattr(value, "_fields") else type(value)(made)
    return value


def named_outputs(output: Any) -> list[tuple[str, Any]]:
    """The tensors a function gave: `output 0`, `output 1`, or by their keys."""
    return list(_each(output, "output"))


def _each(value: Any, what: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from tensors_in(item, f"{what} {i}")
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from tensors_in(item, f"{what} {key!r}")
    else:
        yield from tensors_in(value, f"{what} 0")


class Call:
    """The arguments of one call, with a name for each tensor among them."""

    def __init__(self, args: Any = (), kwargs: Mapping[str, Any] | None = None) -> None:
        self.args: tuple[Any, ...] = tuple(args) if isinstance(args, (list, tuple)) else (args,)
        self.kwargs: dict[str, Any] = dict(kwargs or {})

    def tensors(self) -> list[tuple[str, Any]]:
        """Each tensor: `input 0` by place, or the keyword it is passed by."""
        found: list[tuple[str, Any]] = []
        for i, value in enumerate(self.args):
            found += tensors_in(value, f"input {i}")
        for name, value in self.kwargs.items():
            found += tensors_in(value, name)
        return found

    def with_tensors(self, change: Callable[[str, Any], Any]) -> Call:
        """The same call with every tensor replaced by `change(name, tensor)`."""
        return Call(
            tuple(replaced(value, f"input {i}", change) for i, value in enumerate(self.args)),
            {name: replaced(value, name, change) for name, value in self.kwargs.items()},
        )

    def on(self, subject: Callable[..., Any]) -> Any:
        """What the subject gives for these arguments."""
        return subject(*self.args, **self.kwargs)


def parameter_names(subject: Any) -> set[str]:
    """The names of a function's (or a module's `forward`'s) parameters, where they can be known."""
    try:
        return set(inspect.signature(getattr(subject, "forward", subject)).parameters)
    except (TypeError, ValueError):
        return set()


def title_of(subject: Any) -> str:
    """How to call a function or module in a report."""
    name = getattr(subject, "__qualname__", None) or type(subject).__qualname__
    return str(name).rpartition("<locals>.")[2]
