"""`torch.cuda.FloatTensor` and its kind: old constructors, which also serve as questions about a tensor."""

from __future__ import annotations

from typing import Any

from .._arrays.devices import cuda_backend
from .._arrays.dtypes import ALL_DTYPES, LEGACY_NAMES
from .._tensor.creation import legacy_tensor
from .._tensor.tensor import Tensor


class _OldType(type):
    """The type of these names: calling one makes a tensor on the GPU."""

    dtype: Any
    is_cuda = True

    def __call__(cls, *args: Any, **options: Any) -> Tensor:
        if cuda_backend() is None:
            raise TypeError(
                f"type torch.cuda.{cls.__name__} not available. Torch not compiled with CUDA enabled."
            )
        made: Tensor = legacy_tensor(Tensor, *args, kind=cls.dtype, **options)
        return made.to("cuda")

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, Tensor) and instance.is_cuda and instance.dtype is cls.dtype

    def __repr__(cls) -> str:
        return f"<class 'torch.cuda.{cls.__name__}'>"


TENSOR_TYPES: dict[str, Any] = {
    f"{name}Tensor": _OldType(f"{name}Tensor", (), {"dtype": kind, "__module__": "torch.cuda"})
    for kind, name in LEGACY_NAMES.items()
    if kind in ALL_DTYPES and not kind.is_complex
}
