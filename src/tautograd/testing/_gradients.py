"""`assert_gradients`: a test fails if a gradient is wrong, and says where."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .._verify.report.report import Report


def assert_gradients(fn: Callable[..., Any], inputs: Any = (), **options: Any) -> Report:
    """Raise an `AssertionError` with the whole report unless the gradient of `fn` is correct.

    `fn` is a function or a module, of tautograd or of PyTorch, and `inputs` its arguments: a tensor,
    a tuple, or a dictionary of keyword arguments. The options are those of `tautograd.verify`; the
    report is returned.
    """
    __tracebackhide__ = True  # pytest then shows the line of the test
    from .._verify.verify import verify

    report = verify(fn, inputs, **options)
    if not report.ok:
        raise AssertionError(str(report))
    return report
