"""Everything but operations on the GPU: optimizers, modules in half precision, dropout, the trust kit.

Each check is a function that returns a line of text, or raises. Training losses on the GPU are
compared with the CPU's.
"""

from __future__ import annotations

import sys
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
warnings.simplefilter("ignore")

from places import CHECKS as PLACES  # noqa: E402

import tautograd as torch  # noqa: E402
from tautograd import nn  # noqa: E402

CHECKS: list[tuple[str, Callable[[], str]]] = []


def check(function: Any) -> Any:
    CHECKS.append((function.__name__, function))
    return function


def _train(
    device: str, make: Callable[[Any], Any], steps: int = 6, dtype: Any = None
) -> list[float]:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.LayerNorm(16), nn.Linear(16, 4))
    x, y = torch.randn(20, 6), torch.randint(0, 4, (20,))
    model = model.to(device, dtype)
    x, y = x.to(device, dtype), y.to(device)
    optimizer = make(model.parameters())
    found = []
    for _ in range(steps):

        def closure() -> Any:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x), y)
            loss.backward()
            return loss

        loss = optimizer.step(closure)
        found.append(float(loss))
    return found


def _apart(a: list[float], b: list[float]) -> float:
    return max(abs(x - y) / max(abs(y), 1e-6) for x, y in zip(a, b, strict=True))


@check
def optimizers() -> str:
    options: dict[str, dict[str, Any]] = {
        "SGD": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
        "Adam": {"amsgrad": True}, "AdamW": {}, "Adamax": {}, "NAdam": {}, "RAdam": {}, "Adagrad": {},
        "Adadelta": {}, "RMSprop": {"centered": True, "momentum": 0.5}, "Rprop": {}, "ASGD": {},
        "LBFGS": {"max_iter": 4}, "Adafactor": {},
    }  # fmt: skip
    worst, name = 0.0, ""
    for kind, given in options.items():
        found = _apart(
            _train("cuda", lambda p, k=kind, g=given: getattr(torch.optim, k)(p, **g)),
            _train("cpu", lambda p, k=kind, g=given: getattr(torch.optim, k)(p, **g)),
        )
        bound = 1e-2 if kind == "LBFGS" else 1e-4  # its line search depends on loss differences
        assert found < bound, f"{kind}: {found}"
        worst, name = max((worst, name), (found, kind))
    return f"{len(options)} optimizers, losses apart by {worst:.1e} at most ({name})"


@check
def half_precision() -> str:
    texts = []
    for dtype, bound in ((torch.float16, 2e-2), (torch.bfloat16, 1e-1), (torch.float64, 1e-12)):
        gpu = _train("cuda", torch.optim.AdamW, dtype=dtype)
        cpu = _train("cpu", torch.optim.AdamW, dtype=dtype)
        found = _apart(gpu, cpu)
        assert found < bound, f"{dtype}: {gpu} {cpu}"
        texts.append(f"{dtype}: {found:.1e}")
    return ", ".join(texts)


@check
def autocast() -> str:
    model = nn.Linear(8, 4).cuda()
    x = torch.randn(3, 8).cuda()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        y = model(x)
    y.sum().backward()
    assert (y.dtype, model.weight.grad.dtype) == (torch.bfloat16, torch.float32)
    scaler = torch.amp.GradScaler("cuda")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(2):
        optimizer.zero_grad()
        scaler.scale(model(x).square().mean()).backward()
        scaler.step(optimizer)
        scaler.update()
    return f"autocast and GradScaler, scale {scaler.get_scale()}"


@check
def layers() -> str:
    torch.manual_seed(1)
    made: list[tuple[Any, Any]] = [
        (nn.Conv2d(3, 8, 3, padding=1), torch.randn(2, 3, 9, 9)),
        (nn.ConvTranspose2d(3, 4, 3, stride=2), torch.randn(2, 3, 5, 5)),
        (nn.BatchNorm2d(3), torch.randn(2, 3, 5, 5)), (nn.GroupNorm(1, 4), torch.randn(2, 4, 5)),
        (nn.MaxPool2d(2), torch.randn(2, 3, 6, 6)), (nn.AvgPool2d(2), torch.randn(2, 3, 6, 6)),
        (nn.LSTM(4, 5, batch_first=True), torch.randn(2, 3, 4)), (nn.GRU(4, 5), torch.randn(2, 3, 4)),
        (nn.TransformerEncoderLayer(8, 2, 16, 0.0, batch_first=True), torch.randn(2, 3, 8)),
        (nn.MultiheadAttention(8, 2, batch_first=True), None), (nn.RMSNorm(8), torch.randn(3, 8)),
        (nn.Bilinear(3, 4, 2), None), (nn.PReLU(), torch.randn(4, 4)), (nn.Softmax(-1), torch.randn(4, 9)),
    ]  # fmt: skip
    worst = 0.0
    for module, x in made:
        name = type(module).__name__
        if x is None:
            args = (
                (torch.randn(2, 3, 8),) * 3
                if "Multihead" in name
                else (torch.randn(5, 3), torch.randn(5, 4))
            )
        else:
            args = (x,)
        outs = []
        for device in ("cpu", "cuda"):
            module = module.to(device)
            module.zero_grad()
            out = module(*(a.to(device).requires_grad_() for a in args))
            out = out[0] if isinstance(out, tuple) else out
            weights = torch.arange(out.numel(), device=device).cos().reshape(out.shape)
            (out * weights).sum().backward()
            grads = [p.grad.clone().cpu() for p in module.parameters() if p.grad is not None]
            outs.append([out.detach().cpu(), *grads])
        scale = max(float(a.abs().max()) for a in outs[0])  # some gradients are zero up to rounding
        for a, b in zip(*outs, strict=True):
            error = float((a - b).abs().max()) / scale
            assert error < 1e-4, f"{name}: {error}"
            worst = max(worst, error)
    return f"{len(made)} layers, apart by {worst:.1e} at most"


