"""`checkpoint` and `checkpoint_sequential` as users call them."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from ..._tensor.tensor import Tensor
from .reentrant import CheckpointFunction
from .region import run_region


def noop_context_fn() -> tuple[Any, Any]:
    """No context, neither for the forward nor for the recomputation."""
    return contextlib.nullcontext(), contextlib.nullcontext()


_early_stop: bool | None = None
_debug: bool | None = None


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """Whether recomputation stops once everything that backward needs is there (default: yes)."""
    global _early_stop
    before, _early_stop = _early_stop, enable
    try:
        yield
    finally:
        _early_stop = before


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """Whether errors name the operations of both runs; None leaves it to each call."""
    global _debug
    before, _debug = _debug, enabled
    try:
        yield
    finally:
        _debug = before


def _reentrant_by_default(name: str) -> bool:
    warnings.warn(
        f"{name}: the use_reentrant parameter should be passed explicitly. Starting in PyTorch "
        "2.9, calling checkpoint without use_reentrant will raise an exception. "
        "use_reentrant=False is recommended, but if you need to preserve the current default "
        "behavior, you can pass use_reentrant=True. Refer to docs for more details on the "
        "differences between the two variants.",
        UserWarning,
        stacklevel=3,
    )
    return True


def _no_more(kwargs: dict[str, Any]) -> None:
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """Run `function(*args)` keeping only its inputs for backward, which runs it again.

    `preserve_rng_state=True` gives the second run the random numbers of the first.
    """
    if use_reentrant is None:
        use_reentrant = _reentrant_by_default("torch.utils.checkpoint")
    preserve = kwargs.pop("preserve_rng_state", True)
    if use_reentrant:
        _no_more(kwargs)
        if context_fn is not noop_context_fn or debug is not False:
            raise ValueError(
                "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
            )
        return CheckpointFunction.apply(function, preserve, *args)
    shown = debug if _debug is None else _debug
    stops = early_stop if _early_stop is None else _early_stop
    return run_region(function, preserve, context_fn, determinism_check, shown, stops, args, kwargs)


def checkpoint_sequential(
    functions: Any, segments: int, input: Tensor, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """Run functions one after the other, checkpointed in `segments` parts (the last one is not)."""
    if use_reentrant is None:
        use_reentrant = _reentrant_by_default("torch.utils.checkpoint.checkpoint_sequential")
    preserve = kwargs.pop("preserve_rng_state", True)
    _no_more(kwargs)
    children = getattr(functions, "children", None)
    steps = list(children() if children is not None else functions)

    def part(start: int, stop: int) -> Callable[[Any], Any]:
        def run(value: Any) -> Any:
            for step in steps[start:stop]:
                value = step(value)
            return value

        return run

    size = len(steps) // segments
    stop = 0
    for start in range(0, size * (segments - 1), size):
        stop = start + size
        input = checkpoint(
            part(start, stop), input, use_reentrant=use_reentrant, preserve_rng_state=preserve
        )
    return part(stop, len(steps))(input)
