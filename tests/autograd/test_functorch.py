"""The package `functorch`, as PyTorch's own: modules as functions of their parameters, alone and stacked."""

from __future__ import annotations

import importlib
import warnings

import pytest

from tests.both import same


def functorch(torch):
    return importlib.import_module("functorch" if torch.__name__ == "torch" else "tautograd._functorch")  # fmt: skip


def network(torch, *, norm):
    torch.manual_seed(0)
    layers = [torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2)]
    return torch.nn.Sequential(*layers, *[torch.nn.BatchNorm1d(2)] * norm).eval()


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


@pytest.mark.parametrize("disabled", [False, True])
@same
def test_a_module_as_a_function(torch, disabled):
    net, x = network(torch, norm=False), torch.linspace(-1, 1, 6).view(2, 3)
    function, params = functorch(torch).make_functional(net, disable_autograd_tracking=disabled)
    doubled = function([2 * p for p in params], x)
    return [
        type(params).__name__, [p.requires_grad for p in params],
        [p is q for p, q in zip(params, net.parameters(), strict=True)],
        function(params, x), torch.equal(function(params, x), net(x)), doubled,
    ]  # fmt: skip


@same
def test_with_buffers(torch):
    net, x = network(torch, norm=True), torch.linspace(-1, 1, 6).view(2, 3)
    function, params, buffers = functorch(torch).make_functional_with_buffers(net)
    return [len(params), buffers, function(params, [b + 1 for b in buffers], x)]


@same
def test_several_at_once(torch):
    nets = [network(torch, norm=True) for _ in range(3)]
    for step, net in enumerate(nets):
        with torch.no_grad():
            net[0].bias += step
    x = torch.linspace(-1, 1, 6).view(2, 3)
    function, params, buffers = functorch(torch).combine_state_for_ensemble(nets)
    out = functorch(torch).vmap(function, in_dims=(0, 0, None))(params, buffers, x)
    return [[p.shape for p in params], [p.requires_grad for p in params], out]


@same
def test_transforms(torch):
    f, x = functorch(torch), torch.tensor([0.5, -1.0])
    return [
        f.grad(lambda x: x.sin().sum())(x), f.grad_and_value(lambda x: (x**2).sum())(x), f.jacrev(torch.exp)(x),
        f.jacfwd(torch.exp)(x), f.hessian(lambda x: x.prod())(x), f.vmap(torch.sin)(x),
        f.jvp(torch.sin, (x,), (x,)), f.vjp(torch.sin, x)[0],
    ]  # fmt: skip


@pytest.mark.parametrize(
    "call",
    [
        "make_functional(network(torch, norm=True))",
        "combine_state_for_ensemble([])",
        "combine_state_for_ensemble([network(torch, norm=True), torch.nn.Linear(1, 1).eval()])",
        "combine_state_for_ensemble([network(torch, norm=True), network(torch, norm=True).train()])",
    ],
)
@same
def test_refusals(torch, call):
    with pytest.raises(RuntimeError) as error:
        eval(f"f.{call}", {"f": functorch(torch), "torch": torch, "network": network})
    return str(error.value)


@same
def test_it_says_what_to_use(torch):
    with pytest.warns(FutureWarning, match=r"`functorch.vmap` is deprecated.*`torch.vmap` instead"):
        return functorch(torch).vmap(torch.sin)(torch.ones(2))


@same
def test_batch_norms_without_statistics_under_vmap(torch):
    """What a loop over samples with a batch of one each gives, without writing into the module."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(
        torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.BatchNorm1d(4)
    )
    found = torch.func.replace_all_batch_norm_modules_(net)
    state = dict(net.named_parameters())
    x = torch.linspace(-1, 1, 24).view(4, 2, 3)
    out = torch.func.vmap(lambda one: torch.func.functional_call(net, state, (one,)))(x)
    kept = [module.track_running_stats for module in net[1:]]
    return [found is net, kept, [b for b, _ in net.named_buffers()], out.detach()]


@pytest.mark.filterwarnings("ignore:There is a performance drop")
@pytest.mark.parametrize("remove", ["mutations", "mutations_and_views"])
@same
def test_functionalize_keeps_what_is_computed(torch, remove):
    def f(x):
        y = x.clone()
        y.add_(1).mul_(2)
        y[0].zero_()
        return y.view(-1)

    x = torch.arange(6.0).view(2, 3)
    made = torch.func.functionalize(f, remove=remove)
    with pytest.raises(RuntimeError, match="received invalid argument for remove=x"):
        torch.func.functionalize(f, remove="x")(x)
    return [made(x), torch.func.vmap(made)(x), torch.func.jacrev(made)(x), made.__name__]


@same
def test_names_that_have_moved(torch):
    import sys

    name = "functorch.experimental"
    experimental = importlib.import_module(
        name if torch.__name__ == "torch" else f"tautograd._{name}"
    )
    assert "functorch" in sys.modules or torch.__name__ == "tautograd"
    return [
        experimental.replace_all_batch_norm_modules_ is torch.func.replace_all_batch_norm_modules_,
        experimental.jvp.__name__, experimental.functionalize.__name__,
    ]  # fmt: skip


@same
def test_questions_about_batches(torch):
    core = importlib.import_module(f"{torch.__name__}._C")
    inside = []

    def f(x):
        inside.append(core._functorch.is_batchedtensor(x))
        return x * 2

    before = core._functorch._is_vmap_fallback_enabled()
    core._functorch._set_vmap_fallback_enabled(False)
    try:
        out = torch.func.vmap(f)(torch.ones(3))
        kept = core._functorch._is_vmap_fallback_enabled()
    finally:
        core._functorch._set_vmap_fallback_enabled(before)
    questions = core.has_lapack, core.has_spectral, core._functorch.is_batchedtensor(out)
    return [out, inside, before, kept, *questions]


KEEPING = [
    "sum",
    "mean",
    "amax",
    "prod",
    "all",
    "any",
    "nansum",
    "nanmean",
    "norm",
    "logsumexp",
    "aminmax",
    "argmax",
    "median",
]


@pytest.mark.parametrize("name", KEEPING)
@same
def test_examples_without_dimensions_keep_none(torch, name):
    """A reduction of a scalar with `keepdim` is a scalar, in a batch of them too, and so are its gradients."""
    x = torch.tensor([1.0, 2.0, -3.0])
    found = torch.func.vmap(lambda a: getattr(torch, name)(a, dim=0, keepdim=True))(x)
    return [list(found) if isinstance(found, tuple) else found]
