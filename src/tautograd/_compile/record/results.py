"""What a recorded function gave back: a description in place of each tensor, by which it is made again."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..._autograd.apply import apply
from ..._autograd.grad_mode import set_grad_enabled
from ..._autograd.modes import modes
from ..._autograd.views import detached
from ..._tensor.tensor import Tensor
from ..._trees.nests import at_path
from ..program.ir import View
from .symbols import Symbol
from .tensor_data import Lifting, grad_of, plain
from .trees import NESTS, tensors_in


@dataclass(slots=True)
class Made:
    """A tensor that the run made and gave back."""

    view: View
    requires_grad: bool
    used: bool  # whether its graph went backward inside
    root: int | None = None  # its number among the results that can go backward
    version: int = 0  # how often it was changed after it was made
    inference: bool = False


@dataclass(slots=True)
class Given:
    """A tensor that came in: argument number, or one from outside."""

    argument: int | None
    tensor: Any


@dataclass(slots=True)
class Seen:
    """A view that was given back, of something else that the caller has."""

    base: Any
    way: Any  # the view operations that lead to it; None: the same memory, without history
    requires_grad: bool = False


@dataclass(slots=True)
class Passed:
    """A list or another container that came in, and how to come to it; or one from outside."""

    path: tuple[Any, ...] | None
    value: Any = None

    def look(self, call: Any) -> Any:
        return self.value if self.path is None else at_path(call, self.path)


def passed_in(call: Any, outside: list[Any], returned: Any) -> dict[int, Passed]:
    """The containers that were returned as they came in, or were found by name: by their ids."""
    found = {id(value): Passed(None, value) for value in outside if NESTS.is_container(value)}
    for path, value in NESTS.containers(call):
        is_one = type(value) is tuple and not value  # of which there is only one
        if len(path) > 1 and not is_one:  # inside `args` or `kwargs`
            found.setdefault(id(value), Passed(path))
    here = {id(value) for _, value in NESTS.containers(returned)}
    return {key: value for key, value in found.items() if key in here}


@dataclass(slots=True)
class Computed:
    """A Python number that was computed of inputs, by its place among them."""

    place: int


def described(tape: Lifting, value: Any, roots: dict[int, int], passed: dict[int, Passed]) -> Any:
    """What was returned, with a description in place of each tensor and of each container that came in."""
    seen: dict[int, Any] = {}
    made: list[tuple[Made, Tensor]] = []

    def describe(leaf: Any) -> Any:
        if hasattr(type(leaf), "__next__") or inspect.isawaitable(leaf):
            tape.refuse("an iterator as a result", "iterator")
        if type(leaf) is Symbol:
            return Computed(leaf.place)
        if not isinstance(leaf, Tensor):
            return leaf
        if id(leaf) not in seen:
            if leaf._base is not None and id(leaf) not in tape.arguments:
                seen[id(leaf)] = _described_view(tape, leaf, roots, seen, made)
            else:
                seen[id(leaf)] = _described(tape, leaf, roots, made)
                if isinstance(seen[id(leaf)], Made):
                    made.append((seen[id(leaf)], leaf))
        return seen[id(leaf)]

    firsts = [tensor for tensor in tensors_in(value) if tensor._base is None]
    for tensor in sorted(
        firsts, key=lambda t: t._node is None
    ):  # views after what they are views of
        describe(tensor)
    bases: list[Any] = [t._base for t in tensors_in(value) if t._base is not None]
    for base in bases:  # that several results look into, and nobody else has
        if sum(b is base for b in bases) > 1 and not base.requires_grad and _is_made(tape, base):
            describe(base)
    return NESTS.alike(value, describe, dict[int, Any](passed))


def refuse_retained(tape: Lifting, value: Any) -> None:
    """A result that keeps its gradient would keep that of the recording."""
    for tensor in tensors_in(value):
        if tensor._retains_grad and _is_made(tape, tensor):
            tape.refuse("a result that keeps its gradient (`retain_grad()`)", "retain")
            return


def _is_made(tape: Lifting, tensor: Tensor) -> bool:
    """Whether a tensor is one that the run made."""
    return any(reference() is tensor for reference in tape.made)


def _described_view(
    tape: Lifting,
    tensor: Tensor,
    roots: dict[int, int],
    seen: dict[int, Any],
    made: list[tuple[Made, Tensor]],
) -> Any:
    """A view of something that the caller has too is made again as one."""
    base: Any = tensor._base
    if id(tensor) in tape.outside:
        return Given(None, tensor)
    if id(base) in tape.arguments:
        return Seen(Given(tape.arguments[id(base)], base), tensor._view, tensor.requires_grad)
    if id(base) in seen:
        return Seen(seen[id(base)], tensor._view, tensor.requires_grad)
    if id(base) in tape.outside:
        return Seen(Given(None, base), tensor._view, tensor.requires_grad)
    for place, other in _known(tape):  # that is a view of the same base
        way = None if other._base is not base else _rest_of_way(other._view, tensor._view)
        if way is not None:
            return Seen(place, way, tensor.requires_grad)
    for place, other in made if not tensor.requires_grad else ():
        if plain(other) is plain(base):
            return Seen(Seen(place, None), tensor._view)
    return _described(tape, tensor, roots, [])


def _rest_of_way(start: Any, whole: Any) -> Any:
    """The view operations that lead on from one view to another one, if it lies on the way."""
    on_the_way = len(start) < len(whole) and all(a is b for a, b in zip(start, whole, strict=False))
    return whole[len(start) :] if on_the_way else None


def _described(
    tape: Lifting, tensor: Tensor, roots: dict[int, int], made: list[tuple[Made, Tensor]]
) -> Made | Given | Seen:
    if id(tensor) in tape.arguments:
        return Given(tape.arguments[id(tensor)], tensor)
    held = plain(tensor)
    is_gradient = any(tensor is grad_of(leaf) for leaf, _ in tape.grads.values())
    is_gradient = is_gradient and id(tensor) not in tape.given
    if id(tensor) in tape.outside or is_gradient or not tape.knows(held):
        return Given(None, tensor)
    if not tensor.requires_grad:
        for place, other in (*_known(tape), *made):
            if plain(other) is held:
                return Seen(place, None)
    used = tensor._node is not None and id(tensor) not in roots
    inference = tensor._is_inference
    version = 0 if inference else tensor._version_box[0]
    found = tape.view(held), tensor.requires_grad, used, roots.get(id(tensor))
    return Made(*found, version, inference)


def _known(tape: Lifting) -> Iterator[tuple[Any, Tensor]]:
    for tensor, _ in tape.outside.values():
        yield Given(tape.arguments.get(id(tensor)), tensor), tensor


def pairs_of(value: Any, other: Any) -> Iterator[tuple[Any, Any]]:
    """Descriptions of results, and what the function has given in their places."""
    parts = NESTS.parts(value) if NESTS.is_container(value) else []
    for (_, part), (_, counterpart) in zip(parts, NESTS.parts(other) if parts else [], strict=True):
        yield from pairs_of(part, counterpart)
    if not NESTS.is_container(value):
        yield value, other


def views_of(value: Any) -> list[View]:
    """Where the results lie that the run made."""
    found = []
    for leaf in NESTS.leaves(value):
        while isinstance(leaf, Seen):
            leaf = leaf.base
        if isinstance(leaf, Made):
            found.append(leaf.view)
    return found


def seen_again(base: Tensor, seen: Seen) -> Tensor:
    """A view of a tensor, by the operations that lead to it."""
    if seen.way is None:
        return detached(base)
    found: Any = base
    with set_grad_enabled(seen.requires_grad and modes.grad):
        for op, parameters, index in seen.way:
            found = apply(op, (found,), parameters)
            found = found if index is None else found[index]
    return found  # type: ignore[no-any-return]
