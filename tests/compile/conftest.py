"""Object code of these tests is kept in a folder of their own; what a test leaves behind is noticed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from tautograd._compile.record import tensor_data
from tautograd._compile.run.ledger import Ledger
from tautograd._tensor.tensor import Tensor


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    if before is None:
        del os.environ["XDG_CACHE_HOME"]
    else:
        os.environ["XDG_CACHE_HOME"] = before


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """After each test a tensor's array is in its slot again, however the recording ended."""
    yield
    assert Tensor.__dict__["_data"] is tensor_data._data
    assert Tensor.__dict__["_grad"] is tensor_data._grad


@pytest.fixture(autouse=True)
def records_are_free(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each form is recorded at its second call and kept, though it does not pay: `test_ledger` asks when it does."""
    if not request.path.name.startswith("test_ledger"):
        monkeypatch.setattr(Ledger, "allows", lambda self, key, entries: True)
        monkeypatch.setattr(Ledger, "is_lost", lambda self, entries, refused=False: False)
        monkeypatch.setattr(Ledger, "weighs", lambda self, entry: False)
        monkeypatch.setattr(Ledger, "doubts", lambda self, entry: False)


@pytest.fixture
def often() -> Iterator[None]:
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)
