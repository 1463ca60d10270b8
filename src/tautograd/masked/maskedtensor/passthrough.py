"""Functions that move elements and compute nothing: applied to the data and to the mask alike."""

from __future__ import annotations

from typing import Any

import tautograd as torch

from .core import ANSWERS, is_masked_tensor, mask_of, plain, wrapped

PASSTHROUGH_NAMES = [
    *("select", "transpose", "split", "t", "slice", "index", "expand", "expand_as", "view",),
    *("view_as", "reshape", "reshape_as", "cat", "concat", "concatenate", "unsqueeze", "unfold",),
    *("stack", "flatten", "narrow", "chunk", "__getitem__", "swapaxes", "swapdims",),
    *("split_with_sizes", "hstack", "vstack",),
]  # fmt: skip


def answer(name: str, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Apply a move to masked tensors."""
    moved = function(*_with(plain, args), **kwargs)
    masks = _with(_mask_or_all, args)
    if function is torch.nn.functional.unfold:  # it takes numbers only
        mask = function(masks[0].to(torch.float32), *masks[1:], **kwargs).bool()
    else:
        mask = function(*masks, **kwargs)
    if isinstance(moved, (tuple, list)):
        return type(moved)(wrapped(x, on) for x, on in zip(moved, mask, strict=True))
    return wrapped(moved, mask)


def _mask_or_all(value: Any) -> Any:
    return mask_of(value) if is_masked_tensor(value) else value


def _with(change: Any, args: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(type(a)(map(change, a)) if type(a) in (tuple, list) else change(a) for a in args)


ANSWERS.update(dict.fromkeys(PASSTHROUGH_NAMES, answer))
