"""When a record may be replayed: everything it depended on is as it was.

What can differ from call to call without Python noticing is compared at each call, cheapest first:
arguments, the thread's modes, the memory of tensors, `.grad`, optimizers' settings, modules, and the
variables that the function reads from outside.
"""

from __future__ import annotations

from bisect import bisect_left
from itertools import pairwise
from operator import attrgetter, is_
from typing import Any

import numpy as np

from ..._arrays.cuda import cuda_array
from ..._arrays.dtypes import get_default_dtype
from ..._arrays.strided import address, storage_of
from ..._autograd.effects import structure
from ..._autograd.modes import modes
from ..._ops.declare.subclasses import entered, speaks
from ..._tensor.copying import own_attributes
from ..._tensor.settings import of_computing
from ..._tensor.tensor import Tensor
from ..._trees.nests import fields_of_dataclass
from ..program.ir import Kind
from ..record.arrays import KINDS, where_of
from ..record.capture import Capture
from ..record.symbolic_numbers import FLOATS
from ..record.tape import span_of
from ..record.tensor_data import grad_of
from ..record.varying_numbers import Spot
from .module_guards import Modules
from .outside_variables import SIMPLE, Variables, frozen

_data_of = attrgetter("_data")
GRADIENTS = "`.grad` of a tensor is another one, or was cleared"
_OWN = __name__.partition(".")[0]


class Form:
    """The form of arguments: what a record depends on of them. `kept` are objects that count as themselves."""

    def __init__(self, args: Any, kwargs: Any) -> None:
        self.numbers: dict[int, int] = {}  # which tensors are the same
        self.kept: list[Any] = []
        self.has_arrays = False
        self.floats: list[Any] = []  # in order
        self.is_shared = False  # whether they are where no symbol can be put
        self._containers: list[Any] = []
        self._met: dict[int, int] = {}  # containers
        self.symbolic: tuple[int, ...] = ()  # those that are inputs of a record, by their number
        self.loose = _modes(), self._of(args), self._of(kwargs) if kwargs else None
        self.key: Any = self.loose if not self.floats else (self.loose, self.bits())

    def bits(self) -> tuple[Any, ...]:
        """The floats as they are told apart: -0.0 from 0.0, and NaN is itself."""
        return tuple([v.hex() if type(v) is float else v.tobytes() for v in self.floats])

    def follow(self, symbolic: Any) -> None:
        """Let some of the floats be inputs of a record: then it does not depend on them."""
        self.symbolic = tuple(sorted(symbolic))
        parts = [None if i in symbolic else b for i, b in enumerate(self.bits())]
        self.key = self.loose, tuple(parts)

    def _of(self, value: Any) -> Any:
        kind = type(value)
        if isinstance(value, Tensor):
            number = self.numbers.setdefault(id(value), len(self.numbers))
            data = value._data
            leaf = value._node is None
            shown = data.shape, data.strides, data.dtype, where_of(data)
            hooks = hooks_of(value) if leaf and value._watched else None
            own = own_attributes(value) if value.__dict__ else None
            if own:  # a function may read them
                self.kept.extend(own.values())
                return kind, number, shown, value.requires_grad, leaf, hooks, frozen(own)
            return kind, number, shown, value.requires_grad, leaf, hooks
        if isinstance(value, (tuple, list)):
            parts = [self._of(v) for v in value]
            self._contains_floats(value)
            return kind, tuple(parts), self._again(value)
        if isinstance(value, dict):
            pairs = [(k, self._of(v)) for k, v in value.items()]
            self._contains_floats(value)
            return kind, tuple(pairs), self._again(value)
        if names := fields_of_dataclass(value):
            pairs = [(name, self._of(getattr(value, name))) for name in names]
            self._contains_floats(value)
            return kind, tuple(pairs), self._again(value)
        if kind in FLOATS:
            self.floats.append(value)
            return kind, None
        if kind in SIMPLE:
            return kind, value if kind is not complex else repr(value)
        if isinstance(value, np.generic):
            return kind, value.tobytes()
        return self._object(value)

    def _again(self, value: Any) -> int | None:
        """The number of a container that was met before: a function may see that it is the same one."""
        if type(value) is tuple and not value:  # there is only one
            return None
        number = len(self._met)
        found = self._met.setdefault(id(value), number)
        return None if found == number else found

    def _contains_floats(self, value: Any) -> None:
        """Note a container in which a number cannot stand for any: one of its own kind, or met twice."""
        kind = type(value)
        if (
            not self.floats
            or kind is tuple
            or (isinstance(value, tuple) and hasattr(value, "_fields"))
        ):
            return
        if kind not in (list, dict) or any(value is other for other in self._containers):
            self.is_shared = True
        self._containers.append(value)

    def _object(self, value: Any) -> Any:
        """Any other object is itself, with what its attributes are."""
        self.has_arrays = self.has_arrays or isinstance(value, np.ndarray)
        self.kept.append(value)
        kind = type(value)
        own = getattr(value, "__dict__", None)
        if not own or kind.__module__.partition(".")[0] == _OWN or isinstance(value, type):
            return kind, id(value)
        self.kept.extend(own.values())
        return kind, id(value), frozen(own)


