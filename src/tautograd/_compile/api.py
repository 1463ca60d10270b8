"""`tautograd.compile(fn)`: the same function, recorded once and then replayed as one program."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import Any

from .._autograd.effects import structure
from ..nn.modules.module import Module
from .foreign import refuse_model
from .guards import module_guards
from .record import tensor_data
from .record.generators import noting_seeds
from .record.symbolic_math import following_math
from .run.audit import AuditError
from .run.audit_schedule import MODES
from .run.bound_methods import OptimizedModule
from .run.compiled import Compiled


def compile(
    model: Callable[..., Any] | None = None,
    *,
    fallback: bool | None = None,
    fullgraph: bool = False,
    dynamic: bool | None = None,
    backend: Any = "llvm",
    mode: str | None = None,
    options: dict[str, Any] | None = None,
    disable: bool = False,
    audit: str | None = None,
    sound: bool | None = None,
) -> Any:
    """Record a function of tensors, up to a whole training step, and replay it as one program.

    `compile(fn)`, or `@compile` above a function. With `fallback=True` it is split where Python asks for a
    tensor's value, and a function that cannot be recorded runs eagerly; a warning says so once. That is the default
    for a program that imports tautograd as `torch` (`taut run --as-torch`), as it is PyTorch's; with
    `fullgraph=True` it is an error there, too.
    `backend="numpy"` replays with NumPy's functions and needs no compiler. `fullgraph`, `mode` and `options` are
    PyTorch's; a record is always of the whole function. `dynamic` says what is done where sizes change from call to
    call. With `None`, the default, samples of three sizes become one program for all of them where that is expected
    to pay, and with `True` in any case; other forms of arguments are recorded once that pays, out of what replays
    have saved, and a warning says if it does not. With `False` each form is recorded at its second call, whatever
    that costs.

    Now and then a replay is audited: the function runs, and must still become the same program (`audit="always"`:
    at each call, `"never"`; the environment variable `TAUT_AUDIT` says what it is by default).

    With `sound=True` the function's own Python runs at every call, on tensors that compute nothing; if it does what
    was recorded, the program runs. Whatever it reads, it reads afresh. `sound=False` skips Python wherever guards
    see nothing changed. By default Python runs where that is a small part of a step's time.
    """
    if backend not in ("llvm", "inductor", "numpy", "eager"):
        raise ValueError(
            f"compile(): argument 'backend' must be 'llvm' or 'numpy', not {backend!r}"
        )
    if model is None:
        options = {"fallback": fallback, "fullgraph": fullgraph, "audit": audit, "sound": sound}
        options |= {"backend": backend, "disable": disable, "dynamic": dynamic}
        return functools.partial(compile, **options)
    audit = os.environ.get("TAUT_AUDIT", "auto") if audit is None else audit
    if audit not in MODES:
        raise ValueError(
            f"compile(): argument 'audit' must be 'auto', 'always' or 'never', not {audit!r}"
        )
    if not callable(model):
        raise TypeError(f"compile(): argument 'model' must be callable, not {type(model).__name__}")
    refuse_model(model)
    if disable or backend == "eager":
        return model
    if fallback is None:
        fallback = _stands_for_torch()
    compiled = Compiled(
        model,
        fallback=fallback and not fullgraph,
        native=backend != "numpy",
        audit=audit,
        sound=sound,
        specialises=dynamic is False,
        any_size=dynamic is True,
    )
    return OptimizedModule(model, compiled) if isinstance(model, Module) else compiled


def _stands_for_torch() -> bool:
    """Whether `import torch` means this package here, so that a program written for PyTorch runs."""
    version = getattr(sys.modules.get("torch"), "__version__", "")
    return str(version).endswith("+tautograd")


def _after_fork() -> None:
    structure[0] += 1  # so that no call takes the shortest way into a program of the parent's
    for part in (tensor_data, module_guards, noting_seeds, following_math):
        part.stop_in_child()


os.register_at_fork(after_in_child=_after_fork)


__all__ = ["AuditError", "Compiled", "compile"]
