"""Forward mode: dual tensors, their tangents through operations, views and in-place changes."""

from __future__ import annotations

import pytest

import tautograd
from tests.both import same


@same
def test_tangent_of_an_expression(torch):
    fwd = torch.autograd.forward_ad
    x = torch.tensor([1.0, 2.0])
    with fwd.dual_level():
        dual = fwd.make_dual(x, torch.tensor([1.0, 0.5]))
        out = (dual.sin() * dual).exp().sum()
        return tuple(fwd.unpack_dual(out))


@same
def test_unpacking(torch):
    fwd = torch.autograd.forward_ad
    x, t = torch.tensor([1.0]), torch.tensor([2.0])
    with fwd.dual_level():
        dual = fwd.make_dual(x, t)
        inside = fwd.unpack_dual(dual)
        plain = fwd.unpack_dual(x)
        kinds = type(inside).__name__, inside._fields, plain.primal is x, plain.tangent
        primal, tangent = inside
    after = fwd.unpack_dual(dual)
    return kinds, primal, tangent, after.tangent


@same
def test_levels_by_hand(torch):
    fwd = torch.autograd.forward_ad
    level = fwd.enter_dual_level()
    dual = fwd.make_dual(torch.ones(2), torch.ones(2), level=level)
    found = fwd.unpack_dual(dual * 3, level=level).tangent
    fwd.exit_dual_level(level=level)
    return level, found, fwd.unpack_dual(dual * 3).tangent


@same
def test_no_level(torch):
    fwd = torch.autograd.forward_ad
    with pytest.raises(RuntimeError, match="no level exists, make sure to"):
        fwd.make_dual(torch.ones(2), torch.ones(2))
    with pytest.raises(RuntimeError, match="level"):
        fwd.exit_dual_level()


@same
def test_levels_do_not_nest(torch):
    fwd = torch.autograd.forward_ad
    with (
        fwd.dual_level(),
        pytest.raises(RuntimeError, match="Nested forward mode AD is not supported"),
        fwd.dual_level(),
    ):
        pass


@same
def test_tangent_must_fit(torch):
    fwd = torch.autograd.forward_ad
    with fwd.dual_level():
        with pytest.raises(RuntimeError, match="different size than that of the original"):
            fwd.make_dual(torch.ones(2), torch.ones(3))
        with pytest.raises(ValueError, match="Expected primal to be floating point or complex"):
            fwd.make_dual(torch.ones(2, dtype=torch.int64), torch.ones(2))
        with pytest.raises(ValueError, match="Expected tangent to be floating point or complex"):
            fwd.make_dual(torch.ones(2), torch.ones(2, dtype=torch.int64))


@same
def test_views_carry_tangents(torch):
    fwd = torch.autograd.forward_ad
    with fwd.dual_level():
        dual = fwd.make_dual(torch.arange(6.0).reshape(2, 3), torch.ones(2, 3) * 2)
        outs = dual.t(), dual[0], dual.reshape(-1)[1::2], dual.sum(0), dual.chunk(3, 1)[1]
        return [tuple(fwd.unpack_dual(o)) for o in outs]


@same
def test_in_place_on_a_dual(torch):
    fwd = torch.autograd.forward_ad
    with fwd.dual_level():
        dual = fwd.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
        y = dual * 1
        y.mul_(3)
        y.add_(dual)
        y[0] = 5.0
        return tuple(fwd.unpack_dual(y))


@same
def test_in_place_gives_a_tensor_its_tangent(torch):
    fwd = torch.autograd.forward_ad
    with fwd.dual_level():
        dual = fwd.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
        plain = torch.zeros(2)
        plain.copy_(dual * dual)
        buffer = torch.zeros(3)
        buffer[1:] = dual
        return tuple(fwd.unpack_dual(plain)), tuple(fwd.unpack_dual(buffer))


@same
def test_constant_result_has_no_tangent(torch):
    fwd = torch.autograd.forward_ad
    with fwd.dual_level():
        dual = fwd.make_dual(torch.tensor([1.0, 2.0]), torch.ones(2))
        return (
            fwd.unpack_dual(dual.detach()).tangent,
            fwd.unpack_dual(dual > 1).tangent,
            fwd.unpack_dual(dual.argmax()).tangent,
        )


@same
def test_forward_over_reverse(torch):
    fwd = torch.autograd.forward_ad
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    v = torch.tensor([1.0, -1.0], dtype=torch.float64)
    with fwd.dual_level():
        dual = fwd.make_dual(x, v)
        (g,) = torch.autograd.grad((dual**3 * dual.sin()).sum(), dual, create_graph=True)
        primal, tangent = fwd.unpack_dual(g)
    return primal.detach(), tangent.detach()


@same
def test_reverse_over_forward(torch):
    fwd = torch.autograd.forward_ad
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    v = torch.tensor([1.0, -1.0], dtype=torch.float64, requires_grad=True)
    with fwd.dual_level():
        tangent = fwd.unpack_dual((fwd.make_dual(x, v) ** 3).sum()).tangent
    return tangent.detach(), torch.autograd.grad(tangent, (x, v))


