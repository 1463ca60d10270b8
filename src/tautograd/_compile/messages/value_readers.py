"""Which function of this library asked for a tensor's value, where the user's own code did not."""

from __future__ import annotations

import sys
from types import FrameType

from ..._user_code.owners import internal

# Packages of the engine; what they hold of a user's is found under `torch` itself.
_ENGINE = ("_ops", "_tensor", "_arrays")
_NOT_ASKING = ("_compile", "_autograd", "autograd")
# What asks for the user: that is his own question.
_DIRECT = "tautograd._tensor.conversions"
_AROUND = "tautograd.nn.modules.container"  # whose members are called for the user

ADVICE = {
    "clip_grad_norm_": "Leave away `error_if_nonfinite=True`, and look at the norm that the compiled function returns.",
    "GradScaler.step": "Leave the scaler's `step` and `update` outside of the compiled function.",
    "GradScaler.unscale_": "Leave the scaler's `unscale_`, `step` and `update` outside of the compiled function.",
    "GradScaler.update": "Leave the scaler's `step` and `update` outside of the compiled function.",
    "pack_padded_sequence": "Pack sequences outside of the compiled function, or leave them padded and mask.",
    "pack_sequence": "Pack sequences outside of the compiled function, or leave them padded and mask.",
    "pad_packed_sequence": "Unpack sequences outside of the compiled function, or leave them padded and mask.",
    "torch.bincount": "Its shape depends on values: `one_hot(x, n).sum(0)` counts into a fixed number of places.",
    "torch.repeat_interleave": "Give the counts as a Python number, or expand and mask.",
}


def asker() -> str | None:
    """The public function through which the user's code came to ask; None if it asked itself."""
    found = None
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and internal[frame.f_code.co_filename]:
        found = _named(frame) or found
        frame = frame.f_back
    return found


def _named(frame: FrameType) -> str | None:
    home = str(frame.f_globals.get("__name__", ""))
    name = frame.f_code.co_qualname
    package = home.split(".")[1] if home.startswith("tautograd.") else ""
    if not package or package in _NOT_ASKING or home in (_DIRECT, _AROUND):
        return None
    if "<" in name or name.rpartition(".")[2].startswith("_"):
        return None
    return f"torch.{name}" if package in _ENGINE and "." not in name else name


def advice_for(name: str) -> str:
    """What helps where a function of the library asks."""
    if name in ADVICE:
        return ADVICE[name]
    method = name.rpartition(".")[2]
    if method == "step":
        return "Leave `optimizer.step()` outside of the compiled function."
    return f"Leave the call of `{name}` outside of the compiled function, or do what it does with tensors alone."
