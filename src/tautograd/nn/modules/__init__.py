"""The modules, one import block per file."""

from .container import (
    Container,
    ModuleDict,
    ModuleList,
    ParameterDict,
    ParameterList,
    Sequential,
)
from .linear import Bilinear, Identity, LazyLinear, Linear
from .module import Module

__all__ = [
    "Bilinear",
    "Container",
    "Identity",
    "LazyLinear",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "ParameterDict",
    "ParameterList",
    "Sequential",
]
