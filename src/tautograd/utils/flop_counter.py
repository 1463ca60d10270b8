"""`torch.utils.flop_counter`: the number of multiplications and additions in products and convolutions.

Forward is counted where an operation is called; backward where its node runs: the gradient of each
input of a product takes as many operations as the product itself.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from .._tensor.tensor import Tensor
from ..overrides import _OfOperations

__all__ = ["FlopCounterMode"]


def _mm(a: Any, b: Any) -> int:
    """The operations of a product of matrices, stacks of them, or vectors."""
    x, y = tuple(a.shape), tuple(b.shape)
    x = x if len(x) > 1 else (1, *x)
    y = y if len(y) > 1 else (*y, 1)
    batch = math.prod(max(x[:-2], y[:-2], key=math.prod)) if len(x) > 2 or len(y) > 2 else 1
    return int(2 * batch * x[-2] * x[-1] * y[-1])


def _convolution(x: Any, weight: Any, out: Any, transposed: bool) -> int:
    places = math.prod((x if transposed else out).shape[2:])
    return int(2 * x.shape[0] * math.prod(weight.shape) * places)


def _attention(query: Any, key: Any, value: Any) -> int:
    *batch, length, width = query.shape
    others = key.shape[-2]
    return int(2 * math.prod(batch) * length * others * (width + value.shape[-1]))


def _linear(x: Any, weight: Any) -> int:
    return int(2 * math.prod(x.shape) * weight.shape[0])


def count_of(name: str, args: Any, out: Any) -> int:
    """The operations of one call, or 0 if it is not counted."""
    tensors = [a for a in args if isinstance(a, Tensor)]
    if name in ("mm", "bmm", "matmul", "mv", "dot"):
        return _mm(*tensors[:2])
    if name in ("addmm", "baddbmm", "addbmm", "addmv"):
        return _mm(*tensors[1:3])
    if name == "linear":
        return _linear(*tensors[:2])
    if "conv" in name and len(tensors) >= 2:
        return _convolution(tensors[0], tensors[1], out, "transpose" in name)
    if name == "scaled_dot_product_attention":
        return _attention(*tensors[:3])
    return 0


class FlopCounterMode(_OfOperations.TorchFunctionMode):
    """A context that counts operations: `get_total_flops()` returns their number."""

    def __init__(
        self, mods: Any = None, depth: int = 2, display: bool = True, custom_mapping: Any = None
    ) -> None:
        super().__init__()
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        self._custom = dict(custom_mapping or {})

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        name = str(getattr(func, "__name__", func)).strip("_")
        if func in self._custom:
            flops = int(self._custom[func](*args, out_val=out, **(kwargs or {})))
        else:
            flops = count_of(name, args, out)
        if flops:
            self._add(name, flops)
            if isinstance(out, Tensor) and out.grad_fn is not None:
                self._count_backward(name, flops, args, out)
        return out

    def _add(self, name: str, flops: int) -> None:
        self.flop_counts["Global"][name] += flops

    def _count_backward(self, name: str, flops: int, args: Any, out: Tensor) -> None:
        tensors = [a for a in args if isinstance(a, Tensor)]
        if name in ("addmm", "baddbmm", "addbmm", "addmv"):
            tensors = tensors[1:]
        wanted = sum(t.requires_grad for t in tensors[:2])
        node = out.grad_fn
        node.register_prehook(lambda _: self._add(f"{name}_backward", flops * wanted))

    def get_total_flops(self) -> int:
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[str, int]]:
        return {where: dict(counts) for where, counts in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as text."""
        rows = [("Operation", "FLOP", "% Total")]
        total = self.get_total_flops()
        rows += [
            (name, f"{flops:,}", f"{100 * flops / total:.2f}%")
            for name, flops in [("Global", total), *self.flop_counts["Global"].items()]
            if total
        ]
        widths = [max(len(row[i]) for row in rows) for i in range(3)]
        rows.insert(1, ("-" * widths[0], "-" * widths[1], "-" * widths[2]))
        return "\n".join(
            f"{a.ljust(widths[0])}  {b.rjust(widths[1])}  {c.rjust(widths[2])}".rstrip()
            for a, b, c in rows
        )

    def __exit__(self, *exc: Any) -> None:
        super().__exit__(*exc)
        if self.display:
            print(self.get_table())  # noqa: T201 (what it is for)
