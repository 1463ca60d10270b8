"""`torch.distributed._tensor`: what `torch.distributed.tensor` was before it became public."""

from ..tensor import *  # noqa: F403
from ..tensor import __all__ as __all__
