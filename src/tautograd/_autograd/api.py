"""Autograd as users call it: `backward` and `grad`."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .._tensor.tensor import Tensor, make
from .._user_code.sites import warning_level
from .backward_pass.arrivals import as_grad_tensor
from .backward_pass.engine import run_backward
from .graph import GradientEdge, stand_in
from .hooks import retain_grad
from .modes import modes, shared


def _root_gradients(outputs: Sequence[Tensor], gradients: Sequence[Any]) -> list[Tensor]:
    """The gradients to start from: those given, checked, and ones for scalars."""
    found = []
    for i, (output, gradient) in enumerate(zip(outputs, gradients, strict=True)):
        if not isinstance(output, Tensor):
            raise AssertionError(
                f"Expected output to be a torch.Tensor, but outputs[{i}] is {type(output).__name__}"
            )
        if isinstance(gradient, Tensor):
            if tuple(gradient._data.shape) != tuple(output._data.shape):
                raise RuntimeError(
                    f"Mismatch in shape: grad_output[{i}] has a shape of {gradient.shape} and "
                    f"output[{i}] has a shape of {output.shape}."
                )
            if output.dtype.is_complex != gradient.dtype.is_complex:
                raise RuntimeError(
                    "For complex Tensors, both grad_output and output are required to have the "
                    f"same dtype. Mismatch in dtype: grad_output[{i}] has a dtype of "
                    f"{gradient.dtype} and output[{i}] has a dtype of {output.dtype}."
                )
            found.append(gradient)
        elif gradient is None:
            if output.requires_grad:
                if output._data.size != 1:
                    raise RuntimeError(
                        "grad can be implicitly created only for scalar outputs" + _advice(output)
                    )
                if not output.dtype.is_floating_point:
                    raise RuntimeError(
                        "grad can be implicitly created only for real scalar outputs but got "
                        f"{output.dtype}"
                    )
            found.append(make(ones_like_root(output._data)))
        else:
            raise TypeError(
                f"gradients can be either Tensors or None, but got {type(gradient).__name__}"
            )
    return found


_ONES: dict[Any, Any] = {}


def ones_like_root(array: Any) -> Any:
    """The gradient to start from; for a 0-dim array a NumPy scalar, which each dtype keeps one of."""
    if type(array) is not np.ndarray or array.shape:
        kept = getattr(array, "root_gradient", None)
        found = None if kept is None else kept()
        return np.ones_like(array) if found is None else found
    dtype = array.dtype
    found = _ONES.get(dtype)
    if found is None:
        found = _ONES[dtype] = np.ones((), dtype)[()]
    return found


def _advice(output: Tensor) -> str:
    return (
        f"; this output has shape {list(output._data.shape)}. Reduce it first, as in "
        "out.sum().backward() or out.mean().backward(), or pass gradient= a tensor of that shape "
        "(the vector of the vector-Jacobian product)."
    )


def _check_roots(outputs: Sequence[Tensor]) -> None:
    for i, output in enumerate(outputs):
        if not output.requires_grad:
            raise RuntimeError(
                f"element {i} of tensors does not require grad and does not have a grad_fn"
            )


def _as_sequence(value: Any) -> tuple[Any, ...]:
    if isinstance(value, Tensor) or value is None:
        return (value,)
    values = (value,) if isinstance(value, GradientEdge) else tuple(value)
    return tuple([stand_in(v) if isinstance(v, GradientEdge) else v for v in values])


def backward(
    tensors: Any,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    grad_variables: Any = None,
    inputs: Any = None,
) -> None:
    """Add the gradients of `tensors` to the `.grad` of the leaves they were computed from."""
    if grad_variables is not None:
        import warnings

        warnings.warn(
            "`grad_variables` is deprecated. Use `grad_tensors` instead.",
            FutureWarning,
            stacklevel=warning_level(),
        )
        if grad_tensors is not None:
            raise RuntimeError(
                "`grad_tensors` and `grad_variables` (deprecated) arguments both passed."
            )
        grad_tensors = grad_variables
    if inputs is not None:
        inputs, _ = _inputs("backward", inputs)
        for tensor in inputs:
            if not isinstance(tensor, Tensor):
                raise TypeError(
                    "all inputs have to be Tensors or GradientEdges, but got "
                    f"{type(tensor).__name__}"
                )
            retain_grad(tensor)
    if modes.deferred is not None:
        given = tensors, grad_tensors, retain_graph, create_graph, None, inputs
        modes.deferred.call(backward, given, {})
        return
    outputs = _as_sequence(tensors)
    gradients = _as_sequence(grad_tensors) if grad_tensors is not None else (None,) * len(outputs)
    if len(gradients) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(gradients)} gradients")
    starts = _root_gradients(outputs, gradients)
    _check_roots(outputs)
    create_graph = _flag(create_graph)
    if create_graph:
        _warn_of_cycle()
    run_backward(
        outputs,
        starts,
        retain_graph=create_graph if retain_graph is None else _flag(retain_graph),
        create_graph=create_graph,
        inputs=inputs,
    )


def _flag(value: Any) -> bool:
    """A flag as PyTorch's engine reads it: a whole number; whatever is none is a TypeError."""
    if value is True or value is False:
        return value
    try:
        return bool(operator.index(value))
    except TypeError:
        kind = type(value).__name__
        raise TypeError(f"a {kind} is no flag: it cannot be interpreted as an integer") from None


