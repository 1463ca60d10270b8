"""What all losses share: `reduction`, its deprecated spellings, and records made of a value and slopes.

A loss is a value per element, then all of them, their mean or their sum. `loss_record` makes the
record from the value and its derivative with respect to each input, so that the whole is one node.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from ...._arrays.result_layout import as_iterated
from ...._arrays.sums import add_up
from ...._tensor.tensor import Tensor
from ...._user_code.sites import warning_level
from ...declare.autocasting import autocasting
from ...declare.elementwise_calls import check_broadcast, require_tensor
from ...declare.promotion import plain_number
from ...declare.public import FUNCTIONS, NN_FUNCTIONAL
from ...declare.record import Op
from ...declare.rule_calls import written
from ...declare.samples import Sample, T
from ...declare.signature_line import declared
from ...declare.wrong_argument import WrongArgument

Declared = TypeVar("Declared", bound=Callable[..., Any])

REDUCTIONS = ("none", "mean", "sum")
_NUMBERED: dict[Any, str] = {0: "none", 1: "mean", 2: "sum"}  # as torch.<loss> takes them
_ndarray = np.ndarray
_PLAIN = (np.ndarray, np.generic, float)


def functional(fn: Declared, uncast: Any = None) -> Declared:
    """Declare a function of `nn.functional`; `uncast` is what `autocast` tries instead of casting."""
    NN_FUNCTIONAL[fn.__name__] = autocasting(fn, uncast)
    return NN_FUNCTIONAL[fn.__name__]  # type: ignore[return-value]


def loss(line: str, uncast: Any = None) -> Callable[[Callable[..., Tensor]], Callable[..., Tensor]]:
    """Declare a loss of `nn.functional` by its signature; it is given the reduction that was chosen.

    So no loss reads `size_average` and `reduce`, the deprecated spellings of it.
    """
    old = ("size_average", "reduce") if "size_average" in line else ()
    choice = f"_choose({', '.join(('reduction', *old))})"
    asked = " or ".join((*(f"{name} is not None" for name in old), "reduction not in _known"))

    def declare(compute: Callable[..., Tensor]) -> Callable[..., Tensor]:
        made = declared(
            f"{line} -> Tensor",
            compute,
            doc=compute.__doc__ or "",
            prepare=f"if {asked}: reduction = {choice}",
            dropped=old,
            _choose=chosen_reduction,
            _known=REDUCTIONS,
        )
        return functional(made, uncast)

    return declare


def function(fn: Declared) -> Declared:
    """Declare a function of the top level."""
    FUNCTIONS[fn.__name__] = autocasting(fn)
    return FUNCTIONS[fn.__name__]  # type: ignore[return-value]


# --- the argument --------------------------------------------------------------------------------


def legacy_reduction(size_average: Any, reduce: Any) -> str:
    """What `size_average` and `reduce` mean, with a warning that they will go."""
    average = size_average is None or size_average
    chosen = "none" if reduce is not None and not reduce else "mean" if average else "sum"
    warnings.warn(
        "size_average and reduce args will be deprecated, please use "
        f"reduction='{chosen}' instead.",
        stacklevel=warning_level(),
    )
    return chosen


def chosen_reduction(reduction: Any, size_average: Any = None, reduce: Any = None) -> str:
    """The reduction asked for, one of three."""
    if size_average is not None or reduce is not None:
        reduction = legacy_reduction(size_average, reduce)
    if not isinstance(reduction, str) or reduction not in REDUCTIONS:
        raise ValueError(f"{reduction} is not a valid value for reduction")
    return str(reduction)


class _Unread(int):
    """A number that is declared as a default, and not read."""


UNREAD_MEAN = _Unread(1)
"""The default of the top level's functions: declared as 1, the mean, which PyTorch's parser reads as 0."""


def numbered_reduction(number: Any) -> str:
    """The reduction of a number, as functions of the top level take it."""
    if number is UNREAD_MEAN:
        return "none"
    plain = plain_number(number)
    if not isinstance(plain, int) or isinstance(plain, bool):
        raise WrongArgument(f"argument 'reduction' must be int, not {type(number).__name__}")
    return _NUMBERED.get(plain, "none")


def reduced(loss: Any, reduction: str) -> Any:
    """A tensor of losses: as it is, its mean or its sum."""
    if reduction == "none":
        return loss
    return loss.mean() if reduction == "mean" else loss.sum()


def same_size(input: Tensor, target: Any) -> None:
    """Warn where a target will be broadcast."""
    if not isinstance(target, Tensor):
        if hasattr(target, "size"):  # an array's is a number
            raise TypeError(f"the target must be Tensor, not {type(target).__name__}")
        raise AttributeError(f"'{type(target).__name__}' object has no attribute 'size'")
    if target.size() != input.size():
        shapes = input._data.shape, target._data.shape
        warnings.warn(
            f"Using a target size (torch.Size({list(shapes[1])})) that is different to the input "
            f"size (torch.Size({list(shapes[0])})). This will likely lead to incorrect results due "
            "to broadcasting. Please ensure they have the same size.",
            stacklevel=warning_level(),
        )
        check_broadcast(*shapes)


def require_pair(name: str, input: Any, target: Any) -> None:
    require_tensor(name, input)
    require_tensor(name, target, "target", 2)


# --- records -------------------------------------------------------------------------------------


def fold(values: Any, reduction: str) -> Any:
    """An array of losses: as it is, its mean or its sum."""
    if reduction == "none":
        return values
    total = sum_of(values)
    return total if reduction == "sum" else total / values.size


def sum_of(values: Any) -> Any:
    """The sum of an array; `np.sum` is the longer way, which array types of all kinds know."""
    return add_up(values, axis=None) if type(values) is _ndarray else np.sum(values)


def share(g: Any, count: int, reduction: str) -> Any:
    """The gradient that each of `count` losses gets."""
    return g / count if reduction == "mean" and count else g


def times(fresh: Any, factor: Any) -> Any:
    """A product, in the memory of its first factor where that is a plain array."""
    if type(fresh) is _ndarray and fresh.ndim and isinstance(factor, _PLAIN):
        return np.multiply(fresh, factor, out=fresh)
    return fresh * factor


def loss_record(
    name: str,
    value: Callable[..., Any],
    slopes: dict[str, Callable[..., Any]],
    inputs: tuple[str, ...] = ("x", "y"),
    parameters: tuple[str, ...] = (),
    **record: Any,
) -> Op:
    """A record from `value(x, y, …)` and its partial derivatives, functions of the same arguments."""
    given = ", ".join((*inputs, *parameters))
    scope = {"value": value, "fold": fold, "share": share, "times": times}
    forward = written(f"lambda {given}, reduction: fold(value({given}), reduction)", scope)
    vjp, jvp = {}, {}
    for label, slope in slopes.items():
        own = {**scope, "slope": slope, "back": _back, "along": _along}
        vjp[label] = written(
            f"lambda g, {given}, reduction: back(g, slope({given}), reduction)", own
        )
        jvp[label] = written(
            f"lambda t, {given}, reduction: along(t, slope({given}), reduction)", own
        )
    options = {"public": f"nn.functional.{name}", "layout": as_iterated, **record}
    return Op(name, forward, inputs, vjp=vjp, jvp=jvp, **options)


def _back(g: Any, slope: Any, reduction: str) -> Any:
    return times(slope, share(g, slope.size, reduction))


def _along(t: Any, slope: Any, reduction: str) -> Any:
    return fold(t * slope, reduction)


def loss_samples(
    x: tuple[float, float], y: tuple[float, float], *options: dict[str, Any], y_grad: bool = True
) -> Callable[[], list[Sample]]:
    """Samples in every reduction, with default and with given options."""

    def made() -> list[Sample]:
        def of(shape: tuple[int, ...], layout: str = "contiguous", **more: Any) -> Sample:
            first = T(*shape, low=x[0], high=x[1], layout=layout)
            return Sample(first, T(*shape, low=y[0], high=y[1], seed=1, grad=y_grad), **more)

        plain = [of((2, 3)), of((3,), reduction="none"), of((2, 3), "transposed", reduction="sum")]
        some = [of((2, 2), **{"reduction": r, **o}) for o in options for r in ("mean", "none")]
        return [*plain, of((), reduction="none"), of((0, 2)), of((0, 2), reduction="sum"), *some]

    return made
