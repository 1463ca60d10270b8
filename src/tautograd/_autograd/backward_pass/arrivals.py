"""Where gradients arrive: tensor and node hooks, retained gradients, and the `.grad` of leaves."""

from __future__ import annotations

import os
import threading
from sys import getrefcount
from typing import Any

import numpy as np

from ..._arrays.batching.levels import levels_of
from ..._arrays.formats import contiguous_format
from ..._arrays.strided import is_dense
from ..._ops.declare.elementwise_calls import check_written_shape
from ..._tensor.tensor import OWN_DTYPE, Tensor, make
from ..effects import call_hook
from ..hooks import call_tensor_hooks, replacements
from ..modes import modes
from ..node import Node

# Held while a gradient is added to another. One for all leaves: adding takes less time than finding a leaf's own
# lock would. It may be taken twice: what an addition calls (a mode, a finaliser) may go backward itself.
accumulating = threading.RLock()


def _after_fork() -> None:
    global accumulating
    accumulating = threading.RLock()  # a thread that had it has stayed behind


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)

_ndarray = np.ndarray
ALONE = 2  # what getrefcount says of a local name that nobody shares: the name, and its argument


def as_grad_tensor(grad: Any) -> Any:
    """A gradient as users see it."""
    return grad if grad is None or isinstance(grad, Tensor) else make(grad)


def _unwrap(grad: Any, lifted: bool) -> Any:
    return grad if grad is None or lifted else grad._data


def arrive(
    node: Node, gradient: Any, captures: Any, accumulate: bool, lifted: bool, runs: bool
) -> Any:
    """Hooks of the node's output tensors, retained gradients and captures, in PyTorch's order.

    (The gradient of a node that is captured and also runs is captured before its hooks.)
    """
    several = node.outputs is not None
    slots = list(gradient) if several and gradient is not None else [gradient]
    for nr in range(len(slots)):
        if runs and captures is not None and not accumulate and (node, nr) in captures.slots:
            captures.take(node, nr, slots[nr])  # what `grad` returns of a node that runs, too
        if node.tensor_hooks and node.tensor_hooks.get(nr):
            result = call_tensor_hooks(node.tensor_hooks[nr], as_grad_tensor(slots[nr]))
            slots[nr] = _unwrap(result, lifted)
        if node.retained and nr in node.retained and slots[nr] is not None:
            tensor = node.retained[nr]()
            if tensor is not None:
                _add_to_grad(tensor, slots[nr], lifted, anew=True)
        if not runs and captures is not None and not accumulate and (node, nr) in captures.slots:
            captures.take(node, nr, slots[nr])
    if gradient is None:
        return None
    return slots if several else slots[0]


def call_prehooks(node: Node, gradient: Any, lifted: bool) -> Any:
    several = node.outputs is not None
    values = (
        tuple(as_grad_tensor(g) for g in (gradient or ()))
        if several
        else (as_grad_tensor(gradient),)
    )
    for hook in list(node.prehooks.values()):
        result = call_hook(hook, values)
        if result is not None:
            values = replacements(hook, result, values)
    unwrapped = [_unwrap(v, lifted) for v in values]
    return unwrapped if several else unwrapped[0]


def call_node_hooks(node: Node, grads: Any, gradient: Any, lifted: bool) -> Any:
    several = node.outputs is not None
    incoming = tuple(as_grad_tensor(g) for g in (gradient if several else (gradient,)))
    values = tuple(as_grad_tensor(g) for g in grads)
    for hook in list(node.hooks.values()):
        result = call_hook(hook, values, incoming)
        if result is not None:
            values = replacements(hook, result, values)
    return [_unwrap(v, lifted) for v in values]


def call_leaf_hooks(leaf: Tensor, grad: Any, lifted: bool) -> Any:
    if grad is None or not leaf._hooks:
        return grad
    return _unwrap(call_tensor_hooks(leaf._hooks, as_grad_tensor(grad)), lifted)


