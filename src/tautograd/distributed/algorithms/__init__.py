"""`torch.distributed.algorithms`: uneven inputs, and hooks that decide how gradients are sent."""

from ..._lazy import named_later as _named_later

__getattr__, __dir__ = _named_later(
    __name__,
    ("_checkpoint", "ddp_comm_hooks", "join", "model_averaging"),
    {"Join": ".join", "JoinHook": ".join", "Joinable": ".join"},
)
