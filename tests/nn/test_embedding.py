"""Embeddings and bags of them on both engines: options, gradients, errors."""

from __future__ import annotations

import subprocess
import sys
import warnings
from typing import Any

import pytest

from tautograd._ops.nn import embedding as table
from tests.both import same
from tests.nn.layers import attempt, image

OPTIONS: list[dict[str, Any]] = [
    {},
    {"padding_idx": 1},
    {"padding_idx": -1},
    {"max_norm": 1.0},
    {"max_norm": 0.5, "norm_type": 1.0, "padding_idx": 0},
    {"scale_grad_by_freq": True},
    {"scale_grad_by_freq": True, "padding_idx": 2},
]


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("options", OPTIONS, ids=str)
@same
def test_embedding(torch: Any, options: dict[str, Any], dtype: str) -> Any:
    module = torch.nn.Embedding(5, 3, **options).to(getattr(torch, dtype))
    index = torch.tensor([[0, 1, 1, 4], [2, 1, 0, 4]])
    out = module(index)
    (out * image(torch, (2, 4, 3), dtype)).sum().backward()
    return {
        "repr": repr(module),
        "state": dict(module.state_dict()),
        "out": out.detach(),
        "node": out.grad_fn,
        "grad": module.weight.grad,
    }


@pytest.mark.parametrize("count", [3, 200, 3000])
@same
def test_many_uses_of_a_row(torch: Any, count: int) -> Any:
    weight = torch.randn(50, 16, requires_grad=True)
    index = torch.randint(0, 50, (count,), dtype=torch.int32)
    out = torch.nn.functional.embedding(index, weight)
    (out * image(torch, (count, 16), "float32")).sum().backward()
    return weight.grad


@same
def test_second_order(torch: Any) -> Any:
    weight = torch.randn(4, 3, requires_grad=True)
    index = torch.tensor([0, 2, 2, 1])
    out = torch.nn.functional.embedding(index, weight, padding_idx=1)
    (grad,) = torch.autograd.grad((out**3).sum(), weight, create_graph=True)
    (second,) = torch.autograd.grad((grad**2).sum(), weight)
    return grad, second


BAG_OPTIONS: list[dict[str, Any]] = [
    *({"mode": mode} for mode in ("sum", "mean", "max")),
    *({"mode": mode, "padding_idx": 1} for mode in ("sum", "mean", "max")),
    {"mode": "sum", "max_norm": 1.0},
    {"mode": "sum", "include_last_offset": True},
]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("options", BAG_OPTIONS, ids=str)
@same
def test_bags(torch: Any, options: dict[str, Any], dtype: str) -> Any:
    module = torch.nn.EmbeddingBag(5, 3, **options).to(getattr(torch, dtype))
    index = torch.tensor([0, 1, 1, 4, 2, 0, 4, 4])
    offsets = torch.tensor([0, 3, 3, 4, 8] if options.get("include_last_offset") else [0, 3, 3, 4])
    out = module(index, offsets)
    (out * image(torch, (4, 3), dtype)).sum().backward()
    square = module(index.reshape(2, 4)) if "include_last_offset" not in options else out
    return (
        repr(module),
        out.detach(),
        out.grad_fn,
        module.weight.grad,
        square.detach(),
        module.weight,
    )


def test_bags_scaled_by_frequency() -> None:
    """As the rows of `embedding` are; PyTorch takes the frequencies of other rows here."""
    import tautograd as torch

    index, grads = torch.tensor([[0, 1, 1, 4, 2, 0, 4, 4]]), []
    for module in (torch.nn.Embedding, torch.nn.EmbeddingBag):
        table = torch.ones(5, 3, requires_grad=True)
        options = {"mode": "sum"} if module is torch.nn.EmbeddingBag else {}
        made = module(5, 3, scale_grad_by_freq=True, _weight=table, **options)
        out = made(index)
        (out if options else out.sum(1)).sum().backward()
        grads.append(made.weight.grad.tolist())
    assert grads[0] == grads[1] == [[1.0] * 3, [1.0] * 3, [1.0] * 3, [0.0] * 3, [1.0] * 3]


@pytest.mark.parametrize("padding_idx", [None, 2])
@same
def test_weights_of_samples(torch: Any, padding_idx: int | None) -> Any:
    module = torch.nn.EmbeddingBag(5, 3, mode="sum", padding_idx=padding_idx)
    weights = image(torch, (6,), "float32").requires_grad_()
    out = module(torch.tensor([0, 1, 2, 2, 4, 0]), torch.tensor([0, 2]), weights)
    (out**2).sum().backward()
    return out.detach(), weights.grad, module.weight.grad


@same
def test_from_pretrained(torch: Any) -> Any:
    table = image(torch, (4, 3), "float32")
    modules = [
        torch.nn.Embedding.from_pretrained(table),
        torch.nn.Embedding.from_pretrained(table, freeze=False, padding_idx=1),
        torch.nn.EmbeddingBag.from_pretrained(table, mode="sum"),
        torch.nn.EmbeddingBag.from_pretrained(table, freeze=False),
    ]
    return [(repr(m), m.weight, m(torch.tensor([[0, 3]]))) for m in modules]


