"""Arrays distributed over the ranks of a mesh: how a `DTensor` works without a rule per operation.

Operations are written with NumPy functions, so an array type that implements NumPy's dispatch protocols can stand
for a whole array that no rank holds: a `DistributedArray` has the shape of the whole and computes with this rank's
part. Each kind of function has a rule for how its result is placed (`_rules`); a function without a rule is
computed by every rank from all of its arguments, so that every function works. Gradients need nothing extra:
the rules of operations are NumPy functions, too.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np

from ..._arrays.attributes import attribute_of
from ..._arrays.cuda.methods import Methods
from ..._arrays.strided import address, contiguous_strides
from .placement_types import REPLICATE, Partial, Placement, Shard, chunk_bounds


class DistributedArray(Methods):
    """This rank's part of an array, with the shape of the whole."""

    __slots__ = ("local", "mesh", "placements", "shape")

    is_distributed_array = True
    is_on_cpu = True
    base = None

    def __init__(
        self, local: Any, mesh: Any, placements: tuple[Placement, ...], shape: tuple[int, ...]
    ) -> None:
        self.local = local
        self.mesh = mesh
        self.placements = placements
        self.shape = tuple(shape)

    dtype = attribute_of("local.dtype")

    @property
    def address(self) -> int:
        """The address of this rank's part."""
        return address(self.local)

    @property
    def nbytes(self) -> int:
        """The size of this rank's part."""
        return int(self.local.nbytes)

    @property
    def strides(self) -> tuple[int, ...]:
        return tuple(n * self.itemsize for n in contiguous_strides(self.shape))

    @property
    def flags(self) -> Any:
        writeable = self.local.flags.writeable
        return SimpleNamespace(
            c_contiguous=True, f_contiguous=False, forc=True, writeable=writeable
        )

    @property
    def T(self) -> Any:
        return np.transpose(self)

    def like(self, local: Any, shape: tuple[int, ...] | None = None) -> DistributedArray:
        """Other elements with the same placements."""
        return DistributedArray(
            local, self.mesh, self.placements, self.shape if shape is None else shape
        )

    # --- functions -------------------------------------------------------------------------------------

    def __array_ufunc__(self, ufunc: Any, method: str, *args: Any, **kwargs: Any) -> Any:
        from ._rules import of_ufunc

        if any(_answers_first(value) for value in args):
            return NotImplemented
        return of_ufunc(ufunc, method, args, kwargs)

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        from ._rules import of_function

        return of_function(function, args, kwargs, self.mesh)

    def __getitem__(self, index: Any) -> Any:
        from ._rules import item

        return item(self, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        from ._rules import set_item

        set_item(self, index, value)

    def astype(self, dtype: Any, order: str = "K", copy: bool = True, **_: Any) -> Any:
        if np.dtype(dtype).kind in "iub" and any(isinstance(p, Partial) for p in self.placements):
            # Casting the terms of a sum to integers does not give the terms of the cast sum.
            from ._redistribute import redistributed

            kept = tuple(REPLICATE if isinstance(p, Partial) else p for p in self.placements)
            return redistributed(self, kept).astype(dtype, copy=copy)
        return self.like(self.local.astype(dtype, copy=copy))

    def reshape(self, *shape: Any, **_: Any) -> Any:
        return np.reshape(self, shape[0] if len(shape) == 1 else shape)

    def view(self, dtype: Any) -> Any:
        if np.dtype(dtype).itemsize != self.itemsize:
            raise RuntimeError("a DTensor cannot be seen as a dtype of another size")
        return self.like(self.local.view(dtype))

    def can_be_gradient_of(self, leaf: Any) -> bool:
        """Whether it can be the leaf's gradient without a copy: nobody else holds it."""
        return True

    # --- elements: each of these is a collective -------------------------------------------------------

    def host(self) -> Any:
        """All elements, on every rank."""
        from ._redistribute import whole

        return whole(self)

    def copied_everywhere(self) -> DistributedArray:
        """A copy that each rank has all of, so that every view of it can be written."""
        everywhere = (REPLICATE,) * self.mesh.ndim
        return DistributedArray(
            np.array(self.host(), order="C", copy=True), self.mesh, everywhere, self.shape
        )

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(
            "a DTensor cannot be converted to a NumPy array: no rank has all of it. Use "
            ".full_tensor() or .to_local() first"
        )

    def __repr__(self) -> str:
        return f"DistributedArray({self.local!r}, placements={self.placements}, shape={self.shape})"

    __hash__ = None


def _answers_first(value: Any) -> bool:
    """Whether another of the engine's array types (a batch, a lifted tensor) takes precedence."""
    return hasattr(value, "__array_ufunc__") and not isinstance(
        value, (DistributedArray, np.ndarray, np.generic)
    )


def local_bounds(
    shape: tuple[int, ...], mesh: Any, placements: tuple[Placement, ...]
) -> list[tuple[int, int]]:
    """Where this rank's part begins and ends along each dimension of the whole."""
    bounds = [(0, extent) for extent in shape]
    place = mesh.get_coordinate()
    for i, placement in enumerate(placements):
        if isinstance(placement, Shard):
            start, end = bounds[placement.dim]
            low, high = chunk_bounds(end - start, mesh.size(i), place[i])
            bounds[placement.dim] = (start + low, start + high)
    return bounds


def local_part(array: Any, mesh: Any, placements: tuple[Placement, ...]) -> Any:
    """This rank's part of an array that every rank has."""
    bounds = local_bounds(array.shape, mesh, placements)
    return array[tuple(slice(low, high) for low, high in bounds)]
