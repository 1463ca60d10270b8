"""All kernels by name: the kinds of their arguments, and what writes them."""

from __future__ import annotations

from collections.abc import Callable

from .convolution import CONVOLUTION
from .elementwise import ELEMENTWISE
from .normals import NORMALS
from .pooling import POOLING
from .products import PRODUCTS
from .random_words import RANDOM
from .recurrent import RECURRENT
from .rows import ROWS
from .writer import Writer

TABLE: dict[str, tuple[str, Callable[[Writer], None]]] = {
    **ELEMENTWISE,
    **CONVOLUTION,
    **NORMALS,
    **POOLING,
    **PRODUCTS,
    **RANDOM,
    **RECURRENT,
    **ROWS,
}
