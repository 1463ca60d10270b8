"""Members that many distributions share: delegation to a part, and a mean that is `loc`."""

from __future__ import annotations

from operator import attrgetter
from typing import Any

from tautograd import Tensor


def delegated(path: str, doc: str) -> Any:
    """A property delegated to a part: `scale = delegated("base_dist.scale", …)`."""
    return property(attrgetter(path), doc=doc)


class Symmetric:
    """Mean and mode are `loc`, around which the density is symmetric."""

    loc: Tensor

    mean: Any = delegated("loc", "`loc`.")
    mode: Any = delegated("loc", "`loc`.")
