"""All kernels by name: the kinds of their arguments, and what writes them."""

from __future__ import annotations

from collections.abc import Callable

from .convolution import CONVOLUTION
from .elementwise import ELEMENTWISE
from .recurrent import RECURRENT
from .writer import Writer

TABLE: dict[str, tuple[str, Callable[[Writer], None]]] = {
    **ELEMENTWISE,
    **CONVOLUTION,
    **RECURRENT,
}
