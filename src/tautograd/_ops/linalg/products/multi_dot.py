"""The product of a chain of matrices, in the order that takes the fewest multiplications."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from ...._tensor.tensor import Tensor
from ...declare.out_rules import cpp_name
from ...declare.public import LINALG, public
from ...declare.shapes import tensor_list
from ...shape.squeeze import unsqueeze
from ...shape.views import view_to
from .blas import mm
from .product_checks import SPELLED, spoken


def _cheapest(sizes: list[int]) -> Any:
    """Where to split a chain of matrices so that it takes the fewest multiplications."""
    n = len(sizes) - 1
    cost = [[0] * n for _ in range(n)]
    split = [[0] * n for _ in range(n)]
    for length in range(1, n):
        for i in range(n - length):
            j = i + length
            options = [
                cost[i][k] + cost[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1]
                for k in range(i, j)
            ]
            cost[i][j] = min(options)
            split[i][j] = i + options.index(cost[i][j])
    return split


def _out_of_the_chain(name: str, args: Any, kwargs: Any, out: Any) -> Any:
    """The product goes into the dtype that all matrices have."""
    chain = args[0] if args else kwargs["tensors"]
    if isinstance(out, Tensor) and len(chain) > 1 and out.dtype is not chain[0].dtype:
        raise RuntimeError(
            f"multi_dot(): expected out tensor to have dtype {cpp_name(chain[0].dtype)} but got "
            f"{cpp_name(out.dtype)}"
        )
    return args


@public(method=False, namespace=LINALG, out=_out_of_the_chain)
def multi_dot(tensors: Any) -> Tensor:
    """The product of a chain of matrices, in the order that takes the fewest multiplications."""
    chain: list[Any] = list(tensor_list("linalg_multi_dot", tensors))
    count = len(chain)
    if count < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {count}")
    shape: list[int] = []
    for end, which, dim in ((0, "first", 0), (count - 1, "last", 1)):
        ndim = chain[end]._data.ndim
        if ndim not in (1, 2):
            raise RuntimeError(f"multi_dot(): the {which} tensor must be 1D or 2D but got {ndim}D")
        if ndim == 2:
            shape.append(chain[end]._data.shape[dim])
    for i, x in enumerate(chain[1:-1], 1):
        if x._data.ndim != 2:
            raise RuntimeError(f"multi_dot(): tensor {i} must be 2D but got {x._data.ndim}D")
    for i, x in enumerate(chain):
        if x._data.dtype != chain[0]._data.dtype:
            raise RuntimeError(
                "multi_dot(): all tensors must have be the same dtype but tensor 0 is "
                f"{SPELLED[spoken(chain[0])]} and tensor {i} {SPELLED[spoken(x)]}"
            )
    if chain[0]._data.ndim == 1:
        chain[0] = unsqueeze(chain[0], 0)
    if chain[-1]._data.ndim == 1:
        chain[-1] = unsqueeze(chain[-1], -1)
    for i, (x, y) in enumerate(pairwise(chain)):
        if x._data.shape[1] != y._data.shape[0]:
            raise RuntimeError(
                f"multi_dot(): tensors {i} and {i + 1} with shapes {list(x._data.shape)} and "
                f"{list(y._data.shape)} cannot be multiplied"
            )
    if count == 2:
        return view_to(mm(chain[0], chain[1]), tuple(shape))
    split = _cheapest([x._data.shape[0] for x in chain] + [chain[-1]._data.shape[1]])

    def product(i: int, j: int) -> Any:
        if i == j:
            return chain[i]
        return mm(product(i, split[i][j]), product(split[i][j] + 1, j))

    return view_to(product(0, count - 1), tuple(shape))


@public(method=False)
def chain_matmul(*matrices: Any) -> Any:
    """`linalg.multi_dot` by its old name, for matrices given one by one."""
    tensor_list("chain_matmul", matrices)
    for x in matrices:
        if x._data.ndim != 2:
            raise RuntimeError(f"Tensor dimension is {x._data.ndim}, expected 2 instead.")
    if not matrices:
        raise RuntimeError("chain_matmul(): Expected one or more matrices")
    if len(matrices) == 1:
        result: Tensor = matrices[0]
        return result
    return multi_dot(list(matrices))
