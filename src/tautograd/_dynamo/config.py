"""Settings of PyTorch's compiler: kept for programs that set them, and given back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = 256
suppress_errors = False
verbose = False
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
assume_static_by_default = True
automatic_dynamic_shapes = True
dynamic_shapes = True
optimize_ddp = True
skip_fwd_side_effects_in_bwd_under_checkpoint = False
allow_unspec_int_on_nn_module = False
inline_inbuilt_nn_modules = True
compiled_autograd = False
guard_nn_modules = True
log_level = 30


@contextlib.contextmanager
def patch(*args: Any, **settings: Any) -> Iterator[None]:
    """Other settings for a while."""
    changes = {**(args[0] if args and isinstance(args[0], dict) else {}), **settings}
    if len(args) == 2:
        changes[args[0]] = args[1]
    before = {name: globals().get(name) for name in changes}
    globals().update(changes)
    try:
        yield
    finally:
        globals().update(before)
