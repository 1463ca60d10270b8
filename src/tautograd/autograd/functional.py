"""Jacobians, Hessians and products with them, of functions of tensors."""

from .._autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
