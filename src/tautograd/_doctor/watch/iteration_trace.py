"""One iteration of a loop, watched call by call: which values come from some parameters, and where
the graph was left on the way to the loss.

Only used on suspicion, for one iteration. A `TorchFunctionMode` sees every call with its line. A tensor
*carries* a parameter if its value depends on it; it is *live* for it if the graph leads there as well.
The call that makes a carrying tensor from a live one, without being live itself, is the cut. Python
numbers and NumPy arrays cannot be followed: whether one comes back into the loss is decided by its
value, or by the names in the source that lead from the one line to the other.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..._stand_ins.group import StandIns
from ..._user_code.sites import Site
from ..._user_code.stack import user_stack
from ..._verify.locate.leaving import LEAVING, WITHOUT_SLOPE, name_of_call
from ..state.detached_values import Values, numbers_in
from .call_watch import CallWatch
from .graph_walk import is_leaf_node, node_name, nodes

_STEP_NODES = frozenset(("Round", "Floor", "Ceil", "Trunc", "Sign", "Sgn"))
"""Nodes of operations that are recorded and whose derivative is zero."""
_QUESTIONS = frozenset(
    (
        "__bool__", "__len__", "__repr__", "__format__", "dim", "size", "is_nonzero", "numel",
        "nelement", "data_ptr", "stride", "storage_offset", "element_size", "is_contiguous",
        "is_floating_point", "is_complex", "untyped_storage", "type",
    )
)  # fmt: skip
_ABOUT = frozenset(
    ("backward", "grad_fn", "requires_grad", "grad", "is_leaf", "shape", "dtype", "device", "ndim")
)
_SUMS = frozenset(
    (
        "add", "__add__", "__radd__", "add_", "__iadd__", "sub", "__sub__", "__rsub__", "rsub",
        "sub_", "__isub__",
    )
)  # fmt: skip
_AS_IT_IS = frozenset(
    (
        "mul", "__mul__", "__rmul__", "div", "__truediv__", "true_divide", "neg", "__neg__", "view",
        "reshape", "squeeze", "unsqueeze", "clone", "to", "float", "double", "detach", "data",
        "requires_grad_", "contiguous", "cpu",
    )
)  # fmt: skip
"""Calls that hand on the value they are given, or a multiple of it."""
_WRITES = frozenset(("__setitem__", "copy_", "fill_", "index_put_", "masked_fill_", "scatter_"))
MANY = 200_000  # calls after which it gives up
MANY_KEPT = 1000  # tensors whose memory is remembered


def live_leaves(roots: Iterable[Any], limit: int = 20_000) -> list[Any]:
    """The leaves that a gradient gets to which need not go through an operation without slope."""
    roots = list(roots)
    waiting = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen = set(waiting)
    found = [root for root in roots if root.is_leaf and root.requires_grad]
    while waiting and limit:
        limit -= 1
        node = waiting.pop()
        if is_leaf_node(node):
            found.append(node.variable)
        elif node_name(node) not in _STEP_NODES:
            following = {n for n, _ in node.next_functions if n is not None} - seen
            seen |= following
            waiting.extend(following)
    return found


def has_steps(roots: Iterable[Any]) -> bool:
    """Whether a graph has operations without slope."""
    return any(node_name(node) in _STEP_NODES for node in nodes(roots))


@dataclass(eq=False)
class Cut:
    """A call that left the graph."""

    how: str
    stack: list[Site]
    of: frozenset[int]  # the parameters whose path it cut
    number: int = 0  # of the call, in its iteration

    @property
    def site(self) -> Site | None:
        return self.stack[0] if self.stack else None


@dataclass
class _Trail:
    """What is known of a tensor."""

    tensor: Any  # a weak reference
    live: frozenset[int] = frozenset()
    cuts: frozenset[Any] = frozenset()
    is_made: bool = False  # of what was cut, by a call that computes
    numbers: list[Values] = field(default_factory=list)  # it is one of these, as it left


_Held = tuple[Any, frozenset[int], frozenset[Any], list[Site]]
"""A tensor that is kept, what it is live for, what was cut, and where it was written into."""


@dataclass(eq=False)
class Addend:
    """A sum of what has a history and what was cut from it."""

    total: Any  # a weak reference
    cuts: frozenset[Cut]
    is_made: bool  # whether the cut part is computed of what was cut, not the cut value itself
    numbers: list[Values]  # that the cut part is

    @property
    def is_alone(self) -> bool:
        """Whether nothing else is done with what was cut: else it may be a constant taken out of a
        formula, as the largest exponent is."""
        return self.is_made or (bool(self.numbers) and all(n.times == 1 for n in self.numbers))


@dataclass
class Arrival:
    """What the root of a backward depends on."""

    live: frozenset[int]
    cuts: frozenset[Cut] = field(default_factory=frozenset)


class Tracer(CallWatch):
    """Follows parameters through an iteration, from `start()` to `stop()`; what the doctor itself does
    in the meantime is no part of it."""

    def __init__(self, engine: Any, parameters: Iterable[Any], doctor: Any) -> None:
        super().__init__(engine, doctor)
        self.arrivals: list[Arrival] = []
        self.used: frozenset[int] = frozenset()  # parameters that an operation took
        self.addends: list[Addend] = []
        self._trails: dict[int, _Trail] = {}
        self._left: list[
            tuple[frozenset[Cut], Values, bool]
        ] = []  # numbers that left, by which cuts
        self._addresses: dict[int, Any] = {}  # of index tensors that carry a parameter
        self._memory: dict[int, _Held] = {}  # what lies at an address
        self._walked = 0
        self._strange: dict[int, Any] = {}  # tensors that came from nowhere, already looked at
        self._stand_ins = StandIns()
        self._count = 0
        self.is_paused = False  # an optimizer steps: what it writes is no part of a loss
        parameters = list(parameters)
        self._sources = frozenset(id(p) for p in parameters)
        for parameter in parameters:
            self._put(parameter, frozenset((id(parameter),)), frozenset())

    # --- on and off ----------------------------------------------------------------------------

    def _began(self) -> None:
        self._stand_ins.function(self.engine.autograd, "grad", self._watch_grad)
        self._stand_ins.everywhere()

    def _ended(self) -> None:
        self._stand_ins.end()
        self._trails, self._strange, self._memory = {}, {}, {}

    # --- what is known of tensors --------------------------------------------------------------

    def _put(
        self, tensor: Any, live: frozenset[int], cuts: frozenset[Any], is_made: bool = False
    ) -> None:
        if live or cuts:
            self._trails[id(tensor)] = _Trail(weakref.ref(tensor), live, cuts, is_made)
            if not live and not tensor.is_floating_point():
                self._addresses[tensor.data_ptr()] = weakref.ref(tensor)
        else:
            self._trails.pop(id(tensor), None)

    def _get(self, tensor: Any) -> _Trail | None:
        found = self._trails.get(id(tensor))
        return found if found is not None and found.tensor() is tensor else None

    def _index(self, array: Any) -> Any:
        """The tensor whose memory an array is, if it carries a parameter."""
        if not isinstance(array, np.ndarray):
            return None
        found = self._addresses.get(array.__array_interface__["data"][0])
        return None if found is None else found()

    # --- calls ---------------------------------------------------------------------------------

    def _see(self, function: Any, args: Any, kwargs: Any) -> Any:
        if self._count > MANY or self.is_paused or self.doctor.is_busy:
            return function(*args, **kwargs)
        name = name_of_call(self.engine, function)
        if name in _ABOUT or name in _QUESTIONS:
            return function(*args, **kwargs)
        self._count += 1
        given: list[Any] = []
        numbers: list[Any] = []
        _sort((args, kwargs), self.engine.Tensor, given, numbers)
        given += [t for n in numbers if (t := self._index(n)) is not None]
        trails = [trail for t in given if (trail := self._trail(t)) is not None]
        floats = [n for n in numbers if isinstance(n, (float, np.floating))]
        if self._left and floats:
            self._numbers_return(floats, trails)
        if not trails:
            return function(*args, **kwargs)
        live = frozenset().union(*(t.live for t in trails))
        cuts: frozenset[Any] = frozenset().union(*(t.cuts for t in trails))
        self.used |= live
        result = function(*args, **kwargs)
        made: list[Any] = []
        _sort(result, self.engine.Tensor, made, [])
        if name in _WRITES or (name.endswith("_") and not name.startswith("__")):
            made.append(given[0])
        is_made = any(t.is_made for t in trails if not t.live)
        if name in LEAVING or not made:
            self._leave(name, live, cuts, result, is_made)
            return result
        if name in _SUMS and live and made[0].numel() == 1:
            self._add(trails, made[0])
        self._make(name, live, cuts, made, is_made or name not in _AS_IT_IS)
        return result

    def _add(self, trails: list[_Trail], total: Any) -> None:
        """One part has a history and the other has lost it."""
        for trail in trails:
            if trail.cuts and not trail.live:
                made = Addend(weakref.ref(total), trail.cuts, trail.is_made, trail.numbers)
                self.addends.append(made)

    def _watch_grad(self, original: Any) -> Any:
        """`autograd.grad`: without create_graph, what it gives has no history."""

        def grad(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            given: list[Any] = []
            _sort(outputs, self.engine.Tensor, given, [])
            live = frozenset(id(leaf) for leaf in live_leaves(given)) & self._sources
            result = original(outputs, *args, **kwargs)
            made: list[Any] = []
            _sort(result, self.engine.Tensor, made, [])
            if live and not self.doctor.is_busy and not any(t.requires_grad for t in made):
                cut = Cut("grad", user_stack(), live, self._count)
                for tensor in made:
                    self._put(tensor, frozenset(), frozenset((cut,)))
            return result

        return grad

    def _trail(self, tensor: Any) -> _Trail | None:
        """What is known of an argument; of one that no call has made, it is found out."""
        found = self._get(tensor)
        if found is not None and (found.live or not tensor.requires_grad):
            return found
        if found is None and self._memory and tensor.is_leaf:
            self._look_into_memory(tensor)
        known = self._strange.get(id(tensor))
        if known is not None and known() is tensor:
            return self._get(tensor)
        self._strange[id(tensor)] = weakref.ref(tensor)
        if tensor.requires_grad:  # made by a custom Function
            if tensor.is_leaf or self._walked > 500:
                return self._get(tensor)
            self._walked += 1
            live = frozenset(id(leaf) for leaf in live_leaves([tensor], 2000)) & self._sources
            if live:
                self._put(tensor, live, frozenset())
        elif self._left:
            self._put(tensor, frozenset(), *self._returned(tensor))
        return self._get(tensor)

    def _look_into_memory(self, tensor: Any) -> None:
        """A leaf whose memory is that of a tensor with a history has none itself: `Parameter(w * 2)`,
        `layer.weight.data = made`, or what was written through `.data`."""
        held = self._memory.get(tensor.data_ptr())
        if held is None or held[0].shape != tensor.shape:
            return
        _, live, cuts, stack = held
        if live:
            how = "Parameter" if tensor.requires_grad else "data"
            cuts = cuts | {Cut(how, stack or user_stack(), live, self._count)}
        self._put(tensor, frozenset(), cuts)

    def _keep(
        self, tensor: Any, live: frozenset[int], cuts: frozenset[Any], stack: list[Site]
    ) -> None:
        """Remember what lies in a tensor's memory, which is held so that it becomes nobody else's."""
        if len(self._memory) < MANY_KEPT:
            with self.doctor.quietly():
                self._memory[tensor.data_ptr()] = tensor.detach(), live, cuts, stack

    def _make(
        self, name: str, live: frozenset[int], cuts: frozenset[Any], made: list[Any], is_made: bool
    ) -> None:
        # torch.tensor([loss, ...], requires_grad=True) and the like give a leaf: it has no past.
        goes_on = [t for t in made if t.requires_grad and not t.is_leaf]
        if live and (not goes_on or name in WITHOUT_SLOPE or name in ("detach", "data")):
            how = name if self.engine.is_grad_enabled() else "no_grad"
            if name in ("detach", "data", *WITHOUT_SLOPE):
                how = name
            cuts = cuts | {Cut(how, user_stack(), live, self._count)}
            live = frozenset()
        for tensor in made:
            if id(tensor) not in self._sources:
                self._put(tensor, live if tensor.requires_grad else frozenset(), cuts, is_made)
                if live or (cuts and name in _WRITES):
                    self._keep(tensor, live, cuts, user_stack() if name in _WRITES else [])

    def _leave(
        self, name: str, live: frozenset[int], cuts: frozenset[Any], result: Any, is_made: bool
    ) -> None:
        stack = user_stack()
        values = Values(result, stack)
        if live:
            cuts = cuts | {Cut(name, stack, live, self._count)}
        if values.numbers.size and cuts:
            self._left = [*self._left[-100:], (cuts, values, is_made)]

    # --- numbers -------------------------------------------------------------------------------

    def _numbers_return(self, numbers: list[Any], trails: list[_Trail]) -> None:
        found, is_made, same = self._of(numbers)
        if found:
            trails.append(_Trail(None, frozenset(), found, is_made, same))

    def _returned(self, tensor: Any) -> tuple[frozenset[Any], bool]:
        if not tensor.is_floating_point() or not tensor.numel():
            return frozenset(), False
        return self._of(numbers_in(tensor))[:2]

    def _of(self, numbers: Any) -> tuple[frozenset[Any], bool, list[Values]]:
        """The cuts that these numbers come from, whether they were computed since, and which they are."""
        stack = user_stack()
        given = [entry for entry in self._left if entry[1].gave(numbers, stack)]
        same = [v for _, v, made in given if v.holds(numbers) and not made]
        for values in same:
            values.times += 1
        return frozenset(cut for cuts, *_ in given for cut in cuts), bool(given) and not same, same

    # --- backward ------------------------------------------------------------------------------

    def arrive(self, roots: Iterable[Any]) -> None:
        """A backward begins from these tensors."""
        roots = [root for root in roots if not root.is_leaf]  # a leaf is another rule's business
        trails = [trail for root in roots if (trail := self._get(root)) is not None]
        live = frozenset(id(leaf) for leaf in live_leaves(roots)) & self._sources
        cuts: frozenset[Any] = frozenset().union(*(t.cuts for t in trails))
        self.arrivals.append(Arrival(live, cuts))


def _sort(value: Any, tensor: type, tensors: list[Any], numbers: list[Any]) -> None:
    """Tensors and numbers in nested arguments."""
    if isinstance(value, tensor):
        tensors.append(value)
    elif isinstance(value, (float, np.floating, np.ndarray)):
        numbers.append(value)
    elif hasattr(value, "arrays"):  # what a tensor was indexed with
        _sort(value.arrays, tensor, tensors, numbers)
    elif isinstance(value, dict):
        for part in value.values():
            _sort(part, tensor, tensors, numbers)
    elif isinstance(value, (list, tuple)) and len(value) < 10_000:
        for part in value:
            _sort(part, tensor, tensors, numbers)
