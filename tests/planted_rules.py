"""Rules of an operation that a test plants, and those that it had, which come back."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tautograd._ops.declare.record import Op


def declared(op: Op) -> tuple[Any, Any]:
    """The rules as `set_rules` takes them."""

    def unbound(rules: Any) -> Any:
        if isinstance(rules, tuple):
            return {n: r.rule for n, r in zip(op.inputs, rules, strict=True) if r is not None}
        return rules if rules is None or isinstance(rules, str) else rules.rule

    return unbound(op.vjp), unbound(op.jvp)


@contextmanager
def planted(op: Op, vjp: Any, jvp: Any = ...) -> Iterator[None]:
    """Inside, an operation has these rules (its own `jvp`, if none is given)."""
    own = declared(op)
    op.set_rules(vjp, own[1] if jvp is ... else jvp)
    try:
        yield
    finally:
        op.set_rules(*own)
