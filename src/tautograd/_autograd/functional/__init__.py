"""Jacobians, Hessians and products with them (`autograd.functional`)."""

from .matrices import hessian, jacobian
from .products import hvp, jvp, vhp, vjp

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]
