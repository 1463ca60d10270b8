"""One iteration of a loop, call by call: which values are the same, which are read, and which were drawn.

Value numbering, as a compiler has it: the number of a value is the call that made it and the numbers of what
that call was given, so two values with one number are equal whatever they are called. A call that draws
random numbers, and a tensor that was written into, gets a number of its own. Nothing is computed for
it and no value is held.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from types import FrameType
from typing import Any

from ..._stand_ins.group import StandIns
from ..._trees.nests import ANY_MAPPING
from ..._user_code.owners import Owner, owners
from ..._user_code.sites import Site
from ..._user_code.stack import user_stack
from ..._verify.locate.leaving import name_of_call
from .call_watch import CallWatch
from .graph_walk import leaves, node_name
from .lenses.draws_again import DrawsAgain
from .lenses.gradient_norms import GradientNorms
from .lenses.mean_weights import MeanWeights
from .lenses.renamings import Renamings
from .lenses.repeated_rows import RepeatedRows
from .lenses.row_orders import RowOrders

MANY = 20_000  # calls after which it gives up: a rollout, or a step of many batches
MANY_TERMS = 200
_ASKS = frozenset(
    (
        "shape", "dtype", "device", "ndim", "requires_grad", "is_leaf", "size", "dim", "numel", "__len__",
        "is_floating_point", "is_complex", "layout", "is_sparse", "names", "grad_fn", "stride", "type",
    )
)  # fmt: skip
"""Calls that ask for no element of a tensor."""
_DRAWS = frozenset(
    (
        "bernoulli", "poisson", "multinomial", "binomial", "rrelu", "gumbel_softmax",
        "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout", "feature_alpha_dropout",
        "feature_dropout", "fractional_max_pool2d", "fractional_max_pool3d", "lstm", "gru", "rnn_tanh",
        "rnn_relu", "multi_head_attention_forward", "scaled_dot_product_attention",
    )
)  # fmt: skip
"""Calls that give something else each time, or may."""
_MAKES = ("rand", "empty", "new_empty", "drawn_")  # and what begins like this
_MOVES = frozenset(
    (
        "view", "reshape", "squeeze", "unsqueeze", "flatten", "expand", "expand_as", "detach", "clone", "to",
        "contiguous", "clamp", "clip", "stack", "cat", "__getitem__", "t", "T", "transpose", "permute", "data",
        "broadcast_to", "broadcast_tensors", "float", "double", "unbind", "split", "chunk",
    )
)  # fmt: skip
"""Calls that hand on the elements they are given."""
_SCALES = frozenset(("Mul", "Div", "View", "Unsqueeze", "Squeeze"))
"""Nodes that, of one input with a history, hand on a multiple."""


@dataclass(eq=False)
class Scalar:
    """A single number with a history that a line of the user's own made: a loss, or a term of one."""

    number: Any  # of its value
    node: int  # which node recorded it, by its place in the sequence of all
    stack: list[Site]
    tensor: Any  # a weak reference
    is_read: bool = False  # by another line
    is_part: bool = False  # of what its own line makes

    @property
    def is_dropped(self) -> bool:
        """Whether no call took it, and none can any more."""
        return not (self.is_read or self.is_part) and self.tensor() is None


@dataclass(eq=False)
class Draw:
    """Normal random numbers around something with a history."""

    stack: list[Site]
    parameters: frozenset[int]  # that its mean and deviation depend on
    meets: bool = False  # its mean or deviation again: a likelihood of it is computed


_NONE: frozenset[Draw] = frozenset()


@dataclass(eq=False)
class _Value:
    """What is known of a tensor."""

    tensor: Any  # a weak reference
    version: int
    number: Any
    source: _Value | None = None  # whose elements it has
    scalar: Scalar | None = None
    of: frozenset[Draw] = _NONE  # it is elements of these draws,
    after: frozenset[Draw] = _NONE  # depends on them,
    around: frozenset[Draw] = _NONE  # or is what they were drawn by, or depends on that


