"""Names for types in annotations."""

import os
from builtins import bool as _bool
from builtins import bytes as _bytes
from builtins import complex as _complex  # noqa: F401
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import IO, TypeAlias

from ._arrays.devices import device as _device
from ._arrays.dtypes import dtype as _dtype  # noqa: F401
from ._arrays.formats import layout as _layout  # noqa: F401
from ._autograd.graph import GradientEdge
from ._tensor.storages import UntypedStorage as Storage
from ._tensor.tensor import Size, Tensor

__all__ = ["Device", "FileLike", "Number", "Storage"]

_TensorOrTensors: TypeAlias = Tensor | Sequence[Tensor]
_TensorOrTensorsOrGradEdge: TypeAlias = (
    Tensor | Sequence[Tensor] | GradientEdge | Sequence[GradientEdge]
)
_size: TypeAlias = Size | list[_int] | tuple[_int, ...]
_symsize: TypeAlias = _size
_dispatchkey: TypeAlias = _str
IntLikeType: TypeAlias = _int
FloatLikeType: TypeAlias = _float
BoolLikeType: TypeAlias = _bool
py_sym_types: tuple[type, ...] = ()
PySymType: TypeAlias = _int | _float | _bool
Number: TypeAlias = _int | _float | _bool
_Number = (_int, _float, _bool)
FileLike: TypeAlias = _str | os.PathLike[_str] | IO[_bytes]
Device: TypeAlias = _device | _str | _int | None
