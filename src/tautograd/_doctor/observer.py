"""The doctor's eyes: what is hooked and replaced in an engine, and the events that come of it.

Nothing of the user's loop changes: every function does what it did, in the order it did, with the same
random numbers. Steps come from the engine's own hooks; backward, `zero_grad`, clipping, scalers,
schedulers and losses are watched by a function in front of each.
"""

from __future__ import annotations

import importlib
import sys
import threading
from functools import partial
from typing import TYPE_CHECKING, Any

from .compiled import WithoutWarning
from .events import (
    Backward,
    Clear,
    Clip,
    Freeze,
    Loss,
    ModuleCall,
    Registration,
    Scaler,
    Schedule,
    Step,
)
from .ledger import parameters_of
from .patches import Patches
from .sites import user_site, user_stack
from .watchers import DROPOUTS, make_dropout, make_mode, make_scheduler, make_subtraction

if TYPE_CHECKING:
    from .doctor import Doctor

LOSSES = (
    "cross_entropy", "nll_loss", "kl_div", "binary_cross_entropy", "binary_cross_entropy_with_logits",
    "mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss", "gaussian_nll_loss", "poisson_nll_loss",
    "soft_margin_loss", "hinge_embedding_loss", "multilabel_soft_margin_loss",
)  # fmt: skip


class _Depth(threading.local):
    inside = 0


