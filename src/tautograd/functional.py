"""Functions of several tensors: all of them are `torch`'s own, under a second name."""

from typing import Any

_NAMES = (
    "atleast_1d atleast_2d atleast_3d block_diag broadcast_shapes broadcast_tensors cartesian_prod cdist "
    "chain_matmul einsum istft meshgrid norm split stft tensordot unique unique_consecutive "
    "lu pca_lowrank svd_lowrank unravel_index"
)
__all__ = _NAMES.split()  # noqa: PLE0605


def __getattr__(name: str) -> Any:
    import tautograd

    if not name.startswith("_") and hasattr(tautograd, name):
        return getattr(tautograd, name)
    from ._nearest import no_attribute

    raise no_attribute(__name__, name, __all__)
