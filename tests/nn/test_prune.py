"""Pruning: masks, the methods that choose them, and the hook that applies them."""

from __future__ import annotations

import copy
import pickle

import pytest
import torch.nn.utils.prune  # noqa: F401  (PyTorch does not load it by itself)

import tautograd
from tests.both import same
from tests.nn.models import gradients


def _outcome(call):
    try:
        return call()
    except Exception as error:
        return [type(error).__name__, str(error)]


def _state(module):
    return [
        repr(module),
        dict(module.named_parameters()),
        dict(module.named_buffers()),
        [type(hook).__name__ for hook in module._forward_pre_hooks.values()],
    ]


CALLS = [
    "prune.identity(m, 'weight')",
    "prune.random_unstructured(m, 'weight', 0.4)",
    "prune.random_unstructured(m, 'bias', 2)",
    "prune.random_unstructured(m, 'weight', 0)",
    "prune.random_unstructured(m, 'weight', 1.0)",
    "prune.l1_unstructured(m, 'weight', amount=5)",
    "prune.l1_unstructured(m, 'weight', 0.3, importance_scores=torch.arange(12.0).view(4, 3))",
    "prune.random_structured(m, 'weight', 2, 0)",
    "prune.random_structured(m, 'weight', amount=0.34, dim=-1)",
    "prune.random_structured(m, 'weight', 0, dim=1)",
    "prune.ln_structured(m, 'weight', 2, 2, 0)",
    "prune.ln_structured(m, 'weight', 0.5, n=float('-inf'), dim=1)",
    "prune.ln_structured(m, 'weight', 1, 'fro', -1)",
    "prune.ln_structured(m, 'weight', 1, 1, 0, torch.arange(12.0).view(4, 3).flip(0))",
    "prune.custom_from_mask(m, 'bias', torch.tensor([0, 1, 0, 1]))",
    "prune.custom_from_mask(m, name='bias', mask=torch.tensor([True, False, False, True]))",
]

ERRORS = [
    "prune.random_unstructured(m, 'weight', 13)",
    "prune.random_unstructured(m, 'weight', 1.5)",
    "prune.random_unstructured(m, 'weight', -1)",
    "prune.random_unstructured(m, 'weight', -0.1)",
    "prune.random_unstructured(m, 'weight', 'half')",
    "prune.random_unstructured(m, 'weights', 1)",
    "prune.l1_unstructured(m, 'weight', 0.5, torch.ones(3, 4))",
    "prune.ln_structured(m, 'bias', 1, 2, 0)",
    "prune.ln_structured(m, 'weight', 1, 2, 2)",
    "prune.random_structured(m, 'weight', 5, 0)",
    "prune.custom_from_mask(m, 'bias', torch.ones(3))",
    "prune.remove(m, 'weight')",
    "prune.global_unstructured(3, prune.L1Unstructured, amount=1)",
    "prune.global_unstructured([(m, 'weight')], prune.L1Unstructured, importance_scores=[1], amount=1)",
    "prune.L1Unstructured(0.5).prune(torch.ones(3), importance_scores=torch.ones(2))",
    "prune.BasePruningMethod()",
    "prune.PruningContainer(prune.L1Unstructured(1))",
    "prune.PruningContainer(prune.L1Unstructured(1), prune.L1Unstructured(1))",
    "prune.PruningContainer().add_pruning_method('x')",
]


@pytest.mark.parametrize("call", CALLS)
@same
def test_one_method(torch, call):
    prune = torch.nn.utils.prune
    m = torch.nn.Linear(3, 4)
    before = m.weight
    assert eval(call) is m
    seen = _state(m)
    m(torch.randn(2, 3)).square().sum().backward()
    seen += [gradients(m), prune.is_pruned(m), type(m.weight).__name__, list(m.state_dict())]
    for name in ("weight", "bias"):
        if hasattr(m, f"{name}_orig"):
            seen.append(getattr(m, name))
            assert prune.remove(m, name) is m
    return [*seen, _state(m), prune.is_pruned(m), m.weight is before, m(torch.ones(1, 3))]


@pytest.mark.parametrize("call", ERRORS)
@same
def test_errors(torch, call):
    """Each is refused in PyTorch's words, and leaves the module as it was."""
    prune = torch.nn.utils.prune
    m = torch.nn.Linear(3, 4)
    found = _outcome(lambda: eval(call, {"prune": prune, "m": m, "torch": torch}))
    assert found[0].endswith("Error"), found
    found[1] = found[1].split(" object at ")[0].replace("tautograd", "torch")
    return [found, _state(m)]


@same
def test_one_after_the_other(torch):
    """Each method chooses among what those before it have left."""
    prune = torch.nn.utils.prune
    m = torch.nn.Conv2d(3, 4, 2)
    prune.ln_structured(m, "weight", 1, 2, 0)
    masks = [m.weight_mask]
    prune.random_unstructured(m, "weight", 0.5)
    masks.append(m.weight_mask)
    prune.l1_unstructured(m, "weight", 3)
    masks.append(m.weight_mask)
    prune.random_structured(m, "weight", 1, -3)
    masks.append(m.weight_mask)
    prune.custom_from_mask(m, "weight", torch.rand(4, 3, 2, 2) > 0.2)
    (container,) = m._forward_pre_hooks.values()
    kinds = [type(method).__name__ for method in container]
    seen = [masks, m.weight_mask, len(container), kinds, type(container[1]).__name__]
    prune.remove(m, "weight")
    return [*seen, m.weight, [name for name, _ in m.named_parameters()]]


