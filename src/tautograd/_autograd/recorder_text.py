"""The text of a recorder: what applying one operation comes to, as its record says.

A recorder runs straight through: no loop over inputs, no question whose answer stands in the record.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from inspect import CO_VARARGS, CO_VARKEYWORDS
from typing import Any

from .._ops.declare.record import Op
from .recorder_lines import NEW, WALK, Body, as_tuple

_MODES = """
if shared.ordinary:
    recording = True
    quietly = shared.quietly
else:
    recording, quietly = modes.way
    if recording is None:
        return {special}
"""

_VIEW = """
base = x0._base
if base is None:
    base = x0
    out._view = ((op, parameters, None),)
else:
    out._view = (*x0._view, (op, parameters, None))
    if x0._view_creation is not None:
        out._view_creation = x0._view_creation
out._base = base
out._version_box = box = base._version_box
out._seen_version = box[0]
if not recording:
    out._view_creation = "no_grad"
    # It wants a gradient as its base does, though none will get there.
    out._requires_grad = base.requires_grad
    return out
"""

# `shared.quietly` may be at work in another thread, which also went by it.
_IN_USE = """
except RuntimeError as error:
    if not is_used_elsewhere(error):
        raise
    data = quietly_apart(op.forward, {call})
"""

_OPERAND = """
try:
    a0 = self._data
except AttributeError:
    return slow(self, other)
dtype = a0.dtype
"""

_INTEGER = "type(other) is int and -0x8000000000000000 <= other <= 0xFFFFFFFFFFFFFFFF"

_SECOND = f"""
if isinstance(other, Tensor):
    a1 = other._data
    if a1.dtype is not dtype or (dtype is not FLOAT32 and dtype.char not in direct):
        return slow(self, other)
elif dtype.char in "fd" and (type(other) is float or ({_INTEGER})):
    a1 = other
elif type(other) is int and dtype.kind in "iu" and dtype.char in direct:
    a1 = other  # one that the dtype cannot hold wraps round, which the ufunc refuses to do: that is the long way's
else:
    return slow(self, other)
"""

_MATRICES = """
{a} = {x}._data
{b} = {y}._data
kind = type({a})
dtype = {a}.dtype
if (kind is not ndarray and not hasattr(kind, "raw")) or type({b}) is not kind:
    return None
half = False
if {b}.dtype is not dtype or (dtype is not FLOAT32 and dtype.char not in "fdFD"):
    half = dtype.char in HALF_CODES and {b}.dtype == dtype and kind is not ndarray
    if not half or op.half_kernel is None:
        return None
shape = {a}.shape
other = {b}.shape
if len(shape) != 2 or len(other) != 2 or shape[1] != other[1]:
    return None
steps = {b}.strides
"""

_ADDED = """
a0 = x0._data
if type(a0) is not kind or (a0.dtype is not dtype and (not half or a0.dtype != dtype)):
    return None
if a0.shape != other[:1] and a0.shape != (shape[0], other[0]):
    return None
"""

_HALF = """
data = op.half_kernel({arrays}, **parameters)
if data is None:
    return None
"""

# Whether nothing is recorded, and nothing has to be checked or kept, when a tensor is written.
_WRITTEN = """
recording, quietly = modes.way
if recording is None:
    return False
a0 = self._data
dtype = a0.dtype
if (
    dtype.char not in "fd"
    or self._base is not None
    or (recording and (self._requires_grad or self._node is not None))
    or self._is_inference
    or type(a0) is not ndarray
    or 0 in a0.strides
):
    return False
if isinstance(other, Tensor):
    a1 = other._data
    if (
        a1.dtype is not dtype
        or type(a1) is not ndarray
        or (a1.shape != a0.shape and a1.shape)
        or other._base is not None
        or (recording and (other._requires_grad or other._node is not None))
    ):
        return False
elif other.__class__ is float or ({integer}):
    a1 = other
else:
    return False
quietly(op.forward, a0, a1, a0)
"""

# What `bump` does, one call less.
_CHANGED = f"""
frame = getframe(2)
code = frame.f_code
{WALK}
box = self._version_box
box[0] += 1
box[1:] = ((code, frame.f_lasti),)
return True
"""

# A number that stands for any while a function is compiled says that it is a float, and is taken for one.
_NUMBER = f"""
if dtype.char not in "fd" or not (other.__class__ is float or ({_INTEGER})):
    return slow(self, other)
