"""Running a function's own Python on tensors that compute nothing, held against a record call by call.

Each public call is compared with the next of the record, and gives what that gave, as tensors that know their form
only. If all agree to the end, the record's program runs once and fills those in. At the first call that differs, and
wherever a value is asked for, the calls so far are made in earnest, in their order, the tensors become real in place,
and the function goes on as written. So whatever Python reads, it reads at every call, and does everything once.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np

from ..._arrays.checks import require_all
from ..._arrays.quiet import quiet_runner
from ..._autograd.apply import apply
from ..._autograd.autocast_state import _state as autocasting
from ..._autograd.modes import change, modes
from ..._stand_ins.slots import WhileAnybody
from ..._tensor.tensor import Tensor, make
from ..._user_code.sites import resolve
from ..record.arrays import KINDS
from ..record.trees import NESTS
from .arguments import ArrayRef, Ref, agrees, function_parts, made_again, same_value
from .lazy_array import Form, LazyArray, revealed
from .noting import Call, New

_data: Any = Tensor.__dict__["_data"]
_grad: Any = Tensor.__dict__["_grad"]
_node: Any = Tensor.__dict__["_node"]
_SLOTS = ("_requires_grad", "_version_box", "_base", "_output_nr")
_new = object.__new__
_GONE: Any = lambda: None  # noqa: E731


class _LazyNode:
    """The history of a tensor that is not there yet."""

    __slots__ = ()


LAZY_NODE = _LazyNode()


class Follower:
    """One run of a function, held against a record."""

    follows = True

    def __init__(self, record: Any, arguments: list[Tensor]) -> None:
        self.record = record
        self.calls: list[Call] = record.calls
        self.arguments = arguments
        self.at = 0  # the calls that have agreed
        self.objects: list[Any] = [_GONE] * record.count  # a reference to each tensor made
        self.constants: dict[int, Tensor] = {}
        self.around: list[tuple[Any, LazyArray]] = []  # other tensors around such arrays
        self.grads: dict[int, tuple[Tensor, Any]] = {}  # what `.grad` was before
        self.counts: list[tuple[Any, Any]] = []  # optimizers' step counts, and what they were
        self.checks: dict[int, Any] = {}  # conditions on values, and their errors
        self.settings: dict[int, Any] = {}  # optimizers' settings at each step
        self.real: list[Any] = [None] * record.count
        self.drawn: list[Any] = [None] * record.drawn
        self.is_lazy = True
        self.why = ""  # it was not followed to the end
        self.error: BaseException | None = None
        self._proxies: dict[int, LazyArray] = {}

    # --- what the engine asks ------------------------------------------------------------------------

    def operation(self, op: Any, inputs: Any, parameters: Any, compute: Any) -> Any:
        calls, at = self.calls, self.at
        if at < len(calls):
            call = calls[at]
            if (
                call.function is op
                and call.kind == "operation"
                and call.grad is modes.grad
                and call.lower is modes.lower
                and (call.compute is compute or same_value(call.compute, compute))
                and len(call.inputs.parts) == len(inputs)
                and len(call.parameters.keys) == len(parameters)
            ):
                for spec, value in zip(call.inputs.parts, inputs, strict=True):
                    if not agrees(spec, value, self):
                        break
                else:
                    if not parameters or agrees(call.parameters, parameters, self):
                        self.at = at + 1
                        single = call.single
                        return self._made(single) if single is not None else self._results(call)
        self._differs(op)
        return apply(
            op, tuple([revealed(x) for x in inputs]), revealed(dict(parameters)), revealed(compute)
        )

    def call(self, function: Any, args: Any, kwargs: Any) -> Any:
        call = self._next("call", function, args, kwargs)
        if call is None or not self._steps(call):
            self._differs(function)
            return function(*revealed(tuple(args)), **revealed(dict(kwargs)))
        self.at += 1
        return self._results(call)

    def draw(self, sampler: Any, args: Any, kwargs: Any) -> Any:
        call = self._next("draw", sampler, args, kwargs)
        if call is None:
            self._differs(sampler)
            with np.errstate(all="ignore"):
                return sampler(*revealed(tuple(args)), **revealed(dict(kwargs)))
        self.at += 1
        return self._results(call)

    def check(self, array: LazyArray, holds: Any, error: Any) -> None:
        """A condition on values: the program looks at it, if it is one of its own."""
        call = self.calls[self.at] if self.at < len(self.calls) else None
        alike = call is not None and call.kind == "check" and call.function is holds.__code__
        if (
            call is not None
            and alike
            and agrees(call.inputs, (array,), self)
            and agrees(call.parameters, function_parts(holds), self)
        ):
            self.checks[self.at] = holds, error
            self.at += 1
            return
        self._differs("a condition on values")
        require_all(array.real(), holds, error)

    def set_grad(self, tensor: Tensor, value: Any) -> None:
        """A `.grad` is set by the function itself."""
        try:
            _grad.__get__(tensor)
        except AttributeError:  # of a new tensor
            _grad.__set__(tensor, value)
            return
        call = self._next("grad", None, (tensor, value), {})
        if call is None:
            self._differs("`.grad = …`")
            _grad.__set__(tensor, value)
            return
        self.at += 1
        self._put_grad(tensor, value)

    def force(self, what: str) -> None:
        """Something that cannot be put off happens: compute all that was."""
        if self.is_lazy:
            self.why = what
            self._go_on_eagerly()

    def proxy(self, tensor: Tensor, array: Any) -> LazyArray:
        """What a tensor from outside shows in place of its array."""
        found = self._proxies.get(id(tensor))
        if found is None:
            forms = self.record.forms
            form = forms.get(id(array))
            if form is None:
                form = Form.of(array)
            found = self._proxies[id(tensor)] = LazyArray(self, form, -1, tensor)
        return found

    def get_data(self, tensor: Tensor) -> Any:
        value = _data.__get__(tensor)
        return value if type(value) is LazyArray else self.proxy(tensor, value)

    def set_data(self, tensor: Tensor, value: Any) -> None:
        try:
            _data.__get__(tensor)
        except AttributeError:
            if type(value) is LazyArray:
                self.around.append((weakref.ref(tensor), value))
        else:
            self.force("a tensor gets other memory (`.data = …`)")
            value = revealed(value)
        _data.__set__(tensor, value)

    # --- agreeing ------------------------------------------------------------------------------------

    def _next(self, kind: str, function: Any, args: Any, kwargs: Any) -> Call | None:
        if self.at >= len(self.calls):
            return None
        call = self.calls[self.at]
        if call.kind != kind or call.function is not function:
            return None
        if call.grad is not modes.grad or call.lower is not modes.lower:
            return None
        if not agrees(call.inputs, tuple(args), self):
            return None
        return (
            call
            if (not kwargs and call.parameters is None)
            or agrees(call.parameters, dict(kwargs), self)
            else None
        )

    def is_tensor(self, ref: Ref, value: Any) -> bool:
        kind = ref.kind
        if kind == "made":
            found: Any = self.objects[ref.key]()
            return found is value and value is not None
        if kind == "outside":
            return value is ref.key
        if kind == "argument":
            return value is self.arguments[ref.key]
        return self._is_drawn(ref, value) if kind == "drawn" else self._is_constant(ref, value)

    def _is_drawn(self, ref: Ref, value: Any) -> bool:
        """Whether a tensor shows just an array that was drawn."""
        array = _data.__get__(value) if type(value) is Tensor else None
        return type(array) is LazyArray and array.number == ~ref.key and not value._requires_grad

    def _is_constant(self, ref: Ref, value: Any) -> bool:
        known = self.constants.get(ref.key)
        if type(value) is not Tensor or (known is not None and value is not known):
            return False
        array = _data.__get__(value)
        content, wants = ref.content
        if type(array) not in KINDS or value._requires_grad is not wants:
            return False
        if _node.__get__(value) is not None or value._base is not None:
            return False
        if known is None:
            if any(value is other for other in self.constants.values()):
                return False
            if any(value is t for t in self.arguments) or id(value) in self.record.outside:
                return False
        if not same_value(array, content):
            return False
        self.constants[ref.key] = value
        self.objects[ref.key] = weakref.ref(value)
        return True

    def is_array(self, ref: ArrayRef, value: LazyArray) -> bool:
        of = ref.of
        if type(of) is int:
            return value.owner is None and value.number == ~of
        if of.kind == "made" and value.owner is None:
            return bool(value.number == of.key)
        return value.owner is not None and self.is_tensor(of, value.owner)

    def _steps(self, call: Call) -> bool:
        """An optimizer's numbers are those of now: count the step, and let the program have them."""
        if not call.updates and not call.fixed:
            return True
        with _Off(self):
            if not all(update.holds() for update in (*call.updates, *call.fixed)):
                return False
            optimizer = (call.updates or call.fixed)[0].optimizer
            if optimizer._optimizer_step_pre_hooks or optimizer._optimizer_step_post_hooks:
                return False
            self.settings[self.at] = [dict(group) for group in optimizer.param_groups]
            for update in call.updates:
                for scalar in update.batch.scalars:
                    self.counts.append((scalar, np.copy(scalar)))
                update()
        return True

    # --- results ---------------------------------------------------------------------------------------

    def _made(self, new: New) -> Any:
        if new.is_array:
            return LazyArray(self, new.form, ~new.number)
        tensor = _new(Tensor)
        number = new.number
        _data.__set__(tensor, LazyArray(self, new.form, number))
        _node.__set__(tensor, LAZY_NODE if new.has_node else None)
        _grad.__set__(tensor, None)
        tensor._requires_grad = new.requires_grad
        tensor._output_nr = 0
        if new.base is None:
            tensor._base = None
            tensor._version_box = [0]
        else:
            base = self.tensor(new.base)
            tensor._base = base
            tensor._version_box = box = base._version_box
            tensor._seen_version = box[0]
        self.objects[number] = weakref.ref(tensor)
        return tensor

    def _results(self, call: Call) -> Any:
        single = call.single
        result = self._made(single) if single is not None else NESTS.mapped(call.result, self._leaf)
        for ref, grad in call.grads:
            self._put_grad(self.tensor(ref), None if grad is None else self._leaf(grad))
        for ref, new in call.changes:
            tensor = self.tensor(ref)
            _data.__set__(tensor, LazyArray(self, new.form, new.number))
            _node.__set__(tensor, LAZY_NODE if new.has_node else None)
            tensor._requires_grad = new.requires_grad
        return result

    def _leaf(self, leaf: Any) -> Any:
        if type(leaf) is New:
            return self._made(leaf)
        return self.tensor(leaf) if type(leaf) is Ref else leaf

    def _put_grad(self, tensor: Tensor, value: Any) -> None:
        self.grads.setdefault(id(tensor), (tensor, _grad.__get__(tensor)))
        _grad.__set__(tensor, value)

    def tensor(self, ref: Ref) -> Any:
        """The tensor of this run that was written down."""
        if ref.kind == "outside":
            return ref.key
        if ref.kind == "argument":
            return self.arguments[ref.key]
        if ref.kind == "drawn":
            shown = [reference() for reference, array in self.around if array.number == ~ref.key]
            alive = [tensor for tensor in shown if tensor is not None]
            return alive[0] if alive else make(self.drawn[ref.key])
        if ref.kind == "constant" and ref.key in self.constants:
            return self.constants[ref.key]
        found = self.objects[ref.key]()
        return self.real[ref.key] if found is None else found

    def array(self, ref: ArrayRef) -> Any:
        """The array that was written down, when it is computed."""
        return self.drawn[ref.of] if type(ref.of) is int else _data.__get__(self.tensor(ref.of))

    # --- in earnest --------------------------------------------------------------------------------------

    def _differs(self, function: Any) -> None:
        if not self.is_lazy:
            return
        name = getattr(function, "public_name", None) or getattr(
            function, "__name__", str(function)
        )
        if self.at < len(self.calls):
            call = self.calls[self.at]
            was = "`.grad = …`" if call.kind == "grad" else f"`{call.name}`"
            self.why = f"{was} was recorded, in {resolve(call.site)}; {name} is done now, or with other arguments"
        else:
            self.why = f"{name} is done now, where the record has ended"
        self._go_on_eagerly()

    def take_back_grads(self) -> None:
        """Let gradients be what they were before the run."""
        for tensor, grad in self.grads.values():
            _grad.__set__(tensor, grad)

    def take_back(self) -> None:
        """Let gradients and step counts be what they were before the run."""
        self.take_back_grads()
        for scalar, before in reversed(self.counts):
            scalar[...] = before
        self.counts.clear()

    def _go_on_eagerly(self) -> None:
        """Make the calls so far in earnest, in their order; each tensor becomes real in place."""
        self.is_lazy = False
        kept = [(t, _grad.__get__(t)) for t, _ in self.grads.values()]  # so that none is lost
        self.take_back()
        before = change(deferred=None)
        runners = modes.quietly, modes.forwards  # this may be inside of one of them
        modes.quietly = modes.forwards = quiet_runner()
        casts, autocasting.casts = autocasting.casts, {}
        try:
            for number, call in enumerate(self.calls[: self.at]):
                change(grad=call.grad, lower=call.lower)
                try:
                    self._do(number, call)
                except BaseException as error:
                    self.error = error
                    if not isinstance(error, KeyboardInterrupt):
                        where = resolve(call.site)
                        error.add_note(
                            f"raised by `{call.name}`, called in {where} of a compiled function"
                        )
                    raise
        finally:
            del kept
            modes.quietly, modes.forwards = runners
            change(grad=before.grad, lower=before.lower)
            autocasting.casts = casts

    def _do(self, number: int, call: Call) -> None:
        args = made_again(call.inputs, self)
        if call.kind == "grad":
            _grad.__set__(args[0], args[1])
            return
        if call.kind == "check":
            require_all(args[0], *self.checks[number])
            return
        kwargs = made_again(call.parameters, self)
        if call.kind == "operation":
            found = apply(call.function, args, kwargs, call.compute)
        elif number in self.settings:
            found = self._with_settings(self.settings[number], call.function, args, kwargs)
        else:
            found = call.function(*args, **kwargs)
        if call.single is not None:
            self._becomes(call.single, found)
        else:
            for leaf, value in zip(NESTS.leaves(call.result), NESTS.leaves(found), strict=True):
                self._becomes(leaf, value)
        for ref, grad in call.grads:
            if type(grad) is New:
                tensor = self.tensor(ref)
                self._becomes(grad, _grad.__get__(tensor))
                _grad.__set__(tensor, self.real[grad.number])

    def _with_settings(self, settings: Any, function: Any, args: Any, kwargs: Any) -> Any:
        """An optimizer's step with what its settings were when it was asked for."""
        groups = args[0].param_groups
        now = [dict(group) for group in groups]
        for group, then in zip(groups, settings, strict=False):
            group.update(then)
        try:
            return function(*args, **kwargs)
        finally:
            for group, later in zip(groups, now, strict=False):
                group.update(later)

    def _becomes(self, leaf: Any, value: Any) -> None:
        """Let what was made by a call be what that really gives."""
        if type(leaf) is not New:
            return
        if leaf.is_array:
            self.drawn[leaf.number] = value
        else:
            lazy = self.objects[leaf.number]()
            if lazy is not None:
                take_over(lazy, value)
                value = lazy
            self.real[leaf.number] = value
        for reference, array in self.around:
            tensor = reference()
            number = ~leaf.number if leaf.is_array else leaf.number
            if tensor is not None and array.owner is None and array.number == number:
                _data.__set__(tensor, self.array_of(array))

    def array_of(self, lazy: LazyArray) -> Any:
        """The array that one stands for, computed by now."""
        if modes.deferred is not self and self.is_lazy:
            raise RuntimeError(
                "a tensor of a compiled function is used by another thread, or after its call"
            )
        self.force("a tensor's values are asked for")
        if lazy.owner is not None:
            return _data.__get__(lazy.owner)
        found = self.drawn[~lazy.number] if lazy.number < 0 else self.real[lazy.number]
        if found is None:
            raise self.error or RuntimeError("a tensor of a call that failed")
        return found if lazy.number < 0 else _data.__get__(found)


