"""How rules are called: with what their parameter names ask for, found in a node.

What a rule asks for is known when its record is made, so the call is written down then, as Python
source: a function made for its purpose is several times faster than a loop over names.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .code_holders import texts

Rule = Callable[..., Any]


def written(text: str, scope: dict[str, Any] | None = None) -> Any:
    """A function from its text. Its lines count as this package's, not as the user's."""
    return eval(compile(text, __file__, "eval"), {} if scope is None else scope)


class BoundRule:
    """A rule and the way its named parameters are found in a node.

    `call(rule, g, saved, shapes, dtypes, parameters, needs)` fetches them and calls the rule; it is
    made when first asked for, and so is a rule that is given as a `DerivedRule`.
    """

    __slots__ = ("call", "names", "rule", "source", "sources")

    def __init__(
        self, rule: Rule | DerivedRule, names: tuple[str, ...], sources: tuple[str, ...]
    ) -> None:
        self.names = names
        self.source = rule
        self.sources = sources

    def __getattr__(self, name: str) -> Any:
        if name == "call":
            self.call = _caller(self.sources)
            return self.call
        if name == "rule":
            self.rule = self.source.build() if isinstance(self.source, DerivedRule) else self.source
            return self.rule
        raise AttributeError(name)


class DerivedRule:
    """A rule that `build` makes when it is first used; `names` are its parameters."""

    __slots__ = ("build", "names")

    def __init__(self, names: tuple[str, ...], build: Callable[[], Rule]) -> None:
        self.names = names
        self.build = build


_CALLERS: dict[tuple[str, ...], Callable[..., Any]] = {}


def _caller(sources: tuple[str, ...]) -> Callable[..., Any]:
    """A function that fetches a rule's arguments and calls it; one per pattern of arguments."""
    found = _CALLERS.get(sources)
    if found is None:
        text = (
            f"lambda rule, g, saved, shapes, dtypes, parameters, needs: rule({', '.join(sources)})"
        )
        found = _CALLERS[sources] = written(text)
    return found


def joined(bound: tuple[BoundRule | None, ...], joint: bool) -> Callable[..., Any]:
    """All the VJP rules of an operation as `run(node, edges, g, saved)`, which gives the gradients
    of the inputs that have an edge, in a list (a joint rule's as it gives them)."""
    terms = []
    for i, rule in enumerate(bound):
        if rule is None:
            terms.append("None")
            continue
        name = f"bound[{i}].rule" if isinstance(rule.source, DerivedRule) else f"rule{i}"
        call = f"{name}({', '.join(map(_in_node, rule.sources))})"
        alone = joint or len(bound) == 1
        terms.append(call if alone else f"None if edges[{i}] is None else {call}")
    names = ", ".join(f"rule{i}" for i in range(len(bound)))
    body = terms[0] if joint else f"[{', '.join(terms)}]"
    text = f"lambda bound, {names}: lambda node, edges, g, saved: {body}"
    build = written(text)
    found = build(bound, *[rule and rule.source for rule in bound])
    texts[found.__code__] = text
    return found  # type: ignore[no-any-return]


def _in_node(source: str) -> str:
    """The expression for a rule's parameter, where a node is at hand."""
    if source == "needs":
        return "tuple([edge is not None for edge in edges])"
    return f"node.{source}" if source.startswith(("shapes", "dtypes", "parameters")) else source
