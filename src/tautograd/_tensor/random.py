"""New random tensors: PyTorch's numbers for the same seed, from the array-level `_random`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import _random
from .._arrays.checks import require_nonnegative
from .._arrays.devices import is_meta
from .._arrays.dtypes import LEGACY_NAMES, get_default_dtype, int64
from .._arrays.dtypes import dtype as Dtype
from .._autograd.modes import modes
from .._ops.declare.elementwise_calls import check_broadcast
from .._ops.declare.memory_overlap import refuse_overlap
from .._ops.declare.out_argument import warn_of_resize
from .._ops.declare.promotion import plain_number, real_number
from .arguments import (
    as_size,
    checked_size,
    finish,
    number,
    put,
    require_strided,
    size_argument,
    type_name,
    wanted_dtype,
)
from .draws import bound, draw, fill_like, refuse_same
from .filled import check_kind_of_out, function, into
from .random_nodes import drawn, successes
from .random_state import Generator, checked, default_generator, source_for
from .tensor import Tensor

__all__ = ["Generator", "default_generator"]


def _dtype_for(name: str, dtype: Any, out: Any, default: Dtype) -> Dtype:
    kind = wanted_dtype(name, dtype)
    if out is None:
        return kind or default
    check_kind_of_out(out, kind)
    found: Dtype = out.dtype
    return found


def _given(values: Any, out: Any, name: str, requires_grad: bool = False) -> Tensor:
    if out is None:
        return finish(values, requires_grad)
    target: Tensor = out
    if is_meta(values) and not target.is_meta:
        raise RuntimeError(
            f"Attempting to copy from device meta to device {target.device}, but cross-device copies "
            "are not allowed!"
        )
    if target._data.shape == values.shape:
        refuse_overlap(target._data)
    values = values.astype(target._data.dtype, copy=False)  # may fail: before `out` is touched
    into(target, tuple(values.shape), name)[...] = values
    return target


def _invalid(name: str, args: Any, options: Any = None) -> TypeError:
    got = [type_name(a) for a in args] + [f"{k}={type_name(v)}" for k, v in (options or {}).items()]
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({', '.join(got)}), but "
        f"expected one of:\n * {_FORMS[name]}\n"
    )


_FORMS = {
    "rand": "(tuple of ints size, *, torch.Generator generator = None, …)",
    "randn": "(tuple of ints size, *, torch.Generator generator = None, …)",
    "randint": "(int low = 0, int high, tuple of ints size, *, torch.Generator generator = None, "
    "…)",
    "normal": "(Tensor or float mean, Tensor or float std, tuple of ints size, …)",
}


def _variadic(name: str, sampler: Any, doc: str) -> Any:
    def create(
        *size: Any,
        generator: Any = None,
        out: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        **options: Any,
    ) -> Tensor:
        require_strided(name, layout)
        if not size and "size" not in options:
            raise _invalid(name, size, options)
        sizes = size_argument(name, size, options)
        if generator is not None and not isinstance(generator, Generator):
            options["generator"] = generator
        if options:
            raise _invalid(name, size, options)
        kind = _dtype_for(name, dtype, out, get_default_dtype())
        source = source_for(generator, device, out)
        values = draw(sampler, source, checked_size(name, sizes), dtype=kind.numpy)
        return _given(values, out, name, requires_grad)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = doc
    return function(create)


rand = _variadic("rand", _random.uniform, "Uniform numbers in [0, 1).")
randn = _variadic("randn", _random.normal, "Normal numbers of mean 0 and variance 1.")


@function
def randint(
    *args: Any,
    low: Any = None,
    high: Any = None,
    size: Any = None,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Whole numbers from `low` (0) up to but not including `high`: `randint(low, high, size)`."""
    require_strided("randint", layout)
    *bounds, size = (*args, size) if size is not None else args or (None,)
    if len(bounds) == 1 and low is not None:
        bounds = [low, *bounds]
    elif len(bounds) == 1 and high is not None:
        bounds = [*bounds, high]
    elif not bounds:
        bounds = [low or 0, high]
    if not 0 < len(bounds) <= 2 or None in bounds:
        raise _invalid("randint", args)
    if not isinstance(size, (tuple, list)):
        raise TypeError(
            f"randint(): argument 'size' (position {max(len(args), 1)}) must be tuple of ints, not "
            f"{type_name(size)}"
        )
    least, end = (_whole("randint", b) for b in ([0, *bounds] if len(bounds) == 1 else bounds))
    kind = _dtype_for("randint", dtype, out, int64)
    source = source_for(generator, device, out)
    shape = checked_size("randint", size, False)
    values = draw(_random.randint, source, shape, least, end, dtype=kind.numpy)
    return _given(values, out, "randint", requires_grad)


