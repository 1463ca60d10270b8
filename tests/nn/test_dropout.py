"""Dropout: the same seed drops the same elements, in every layout and dtype."""

from __future__ import annotations

import warnings

import pytest

from tests.both import same

RATES = [0.0, 0.1, 0.5, 0.9, 1.0]
SHAPES = {
    "Dropout": [(20,), (4, 5), (2, 3, 4, 5), (0, 3), ()],
    "Dropout1d": [(4, 5), (2, 3, 4)],
    "Dropout2d": [(2, 3, 4, 5), (2, 3, 4), (3, 4)],
    "Dropout3d": [(2, 3, 2, 2, 2), (3, 2, 2, 2), (3, 4, 5)],
    "AlphaDropout": [(20,), (4, 5), (2, 3, 4, 5)],
    "FeatureAlphaDropout": [(2, 3, 4), (2, 3, 4, 5)],
}
CASES = [(name, shape) for name, shapes in SHAPES.items() for shape in shapes]


@pytest.mark.parametrize(("name", "shape"), CASES)
@same
def test_modules(torch, name, shape):
    seen = []
    for p in RATES:
        for inplace in (False, True):
            module = getattr(torch.nn, name)(p, inplace)
            leaf = torch.randn(shape, requires_grad=True)
            with warnings.catch_warnings(record=True) as said:
                warnings.simplefilter("always")
                x = leaf * 1
                out = module(x)
                out.sum().backward()
                kept = module.eval()(x)
            seen.append([repr(module), out, out.grad_fn, leaf.grad, out is x, kept is x])
            seen.append([str(w.message) for w in said])
    return [*seen, torch.rand(2)]  # and the stream goes on from the same place


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int64"])
@same
def test_dtypes(torch, dtype):
    x = torch.arange(24).reshape(4, 6).to(getattr(torch, dtype))
    try:
        return torch.nn.functional.dropout(x, 0.3)
    except RuntimeError as error:
        return str(error)


@same
def test_layouts(torch):
    """Masks are drawn in the order of memory, not of indices."""
    drop = torch.nn.functional.dropout
    x = torch.randn(4, 6)
    return [
        drop(x.t(), 0.5),
        drop(x[:, ::2], 0.5),
        drop(x.expand(2, 4, 6), 0.5),
        drop(torch.randn(2, 3, 4, 5).to(memory_format=torch.channels_last), 0.5),
    ]


@pytest.mark.parametrize("name", ["dropout", "feature_dropout", "alpha_dropout"])
@same
def test_functions_of_the_engine(torch, name):
    x = torch.randn(3, 4, 5)
    y = x.clone()
    out = getattr(torch, name)(x, 0.4, True)
    same_object = getattr(torch, name + "_")(y, 0.4, True) is y
    return [out, y, same_object, getattr(torch, name)(x, 0.4, False) is x]


REFUSED = [
    "F.dropout(x, 1.5)",
    "F.dropout(x, -0.5)",
    "F.alpha_dropout(x, 2.0)",
    "F.dropout1d(torch.ones(2, 3, 4, 5))",
    "F.dropout2d(torch.ones(3))",
    "torch.dropout(x, 1.5, True)",
    "torch.feature_dropout(torch.ones(3), 0.5, True)",
    "torch.nn.Dropout(1.1)",
]


@pytest.mark.parametrize("expression", REFUSED)
@same
def test_refused(torch, expression):
    names = {"torch": torch, "F": torch.nn.functional, "x": torch.ones(3, 4)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            eval(expression, names)
        except Exception as error:
            return [type(error).__name__, str(error)]
    raise AssertionError("nothing was refused")


@pytest.mark.parametrize("randomness", ["same", "different"])
@same
def test_under_vmap(torch, randomness):
    def example(x):
        return torch.nn.functional.dropout(x, 0.4)

    return torch.func.vmap(example, randomness=randomness)(torch.randn(5, 6))


@same
def test_expected_value_stays(torch):
    x = torch.ones(100_000)
    means = [
        torch.nn.functional.dropout(x, 0.3).mean().item(),
        torch.nn.functional.alpha_dropout(torch.randn(100_000), 0.3, True).std().item(),
    ]
    assert all(abs(mean - 1) < 0.02 for mean in means)
    return means
