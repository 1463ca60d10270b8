"""The same program as written and compiled, side by side: everything that can be seen of them is compared.

With `backend="numpy"` a replay calls the array functions that the recording called, on the same numbers, so
results are equal to the last bit. Native code sums in another order and contracts multiplications with
additions: `bound` is then how many units in the last place of the largest number two results may differ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
    found: Any, expected: Any, bound: float = 0.0, where: str = "result", floor: float = 0.0
) -> None:
    """Equal nests; arrays to the last bit, or within `bound` units in the last place of their scale, which is
    taken to be no less than `floor`."""
    if isinstance(expected, dict):
        assert list(found) == list(expected), where
        for key in expected:
            assert_same(found[key], expected[key], bound, f"{where}[{key!r}]", floor)
    elif isinstance(expected, (list, tuple)):
        assert len(found) == len(expected), where
        for i, pair in enumerate(zip(found, expected, strict=True)):
            assert_same(*pair, bound, f"{where}[{i}]", floor)
    elif isinstance(expected, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), where
        _assert_equal_arrays(found, expected, bound, where, floor)
    else:
        assert found == expected, f"{where}: {found!r} is not {expected!r}"


def _assert_equal_arrays(found: Any, expected: Any, bound: float, where: str, floor: float) -> None:
    if expected.dtype.kind not in "fcV" or bound == 0:
        np.testing.assert_array_equal(found, expected, err_msg=where)
        return
    if expected.dtype.kind == "V":
        found, expected, unit = found.astype(np.float32), expected.astype(np.float32), 2.0**-8
    else:
        unit = float(np.finfo(expected.dtype).eps)
    with np.errstate(invalid="ignore"):
        finite = np.abs(expected[np.isfinite(expected)])
        scale = max(float(finite.max()) if finite.size else 0.0, floor)
        np.testing.assert_allclose(
            found, expected, rtol=bound * unit, atol=bound * unit * scale, err_msg=where
        )


def lockstep(
    make: Callable[[], tuple[Callable[..., Any], State]],
    calls: int | Sequence[Callable[[], tuple[Any, ...]]] = 5,
    *,
    backend: str = "numpy",
    bound: float = 0.0,
    floor: float = 0.0,
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
        outcomes = []
        for step, seen in ((eager, state), (compiled, other_state)):
            torch.manual_seed(number)
            args = arguments()
            result = step(*args)
            outcomes.append(bits([result, args, seen(), torch.get_rng_state()]))
        assert_same(outcomes[1], outcomes[0], bound, f"call {number}", floor)
    return compiled


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
