"""What train() and eval() change in a module: its output, its buffers, its dropout."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..._report.plain import Plain
from .calls import Call
from .places import same_bits
from .restore import Untouched
from .runs import Run, differing, run_once


@dataclass(frozen=True)
class ModuleFacts(Plain):
    """What was observed of a module in its two modes."""

    mode: str  # 'train', 'eval' or 'mixed', as passed in
    parameters: int
    numbers: int  # in all parameters together
    trainable: int  # of these
    buffers: int
    dropout: list[str] = field(default_factory=list)  # paths of the modules with p > 0
    dropout_on: bool = False  # in the mode it was passed in with
    output_changes: bool | None = None  # between train() and eval(); None if one of them failed
    random_in_train: bool = False
    random_in_eval: bool = False
    moved_in_train: list[str] = field(default_factory=list)  # buffers
    moved_in_eval: list[str] = field(default_factory=list)
    train_error: str = ""
    eval_error: str = ""

    def sentences(self) -> Iterator[str]:
        """The same in words."""
        count = f"{self.parameters} parameters ({self.numbers} numbers"
        count += f", {self.trainable} trainable)" if self.trainable != self.numbers else ")"
        yield f"Module in {self.mode} mode, {count}, {self.buffers} buffers."
        if self.dropout:
            state = "on" if self.dropout_on else "off"
            yield f"Dropout ({', '.join(self.dropout)}) is {state} in this mode."
        if self.output_changes is not None:
            change = "changes" if self.output_changes else "does not change"
            yield f"The output {change} between train() and eval()."
        for mode, moved in (("train", self.moved_in_train), ("eval", self.moved_in_eval)):
            if moved:
                yield f"Buffers move in {mode} mode: {', '.join(moved)}."
        if self.random_in_eval:
            yield "It is random in eval mode too."
        for mode, error in (("train", self.train_error), ("eval", self.eval_error)):
            if error:
                yield f"In {mode} mode it fails: {error}"


def observe_modes(engine: Any, call: Call, state: Untouched) -> ModuleFacts:
    """Run a module in train and in eval mode, from the same state."""
    module = call.subject
    modes = {bool(m.training) for m in module.modules()}
    parameters = [p for p in module.parameters() if hasattr(p, "shape")]
    numbers = [(_count(p), p.requires_grad) for p in parameters]
    dropout = [
        (name or type(m).__name__, bool(m.training))
        for name, m in module.named_modules()
        if "Dropout" in type(m).__name__ and getattr(m, "p", 0.0) > 0.0
    ]
    train, moved_in_train, random_in_train = _in_mode(engine, call, state, True)
    evaluated, moved_in_eval, random_in_eval = _in_mode(engine, call, state, False)
    failed = bool(train.error or evaluated.error)
    return ModuleFacts(
        mode="mixed" if len(modes) > 1 else "train" if modes.pop() else "eval",
        parameters=len(parameters),
        numbers=sum(count for count, _ in numbers),
        trainable=sum(count for count, wanted in numbers if wanted),
        buffers=sum(1 for _ in module.buffers()),
        dropout=[name for name, _ in dropout],
        dropout_on=any(on for _, on in dropout),
        output_changes=None if failed else bool(differing(train, evaluated)),
        random_in_train=random_in_train,
        random_in_eval=random_in_eval,
        moved_in_train=moved_in_train,
        moved_in_eval=moved_in_eval,
        train_error=train.error,
        eval_error=evaluated.error,
    )


def _in_mode(
    engine: Any, call: Call, state: Untouched, training: bool
) -> tuple[Run, list[str], bool]:
    """A run in one mode, the buffers it changed, and whether it is random."""
    state.restore()
    module = call.subject
    before = {name: buffer.detach().clone() for name, buffer in module.named_buffers()}
    module.train(training)
    run = run_once(engine, call)
    moved = [
        name
        for name, buffer in module.named_buffers()
        if name not in before or not same_bits(buffer, before[name])
    ]
    random = False
    if run.streams and not run.error:
        for name, buffer in module.named_buffers():  # else its buffers could matter
            if name in before and tuple(buffer.shape) == tuple(before[name].shape):
                buffer.data.copy_(before[name])
        random = bool(differing(run, run_once(engine, call)))
    state.restore()
    return run, moved, random


def _count(parameter: Any) -> int:
    try:
        return int(parameter.numel())
    except (RuntimeError, ValueError):  # a lazy parameter is not initialised yet
        return 0
