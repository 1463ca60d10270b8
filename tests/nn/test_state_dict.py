"""State dicts: their keys and order, loading and its errors, hooks, versions, and both engines'
state for the same seed."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
import pytest
import torch as pytorch

import tautograd
from tests.both import same
from tests.nn.models import counting, mlp, tied

# --- saving --------------------------------------------------------------------------------------


@same
def test_keys_values_and_metadata(torch):
    seen = []
    for model in (counting(torch), mlp(torch, 2, 3, 1), tied(torch)):
        state = model.state_dict()
        seen.append([type(state).__name__, dict(state), dict(state._metadata)])
        seen.append(list(model.state_dict(prefix="here.")))
    return seen


@same
def test_values_share_memory_and_know_no_gradient(torch):
    layer = torch.nn.Linear(1, 1)
    state = layer.state_dict()
    kept = layer.state_dict(keep_vars=True)
    with torch.no_grad():
        layer.weight.fill_(3)
    return [
        state["weight"],
        kept["weight"] is layer.weight,
        type(state["weight"]).__name__,
        type(kept["weight"]).__name__,
    ]


@same
def test_destination(torch):
    given = OrderedDict(other=1)
    layer = torch.nn.Linear(1, 1)
    found = layer.state_dict(destination=given, prefix="a.")
    with pytest.warns(FutureWarning, match="Positional args are being deprecated"):
        old = layer.state_dict(OrderedDict(), "b.", True)
    return [found is given, list(found), list(old), old["b.weight"] is layer.weight]


# --- loading -------------------------------------------------------------------------------------


@same
def test_loading_copies(torch):
    model, other = mlp(torch, 2, 3, 1), mlp(torch, 2, 3, 1)
    own = model[0].weight
    result = model.load_state_dict(other.state_dict())
    same_values = (own == other[0].weight).all().item()
    return [str(result), model[0].weight is own, same_values, own.requires_grad, own.is_leaf]


LOADED = {
    "missing and unexpected": {"drop": ["0.weight"], "add": {"5.weight": 1, "a": 1, "0.c": 1}},
    "wrong shape": {"change": {"0.weight": (3, 3), "2.bias": (2,)}},
    "no tensor": {"set": {"0.bias": 3}},
    "all of these": {
        "drop": ["0.weight"],
        "add": {"x.y": 1},
        "change": {"2.weight": (4, 4)},
        "set": {"0.bias": "text"},
    },
}


@pytest.mark.parametrize("strict", [True, False])
@pytest.mark.parametrize("case", LOADED)
@same
def test_what_does_not_fit(torch, case, strict):
    model = mlp(torch, 2, 3, 1)
    state = dict(mlp(torch, 2, 3, 1).state_dict())
    changes = LOADED[case]
    for key in changes.get("drop", ()):
        del state[key]
    state |= {key: torch.ones(n) for key, n in changes.get("add", {}).items()}
    state |= {key: torch.ones(shape) for key, shape in changes.get("change", {}).items()}
    state |= changes.get("set", {})
    try:
        result = model.load_state_dict(state, strict=strict)
    except RuntimeError as error:
        return ["error", str(error)]
    return [str(result), result.missing_keys, result.unexpected_keys, dict(model.state_dict())]


@same
def test_one_element_for_a_number(torch):
    """Checkpoints from before there were 0-dim tensors have one element in their place."""
    module = torch.nn.Module()
    module.register_buffer("count", torch.tensor(0))
    module.load_state_dict({"count": torch.tensor([7])})
    return module.count


@same
def test_other_dtypes_are_converted(torch):
    layer = torch.nn.Linear(1, 1)
    layer.load_state_dict({"weight": torch.ones(1, 1, dtype=torch.float64), "bias": torch.zeros(1)})
    return layer.weight


@same
def test_assign_takes_the_tensors_over(torch):
    layer = torch.nn.Linear(1, 1)
    layer.weight.requires_grad_(False)
    layer.register_buffer("count", torch.tensor(0))
    state = {
        "weight": torch.ones(1, 1, dtype=torch.float64),
        "bias": torch.nn.Parameter(torch.zeros(1)),
        "count": torch.tensor(5),
    }
    layer.load_state_dict(state, assign=True)
    return [
        layer.weight,
        type(layer.weight).__name__,
        layer.bias is state["bias"],
        layer.count is state["count"],
    ]


@same
def test_non_persistent_buffers_stay(torch):
    model, other = counting(torch), counting(torch)
    other.passing += 1
    other.calls += 4
    model.load_state_dict(other.state_dict())
    return [model.passing, model.calls]


# --- extra state, hooks, versions ----------------------------------------------------------------


@same
def test_extra_state(torch):
    class Extra(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = torch.nn.Linear(1, 1)
            self.word = "first"

        def get_extra_state(self):
            return {"word": self.word}

        def set_extra_state(self, state):
            self.word = state["word"]

    model, other = Extra(), Extra()
    other.word = "second"
    model.load_state_dict(other.state_dict())
    seen = [list(other.state_dict()), model.word]
    for given in (torch.nn.Linear(1, 1).state_dict(), {}):
        try:
            model.load_state_dict(given)
        except RuntimeError as error:
            seen.append(str(error))
    try:
        torch.nn.Linear(1, 1).load_state_dict({"_extra_state": 1})
    except RuntimeError as error:
        seen.append(str(error))
    return seen


@same
def test_hooks_of_saving(torch):
    model = mlp(torch, 1, 2, 1)
    seen = []
    model[0].register_state_dict_pre_hook(lambda m, prefix, keep: seen.append((prefix, keep)))
    model[0].register_state_dict_post_hook(
        lambda m, state, prefix, meta: seen.append((list(state), prefix, meta))
    )
    model._register_state_dict_hook(lambda m, state, prefix, meta: {"only": 1})
    seen.append(model.state_dict())

    def returns(m, state, prefix, meta):
        return state

    model[0].register_state_dict_post_hook(returns)
    with pytest.raises(RuntimeError, match="state_dict post-hook must return None"):
        model.state_dict()
    with pytest.raises(RuntimeError, match="Cannot register the same function"):
        model._register_state_dict_hook(returns)
    return seen


@same
def test_hooks_of_loading(torch):
    model = mlp(torch, 1, 2, 1)
    seen = []

    def rename(module, state, prefix, metadata, strict, missing, unexpected, errors):
        seen.append((type(module).__name__, prefix, strict, sorted(state)))
        for name in ("weight", "bias"):
            if f"{prefix}old_{name}" in state:
                state[prefix + name] = state.pop(f"{prefix}old_{name}")

    def check(module, keys):
        seen.append((type(module).__name__, list(keys.missing_keys), list(keys.unexpected_keys)))
        keys.missing_keys.clear()

    model[0].register_load_state_dict_pre_hook(rename)
    model[0]._register_load_state_dict_pre_hook(lambda *given: seen.append(len(given)))
    model.register_load_state_dict_post_hook(check)
    state = {"0.old_weight": torch.ones(2, 1), "0.old_bias": torch.ones(2)}
    seen.append(str(model.load_state_dict(state)))
    model.register_load_state_dict_post_hook(lambda module, keys: keys)
    with pytest.raises(AssertionError, match="not expected to return new values"):
        model.load_state_dict(state)
    return [*seen, model[0].weight]


@same
def test_versions(torch):
    class Newer(torch.nn.Linear):
        _version = 2

        def _load_from_state_dict(self, state, prefix, metadata, *rest):
            if metadata.get("version", 1) < 2:
                state[prefix + "weight"] = state.pop(prefix + "kernel").t()
            super()._load_from_state_dict(state, prefix, metadata, *rest)

    model = torch.nn.Sequential(Newer(2, 1))
    state = model.state_dict()
    old = OrderedDict([("0.kernel", torch.ones(2, 1)), ("0.bias", torch.zeros(1))])
    model.load_state_dict(old)
    first = model[0].weight.clone()
    model.load_state_dict(state)
    return [dict(state._metadata), first, model[0].weight]


# --- both engines --------------------------------------------------------------------------------

MODELS = {
    "linear": lambda nn: nn.Linear(7, 5),
    "no bias": lambda nn: nn.Linear(3, 4, bias=False),
    "double": lambda nn: nn.Linear(3, 4, dtype=nn.Linear(1, 1).double().weight.dtype),
    "bilinear": lambda nn: nn.Bilinear(3, 4, 5),
    "prelu": lambda nn: nn.PReLU(3),
    "deep": lambda nn: nn.Sequential(*(nn.Linear(6, 6) for _ in range(4))),
    "large": lambda nn: nn.Linear(130, 70),
}


@pytest.mark.parametrize("name", MODELS)
def test_same_seed_gives_the_same_state(name):
    states = []
    for engine in (pytorch, tautograd):
        engine.manual_seed(1234)
        states.append(MODELS[name](engine.nn).state_dict())
    want, got = states
    assert list(got) == list(want)
    for key, value in want.items():
        np.testing.assert_array_equal(got[key].numpy(), value.numpy())


def test_state_goes_over_by_numpy():
    theirs, ours = mlp(pytorch, 4, 8, 2), mlp(tautograd, 4, 8, 2)
    state = {key: tautograd.from_numpy(v.numpy()) for key, v in theirs.state_dict().items()}
    ours.load_state_dict(state)
    x = np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32)
    with pytorch.no_grad():
        want = theirs(pytorch.from_numpy(x)).numpy()
    got = ours(tautograd.from_numpy(x)).detach().numpy()
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-6)
