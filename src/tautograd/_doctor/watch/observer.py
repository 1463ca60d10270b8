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

from ..._stand_ins.everywhere import Functions
from ..._stand_ins.group import StandIns
from ..._stand_ins.slots import lock
from ..watchers import aids, backward, layers, parameters, steps
from .compiled import WithoutWarning

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
        self._stand_ins = StandIns()
        self._close: StandIns | None = None  # what looks at modules and differences,
        self._losses = Functions()  # and at losses and dropout
        self._has_ended = False

    def start(self) -> None:
        self._has_ended = False
        self._stand_ins.handle(WithoutWarning())
        self._watch_optimizers()
        self._watch_backward()
        self._watch_modules()
        self._stand_ins.everywhere()
        self.look_closely(self.doctor.pulse.close)

    def stop(self) -> None:
        self._has_ended = True
        self.look_closely(False)
        self._stand_ins.end()
        self._losses.end()

    def look_closely(self, on: bool) -> None:
        """Whether each call of a module, a loss or dropout is watched as well.

        A thread that was watched may ask for it when this has been stopped: then it is too late.
        """
        with lock:
            self._look_closely(on and not self._has_ended)

    def _look_closely(self, on: bool) -> None:
        if on == (self._close is not None):
            return
        if self._close is not None:
            self._close.end()
            self._close = None
            self._losses.off()
            return
        modules = self._part("nn.modules.module")
        self._losses.on()
        self._close = StandIns()
        self._close.handle(modules.register_module_forward_hook(layers.make_module_hook(self)))
        for name in layers.ARITHMETIC:
            self._close.method(self.engine.Tensor, name, self._with(layers.make_arithmetic))
        for name in ("view", "reshape"):
            self._close.method(self.engine.Tensor, name, self._with(layers.make_view))

    # --- what is watched -----------------------------------------------------------------------

    def _watch_optimizers(self) -> None:
        stand_ins, optimizer = self._stand_ins, self._part("optim.optimizer")
        before, after = steps.make_step_hooks(self)
        stand_ins.handle(optimizer.register_optimizer_step_pre_hook(before))
        stand_ins.handle(optimizer.register_optimizer_step_post_hook(after))
        stand_ins.method(optimizer.Optimizer, "__init__", self._with(steps.make_optimizer))
        stand_ins.method(optimizer.Optimizer, "zero_grad", self._with(steps.make_clear))
        stand_ins.method(self.engine.nn.Module, "zero_grad", self._with(steps.make_clear))
        clipping = self._part("nn.utils.clip_grad")
        for name in aids.CLIPS:
            stand_ins.function(clipping, name, self._with(aids.make_clip, name=name))
        scaler = self._part("amp.grad_scaler").GradScaler
        for name in aids.SCALER:
            stand_ins.method(scaler, name, self._with(aids.make_scaler, name=name))
        stand_ins.function(self.engine, "manual_seed", self._with(aids.make_seed))
        loader = self._part("utils.data").DataLoader
        stand_ins.method(loader, "__iter__", self._with(aids.make_iteration))
        stand_ins.method(optimizer.Optimizer, "load_state_dict", self._with(steps.make_load))
        schedulers = self._part("optim.lr_scheduler")
        found = (kind for kind in vars(schedulers).values() if isinstance(kind, type))
        for kind in dict.fromkeys(k for k in found if issubclass(k, schedulers.LRScheduler)):
            if "step" in vars(kind):
                stand_ins.method(kind, "step", self._with(aids.make_schedule))
            if "__init__" in vars(kind) and kind.__name__ in aids.SCHEDULERS:
                stand_ins.method(kind, "__init__", self._with(aids.make_scheduler))

    def _watch_backward(self) -> None:
        engine, make = self.engine, self._with(backward.make_tensor_backward)
        self._stand_ins.method(engine.Tensor, "backward", make)
        self._stand_ins.function(engine.autograd, "backward", self._with(backward.make_backward))

    def _watch_modules(self) -> None:
        engine, stand_ins = self.engine, self._stand_ins
        modules, functional = self._part("nn.modules.module"), self._part("nn.functional")
        hook = parameters.make_registration_hook
        stand_ins.handle(
            modules.register_module_parameter_registration_hook(hook(self, "_parameters"))
        )
        stand_ins.handle(modules.register_module_module_registration_hook(hook(self, "_modules")))
        stand_ins.method(engine.nn.Module, "requires_grad_", self._with(parameters.make_freeze))
        stand_ins.method(engine.Tensor, "requires_grad_", self._with(parameters.make_freeze))
        stand_ins.method(engine.nn.Module, "train", self._with(layers.make_mode))
        load = self._with(parameters.make_load)
        stand_ins.method(engine.nn.Module, "load_state_dict", load)
        stand_ins.method(engine.Tensor, "register_hook", self._with(parameters.make_hook))
        for name in parameters.HOOKS:
            stand_ins.method(engine.nn.Module, name, self._with(parameters.make_hook))
        for name in (*layers.LOSSES, *layers.LOSSES_OF_PAIRS):
            self._losses.add(functional, name, self._with(layers.make_loss, name=name))
        for name in layers.DROPOUTS:
            self._losses.add(functional, name, self._with(layers.make_dropout, name=name))

    def _with(self, make: Callable[..., Any], **options: Any) -> Callable[[Any], Any]:
        """A function that gives the one which stands in front of an original."""
        return partial(make, self, **options)

    def _part(self, path: str) -> Any:
        return importlib.import_module(f"{self.engine.__name__}.{path}")
