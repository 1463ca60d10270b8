"""The output of every module of a model, call by call, as NumPy arrays: to find where two runs part."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..subject.calls import outputs_of
from ..subject.engines import as_numpy, is_module
from ..subject.restore import streams, streams_moved


@dataclass
class Step:
    """One call of a module."""

    module: str  # its path, and its class
    outputs: dict[str, Any]
    random: bool  # whether it drew random numbers itself (not one of its submodules)
    length: int  # of the longest sum it may contain, in terms


@dataclass
class Trace:
    """A run on one device in one precision."""

    device: str
    dtype: Any
    steps: list[Step] = field(default_factory=list)
    tensors: dict[str, Any] = field(default_factory=dict)  # outputs and gradients
    gradient_names: list[str] = field(default_factory=list)
    streams: list[str] = field(default_factory=list)
    error: str = ""


@contextmanager
def recording(engine: Any, subject: Any, steps: list[Step]) -> Iterator[None]:
    """Record every call of every submodule, in the order in which they return."""
    if not is_module(subject):
        yield
        return
    handles: list[Any] = []
    begun: list[tuple[Any, bool]] = []  # per active call: streams before, whether a part drew

    def before(module: Any, args: Any) -> None:
        begun.append((streams(engine), False))

    def after(name: str) -> Any:
        def note(module: Any, args: Any, output: Any) -> None:
            state, inner = begun.pop()
            drew = bool(streams_moved(engine, state))
            if begun and drew:
                begun[-1] = (begun[-1][0], True)
            outputs = {key: as_numpy(tensor) for key, tensor in outputs_of(output).items()}
            steps.append(Step(name, outputs, drew and not inner, _length(module, args)))

        return note

    for path, module in subject.named_modules():
        title = f"{path} ({type(module).__name__})" if path else type(module).__name__
        handles.append(module.register_forward_pre_hook(before))
        handles.append(module.register_forward_hook(after(title)))
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _length(module: Any, args: Any) -> int:
    """The most terms one element of a module's result may sum: a row of a weight or of an input."""
    held = [*module.parameters(), *outputs_of(args).values()]
    return max((t.numel() // max(1, t.shape[0]) for t in held if t.dim()), default=1)
