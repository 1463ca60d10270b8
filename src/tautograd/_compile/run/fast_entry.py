"""The shortest way into a program: a step whose arguments are plain tensors, and which gives plain tensors.

It does what `Compiled.__call__` and `Entry.replay` do, and takes the long way (`MISS`) at the least doubt.
Everything that stays the same from call to call is looked up when the closure is made.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from operator import attrgetter, is_
from typing import Any

from ..._arrays.dtypes import _defaults as defaults
from ..._autograd import machine_code
from ..._autograd.backward_pass import arrivals
from ..._autograd.effects import structure
from ..._autograd.modes import modes
from ..._tensor.attributes import state_of
from ..._tensor.tensor import Tensor
from ..guards.identity import Sameness
from ..guards.unchanged_loop import Steady
from ..program.ir import Kind
from ..record.results import Made
from .replay import fresh
from .rollback import STOPS

MISS: Any = object()
STOPPED: Any = object()  # where there was an error, and nothing has happened
_data_of = attrgetter("_data")
_grad_of = attrgetter("_grad")
_new = object.__new__


def quick_way(entry: Any) -> Callable[[tuple[Any, ...]], Any] | None:
    """A function of the arguments that replays, or gives `MISS`; None where only the long way will do."""
    found, replay, guards = entry.capture, entry.replay_of, entry.guards
    results = found.result if isinstance(found.result, tuple) else (found.result,)
    single = not isinstance(found.result, tuple)
    simple = all(r is None or (isinstance(r, Made) and not r.inference) for r in results)
    if found.backward is not None or found.argument_writes or replay.staged or not simple:
        return None
    if type(found.result) not in (tuple, Made, type(None)) or entry.form is None:
        return None
    if guards.pinned or guards.placed or found.argument_grads or found.turned:
        return None
    if any(replay.kind_of(r.view) is not Kind.KEPT for r in results if r is not None):
        return None
    sources = [None if r is None else replay.memory.array(r.view) for r in results]
    nodes = [None if r is None else entry.node_of(r) for r in results]
    wants = [r is not None and r.requires_grad and not r.used for r in results]
    had, were = [t for t, _ in guards.grads], [g for _, g in guards.grads]
    counts = [0 if r is None else r.version for r in results]
    plans = list(zip(sources, nodes, wants, counts, strict=True))
    forms = entry.form
    count = len(forms)
    table, slots = replay.table, replay.slots
    offsets = [view.offset for view in found.arguments]
    run = replay.whole(0)
    kind, load, copied = replay.array_kind, replay.load_quickly, replay.copied
    shares = None if load is None else guards.written.meet
    always, versions, after = entry.stops.effects, found.versions, found.grads_after
    stops, late = entry.stops, entry.stops.late
    audits = entry.audits
    keep = None if stops.undo is None else stops.undo.keep
    same_variables, are_untouched = guards.variables.sameness(), guards.modules.are_untouched
    steady = entry.steady = entry.steady or Steady(entry)
    kept = Sameness()
    kept.attributes += [(tensor, "_grad", grad) for tensor, grad in after]
    kept.entries += [(box, 0, version) for box, version in found.new_grads]
    have_become = kept.natively() if steady.native else kept.by_python()
    place = _placing(table, slots, offsets) if steady.native and slots else None
    updates = [*guards.updates, *guards.fixed]
    choices = [u.chooses_the_same for u in guards.updates] + [u.holds for u in guards.fixed]
    tensors, arrays = guards.tensors, guards.arrays
    outside = guards.memory
    recording, lower = entry.modes
    number = defaults.float  # the dtype of Python's floats
    if recording is None:  # inference mode, for one
        return None
    acquire, release = entry.lock.acquire, entry.lock.release
    level = 1 if found.scalars.steps else 0  # see `quick_numbers`, which comes before this

    def make_one(source: Any, node: Any, wants_gradient: bool, version: int) -> Any:
        if source is None:
            return None
        out = _new(Tensor)
        if copied is not None:
            out._data = copied(source)
        else:
            out._data = source.copy() if source.ndim < 2 else fresh(source)
        out._node = node
        out._requires_grad = wants_gradient
        out._version_box = [version]
        out._base = out._grad = None
        out._output_nr = 0
        return out

    def nothing_wrong() -> bool:
        """Whether the record holds, as Python sees it."""
        own = modes.__dict__
        return (
            own["way"][0] is recording
            and own.get("recorder") is None
            and not own["now"].vmap_levels
            and own["now"].lower is lower
            and all(map(is_, map(_data_of, tensors), arrays))
            and all(map(is_, map(_grad_of, had), were))
            and all(update.holds() for update in updates)
            and are_untouched()
            and same_variables()
        )

    def attempt(args: tuple[Any, ...]) -> Any:
        if guards.structure != structure[0] or defaults.float is not number or len(args) != count:
            return MISS
        if entry.calls >= audits.due:
            return MISS
        if not acquire(False):
            return MISS  # another thread is in this program: the long way waits for it
        if entry.inside != level:
            release()
            return MISS
        try:
            entry.inside = 2
            # Another thread may give a tensor other memory at any moment: what was looked at is what is used, and it
            # stays until the program has run.
            arrays: list[Any] = []
            for argument, (shape, strides, dtype, wanted) in zip(args, forms):  # noqa: B905 (as many)
                if type(argument) is not Tensor:
                    return MISS
                data = argument._data
                if (
                    type(data) is not kind
                    or data.shape != shape
                    or data.strides != strides
                    or data.dtype is not dtype
                    or argument._requires_grad is not wanted
                    or argument._node is not None
                    or argument._base is not None
                    or argument._watched
                    or state_of(argument)
                    or id(data) in outside
                    or (id(data.base) in outside if shares is None else shares(data))
                ):
                    return MISS
                arrays.append(data)
            effects = always
            if modes.__dict__ is steady.home and steady.same():
                if steady.settled():
                    effects = steady.counts
                elif all(chooses() for chooses in choices):
                    steady.remember_settings()
                else:
                    return MISS
            elif nothing_wrong():
                steady.remember()
            else:
                return MISS
            back = None
            try:
                if keep is not None:
                    back = keep(())
                if place is not None:
                    place(arrays)
                else:
                    for i, slot in slots:
                        table[slot] = arrays[i].__array_interface__["data"][0] - offsets[i]
                if load is not None:
                    load(args)
                for effect in effects:
                    effect()
                run()
                made = make_one(*plans[0]) if single else tuple([make_one(*plan) for plan in plans])
            except STOPS:
                if back is None or not stops.put_back((), back):
                    raise
                return MISS  # the long way stops there too, and goes on from there
            for effect in late:
                effect()
            entry.calls += 1
            if not have_become():
                entry.set_grads()
            for box, growth in versions:
                box[0] += growth
            return made
        finally:
            entry.inside = level
            release()

    if steady.native:
        machine_code.wanted(attempt, make_one, nothing_wrong)
    return attempt if not entry.adds else partial(adding, attempt)


def adding(run: Callable[..., Any], *args: Any) -> Any:
    """Run a program that adds to gradients that are there, when nobody else adds to any."""
    with arrivals.accumulating:
        return run(*args)


def _placing(table: Any, slots: list[tuple[int, int]], offsets: list[int]) -> Any:
    from ..native.placing import placing

    return placing(table, slots, offsets)
