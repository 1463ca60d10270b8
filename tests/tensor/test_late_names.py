"""Names that few programs use, loaded when one does: the same results as PyTorch's."""

from __future__ import annotations

import pytest

from tests.both import same

EXPRESSIONS = [
    "torch.detach(torch.ones(2, requires_grad=True) * 2)",
    "torch.frobenius_norm(x, (0, 1)), torch.frobenius_norm(x, 1), torch.frobenius_norm(x, [0], True)",
    "torch.nuclear_norm(x), torch.nuclear_norm(x, (0, 1), True)",
    "torch.unravel_index(torch.tensor([[5, 1], [0, 3]]), (2, 3)), torch.unravel_index(torch.tensor(4), 7)",
    "torch.nonzero_static(x, size=3), torch.nonzero_static(x, size=8, fill_value=-2)",
    "torch._utils._flatten_dense_tensors([x, x[0]])",
    "torch._utils._unflatten_dense_tensors(torch.arange(9.0), [x, x[0]])",
    "torch.utils.checkpoint.get_device_states(x)",
]


@pytest.mark.filterwarnings("ignore:.*is deprecated and it is just left")
@pytest.mark.parametrize("text", EXPRESSIONS)
@same
def test_results(torch, text):
    return eval(text, {"torch": torch, "x": torch.arange(6.0).reshape(2, 3)})


@pytest.mark.parametrize("shape", [(8, 5), (5, 8), (2, 6, 4)])
@same
def test_svd_lowrank(torch, shape):
    torch.manual_seed(1)
    a = torch.randn(*shape, dtype=torch.float64)
    u, s, v = torch.svd_lowrank(a, q=3)
    return s, (u * s.unsqueeze(-2)) @ v.mH, torch.get_rng_state()


@pytest.mark.parametrize("center", [True, False])
@same
def test_pca_lowrank(torch, center):
    torch.manual_seed(1)
    u, s, v = torch.pca_lowrank(torch.randn(9, 4, dtype=torch.float64), q=2, center=center)
    return s, (u * s) @ v.mH


@pytest.mark.parametrize(
    ("text", "phrase"),
    [
        ("torch.pca_lowrank(x, q=9)", "must be non-negative integer and not greater than"),
        ("torch.pca_lowrank(x, niter=-1)", "must be non-negative integer"),
        ("torch.unravel_index(x, (2, 3))", "expected 'indices' to be integer dtype"),
        ("torch.unravel_index(torch.tensor([1]), (-2, 3))", "'shape' cannot have negative values"),
    ],
)
@same
def test_errors(torch, text, phrase):
    with pytest.raises((TypeError, ValueError), match=phrase):
        eval(text, {"torch": torch, "x": torch.ones(2, 3)})


def test_principal_components_of_a_sparse_matrix():
    import tautograd as torch

    torch.manual_seed(0)
    dense = torch.randn(6, 4, dtype=torch.float64) * (torch.rand(6, 4) > 0.5)
    torch.manual_seed(5)
    expected = torch.pca_lowrank(dense, q=4)[1]
    torch.manual_seed(5)
    assert torch.allclose(torch.pca_lowrank(dense.to_sparse(), q=4)[1], expected)


@pytest.mark.parametrize("dtype", ["float64", "complex128"])
@pytest.mark.parametrize("layout", ["to_sparse", "to_sparse_csr", "to_sparse_csc"])
@pytest.mark.parametrize("shape", [(6, 4), (4, 6)])
def test_low_rank_of_a_sparse_matrix_is_that_of_its_values(shape, layout, dtype):
    import tautograd as torch

    torch.manual_seed(0)
    dense = torch.randn(*shape, dtype=getattr(torch, dtype)) * (torch.rand(*shape) > 0.5)
    mean = torch.randn(1, shape[1], dtype=dense.dtype)

    def outcomes(a):
        torch.manual_seed(5)
        calls = (
            torch.svd_lowrank(a, q=2),
            torch.svd_lowrank(a, q=2, M=mean),
            torch.pca_lowrank(a, q=2),
        )
        return [(u * s) @ v.mH for u, s, v in calls]

    for got, want in zip(outcomes(getattr(dense, layout)()), outcomes(dense), strict=True):
        torch.testing.assert_close(got, want)
