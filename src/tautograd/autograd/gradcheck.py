"""Gradients compared with finite differences."""

from .._autograd.gradcheck import GradcheckError, gradcheck, gradgradcheck
from .._autograd.gradcheck.jacobians import get_analytical_jacobian, get_numerical_jacobian
from .._ops.declare.python_surface import speak

__all__ = [
    "GradcheckError", "get_analytical_jacobian", "get_numerical_jacobian", "gradcheck", "gradgradcheck",
]  # fmt: skip


speak(globals(), ("gradcheck", "gradgradcheck"))
