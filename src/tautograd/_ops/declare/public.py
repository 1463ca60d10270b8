"""The public surface: which Python functions become `tautograd.<name>` and Tensor methods.

    @public()                    torch.name(x, …) and x.name(…)
    @public(inplace=True)        … and x.name_(…), which writes the result into x
    @public(function=False)      a method only;  method=False: a function only

The wrapper understands what PyTorch's argument parser does beyond Python's own: `out=`, and
NumPy's spellings (`axis`, `keepdims`). `out=` may be a rule of `out_rules`, or False where PyTorch
has none.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import FunctionType, MappingProxyType
from typing import Any, TypeVar

import numpy as np

from ..._arrays.devices import is_meta
from ..._arrays.dtypes import bool_, can_cast
from ..._autograd.autocast_state import EVER_USED
from ..._autograd.modes import modes
from ..._autograd.views import adopt, bump, check_writable, keep_original, save_written_output
from ..._tensor.tensor import Tensor
from ..._user_code.sites import warning_level
from .autocasting import NEVER, Policy, as_it_is, cast_and_call, policy_of
from .guarding import explain, guarded, marked, no_method, with_numbers
from .in_place_checks import BEFORE, OWN_SHAPE
from .memory_overlap import (
    GATHERING,
    SCATTERING,
    check_expanded,
    refuse_any_overlap,
    refuse_overlap,
    refuse_partial_overlap,
)
from .out_dtypes import check_layout, check_out, check_takes_out, refuse_cast
from .record import Op
from .subclasses import declared
from .torch_function import answered
from .truth_values import check_given, truth_values_of

Function = Callable[..., Any]
Declared = TypeVar("Declared", bound=Function)  # what is declared keeps its own signature


_TOP = __name__.partition(".")[0]
_HOME = f"{_TOP}._"


class Namespace(dict[str, Function]):
    """Public functions by name; what goes in comes out guarded (`guarding`).

    `prefix` stands before the name of PyTorch's operator: `linalg_det`.
    """

    def __init__(self, prefix: str = "") -> None:
        super().__init__()
        self.prefix = prefix
        self.name_after(_TOP)

    elsewhere: Mapping[str, str] = MappingProxyType({})  # names of another module than the rest

    def name_after(self, package: str) -> None:
        """Let functions say that they are of this package: PyTorch's, where a program knows tautograd by that name."""
        before = getattr(self, "module", None)
        self.module = ".".join(part for part in (package, self.prefix.rstrip("_.")) if part)
        for name, fn in self.items():
            if fn.__module__ == before:
                fn.__module__ = self.elsewhere.get(name, self.module)

    def __setitem__(self, name: str, fn: Function) -> None:
        public = guarded(fn, self.prefix + name)
        super().__setitem__(name, public)
        self._place(public, name)
        declared(public, name)

    def _place(self, fn: Any, name: str) -> None:
        """Let a function say the name that it is found by: pickles look for it there."""
        if not isinstance(fn, FunctionType) or fn.__module__ in (
            FUNCTIONS.module,
            *FUNCTIONS.elsewhere.values(),
        ):
            return
        before = fn.__module__ or f"{_HOME}ops.text"  # a function made of text
        home = fn.__dict__.setdefault("home", before)
        if home.startswith(_HOME) and (self is FUNCTIONS or home == before):
            fn.__module__, fn.__qualname__ = self.elsewhere.get(name, self.module), name
            if fn.__name__.startswith("_"):  # a function of another place has its name already
                fn.__name__ = name


FUNCTIONS = Namespace()  # what `tautograd.<name>` offers
METHODS: dict[str, Function] = {}  # what Tensor offers
LINALG = Namespace("linalg_")  # what `tautograd.linalg.<name>` offers
SPECIAL = Namespace("special_")  # what `tautograd.special.<name>` offers
NN_FUNCTIONAL = Namespace("nn.functional.")  # what `tautograd.nn.functional.<name>` offers

