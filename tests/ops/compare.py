"""Whether two engines agree on a call, and if not, where.

Compared for every item: dtype, shape, values within the derived tolerance (see `tolerance`), NaN
and infinities in the same places, whether it requires a gradient and the name of its node. The
sign of zero is compared for the outputs of real elementwise operations. Strides are compared for
every output (`test_strides` does so in more layouts, and for the gradients of leaves), sharing of
memory for those of views and of elementwise operations.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from tests.kernels import onednn_has_bfloat16

from .alone import values_alone
from .arrays import DIFFERENTIABLE
from .cases import Call, is_elementwise, tensors_in
from .departures import (
    MISSHAPEN_IN_PYTORCH,
    NODES_VARY,
    NOISE_IN_PYTORCH,
    STANDS_FOR,
    WRONG_IN_PYTORCH,
    extends,
    says_otherwise,
)
from .exact import exact_values
from .measure import Item, Outcome
from .tolerance import Condition, epsilon, roundings, smallest, underflow

ERRORS = (RuntimeError, TypeError, IndexError, ValueError, NotImplementedError)


def disagreement(
    call: Call, want: Outcome, got: Outcome, condition: Condition, words: bool = True
) -> str | None:
    """What is wrong with `got` (tautograd's) given `want` (PyTorch's), or None.

    `words`: an error must be PyTorch's in class and key phrase; else it must be one that PyTorch has.
    """
    if want.error is not None:
        problem = _error_disagreement(call, want, got, words)
        if problem:
            return problem
    elif got.error is not None:
        return f"{got.stage} raised {type(got.error).__name__}: {_line(got.error)}"
    # What came before an error is compared all the same.
    for key in want.items.keys() ^ got.items.keys() if want.error is None else ():
        # Where nothing depends on anything, one engine says so and the other says zero.
        if not (key.startswith("second") and _is_zero(want.items.get(key) or got.items.get(key))):
            return f"gave {list(got.items)} for {list(want.items)}"
    if call.dtype in NOISE_IN_PYTORCH.get(call.op.name, ((), ""))[0]:
        return None
    wrong = WRONG_IN_PYTORCH.get(call.op.name)
    coarse = coarsest(call, want)
    for key in [k for k in want.items if k in got.items]:
        if wrong is not None and wrong.concerns(key, call.sample, call.dtype):
            continue
        problem = _item_disagreement(call, key, want.items[key], got.items[key], condition, coarse)
        if problem:
            return f"{key}: {problem}"
    return None


def _error_disagreement(call: Call, want: Outcome, got: Outcome, words: bool) -> str | None:
    theirs = f"PyTorch raises in {want.stage}: {type(want.error).__name__}: {_line(want.error)}"
    if got.error is None:
        dtypes = {call.dtype, *(t.dtype for t in tensors_in(call.sample))}
        if extends(want.error, dtypes, want.stage):
            return None
        return f"computed, where {theirs}"
    if not words and got.stage == want.stage and isinstance(got.error, ERRORS):
        return None
    # Whoever catches PyTorch's class must catch ours, and find PyTorch's key phrase in its text.
    is_same = got.stage == want.stage and isinstance(got.error, type(want.error))
    if is_same and has_key_phrase(_line(got.error), _line(want.error)):
        return None
    if got.stage == want.stage and says_otherwise(call.op.name, want.error, got.error):
        return None
    return f"{got.stage} raised {type(got.error).__name__}: {_line(got.error)}, where {theirs}"


def has_key_phrase(ours: str, theirs: str) -> bool:
    """Whether three words in a row of PyTorch's are in our sentence, or all if there are fewer.

    Which kernel of its own PyTorch names (`"round_cpu" not implemented for 'Long'`) does not matter.
    """
    wanted, found = (re.findall(r"[\w']+", text) for text in (theirs, ours))
    length = min(3, len(wanted))
    runs = {tuple(found[i : i + length]) for i in range(len(found))}
    return any(tuple(wanted[i : i + length]) in runs for i in range(len(wanted) - length + 1))


def _line(error: Any) -> str:
    return (str(error).strip().splitlines() or [""])[0][:160]


def coarsest(call: Call, outcome: Outcome) -> str:
    """The least precise dtype that a gradient has passed through: that of an output; where operands
    are of two dtypes also theirs, in which rules compute (integers as float32)."""
    dtypes = [v.dtype for k, v in outcome.items.items() if k.startswith("out") and is_inexact(v)]
    mixed = [t.dtype for t in tensors_in(call.sample) if t.dtype is not None]
    if mixed:
        dtypes += [d if d in _INEXACT else "float32" for d in mixed]
    return max(dtypes, key=epsilon, default="float64")


def is_inexact(item: Any) -> bool:
    return isinstance(item, Item) and item.dtype in _INEXACT


def _item_disagreement(
    call: Call, key: str, want: Any, got: Any, condition: Condition, coarse: str
) -> str | None:
    if isinstance(want, Item) != isinstance(got, Item):
        if key.startswith("second") and _is_zero(want) and _is_zero(got):
            return None
        return f"{_shown(got)} for {_shown(want)}"
    if not isinstance(want, Item):
        return _plain_disagreement(want, got, condition.dtype)
    if key.startswith("out"):
        if want.requires_grad != got.requires_grad:
            return f"requires_grad {got.requires_grad} for {want.requires_grad}"
        if want.node != got.node and not _node_varies(call, want.node, got.node):
            return f"node {got.node} for {want.node}"
    if STANDS_FOR.get(want.dtype, want.dtype) != got.dtype:
        return f"dtype {got.dtype} for {want.dtype}"
    if want.array.shape != got.array.shape:
        if call.op.name in MISSHAPEN_IN_PYTORCH and not want.array.size and not got.array.size:
            return None
        return f"shape {got.array.shape} for {want.array.shape}"
    if key.startswith("out"):
        shares = call.op.is_view or is_elementwise(call.op)
        for what in ("strides", "aliases") if shares else ("strides",):
            if getattr(want, what) != getattr(got, what):
                return f"{what} {getattr(got, what)} for {getattr(want, what)}"
    return value_disagreement(call, key, want, got, condition, coarse)


def _node_varies(call: Call, want: str | None, got: str | None) -> bool:
    """Whether a node has the name that PyTorch's has on a CPU with more of oneDNN's kernels."""
    varies = NODES_VARY.get(call.op.name)
    return (
        varies is not None
        and call.dtype in varies.dtypes
        and not onednn_has_bfloat16()
        and (got, want) == (varies.with_onednn, varies.without)
    )


def _plain_disagreement(want: Any, got: Any, dtype: str) -> str | None:
    if type(want) is not type(got):
        return f"{got!r} for {want!r}"
    if isinstance(want, (float, complex)):
        same = np.isclose(got, want, rtol=8 * epsilon("float32"), atol=0, equal_nan=True)
    else:
        same = want == got
    return None if same else f"{got!r} for {want!r}"


def _is_zero(item: Any) -> bool:
    return item is None or (isinstance(item, Item) and not np.any(item.array))


def _shown(item: Any) -> str:
    return f"a {item.dtype} tensor {item.array.shape}" if isinstance(item, Item) else repr(item)


def value_disagreement(
    call: Call, key: str, want: Item, got: Item, condition: Condition, coarse: str
) -> str | None:
    a, b = _wide(want.array), _wide(got.array)
    wrong = _differs(call, key, want, a, b, None, coarse)
    if np.any(wrong):
        # What decides, from cheap to dear: the exact values, PyTorch's own ones one at a time, and
        # the condition of what is left.
        exact = exact_values(call, key, wrong, want.dtype)
        if exact is not None:
            wrong &= _differs(call, key, want, exact, b, None, coarse)
        references = [a if exact is None else np.where(exact == exact, exact, a)]
        if (
            np.any(wrong)
            and key == "out0"
            and (alone := values_alone(call, wrong, condition.fn)) is not None
        ):
            references.append(alone)
        for reference in references:
            if np.any(wrong):
                wrong &= _differs(call, key, want, reference, b, condition, coarse)
    if not np.any(wrong):
        return None
    where = tuple(int(i) for i in np.argwhere(wrong)[0])
    return f"{b[where]!r} for {a[where]!r} at {where} ({int(np.sum(wrong))} of {a.size} differ)"


def _differs(
    call: Call, key: str, want: Item, a: Any, b: Any, condition: Condition | None, coarse: str
) -> Any:
    """Where `b` is not what `a` allows."""
    if want.dtype not in _INEXACT:
        return a != b if a.dtype != object else ~_congruent(a, b, 256**want.array.itemsize)
    through = want.dtype if key.startswith("out") else max(want.dtype, coarse, key=epsilon)
    wrong = apart(call, key, through, a, b, condition)
    if key.startswith("out") and is_elementwise(call.op) and a.dtype.kind == "f":
        wrong = wrong | ((a == 0) & (b == 0) & (np.signbit(a) != np.signbit(b)))
    return wrong


@np.vectorize
def _congruent(a: Any, b: Any, wraps: Any) -> bool:
    """Whether two whole numbers are one when they wrap around; NaN is none."""
    return isinstance(a, int) and (a - int(b)) % int(wraps) == 0


_INEXACT = frozenset((*DIFFERENTIABLE, *STANDS_FOR))


def _wide(array: np.ndarray) -> np.ndarray:
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.float64) if array.dtype.kind in "fV" else array


def apart(
    call: Call, key: str, dtype: str, a: Any, b: Any, condition: Condition | None = None
) -> Any:
    """Where two inexact arrays differ by more than their tolerance (without a condition: S = 0)."""
    k = roundings(call.op, call.sample, key) * epsilon(dtype)
    with np.errstate(all="ignore"):
        wrong = _exceeds(a, b, k * np.abs(a) + 2 * smallest(dtype))
        if np.any(wrong):
            moves = 0.0 if condition is None else condition.of(key)
            wrong &= _exceeds(a, b, k * (np.abs(a) + moves) + underflow(call, dtype, np.shape(a)))
    return wrong


def _exceeds(a: Any, b: Any, tolerance: Any) -> Any:
    if a.dtype.kind == "c":  # parts that are not finite must agree one by one
        strange = ~np.isfinite(a) | ~np.isfinite(b)
        parts = _exceeds(a.real, b.real, tolerance) | _exceeds(a.imag, b.imag, tolerance)
        return np.where(strange, parts, ~(np.abs(a - b) <= tolerance))
    alike = (a == b) | (np.isnan(a) & np.isnan(b))
    return ~(alike | (np.abs(a - b) <= tolerance))