def take_over(lazy: Tensor, real: Tensor) -> None:
    """Let a tensor be what another one is: its memory, its history, its base."""
    _data.__set__(lazy, _data.__get__(real))
    _node.__set__(lazy, _node.__get__(real))
    if _grad.__get__(lazy) is None:
        _grad.__set__(lazy, _grad.__get__(real))
    for name in _SLOTS:
        setattr(lazy, name, getattr(real, name))
    lazy.__dict__.pop("_seen_version", None)
    lazy.__dict__.update(real.__dict__)


class _Off:
    """A context in which tensors are as they are."""

    def __init__(self, run: Follower) -> None:
        self.run = run

    def __enter__(self) -> None:
        change(deferred=None)

    def __exit__(self, *error: object) -> None:
        change(deferred=self.run)


# --- what a tensor shows while a function is followed ------------------------------------------------


def _shown_data(below: Any) -> Any:
    def get(self: Tensor) -> Any:
        run = modes.deferred
        return below.__get__(self) if run is None or not run.follows else run.get_data(self)

    def put(self: Tensor, value: Any) -> None:
        run = modes.deferred
        if run is None or not run.follows:
            below.__set__(self, value)
        else:
            run.set_data(self, value)

    return property(get, put)


def _shown_grad(below: Any) -> Any:
    def put(self: Tensor, value: Any) -> None:
        run = modes.deferred
        if run is None or not run.follows:
            below.__set__(self, value)
        else:
            run.set_grad(self, value)

    return property(below.__get__, put)


def _shown_node(below: Any) -> Any:
    def get(self: Tensor) -> Any:
        value = below.__get__(self)
        run = modes.deferred
        if value is LAZY_NODE and run is not None:
            run.force("a tensor's history is asked for")
            value = below.__get__(self)
        return value

    return property(get, below.__set__)


_SHOWN = (
    (Tensor, "_data", _shown_data),
    (Tensor, "_grad", _shown_grad),
    (Tensor, "_node", _shown_node),
)
showing = WhileAnybody(lambda: _SHOWN)