def _modes() -> Any:
    """The thread's modes that change what an operation does."""
    own = modes
    return own.grad, own.inference, own.lower, get_default_dtype(), of_computing()


def is_ordinary(tensors: Any) -> bool:
    """Whether arguments are plain tensors, and the thread in no mode that a program does not know."""
    if modes.special and not modes.inference:
        return False
    if modes.vmap_levels or modes.forward_level or modes.anomaly or modes.function_modes:
        return False
    if entered():
        return False
    if getattr(cuda_array.backend, "capture", None) is not None:  # no backend without a GPU
        return False  # a graph of the user's own holds kernels, not programs
    if any(type(t) is not Tensor and speaks(type(t)) for t in tensors):
        return False  # calls on it are its class's to answer, and results are of it
    return all(type(t._data) in KINDS and not t._tangents for t in tensors)


class Guards:
    """What must hold besides the arguments' form."""

    __slots__ = ("__dict__", "__weakref__", "structure")

    def __init__(self, found: Capture, modules: Modules, variables: Variables) -> None:
        self.tensors = [tensor for tensor, _ in found.outside]
        self.arrays = [array for _, array in found.outside]
        self.wants = [tensor._requires_grad for tensor in self.tensors]
        self.grads = found.grads_before
        self.updates = found.updates
        self.fixed = found.fixed
        self.modules = modules
        self.hooks = _hooks_of(self.tensors)
        self.steps = _of_optimizers([*self.updates, *self.fixed])
        self.structure = structure[0]
        modules.remember()
        self.variables = variables
        variables.contents.extend(modules.contents)
        grads = {id(t) for pair in (*found.grads_before, *found.grads_after) for t in pair}
        known = modules.tensors() | variables.tensors | _updated(found) | grads
        self.pinned = [(i, t) for i, t in enumerate(found.tensors) if id(t) in known]
        self.argument_writes = found.argument_writes
        self.without_grad = [i for i, _, none_before in found.argument_grads if none_before]
        self.read = Spans(self.arrays if self.argument_writes else [])
        self.numbers = {id(tensor) for tensor in self.tensors}
        self.look_at_memory(found)

    def look_at_memory(self, found: Capture) -> None:
        """Where the memory lies that the program reads and writes; a program may have given it other places."""
        written = _written(found)
        self.written = Spans(written)
        near = [*self.arrays, *written]
        around = Spans(near)
        self.placed = [
            (i, address(t._data)) for i, t in enumerate(found.tensors) if around.meet(t._data)
        ]
        self.memory = {id(array) for array in (*near, *map(storage_of, near))}  # in reach

    def of_tensors(self) -> str | None:
        """Why the tensors from outside are not those of the record, or None: all that code of ours reads of them."""
        if not all(map(is_, map(_data_of, self.tensors), self.arrays)):
            return "a tensor from outside has other memory"
        for tensor, grad in self.grads:
            if grad_of(tensor) is not grad:
                return GRADIENTS
        return None

    def of_hooks(self) -> str | None:
        """The same for what is hung on tensors and optimizers, and what wants a gradient."""
        if [tensor._requires_grad for tensor in self.tensors] != self.wants:
            return "requires_grad of a tensor from outside has changed"
        if (
            _hooks_of(self.tensors) != self.hooks
            or _of_optimizers([*self.updates, *self.fixed]) != self.steps
        ):
            return "hooks of a tensor from outside, or of an optimizer"
        return None

    def reason(self) -> str | None:
        """Why the record does not hold, or None if it does."""
        reason = self.of_tensors()
        if reason is not None:
            return reason
        update: Any
        for update in (*self.updates, *self.fixed):
            if not update.holds():
                return f"settings of {type(update.optimizer).__name__} that choose its formula"
        if self.structure != structure[0] or not self.modules.are_untouched():
            if not self.modules.hold():
                return "a module's mode, settings, hooks or members"
            reason = self.of_hooks()
            if reason is not None:
                return reason
            self.structure = structure[0]
            self.modules.remember()
        return self.variables.reason()

    def changed_floats(self) -> list[Spot]:
        """The places that hold another float than they did."""
        found = []
        for spot, was in (*self.variables.spots(), *self.modules.spots()):
            now = spot.look() if type(was) is float else None
            if type(now) is float and now.hex() != was.hex():
                found.append(spot)
        return found

    def clash(self, tensors: list[Tensor]) -> str | None:
        """Why these arguments cannot be those of the record, by which memory they are."""
        for i, tensor in self.pinned:
            if tensors[i] is not tensor:
                return "an argument that is also used from outside is another one"
        for i, at in self.placed:
            if address(tensors[i]._data) != at:
                return "an argument that lay in memory from outside does not"
        if any(grad_of(tensors[i]) is not None for i in self.without_grad):
            return "an argument that had no gradient has one"
        pinned = {i for i, _ in (*self.pinned, *self.placed)}
        for i, tensor in enumerate(tensors):
            if i in pinned:
                continue
            if id(tensor) in self.numbers:
                return "an argument is also used from outside"
            if self.written.meet(tensor._data):
                return "an argument shares memory with a tensor that is written"
            if i in self.argument_writes and self.read.meet(tensor._data):
                return "an argument that is written shares memory with a tensor from outside"
        for i in self.argument_writes:
            for j, other in enumerate(tensors):
                if i != j and np.may_share_memory(tensors[i]._data, other._data):
                    return "an argument that is written shares memory with another one"
        return None


