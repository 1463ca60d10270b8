"""Running a graph once, and noting at each node what tensors it gave: shapes, dtypes, memory formats."""

from __future__ import annotations

from typing import Any, NamedTuple

from ..._arrays.formats import channels_last, channels_last_3d, contiguous_format
from ..._tensor.tensor import Tensor
from ..interpreter import Interpreter
from ..node import Node, map_aggregate

__all__ = ["ShapeProp", "TensorMetadata"]


class TensorMetadata(NamedTuple):
    """What a tensor is like, without its values."""

    shape: Any
    dtype: Any
    requires_grad: bool
    stride: tuple[int, ...]
    memory_format: Any
    is_quantized: bool
    qparams: dict[str, Any]


def _extract_tensor_metadata(result: Tensor, include_contiguity: bool = True) -> TensorMetadata:
    """The metadata of a tensor."""
    sparse = result.is_sparse or "sparse" in str(result.layout)
    found = None
    if include_contiguity and not sparse:
        found = _format_of(result)
    stride = () if sparse else result.stride()
    return TensorMetadata(
        result.shape, result.dtype, result.requires_grad, stride, found, False, {}
    )


def _format_of(tensor: Tensor) -> Any:
    ranks = {channels_last: 4, channels_last_3d: 5}
    for each in (contiguous_format, channels_last, channels_last_3d):
        if ranks.get(each, tensor.dim()) == tensor.dim() and tensor.is_contiguous(
            memory_format=each
        ):
            return each
    return None


class ShapeProp(Interpreter):
    """Runs a graph; each node gets `meta["tensor_meta"]` and `meta["type"]`."""

    def __init__(self, gm: Any, fake_mode: Any = None) -> None:
        super().__init__(gm)
        self.fake_mode = fake_mode
        self.real_module = self.module

    def run_node(self, n: Node) -> Any:
        try:
            if self.fake_mode is None:
                result = super().run_node(n)
            else:
                with self.fake_mode:
                    result = super().run_node(n)
        except Exception as error:
            raise RuntimeError(
                f"ShapeProp error for: node={n.format_node()} with meta={n.meta}"
            ) from error
        found = False

        def noted(value: Any) -> Any:
            nonlocal found
            if isinstance(value, Tensor):
                found = True
                return _extract_tensor_metadata(value)
            return value

        meta = map_aggregate(result, noted)
        if found:
            n.meta["tensor_meta"] = meta
        n.meta["type"] = type(result)
        return result

    def propagate(self, *args: Any) -> Any:
        """Run the graph on these inputs, and note what it gives."""
        if self.fake_mode is not None:
            args = tuple(
                self.fake_mode.from_tensor(a) if isinstance(a, Tensor) else a for a in args
            )
        return super().run(*args)