def accumulate_leaf(leaf: Tensor, grad: Any, lifted: bool, alone: bool = False) -> None:
    """Add a complete gradient to a leaf's `.grad`, with its hooks; `alone` says that nobody but the
    caller holds the array (see `ALONE`)."""
    if not leaf._watched:
        # Such an array needs no copy; nor does another view of the whole of such an array.
        owned = alone and leaf._grad is None
        if owned and type(grad) is _ndarray:
            base = grad.base
            if base is not None:
                owned = type(base) is _ndarray and getrefcount(base) <= 2 + 1 and base.base is None
                owned = owned and base.size == grad.size
            # (`carray`: by rows, and it may be written)
            if owned and grad.flags.carray and leaf._data.flags.c_contiguous:
                with accumulating:
                    if leaf._grad is None:
                        leaf._grad = make(grad)
                        return
        elif owned:
            # (NumPy's scalars are nobody's memory)
            with accumulating:
                if leaf._grad is None and (isinstance(grad, np.generic) or _keeps(leaf, grad)):
                    leaf._grad = make(grad)
                    return
        _add_to_grad(leaf, grad, lifted)
        return
    accumulator = leaf._accumulator and leaf._accumulator()
    if leaf._hooks:
        grad = call_leaf_hooks(leaf, grad, lifted)
    if accumulator is not None and accumulator.prehooks:
        for hook in list(accumulator.prehooks.values()):
            given = (as_grad_tensor(grad),)
            result = call_hook(hook, given)
            if result is not None:
                grad = _unwrap(replacements(hook, result, given)[0], lifted)
    if leaf._grad_dtype is not OWN_DTYPE and grad is not None:
        grad = _in_dtype_asked_for(leaf, grad, lifted)
    taken = leaf._grad is None and not lifted and type(grad) is _ndarray and is_dense(grad)
    _add_to_grad(leaf, grad, lifted)
    if taken:  # as where PyTorch takes an array over: hooks see the memory that is now the leaf's
        grad = leaf._grad._data
    if leaf._post_hooks:
        for hook in list(leaf._post_hooks.values()):
            if call_hook(hook, leaf) is not None:
                raise RuntimeError("Tensor post accumulate grad hooks should return None.")
    if accumulator is not None and accumulator.hooks:
        for hook in list(accumulator.hooks.values()):
            call_hook(hook, (), (as_grad_tensor(grad),))


def _in_dtype_asked_for(leaf: Tensor, grad: Any, lifted: bool) -> Any:
    """A gradient in the leaf's `grad_dtype`; with None, in that of the gradient it is added to."""
    wanted = leaf._grad_dtype
    if leaf._grad is not None:
        wanted = leaf._grad.dtype
    if wanted is None:
        return grad
    return grad.to(wanted) if lifted else np.astype(np.asarray(grad), wanted.numpy)


def _keeps(leaf: Tensor, grad: Any) -> bool:
    """Whether a gradient of another array type can become the leaf's without being copied."""
    fits = getattr(grad, "can_be_gradient_of", None)
    return fits is not None and leaf._grad is None and fits(leaf._data)


def _fits(present: Any, grad: Any) -> bool:
    """Whether a sum can be written where one summand is: not if only the other is a batch, or dense."""
    if type(present) is not _ndarray and hasattr(present, "is_sparse_array"):
        return hasattr(grad, "is_sparse_array")
    return type(grad) is _ndarray or levels_of(grad) == levels_of(present)


def sum_of(a: Any, b: Any) -> Any:
    """Two gradients together; one that is sparse is added to one that is dense, never the other way."""
    if type(a) is not _ndarray and hasattr(a, "is_sparse_array"):
        a, b = b, a
    return modes.quietly(np.add, a, b)


def _room_for_gradient(data: Any, dtype: Any) -> Any:
    """The gradient of a leaf lies in memory as the leaf does, or in C order if the leaf has gaps."""
    return np.empty_like(data, dtype, order="K" if is_dense(data) else "C")


def _recorded_copy(tensor: Tensor, grad: Any, anew: bool) -> Any:
    """A gradient that can be differentiated, in memory of its own."""
    if anew or type(grad._data) is not _ndarray or type(tensor._data) is not _ndarray:
        return grad if grad.grad_fn is not None else make(np.copy(grad._data))
    if is_dense(tensor._data):
        return make(np.empty_like(tensor._data)).copy_(grad)
    return grad.clone(memory_format=contiguous_format)


def set_or_add(tensor: Tensor, grad: Any) -> None:
    """Let a leaf that had no gradient have this one, unless another thread has given it one meanwhile."""
    with accumulating:
        if tensor._grad is None or tensor._grad is grad or grad is None:
            tensor._grad = grad
        else:
            _add_to_grad(tensor, grad._data, False)


def _add_to_grad(tensor: Tensor, grad: Any, lifted: bool, anew: bool = False) -> None:
    with accumulating:
        present = tensor._grad
        if present is None:
            if lifted:
                tensor._grad = _recorded_copy(tensor, grad, anew)
            elif not anew and not tensor._data.flags.c_contiguous and tensor._data.size:
                tensor._grad = make(_room_for_gradient(tensor._data, grad.dtype))
                np.copyto(tensor._grad._data, grad)
            elif type(grad) is _ndarray:
                tensor._grad = make(grad.copy())
            elif isinstance(grad, np.generic):
                tensor._grad = make(grad)
            else:
                tensor._grad = make(np.copy(grad))
        elif lifted:
            tensor._grad = present + grad
        elif (
            present._node is None
            and not present._requires_grad
            and not anew
            and _fits(present._data, grad)
        ):
            # In place, so that whoever holds `.grad` sees the sum, as in PyTorch.
            # (A retained gradient is a new tensor each time.)
            try:
                modes.quietly(np.add, present._data, grad, out=present._data)
            except ValueError:  # the leaf was given data of another shape since
                check_written_shape(present._data.shape, present._data.shape, grad.shape)
                raise
            present._version_box[0] += 1
        else:
            tensor._grad = make(sum_of(present._data, grad))
