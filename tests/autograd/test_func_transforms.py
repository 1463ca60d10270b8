"""`torch.func`: functions from functions, and compositions of them."""

from __future__ import annotations

import pytest

from tests.both import same


def _x(torch):
    return torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)


# --- grad ----------------------------------------------------------------------------------------


@same
def test_grad(torch):
    x = torch.tensor(2.0)
    f = torch.func.grad(lambda x: x**3)
    return f(x), torch.func.grad(f)(x), torch.func.grad(torch.func.grad(f))(x)


@same
def test_grad_of_chosen_arguments(torch):
    x, y = _x(torch), torch.tensor(2.0, dtype=torch.float64)

    def f(x, y, power=2):
        return ((x * y) ** power).sum()

    grad = torch.func.grad
    return (
        grad(f, 1)(x, y),
        grad(f, (0, 1))(x, y),
        grad(f, argnums=-1)(x, y),
        grad(f)(x, y, power=3),
    )


@same
def test_grad_of_nested_arguments(torch):
    parameters = {"w": _x(torch), "b": (torch.tensor(1.0, dtype=torch.float64),)}
    return torch.func.grad(lambda p, x: ((p["w"] * x + p["b"][0]) ** 2).sum())(
        parameters, _x(torch)
    )


@same
def test_grad_with_aux(torch):
    def f(x):
        return (x**2).sum(), {"double": x * 2}

    x = _x(torch)
    return torch.func.grad(f, has_aux=True)(x), torch.func.grad_and_value(f, has_aux=True)(x)


@same
def test_grad_and_value(torch):
    x = _x(torch)
    found = torch.func.grad_and_value(lambda x: (x**3).sum())(x)
    return found, [t.requires_grad for t in found]


@same
def test_grad_leaves_the_inputs_alone(torch):
    x = _x(torch).requires_grad_()
    found = torch.func.grad(lambda x: (x**2).sum())(x)
    return x.grad, x.requires_grad, found.detach(), found.requires_grad


@same
def test_grad_inside_a_recorded_computation(torch):
    x = _x(torch).requires_grad_()
    g = torch.func.grad(lambda x: (x**3).sum())(x)
    (g * g).sum().backward()
    return x.grad


@same
def test_grad_of_a_function_of_captured_tensors(torch):
    w = _x(torch).requires_grad_()
    g = torch.func.grad(lambda x: (x * w).sum() ** 2)(_x(torch))
    g.sum().backward()
    return g.detach(), w.grad


@same
def test_grad_under_no_grad(torch):
    x = _x(torch)
    with torch.no_grad():
        outside = torch.func.grad(lambda x: (x**2).sum())(x)

    def f(x):
        with torch.no_grad():
            c = x**2
        return (x - c).sum()

    return outside, torch.func.grad(f)(x)


@same
def test_grad_errors(torch):
    x = _x(torch)
    grad = torch.func.grad
    with pytest.raises(RuntimeError, match="to return a scalar Tensor, got tensor with 1 dims"):
        grad(lambda x: x * 2)(x)
    with pytest.raises(RuntimeError, match="Expected f\\(\\*args\\) to return a Tensor"):
        grad(lambda x: 3)(x)
    with pytest.raises(RuntimeError, match="argnum"):
        grad(lambda x: x.sum(), 1)(x)
    with pytest.raises(RuntimeError, match="output of function f should be a tuple"):
        grad(lambda x: x.sum(), has_aux=True)(x)


# --- vjp and jvp ---------------------------------------------------------------------------------


@same
def test_vjp(torch):
    x, y = _x(torch), torch.tensor(2.0, dtype=torch.float64)
    out, pull = torch.func.vjp(lambda x, y: x * x * y, x, y)
    v = torch.tensor([1.0, 0.0, -1.0], dtype=torch.float64)
    return out, pull(v), pull(v * 2)


@same
def test_vjp_with_aux_and_nests(torch):
    x = _x(torch)
    out, pull, aux = torch.func.vjp(lambda x: ({"a": x**2, "b": x.sum()}, x.sin()), x, has_aux=True)
    return out, aux, pull({"a": torch.ones_like(x), "b": torch.tensor(2.0, dtype=torch.float64)})


@same
def test_vjp_errors(torch):
    x = _x(torch)
    with pytest.raises(RuntimeError, match=r"to return|tensors"):
        torch.func.vjp(lambda x: 3, x)
    _, pull = torch.func.vjp(lambda x: x * 2, x)
    with pytest.raises(RuntimeError):
        pull(torch.ones(2, dtype=torch.float64))


@same
def test_jvp(torch):
    x, y = _x(torch), torch.tensor(2.0, dtype=torch.float64)
    tangents = torch.ones_like(x), torch.tensor(10.0, dtype=torch.float64)
    return torch.func.jvp(lambda x, y: (x * x * y, x.sum()), (x, y), tangents)


