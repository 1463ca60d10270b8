"""Gradient checks: what autograd computes, compared with finite differences."""

from .common import GradcheckError
from .first_order import gradcheck
from .second_order import gradgradcheck

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]
