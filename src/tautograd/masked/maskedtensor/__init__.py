"""Masked tensors: data with a mask of valid elements, carried through everything computed from it.

A `MaskedTensor` is a tensor over its data's memory, with the mask as an attribute (`core`). What a public function
does with one is looked up by name: functions of one operand (`unary`) and of two (`binary`), elementwise;
reductions, by `torch.masked`; data movement, applied to data and mask alike (`passthrough`); and the rest
(`others`). Gradients flow through the data, so nothing here defines them.
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
