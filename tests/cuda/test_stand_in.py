"""A stand-in for CuPy: tensors on "cuda", every record there, and nothing past the protocols.

The stand-in is NumPy behind `CudaArray`, with the functions and arguments that CuPy has, so what runs here
asks CuPy for nothing that it lacks, and touches no array but by NumPy's dispatch. What CuPy computes
is tested on a GPU, by `tools/gpu_check.py`.
"""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import tautograd as torch
from tautograd._arrays.cuda.cuda_array import CudaArray
from tautograd._arrays.cuda.host_fallback import detours
from tautograd._ops.declare.record import REGISTRY
from tautograd._ops.nn.linear import plus_transposed, times_transposed
from tests.cuda.fake import installed
from tools.gpu.examples import APART, EXAMPLES, USUALLY, apart
from tools.gpu.ops_matrix import Matrix


@pytest.fixture(autouse=True, scope="module")
def stand_in() -> Iterator[None]:
    with installed():
        yield


@pytest.fixture(scope="module")
def matrix() -> Matrix:
    return Matrix()


# What NumPy does for CuPy in main memory: nothing else may get there.
IN_MAIN_MEMORY = (
    "airy", "eval_", "i0", "i1", "k0", "k1", "j0", "j1", "y0", "y1", "gammainc", "xlog1py", "exp1", "nextafter",
    "add.at", "maximum.at", "minimum.at", "unique",
)  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", pytest.param("bfloat16", marks=pytest.mark.slow)])
def test_every_record_runs_there(matrix: Matrix, dtype: str) -> None:
    """Forward and gradients of the samples, on the stand-in, as on the CPU."""
    matrix.problems.clear()
    before = matrix.counts["cases"]
    detours.clear()
    for name in matrix.cases.RECORDS:
        matrix.run(name, dtype)
    assert matrix.problems == []
    assert matrix.counts["cases"] - before > 3500
    assert [d for d in detours if not d.startswith(IN_MAIN_MEMORY)] == []


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_examples_run_there_unchanged(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STAND_IN", "1")
    most, count = apart(name, 6)
    assert count
    assert most <= APART.get(name, USUALLY)


# --- tensors there --------------------------------------------------------------------------------


def test_where_tensors_are_made() -> None:
    for made in (
        torch.zeros(2, device="cuda"),
        torch.tensor([1, 2], device="cuda:0"),
        torch.arange(3, device=torch.device("cuda")),
        torch.rand(2, 3, device="cuda"),
        torch.randperm(4, device="cuda"),
        torch.ones(2).to("cuda"),
        torch.ones(2).cuda().new_zeros(3),
        torch.zeros_like(torch.ones(2), device="cuda"),
        torch.eye(2, device=0),
    ):
        assert made.is_cuda
        assert not made.is_cpu
        assert made.device == torch.device("cuda", 0)
        assert made.get_device() == 0
        assert not made.cpu().is_cuda
    assert repr(torch.ones(2, device="cuda")) == "tensor([1., 1.], device='cuda:0')"


def test_default_devices() -> None:
    with torch.device("cuda"):
        assert torch.ones(2).is_cuda
        assert torch.tensor(1.0).is_cuda
        with torch.device("cpu"):
            assert not torch.ones(2).is_cuda
    assert not torch.ones(2).is_cuda
    torch.set_default_device("cuda")
    try:
        assert torch.get_default_device().type == "cuda"
        assert torch.nn.Linear(2, 1).weight.is_cuda
    finally:
        torch.set_default_device(None)
    assert torch.get_default_device().type == "cpu"


def test_gradients_come_back_to_where_a_tensor_is() -> None:
    x = torch.arange(3.0, requires_grad=True)
    y = (x.cuda() * 2).sum()
    assert y.grad_fn.next_functions[0][0].name() == "MulBackward0"
    y.backward()
    assert not x.grad.is_cuda
    assert x.grad.tolist() == [2, 2, 2]


@pytest.mark.parametrize(
    "mix",
    [
        lambda a, b: a + b,
        lambda a, b: b * a,
        lambda a, b: a @ b.T,
        lambda a, b: torch.where(b > 0, a, a),
        lambda a, b: torch.cat([a, b]),
        torch.nn.functional.linear,
        torch.nn.functional.mse_loss,
    ],
)
def test_tensors_on_different_devices(mix: Any) -> None:
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        mix(torch.ones(2, 3, device="cuda"), torch.ones(2, 3))


def test_what_may_be_on_the_cpu() -> None:
    """Numbers without dimensions, and indices between brackets."""
    x = torch.arange(4.0, device="cuda")
    assert (x * torch.tensor(2.0)).tolist() == [0, 2, 4, 6]
    assert x[torch.tensor([3, 1])].tolist() == [3, 1]


def test_values_have_to_be_fetched() -> None:
    x = torch.ones(2, device="cuda")
    with pytest.raises(TypeError, match=r"can't convert cuda:0 device type tensor to numpy"):
        x.numpy()
    with pytest.raises(TypeError, match=r"can't convert cuda:0 device type tensor to numpy"):
        np.asarray(x)
    assert x.numpy(force=True).tolist() == x.tolist() == [1, 1]


def test_writing_goes_between_devices() -> None:
    here, there = torch.zeros(3), torch.ones(3, device="cuda", requires_grad=True)
    here.copy_(there.detach())
    assert here.tolist() == [1, 1, 1]
    here = torch.zeros(3, requires_grad=True) * 1
    here[1:] = there[1:]
    here.sum().backward()
    assert here.tolist() == there.grad.tolist() == [0, 1, 1]
    model, other = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1).cuda()
    other.load_state_dict(model.state_dict())
    assert other.weight.is_cuda
    assert other.weight.tolist() == model.weight.tolist()
    with pytest.raises(
        RuntimeError, match="attempting to assign a gradient with device type 'cpu'"
    ):
        other.weight.grad = torch.ones(1, 2)


