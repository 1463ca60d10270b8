"""Connectionist temporal classification: the likelihood of a label sequence over all alignments.

Between and around the labels stand blanks, so a target of S labels has 2 S + 1 states. `_reach`
goes forward in time with the log-likelihood of being in each state, `_rest` backward with that of
what is left; together they say how likely each state is at each time, which is the gradient. Both
run over all examples of a batch at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...._arrays.checks import require_all, require_nonnegative
from ...._autograd.apply import apply
from ...._tensor.tensor import Tensor, make
from ...declare.elementwise_calls import refuse, require_tensor
from ...declare.public import FUNCTIONS
from ...declare.record import Op
from ...declare.samples import Sample, T
from ...declare.undefined_dtypes import no_kernel
from ...indexing.gathering import scatter_add_op
from .reduction import UNREAD_MEAN, chosen_reduction, function, functional, numbered_reduction

_NEVER = -1e30  # the log-likelihood of what cannot be: finite, so that it has derivatives

# --- states --------------------------------------------------------------------------------------


def _states(targets: Any, blank: int) -> Any:
    """The labels with blanks between and around them: (N, 2 S + 1)."""
    count, labels = targets.shape
    paired = np.stack([np.full_like(targets, blank), targets], axis=-1)
    last = np.full_like(targets, blank, shape=(count, 1))
    return np.concatenate([np.reshape(paired, (count, 2 * labels)), last], axis=1)


def _emissions(x: Any, states: Any) -> Any:
    """The log-probability of each state's label at each time: (T, N, states)."""
    shape = (x.shape[0], *states.shape)
    return np.take_along_axis(x, np.broadcast_to(np.expand_dims(states, 0), shape), 2)


def _skips(states: Any, blank: int) -> Any:
    """States that may be entered from two before: a label unlike the last one."""
    unlike = np.logical_and(states[:, 2:] != states[:, :-2], states[:, 2:] != blank)
    none = np.zeros_like(unlike, shape=(states.shape[0], 2))
    return np.concatenate([none[:, : states.shape[1]], unlike], axis=1)


def _places(states: Any) -> Any:
    """0, 1, … along the states."""
    return np.cumsum(np.ones_like(states), axis=1) - 1


def _at_end(states: Any, target_lengths: Any) -> Any:
    """The states that a complete sequence may end in: its last label and the blank after it."""
    last = 2 * np.expand_dims(target_lengths, 1)
    places = _places(states)
    return np.logical_or(places == last, places == last - 1)


def _later(a: Any, by: int) -> Any:
    never = np.full_like(a, _NEVER, shape=(a.shape[0], by))
    return (
        np.concatenate([never, a[:, :-by]], axis=1) if a.shape[1] > by else never[:, : a.shape[1]]
    )


def _earlier(a: Any, by: int) -> Any:
    never = np.full_like(a, _NEVER, shape=(a.shape[0], by))
    return np.concatenate([a[:, by:], never], axis=1) if a.shape[1] > by else never[:, : a.shape[1]]


def _reach(emitted: Any, states: Any, skips: Any, input_lengths: Any) -> list[Any]:
    """For each time, the log-likelihood of all ways into each state."""
    now = np.where(_places(states) <= 1, emitted[0], _NEVER)
    found = [now]
    for time in range(1, emitted.shape[0]):
        two = np.where(skips, _later(now, 2), _NEVER)
        step = np.logaddexp(np.logaddexp(now, _later(now, 1)), two) + emitted[time]
        now = np.where(np.expand_dims(input_lengths > time, 1), step, now)
        found.append(now)
    return found


def _rest(emitted: Any, skips: Any, ends: Any, input_lengths: Any) -> list[Any]:
    """For each time, the log-likelihood of all ways on from each state, with what it emits."""
    times = emitted.shape[0]
    onto = np.where(skips, 0, _NEVER)
    now = np.full_like(emitted[0], _NEVER)
    found = [now] * times
    for time in range(times - 1, -1, -1):
        step = np.logaddexp(np.logaddexp(now, _earlier(now, 1)), _earlier(now + onto, 2))
        last = np.expand_dims(input_lengths == time + 1, 1)
        now = np.where(last, np.where(ends, 0, _NEVER), step) + emitted[time]
        found[time] = now
    return found


def _likelihood(reached: list[Any], ends: Any) -> Any:
    """The log-likelihood of being at an end when the time is over."""
    final = np.where(ends, reached[-1], _NEVER)
    top = np.max(final, axis=1, keepdims=True)
    return np.log(np.sum(np.exp(final - top), axis=1)) + top[:, 0]