@same
def test_binary_operations_with_and_without_tangents(torch):
    fwd = torch.autograd.forward_ad
    with fwd.dual_level():
        a = fwd.make_dual(torch.tensor([[1.0, 2.0], [3.0, 4.0]]), torch.ones(2, 2))
        b = torch.tensor([[2.0, 0.0], [1.0, 5.0]])
        outs = [a @ b, b @ a, a / b.add(1), b - a, torch.where(b > 1, a, b), torch.cat([a, b])]
        outs += [torch.maximum(a, b), a.pow(2), 2**a, a * 3]
        return [tuple(fwd.unpack_dual(o)) for o in outs]


@same
def test_complex_tangent(torch):
    fwd = torch.autograd.forward_ad
    with fwd.dual_level():
        z = fwd.make_dual(torch.tensor([1 + 2j]), torch.tensor([1j]))
        outs = z * z, z.abs(), z.real, z.conj() * z
        return [tuple(fwd.unpack_dual(o)) for o in outs]


@same
def test_modules_exported(torch):
    fwd = torch.autograd.forward_ad
    names = "UnpackedDualTensor dual_level enter_dual_level exit_dual_level make_dual unpack_dual"
    return [hasattr(fwd, name) for name in names.split()]


def _add_then_scale(torch, x):
    y = x + 5
    y.mul_(2)
    return y + x


def _write_a_number(torch, x):
    y = x * 1
    y[0] = 7.0
    return y + x


def _through_a_view(torch, x):
    y = -x
    y.add_(x * x)
    y.reshape(3).mul_(2)
    return y * x


def _into_zeros(torch, x):
    y = torch.zeros(3)
    y.copy_(x)
    y.mul_(x)
    z = torch.zeros(4)
    z[1:] = y
    return z * 2


def _part_of_an_expanded_copy(torch, x):
    y = x.expand(2, 3).clone()
    y[0].mul_(4)
    return y.sum(0) + x


@same
@pytest.mark.parametrize(
    "program",
    [_add_then_scale, _write_a_number, _through_a_view, _into_zeros, _part_of_an_expanded_copy],
)
def test_functions_that_write_in_place(torch, program):
    x, v = torch.tensor([1.0, 2.0, 3.0]), torch.tensor([1.0, 10.0, 100.0])

    def f(x):
        return program(torch, x)

    second = torch.func.hessian(lambda x: f(x).sum())(x)
    return torch.func.jvp(f, (x,), (v,)), torch.func.jacfwd(f)(x), second, v


@same
def test_an_integer_operand_has_no_tangent(torch):
    x = torch.tensor([0.5, 2.5], dtype=torch.float64)
    whole, keep = torch.tensor([1, 3]), torch.tensor([True, False])
    functions = [
        lambda a: a - whole,
        lambda a: whole - a,
        lambda a: torch.add(a, whole, alpha=3),
        lambda a: torch.where(keep, a, whole),
        lambda a: torch.cat([a, whole]),
        lambda a: a - a.floor().to(torch.int64),
        lambda a: a.gather(0, whole - whole),
    ]
    return [torch.func.jvp(f, (x,), (torch.ones_like(x),)) for f in functions]


RULES = {
    "passes it on": lambda t, x: x + 1,
    "product": lambda t, x: x * x.sin(),
    "matrices": lambda t, x: x @ x.T,
    "sums": lambda t, x: x.mean(0) - x.sum(),
    "chosen": lambda t, x: t.where(x > 0, x.exp(), x),
    "several results": lambda t, x: x.max(1).values + x.sort(1).values.sum(1),
    "joined": lambda t, x: t.cat([x, x * 2]).relu(),
    "views": lambda t, x: x.T.reshape(-1)[1:],
}


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", RULES)
def test_a_tangent_that_nobody_records_is_the_recorded_one(name, dtype):
    """Nothing that requires a gradient is in sight: the rules run on arrays, and keep memory of their own."""
    torch, function = tautograd, RULES[name]
    ad = torch.autograd.forward_ad
    x = torch.tensor([[0.3, -1.2, 0.7], [2.0, 0.1, -0.4]], dtype=getattr(torch, dtype))
    along = torch.linspace(-1, 1, 6, dtype=x.dtype).reshape(2, 3)
    kept = along.clone()
    found = []
    for recorded in (False, True):
        with ad.dual_level():
            given = x.clone().requires_grad_(recorded)
            tangent = ad.unpack_dual(function(torch, ad.make_dual(given, along))).tangent
            assert tangent.requires_grad is (recorded and tangent.grad_fn is not None)
            found.append(tangent.detach().clone())
            if not recorded and name != "views":
                tangent.zero_()
                assert torch.equal(along, kept)
    assert found[0].dtype is found[1].dtype
    room = 8 * torch.finfo(x.dtype).eps  # sine and exponential may come from other kernels
    assert torch.allclose(*found, rtol=room, atol=room)
