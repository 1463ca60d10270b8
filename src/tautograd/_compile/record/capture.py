"""One run of a function on the tape: its program, what goes in, what comes out, what else it does."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..._arrays.cuda.cuda_array import CudaArray
from ..._autograd.modes import modes
from ..._autograd.views import detached
from ..._tensor.tensor import Tensor
from ..._user_code.sites import resolve
from ..foreign import met_by
from ..messages.errors import CompileError, cannot_go_backward, states_made
from ..optimizers.updates import Fixed, Update
from ..program.ir import Kind, Program, View
from ..run.differentiable import differentiate
from ..run.value_checks import cleared_before
from ..sound.noting import noting_calls
from .abandoned import held_by, keeps_numbers, release
from .arrays import is_on_gpu, passing
from .call_arguments import CHANGED, CallArguments
from .function_tape import Recording
from .generators import noting_seeds
from .graph_breaks import remade
from .results import Passed, described, passed_in, refuse_retained, views_of
from .symbolic_math import following_math
from .tensor_data import grad_of, plain, recording, settling, was_read
from .trees import tensors_in
from .varying_numbers import Places


@dataclass(slots=True)
class Capture:
    """What a run was."""

    program: Program
    arguments: list[View]
    outside: list[tuple[Tensor, Any]]  # tensors whose memory the program uses, with their arrays
    result: Any  # what was returned, with Made and Given in place of tensors
    effects: list[Callable[[], Any]]
    grads_before: list[tuple[Tensor, Any]]  # what `.grad` has to be
    grads_after: list[tuple[Tensor, Any]]  # what `.grad` becomes
    versions: list[tuple[Any, int]]  # version counters, and by how much they grow
    updates: list[Update] = field(default_factory=list)
    argument_writes: set[int] = field(default_factory=set)
    tensors: list[Tensor] = field(default_factory=list)  # the arguments
    fixed: list[Fixed] = field(default_factory=list)
    growth: list[int] = field(default_factory=list)  # of the arguments' version counters
    wanted: list[bool] = field(default_factory=list)  # requires_grad of each argument
    turned: list[tuple[int, bool]] = field(default_factory=list)  # those whose requires_grad is set
    backward: Any = None  # results that go backward, views of incoming gradients, leaves' gradients
    scalars: Any = None  # Python numbers that are inputs
    new_grads: list[tuple[Any, int]] = field(
        default_factory=list
    )  # gradients of the run's own, with the version that each has after it
    argument_grads: list[tuple[int, Any, bool]] = field(
        default_factory=list
    )  # of which argument, what `.grad` becomes, and whether there must be none before
    splits: list[tuple[int, str, Any]] = field(default_factory=list)  # see Recording
    remade: frozenset[int] = frozenset()  # gradients that need not be put back: see `splitting`
    early: frozenset[int] = frozenset()  # those cleared before anything can stop the program
    left: list[tuple[Tensor, View]] = field(default_factory=list)  # gradients that the run made
    decided: list[bool] = field(default_factory=list)  # the ways that operations took by values
    calls: Any = None  # the public calls of the run, if they were noted

    @property
    def inputs(self) -> list[View]:
        """Arguments, then incoming gradients."""
        return self.arguments + (self.backward[1] if self.backward else [])


def capture(
    fn: Callable[..., Any], args: Any, kwargs: Any, surroundings: Any, tolerant: bool = False
) -> Capture:
    """Run a function, and note what it does; tensors are as after any other run.

    What cannot be recorded is an error, and what was done before it stays done. A `tolerant` run goes on
    as an ordinary one from there; the error then carries what the function gave.
    """
    tape = Recording()
    tape.tolerant = tolerant
    tape.may_split = surroundings.may_split
    tape.may_follow = surroundings.may_follow
    places = Places(surroundings.form, surroundings.spots, tape.scalars)
    args, kwargs = places.put(args, kwargs)
    given = CallArguments((args, kwargs))
    tensors = list(tensors_in((args, kwargs)))
    stand_ins = {id(t): detached(t).requires_grad_() for t in tensors if t._node is not None}
    inside = [stand_ins.get(id(t), t) for t in tensors]
    if stand_ins:  # histories from outside stay outside
        given.replace(stand_ins)
        args, kwargs = given.call
    pairs = {id(s): (s, t) for s, t in zip(inside, tensors, strict=True) if s is not t}
    tape.stand_ins = pairs
    wanted = [tensor._requires_grad for tensor in inside]
    arguments = []
    for i, tensor in enumerate(inside):
        arguments.append(tape.argument(tensor._data))
        tape.arguments[id(tensor)] = i
    with settling(tape):
        try:
            with recording(tape), noting_seeds, following_math, met_by(tape), passing():
                surroundings.begin(tape)
                noted_of = inside if surroundings.notes_calls else None
                with noting_calls(tape, noted_of, not surroundings.reads_guarded) as noted:
                    with surroundings.watching(tape):
                        returned = fn(*args, **kwargs)
                    tape.ended()
                    if noted is not None:
                        noted.settle(returned)
                del args, kwargs  # which hold symbols
                tape.where = surroundings.variables.where
                passed = passed_in(given.call, surroundings.variables.containers(), returned)
                if given.settle() and surroundings.reads_guarded:
                    where = surroundings.variables.lines.changing_arguments()
                    tape.refuse(CHANGED, "attribute", where)
                places.take_back()
                surroundings.settle(tape)
                for optimizer in tape.fixed:
                    optimizer.settle(tape)
                if any(stand_in._grad is not None for stand_in, _ in pairs.values()):
                    tape.refuse("a backward pass into the history of an argument", "past")
                refuse_retained(tape, returned)
                backward = None
                if modes.grad and tape.failure is None:
                    backward = _differentiated(tape, returned, inside)
            if tape.failure is None:
                found = _finish(tape, arguments, inside, returned, backward, passed)
                found.wanted = wanted
                turned = [(i, t._requires_grad) for i, t in enumerate(inside)]
                found.turned = [(i, wants) for i, wants in turned if wants is not wanted[i]]
                found.scalars = tape.scalars
                made = {id(reference()) for reference in tape.made}
                grads = [g for _, g in found.grads_after if g is not None and id(g) in made]
                found.new_grads = [(grad._version_box, grad._version_box[0]) for grad in grads]
                found.tensors, found.fixed = tensors, tape.fixed
                found.decided = tape.decided
                found.calls = noted
            if tape.failure is None:
                return found
        finally:
            tape.dead = True
            tape.scalars.tape = None
            tape.let_go()
            places.take_back()
            given.give_over({id(stand_in): tensor for stand_in, tensor in pairs.values()})
    release(returned, pairs)  # also where the function itself caught the error
    tape.failure.finished = (given.given_back(returned),)
    raise tape.failure


def _differentiated(tape: Recording, returned: Any, inside: list[Tensor]) -> Any:
    """The backward half; where there is an error in it, the recording is given up, and the graph is still there."""
    first, tape.where = tape.where, None  # functions of the user's run again
    tape.supposes = True
    try:
        return differentiate(tape, list(tensors_in(returned)), inside)
    except (CompileError, MemoryError):
        raise
    except Exception as error:
        tape.failure = tape.failure or cannot_go_backward(error)
        tape.dead = True
        return None
    finally:
        tape.where, tape.supposes = first, False


def _finish(
    tape: Recording,
    arguments: list[View],
    inside: list[Tensor],
    returned: Any,
    backward: Any,
    passed: dict[int, Passed],
) -> Capture:
    numbers = tape.arguments
    after, before = [], []
    results = list(tensors_in(returned))
    kept = {id(r) for r in results} | {id(r._base) for r in results if r._base is not None}
    given = []
    for tensor, initial in tape.grads.values():
        final = grad_of(tensor)
        if id(tensor) in numbers and _is_new(tape, initial, final):
            given.append((numbers[id(tensor)], final, was_read(initial)))
            kept.add(id(final))
            tape.given.add(id(final))
            continue
        if was_read(initial):
            before.append((tensor, initial))
        if final is not initial:
            after.append((tensor, final))
            if final is not None:
                kept.add(id(final))
    roots = {key: nr for nr, key in enumerate(backward[0])} if backward else {}
    both = returned, [grad for _, grad, _ in given]
    result, described_grads = described(tape, both, roots, passed)
    if tape.tolerant:
        kept |= held_by(tensors_in(returned))
    _refuse_escapes(tape, kept, [] if tape.tolerant else results)
    _refuse_two_devices(tape, result)
    if keeps_numbers(tape.scalars, returned):
        tape.refuse("a Python number that is kept after the call, but not returned,", "attribute")
    grads = [view for _, view in backward[2]] if backward else []
    new, early, left = set(), set(), []
    anew = cleared_before(tape.program, tape.cleared)
    for tensor, gradient in after:  # from now on a tensor's own memory
        if gradient is not None:
            view = tape.view(plain(gradient))
            if tape.program.buffers[view.buffer].kind is Kind.SCRATCH or view.buffer in new:
                new.add(view.buffer)
                left.append((gradient, view))
                if id(tensor) in anew:
                    early.add(view.buffer)
            _becomes(tape, view, Kind.EXTERNAL)
    for view in [*views_of(result), *views_of(described_grads), *grads]:
        _becomes(tape, view, Kind.KEPT)
    outside = [pair for key, pair in tape.outside.items() if key not in numbers]
    own = {id(tensor._version_box) for tensor in inside}
    versions = [
        (box, box[0] - at)
        for key, (box, at) in tape.versions.items()
        if box[0] != at and key not in own
    ]
    written = {view.buffer for i in tape.program.instructions for view in i.writes()}
    return Capture(
        tape.program, arguments, outside, result, tape.effects, before, after, versions,
        tape.updates, {i for i, view in enumerate(arguments) if view.buffer in written},
        backward=backward, splits=tape.splits, remade=remade(tape, new), early=frozenset(early), left=left,
        growth=[tape.growth(tensor) for tensor in inside],
        argument_grads=[(g[0], grad, g[2]) for g, grad in zip(given, described_grads, strict=True)],
    )  # fmt: skip


def _is_new(tape: Recording, before: Any, grad: Any) -> bool:
    """Whether a `.grad` is a tensor of the run's own, where there was none or nobody looked."""
    if grad is None or grad.requires_grad or (was_read(before) and before is not None):
        return False
    return id(grad) not in tape.outside and tape.knows(plain(grad))