class ValueNumbers(CallWatch):
    """Numbers the values of one iteration, from `start()` to `stop()`."""

    def __init__(self, engine: Any, doctor: Any) -> None:
        super().__init__(engine, doctor)
        self.scalars: list[Scalar] = []
        self.draws: list[Draw] = []
        self.reached: set[Draw] = set()  # that the loss of the coming step depends on
        self.terms: list[list[tuple[Scalar, bool]]] = []  # of the root of each backward
        self.is_paused = False  # an optimizer steps
        self.orders, self.mean_weights = RowOrders(), MeanWeights()
        self.repeated, self.again = RepeatedRows(), DrawsAgain()
        self.slopes, self.renamings = GradientNorms(), Renamings()
        self._lenses = (self.orders, self.mean_weights, self.repeated, self.slopes, self.renamings)
        self._stand_ins = StandIns()
        self._known: dict[int, _Value] = {}
        self._numbers: dict[tuple[Any, ...], Any] = {}
        self._made = self._count = 0

    @property
    def is_complete(self) -> bool:
        return self._count < MANY

    def _began(self) -> None:
        if self.engine.__name__ != "torch":  # whose modes are shown draws as any call
            self._stand_ins.function(self.engine, "multinomial", self._watch_draw)
            self._stand_ins.everywhere()

    def _watch_draw(self, original: Any) -> Any:
        def multinomial(*args: Any, **kwargs: Any) -> Any:
            return self._see(original, args, kwargs)

        return multinomial

    def _ended(self) -> None:
        self._stand_ins.end()
        self._known, self._numbers = {}, {}

    # --- calls ---------------------------------------------------------------------------------

    def _see(self, function: Any, args: Any, kwargs: Any) -> Any:
        if self.is_paused or self.doctor.is_busy or not self.is_complete:
            return function(*args, **kwargs)
        given: list[_Value] = []
        number = name = draw = None
        with self.doctor.quietly():
            name = name_of_call(self.engine, function)
            if name not in _ASKS:
                self._count += 1
                given = [self._value(t) for t in self._tensors((args, kwargs))]
                for value in given:
                    if value.scalar is not None:
                        _note_read(value.scalar)
                number = self._number_of_call(name, args, kwargs)
                draw = self._drawn(given) if _is_normal(name) else None
        result = function(*args, **kwargs)
        if number is not None:
            with self.doctor.quietly():
                found = self._tensors(result)
                for place, made in enumerate(found):
                    self._make(made, name, (number, place), given, draw)
                tensors = [t for v in given if (t := v.tensor()) is not None]
                for lens in self._lenses:
                    lens.see(name, args, kwargs, tensors, found)
                drawn_by = tuple(v.number for v in given) if name in _DRAWS or _is_normal(name) else ()
                self.again.see_draw(name, tensors, found, drawn_by)
        return result

    def _tensors(self, nest: Any) -> list[Any]:
        return [leaf for leaf in ANY_MAPPING.leaves(nest) if isinstance(leaf, self.engine.Tensor)]

    def _value(self, tensor: Any) -> _Value:
        """What is known of a tensor, as it is now; one from outside of the iteration is itself."""
        known = self._known.get(id(tensor))
        version = 0 if tensor.is_inference() else tensor._version
        if known is None or known.tensor() is not tensor:
            known = self._known[id(tensor)] = _Value(weakref.ref(tensor), version, self._unlike())
        elif known.version != version:
            known.version, known.number = version, self._unlike()
        return known

    def _unlike(self) -> Any:
        """A number that no other value has."""
        self._made += 1
        return ("value", self._made)

    def _number_of_call(self, name: str, args: Any, kwargs: Any) -> Any:
        """The number of what a call makes."""
        if name.endswith("_") or name in _DRAWS or name.startswith(_MAKES) or _is_normal(name):
            return self._unlike()
        parts: list[Any] = [name, len(args), *kwargs]
        for leaf in ANY_MAPPING.leaves((args, kwargs)):
            if isinstance(leaf, self.engine.Tensor):
                parts.append(self._value(leaf).number)
            elif isinstance(leaf, int | float | complex | str | None):
                parts.append((type(leaf), repr(leaf)))
            elif isinstance(leaf, slice) or leaf is Ellipsis or self._is_of_the_engine(leaf):
                parts.append(repr(leaf))
            else:
                return self._unlike()
        # A small number for each, so that they do not nest.
        return self._numbers.setdefault(tuple(parts), ("call", len(self._numbers)))

    def _is_of_the_engine(self, value: Any) -> bool:
        """A dtype, a device, a layout."""
        return type(value).__module__.partition(".")[0] in (self.engine.__name__, "torch")

    def _drawn(self, by: list[_Value]) -> Draw | None:
        """Numbers drawn by values with a history, also where it is not recorded that they are."""
        sources = {id(v): v for value in by for v in _with_sources(value)}.values()
        tensors = [t for v in sources if (t := v.tensor()) is not None and t.requires_grad]
        if not tensors:
            return None
        draw = Draw(user_stack(), frozenset(id(leaf) for leaf in leaves(tensors, 2000)))
        self.draws.append(draw)
        for value in sources:
            value.around |= {draw}
        return draw

    def _make(
        self, made: Any, name: Any, number: Any, given: list[_Value], draw: Draw | None
    ) -> None:
        if any(v.tensor() is made for v in given):  # written in place, or given back
            return
        value = self._value(made)
        value.number = number
        if draw is not None:
            value.of = value.after = frozenset((draw,))
            return
        if name in _MOVES and given:
            value.source = given[0]
            value.of = _NONE.union(*(v.of for v in given))
        value.after = _NONE.union(*(v.after for v in given))
        value.around = _NONE.union(*(v.around for v in given)) - value.after
        # A sum of two losses of which one depends on a draw is no likelihood of it.
        for one in given:
            for met in one.after if made.numel() > 1 else one.of:
                met.meets |= any(met in other.around for other in given)
        if made.numel() == 1 and made.is_floating_point() and made.grad_fn is not None:
            self._keep(made, value)

    def _keep(self, made: Any, value: _Value) -> None:
        if _is_of_the_users_own():
            node = int(made.grad_fn._sequence_nr())
            value.scalar = Scalar(value.number, node, user_stack(limit=20), weakref.ref(made))
            self.scalars.append(value.scalar)

    # --- backward ------------------------------------------------------------------------------

    def arrive(self, roots: Iterable[Any]) -> None:
        """A backward begins from these tensors."""
        if self._mode is None or not self.is_complete:
            return
        for root in roots:
            value = self._value(root)
            if value.scalar is not None:
                value.scalar.is_read = True
            self.reached |= value.after
            self.terms.append(self._terms_of(root.grad_fn))

    def _terms_of(self, root: Any) -> list[tuple[Scalar, bool]]:
        """The numbers that a root is a weighted sum of, each as often as it is there; whether it is
        subtracted."""
        by_node = {s.node: s for s in self.scalars}
        found: list[tuple[Scalar, bool]] = []
        waiting = [(root, False)]
        while waiting and len(found) < MANY_TERMS:
            node, is_less = waiting.pop()
            if node is None:
                continue
            inputs = [n for n, _ in node.next_functions]
            given = [n for n in inputs if n is not None]
            name = node_name(node)
            joins = bool(given) and node_name(given[0]) in ("Stack", "Cat")
            if name in ("Add", "Stack", "Cat"):
                waiting += [(n, is_less) for n in given]
            elif name in ("Sub", "Rsub") and len(inputs) == 2:
                less = inputs[1] if name == "Sub" else inputs[0]
                waiting += [(n, is_less != (n is less)) for n in given]
            elif (name in _SCALES and len(given) == 1) or (name in ("Sum", "Mean") and joins):
                waiting.append((given[0], is_less))
            elif name == "Neg":
                waiting.append((given[0], not is_less))
            elif (scalar := by_node.get(int(node._sequence_nr()))) is not None:
                found.append((scalar, is_less))
        return found


def _note_read(scalar: Scalar) -> None:
    if user_stack(limit=20) == scalar.stack:
        scalar.is_part = True
    else:
        scalar.is_read = True


def _is_normal(name: str) -> bool:
    """PyTorch's call, or the operation that tautograd shows."""
    return name == "normal" or name.startswith("drawn_Normal")


def _with_sources(value: _Value) -> list[_Value]:
    """A value and those whose elements it has."""
    found = [value]
    while (source := found[-1].source) is not None and len(found) < 10:
        found.append(source)
    return found


def _is_of_the_users_own() -> bool:
    """Whether the user's code made a call, or called the function of the engine that did."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        owner = owners[frame.f_code.co_filename]
        if owner < Owner.ENGINE:
            return owner is Owner.USERS
        frame = frame.f_back
    return False
