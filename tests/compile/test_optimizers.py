"""Every optimizer inside a compiled step, with its options: 200 steps are those of the plain step."""

from __future__ import annotations

from typing import Any

import pytest

import tautograd as torch
from tests.optim.runs import loss_of, make_optimizer, parameters
from tests.optim.table import MUON, OPTIMIZERS, label

from .compare import lockstep

# These look at values in Python (a line search, a norm), so a step cannot become a program.
REFUSED = ("LBFGS", "Adafactor")
ROWS = [row for row in (*OPTIMIZERS, *MUON) if row[0] not in REFUSED]


def program(
    name: str, options: dict[str, Any], dtype: str = "float32", schedule: Any = None
) -> Any:
    def make() -> Any:
        params = parameters(torch, dtype)
        optimizer = make_optimizer(torch, name, params, options)
        scheduler = schedule(optimizer) if schedule else None

        def step() -> Any:
            optimizer.zero_grad()
            loss = loss_of(torch, params)
            loss.backward()
            optimizer.step(lambda: loss) if name == "LBFGS" else optimizer.step()
            if scheduler is not None:
                scheduler.step()
            return loss

        def seen() -> Any:
            versions = [p._version for p in params]
            return [params, [p.grad for p in params], versions, optimizer.state_dict()]

        return step, seen

    return make


# An optimizer whose formula changes with the step count is recorded once more for each.
FORMULAS = {"RAdam": 2, "ASGD": 2}


@pytest.mark.parametrize("row", ROWS, ids=label)
def test_some_steps(row: Any) -> None:
    """To the last bit, and one record, whatever the settings."""
    found = lockstep(program(*row), 12)
    assert 1 <= found.records <= FORMULAS.get(row[0], 1)


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", ROWS, ids=label)
def test_200_steps(row: Any, dtype: str) -> None:
    found = lockstep(program(*row, dtype=dtype), 200)
    assert 1 <= found.records <= FORMULAS.get(row[0], 1)


@pytest.mark.slow
@pytest.mark.parametrize("row", ROWS, ids=label)
def test_200_native_steps(row: Any) -> None:
    """Sums of a dozen numbers in another order: a step adds some ten units, which the next can double
    (`tests.optim.runs.tolerance`)."""
    lockstep(program(*row, dtype="float64"), 200, backend="llvm", bound=20 * 200)


@pytest.mark.parametrize("row", [r for r in OPTIMIZERS if r[0] in REFUSED], ids=label)
def test_what_looks_at_values_is_refused(row: Any) -> None:
    make = program(*row)
    step, _ = make()
    compiled = torch.compile(step, backend="numpy")
    with pytest.raises(RuntimeError, match="compile: "):
        for _ in range(3):
            compiled()


@pytest.mark.parametrize("row", [r for r in OPTIMIZERS if r[0] in REFUSED], ids=label)
def test_what_is_refused_can_be_split_or_run_as_it_is_written(row: Any) -> None:
    with pytest.warns(UserWarning, match="is not compiled|is split into parts"):
        lockstep(program(*row), 20, fallback=True)


SCHEDULES: dict[str, Any] = {
    "StepLR": lambda o: torch.optim.lr_scheduler.StepLR(o, 2, 0.5),
    "ExponentialLR": lambda o: torch.optim.lr_scheduler.ExponentialLR(o, 0.9),
    "CosineAnnealingLR": lambda o: torch.optim.lr_scheduler.CosineAnnealingLR(o, 10),
    "OneCycleLR": lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.1, total_steps=30),
    "LambdaLR": lambda o: torch.optim.lr_scheduler.LambdaLR(o, lambda n: 1 / (n + 1)),
    "LinearLR": torch.optim.lr_scheduler.LinearLR,
    "SequentialLR": lambda o: torch.optim.lr_scheduler.SequentialLR(
        o,
        [torch.optim.lr_scheduler.ConstantLR(o), torch.optim.lr_scheduler.ExponentialLR(o, 0.9)],
        [4],
    ),
    "CosineAnnealingWarmRestarts": lambda o: torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(
        o, 5
    ),
    "CyclicLR": lambda o: torch.optim.lr_scheduler.CyclicLR(o, 0.001, 0.1, 4),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("schedule", SCHEDULES)
def test_a_schedule_inside_the_step_never_records_again(schedule: str) -> None:
    row = ("SGD", {"lr": 0.05, "momentum": 0.9})
    assert lockstep(program(*row, schedule=SCHEDULES[schedule]), 14).records == 1


