"""Methods that write an operation's result into the tensor they belong to: `x.add_(…)` from `add(x, …)`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.dtypes import LEGACY_NAMES, can_cast
from ..._autograd.autocast_state import EVER_USED
from ..._autograd.modes import modes
from ..._autograd.views import adopt, bump, check_writable, keep_original, save_written_output
from ..._tensor.tensor import Tensor
from .autocasting import as_it_is
from .guarding import explain, marked, no_method, with_numbers
from .in_place_checks import BEFORE, OWN_SHAPE
from .memory_overlap import (
    SCATTERING,
    check_expanded,
    refuse_any_overlap,
    refuse_partial_overlap,
)
from .truth_values import check_given, truth_values_of

Function = Callable[..., Any]


def _check_room(self: Tensor, others: tuple[Any, ...]) -> None:
    """Where an operation lacks a kernel: PyTorch asks first whether the result could be written."""
    from .elementwise_calls import check_written_shape
    from .promotion import common_dtype

    tensors = [x for x in others if isinstance(x, Tensor)]
    check_written_shape(self._data.shape, *(x._data.shape for x in (self, *tensors)))
    numbers = [x for x in others if isinstance(x, (int, float, complex)) and not tensors]
    kind = common_dtype((self, *tensors, *numbers))
    if not can_cast(kind, self.dtype):
        raise RuntimeError(_no_cast(kind, self.dtype))


def _no_cast(result: Any, target: Any) -> str:
    return (
        f"result type {LEGACY_NAMES[result]} can't be cast to the desired output type "
        f"{LEGACY_NAMES[target]}"
    )


def as_function(twin: Function) -> Function:
    """An in-place method as a function, whose first argument can be given by name."""

    @functools.wraps(twin)
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        return twin(input, *args, **kwargs)

    return call


def inplace_twin(name: str, fn: Function, update: Function | None = None) -> Function:
    """`x.add_(…)` from `add(x, …)`: the same operation, written into x.

    `update(x, y)` does it at once where nothing has to be checked, and says whether it has.
    """

    refuse_shared = refuse_any_overlap if name in SCATTERING else refuse_partial_overlap
    check = BEFORE.get(name)
    truths = truth_values_of(fn)

    @functools.wraps(fn)
    def twin(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if not isinstance(self, Tensor):
                raise no_method(name + "_", (self,))
            if update is not None and not kwargs and len(args) == 1 and update(self, args[0]):
                return self
            if modes.deferred is not None:
                return modes.deferred.call(twin, (self, *args), kwargs)
            if EVER_USED and modes.lower is not None:
                return as_it_is(twin, (self, *args), kwargs)
            others = (*args, *kwargs.values())
            check_writable(self, *others)
            refuse_shared(self, *others)
            if check is not None:
                check(self, *args, **kwargs)
            if truths:
                check_given(name + "_", truths, (self, *args), kwargs)
            if modes.special:
                if modes.function_modes:  # called by its function, which no method is in front of
                    from ..._autograd.function_modes import shown

                    return shown(twin, (self, *args), kwargs)
                from ..._autograd.packing import overwriting

                return write_into(self, overwriting(self, fn, args, kwargs), name)
            try:
                result = fn(self, *args, **kwargs)
            except RuntimeError as error:  # NotImplementedError is one
                refused = isinstance(error, NotImplementedError)
                if (refused or str(error) == "ZeroDivisionError") and name not in OWN_SHAPE:
                    _check_room(self, others)
                raise
            return write_into(self, result, name)
        except Exception as error:
            replaced = with_numbers(error, fn, name + "_", (self, *args), kwargs, method=True)
            if replaced is None:
                explain(error, name + "_", (self, *args), kwargs, method=True)
                raise
        try:
            return twin(*replaced[0], **replaced[1])  # where nothing is left to replace
        except Exception as error:
            explain(error, name + "_", *replaced, method=True)
            raise

    marked(twin)
    twin.__name__ = twin.__qualname__ = name + "_"
    twin.__doc__ = f"In-place version of `{name}`."
    return twin


def write_into(self: Tensor, result: Tensor, name: str, history: bool = True) -> Tensor:
    """Put a freshly computed result into a tensor's memory, and its history with it."""
    if modes.exporter is not None:
        modes.exporter.written(self, result)
    target = self._data
    if result is self:
        bump(self, 3)
        return self
    data = result._data
    if data.shape != target.shape:
        from .elementwise_calls import check_written_shape

        check_written_shape(target.shape, data.shape)
    if data.dtype != target.dtype and not can_cast(result.dtype, self.dtype):
        raise RuntimeError(_no_cast(result.dtype, self.dtype))
    if 0 in target.strides:
        check_expanded(name, target)
    keep_original(self, result._node)
    if data.dtype == target.dtype:
        np.copyto(target, data)
    else:
        modes.quietly(np.copyto, target, data, casting="unsafe")
    bump(self, 3)
    save_written_output(self, result, result._node)
    if history:
        adopt(self, result)
    return self
