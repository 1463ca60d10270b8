"""`ReduceOp`: how the numbers of several ranks are combined into one."""

from __future__ import annotations

import enum
from typing import Any, ClassVar

import numpy as np

__all__ = ["ReduceOp", "reduce_op"]


class RedOpType(enum.IntEnum):
    """The kinds of reduction, numbered as in PyTorch."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8
    UNUSED = 9

    def __str__(self) -> str:
        return f"RedOpType.{self.name}"


class ReduceOp:
    """A reduction; `ReduceOp.SUM` and the other kinds can be passed in its place."""

    RedOpType = RedOpType
    SUM: ClassVar[Any] = RedOpType.SUM
    AVG: ClassVar[Any] = RedOpType.AVG
    PRODUCT: ClassVar[Any] = RedOpType.PRODUCT
    MIN: ClassVar[Any] = RedOpType.MIN
    MAX: ClassVar[Any] = RedOpType.MAX
    BAND: ClassVar[Any] = RedOpType.BAND
    BOR: ClassVar[Any] = RedOpType.BOR
    BXOR: ClassVar[Any] = RedOpType.BXOR
    PREMUL_SUM: ClassVar[Any] = RedOpType.PREMUL_SUM

    __slots__ = ("factor", "op")

    def __init__(self, op: Any, factor: Any = None) -> None:
        given: Any = op
        if isinstance(given, ReduceOp):
            op, factor = given.op, given.factor
        if not isinstance(op, RedOpType):
            raise TypeError(f"ReduceOp(): expected a RedOpType such as ReduceOp.SUM, got {op!r}")
        self.op: Any = op
        self.factor: Any = factor

    def __eq__(self, other: object) -> bool:
        if isinstance(other, ReduceOp):
            return self.op is other.op and self.factor is other.factor
        return self.op is other

    def __hash__(self) -> int:
        return hash(self.op)

    def __repr__(self) -> str:
        return f"<torch.distributed.distributed_c10d.ReduceOp {self.op.name}>"


reduce_op = ReduceOp  # PyTorch's old name


def _make_nccl_premul_sum(factor: Any) -> ReduceOp:
    """A sum whose terms are first multiplied by a number (or a tensor of one)."""
    return ReduceOp(RedOpType.PREMUL_SUM, factor)


def as_reduce_op(op: Any) -> ReduceOp:
    """A reduction, from a reduction or its kind."""
    return ReduceOp(op)


_CAST_NAMES = {
    "bool": "Bool", "uint8": "Byte", "int8": "Char", "int16": "Short", "int32": "Int",
    "int64": "Long", "uint16": "UInt16", "uint32": "UInt32", "uint64": "UInt64",
}  # fmt: skip


def check_reduction(
    name: str, op: ReduceOp, dtype: np.dtype[Any], refuse: type[Exception] = RuntimeError
) -> None:
    """Raise PyTorch's error for a reduction that is undefined for a dtype."""
    kind = op.op
    if dtype.kind == "c" and kind not in (RedOpType.SUM, RedOpType.AVG, RedOpType.PREMUL_SUM):
        raise refuse(f"{name} does not support {kind} on complex tensors")
    if kind in (RedOpType.BAND, RedOpType.BOR, RedOpType.BXOR) and dtype.kind not in "iub":
        raise RuntimeError(f"Cannot use ReduceOp.{kind.name} with non-integral dtype")
    if kind is RedOpType.AVG and dtype.kind in "iub":
        raise RuntimeError(
            f"result type Float can't be cast to the desired output type {_CAST_NAMES[dtype.name]}"
        )
    if kind is RedOpType.UNUSED:
        raise ValueError("Unhandled ReduceOp")
    if kind is RedOpType.PREMUL_SUM and op.factor is None:
        raise ValueError(
            "ReduceOp.PREMUL_SUM needs its factor: use torch.distributed._make_nccl_premul_sum(factor)"
        )


def factor_of(op: ReduceOp, dtype: np.dtype[Any]) -> Any:
    """What PREMUL_SUM multiplies by, as a number of the dtype."""
    factor = op.factor
    return dtype.type(factor.item() if hasattr(factor, "item") else factor)
