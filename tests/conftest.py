"""What every test shares: where the project is, and PyTorch kept to its share of the machine."""

from __future__ import annotations

import functools
import gc
import os
import signal
import sys
import warnings
import zlib
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

PROJECT = Path(__file__).resolve().parent.parent


def pytest_configure(config: pytest.Config) -> None:
    # Workers of `pytest -n` share the cores; libraries that start a thread per core in each of them
    # would only get in one another's way. Set before NumPy or PyTorch is imported.
    if hasattr(config, "workerinput"):
        for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
            os.environ.setdefault(variable, "1")
    # A run in the background of a shell inherits that interrupts are ignored, and so would every process that
    # a test starts; tests of Ctrl-C are none then.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol() -> Generator[None, Any, Any]:
    """What a test puts on the search path is taken off again: a folder with a `json.py` in it would
    be found by a process that a later test starts."""
    before = sys.path[:]
    try:
        return (yield)
    finally:
        sys.path[:] = before


# Long tables of programs that are run one by one: a third of each in `make test`, always the same.
LONG = (
    *("doctor/test_recall", "doctor/test_silence", "doctor/test_examples", "doctor/test_harm"),
    *("verify/test_corpus", "compile/test_value_checks", "lab/test_lessons"),
)


@functools.cache
def _has_long_table(path: Path) -> bool:
    return path.with_suffix("").as_posix().endswith(LONG)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        in_table = "[" in item.name and _has_long_table(item.path)
        if in_table and zlib.crc32(item.nodeid.encode()) % 3:
            item.add_marker("slow")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, Any, Any]:
    """Search for no garbage meanwhile: all that is made stays, and a third of the time went into it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Leave modules and collected tests out of every later search for garbage.

    They are some two million objects that live as long as the process; tests that collect garbage,
    and parts that ask for all objects there are (as the doctor does), would walk them each time.
    """
    _seed_no_absent_devices()
    _hear_what_is_said_once()
    _set_aside()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, Any, Any]:
    """What a file's tests leave behind (modules, caches, programs) joins it: only garbage was to be collected."""
    try:
        return (yield)
    finally:
        if nextitem is None or nextitem.path != item.path:
            _set_aside()


def _set_aside() -> None:
    gc.collect()
    gc.freeze()


def _hear_what_is_said_once() -> None:
    """Have both engines say now what they say once in a process: no test is to depend on who is first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in ("tautograd", "torch"):
            engine = sys.modules.get(name)
            if engine is not None:
                float(engine.ones((), requires_grad=True))


def _seed_no_absent_devices() -> None:
    """Keep PyTorch's `manual_seed` from queueing a call, and the whole stack as text, for each kind
    of device that is not there: it takes longer than most tests, and the queue is never emptied."""
    torch = sys.modules.get("torch")
    for kind in ("cuda", "mtia", "xpu"):
        package = getattr(torch, kind, None)
        if package is None or package.is_available():
            continue
        module: Any
        for module in (package, getattr(package, "random", None)):
            if hasattr(module, "_lazy_call"):
                module._lazy_call = lambda call, **kwargs: None


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


@pytest.fixture(scope="module", autouse=True)
def _rules_stay(request: pytest.FixtureRequest) -> Generator[None]:
    """No test leaves an operation with other rules than it found: another test, much later, would fail by them."""
    before = _rules()
    yield
    after = _rules()
    changed = [name for name, rules in before.items() if after.get(name, rules) != rules]
    assert not changed, f"{request.node.nodeid} leaves other rules behind: {changed}"


def _rules() -> dict[str, Any]:
    """What every operation computes and differentiates by, if tautograd is loaded."""
    record = sys.modules.get("tautograd._ops.declare.record")
    return {} if record is None else {op.name: _rules_of(op) for op in record.REGISTRY.values()}


def _rules_of(op: Any) -> Any:
    def plain(rules: Any) -> Any:
        return (
            tuple(map(plain, rules)) if isinstance(rules, tuple) else getattr(rules, "rule", rules)
        )

    return op.forward, plain(op.vjp), plain(op.jvp)