"""


def _given(op: Op) -> str:
    """The parameters as a forward takes them: by their names, where none may be left out."""
    forward: Any = op.forward
    code = getattr(forward, "__code__", None)
    if not op.parameters:
        return ""
    if (
        code is None
        or code.co_argcount + code.co_kwonlyargcount != len(op.inputs) + len(op.parameters)
        or code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
        or forward.__defaults__
        or forward.__kwdefaults__
    ):
        return "**parameters"
    return ", ".join([f"{name}=parameters[{name!r}]" for name in op.parameters])


def _apply(op: Op, in_rule: bool = False) -> Body:
    """`op.apply(inputs, parameters, compute)`."""
    body = Body(op, in_rule=in_rule)
    body.add(_MODES.format(special="apply_special(op, inputs, parameters, compute)"))
    body.add("exactly = compute is None  # nothing is cast before or after")
    body.unpack()
    body.add("if exactly:")
    body.depth += 1
    body.run(_given(op), _IN_USE)
    body.lay_out()
    body.depth -= 1
    body.add("else:", f"data = run_forward(op, [{body.arrays}], parameters, compute, quietly)")
    body.results()
    return body


def _apply_view(op: Op, in_rule: bool = False) -> Body:
    """The same for a view, which computes nothing; `data` is what it shows, if the caller knows."""
    body = Body(op, in_rule=in_rule)
    body.add(_MODES.format(special="apply_special(op, inputs, parameters, None)"))
    body.add("(x0,) = inputs\na0 = x0._data")
    body.add("if data is None:", f"data = op.forward(a0, {_given(op)})")
    body.add(
        "if type(x0._version_box) is not list:  # nothing keeps track of inference tensors",
        "return tied(op, inputs, parameters, data, None)",
    )
    body.add(NEW + _VIEW)
    if op.vjp is not None:
        body.find_edges("return out")
        body.node()
        body.add("out._node = node")
    body.add("return out")
    return body


def _transposed(op: Op) -> Body:
    """A product of matrices of one float dtype of which the second is used transposed, or such a product
    added to a row or matrix; None where something has to be checked, expanded or cast.

    `turned`, the record of that view, has its node, but no tensor is made for it. `rows` and `columns` are
    the parameters for a second matrix, once transposed, that lies in memory so.
    """
    body = Body(op, turned=True)
    added, (x, y), (a, b) = body.xs[:-2], body.xs[-2:], body.all_a[-2:]
    body.add(_MODES.format(special="None") + _MATRICES.format(x=x, y=y, a=a, b=b))
    if added:
        body.add(_ADDED)
    body.add(f"{b} = {b}.T\nparameters = columns if steps[1] < steps[0] else rows")
    body.add("if half:  # for a kernel that takes it as it is", _HALF.format(arrays=body.arrays))
    body.add("else:")
    body.depth += 1
    body.run(", ".join([f"parameters[{name!r}]" for name in op.parameters]), _IN_USE)
    body.depth -= 1
    body.lay_out()
    body.results()
    return body


def _record(op: Op) -> Body:
    """`record(inputs, edges, parameters, data)`: only the node, of what ran elsewhere."""
    body = Body(op)
    if op.variadic:
        body.add("arrays = [x._data for x in inputs]")
    else:
        body.add(f"{as_tuple(body.xs)} = inputs\n{as_tuple(body.all_e)} = edges")
        for x, a in zip(body.xs, body.all_a, strict=True):
            body.add(f"{a} = {x}._data if isinstance({x}, Tensor) else {x}")
    body.node()
    body.add("return node")
    return body


def _operator(op: Op, in_rule: bool = False) -> Body:
    """`x * y` of tensors of one dtype, or of a float tensor and a number; `slow` does all else."""
    body = Body(op, ("self", "other"), in_rule=in_rule)
    body.add(_MODES.format(special="slow(self, other)") + _OPERAND + _SECOND)
    return _operated(body, "")


def _power(op: Op) -> Body:
    """`x ** 2` of a float tensor and a number, which is the record's parameter."""
    body = Body(op, ("self",))
    body.add(_MODES.format(special="slow(self, other)") + _OPERAND + _NUMBER)
    body.add(f"parameters = {{{op.parameters[0]!r}: other}}")
    return _operated(body, f"{op.parameters[0]}=other")


def _operated(body: Body, given: str) -> Body:
    # What is wrong (the shapes) the long way will say.
    body.run(
        given, "except (ValueError, OverflowError, RuntimeError):\n    return slow(self, other)"
    )
    body.lay_out()
    body.lines.insert(0, "    global caller")
    body.results(operator=True)
    return body


def _update(op: Op) -> Body:
    """`x += y` where nothing is recorded, as in an optimizer: the ufunc writes into x at once. Says
    whether it has."""
    body = Body(op, ("self", "other"))
    body.add(_WRITTEN.format(integer=_INTEGER) + _CHANGED)
    return body


_APPLIED = "inputs, parameters=NO_PARAMETERS, compute=None"
_SHOWN = "inputs, parameters=NO_PARAMETERS, data=None"
FUNCTIONS: dict[str, tuple[str, Callable[[Op], Body]]] = {
    "apply": (_APPLIED, _apply),
    "transposed": ("{inputs}", _transposed),
    "view": (_SHOWN, _apply_view),
    "record": ("inputs, edges, parameters, data", _record),
    "operator": ("self, other", _operator),
    "operator_in_rule": ("self, other", partial(_operator, in_rule=True)),
    "apply_in_rule": (_APPLIED, partial(_apply, in_rule=True)),
    "view_in_rule": (_SHOWN, partial(_apply_view, in_rule=True)),
    "power": ("self, other", _power),
    "update": ("self, other", _update),
}


def text_of(op: Op, function: str) -> str:
    """The text of one of these functions for a record."""
    if function.startswith("apply") and op.is_view and op.outputs == 1:
        function = function.replace("apply", "view")
    parameters, body = FUNCTIONS[function]
    parameters = parameters.format(inputs=", ".join(Body(op).xs))
    return "\n".join([f"def recorder({parameters}):", *body(op).lines, ""])


def counting(text: str) -> str:
    """The same, for a function that counts its calls."""
    head, _, body = text.partition("\n")
    return f"{head}\n    counted(function)\n{body}"
