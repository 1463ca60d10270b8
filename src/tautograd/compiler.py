"""`torch.compiler`: what programs ask of the compiler, and tell it.

`tautograd.compile` records a run of a function, so marks that steer PyTorch's reading of bytecode have
nothing to steer here: the functions that set them give back what they were given. `disable` is kept by
`compile`, and `set_stance` decides for calls of `compile` that come after it.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any, TypeVar

from ._ops.declare.python_surface import speak

__all__ = [
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "cudagraph_mark_step_begin",
    "disable",
    "get_default_backend",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "list_backends",
    "nested_compile_region",
    "reset",
    "set_default_backend",
    "set_enable_guard_collectives",
    "set_stance",
    "substitute_in_graph",
    "wrap_numpy",
]

Given = TypeVar("Given")


def compile(*args: Any, **kwargs: Any) -> Any:
    """`tautograd.compile`."""
    from ._compile.api import compile as compile_

    return compile_(*args, **kwargs)


def is_compiling() -> bool:
    """Whether a function is being recorded; PyTorch's programs take their simplest way then.

    A recording runs the function as it is, on real numbers, so the answer is no. It is yes while a model
    is exported: what Python decides by values is not in a graph.
    """
    return is_exporting()


def is_dynamo_compiling() -> bool:
    """Whether bytecode is being read: it never is."""
    return False


def is_exporting() -> bool:
    """Whether a program is being exported: yes while `torch.onnx.export` runs it."""
    running = sys.modules.get(f"{__name__.partition('.')[0]}.onnx._export.running")
    return running is not None and running.exporting.depth > 0


def reset() -> None:
    """Forget what was compiled, as far as a program can tell: a compiled function forgets with itself."""


def disable(fn: Any = None, recursive: bool = True, *, reason: str | None = None) -> Any:
    """Mark a function as one that is not to be compiled by itself; `@disable` and `@disable()` both do.

    Called from a compiled function it is recorded with the rest: recording runs it as it is.
    """
    if fn is None:
        return functools.partial(disable, recursive=recursive, reason=reason)
    if not callable(fn) or isinstance(fn, type):
        return fn
    return _Disabled(fn) if not hasattr(fn, "forward") else fn


def _Disabled(fn: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(fn)
    def plain(*args: Any, **kwargs: Any) -> Any:
        return fn(*args, **kwargs)

    plain._torchdynamo_disable = True  # type: ignore[attr-defined]
    return plain


def allow_in_graph(fn: Any) -> Any:
    """A function, or several, as they are: any function can be recorded."""
    if isinstance(fn, (list, tuple)):
        return [allow_in_graph(one) for one in fn]
    if not callable(fn):
        raise AssertionError("allow_in_graph expects a callable")
    return fn


def assume_constant_result(fn: Given) -> Given:
    """The function as it is: what it returns while it is recorded is a constant of the record."""
    return fn


def nested_compile_region(fn: Any = None, **options: Any) -> Any:
    """The function as it is: a record holds each call of it."""
    return functools.partial(nested_compile_region, **options) if fn is None else fn


def wrap_numpy(fn: Callable[..., Any]) -> Callable[..., Any]:
    """A function of NumPy arrays as one of tensors: arguments and results are converted."""
    from ._tensor.tensor import Tensor
    from ._trees.nests import TUPLES_LISTS_DICTS as NESTS

    def to_array(value: Any) -> Any:
        return value.numpy() if isinstance(value, Tensor) else value

    def to_tensor(value: Any) -> Any:
        import numpy as np

        from tautograd import from_numpy

        if isinstance(value, np.generic):
            value = np.asarray(value)
        return from_numpy(value) if isinstance(value, np.ndarray) else value

    @functools.wraps(fn)
    def on_tensors(*args: Any, **kwargs: Any) -> Any:
        found = fn(*NESTS.mapped(args, to_array), **NESTS.mapped(kwargs, to_array))
        return NESTS.mapped(found, to_tensor)

    return on_tensors


def substitute_in_graph(
    original_fn: Any, *, can_constant_fold_through: bool = False, skip_signature_check: bool = False
) -> Callable[[Given], Given]:
    """A decorator that gives the function back: a record runs the original."""
    return lambda fn: fn


def list_backends(exclude_tags: Any = ("debug", "experimental")) -> list[str]:
    """What `compile` takes as `backend`."""
    hidden = set(exclude_tags or ())
    return ["llvm", "inductor", "numpy", *([] if "debug" in hidden else ["eager"])]


_default_backend: Any = "inductor"


def set_default_backend(backend: Any) -> None:
    """Note which backend programs should use; None: the first one again."""
    global _default_backend
    _default_backend = "inductor" if backend is None else backend


def get_default_backend() -> Any:
    """What `set_default_backend` noted."""
    return _default_backend


def cudagraph_mark_step_begin() -> None:
    """Say that a step begins: a recorded step knows."""


def set_enable_guard_collectives(enabled: bool) -> bool:
    """Whether guards would be agreed on by several processes: there is one; returns False."""
    return False


_STANCES = (
    "default",
    "force_eager",
    "eager_on_recompile",
    "fail_on_recompile",
    "eager_then_compile",
    "aot_eager_then_compile",
)


class set_stance:  # noqa: N801  (PyTorch's name)
    """Say how compiled functions should behave: a call, a `with` block or a decorator.

    `"default"` and the stances about compiling again change nothing, as a record that does not hold is
    made anew. `"force_eager"` is refused by an error, for it could not be kept.
    """

    def __init__(
        self,
        stance: str = "default",
        *,
        skip_guard_eval_unsafe: bool = False,
        force_backend: Any = None,
    ) -> None:
        if stance not in _STANCES:
            raise RuntimeError(f"invalid torch.compile stance '{stance}'")
        if stance in ("force_eager", "fail_on_recompile"):
            raise RuntimeError(
                f"torch.compile stance '{stance}' cannot be kept by tautograd: use "
                "compile(..., disable=True) instead"
            )
        self.stance = stance

    def __enter__(self) -> set_stance:
        return self

    def __exit__(self, *error: Any) -> None:
        return None

    def __call__(self, fn: Given) -> Given:
        return fn


speak(globals(), __all__)