_warned: list[str] = []


def _warn_of_cycle() -> None:
    """Said once: a leaf's `.grad` that has a history leads back to the leaf."""
    import warnings

    from .._tensor.settings import is_warn_always_enabled

    if _warned and not is_warn_always_enabled():
        return
    _warned.append("cycle")
    warnings.warn(
        "Using backward() with create_graph=True will create a reference cycle between the "
        "parameter and its gradient which can cause a memory leak. We recommend using "
        "autograd.grad when creating the graph to avoid this. If you have to use this function, "
        "make sure to reset the .grad fields of your parameters to None after use to break the "
        "cycle and avoid the leak.",
        UserWarning,
        stacklevel=warning_level(),
    )


def grad(
    outputs: Any,
    inputs: Any,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> Any:
    """The gradients of `outputs` with respect to `inputs`; no `.grad` is touched.

    One for each input, in a tuple; in a dictionary with the same keys if that is what `inputs` is.
    """
    usual = shared.ordinary  # nothing is put off, and no mode is in force
    if not usual and modes.deferred is not None:
        return modes.deferred.call(
            grad,
            (outputs, inputs, grad_outputs, retain_graph, create_graph, only_inputs),
            {
                "allow_unused": allow_unused,
                "is_grads_batched": is_grads_batched,
                "materialize_grads": materialize_grads,
            },
        )
    if not usual and modes.function_modes:
        from .function_modes import shown

        options = {
            "grad_outputs": grad_outputs,
            "retain_graph": retain_graph,
            "create_graph": create_graph,
            "only_inputs": only_inputs,
            "allow_unused": allow_unused,
            "is_grads_batched": is_grads_batched,
            "materialize_grads": materialize_grads,
        }
        return shown(grad, (outputs, inputs), options)
    if materialize_grads and allow_unused is False:
        raise ValueError(
            "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
            "allow_unused=False."
        )
    if allow_unused is None:
        allow_unused = materialize_grads
    outputs = _as_sequence(outputs)
    given = tuple(inputs.values()) if isinstance(inputs, Mapping) else inputs
    inputs, keys = _inputs("grad", inputs)
    gradients = _as_sequence(grad_outputs) if grad_outputs is not None else (None,) * len(outputs)
    create_graph = _flag(create_graph)
    if is_grads_batched:
        batches = _batched(
            outputs, inputs, gradients, retain_graph, create_graph, allow_unused, materialize_grads
        )
        return batches if keys is None else dict(zip(keys, batches, strict=True))
    if len(gradients) != len(outputs):
        raise RuntimeError(f"got {len(outputs)} tensors and {len(gradients)} gradients")
    starts = _root_gradients(outputs, gradients)
    _check_roots(outputs)
    for tensor in inputs:
        if not isinstance(tensor, Tensor):
            raise TypeError(
                f"grad(): argument 'inputs' must be Tensors, not {type(tensor).__name__}"
            )
        if not tensor.requires_grad:
            raise RuntimeError("One of the differentiated Tensors does not require grad")
    found = run_backward(
        outputs,
        starts,
        retain_graph=create_graph if retain_graph is None else _flag(retain_graph),
        create_graph=create_graph,
        inputs=inputs,
        accumulate=False,
    )
    assert found is not None
    results = []
    for place, (tensor, gradient) in enumerate(zip(inputs, found, strict=True)):
        if gradient is None and not allow_unused:
            raise RuntimeError(
                f"The differentiated Tensor at index {place} appears to not have been used in the "
                "graph. Set allow_unused=True if this is the desired behavior."
            )
        if gradient is None and materialize_grads:
            if _is_edge(given, place):
                raise RuntimeError(
                    "materialize_grads cannot be used when the given input is a GradientEdge"
                )
            gradient = make(np.zeros_like(tensor._data))
            gradient._requires_grad = create_graph
        results.append(own(gradient))
    return tuple(results) if keys is None else dict(zip(keys, results, strict=True))


def _inputs(name: str, inputs: Any) -> tuple[Any, list[Any] | None]:
    """Inputs as a sequence, and the keys if they were given as a dictionary."""
    keys = None
    if type(inputs) is dict:
        keys, inputs = list(inputs), tuple(inputs.values())
    elif isinstance(inputs, Mapping):
        raise TypeError(
            f"`inputs` argument to `{name}()` must be a dict, not {type(inputs).__name__}. Other "
            "Mapping types are not supported."
        )
    found = _as_sequence(inputs)
    if not found:
        raise RuntimeError(f"`inputs` argument to `{name}()` cannot be empty.")
    return found, keys


def _is_edge(given: Any, place: int) -> bool:
    """Whether an input was given as a place in the graph, of which no shape is known."""
    from .graph import GradientEdge

    if isinstance(given, GradientEdge):
        return True
    return isinstance(given, (tuple, list)) and isinstance(given[place], GradientEdge)


def own(gradient: Any) -> Any:
    """A captured gradient as a tensor that shares memory with nothing."""
    if gradient is None or isinstance(gradient, Tensor):
        return gradient
    return as_grad_tensor(np.copy(gradient))


def _batched(
    outputs: Any,
    inputs: Any,
    gradients: Any,
    retain: Any,
    create: bool,
    unused: bool,
    materialize: bool,
) -> tuple[Any, ...]:
    """One backward for a whole batch of gradients, each carried through by itself."""
    from .transforms.vmap import batch, open_level, unbatch

    sizes = [g.shape[0] for g in gradients if isinstance(g, Tensor) and g.ndim]
    if not sizes:
        raise ValueError(
            "vmap(vjp, in_dims=0, ...)(<inputs>): Got in_dim=0 for an input but the input is of type "
            "<class 'NoneType'>. We cannot vmap over non-Tensor arguments: is_grads_batched=True needs "
            "grad_outputs"
        )
    for output, gradient in zip(outputs, gradients, strict=True):
        if isinstance(gradient, Tensor) and tuple(gradient.shape[1:]) != tuple(output.shape):
            raise RuntimeError(
                "If `is_grads_batched=True`, we interpret the first dimension of each grad_output as "
                "the batch dimension. The sizes of the remaining dimensions are expected to match "
                f"the shape of corresponding output, but a mismatch was detected: grad_output has a "
                f"shape of {gradient.shape} and output has a shape of {output.shape}. If you only "
                "want some tensors in `grad_output` to be considered batched, consider using vmap."
            )
    with open_level(sizes[0]) as level:
        found = grad(
            outputs,
            inputs,
            tuple([None if g is None else batch(g, 0, level) for g in gradients]),
            retain_graph=retain,
            create_graph=create,
            allow_unused=unused,
            materialize_grads=materialize,
        )
        return tuple([None if g is None else unbatch(g, 0, level) for g in found])
