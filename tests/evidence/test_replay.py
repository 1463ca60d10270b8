"""Replayed, evidence gives the same; each single change is named as the cause, and no other."""

from __future__ import annotations

import copy
import importlib
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tautograd import evidence
from tautograd._evidence import items, replay, runtime
from tautograd._evidence.text import comparison_text
from tautograd._verify.verify import verify
from tests.evidence.conftest import ENGINES, product


def causes(comparison: Any) -> list[str]:
    return [cause.what for cause in comparison.causes]


# ---- in this process -----------------------------------------------------------------------------


def test_nothing_changed(saved):
    found = evidence.replay(saved, product)
    assert found.exact, str(found)
    assert found.causes == []
    assert "SAME  bit for bit" in str(found)


def test_replaying_leaves_the_random_streams_alone(saved, torch):
    torch.manual_seed(5)
    expected = torch.rand(3).tolist(), np.random.default_rng(0).random()
    torch.manual_seed(5)
    evidence.replay(saved, product)
    assert (torch.rand(3).tolist(), np.random.default_rng(0).random()) == expected


def one_byte(content: Any) -> None:
    values = content["data"]["definition"]["values"]["items"][0]["items"][0]
    values["data"] = values["data"].replace(
        values["data"][9], "A" if values["data"][9] != "A" else "B"
    )


def numpy_version(monkeypatch: Any) -> None:
    monkeypatch.setattr(np, "__version__", "9.9.9")


def installed_numpy(monkeypatch: Any) -> None:
    packages = {**runtime.installed(), "numpy": "9.9.9"}
    monkeypatch.setattr(runtime, "installed", lambda: packages)
    monkeypatch.setattr(np, "__version__", "9.9.9")


def installed_other(monkeypatch: Any) -> None:
    packages = {**runtime.installed(), "scipy": "9.9.9"}
    monkeypatch.setattr(runtime, "installed", lambda: packages)


def processor(monkeypatch: Any) -> None:
    monkeypatch.setattr(runtime, "_processor", lambda: "Another")


def blas(monkeypatch: Any) -> None:
    monkeypatch.setattr(runtime, "blas", lambda: "another 1.0")


RUNTIMES = [
    # a change of the runtime, the cause that is named
    (numpy_version, "version", r"other version of NumPy: .*, now 9\.9\.9"),
    (installed_numpy, "version", r"other version of NumPy: .*, now 9\.9\.9"),
    (installed_other, "version", r"other version of scipy: .*, now 9\.9\.9"),
    (processor, "platform", r"other processor: .*, now Another"),
    (blas, "version", r"other version of BLAS: .*, now another 1\.0"),
]


@pytest.mark.parametrize(
    ("change", "what", "text"), RUNTIMES, ids=lambda v: getattr(v, "__name__", "")
)
def test_another_runtime_is_named_and_is_no_failure_by_itself(
    saved, monkeypatch, change, what, text
):
    change(monkeypatch)
    found = evidence.replay(saved, product)
    (cause,) = found.causes
    assert cause.what == what
    assert re.fullmatch(text, cause.text)
    assert found.same
    assert found.exact


def test_another_number_of_threads_is_named(saved, torch):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(before + 1)
        found = evidence.replay(saved, product)
    finally:
        torch.set_num_threads(before)
    (cause,) = found.causes
    assert cause.what == "threads"
    assert cause.text == f"other number of threads: {before}, now {before + 1}"
    assert found.same


def test_another_seed_is_named(saved):
    found = replay.replay(saved, product, changes=replay.Changes(seed=1))
    assert causes(found) == ["seed"]
    assert found.causes[0].text == "other seed: 0, now 1"
    assert not found.same


@pytest.mark.parametrize("columns", [80, 100, 300])
@pytest.mark.parametrize("everything", [False, True])
def test_a_comparison_fits_the_terminal(saved, monkeypatch, columns, everything):
    monkeypatch.setenv("COLUMNS", str(columns))
    found = replay.replay(saved, product, changes=replay.Changes(seed=1))
    said = comparison_text(found, everything=everything)
    assert max(map(len, said.splitlines())) <= min(columns, 120)
    assert "..." not in said
    assert "what has changed, and may be the reason\n  other seed: 0, now 1\n" in said
    words = " ".join(said.split())
    for item in found.items:
        if item.status != "same":
            assert str(item.before) in words
            assert str(item.after) in words


def test_other_inputs_are_named(saved):
    found = replay.replay(saved, product, changes=replay.Changes(inputs="3x4,4"))
    assert set(causes(found)) == {"data"}
    assert not found.same


def test_another_function_is_named(saved):
    found = evidence.replay(saved, lambda x, y: (x * y).cos().sum(0))
    assert causes(found) == ["code"]
    assert not found.same


def test_one_byte_of_the_data_is_named(saved):
    before = evidence.load(saved)
    after = copy.deepcopy(before)
    one_byte(after)
    job, _ = replay.job_of(after, product, replay.Changes())
    found = replay.again(before, job, product)
    (cause,) = found.causes
    assert cause.what == "data"
    assert cause.text.startswith("other data: input 0 was 3x4 float64 ")
    assert not found.same


@pytest.mark.parametrize("engine", ENGINES)
def test_the_other_engine_is_named(engine, tmp_path):
    torch = importlib.import_module(engine)
    (other,) = {*ENGINES} - {engine}
    torch.manual_seed(0)
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    path = verify(product, (x, x[0].detach())).save(tmp_path / "e.json")
    found = replay.replay(path, product, changes=replay.Changes(engine=other))
    assert causes(found) == ["engine"], str(found)
    assert found.causes[0].text == f"other engine: {engine}, now {other}"
    assert not found.same
    inputs = [item for item in found.items if item.name.startswith("input ")]
    assert {item.status for item in inputs} == {items.SAME}


