"""Parametrizations: a tensor that is a function of others, as if it were a parameter."""

from __future__ import annotations

import copy
import pickle

import pytest

from tests.both import same
from tests.nn.models import gradients


def _kinds(torch):
    nn = torch.nn

    class Symmetric(nn.Module):
        def forward(self, x):
            return x.triu() + x.triu(1).transpose(-1, -2)

        def right_inverse(self, a):
            return a.triu()

    class Doubled(nn.Module):
        def forward(self, x):
            return 2 * x

    class Factors(nn.Module):
        def forward(self, u, v):
            return u @ v

        def right_inverse(self, w):
            u, s, v = torch.linalg.svd(w, full_matrices=False)
            return u * s, v

    class Fixed(nn.Module):
        def __init__(self, result, inverse=None):
            super().__init__()
            self.result, self.inverse = result, inverse

        def forward(self, *x):
            return self.result(*x)

        def right_inverse(self, x):
            if self.inverse is None:
                raise NotImplementedError
            return self.inverse(x)

    return Symmetric, Doubled, Factors, Fixed


@same
def test_registering_one(torch):
    parametrize = torch.nn.utils.parametrize
    symmetric, *_ = _kinds(torch)
    layer = torch.nn.Linear(3, 3)
    assert parametrize.register_parametrization(layer, "weight", symmetric()) is layer
    seen = [repr(layer), type(layer).__name__, list(layer.state_dict()), layer.weight]
    layer(torch.randn(2, 3)).square().sum().backward()
    seen += [gradients(layer), isinstance(layer, torch.nn.Linear)]
    layer.weight = torch.ones(3, 3)
    seen += [layer.weight, layer.parametrizations.weight.original]
    seen += [parametrize.is_parametrized(layer), parametrize.is_parametrized(layer, "bias")]
    seen.append(parametrize.type_before_parametrizations(layer).__name__)
    return seen


@pytest.mark.parametrize("leave", [True, False])
@same
def test_removing(torch, leave):
    parametrize = torch.nn.utils.parametrize
    symmetric, doubled, *_ = _kinds(torch)
    layer = torch.nn.Linear(3, 3)
    own = layer.weight
    parametrize.register_parametrization(layer, "weight", symmetric())
    parametrize.register_parametrization(layer, "weight", doubled())
    parametrize.register_parametrization(layer, "bias", doubled())
    seen = [repr(layer), layer.weight, layer.bias]
    parametrize.remove_parametrizations(layer, "weight", leave_parametrized=leave)
    seen += [type(layer).__name__, layer.weight, layer.weight is own, list(layer.state_dict())]
    parametrize.remove_parametrizations(layer, "bias", leave_parametrized=leave)
    seen += [type(layer).__name__, layer.bias, list(layer.state_dict()), repr(layer)]
    return [*seen, hasattr(layer, "parametrizations")]


@same
def test_several_originals(torch):
    parametrize = torch.nn.utils.parametrize
    _, _, factors, _ = _kinds(torch)
    layer = torch.nn.Linear(4, 3)
    before = layer.weight.detach().clone()
    parametrize.register_parametrization(layer, "weight", factors())
    seen = [list(layer.state_dict()), layer.weight, torch.allclose(layer.weight, before, atol=1e-6)]
    layer(torch.ones(1, 4)).sum().backward()
    seen.append([p.grad is not None for p in layer.parameters()])
    layer.weight = torch.ones(3, 4)
    seen.append(layer.weight)
    with pytest.raises(ValueError, match="Cannot leave unparametrized"):
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=False)
    parametrize.remove_parametrizations(layer, "weight")
    return [*seen, layer.weight, list(layer.state_dict())]


@same
def test_buffers_and_plain_modules(torch):
    parametrize = torch.nn.utils.parametrize
    _, doubled, *_ = _kinds(torch)
    module = torch.nn.Module()
    module.register_buffer("b", torch.ones(2))
    parametrize.register_parametrization(module, "b", doubled())
    seen = [module.b, list(module.state_dict()), list(dict(module.named_buffers()))]
    with pytest.raises(RuntimeError, match="parametrization Doubled does not implement"):
        module.b = torch.ones(2)
    parametrize.remove_parametrizations(module, "b")
    return [*seen, module.b, list(dict(module.named_buffers()))]


@same
def test_caching(torch):
    parametrize = torch.nn.utils.parametrize
    _, doubled, *_ = _kinds(torch)
    layer = parametrize.register_parametrization(torch.nn.Linear(2, 2), "weight", doubled())
    seen = [layer.weight is layer.weight]
    with parametrize.cached():
        first = layer.weight
        with parametrize.cached():
            seen.append(layer.weight is first)
        seen.append(layer.weight is first)
    return [*seen, layer.weight is first]


@same
def test_copies_and_state(torch):
    parametrize = torch.nn.utils.parametrize
    symmetric, *_ = _kinds(torch)
    layer = parametrize.register_parametrization(torch.nn.Linear(2, 2), "weight", symmetric())
    twin = copy.deepcopy(layer)
    twin.weight = torch.ones(2, 2)
    other = parametrize.register_parametrization(torch.nn.Linear(2, 2), "weight", symmetric())
    other.load_state_dict(layer.state_dict())
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(layer)
    return [layer.weight, twin.weight, other.weight, layer.double().weight.dtype]


@same
def test_transfer(torch):
    parametrize = torch.nn.utils.parametrize
    symmetric, doubled, *_ = _kinds(torch)
    source, target = torch.nn.Linear(2, 2), torch.nn.Linear(2, 2)
    parametrize.register_parametrization(source, "weight", symmetric())
    parametrize.register_parametrization(source, "bias", doubled())
    parametrize.transfer_parametrizations_and_params(source, target)
    same_original = (
        target.parametrizations.weight.original is source.parametrizations.weight.original
    )
    return [target.weight, target.bias, same_original, repr(target)]


