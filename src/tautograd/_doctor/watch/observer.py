"""The doctor's eyes: what is hooked and replaced in an engine, and how it is put back.

Nothing of the user's loop changes: every function does what it did, in the order it did, with the same
random numbers. Steps and modules come from the engine's own hooks; backward, `zero_grad`, clipping,
scalers, schedulers and losses are watched by a function in front of each.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

from ..watchers import aids, backward, layers, parameters, steps
from .compiled import WithoutWarning
from .patches import Patches, Switch

if TYPE_CHECKING:
    from ..doctor import Doctor


class Depth(threading.local):
    """How deep in watched functions a thread is: only the outermost counts. A context is one more."""

    inside = 0

    def __enter__(self) -> None:
        self.inside += 1

    def __exit__(self, *error: object) -> None:
        self.inside -= 1


class Observer:
    """Watches one engine for a doctor."""

    def __init__(self, engine: Any, doctor: Doctor) -> None:
        self.engine, self.doctor = engine, doctor
        self.depth = Depth()
        self.scaler_steps = False  # a step that runs now is a scaler's
        self.changes_mode = False  # a module's train() is running
        self._patches = Patches()
        self._close: Patches | None = None  # what looks at modules and differences,
        self._losses = Switch()  # and at losses and dropout

    def start(self) -> None:
        self._patches.handle(WithoutWarning())
        self._watch_optimizers()
        self._watch_backward()
        self._watch_modules()
        self._patches.everywhere()
        self.look_closely(self.doctor.pulse.close)

    def stop(self) -> None:
        self.look_closely(False)
        self._patches.undo()

    def look_closely(self, on: bool) -> None:
        """Whether each call of a module, a loss or dropout is watched as well."""
        if on == (self._close is not None):
            return
        if self._close is not None:
            self._close.undo()
            self._close = None
            self._losses.off()
            return
        modules = self._part("nn.modules.module")
        self._losses.on()
        self._close = Patches()
        self._close.handle(modules.register_module_forward_hook(layers.make_module_hook(self)))
        for name in ("__sub__", "sub"):
            self._close.method(self.engine.Tensor, name, self._with(layers.make_subtraction))

    # --- what is watched -----------------------------------------------------------------------

    def _watch_optimizers(self) -> None:
        patches, optimizer = self._patches, self._part("optim.optimizer")
        before, after = steps.make_step_hooks(self)
        patches.handle(optimizer.register_optimizer_step_pre_hook(before))
        patches.handle(optimizer.register_optimizer_step_post_hook(after))
        patches.method(optimizer.Optimizer, "__init__", self._with(steps.make_optimizer))
        patches.method(optimizer.Optimizer, "zero_grad", self._with(steps.make_clear))
        patches.method(self.engine.nn.Module, "zero_grad", self._with(steps.make_clear))
        clipping = self._part("nn.utils.clip_grad")
        for name in aids.CLIPS:
            patches.function(clipping, name, self._with(aids.make_clip, name=name))
        scaler = self._part("amp.grad_scaler").GradScaler
        for name in aids.SCALER:
            patches.method(scaler, name, self._with(aids.make_scaler, name=name))
        schedulers = self._part("optim.lr_scheduler")
        for kind in {schedulers.LRScheduler, schedulers.ReduceLROnPlateau}:
            if "step" in vars(kind):
                patches.method(kind, "step", self._with(aids.make_schedule))
            if "__init__" in vars(kind):
                patches.method(kind, "__init__", self._with(aids.make_scheduler))

    def _watch_backward(self) -> None:
        engine, make = self.engine, self._with(backward.make_tensor_backward)
        self._patches.method(engine.Tensor, "backward", make)
        self._patches.function(engine.autograd, "backward", self._with(backward.make_backward))

    def _watch_modules(self) -> None:
        engine, patches = self.engine, self._patches
        modules, functional = self._part("nn.modules.module"), self._part("nn.functional")
        hook = parameters.make_registration_hook
        patches.handle(
            modules.register_module_parameter_registration_hook(hook(self, "_parameters"))
        )
        patches.handle(modules.register_module_module_registration_hook(hook(self, "_modules")))
        patches.method(engine.nn.Module, "requires_grad_", self._with(parameters.make_freeze))
        patches.method(engine.Tensor, "requires_grad_", self._with(parameters.make_freeze))
        patches.method(engine.nn.Module, "train", self._with(layers.make_mode))
        for name in layers.LOSSES:
            self._losses.function(functional, name, self._with(layers.make_loss, name=name))
        for name in layers.DROPOUTS:
            self._losses.function(functional, name, self._with(layers.make_dropout, name=name))

    def _with(self, make: Callable[..., Any], **options: Any) -> Callable[[Any], Any]:
        """A function that gives the one which stands in front of an original."""
        return partial(make, self, **options)

    def _part(self, path: str) -> Any:
        return importlib.import_module(f"{self.engine.__name__}.{path}")
