"""The long way round: applying an operation under forward mode (or saved-tensor hooks).

`apply` comes here only while `modes.special` says so. Forward mode is a recursion over levels: the
innermost level's tangents are hidden, the operation runs as if they were not there (carrying the
outer levels' tangents and being recorded as usual), and the op's JVP rule, itself made of recorded
operations on tensors, gives the tangent of the result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arrays.dtypes import from_numpy_dtype
from .._ops.declare.record import LINEAR, MULTILINEAR, Op
from .._ops.declare.rule_calls import BoundRule
from .._tensor.tensor import Tensor, make
from .apply import run_forward, wrap
from .lifted import Lifted, is_raw, lift, lower
from .modes import modes


def apply_special(op: Op, inputs: tuple[Any, ...], parameters: dict[str, Any], compute: Any) -> Any:
    """`apply`, with tangents carried along and saved tensors packed; a function mode comes first."""
    if modes.deferred is not None:
        return modes.deferred.operation(op, inputs, parameters, compute)
    if modes.function_modes:
        from .function_modes import Recorded, shown

        return shown(Recorded(op, compute), inputs, parameters)
    if modes.forward_level:
        for x in _tensors(inputs):
            follow_base(x)
    out = _with_tangents(op, inputs, parameters, compute)
    if modes.forward_level or modes.saved_hooks:
        outs = out if isinstance(out, tuple) else (out,)
        node = next((o._node for o in outs if o._node is not None), None)
        if node is not None and node.op is op and node.saved and node.packed is None:
            from .packing import pack_saved

            pack_saved(node, inputs, out)
    return out


def _with_tangents(
    op: Op, inputs: tuple[Any, ...], parameters: dict[str, Any], compute: Any
) -> Any:
    level = innermost_level(inputs)
    if level is None:
        arrays = [x._data if isinstance(x, Tensor) else x for x in inputs]
        data = run_forward(op, arrays, parameters, compute, modes.quietly)
        return wrap(op, inputs, parameters, data)
    tangents = [
        x._tangents.get(level) if isinstance(x, Tensor) and x._tangents else None for x in inputs
    ]
    hidden = hide_tangents(inputs, level)
    try:
        out = _with_tangents(op, inputs, parameters, compute)
        if op.vjp is not None and any(t is not None for t in tangents):
            found = jvp_of(op, inputs, tangents, out, parameters, compute)
            own_dtypes = all(
                t is None or t._data.dtype == x._data.dtype
                for x, t in zip(inputs, tangents, strict=True)
            )
            _attach(level, out, found, () if op.is_view else tangents, own_dtypes)
    finally:
        show_tangents(hidden)
    return out


def hide_tangents(inputs: Any, level: int = 0) -> list[tuple[Tensor, Any]]:
    """Take away tangents of this level and inner ones, and those of bases, which views follow."""
    tensors = dict.fromkeys(_tensors(inputs))
    bases = dict.fromkeys(x._base for x in tensors if x._base is not None)
    hidden = [(x, x._tangents) for x in {**tensors, **bases} if x._tangents]
    for x, held in hidden:
        x._tangents = {k: t for k, t in held.items() if k < level} or None
    return hidden


def show_tangents(hidden: list[tuple[Tensor, Any]]) -> None:
    """Give back what was hidden."""
    for x, held in hidden:
        x._tangents = held


def _tensors(inputs: Any) -> list[Tensor]:
    return [x for x in inputs if isinstance(x, Tensor)]


def innermost_level(inputs: Any) -> int | None:
    """The highest forward-mode level at which an input has a tangent."""
    if not modes.forward_level:
        return None
    levels = [k for x in _tensors(inputs) if x._tangents for k in x._tangents]
    return max(levels, default=None)


def _attach(level: int, out: Any, tangent: Any, of_inputs: Any, own_dtypes: bool) -> None:
    """Give outputs their tangents; outputs with memory of their own have tangents of their own.

    Where each input's tangent has the input's dtype, each output's has the output's; a tangent that
    was made of another one (as PyTorch lets it be) keeps what the rule made of it.
    """
    outs = out if isinstance(out, tuple) else (out,)
    tangents = tangent if isinstance(tangent, tuple) else (tangent,)
    for tensor, t in zip(outs, tangents, strict=True):
        if t is None or tensor._data.dtype.kind not in "fcV":
            continue
        if own_dtypes and t._data.dtype != tensor._data.dtype:
            t = t.to(from_numpy_dtype(tensor._data.dtype))
        if tuple(t._data.shape) != tuple(tensor._data.shape):
            t = t.expand(tensor._data.shape)
        if any(t is one or t._base is one for one in of_inputs if one is not None):
            t = t.clone()
        set_tangent(tensor, level, t)


def set_tangent(tensor: Tensor, level: int, tangent: Tensor) -> None:
    from .forward_ad import register

    tensor._tangents = {**(tensor._tangents or {}), level: tangent}
    register(level, tensor)


def follow_base(tensor: Tensor) -> None:
    """Give a view the tangents that its base got after the view was made."""
    base = tensor._base
    if base is None or not base._tangents:
        return
    for level, whole in base._tangents.items():
        if level in (tensor._tangents or {}):
            continue
        part = whole
        for op, parameters, index in tensor._view:
            part = apply_special(op, (part,), parameters, None)
            part = part if index is None else part[index]
        set_tangent(tensor, level, part)


def write_tangents(tensor: Tensor, result: Tensor) -> None:
    """After an in-place change: the tangents of this memory change with it, views' included."""
    follow_base(tensor)
    for level in {**(tensor._tangents or {}), **(result._tangents or {})}:
        new: Any = (result._tangents or {}).get(level)
        present: Any = (tensor._tangents or {}).get(level)
        base = tensor._base
        if base is not None and (present is None or _needs_batch(present, new)):
            like = base._data if new is None else new._data
            whole: Any = make(np.zeros_like(like, shape=base._data.shape, dtype=base._data.dtype))
            if base._tangents and level in base._tangents:
                whole = whole + base._tangents[level]
            tensor._tangents = {k: t for k, t in (tensor._tangents or {}).items() if k != level}
            set_tangent(base, level, whole)
            follow_base(tensor)
            present = (tensor._tangents or {})[level]
        if present is None or (
            base is None and (0 in present._data.strides or _needs_batch(present, new))
        ):
            new = make(np.zeros_like(tensor._data)) if new is None else new.clone()
            set_tangent(tensor, level, new)
        elif new is None:
            present.zero_()
        else:
            present.copy_(new)