def _becomes(tape: Recording, view: View, kind: Kind) -> None:
    buffer = tape.program.buffers[view.buffer]
    if buffer.kind is Kind.SCRATCH:
        buffer.kind = kind
        tape.keep(view.buffer)


def _refuse_two_devices(tape: Recording, result: Any) -> None:
    """A program runs on one device; what it reads from main memory is sent to a GPU before each run."""
    if not is_on_gpu(tape.program):
        return
    buffers = tape.program.buffers
    seen = {view.buffer for view in views_of(result)}
    for i, instruction in enumerate(tape.program.instructions):
        for view in instruction.writes():
            buffer = buffers[view.buffer]
            outside = buffer.kind in (Kind.EXTERNAL, Kind.ARGUMENT) or view.buffer in seen
            if outside and not isinstance(buffer.array, CudaArray):
                where = tape.program.sites[i]
                tape.refuse("computing on the CPU beside a GPU", "device", where)
                return


def _refuse_escapes(tape: Recording, kept: set[int], results: list[Tensor]) -> None:
    """A tensor that the run made and someone keeps would show the same values for ever.

    The results' own graph keeps leaves that the run made; they are described by now, and it can go.
    """

    def escaped() -> list[Tensor]:
        alive = [reference() for reference in tape.made]
        return [t for t in alive if t is not None and id(t) not in kept and id(t._base) not in kept]

    if escaped():
        made = {id(reference()) for reference in tape.made}
        for tensor in [t for result in results for t in (result, result._base)]:
            if tensor is not None and id(tensor) in made:
                tensor._node = None
        gc.collect()
    left = escaped()
    if left and all(id(tensor) in _states_of(tape) for tensor in left):
        tape.failure = tape.failure or states_made()
        tape.dead = True
        return
    for tensor in left:
        node = tensor._node
        where = None if node is None or node.code is None else (node.code, node.instruction)
        line = resolve(where)
        text = f" made in {line}" if line else f" of shape {tuple(plain(tensor).shape)}"
        tape.refuse(f"a tensor{text} that is kept after the call, but not returned,", "escape")
        return


def _states_of(tape: Recording) -> set[int]:
    """The tensors in the states of the optimizers that have made a step."""
    steps: list[Any] = [*tape.updates, *tape.fixed]
    optimizers = [step.optimizer for step in steps]
    states = [state for optimizer in optimizers for state in optimizer.state.values()]
    return {id(value) for state in states for value in state.values()}