@same
def test_jvp_with_aux(torch):
    x = _x(torch)
    return torch.func.jvp(lambda x: (x**2, x.cos()), (x,), (torch.ones_like(x),), has_aux=True)


@same
def test_jvp_errors(torch):
    x = _x(torch)
    with pytest.raises(RuntimeError, match="Expected primals to be a tuple"):
        torch.func.jvp(lambda x: x, x, x)
    with pytest.raises(RuntimeError, match="same python structure"):
        torch.func.jvp(lambda x: x, (x,), (x, x))


@same
def test_jvp_of_a_constant(torch):
    x = _x(torch)
    return torch.func.jvp(lambda x: torch.ones(2), (x,), (x,))


@same
def test_jvp_nests(torch):
    x = torch.tensor(2.0)
    one = torch.tensor(1.0)

    def first(x):
        return torch.func.jvp(lambda x: x**4, (x,), (one,))[1]

    def second(x):
        return torch.func.jvp(first, (x,), (one,))[1]

    return first(x), second(x), torch.func.jvp(second, (x,), (one,))


@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node")
@same
def test_linearize(torch):
    x = _x(torch)
    out, along = torch.func.linearize(lambda x: x.sin() * x, x)
    return out, along(torch.ones_like(x)), along(x)


# --- Jacobians -----------------------------------------------------------------------------------


@same
@pytest.mark.parametrize("name", ["jacrev", "jacfwd"])
def test_jacobians(torch, name):
    jac = getattr(torch.func, name)
    x, y = _x(torch), torch.tensor([0.5, -1.0], dtype=torch.float64)

    def f(x, y):
        return x.exp()[:2] * y, {"s": (x * x).sum()}

    return (
        jac(lambda x: x.sin())(x),
        jac(f, argnums=(0, 1))(x, y),
        jac(f, argnums=1)(x, y),
        jac(lambda x: (x**2, x.sum()), has_aux=True)(x),
    )


@same
def test_jacrev_in_chunks(torch):
    x = _x(torch)
    f = lambda x: torch.outer(x, x)  # noqa: E731
    with pytest.raises(ValueError, match="chunk_size"):
        torch.func.jacrev(f, chunk_size=0)
    return [torch.func.jacrev(f, chunk_size=n)(x) for n in (1, 4, 100)]


@same
def test_hessian(torch):
    x = _x(torch)
    return torch.func.hessian(lambda x: (x**3).sum() * x[0])(x)


@same
def test_all_orders_of_modes_agree(torch):
    x = _x(torch)
    fwd, rev = torch.func.jacfwd, torch.func.jacrev

    def f(x):
        return (x.sin() * x).sum()

    return [outer(inner(f))(x) for outer in (fwd, rev) for inner in (fwd, rev)]


# --- compositions --------------------------------------------------------------------------------


@same
def test_per_example_gradients(torch):
    w = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    xs = torch.arange(6.0).reshape(3, 2)
    ys = torch.arange(3.0)

    def loss(w, x, y):
        return ((w @ x).sum() - y) ** 2

    return torch.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(w, xs, ys)


@same
def test_grad_of_vmap(torch):
    x = torch.arange(6.0).reshape(2, 3)
    return torch.func.grad(lambda x: torch.vmap(lambda r: (r**2).sum())(x).sum())(x)


@same
def test_vmap_of_jvp_and_vjp(torch):
    x = torch.arange(6.0).reshape(2, 3)

    def along(x):
        return torch.func.jvp(lambda x: x.sin(), (x,), (torch.ones(3),))[1]

    def back(x):
        return torch.func.vjp(lambda x: x.sin(), x)[1](torch.ones(3))[0]

    return torch.vmap(along)(x), torch.vmap(back)(x)


@same
def test_vmap_of_hessian(torch):
    x = torch.arange(6.0).reshape(2, 3)
    return torch.vmap(torch.func.hessian(lambda x: (x**3).sum()))(x)


@same
def test_jacrev_of_vmap(torch):
    x = torch.arange(4.0).reshape(2, 2)
    return torch.func.jacrev(torch.vmap(lambda r: r * r.sum()))(x)


@same
def test_hessian_vector_product(torch):
    x, v = _x(torch), torch.tensor([1.0, 0.0, -1.0], dtype=torch.float64)

    def f(x):
        return (x**3).sum() * x.prod()

    return torch.func.jvp(torch.func.grad(f), (x,), (v,))


@same
def test_names_are_kept(torch):
    def loss(x):
        """Doc."""
        return x.sum()

    return torch.func.grad(loss).__name__, torch.func.grad(loss).__doc__


