"""tautograd: backpropagation you can prove."""

from typing import Any

from ._arrays import dtypes as _dtypes
from ._arrays.devices import device
from ._arrays.dtypes import can_cast, dtype, get_default_dtype, promote_types, set_default_dtype
from ._autograd import api as _api
from ._ops import families as _families
from ._ops.promotion import result_type
from ._ops.public import FUNCTIONS as _FUNCTIONS
from ._tensor.creation import tensor
from ._tensor.tensor import Size, Tensor

__version__ = "0.1.0"

globals().update(_dtypes.DTYPE_NAMES)
globals().update(_FUNCTIONS)
