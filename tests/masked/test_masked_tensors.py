"""Masked tensors: what is computed, shown, differentiated and refused, as on PyTorch."""

from __future__ import annotations

import importlib
import warnings
from typing import Any

import pytest

from tests.both import ENGINES, same

# PyTorch says that the class is a prototype, and warns of what it does inside itself.
pytestmark = pytest.mark.filterwarnings("ignore::UserWarning")

# On `m`, a masked tensor of shape (2, 3); `d` and `k` are data and mask of that shape, `s` sparse data.
TEXTS = """
m
m + 1
1 + m
m + d
d * m
m - m
2 / m
2 - m
2 ** m
m // 2
m % 2
m ** 2
-m
abs(m)
m > 1
m == m
m @ d.T
m.exp()
torch.log1p(m.abs())
torch.clamp(m, 0.0, 1.5)
torch.clamp(m, d)
torch.add(m, m, alpha=2)
m.sum()
m.sum(0)
m.sum((0, 1))
m.mean(1, keepdim=True)
m.mean(0)
m.prod(1)
m.amax()
m.amin(0)
m.argmax()
m.argmin(1)
m.var()
m.std(0)
(m > 0).all(1)
m.max()
m[0]
m[0, 1]
m[:, 1:]
m.t()
m.view(-1)
m.reshape(3, 2)
m.transpose(0, 1)
m.unsqueeze(1)
m.expand(2, 2, 3)
m.flatten()
m.split(1)
m.chunk(3, 1)
m.narrow(1, 0, 2)
m.unfold(1, 2, 1)
torch.cat([m, m], 1)
torch.stack([m, m])
torch.where(k, m, d)
torch.where(~k, m, m)
torch.softmax(m, 1)
m.softmax(0)
torch.ones_like(m)
torch.zeros_like(m)
m.to(torch.float64)
m.int()
m.clone()
m.detach()
m.get_data()
m.get_mask()
m.to_tensor(9.0)
m.contiguous().is_contiguous()
m.to_sparse()
m.to_sparse().to_dense()
m.to_sparse_csr()
m.to_sparse() * 2
m.to_sparse().sum()
m.to_sparse().is_contiguous()
m.shape
m.dtype
m.layout
m.is_sparse
m.requires_grad
len(m)
m.numel()
m.sum().item()
float(m.sum())
m.tolist()
m.numpy()
m.exp_()
m.add_(1).mul_(2)
m.copy_(m * 2)
torch.masked.is_masked_tensor(m)
torch.masked.masked_tensor(d, k.float())
torch.masked.masked_tensor(d.to(torch.complex64), k)
torch.masked.masked_tensor(d[0], k)
torch.masked.masked_tensor(d[:, :2], k)
torch.masked.masked_tensor(m, k)
torch.masked.masked_tensor(d, 0)
torch.masked.masked_tensor(d.to_sparse(), k)
torch.masked.masked_tensor(d.to_sparse_csc(), k.to_sparse_csc())
m + torch.masked.masked_tensor(d, ~k)
torch.masked.masked_tensor(d > 0, k)._is_any_true()
m._is_any_true()
""".strip().splitlines()


def _setting(torch: Any) -> dict[str, Any]:
    masked = importlib.import_module(f"{torch.__name__}.masked")
    d = torch.tensor([[1.0, -2.0, 3.0], [0.5, 4.0, -1.0]])
    k = torch.tensor([[True, False, True], [True, True, False]])
    return {"torch": torch, "d": d, "k": k, "m": masked.masked_tensor(d, k)}


def _outcome(text: str, setting: dict[str, Any]) -> tuple[str, str]:
    try:
        found = eval(text, setting)
    except Exception as error:
        said = str(error).partition(";")[0]
        return type(error).__name__, "" if "aten." in said else said
    return type(found).__name__, repr(found)


@pytest.mark.parametrize("text", TEXTS)
def test_calls(text: str) -> None:
    expected, found = (_outcome(text, _setting(importlib.import_module(e))) for e in ENGINES)
    assert found == expected


FUNCTIONS = {
    "exp": lambda torch, x: torch.exp(x),
    "product": lambda torch, x: x * x * 3,
    "softmax": lambda torch, x: torch.softmax(x, 1) * x,
    "mean": lambda torch, x: x.mean(1),
    "prod": lambda torch, x: x.prod(),
    "amax": lambda torch, x: x.amax(0),
    "view": lambda torch, x: x.view(-1).sin(),
    "cat": lambda torch, x: torch.cat([x, x * 2]),
    "sparse": lambda torch, x: x.to_sparse().to_dense(),
    "to": lambda torch, x: x.to(torch.float64) * 2,
    "data": lambda torch, x: x.get_data() * 2,
    "filled": lambda torch, x: x.to_tensor(5.0) * 3,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradients_are_masked(name: str) -> None:
    found = []
    for engine in ENGINES:
        torch = importlib.import_module(engine)
        setting = _setting(torch)
        masked = importlib.import_module(f"{engine}.masked")
        leaf = masked.masked_tensor(setting["d"], setting["k"], requires_grad=True)
        FUNCTIONS[name](torch, leaf).sum().backward()
        found.append((repr(leaf.grad), leaf.is_leaf, leaf.requires_grad))
    assert found[1] == found[0]


@same
def test_gradients_flow_to_the_data(torch: Any) -> list[Any]:
    masked = importlib.import_module(f"{torch.__name__}.masked")
    setting = _setting(torch)
    whole = setting["d"].clone().requires_grad_()
    x = whole * 2
    m = masked.as_masked_tensor(x, setting["k"])
    m.mean().backward()
    first = torch.as_tensor(
        whole.grad.get_data() if masked.is_masked_tensor(whole.grad) else whole.grad
    )
    return [first * setting["k"], m.requires_grad, m.is_leaf]


@same
def test_data_that_wants_a_gradient_is_warned_of(torch: Any) -> list[Any]:
    setting = _setting(torch)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        setting["torch"].masked.masked_tensor(setting["d"].requires_grad_(), setting["k"])
    return [str(w.message) for w in said if "not recommended" in str(w.message)]
