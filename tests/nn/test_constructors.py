"""Constructors that a family of modules shares: an error about the arguments names the module, as PyTorch's does."""

from __future__ import annotations

from typing import Any

import pytest

import tautograd
from tests.both import same

NAMES = (
    *(f"{lazy}Conv{kind}{rank}d" for lazy in ("", "Lazy") for kind in ("", "Transpose") for rank in (1, 2, 3)),
    *(f"ZeroPad{rank}d" for rank in (1, 2, 3)),
    *("AvgPool2d", "AvgPool3d", "CosineEmbeddingLoss", "MarginRankingLoss", "LocalResponseNorm"),
    *("TransformerEncoderLayer", "TransformerDecoderLayer"),
)  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@same
def test_an_error_names_the_class(torch: Any, name: str) -> list[str]:
    with pytest.raises(TypeError, match=f"^{name}.__init__") as unknown:
        getattr(torch.nn, name)(unknown=1)
    said = [str(unknown.value)]
    if not name.endswith("Loss"):
        with pytest.raises(TypeError, match=f"^{name}.__init__") as missing:
            getattr(torch.nn, name)()
        said.append(str(missing.value))
    return said


def test_a_subclass_inherits_the_name() -> None:
    class Mine(tautograd.nn.Conv2d):
        pass

    with pytest.raises(TypeError, match=r"^Conv2d.__init__\(\) missing 3 required"):
        Mine()
