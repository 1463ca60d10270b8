"""The hot operators, each given its short way (`_ops/declare/fast.py`) over the general one."""

from __future__ import annotations

from typing import Any

from ..._tensor.tensor import Tensor
from .. import families as _families  # noqa: F401  (every other method is there first)
from ..elementwise.arithmetic import add_op, mul_op, sub_op
from ..elementwise.division import div_op
from .elementwise_calls import updating
from .fast import FLOATS, NUMBERS, fast_operator, fast_power, fast_update
from .guarding import guarded
from .public import METHODS, attach

# Complex sums are products with alpha as well, see `arithmetic`.
_REAL = NUMBERS - FLOATS | frozenset("fd")
_cls: Any = Tensor
_cls.__add__ = _cls.__radd__ = fast_operator(add_op, Tensor.__add__, _REAL)
_cls.__mul__ = _cls.__rmul__ = fast_operator(mul_op, Tensor.__mul__, NUMBERS)
_cls.__sub__ = fast_operator(sub_op, Tensor.__sub__, _REAL)
_cls.__truediv__ = fast_operator(div_op, Tensor.__truediv__, FLOATS)
_cls.__pow__ = fast_power(Tensor.__pow__)
for _op, _operator in ((add_op, "add"), (sub_op, "sub"), (mul_op, "mul"), (div_op, "truediv")):
    _update = fast_update(_op, METHODS[_op.name + "_"])
    attach(_op.name + "_", _update)
    setattr(_cls, f"__i{_operator}__", updating(_update))

# Methods that other packages have put there, and those by which Python asks for a number or an element.
_ASKED = ("bool", "complex", "float", "getitem", "index", "int", "invert", "len", "repr", "setitem")
for _name, _method in list(vars(Tensor).items()):
    if (not _name.startswith("_") and _name != "backward") or _name[2:-2] in _ASKED:
        setattr(_cls, _name, guarded(_method, _name, method=True))
