"""Whether the user's own code changes gradients between backward and step: by a copy of one of them."""

from __future__ import annotations

import weakref
from typing import Any

from ...state.gradient_ledger import parameters_of
from ...watch.events import Backward, Clip, Scaler


class Probe:
    """A copy of the smallest gradient of a window, made after each backward, while it is armed."""

    def __init__(self) -> None:
        self.armed = False
        self._parameter: Any = None
        self._copy: Any = None
        self._unscaled = False

    def after_backward(self, event: Backward) -> None:
        if not self.armed or not event.reached:
            return
        parameter = self._parameter() if self._parameter is not None else None
        if parameter is None or not any(p is parameter for p in event.reached):
            parameter = min(event.reached, key=lambda p: p.numel())
            self._parameter = weakref.ref(parameter)
        self._copy, self._unscaled = parameter.grad.detach().clone(), False

    def after_clip(self, event: Clip) -> None:
        """Clipping is no secret: the copy is clipped as well."""
        parameter = self._parameter() if self._parameter is not None else None
        if self._copy is None or not any(p is parameter for p in event.parameters):
            return
        if event.how == "clip_grad_norm_":
            self._copy = self._copy * min(1.0, event.limit / (float(event.result) + 1e-6))
        elif event.how == "clip_grad_value_":
            self._copy = self._copy.clamp(-event.limit, event.limit)
        else:
            self._copy = None

    def on_scaler(self, event: Scaler) -> None:
        """Neither is unscaling, which a scaler's step does if nobody did before."""
        if self._copy is None or self._unscaled or event.how not in ("unscale_", "step"):
            return
        parameter = self._parameter()
        if any(p is parameter for p in parameters_of(event.optimizer)):
            self._copy, self._unscaled = self._copy / float(event.scaler.get_scale()), True

    def untouched(self) -> bool | None:
        """Whether the gradient is as the last backward left it; None if that is not known."""
        copy, self._copy = self._copy, None
        parameter = self._parameter() if self._parameter is not None else None
        if copy is None or parameter is None or parameter.grad is None:
            return None
        grad = parameter.grad.detach()
        if grad.shape != copy.shape:
            return None
        bound = 1e-4 * copy.abs() + 1e-12
        same = bool(((grad - copy).abs() <= bound).all())
        return same and bool((copy != 0).any())