@check
def dropout_in_a_graph() -> str:
    torch.manual_seed(0)
    x = torch.ones(1000, device="cuda")
    step = torch.cuda.make_graphed_step(lambda t: nn.functional.dropout(t, 0.5))
    found = [step(x).clone() for _ in range(6)]
    means = [float(f.mean()) for f in found]
    assert all(0.8 < m < 1.2 for m in means), means
    same = sum(bool((found[i] == found[j]).all()) for i in range(6) for j in range(i))
    assert not same, "two replays drew the same numbers"
    return f"six masks, all different, means {min(means):.2f} to {max(means):.2f}"


@check
def graph_guards() -> str:
    model = nn.Linear(3, 2).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def one(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    step = torch.cuda.make_graphed_step(one)
    losses = [float(step(torch.ones(4, 3))) for _ in range(6)]
    assert losses == sorted(losses, reverse=True), losses
    texts = []
    for wrong in (
        lambda: step(torch.ones(5, 3)),
        lambda: (model.to(torch.float64), step(torch.ones(4, 3))),
    ):
        try:
            wrong()
        except RuntimeError as error:
            texts.append(str(error)[:40])
    assert len(texts) == 2, texts
    try:
        asks = torch.cuda.make_graphed_step(lambda x: x * x.sum().item(), warmup=0)
        asks(torch.ones(3))
    except RuntimeError as error:
        texts.append(str(error)[:40])
    assert len(texts) == 3, texts
    return f"losses {losses[0]:.4f} to {losses[-1]:.4f}; refused: {texts}"


@check
def devices_compared() -> str:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 8), nn.GELU(), nn.Linear(8, 2))
    table = torch.compare_devices(model, torch.randn(4, 5), dtypes=[torch.float32, torch.bfloat16])
    text = str(table)
    assert "cuda" in text
    return text.splitlines()[-1]


@check
def doctor() -> str:
    from tautograd import doctor as kit

    torch.manual_seed(0)
    model = nn.Linear(4, 1).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    x, y = torch.randn(16, 4).cuda(), torch.randn(16, 1).cuda()
    watcher = kit.watch(model, optimizer)
    for _ in range(12):
        loss = nn.functional.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()  # zero_grad is missing
    report = watcher.stop()
    text = str(report if report is not None else watcher)
    assert "zero_grad" in text, text[:300]
    return next(line for line in text.splitlines() if line.strip())[:100]


@check
def deterministic() -> str:
    torch.use_deterministic_algorithms(True)
    try:
        index = torch.randint(0, 50, (20000,), device="cuda")
        values = torch.randn(20000, 3, device="cuda")
        found = [torch.zeros(50, 3, device="cuda").index_add_(0, index, values) for _ in range(3)]
        assert all(bool((f == found[0]).all()) for f in found)
    finally:
        torch.use_deterministic_algorithms(False)
    return "index_add_ gives the same bits three times"


@check
def files() -> str:
    import copy
    import io
    import pickle

    model = nn.Linear(3, 2).cuda()
    twin = pickle.loads(pickle.dumps(model))
    assert twin.weight.is_cuda
    assert copy.deepcopy(model).bias.is_cuda
    file = io.BytesIO()
    torch.save(model.state_dict(), file)
    file.seek(0)
    state = torch.load(file, map_location="cuda")
    assert state["weight"].is_cuda
    assert bool((state["weight"] == model.weight).all())
    file.seek(0)
    assert not torch.load(file, map_location="cpu")["weight"].is_cuda
    return "pickle, deepcopy, save, load with map_location"


def run_checks() -> list[tuple[str, bool, str]]:
    """Run all checks: (name, whether it passed, a line of text) for each."""
    found = []
    for name, function in [*CHECKS, *PLACES]:
        try:
            found.append((name, True, function()))
        except Exception as error:
            lines = traceback.format_exc().splitlines()
            places = [p.strip() for p in lines if "tautograd" in p and "File" in p]
            found.append(
                (name, False, f"{type(error).__name__}: {str(error)[:300]} @ {places[-2:]}")
            )
    return found
