"""`interpolate`: images resized by nearest elements, by (bi-, tri-)linear or cubic interpolation, by area."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from ..._arrays.formats import channels_last_3d
from ..._arrays.result_layout import as_channels
from ..._autograd.apply import apply
from ..._autograd.modes import modes
from ..._tensor.tensor import Tensor
from ..._user_code.sites import warning_level
from ..declare.elementwise_calls import refuse, require_tensor
from ..declare.public import NN_FUNCTIONAL, public
from ..declare.record import LINEAR, Op
from ..declare.samples import Sample, T
from ..declare.undefined_dtypes import Refusals, no_kernel
from ..shape.rearranging import suggested_format
from .convolution.windows import Ints
from .line_maps import Maps, apply_maps, line_maps_op, transposed
from .pooling.adaptive import adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d
from .resize_maps import resize_map, scaled


def _resized(x: Any, maps: Maps) -> Any:
    if x.dtype.kind not in "iu":
        return apply_maps(x, maps)
    out = x
    for i in range(len(maps) - 1, -1, -1):  # bytes are rounded after each dimension
        alone = tuple([line if i == d else None for d, line in enumerate(maps)])
        line = maps[i]
        if line is None or line.weights is None:
            out = apply_maps(out, alone)
        else:
            exact = apply_maps(np.astype(out, np.float64), alone)
            out = np.astype(np.clip(np.floor(exact + 0.5), 0, 255), x.dtype)
    return out


def _record(
    name: str, node: str, mode: str, rank: int, kernel: str, groups: str, **more: Any
) -> Op:
    return Op(
        name,
        _resized,
        ("x",),
        layout=as_channels,
        node=node,
        vjp={"x": lambda g, maps: line_maps_op(g, maps=transposed(maps))},
        jvp=LINEAR,
        public="nn.functional.interpolate",
        refuses=_refused(kernel, groups),
        samples=lambda: _samples(mode, rank, **more),
    )


def _refused(kernel: str, groups: str) -> Refusals:
    """A "u" among the groups: of integers, bytes are taken."""
    found = no_kernel(kernel, groups.replace("u", ""))
    if "u" in groups:
        del found[np.dtype(np.uint8)]
    return found


def _samples(mode: str, rank: int, **more: Any) -> list[Sample]:
    shape = (2, 2, 3, 4, 3) if rank == 3 else (2, 2, 5, 4)[: 2 + rank]
    made = [
        Sample(T(*shape), (7, 3, 5)[:rank], mode=mode, **more),
        Sample(T(*shape), scale_factor=2.0, mode=mode, **more),
        Sample(T(*shape), scale_factor=(0.7, 1.6, 1.4)[:rank], mode=mode, **more),
        Sample(T(*shape), scale_factor=1.7, mode=mode, recompute_scale_factor=True, **more),
        # Sizes that stay, or double, although the scale factor is another number.
        Sample(T(*shape), scale_factor=1.15, mode=mode, **more),
        Sample(T(*shape), scale_factor=2.2, mode=mode, **more),
        Sample(T(*shape), scale_factor=(1.0, 0.45, 3.3)[:rank], mode=mode, **more),
        Sample(T(0, *shape[1:]), 2, mode=mode, **more),
    ]
    if "linear" in mode or mode == "bicubic":
        sizes = (7, 2, 1) if more else (7, 1, 5)
        made.append(Sample(T(*shape), sizes[:rank], mode=mode, align_corners=True, **more))
    return made


_LINEAR_NAMES = {1: "linear", 2: "bilinear", 3: "trilinear"}
RESIZES: dict[tuple[str, int, bool], Op] = {}
for _rank in (1, 2, 3):
    _kernel = (
        "upsample_nearest2d_channels_last" if _rank == 2 else "compute_indices_weights_nearest"
    )
    RESIZES["nearest", _rank, False] = _record(
        f"upsample_nearest{_rank}d", f"UpsampleNearest{_rank}DBackward0", "nearest", _rank,
        _kernel, "bicu",
    )  # fmt: skip
    RESIZES["nearest-exact", _rank, False] = _record(
        f"upsample_nearest_exact{_rank}d", f"UpsampleNearestExact{_rank}DBackward0",
        "nearest-exact", _rank, _kernel, "bicu",
    )  # fmt: skip
    _mode = _LINEAR_NAMES[_rank]
    _kernel = (
        "upsample_bilinear2d_channels_last" if _rank == 2 else "compute_indices_weights_linear"
    )
    RESIZES[_mode, _rank, False] = _record(
        f"upsample_{_mode}{_rank}d", f"Upsample{_mode.capitalize()}{_rank}DBackward0", _mode, _rank,
        _kernel, "bicu" if _rank == 2 else "bic",
    )  # fmt: skip
RESIZES["bicubic", 2, False] = _record(
    "upsample_bicubic2d", "UpsampleBicubic2DBackward0", "bicubic", 2,
    "compute_indices_weights_cubic", "bicu",
)  # fmt: skip
for _mode in ("bilinear", "bicubic", "lanczos"):
    RESIZES[_mode, 2, True] = _record(
        f"upsample_{_mode}2d_aa", f"Upsample{_mode.capitalize()}2DAaBackward0", _mode, 2,
        "compute_index_ranges_weights", "bihcu", antialias=True,
    )  # fmt: skip

_MODES = "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact"
_RANKS = {"linear": 3, "bilinear": 4, "trilinear": 5}


def _sizes(
    input: Any, size: Any, scale_factor: Any, rank: int
) -> tuple[Ints | None, tuple[float, ...] | None]:
    """The output size, or the scale factors: whichever was given, one for each dimension."""
    spatial = list(input._data.shape[2:])
    if size is not None and scale_factor is not None:
        raise ValueError("only one of size or scale_factor should be defined")
    if size is not None:
        if isinstance(size, (list, tuple)):
            if len(size) != rank:
                raise ValueError(
                    "Input and output must have the same number of spatial dimensions, but got "
                    f"input with spatial dimensions of {spatial} and output size of {size}. "
                    "Please provide input tensor in (N, C, d1, d2, ...,dK) format and output size "
                    "in (o1, o2, ...,oK) format."
                )
            wanted = tuple(size)
        else:
            wanted = (size,) * rank
        if not all(isinstance(n, (int, np.integer)) for n in wanted):
            raise TypeError(
                "expected size to be one of int or Tuple[int] or Tuple[int, int] or Tuple[int, "
                f"int, int], but got size with types {[type(x) for x in wanted]}"
            )
        return wanted, None
    if scale_factor is None:
        raise ValueError("either size or scale_factor should be defined")
    if isinstance(scale_factor, (list, tuple)):
        if len(scale_factor) != rank:
            raise ValueError(
                "Input and scale_factor must have the same number of spatial dimensions, but got "
                f"input with spatial dimensions of {spatial} and scale_factor of shape "
                f"{scale_factor}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
                "scale_factor in (s1, s2, ...,sK) format."
            )
        return None, tuple([float(s) for s in scale_factor])
    return None, (float(scale_factor),) * rank


def _check_sizes(size: Ints, count: Ints) -> None:
    if min(size) > 0 and min(count) > 0:
        return
    names = ("D", "H", "W")[-len(size) :]

    def shown(sizes: Ints) -> str:
        return ", ".join(f"{a}: {n}" for a, n in zip(names, sizes, strict=True))

    joined = " and" if len(size) == 1 else ""
    raise RuntimeError(
        f"Input and output sizes should be greater than 0, but got input ({shown(size)}){joined} "
        f"output ({shown(count)})"
    )


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def interpolate(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """The images of a batch in another size."""
    require_tensor("interpolate", input)
    if mode in ("nearest", "area", "nearest-exact"):
        if align_corners is not None:
            raise ValueError(
                "align_corners option can only be set with the interpolating modes: linear | "
                "bilinear | bicubic | trilinear"
            )
        align_corners = False
    shape = tuple(input._data.shape)
    rank = len(shape) - 2
    count, factors = _sizes(input, size, scale_factor, rank)
    if recompute_scale_factor and factors is None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if recompute_scale_factor or (mode == "area" and count is None):
        assert factors is not None
        count = tuple([scaled(n, f) for n, f in zip(shape[2:], factors, strict=True)])
        factors = None
    if antialias and not (mode in ("bilinear", "bicubic", "lanczos") and len(shape) == 4):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and requires "
            "a 4-D tensor as input"
        )
    if len(shape) in (3, 4, 5) and mode == "area":
        pool: Any = (adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d)[rank - 1]
        return pool(input, count)  # type: ignore[no-any-return]
    return _interpolated(input, mode, rank, count, factors, bool(align_corners), antialias)


def _interpolated(
    input: Tensor,
    mode: str,
    rank: int,
    count: Ints | None,
    factors: tuple[float, ...] | None,
    align_corners: bool,
    antialias: bool,
) -> Tensor:
    shape = tuple(input._data.shape)
    if len(shape) in (3, 4, 5) and _RANKS.get(mode, len(shape)) != len(shape):
        raise NotImplementedError(
            f"Got {len(shape)}D input, but {mode} mode needs {_RANKS[mode]}D input"
        )
    if mode == "lanczos" and len(shape) == 4:
        if align_corners:
            raise ValueError("Lanczos mode does not support align_corners=True")
        if not antialias:
            raise ValueError("Lanczos mode requires antialias=True")
    op = RESIZES.get((mode, rank, antialias))
    if op is None:
        raise NotImplementedError(
            f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {len(shape)}D) for the "
            f"modes: {_MODES} (got {mode})"
        )
    if count is None:
        assert factors is not None
        count = tuple([scaled(n, f) for n, f in zip(shape[2:], factors, strict=True)])
    _check_sizes(shape[2:], count)
    if 0 in shape[1:]:
        raise RuntimeError(
            f"Non-empty {len(shape)}D data tensor expected but got a tensor with sizes "
            f"{list(shape)}"
        )
    _check_dtype(op, input, antialias and count == shape[2:])
    # PyTorch has two kernels for some modes; these calls go to the one that looks at sizes first.
    if mode == "bicubic":
        whole = input._data.dtype.kind == "u"
    else:
        whole = rank == 2 or suggested_format(input._data) is channels_last_3d
    double = input._data.dtype.itemsize == 8 or input._data.dtype.kind in "iu"
    maps = tuple(
        [
            resize_map(
                mode,
                n,
                c,
                align_corners,
                None if factors is None else factors[d],
                antialias,
                double,
                whole,
            )
            for d, (n, c) in enumerate(zip(shape[2:], count, strict=True))
        ]
    )
    result: Tensor = apply(op, (input,), {"maps": maps})
    return result


def _check_dtype(op: Op, input: Tensor, copied: bool) -> None:
    """Every dtype can be copied, and is where a filter keeps the size; but not all back."""
    if not copied:
        refuse(op, input._data.dtype)
    elif input._data.dtype.kind == "c" and input.requires_grad and modes.grad:
        raise RuntimeError(
            f"_{op.name} does not support automatic differentiation for outputs with complex dtype."
        )


def _deprecated(name: str) -> None:
    warnings.warn(
        f"`nn.functional.{name}` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=warning_level(),
    )


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def upsample(
    input: Any,
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
) -> Tensor:
    """The older name of `interpolate`."""
    _deprecated("upsample")
    return interpolate(input, size, scale_factor, mode, align_corners)


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` by nearest elements."""
    _deprecated("upsample_nearest")
    return interpolate(input, size, scale_factor, mode="nearest")


@public(namespace=NN_FUNCTIONAL, method=False, out=False)
def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Tensor:
    """`interpolate` bilinearly, with corners on corners."""
    _deprecated("upsample_bilinear")
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)
