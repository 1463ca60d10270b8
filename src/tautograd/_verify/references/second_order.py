"""The gradient as a function of its own, so that it can be verified like any other."""

from __future__ import annotations

from typing import Any

from ..subject.subject import Subject
from .fast_mode import sign_vectors


class _GradientSubject(Subject):
    """A gradient that depends on nothing has a gradient all the same, which is zero."""

    may_claim_none = False


def gradient_subject(subject: Subject, seed: int) -> Subject:
    """The leaves' gradient for one random cotangent, as a function of the leaves."""
    engine = subject.engine
    (cotangent,) = sign_vectors(1, subject.size, seed + 2)

    def gradient(*leaves: Any) -> tuple[Any, ...]:
        with engine.enable_grad():
            given = [t if t.requires_grad else t.detach().requires_grad_() for t in leaves]
            outputs = [t for _, t in subject.named_outputs(subject.call(given))]
            live = [i for i, out in enumerate(outputs) if out.requires_grad]
            parts = subject.as_outputs(cotangent, outputs)
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

    again = _GradientSubject(gradient, tuple(leaf.tensor for leaf in subject.leaves), {})
    for leaf, original in zip(again.leaves, subject.leaves, strict=True):
        leaf.name = original.name
    again.by_position = True
    again.outputs = [
        (f"gradient of {leaf.name}", t)
        for leaf, (_, t) in zip(subject.leaves, again.outputs, strict=True)
    ]
    return again
