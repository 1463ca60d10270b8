"""The same program as written and compiled, side by side: everything that can be seen of them is compared.

With `backend="numpy"` a replay calls the array functions that the recording called, on the same numbers, so
results are equal to the last bit. Native code sums in another order and contracts multiplications with
additions: `bound` is then how many units in the last place of the largest number two results may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import tautograd as torch

State = Callable[[], Any]


def bits(value: Any) -> Any:
    """Tensors as arrays with what else can be seen of them, in nests of containers; the rest as it is."""
    if isinstance(value, torch.Tensor):
        return value.detach()._data.copy(), value.requires_grad
    if isinstance(value, dict):
        return {k: bits(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [bits(v) for v in value]
    return value


def steps(tensor: Any) -> Any:
    """Strides where there is more than one element to step to."""
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    return tuple(stride for n, stride in pairs if n > 1) if tensor.numel() else ()


def assert_same(
    found: Any,
    expected: Any,
    bound: float = 0.0,
    where: str = "result",
    nudged: Callable[[], Any] | None = None,
) -> None:
    """Equal nests; arrays to the last bit, or within `bound` units in the last place of their scale.

    What cancels has no scale of its own: a gradient that is zero but for rounding. There `nudged` gives
    what the plain run comes to from numbers that are changed in their last place, and `bound` times the
    difference that makes is allowed, too.
    """
    try:
        _compare(found, expected, None, bound, where)
    except AssertionError:
        if nudged is None or not bound:
            raise
        _compare(found, expected, nudged(), bound, where)


def _compare(found: Any, expected: Any, other: Any, bound: float, where: str) -> None:
    if isinstance(expected, dict):
        assert list(found) == list(expected), where
        for key in expected:
            moved = None if other is None else other[key]
            _compare(found[key], expected[key], moved, bound, f"{where}[{key!r}]")
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected), where
        for i, pair in enumerate(zip(found, expected, strict=True)):
            _compare(*pair, None if other is None else other[i], bound, f"{where}[{i}]")
    elif isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), where
        _compare_arrays(found, expected, other, bound, where)
    else:
        assert found == expected, f"{where}: {found!r} is not {expected!r}"


def _compare_arrays(found: Any, expected: Any, other: Any, bound: float, where: str) -> None:
    if expected.dtype.kind not in "fcV" or bound == 0:
        np.testing.assert_array_equal(found, expected, err_msg=where)
        return
    unit = 2.0**-8 if expected.dtype.kind == "V" else float(np.finfo(expected.dtype).eps)
    if expected.dtype.kind == "V":
        found, expected = found.astype(np.float32), expected.astype(np.float32)
        other = None if other is None else other.astype(np.float32)
    with np.errstate(invalid="ignore"):
        allowed = unit * _largest(expected)
        if other is not None:
            allowed += _largest(other - expected)
        np.testing.assert_allclose(
            found, expected, rtol=bound * unit, atol=bound * allowed, err_msg=where
        )


def _largest(values: Any) -> float:
    finite = np.abs(values[np.isfinite(values)])
    return float(finite.max()) if finite.size else 0.0


def nudge(program: Any) -> None:
    """Change every number that a program holds in its last place, up or down."""
    rng = np.random.default_rng(0)
    for tensor in _tensors_of(program, set()):
        if tensor.is_floating_point():
            signs = rng.choice([-1.0, 1.0], tuple(tensor.shape))
            with torch.no_grad():
                step = torch.finfo(tensor.dtype).eps
                tensor.mul_(torch.tensor(1 + step * signs, dtype=tensor.dtype))


def _tensors_of(held: Any, seen: set[int]) -> Iterator[Any]:
    """The parameters and tensors that a function holds, by its closure."""
    if id(held) in seen:
        return
    seen.add(id(held))
    if isinstance(held, torch.nn.Module):
        yield from (p for p in held.parameters() if not (id(p) in seen or seen.add(id(p))))
    elif isinstance(held, torch.Tensor):
        yield held
    elif isinstance(held, (list, tuple, dict)):
        for each in held.values() if isinstance(held, dict) else held:
            yield from _tensors_of(each, seen)
    else:
        for cell in getattr(held, "__closure__", None) or ():
            yield from _tensors_of(cell.cell_contents, seen)


def lockstep(
    make: Callable[[], tuple[Callable[..., Any], State]],
    calls: int | Sequence[Callable[[], tuple[Any, ...]]] = 5,
    *,
    backend: str = "numpy",
    bound: float = 0.0,
    **options: Any,
) -> Any:
    """Run two copies of a program, one compiled, from the same numbers; compare after each call.

    `make` gives a step and a function that shows its state. `calls` are how often, or what makes the
    arguments of each call. The compiled function comes back, to ask how often it was recorded.
    """
    makers = [tuple] * calls if isinstance(calls, int) else calls
    torch.manual_seed(7)
    eager, state = make()
    torch.manual_seed(7)
    plain, other_state = make()
    compiled = torch.compile(plain, backend=backend, **options)
    for number, arguments in enumerate(makers):
        outcomes = [
            _call(step, seen, number, arguments)
            for step, seen in ((eager, state), (compiled, other_state))
        ]

        def nudged(last: int = number) -> Any:
            torch.manual_seed(7)
            again, seen = make()
            nudge(again)
            return [_call(again, seen, i, makers[i]) for i in range(last + 1)][-1]

        assert_same(outcomes[1], outcomes[0], bound, f"call {number}", nudged)
    return compiled


def _call(step: Any, seen: Any, number: int, arguments: Callable[[], tuple[Any, ...]]) -> Any:
    torch.manual_seed(number)
    args = arguments()
    result = step(*args)
    return bits([result, args, seen(), torch.get_rng_state()])


def training(
    model: Any, optimizer: Any, loss_of: Callable[..., Any], *, zero: Any = None
) -> tuple[Callable[..., Any], State]:
    """A training step, and all that it changes."""

    def step(*args: Any) -> Any:
        optimizer.zero_grad() if zero is None else zero()
        loss = loss_of(*args)
        loss.backward()
        optimizer.step()
        return loss

    return step, lambda: seen_of(model, optimizer)


def seen_of(model: Any, optimizer: Any = None) -> Any:
    """Parameters, buffers, gradients, version counters and an optimizer's state."""
    named = [*model.named_parameters(), *model.named_buffers()]
    return {
        "state": dict(model.state_dict()),
        "gradients": {name: p.grad for name, p in model.named_parameters()},
        "versions": {name: t._version for name, t in named},
        "optimizer": None if optimizer is None else optimizer.state_dict()["state"],
    }
