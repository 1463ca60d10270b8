"""`torch.masked`: functions of only the unmasked elements."""

from .._ops.declare.python_surface import speak
from ._functions import _canonical_dim as _canonical_dim
from ._functions import _combine_input_and_mask as _combine_input_and_mask
from ._functions import _input_mask as _input_mask
from ._functions import _output_mask as _output_mask
from ._functions import _reduction_identity as _reduction_identity
from ._functions import (
    amax,
    amin,
    argmax,
    argmin,
    cumprod,
    cumsum,
    log_softmax,
    logaddexp,
    logsumexp,
    mean,
    median,
    norm,
    normalize,
    prod,
    softmax,
    softmin,
    std,
    sum,
    var,
)
from .maskedtensor import MaskedTensor, is_masked_tensor
from .maskedtensor.creation import as_masked_tensor, masked_tensor

__all__ = [
    "MaskedTensor",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "as_masked_tensor",
    "cumprod",
    "cumsum",
    "is_masked_tensor",
    "log_softmax",
    "logaddexp",
    "logsumexp",
    "masked_tensor",
    "mean",
    "median",
    "norm",
    "normalize",
    "prod",
    "softmax",
    "softmin",
    "std",
    "sum",
    "var",
]

speak(globals(), __all__)
