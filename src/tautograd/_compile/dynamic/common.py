"""What records have to have in common besides their instructions, for one program to stand for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..optimizers.param_group_settings import settings_of
from ..program.ir import Block, Buffer, Kind, View
from ..record.trees import NESTS
from ..sound.arguments import same_value
from .fitting import Constant, Fitting, Unlike, has_sizes
from .size import LEAST, Ways

LATER = "a result that goes backward later"


def require_simple(entries: Sequence[Any]) -> None:
    for entry in entries:
        found = entry.capture
        for why, so in (
            (LATER, found.backward is not None),
            ("values that Python asks for", bool(found.splits)),
            ("floats that are inputs", bool(found.scalars.steps) or bool(entry.spots)),
            ("arguments that are written to", bool(found.argument_writes)),
            ("gradients of arguments", bool(found.argument_grads) or bool(found.turned)),
            ("arguments that are also used from outside", bool(entry.guards.pinned)),
            ("arguments in memory from outside", bool(entry.guards.placed)),
            ("operations that decide by values", bool(found.decided)),
            ("examples in parts", any(isinstance(i, Block) for i in entry.program.instructions)),
        ):
            if so:
                raise Unlike(why)


def require_same_surroundings(fitting: Fitting, captures: Sequence[Any]) -> None:
    """What is outside of the program: the same tensors, gradients, optimizers and counters."""
    last = captures[-1]
    for found in captures:
        for name in ("outside", "grads_before", "grads_after"):
            before, now = ([t for t, _ in getattr(c, name)] for c in (found, last))
            if len(before) != len(now) or any(a is not b for a, b in zip(before, now, strict=True)):
                raise Unlike("other tensors")
        if any(a is not b for (_, a), (_, b) in zip(found.outside, last.outside, strict=True)):
            raise Unlike("tensors whose memory has changed")
        pairs = [(c.grads_before, c.grads_after) for c in (found, last)]
        if [[g is None for _, g in part] for part in pairs[0]] != [
            [g is None for _, g in part] for part in pairs[1]
        ]:
            raise Unlike("gradients that are there in one of them")
        if [id(box) for box, _ in found.versions] != [id(box) for box, _ in last.versions]:
            raise Unlike("other version counters")
        if [type(e) for e in found.effects] != [type(e) for e in last.effects]:
            raise Unlike("other things that are done in Python")
        for a, b in zip(found.effects, last.effects, strict=True):
            if getattr(a, "optimizer", None) is not getattr(b, "optimizer", None):
                raise Unlike("other optimizers")
        written = settings_of(found.effects), settings_of(last.effects)
        if written[0].keys() != written[1].keys() or not all(
            same_value(value, written[1][key]) for key, value in written[0].items()
        ):
            raise Unlike("settings of optimizers that depend on sizes")
    for name in ("growth", "wanted", "left"):
        parts = [getattr(c, name) for c in captures]
        if name == "left":
            parts = [[view for _, view in part] for part in parts]
        if has_sizes(fitting.unified(parts)):
            raise Unlike("gradients or counters that depend on sizes")
    if has_sizes(fitting.unified([[n for _, n in c.versions] for c in captures])):
        raise Unlike("version counters that depend on sizes")


def calls_of(fitting: Fitting, captures: Sequence[Any]) -> list[Any]:
    """The public calls of a run: what the function's Python does at other sizes is held against them."""
    for found in captures:
        if found.calls is None or found.calls.why is not None:
            raise Unlike("Python that cannot be followed")
    last = captures[-1].calls
    if any((c.calls.count, c.calls.drawn) != (last.count, last.drawn) for c in captures):
        raise Unlike("other calls")
    if any(c.calls.results != last.results for c in captures):
        raise Unlike("other results")
    return fitting.unified([c.calls.calls for c in captures])  # type: ignore[no-any-return]


