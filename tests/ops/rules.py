"""A record by itself: its forward and its rules on raw arrays, with no engine around them.

`calls_of(name, dtype)` finds what a record's forward is really given, by listening while its
samples run through the public function. `run_vjp` and `run_jvp` then call its rules as the engine
would, on any kind of array.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np

from tautograd._ops.declare.record import INTERNAL, LINEAR, MULTILINEAR, BoundRule, Op

from .cases import RECORDS, TAUTOGRAD, Call, record, samples_of, tensors_in
from .measure import measure
from .programs import CALLS


@dataclass(eq=False)
class RecordCall:
    """One call of a record's forward: its inputs, its parameters, and what they are called."""

    op: Op
    label: str
    inputs: tuple[Any, ...]
    parameters: dict[str, Any]
    kinds: frozenset[str] = frozenset()  # what kinds of tensor its sample asked for
    cache: dict[Any, Any] = field(default_factory=dict)

    def forward(self, inputs: Any = None) -> Any:
        with np.errstate(all="ignore"):
            return self.op.forward(*(self.inputs if inputs is None else inputs), **self.parameters)

    def slots(self) -> tuple[int, ...]:
        """The inputs that a gradient can flow to: of those with a rule, the ones whose rule does more
        than say that there is no derivative, if there are such."""
        op = self.op
        ruled = tuple(
            i
            for i, x in enumerate(self.inputs)
            if is_inexact(x) and x.size and (op.joint or op.variadic or op.vjp[i] is not None)
        )
        if op.joint or op.variadic:
            return ruled
        return tuple(i for i in ruled if not only_refuses(op.vjp[i].rule)) or ruled

    def checkable(self) -> bool:
        """Whether differences can tell: double precision, finite results, no kink (a tie) here."""
        if not self.slots() or any(kind.startswith(("ties", "extremes")) for kind in self.kinds):
            return False
        if self.refuses():
            return False
        outs = self.outputs(self.forward())
        double = [
            x.dtype.itemsize == (16 if x.dtype.kind == "c" else 8)
            for x in (*self.inputs, *outs)
            if is_inexact(x)
        ]
        return all(double) and all(is_inexact(o) and np.all(np.isfinite(o)) for o in outs)

    def refuses(self) -> bool:
        """Whether the VJP only says that this call has no derivative (as `test_agreement` holds
        it does where PyTorch's does)."""
        if "refuses" not in self.cache:
            out = self.forward()
            ones = [np.ones_like(o) for o in self.outputs(out)]
            try:
                run_vjp(self, self.inputs, out, ones)
            except (RuntimeError, NotImplementedError) as error:
                self.cache["refuses"] = "derivative" in str(error)
            except Exception:
                self.cache["refuses"] = False
            else:
                self.cache["refuses"] = False
        return bool(self.cache["refuses"])

    def outputs(self, out: Any) -> tuple[Any, ...]:
        """The differentiable outputs among what the forward gave."""
        if self.op.outputs == 1:
            return (out,)
        every = range(len(out)) if self.op.outputs == 0 else self.op.differentiable_outputs
        return tuple(out[i] for i in every)


def only_refuses(rule: Any) -> bool:
    """Whether a rule is one of those that say that there is no derivative."""
    return getattr(rule, "__name__", "") in ("refuse_to", "refuse_forward")


def refuses_derivative(name: str) -> bool:
    """Whether a record's rule only says, as PyTorch does, that there is no derivative."""
    calls = [c for c in calls_of(name, "float64") if c.slots()]
    return bool(calls) and all(call.refuses() for call in calls)


def is_inexact(x: Any) -> bool:
    return getattr(getattr(x, "dtype", None), "kind", "") in "fc" and hasattr(x, "shape")


