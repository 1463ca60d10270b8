"""How much work an evidence file may request: above these limits, a replay is refused before it begins."""

from __future__ import annotations

import base64
import math
import re
from collections.abc import Iterator
from typing import Any

from tautograd._evidence.inputs import Drawn, items_in
from tautograd._evidence.refusals import CannotRun, shown
from tautograd._evidence.tensors import DTYPES

MOST_PROBES = 10_000
MOST_IN_FULL = 100_000
"""Maximum input size of a function whose whole Jacobian is compared."""
LARGEST_INPUTS = 2**30
"""Maximum bytes of inputs drawn from shapes, in double precision."""
MOST_RANKS = 64
_LONGEST_SHAPES = 10_000  # characters
_LARGEST_STATE = 2**16  # bytes of a random state; the engines' own take 5 kB
_SEEDS = range(2**64)
_WORD = re.compile(r"[A-Za-z0-9_]{0,64}")
_PARAMETER = re.compile(r"(?=.{1,500}$)\w+(?:[.-]\w+)*", re.ASCII)
"""A parameter's name in a module's state."""


def check_limits(evidence: dict[str, Any]) -> None:
    """Refuse evidence whose settings, seeds or shapes would make a verification endless."""
    probes = evidence["settings"].get("probes", 1)
    if probes > MOST_PROBES:
        raise CannotRun(f"the evidence asks for {probes:.12g} probes; {MOST_PROBES} are the most")
    ranks = evidence["settings"].get("ranks", 1)
    if not isinstance(ranks, int) or not 1 <= ranks <= MOST_RANKS:
        raise CannotRun(
            f"the evidence asks for {shown(str(ranks))} ranks; {MOST_RANKS} are the most"
        )
    definition = evidence["data"]["definition"]
    for seed in (evidence["random"]["seed"], definition.get("seed", 0)):
        if seed not in _SEEDS:
            raise CannotRun(f"the evidence's seed, {seed:.21g}, is not in the range of 64 bits")
    if evidence["settings"].get("mode") == "full":
        _check_full(definition)
    if definition["kind"] == "shapes":
        _check_shapes(definition["text"])
        if definition["default_dtype"] not in DTYPES:
            raise CannotRun(f"'{shown(definition['default_dtype'])}' is not a dtype")
    _check_state(evidence["random"]["state"])


def _check_full(definition: dict[str, Any]) -> None:
    """A whole Jacobian takes a run for each input number."""
    shapes: list[list[int]] = []
    if definition["kind"] == "shapes":
        shapes = [item.shape for item in _drawn_in(definition["text"])]
    elif definition["kind"] == "values":
        shapes = [row["shape"] for row in _leaves(definition["values"]) if row["kind"] == "tensor"]
    numbers = sum(math.prod(shape) for shape in shapes)
    if numbers > MOST_IN_FULL:
        raise CannotRun(
            f"the evidence asks for the whole Jacobian of {numbers:.12g} numbers; {MOST_IN_FULL} are the most"
        )


def _check_shapes(text: str) -> None:
    if len(text) > _LONGEST_SHAPES:
        raise CannotRun(f"the evidence's shapes are {len(text)} characters of text: too long")
    drawn = _drawn_in(text)
    for item in drawn:
        if item.dtype is not None and item.dtype not in DTYPES:
            raise CannotRun(f"'{shown(item.dtype)}', in the evidence's shapes, is no dtype")
    total = sum(8 * math.prod(item.shape) for item in drawn)
    if total > LARGEST_INPUTS or any(math.prod(filter(None, d.shape)) >= 2**60 for d in drawn):
        raise CannotRun(
            f"the evidence's inputs, {text[:80]}, would take {total:.3g} bytes; "
            f"{LARGEST_INPUTS} are the most: say others with --inputs"
        )


def _drawn_in(text: str) -> list[Drawn]:
    return [item for item in items_in(text) if isinstance(item, Drawn)]


def _check_state(state: str | None) -> None:
    if state is None:
        return
    try:
        size = len(base64.b64decode(state, validate=True))
    except ValueError:
        raise CannotRun("the evidence's random state is not base64") from None
    if size > _LARGEST_STATE:
        raise CannotRun(f"the evidence's random state has {size} bytes; no engine's has as many")


# ---- permitted arguments -------------------------------------------------------------------------


def check_arguments(definition: dict[str, Any], say: str, *, called: bool) -> None:
    """Refuse arguments that have nothing to do with a gradient: a function named by the file gets
    tensors.

    Besides them, only numbers and one-word options are allowed. A sentence, a path or a command is
    neither, and a call without any tensor has no gradient: this applies to functions, which are
    `called`; a module's parameters have one.
    """
    kind = definition["kind"]
    if kind == "values":
        leaves = list(_leaves(definition["values"]))
        for leaf in leaves:
            if not _is_harmless(leaf.get("value")):
                raise _passes_text(leaf["value"], say)
        tensors = any(leaf["kind"] == "tensor" for leaf in leaves)
    elif kind == "shapes":
        tensors = bool(_drawn_in(definition["text"]))
    else:
        return
    if called and not tensors:
        raise CannotRun(
            "the evidence would call a function of yours without any tensor, so it is about no "
            f"gradient; if you want that, name the function: {say}"
        )


def check_state(state: dict[str, Any], say: str) -> None:
    """Refuse a module state that contains text: the module's own code may receive all of it."""
    for leaf in _leaves(state):
        named = leaf["kind"] == "key" and _PARAMETER.fullmatch(leaf["value"])
        if not named and not _is_harmless(leaf.get("value")):
            raise _passes_text(leaf["value"], say)


def _passes_text(text: str, say: str) -> CannotRun:
    return CannotRun(
        f"the evidence would call a function of yours with the text {shown(repr(text), 40)}; if you "
        f"want that, name the function: {say}"
    )


def _is_harmless(value: Any) -> bool:
    return not isinstance(value, str) or _WORD.fullmatch(value) is not None


def _leaves(row: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The tensors and values of a nest, and the keys of its dictionaries."""
    if "items" in row:
        for key in row.get("keys", ()):
            yield {"kind": "key", "value": key}
        for item in row["items"]:
            yield from _leaves(item)
    else:
        yield row
