"""Compiled functions whose results can be differentiated: backward is the second half of the program.

When a recorded function gives back tensors with a history, that history is run backward on the tape at once,
with gradients that stand for any. So the program has two stretches, forward and backward, and what the
first leaves for the second lies in one piece of memory. A second call before the first one's backward puts
that piece aside, and it is put back when its turn comes.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..._arrays.cuda.cuda_array import CudaArray
from ..._autograd.api import grad as grad_function
from ..._autograd.apply import edge_of
from ..._autograd.backward_pass.engine import run_backward
from ..._autograd.grad_mode import enable_grad
from ..._autograd.modes import modes
from ..._autograd.node import FREED, Node, next_sequence
from ..._autograd.saved import second_time
from ..._tensor.tensor import Tensor, make
from ..._user_code.sites import mark
from ..program.ir import Call, View
from ..record.abandoned import nodes_of
from ..record.arrays import in_rows
from ..record.backward_groups import Share, reach_of, shares_of
from ..record.results import Made, pairs_of
from ..record.tensor_data import Lifting, pause, plain

CUT = "cut"


def _nothing() -> None:
    """Where one stretch of a program ends and the next begins."""


def cut(tape: Lifting) -> None:
    """Let a stretch end here."""
    tape.note(Call(_nothing, (), {}, (), effect=True, name=CUT))


def is_cut(instruction: Any) -> bool:
    return isinstance(instruction, Call) and instruction.name == CUT


def has_history(value: Any) -> bool:
    """Whether a result can still go backward: it has a graph, which no backward pass has used up."""
    if not isinstance(value, Tensor) or value._node is None:
        return False
    return value._node.mark == 0 or all(node.saved is not FREED for node in nodes_of([value]))


def differentiate(tape: Lifting, results: list[Tensor], arguments: list[Tensor]) -> Any:
    """Run the results' history backward on the tape: views of incoming gradients and of leaves' gradients."""
    numbers = {id(r) for r in results}
    roots = [r for r in results if has_history(r) and not is_seen(tape, r, numbers)]
    if not roots:
        return None
    cut(tape)
    tape.keep_all()  # backward begins from what forward has left
    incoming, gradients = [], []
    for root in roots:
        array = np.ones_like(plain(root), order="C")
        incoming.append(tape.argument(array))
        gradients.append(make(tape.wrap(array)))
    with pause(tape):
        outside = [tensor for tensor, _ in tape.outside.values()]
    seen = {id(t) for t in arguments}
    leaves = [t for t in [*arguments, *outside] if t._node is None and t._requires_grad]
    leaves = list({id(t): t for t in leaves}.values())
    reach = reach_of(roots)
    hooks = [(leaf, leaf._hooks) for leaf in leaves if leaf._hooks]
    for leaf, _ in hooks:
        leaf._hooks = None  # they are called when the gradient arrives, after each replay
    try:
        found: list[Any] = run_backward(  # type: ignore[assignment]
            roots,
            gradients,
            retain_graph=True,  # in case the recording is given up
            create_graph=False,
            inputs=leaves,
            accumulate=False,
        )
    finally:
        for leaf, own in hooks:
            leaf._hooks = own
    grads = []
    reached = []
    for leaf, gradient in zip(leaves, found, strict=True):
        if gradient is not None:
            number = [i for i, t in enumerate(arguments) if t is leaf]
            copied: Any = np.copy(gradient)  # in memory that nothing else is
            view = tape.view(copied.value)
            tape.keep(view.buffer)
            grads.append((number[0] if id(leaf) in seen else leaf, view))
            reached.append(id(leaf))
    return [id(root) for root in roots], incoming, grads, shares_of(reach, reached)


def is_seen(tape: Lifting, tensor: Tensor, results: set[int]) -> bool:
    """Whether a result is a view of another one, or of something that was there before."""
    base = id(tensor._base)
    return base in results or base in tape.arguments or base in tape.outside


class Token:
    """One forward run, which may still go backward."""

    __slots__ = ("__weakref__", "arrays", "content", "numbers", "versions")

    def __init__(self, arrays: list[Any], versions: list[tuple[Any, int]], numbers: Any) -> None:
        self.arrays = arrays
        self.numbers = numbers  # Python's, which the program takes as inputs
        self.versions = versions
        self.content: Any = None  # what it left for backward, once another run needs the place


class Differentiable:
    """The backward half of a program, and whose values its memory holds."""

    def __init__(self, entry: Any) -> None:
        self.entry = entry
        _, self.incoming, self.grads, self.shares = entry.capture.backward
        self.outputs = [(view.shape, view.dtype) for view in self.incoming]
        self.current: Any = lambda: None

    def put_aside(self) -> None:
        """Before another forward run: keep what an earlier one left for its backward."""
        token = self.current()
        if token is not None and token.content is None:
            token.content = np.copy(self.entry.replay_of.memory.saved)

    def forget(self) -> None:
        """A forward run that was given up: its memory is nobody's."""
        self.current = lambda: None

    def results(self, tensors: list[Tensor], arrays: list[Any]) -> Any:
        """The results of a forward run, with a node that goes backward through the program."""
        entry = self.entry
        boxes = [t._version_box for t in tensors] + [
            t._version_box for t, _ in entry.capture.outside
        ]
        token = Token(arrays, [(box, box[0]) for box in boxes], entry.numbers)
        self.current = weakref.ref(token)
        built = entry.built(entry.capture.result, tensors)
        if not modes.grad:
            return built
        leaves = [self._leaf(of, tensors) for of, _ in self.grads]
        for share in self.shares:
            node = CompiledNode()
            node.owner = self
            node.tensors = tensors
            node.numbers = entry.numbers
            node.share = share
            node.edges = tuple(edge_of(leaves[n]) for n in share.leaves)
            numbers = tuple(leaves[n]._output_nr for n in share.leaves)
            if any(numbers):
                node.edge_nrs = numbers
            node.sequence = next_sequence()
            node.mark = 0
            node.code, node.instruction = mark(2)
            node.saved, node.versions = [token], ()
            node.shape = node.dtype = None
            node.outputs = [self.outputs[nr] for nr in share.roots]
            for nr, number in enumerate(share.roots):
                root = entry.made_tensors[number]
                root._requires_grad = False
                root._node, root._output_nr = node, nr
        return built

    def _leaf(self, of: Any, tensors: list[Tensor]) -> Tensor:
        found: Tensor = tensors[of] if isinstance(of, int) else of
        return found

    def backward(self, token: Token, gradients: list[Any], leaves: list[int]) -> list[Any]:
        """Gradients of some of the leaves, from those of the results."""
        entry = self.entry
        replay = entry.replay_of
        if any(box[0] != version for box, version in token.versions):
            raise RuntimeError(
                "one of the variables needed for gradient computation has been modified by an inplace "
                f"operation: a tensor that the compiled function {entry.name} reads was changed between its "
                "forward and its backward"
            )
        if self.current() is not token:
            self.put_aside()
            replay.memory.saved[:] = token.content
            token.content = None
            self.current = weakref.ref(token)
        replay.load([*token.arrays, *gradients])
        if token.numbers:
            entry.capture.scalars.load_all(token.numbers)
        replay.run(len(replay.stretches) - 1)
        return [replay.result(self.grads[n][1]) for n in leaves]


