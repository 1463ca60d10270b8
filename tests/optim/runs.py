"""One small training, on either engine: what the tests of optimizers compare.

The model is a network with one hidden layer fitted to a few points: nonconvex, smooth, and with
parameters of several shapes. Everything starts from the same numbers, so after n steps two engines may
differ by what rounding adds up to: a few units in the last place per step (`tolerance`).
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

ENGINES = ("torch", "tautograd")


def engine(name: str) -> Any:
    return importlib.import_module(name)


def tolerance(dtype: str, steps: int) -> float:
    """Each step rounds some ten operations, whose errors the gradient of the next can double."""
    eps = {"float32": 2.0**-23, "float64": 2.0**-52, "complex64": 2.0**-23, "complex128": 2.0**-52}
    return eps[dtype] * 20 * steps


def parameters(torch: Any, dtype: str = "float64", shapes: Any = None) -> list[Any]:
    rng = np.random.default_rng(3)
    kind = np.float64 if "float" in dtype else np.complex128
    made = []
    for shape in shapes or ((3, 5), (5,), (5, 2), (2,)):
        values = rng.standard_normal(shape) * 0.7
        if kind is np.complex128:
            values = values + 1j * rng.standard_normal(shape) * 0.7
        made.append(torch.tensor(values).to(getattr(torch, dtype)).requires_grad_())
    return made


@functools.cache
def _points(torch: Any, dtype: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((12, 3)), rng.standard_normal((12, 2))
    return torch.tensor(x).to(dtype), torch.tensor(y).to(dtype)


def loss_of(torch: Any, params: list[Any]) -> Any:
    """The error of the network; a complex one's is the squared modulus."""
    w1, b1, w2, b2 = params
    x, y = _points(torch, w1.dtype)
    error = torch.tanh(x @ w1 * 0.5 + b1) @ w2 + b2 - y
    return (error.abs() ** 2).mean() + 0.1 * torch.cos(w1.abs() * 2).mean()


def closure_of(torch: Any, optimizer: Any, params: list[Any]) -> Callable[[], Any]:
    def closure() -> Any:
        optimizer.zero_grad()
        loss = loss_of(torch, params)
        loss.backward()
        return loss

    return closure


def make_optimizer(torch: Any, name: str, params: list[Any], options: dict[str, Any]) -> Any:
    if name == "Muon":  # takes matrices only
        params = [p for p in params if p.ndim == 2]
    return getattr(torch.optim, name)(params, **options)


def train(
    torch: Any, name: str, options: dict[str, Any], dtype: str, steps: int
) -> tuple[Any, list[Any], list[float]]:
    params = parameters(torch, dtype)
    optimizer = make_optimizer(torch, name, params, options)
    closure = closure_of(torch, optimizer, params)
    losses = [optimizer.step(closure).item() for _ in range(steps)]
    return optimizer, params, losses


def arrays(value: Any) -> Any:
    """Tensors as arrays, in nests of containers; the rest as it is."""
    if hasattr(value, "detach"):
        return value.detach().numpy().copy()
    if isinstance(value, dict):
        return {k: arrays(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(arrays(v) for v in value)
    return value


def tensors(torch: Any, value: Any) -> Any:
    """The way back."""
    if isinstance(value, np.ndarray):
        return torch.tensor(value)
    if isinstance(value, dict):
        return {k: tensors(torch, v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(tensors(torch, v) for v in value)
    return value


def is_number(value: Any) -> bool:
    """Whether it is one inexact number."""
    return isinstance(value, float) or (
        isinstance(value, np.ndarray) and value.ndim == 0 and value.dtype.kind == "f"
    )


def assert_close(found: Any, expected: Any, rtol: float, where: str = "result") -> None:
    """Equal nests of containers, with the arrays in them equal within a tolerance of their scale."""
    assert type(found) is type(expected), f"{where}: {found!r} is not {expected!r}"
    if isinstance(found, dict):
        assert list(found) == list(expected), f"{where}: {list(found)} is not {list(expected)}"
        for key in found:
            assert_close(found[key], expected[key], rtol, f"{where}[{key!r}]")
    elif isinstance(found, (list, tuple)):
        assert len(found) == len(expected), where
        if any(map(is_number, found)) and all(v is None or is_number(v) for v in found):
            # A series, as of losses: each is a difference of numbers of the scale of the first.
            assert [v is None for v in found] == [v is None for v in expected], where
            series = (
                np.array([v for v in values if v is not None]) for values in (found, expected)
            )
            assert_close(*series, rtol, where)
            return
        for i, (one, other) in enumerate(zip(found, expected, strict=True)):
            assert_close(one, other, rtol, f"{where}[{i}]")
    elif isinstance(found, np.ndarray):
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape), where
        scale = np.max(np.abs(expected), initial=0.0)
        np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * scale, err_msg=where)
    elif isinstance(found, float):
        np.testing.assert_allclose(found, expected, rtol=rtol, err_msg=where)
    else:
        assert found == expected, f"{where}: {found!r} is not {expected!r}"
