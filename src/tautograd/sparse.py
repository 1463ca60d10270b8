"""`torch.sparse`: functions of sparse tensors, and the old constructors (`sparse.FloatTensor`)."""

from __future__ import annotations

from typing import Any

from ._arrays.dtypes import ALL_DTYPES, LEGACY_NAMES
from ._arrays.sparse.coo import CooArray
from ._lazy import named_later as _named_later
from ._ops.declare.python_surface import speak
from ._ops.sparse.creation import sparse_coo_tensor
from ._ops.sparse.products import addmm, log_softmax, mm, softmax, sum
from ._tensor.tensor import Tensor

__all__ = [
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "softmax",
    "sum",
]


class check_sparse_tensor_invariants:  # noqa: N801 - PyTorch's name
    """Whether sparse tensors are checked when they are made: here they always are."""

    _asked = False

    def __init__(self, enable: bool = True) -> None:
        self.state = enable
        self.before: list[bool] = []

    @staticmethod
    def is_enabled() -> bool:
        """Whether the checks were asked for."""
        return check_sparse_tensor_invariants._asked

    @staticmethod
    def enable() -> None:
        """Ask for the checks, which are made in any case."""
        check_sparse_tensor_invariants._asked = True

    @staticmethod
    def disable() -> None:
        """Do not ask for the checks, which are made in any case."""
        check_sparse_tensor_invariants._asked = False

    def __enter__(self) -> None:
        self.before.append(self.is_enabled())
        check_sparse_tensor_invariants._asked = self.state

    def __exit__(self, *exception: object) -> None:
        check_sparse_tensor_invariants._asked = self.before.pop()

    def __call__(self, mth: Any) -> Any:
        import functools

        @functools.wraps(mth)
        def checked(*args: Any, **kwargs: Any) -> Any:
            with type(self)(self.state):
                return mth(*args, **kwargs)

        return checked


def as_sparse_gradcheck(gradcheck: Any) -> Any:
    """`gradcheck` for functions of sparse inputs: the elements that are held are the variables."""
    import functools

    @functools.wraps(gradcheck)
    def checked(func: Any, inputs: Any, **options: Any) -> Any:
        given = (inputs,) if isinstance(inputs, Tensor) else tuple(inputs)
        parts: list[Any] = []
        for x in given:
            if isinstance(x, Tensor) and isinstance(x._data, CooArray) and x.requires_grad:
                held: Any = x.detach().coalesce()
                parts.append(held.values().detach().requires_grad_(True))
            else:
                parts.append(x)

        def of_values(*args: Any) -> Any:
            rebuilt: list[Any] = []
            for x, value in zip(given, args, strict=True):
                if isinstance(x, Tensor) and isinstance(x._data, CooArray) and x.requires_grad:
                    places: Any = x.detach().coalesce()
                    value = sparse_coo_tensor(places.indices(), value, x.shape, is_coalesced=True)
                rebuilt.append(value)
            out = func(*rebuilt)
            outs = out if isinstance(out, tuple) else (out,)
            return tuple(o.to_dense() if isinstance(o, Tensor) else o for o in outs)

        return gradcheck(of_values, tuple(parts), **options)

    return checked


speak(globals(), __all__)


class _LegacyType(type):
    """The type of `sparse.FloatTensor` and its kind: a constructor, and a question about tensors."""

    dtype: Any

    def __call__(cls, *args: Any, **options: Any) -> Tensor:
        if not args:
            return sparse_coo_tensor((0,), dtype=cls.dtype)
        if all(isinstance(a, int) for a in args):
            return sparse_coo_tensor(args, dtype=cls.dtype)
        if len(args) == 1 and not isinstance(args[0], Tensor):
            return sparse_coo_tensor(tuple(args[0]), dtype=cls.dtype)
        return sparse_coo_tensor(*args, dtype=cls.dtype, **options)

    def __instancecheck__(cls, instance: object) -> bool:
        return (
            isinstance(instance, Tensor)
            and isinstance(instance._data, CooArray)
            and instance.dtype is cls.dtype
        )

    def __repr__(cls) -> str:
        return f"<class 'torch.sparse.{cls.__name__}'>"


for _kind, _name in LEGACY_NAMES.items():
    if _kind in ALL_DTYPES and not _kind.is_complex:
        globals()[f"{_name}Tensor"] = _LegacyType(
            f"{_name}Tensor", (), {"dtype": _kind, "__module__": "torch.sparse"}
        )

__getattr__, __dir__ = _named_later(__name__)