@cache
def calls_of(name: str, dtype: str) -> tuple[RecordCall, ...]:
    """What a record's forward receives when samples run in this dtype.

    Its own samples if it has some. A record that only rules use is overheard while the gradients of
    the others' samples are computed.
    """
    op = record(name)
    if name in CALLS:
        return (RecordCall(op, "by hand", *CALLS[name](dtype)),)
    if samples_of(name):
        # What the engine does by itself may happen only while gradients are computed.
        return _heard_from(name, dtype, (op,), 2 if name in INTERNAL else 0)[name]
    return _overheard(dtype)[name]


@cache
def _overheard(dtype: str) -> dict[str, tuple[RecordCall, ...]]:
    """The calls of every record without samples of its own, from the samples of all others."""
    silent = [record(name) for name in RECORDS if not samples_of(name)]
    found: dict[str, tuple[RecordCall, ...]] = {op.name: () for op in silent}
    for name in RECORDS if silent else ():
        for heard, calls in _heard_from(name, dtype, silent, 2).items():
            found[heard] = (found[heard] + calls)[:8]
    return found


def _heard_from(name: str, dtype: str, ops: Any, order: int) -> dict[str, tuple[RecordCall, ...]]:
    """The calls of `ops` while a record's samples run and are differentiated `order` times."""
    found: dict[str, list[RecordCall]] = {op.name: [] for op in ops}
    # A write in place that nobody records goes straight to memory, past its record.
    grad = order > 0 or record(name).public_name[-1] == "_"
    for i, sample in enumerate(samples_of(name)):
        kinds = frozenset(t.kind for t in tensors_in(sample))
        with listening(ops) as heard:
            measure(Call(TAUTOGRAD, record(name), sample, dtype, grad), order)
        for op, inputs, parameters in heard:
            label = f"{'' if op.name == name else name + ' '}sample{i} {sample}"
            found[op.name].append(RecordCall(op, label, inputs, parameters, kinds))
    return {key: tuple(calls) for key, calls in found.items()}


def why_silent(name: str, dtype: str = "float64") -> str:
    """Why a record was not heard: it has no samples, or the error they raise."""
    if not samples_of(name):
        return "it has no samples, and no other record's gradient uses it"
    for sample in samples_of(name):
        outcome = measure(Call(TAUTOGRAD, record(name), sample, dtype, False), 0)
        if outcome.error is not None:
            return f"{sample} raises {type(outcome.error).__name__}: {outcome.error}"
    return "its samples run, but never call its forward"


@contextmanager
def listening(ops: Any) -> Iterator[list[Any]]:
    """Note every call of some records' forwards that ends well; arrays are copied, as they may
    change later."""
    heard: list[Any] = []
    forwards = [(op, op.forward) for op in ops]

    def listener(op: Op, forward: Any) -> Any:
        def listen(*inputs: Any, **parameters: Any) -> Any:
            if not op.variadic:  # parameters may be given by their places, too
                parameters |= zip(op.parameters, inputs[len(op.inputs) :], strict=False)
                inputs = inputs[: len(op.inputs)]
            kept = tuple(copied(x) for x in inputs)
            result = forward(*inputs, **parameters)
            heard.append((op, kept, parameters))
            return result

        return listen

    for op, forward in forwards:
        op.forward = listener(op, forward)
    try:
        yield heard
    finally:
        for op, forward in forwards:
            op.forward = forward


def copied(x: Any) -> Any:
    return np.copy(x, order="K") if isinstance(x, np.ndarray) else x


# --- running rules -------------------------------------------------------------------------------


def run_vjp(call: RecordCall, inputs: Any, out: Any, gradients: Any, fit: bool = True) -> list[Any]:
    """Gradients of each differentiable input, given one for each differentiable output."""
    op = call.op
    slots = call.slots()
    saved, shapes, dtypes = _node_like(op, inputs, out)
    g = _incoming(op, out, gradients)
    if op.joint:
        needs = tuple(i in slots for i in range(len(inputs)))
        rule = op.vjp
        with np.errstate(all="ignore"):
            grads = rule.call(rule.rule, g, saved, shapes, dtypes, call.parameters, needs)
    else:
        with np.errstate(all="ignore"):
            grads = [
                r.call(r.rule, g, saved, shapes, dtypes, call.parameters, None)
                if i in slots
                else None
                for i, r in enumerate(op.vjp)
            ]
    return [_fitted(grads[i], inputs[i]) if fit else grads[i] for i in slots]


