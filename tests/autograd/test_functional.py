"""`autograd.functional`: Jacobians, Hessians and products with them."""

from __future__ import annotations

import pytest

from tests.both import same


def _inputs(torch, requires_grad=False):
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=requires_grad)
    y = torch.tensor([0.5, -1.0], dtype=torch.float64, requires_grad=requires_grad)
    return x, y


def _vector(x, y):
    return x.exp()[:2] * y, (x * x).sum()


def _scalar(x, y):
    return (x**3).sum() * (y**2).sum()


# --- products ------------------------------------------------------------------------------------


@same
def test_vjp(torch):
    x, y = _inputs(torch)
    v = torch.tensor([1.0, 2.0], dtype=torch.float64), torch.tensor(3.0, dtype=torch.float64)
    return torch.autograd.functional.vjp(_vector, (x, y), v)


@same
def test_vjp_of_a_scalar_needs_no_vector(torch):
    x, _ = _inputs(torch)
    return torch.autograd.functional.vjp(lambda x: (x**3).sum(), x)


@same
def test_jvp(torch):
    x, y = _inputs(torch)
    v = torch.ones(3, dtype=torch.float64), torch.tensor([1.0, -1.0], dtype=torch.float64)
    return torch.autograd.functional.jvp(_vector, (x, y), v)


@same
def test_hvp_and_vhp(torch):
    x, y = _inputs(torch)
    v = torch.ones(3, dtype=torch.float64), torch.tensor([1.0, -1.0], dtype=torch.float64)
    functional = torch.autograd.functional
    return functional.hvp(_scalar, (x, y), v), functional.vhp(_scalar, (x, y), v)


@same
@pytest.mark.parametrize("name", ["vjp", "jvp", "hvp", "vhp"])
def test_products_with_create_graph(torch, name):
    x, y = _inputs(torch, requires_grad=True)
    v = tuple(torch.ones_like(t) for t in (x, y))
    v = torch.ones((), dtype=torch.float64) if name == "vjp" else v
    out, product = getattr(torch.autograd.functional, name)(_scalar, (x, y), v, create_graph=True)
    product = product if isinstance(product, tuple) else (product,)
    total = sum(p.sum() for p in product) + out
    return out.detach(), [p.detach() for p in product], torch.autograd.grad(total, (x, y))


@same
@pytest.mark.parametrize("name", ["vjp", "jvp"])
def test_vector_must_fit(torch, name):
    x, _ = _inputs(torch)
    product = getattr(torch.autograd.functional, name)
    with pytest.raises(RuntimeError, match="The vector v can only be None if"):
        product(lambda x: x * 2, x)
    with pytest.raises(RuntimeError, match="v has invalid size"):
        product(lambda x: x * 2, x, torch.ones(2, dtype=torch.float64))


@same
def test_inputs_must_be_tensors(torch):
    functional = torch.autograd.functional
    with pytest.raises(TypeError, match="must be either a Tensor or a tuple of Tensors"):
        functional.vjp(lambda x: x, 3)
    with pytest.raises(TypeError, match="must be either a Tensor or a tuple of Tensors"):
        functional.jacobian(lambda x: 3, torch.ones(2))


@same
@pytest.mark.parametrize("name", ["hvp", "vhp", "hessian"])
def test_hessian_needs_a_scalar(torch, name):
    function = getattr(torch.autograd.functional, name)
    x = torch.ones(2)
    arguments = (x,) if name == "hessian" else (x, torch.ones(2))
    with pytest.raises(RuntimeError, match="should contain a single element"):
        function(lambda x: x * 2, *arguments)
    with pytest.raises(RuntimeError, match="should return a single Tensor"):
        function(lambda x: (x.sum(), x.sum()), *arguments)


# --- whole matrices ------------------------------------------------------------------------------


@same
@pytest.mark.parametrize("vectorize", [False, True])
def test_jacobian(torch, vectorize):
    x, y = _inputs(torch)
    jacobian = torch.autograd.functional.jacobian
    return (
        jacobian(lambda x: x.exp(), x, vectorize=vectorize),
        jacobian(lambda x: x.reshape(3, 1) * x, x, vectorize=vectorize),
        jacobian(_vector, (x, y), vectorize=vectorize),
        jacobian(lambda x: (x, x.sum()), x, vectorize=vectorize),
        jacobian(_scalar, (x, y), vectorize=vectorize),
    )


@same
def test_jacobian_by_forward_mode(torch):
    x, y = _inputs(torch)
    jacobian = torch.autograd.functional.jacobian
    options = {"vectorize": True, "strategy": "forward-mode"}
    return (
        jacobian(lambda x: x.exp(), x, **options),
        jacobian(_vector, (x, y), **options),
        jacobian(lambda x: (x, x.sum()), x, **options),
    )