WRONG = [
    "register(layer, 'missing', doubled())",
    "register(layer, 'weight', fixed(lambda x: x[:1]))",
    "register(layer, 'weight', fixed(lambda x: x.double()))",
    "register(layer, 'weight', fixed(lambda x: 3))",
    "register(layer, 'weight', fixed(lambda x: x, lambda x: x.double()))",
    "register(layer, 'weight', fixed(lambda x: x, lambda x: 3))",
    "register(layer, 'weight', fixed(lambda x: x, lambda x: [x, 3]))",
    "register(register(layer, 'weight', doubled()), 'weight', fixed(lambda x: x[:1]))",
    "register(register(layer, 'weight', doubled()), 'weight', fixed(lambda x: x.double()))",
    "register(register(layer, 'weight', doubled()), 'weight', fixed(lambda x: 3))",
    "register(register(layer, 'weight', doubled()), 'weight', fixed(lambda x: x, lambda x: 3))",
    "register(register(layer, 'weight', doubled()), 'weight', fixed(lambda x: x, lambda x: x[0]))",
    "register(layer, 'weight', fixed(lambda x: x[:1]), unsafe=True).weight",
    "setattr(register(layer, 'weight', doubled()), 'weight', torch.ones(2, 2))",
    "setattr(register(layer, 'bias', fixed(lambda x: x, lambda x: x)), 'bias', one.double())",
    "torch.nn.utils.parametrize.remove_parametrizations(layer, 'weight')",
    "torch.nn.utils.parametrize.ParametrizationList([], layer.weight)",
    "setattr(register(layer, 'weight', doubled()), 'weight', layer.bias)",
]


@pytest.mark.parametrize("expression", WRONG)
@same
def test_refused(torch, expression):
    _, doubled, _, fixed = _kinds(torch)
    names = {
        "torch": torch,
        "layer": torch.nn.Linear(2, 2),
        "register": torch.nn.utils.parametrize.register_parametrization,
        "doubled": doubled,
        "one": torch.ones(2),
        "fixed": fixed,
    }
    try:
        return eval(expression, names)
    except Exception as error:
        return [type(error).__name__, str(error)]


# --- ready-made ----------------------------------------------------------------------------------


@pytest.mark.parametrize("dim", [0, 1, -1, None])
@same
def test_weight_norm(torch, dim):
    layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 3), dim=dim)
    out = layer(torch.randn(5, 4))
    out.square().sum().backward()
    seen = [repr(layer), out, gradients(layer), list(layer.state_dict()), layer.weight.grad_fn]
    layer.weight = torch.full((3, 4), 2.0)
    seen.append(dict(layer.state_dict()))
    if dim == 0:
        old = {"weight_g": torch.ones(3, 1), "weight_v": torch.ones(3, 4), "bias": torch.zeros(3)}
        layer.load_state_dict(old)
        seen.append(layer.weight)
    torch.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    return [*seen, layer.weight, repr(layer)]


@pytest.mark.parametrize("dim", [None, 0, 1, -1])
@same
def test_spectral_norm(torch, dim):
    layer = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(4, 3), dim=dim)
    seen = [repr(layer), dict(layer.state_dict())]
    for training in (True, False):
        out = layer.train(training)(torch.randn(5, 4))
        layer.zero_grad()
        out.square().sum().backward()
        seen += [out, gradients(layer)]
    bias = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(4, 3), "bias")
    return [*seen, bias.bias, torch.linalg.matrix_norm(layer.weight, 2)]


@pytest.mark.parametrize("trivial", [True, False])
@pytest.mark.parametrize("kind", [None, "matrix_exp", "cayley", "householder"])
@pytest.mark.parametrize("shape", [(4, 4), (5, 3), (3, 5)])
@same
def test_orthogonal(torch, shape, kind, trivial):
    layer = torch.nn.Linear(*shape, dtype=torch.float64)
    torch.nn.utils.parametrizations.orthogonal(
        layer, orthogonal_map=kind, use_trivialization=trivial
    )
    out = layer(torch.randn(2, shape[0], dtype=torch.float64))
    out.square().sum().backward()
    short = min(shape)
    product = layer.weight @ layer.weight.T if shape[1] == short else layer.weight.T @ layer.weight
    assert torch.allclose(product, torch.eye(short, dtype=torch.float64))
    seen = [repr(layer), dict(layer.state_dict())]
    seen += [out, gradients(layer), layer.weight]
    new = torch.nn.init.orthogonal_(torch.empty(*shape[::-1], dtype=torch.float64))
    try:
        layer.weight = new
    except NotImplementedError as error:
        return [*seen, str(error)]
    assert torch.allclose(layer.weight, new)
    return [*seen, layer.weight]


@pytest.mark.parametrize(
    "expression",
    [
        "orthogonal(torch.nn.Linear(2, 2), 'bias')",
        "orthogonal(torch.nn.Linear(2, 2), 'missing')",
        "orthogonal(torch.nn.Linear(2, 2), orthogonal_map='spin')",
        "spectral_norm(torch.nn.Linear(2, 2), 'missing')",
        "spectral_norm(torch.nn.Linear(2, 2), dim=5)",
        "spectral_norm(torch.nn.Linear(2, 2), n_power_iterations=0)",
        "weight_norm(torch.nn.Linear(2, 2), 'missing')",
    ],
)
@same
def test_ready_made_ones_refuse(torch, expression):
    names = {"torch": torch, **vars(torch.nn.utils.parametrizations)}
    with pytest.raises((ValueError, IndexError)) as caught:
        eval(expression, names)
    return [caught.type.__name__, str(caught.value)]