def test_functions_that_look_at_values() -> None:
    assert torch.nn.functional.one_hot(torch.tensor([2, 0], device="cuda")).tolist() == [
        [0, 0, 1],
        [1, 0, 0],
    ]
    x = torch.tensor([0.0, 2.0, 3.0], device="cuda")
    assert x[x > 1].tolist() == [2, 3]
    assert torch.nonzero(x).tolist() == [[1], [2]]
    assert torch.unique(torch.tensor([3, 1, 3], device="cuda")).tolist() == [1, 3]


def test_batches_are_pinned() -> None:
    data = torch.utils.data.TensorDataset(torch.ones(4, 2), torch.arange(4))
    batch = next(iter(torch.utils.data.DataLoader(data, 2, pin_memory=True)))
    assert [x.is_pinned() for x in batch] == [True, True]
    assert batch[0].to("cuda", non_blocking=True).is_cuda


def test_views_share_memory() -> None:
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    x.T[0, 1] = 9
    x[:, 2].zero_()
    x.as_strided((2,), (1,))[1] = 7
    assert x.tolist() == [[0, 7, 0], [9, 4, 0]]


def test_copies_keep_their_device() -> None:
    model = torch.nn.Linear(2, 1).cuda()
    for twin in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert twin.weight.is_cuda
        assert (twin.weight == model.weight).all()
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    for place, there in (("cuda", True), ("cpu", False)):
        file.seek(0)
        assert torch.load(file, map_location=place)["weight"].is_cuda is there


def test_generators_are_a_devices_own() -> None:
    torch.manual_seed(5)
    first = torch.rand(3, device="cuda")
    torch.rand(9)
    torch.manual_seed(5)
    torch.rand(4)
    assert torch.rand(3, device="cuda").tolist() == first.tolist()
    state = torch.cuda.get_rng_state()
    again = torch.randn(2, device="cuda")
    torch.cuda.set_rng_state(state)
    assert torch.randn(2, device="cuda").tolist() == again.tolist()
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator"):
        torch.rand(2, device="cuda", generator=torch.Generator())


@pytest.mark.parametrize("name", ["SGD", "Adam", "RMSprop", "LBFGS"])
def test_training_there_gives_the_losses_of_the_cpu(name: str) -> None:
    def losses(device: str) -> list[float]:
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.Linear(4, 1))
        x, y = torch.randn(8, 3).to(device), torch.randn(8, 1).to(device)
        model.to(device)
        optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.01)

        def closure() -> Any:
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            loss.backward()
            return loss

        return [optimizer.step(closure).item() for _ in range(4)]

    assert losses("cuda") == pytest.approx(losses("cpu"), rel=1e-4)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("rows", [(5,), (2, 5)])
