"""`DeviceMesh`: the ranks as an array of several dimensions, with a group along each of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import tautograd as torch

from ._groups import get_rank, get_world_size, group, init_process_group, is_initialized, new_group

__all__ = ["DeviceMesh", "init_device_mesh"]


class DeviceMesh:
    """Ranks in an array. Along each dimension there are groups of ranks that differ only in it."""

    def __init__(
        self,
        device_type: str,
        mesh: Any,
        *,
        mesh_dim_names: Sequence[str] | None = None,
        backend_override: Any = None,
        _init_backend: bool = True,
    ) -> None:
        self.device_type = device_type
        self._array = np.asarray(mesh.tolist() if hasattr(mesh, "tolist") else mesh, np.int64)
        self.mesh_dim_names = None if mesh_dim_names is None else tuple(mesh_dim_names)
        self._groups: list[Any] = []
        self._root = self
        # The stride between consecutive ranks along a dimension, if they were numbered row-major.
        shape = self._array.shape
        self._strides: tuple[Any, ...] = tuple(
            int(np.prod(shape[i + 1 :])) if shape[i] > 1 else () for i in range(len(shape))
        )
        self._flattened: dict[str, DeviceMesh] = {}
        if not is_initialized():
            init_process_group()
        if len(np.unique(self._array)) != self._array.size:
            raise RuntimeError(f"DeviceMesh cannot have a rank twice: {self._array.tolist()}")
        if self._array.size > get_world_size():
            raise RuntimeError(
                f"Mesh should not be bigger than default world size {get_world_size()}, but found "
                f"{self._array.size} ranks!"
            )
        if _init_backend:
            self._make_groups()

    def _make_groups(self) -> None:
        for dim in range(self._array.ndim):
            rows = np.moveaxis(self._array, dim, -1).reshape(-1, self._array.shape[dim])
            mine = None
            for row in rows.tolist():
                whole = len(row) == get_world_size() and row == sorted(row)
                made = group.WORLD if whole else new_group(row, sort_ranks=False)
                if get_rank() in row:
                    mine = made
            self._groups.append(mine)

    @property
    def mesh(self) -> Any:
        """The ranks, as a tensor."""
        return torch.tensor(self._array.tolist(), dtype=torch.int32)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._array.ndim

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of ranks along each dimension."""
        return tuple(self._array.shape)

    def size(self, mesh_dim: int | None = None) -> int:
        """The number of ranks, in all or along a dimension."""
        return int(self._array.size if mesh_dim is None else self._array.shape[mesh_dim])

    def _dim(self, named: int | str | None) -> int:
        if named is None:
            if self.ndim != 1:
                raise RuntimeError(
                    f"Found the DeviceMesh have {self.ndim} dimensions Optional kwarg `mesh_dim` needs to "
                    "be specified when device_mesh.ndim > 1."
                )
            return 0
        if isinstance(named, str):
            if self.mesh_dim_names is None or named not in self.mesh_dim_names:
                raise KeyError(
                    f"Invalid mesh_dim_name '{named}' specified. Valid: {self.mesh_dim_names}."
                )
            return self.mesh_dim_names.index(named)
        return named

    def get_group(self, mesh_dim: int | str | None = None) -> Any:
        """This process's group along a dimension."""
        return self._groups[self._dim(mesh_dim)]

    def get_all_groups(self) -> list[Any]:
        """This process's groups, by dimension."""
        return list(self._groups)

    def get_rank(self) -> int:
        """The global rank of this process."""
        return get_rank()

    def get_local_rank(self, mesh_dim: int | str | None = None) -> int:
        """The index of this process along a dimension."""
        place = self.get_coordinate()
        if place is None:
            raise RuntimeError(f"rank {get_rank()} is not in the mesh {self._array.tolist()}")
        return place[self._dim(mesh_dim)]

    def get_coordinate(self) -> list[int] | None:
        """The index of this process along every dimension; None if it is not in the mesh."""
        found = np.argwhere(self._array == get_rank())
        return None if not len(found) else [int(i) for i in found[0]]

    def __getitem__(self, names: str | tuple[str, ...]) -> DeviceMesh:
        """The submesh along some dimensions that contains this process."""
        chosen = (names,) if isinstance(names, str) else tuple(names)
        dims = [self._dim(name) for name in chosen]
        place = self.get_coordinate()
        if place is None:
            raise RuntimeError(f"rank {get_rank()} is not in the mesh {self._array.tolist()}")
        index = tuple(slice(None) if dim in dims else place[dim] for dim in range(self.ndim))
        kept = sorted(dims)
        part = np.moveaxis(self._array[index], [kept.index(dim) for dim in dims], range(len(dims)))
        made = DeviceMesh(self.device_type, part, mesh_dim_names=chosen, _init_backend=False)
        made._groups, made._root = [self._groups[dim] for dim in dims], self._root
        made._strides = tuple(self._strides[dim] for dim in dims)
        return made

    def __enter__(self) -> DeviceMesh:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DeviceMesh) and (
            (self.device_type, self.mesh_dim_names, self._array.tolist())
            == (other.device_type, other.mesh_dim_names, other._array.tolist())
        )

    def __hash__(self) -> int:
        return hash((self.device_type, self.mesh_dim_names, self._array.tobytes()))

    def __repr__(self) -> str:
        if self.mesh_dim_names:
            named = zip(self.mesh_dim_names, self.shape, strict=True)
            sizes = f"({', '.join(f'{name}={size}' for name, size in named)})"
        else:
            sizes = str(self.shape)
        return f"DeviceMesh({sizes}, '{self.device_type}', stride={self._strides})"


def init_device_mesh(
    device_type: str,
    mesh_shape: tuple[int, ...],
    *,
    mesh_dim_names: tuple[str, ...] | None = None,
    backend_override: Any = None,
) -> DeviceMesh:
    """All ranks in an array of this shape, in row-major order."""
    if mesh_dim_names is not None:
        if len(set(mesh_dim_names)) != len(mesh_dim_names):
            raise RuntimeError(
                f"Each mesh_dim_name must be unique. Found repeated mesh_dim_name in mesh_dim_names {mesh_dim_names}"
            )
        if len(mesh_dim_names) != len(mesh_shape):
            raise RuntimeError(
                "mesh_shape and mesh_dim_names should have same length! Found len(mesh_dim_names): "
                f"{len(mesh_dim_names)} and len(mesh_shape):{len(mesh_shape)}"
            )
    if device_type and not device_type.isalpha():
        raise RuntimeError(
            f"Device type with index is not supported but got {device_type}. If you maintained a "
            "'torch.device' object, it's recommended to pass in 'device.type'."
        )
    ranks = np.arange(int(np.prod(mesh_shape))).reshape(mesh_shape)
    return DeviceMesh(device_type, ranks, mesh_dim_names=mesh_dim_names)
