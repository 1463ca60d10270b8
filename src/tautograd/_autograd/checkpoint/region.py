"""The other form: the graph is recorded as usual, but nodes save placeholders.

The first placeholder that backward opens makes the function run again, and the tensors that are
saved then, in the same order, fill all placeholders.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable
from typing import Any

from ..._arrays.batching.levels import levels_of, with_levels
from ..._random import default_generator
from ..._tensor.tensor import Tensor, make
from ..._user_code.sites import mark, resolve
from ..autocast_state import as_it_was, region_in_force
from ..backward_pass.engine import current_run, next_run_number
from ..grad_mode import enable_grad
from ..graph import saved_tensors_hooks
from ..modes import modes
from ..views import detached
from .reentrant import random_state_of


class CheckpointError(RuntimeError):
    """The function did not do the same when it ran again."""


class _Placeholder:
    """Stands for one saved tensor until the function has run again."""

    __slots__ = ("__weakref__", "levels", "run", "spent", "value")

    def __init__(self, levels: tuple[int, ...]) -> None:
        self.value: Any = None
        self.levels = levels  # of the `vmap`s in which the graph was recorded
        self.run = -1  # number of the backward pass for which `value` was recomputed
        self.spent = False


class _EnoughError(Exception):
    """Everything backward needs has been saved again."""


class GraphExecGroup:
    """Inside, backward passes that need different parts of a checkpointed call run it again only once."""

    _open = threading.local()

    def __init__(self) -> None:
        self.number = -id(self)  # no pass has it

    def __enter__(self) -> None:
        if self.current() is not None:
            raise RuntimeError("GraphExecGroup contexts cannot be nested")
        GraphExecGroup._open.group = self

    def __exit__(self, *exc: object) -> None:
        GraphExecGroup._open.group = None

    @classmethod
    def current(cls) -> GraphExecGroup | None:
        """The one that this thread is in."""
        return getattr(cls._open, "group", None)


class Region:
    """One checkpointed call: how to run it again, and the placeholders it left in the graph."""

    def __init__(
        self, run_again: Callable[[], None], check: str, early_stop: bool, debug: bool
    ) -> None:
        self.run_again = run_again
        self.describe = _CHECKS[check]
        self.early_stop = early_stop
        self.debug = debug
        self.placeholders: list[weakref.ref[_Placeholder]] = []
        self.descriptions: list[Any] = []
        self.complete = False  # whether the forward has ended
        self.ignore_mismatch = False
        self.traces: tuple[list[str], list[str]] = ([], [])

    # The forward: leave placeholders.

    def pack(self, tensor: Tensor) -> _Placeholder:
        placeholder = _Placeholder(levels_of(tensor._data))
        self.placeholders.append(weakref.ref(placeholder))
        self.descriptions.append(self.describe(tensor))
        if self.debug:
            self.traces[0].append(_trace(tensor))
        return placeholder

    # Backward: fill them.

    def unpack(self, placeholder: _Placeholder) -> Tensor:
        run = current_run()
        group = GraphExecGroup.current()
        if group is not None:
            number = group.number
            if placeholder.run == number and placeholder.spent:
                raise CheckpointError(
                    "Performing two backward calls that overlap (i.e. require the same saved "
                    "activation in order to compute gradients) is not allowed while under the same "
                    "GraphExecGroup context."
                )
        else:
            number = next_run_number() if run is None else run.number
        if placeholder.run != number:
            self.recompute(number)
        elif placeholder.spent:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already "
                "unpacked once. If you are calling ctx.saved_tensors in backward, make sure to do "
                "so only once. Otherwise please open an issue with details on your use case."
            )
        value = placeholder.value
        placeholder.value, placeholder.spent = None, True
        found: Tensor = value
        return found

    def recompute(self, run: int) -> None:
        self.traces[1].clear()
        recomputed: list[Any] = []

        def keep(tensor: Tensor) -> Any:
            position = len(recomputed)
            recomputed.append(self.describe(tensor))
            if self.debug:
                self.traces[1].append(_trace(tensor))
            if position >= len(self.placeholders):
                if not self.complete:  # backward inside the checkpointed function
                    self.ignore_mismatch = True
                    return tensor
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than "
                    f"during the original forward pass.\n{self.advice()}"
                )
            placeholder = self.placeholders[position]()
            if placeholder is not None:
                value = detached(tensor) if tensor.requires_grad else tensor
                if placeholder.levels != levels_of(tensor._data):
                    value = make(with_levels(value._data, placeholder.levels))
                placeholder.value = value
                placeholder.run, placeholder.spent = run, False
            if self.early_stop and len(recomputed) == len(self.placeholders):
                raise _EnoughError
            return tensor

        with (
            saved_tensors_hooks(keep, _same),
            enable_grad(),
            contextlib.suppress(_EnoughError),
        ):
            self.run_again()
        if not self.ignore_mismatch:
            self.check(recomputed)

    def check(self, recomputed: list[Any]) -> None:
        if len(recomputed) != len(self.placeholders):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the "
                "original forward and recomputation.\nNumber of tensors saved during forward: "
                f"{len(self.placeholders)}\nNumber of tensors saved during recomputation: "
                f"{len(recomputed)}.\n{self.advice()}"
            )
        different = "".join(
            f"tensor at position {i}:\nsaved metadata: {before}\nrecomputed metadata: {now}\n"
            for i, (before, now) in enumerate(zip(self.descriptions, recomputed, strict=True))
            if before != now and self.placeholders[i]() is not None
        )
        if different:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have "
                f"different metadata than during the forward pass.\n{different}.\n{self.advice()}"
            )

    def advice(self) -> str:
        if not self.debug:
            return (
                "Tip: To see a more detailed error message, pass `debug=True` to "
                "`torch.utils.checkpoint.checkpoint(...)`; it then names what was saved in either "
                "run, and where."
            )
        first, second = ("\n".join(lines) or "(nothing)" for lines in self.traces)
        return (
            "You are seeing this error because you passed `debug=True` to checkpoint.\n"
            "An error happened while unpacking tensors; dumping logs of latest computation.\n"
            f"Saved during the original forward:\n{first}\nSaved during "
            f"recomputation:\n{second}"
        )


class _Held:
    """An argument kept for the second run, packed by an outer checkpoint if there is one."""

    def __init__(self, tensor: Tensor) -> None:
        self.requires_grad = tensor.requires_grad
        self.box = tensor._version_box
        self.version = 0 if tensor._is_inference else self.box[0]
        self.unpack = None
        self.value: Any = tensor
        if modes.saved_hooks:
            pack, self.unpack = modes.saved_hooks[-1]
            self.value = pack(detached(tensor))

    def __call__(self) -> Tensor:
        if self.unpack is not None:
            leaf = detached(self.unpack(self.value))
            leaf._requires_grad = self.requires_grad
            return leaf
        if not self.value._is_inference and self.box[0] != self.version:
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an "
                f"inplace operation: an argument of checkpoint() is at version {self.box[0]}; "
                f"expected version {self.version} instead. It is needed to run the checkpointed "
                "function again."
            )
        tensor: Tensor = self.value
        return tensor


def hold(value: Any) -> Any:
    return _Held(value) if isinstance(value, Tensor) else value


def _same(value: Any) -> Any:
    return value


def _trace(tensor: Tensor) -> str:
    """What was saved and the line of user code that saved it."""
    return f"  {list(tensor.shape)} {tensor.dtype} at {resolve(mark(1))}"


_CHECKS: dict[str, Callable[[Tensor], Any]] = {
    "default": lambda x: {"shape": x.shape, "dtype": x.dtype, "device": x.device},
    "none": lambda x: None,
}


def run_region(
    function: Any,
    preserve: bool,
    context_fn: Any,
    check: str,
    debug: bool,
    early_stop: bool,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    if check not in _CHECKS:
        raise ValueError(f"determinism_check should be one of {list(_CHECKS)}, but got {check}")
    forward_context, recompute_context = context_fn()
    state = default_generator.get_state() if preserve else None

    if not modes.grad:  # nothing will be saved, so nothing needs a placeholder
        with forward_context:
            return function(*args, **kwargs)

    held = [hold(a) for a in args]
    precision = region_in_force()

    def run_again() -> None:
        with random_state_of(state), as_it_was(precision), recompute_context:
            function(*(h() if isinstance(h, _Held) else h for h in held), **kwargs)

    region = Region(run_again, check, early_stop, debug)
    finished = False
    result = None
    with saved_tensors_hooks(region.pack, region.unpack), forward_context:
        result = function(*args, **kwargs)
        finished = True
    if not finished:
        raise RuntimeError(
            "torch.utils.checkpoint: the forward context provided by context_fn suppressed an "
            "exception raised during the checkpointed forward. This is not supported because "
            "checkpoint cannot return a value for a failed forward."
        )
    region.complete = True
    return result
