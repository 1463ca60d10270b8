"""Gradients compared with finite differences."""

from .._autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from .._ops.declare.python_surface import speak

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


speak(globals(), ("gradcheck", "gradgradcheck"))