class Observer:
    """Watches one engine for a doctor."""

    def __init__(self, engine: Any, doctor: Doctor) -> None:
        self.engine, self.doctor = engine, doctor
        self.patches = Patches()
        self._close: Patches | None = None  # what looks at modules and differences
        self._local = _Depth()
        self._scaler_steps = False
        self.changes_mode = False

    @property
    def _inside(self) -> int:
        """How deep in watched functions this thread is: only the outermost counts."""
        return self._local.inside

    @_inside.setter
    def _inside(self, value: int) -> None:
        self._local.inside = value

    # --- on and off ----------------------------------------------------------------------------

    def start(self) -> None:
        engine, patches = self.engine, self.patches
        part = self._part
        optimizer = part("optim.optimizer")
        patches.handle(WithoutWarning())
        before, after = self._make_step_hooks()
        patches.handle(optimizer.register_optimizer_step_pre_hook(before))
        patches.handle(optimizer.register_optimizer_step_post_hook(after))
        patches.method(optimizer.Optimizer, "__init__", self._make_init)
        patches.method(optimizer.Optimizer, "zero_grad", self._make_clear)
        patches.method(engine.nn.Module, "zero_grad", self._make_clear)
        patches.method(engine.Tensor, "backward", self._make_tensor_backward)
        patches.function(engine.autograd, "backward", self._make_backward)
        clipping = part("nn.utils.clip_grad")
        for name in ("clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_"):
            patches.function(clipping, name, partial(self._make_clip, name=name))
        scaler = part("amp.grad_scaler").GradScaler
        for name in ("scale", "unscale_", "step", "update"):
            patches.method(scaler, name, partial(self._make_scaler, name=name))
        schedulers = part("optim.lr_scheduler")
        for kind in {schedulers.LRScheduler, schedulers.ReduceLROnPlateau}:
            if "step" in vars(kind):
                patches.method(kind, "step", self._make_schedule)
            if "__init__" in vars(kind):
                patches.method(kind, "__init__", partial(make_scheduler, self))
        modules = part("nn.modules.module")
        patches.handle(modules.register_module_parameter_registration_hook(self._on_parameter))
        patches.handle(modules.register_module_module_registration_hook(self._on_child))
        patches.method(engine.nn.Module, "requires_grad_", self._make_freeze)
        patches.method(engine.Tensor, "requires_grad_", self._make_freeze)
        patches.method(engine.nn.Module, "train", partial(make_mode, self))
        functional = part("nn.functional")
        for name in LOSSES:
            patches.function(functional, name, partial(self._make_loss, name=name))
        for name in DROPOUTS:
            patches.function(functional, name, partial(make_dropout, self, name=name))
        patches.everywhere()
        self.look_closely(self.doctor.pulse.close)

    def stop(self) -> None:
        self.look_closely(False)
        self.patches.undo()

    def look_closely(self, on: bool) -> None:
        """Whether each module's call is watched as well."""
        if on == (self._close is not None):
            return
        if self._close is not None:
            self._close.undo()
            self._close = None
            return
        modules = self._part("nn.modules.module")
        self._close = Patches()
        self._close.handle(modules.register_module_forward_hook(self._after_module))
        for name in ("__sub__", "sub"):
            self._close.method(self.engine.Tensor, name, partial(make_subtraction, self))

    def _part(self, path: str) -> Any:
        return importlib.import_module(f"{self.engine.__name__}.{path}")

    # --- steps ---------------------------------------------------------------------------------

    def _make_step_hooks(self) -> tuple[Any, Any]:
        """What runs before and after every step; a usual one is to cost as little as possible."""
        doctor, engine = self.doctor, self.engine
        pulse, numbers = doctor.pulse, doctor.numbers

        def before_step(optimizer: Any, args: Any, kwargs: Any) -> None:
            if pulse.awake:
                with doctor.quietly():
                    self._before_step(optimizer, args, kwargs)
            else:
                pulse.step(optimizer)
                if doctor.steps >= numbers.due:
                    numbers.before_step(optimizer, engine)

        def after_step(optimizer: Any, args: Any, kwargs: Any) -> None:
            if pulse.awake:
                with doctor.quietly():
                    doctor.after_step(optimizer)
            else:
                steps = doctor.steps = doctor.steps + 1
                if pulse.at is None or steps >= pulse.next_look or numbers.is_measuring:
                    doctor.after_usual_step(optimizer)
                else:  # a step like those before: the rules know what they would say
                    pulse.at = pulse.first
            if doctor.limit is not None:
                doctor.maybe_stop()

        return before_step, after_step

    def _before_step(self, optimizer: Any, args: Any, kwargs: Any) -> None:
        doctor = self.doctor
        doctor.know_optimizer(optimizer)
        rest = args[1:] if args and args[0] is optimizer else args
        closure = bool(rest and rest[0] is not None) or kwargs.get("closure") is not None
        doctor.before_step(
            Step(
                *doctor.now(user_site(), self.engine), optimizer=optimizer,
                parameters=parameters_of(optimizer), by_scaler=self._scaler_steps,
                has_closure=closure,
            )
        )  # fmt: skip

    def _make_init(self, original: Any) -> Any:
        doctor = self.doctor

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            original(self, *args, **kwargs)
            with doctor.quietly():
                doctor.know_optimizer(self, user_site())
                doctor.wake()

        return __init__

    def _make_clear(self, original: Any) -> Any:
        observer, doctor = self, self.doctor
        local, pulse = self._local, self.doctor.pulse

        def zero_grad(self: Any, *args: Any, **kwargs: Any) -> Any:
            if not pulse.awake:
                if not local.inside:
                    pulse.beat("clear", self)
                return original(self, *args, **kwargs) if args or kwargs else original(self)
            if local.inside:
                return original(self, *args, **kwargs)
            event: Clear | None = None
            with doctor.quietly():
                found = (
                    list(self.parameters()) if hasattr(self, "parameters") else parameters_of(self)
                )
                event = Clear(
                    *doctor.now(user_site(), observer.engine), owner=self, parameters=found
                )
                doctor.before_clear(event)
            result = original(self, *args, **kwargs)
            if event is not None:
                with doctor.quietly():
                    doctor.ledger.after_clear(event.parameters)
            return result

        return zero_grad

    # --- backward ------------------------------------------------------------------------------

    def _make_tensor_backward(self, original: Any) -> Any:
        doctor, engine, local = self.doctor, self.engine, self._local
        pulse, numbers = doctor.pulse, doctor.numbers

        def backward(
            self_: Any, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False,
            inputs: Any = None,
        ) -> Any:  # fmt: skip
            if not pulse.awake and not local.inside:
                pulse.beat("kept" if retain_graph or create_graph else "backward")
                risks: Any = None
                if numbers.before_backward(self_):
                    doctor.on_bad_loss()
                elif (at := pulse.at) is not None and at.risks:
                    risks = doctor.risks.watch(self_, at.risks, engine)
                if not pulse.awake:
                    local.inside = 1
                    try:
                        return original(self_, gradient, retain_graph, create_graph, inputs)
                    finally:
                        local.inside = 0
                        if risks is not None:
                            doctor.risks.judge(risks, user_site())
            options = {
                "retain_graph": retain_graph, "create_graph": create_graph, "inputs": inputs,
                "gradient": gradient,
            }  # fmt: skip
            return self._watched(
                (self_,), options,
                lambda: original(self_, gradient, retain_graph, create_graph, inputs=inputs),
            )  # fmt: skip

        return backward

    def _make_backward(self, original: Any) -> Any:
        local = self._local

        def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
            if local.inside:
                return original(tensors, *args, **kwargs)
            roots = tuple(tensors) if isinstance(tensors, (list, tuple)) else (tensors,)
            options = {**kwargs, "gradient": args[0] if args else kwargs.get("grad_tensors")}
            return self._watched(roots, options, lambda: original(tensors, *args, **kwargs))

        return backward

    def _watched(self, roots: tuple[Any, ...], options: dict[str, Any], run: Any) -> Any:
        doctor = self.doctor
        if self._inside or not all(isinstance(root, self.engine.Tensor) for root in roots):
            return run()
        event: Backward | None = None
        if not doctor.pulse.awake:
            kept = options.get("retain_graph") or options.get("create_graph")
            doctor.pulse.beat("kept" if kept else "backward")
            if len(roots) == 1 and doctor.numbers.before_backward(roots[0]):
                doctor.on_bad_loss()
        if not doctor.pulse.awake:
            self._inside += 1
            try:
                return run()
            finally:
                self._inside -= 1
        with doctor.quietly():
            event = Backward(
                *doctor.now(user_site(), self.engine), roots=roots, options=options,
                retain_graph=bool(options.get("retain_graph") or options.get("create_graph")),
            )  # fmt: skip
            doctor.before_backward(event)
        self._inside += 1
        try:
            result = run()
        finally:
            self._inside -= 1
        if event is not None:
            with doctor.quietly():
                doctor.after_backward(event)
                event.roots = ()
        return result

    # --- the rest ------------------------------------------------------------------------------

    def _make_clip(self, original: Any, name: str) -> Any:
        def clip(parameters: Any, *args: Any, **kwargs: Any) -> Any:
            if self._inside:
                return original(parameters, *args, **kwargs)
            if not self.doctor.pulse.awake:
                self.doctor.pulse.beat(name)
                self._inside += 1
                try:
                    return original(parameters, *args, **kwargs)
                finally:
                    self._inside -= 1
            if not isinstance(parameters, (list, tuple, self.engine.Tensor)):
                parameters = list(parameters)
            self._inside += 1
            try:
                result = original(parameters, *args, **kwargs)
            finally:
                self._inside -= 1
            with self.doctor.quietly():
                found = (
                    [parameters] if isinstance(parameters, self.engine.Tensor) else list(parameters)
                )
                limit = args[0] if args else next(iter(kwargs.values()), 0.0)
                self.doctor.after_clip(
                    Clip(
                        *self.doctor.now(user_site(), self.engine), how=name, parameters=found,
                        limit=float(limit), result=result,
                    )
                )  # fmt: skip
            return result

        return clip

    def _make_scaler(self, original: Any, name: str) -> Any:
        observer, doctor = self, self.doctor

        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            if observer._inside or observer._scaler_steps or not self.is_enabled():
                return original(self, *args, **kwargs)
            if not doctor.pulse.awake:
                doctor.pulse.beat(name, self)
                doctor.numbers.on_scaler(name, self)
                return original(self, *args, **kwargs)
            with doctor.quietly():
                optimizer = args[0] if args and name in ("unscale_", "step") else None
                outputs = args[0] if args and name == "scale" else None
                doctor.on_scaler(
                    Scaler(
                        *doctor.now(user_site(), observer.engine), how=name, scaler=self,
                        optimizer=optimizer, outputs=outputs,
                    )
                )  # fmt: skip
            observer._scaler_steps = name == "step"
            try:
                return original(self, *args, **kwargs)
            finally:
                observer._scaler_steps = False

        return method

    def _make_schedule(self, original: Any) -> Any:
        observer, doctor = self, self.doctor

        def step(self: Any, *args: Any, **kwargs: Any) -> Any:
            # A scheduler steps once by itself when it is made.
            made = sys._getframe(1).f_code.co_name in ("_initial_step", "__init__")
            if not made and not observer._inside:
                if not doctor.pulse.awake:
                    doctor.pulse.beat("schedule", self)
                    return original(self, *args, **kwargs)
                with doctor.quietly():
                    doctor.on_schedule(
                        Schedule(
                            *doctor.now(user_site(), observer.engine), scheduler=self,
                            optimizer=getattr(self, "optimizer", None),
                        )
                    )  # fmt: skip
            observer._inside += 1
            try:
                return original(self, *args, **kwargs)
            finally:
                observer._inside -= 1

        return step

    def _make_loss(self, original: Any, name: str) -> Any:
        doctor, pulse = self.doctor, self.doctor.pulse

        def loss(input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
            if not pulse.close or self._inside:
                return original(input, target, *args, **kwargs)
            with doctor.quietly():
                doctor.on_loss(
                    Loss(
                        *doctor.now(user_site(), self.engine), function=name, input=input,
                        target=target, options=kwargs,
                    )
                )  # fmt: skip
            self._inside += 1  # a loss may call another one
            try:
                return original(input, target, *args, **kwargs)
            finally:
                self._inside -= 1

        return loss

    def _on_parameter(self, module: Any, name: str, value: Any) -> None:
        self._registered(module, name, module._parameters.get(name), value)

    def _on_child(self, module: Any, name: str, value: Any) -> None:
        self._registered(module, name, module._modules.get(name), value)

    def _registered(self, module: Any, name: str, old: Any, new: Any) -> None:
        doctor = self.doctor
        if new is None or doctor.is_busy:
            return
        with doctor.quietly():
            doctor.on_registered(
                Registration(
                    *doctor.now(user_site(), self.engine), owner=module, name=name, old=old,
                    new=new,
                )
            )  # fmt: skip

    def _make_freeze(self, original: Any) -> Any:
        observer, doctor = self, self.doctor
        module_type, parameter_type = self.engine.nn.Module, self.engine.nn.Parameter

        def requires_grad_(self: Any, requires_grad: bool = True) -> Any:
            is_module = isinstance(self, module_type)
            if observer._inside or not (is_module or isinstance(self, parameter_type)):
                return original(self, requires_grad)
            with doctor.quietly():
                stack = user_stack()
                doctor.on_freeze(
                    Freeze(
                        *doctor.now(stack[0] if stack else None, observer.engine),
                        parameters=list(self.parameters()) if is_module else [self],
                        on=bool(requires_grad), stack=stack,
                    )
                )  # fmt: skip
            observer._inside += 1
            try:
                return original(self, requires_grad)
            finally:
                observer._inside -= 1

        return requires_grad_

    def _after_module(self, module: Any, args: Any, output: Any) -> None:
        doctor = self.doctor
        if doctor.is_busy:
            return
        with doctor.quietly():
            doctor.on_module(
                ModuleCall(
                    *doctor.now(None, self.engine), module=module, args=args, output=output,
                    grad_mode=self.engine.is_grad_enabled(),
                )
            )  # fmt: skip
