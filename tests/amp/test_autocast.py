"""`autocast`: regions, threads, the kept casts, errors, and models in mixed precision."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.both import same
from tests.kernels import onednn_has_bfloat16


def product(torch: Any) -> Any:
    """A product that says in what dtype it was computed."""
    return torch.mm(torch.ones(1, 1), torch.ones(1, 1)).dtype


@same
def test_regions_inside_one_another(torch: Any) -> Any:
    seen = [product(torch)]
    with torch.autocast("cpu"):
        seen.append(product(torch))
        with torch.autocast("cpu", torch.float16):
            seen.append(product(torch))
            with torch.autocast("cpu", enabled=False):
                seen.append(product(torch))
        seen.append((product(torch), torch.is_autocast_enabled("cpu")))
    with pytest.raises(ZeroDivisionError), torch.amp.autocast("cpu"):
        _ = 1 / 0
    return [*seen, product(torch), torch.is_autocast_enabled("cpu")]


@same
def test_as_a_decorator(torch: Any) -> Any:
    @torch.autocast("cpu", dtype=torch.float16)
    def decorated() -> Any:
        """What it does."""
        return product(torch)

    return decorated(), product(torch), decorated.__name__, decorated.__doc__


def test_a_decorated_function_that_calls_itself() -> None:
    """PyTorch forgets what was in force before: the thread stays in mixed precision."""
    import tautograd as torch

    @torch.autocast("cpu")
    def decorated(depth: int) -> Any:
        return decorated(depth - 1) if depth else product(torch)

    assert decorated(3) == torch.bfloat16
    assert product(torch) == torch.float32


@same
def test_a_thread_has_a_state_of_its_own(torch: Any) -> Any:
    seen = []
    with torch.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append(product(torch)))
        thread.start()
        thread.join()
        seen.append(product(torch))
    return seen


@same
def test_what_is_cast(torch: Any) -> Any:
    x, half = torch.ones(2, 2), torch.ones(2, 2, dtype=torch.bfloat16)
    double, whole = x.double(), x.long()
    out = torch.empty(2, 2)
    with torch.autocast("cpu"):
        return [
            *(
                (x @ half).dtype,
                torch.matmul(half, x).dtype,
                x.mm(x).dtype,
                (double @ double).dtype,
            ),
            *((whole @ whole).dtype, torch.mm(x, x, out=out).dtype, x.clone().addmm_(x, x).dtype),
            *(torch.cat([x, half]).dtype, torch.cat([half, half]).dtype, (x + half).dtype),
            *(
                torch.stack([double, half]).dtype,
                torch.einsum("ij,jk", x, x).dtype,
                half.prod().dtype,
            ),
            *(
                torch.baddbmm(x[None], x[None], half[None]).dtype,
                torch.linalg.inv(half.triu()).dtype,
            ),
        ]


@same
def test_what_cannot_be_joined(torch: Any) -> Any:
    x = torch.ones(2)
    with (
        torch.autocast("cpu"),
        pytest.raises(RuntimeError, match="Unexpected floating ScalarType"),
    ):
        torch.cat([x.half(), x.bfloat16()])
    with torch.autocast("cpu"), pytest.raises(RuntimeError, match="same dtype"):
        torch.mm(torch.ones(1, 1).double(), torch.ones(1, 1))


@same
def test_a_parameter_is_cast_once_in_a_region(torch: Any) -> Any:
    weight, x = torch.nn.Parameter(torch.ones(1, 1)), torch.ones(1, 1)

    def change() -> float:
        with torch.no_grad():
            weight.add_(1)
        return torch.mm(x, weight).item()

    seen = []
    for kept in (True, False):
        with torch.autocast("cpu", cache_enabled=kept):
            with torch.no_grad():
                seen.append(torch.mm(x, weight).item())
            y = torch.mm(x, weight)
            seen += [y, y.grad_fn, y.grad_fn.next_functions[1][0], change()]
            torch.clear_autocast_cache()
            seen.append(change())
            with torch.inference_mode():
                seen.append(torch.mm(x, weight).item())
    with torch.autocast("cpu"):
        y = torch.mm(x, weight) + torch.mm(x, weight)
        first, second = (edge[0].next_functions[1][0] for edge in y.grad_fn.next_functions)
        seen.append(first is second)
    y.backward()
    return [*seen, weight.grad]


@same
def test_names_of_the_state(torch: Any) -> Any:
    seen: list[Any] = [torch.get_autocast_dtype(d) for d in ("cpu", "cuda", "mps", "xla")]
    torch.set_autocast_dtype("cpu", torch.float16)
    torch.set_autocast_enabled("cpu", True)
    try:
        seen += [product(torch), torch.is_autocast_enabled("cpu"), torch.is_autocast_enabled()]
    finally:
        torch.set_autocast_enabled("cpu", False)
        torch.set_autocast_dtype("cpu", torch.bfloat16)
    seen += [torch.is_autocast_cache_enabled(), torch.autocast_increment_nesting()]
    seen += [torch.autocast_decrement_nesting(), torch.amp.is_autocast_available("cpu")]
    seen += [torch.amp.is_autocast_available("meta"), torch.cuda.is_available()]
    with pytest.warns(DeprecationWarning, match=r"is_autocast_enabled\('cpu'\)"):
        seen.append(torch.is_autocast_cpu_enabled())
    return seen


WRONG = {
    "meta": (RuntimeError, "unsupported scalarType", lambda torch: torch.autocast("meta")),
    "unknown": (RuntimeError, "device type at start of", lambda torch: torch.autocast("no")),
    "no text": (ValueError, "Expected `device_type` of type `str`", lambda t: t.autocast(3)),
    "no function": (TypeError, "requires a callable", lambda t: t.autocast("cpu")(3)),
    "no dtype": (TypeError, "must be torch.dtype", lambda t: t.set_autocast_dtype("cpu", 3)),
    "no bool": (TypeError, "must be bool", lambda t: t.set_autocast_enabled("cpu", 3)),
}


@pytest.mark.parametrize("case", WRONG)
@same
def test_wrong_use(torch: Any, case: str) -> None:
    error, phrase, program = WRONG[case]
    with pytest.raises(error, match=phrase):
        program(torch)


WARNED = {
    "dtype": ("CPU autocast.*Disabling", lambda t: t.autocast("cpu", t.float32)),
    "cuda": ("CUDA is not available", lambda t: t.autocast("cuda")),
    "older name": ("torch.amp.autocast", lambda t: t.cpu.amp.autocast()),
    "older scaler": ("torch.amp.GradScaler", lambda t: t.cpu.amp.GradScaler()),
}


@pytest.mark.parametrize("case", WARNED)
@same
def test_warnings(torch: Any, case: str) -> Any:
    phrase, program = WARNED[case]
    with pytest.warns((UserWarning, FutureWarning), match=f"(?s){phrase}"):
        made = program(torch)
    if case == "older scaler":
        return made.state_dict()
    with made:
        return product(torch)


@pytest.mark.parametrize("cast_inputs", [None, "float32", "float16"])
@pytest.mark.parametrize("inside", [True, False])
@same
def test_functions_of_ones_own(torch: Any, cast_inputs: str | None, inside: bool) -> Any:
    seen = []
    kind = None if cast_inputs is None else getattr(torch, cast_inputs)

    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cpu", cast_inputs=kind)
        def forward(ctx: Any, a: Any, b: Any) -> Any:
            ctx.save_for_backward(a, b)
            seen.append((a.dtype, torch.is_autocast_enabled("cpu")))
            return a.mm(b)

        @staticmethod
        @torch.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            a, b = ctx.saved_tensors
            seen.append((g.dtype, torch.is_autocast_enabled("cpu")))
            return g.mm(b.t()), a.t().mm(g)

    a, b = (torch.ones(2, 2, requires_grad=True) for _ in range(2))
    with torch.autocast("cpu", enabled=inside):
        y = Product.apply(a, b)
    y.sum().backward()
    return seen, y, a.grad, b.grad


@pytest.mark.parametrize("reentrant", [True, False])
@same
def test_checkpoints_compute_again_as_before(torch: Any, reentrant: bool) -> Any:
    from importlib import import_module

    checkpoint = import_module(f"{torch.__name__}.utils.checkpoint").checkpoint
    layer, x, seen = torch.nn.Linear(3, 3), torch.ones(2, 3, requires_grad=True), []

    def run(x: Any) -> Any:
        seen.append((torch.is_autocast_enabled("cpu"), torch.get_autocast_dtype("cpu")))
        return layer(x).relu()

    with torch.autocast("cpu", torch.float16):
        y = checkpoint(run, x, use_reentrant=reentrant)
    y.sum().backward()
    return seen, y, x.grad, layer.weight.grad, torch.is_autocast_enabled("cpu")


@same
def test_second_order_and_vmap(torch: Any) -> Any:
    w = torch.arange(4.0).reshape(2, 2).requires_grad_()
    with torch.autocast("cpu"):
        y = (w @ w).float().square().sum()
    (g,) = torch.autograd.grad(y, w, create_graph=True)
    (second,) = torch.autograd.grad(g.sum(), w)
    with torch.autocast("cpu"):
        rows = torch.vmap(lambda row: torch.nn.functional.linear(row, w))(torch.ones(3, 2))
    return y, g, second, rows


# A layer of each kind, and the shapes of its inputs (after "half": in bfloat16).
LAYERS: dict[str, tuple[Any, Any]] = {
    "Linear": (lambda nn: nn.Linear(4, 3), [(2, 4)]),
    "Bilinear": (lambda nn: nn.Bilinear(4, 4, 2), [(2, 4), (2, 4)]),
    "Conv1d": (lambda nn: nn.Conv1d(3, 2, 3, padding=1), [(2, 3, 6)]),
    "Conv2d": (lambda nn: nn.Conv2d(3, 2, 3), [(2, 3, 6, 6)]),
    "ConvTranspose2d": (lambda nn: nn.ConvTranspose2d(3, 2, 3), [(2, 3, 6, 6)]),
    "BatchNorm": (
        lambda nn: nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()),
        [(2, 3, 6, 6)],
    ),
    "LayerNorm": (
        lambda nn: nn.Sequential(nn.Linear(4, 4), nn.LayerNorm(4), nn.GELU()),
        [(2, 4)],
    ),
    "GroupNorm": (
        lambda nn: nn.Sequential(nn.Conv2d(3, 4, 3), nn.GroupNorm(2, 4)),
        [(2, 3, 6, 6)],
    ),
    "norm of half": (lambda nn: nn.BatchNorm1d(3), ["half", (4, 3)]),
    "PReLU": (lambda nn: nn.PReLU(), [(2, 4)]),
    "GRU": (lambda nn: nn.GRU(4, 3, bidirectional=True), [(5, 2, 4)]),
    "GRU of half": (lambda nn: nn.GRU(4, 3), ["half", (5, 2, 4)]),
    "RNN": (lambda nn: nn.RNN(4, 3), [(5, 2, 4)]),
    "LSTMCell": (lambda nn: nn.LSTMCell(4, 3), [(2, 4)]),
    "GRUCell": (lambda nn: nn.GRUCell(4, 3), [(2, 4)]),
    "RNNCell": (lambda nn: nn.RNNCell(4, 3), [(2, 4)]),
    "MultiheadAttention": (lambda nn: nn.MultiheadAttention(4, 2), [(5, 2, 4)] * 3),
    "encoder": (lambda nn: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0), [(5, 2, 4)]),
    "MaxPool3d": (lambda nn: nn.MaxPool3d(2), ["half", (1, 1, 4, 4, 4)]),
    "ReflectionPad2d": (lambda nn: nn.ReflectionPad2d(1), ["half", (1, 2, 3, 3)]),
    "MSELoss": (lambda nn: nn.MSELoss(), ["half", (2, 3), (2, 3)]),
    "SmoothL1Loss": (lambda nn: nn.SmoothL1Loss(), [(2, 3), "half", (2, 3)]),
}


def _inputs(torch: Any, shapes: list[Any]) -> list[Any]:
    found, half = [], False
    for shape in shapes:
        if shape == "half":
            half = True
        else:
            x = torch.randn(*shape)
            found.append(x.bfloat16() if half else x)
    return found


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")
@pytest.mark.parametrize("name", LAYERS)
@same
def test_layers(torch: Any, name: str) -> Any:
    build, shapes = LAYERS[name]
    return _trained(torch, build(torch.nn), shapes)


def _trained(torch: Any, layer: Any, shapes: list[Any]) -> Any:
    """The dtypes of a layer's results, the results, and the dtypes of its gradients."""
    inputs = _inputs(torch, shapes)
    with torch.autocast("cpu"):
        found = layer(*inputs)
    results = list(found) if isinstance(found, tuple) else [found]
    flat = [r for one in results for r in (one if isinstance(one, tuple) else (one,))]
    loss = sum(r.float().square().mean() for r in flat)
    if loss.requires_grad:
        loss.backward()
    gradients = [p.grad for p in layer.parameters() if p.grad is not None]
    # As bfloat16 for the comparison, which knows how closely that agrees.
    return [r.dtype for r in flat], [r.bfloat16() for r in flat], [g.dtype for g in gradients]


@same
def test_lstm(torch: Any) -> Any:
    """PyTorch computes it in bfloat16 with oneDNN, and raises where the CPU has no kernel for that
    (`same` then asks it without oneDNN, which computes in float32)."""
    dtypes, results, gradients = _trained(torch, torch.nn.LSTM(4, 3, 2), [(5, 2, 4)])
    if torch.__name__ == "tautograd" or onednn_has_bfloat16():
        assert dtypes == [torch.bfloat16] * 3
    return results, gradients
