"""Do results lie in memory as PyTorch's do, however the operands lie?

One test per record: its samples in every layout of `layouts`, two, three and four dimensions. A
dimension of size one has no visible stride, nor has a tensor without elements. Gradients that
`backward` leaves in `.grad` are compared as well; those that `autograd.grad` returns are compared by
value only (in `test_agreement`), since there PyTorch shows whatever its rule happened to make.
"""

from __future__ import annotations

import warnings
from itertools import islice
from typing import Any

import pytest

from .cases import RECORDS, TAUTOGRAD, TORCH, Call, Engine, record
from .departures import STRIDES_VARY
from .layouts import LAYOUTS, layouts_of, plain
from .measure import Item, cotangent, flatten, measure, visible_strides
from .reporting import Problems

DTYPES = ("float32", "bfloat16", "complex64", "int64")


@pytest.mark.parametrize("name", RECORDS)
def test_results_lie_as_in_pytorch(name: str, tally: Any) -> None:
    problems = Problems(name)
    for label, sample in layouts_of(name):
        for dtype in DTYPES:
            problems.add(label, _difference(name, sample, dtype), dtype)
            tally("layouts compared with PyTorch")
    problems.fail_if_any()


def _difference(name: str, sample: Any, dtype: str) -> str | None:
    want = measure(Call(TORCH, record(name), sample, dtype, False), 0)
    if want.error is not None:
        return None  # `test_agreement` compares errors
    got = measure(Call(TAUTOGRAD, record(name), sample, dtype, False), 0)
    if got.error is not None:
        usual = measure(Call(TAUTOGRAD, record(name), plain(sample), dtype, False), 0)
        if usual.error is not None:
            return None  # not because of the layout: more dimensions than it is defined for
        return f"raised {type(got.error).__name__}: {got.error}"
    varying = STRIDES_VARY.get(name)
    for key, a in want.items.items():
        b = got.items[key]
        if not isinstance(a, Item) or a.strides == b.strides:
            continue
        if varying is None or a.array.ndim != varying.ndim:
            return f"{key}: strides {b.strides} for {a.strides}"
    return None


@pytest.mark.parametrize("name", RECORDS)
def test_gradients_of_leaves_lie_as_in_pytorch(name: str, tally: Any) -> None:
    problems = Problems(name)
    for label, sample in islice(layouts_of(name), 3 * len(LAYOUTS)):  # of one sample, or of three
        want, got = (_after_backward(engine, name, sample) for engine in (TORCH, TAUTOGRAD))
        problems.add(label, None if want in (got, None) else f"strides {got} for {want}")
        tally("gradients' layouts compared with PyTorch")
    problems.fail_if_any()


def _after_backward(engine: Engine, name: str, sample: Any) -> list[Any] | None:
    """The strides of results and of every `.grad`; None where the engine refuses."""
    call = Call(engine, record(name), sample, "float64", True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outs = [o for o in flatten(call.run(), engine) if engine.is_tensor(o)]
            roots = [(i, o) for i, o in enumerate(outs) if o.requires_grad]
            gradients = [cotangent(call, o, i, False) for i, o in roots]
            engine.module.autograd.backward([o for _, o in roots], gradients)
    except Exception:
        return None
    found = [*outs, *(leaf.grad for leaf in call.leaves)]
    return [x if x is None else visible_strides(engine, x, engine.array(x)) for x in found]
