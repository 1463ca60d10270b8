"""Optimizers whose update is a formula per element: all but a few.

A subclass names its scalar states (`step`), its states with the shape of the parameter, its formula,
the flags that choose between variants of the formula and the constants it is computed with. How the
formula is run over many parameters is no concern of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np

from .._arrays.dtypes import get_default_dtype
from .._autograd.lifted import lift, lower
from .._autograd.modes import modes
from .._autograd.views import check_writable
from .._ops.declare.public import FUNCTIONS
from .._ops.declare.subclasses import speaks
from .._tensor.tensor import Tensor, make
from .._user_code.sites import mark
from ._batches import Layout, refuse_sizes
from ._checks import check_fused
from ._hooks import whose_step
from ._program import Formula
from .optimizer import Optimizer

State = dict[str, Any]
Group = dict[str, Any]
CAPTURABLE = ["cuda", "xpu", "hpu", "privateuseone", "xla"]
FUSED = ["mps", "cuda", "xpu", "hpu", "cpu", "mtia", "privateuseone"]
# What states saved by older versions lack, in most optimizers.
USUAL_SETTINGS: dict[str, Any] = {
    "maximize": False,
    "foreach": None,
    "capturable": False,
    "differentiable": False,
}


class Elementwise(Optimizer):
    """Parameters that follow their gradients element by element."""

    _scalars: tuple[str, ...] = ("step",)
    _shaped: tuple[str, ...]  # states with the parameter's shape, where no option changes them
    _formula_varies = False  # whether the step count decides which numbers the formula has
    _capturable_devices = CAPTURABLE
    _capturable_names = "params and state_steps"

    def _allow_fused(self, fused: Any, foreach: Any, differentiable: Any) -> None:
        """A fused step, which takes a `GradScaler`'s scale by itself; not together with everything."""
        check_fused(fused, foreach, differentiable)
        if fused:
            self._step_supports_amp_scaling = True

    # --- what a subclass says ------------------------------------------------------------------

    @staticmethod
    def _formula(p: Any, g: Any, states: Any, c: Any, flags: Any) -> Any:
        """The new parameter and its new states."""
        raise NotImplementedError

    def _names(self, group: Group) -> tuple[str, ...]:
        """The states that have the shape of the parameter."""
        return self._shaped

    def _flags(self, group: Group) -> tuple[Any, ...]:
        """What chooses between variants of the formula."""
        return bool(group["maximize"]), group["weight_decay"] != 0

    def _constants(self, group: Group, scalars: list[Any]) -> dict[str, Any]:
        """The numbers of the formula at this step; `scalars` are arrays, changed in place."""
        raise NotImplementedError

    def _new_state(self, p: Tensor, group: Group) -> State:
        """The states of a parameter before its first step."""
        state: State = {name: scalar(0.0, group) for name in self._scalars}
        for name in self._names(group):
            state[name] = state_like(p)
        return state

    # --- a step --------------------------------------------------------------------------------

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Change the parameters by their gradients."""
        return self._step_with(closure)

    def _update_group(self, group: Group, number: int) -> None:
        members = [p for p in group["params"] if p._grad is not None]
        if not members:
            return
        if group.get("fused"):
            for p in members:
                self._check_kind(p)
            if not self._scaled_down(members):
                return
        for p in members:  # before anything is written
            if p._grad._data.shape != p._data.shape:
                refuse_sizes(p._data, p._grad._data)
        states = self._states_of(members, group)
        if (
            group.get("capturable")
            and not group.get("fused")
            and not all(p.device.type in self._capturable_devices for p in members)
        ):
            raise AssertionError(
                f"If capturable=True, {self._capturable_names} must be on supported devices: "
                f"{self._capturable_devices}."
            )
        if group.get("differentiable"):
            self._update_differentiably(group, members, states)
            return
        if modes.recorder is not None:
            if modes.deferred is not None:  # else the step as a whole is one call
                modes.deferred.force(
                    f"a step of {whose_step(self) or 'an optimizer inside of another'}"
                )
            modes.recorder.update(self, group, number, members, states)
        else:
            flags = self._flags(group)
            formula: Formula = self._formula
            for batch in self._batched(group, number, members, states).batches:
                if batch.on_gpu:
                    batch.recompute = partial(self._constants, group, batch.scalars)
                batch.run(formula, flags, self._constants(group, batch.scalars))
        at = mark(2)
        for p in members:
            box = p._version_box
            if len(box) == 2:
                box[0] += 1
                box[1] = at
            else:
                box[:] = box[0] + 1, at

    def _batched(
        self, group: Group, number: int, members: list[Tensor], states: list[State]
    ) -> Layout:
        """How these parameters are updated together: as before, for as long as that holds."""
        names = self._scalars + self._names(group)
        layout: Layout | None = self._layouts.get(number)
        if layout is None or not layout.holds(members, states, names):
            layout = self._layouts[number] = Layout(members, states, len(self._scalars), names)
        return layout

    def _states_of(self, members: list[Tensor], group: Group) -> list[State]:
        """What is remembered of each parameter, from its first step on."""
        states: list[State] = list(map(self.state.__getitem__, members))
        if not all(states):
            for p, state in zip(members, states, strict=True):
                if not state:
                    state.update(self._new_state(p, group))
        return states

    def _check_kind(self, p: Tensor) -> None:
        if not p.is_floating_point():
            raise RuntimeError(
                "`fused=True` requires all the params to be floating point Tensors of supported "
                f"devices: {FUSED} but {p.dtype} and {p.device.type}"
            )

    def _scaled_down(self, members: list[Tensor]) -> bool:
        """With a gradient scaler: unscale, and say whether the step is to be done."""
        found_inf, scale = getattr(self, "found_inf", None), getattr(self, "grad_scale", None)
        if found_inf is not None and found_inf.item():
            return False
        if scale is not None:
            for p in members:
                p._grad.div_(scale)
        return True

    def _update_differentiably(
        self, group: Group, members: list[Tensor], states: list[State]
    ) -> None:
        """The same formula as recorded operations on tensors."""
        flags, names = self._flags(group), self._names(group)
        for p, state in zip(members, states, strict=True):
            check_writable(p)  # first of all: a leaf that wants a gradient cannot be updated so
            scalars = [state[name] for name in self._scalars]
            constants = self._constants(group, [t if t.requires_grad else t._data for t in scalars])
            c = SimpleNamespace(**{k: lift(v) for k, v in constants.items()})
            tensors = [_real(t) for t in (p, p._grad, *(state[name] for name in names))]
            # Clones, because what the formula saves for its gradient is about to be overwritten.
            old_p, g, *olds = (lift(t.clone()) for t in tensors)
            new, news = self._formula(old_p, g, tuple(olds), c, flags)
            for target, value in zip([tensors[0], *tensors[2:]], [new, *news], strict=True):
                target.copy_(lower(value))

    # --- saved states --------------------------------------------------------------------------

    _defaults_of_old: dict[str, Any] = {}  # noqa: RUF012 (settings that older saved states lack)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        for group in self.param_groups:
            for name, value in self._defaults_of_old.items():
                group.setdefault(name, value)
            for p in group["params"]:
                saved = self.state.get(p)
                if not saved:
                    continue
                for name in self._scalars:
                    if not isinstance(saved[name], Tensor):
                        saved[name] = scalar(float(saved[name]), group)


class TwoMoments(Elementwise):
    """Averages of the gradient and of its square; a decay of weights in the gradient, or beside the step."""

    _shaped = ("exp_avg", "exp_avg_sq")
    _defaults_of_old = USUAL_SETTINGS | {"decoupled_weight_decay": False}

    def _flags(self, group: Group) -> tuple[Any, ...]:
        maximize, decays = super()._flags(group)
        return maximize, decays, decays and bool(group["decoupled_weight_decay"])


def state_like(p: Tensor, value: Any = 0) -> Tensor:
    """A state like a parameter that is this number everywhere; of its class, where that is a program's."""
    if type(p) is not Tensor and speaks(type(p)):
        found = FUNCTIONS["full_like"](p, value) if value else FUNCTIONS["zeros_like"](p)
        if isinstance(found, Tensor):
            return found
    return make(np.full_like(p._data, value) if value else np.zeros_like(p._data))


def scalar(value: float, group: Group) -> Tensor:
    """A count or another number that belongs to a parameter, as a tensor."""
    wide = get_default_dtype().name == "float64" and not group.get("fused")
    return make(np.array(value, np.float64 if wide else np.float32))


def number(value: Any) -> Any:
    """A setting as a number; a tensor stays one where its gradient is wanted."""
    if type(value) is float:
        return value
    if isinstance(value, Tensor):
        if modes.grad:
            return value.squeeze() if value.ndim else value
        return value.item()
    return value


def advance(row: Any) -> Any:
    """Count a step in a scalar state, whose entries are all at the same one, and give its value.
    (An array of one element is the slowest that can be added to in place.)"""
    row.fill(row.item(0) + 1)
    return at(row)


def at(row: Any) -> Any:
    """A scalar state's value: a Python number, or what PyTorch's tensors would compute with."""
    if isinstance(row, Tensor):  # one that wants a gradient; it will be changed again
        return row.clone()
    return row[()] if modes.now.grad else row.item(0)


def _real(tensor: Tensor) -> Tensor:
    from .._ops.declare.public import FUNCTIONS

    return FUNCTIONS["view_as_real"](tensor) if tensor.is_complex() else tensor
