"""Whole numbers by which LAPACK, SciPy and kernels find their way in memory are looked at before they are trusted."""

from __future__ import annotations

from typing import Any

import pytest

import tautograd
from tests.both import same


@pytest.mark.parametrize(
    ("pivots", "words"),
    [
        ([10**6] * 3, r"\|pivot\| <= LD.size\(-2\)"),
        ([-5, -5, 3], r"\|pivot\| <= LD.size\(-2\)"),
        ([0, 1, 2], r"\|pivot\| >= 1"),
    ],
)
@same
def test_pivots_of_ldl(torch: Any, pivots: list[int], words: str) -> None:
    with pytest.raises(RuntimeError, match=words):
        torch.linalg.ldl_solve(
            torch.eye(3), torch.tensor(pivots, dtype=torch.int32), torch.ones(3, 1)
        )


@pytest.mark.parametrize("pivots", [[-3, -2, -1], [-1, 2, 3], [1, -2, 3], [1, 2, -3], [-1] * 3])
def test_blocks_of_ldl_come_in_pairs(pivots: list[int]) -> None:
    """PyTorch hands them on, and LAPACK goes beyond the matrix."""
    t: Any = tautograd
    with pytest.raises(RuntimeError, match="must come in pairs"):
        t.linalg.ldl_solve(t.eye(3), t.tensor(pivots, dtype=t.int32), t.ones(3, 1))


@same
def test_what_ldl_factor_gives_is_solved(torch: Any) -> Any:
    a = torch.tensor(
        [[0.0, 2, 1, 0], [2, 0, 0, 1], [1, 0, 0, 3], [0, 1, 3, 0]], dtype=torch.float64
    )
    factors, pivots = torch.linalg.ldl_factor(a)
    return pivots, torch.linalg.ldl_solve(factors, pivots, torch.ones(4, 2, dtype=torch.float64))


@pytest.mark.parametrize("kind", ["csr", "csc"])
@pytest.mark.parametrize(("part", "value"), [("others", 10**7), ("others", -1), ("starts", 10**7)])
def test_places_of_a_compressed_matrix_that_were_changed(kind: str, part: str, value: int) -> None:
    t: Any = tautograd
    make = getattr(t, f"sparse_{kind}_tensor")
    matrix = make([0, 1, 2, 2], [0, 1], [1.0, 2.0], (3, 3))
    names = {"csr": ("crow", "col"), "csc": ("ccol", "row")}[kind]
    places = getattr(matrix, f"{names[part == 'others']}_indices")()
    places[1] = value
    with pytest.raises((RuntimeError, IndexError, ValueError)):
        matrix @ t.ones(3, 2000)


@pytest.mark.parametrize(("kind", "gates"), [("LSTM", 4), ("GRU", 3), ("RNN", 1)])
@pytest.mark.parametrize("reverse", [False, True])
def test_parameters_of_a_recurrent_layer_that_do_not_fit(
    kind: str, gates: int, reverse: bool
) -> None:
    """PyTorch's kernels go beyond them, and crash sooner or later; so it is not asked."""
    t: Any = tautograd
    wrong = {
        "weight_ih_l0": [(32 * gates, 15), (64 * gates, 16), (16 * gates, 16)],
        "weight_hh_l0": [(32 * gates, 31), (32 * gates, 33), (16 * gates, 32)],
        "bias_ih_l0": [(32 * gates - 1,), (64 * gates,)],
        "bias_hh_l0": [(32 * gates - 1,), (64 * gates,)],
    }
    for name, shapes in wrong.items():
        for shape in shapes:
            layer = getattr(t.nn, kind)(16, 32, bidirectional=reverse)
            suffix = "_reverse" if reverse else ""
            dict(layer.named_parameters())[name + suffix].data = t.ones(shape)
            with pytest.raises((RuntimeError, ValueError)):
                layer(t.ones(10, 8, 16))
