"""Conditions that programs ask to hold, as values of tensors: `torch._assert` and `torch._assert_async`."""

from __future__ import annotations

from typing import Any

from .._arrays.checks import require_nonzero
from .._tensor.tensor import Tensor
from .declare.elementwise_calls import require_tensor


def _assert(condition: Any, message: str) -> Any:
    """`assert condition, message`."""
    if type(condition) is not Tensor and not isinstance(condition, (bool, int)):
        shown = getattr(type(condition), "__torch_function__", None)
        if shown is not None and not isinstance(condition, Tensor):  # a tracer's proxy
            return condition.__torch_function__(_assert, (type(condition),), (condition, message), {})
        condition = bool(condition)
    if not condition:
        raise AssertionError(message)
    return None


def _assert_async(input: Any, assert_msg: str | None = None) -> None:
    """Refuse a single value that is 0; a recorded function asks at each run."""
    require_tensor("_assert_async", input)
    size = input._data.size
    if size != 1:
        what = "no values is ambiguous" if size == 0 else "more than one value is ambiguous"
        raise RuntimeError(f"Boolean value of Tensor with {what}")
    message = assert_msg or "Expected Tensor with single nonzero value, but got zero"
    require_nonzero(input._data, lambda _: RuntimeError(message))
