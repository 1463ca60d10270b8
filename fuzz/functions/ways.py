"""Ways to make a call: under a transform of `torch.func`, in a mode, compiled; the function is one of its first tensor.

PyTorch's side of a compiled call is the call itself: what is compared is its outcome.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from typing import Any

WAYS = (
    *("vmap", "vmap of the last", "grad", "jvp", "vjp", "jacfwd", "vmap of grad"),
    *("compile", "autocast", "inference", "backward"),
)
SHARE = (
    "FUZZ_TRANSFORMED"  # in the environment: of the calls that have a tensor to be a function of
)


def way_of(rng: random.Random, case: dict[str, Any]) -> str | None:
    """A way for this case, if any."""
    given = case["then"] if "then" in case else case["args"]
    if "method" in case or ".optim." in case["fn"] or ".Lazy" in case["fn"]:
        return None  # (PyTorch's lazy modules crash under transforms)
    if not any(isinstance(code, dict) and "tensor" in code for code in given):
        return None
    share = float(os.environ.get(SHARE, "0"))
    return rng.choice(WAYS) if share and rng.random() < share else None


def called(torch: Any, way: str, function: Callable[..., Any], args: list[Any]) -> Any:
    """What the call gives when it is made this way."""
    place = next((i for i, arg in enumerate(args) if isinstance(arg, torch.Tensor)), None)
    if place is None:
        return function(*args)

    def of_one(x: Any) -> Any:
        return function(*args[:place], x, *args[place + 1 :])

    def total(x: Any) -> Any:
        found = of_one(x)
        parts = found if isinstance(found, (tuple, list)) else [found]
        floats = [p for p in parts if isinstance(p, torch.Tensor) and p.is_floating_point()]
        return sum([p.sum() for p in floats]) if floats else found

    return _WAYS[way](torch, of_one, total, args[place])


def _compiled(torch: Any, of_one: Any, total: Any, x: Any) -> Any:
    if torch.__name__ == "torch":
        return of_one(x)
    return torch.compile(of_one, fallback=True)(x)


def _autocast(torch: Any, of_one: Any, total: Any, x: Any) -> Any:
    with torch.autocast("cpu", dtype=torch.bfloat16):
        return of_one(x)


def _inference(torch: Any, of_one: Any, total: Any, x: Any) -> Any:
    with torch.inference_mode():
        return of_one(x)


def _backward(torch: Any, of_one: Any, total: Any, x: Any) -> Any:
    leaf = x.detach().requires_grad_()
    total(leaf).backward()
    return leaf.grad


_WAYS: dict[str, Callable[..., Any]] = {
    "vmap": lambda torch, one, total, x: torch.func.vmap(one, randomness="different")(x),
    "vmap of the last": lambda torch, one, total, x: torch.func.vmap(
        one, in_dims=-1, randomness="same"
    )(x),
    "grad": lambda torch, one, total, x: torch.func.grad(total)(x),
    "jvp": lambda torch, one, total, x: torch.func.jvp(one, (x,), (torch.ones_like(x),)),
    "vjp": lambda torch, one, total, x: torch.func.vjp(one, x)[0],
    "jacfwd": lambda torch, one, total, x: torch.func.jacfwd(one, randomness="different")(x),
    "vmap of grad": lambda torch, one, total, x: torch.func.vmap(
        torch.func.grad(total), randomness="different"
    )(x),
    "compile": _compiled,
    "autocast": _autocast,
    "inference": _inference,
    "backward": _backward,
}
