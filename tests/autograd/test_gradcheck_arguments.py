"""What gradient checks and `linearize` are given is checked first, by name."""

from __future__ import annotations

from typing import Any

import pytest

import tautograd as torch

WRONG: dict[str, tuple[Any, dict[str, Any], str]] = {
    "no function": (3, {}, "argument 'func' must be callable, not int"),
    "no tensor": (lambda x: 3, {}, "output 0 of 'func' to be a Tensor, not int"),
    "nothing": (lambda x: (x, None), {}, "output 1 of 'func' to be a Tensor, not NoneType"),
    "eps": (torch.sin, {"eps": "a"}, "argument 'eps' must be float, not str"),
    "atol": (torch.sin, {"atol": []}, "argument 'atol' must be float, not list"),
    "rtol": (torch.sin, {"rtol": None}, "argument 'rtol' must be float, not NoneType"),
    "nondet_tol": (torch.sin, {"nondet_tol": 1j}, "'nondet_tol' must be float, not complex"),
    "fast": (torch.sin, {"eps": "a", "fast_mode": True}, "argument 'eps' must be float, not str"),
}


@pytest.mark.parametrize("name", WRONG)
def test_gradcheck_names_what_is_wrong(name: str) -> None:
    func, options, words = WRONG[name]
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(TypeError) as caught:
        torch.autograd.gradcheck(func, x, **options)
    assert words in str(caught.value)


def test_gradcheck_takes_numbers_of_every_kind() -> None:
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    tolerance = torch.tensor(1e-5)
    assert torch.autograd.gradcheck(torch.sin, x, atol=tolerance, nondet_tol=0, rtol=1e-3)


def test_gradgradcheck_names_what_is_wrong() -> None:
    x = torch.ones(2, dtype=torch.float64, requires_grad=True)
    with pytest.raises(TypeError, match="argument 'grad_outputs' must be a Tensor"):
        torch.autograd.gradgradcheck(torch.sin, x, 3)
    with pytest.raises(TypeError, match="argument 'func' must be callable"):
        torch.autograd.gradgradcheck(None, x)


@pytest.mark.parametrize("primals", [(3,), ("x",), (None,), ({"a": 1.0},)], ids=repr)
def test_linearize_takes_tensors(primals: Any) -> None:
    with pytest.raises(
        TypeError, match="linearize\\(\\): Expected primals to only contain Tensors"
    ):
        torch.func.linearize(lambda x: x, *primals)
    with pytest.raises(TypeError, match="argument 'func' must be callable, not int"):
        torch.func.linearize(3, torch.ones(2))
