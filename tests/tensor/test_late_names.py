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


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("hermitian", [False, True])
@same
def test_ldl(torch, dtype, hermitian):
    torch.manual_seed(2)
    a = torch.randn(2, 4, 4, dtype=getattr(torch, dtype))
    a = a + (a.mH if hermitian else a.mT)
    b = torch.randn(2, 4, 3, dtype=a.dtype)
    factors = torch.linalg.ldl_factor(a, hermitian=hermitian)
    solved = torch.linalg.ldl_solve(*factors, b, hermitian=hermitian)
    again = torch.linalg.ldl_factor_ex(a, hermitian=hermitian)
    return (*factors, solved, *again, torch.linalg.ldl_factor_ex(torch.zeros(2, 2)))


@same
def test_ldl_refuses(torch):
    with pytest.raises(RuntimeError, match="must be batches of square matrices"):
        torch.linalg.ldl_factor(torch.ones(2, 3))
    with pytest.raises(RuntimeError, match="Expected a floating point or complex tensor"):
        torch.linalg.ldl_factor(torch.ones(2, 2, dtype=torch.int64))
    with pytest.raises(RuntimeError, match="Unknown error code: 1"):
        torch.linalg.ldl_factor(torch.zeros(2, 2))
    with pytest.raises(RuntimeError, match="Expected pivots to be integers"):
        torch.linalg.ldl_solve(torch.eye(2), torch.ones(2), torch.ones(2, 1))


@same
def test_norms_that_give_their_moments(torch):
    torch.manual_seed(3)
    x = torch.randn(2, 4, 3, requires_grad=True)
    weight, bias = torch.randn(4, requires_grad=True), torch.randn(4, requires_grad=True)
    running = torch.zeros(4), torch.ones(4)
    found = [
        *torch.native_layer_norm(x, (4, 3), None, None, 1e-5),
        *torch.native_batch_norm(x, weight, bias, *running, True, 0.1, 1e-5),
        *torch.native_batch_norm(x, weight, bias, *running, False, 0.1, 1e-5),
    ]
    groups = torch.native_group_norm(x, weight, bias, 2, 4, 3, 2, 1e-5)
    gradients = torch.autograd.grad(
        found[0].pow(3).sum() + found[3].pow(3).sum() + groups[0].pow(3).sum(), [x, weight]
    )
    none = torch.native_group_norm(x[:0], weight, bias, 0, 4, 3, 2, 1e-5)
    return found, [each.detach() for each in (*groups, *none)], running, gradients


@same
def test_native_dropout(torch):
    torch.manual_seed(3)
    x = torch.ones(40)
    return (
        torch.native_dropout(x, 0.3, True),
        torch.native_dropout(x, 0.3, False),
        torch.native_dropout(x, 1.0, True),
        [torch.native_dropout(torch.zeros(0, dtype=torch.int16), 0.5, t) for t in (True, False)],
    )


@same
def test_native_dropout_of_whole_numbers(torch):
    for p in (0.0, 0.5, 1.0):
        with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired"):
            torch.native_dropout(torch.ones(3, dtype=torch.int16), p, True)


@same
def test_linear_cross_entropy(torch):
    torch.manual_seed(4)
    entropy = torch.nn.functional.linear_cross_entropy
    x, weight, bias = torch.randn(4, 5), torch.randn(3, 5, requires_grad=True), torch.randn(3)
    classes, wide = torch.tensor([0, 2, -100, 1]), torch.randn(3, 2, 5)
    losses = [
        entropy(x, weight, classes), entropy(x, weight, classes, linear_bias=bias, reduction="none"),
        entropy(x, weight, torch.rand(4, 3), label_smoothing=0.1), entropy(x, weight, classes, weight=bias.exp()),
        entropy(x[0], weight, torch.tensor(1)), entropy(x, wide, torch.ones(4, 2, dtype=torch.int64)),
        entropy(x, weight, classes.clamp(0), ignore_index=2),
    ]  # fmt: skip
    with pytest.raises(
        RuntimeError, match="expected equal input and linear_weight last dimensions"
    ):
        entropy(x[:, :2], weight, classes)
    with pytest.raises(
        RuntimeError, match="cannot be specified when target contains probabilities"
    ):
        entropy(x, weight, torch.rand(4, 3), ignore_index=1)
    return losses, torch.autograd.grad(losses[0], weight)


@same
def test_operators_that_are_methods_and_subscripts(torch):
    aten, x = torch.ops.aten, torch.arange(12.0).reshape(3, 4)
    copied = aten._to_copy.default(x, dtype=torch.float64)
    assert aten.alias.default(x).data_ptr() == x.data_ptr()
    return [
        copied, aten.slice.Tensor(x, 1, 1, 4, 2), aten.index.Tensor(x, [None, torch.tensor([0, 2])]),
        aten.detach.default(x.requires_grad_()),
    ]  # fmt: skip


@same
def test_nothing_is_a_symbolic_number(torch):
    kinds = (torch.SymInt, torch.SymFloat, torch.SymBool)
    assert not any(isinstance(value, kinds) for value in (1, 1.0, True))