def _updated(found: Capture) -> set[int]:
    return {id(p) for update in found.updates for p in update.batch.owners}


class Spans:
    """Stretches of memory, in order and apart."""

    def __init__(self, arrays: list[Any]) -> None:
        self.found: list[tuple[int, int]] = []
        for low, high in sorted(map(span_of, arrays)):
            if self.found and low <= self.found[-1][1]:
                self.found[-1] = self.found[-1][0], max(high, self.found[-1][1])
            else:
                self.found.append((low, high))
        self.starts = [low for low, _ in self.found]

    def meet(self, array: Any) -> bool:
        """Whether an array lies in one of them."""
        if not self.found:
            return False
        low, high = span_of(array)
        at = bisect_left(self.starts, high) - 1
        return at >= 0 and self.found[at][1] > low


def share_memory(arrays: list[Any]) -> bool:
    """Whether two arguments lie in one stretch of memory: replayed they may, but not recorded."""
    spans = sorted([span_of(array) for array in arrays if array.size])
    return any(low < last for (_, last), (low, _) in pairwise(spans))


def _written(found: Capture) -> list[Any]:
    """The memory from outside that the program writes."""
    buffers = found.program.buffers
    numbers = {view.buffer for i in found.program.instructions for view in i.writes()}
    owners = [buffers[n].array for n in numbers if buffers[n].kind in (Kind.EXTERNAL, Kind.KEPT)]
    return [owner for owner in owners if owner is not None]


def _hooks_of(tensors: list[Tensor]) -> list[Any]:
    return [(i, hooks_of(t)) for i, t in enumerate(tensors) if t._watched or t._accumulator]


def hooks_of(tensor: Tensor) -> Any:
    """The numbers of the hooks of a leaf, and of those of its accumulator."""
    node = tensor._accumulator and tensor._accumulator()
    others = () if not node else (tuple(node.prehooks or ()), tuple(node.hooks or ()))
    return tuple(tensor._hooks or ()), tuple(tensor._post_hooks or ()), *others


def _of_optimizers(updates: list[Any]) -> list[Any]:
    optimizers = [update.optimizer for update in updates]
    return [(*o._optimizer_step_pre_hooks, *o._optimizer_step_post_hooks) for o in optimizers]