# --- the record ----------------------------------------------------------------------------------


def _ctc(x: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int) -> Any:
    states = _states(targets, blank)
    emitted = _emissions(x, states)
    reached = _reach(emitted, states, _skips(states, blank), input_lengths)
    found = -_likelihood(reached, _at_end(states, target_lengths))
    found = np.where(found > -_NEVER / 2, np.inf, found)
    empty = np.where(target_lengths == 0, 0.0, np.inf)
    return np.astype(np.where(input_lengths == 0, empty, found), x.dtype)


def _slope(x: Any, targets: Any, input_lengths: Any, target_lengths: Any, blank: int) -> Any:
    """Minus how likely each label is at each time, given that the sequence is what it is."""
    states = _states(targets, blank)
    emitted, skips = _emissions(x, states), _skips(states, blank)
    ends = _at_end(states, target_lengths)
    reached = _reach(emitted, states, skips, input_lengths)
    rest = _rest(emitted, skips, ends, input_lengths)
    whole = np.expand_dims(_likelihood(reached, ends), 1)
    parts = []
    for time, (before, after) in enumerate(zip(reached, rest, strict=True)):
        share = np.exp(before + after - emitted[time] - whole)
        parts.append(np.where(np.expand_dims(input_lengths > time, 1), share, 0))
    shares = np.stack(parts, axis=0)
    index = np.broadcast_to(np.expand_dims(states, 0), shares.shape)
    return -scatter_add_op(np.zeros_like(shares, shape=x.shape), index, shares, dim=2)


def _ctc_vjp(
    g: Any,
    x: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    out: Any,
    blank: int,
    zero_infinity: bool,
) -> Any:
    slope = _slope(x, targets, input_lengths, target_lengths, blank)
    impossible = np.where(np.isinf(out), 0.0 if zero_infinity else np.nan, 1.0)
    wide = np.reshape(impossible, (1, out.shape[0], 1))
    return np.where(wide == 0, 0, slope * np.reshape(g, (1, out.shape[0], 1)) * wide)


ctc_op = Op(
    "ctc_loss",
    lambda x, targets, input_lengths, target_lengths, blank, zero_infinity: _ctc(
        x, targets, input_lengths, target_lengths, blank
    ),
    ("x", "targets", "input_lengths", "target_lengths"),
    vjp={"x": _ctc_vjp},
    jvp={
        "x": lambda t, x, targets, input_lengths, target_lengths, blank: np.sum(
            t * _slope(x, targets, input_lengths, target_lengths, blank), axis=(0, 2)
        )
    },
    refuses=no_kernel("ctc_loss_cpu", "bihc"),
    public="nn.functional.ctc_loss",
    samples=lambda: [
        Sample(_x(5, 2, 4), _labels(2, 2), _lengths(2, 4, 6), _lengths(2, 1, 3), reduction="none"),
        Sample(_x(6, 3, 4), _labels(3, 2), _lengths(3, 6, 7), _lengths(3, 2, 3)),
        Sample(_x(6, 1, 4), _labels(1, 1), _lengths(1, 6, 7), _lengths(1, 0, 1), reduction="sum"),
        Sample(_x(5, 2, 4), _labels(2, 2, 0, 3), _lengths(2, 5, 6), _lengths(2, 2, 3), 3),
    ],
)


def _x(*shape: int) -> T:
    return T(*shape, low=-3, high=-0.2)


def _labels(*shape_and_range: int) -> T:
    n, s, *bounds = shape_and_range
    low, high = bounds or (1, 4)
    return T(n, s, low=low, high=high, dtype="int64")


def _lengths(count: int, low: int, high: int) -> T:
    return T(count, low=low, high=high, dtype="int64")


# --- public functions ----------------------------------------------------------------------------


def _as_lengths(name: str, given: Any) -> Any:
    """Lengths, given as a tensor or a sequence, as an array."""
    if isinstance(given, Tensor):
        if given._data.dtype.kind not in "iu":
            raise RuntimeError(f"{name} must be integral")
        data = given._data
        return np.astype(np.reshape(data, (-1,)) if not data.ndim else data, np.int64)
    return np.asarray([int(n) for n in given], np.int64)


_WHERE = "(while checking arguments for ctc_loss_allocate_outputs)"


def _check_least(name: str, lengths: Any) -> None:
    require_nonnegative(
        np.min(lengths, keepdims=True) if lengths.shape[0] else lengths,
        lambda found: RuntimeError(
            f"Expected {name} to have value at least 0, but got value {found} {_WHERE}"
        ),
    )


