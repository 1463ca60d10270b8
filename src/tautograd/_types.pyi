"""What the stubs call the kinds of arguments that operations take. There is none of this at run time."""

from collections.abc import Sequence
from typing import TypeAlias

from ._arrays.devices import device
from ._tensor.tensor import Tensor

Number: TypeAlias = int | float | complex
TensorOrNumber: TypeAlias = Tensor | Number
Ints: TypeAlias = Sequence[int]
Dims: TypeAlias = int | Ints
Tensors: TypeAlias = Sequence[Tensor]
DeviceLike: TypeAlias = device | str | int