_SPELLINGS = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other"}


def public(
    name: str | None = None,
    *,
    function: bool = True,
    method: bool = True,
    inplace: bool | Op = False,
    out: bool | Function = True,
    namespace: Namespace | None = None,
    aliases: tuple[str, ...] = (),
    number_first: bool = False,
) -> Callable[[Declared], Declared]:
    """Declare a public function on tensors; see the module's docstring.

    `inplace` may be the record whose ufunc writes into a tensor at once where that is all there is to do.
    `number_first`: the function takes a number as its first argument, which a method cannot.
    """

    def declare(fn: Declared) -> Declared:
        labels = (name or fn.__name__, *aliases)
        policy = policy_of(labels, "linalg." if namespace is LINALG else "")
        operator = (namespace.prefix if namespace is not None else "") + labels[0]
        exposed: Any = _parse(fn, out, policy, operator) if function or method else fn
        for label in labels:
            if function:
                (FUNCTIONS if namespace is None else namespace)[label] = exposed
            if method and namespace is None:
                attach(
                    label,
                    _of_tensors(label, exposed) if number_first else _method(fn, policy, label),
                )
            if inplace:
                update = inplace.function("update") if isinstance(inplace, Op) else None
                twin = inplace_twin(label, fn, update)
                attach(label + "_", twin)
                if function and label + "_" in _INPLACE_FUNCTIONS:
                    FUNCTIONS[label + "_"] = as_function(twin)
        return exposed  # type: ignore[no-any-return]

    return declare


# The in-place forms that PyTorch also offers as functions.
_INPLACE_FUNCTIONS = {
    "abs_", "acos_", "acosh_", "addmv_", "arccos_", "arccosh_", "arcsin_",
    "arcsinh_", "arctan_", "arctanh_", "gcd_", "lcm_", "ldexp_", "asin_", "asinh_", "atan_", "atanh_", "ceil_",
    "clamp_", "clamp_max_", "clamp_min_", "clip_", "cos_", "cosh_", "deg2rad_", "detach_",
    "dropout_", "erf_", "erfc_", "exp_", "exp2_", "expm1_", "fill_", "fix_", "floor_", "frac_",
    "log_", "log10_", "log1p_", "log2_", "logit_", "nan_to_num_", "neg_", "negative_", "put_",
    "rad2deg_", "reciprocal_", "relu_", "round_", "rsqrt_", "sigmoid_", "sin_", "sinc_",
    "sinh_", "sqrt_", "square_", "tan_", "tanh_", "threshold_", "trunc_", "xlogy_", "zero_",
    "i0_", "index_put_", "celu_", "selu_", "rrelu_",
}  # fmt: skip


def attach(name: str, fn: Function) -> None:
    METHODS[name] = fn = guarded(fn, name, method=True)
    setattr(Tensor, name, fn)
    declared(fn, name, method=True)


def _names(fn: Function) -> frozenset[str]:
    code = fn.__code__
    return frozenset(code.co_varnames[: code.co_argcount + code.co_kwonlyargcount])


def _method(fn: Function, policy: Policy | None, name: str) -> Function:
    """The function as a method, which takes no `out`; itself, if nothing in it has two spellings."""
    several = frozenset(_SPELLINGS.values()) - {"input"}
    if _names(fn) & several or policy is not None:
        return _parse(fn, False, policy, name, method=True)
    return fn


