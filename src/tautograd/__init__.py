"""tautograd: backpropagation you can prove."""

from typing import Any

from ._arrays import dtypes as _dtypes
from ._arrays import formats as _formats
from ._arrays.devices import device
from ._arrays.dtypes import can_cast, dtype, get_default_dtype, promote_types, set_default_dtype
from ._arrays.formats import layout, memory_format
from ._autograd import api as _api
from ._ops import families as _families
from ._ops.promotion import result_type
from ._ops.public import FUNCTIONS as _FUNCTIONS
from ._tensor import filled as _filled
from ._tensor import interop as _interop
from ._tensor import random as _random_functions
from ._tensor import ranges as _ranges
from ._tensor.creation import tensor
from ._tensor.printing import get_printoptions, set_printoptions
from ._tensor.random import Generator, default_generator
from ._tensor.tensor import Size, Tensor

__version__ = "0.1.0"

from math import e, inf, nan, pi

newaxis = None

globals().update(_dtypes.DTYPE_NAMES)
globals().update(_formats.FORMAT_NAMES)
globals().update(_FUNCTIONS)
