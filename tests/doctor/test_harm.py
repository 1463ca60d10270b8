"""The doctor does no harm: a watched loop does, to the last bit, what the bare one does.

Each loop returns all that can be seen of it: losses, weights, random numbers drawn afterwards, the
order in which hooks ran, the exception that ended it. On both engines. After `stop()` the engine's
modules and classes are what they were.
"""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

import tautograd
from tests.both import ENGINES

from .corpus.judge import engine as load
from .corpus.parts import batches, classes, perceptron, regression


def bits(tensors: Any) -> list[Any]:
    return [t.detach().flatten().tolist() for t in tensors]


def seen(torch: Any, model: Any, losses: list[Any], **more: Any) -> dict[str, Any]:
    return {
        "losses": losses,
        "weights": bits(model.state_dict().values()),
        "gradients": [None if p.grad is None else p.grad.tolist() for p in model.parameters()],
        "drawn": torch.rand(3).tolist(),
        "anomaly": torch.is_anomaly_enabled(),
        **more,
    }


# --- loops ------------------------------------------------------------------------------------------


def dropout_and_norm(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    x, y = classes(torch)
    model = nn.Sequential(
        *(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 3))
    )
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 6)
    losses = []
    for _epoch in range(6):
        model.train()
        for inputs, targets in batches(12, x, y):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(inputs), targets)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            losses.append(loss.item())
        scheduler.step()
        model.eval()
        with torch.no_grad():
            losses.append(nn.functional.cross_entropy(model(x), y).item())
    return seen(torch, model, losses, rate=optimizer.param_groups[0]["lr"])


def hooks_in_order(torch: Any) -> dict[str, Any]:
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 1)
    order: list[str] = []
    for name, p in model.named_parameters():
        p.register_hook(lambda g, name=name: order.append(f"tensor {name}"))
        p.register_post_accumulate_grad_hook(lambda p, name=name: order.append(f"got {name}"))
    model[0].register_forward_hook(lambda *a: order.append("forward"))
    model[2].register_full_backward_hook(lambda *a: order.append("backward"))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    optimizer.register_step_pre_hook(lambda *a: order.append("before step"))
    optimizer.register_step_post_hook(lambda *a: order.append("after step"))
    losses = []
    for _ in range(15):
        optimizer.zero_grad(set_to_none=False)
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.grad_fn.register_hook(lambda *a: order.append("node"))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return seen(torch, model, losses, order=order)


