"""A run's history in W&B and MLflow: what their clients are given is what the report holds."""

from __future__ import annotations

import json
import math
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tautograd._cli.main import main
from tautograd._doctor.report.events_file import NoWriter
from tautograd._doctor.report.trackers import TRACKERS, check_tracker, to_mlflow, to_wandb

REPORT: Any = {
    "history": {
        "steps": [1, 2, 5],
        "losses": [2.0, math.nan, 0.5],
        "norms": {"0.weight": [1.0, None, math.inf]},
        "ratios": {"0.weight": [0.1, None, None], "0(weight)": [0.2, 0.3, None]},
    },
    "findings": [
        {
            "code": "TG101",
            "name": "accumulated-gradients",
            "message": "6 gradients were not cleared.",
            "step": 1,
            "site": {"file": "train.py", "line": 9, "function": "", "text": ""},
        }
    ],
}
EXPECTED = {
    "loss": [(1, 2.0), (2, math.nan), (5, 0.5)],
    "gradient norm/0.weight": [(1, 1.0), (5, math.inf)],
    "update to weight/0.weight": [(1, 0.1)],
    "update to weight/0(weight)": [(1, 0.2), (2, 0.3)],
}


def same(found: Any, expected: Any) -> bool:
    """Also of NaN."""
    return repr(found) == repr(expected)


class Wandb(ModuleType):
    """As much of W&B's client as there is to see."""

    def __init__(self) -> None:
        super().__init__("wandb")
        self.logged: list[tuple[int, dict[str, float]]] = []
        self.given: dict[str, Any] = {}
        self.finished = 0
        self.summary: dict[str, Any] = {}
        self.offline, self.dir = True, "wandb/offline-run"

    def init(self, **given: Any) -> Any:
        self.given = given
        return self

    def log(self, row: dict[str, float], step: int) -> None:
        assert not self.logged or step > self.logged[-1][0], "W&B takes steps in their order only"
        self.logged.append((step, row))

    def finish(self) -> None:
        self.finished += 1


def test_wandb_is_given_every_number_once_and_in_order(monkeypatch):
    client = Wandb()
    monkeypatch.setitem(sys.modules, "wandb", client)
    assert to_wandb(REPORT, "project", "train.py") == "wandb/offline-run"
    found: dict[str, list[tuple[int, float]]] = {}
    for step, row in client.logged:
        for name, value in row.items():
            found.setdefault(name, []).append((step, value))
    assert same(dict(sorted(found.items())), dict(sorted(EXPECTED.items())))
    assert client.given["project"] == "project"
    assert client.given["name"] == "train.py"
    assert client.given["reinit"] == "create_new", "a run of the script's is left alone"
    assert "TG101" in client.summary["findings"][0]
    assert client.finished == 1


def test_a_run_of_wandb_is_ended_even_if_it_fails(monkeypatch):
    client = Wandb()
    monkeypatch.setitem(sys.modules, "wandb", client)
    monkeypatch.setattr(client, "log", lambda *_, **__: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        to_wandb(REPORT, "project", "train.py")
    assert client.finished == 1


def mlflow_of(known: dict[str, str]) -> tuple[dict[str, ModuleType], dict[str, Any]]:
    """MLflow's client, with experiments that are known, and what it was given."""
    given: dict[str, Any] = {"metrics": [], "texts": {}, "ended": 0, "batches": []}

    class Client:
        def get_experiment_by_name(self, name: str) -> Any:
            return SimpleNamespace(experiment_id=known[name]) if name in known else None

        def create_experiment(self, name: str) -> str:
            known[name] = "7"
            return "7"

        def create_run(self, number: str, run_name: str) -> Any:
            given["run"] = (number, run_name)
            return SimpleNamespace(info=SimpleNamespace(run_id="abc"))

        def log_batch(self, run: str, metrics: list[Any]) -> None:
            given["batches"].append(len(metrics))
            given["metrics"] += metrics

        def log_text(self, run: str, text: str, name: str) -> None:
            given["texts"][name] = text

        def set_terminated(self, run: str) -> None:
            given["ended"] += 1

    def metric(key: str, value: float, timestamp: int, step: int) -> Any:
        return SimpleNamespace(key=key, value=value, step=step)

    top, entities = ModuleType("mlflow"), ModuleType("mlflow.entities")
    top.MlflowClient = Client  # type: ignore[attr-defined]
    entities.Metric = metric  # type: ignore[attr-defined]
    return {"mlflow": top, "mlflow.entities": entities}, given


@pytest.mark.parametrize("known", [{}, {"lab": "3"}])
def test_mlflow_is_given_every_number_under_a_name_it_allows(known, monkeypatch):
    modules, given = mlflow_of(dict(known))
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr("tautograd._doctor.report.trackers.MLFLOW_BATCH", 3)
    assert to_mlflow(REPORT, "lab", "train.py") == "run abc of experiment 'lab'"
    assert given["run"] == (known.get("lab", "7"), "train.py")
    found: dict[str, list[tuple[int, float]]] = {}
    for metric in given["metrics"]:
        found.setdefault(metric.key, []).append((metric.step, metric.value))
    allowed = {name.replace("(", "_").replace(")", "_"): v for name, v in EXPECTED.items()}
    assert same(dict(sorted(found.items())), dict(sorted(allowed.items())))
    assert given["batches"] == [3, 3, 2]
    assert "TG101" in given["texts"]["findings.md"]
    assert given["ended"] == 1


def test_names_that_mlflow_would_mix_up_stay_apart(monkeypatch):
    modules, given = mlflow_of({})
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    report = json.loads(json.dumps({**REPORT, "findings": []}))
    report["history"]["ratios"] = {"a(b": [1.0, None, None], "a)b": [2.0, None, None]}
    to_mlflow(report, "lab", "train.py")
    names = {m.key for m in given["metrics"]}
    assert {"update to weight/a_b", "update to weight/a_b 2"} <= names
    assert given["texts"]["findings.md"] == "Nothing found."


@pytest.mark.parametrize("package", sorted(TRACKERS))
def test_a_client_that_is_missing_is_told_before_anything_runs(
    package, monkeypatch, capsys, tmp_path
):
    monkeypatch.setattr("tautograd._doctor.report.trackers.find_spec", lambda name: None)
    with pytest.raises(NoWriter, match=rf"--{package} needs {package}.*pip install {package}"):
        check_tracker(package)
    script = tmp_path / "train.py"
    script.write_text("raise SystemExit('ran')", encoding="utf-8")
    for command in (["doctor"], ["view", "--run"]):
        with pytest.raises(SystemExit) as ended:
            main([*command, f"--{package}", "project", str(script)])
        assert ended.value.code == 2
        assert f"pip install {package}" in capsys.readouterr().err


@pytest.mark.parametrize("package", sorted(TRACKERS))
def test_a_graph_has_no_history_to_send(package, capsys, tmp_path):
    script = tmp_path / "train.py"
    script.write_text("", encoding="utf-8")
    with pytest.raises(SystemExit):
        main(["view", f"--{package}", "project", str(script)])
    assert f"--{package} is for --run" in capsys.readouterr().err
