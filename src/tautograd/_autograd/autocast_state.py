"""Whether a thread computes in mixed precision, in which dtype, and the casts it keeps.

`modes.lower` is what public functions look at: the dtype of the lower precision, or None. The rest is
what PyTorch's `set_autocast_…` functions set, for each type of device; those of the CPU and of CUDA have
an effect here, on the tensors that lie there.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator
from typing import Any

import numpy as np

from .._arrays.devices import device, device_of
from .._arrays.dtypes import bfloat16, dtype, float16
from .modes import set_lower

# What each type of device casts to, if nothing else is asked for.
DEFAULT_DTYPES = {
    **dict.fromkeys(("cpu", "hpu", "maia", "xla"), bfloat16),
    **dict.fromkeys(("cuda", "mps", "xpu", "mtia", "ipu", "privateuseone"), float16),
}
# Not empty once a thread has asked for mixed precision: until then nobody looks further.
EVER_USED: list[bool] = []


class _Autocast(threading.local):
    def __init__(self) -> None:
        """Called in each thread, when it first asks."""
        self.enabled: set[str] = set()  # types of devices
        self.dtypes: dict[str, dtype] = dict(DEFAULT_DTYPES)
        self.keeps_casts = True
        self.depth = 0  # regions inside one another
        self.left: list[tuple[bool, dtype, bool]] = []  # what was in force before each of them
        self.casts: dict[tuple[int, Any], tuple[Any, Any]] = {}  # (weak tensor, the tensor cast)


_state = _Autocast()


def _of_device(device_type: Any, name: str) -> str:
    if not isinstance(device_type, str):
        raise TypeError(
            f"{name}(): argument 'device_type' (position 1) must be str, not "
            f"{type(device_type).__name__}"
        )
    if device_type not in DEFAULT_DTYPES:
        device(device_type)  # which says what is wrong with it
    return device_type


def _must_be(name: str, argument: str, position: int, value: Any, kind: type, spoken: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(
            f"{name}(): argument '{argument}' (position {position}) must be {spoken}, not "
            f"{type(value).__name__}"
        )


def is_autocast_available(device_type: str) -> bool:
    """Whether there is mixed precision for this type of device."""
    return _of_device(device_type, "is_autocast_available") in DEFAULT_DTYPES


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether this thread computes in mixed precision on this type of device."""
    return _of_device(device_type, "is_autocast_enabled") in _state.enabled


def set_autocast_enabled(*args: Any) -> None:
    """`set_autocast_enabled(device_type, enabled)`: mixed precision on or off, in this thread."""
    device_type, enabled = args if len(args) == 2 else ("cuda", *args)
    _must_be("set_autocast_enabled", "enabled", len(args), enabled, bool, "bool")
    device_type = _of_device(device_type, "set_autocast_enabled")
    (_state.enabled.add if enabled else _state.enabled.discard)(device_type)
    _show()


def get_autocast_dtype(device_type: str) -> dtype:
    """The dtype of the lower precision."""
    found = _state.dtypes.get(_of_device(device_type, "get_autocast_dtype"))
    if found is None:
        raise RuntimeError("unsupported scalarType")
    return found


def set_autocast_dtype(device_type: str, dtype: Any) -> None:
    """Set the dtype of the lower precision, in this thread."""
    device_type = _of_device(device_type, "set_autocast_dtype")
    _must_be("set_autocast_dtype", "dtype", 2, dtype, type(float16), "torch.dtype")
    _state.dtypes[device_type] = dtype
    _show()


def _show() -> None:
    on = next((kind for kind in ("cpu", "cuda") if kind in _state.enabled), None)
    if on is not None and not EVER_USED:
        EVER_USED.append(True)
    set_lower(None if on is None else _state.dtypes[on])


def reaches(array: Any) -> bool:
    """Whether mixed precision is asked for on the device that an array is on."""
    kind = type(array)
    if kind is np.ndarray:
        return "cpu" in _state.enabled
    where = "cuda" if hasattr(kind, "raw") else device_of(array).type
    return where in _state.enabled


def is_autocast_cache_enabled() -> bool:
    """Whether casts of parameters are kept for the rest of the region."""
    return _state.keeps_casts


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Keep casts of parameters for the rest of the region, or not."""
    _must_be("set_autocast_cache_enabled", "enabled", 1, enabled, bool, "bool")
    _state.keeps_casts = enabled


def clear_autocast_cache() -> None:
    """Forget the casts of parameters."""
    _state.casts.clear()


def autocast_increment_nesting() -> int:
    """One region deeper."""
    _state.depth += 1
    return _state.depth


def autocast_decrement_nesting() -> int:
    """One region less deep."""
    _state.depth -= 1
    return _state.depth


def enter_region(device_type: str, lower: dtype, enabled: bool, keeps_casts: bool) -> None:
    """Begin a region of mixed precision, or one without it."""
    before = is_autocast_enabled(device_type), get_autocast_dtype(device_type), _state.keeps_casts
    set_autocast_enabled(device_type, enabled)
    set_autocast_dtype(device_type, lower)
    set_autocast_cache_enabled(keeps_casts)
    _state.left.append(before)
    autocast_increment_nesting()


def leave_region(device_type: str) -> None:
    """End it: what was in force before is again."""
    if autocast_decrement_nesting() == 0:
        clear_autocast_cache()
    enabled, lower, _state.keeps_casts = _state.left.pop()
    set_autocast_enabled(device_type, enabled)
    set_autocast_dtype(device_type, lower)


def region_in_force() -> tuple[str, dtype, bool, bool]:
    """What `as_it_was` needs to compute something again as it would be computed now."""
    return "cpu", get_autocast_dtype("cpu"), is_autocast_enabled("cpu"), _state.keeps_casts


@contextlib.contextmanager
def as_it_was(region: tuple[str, dtype, bool, bool]) -> Iterator[None]:
    """Mixed precision as it was when `region_in_force` said so."""
    enter_region(*region)
    try:
        yield
    finally:
        leave_region(region[0])


def kept_cast(tensor: Any, wanted: Any) -> Any:
    """The cast of a parameter that was kept earlier in this region, or None."""
    found = _state.casts.get((id(tensor), wanted))
    return found[1] if found is not None and found[0]() is tensor else None


def keep_cast(tensor: Any, wanted: Any, cast: Any) -> None:
    """Keep a cast for the rest of the region; the parameter itself may go."""
    _state.casts[id(tensor), wanted] = (weakref.ref(tensor), cast)
