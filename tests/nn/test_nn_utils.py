"""nn.utils: clipping of gradients, vectors of parameters, norms as hooks, calls without state."""

from __future__ import annotations

import math
import warnings

import pytest

from tests.both import same
from tests.nn.models import counting, gradients, mlp, tied

# --- clipping ------------------------------------------------------------------------------------


def _with_gradients(torch, *dtypes):
    params = []
    for i, dtype in enumerate(dtypes):
        param = torch.nn.Parameter(torch.zeros(3, 2 + i, dtype=getattr(torch, dtype)))
        param.grad = torch.randn(3, 2 + i, dtype=getattr(torch, dtype)) * 3
        params.append(param)
    params.insert(1, torch.nn.Parameter(torch.ones(2)))  # without a gradient
    return params


GROUPS = [("float32", "float32"), ("float64",), ("float32", "float64"), ("float16", "float32")]


@pytest.mark.parametrize("max_norm", [0.5, 1000.0])
@pytest.mark.parametrize("norm_type", [2.0, 1, 3.5, math.inf])
@pytest.mark.parametrize("dtypes", GROUPS, ids="+".join)
@same
def test_clip_grad_norm(torch, dtypes, norm_type, max_norm):
    params = _with_gradients(torch, *dtypes)
    before = [p.grad for p in params]
    total = torch.nn.utils.clip_grad_norm_(params, max_norm, norm_type)
    kept = [p.grad is g for p, g in zip(params, before, strict=True)]
    return [total, [p.grad for p in params], kept, params[0].grad._version]


@same
def test_clip_in_other_forms(torch):
    utils = torch.nn.utils
    params = _with_gradients(torch, "float32", "float32")
    params[0].grad = params[0].grad.t().contiguous().t()
    seen = [utils.clip_grad_norm_(iter(params), 1.0), utils.clip_grad_norm_(params[0], 0.1)]
    seen.append(utils.get_total_norm([p.grad for p in params if p.grad is not None]))
    utils.clip_grads_with_norm_(params, 0.05, torch.tensor(0.1))
    seen.append([p.grad for p in params])
    utils.clip_grad_value_(params, 0.01)
    seen.append([p.grad for p in params])
    utils.clip_grad_value_(params[0], 0.001)
    seen.append(params[0].grad)
    seen += [utils.clip_grad_norm_([], 1.0), utils.get_total_norm([])]
    with pytest.warns(UserWarning, match="`parameters` is an empty generator"):
        seen.append(utils.clip_grad_norm_((p for p in ()), 1.0))
    with pytest.warns(FutureWarning, match="deprecated in favor of"):
        seen.append(utils.clip_grad_norm(params, 1.0))
    return seen


@pytest.mark.parametrize("bad", [math.inf, math.nan])
@same
def test_gradients_that_are_not_finite(torch, bad):
    params = _with_gradients(torch, "float32")
    params[0].grad[0, 0] = bad
    with pytest.raises(RuntimeError, match=r"The total norm of order 2\.0 for gradients"):
        torch.nn.utils.clip_grad_norm_(params, 1.0, error_if_nonfinite=True)
    total = torch.nn.utils.clip_grad_norm_(params, 1.0)
    torch.nn.utils.clip_grad_value_(params, 1.0)
    return [total, params[0].grad]


# --- vectors -------------------------------------------------------------------------------------


@same
def test_parameters_as_a_vector(torch):
    model = mlp(torch, 2, 3, 1)
    vector = torch.nn.utils.parameters_to_vector(model.parameters())
    vector.sum().backward()
    torch.nn.utils.vector_to_parameters(torch.arange(13.0), model.parameters())
    with pytest.raises(TypeError, match=r"expected torch\.Tensor, but got: "):
        torch.nn.utils.vector_to_parameters([1.0], model.parameters())
    return [vector, vector.grad_fn, gradients(model), list(model.parameters())]


@same
def test_skip_init(torch):
    layer = torch.nn.utils.skip_init(torch.nn.Linear, 3, 4, bias=False)
    with pytest.raises(RuntimeError, match="Module must support a 'device' arg"):
        torch.nn.utils.skip_init(torch.nn.ReLU)
    with pytest.raises(RuntimeError, match="Expected a Module; got"):
        torch.nn.utils.skip_init(dict)
    return [repr(layer), tuple(layer.weight.shape), torch.rand(2)]


