"""Neural networks: modules, the functions they are made of, and what helps to train them."""

from typing import TYPE_CHECKING

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

if not TYPE_CHECKING:  # type checkers know what there is

    def __getattr__(name: str) -> object:
        from .._nearest import missing_name

        raise AttributeError(missing_name(__name__, name, globals()), name=name)