class UsedNode(Node):
    """The history of a result that went backward inside the compiled function."""

    unusual = True
    edges = ()
    saved: Any = FREED
    versions: Any = None
    sequence = 0
    mark = 0
    code: Any = None
    instruction = 0

    def name(self) -> str:
        return "CompiledBackward"

    @property
    def created_at(self) -> Any:
        return None

    def run_custom(self, gradient: Any, lifted: bool) -> Any:
        raise RuntimeError(second_time(self))


class CompiledNode(Node):
    """A call of a compiled function."""

    unusual = True
    owner: Differentiable
    tensors: list[Tensor]
    share: Share
    numbers: Any

    def name(self) -> str:
        return "CompiledBackward"

    def run_custom(self, gradient: Any, lifted: bool) -> Any:
        if self.saved is FREED:
            raise RuntimeError(second_time(self))
        slots = gradient if gradient is not None else [None] * len(self.outputs)
        if lifted:
            return self._differentiably(slots)
        (token,) = self.saved
        given = dict(zip(self.share.roots, slots, strict=True))
        like = next((g for g in slots if type(g) is CudaArray), None)
        gradients = [
            np.zeros(shape, dtype, like=like)
            if given.get(nr) is None
            else in_rows(given[nr], dtype)
            for nr, (shape, dtype) in enumerate(self.owner.outputs)
        ]
        touched = [r for r, g in zip(self.share.reached, slots, strict=True) if g is not None]
        leaves = sorted(frozenset[int]().union(*touched))
        entry = self.owner.entry
        with entry.alone() as alone:
            found = self.owner.backward(token, gradients, leaves) if alone else None
        if found is None:
            return [g if g is None else g._data for g in self._differentiably(slots, False)]
        if len(touched) < len(gradients) and self.has_no_effects and any(map(_has_nan, found)):
            return [g if g is None else g._data for g in self._again(slots, lifted)]
        by_leaf = dict(zip(leaves, found, strict=True))
        return [by_leaf.get(n) for n in self.share.leaves]

    @property
    def has_no_effects(self) -> bool:
        """Whether the function can run again without anyone noticing."""
        entry, found = self.owner.entry, self.owner.entry.capture
        does = found.effects or found.grads_after or found.versions or found.argument_writes
        return not (does or entry.has_calls_with_effects)

    def _differentiably(self, slots: list[Any], create_graph: bool = True) -> list[Any]:
        """Under `create_graph=True` the function itself runs again, and its own history is used.

        So it is where this thread is in the program already, before a signal's handler came in between.
        """
        entry = self.owner.entry
        if not self.has_no_effects:
            raise RuntimeError(
                f"the compiled function {entry.name} has side effects (random numbers, an optimizer's step, tensors "
                "that it changes), so it cannot run again for create_graph=True, or in the middle of a call of it; "
                "call the function that was compiled instead"
            )
        return self._again(slots, create_graph)

    def _again(self, slots: list[Any], create_graph: bool) -> list[Any]:
        """The gradients by the function itself, of just those results that have one.

        The program takes zeros for the others, and zero times an infinite slope is not zero.
        """
        entry = self.owner.entry
        with enable_grad(), entry.in_place(self.numbers):
            args, kwargs = entry.with_tensors(self.tensors, self.numbers)
            again = entry.fn(*args, **kwargs)
        roots = {
            made.root: tensor
            for made, tensor in pairs_of(entry.capture.result, again)
            if isinstance(made, Made)
        }
        pairs = [
            (roots[nr], g) for nr, g in zip(self.share.roots, slots, strict=True) if g is not None
        ]
        owners = [of for of, _ in self.owner.grads]
        return list(
            grad_function(
                [root for root, _ in pairs],
                [self.owner._leaf(owners[n], self.tensors) for n in self.share.leaves],
                [g if isinstance(g, Tensor) else make(g) for _, g in pairs],
                create_graph=create_graph,
                allow_unused=True,
            )
        )


def _has_nan(array: Any) -> bool:
    return array.dtype.kind in "fc" and bool(np.isnan(np.sum(array)))


__all__ = ["CUT", "Differentiable", "View", "differentiate", "has_history", "is_cut"]