def _needs_batch(present: Tensor, new: Any) -> bool:
    """Whether a tangent is the same for every example, and the new one is not."""
    levels = set(getattr(new._data.shape, "levels", ())) if new is not None else set()
    return not levels <= set(getattr(present._data.shape, "levels", ()))


def jvp_of(
    op: Op,
    inputs: tuple[Any, ...],
    tangents: list[Any],
    out: Any,
    parameters: dict[str, Any],
    compute: Any,
) -> Any:
    """The tangent of an operation's output, as recorded operations on tensors."""
    jvp = op.jvp
    if jvp is None:
        raise NotImplementedError(
            f"Trying to use forward AD with {op.public_name} that does not support it because it "
            "has not been implemented yet."
        )
    on_arrays = _is_seen_by_nobody((*inputs, *tangents, out))
    if jvp == LINEAR:
        along = tuple(
            t if t is not None else _zero_of(x, linear=_is_operand(op, i))
            for i, (x, t) in enumerate(zip(inputs, tangents, strict=True))
        )
        return _on_tangents(op, along, parameters, compute, on_arrays)
    terms = []
    if jvp == MULTILINEAR:
        for i, t in enumerate(tangents):
            if t is not None:
                replaced = (*inputs[:i], t, *inputs[i + 1 :])
                terms.append(_on_tangents(op, replaced, parameters, compute, on_arrays))
        return _total(terms)
    put = _array_of if on_arrays else lift
    saved = [put(tuple(inputs))] if op.variadic else [put(x) for x in inputs]
    saved.append(put(out))
    shapes = tuple(x._data.shape if isinstance(x, Tensor) else () for x in inputs)
    dtypes = tuple(x._data.dtype if isinstance(x, Tensor) else None for x in inputs)

    def ruled(rule: Any, along: Any, needs: Any) -> Any:
        given = rule.rule, along, saved, shapes, dtypes, parameters, needs
        return _as_tensors(modes.quietly(rule.call, *given) if on_arrays else rule.call(*given))

    if isinstance(jvp, BoundRule):
        needs = tuple(t is not None for t in tangents)
        joint = tuple(
            put(_zero_of(x) if t is None else t) for x, t in zip(inputs, tangents, strict=True)
        )
        return ruled(jvp, joint, needs)
    for rule, t in zip(jvp, tangents, strict=True):
        if t is None:
            continue
        if rule is None:
            raise NotImplementedError(
                f"Trying to use forward AD with {op.public_name}: one of its inputs has no JVP rule"
            )
        terms.append(ruled(rule, put(t), None))
    return _total(terms)


def _on_tangents(
    op: Op, inputs: Any, parameters: dict[str, Any], compute: Any, on_arrays: bool
) -> Any:
    """The operation itself, applied to tangents."""
    if not on_arrays or op.is_view:  # the tangent of a view is a view of the tangent
        return apply_special(op, inputs, parameters, compute)
    arrays = [_array_of(x) for x in inputs]
    return _as_tensors(run_forward(op, arrays, parameters, compute, modes.quietly))


def _is_seen_by_nobody(values: Any) -> bool:
    """Whether a rule may run on plain arrays: nothing records it, no outer level follows it, and it computes
    in the precision that is given."""
    for x in values:
        if isinstance(x, Tensor):
            data = x._data
            if type(data) is not np.ndarray or data.dtype.char not in "fd":
                return False
            if x._tangents or (x.requires_grad and modes.grad):
                return False
        elif isinstance(x, tuple):
            return False
    return not modes.saved_hooks


def _array_of(x: Any) -> Any:
    if isinstance(x, tuple):
        return tuple(map(_array_of, x))
    return x._data if isinstance(x, Tensor) else x


def _as_tensors(result: Any) -> Any:
    if isinstance(result, (tuple, list)):
        return tuple(_as_tensors(r) for r in result)
    if isinstance(result, Lifted):
        return lower(result)
    # (Copied: what a rule passes on is an input's memory.)
    if isinstance(result, (np.ndarray, np.generic)):
        return make(np.array(result))
    return make(np.copy(result)) if is_raw(result) else result


def _is_operand(op: Op, i: int) -> bool:
    """Whether an input is one the operation is linear in, and not an index or a mask."""
    return op.variadic or (isinstance(op.vjp, tuple) and op.vjp[i] is not None)


def _zero_of(x: Any, linear: bool = False) -> Any:
    if isinstance(x, Tensor):
        return make(np.zeros_like(x._data)) if linear or x._data.dtype.kind in "fcV" else x
    return 0 if isinstance(x, (int, float, complex, np.number)) else x


def _total(terms: list[Any]) -> Any:
    if isinstance(terms[0], tuple):
        return tuple(
            _total([p for p in parts if p is not None])
            if any(p is not None for p in parts)
            else None
            for parts in zip(*terms, strict=True)
        )
    total = terms[0]
    for term in terms[1:]:
        total = total + term
    return total
