"""Watching `backward`, of a tensor and of `autograd`: while the loop is known, and while it is looked at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..._user_code.stack import user_site
from ..watch.events import Backward

if TYPE_CHECKING:
    from ..watch.observer import Observer


def make_tensor_backward(observer: Observer, original: Any) -> Any:
    """`Tensor.backward`."""
    doctor, engine, depth = observer.doctor, observer.engine, observer.depth
    pulse, numbers = doctor.pulse, doctor.numbers

    def backward(
        self: Any, gradient: Any = None, retain_graph: Any = None, create_graph: bool = False,
        inputs: Any = None,
    ) -> Any:  # fmt: skip
        if not pulse.awake and not depth.inside:
            pulse.beat("kept" if retain_graph or create_graph else "backward")
            risks: Any = None
            if numbers.before_backward(self):
                doctor.on_bad_loss()
            elif (at := pulse.at) is not None and at.risks:
                risks = doctor.risks.watch(self, at.risks, engine)
            if not pulse.awake:
                depth.inside = 1
                try:
                    return original(self, gradient, retain_graph, create_graph, inputs)
                finally:
                    depth.inside = 0
                    if risks is not None:
                        doctor.risks.judge(risks, user_site())
        options = {
            "retain_graph": retain_graph, "create_graph": create_graph, "inputs": inputs,
            "gradient": gradient,
        }  # fmt: skip
        return _watched(
            observer, (self,), options,
            lambda: original(self, gradient, retain_graph, create_graph, inputs=inputs),
        )  # fmt: skip

    return backward


def make_backward(observer: Observer, original: Any) -> Any:
    """`autograd.backward`, which may have many roots."""
    depth = observer.depth

    def backward(tensors: Any, *args: Any, **kwargs: Any) -> Any:
        if depth.inside:
            return original(tensors, *args, **kwargs)
        roots = tuple(tensors) if isinstance(tensors, (list, tuple)) else (tensors,)
        options = {**kwargs, "gradient": args[0] if args else kwargs.get("grad_tensors")}
        return _watched(observer, roots, options, lambda: original(tensors, *args, **kwargs))

    return backward


def _watched(observer: Observer, roots: tuple[Any, ...], options: dict[str, Any], run: Any) -> Any:
    doctor, engine, depth = observer.doctor, observer.engine, observer.depth
    if depth.inside or not all(isinstance(root, engine.Tensor) for root in roots):
        return run()
    event: Backward | None = None
    is_kept = bool(options.get("retain_graph") or options.get("create_graph"))
    if not doctor.pulse.awake:
        doctor.pulse.beat("kept" if is_kept else "backward")
        if len(roots) == 1 and doctor.numbers.before_backward(roots[0]):
            doctor.on_bad_loss()
    if not doctor.pulse.awake:
        with depth:
            return run()
    with doctor.quietly():
        event = Backward(
            *doctor.now(user_site(), engine), roots=roots, options=options, retain_graph=is_kept
        )
        doctor.before_backward(event)
    with depth:
        result = run()
    if event is not None:
        with doctor.quietly():
            doctor.after_backward(event)
            event.roots = ()
    return result
