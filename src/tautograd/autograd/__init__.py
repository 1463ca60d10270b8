"""Automatic differentiation as users meet it: `backward`, `grad`, modes, functions, checks."""

from typing import TYPE_CHECKING

from .._autograd.api import backward, grad
from .._autograd.backward_pass.anomaly import detect_anomaly, set_detect_anomaly
from .._autograd.function.function import Function
from .._autograd.grad_mode import (
    enable_grad,
    inference_mode,
    no_grad,
    set_grad_enabled,
    set_multithreading_enabled,
)
from .._lazy import named_later as _named_later
from .._ops.declare.python_surface import speak
from . import anomaly_mode, forward_ad, function, functional, grad_mode, graph, variable
from .gradcheck import gradcheck, gradgradcheck
from .variable import Variable

__all__ = [
    "Function",
    "SavedTensor",
    "Variable",
    "anomaly_mode",
    "backward",
    "detect_anomaly",
    "enable_grad",
    "forward_ad",
    "function",
    "functional",
    "grad",
    "grad_mode",
    "gradcheck",
    "gradgradcheck",
    "graph",
    "inference_mode",
    "no_grad",
    "set_detect_anomaly",
    "set_grad_enabled",
    "set_multithreading_enabled",
    "variable",
]


class SavedTensor:
    """What a node saved; made by recording alone."""

    def __init__(self) -> None:
        raise RuntimeError(
            "Trying to create a SavedTensor object from Python is forbidden. SavedTensor objects "
            "are made when operations are recorded."
        )


speak(globals(), ("backward", "grad", "gradcheck", "gradgradcheck"))

if not TYPE_CHECKING:  # type checkers know what there is
    __getattr__, __dir__ = _named_later(__name__)