def _check_lengths(
    times: int, batch: int, input_lengths: Any, target_lengths: Any, classes: int, blank: int
) -> None:
    if not 0 <= blank < classes:
        raise RuntimeError("blank must be in label range")
    for name, value in (("input_lengths", input_lengths), ("target_lengths", target_lengths)):
        if value.shape[0] != batch:
            raise RuntimeError(f"{name} must be of size batch_size")
    _check_least("input_lengths", input_lengths)
    _check_least("target_lengths", target_lengths)
    require_all(
        np.max(input_lengths, keepdims=True) if batch else input_lengths,
        lambda x: x <= times,
        lambda found: RuntimeError(
            f"Expected input_lengths to have value at most {times}, but got value {found} {_WHERE}"
        ),
    )


def _padded(targets: Any, lengths: Any) -> Any:
    """Targets as one row per example, whichever way they came."""
    data = np.astype(targets._data, np.int64)
    size = data.shape[-1]
    if data.ndim == 2:
        require_all(
            np.max(lengths, keepdims=True) if lengths.shape[0] else lengths,
            lambda x: x <= size,
            lambda longest: RuntimeError(
                f"Expected tensor to have size at least {longest} at dimension 1, but got size "
                f"{size} for argument #2 'targets' {_WHERE}"
            ),
        )
        return data
    require_all(
        np.sum(lengths, keepdims=True),
        lambda total: total == size,
        lambda total: RuntimeError(
            f"Expected tensor to have size {total} at dimension 0, but got size {size} for argument #2 "
            f"'targets' {_WHERE}"
        ),
    )
    longest = int(np.max(lengths)) if lengths.size else 0
    rows = np.zeros((lengths.size, longest), np.int64)
    rows[np.arange(longest) < lengths[:, None]] = data
    return rows


def _loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int,
    reduction: str,
    zero_infinity: bool,
) -> Tensor:
    require_tensor("ctc_loss", log_probs, "log_probs")
    require_tensor("ctc_loss", targets, "targets", 2)
    single = log_probs.dim() == 2
    if single:
        log_probs = log_probs.unsqueeze(1)
        targets = targets.unsqueeze(0) if targets.dim() == 1 else targets
    refuse(ctc_op, log_probs._data.dtype)
    if not log_probs._data.size:
        raise RuntimeError("log_probs tensor must not be empty")
    inputs = _as_lengths("input_lengths", input_lengths)
    lengths = _as_lengths("target_lengths", target_lengths)
    if log_probs.dim() != 3:
        raise RuntimeError(
            f"Expected 3-dimensional tensor, but got {log_probs.dim()}-dimensional tensor for "
            "argument #1 'log_probs' (while checking arguments for ctc_loss_allocate_outputs)"
        )
    times, batch, classes = log_probs._data.shape
    _check_lengths(times, batch, inputs, lengths, classes, blank)
    rows = _padded(targets, lengths)
    if type(rows) is np.ndarray:
        rows = np.clip(rows, 0, classes - 1)
    parameters = {"blank": blank, "zero_infinity": zero_infinity}
    arguments = (log_probs, make(rows), make(inputs), make(lengths))
    loss: Any = apply(ctc_op, arguments, parameters)
    if zero_infinity:
        where = FUNCTIONS["where"]
        loss = where(loss == float("inf"), FUNCTIONS["zeros_like"](loss), loss)
    if reduction == "mean":
        shares = make(np.astype(np.maximum(lengths, 1), log_probs._data.dtype))
        return (loss / shares).mean()  # type: ignore[no-any-return]
    if reduction == "sum":
        return loss.sum()  # type: ignore[no-any-return]
    return loss.squeeze(0) if single else loss  # type: ignore[no-any-return]


@functional
def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log-likelihood of label sequences, over all their alignments with the input.

    The gradient is that of the log-probabilities as they are; PyTorch's adds their exponentials,
    which makes no difference once it has gone through `log_softmax`.
    """
    chosen = chosen_reduction(reduction)
    return _loss(log_probs, targets, input_lengths, target_lengths, blank, chosen, zero_infinity)


def _ctc_loss(
    log_probs: Any,
    targets: Any,
    input_lengths: Any,
    target_lengths: Any,
    blank: int = 0,
    reduction: int = UNREAD_MEAN,
    zero_infinity: bool = False,
) -> Tensor:
    """Minus the log-likelihood of label sequences, over all their alignments with the input."""
    chosen = numbered_reduction(reduction)
    return _loss(log_probs, targets, input_lengths, target_lengths, blank, chosen, zero_infinity)


_ctc_loss.__name__ = _ctc_loss.__qualname__ = "ctc_loss"
function(_ctc_loss)
