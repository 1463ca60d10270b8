"""Going on in earnest: the calls that were put off are made, in their order, and tensors become real in place.

This is what happens at the first call that differs from a record, and wherever a value is asked for: from there on
the function runs as written, and has done everything once.
"""

from __future__ import annotations

from typing import Any

from ..._arrays.checks import require_all
from ..._arrays.quiet import quiet_runner
from ..._autograd.apply import apply
from ..._autograd.autocast_state import _state as autocasting
from ..._autograd.modes import change, modes
from ..._tensor.attributes import state_of
from ..._tensor.tensor import Tensor, make
from ..._user_code.sites import resolve
from ..record.trees import NESTS
from .arguments import ArrayRef, Ref, made_again
from .lazy_array import LazyArray
from .noting import Call, New

_data: Any = Tensor.__dict__["_data"]
_grad: Any = Tensor.__dict__["_grad"]
_node: Any = Tensor.__dict__["_node"]
_SLOTS = ("_requires_grad", "_version_box", "_base", "_output_nr")
_GONE: Any = lambda: None  # noqa: E731


class Run:
    """The calls of a run that were put off, and the tensors that stand for what they give."""

    def __init__(self, record: Any, arguments: list[Tensor]) -> None:
        self.record = record
        self.calls: list[Call] = record.calls
        self.arguments = arguments
        self.at = 0  # the calls that have agreed
        self.objects: list[Any] = [_GONE] * record.count  # a reference to each tensor made
        self.constants: dict[int, Tensor] = {}
        self.written: dict[int, tuple[Any, bool]] = {}  # those that were written to: what they were
        self.around: list[tuple[Any, LazyArray]] = []  # other tensors around such arrays
        self.grads: dict[int, tuple[Tensor, Any]] = {}  # what `.grad` was before
        self.counts: list[tuple[Any, Any]] = []  # optimizers' step counts, and what they were
        self.checks: dict[int, Any] = {}  # conditions on values, and their errors
        self.settings: dict[int, Any] = {}  # optimizers' settings at each step
        self.real: list[Any] = [None] * record.count
        self.drawn: list[Any] = [None] * record.drawn
        self.is_lazy = True
        self.why = ""  # it was not followed to the end
        self.differs = False  # because another call was made than the record's
        self.error: BaseException | None = None
        self._proxies: dict[int, LazyArray] = {}

    def force(self, what: str) -> None:
        """Something that cannot be put off happens: compute all that was."""
        if self.is_lazy:
            self.why = what
            self._go_on_eagerly()

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
        self._have_constants_again()
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

    def _have_constants_again(self) -> None:
        """Let constants be what they were before a call wrote to them; those calls are made in earnest now."""
        for number, (array, wants) in self.written.items():
            tensor = self.objects[number]()
            if tensor is None:
                tensor = make(array)
            _data.__set__(tensor, array)
            _node.__set__(tensor, None)
            tensor._requires_grad = wants
            self.constants[number] = tensor

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
    state_of(lazy).pop("_seen_version", None)
    state_of(lazy).update(state_of(real))
