"""Options that send a run's history to experiment trackers: `--wandb PROJECT`, `--mlflow EXPERIMENT`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tautograd._cli.delivery import Delivery

TRACKERS = ("wandb", "mlflow")


def check_trackers(namespace: argparse.Namespace) -> None:
    """Before the script runs: raise an error for a client that is not installed."""
    for package in _asked(namespace):
        from tautograd._doctor.report.trackers import check_tracker

        check_tracker(package)


def _asked(namespace: argparse.Namespace) -> dict[str, str]:
    return {name: to for name in TRACKERS if (to := getattr(namespace, name)) is not None}


class Sending:
    """Created before the script runs, which may change whatever an import needs."""

    def __init__(self, namespace: argparse.Namespace) -> None:
        self._asked = _asked(namespace)
        self._name = Path(namespace.target[0]).name if namespace.target else "training run"
        self._send: Any = None
        if self._asked:
            from tautograd._doctor.report import trackers

            self._send = trackers.TRACKERS

    def __call__(self, report: dict[str, Any], delivery: Delivery, root: str) -> None:
        """Send it to every requested tracker; failures are reported, and do not affect the others."""
        for tracker, to in self._asked.items():
            with delivery.part(f"sending the history to {tracker}"):
                delivery.written.append(self._send[tracker](report, to, self._name, root))
