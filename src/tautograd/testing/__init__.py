"""Test helpers: closeness of results, correctness of gradients, and tensors of random values."""

from typing import TYPE_CHECKING

from .._lazy import named_later as _named_later
from .._ops.declare.python_surface import speak
from ._close import assert_allclose, assert_close
from ._file_check import FileCheck
from ._gradients import assert_gradients
from ._made import make_tensor

__all__ = ["FileCheck", "assert_allclose", "assert_close", "assert_gradients", "make_tensor"]

speak(globals(), ("assert_allclose", "assert_close", "make_tensor"))

if not TYPE_CHECKING:  # type checkers know what there is
    __getattr__, __dir__ = _named_later(__name__)
