"""Helpers for modules and their parameters, one import block per file."""

from typing import TYPE_CHECKING

from ..._lazy import named_later
from . import parametrizations, parametrize, rnn, stateless
from .clip_grad import _clip_grads_with_norm_ as clip_grads_with_norm_
from .clip_grad import _get_total_norm as get_total_norm
from .clip_grad import clip_grad_norm, clip_grad_norm_, clip_grad_value_
from .convert_parameters import parameters_to_vector, vector_to_parameters
from .init import skip_init
from .spectral_norm import remove_spectral_norm, spectral_norm
from .weight_norm import remove_weight_norm, weight_norm

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
    "parameters_to_vector",
    "parametrizations",
    "parametrize",
    "remove_spectral_norm",
    "remove_weight_norm",
    "rnn",
    "skip_init",
    "spectral_norm",
    "stateless",
    "vector_to_parameters",
    "weight_norm",
]

if TYPE_CHECKING:
    from . import fusion as fusion
    from . import memory_format as memory_format
    from . import prune as prune
    from .fusion import fuse_conv_bn_eval as fuse_conv_bn_eval
    from .fusion import fuse_conv_bn_weights as fuse_conv_bn_weights
    from .fusion import fuse_linear_bn_eval as fuse_linear_bn_eval
    from .fusion import fuse_linear_bn_weights as fuse_linear_bn_weights
    from .memory_format import (
        convert_conv2d_weight_memory_format as convert_conv2d_weight_memory_format,
    )
    from .memory_format import (
        convert_conv3d_weight_memory_format as convert_conv3d_weight_memory_format,
    )
else:
    __getattr__, __dir__ = named_later(
        __name__,
        ("fusion", "memory_format", "prune"),
        {
            "convert_conv2d_weight_memory_format": ".memory_format",
            "convert_conv3d_weight_memory_format": ".memory_format",
            "fuse_conv_bn_eval": ".fusion",
            "fuse_conv_bn_weights": ".fusion",
            "fuse_linear_bn_eval": ".fusion",
            "fuse_linear_bn_weights": ".fusion",
        },
    )