@same
def test_exported_names(torch):
    names = (
        "functional_call grad grad_and_value hessian jacfwd jacrev jvp linearize "
        "stack_module_state vjp vmap"
    )
    return [hasattr(torch.func, name) for name in names.split()]


@same
def test_mixed_derivatives_leave_no_history(torch):
    x, y = torch.tensor([1.0, 2.0]), torch.tensor([3.0, 4.0])

    def f(x, y):
        return (x**2 * y**3).sum()

    grad, jacrev, jacfwd = torch.func.grad, torch.func.jacrev, torch.func.jacfwd
    return (
        jacrev(grad(f, 0), 1)(x, y),
        jacfwd(grad(f, (0, 1)), 0)(x, y),
        grad(lambda y: grad(f)(x, y).sum())(y),
        torch.func.hessian(f, argnums=(0, 1))(x, y),
    )


@same
def test_functions_that_write_in_place(torch):
    def f(x):
        y = x.clone()
        y[0] = x[1] * 2
        y.mul_(x)
        return y.sum()

    x = torch.tensor([1.0, 2.0, 3.0])
    batch = torch.arange(6.0).reshape(2, 3)
    return torch.func.grad(f)(x), torch.func.hessian(f)(x), torch.vmap(torch.func.grad(f))(batch)


@same
def test_transforms_of_tensors_that_want_gradients(torch):
    x = torch.ones(3, dtype=torch.float64, requires_grad=True)
    by_rows = torch.func.jacrev(lambda x: x**2)(x)
    by_columns = torch.func.jacfwd(lambda x: x**3)(x)
    (by_rows.sum() + by_columns.sum()).backward()
    return by_rows.detach(), by_columns.detach(), x.grad


_REFUSED = {
    "argnums beyond the inputs": lambda t, x: t.func.grad(t.sum, argnums=2)(x),
    "argnums in a list": lambda t, x: t.func.grad(t.sum, argnums=[0])(x),
    "argnums of text": lambda t, x: t.func.grad(t.sum, argnums=("0",))(x),
    "argnums twice": lambda t, x: t.func.jacrev(t.sin, argnums=(0, -1))(x),
    "no argnums": lambda t, x: t.func.jacfwd(t.sin, argnums=())(x),
    "aux is no tensor": lambda t, x: t.func.grad(lambda x: (x.sum(), 1), has_aux=True)(x),
    "no aux": lambda t, x: t.func.jvp(t.sin, (x,), (x,), has_aux=True),
    "nothing returned": lambda t, x: t.func.vjp(lambda x: (), x),
    "text returned": lambda t, x: t.func.jvp(lambda x: "abc", (x,), (x,)),
    "integers returned": lambda t, x: t.func.vjp(lambda x: x.long(), x),
    "no tuple": lambda t, x: t.func.jvp(t.sin, x, (x,)),
    "other nest": lambda t, x: t.func.jvp(t.sin, (x,), [x]),
    "a number": lambda t, x: t.func.jvp(t.sin, (1.0,), (x,)),
    "no inputs": lambda t, x: t.func.jvp(t.sin, (), ()),
    "cotangents in another nest": lambda t, x: t.func.vjp(lambda x: (x, x), x)[1]((x, (x, x))),
    "complex Jacobian": lambda t, x: t.func.jacrev(lambda x: x.conj())(x.to(t.complex64)),
}


@pytest.mark.parametrize("case", _REFUSED)
@same
def test_wrong_arguments(torch, case):
    with pytest.raises(RuntimeError) as found:
        _REFUSED[case](torch, torch.randn(3))
    return str(found.value)[:36]


@same
def test_chunks_draw_the_same_numbers(torch):
    f = torch.func.vmap(lambda x: x + torch.rand(2), randomness="same", chunk_size=2)
    return f(torch.zeros(5))


@same
def test_inference_mode_outside(torch):
    x = torch.arange(3.0)
    with torch.inference_mode():
        gradient = torch.func.grad(lambda x: (x**2).sum())(x)
        second = torch.func.jacrev(torch.func.grad(lambda x: (x**3).sum()))(x)
        output, pull = torch.func.vjp(lambda x: x**2, x)
        pulled = pull(torch.ones(3))
        rows = torch.func.vmap(torch.func.grad(lambda x: x**3))(x)
    return [v + 0 for v in (gradient, second, output, *pulled, rows)]


@same
def test_a_jacobian_is_recorded_as_a_view(torch):
    w = torch.ones(3, requires_grad=True)
    x = torch.ones(3)
    functions = (lambda z: (z * w).cumsum(0)), (lambda z: (z * w).sum())
    ways = torch.func.jacrev, torch.func.jacfwd
    return [type(way(f)(x).grad_fn).__name__ for f in functions for way in ways]
