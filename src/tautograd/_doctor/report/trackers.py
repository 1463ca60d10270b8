"""A run's history for trackers of experiments, through their own clients: Weights & Biases and MLflow.

Each gets a run of its own, made when the script has ended: a script's own run may have gone on to other
steps, and W&B takes no step twice. Where it goes is up to the client's settings (`WANDB_MODE=offline`,
`MLFLOW_TRACKING_URI`).
"""

from __future__ import annotations

import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

from .events_file import NoWriter
from .report import Plain
from .series import findings_of, series_of

MLFLOW_BATCH = 1000  # metrics that MLflow takes at once
_NOT_IN_A_METRIC = re.compile(r"[^\w\-. :/]", re.ASCII)


def check_tracker(package: str) -> None:
    """Before a long run: an error if the client is not installed."""
    if find_spec(package) is None:
        raise NoWriter(
            f"--{package} needs {package}, which is not installed: pip install {package}"
        )


def to_wandb(report: Plain, project: str, name: str, root: str | None = None) -> str:
    """A run in a project of Weights & Biases; where it is."""
    import wandb

    by_step: dict[int, dict[str, float]] = defaultdict(dict)
    for series, values in series_of(report):
        for step, value in values:
            by_step[step][series] = value
    run: Any = wandb.init(
        project=project, name=name, job_type="taut doctor", reinit="create_new", config={}
    )
    try:
        for step in sorted(by_step):
            run.log(by_step[step], step=step)
        run.summary["findings"] = [text for _, text in findings_of(report, root)]
        return str(run.dir if run.offline else run.url)
    finally:
        run.finish()


def to_mlflow(report: Plain, experiment: str, name: str, root: str | None = None) -> str:
    """A run in an experiment of MLflow's; which it is."""
    import mlflow
    from mlflow.entities import Metric

    client: Any = mlflow.MlflowClient()
    found = client.get_experiment_by_name(experiment)
    number = found.experiment_id if found is not None else client.create_experiment(experiment)
    run = client.create_run(number, run_name=name).info.run_id
    now, names = int(time.time() * 1000), _Names()
    metrics = [
        Metric(key, value, now, step)
        for key, values in ((names.of(series), values) for series, values in series_of(report))
        for step, value in values
    ]
    for first in range(0, len(metrics), MLFLOW_BATCH):
        client.log_batch(run, metrics=metrics[first : first + MLFLOW_BATCH])
    texts = [f"{text}\n\nafter step {step}" for step, text in findings_of(report, root)]
    client.log_text(run, "\n\n".join(texts) or "Nothing found.", "findings.md")
    client.set_terminated(run)
    return f"run {run} of experiment '{experiment}'"


class _Names:
    """Names as MLflow allows them, and still apart from each other."""

    def __init__(self) -> None:
        self._taken: Counter[str] = Counter()

    def of(self, series: str) -> str:
        plain = _NOT_IN_A_METRIC.sub("_", series)
        self._taken[plain] += 1
        return plain if self._taken[plain] == 1 else f"{plain} {self._taken[plain]}"


TRACKERS: dict[str, Callable[[Plain, str, str, str | None], str]] = {
    "wandb": to_wandb,
    "mlflow": to_mlflow,
}
