"""Storages by PyTorch's names: `torch.storage`."""

from ._tensor.storages import TypedStorage, UntypedStorage

__all__ = ["TypedStorage", "UntypedStorage"]
