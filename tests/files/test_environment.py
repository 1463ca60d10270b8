"""What the environment says of loading, objects with slots, files that cannot seek: as PyTorch does."""

from __future__ import annotations

import io
import warnings
from typing import Any

import pytest
import torch

import tautograd
from tautograd.serialization import UnsafeFile

FORCE, FORCE_NOT = "TORCH_FORCE_WEIGHTS_ONLY_LOAD", "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD"


def _outcome(engine: Any, file: io.BytesIO, **options: Any) -> tuple[str, bool]:
    file.seek(0)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            said = type(engine.load(file, **options)).__name__
        except Exception as error:
            said = "refused" if "eights only load failed" in str(error) else str(error)
    return said, any("forcing weights_only=False" in str(w.message) for w in caught)


@pytest.mark.parametrize("weights_only", [None, True, False])
@pytest.mark.parametrize("names", [(), (FORCE,), (FORCE_NOT,), (FORCE, FORCE_NOT)])
def test_variables_that_force_it(
    names: tuple[str, ...], weights_only: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in names:
        monkeypatch.setenv(name, "1")
    file = io.BytesIO()
    torch.save(torch.nn.Linear(2, 2), file)
    options = {} if weights_only is None else {"weights_only": weights_only}
    assert _outcome(tautograd, file, **options) == _outcome(torch, file, **options)


class Slotted:
    __slots__ = ("x", "y")

    def __init__(self, x: int, y: int) -> None:
        self.x, self.y = x, y


def test_objects_with_slots() -> None:
    file = io.BytesIO()
    torch.save(Slotted(1, 2), file)
    file.seek(0)
    with pytest.raises(UnsafeFile):
        tautograd.load(file)
    file.seek(0)
    with tautograd.serialization.safe_globals([Slotted]):
        found = tautograd.load(file)
    assert (found.x, found.y) == (1, 2)


@pytest.mark.parametrize("engine", [torch, tautograd])
def test_a_file_that_cannot_seek(engine: Any) -> None:
    class Pipe:
        def read(self, *_: Any) -> bytes:
            return b""

        def readline(self) -> bytes:
            return b""

    with pytest.raises(AttributeError, match=r"only torch\.load from a file that is seekable"):
        engine.load(Pipe())
