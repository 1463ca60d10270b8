"""`parallelize_module`: tensor parallelism by a plan."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from fnmatch import fnmatch
from typing import Any

from ...._user_code.sites import warning_level
from .._api import _default
from .style import ParallelStyle

__all__ = ["loss_parallel", "parallelize_module"]


def parallelize_module(
    module: Any,
    device_mesh: Any = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Any:
    """Apply a style to a module, or to modules below it by name (`"layers.*.w1"`)."""
    mesh = _default(device_mesh)
    if mesh.ndim != 1:
        raise ValueError(
            f"tensor parallelism needs a mesh of one dimension, not {mesh}: name one, as in mesh['tp']"
        )
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported at the moment, so this "
            "parallelize_module call will do nothing.",
            stacklevel=warning_level(),
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            "Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for parallelize_plan, "
            f"{type(parallelize_plan)} found!"
        )
    for path, style in parallelize_plan.items():
        found = [module] if not path else _matching(module, path.split("."))
        if not found:
            warnings.warn(
                f"Parallelize plan key '{path}' could not be resolved: no submodule matching "
                f"token '{path.split('.')[0]}' in module {type(module).__name__}.",
                stacklevel=warning_level(),
            )
        for below in found:
            parallelize_module(below, mesh, style, src_data_rank=src_data_rank)
    return module


def _matching(module: Any, steps: list[str]) -> list[Any]:
    """The submodules whose path matches, step by step."""
    if not steps:
        return [module]
    return [
        found
        for name, child in module.named_children()
        if fnmatch(name, steps[0])
        for found in _matching(child, steps[1:])
    ]


@contextlib.contextmanager
def loss_parallel() -> Iterator[None]:
    """A context for computing a loss from logits with sharded classes; here this always works."""
    yield