# --- weight and spectral norm as hooks -----------------------------------------------------------


def _layers(torch):
    return {"linear": torch.nn.Linear(4, 3), "bilinear": torch.nn.Bilinear(4, 2, 3)}


def _inputs(torch, name):
    shapes = {"linear": [(5, 4)], "bilinear": [(5, 4), (5, 2)]}
    return [torch.randn(*shape) for shape in shapes[name]]


@pytest.mark.filterwarnings("ignore:.*weight_norm.* is deprecated:FutureWarning")
@pytest.mark.parametrize("dim", [0, 1, -1, None])
@pytest.mark.parametrize("name", ["linear", "bilinear"])
@same
def test_weight_norm(torch, name, dim):
    layer = torch.nn.utils.weight_norm(_layers(torch)[name], dim=dim)
    seen = [list(layer.state_dict()), layer.weight.grad_fn]
    for _ in range(2):
        out = layer(*_inputs(torch, name))
        out.square().sum().backward()
        seen += [out, gradients(layer)]
        with torch.no_grad():
            for param in layer.parameters():
                param -= 0.1 * param.grad
    with pytest.raises(RuntimeError, match="Cannot register two weight_norm hooks"):
        torch.nn.utils.weight_norm(layer)
    before = layer(*_inputs(torch, name))
    torch.nn.utils.remove_weight_norm(layer)
    with pytest.raises(ValueError, match="weight_norm of 'weight' not found in"):
        torch.nn.utils.remove_weight_norm(layer)
    return [*seen, before, list(layer.state_dict()), layer.weight, len(layer._forward_pre_hooks)]


@pytest.mark.parametrize("dim", [None, 0, 1])
@pytest.mark.parametrize("name", ["linear", "bilinear"])
@same
def test_spectral_norm(torch, name, dim):
    layer = torch.nn.utils.spectral_norm(_layers(torch)[name], n_power_iterations=2, dim=dim)
    seen = [dict(layer.state_dict()), layer.state_dict()._metadata[""]]
    for training in (True, True, False):
        out = layer.train(training)(*_inputs(torch, name))
        layer.zero_grad()
        out.square().sum().backward()
        seen += [out, gradients(layer), layer.weight_u]
    seen.append(str(layer.load_state_dict(layer.state_dict())))
    with pytest.raises(RuntimeError, match="Cannot register two spectral_norm hooks"):
        torch.nn.utils.spectral_norm(layer)
    torch.nn.utils.remove_spectral_norm(layer)
    with pytest.raises(ValueError, match="spectral_norm of 'weight' not found in"):
        torch.nn.utils.remove_spectral_norm(layer)
    return [*seen, list(layer.state_dict()), layer.weight]


@same
def test_spectral_norm_of_version_zero(torch):
    """Older state dicts have no v; it is solved for."""
    layer = torch.nn.utils.spectral_norm(torch.nn.Linear(3, 4))
    layer(torch.ones(1, 3))
    state = dict(layer.state_dict())
    state["weight"] = layer.weight.detach()
    del state["weight_v"]
    layer.load_state_dict(state)
    return layer.eval()(torch.ones(1, 3))


# --- calls without state -------------------------------------------------------------------------


@same
def test_functional_call(torch):
    model = mlp(torch, 2, 3, 1)
    call = torch.func.functional_call
    own = dict(model.named_parameters())
    twice = {name: param.detach() * 2 for name, param in own.items()}
    x = torch.randn(4, 2)
    some = {"0.weight": twice["0.weight"]}
    seen = [
        call(model, twice, x),
        call(model, some, (x,)),
        call(model, [some, {}], kwargs={"input": x}),
    ]
    kept = all(a is b for a, b in zip(own.values(), model.parameters(), strict=True))
    grads = torch.func.grad(lambda p: call(model, p, x).square().sum())(twice)
    return [*seen, kept, grads]


