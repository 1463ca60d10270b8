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

from ..._autograd.autocast_state import EVER_USED
from ..._autograd.modes import modes
from ..._tensor.tensor import Tensor
from .autocasting import NEVER, Policy, cast_and_call, policy_of
from .guarding import explain, guarded, marked, no_method, with_numbers
from .in_place_twins import as_function, inplace_twin
from .out_argument import write_out
from .out_dtypes import check_takes_out
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
            replaced = with_numbers(error, fn, name, args, kwargs, method)
            if replaced is None:
                other = answered(error, name, args, kwargs, method)
                if other is not None:
                    return other[0]
                explain(error, name, args, kwargs, method)
                raise
        try:
            return call(*replaced[0], **replaced[1])  # where nothing is left to replace
        except Exception as error:
            explain(error, name, *replaced, method)
            raise

    return marked(call)


def _of_tensors(name: str, fn: Function) -> Function:
    @functools.wraps(fn)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(self, Tensor):
            raise no_method(name, (self,))
        return fn(self, *args, **kwargs)

    return method
