"""`confirm`: what a computation is seen to do, and that it is as before afterwards."""

from __future__ import annotations

import json
import random

import numpy as np
import pytest

from tautograd._verify.behaviour.confirm import confirm
from tautograd._verify.subject.restore import Untouched


def network(torch):
    layers = [torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Dropout(0.5)]
    return torch.nn.Sequential(*layers, torch.nn.Linear(4, 2))


def test_shapes_dtypes_and_leaves_of_a_function(torch):
    def fn(x, y, *, mask):
        return {"sum": (x * y.detach())[mask].sum(), "count": mask.sum()}

    x = torch.ones(2, 3, dtype=torch.float64, requires_grad=True)
    y = torch.ones(3, dtype=torch.float64, requires_grad=True)
    found = confirm(fn, (x, y), {"mask": torch.ones(2, 3, dtype=torch.bool)})
    facts = [(f.name, f.shape, f.dtype, f.device) for f in (*found.inputs, *found.outputs)]
    assert facts == [
        ("x", (2, 3), "float64", "cpu"),
        ("y", (3,), "float64", "cpu"),
        ("mask", (2, 3), "bool", "cpu"),
        ("output['sum']", (), "float64", "cpu"),
        ("output['count']", (), "int64", "cpu"),
    ]
    assert (found.got_gradient, found.no_gradient) == (["x"], ["y"])
    assert found.deterministic is True
    assert found.random is False
    assert found.ok
    assert "No gradient reaches y." in str(found)


def test_only_inputs_that_ask_for_a_gradient(torch):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    assert confirm(lambda x, y: x * y, (x, y)).got_gradient == ["x"]
    assert confirm(lambda x, y: x * y, (y, y)).got_gradient == ["x", "y"]


def test_a_module_in_both_modes(torch):
    found = confirm(network(torch), (torch.randn(8, 3),))
    module = found.module
    assert (module.mode, module.parameters, module.numbers, module.buffers) == ("train", 6, 34, 3)
    assert (module.dropout, module.dropout_on) == (["2"], True)
    assert module.output_changes is True
    statistics = ["1.running_mean", "1.running_var", "1.num_batches_tracked"]
    assert module.moved_in_train == statistics
    assert module.moved_in_eval == []
    assert (module.random_in_train, module.random_in_eval) == (True, False)
    assert found.random is True
    assert found.streams == ["cpu"]
    assert found.deterministic is True
    assert found.hidden_state == []
    assert found.got_gradient == [
        *("0.weight", "0.bias", "1.weight", "1.bias", "3.weight", "3.bias")
    ]


def test_a_module_in_eval_mode_with_frozen_parameters(torch):
    model = network(torch).eval()
    model[0].weight.requires_grad_(False)
    found = confirm(model, (torch.randn(8, 3),))
    assert (found.module.mode, found.module.dropout_on) == ("eval", False)
    assert found.frozen == ["0.weight"]
    assert found.module.trainable == 22
    assert found.random is False
    assert not model.training
    model[2].train()
    assert confirm(model, (torch.randn(8, 3),)).module.mode == "mixed"


def test_a_mode_that_fails_is_told(torch):
    found = confirm(network(torch).eval(), (torch.randn(1, 3),))
    assert found.error == ""
    assert "more than 1 value per channel" in found.module.train_error
    assert found.module.output_changes is None


