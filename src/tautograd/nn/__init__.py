"""Neural networks: modules, the functions they are made of, and training utilities."""

from typing import TYPE_CHECKING

from .._lazy import named_later
from . import functional, init, modules, parameter, utils
from .modules import *  # noqa: F403
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "functional",
    "init",
    "modules",
    "parameter",
    "utils",
]
__all__ += modules.__all__

if TYPE_CHECKING:
    from . import attention as attention
    from . import grad as grad
    from . import parallel as parallel
    from .parallel import DataParallel as DataParallel
else:
    __getattr__, __dir__ = named_later(
        __name__, ("attention", "grad", "parallel"), {"DataParallel": ".parallel"}
    )
