"""Calls that are right for some values and wrong for others: for every condition on values that there is.

A row is an expression, arguments for which it is right, and changes of them for which eager raises. They are written
so that both engines can run them. `test_value_checks.py` sees to it that every condition stated in the library is
broken by at least one row.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

INF, NAN = float("inf"), float("nan")
FAR = 1 << 62


@dataclass
class Row:
    name: str
    code: str  # of `torch`, `F` and the arguments
    good: dict[str, Any]
    bad: list[dict[str, Any]]
    grad: tuple[str, ...] = ()  # arguments that want a gradient
    like_torch: bool = True  # whether PyTorch raises the same class on a CPU
    dtypes: dict[str, tuple[str, ...]] = field(default_factory=dict)  # in which it is tried too

    def cases(self) -> list[tuple[str, dict[str, Any], dict[str, Any]]]:
        """Names, right arguments and wrong ones, in every dtype that the row asks for."""
        found = []
        kinds: list[dict[str, str]] = [{}]
        for name, dtypes in self.dtypes.items():
            kinds = [{**one, name: dtype} for one in kinds for dtype in dtypes]
        for kind in kinds:
            for number, change in enumerate(self.bad):
                good = {k: _array(v, kind.get(k)) for k, v in self.good.items()}
                changed = {k: _array(v, kind.get(k)) for k, v in change.items()}
                if any(v is None for v in changed.values()):
                    continue  # a value that the dtype does not have
                label = "-".join([self.name, *kind.values(), str(number)])
                found.append((label, good, good | changed))
        return found


def _array(value: Any, dtype: str | None = None) -> Any:
    array = np.asarray(value)
    if array.dtype == np.float64:
        array = array.astype(np.float32)
    if dtype is None:
        return array
    if array.dtype.kind in "iu":
        bounds = np.iinfo(dtype)
        if array.min() < bounds.min or array.max() > bounds.max:
            return None
    return array.astype(dtype)


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


X = numbers(3, 4)
CHANCES = [0.1, 0.9, 0.4]
INDEX = {"i": ("int64", "int32")}
WHOLE = ("uint8", "int8", "int16", "int32", "int64")
OUTSIDE = [{"i": [0, -1, 2]}, {"i": [0, 3, 2]}, {"i": [FAR, 1, 2]}, {"i": [0, 1, -FAR]}]
BEYOND = [{"i": [0, -4, 2]}, {"i": [0, 3, 2]}, {"i": [FAR, 1, 2]}, {"i": [0, 1, -FAR]}]
WIDE = [{"i": [[0, -1, 2, 1]]}, {"i": [[0, 1, 3, 1]]}, {"i": [[0, FAR, 1, 1]]}]
PIVOTS = [{"i": [0, 2]}, {"i": [2, 3]}, {"i": [2, -1]}]
ALONG = {"x": X, "i": [[0, 1, 2, 1]]}
PICK = {"x": X, "i": [0, 1, 2]}
LOG = numbers(5, 2, 4)

ROWS = [
    Row("_assert_async", "torch._assert_async(i) or x * 2", {"x": X, "i": [1]}, [{"i": [0]}]),
    # classes
    Row(
        "istft",
        "torch.istft(torch.view_as_complex(x), 16, window=w, center=False)",
        {"x": numbers(9, 4, 2), "w": np.ones(16, np.float32)},
        [{"w": np.zeros(16, np.float32)}],
        ("x",),
    ),
    Row(
        "cross_entropy",
        "F.cross_entropy(x, i)",
        PICK,
        [{"i": [0, -1, 2]}, {"i": [0, 4, 2]}, {"i": [FAR, 1, 2]}, {"i": [0, 1, -FAR]}],
        ("x",),
        dtypes={"i": ("int64", "uint8")},
    ),
    Row(
        "cross_entropy_ignored",
        "F.cross_entropy(x, i, ignore_index=-5)",
        PICK,
        [{"i": [0, -1, 2]}, {"i": [-5, 4, 2]}, {"i": [0, -100, 2]}],
        ("x",),
    ),
    Row(
        "cross_entropy_planes",
        "F.cross_entropy(x, i)",
        {"x": numbers(2, 3, 2, 2), "i": np.zeros((2, 2, 2), np.int64)},
        [{"i": np.full((2, 2, 2), -1)}, {"i": np.full((2, 2, 2), 3)}],
        ("x",),
    ),
    Row(
        "nll_loss",
        "F.nll_loss(x, i, reduction='sum')",
        PICK,
        [{"i": [0, -1, 2]}, {"i": [0, 1, 4]}],
        ("x",),
    ),
    Row("nll_loss_none", "F.nll_loss(x, i, reduction='none')", PICK, [{"i": [-3, 1, 2]}], ("x",)),
    Row(
        "multi_margin_loss",
        "F.multi_margin_loss(x, i)",
        PICK,
        [{"i": [0, -1, 2]}, {"i": [0, 4, 2]}],
        ("x",),
    ),
    Row(
        "multilabel_margin_loss",
        "F.multilabel_margin_loss(x, i)",
        {"x": X, "i": [[0, 1, -1, 2]] * 3},
        [{"i": [[0, -2, 2, 1]] * 3}, {"i": [[0, 1, 2, 4]] * 3}],
        ("x",),
    ),
    Row(
        "one_hot",
        "F.one_hot(i, 4)",
        {"i": [0, 1, 3]},
        [{"i": [0, -1, 3]}, {"i": [0, 1, 4]}, {"i": [FAR, 1, 2]}],
    ),
    # rows of a table
    Row("embedding", "F.embedding(i, x)", PICK, OUTSIDE, ("x",), dtypes=INDEX),
    Row("embedding_padding", "F.embedding(i, x, padding_idx=1)", PICK, OUTSIDE, ("x",)),
    Row(
        "embedding_bag",
        "F.embedding_bag(i, x, o)",
        {**PICK, "o": [0, 2]},
        [*OUTSIDE, {"o": [1, 2]}, {"o": [0, 4]}, {"o": [-1, 2]}],
        ("x",),
    ),
    Row(
        "embedding_bag_2d",
        "F.embedding_bag(i, x, mode='sum')",
        {"x": X, "i": [[0, 1], [2, 0]]},
        [{"i": [[0, -1], [1, 1]]}, {"i": [[0, 3], [1, 1]]}],
        ("x",),
    ),
    Row(
        "embedding_bag_max",
        "F.embedding_bag(i, x, mode='max')",
        {"x": X, "i": [[0, 1], [2, 0]]},
        [{"i": [[0, -1], [1, 1]]}],
        ("x",),
    ),
    # by index
    Row("gather", "x.gather(0, i)", ALONG, WIDE, ("x",), dtypes={"i": ("int64",)}),
    Row("scatter", "x.scatter(0, i, y)", {**ALONG, "y": numbers(1, 4, seed=1)}, WIDE, ("x", "y")),
    Row("scatter_value", "x.scatter(0, i, 2.0)", ALONG, WIDE, ("x",)),
    Row("scatter_inplace", "(x * 1).scatter_(0, i, 2.0)", ALONG, WIDE, ("x",)),
    Row(
        "scatter_add",
        "x.scatter_add(0, i, y)",
        {**ALONG, "y": numbers(1, 4, seed=1)},
        WIDE,
        ("x", "y"),
    ),
    *(
        Row(
            f"scatter_reduce_{how}",
            f"x.scatter_reduce(0, i, y, '{how}')",
            {**ALONG, "y": numbers(1, 4, seed=1)},
            WIDE,
            ("x",),
        )
        for how in ("sum", "prod", "mean", "amax", "amin")
    ),
    Row(
        "scatter_multiplied",
        "x.scatter(0, i, y, reduce='multiply')",
        {**ALONG, "y": numbers(1, 4, seed=1)},
        WIDE,
    ),
    Row("index_select", "x.index_select(0, i)", PICK, OUTSIDE, ("x",), dtypes=INDEX),
    Row(
        "index_select_of_nothing",
        "x.index_select(0, i)",
        {"x": numbers(3, 0), "i": [0, 1, 2]},
        OUTSIDE,
        ("x",),
        dtypes=INDEX,
    ),
    Row("index_add", "x.index_add(0, i, x)", PICK, OUTSIDE, ("x",)),
    Row("index_copy", "x.index_copy(0, i, x)", PICK, OUTSIDE, ("x",)),
    Row("index_fill", "x.index_fill(0, i, 1.5)", PICK, BEYOND, ("x",)),
    *(
        Row(
            f"index_reduce_{how}",
            f"x.index_reduce(0, i, x, '{how}')",
            PICK,
            OUTSIDE,
            ("x",) if how != "prod" else (),
        )
        for how in ("prod", "mean", "amax", "amin")
    ),
    Row("index", "x[i]", PICK, BEYOND, ("x",), dtypes=INDEX),
    Row(
        "index_second",
        "x[:, i]",
        PICK,
        [{"i": [0, -5, 2]}, {"i": [0, 4, 2]}, {"i": [0, FAR, 2]}],
        ("x",),
    ),
    Row(
        "index_pairs",
        "x[i, j]",
        {**PICK, "j": [1, 1, 3]},
        [*BEYOND, {"j": [0, 4, 1]}, {"j": [-5, 3, 1]}],
        ("x",),
    ),
    Row(
        "index_put",
        "x.index_put((i,), y)",
        {**PICK, "y": numbers(3, 4, seed=1)},
        BEYOND,
        ("x", "y"),
    ),
    Row(
        "index_put_added",
        "x.index_put((i,), y, accumulate=True)",
        {**PICK, "y": numbers(3, 4, seed=1)},
        BEYOND,
        ("x", "y"),
    ),
    Row("setitem", "x.clone().__setitem__(i, 0.0)", PICK, BEYOND),
    Row(
        "take",
        "x.take(i)",
        PICK,
        [{"i": [0, -13, 2]}, {"i": [0, 12, 2]}, {"i": [FAR, 0, 0]}],
        ("x",),
    ),
    Row(
        "put",
        "x.put(i, y)",
        {**PICK, "y": [1.0, 2.0, 3.0]},
        [{"i": [0, -13, 2]}, {"i": [0, 12, 2]}],
        ("x", "y"),
    ),
    Row(
        "max_unpool1d",
        "F.max_unpool1d(x, i, 2)",
        {"x": numbers(1, 1, 2), "i": [[[0, 3]]]},
        [{"i": [[[0, 4]]]}, {"i": [[[-1, 0]]]}],
        ("x",),
    ),
    Row(
        "max_unpool2d",
        "F.max_unpool2d(x, i, 2)",
        {"x": numbers(1, 1, 1, 2), "i": [[[[0, 3]]]]},
        [{"i": [[[[0, 8]]]]}, {"i": [[[[-1, 0]]]]}],
        ("x",),
    ),
    Row(
        "searchsorted",
        "torch.searchsorted(x, x, sorter=i)",
        {"x": [1.0, 2.0, 3.0], "i": [0, 1, 2]},
        OUTSIDE,
    ),
    # losses
    Row(
        "binary_cross_entropy",
        "F.binary_cross_entropy(p, q)",
        {"p": CHANCES, "q": CHANCES},
        [
            {"p": [0.1, 1.5, 0.2]},
            {"p": [-0.1, 0.5, 0.2]},
            {"p": [NAN, 0.5, 0.2]},
            {"q": [0.1, 1.5, 0.2]},
            {"q": [0.1, 0.5, -1]},
            {"p": [0.1, INF, 0.2]},
        ],
        ("p",),
    ),
    Row(
        "gaussian_nll_loss",
        "F.gaussian_nll_loss(x, x * 0, v)",
        {"x": CHANCES, "v": CHANCES},
        [{"v": [0.1, -0.5, 0.2]}, {"v": [-INF, 0.5, 0.2]}],
        ("x",),
    ),
    Row(
        "ctc_loss",
        "F.ctc_loss(x.log_softmax(2), t, i, l)",
        {"x": LOG, "t": [[1, 2], [1, 3]], "i": [5, 5], "l": [2, 2]},
        [{"i": [5, 6]}, {"i": [-1, 5]}, {"l": [-1, 2]}, {"l": [2, 3]}],
        ("x",),
    ),
    # whole numbers by zero
    *(
        Row(
            f"{name}",
            code,
            {"a": [7, 5, 3], "b": [2, 1, 3]},
            [{"b": [2, 0, 3]}],
            dtypes={"a": WHOLE, "b": WHOLE},
        )
        for name, code in {
            "floor_divide": "a // b",
            "remainder": "a % b",
            "fmod": "torch.fmod(a, b)",
            "div_trunc": "torch.div(a, b, rounding_mode='trunc')",
            "div_floor": "torch.div(a, b, rounding_mode='floor')",
        }.items()
    ),
    Row("number_remainder", "7 % b", {"b": [2, 1, 3]}, [{"b": [2, 0, 3]}]),
    Row("number_floor_divide", "7 // b", {"b": [2, 1, 3]}, [{"b": [2, 0, 3]}]),
    Row(
        "remainder_inplace",
        "(a * 1).remainder_(b)",
        {"a": [7, 5, 3], "b": [2, 1, 3]},
        [{"b": [0, 0, 3]}],
    ),
    # statistics
    Row(
        "histc",
        "torch.histc(x, 3)",
        {"x": CHANCES},
        [{"x": [0.1, INF, 0]}, {"x": [0.1, NAN, 0]}, {"x": [0.1, -INF, 0]}],
    ),
    Row("histogram", "torch.histogram(x, 3)[0]", {"x": CHANCES}, [{"x": [0.1, INF, 0]}]),
    Row(
        "quantile",
        "torch.quantile(x, q)",
        {"x": X, "q": [0.1, 0.5]},
        [{"q": [0.1, 1.5]}, {"q": [-0.1, 0.5]}],
        ("x",),
    ),
    Row("nanquantile", "torch.nanquantile(x, q)", {"x": X, "q": [0.1, 0.5]}, [{"q": [0.1, 1.5]}]),
    Row(
        "cov_frequencies",
        "torch.cov(x, fweights=i)",
        {"x": X, "i": [1, 2, 1, 1]},
        [{"i": [1, -1, 2, 1]}, {"i": [0, 0, 0, 0]}],
    ),
    Row(
        "cov_weights",
        "torch.cov(x, aweights=w)",
        {"x": X, "w": [1.0, 2.0, 1.0, 1.0]},
        [{"w": [1.0, -1.0, 2.0, 1.0]}],
    ),
    # matrices
    Row(
        "inv", "torch.linalg.inv(a)", {"a": [[2.0, 1], [1, 3]]}, [{"a": [[1.0, 1], [1, 1]]}], ("a",)
    ),
    Row(
        "solve",
        "torch.linalg.solve(a, b)",
        {"a": [[2.0, 1], [1, 3]], "b": [1.0, 2]},
        [{"a": [[1.0, 1], [1, 1]]}],
        ("a", "b"),
    ),
    Row(
        "cholesky",
        "torch.linalg.cholesky(a)",
        {"a": [[2.0, 1], [1, 3]]},
        [{"a": [[1.0, 2], [2, 1]]}],
        ("a",),
    ),
    Row(
        "cholesky_inverse",
        "torch.cholesky_inverse(a)",
        {"a": [[2.0, 0], [1, 3]]},
        [{"a": [[1.0, 0], [1, 0]]}],
        like_torch=False,
    ),
    Row(
        "lu_factor",
        "torch.linalg.lu_factor(a)[0]",
        {"a": [[2.0, 1], [1, 3]]},
        [{"a": [[1.0, 1], [1, 1]]}],
        ("a",),
    ),
    Row(
        "lu_factor_batch",
        "torch.linalg.lu_factor(a)[0]",
        {"a": [[[2.0, 1], [1, 3]]] * 2},
        [{"a": [[[2.0, 1], [1, 3]], [[0.0, 0], [0, 0]]]}],
    ),
    Row(
        "lu_unpack",
        "torch.lu_unpack(a, i)[1]",
        {"a": [[2.0, 1], [1, 3]], "i": [2, 2]},
        PIVOTS,
        ("a",),
        dtypes={"i": ("int32",)},
    ),
    Row(
        "lu_solve",
        "torch.linalg.lu_solve(a, i, b)",
        {"a": [[2.0, 1], [1, 3]], "i": [2, 2], "b": [[1.0], [2.0]]},
        PIVOTS,
        ("a", "b"),
        dtypes={"i": ("int32",)},
    ),
    Row("svd", "torch.linalg.svd(a)[1]", {"a": [[2.0, 1], [1, 3]]}, [{"a": [[1.0, NAN], [1, 0]]}]),
    Row("pinv", "torch.linalg.pinv(a)", {"a": [[2.0, 1], [1, 3]]}, [{"a": [[1.0, NAN], [1, 0]]}]),
    Row(
        "eigh_phase",
        "torch.autograd.functional.vjp(lambda a: (torch.linalg.eigh(torch.complex(a, b) + "
        "torch.complex(a, b).mH)[1] * w).real.sum(), a)[1]",
        {"a": [[2.0, 1], [1, 3]], "b": [[0.0, 1], [2, 0]], "w": 0.0},
        [{"w": 1.0}],
    ),
    # gradients
    Row(
        "get_total_norm",
        "torch.nn.utils.get_total_norm([x, q], error_if_nonfinite=True)",
        {"x": X, "q": [0.1, 0.5]},
        [{"q": [0.1, NAN]}, {"q": [INF, 0.5]}],
    ),
    # draws
    Row(
        "bernoulli",
        "torch.bernoulli(p)",
        {"p": CHANCES},
        [{"p": [0.1, 1.5, 0.2]}, {"p": [0.1, NAN, 0.2]}],
    ),
    Row("normal", "torch.normal(x, p)", {"x": CHANCES, "p": CHANCES}, [{"p": [0.1, -1.5, 0.2]}]),
    Row("poisson", "torch.poisson(p)", {"p": CHANCES}, [{"p": [0.1, -1.5, 0.2]}]),
    Row(
        "multinomial",
        "torch.multinomial(p, 1)",
        {"p": CHANCES},
        [{"p": [0.1, -1.5, 0.2]}, {"p": [0.1, INF, 0.2]}, {"p": [0.0, 0.0, 0.0]}],
    ),
    Row(
        "multinomial_replaced",
        "torch.multinomial(p, 5, replacement=True)",
        {"p": CHANCES},
        [{"p": [0.1, -1.5, 0.2]}, {"p": [0.1, NAN, 0.2]}, {"p": [0.0, 0.0, 0.0]}],
    ),
    Row(
        "segment_reduce",
        "torch.segment_reduce(x, 'sum', lengths=i)",
        {"x": X, "i": [2, 0, 1]},
        [{"i": [2, -1, 2]}, {"i": [2, 0, 2]}, {"i": [0, 0, 2]}],
        ("x",),
        dtypes=INDEX,
    ),
]

# Refused by `compile` in any case, because the shape of the result depends on values, or what is written does.
SHAPED_BY_VALUES = [
    Row(
        "embedding_max_norm",
        "F.embedding(i, x.detach(), max_norm=0.5)",
        PICK,
        OUTSIDE,
        like_torch=False,
    ),
    Row(
        "sparse_coo_tensor",
        "torch.sparse_coo_tensor(i, x, (3, 4), check_invariants=True).to_dense()",
        {"i": [[0, 2], [3, 1]], "x": [1.0, 2.0]},
        [{"i": [[0, -1], [3, 1]]}, {"i": [[0, 3], [3, 1]]}, {"i": [[0, 2], [3, FAR]]}],
    ),
    Row(
        "sparse_coo_tensor_coalesced",
        "torch.sparse_coo_tensor(i, x, (3, 4), check_invariants=True, is_coalesced=True).to_dense()",
        {"i": [[0, 2], [3, 1]], "x": [1.0, 2.0]},
        [{"i": [[2, 0], [3, 1]]}, {"i": [[2, 2], [1, 1]]}],
    ),
    *(
        Row(
            f"sparse_{kind}_tensor",
            f"torch.sparse_{kind}_tensor(s, i, x, (3, 3), check_invariants=True).to_dense()",
            {"s": [0, 1, 1, 2], "i": [2, 0], "x": [1.0, 2.0]},
            [
                {"s": [1, 1, 1, 2]},
                {"s": [0, 1, 1, 3]},
                {"s": [0, 2, 1, 2]},
                {"i": [2, -1]},
                {"i": [3, 0]},
            ],
        )
        for kind in ("csr", "csc")
    ),
    Row("bincount", "torch.bincount(i)", {"i": [0, 1, 2]}, [{"i": [0, -1, 2]}]),
    Row("one_hot_counted", "F.one_hot(i)", {"i": [0, 1, 3]}, [{"i": [0, -1, 3]}]),
    Row(
        "repeat_interleave",
        "x.repeat_interleave(i, 0)",
        {"x": X, "i": [0, 1, 3]},
        [{"i": [0, -1, 3]}],
    ),
    Row(
        "ctc_joined",
        "F.ctc_loss(x.log_softmax(2), t, i, l)",
        {"x": LOG, "t": [1, 2, 1, 3], "i": [5, 5], "l": [2, 2]},
        [{"l": [2, 3]}, {"i": [5, 6]}],
    ),
]
