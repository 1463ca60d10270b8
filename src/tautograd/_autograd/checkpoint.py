"""Checkpointing: keep the inputs of a part of the forward, and run it again when backward comes.

The reentrant form is a custom Function whose backward runs the function anew and calls `backward`
on the result. The other form records the graph as usual, but every tensor that a node saves is
replaced by a placeholder; the first placeholder that backward opens makes the function run again,
and the tensors that are saved then, in the same order, fill all placeholders.
"""

from __future__ import annotations

import contextlib
import warnings
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from .._random import default_generator
from .._tensor.tensor import Tensor
from .api import backward
from .engine import current_run, next_run_number
from .function import Function
from .grad_mode import enable_grad, no_grad
from .graph import saved_tensors_hooks
from .modes import modes
from .views import detached


class CheckpointError(RuntimeError):
    """The function did not do the same when it ran again."""


def noop_context_fn() -> tuple[Any, Any]:
    """No context, neither for the forward nor for the recomputation."""
    return contextlib.nullcontext(), contextlib.nullcontext()


_early_stop = True
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


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """The inputs as new leaves."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}"
        )
    found = []
    for value in inputs:
        if isinstance(value, Tensor):
            leaf = detached(value)
            leaf.requires_grad = value.requires_grad
            value = leaf
        found.append(value)
    return tuple(found)


def check_backward_validity(inputs: Iterable[Any]) -> None:
    """Warn when no input of a reentrant checkpoint wants a gradient."""
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
        )


@contextlib.contextmanager
def _random_state_of(state: Any) -> Iterator[None]:
    """The random stream as it was, for the length of a `with` block (None: as it is)."""
    if state is None:
        yield
        return
    before = default_generator.get_state()
    default_generator.set_state(state)
    try:
        yield
    finally:
        default_generator.set_state(before)


# --- the reentrant form ---------------------------------------------------------------------------


class CheckpointFunction(Function):
    """Runs a function without recording it; its backward runs it again, recorded."""

    @staticmethod
    def forward(ctx: Any, run_function: Any, preserve_rng_state: bool, *args: Any) -> Any:
        check_backward_validity(args)
        ctx.run_function = run_function
        ctx.random_state = default_generator.get_state() if preserve_rng_state else None
        ctx.others = [None if isinstance(a, Tensor) else a for a in args]
        ctx.places = [i for i, a in enumerate(args) if isinstance(a, Tensor)]
        ctx.save_for_backward(*(args[i] for i in ctx.places))
        with no_grad():
            return run_function(*args)

    @staticmethod
    def backward(ctx: Any, *grads: Any) -> Any:
        if current_run().has_inputs:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        inputs = list(ctx.others)
        for place, tensor in zip(ctx.places, ctx.saved_tensors, strict=True):
            inputs[place] = tensor
        leaves = detach_variable(tuple(inputs))
        with _random_state_of(ctx.random_state), enable_grad():
            outputs = ctx.run_function(*leaves)
        outputs = (outputs,) if isinstance(outputs, Tensor) else outputs
        pairs = [
            (out, g)
            for out, g in zip(outputs, grads, strict=True)
            if isinstance(out, Tensor) and out.requires_grad
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        backward([out for out, _ in pairs], [g for _, g in pairs])
        return (None, None, *(x._grad if isinstance(x, Tensor) else None for x in leaves))


# --- the other form ------------------------------------------------------------------------------


class _Placeholder:
    """Stands for one saved tensor until the function has run again."""

    __slots__ = ("__weakref__", "run", "spent", "value")

    def __init__(self) -> None:
        self.value: Any = None
        self.run = -1  # number of the backward pass for which `value` was recomputed
        self.spent = False


class _EnoughRecomputed(Exception):
    """Everything backward needs has been saved again."""


class _Region:
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
        placeholder = _Placeholder()
        self.placeholders.append(weakref.ref(placeholder))
        self.descriptions.append(self.describe(tensor))
        if self.debug:
            self.traces[0].append(_trace(tensor))
        return placeholder

    # Backward: fill them.

    def unpack(self, placeholder: _Placeholder) -> Tensor:
        run = current_run()
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
                placeholder.value = detached(tensor) if tensor.requires_grad else tensor
                placeholder.run, placeholder.spent = run, False
            if self.early_stop and len(recomputed) == len(self.placeholders):
                raise _EnoughRecomputed
            return tensor

        with (
            saved_tensors_hooks(keep, _same),
            enable_grad(),
            contextlib.suppress(_EnoughRecomputed),
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
            "An error happened while unpacking tensors; dumping logs of latest computation because "
            f"you passed `debug=True`.\nSaved during the original forward:\n{first}\nSaved during "
            f"recomputation:\n{second}"
        )


class _Held:
    """An argument kept for the second run, through the hooks of an outer checkpoint if there is one."""

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


def _hold(value: Any) -> Any:
    return _Held(value) if isinstance(value, Tensor) else value


def _same(value: Any) -> Any:
    return value


def _trace(tensor: Tensor) -> str:
    """What was saved and the line of user code that saved it."""
    from .sites import mark, resolve

    return f"  {list(tensor.shape)} {tensor.dtype} at {resolve(mark(1))}"


_CHECKS: dict[str, Callable[[Tensor], Any]] = {
    "default": lambda x: {"shape": x.shape, "dtype": x.dtype, "device": x.device},
    "none": lambda x: None,
}


def _checkpoint(
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

    held = [_hold(a) for a in args]

    def run_again() -> None:
        with _random_state_of(state), recompute_context:
            function(*(h() if isinstance(h, _Held) else h for h in held), **kwargs)

    region = _Region(run_again, check, early_stop, debug)
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


# --- what users call -----------------------------------------------------------------------------


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
    stops = early_stop and _early_stop
    return _checkpoint(
        function, preserve, context_fn, determinism_check, shown, stops, args, kwargs
    )


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
