"""Records the state before a verification: the inputs, the model, the random streams.

It is recorded before the run, because the run is the user's code and may change any of it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tautograd._evidence.canonical import sha256_of
from tautograd._evidence.runtime import random_state
from tautograd._evidence.targets import origin_of, target_of
from tautograd._evidence.tensors import describe, describe_inputs, embeddable
from tautograd._verify.subject.engines import engine_of, is_module, is_tensor

_MOST_TENSORS = 2000
"""Maximum number of a model's tensors listed individually; all of them are in its hash."""


@dataclass
class Observation:
    """The state of everything that a verification depends on, and its origin."""

    subject: Any
    engine: Any
    inputs: list[dict[str, Any]]
    model: dict[str, Any] | None
    random_state: dict[str, str]
    target: str | None = None
    kind: str = "function"
    source: Any = None
    """What was named: the class, if the subject is an instance built from it."""
    definition: dict[str, Any] = field(default_factory=lambda: {"kind": "given"})
    checkpoint: dict[str, Any] | None = None
    init: str | None = None
    computation: dict[str, Any] | None = None
    """The code, if it was read before the run: a file may be edited during a long one."""
    seed: int = 0
    seconds: float | None = None
    distributed: dict[str, Any] | None = None
    """The participating ranks, if they were other processes."""


def observe(
    subject: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    engine: Any = None,
    seed: int = 0,
) -> Observation:
    """Record the state of a function or module, of its inputs and of the random streams."""
    if engine is None:
        tensors = [value for value in (*args, *kwargs.values()) if is_tensor(value)]
        engine = engine_of([*tensors, *([subject] if is_module(subject) else [])])
    return Observation(
        subject=subject,
        engine=engine,
        inputs=describe_inputs(args, kwargs),
        model=model_of(subject) if is_module(subject) else None,
        random_state=random_state(engine),
        target=target_of(subject),
        kind=_kind_of(subject),
        source=origin_of(subject),
        seed=seed,
    )


def _kind_of(subject: Any) -> str:
    if is_module(subject):
        return "module"
    return "function" if origin_of(subject) is subject else "autograd function"


def model_of(module: Any) -> dict[str, Any]:
    """A module's parameters, buffers and mode."""
    own = [(name, tensor, "parameter") for name, tensor in module.named_parameters()]
    own += [(name, tensor, "buffer") for name, tensor in module.named_buffers()]
    rows = [{**describe(tensor, name), "role": role} for name, tensor, role in own]
    modes = {bool(part.training) for part in module.modules()}
    mode = "mixed" if len(modes) > 1 else ("train" if modes == {True} else "eval")
    parameters = [tensor for _, tensor, role in own if role == "parameter"]
    return {
        "class": f"{type(module).__module__}:{type(module).__qualname__}",
        "mode": mode,
        "parts": sum(1 for _ in module.modules()),
        "parameters": sum(int(p.numel()) for p in parameters),
        "trainable": sum(int(p.numel()) for p in parameters if p.requires_grad),
        "buffers": sum(int(t.numel()) for _, t, role in own if role == "buffer"),
        "tensors": rows[:_MOST_TENSORS],
        "sha256": sha256_of([[row["name"], row["sha256"]] for row in rows]),
    }


def stored_inputs(args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The inputs that a program made itself: their values, if they are small."""
    encoded = embeddable((args, kwargs))
    return {"kind": "given"} if encoded is None else {"kind": "values", "values": encoded}


def stored_state(module: Any) -> dict[str, Any] | None:
    """The state of a module that a program made itself, if it is small and consists of tensors only."""
    return embeddable(dict(module.state_dict()))
