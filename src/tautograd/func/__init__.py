"""Functions of functions: gradients, Jacobians and batches, composed freely."""

from typing import TYPE_CHECKING

from .._autograd.transforms.functional_call import functional_call, stack_module_state
from .._autograd.transforms.jacobians import hessian, jacfwd, jacrev
from .._autograd.transforms.transforms import (
    grad,
    grad_and_value,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)
from .._autograd.transforms.vmap import vmap
from .._lazy import named_later as _named_later
from .._ops.declare.python_surface import speak
from ._batch_norm import replace_all_batch_norm_modules_
from ._functionalize import functionalize

__all__ = [
    "functional_call",
    "functionalize",
    "grad",
    "grad_and_value",
    "hessian",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "replace_all_batch_norm_modules_",
    "stack_module_state",
    "value_and_grad",
    "vjp",
    "vmap",
]


speak(globals(), __all__)

if not TYPE_CHECKING:  # type checkers know what there is
    __getattr__, __dir__ = _named_later(__name__)