def grouped() -> Any:
    """Two groups with settings of their own, and parameters without a gradient."""
    params = [*parameters(torch), torch.ones(3, requires_grad=True)]
    optimizer = torch.optim.AdamW(
        [
            {"params": params[:2], "lr": 0.01},
            {"params": params[2:], "weight_decay": 0.0, "betas": (0.8, 0.9)},
        ]
    )

    def step() -> Any:
        optimizer.zero_grad()
        loss = loss_of(torch, params[:4])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(params, 0.5)
        optimizer.step()
        return loss

    return step, lambda: [params, [p.grad for p in params], optimizer.state_dict()]


def test_groups_and_clipping() -> None:
    """Norms of 15 numbers, taken at once and one after the other: some units a step."""
    assert lockstep(grouped, 20, bound=15 * 20).records == 1


@pytest.mark.parametrize("name", ["SGD", "Adam", "Muon"])
def test_settings_that_change_between_calls(name: str) -> None:
    """A learning rate is an input; Muon computes with Python's numbers, so there it is a new record."""
    options = {"lr": 0.02, "momentum": 0.9} if name == "SGD" else {"lr": 0.02}

    def make() -> Any:
        params = parameters(torch)
        optimizer = make_optimizer(torch, name, params, options)
        rates = iter([0.02, 0.02, 0.02, 0.01, 0.01, 0.01, 0.003, 0.003, 0.003])

        def step() -> Any:
            optimizer.zero_grad()
            loss_of(torch, params).backward()
            optimizer.step()

        def change() -> Any:
            optimizer.param_groups[0]["lr"] = next(rates)
            return params

        return step, change

    assert lockstep(make, 9).records == (3 if name == "Muon" else 1)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16", "complex64"])
def test_other_dtypes(dtype: str) -> None:
    def make() -> Any:
        rows = [torch.linspace(-1, 1, 6).reshape(2, 3), torch.linspace(-2, 2, 4)]
        params = [row.to(getattr(torch, dtype)).requires_grad_() for row in rows]
        optimizer = torch.optim.Adam(params, lr=0.1, weight_decay=0.01)

        def step() -> Any:
            optimizer.zero_grad()
            loss = sum((p.abs() ** 2).sum() for p in params)
            loss.backward()
            optimizer.step()
            return loss

        return step, lambda: [params, optimizer.state_dict()]

    assert lockstep(make, 10).records == 1


@pytest.mark.parametrize("name", ["Adam", "AdamW", "NAdam", "RMSprop", "Adadelta", "Adamax"])
@pytest.mark.parametrize("how", ["cleared", "another"])
def test_states_that_are_made_in_a_recording_are_no_error(name: str, how: str) -> None:
    """The second call, which is recorded, is the first that finds an optimizer without states; the third finds them."""
    results = []
    for compiles in (False, True):
        torch.manual_seed(0)
        model = torch.nn.Linear(3, 2)
        first = getattr(torch.optim, name)(model.parameters(), lr=0.01)
        second = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
        chosen = [first]

        def step(x: Any, model: Any = model, chosen: Any = chosen) -> Any:
            chosen[0].zero_grad()
            loss = model(x).square().mean()
            loss.backward()
            chosen[0].step()
            return loss

        run = torch.compile(step, backend="numpy", dynamic=False) if compiles else step
        x = torch.ones(4, 3)
        losses = [run(x).item()]
        if how == "cleared":
            first.state.clear()
        else:
            chosen[0] = second
        losses += [run(x).item() for _ in range(5)]
        results.append([*losses, *model.weight.flatten().tolist()])
        assert not compiles or run.records == 1
    assert results[0] == results[1]


@pytest.mark.parametrize("sound", [None, True, False])
@pytest.mark.parametrize("name", ["lr", "weight_decay", "momentum"])
def test_a_setting_that_is_written_as_it_is_already_is_written_again(
    sound: bool | None, name: str
) -> None:
    def made() -> Any:
        weight = torch.ones(3, requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=0.5, momentum=0.5, weight_decay=0.5)

        def step(x: Any) -> Any:
            optimizer.param_groups[0][name] = 0.5
            optimizer.zero_grad()
            (weight * x).sum().backward()
            optimizer.step()

        return weight, optimizer, step

    (weight, optimizer, step), (other, others, plain) = made(), made()
    compiled = torch.compile(step, sound=sound, dynamic=False)
    for i in range(9):
        if i >= 4:
            for each in (optimizer, others):
                each.param_groups[0][name] = 0.1
        x = torch.randn(3)
        compiled(x)
        plain(x)
        assert torch.allclose(weight, other)
        assert optimizer.param_groups[0][name] == others.param_groups[0][name] == 0.5