def test_hidden_state(torch):
    class Counter(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.calls = 0

        def forward(self, x):
            self.calls += 1
            return x * (self.calls > 2)

    model = Counter()
    found = confirm(model, (torch.ones(2),))
    assert found.hidden_state == ["output"]
    assert model.calls == 0
    seen = []

    def remembers(x):
        seen.append(x)
        return x * len(seen)

    assert confirm(remembers, (torch.ones(2),)).hidden_state == ["output"]
    assert seen == []
    state = 0.0

    def counts(x):
        nonlocal state
        state += 1.0
        return x + state

    assert confirm(counts, (torch.ones(2),)).hidden_state == ["output"]
    assert state == 0.0


def test_not_deterministic(torch):
    source = np.random.default_rng(0)
    found = confirm(lambda x: x + source.random(), (torch.ones(2),))
    assert found.deterministic is False
    assert not found.ok
    assert "Not deterministic" in str(found)


@pytest.mark.parametrize(
    ("name", "draw"),
    [
        ("cpu", lambda torch: torch.rand(())),
        ("python", lambda torch: random.random()),
        ("numpy", lambda torch: np.random.rand()),  # noqa: NPY002
    ],
)
def test_random_streams_are_told_apart(torch, name, draw):
    found = confirm(lambda x: x + draw(torch), (torch.ones(2),))
    assert (found.random, found.streams, found.deterministic) == (True, [name], True)
    ignored = confirm(lambda x: x + 0 * draw(torch), (torch.ones(2),))
    assert (ignored.random, ignored.streams) == (False, [name])


def test_modified_inputs(torch):
    found = confirm(lambda x: x.mul_(2), (torch.ones(2, requires_grad=True),))
    assert found.modifies_inputs == ["x (its values)"]
    assert found.got_gradient == ["x"]
    assert confirm(lambda x: x.add_(0), (torch.ones(2),)).modifies_inputs == [
        "x (in place, to the same values)"
    ]
    x = torch.ones(2)
    confirm(lambda x: x.mul_(2), (x,))
    assert x.tolist() == [1.0, 1.0]
    assert x._version == 0


def test_what_fails_is_told(torch):
    found = confirm(lambda x: x @ x, (torch.ones(2, 3),))
    assert found.error.startswith("RuntimeError: ")
    assert not found.ok

    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise ValueError("not today")

    found = confirm(lambda x: Wrong.apply(x) + 0, (torch.ones(2),))
    assert found.backward_error == "ValueError: not today"


def everything(torch, model):
    """All that may be seen of a model, as plain values."""
    tensors = {**dict(model.named_parameters()), **dict(model.named_buffers())}
    return {
        "values": {n: t.detach().numpy().tobytes() for n, t in tensors.items()},
        "objects": {n: id(t) for n, t in tensors.items()},
        "versions": {n: p._version for n, p in model.named_parameters()},
        "grads": {n: (id(t.grad), t.grad.numpy().tobytes()) for n, t in model.named_parameters()},
        "modes": [m.training for m in model.modules()],
        "attributes": [sorted(vars(m)) for m in model.modules()],
        "rng": torch.get_rng_state().numpy().tobytes(),
        "python": random.getstate(),
        "numpy": np.random.get_state()[1].tobytes(),  # noqa: NPY002
        "grad mode": torch.is_grad_enabled(),
    }


@pytest.mark.parametrize("grad_mode", [True, False])
def test_everything_is_as_before(torch, grad_mode):
    class Sloppy(torch.nn.Module):
        """Does whatever a module should not."""

        def __init__(self):
            super().__init__()
            self.inner = network(torch)
            self.register_buffer("calls", torch.zeros(()))
            self.log = []

        def forward(self, x):
            random.random()
            np.random.rand()  # noqa: NPY002
            with torch.no_grad():
                self.inner[0].weight.mul_(0.5)
            self.inner[0].weight.grad.zero_()
            self.inner[0].bias.grad = None
            self.calls = self.calls + 1
            self.log.append(x)
            self.latest = x
            self.inner[2].eval()
            self.inner[3].weight.requires_grad_(False)
            return self.inner(x)

    model = Sloppy()
    for parameter in model.parameters():
        parameter.grad = torch.randn_like(parameter)
    x = torch.randn(8, 3, requires_grad=True)
    before, x_before = everything(torch, model), x.detach().numpy().tobytes()
    versions = before.pop("versions")
    with torch.set_grad_enabled(grad_mode):
        before["grad mode"] = grad_mode
        confirm(model, (x,))
        after = everything(torch, model)
    versions_after = after.pop("versions")
    assert after == before
    assert {n for n in versions if versions[n] != versions_after[n]} == {"inner.0.weight"}
    assert (model.log, x.grad, x.detach().numpy().tobytes()) == ([], None, x_before)


def test_a_pending_backward_still_works(torch):
    model = network(torch)
    loss = model(torch.randn(8, 3)).sum()
    confirm(model, (torch.randn(8, 3),))
    loss.backward()
    assert model[0].weight.grad is not None


def test_modules_in_closures_and_partials_are_put_back(torch):
    import functools

    model = network(torch)
    before = model[1].running_mean.clone()
    confirm(lambda x: model(x) + 0, (torch.randn(8, 3),))
    confirm(functools.partial(lambda m, x: m(x), model), (torch.randn(8, 3),))
    confirm(model.forward, (torch.randn(8, 3),))
    assert bool((model[1].running_mean == before).all())


def test_a_resized_buffer_is_put_back(torch):
    model = torch.nn.Module()
    model.register_buffer("cache", torch.zeros(2))
    cache = model.cache
    with Untouched(torch, model):
        model.cache = torch.ones(3)
        cache.data = torch.ones(4)
    assert model.cache is cache
    assert cache.tolist() == [0.0, 0.0]


def test_as_plain_data_text_and_html(torch):
    found = confirm(network(torch), (torch.randn(8, 3),))
    data = json.loads(json.dumps(found.to_dict()))
    assert data["module"]["dropout"] == ["2"]
    assert data["ok"] is True
    text = str(found)
    assert text.splitlines()[0] == "Sequential"
    assert "Dropout (2) is on in this mode." in text
    assert "Buffers move in train mode: 1.running_mean" in text
    html = found._repr_html_()
    assert "<table" in html
    assert "<caption>Sequential" in html


def test_errors_name_the_argument(torch):
    with pytest.raises(TypeError, match=r"^subject: "):
        confirm(3, (torch.ones(2),))
    with pytest.raises(TypeError, match=r"^inputs: "):
        confirm(lambda x: x, (3.0,))
