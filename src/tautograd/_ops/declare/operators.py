"""The operators people type, each with a short way over the general one.

Two tensors of one dtype (or a float tensor and a Python number) need no promotion, so `x * y` is the
record's own function (`_autograd/recorder.py`), with a question about the operands before it.
Everything else takes the general way, `slow`, which gives the same result; so does any thread in a
special mode. The tests run every operator both ways.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arrays.once import collector_waits
from ..._autograd.lifted import DIRECT
from ..._tensor.tensor import Tensor
from .guarding import guarded
from .record import Op
from .subclasses import GENERAL

with collector_waits():
    from .. import families as _families  # noqa: F401  (every other method is there first)
    from ..elementwise.arithmetic import add_op, mul_op, sub_op
    from ..elementwise.division import div_op
    from ..elementwise.powers import pow_scalar_op

_FLOATS, _REAL = "fdFD", "fdbhilqB"
_cls: Any = Tensor


def _operator(
    op: Op, name: str, kind: str = "operator", direct: str = "", ufunc: Any = None
) -> Any:
    """A method of two operands; `direct` are the dtype codes on which the ufunc needs no cast. Rules call the
    ufunc, and get the same."""
    slow = getattr(Tensor, name)
    method = op.function(kind, slow=slow, direct=frozenset(direct))
    method.__name__, method.__qualname__ = slow.__name__, slow.__name__
    method.__doc__ = slow.__doc__
    setattr(_cls, name, method)
    GENERAL[name] = slow
    if ufunc is not None:
        DIRECT[ufunc] = op.function("operator_in_rule", slow=slow, direct=frozenset(direct))
    return method


# Complex sums are products with alpha as well, see `arithmetic`.
_cls.__radd__ = _operator(add_op, "__add__", direct=_REAL, ufunc=np.add)
_cls.__rmul__ = _operator(mul_op, "__mul__", direct=_REAL + _FLOATS, ufunc=np.multiply)
_operator(sub_op, "__sub__", direct=_REAL, ufunc=np.subtract)
_operator(div_op, "__truediv__", direct=_FLOATS, ufunc=np.true_divide)
_operator(pow_scalar_op, "__pow__", "power")

# Methods that other packages have put there, and those by which Python asks for a number or an element.
_ASKED = ("bool", "complex", "float", "getitem", "index", "int", "invert", "len", "repr", "setitem")
for _name, _method in list(vars(Tensor).items()):
    if (not _name.startswith("_") and _name != "backward") or _name[2:-2] in _ASKED:
        setattr(_cls, _name, guarded(_method, _name, method=True))