@pytest.mark.parametrize("bias", [True, False])
def test_a_linear_layer_of_half_precision_asks_the_kernel_that_takes_it(
    monkeypatch: pytest.MonkeyPatch, dtype: str, rows: tuple[int, ...], bias: bool
) -> None:
    """Once for a layer, with arrays as they are; where it gives None, the layer is what it is without."""
    kind = getattr(torch, dtype)
    layer = torch.nn.Linear(3, 4, bias=bias).to("cuda", kind)
    x = torch.randn(*rows, 3, device="cuda", dtype=kind).requires_grad_()
    asked: list[Any] = []

    def results() -> list[Any]:
        for tensor in (x, *layer.parameters()):
            tensor.grad = None
        out = layer(x)
        out.sum().backward()
        return [out.detach(), *[tensor.grad for tensor in (x, *layer.parameters())]]

    def product(*arrays: Any, **parameters: Any) -> Any:
        asked.append([array.dtype for array in arrays])
        wide = [np.astype(array, np.float32) for array in arrays]
        found = np.matmul(*wide[-2:]) + (wide[0] if bias else np.float32(0))
        return np.astype(found, arrays[0].dtype)

    def refused(*arrays: Any, **parameters: Any) -> None:
        asked.append(None)

    op = REGISTRY["addmm" if bias else "mm"]
    expected = results()
    for kernel in (refused, product):
        asked.clear()
        monkeypatch.setattr(op, "half_kernel", kernel)
        for found, wanted in zip(results(), expected, strict=True):
            torch.testing.assert_close(found, wanted)
    if bias or len(rows) == 1:
        assert asked == [[x._data.dtype] * (3 if bias else 2)]
    flat = x.reshape(-1, 3)  # and no tensor was made of the transposed weight
    shortly = (plus_transposed, layer.bias) if bias else (times_transposed,)
    assert shortly[0](*shortly[1:], flat, layer.weight) is not None


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("rows", [(5,), (2, 5)])
def test_a_linear_layer_under_autocast_is_the_function(rows: tuple[int, ...], bias: bool) -> None:
    """Results, gradients, nodes and the casts that are kept; the region is what it was afterwards."""
    layer = torch.nn.Linear(3, 4, bias=bias).to("cuda")
    x = torch.randn(*rows, 3, device="cuda").requires_grad_()

    def outcome(run: Any) -> tuple[list[Any], list[str]]:
        for tensor in (x, *layer.parameters()):
            tensor.grad = None
        with torch.autocast("cuda", dtype=torch.bfloat16):
            first, second = run(x), run(x * 2)  # whose weights are cast once
            assert torch.is_autocast_enabled("cuda")
            assert (x @ layer.weight.t()).dtype == torch.bfloat16
        (first * second).sum().backward()
        node, names = first.grad_fn, []
        while node is not None:
            names.append(node.name())
            node = next((n for n, _ in reversed(node.next_functions) if n is not None), None)
        return [first.detach(), *[t.grad for t in (x, *layer.parameters())]], names

    found, names = outcome(layer)
    wanted, others = outcome(lambda v: torch.nn.functional.linear(v, layer.weight, layer.bias))
    assert names == others
    assert "ToCopyBackward0" in names
    for a, b in zip(found, wanted, strict=True):
        assert a.dtype == b.dtype
        torch.testing.assert_close(a, b)
    with torch.autocast("cuda", dtype=torch.bfloat16), pytest.raises(RuntimeError, match="shapes"):
        layer(torch.ones(2, 7, device="cuda"))
    assert layer(x).dtype == torch.float32


def test_a_batch_of_examples() -> None:
    """`vmap` over arrays on a GPU: batches of them."""
    x = torch.arange(6.0, device="cuda").reshape(3, 2)
    found = torch.func.vmap(lambda row: (row * row).sum())(x)
    assert found.is_cuda
    assert found.tolist() == [1, 13, 41]
    assert isinstance(found._data, CudaArray)


def test_second_derivatives() -> None:
    x = torch.tensor([1.0, 2.0], device="cuda", requires_grad=True)
    (g,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (h,) = torch.autograd.grad(g.sum(), x)
    assert h.tolist() == [6, 12]
