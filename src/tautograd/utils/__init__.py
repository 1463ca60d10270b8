"""Helpers around training: checkpointing, hook handles."""

from typing import TYPE_CHECKING

from .._lazy import named_later
from . import checkpoint, data, dlpack, hooks

__all__ = ["checkpoint", "data", "dlpack", "hooks"]

if TYPE_CHECKING:
    from . import _pytree as _pytree
    from . import benchmark as benchmark
    from . import collect_env as collect_env
    from . import model_zoo as model_zoo
    from . import tensorboard as tensorboard
else:
    __getattr__, __dir__ = named_later(
        __name__, ("_pytree", "benchmark", "collect_env", "model_zoo", "tensorboard")
    )