def run_jvp(call: RecordCall, inputs: Any, out: Any, tangents: dict[int, Any]) -> tuple[Any, ...]:
    """The tangents of the differentiable outputs, given those of some inputs (by slot)."""
    with np.errstate(all="ignore"):
        total = _tangent(call, inputs, out, tangents)
    shapes = [o.shape for o in call.outputs(out)]
    parts = call.outputs(total) if isinstance(total, (tuple, list)) else (total,)
    if isinstance(total, (tuple, list)) and len(total) == len(shapes):
        parts = tuple(total)
    return tuple(np.broadcast_to(p, s) for p, s in zip(parts, shapes, strict=True))


def _tangent(call: RecordCall, inputs: Any, out: Any, tangents: dict[int, Any]) -> Any:
    op = call.op
    zeros = [zero_like(x) for x in inputs]
    along = [tangents.get(i, zero) for i, zero in enumerate(zeros)]
    if op.jvp == LINEAR:
        return op.forward(*along, **call.parameters)
    saved, shapes, dtypes = _node_like(op, inputs, out)
    if isinstance(op.jvp, BoundRule):
        needs = tuple(i in tangents for i in range(len(inputs)))
        rule = op.jvp
        return rule.call(rule.rule, tuple(along), saved, shapes, dtypes, call.parameters, needs)
    terms = []
    for i, t in tangents.items():
        if op.jvp == MULTILINEAR:
            terms.append(op.forward(*inputs[:i], t, *inputs[i + 1 :], **call.parameters))
        else:
            rule = op.jvp[i]
            terms.append(rule.call(rule.rule, t, saved, shapes, dtypes, call.parameters, None))
    return add_up(terms)


def add_up(terms: list[Any]) -> Any:
    if isinstance(terms[0], (tuple, list)):
        return tuple(add_up(list(parts)) for parts in zip(*terms, strict=True))
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total


def zero_like(x: Any) -> Any:
    if hasattr(x, "shape"):
        return np.zeros_like(x) if is_inexact(x) else x
    return 0 if isinstance(x, (int, float, complex, np.number)) else x


def _node_like(op: Op, inputs: Any, out: Any) -> tuple[Any, Any, Any]:
    """What a node would hold for a rule: saved values, shapes and dtypes."""
    saved = [tuple(inputs), out] if op.variadic else [*inputs, out]
    shapes = tuple(x.shape if hasattr(x, "shape") else () for x in inputs)
    dtypes = tuple(x.dtype if hasattr(x, "dtype") else None for x in inputs)
    return saved, shapes, dtypes


def _incoming(op: Op, out: Any, gradients: Any) -> Any:
    if op.outputs == 1:
        return gradients[0]
    every = range(len(out)) if op.outputs == 0 else op.differentiable_outputs
    if op.outputs and len(every) == 1:
        return gradients[0]
    given = dict(zip(every, gradients, strict=True))
    return tuple(given[i] if i in given else np.zeros_like(o) for i, o in enumerate(out))


def _fitted(grad: Any, x: Any) -> Any:
    """As the engine does: undo broadcasting, drop an imaginary part that has no place."""
    if grad is None:
        return np.zeros_like(x)
    extra = grad.ndim - x.ndim
    axes = tuple(range(extra)) + tuple(
        i + extra for i, n in enumerate(x.shape) if n == 1 and grad.shape[i + extra] != 1
    )
    grad = np.reshape(np.sum(grad, axis=axes, keepdims=True), x.shape) if axes else grad
    assert grad.shape == x.shape, f"a gradient of shape {grad.shape} for an input {x.shape}"
    return np.real(grad) if x.dtype.kind != "c" and grad.dtype.kind == "c" else grad
