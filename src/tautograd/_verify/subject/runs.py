"""One run of a computation on copies of its inputs, and what can be observed of it."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._stand_ins.silence import caught_warnings, without_warnings
from .calls import Call, outputs_of
from .engines import densified, is_module
from .places import same_bits
from .restore import Untouched, set_streams, streams, streams_moved
from .time_limit import in_time


@dataclass
class Run:
    """The outcome of a run."""

    leaves: dict[str, Any]  # the differentiable inputs, as leaves
    outputs: dict[str, Any] = field(default_factory=dict)
    streams: list[str] = field(default_factory=list)  # drawn from
    modified: dict[str, str] = field(default_factory=dict)  # which inputs, and how
    warnings: list[str] = field(default_factory=list)
    exception: BaseException | None = None

    @property
    def error(self) -> str:
        """The exception's class and first line, if there was one."""
        return "" if self.exception is None else error_line(self.exception)


_NOT_DIFFERENTIABLE = re.compile("not differentiable|derivative .* not implemented")


def error_line(error: BaseException) -> str:
    """An exception's class and the first line of its message."""
    said = str(error).strip().splitlines()
    return f"{type(error).__name__}: {said[0]}" if said else type(error).__name__


def run_once(
    engine: Any,
    call: Call,
    state: Untouched | None = None,
    *,
    reset_state: bool = True,
    reset_streams: bool = True,
    layout: Callable[[str, Any], Any] | None = None,
) -> Run:
    """Run it from the saved state, or from what the last run left of it.

    Inputs are cloned from the leaves: what is modified is then not a leaf, so an in-place function
    can be recorded. `layout` may change their memory layout.
    """
    if state is not None:
        now = streams(engine)
        if reset_state:
            state.restore()
        else:
            set_streams(engine, state.streams)
        if not reset_streams:
            set_streams(engine, now)
    able, asking = _wanted(call)
    run = _run(engine, call, asking or able, layout)
    if not asking and len(able) > 1 and _NOT_DIFFERENTIABLE.search(run.error):
        run = _run(engine, call, able[:1], layout)  # a target without gradient, say
    return run


def _run(
    engine: Any, call: Call, wanted: list[str], layout: Callable[[str, Any], Any] | None
) -> Run:
    run = Run({})
    given: dict[str, tuple[Any, Any, int]] = {}

    def copied(name: str, tensor: Any) -> Any:
        leaf = copy_of(tensor)
        passed = leaf
        if name in wanted:
            run.leaves[name] = leaf.requires_grad_()
            passed = leaf.clone()
        if layout is not None:
            return layout(name, passed)  # another tensor, so modifications of it do not show
        given[name] = passed, leaf, passed._version
        return passed

    before = streams(engine)
    with caught_warnings() as caught, engine.enable_grad():
        try:
            run.outputs = outputs_of(in_time("forward", 1.0, call.with_tensors(copied).run))
        except (Exception, SystemExit) as error:
            run.exception = error
    run.warnings = [f"{w.category.__name__}: {w.message}".splitlines()[0] for w in caught]
    run.streams = streams_moved(engine, before)
    for name, (passed, leaf, version) in given.items():
        if not same_bits(passed, leaf):
            run.modified[name] = "its values"
        elif passed._version != version:
            run.modified[name] = "in place, to the same values"
    return run


def copy_of(tensor: Any) -> Any:
    """A detached copy of a tensor, in the same memory layout."""
    return tensor.detach().clone()


def _wanted(call: Call) -> tuple[list[str], list[str]]:
    """The inputs to differentiate by: all that can if none requires it, and those that do."""
    able = [n for n, t in call.tensors().items() if t.is_floating_point() or t.is_complex()]
    asking = [name for name, tensor in call.tensors().items() if tensor.requires_grad]
    if is_module(call.subject) and any(True for _ in call.subject.parameters()):
        able = []
    return able, asking


def differing(one: Run, other: Run) -> list[str]:
    """The outputs of two runs that are not bitwise equal."""
    if one.outputs.keys() != other.outputs.keys() or one.error != other.error:
        return sorted(one.outputs.keys() | other.outputs.keys()) or ["output"]
    return [name for name in one.outputs if not same_bits(one.outputs[name], other.outputs[name])]


@dataclass
class Reached:
    """Which leaves the gradient reaches."""

    got: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    zero: list[str] = field(default_factory=list)
    frozen: list[str] = field(default_factory=list)
    error: str = ""


def gradients_reaching(engine: Any, subject: Any, run: Run) -> Reached:
    """Run backward with random gradients of the outputs, and see which leaves they reach."""
    reached = Reached()
    leaves = dict(run.leaves)
    if is_module(subject):
        for name, parameter in subject.named_parameters():
            if parameter.requires_grad:
                leaves[name] = parameter
            else:
                reached.frozen.append(name)
    try:
        gradients = pulled_back(engine, run, list(leaves.values()))
    except Exception as error:
        reached.error = error_line(error)
        return reached
    for name, gradient in zip(leaves, gradients, strict=True):
        if gradient is None:
            reached.missing.append(name)
            continue
        reached.got.append(name)
        if gradient.numel() and not bool((densified(engine, gradient) != 0).any()):
            reached.zero.append(name)
    return reached


def pulled_back(engine: Any, run: Run, leaves: list[Any], ones: bool = False) -> list[Any]:
    """The gradient of the outputs' sum, weighted by random numbers or by ones, for each leaf.

    The weights are random because the plain sum of a softmax, say, has no gradient.
    """
    recorded = [output for output in run.outputs.values() if output.requires_grad]
    if not recorded or not leaves:
        return [None] * len(leaves)
    generator = np.random.default_rng(0)
    weights = []
    for output in recorded:
        values = generator.uniform(0.5, 1.5, tuple(output.shape))
        if ones:
            values = np.ones_like(values)
        weights.append(engine.as_tensor(values, dtype=output.dtype, device=output.device))
    with without_warnings:
        return in_time(
            "backward",
            1.0,
            lambda: list(engine.autograd.grad(recorded, leaves, weights, allow_unused=True)),
        )