def buffers_of(
    fitting: Fitting, entries: Sequence[Any], constants: list[tuple[int, Constant]]
) -> list[Buffer]:
    """Buffers with their sizes; what is constant has to be so, whatever the size."""
    whole = [e.program.buffers for e in entries]
    if any(len(x) != len(whole[-1]) for x in whole):
        raise Unlike("other pieces of memory")
    used = {
        v.buffer
        for i in entries[-1].program.instructions
        for v in (*i.reads(), *i.writes())
    }  # fmt: skip
    own = [
        {view.buffer for _, view in e.capture.left}
        | {n for n, b in enumerate(e.program.buffers) if _is_row(e, b)}
        for e in entries
    ]
    found = []
    for number, buffers in enumerate(zip(*whole, strict=True)):
        last = buffers[-1]
        if any(b.kind is not last.kind for b in buffers):
            raise Unlike("memory of other kinds")
        nbytes = fitting.unified([b.nbytes for b in buffers])
        is_constant = number in used and last.kind is Kind.CONSTANT
        if is_constant and any(b.array.tobytes() != last.array.tobytes() for b in buffers):
            constants.append((number, fitting.unified([b.array for b in buffers])))
        outside = last.kind is Kind.EXTERNAL and not all(number in o for o in own)
        if number in used and outside and any(_start(b) != _start(last) for b in buffers):
            raise Unlike("other memory from outside")
        found.append(Buffer(number, nbytes, last.kind, last.array))
    return found


def _start(buffer: Buffer) -> int:
    return int(buffer.array.__array_interface__["data"][0])


def _is_row(entry: Any, buffer: Buffer) -> bool:
    """Whether memory holds an optimizer's numbers, of which each record has its own."""
    rows = [id(update.row) for update in entry.capture.updates]
    return id(buffer.array) in rows


def result_of(entry: Any) -> Any:
    """What is returned; a gradient by its number, since each record has its own."""
    if any(
        grad is leaf.tensor
        for leaf in NESTS.leaves(entry.capture.result)
        if hasattr(leaf, "tensor")
        for _, grad in entry.capture.grads_after
    ):
        raise Unlike("a gradient as a result")
    return entry.capture.result


def symbols_of(arguments: Sequence[Sequence[View]]) -> dict[str, tuple[int, ...]]:
    """Sizes of arguments that change, of which no other one says what they are."""
    found: dict[str, tuple[int, ...]] = {}
    for views in zip(*arguments, strict=True):
        if any(len(v.shape) != len(views[-1].shape) for v in views):
            raise Unlike("arguments of other dimensions")
        for sizes in zip(*(v.shape for v in views), strict=True):
            if all(n == sizes[0] for n in sizes) or sizes in found.values():
                continue
            if found:
                try:
                    Fitting(found, Ways({name: n[-1] for name, n in found.items()})).number(sizes)
                    continue
                except Unlike:
                    pass
            found["abcdefgh"[len(found)]] = sizes
            if len(found) > 3:
                raise Unlike("more than three sizes that change")
    if not found:
        raise Unlike("no size that changes")
    if any(n < LEAST for sizes in found.values() for n in sizes):
        raise Unlike("a size of 0 or 1")
    return found


def places_of(fitting: Fitting, arguments: Sequence[Sequence[View]]) -> list[tuple[int, int]]:
    """Which dimension of which argument each symbol is."""
    found = []
    for values in fitting.values.values():
        for i, views in enumerate(zip(*arguments, strict=True)):
            for d, sizes in enumerate(zip(*(v.shape for v in views), strict=True)):
                if sizes == values:
                    found.append((i, d))
                    break
            else:
                continue
            break
    return found


def prime_from(number: int) -> int:
    """A number near to one, which is no multiple of anything that a program may have besides."""
    while any(number % d == 0 for d in range(2, int(number**0.5) + 1)):
        number += 1
    return number


def require_alike(entries: Sequence[Any]) -> None:
    """That records do the same operations, whatever the numbers: before there are enough to fit those."""
    symbols_of([e.capture.arguments for e in entries])
    whole = [e.program.instructions for e in entries]
    if any(len(x) != len(whole[-1]) for x in whole):
        raise Unlike("another number of operations, as a loop over a size has them")
    for found in zip(*whole, strict=True):
        if len({(type(i), getattr(i, "function", None)) for i in found}) > 1:
            raise Unlike("other operations")
    for entry in entries:
        if entry.capture.calls is None or entry.capture.calls.why is not None:
            raise Unlike("Python that cannot be followed")
