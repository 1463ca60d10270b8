"""`GradScaler`: scales the loss so that small gradients do not underflow in float16.

    scaler.scale(loss).backward()     gradients are `scale` times too large
    scaler.step(optimizer)            unscales them, and skips the step if one is not finite
    scaler.update()                   a smaller scale after a skip, a larger one after many steps

Each optimizer goes through READY, UNSCALED (where its gradients may be clipped) and STEPPED;
`update` resets it.
"""

from __future__ import annotations

import inspect
import warnings
from collections import defaultdict
from collections.abc import Iterable
from enum import Enum
from typing import Any

import numpy as np

import tautograd as torch

__all__ = ["GradScaler", "OptState"]


class OptState(Enum):
    """An optimizer's stage since the last `update`."""

    READY = 0
    UNSCALED = 1
    STEPPED = 2


def _fresh_state() -> dict[str, Any]:
    return {"stage": OptState.READY, "found_inf_per_device": {}}


class GradScaler:
    """Scales losses, unscales gradients, and adapts the scale during training."""

    _scale: Any
    _growth_tracker: Any
    _per_optimizer_states: dict[int, dict[str, Any]]

    def __init__(
        self,
        device: str = "cuda",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        self._device = device
        self._enabled = enabled
        if enabled and device == "cuda" and not torch.cuda.is_available():
            warnings.warn(
                "torch.cuda.amp.GradScaler is enabled, but CUDA is not available.  Disabling.",
                stacklevel=2,
            )
            self._enabled = False
        if not self._enabled:
            return
        if growth_factor <= 1.0:
            raise AssertionError("The growth factor must be > 1.0.")
        if backoff_factor >= 1.0:
            raise AssertionError("The backoff factor must be < 1.0.")
        self._init_scale = init_scale
        self._init_growth_tracker = 0
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._scale = self._growth_tracker = None  # created lazily by the first `scale`
        self._per_optimizer_states = defaultdict(_fresh_state)

    def _begun(self, method: str) -> None:
        for name in ("_scale", "_growth_tracker"):
            if getattr(self, name) is None:
                raise AssertionError(
                    f"Attempted {method} but {name} is None.  This may indicate your script did not "
                    "use scaler.scale(loss or outputs) earlier in the iteration."
                )

    def scale(self, outputs: Any) -> Any:
        """Multiply a loss, or an iterable of them, by the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, torch.Tensor):
            if self._scale is None:
                self._scale = torch.full((), self._init_scale, dtype=torch.float32)
                self._growth_tracker = torch.full((), self._init_growth_tracker, dtype=torch.int32)
            return outputs * self._scale
        if isinstance(outputs, Iterable):
            several = map(self.scale, outputs)
            return type(outputs)(several) if isinstance(outputs, (list, tuple)) else several
        raise ValueError("outputs must be a Tensor or an iterable of Tensors")

    def unscale_(self, optimizer: Any) -> None:
        """Divide the gradients by the scale, and record whether one is infinite or NaN."""
        if not self._enabled:
            return
        self._begun("unscale_")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.UNSCALED:
            raise RuntimeError(
                "unscale_() has already been called on this optimizer since the last update()."
            )
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("unscale_() is being called after step().")
        inverse = np.float32(1 / np.float64(self._scale.item()))
        state["found_inf_per_device"] = self._unscaled(optimizer, inverse, allow_fp16=False)
        state["stage"] = OptState.UNSCALED

    def _unscaled(self, optimizer: Any, factor: Any, allow_fp16: bool) -> dict[Any, Any]:
        """Multiply gradients; returns 1 for each device with a non-finite one."""
        gradients = []
        for group in optimizer.param_groups:
            for parameter in group["params"]:
                if parameter.grad is None:
                    continue
                if parameter.grad.dtype == torch.float16 and not allow_fp16:
                    raise ValueError("Attempting to unscale FP16 gradients.")
                gradients.append(parameter.grad)
        if not gradients:
            return {}
        found = 0.0
        with torch.no_grad():
            for gradient in gradients:
                array = gradient._data
                if not np.all(np.isfinite(array)):
                    found = 1.0
                if factor != 1:
                    gradient.mul_(float(factor))
        return {torch.device("cpu"): torch.tensor(found)}

    def step(self, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        """Take the optimizer's step with unscaled gradients; skipped if one of them is not finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs:
            raise RuntimeError("Closure use is not currently supported if GradScaler is enabled.")
        self._begun("step")
        state = self._per_optimizer_states[id(optimizer)]
        if state["stage"] is OptState.STEPPED:
            raise RuntimeError("step() has already been called since the last update().")
        if getattr(optimizer, "_step_supports_amp_scaling", False):
            found = self._own_step(optimizer, state, args, kwargs)
        else:
            if state["stage"] is OptState.READY:
                self.unscale_(optimizer)
            if not state["found_inf_per_device"]:
                raise AssertionError("No inf checks were recorded for this optimizer.")
            found = self._maybe_opt_step(optimizer, state, *args, **kwargs)
        state["stage"] = OptState.STEPPED
        return found

    def _maybe_opt_step(
        self, optimizer: Any, optimizer_state: dict[str, Any], *args: Any, **kwargs: Any
    ) -> Any:
        if any(v.item() for v in optimizer_state["found_inf_per_device"].values()):
            return None
        return optimizer.step(*args, **kwargs)

    def _own_step(self, optimizer: Any, state: dict[str, Any], args: Any, kwargs: Any) -> Any:
        """Take the step of an optimizer that unscales on its own, from `grad_scale` and `found_inf`."""
        if "grad_scaler" in inspect.signature(optimizer.step).parameters:
            warnings.warn(
                "GradScaler is going to stop passing itself as a keyword argument to the passed "
                "optimizer. In the near future GradScaler registers `grad_scale: Tensor` and "
                "`found_inf: Tensor` to the passed optimizer and let the optimizer use them directly.",
                FutureWarning,
                stacklevel=3,
            )
            return optimizer.step(*args, **{**kwargs, "grad_scaler": self})
        if state["stage"] is OptState.READY:
            self._check_inf_per_device(optimizer)
        present = getattr(optimizer, "grad_scale", None)
        if state["stage"] is not OptState.UNSCALED:
            present = self._scale * (1 if present is None else present)
        optimizer.grad_scale = present
        optimizer.found_inf = sum(state["found_inf_per_device"].values())
        found = optimizer.step(*args, **kwargs)
        del optimizer.grad_scale, optimizer.found_inf
        return found

    def _check_inf_per_device(self, optimizer: Any) -> dict[Any, Any]:
        self._begun("_check_inf_per_device")
        found = self._unscaled(optimizer, 1, allow_fp16=True)
        self._per_optimizer_states[id(optimizer)]["found_inf_per_device"] = found
        return found

    def _found_inf_per_device(self, optimizer: Any) -> dict[Any, Any]:
        found: dict[Any, Any] = self._per_optimizer_states[id(optimizer)]["found_inf_per_device"]
        return found

    def update(self, new_scale: Any = None) -> None:
        """Set the scale for the next iteration: `new_scale`, or adapted to this one's steps."""
        if not self._enabled:
            return
        self._begun("update")
        if new_scale is not None:
            self._set(new_scale)
        else:
            states = self._per_optimizer_states.values()
            found = [v for state in states for v in state["found_inf_per_device"].values()]
            if not found:
                raise AssertionError("No inf checks were recorded prior to update.")
            self._adapt(any(v.item() for v in found))
        self._per_optimizer_states = defaultdict(_fresh_state)

    def _set(self, new_scale: Any) -> None:
        if isinstance(new_scale, float):
            self._scale.fill_(new_scale)
            return
        if (
            new_scale.device.type != self._device
            or new_scale.numel() != 1
            or new_scale.requires_grad
        ):
            raise AssertionError(
                "new_scale should be a float or a 1-element torch.cuda.FloatTensor or "
                "torch.FloatTensor with requires_grad=False."
            )
        self._scale.copy_(new_scale)

    def _adapt(self, skipped: bool) -> None:
        scale, count = self._scale.item(), self._growth_tracker.item() + 1
        if skipped:
            scale, count = scale * self._backoff_factor, 0
        elif count == self._growth_interval:
            grown = scale * self._growth_factor
            scale = grown if grown <= torch.finfo(torch.float32).max else scale
            count = 0
        self._scale.fill_(scale)
        self._growth_tracker.fill_(count)

    def get_scale(self) -> float:
        """The current scale; 1.0 if scaling is disabled."""
        if not self._enabled:
            return 1.0
        return self._init_scale if self._scale is None else float(self._scale.item())

    def get_growth_factor(self) -> float:
        """The factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The factor applied to the scale after a skipped step."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor applied to the scale after a skipped step."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """After how many consecutive successful steps the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set after how many consecutive successful steps the scale grows."""
        self._growth_interval = new_interval

    def _get_growth_tracker(self) -> int:
        if not self._enabled:
            return 0
        tracker = self._growth_tracker
        return self._init_growth_tracker if tracker is None else int(tracker.item())

    def is_enabled(self) -> bool:
        """Whether scaling is enabled."""
        return self._enabled

    def state_dict(self) -> dict[str, Any]:
        """The state for a checkpoint; empty if scaling is disabled."""
        if not self._enabled:
            return {}
        return {
            "scale": self.get_scale(),
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._get_growth_tracker(),
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Restore the state from `state_dict`."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        self._init_scale = state_dict["scale"]
        self._init_growth_tracker = state_dict["_growth_tracker"]
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        if self._scale is not None:
            self._scale.fill_(self._init_scale)
            self._growth_tracker.fill_(self._init_growth_tracker)

    def __getstate__(self) -> dict[str, Any]:
        state = self.__dict__.copy()
        if self._enabled:
            if self._per_optimizer_states:
                raise AssertionError(
                    "A GradScaler instance may only be pickled at the beginning of an iteration, or "
                    "at the end after scaler.update()."
                )
            state["_init_scale"] = self.get_scale()
            state["_init_growth_tracker"] = self._get_growth_tracker()
            state["_scale"] = state["_growth_tracker"] = None
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