@same
def test_a_method_of_ones_own(torch):
    prune = torch.nn.utils.prune

    class EverySecond(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            mask = default_mask.clone()
            mask.view(-1)[::2] = 0
            return mask

    class Rows(EverySecond):
        PRUNING_TYPE = "structured"

    class Unknown(EverySecond):
        PRUNING_TYPE = "other"

    m = torch.nn.Linear(3, 4)
    EverySecond.apply(m, "weight")
    EverySecond.apply(m, "weight")
    seen = [m.weight_mask, m(torch.ones(3))]
    seen.append(_outcome(lambda: Rows.apply(m, "weight")))
    return [
        *seen,
        _outcome(lambda: Unknown.apply(torch.nn.utils.prune.identity(m, "bias"), "bias")),
    ]


@same
def test_a_failing_method_leaves_the_parameter(torch):
    prune = torch.nn.utils.prune

    class Broken(prune.BasePruningMethod):
        PRUNING_TYPE = "unstructured"

        def compute_mask(self, t, default_mask):
            raise ArithmeticError("no mask")

    m = torch.nn.Linear(2, 2)
    weight = m.weight
    with pytest.raises(ArithmeticError, match="no mask"):
        Broken.apply(m, "weight")
    return [m.weight is weight, sorted(m._parameters), list(m.state_dict()), prune.is_pruned(m)]


@same
def test_several_parameters_as_one(torch):
    prune = torch.nn.utils.prune
    m, n = torch.nn.Linear(50, 10), torch.nn.Linear(10, 4)
    pairs = ((m, "weight"), (m, "bias"), (n, "weight"))
    prune.global_unstructured(pairs, prune.L1Unstructured, amount=0.3)
    seen = [m.weight_mask, m.bias_mask, n.weight_mask, hasattr(n, "bias_mask")]
    prune.global_unstructured(
        pairs, prune.L1Unstructured, {(n, "weight"): torch.zeros(4, 10)}, amount=100
    )
    seen += [m.weight_mask.sum(), m.bias_mask.sum(), n.weight_mask.sum()]
    prune.global_unstructured(pairs, prune.RandomUnstructured, amount=0.5)
    seen += [m.weight_mask.sum(), m.bias_mask, n.weight_mask]
    error = _outcome(
        lambda: prune.global_unstructured(pairs, prune.RandomStructured, amount=1, dim=0)
    )
    error[1] = error[1].replace("tautograd", "torch")
    return [seen, error]


@same
def test_without_a_module(torch):
    prune = torch.nn.utils.prune
    t = torch.tensor([[-3.0, 1.0], [0.5, 2.0]])
    mask = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    container = prune.PruningContainer()
    container._tensor_name = "test"
    for method in (prune.L1Unstructured(1), prune.LnStructured(1, 1, 0)):
        method._tensor_name = "test"
        container.add_pruning_method(method)
    return [
        prune.L1Unstructured(2).prune(t),
        prune.L1Unstructured(1).prune(t, default_mask=mask),
        prune.L1Unstructured(1).prune(t, importance_scores=-t),
        prune.LnStructured(1, 2, 0).prune(t, mask),
        prune.RandomUnstructured(2).prune(t),
        prune.RandomStructured(0.5, 1).prune(t),
        container.compute_mask(t, default_mask=mask),
        container.prune(t),
    ]


@pytest.mark.parametrize("layer", ["LSTM(3, 4, 2)", "Conv3d(2, 3, 2)", "Conv1d(2, 3, 2)"])
@same
def test_other_layers(torch, layer):
    prune = torch.nn.utils.prune
    m = eval(f"nn.{layer}", {"nn": torch.nn})
    names = [name for name, _ in m.named_parameters()]
    for name in names:
        prune.l1_unstructured(m, name, 0.5)
    return [_state(m), [getattr(m, name) for name in names]]


@same
def test_state_dicts(torch):
    prune = torch.nn.utils.prune
    one, other = (torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.Tanh()) for _ in range(2))
    prune.l1_unstructured(one[0], "weight", 0.5)
    seen = [_outcome(lambda: other.load_state_dict(one.state_dict()))]
    prune.identity(other[0], "weight")
    seen.append(str(other.load_state_dict(one.state_dict())))
    x = torch.ones(2, 3)
    return [seen, other(x), one(x)]


@pytest.mark.parametrize("again", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_go_on_pruning(again):
    prune = tautograd.nn.utils.prune
    m = prune.random_unstructured(tautograd.nn.Linear(4, 4), "weight", 0.5)
    with tautograd.no_grad():  # the attribute is no leaf, and a copy is asked for leaves only
        m.weight = m.weight.detach()
    prune.l1_unstructured(m, "bias", 1)
    with tautograd.no_grad():
        m.bias = m.bias.detach()
    twin = again(m)
    x = tautograd.randn(3, 4)
    assert tautograd.equal(twin(x), m(x))
    twin.weight_orig.data.zero_()
    assert twin(x).equal(twin.bias.expand(3, 4))
    assert not m(x).equal(twin(x))
    assert prune.is_pruned(twin)
    prune.remove(twin, "weight")
    assert sorted(twin._parameters) == ["bias_orig", "weight"]


@same
def test_pickled_pruned_modules(torch):
    """PyTorch pickles a module whose pruned attribute was made with a graph, too."""
    prune = torch.nn.utils.prune
    m = prune.l1_unstructured(torch.nn.Linear(3, 2), "weight", 2)
    twin = pickle.loads(pickle.dumps(m))
    x = torch.ones(1, 3)
    return [twin(x), m(x), twin.weight_mask, prune.is_pruned(twin)]


def test_loaded_when_first_named():
    import subprocess
    import sys

    program = (
        "import sys, tautograd, tautograd.nn\n"
        "assert 'tautograd.nn.utils.prune' not in sys.modules\n"
        "assert 'prune' in dir(tautograd.nn.utils)\n"
        "tautograd.nn.utils.prune.identity\n"
        "assert 'tautograd.nn.utils.prune' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
