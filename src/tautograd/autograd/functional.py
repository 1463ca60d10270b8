"""Jacobians, Hessians and products with them, of functions of tensors."""

from .._autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp
from .._ops.declare.python_surface import speak

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


speak(globals(), __all__)
