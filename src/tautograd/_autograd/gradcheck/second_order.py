"""`gradgradcheck`: gradients of gradients compared with finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._random import default_generator, uniform
from ..._tensor.tensor import Tensor, make
from ..api import grad
from .common import as_tuple, recorded, require_callable
from .first_order import gradcheck
from .sparse_inputs import of_what_is_held


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Whether the gradients of the gradients of `func` agree with finite differences.

    What is checked is the function `(inputs, grad_outputs) ↦ gradients of the inputs`.
    """
    if not (check_fwd_over_rev or check_rev_over_rev):
        raise AssertionError(
            "Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True"
        )
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError(
            "Setting check_undefined_grad=True requires check_rev_over_rev to be True"
        )
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError(
            "Setting check_batched_grad=True requires check_rev_over_rev to be True"
        )
    require_callable("gradgradcheck", func)
    func, arguments = of_what_is_held(func, as_tuple(inputs), masked=masked)
    if grad_outputs is None:
        outputs = recorded(as_tuple(func(*arguments)))
        starts = tuple(_random_start(o, gen_non_contig_grad_outputs) for o in outputs)
    else:
        starts = as_tuple(grad_outputs)
        for start in starts:
            if not isinstance(start, Tensor):
                raise TypeError(
                    "gradgradcheck(): argument 'grad_outputs' must be a Tensor or tuple of Tensors, "
                    f"not {type(start).__name__}"
                )
    # Forward mode is given detached inputs: remember which ones are to be differentiated.
    wanted = {i for i, x in enumerate(arguments) if isinstance(x, Tensor) and x.requires_grad}
    wanted_starts = {i for i, x in enumerate(starts) if x.requires_grad}

    def gradient(*values: Any) -> Any:
        head = tuple(
            x.requires_grad_() if i in wanted else x for i, x in enumerate(values[: len(arguments)])
        )
        tail = tuple(
            x.requires_grad_() if i in wanted_starts else x
            for i, x in enumerate(values[len(arguments) :])
        )
        outputs = recorded(as_tuple(func(*head)))
        chosen = tuple(x for i, x in enumerate(head) if i in wanted)
        found = grad(outputs, chosen, tail, create_graph=True, allow_unused=True)
        return tuple(g for g in found if g is not None)

    return gradcheck(
        gradient,
        (*arguments, *starts),
        eps=eps,
        atol=atol,
        rtol=rtol,
        raise_exception=raise_exception,
        nondet_tol=nondet_tol,
        check_undefined_grad=check_undefined_grad,
        check_grad_dtypes=check_grad_dtypes,
        check_batched_grad=check_batched_grad,
        fast_mode=fast_mode,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        masked=masked,
    )


def _random_start(output: Tensor, scattered: bool) -> Any:
    """A random gradient for an output, from the default generator."""
    dtype, shape = output._data.dtype, output._data.shape
    if dtype.kind == "c":
        halves = uniform(
            default_generator, (*shape, 2), -1.0, 1.0, dtype=np.empty(0, dtype).real.dtype
        )
        values = np.reshape(np.ascontiguousarray(halves).view(dtype), shape)
    else:
        values = uniform(default_generator, shape, -1.0, 1.0, dtype=dtype)
    if scattered and len(shape):
        values = np.repeat(values, 2, axis=-1)[..., ::2]
    return make(values).requires_grad_()
