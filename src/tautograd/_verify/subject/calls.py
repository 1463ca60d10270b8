"""One call of a function or module: its arguments under their names, copied or replaced."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ..._trees.nests import WITH_DATACLASSES as NESTS
from .engines import is_tensor, tensors_of

_BY_POSITION = inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD


class Call:
    """The arguments of a call; each tensor is named by its parameter, or by its position."""

    def __init__(
        self, subject: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> None:
        self.subject = subject
        self.args: tuple[Any, ...] = tuple(args) if isinstance(args, (list, tuple)) else (args,)
        self.kwargs: dict[str, Any] = dict(kwargs or {})
        names = _positional(subject)
        names += [f"input {i}" for i in range(len(names), len(self.args))]
        self._named = {**dict(zip(names, self.args, strict=False)), **self.kwargs}

    def tensors(self) -> dict[str, Any]:
        """Every tensor among the arguments, by name: `x`, `x[0]`, `x['mask']`."""
        return tensors_of(self._named)

    def with_tensors(self, change: Callable[[str, Any], Any]) -> Call:
        """The same call with every tensor replaced by `change(name, tensor)`."""

        def maybe(name: str, value: Any) -> Any:
            return change(name, value) if is_tensor(value) else value

        values = NESTS.mapped_by_name(self._named, maybe)
        args = [values[name] for name in list(values)[: len(self.args)]]
        return Call(self.subject, args, {name: values[name] for name in self.kwargs})

    def run(self, subject: Any = None) -> Any:
        """Call the subject (or another in its place) with these arguments."""
        return (self.subject if subject is None else subject)(*self.args, **self.kwargs)


def _positional(subject: Any) -> list[str]:
    return [p.name for p in _parameters(subject) if p.kind in _BY_POSITION]


def parameter_names(subject: Any) -> list[str]:
    """The parameter names of a function (or of a module's `forward`), where known."""
    return [p.name for p in _parameters(subject)]


def _parameters(subject: Any) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(getattr(subject, "forward", subject)).parameters.values())
    except (TypeError, ValueError):  # a built-in function may have no signature
        return []


def outputs_of(result: Any) -> dict[str, Any]:
    """The tensors of a result: `output`, or `output[0]`, `output['logits']`, …"""
    return tensors_of(result, "output")


def title_of(subject: Any) -> str:
    """The title of a function or module in a report."""
    name = getattr(subject, "__qualname__", None) or type(subject).__qualname__
    return str(name).rpartition("<locals>.")[2]
