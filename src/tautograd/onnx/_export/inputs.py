"""A model's arguments: which tensors are inputs, their names, and others like them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..._tensor.tensor import Tensor, make
from ..._trees.nests import Nests, fields_of_dataclass
from .errors import refused

NESTS = Nests(Mapping, fields_of_dataclass)


class Arguments:
    """The arguments of the model."""

    def __init__(self, model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.args = args
        self.kwargs = kwargs
        self.names: list[str] = []
        self.paths: list[tuple[Any, ...]] = []  # of each tensor: the parameter, then the path to it
        self.tensors: list[Tensor] = []
        self.parameters: list[str] = []  # all of them, whatever they hold
        for parameter, value in _bound(model, args, kwargs):
            self.parameters.append(parameter)
            for path, leaf in leaves(value):
                if isinstance(leaf, Tensor):
                    self.paths.append((parameter, *path))
                    self.names.append("_".join(map(str, (parameter, *path))))
                    self.tensors.append(leaf)

    def called(self, model: Callable[..., Any], tensors: list[Tensor]) -> Any:
        """Call the model with these tensors instead of the example's."""
        left = iter(tensors)

        def put(value: Any) -> Any:
            return next(left) if isinstance(value, Tensor) else value

        args = NESTS.mapped(self.args, put)
        return model(*args, **NESTS.mapped(self.kwargs, put))


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """The leaves of nested containers, each with its path."""
    if not NESTS.is_container(value):
        yield path, value
        return
    for key, part in NESTS.parts(value):
        yield from leaves(part, (*path, key))


def _bound(model: Any, args: Any, kwargs: Any) -> Iterator[tuple[str, Any]]:
    """Arguments by the names of `forward`'s parameters, positional ones first."""
    try:
        parameters = list(inspect.signature(model.forward).parameters.values())
    except (TypeError, ValueError):
        parameters = []
    plain = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "input")
    yield from zip(plain, args, strict=False)
    if len(args) > len(plain):
        yield rest, tuple(args[len(plain) :])
    yield from kwargs.items()


def like(tensor: Tensor, sizes: Mapping[int, int], turned: bool) -> Tensor:
    """A tensor with other sizes, whose values all occur in the example; `turned`: in another order."""
    data = tensor.detach()._data
    if type(data) is not np.ndarray:
        raise refused(
            f"an input on the device '{tensor.device}' cannot be exported; move it to the CPU"
        )
    if turned and data.size:
        other = data.reshape(-1)[::-1].reshape(data.shape)
        if data.dtype.kind == "f" and np.array_equal(other, data):
            steps = np.linspace(0.9, 1.0, data.size).reshape(data.shape)
            other = (data * steps.astype(data.dtype)).astype(data.dtype)
        data = other
    for axis, size in sizes.items():
        if data.shape[axis] != size:
            have = max(data.shape[axis], 1)
            if not data.shape[axis]:
                shape = [*data.shape]
                shape[axis] = 1
                data = np.zeros(shape, data.dtype)
            data = np.take(data, np.arange(size) % have, axis=axis)
    fresh = make(np.array(data, order="C"))
    fresh.requires_grad_(
        tensor.requires_grad and tensor.is_leaf
    ) if data.dtype.kind == "f" else None
    return fresh