@same
def test_jacobian_strategies_that_do_not_go_together(torch):
    x, _ = _inputs(torch)
    jacobian = torch.autograd.functional.jacobian
    with pytest.raises(NotImplementedError, match="`create_graph=True` and `strategy="):
        jacobian(lambda x: x, x, create_graph=True, strategy="forward-mode")
    with pytest.raises(RuntimeError, match="`strict=True` and `strategy="):
        jacobian(lambda x: x, x, strict=True, strategy="forward-mode")
    with pytest.raises(NotImplementedError, match="implemented for `vectorize=True`"):
        jacobian(lambda x: x, x, strategy="forward-mode")
    with pytest.raises(AssertionError, match="Expected strategy to be either"):
        jacobian(lambda x: x, x, strategy="sideways")
    with pytest.raises(RuntimeError, match="`strict=True` and `vectorized=True` are not supported"):
        jacobian(lambda x: x, x, strict=True, vectorize=True)


@same
def test_jacobian_with_create_graph(torch):
    x, y = _inputs(torch, requires_grad=True)
    found = torch.autograd.functional.jacobian(_vector, (x, y), create_graph=True)
    total = sum(block.sum() for row in found for block in row)
    return total.detach(), torch.autograd.grad(total, (x, y))


@same
def test_jacobian_has_no_history_unless_asked_for(torch):
    x, _ = _inputs(torch, requires_grad=True)
    found = torch.autograd.functional.jacobian(lambda x: x**2, x)
    return found.requires_grad, x.grad


@same
def test_what_a_function_captured_is_constant(torch):
    x, y = _inputs(torch, requires_grad=True)
    found = torch.autograd.functional.jacobian(lambda x: x[:2] * y, x)
    return found, y.grad


@same
@pytest.mark.parametrize("vectorize", [False, True])
@pytest.mark.parametrize("strategy", ["reverse-mode", "forward-mode"])
def test_hessian(torch, vectorize, strategy):
    if strategy == "forward-mode" and not vectorize:
        return None
    x, y = _inputs(torch)
    options = {"vectorize": vectorize, "outer_jacobian_strategy": strategy}
    hessian = torch.autograd.functional.hessian
    single = hessian(lambda x: (x**3).sum(), x, **options)
    blocks = hessian(_scalar, (x, y), **options)
    return single.detach(), [[block.detach() for block in row] for row in blocks]


@same
def test_hessian_with_create_graph(torch):
    x, _ = _inputs(torch, requires_grad=True)
    found = torch.autograd.functional.hessian(lambda x: (x**4).sum(), x, create_graph=True)
    return found.detach(), torch.autograd.grad(found.sum(), x)


# --- strict mode ---------------------------------------------------------------------------------


@same
@pytest.mark.parametrize(
    ("name", "function", "phrase"),
    [
        (
            "jacobian",
            lambda x: x.detach(),
            "Output 0 of the user-provided function does not require",
        ),
        ("jacobian", lambda x, y: x * 2, "is independent of input 1"),
        ("vjp", lambda x, y: (x * 2).sum(), "is independent of input 1"),
        ("jvp", lambda x: x.detach(), "Output 0 of the user-provided function does not require"),
        (
            "hvp",
            lambda x: x.sum(),
            "jacobian of the user-provided function with respect to input 0",
        ),
        (
            "vhp",
            lambda x: x.sum(),
            "jacobian of the user-provided function with respect to input 0",
        ),
        (
            "hessian",
            lambda x: x.sum(),
            "jacobian of the user-provided function with respect to input 0",
        ),
    ],
)
def test_strict(torch, name, function, phrase):
    count = function.__code__.co_argcount
    inputs = tuple(torch.ones(2, dtype=torch.float64) for _ in range(count))
    inputs = inputs if count > 1 else inputs[0]
    arguments = (inputs, inputs) if name in ("jvp", "hvp", "vhp") else (inputs,)
    with pytest.raises(RuntimeError, match=phrase):
        getattr(torch.autograd.functional, name)(function, *arguments, strict=True)


@same
def test_not_strict_gives_zeros(torch):
    x, y = _inputs(torch)
    functional = torch.autograd.functional
    return (
        functional.jacobian(lambda x, y: x * 2, (x, y)),
        functional.vjp(lambda x, y: (x * 2).sum(), (x, y)),
        functional.hessian(lambda x: x.sum(), x),
        functional.jvp(lambda x: x.detach(), x, torch.ones_like(x)),
    )
