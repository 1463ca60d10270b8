"""What every test shares: where the project is, and PyTorch kept to its share of the machine."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parent.parent


def pytest_configure(config: pytest.Config) -> None:
    # Workers of `pytest -n` share the cores; libraries that start a thread per core in each of them
    # would only get in one another's way. Set before NumPy or PyTorch is imported.
    if hasattr(config, "workerinput"):
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(variable, "1")


def pytest_report_header() -> list[str]:
    import importlib.metadata

    def version(package: str) -> str:
        try:
            return f"{package} {importlib.metadata.version(package)}"
        except importlib.metadata.PackageNotFoundError:
            return f"{package} not installed"

    return [", ".join(version(name) for name in ("numpy", "scipy", "ml_dtypes", "torch"))]


@pytest.fixture(scope="session")
def project() -> Path:
    """The project's top folder."""
    return PROJECT
