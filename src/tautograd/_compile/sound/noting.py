"""The public calls of a run, noted while it is recorded: what a later run of the same Python is held against.

A call is noted where it comes in: an operation where it is applied, `backward`, an optimizer's `step`, a write in
place, a draw, a `.grad` that is set. What happens inside it is the engine's own doing and belongs to it, unless
functions of the user's run in there (hooks, a custom `Function`): then there is no such record, and `why` says so.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..._autograd.apply import apply
from ..._autograd.modes import change, modes
from ..._tensor.tensor import Tensor
from ..._user_code.sites import mark
from ..program.ir import Kind
from ..record.arrays import KINDS
from ..record.recorded_array import Recorded
from ..record.tensor_data import grad_of, plain
from ..record.trees import NESTS
from .arguments import ArrayRef, Ref, Unknown, function_parts, written_down
from .lazy_array import Form

_data: Any = Tensor.__dict__["_data"]
_node: Any = Tensor.__dict__["_node"]


@dataclass(slots=True)
class New:
    """A tensor that a call makes, and what it says of itself; or an array that was drawn."""

    number: int
    form: Form
    requires_grad: bool = False
    has_node: bool = False
    base: Ref | None = None
    is_array: bool = False


@dataclass(slots=True)
class Call:
    """A public call: what it was given under which modes, and what it gave."""

    function: Any
    inputs: Any
    parameters: Any
    grad: bool
    lower: Any
    kind: str = "call"  # or "operation", "draw", "grad"
    compute: Any = None
    site: Any = None
    single: New | None = None  # the result, where it is one new tensor
    result: Any = None  # else: what was returned, with New and Ref in place of tensors
    grads: list[tuple[Ref, Any]] = field(default_factory=list)  # which `.grad` are set, to what
    changes: list[tuple[Ref, New]] = field(
        default_factory=list
    )  # what is said of tensors that were there
    updates: list[Any] = field(default_factory=list)  # of an optimizer that steps
    fixed: list[Any] = field(default_factory=list)

    @property
    def name(self) -> str:
        function = self.function
        return getattr(function, "public_name", "") or getattr(function, "__name__", str(function))


class Noting:
    """Stands in `modes.deferred` while a function is recorded: passes each call on, and notes it."""

    follows = False

    def __init__(self, tape: Any, inside: list[Tensor], only: bool) -> None:
        self.tape = tape
        self.only = only  # there are no replays without its Python
        self.arguments = inside
        self.calls: list[Call] = []
        self.why: str | None = None  # there is no such record
        self.site: Any = None
        self.count = 0  # of tensors made
        self.drawn = 0
        self._numbers: dict[int, tuple[Any, int]] = {}
        self._draws: dict[int, tuple[Any, int]] = {}
        self._constants: dict[
            int, Any
        ] = {}  # tensors of which the content is known, until one is written to
        self._grads: dict[int, Tensor] | None = None  # whose `.grad` was set inside of a call
        self.results: dict[int, int] = {}  # number of a tensor -> which leaf of what is returned
        if tape.stand_ins:
            self.force("an argument that has a history")
        if modes.inference:
            self.force("inference mode")

    # --- what the engine says ----------------------------------------------------------------------

    def force(self, what: str) -> None:
        """Something that cannot be put off happens."""
        if self.why is None and not self.tape.paused:
            self.why, self.site = what, mark(2)
            if self.only:
                self.tape.refuse(what, "follow")

    @property
    def runs_again(self) -> bool:
        """Whether what runs now is the function's own Python, outside of any call, and only that is replayed."""
        return self.only and self._grads is None

    def hooked(self) -> None:
        """A hook of the user's is called."""
        if self._grads is not None:
            self.force("a hook that runs inside of a call")

    def operation(self, op: Any, inputs: Any, parameters: Any, compute: Any) -> Any:
        return self._pass_on(
            "operation",
            op,
            inputs,
            parameters,
            lambda: apply(op, inputs, parameters, compute),
            compute,
        )

    def call(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        return self._pass_on("call", function, args, kwargs, lambda: function(*args, **kwargs))

    def draw(self, sampler: Any, args: Any, kwargs: Any) -> Any:
        recorder = modes.recorder
        return self._pass_on(
            "draw",
            sampler,
            args,
            kwargs,
            lambda: recorder.call(sampler, args, kwargs, sampler.__name__),
        )

    def check(self, array: Any, holds: Any) -> None:
        """A condition on values is looked at, before an operation is applied."""
        if self.why is not None or self._grads is not None or self.tape.paused or self.tape.dead:
            return
        if holds is None:
            self.force("a way that an operation takes by values")
            return
        try:
            inputs = self._described((array,)), self._described(function_parts(holds))
        except Unknown as error:
            self.force(str(error))
            return
        found = Call(holds.__code__, *inputs, modes.grad, modes.lower, "check", site=mark(3))
        self.calls.append(found)

    def grad_set(self, tensor: Tensor, value: Any) -> None:
        """A `.grad` is set, by a call or by the function itself."""
        try:
            grad_of(tensor)
        except AttributeError:  # of a new tensor
            return
        if self._grads is not None:
            self._grads[id(tensor)] = tensor
        elif self.why is None and not self.tape.paused and not self.tape.dead:
            try:
                inputs = self._described((tensor, value))
            except Unknown as error:
                self.force(str(error))
                return
            self.calls.append(
                Call(None, inputs, None, modes.grad, modes.lower, "grad", site=mark(3))
            )

    # --- a call ------------------------------------------------------------------------------------

    def _pass_on(
        self,
        kind: str,
        function: Any,
        args: Any,
        kwargs: Any,
        run: Callable[[], Any],
        compute: Any = None,
    ) -> Any:
        if self.why is not None or self.tape.dead or self.tape.paused:
            return self._without(run)
        at = mark(3)
        try:
            with self.tape.unwatched:
                given = self._described(tuple(args)), self._described(dict(kwargs))
                tensors = _tensors_of((args, kwargs)) if kind == "call" else []
                before = [(t, self._facts(t, -1)) for t in tensors]
        except Unknown as error:
            self.force(str(error))
            return self._without(run)
        found = Call(function, *given, modes.grad, modes.lower, kind, compute, at)
        updates, fixed = len(self.tape.updates), len(self.tape.fixed)
        self._grads = {}
        try:
            result = self._without(run)
        except BaseException:
            self._grads = None
            self.force("an error that a call raised")
            raise
        set_inside, self._grads = self._grads, None
        try:
            with self.tape.unwatched:
                self._note_result(found, result)
                for tensor in set_inside.values():
                    grad = grad_of(tensor)
                    found.grads.append(
                        (self._ref(tensor), None if grad is None else self._result(grad))
                    )
                for tensor, facts in before:
                    now = self._facts(tensor, -1)
                    if now[1:] != facts[1:] or now[0] != facts[0]:
                        self._note_change(found, tensor)
                self._note_written(found)
        except Unknown as error:
            self.force(str(error))
        found.updates, found.fixed = self.tape.updates[updates:], self.tape.fixed[fixed:]
        self.calls.append(found)
        return result

    def _without(self, run: Callable[[], Any]) -> Any:
        """What a call does, with nothing of it noted."""
        change(deferred=None)
        try:
            return run()
        finally:
            change(deferred=self)

    def _note_result(self, found: Call, result: Any) -> None:
        new = type(result) is Tensor and self._number_of(result) is None
        if new or type(result) is Recorded:
            noted = self._result(result)
            if isinstance(noted, New):
                found.single = noted
                return
            found.result = noted
            return
        found.result = NESTS.mapped(result, self._result)
        if any(not isinstance(x, (New, Ref)) and x is not None for x in NESTS.leaves(found.result)):
            raise Unknown(f"what `{found.name}` gives back")

    def _result(self, value: Any) -> Any:
        """A tensor among results: a new one, or one that was there."""
        if type(value) is Recorded:
            self._draws[id(value)] = value, self.drawn
            self.drawn += 1
            return New(self.drawn - 1, Form.of(value.value), is_array=True)
        if not isinstance(value, Tensor):
            return value
        slot = _data.__get__(value)
        known = self._number_of(value) is not None or id(value) in self.tape.arguments
        if known or type(slot) is not Recorded:
            return self._ref(value)
        if type(value) is not Tensor or value._is_inference:
            raise Unknown(f"a result of type {type(value).__name__}")
        base = value._base
        number = self._new_number(value)
        form, wants, has_node = self._facts(value, number)
        return New(number, form, wants, has_node, None if base is None else self._ref(base))

    def _facts(self, tensor: Tensor, number: int) -> tuple[Any, bool, bool]:
        array = plain(tensor)
        form = Form(tuple(array.shape), array.dtype, tuple(array.strides), None)
        if number >= 0:
            form = Form.of(array)
        return form, tensor.requires_grad, _node.__get__(tensor) is not None

    def _note_change(self, found: Call, tensor: Tensor) -> None:
        ref = self._ref(tensor)
        if ref.kind != "made":
            raise Unknown("a change of what a tensor from outside is")
        form, wants, has_node = self._facts(tensor, ref.key)
        found.changes.append((ref, New(ref.key, form, wants, has_node)))

    def _note_written(self, found: Call) -> None:
        """What a call writes is no constant any more, however it came to that memory."""
        noted = {ref.key for ref, _ in found.changes if ref.kind == "made"}
        for number, reference in list(self._constants.items()):
            tensor = reference()
            if tensor is not None and self._is_constant(tensor):
                continue
            del self._constants[number]
            if tensor is not None and number not in noted:
                form, wants, has_node = self._facts(tensor, number)
                found.changes.append((Ref("made", number), New(number, form, wants, has_node)))

    def _is_constant(self, tensor: Tensor) -> bool:
        view = self.tape.view(_data.__get__(tensor).value)
        return bool(self.tape.program.buffers[view.buffer].kind is Kind.CONSTANT)

    # --- tensors and arrays as they are known ------------------------------------------------------

    def _described(self, value: Any) -> Any:
        return written_down(value, self._tensor, self._array)

    def _tensor(self, value: Any) -> Ref | None:
        return self._ref(value) if isinstance(value, Tensor) else None

    def _new_number(self, tensor: Tensor) -> int:
        self._numbers[id(tensor)] = weakref.ref(tensor), self.count
        self.count += 1
        return self.count - 1

    def _number_of(self, tensor: Tensor) -> int | None:
        found = self._numbers.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else None

    def _ref(self, tensor: Tensor) -> Ref:
        if id(tensor) in self.tape.arguments:
            return Ref("argument", self.tape.arguments[id(tensor)])
        slot = _data.__get__(tensor)
        if type(slot) is not Recorded:
            if type(slot) not in KINDS:
                raise Unknown("an array of another kind, as `vmap` has them")
            if _node.__get__(tensor) is not None:
                raise Unknown("a tensor from outside that has a history")
            return Ref("outside", tensor)
        drawn = self._draws.get(id(slot))
        if drawn is not None and _node.__get__(tensor) is None:
            return Ref("drawn", drawn[1])
        number = self._number_of(tensor)
        if self._is_constant(tensor):
            if _node.__get__(tensor) is not None or tensor._base is not None:
                if number is None:
                    raise Unknown("a view of a constant")
                return Ref("made", number)  # by a call of which the constant's content is known
            number = self._new_number(tensor) if number is None else number
            self._constants[number] = weakref.ref(tensor)
            return Ref("constant", number, (slot.value.copy("K"), tensor._requires_grad))
        if number is None:
            raise Unknown("a tensor that was not made by a call")
        return Ref("made", number)

    def _array(self, value: Any) -> ArrayRef | None:
        if type(value) is not Recorded:
            return None
        drawn = self._draws.get(id(value))
        if drawn is not None:
            return ArrayRef(drawn[1])
        for reference, number in self._numbers.values():
            tensor = reference()
            if tensor is not None and plain(tensor) is value.value:
                return ArrayRef(Ref("made", number))
        made = [reference() for reference in self.tape.made]
        outside = [tensor for tensor, _ in self.tape.outside.values()]
        for tensor in (*self.arguments, *outside, *made):
            if tensor is not None and plain(tensor) is value.value:
                return ArrayRef(self._ref(tensor))
        raise Unknown("an array that is no tensor's")

    def settle(self, returned: Any) -> None:
        """After the run: which of the tensors made are given back."""
        for place, leaf in enumerate(NESTS.leaves(returned)):
            if isinstance(leaf, Tensor):
                number = self._number_of(leaf)
                if number is not None:
                    self.results.setdefault(number, place)


def _tensors_of(value: Any) -> list[Tensor]:
    found = [leaf for leaf in NESTS.leaves(value) if isinstance(leaf, Tensor)]
    return found + [t._base for t in found if t._base is not None]


@contextmanager
def noting_calls(tape: Any, arguments: list[Tensor] | None, only: bool) -> Iterator[Noting | None]:
    """Note the public calls of a run that is being recorded, if `arguments` are given."""
    if arguments is None:
        yield None
        return
    noting = tape.calls_noted = Noting(tape, arguments, only)
    change(deferred=noting)
    try:
        yield noting
    finally:
        tape.calls_noted = None
        change(deferred=None)