def two_players(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    maker, critic = perceptron(torch, 2, 8, 2), perceptron(torch, 2, 8, 1)
    one = torch.optim.Adam(maker.parameters(), lr=0.01)
    two = torch.optim.Adam(critic.parameters(), lr=0.01)
    losses = []
    for _ in range(16):
        real, fake = torch.randn(8, 2) + 2, maker(torch.randn(8, 2))
        two.zero_grad()
        loss = (critic(fake.detach()) - critic(real)).mean()
        loss.backward()
        two.step()
        one.zero_grad()
        trick = -critic(fake).mean()
        trick.backward()
        one.step()
        losses += [loss.item(), trick.item()]
    return seen(torch, nn.ModuleList([maker, critic]), losses)


def scaled_in_half_precision(torch: Any) -> dict[str, Any]:
    nn = torch.nn
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**20, growth_interval=3)
    losses = []
    for _ in range(20):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            output = model(x)
        loss = nn.functional.mse_loss(output.float(), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        losses += [loss.item(), scaler.get_scale()]
    return seen(torch, model, losses)


def custom_function(torch: Any) -> dict[str, Any]:
    calls = []

    class Noisy(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x + 0.0 * torch.rand_like(x)

        @staticmethod
        def backward(ctx, g):
            calls.append(len(calls))
            return g * 2 * ctx.saved_tensors[0]

    x, _ = regression(torch)
    model = perceptron(torch, 4, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    losses = []
    for _ in range(14):
        optimizer.zero_grad()
        loss = Noisy.apply(model(x)).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return seen(torch, model, losses)


def closures(torch: Any) -> dict[str, Any]:
    x, y = regression(torch)
    model = perceptron(torch, 4, 1)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4)
    losses = []

    def closure() -> Any:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(x), y)
        loss.backward()
        losses.append(loss.item())
        return loss

    for _ in range(5):
        optimizer.step(closure)
    return seen(torch, model, losses)


def gradients_that_are_not_finite(torch: Any) -> dict[str, Any]:
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    for i in range(8):
        optimizer.zero_grad()
        out = model(x)
        out = torch.where(out > 0, out.sqrt(), out) if i > 4 else out
        loss = torch.nn.functional.mse_loss(out, y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return seen(torch, model, losses)


def roots_and_logarithms(torch: Any) -> dict[str, Any]:
    """Operations that are watched in every step, with hooks of the user's own on them; at last NaN."""
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    order: list[str] = []
    losses = []
    for i in range(50):
        optimizer.zero_grad()
        root = ((model(x) - y).square().sum(1) + (1e-3 if i < 45 else -9.0)).sqrt()
        root.grad_fn.register_hook(lambda *a: order.append("node"))
        root.register_hook(lambda g: order.append("tensor"))
        loss = (root + 1).log().mean() / root.detach().mean()
        loss.backward(retain_graph=i % 2 == 0)
        optimizer.step()
        losses.append(repr(loss.item()))
    return seen(torch, model, losses, order=order, anomaly=torch.is_anomaly_enabled())


def data_loaders(torch: Any) -> dict[str, Any]:
    data = torch.utils.data
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    losses = []
    loader = data.DataLoader(data.TensorDataset(x, y), batch_size=8, shuffle=True, num_workers=2)
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(model(inputs), targets)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return seen(torch, model, losses)


def one_after_the_other_in_threads(torch: Any) -> dict[str, Any]:
    x, y = regression(torch)
    models = [perceptron(torch, 4, 8, 1) for _ in range(3)]
    losses: list[list[float]] = [[] for _ in models]

    def train(which: int) -> None:
        optimizer = torch.optim.SGD(models[which].parameters(), lr=0.05)
        for _ in range(20):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(models[which](x), y)
            loss.backward()
            optimizer.step()
            losses[which].append(loss.item())

    threads = [threading.Thread(target=train, args=(i,)) for i in range(len(models))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return seen(torch, torch.nn.ModuleList(models), losses)


LOOPS = (
    dropout_and_norm, hooks_in_order, two_players, scaled_in_half_precision, custom_function,
    closures, gradients_that_are_not_finite, roots_and_logarithms, data_loaders, one_after_the_other_in_threads,
)  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loop", LOOPS, ids=lambda loop: loop.__name__)
def test_a_watched_loop_does_the_same(loop, engine):
    torch = load(engine)
    torch.manual_seed(0)
    bare = loop(torch)
    torch.manual_seed(0)
    with tautograd.doctor() as doctor:
        watched = loop(torch)
    assert not doctor.troubles, doctor.troubles
    for key in bare:
        assert repr(watched[key]) == repr(bare[key]), key  # NaN and the sign of 0 as well


# --- exceptions -------------------------------------------------------------------------------------


def _interrupted(torch: Any, error: BaseException, where: str) -> Any:
    x, y = regression(torch)
    model = perceptron(torch, 4, 8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)

    def fail(*_: Any) -> None:
        raise error

    for i in range(20):
        optimizer.zero_grad()
        out = model(x)
        if i == 15 and where == "backward":
            out.register_hook(fail)
        loss = torch.nn.functional.mse_loss(out, y)
        loss.backward()
        if i == 15 and where == "step":
            optimizer.register_step_pre_hook(fail)
        optimizer.step()
        if i == 15 and where == "loop":
            fail()
    return None


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("where", ["backward", "step", "loop"])
@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("mine")], ids=repr)
def test_exceptions_pass_through(engine, where, error):
    torch = load(engine)
    dropout_and_norm(torch)  # what is loaded at first use
    before = snapshot(torch)
    with pytest.raises(type(error)) as caught, tautograd.doctor() as doctor:
        _interrupted(torch, error, where)
    assert caught.value is error
    assert not doctor.troubles
    assert snapshot(torch) == before


@pytest.mark.parametrize("engine", ENGINES)
def test_errors_of_the_engine_are_its_own(engine):
    torch = load(engine)

    def wrong() -> str:
        x = torch.ones(3, requires_grad=True)
        loss = (x * x).sum()
        loss.backward()
        with pytest.raises(RuntimeError) as caught:
            loss.backward()
        return str(caught.value)

    bare = wrong()
    with tautograd.doctor():
        assert wrong() == bare


# --- what is left behind ----------------------------------------------------------------------------


def snapshot(torch: Any) -> dict[str, Any]:
    """Everything that could have been replaced: classes, modules, hooks of all."""
    name = torch.__name__
    classes_ = (
        torch.Tensor, torch.nn.Module, torch.nn.Parameter, torch.optim.Optimizer,
        torch.optim.lr_scheduler.LRScheduler, torch.optim.lr_scheduler.ReduceLROnPlateau,
        torch.amp.GradScaler, torch.autograd.Function,
    )  # fmt: skip
    found: dict[str, Any] = {}
    for cls in classes_:
        found |= {f"{cls.__name__}.{key}": id(value) for key, value in vars(cls).items()}
    for path, module in list(sys.modules.items()):
        if path == name or path.startswith((name + ".nn", name + ".optim", name + ".autograd")):
            found |= {
                f"{path}.{key}": id(value)
                for key, value in vars(module).items()
                if callable(value) and not key.startswith("__")
            }
            found |= {
                f"{path}.{key}": len(value)
                for key, value in vars(module).items()
                if key.startswith("_global_") and hasattr(value, "__len__")
            }
    return found


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_is_left_behind(engine):
    torch = load(engine)
    dropout_and_norm(torch)  # what is loaded at first use
    before = snapshot(torch)
    with tautograd.doctor():
        assert snapshot(torch) != before
        dropout_and_norm(torch)
        custom_function(torch)
    after = snapshot(torch)
    assert {key for key in before if before[key] != after.get(key)} == set()
    assert not torch.is_anomaly_enabled()


@pytest.mark.parametrize("engine", ENGINES)
def test_a_custom_function_is_given_back(engine):
    torch = load(engine)

    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    held = vars(Twice)["forward"]
    w = torch.ones(3, requires_grad=True)
    with tautograd.doctor():
        Twice.apply(w).sum().backward()
    assert vars(Twice)["forward"] is held


@pytest.mark.parametrize("engine", ENGINES)
def test_memory_stays_flat(engine):
    """What the doctor itself keeps does not grow with the number of steps."""
    import gc

    torch = load(engine)
    x, y = regression(torch)
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)

    def steps(count: int) -> int:
        for _ in range(count):
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(model(x), y).backward()
            optimizer.step()
        gc.collect()
        return len(gc.get_objects())

    with tautograd.doctor():
        first = steps(500)
        assert steps(1500) - first < 300
