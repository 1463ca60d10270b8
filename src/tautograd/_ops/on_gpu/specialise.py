"""A record's forward or rules done by kernels where its arrays are on a GPU.

The record's text stays as it is: what is declared here is tried first, on a GPU's arrays alone, and
gives None where it does not apply. It is put in place when CUDA is first used, so a program without
a GPU never meets it.

While a computation is recorded to be compiled, most records are taken down by their own formula, of which
kernels are made. Those in `WHOLE` stay one kernel of the program, because no formula comes near them; or none at
all, as the parts of an array whose gradients lie side by side.

Half precision is widened to float32 before a record's formula and rounded after it. A record that `takes_half` is
given it as it is: its kernels read two bytes, compute in float32 and round once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arrays.cuda.cuda_array import CudaArray
from ..._arrays.dtypes import HALF_CODES
from ..declare.record import INTERNAL, REGISTRY, TWINS, Op
from ..declare.rule_calls import BoundRule, DerivedRule

WHOLE = frozenset(
    (
        *("scaled_dot_product_attention", "nll_loss", "embedding_dense_backward", "unbind"),
        *("convolution", "transposed_convolution", "weight_correlation", "cross_entropy_of_many"),
    )
)
# Products of recorded half precision are taken down as such: cuBLAS has them.
PRODUCTS = frozenset(("mm", "bmm", "addmm"))

_FLOAT32 = np.dtype(np.float32)


def _first(value: Any) -> Any:
    return value[0] if type(value) is tuple else value


def is_recorded(x: Any) -> bool:
    """Whether x is an array of a GPU's that is being recorded."""
    return hasattr(type(x), "as_kernel") and hasattr(x.value, "gpu_index")


def is_half(x: Any) -> bool:
    dtype = getattr(x, "dtype", None)
    return dtype is not None and dtype.char in HALF_CODES


def widened(value: Any) -> Any:
    """Half precision as float32, in arguments of any kind."""
    if isinstance(value, (tuple, list)):
        return type(value)([widened(v) for v in value])
    return np.astype(value, _FLOAT32) if is_half(value) else value


def _on_tape(fast: Any, args: Any, parameters: Any) -> Any:
    """A kernel as part of what is being recorded; None where nothing is, or it does not apply."""
    note = getattr(_first(args[0]), "as_kernel", None)
    return None if note is None else note(fast, args, parameters)


def _tried(name: str, fast: Any, args: Any, parameters: Any) -> Any:
    """What a kernel gives, now or on the tape; None where it does not apply."""
    first = _first(args[0])
    if type(first) is CudaArray:
        return fast(*args, **parameters)
    if name in PRODUCTS:
        return fast(*args, **parameters) if is_recorded(first) else None
    return _on_tape(fast, args, parameters) if name in WHOLE else None


def _named(name: str) -> list[Op]:
    """A record, and those that are the same under another node name."""
    return [REGISTRY.get(name) or INTERNAL[name], *TWINS.get(name, ())]


def forward_of(name: str, half: bool = False) -> Callable[[Any], Any]:
    """Declare another forward for a record; `half`: it takes half precision as it is."""

    def declare(fast: Any) -> Any:
        for op in _named(name):
            _put_forward(op, fast, half)
        return fast

    return declare


def _put_forward(op: Op, fast: Any, half: bool) -> None:
    name, plain = op.name, op.forward

    def forward(*args: Any, **parameters: Any) -> Any:
        if type(args[0]) is CudaArray:
            found = fast(*args, **parameters)
        else:
            found = _tried(name, fast, args, parameters)
        if found is not None:
            return found
        if half and is_half(_first(args[0])) and not hasattr(args[0], "apply_lifted"):
            args = widened(args)
        return plain(*args, **parameters)

    op.forward = forward
    if half:
        op.half_kernel = lambda *args, **parameters: _tried(name, fast, args, parameters)


def rule_of(name: str, input: str | None = None) -> Callable[[Any], Any]:
    """Declare another VJP rule for an input of a record, or another joint one."""

    def declare(fast: Any) -> Any:
        for op in _named(name):
            if input is None:
                op.vjp = _chosen(op, op.vjp, fast)
            else:
                at = op.position[input]
                op.vjp = tuple(
                    _chosen(op, rule, fast) if i == at else rule for i, rule in enumerate(op.vjp)
                )
            op.rules = None
        return fast

    return declare


def takes_half(name: str) -> None:
    """Let the rules of a record have gradients in half precision as they are; said after its rules."""
    for op in _named(name):
        op.takes_half = _is_there if name in WHOLE or name in PRODUCTS else _is_on_gpu
        if op.joint:
            op.vjp = _chosen(op, op.vjp, None)
        else:
            op.vjp = tuple(None if rule is None else _chosen(op, rule, None) for rule in op.vjp)
        op.rules = None


def _is_on_gpu(g: Any) -> bool:
    return type(_first(g)) is CudaArray


def _is_there(g: Any) -> bool:
    """Whether a gradient is on the GPU, or will be when what is recorded is run."""
    first = _first(g)
    return type(first) is CudaArray or is_recorded(first)


def _chosen(op: Op, bound: BoundRule, fast: Any) -> BoundRule:
    """The rule as it is, with another one in front; both take the same arguments.

    Without another one: the rule on float32, where it is given half precision.
    """
    names = bound.names
    plain = bound.source.build() if isinstance(bound.source, DerivedRule) else bound.source
    if (
        getattr(plain, "on_gpu", False) and fast is None
    ):  # there is one in front, which sees to that
        return bound
    if fast is not None:
        wanted = fast.__code__.co_varnames[: fast.__code__.co_argcount]
        if wanted != names:
            raise TypeError(f"{op.name}: the rule takes {names}, not {wanted}")
    name = op.name

    def rule(g: Any, *rest: Any) -> Any:
        if fast is not None:
            if type(g) is CudaArray:
                found = fast(g, *rest)
            else:
                found = _tried(name, fast, (g, *rest), {})
            if found is not None:
                return found
        as_it_is = op.takes_half is None or (name in PRODUCTS and not _is_on_gpu(g))
        if is_half(_first(g)) and not as_it_is:
            g, *rest = widened([g, *rest])
        return plain(g, *rest)

    rule.on_gpu = True  # type: ignore[attr-defined]
    return BoundRule(rule, names, bound.sources)