def test_a_function_that_draws_is_replayed_with_the_same_numbers(torch, tmp_path):
    def noisy(x):
        return x * torch.rand(3, dtype=torch.float64)

    torch.manual_seed(11)
    path = verify(noisy, torch.ones(3, dtype=torch.float64)).save(tmp_path / "e.json")
    torch.manual_seed(12)
    found = evidence.replay(path, noisy)
    assert found.exact, str(found)
    assert evidence.load(path)["random"]["draws"] is True


def test_a_module_is_replayed_with_its_values(torch, tmp_path):
    torch.manual_seed(1)
    net = torch.nn.Linear(3, 2)
    path = verify(net, torch.ones(2, 3)).save(tmp_path / "e.json")
    content = evidence.load(path)
    assert content["model"]["parameters"] == 8
    assert content["model"]["mode"] == "train"
    assert evidence.replay(path, net).exact
    with torch.no_grad():
        net.bias[0] += 1
    found = evidence.replay(path, net)
    assert causes(found) == ["parameters"], str(found)
    assert "bias" in found.causes[0].text


class Square:
    """Not a module and not a function: there is no name to import it by."""

    def __call__(self, x: Any) -> Any:
        return x * x


def test_what_has_no_name_must_be_given(torch, tmp_path):
    path = verify(Square(), torch.ones(3)).save(tmp_path / "e.json")
    with pytest.raises(evidence.CannotRun, match="name it"):
        evidence.replay(path)
    assert evidence.replay(path, Square()).exact


def test_large_inputs_are_given_again(torch, tmp_path):
    x = torch.linspace(0, 1, 160_000, dtype=torch.float64)
    path = verify(torch.sum, x).save(tmp_path / "e.json")
    assert path.stat().st_size < 20_000
    with pytest.raises(evidence.CannotRun, match="holds no inputs"):
        evidence.replay(path, torch.sum)
    assert evidence.replay(path, torch.sum, inputs=x).exact
    x[7] = torch.nextafter(x[7], x[8])
    found = evidence.replay(path, torch.sum, inputs=x)
    assert causes(found) == ["data"]


def test_arrays_among_the_inputs_are_hashed_whole(torch, tmp_path):
    array = np.zeros(5000)
    found = []
    for value in (0.0, 1.0):
        array[2500] = value
        report = verify(lambda x, a: x * float(a[0] + 1), (torch.ones(3), array))
        found.append(evidence.load(report.save(tmp_path / f"{value}.json")))
    assert causes(evidence.diff(*found)) == ["data"]


def test_an_autograd_function_is_replayed(torch, tmp_path):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g * ctx.saved_tensors[0]

    path = verify(Square.apply, torch.ones(3)).save(tmp_path / "e.json")
    assert evidence.load(path)["computation"]["kind"] == "autograd function"
    assert evidence.replay(path, Square.apply).exact
    assert evidence.replay(path, Square).exact


def test_another_mode_is_named(torch, tmp_path):
    net = torch.nn.Linear(3, 2).eval()
    path = verify(net, torch.ones(2, 3)).save(tmp_path / "e.json")
    before = evidence.load(path)
    job, _ = replay.job_of(before, net, replay.Changes())
    assert job.training is False
    job.training = True
    assert causes(replay.again(before, job, net)) == ["mode"]


def test_an_analytical_gradient_is_not_missed(torch, tmp_path):
    x = torch.ones(3, dtype=torch.float64)
    path = verify(torch.sin, x, analytical=torch.cos).save(tmp_path / "e.json")
    found = evidence.replay(path, torch.sin)
    assert found.same, str(found)
    assert [i.section for i in found.items if i.status == items.OTHER] == ["results"] * 2


# ---- what may drift ------------------------------------------------------------------------------


def drift(size: float) -> Callable[[Any], None]:
    def change(content: Any) -> None:
        row = content["figures"]["gradients"][0]
        row["sha256"] = "0" * 64
        for key in ("norm", "largest", "projection"):
            row[key] *= 1 + size

    return change


def changed(content: Any, *changes: Callable[[Any], None]) -> Any:
    other = copy.deepcopy(content)
    for change in changes:
        change(other)
    return other


def another_numpy(content: Any) -> None:
    content["runtime"]["numpy"] = "9.9.9"


def test_rounding_drifts_only_where_the_runtime_is_another(saved):
    content = evidence.load(saved)
    here = evidence.diff(content, changed(content, drift(1e-14)))
    assert not here.same
    assert here.causes == []
    assert "does not give the same each time" in " ".join(str(here).split())
    elsewhere = evidence.diff(content, changed(content, drift(1e-14), another_numpy))
    assert elsewhere.same
    assert not elsewhere.exact
    assert causes(elsewhere) == ["version"]
    assert "drifted" in str(elsewhere)
    assert not evidence.diff(content, changed(content, drift(1e-5), another_numpy)).same


def test_two_files_are_compared_as_before_and_after(saved, tmp_path):
    other = tmp_path / "other.json"
    content = evidence.load(saved)
    content["verdict"] = "wrong"
    from tautograd._evidence import files

    files.write(content, other)
    found = evidence.diff(saved, other)
    assert not found.same
    assert "verdict: was correct, now wrong" in str(found)
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["same"] is False
    assert plain["verdict"] == {"before": "correct", "after": "wrong"}
    assert {"section", "name", "before", "after", "status"} == plain["items"][0].keys()
