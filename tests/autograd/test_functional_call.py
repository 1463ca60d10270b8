"""Calling a module with other parameters than its own, and stacking those of several."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import tautograd


class Module:
    """What `functional_call` needs of a module: names, owners, and a call."""

    def __init__(self, scale=1.0):
        self.training = True
        weight = tautograd.tensor([1.0, 2.0]) * scale
        self._parameters = {"weight": weight.requires_grad_(), "tied": None}
        self._parameters["tied"] = self._parameters["weight"]
        self._buffers = {"offset": tautograd.tensor([10.0, 20.0]) * scale}

    def named_parameters(self, remove_duplicate=True):
        seen = set()
        for name, value in self._parameters.items():
            if not (remove_duplicate and id(value) in seen):
                seen.add(id(value))
                yield name, value

    def named_buffers(self, remove_duplicate=True):
        yield from self._buffers.items()

    def __call__(self, x, *, plus=0.0):
        held = SimpleNamespace(**self._parameters, **self._buffers)
        return x * held.weight + held.tied + held.offset + plus


def test_replacements_are_used_and_taken_back():
    module = Module()
    own = module._parameters["weight"]
    call = tautograd.func.functional_call
    found = call(module, {"weight": tautograd.zeros(2)}, tautograd.ones(2), {"plus": 1.0})
    assert found.tolist() == [11.0, 21.0]
    assert module._parameters["weight"] is own is module._parameters["tied"]
    untied = call(module, {"weight": tautograd.zeros(2)}, (tautograd.ones(2),), tie_weights=False)
    assert untied.tolist() == [11.0, 22.0]
    several = ({"weight": tautograd.zeros(2)}, {"offset": tautograd.zeros(2)})
    assert call(module, several, tautograd.ones(2)).tolist() == [0.0, 0.0]


def test_module_is_restored_after_an_error():
    module = Module()
    own = module._parameters["weight"]
    with pytest.raises(RuntimeError):
        tautograd.func.functional_call(module, {"weight": tautograd.zeros(3)}, tautograd.ones(2))
    assert module._parameters["weight"] is own


def test_wrong_names():
    call = tautograd.func.functional_call
    with pytest.raises(RuntimeError, match="Unexpected key"):
        call(Module(), {"nothing": tautograd.zeros(2)}, tautograd.ones(2), strict=True)
    with pytest.raises(RuntimeError, match="Missing key"):
        call(Module(), {"weight": tautograd.zeros(2)}, tautograd.ones(2), strict=True)
    twice = ({"weight": tautograd.zeros(2)}, {"weight": tautograd.ones(2)})
    with pytest.raises(ValueError, match="appeared in multiple dictionaries"):
        call(Module(), twice, tautograd.ones(2))
    both = {"weight": tautograd.zeros(2), "tied": tautograd.ones(2)}
    with pytest.raises(ValueError, match="got multiple values for keys"):
        call(Module(), both, tautograd.ones(2))


def test_gradients_by_parameters():
    module = Module()
    weights = {"weight": tautograd.tensor([1.0, 1.0])}

    def loss(weights, x):
        return (tautograd.func.functional_call(module, weights, (x,)) ** 2).sum()

    x = tautograd.tensor([[1.0, 2.0], [3.0, 4.0]])
    grads = tautograd.func.grad(loss)(weights, x)
    each = tautograd.vmap(tautograd.func.grad(loss), in_dims=(None, 0))(weights, x)
    assert tautograd.allclose(each["weight"].sum(0), grads["weight"])
    assert module._parameters["weight"].grad is None


def test_an_ensemble_by_stacked_state():
    models = [Module(1.0), Module(2.0), Module(3.0)]
    parameters, buffers = tautograd.func.stack_module_state(models)
    assert parameters["weight"].tolist() == [[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]]
    assert parameters["weight"].requires_grad
    assert not buffers["offset"].requires_grad
    base = Module()

    def run(parameters, buffers, x):
        return tautograd.func.functional_call(base, (parameters, buffers), (x,))

    x = tautograd.ones(2)
    found = tautograd.vmap(run, in_dims=(0, 0, None))(parameters, buffers, x)
    assert tautograd.equal(found, tautograd.stack([model(x) for model in models]))


def test_models_that_cannot_be_stacked():
    stack = tautograd.func.stack_module_state
    with pytest.raises(RuntimeError, match="Expected at least one model"):
        stack([])
    models = [Module(), Module()]
    models[1].training = False
    with pytest.raises(RuntimeError, match="same training/eval mode"):
        stack(models)