def _parse(
    fn: Function,
    takes_out: bool | Function,
    policy: Policy | None,
    name: str,
    method: bool = False,
) -> Function:
    names = _names(fn)
    truths = truth_values_of(fn)
    first_truth = min(truths.values(), default=0)
    casting = NEVER if policy is None else EVER_USED
    if "out" in names:
        takes_out = False

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        out = None
        try:
            if kwargs:
                out = kwargs.pop("out", None) if takes_out else None
                for alias in _SPELLINGS.keys() & kwargs.keys():
                    if alias not in names and _SPELLINGS[alias] in names:
                        kwargs[_SPELLINGS[alias]] = kwargs.pop(alias)
                if out is not None:
                    check_takes_out(name)
                    if modes.deferred is not None:
                        modes.deferred.force("`out=`")
                    if modes.function_modes:
                        from ..._autograd.function_modes import shown

                        return shown(call, args, {**kwargs, "out": out})
                    if callable(takes_out):
                        args = takes_out(fn.__name__, args, kwargs, out)
                    return write_out(fn, args, kwargs, out)
            if truths and (kwargs or len(args) > first_truth):
                check_given(name, truths, args, kwargs)
            if casting and policy is not None and modes.lower is not None:
                return cast_and_call(policy, fn, args, kwargs)
            return fn(*args, **kwargs)
        except Exception as error:
            if out is not None:
                kwargs["out"] = out
            again = with_numbers(error, fn, name, args, kwargs, method)
            if again is None:
                other = answered(error, name, args, kwargs, method)
                if other is not None:
                    return other[0]
                explain(error, name, args, kwargs, method)
                raise
        try:
            return call(*again[0], **again[1])  # where nothing is left to replace
        except Exception as error:
            explain(error, name, *again, method)
            raise

    return marked(call)


# Functions that PyTorch computes aside when `out` is given: which results are then in C order.
CONTIGUOUS_OUT: dict[str, Callable[..., bool]] = {}


def write_out(fn: Function, args: Any, kwargs: Any, out: Any) -> Any:
    """Compute, then write into the `out` tensor(s), resized if their shape differs."""
    several = isinstance(out, (tuple, list))
    targets = out if several else (out,)
    differentiated = modes.grad and any(map(_requires_grad, (*args, *kwargs.values(), *targets)))
    if modes.forward_level:
        for value in (*args, *kwargs.values(), *targets):
            if isinstance(value, Tensor) and value._tangents:
                raise NotImplementedError(
                    f"Trying to use forward AD with {fn.__name__}_out that does not support it "
                    "because it is an out= function"
                )
    for target in targets:
        if isinstance(target, Tensor):
            given = args[0] if args and isinstance(args[0], (tuple, list)) else args
            refuse = refuse_any_overlap if fn.__name__ in GATHERING else refuse_partial_overlap
            refuse(target, *given, *kwargs.values())
    results = as_it_is(fn, args, kwargs) if EVER_USED else fn(*args, **kwargs)
    if differentiated and not _is_constant(results, (*args, *kwargs.values())):
        raise RuntimeError(
            f"{fn.__name__}(): functions with out=... arguments don't support automatic "
            "differentiation, but one of the arguments requires grad."
        )
    if fn.__name__ in CONTIGUOUS_OUT and CONTIGUOUS_OUT[fn.__name__](results, *args):
        results._data = np.copy(results._data, order="C")
    if several and fn.__name__ in _COPIES_OF_PARTS and len(out) != len(results):
        raise RuntimeError(
            f"{fn.__name__}_out expected an out= argument of size {len(results)}, got size {len(out)}"
        )
    if several and isinstance(results, tuple) and len(out) != len(results):
        raise TypeError(f"expected tuple of {len(results)} elements but got {len(out)}")
    if several != isinstance(results, tuple):
        if fn.__name__ == "nonzero":
            raise RuntimeError("nonzero does not support the out kwarg when as_tuple is True")
        raise TypeError(
            f"{fn.__name__}() received an invalid combination of arguments - got "
            f"(out={type(out).__name__})"
        )
    if several:
        for result, target in zip(results, out, strict=True):  # all of them, before any is written
            _check_result(fn.__name__, result, target)
        for result, target in zip(results, out, strict=True):
            write_result(fn.__name__, result, target)
        kind = type(results)
        return None if fn.__name__ in _COPIES_OF_PARTS else getattr(kind, "out_type", kind)(out)
    return write_result(fn.__name__, results, out)


