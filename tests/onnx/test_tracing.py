"""What a graph must keep of a model's Python, and what it must refuse, with the line."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd.jit import TracerWarning
from tautograd.onnx import OnnxExporterError, OnnxExporterWarning, export
from tests.onnx.exported import exported, holds, run

F = torch.nn.functional


class Of(torch.nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any, **named: Any) -> Any:
        return self.function(*inputs, **named)


def of(function: Callable[..., Any]) -> Any:
    return Of(function).eval()


def numbers(*shape: int) -> Any:
    return torch.tensor(np.random.default_rng(1).standard_normal(shape, dtype=np.float32))


# ---- writes in place, views ------------------------------------------------------------------------


def _written(x: Any) -> Any:
    y = x.clone()
    y[:, 0] = 1
    y[0, :, 2:4] += x[0, :, 2:4]
    y.transpose(1, 2).mul_(2)
    y.relu_()
    y[y > 5] = 5.0
    y[..., 0].copy_(x[..., 1])
    y[:, [1, 3]] = 7.0
    F.elu_(y)
    F.leaky_relu(y, inplace=True)
    y[..., 1:3].zero_()
    y.diagonal(dim1=1, dim2=2).fill_(3.0)
    y.view(-1)[3] -= 9
    y.detach().mul_(2)
    y.data.add_(1)
    return y, y.sum(), x


def _grown(x: Any) -> Any:
    a = torch.zeros(x.shape[0], x.shape[1], 3)
    a[:, :, 0] = x[:, :, 0]
    a[:, 1:, 1] = x[:, :-1, 1]
    a.view(-1, 3)[:, 2] += 1
    return a


WRITES: dict[str, Callable[[Any], Any]] = {
    "many": _written,
    "the input": lambda x: x.add_(1) * 2,
    "a result that was kept": lambda x: (lambda y: (y + 1, y.mul_(3), y))(x * 2),
    "a view that was kept": lambda x: (lambda y: (lambda v: (y.mul_(3), v + 1))(y[0]))(x * 2),
    "turned in place": lambda x: (lambda y: (y.unsqueeze_(0), y.squeeze_(0).t_(), y * 1)[2])(
        x[0].clone()
    ),
    "out=": lambda x: torch.add(x, x, out=torch.empty(x.shape)),
    "chunks": lambda x: (lambda y: (y.chunk(2)[1].mul_(0), y)[1])(x.clone()),
    "compared in place": lambda x: x.clone().gt_(0.0),
}


@pytest.mark.parametrize("name", WRITES)
def test_writes(name: str) -> None:
    holds(of(WRITES[name]), (numbers(2, 5, 16),))


def test_writes_at_other_sizes() -> None:
    shapes = (({0: "b", 1: "t"},),)
    holds(of(_grown), (numbers(2, 5, 4),), [(numbers(3, 8, 4),)], dynamic_shapes=shapes)


# ---- sizes -----------------------------------------------------------------------------------------

SIZES: dict[str, Callable[[Any], Any]] = {
    "arange": lambda x: (
        torch.arange(x.shape[1]),
        torch.linspace(0, 1, x.shape[1]),
        torch.eye(x.shape[0]),
    ),
    "full": lambda x: (torch.ones(x.shape[0], 2), torch.full_like(x, 3.0), x.new_zeros(x.shape[1])),
    "a mask of NumPy's": lambda x: torch.tensor(
        np.triu(np.full((x.shape[1],) * 2, -np.inf, np.float32), 1)
    ),
    "mean by hand": lambda x: x.sum(1) / x.size(1) + x.shape[1] ** 0.5,
    "half": lambda x: x[:, x.shape[1] // 2 :].flip(1),
    "the last": lambda x: x[:, -1],
    "windows": lambda x: x.unfold(1, 3, 2).mean(-1),
    "to a multiple": lambda x: F.pad(x, (0, 0, 0, 8 - x.shape[1] % 8)),
    "shape as data": lambda x: torch.tensor([x.shape[0], x.shape[1] * 2]),
    "top": lambda x: x.topk(3, dim=1),
    "sorted": lambda x: x.sort(dim=1, descending=True)[0],
    "rolled": lambda x: (x.roll(1, 1), x.repeat(2, 1, 1), x.tril()),
    "the middle": lambda x: (x.median(), x.median(1)[0], x.kthvalue(2, 1)[0]),
    "by indices": lambda x: x[torch.arange(x.shape[0]), x.shape[1] // 2],
    "a grid": lambda x: torch.stack(
        torch.meshgrid(torch.arange(x.shape[0]), torch.arange(x.shape[1]), indexing="ij")
    ),
    "running": lambda x: (x.cumsum(1), x.cumprod(1), x.cummax(1)[0], x.std(1), x.var((0, 1))),
    "all in one": lambda x: (
        x.reshape(-1, x.shape[-1]).view(x.shape[0], x.shape[1], 2, -1).permute(2, 1, 0, 3)
    ),
    "attention": lambda x: F.scaled_dot_product_attention(x, x, x, is_causal=True),
}


@pytest.mark.parametrize("name", SIZES)
def test_sizes(name: str) -> None:
    shapes = (({0: "b", 1: "t"},),)
    others = [(numbers(3, 9, 4),), (numbers(5, 4, 4),), (numbers(1, 7, 4),)]
    holds(of(SIZES[name]), (numbers(2, 5, 4),), others, dynamic_shapes=shapes)


def test_a_batch_of_one_as_the_example() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU()).eval()
    others = [(numbers(4, 3),), (torch.zeros(0, 3),)]
    holds(model, (numbers(1, 3),), others, dynamic_shapes=({0: "batch"},))


def test_dimensions_that_must_be_alike_without_one_name() -> None:
    axes = {"inputs_0": [0], "inputs_1": [0]}
    example, other = (numbers(2, 3), numbers(2, 3)), (numbers(5, 3), numbers(5, 3))
    holds(of(lambda x, y: x + y), example, [other], dynamic_axes=axes)


# ---- what is given and returned --------------------------------------------------------------------


def test_nests_of_inputs_and_results() -> None:
    model = of(lambda x, y: (x + y[0], {"k": y[1]["z"] * 2}, None))
    program = holds(model, (numbers(2), (numbers(2), {"z": numbers(3)})))
    assert [v.name for v in program.model_proto.graph.input] == [
        "inputs_0",
        "inputs_1_0",
        "inputs_1_1_z",
    ]
    assert len(program.model_proto.graph.output) == 2


def test_keywords_and_absent_inputs() -> None:
    class Model(torch.nn.Module):
        def forward(self, x: Any, y: Any = None, plus: bool = True) -> Any:
            return x + y if plus and y is not None else x * 2

    model, x = Model().eval(), torch.ones(2)
    program = exported(model, (x,), kwargs={"y": torch.ones(2)})
    assert run(program, "reference", torch.zeros(2), y=torch.ones(2))[0].tolist() == [1, 1]
    for args in ((x, None), (x, torch.ones(2), False)):
        assert run(exported(model, args), "reference", *args)[0].tolist() == [2, 2]
    assert len(exported(model, (x, {"y": x})).model_proto.graph.input) == 2  # a dict at the end


@pytest.mark.parametrize(
    ("name", "function", "inputs"),
    [
        ("0-dim", lambda x: x * 2 + 1, (torch.tensor(3.0),)),
        ("an input", lambda x: x, (numbers(2),)),
        ("the same twice", lambda x: (x + 1, x + 1, x), (numbers(2),)),
        ("an input that is not used", lambda x, y: x * 2, (numbers(2), numbers(3))),
        ("a constant", lambda x: (x, torch.ones(2)), (numbers(2),)),
        ("float64", lambda x: torch.tanh(x) @ x.T, (numbers(2, 3).double(),)),
        ("float16", lambda x: x * 2 + 1, (numbers(3).half(),)),
        ("bfloat16", lambda x: x * 2 + 1, (numbers(3).bfloat16(),)),
        (
            "int64",
            lambda x: (x // 2, x % 3, x + 1, x * 1.5, x / 2, -x, x.abs(), x**2),
            (torch.tensor([-5, 3, 7]),),
        ),
        (
            "bool",
            lambda x, y: (
                x & y,
                x | y,
                ~x,
                x ^ y,
                x.sum(),
                x + y,
                torch.where(x, 1, 0),
                x.any(),
                x.all(),
            ),
            (torch.tensor([True, False]), torch.tensor([True, True])),
        ),
        (
            "indices",
            lambda x, i: (x[i], x[:, i], x[i, i], x[i][:, None]),
            (numbers(5, 5), torch.tensor([0, -1])),
        ),
        ("a mask", lambda x: x[x > 0], (numbers(20),)),
        (
            "einsum",
            lambda x, y: torch.einsum("bij,bkj->bik", x, y),
            (numbers(2, 3, 4), numbers(2, 5, 4)),
        ),
    ],
)
def test_values(name: str, function: Any, inputs: Any) -> None:
    holds(of(function), inputs)


def test_a_number_that_is_returned() -> None:
    program = exported(of(lambda x: (x * 2, 3)), (numbers(2),))
    assert run(program, "reference", numbers(2))[1] == 3


# ---- state -----------------------------------------------------------------------------------------


class Counter(torch.nn.Module):
    def __init__(self, replaces: bool) -> None:
        super().__init__()
        self.replaces = replaces
        self.register_buffer("count", torch.zeros(2))

    def forward(self, x: Any) -> Any:
        if self.replaces:
            self.count = self.count + 1
        else:
            self.count += 1
        return x + self.count


@pytest.mark.parametrize("replaces", [True, False])
def test_the_model_is_as_it_was(replaces: bool) -> None:
    model = Counter(replaces).eval()
    buffer, drawn = model.count, torch.get_rng_state()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = export(model, (torch.zeros(2),))
    assert model.count is buffer
    assert model.count.tolist() == [0, 0]
    assert torch.equal(torch.get_rng_state(), drawn)
    assert run(program, "reference", torch.zeros(2))[0].tolist() == [1, 1]


def test_a_buffer_that_changes_is_told() -> None:
    with pytest.warns(
        OnnxExporterWarning, match=r"changes its buffer or parameter 'count'.*keeps no state"
    ):
        export(Counter(False).eval(), (torch.zeros(2),))


def test_training_mode() -> None:
    model = torch.nn.Sequential(
        torch.nn.Linear(3, 3), torch.nn.Dropout(0.5), torch.nn.BatchNorm1d(3)
    )
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        program = export(model, (numbers(64, 3),))
    said = " ".join(str(w.message) for w in seen)
    assert "while it is in training mode" in said
    assert all(
        f"'2.{name}'" in said for name in ("num_batches_tracked", "running_mean", "running_var")
    )
    assert "RandomUniformLike" in [n.op_type for n in program.model_proto.graph.node]
    found = run(program, "reference", numbers(64, 3))[0]
    assert np.all(np.abs(found.mean(0)) < 1e-5)  # by the batch's own statistics
    assert export(model, (numbers(4, 3),), dynamo=False, f=_nowhere()) is None
    assert model.training


def _nowhere() -> Any:
    import io

    return io.BytesIO()


def test_random_numbers_are_drawn_by_the_graph() -> None:
    model = of(lambda x: x + torch.randn_like(x) + torch.rand(x.shape[0], 1))
    program = exported(model, (torch.zeros(2, 50),), dynamic_shapes=(({0: "b"},),))
    found = run(program, "reference", torch.zeros(40, 50))[0]
    assert found.shape == (40, 50)
    assert abs(found.mean() - 0.5) < 0.2
    assert 0.8 < found.std() < 1.3


# ---- what is refused -------------------------------------------------------------------------------

REFUSED: list[tuple[str, Callable[[Any], Any], Any, str]] = [
    ("if", lambda x: x * 2 if x.sum() > 0 else x, None, "Python boolean"),
    ("item", lambda x: x * x.max().item(), None, "Python number"),
    ("list", lambda x: torch.tensor(x.tolist()), None, "a list"),
    ("numpy", lambda x: torch.from_numpy(np.sin(x.numpy())), None, "NumPy array"),
    (
        "raw memory",
        lambda x: torch.tensor(np.sin(x._data)) + 1,
        None,
        "other than the library's operations",
    ),
    ("a loop", lambda x: sum(x[i] for i in range(x.shape[0])), 0, "how many operations"),
    (
        "a branch by size",
        lambda x: x * 2 if x.shape[0] > 4 else x + 1,
        0,
        "other things for other inputs",
    ),
    (
        "a table",
        lambda x: x + torch.tensor(np.sin(np.arange(x.shape[0]) ** 2).astype("f4"))[:, None],
        0,
        "no rule",
    ),
    (
        "a size",
        lambda x: x.new_ones(len(bin(x.shape[0])) * 7 % 5 + 2) + 1,
        0,
        "in a way that was not found",
    ),
    ("complex numbers", lambda x: torch.fft.fft(x).abs(), None, "fft_r2c"),
    ("text", lambda x: "text", None, "returns a str"),
    ("nothing", lambda x: None, None, "no tensor"),
]


@pytest.mark.parametrize(("name", "function", "axis", "said"), REFUSED)
def test_refused(name: str, function: Any, axis: Any, said: str) -> None:
    shapes = None if axis is None else (({axis: "n"},),)
    with pytest.raises(OnnxExporterError, match=said) as error:
        export(of(function), (numbers(3, 4),), dynamic_shapes=shapes)
    if name not in ("text", "nothing"):
        assert re.search(r"test_tracing\.py:\d+ in <", str(error.value))


def test_with_dynamo_false_a_branch_is_warned_of_and_kept() -> None:
    model = of(lambda x: x * 2 if x.sum() > 0 else x)
    with pytest.warns(TracerWarning, match="Converting a tensor to a Python boolean might cause"):
        assert export(model, (torch.ones(2),), _nowhere(), dynamo=False) is None


def test_a_dimension_that_cannot_change() -> None:
    with pytest.raises(
        OnnxExporterError, match=r"does not run when the dimension 'width' .*RuntimeError"
    ):
        export(torch.nn.Linear(3, 2).eval(), (numbers(2, 3),), dynamic_shapes=({1: "width"},))
