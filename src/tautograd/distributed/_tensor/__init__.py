"""`torch.distributed._tensor`: the name of `torch.distributed.tensor` before it became public."""

from ..tensor import *  # noqa: F403
from ..tensor import __all__ as __all__