def _requires_grad(value: Any) -> bool:
    return isinstance(value, Tensor) and value.requires_grad


def _is_constant(results: Any, inputs: tuple[Any, ...]) -> bool:
    """Whether there is nothing to differentiate: a comparison, a place, or what has no gradient of inputs that ask."""
    parts = results if isinstance(results, tuple) else (results,)
    if any(map(_requires_grad, parts)):
        return False
    return any(map(_requires_grad, inputs)) or all(x.dtype is bool_ for x in parts)


_COPIES_OF_PARTS = ("split_copy", "split_with_sizes_copy", "unbind_copy")
"""With `out=` these give nothing back, in PyTorch."""


def _check_result(name: str, result: Tensor, out: Any) -> None:
    """Refuse an `out` that a result cannot be written into."""
    if not isinstance(out, Tensor):
        raise TypeError(f"{name}(): argument 'out' must be Tensor, not {type(out).__name__}")
    if out._is_inference and not modes.inference:
        check_writable(out)
    check_out(name, result.dtype, out.dtype)
    if type(out._data) is not np.ndarray:
        check_layout(name, out._data, result._data)
    if not can_cast(result.dtype, out.dtype):
        raise refuse_cast(name, result.dtype, out.dtype)
    if is_meta(result._data) is not is_meta(out._data):
        raise RuntimeError(
            f"Attempting to copy from device {result.device} to device {out.device}, but cross-device "
            "copies are not allowed!"
        )
    if out._data.shape == result._data.shape:
        refuse_overlap(out._data)


def write_result(name: str, result: Tensor, out: Tensor) -> Tensor:
    _check_result(name, result, out)
    if out._data.shape != result._data.shape:
        warn_of_resize(out, result._data.shape)
        out._data = np.empty_like(result._data, dtype=out._data.dtype)
    modes.quietly(np.copyto, out._data, result._data, casting="unsafe")
    bump(out)
    return out


def warn_of_resize(out: Tensor, shape: Any) -> None:
    """Say that an `out=` with elements of another shape takes a new one."""
    if not out._data.size or tuple(out._data.shape) == tuple(shape):
        return
    import warnings

    warnings.warn(
        f"An output with one or more elements was resized since it had shape "
        f"{list(out._data.shape)}, which does not match the required output shape "
        f"{list(shape)}. This behavior is deprecated, and in a future PyTorch "
        "release outputs will not be resized unless they have zero elements. You can explicitly "
        "reuse an out tensor t by resizing it, inplace, to zero elements with t.resize_(0).",
        UserWarning,
        stacklevel=warning_level(),
    )


def _spoken(tensor: Tensor) -> str:
    """PyTorch's C++ name of a dtype, as its cast errors have it."""
    from ..._arrays.dtypes import LEGACY_NAMES

    return LEGACY_NAMES[tensor.dtype]


def _of_tensors(name: str, fn: Function) -> Function:
    @functools.wraps(fn)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(self, Tensor):
            raise no_method(name, (self,))
        return fn(self, *args, **kwargs)

    return method


def _check_room(self: Tensor, others: tuple[Any, ...]) -> None:
    """Where an operation lacks a kernel: PyTorch asks first whether the result could be written."""
    from .promotion import common_dtype

    tensors = [x for x in others if isinstance(x, Tensor)]
    shapes = [x._data.shape for x in (self, *tensors)]
    try:
        shape = np.broadcast_shapes(*shapes)
    except ValueError:
        from .elementwise_calls import check_broadcast

        check_broadcast(*shapes)
        raise
    _check_shape(self, shape)
    numbers = [x for x in others if isinstance(x, (int, float, complex)) and not tensors]
    kind = common_dtype((self, *tensors, *numbers))
    if not can_cast(kind, self.dtype):
        raise RuntimeError(_no_cast(kind, self.dtype))