@same
def test_sparse_in_name(torch: Any) -> Any:
    """A table for sparse gradients can be made, shown, and used where none are asked for."""
    module = torch.nn.Embedding(4, 3, sparse=True)
    with torch.no_grad():
        return repr(module), module(torch.tensor([1, 2]))


@pytest.mark.parametrize("args", [([0, 2, 1],), ([[0, 2], [1, 1]], 4), ([], 3), (1, 2)], ids=str)
@same
def test_one_hot(torch: Any, args: tuple[Any, ...]) -> Any:
    index = torch.tensor(args[0], dtype=torch.int64)
    return torch.nn.functional.one_hot(index, *args[1:])


@same
def test_renorm_in_place(torch: Any) -> Any:
    table = image(torch, (4, 3), "float32")
    out = torch.embedding_renorm_(table, torch.tensor([1, 3, 1]), 0.5, 2.0)
    return out is table, table


@same
def test_turned_round(torch: Any) -> Any:
    table, index = image(torch, (4, 3), "float32"), torch.tensor([[1, 2]])
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        out = torch.nn.functional.embedding_bag(table, index)
    return out, [str(w.message) for w in said]


def _embedding(*args: Any, **options: Any) -> Any:
    return lambda t: t.nn.functional.embedding(_index(t, *args), _table(t), **options)


def _bag(index: Any, offsets: Any, **options: Any) -> Any:
    def program(t: Any) -> Any:
        starts = None if offsets is None else t.tensor(offsets)
        return t.nn.functional.embedding_bag(_index(t, index), _table(t), starts, **options)

    return program


def _index(torch: Any, values: Any, dtype: str = "int64") -> Any:
    return torch.tensor(values, dtype=getattr(torch, dtype))


def _table(torch: Any) -> Any:
    return torch.ones(5, 3)


ERRORS = [
    _embedding([5]),
    _embedding([-1]),
    _embedding([0], "float32"),
    _embedding([0], "int16"),
    _embedding([0], "bool"),
    _embedding([0], padding_idx=5),
    _embedding([0], padding_idx=-6),
    lambda t: t.embedding(t.ones(3), t.tensor([0])),
    lambda t: t.nn.Embedding(3, 4, padding_idx=3),
    lambda t: t.nn.Embedding(3, 4, _weight=t.ones(2, 2)),
    lambda t: t.nn.Embedding.from_pretrained(t.ones(3)),
    lambda t: t.nn.functional.one_hot(t.tensor([0, 2]), 2),
    lambda t: t.nn.functional.one_hot(t.tensor([-1])),
    lambda t: t.nn.functional.one_hot(t.tensor([0.5])),
    lambda t: t.nn.functional.one_hot(t.tensor([], dtype=t.int64)),
    _bag([0, 1], None),
    _bag([0, 1], [1]),
    _bag([0, 1], [0, 3]),
    _bag([0, 1], [[0]]),
    _bag([[0, 1]], [0]),
    _bag([[[0]]], None),
    _bag([0, 5], [0]),
    _bag([0], [0], mode="other"),
    _bag([0], [0], mode="max", scale_grad_by_freq=True),
    _bag([0], [0], mode="max", sparse=True),
    _bag([0], [0], padding_idx=7),
    lambda t: t.nn.functional.embedding_bag(
        t.tensor([0]), _table(t), t.tensor([0]), per_sample_weights=t.ones(1)
    ),
    lambda t: t.nn.functional.embedding_bag(
        t.tensor([0]), _table(t), t.tensor([0]), mode="sum", per_sample_weights=t.ones(2)
    ),
    lambda t: t.nn.functional.embedding_bag(
        t.tensor([0]), _table(t), t.tensor([0]), mode="sum", per_sample_weights=t.ones(1).double()
    ),
]


@pytest.mark.parametrize("program", ERRORS)
@same
def test_error(torch: Any, program: Any) -> Any:
    found = attempt(torch, program)
    return str(found).replace("tautograd", "torch")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_large_gradients_are_the_same_added_in_place_and_by_a_sparse_product(
    dtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tautograd

    tautograd.manual_seed(0)
    rows = tautograd.randint(0, 300, (2048,))
    weight = tautograd.randn(300, 16, dtype=getattr(tautograd, dtype), requires_grad=True)
    scale = tautograd.randn(2048, 16, dtype=getattr(tautograd, dtype))
    found = []
    for worth in (False, True):
        monkeypatch.setattr(table, "_worth_importing", lambda elements, worth=worth: worth)
        (grad,) = tautograd.autograd.grad(
            (tautograd.nn.functional.embedding(rows, weight) * scale).sum(), weight
        )
        found.append(grad)
    assert tautograd.equal(*found)


def test_a_short_program_imports_no_sparse_arrays() -> None:
    program = (
        "import sys, tautograd as torch\n"
        "weight = torch.zeros(65, 65, requires_grad=True)\n"
        "torch.nn.functional.embedding(torch.arange(512) % 65, weight).sum().backward()\n"
        "assert weight.grad.sum() == 512 * 65\n"
        "assert 'scipy.sparse' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
