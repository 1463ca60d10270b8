"""The mode in which a function's own Python runs at each call: when it is followed, and what is left when it is not."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tautograd as torch
from tautograd._compile.messages.errors import CompileError


def followed(compiled: Any) -> Any:
    found = compiled._last.followed_calls
    assert found is not None, compiled._last.not_followed
    return found


def training(optimizer: str = "Adam", **options: Any) -> tuple[Any, Any, dict[str, Any]]:
    torch.manual_seed(3)
    model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 2))
    steps = getattr(torch.optim, optimizer)(model.parameters(), lr=0.05, **options)
    state: dict[str, Any] = {"scale": 1.0, "log": [], "before": None, "clip": 0.0}

    def step(x: Any, y: Any) -> Any:
        steps.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y) * state["scale"]
        loss.backward()
        if state["clip"]:
            torch.nn.utils.clip_grad_norm_(model.parameters(), state["clip"])
        if state["before"] is not None:
            state["before"](model, steps)
        steps.step()
        state["log"].append(len(state["log"]))
        return {"loss": loss, "count": len(state["log"])}

    return model, step, state


def batches(count: int) -> list[Any]:
    torch.manual_seed(5)
    return [(torch.randn(6, 4), torch.randint(0, 2, (6,))) for _ in range(count)]


def close(a: Any, b: Any) -> None:
    torch.testing.assert_close(a, b, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "AdamW", "RMSprop", "Adagrad"])
def test_a_training_step_is_followed(optimizer: str) -> None:
    model, plain, _ = training(optimizer)
    other, step, state = training(optimizer)
    compiled = torch.compile(step, sound=True, backend="numpy")
    for call, (x, y) in enumerate(batches(8)):
        expected, found = plain(x, y), compiled(x, y)
        close(found["loss"], expected["loss"])
        assert found["count"] == expected["count"] == call + 1
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        close(b, a)
        close(b.grad, a.grad)
    assert followed(compiled).runs == 6
    assert state["log"] == list(range(8))  # everything in Python happens once
    assert "sound" in compiled.explain().to_dict()["mode"]


def test_where_it_differs_it_goes_on_in_eager_from_there() -> None:
    model, plain, states = training()
    other, step, state = training()
    compiled = torch.compile(step, sound=True, backend="numpy")
    for call, (x, y) in enumerate(batches(12)):
        if call == 5:
            state["clip"] = states["clip"] = 0.1  # after backward has been put off
        if call == 7:
            state["clip"] = states["clip"] = 0.0
        close(compiled(x, y)["loss"], plain(x, y)["loss"])
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        close(b, a)
    assert state["log"] == list(range(12))
    assert followed(compiled).runs >= 6


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, steps: model[0].weight.grad.sum().item(),
        lambda model, steps: float(model[0].weight.grad[0, 0]),
        lambda model, steps: repr(model[0].weight),
        lambda model, steps: model[0].weight.grad.numpy().sum(),
        lambda model, steps: model[0].weight._version,
        lambda model, steps: model[0].weight.grad.grad_fn,
        lambda model, steps: torch.get_rng_state(),
        lambda model, steps: model[0].weight.data_ptr(),
        lambda model, steps: model[0].weight.requires_grad_(True),
        lambda model, steps: steps.param_groups[0].update(lr=0.2),
        lambda model, steps: steps.state.clear(),
        lambda model, steps: model[0].weight.grad.mul_(2),
        lambda model, steps: setattr(model[0].weight, "grad", None),
    ],
)
def test_what_is_asked_for_in_the_middle(ask: Callable[..., Any]) -> None:
    """The first calls are followed; then something is done that was not recorded."""
    model, plain, states = training()
    other, step, state = training()
    compiled = torch.compile(step, sound=True, backend="numpy")
    for call, (x, y) in enumerate(batches(7)):
        if call == 4:
            state["before"] = states["before"] = ask
        if call == 5:
            state["before"] = states["before"] = None
        close(compiled(x, y)["loss"], plain(x, y)["loss"])
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        close(b, a)
        assert b._version == a._version


def test_an_error_leaves_what_eager_leaves() -> None:
    def fail(*_: Any) -> None:
        raise KeyError("stop")

    model, plain, states = training()
    other, step, state = training()
    compiled = torch.compile(step, sound=True, backend="numpy")
    for call, (x, y) in enumerate(batches(6)):
        state["before"] = states["before"] = fail if call == 4 else None
        if call == 4:
            for run in (plain, compiled):
                with pytest.raises(KeyError):
                    run(x, y)
        else:
            close(compiled(x, y)["loss"], plain(x, y)["loss"])
        for a, b in zip(model.parameters(), other.parameters(), strict=True):
            close(b, a)
            close(b.grad, a.grad)


def test_a_wrong_value_raises_what_eager_raises() -> None:
    other, step, _ = training()
    compiled = torch.compile(step, sound=True, backend="numpy")
    (x, y), *rest = batches(4)
    for pair in rest:
        compiled(*pair)
    before = [p.clone() for p in other.parameters()]
    wrong = y.clone()
    wrong[0] = 7
    with pytest.raises(IndexError, match="out of bounds"):
        compiled(x, wrong)
    for a, b in zip(before, other.parameters(), strict=True):
        assert torch.equal(a, b)
    compiled(x, y)


def test_a_tensor_that_is_kept_this_time() -> None:
    kept: list[Any] = []
    keeps = [False]

    def fn(x: Any) -> Any:
        y = x * 2
        if keeps[0]:
            kept.append(y)
        return y + 1

    compiled = torch.compile(fn, sound=True, backend="numpy")
    for call in range(6):
        keeps[0] = call == 4
        x = torch.full((3,), float(call))
        assert torch.equal(compiled(x), x * 2 + 1)
    assert torch.equal(kept[0], torch.full((3,), 8.0))


def test_random_numbers_go_on_as_in_eager() -> None:
    drop = torch.nn.Dropout(0.5)
    results = []
    for compiled in (False, True):
        torch.manual_seed(0)
        fn = (
            torch.compile(lambda x: drop(x) + 1, sound=True, backend="numpy")
            if compiled
            else (lambda x: drop(x) + 1)
        )
        results.append([fn(torch.ones(20)) for _ in range(6)] + [torch.rand(3)])
    for a, b in zip(*results, strict=True):
        assert torch.equal(a, b)


def test_views_and_writes() -> None:
    def fn(x: Any) -> Any:
        y = x * 2
        part = y[1:]
        part.add_(1)
        y[0] = 7.0
        return y, part, x.view(-1)

    compiled = torch.compile(fn, sound=True, backend="numpy")
    for call in range(6):
        x = torch.arange(4.0) + call
        for a, b in zip(compiled(x), fn(x), strict=True):
            assert torch.equal(a, b)
        y, part, _ = compiled(x)
        part.mul_(2)
        assert torch.equal(y[1:], part)


def test_what_cannot_be_followed_is_refused_and_named() -> None:
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, g: Any) -> Any:
            return g * 2

    compiled = torch.compile(lambda x: Double.apply(x) + 1, sound=True, backend="numpy")
    compiled(torch.ones(3))
    with pytest.raises(CompileError, match=r"(?s)Double\.apply.*test_following\.py"):
        compiled(torch.ones(3))


def test_a_large_step_is_followed_without_being_asked() -> None:
    torch.manual_seed(0)
    layers = [torch.nn.Linear(256, 256) for _ in range(3)]
    model = torch.nn.Sequential(*layers)
    x = torch.randn(2048, 256)

    def loss(x: Any) -> Any:
        return model(x).square().mean().detach()

    compiled = torch.compile(loss, backend="numpy")
    for _ in range(3):
        close(compiled(x), loss(x))
    small = torch.compile(lambda x: (x * 2).sum(), backend="numpy")
    for _ in range(3):
        small(torch.ones(3))
    assert compiled._last.followed_calls is not None
    assert "guarded" in small.explain().to_dict()["mode"]


def test_a_device_is_no_value() -> None:
    def step(x: Any) -> Any:
        return x + torch.arange(x.size(0), device=x.device) * 2.0

    function = torch.compile(step, sound=True, backend="numpy")
    for n in range(4):
        x = torch.full((3,), float(n))
        assert torch.equal(function(x), step(x))
    assert function.records == 1
    assert "replayed" in str(function.explain())


SCHEDULES: dict[str, Callable[[Any], Any]] = {
    "StepLR": lambda optimizer: torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5),
    "LambdaLR": lambda optimizer: torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 0.8**n),
    "OneCycleLR": lambda optimizer: torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, 20),
    "CosineAnnealingLR": lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 9),
}


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("optimizer", ["SGD", "Adam"])
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_step_under_a_scheduler_is_followed(schedule, optimizer, inside):
    """A scheduler replaces the optimizer's `step` by one that notes the call; no code of the user's runs in it."""

    def losses(compiles: bool) -> tuple[list[float], Any]:
        torch.manual_seed(3)
        model = torch.nn.Linear(4, 2)
        steps = getattr(torch.optim, optimizer)(model.parameters(), lr=0.05)
        rate = SCHEDULES[schedule](steps)

        def step(x: Any, y: Any) -> Any:
            steps.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(x), y)
            loss.backward()
            steps.step()
            if inside:
                rate.step()
            return loss

        run = torch.compile(step, sound=True, backend="numpy") if compiles else step
        found = []
        for x, y in batches(8):
            found.append(run(x, y).item())
            if not inside:
                rate.step()
        return found, run

    found, compiled = losses(compiles=True)
    assert "sound" in compiled.explain().to_dict()["mode"]
    assert followed(compiled) is not None
    assert found == pytest.approx(losses(compiles=False)[0], rel=1e-5)


class OwnSGD(torch.optim.SGD):
    """Of a program: its step may do anything."""


def _own(model: Any) -> Any:
    return OwnSGD(model.parameters(), lr=0.1)


def _replaced(model: Any) -> Any:
    steps = torch.optim.SGD(model.parameters(), lr=0.1)
    plain = steps.step
    steps.step = lambda closure=None: plain(closure)
    return steps


@pytest.mark.parametrize(
    ("make", "reason"),
    [(_own, "whose class is not the library's"), (_replaced, "whose `step` was replaced")],
)
def test_what_stands_in_the_way_of_an_optimizer_is_named_as_what_it_is(make, reason):
    model = torch.nn.Linear(2, 1)
    steps = make(model)

    def step(x: Any) -> Any:
        loss = model(x).pow(2).sum()
        loss.backward()
        steps.step()
        return loss

    compiled = torch.compile(step, sound=True, backend="numpy")
    compiled(torch.ones(3, 2))  # as it is written: there are no gradients yet
    with pytest.raises(CompileError, match=reason):
        compiled(torch.ones(3, 2))


def _positions(x: Any, values: list[float]) -> Any:
    return x + torch.arange(x.shape[0], dtype=x.dtype).unsqueeze(-1) * values[0]


def _part(x: Any, values: list[float]) -> Any:
    table = torch.tensor([values, values])
    return x * table[1][: x.shape[1]] + table.t()[0, 0]


def _parts(x: Any, values: list[float]) -> Any:
    first, second = torch.tensor(values * 2).chunk(2)
    return (x * first[:2]).sum() + (x + second[:2]).prod()


def _written(x: Any, values: list[float]) -> Any:
    table = torch.zeros(3, 2)
    row = table[1]
    row += x[0] * values[0]
    table.t()[0].mul_(values[1])
    return table + x


def _given_back(x: Any, values: list[float]) -> Any:
    table = torch.tensor([values, values])
    return x * 2, table[0], table.t()


def _with_history(x: Any, values: list[float]) -> Any:
    weight = torch.tensor(values, requires_grad=True)
    view = weight.unsqueeze(0)[:, :2]
    (x * view).square().sum().backward()
    return weight.grad


@pytest.mark.parametrize(
    "function", [_positions, _part, _parts, _written, _given_back, _with_history]
)
def test_views_of_what_python_made_are_followed(function: Callable[..., Any]) -> None:
    """As `torch.arange(n).unsqueeze(0)`: its content is compared where it is first met, and the view is a call."""
    values = [2.0, 3.0, 0.5]
    compiled = torch.compile(lambda x: function(x, values), sound=True, backend="numpy")
    for call in range(12):
        if call in (6, 7):
            values[call - 6] = 7.0 + call  # seen at once, in whatever it goes into
        x = torch.randn(3, 2, generator=torch.Generator().manual_seed(call))
        torch.testing.assert_close(compiled(x), function(x, values), rtol=0, atol=0)
        if call == 5:
            assert followed(compiled).runs == 4
    assert compiled.records == 2


def _added_to(x: Any) -> Any:
    out = torch.zeros(3)
    out.add_(x)
    return out


def _set_in_part(x: Any) -> Any:
    out = torch.zeros(3)
    out[1:] = x[1:]
    return out * 1, out


def _through_a_view(x: Any) -> Any:
    out = torch.zeros(3)
    part = out[1:]
    part.add_(x[1:])
    return out, part


def _one_into_another(x: Any) -> Any:
    out, other = torch.zeros(3), torch.ones(3)
    out.add_(x).mul_(2)
    other += out
    return other, out


def _of_a_leaf(x: Any) -> Any:
    weight = torch.ones(3, requires_grad=True)
    out = torch.zeros(3).add_(weight * x)
    out.sum().backward()
    return out, weight.grad


def _asked_for(x: Any) -> Any:
    out = torch.zeros(3)
    out.add_(x)
    return x * 2 if out.sum().item() > 0 else out


@pytest.mark.parametrize(
    "function",
    [_added_to, _set_in_part, _through_a_view, _one_into_another, _of_a_leaf, _asked_for],
)
@pytest.mark.parametrize("backend", ["numpy", "llvm"])
def test_a_constant_that_is_written_to_is_what_was_written(function: Any, backend: str) -> None:
    compiled = torch.compile(
        function, sound=True, dynamic=False, backend=backend, fallback=function is _asked_for
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(6):
            x = torch.randn(3)
            found, expected = compiled(x), function(x)
            pairs = zip(*(r if type(r) is tuple else (r,) for r in (found, expected)), strict=True)
            assert all(torch.equal(a, b) for a, b in pairs)
