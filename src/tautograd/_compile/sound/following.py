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
from ..._autograd.apply import apply
from ..._autograd.modes import change, modes
from ..._tensor.tensor import Tensor
from ..._user_code.sites import resolve
from ..record.arrays import KINDS
from ..record.trees import NESTS
from .arguments import ArrayRef, Ref, agrees, function_parts, same_value
from .earnest import Run
from .lazy_array import Form, LazyArray, revealed
from .noting import Call, New
from .shown import LAZY_NODE

_data: Any = Tensor.__dict__["_data"]
_grad: Any = Tensor.__dict__["_grad"]
_node: Any = Tensor.__dict__["_node"]
_SLOTS = ("_requires_grad", "_version_box", "_base", "_output_nr")
_new = object.__new__
_GONE: Any = lambda: None  # noqa: E731


class Follower(Run):
    """One run of a function, held against a record."""

    follows = True

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
            if ref.key in self.constants:
                self.written[ref.key] = _data.__get__(tensor), tensor._requires_grad
                del self.constants[ref.key]
                self._proxies.pop(id(tensor), None)
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
        self.differs = True
        self._go_on_eagerly()


class _Off:
    """A context in which tensors are as they are."""

    def __init__(self, run: Follower) -> None:
        self.run = run

    def __enter__(self) -> None:
        change(deferred=None)

    def __exit__(self, *error: object) -> None:
        change(deferred=self.run)
