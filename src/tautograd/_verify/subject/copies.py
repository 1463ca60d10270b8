"""A copy of a computation on another device or in another precision.

A module is copied. So are the modules and tensors that a function closes over or names as globals:
the function is rebuilt around the copies, and the user's own stay where they are.
"""

from __future__ import annotations

import copy
import functools
import types
from collections.abc import Callable
from typing import Any

from ..._trees.nests import WITH_DATACLASSES as NESTS
from .calls import Call
from .engines import is_module, is_tensor
from .restore import global_names, is_library


def precision_for(engine: Any, tensor: Any, dtype: Any) -> Any:
    """The dtype of a tensor when reals are `dtype`: integers keep theirs, complex numbers follow."""
    if tensor.is_complex():
        return engine.complex128 if dtype == engine.float64 else engine.complex64
    return dtype if tensor.is_floating_point() else tensor.dtype


def moved_call(engine: Any, call: Call, device: Any, dtype: Any) -> Call:
    """The same call, with everything copied to another device and another precision."""

    def move(_: str, tensor: Any) -> Any:
        made = tensor.detach().to(device=device, dtype=precision_for(engine, tensor, dtype))
        return made.clone().requires_grad_(tensor.requires_grad)

    moved = call.with_tensors(move)
    subject = _moved(call.subject, lambda tensor: move("", tensor), device, dtype, {})
    return Call(subject, moved.args, moved.kwargs)


def in_precision(engine: Any, function: Any, dtype: Any) -> Any:
    """The function rebuilt around copies, in another precision, of what it closes over, if anything."""

    def move(tensor: Any) -> Any:
        made = tensor.detach().to(dtype=precision_for(engine, tensor, dtype))
        return made.clone().requires_grad_(tensor.requires_grad)

    return _moved(function, move, None, dtype, {})


def _moved(
    value: Any, move: Callable[[Any], Any], device: Any, dtype: Any, done: dict[int, Any]
) -> Any:
    """A value with every tensor and module in it copied; anything else is kept."""
    if id(value) in done:
        return done[id(value)]
    copied = functools.partial(_moved, move=move, device=device, dtype=dtype, done=done)
    made = value
    if is_tensor(value):
        made = move(value)
    elif is_module(value):
        made = copy.deepcopy(value).to(device=device, dtype=dtype)
    elif isinstance(value, functools.partial):
        keywords = {name: copied(held) for name, held in value.keywords.items()}
        made = functools.partial(copied(value.func), *map(copied, value.args), **keywords)
    elif isinstance(value, types.MethodType):
        owner = copied(value.__self__)
        made = value if owner is value.__self__ else types.MethodType(value.__func__, owner)
    elif isinstance(value, types.FunctionType) and not is_library(value.__module__):
        done[id(value)] = value  # a recursive function
        made = _function(value, copied)
    elif isinstance(value, (list, tuple, dict)):
        changed = NESTS.mapped(value, copied)
        same = type(changed) is type(value) and _holds_the_same(changed, value)
        made = value if same else changed
    done[id(value)] = made
    return made


def _holds_the_same(one: Any, other: Any) -> bool:
    if isinstance(one, dict):
        one, other = list(one.values()), list(other.values())
    return all(a is b for a, b in zip(one, other, strict=True))


def _function(function: types.FunctionType, copied: Callable[[Any], Any]) -> Any:
    """The function rebuilt around moved copies of what it holds; unchanged if it holds nothing to move."""
    cells = list(function.__closure__ or ())
    contents = []
    for cell in cells:
        try:
            contents.append((cell, copied(cell.cell_contents)))
        except ValueError:  # an empty cell
            contents.append((cell, None))
    variables: dict[str, Any] = {}
    for name in global_names(function.__code__):
        held = function.__globals__.get(name)
        if is_tensor(held) or is_module(held) or isinstance(held, types.FunctionType):
            new = copied(held)
            if new is not held:
                variables[name] = new
    held_elsewhere = [new is not None and new is not _content(cell) for cell, new in contents]
    if not variables and not any(held_elsewhere):
        return function
    itself = types.CellType()
    closure = tuple(
        itself if new is function else types.CellType(new) if other else cell
        for (cell, new), other in zip(contents, held_elsewhere, strict=True)
    )
    space = {**function.__globals__, **variables} if variables else function.__globals__
    made = types.FunctionType(
        function.__code__, space, function.__name__, function.__defaults__, closure or None
    )
    itself.cell_contents = made
    if variables:  # and a recursive global function
        space.update({name: made for name, held in space.items() if held is function})
    made.__kwdefaults__ = function.__kwdefaults__
    made.__qualname__ = function.__qualname__
    return made


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return None