def _whole(name: str, value: Any) -> int:
    found = number(name, value, "high", 1)
    if isinstance(found, float) and name == "randint":
        raise TypeError(f"{name}(): argument 'high' (position 1) must be int, not float")
    return int(found)


@function
def randperm(
    n: Any,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """The numbers from 0 to `n - 1` in random order."""
    require_strided("randperm", layout)
    try:
        count = as_size("randperm", (n,))[0]
    except TypeError:
        raise TypeError(
            f"randperm(): argument 'n' (position 1) must be int, not {type_name(n)}"
        ) from None
    kind = _dtype_for("randperm", dtype, out, int64)
    source = source_for(generator, device, out)
    values = draw(_random.permutations, source, (count,), dtype=kind.numpy)
    return _given(values, out, "randperm", requires_grad)


# --- with the shape of another tensor ------------------------------------------------------------


def _like(name: str, sampler: Any, doc: str) -> Any:
    def create(
        input: Any,
        *,
        generator: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        pin_memory: bool = False,
        requires_grad: bool = False,
        memory_format: Any = None,
    ) -> Tensor:
        require_strided(name, layout)
        kind = (wanted_dtype(name, dtype) or _tensor(name, input).dtype).numpy
        values = fill_like(input, kind, memory_format, sampler, generator, dtype=kind)
        return finish(values if device is None else put(values, device), requires_grad)

    create.__name__ = create.__qualname__ = name
    create.__doc__ = doc
    return function(create)


def _tensor(name: str, value: Any) -> Tensor:
    if isinstance(value, Tensor):
        return value
    raise TypeError(
        f"{name}(): argument 'input' (position 1) must be Tensor, not {type_name(value)}"
    )


rand_like = _like("rand_like", _random.uniform, "`rand` with the shape and dtype of `input`.")
randn_like = _like("randn_like", _random.normal, "`randn` with the shape and dtype of `input`.")


@function
def randint_like(
    input: Any,
    *bounds: Any,
    low: Any = 0,
    high: Any = None,
    generator: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
    memory_format: Any = None,
) -> Tensor:
    """`randint` with the shape and dtype of `input`: `randint_like(input, low, high)`."""
    require_strided("randint_like", layout)
    if len(bounds) == 2:
        low, high = bounds
    elif bounds:
        low, high = (low, bounds[0]) if high is None else (bounds[0], high)
    kind = (wanted_dtype("randint_like", dtype) or _tensor("randint_like", input).dtype).numpy
    ends = _whole("randint_like", low), _whole("randint_like", high)
    sampler = _random.randint
    values = fill_like(input, kind, memory_format, sampler, generator, *ends, dtype=kind)
    return finish(values if device is None else put(values, device), requires_grad)


# --- from a distribution --------------------------------------------------------------------------


@function
def normal(
    mean: Any = 0.0,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    pin_memory: bool = False,
    requires_grad: bool = False,
) -> Tensor:
    """Normal numbers of this mean and deviation: of one `size`, or one for each given."""
    require_strided("normal", layout)
    if size is not None:
        mean, std = plain_number(mean), plain_number(std)
    given = [v for v in (mean, std) if isinstance(v, Tensor)]
    if not given:
        if size is None:
            raise _invalid("normal", (mean, std))
        kind = _dtype_for("normal", dtype, out, get_default_dtype())
        source = source_for(generator, device, out)
        shape = checked_size("normal", size, False)
        values = draw(_random.normal, source, shape, mean, std, dtype=kind.numpy)
        return _given(values, out, "normal", requires_grad)
    _check_deviation(std)
    if modes.grad and any(v.requires_grad and v.is_complex() for v in given):
        raise RuntimeError(
            "normal does not support automatic differentiation for outputs with complex dtype."
        )
    refuse_same(*(v._data for v in given))
    check_broadcast(*(tuple(v.shape) for v in given))
    shape = np.broadcast_shapes(*(tuple(v.shape) for v in given))
    if isinstance(out, Tensor) and not isinstance(std, Tensor):  # as PyTorch has it, for no other
        shape = np.broadcast_shapes(shape, tuple(out.shape))
    # In this order, each rounded: times the deviation, plus the mean.
    spread = 1.0 if isinstance(std, Tensor) else float(std)
    drawing = checked(generator, given[0]._data)
    values = draw(_random.normal, drawing, shape, 0.0, spread, dtype=given[0]._data.dtype)
    if isinstance(std, Tensor):
        values = np.astype(np.multiply(values, std._data), values.dtype)
    values = np.add(values, mean._data if isinstance(mean, Tensor) else float(mean))
    values = np.astype(values, given[0]._data.dtype, copy=False)
    node = "Normal1" if isinstance(mean, Tensor) else "Normal2"
    return _recorded(node, values, out, "normal", *given)


def _recorded(node: str, values: Any, out: Any, name: str, *sources: Tensor) -> Tensor:
    """Numbers drawn with the parameters in these tensors: new, or written into `out`."""
    if out is None:
        return drawn(node, values, *sources)
    if len(sources) > 1:
        warn_of_resize(out, values.shape)
    return _given(values, out, name)


def _check_deviation(std: Any) -> None:
    if isinstance(std, Tensor):
        if std.dtype.is_complex:
            raise RuntimeError("normal expects standard deviation to be non-complex")
        require_nonnegative(
            std._data,
            lambda _: RuntimeError("normal expects all elements of std >= 0.0"),
            waits=True,
        )
    elif not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")


@function
def bernoulli(input: Any, p: Any = None, *, generator: Any = None, out: Any = None) -> Tensor:
    """One with the probability at its place in `input` (or `p` everywhere), else zero."""
    source = _tensor("bernoulli", input)
    if p is not None:
        kind = source._data.dtype
        shape = tuple(source.shape)
        p = real_number(p)
        values = draw(_random.bernoulli, checked(generator, source._data), shape, p, dtype=kind)
    else:
        coins: Any = _random.bernoulli_from
        if isinstance(out, Tensor):  # its dtype is what is drawn in
            coins = bound(coins, dtype=out._data.dtype)
        values = _from_values(coins, source._data)(generator)
    return _recorded("Bernoulli0", values, out, "bernoulli", source)


@function
def poisson(input: Any, generator: Any = None) -> Tensor:
    """How often something happens whose rate is at its place in `input`."""
    source = _tensor("poisson", input)
    return drawn("Poisson0", _from_values(_random.poisson, source._data)(generator), source)


@function
def binomial(count: Any, prob: Any, generator: Any = None) -> Tensor:
    """How many of `count` trials succeed, each with probability `prob`."""
    trials, chance = _tensor("binomial", count), _tensor("binomial", prob)
    values = _from_values(_random.binomial, trials._data, chance._data)(generator)
    return successes(values, trials, chance)


@function
def multinomial(
    input: Any,
    num_samples: Any,
    replacement: bool = False,
    *,
    generator: Any = None,
    out: Any = None,
) -> Tensor:
    """The places of `num_samples` draws from each row, with the row's values as weights."""
    weights = _tensor("multinomial", input)
    if isinstance(out, Tensor) and out.dtype is not int64:
        raise RuntimeError(f"multinomial expects Long tensor out, got: {LEGACY_NAMES[out.dtype]}")
    if weights.is_meta:
        from .filled import empty

        places = empty((*weights.shape[:-1], int(num_samples)), dtype=int64, device="meta")
        return _given(places._data, out, "multinomial")
    sampler = _from_values(
        bound(_random.multinomial, num_samples=int(num_samples), replacement=replacement),
        weights._data,
    )
    return _given(np.copy(sampler(generator), order="C"), out, "multinomial")


def _from_values(sampler: Any, *values: Any) -> Any:
    """A sampler of one draw for each value, or row of them, also when the values are a batch."""
    from .draws import per_example

    return lambda generator: per_example(sampler, checked(generator, values[0]), *values)


def _method(name: str) -> None:
    from .._ops.declare.public import FUNCTIONS, attach

    attach(name, FUNCTIONS[name])


for _name in ("bernoulli", "multinomial"):
    _method(_name)
