"""The gradient as a function, so that it can be verified like any other."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..numerics.signs import uneven_signs
from ..subject.subject import Subject


class _GradientSubject(Subject):
    """A gradient that depends on nothing still has a gradient: zero."""

    may_claim_none = False


def gradient_subject(subject: Subject, seed: int) -> Subject:
    """The leaves' gradient for one random cotangent, as a function of the leaves and of that cotangent:
    a backward that drops the incoming gradient is wrong as soon as that depends on anything."""
    engine = subject.engine
    cotangent = uneven_signs(np.random.default_rng(seed + 2), subject.size)
    arriving = subject.as_outputs(cotangent, [t for _, t in subject.outputs])
    count = len(subject.leaves)

    def gradient(*numbers: Any) -> tuple[Any, ...]:
        leaves, parts = numbers[:count], numbers[count:]
        with engine.enable_grad():
            given = [t if t.requires_grad else t.detach().requires_grad_() for t in leaves]
            outputs = [t for _, t in subject.named_outputs(subject.call(given))]
            live = [i for i, out in enumerate(outputs) if out.requires_grad]
            if not live:
                return tuple(engine.zeros_like(t) for t in given)
            found = engine.autograd.grad(
                [outputs[i] for i in live],
                given,
                [parts[i] for i in live],
                create_graph=True,
                allow_unused=True,
            )
        return tuple(
            engine.zeros_like(t) if g is None else g for t, g in zip(given, found, strict=True)
        )

    args = [leaf.tensor.detach().requires_grad_() for leaf in subject.leaves]
    args += [t.detach().requires_grad_() for t in arriving]
    again = _GradientSubject(gradient, tuple(args), {})
    names = [leaf.name for leaf in subject.leaves]
    names += [f"the gradient of {name}" for name, _ in subject.outputs]
    for leaf, name in zip(again.leaves, names, strict=True):
        leaf.name = name
    again.by_position = True
    again.outputs = [
        (f"gradient of {leaf.name}", t)
        for leaf, (_, t) in zip(subject.leaves, again.outputs, strict=True)
    ]
    return again
