"""Masked tensors: data of which a mask says what counts, in all that is computed from it.

A `MaskedTensor` is a tensor on the memory of its data, with the mask as an attribute (`core`). What a public function
makes of one is looked up by name: functions of one operand (`unary`) and of two (`binary`), element by element;
reductions, by `torch.masked`; moves, which are done to data and mask alike (`passthrough`); and the rest
(`others`). Gradients flow through the data, so nothing here says how.
"""

from . import binary as binary
from . import core as core
from . import creation as creation
from . import others as others
from . import passthrough as passthrough
from . import reductions as reductions
from . import unary as unary
from .core import MaskedTensor, is_masked_tensor

__all__ = ["MaskedTensor", "is_masked_tensor"]