@same
def test_functional_call_of_tied_weights(torch):
    model = tied(torch)
    model.again = torch.nn.Identity()
    call = torch.func.functional_call
    x = torch.randn(2, 3)
    new = {"first.weight": torch.eye(3)}
    seen = [call(model, new, x), call(model, new, x, tie_weights=False)]
    with pytest.raises(ValueError, match="got multiple values for keys"):
        call(model, {**new, "last.weight": torch.ones(3, 3)}, x)
    named = {**new, "first.bias": torch.ones(3), "last.bias": torch.zeros(3)}
    return [*seen, call(model, named, x, strict=True), model.last.weight is model.first.weight]


def test_functional_call_of_a_module_with_two_names():
    """PyTorch leaves the replacement in a module that it finds twice."""
    import tautograd

    model = tied(tautograd)
    own = list(model.parameters())
    x = tautograd.ones(1, 3)
    before = model(x).tolist()
    tautograd.func.functional_call(model, {"first.weight": tautograd.zeros(3, 3)}, x)
    assert all(a is b for a, b in zip(own, model.parameters(), strict=True))
    assert model(x).tolist() == before


@same
def test_functional_call_gives_back_what_was_replaced(torch):
    model = counting(torch)
    state = {name: value.clone() for name, value in model.named_buffers()}
    torch.func.functional_call(model, state, torch.ones(1, 2))
    return [state, model.calls]


WRONG = [
    "call(model, {'0.weight': torch.ones(1)}, x)",
    "call(model, {'0.missing': torch.ones(1)}, x)",
    "call(model, {'missing.weight': torch.ones(1)}, x)",
    "call(model, {'0.weight': torch.ones(3, 2), 'x': x}, x, strict=True)",
    "call(model, [{'0.weight': x}, {'0.weight': x}], x)",
    "call(model, [3], x)",
    "call(model, 3, x)",
]


@pytest.mark.parametrize("expression", WRONG)
@same
def test_functional_call_with_wrong_names(torch, expression):
    model = mlp(torch, 2, 3, 1)
    names = {"call": torch.func.functional_call, "model": model, "torch": torch}
    try:
        found = eval(expression, names | {"x": torch.ones(4, 2)})
    except Exception as error:
        found = [type(error).__name__, str(error)]
    return [found, sorted(dict(model.named_parameters())), hasattr(model[0], "missing")]


@same
def test_stateless_is_the_old_name(torch):
    layer = torch.nn.Linear(2, 2)
    with pytest.warns(FutureWarning, match="stateless.functional_call` is deprecated"):
        return torch.nn.utils.stateless.functional_call(
            layer, {"weight": torch.eye(2)}, torch.ones(1, 2)
        )


@same
def test_ensembles(torch):
    models = [mlp(torch, 2, 3, 1) for _ in range(3)]
    params, buffers = torch.func.stack_module_state(models)
    x = torch.randn(5, 2)

    def one(params, buffers, x):
        return torch.func.functional_call(models[0], (params, buffers), (x,))

    found = torch.func.vmap(one, (0, 0, None))(params, buffers, x)
    found.sum().backward()
    return [found, {name: p.grad for name, p in params.items()}, buffers]


@same
def test_gradients_per_example(torch):
    model = mlp(torch, 3, 4, 1)
    params = {name: p.detach() for name, p in model.named_parameters()}
    x, y = torch.randn(6, 3), torch.randn(6, 1)

    def loss(params, x, y):
        return (torch.func.functional_call(model, params, (x,)) - y).square().sum()

    return torch.func.vmap(torch.func.grad(loss), (None, 0, 0))(params, x, y)


@same
def test_prefix_of_a_state_dict(torch):
    from importlib import import_module

    utils = import_module(f"{torch.__name__}.nn.modules.utils")
    state = torch.nn.ModuleDict({"module": mlp(torch, 1, 2, 1)}).state_dict()
    utils.consume_prefix_in_state_dict_if_present(state, "module.")
    return [list(state), dict(state._metadata)]


def test_warnings_are_off_by_default():
    """Nothing of this warns by itself."""
    import tautograd

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = mlp(tautograd, 2, 3, 1)
        model(tautograd.ones(1, 2)).sum().backward()
        tautograd.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
