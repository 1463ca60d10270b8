"""A record's forward or rules done by kernels where its arrays are on a GPU.

The record's text stays as it is: what is declared here is tried first, on a GPU's arrays alone, and
gives None where it does not apply. It is put in place when CUDA is first used, so a program without
a GPU never meets it.

While a computation is recorded to be compiled, most records are taken down by their own formula, of which
kernels are made. Those in `WHOLE` stay one kernel of the program, because no formula comes near them; or none at
all, as the parts of an array whose gradients lie side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..._arrays.cuda.cuda_array import CudaArray
from ..declare.record import REGISTRY, Op
from ..declare.rule_calls import BoundRule, DerivedRule

WHOLE = frozenset(
    ("scaled_dot_product_attention", "nll_loss", "embedding_dense_backward", "unbind")
)


def _on_tape(fast: Any, args: Any, parameters: Any) -> Any:
    """A kernel as part of what is being recorded; None where nothing is, or it does not apply."""
    first = args[0][0] if type(args[0]) is tuple else args[0]
    note = getattr(first, "as_kernel", None)
    return None if note is None else note(fast, args, parameters)


def forward_of(name: str) -> Callable[[Any], Any]:
    """Declare another forward for a record."""

    def declare(fast: Any) -> Any:
        op = REGISTRY[name]
        plain = op.forward

        def forward(*args: Any, **parameters: Any) -> Any:
            if type(args[0]) is CudaArray:
                found = fast(*args, **parameters)
                if found is not None:
                    return found
            elif name in WHOLE:
                found = _on_tape(fast, args, parameters)
                if found is not None:
                    return found
            return plain(*args, **parameters)

        op.forward = forward
        return fast

    return declare


def rule_of(name: str, input: str | None = None) -> Callable[[Any], Any]:
    """Declare another VJP rule for an input of a record, or another joint one."""

    def declare(fast: Any) -> Any:
        op = REGISTRY[name]
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


def _chosen(op: Op, bound: BoundRule, fast: Any) -> BoundRule:
    """The rule as it is, with another one in front; both take the same arguments."""
    names = bound.names
    wanted = fast.__code__.co_varnames[: fast.__code__.co_argcount]
    if wanted != names:
        raise TypeError(f"{op.name}: the rule takes {names}, not {wanted}")
    plain = bound.source.build() if isinstance(bound.source, DerivedRule) else bound.source

    def rule(g: Any, *rest: Any) -> Any:
        if type(g) is CudaArray or (type(g) is tuple and type(g[0]) is CudaArray):
            found = fast(g, *rest)
            if found is not None:
                return found
        elif op.name in WHOLE:
            found = _on_tape(fast, (g, *rest), {})
            if found is not None:
                return found
        return plain(g, *rest)

    return BoundRule(rule, names, bound.sources)
