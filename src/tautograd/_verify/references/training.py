"""A module during training: its own parameters and their hooks, against the same computation as a
function.

Everything else is checked on copies of the parameters. A hook on a parameter changes what the
optimizer gets, and shows only here.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._stand_ins.silence import without_warnings
from ..._user_code.sites import definition_of
from ..numerics.signs import uneven_signs
from ..report.findings import Suspect, in_a_line
from ..report.report import Check
from ..subject.engines import as_reals
from ..subject.subject import Subject

TRAINED = "the module's own parameters"


def hooked_parameters(subject: Subject) -> list[Suspect]:
    """The hooks on a module's parameters, each with the line that defines it."""
    found = []
    for name, parameter in subject.target.named_parameters():  # type: ignore[attr-defined]
        for hook in (getattr(parameter, "_backward_hooks", None) or {}).values():
            note = f"a hook on {name} changes the gradient that training gets"
            found.append(
                Suspect("register_hook", "", name.rpartition(".")[0], definition_of(hook), [], note)
            )
    return found


def as_it_trains(subject: Subject, seed: int) -> Check:
    """One backward through the module itself, for a random cotangent, parameter by parameter."""
    check = Check(TRAINED, "what training gets, hooks included")
    module = subject.target
    own = dict(module.named_parameters())  # type: ignore[attr-defined]
    chosen = [leaf for leaf in subject.leaves if leaf.is_parameter]
    if not chosen:
        check.verdict, check.note = "not applicable", "none of them is checked"
        return check
    (cotangent,) = cotangents = uneven_signs(np.random.default_rng(seed), (1, subject.size))
    (expected,) = subject.gradients(subject.row, cotangents)
    try:
        grads = _trained(subject, [own[leaf.name] for leaf in chosen], cotangent)
    except Exception as error:
        check.verdict, check.note = "not applicable", in_a_line(error)
        return check
    there = np.concatenate([expected[leaf.start : leaf.start + leaf.reals] for leaf in chosen])
    found = np.concatenate(
        [
            np.zeros(leaf.reals) if grad is None else as_reals(grad)
            for leaf, grad in zip(chosen, grads, strict=True)
        ]
    )
    numbers = np.concatenate([leaf.start + np.arange(leaf.reals) for leaf in chosen])
    with np.errstate(all="ignore"):
        sizes = [
            np.full(leaf.reals, np.abs(expected[leaf.start :][: leaf.reals]).max(initial=0.0))
            for leaf in chosen
        ]
        gap, allowed = np.abs(found - there), 64 * subject.epsilon * np.concatenate(sizes)
    check.entries = int(gap.size)
    at = check.measure(gap, allowed)
    if check.worst > 1:
        check.verdict = "wrong"
        number = int(numbers[at])
        leaf = subject.leaf_at(number)
        check.note = (
            f"{leaf.name}{list(leaf.index_of(number))}: {found[at]:.6g} instead of "
            f"{there[at]:.6g}; a hook on the parameter changes its gradient"
        )
    return check


def _trained(subject: Subject, parameters: list[Any], cotangent: Any) -> list[Any]:
    """The gradients of the parameters themselves; buffers and random streams are restored."""
    engine, module = subject.engine, subject.target
    held = {name: b.detach().clone() for name, b in module.named_buffers()}  # type: ignore[attr-defined]
    try:
        with without_warnings, engine.enable_grad():
            outputs = [t for _, t in subject.named_outputs(subject.call_itself())]
            live = [i for i, out in enumerate(outputs) if out.requires_grad]
            parts = subject.as_outputs(cotangent, outputs)
            return list(
                engine.autograd.grad(
                    [outputs[i] for i in live],
                    parameters,
                    [parts[i] for i in live],
                    allow_unused=True,
                )
            )
    finally:
        with engine.no_grad():
            for name, buffer in module.named_buffers():  # type: ignore[attr-defined]
                buffer.copy_(held[name])