def _check_shape(self: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(shape) != tuple(self._data.shape):
        raise RuntimeError(
            f"output with shape {list(self._data.shape)} doesn't match the broadcast shape "
            f"{list(shape)}"
        )


def _no_cast(result: Any, target: Any) -> str:
    from ..._arrays.dtypes import LEGACY_NAMES

    return (
        f"result type {LEGACY_NAMES[result]} can't be cast to the desired output type "
        f"{LEGACY_NAMES[target]}"
    )


def as_function(twin: Function) -> Function:
    """An in-place method as a function, whose first argument can be given by name."""

    @functools.wraps(twin)
    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        return twin(input, *args, **kwargs)

    return call


def inplace_twin(name: str, fn: Function, update: Function | None = None) -> Function:
    """`x.add_(…)` from `add(x, …)`: the same operation, written into x.

    `update(x, y)` does it at once where nothing has to be checked, and says whether it has.
    """

    refuse_shared = refuse_any_overlap if name in SCATTERING else refuse_partial_overlap
    check = BEFORE.get(name)
    truths = truth_values_of(fn)

    @functools.wraps(fn)
    def twin(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            if not isinstance(self, Tensor):
                raise no_method(name + "_", (self,))
            if update is not None and not kwargs and len(args) == 1 and update(self, args[0]):
                return self
            if modes.deferred is not None:
                return modes.deferred.call(twin, (self, *args), kwargs)
            if EVER_USED and modes.lower is not None:
                return as_it_is(twin, (self, *args), kwargs)
            others = (*args, *kwargs.values())
            check_writable(self, *others)
            refuse_shared(self, *others)
            if check is not None:
                check(self, *args, **kwargs)
            if truths:
                check_given(name + "_", truths, (self, *args), kwargs)
            if modes.special:
                if modes.function_modes:  # called by its function, which no method is in front of
                    from ..._autograd.function_modes import shown

                    return shown(twin, (self, *args), kwargs)
                from ..._autograd.packing import overwriting

                return write_into(self, overwriting(self, fn, args, kwargs), name)
            try:
                result = fn(self, *args, **kwargs)
            except RuntimeError as error:  # NotImplementedError is one
                refused = isinstance(error, NotImplementedError)
                if (refused or str(error) == "ZeroDivisionError") and name not in OWN_SHAPE:
                    _check_room(self, others)
                raise
            return write_into(self, result, name)
        except Exception as error:
            again = with_numbers(error, fn, name + "_", (self, *args), kwargs, method=True)
            if again is None:
                explain(error, name + "_", (self, *args), kwargs, method=True)
                raise
        try:
            return twin(*again[0], **again[1])  # where nothing is left to replace
        except Exception as error:
            explain(error, name + "_", *again, method=True)
            raise

    marked(twin)
    twin.__name__ = twin.__qualname__ = name + "_"
    twin.__doc__ = f"In-place version of `{name}`."
    return twin


def write_into(self: Tensor, result: Tensor, name: str, history: bool = True) -> Tensor:
    """Put a freshly computed result into a tensor's memory, and its history with it."""
    if modes.exporter is not None:
        modes.exporter.written(self, result)
    target = self._data
    if result is self:
        bump(self, 3)
        return self
    data = result._data
    if data.shape != target.shape:
        _check_shape(self, data.shape)
    if data.dtype != target.dtype and not can_cast(result.dtype, self.dtype):
        raise RuntimeError(
            f"result type {_spoken(result)} can't be cast to the desired output type {_spoken(self)}"
        )
    if 0 in target.strides:
        check_expanded(name, target)
    keep_original(self, result._node)
    if data.dtype == target.dtype:
        np.copyto(target, data)
    else:
        modes.quietly(np.copyto, target, data, casting="unsafe")
    bump(self, 3)
    save_written_output(self, result, result._node)
    if history:
        adopt(self, result)
    return self
