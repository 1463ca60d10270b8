"""Modules: what they own and how it is found, attributes, modes, conversions, copies, printing."""

from __future__ import annotations

import copy
import gc
import pickle
import weakref

import pytest

import tautograd
from tests.both import same
from tests.nn.models import counting, gradients, mlp, tied

# --- what is owned -------------------------------------------------------------------------------


@same
def test_members_are_found_in_order(torch):
    model = counting(torch)
    return [
        list(dict(model.named_parameters())),
        list(dict(model.named_buffers())),
        list(dict(model.named_modules())),
        list(dict(model.named_children())),
        [list(dict(model.named_parameters(prefix="p", recurse=False)))],
        [list(dict(model.named_buffers(prefix="p", recurse=False)))],
        list(dict(model.named_modules(prefix="p"))),
        [list(model.parameters()), list(model.buffers())],
        [type(m) for m in model.modules()],
        [type(m) for m in model.children()],
        list(model._parameters),
        list(model._buffers),
        sorted(model._non_persistent_buffers_set),
        list(model._modules),
    ]


@same
def test_tied_members_are_found_once(torch):
    model = tied(torch)
    return [
        [name for name, _ in model.named_parameters()],
        [name for name, _ in model.named_parameters(remove_duplicate=False)],
        [name for name, _ in model.named_modules()],
        [name for name, _ in model.named_modules(remove_duplicate=False)],
        [name for name, _ in model.named_children()],
        list(model.state_dict()),
    ]


@same
def test_tied_weights_get_one_gradient(torch):
    model = tied(torch)
    model(torch.randn(4, 3)).square().sum().backward()
    return gradients(model)


FOUND = [
    "model.get_submodule('')",
    "model.get_submodule('inner')",
    "model.get_submodule('inner.weight')",
    "model.get_submodule('missing.inner')",
    "model.get_parameter('scale')",
    "model.get_parameter('inner.bias')",
    "model.get_parameter('calls')",
    "model.get_parameter('inner.missing')",
    "model.get_buffer('calls')",
    "model.get_buffer('scale')",
    "model.get_buffer('missing')",
    "model.set_submodule('inner', nn.Identity()), model",
    "model.set_submodule('fresh', nn.Identity()), model",
    "model.set_submodule('fresh', nn.Identity(), strict=True)",
    "model.set_submodule('scale', nn.Identity())",
    "model.set_submodule('', nn.Identity())",
    "model.set_submodule('inner', 3)",
    "model.missing",
    "model.register_parameter('inner', None)",
    "model.register_parameter('a.b', None)",
    "model.register_parameter('', None)",
    "model.register_parameter(3, None)",
    "model.register_parameter('p', torch.ones(1))",
    "model.register_parameter('p', 3)",
    "model.register_parameter('note', None)",
    "model.register_buffer('inner', None)",
    "model.register_buffer('a.b', None)",
    "model.register_buffer('', None)",
    "model.register_buffer(3, None)",
    "model.register_buffer('b', 3)",
    "model.add_module('note', None)",
    "model.add_module('a.b', None)",
    "model.add_module('', None)",
    "model.add_module(3, None)",
    "model.add_module('m', 3)",
    "setattr(model, 'scale', torch.ones(2))",
    "setattr(model, 'scale', 'text')",
    "setattr(model, 'inner', torch.ones(2))",
    "setattr(model, 'inner', 3)",
    "setattr(model, 'calls', 3)",
    "delattr(model, 'missing')",
    "model(3)",
    "nn.Module()(3)",
    "nn.Module(3)",
    "nn.Module(a=3)",
    "model.train('yes')",
    "model.to(torch.int32)",
    "model.to('nowhere')",
    "model.load_state_dict(3)",
    "nn.Linear(2, 3)(torch.ones(4, 5))",
    "nn.Linear(2, 3)(torch.ones(2, dtype=torch.float64))",
    "nn.Bilinear(0, 1, 2)",
]


@pytest.mark.parametrize("expression", FOUND)
@same
def test_finding_and_refusing(torch, expression):
    torch.manual_seed(0)
    try:
        found = eval(expression, {"model": counting(torch), "nn": torch.nn, "torch": torch})
    except Exception as error:
        text = str(error).replace("tautograd.", "torch.")
        return [type(error).__name__, text.split("\n")[0].split(" - got")[0]]
    return found


# --- attributes ----------------------------------------------------------------------------------


@same
def test_attributes_change_their_kind(torch):
    nn = torch.nn
    model = nn.Module()
    seen = []

    def look():
        kinds = (model._parameters, model._buffers, model._modules)
        own = [name for name in vars(model) if name in ("x", "y")]
        seen.append([*map(list, kinds), own])

    model.x = torch.ones(2)
    look()
    model.x = nn.Parameter(torch.ones(2))
    look()
    model.x = None
    look()
    del model.x
    model.x = nn.Linear(1, 1)
    look()
    model.x = None
    look()
    model.x = nn.Linear(1, 1)
    model.x = nn.Parameter(torch.ones(2))
    look()
    del model.x
    look()
    model.register_buffer("x", torch.zeros(1))
    model.x = torch.ones(3)
    look()
    model.x = nn.Parameter(torch.ones(2))
    look()
    del model.x
    model.y = nn.Buffer(torch.zeros(1), persistent=False)
    look()
    model.y = torch.ones(2)
    seen.append(list(model.state_dict()))
    model.y = nn.Identity()
    look()
    del model.y
    look()
    return seen


@same
def test_before_init(torch):
    said = []

    def refused(value):
        class Early(torch.nn.Module):
            def __init__(self):
                self.value = value

        try:
            Early()
        except AttributeError as error:
            said.append(str(error))

    refused(torch.nn.Parameter(torch.ones(1)))
    refused(torch.nn.Linear(1, 1))
    return said


@same
def test_dir_and_hasattr(torch):
    model = counting(torch)
    shown = {*dir(model)} & {"scale", "calls", "inner", "note", "empty", "nothing", "0"}
    return [
        sorted(shown),
        hasattr(model, "nothing"),
        hasattr(model, "missing"),
        model.nothing,
        {"0", "1"} & {*dir(mlp(torch, 2, 3, 4))},
    ]


@same
def test_members_may_be_changed_behind_the_back(torch):
    """The dictionaries are the module's state, not a copy of it."""
    layer = torch.nn.Linear(2, 2)
    x = torch.ones(1, 2)
    layer._parameters["weight"] = torch.nn.Parameter(torch.eye(2))
    layer._parameters["bias"] = None
    first = layer(x)
    del layer._parameters["weight"]
    layer.weight = torch.full((2, 2), 3.0)
    return [first, layer(x), layer.weight, list(layer._parameters)]


# --- modes, gradients, conversions ---------------------------------------------------------------


@same
def test_modes(torch):
    model = mlp(torch, 2, 3, 1)
    flags = [[m.training for m in model.modules()]]
    assert model.eval() is model
    flags.append([m.training for m in model.modules()])
    model[0].train()
    flags.append([m.training for m in model.modules()])
    return flags


@same
def test_zero_grad_and_requires_grad(torch):
    model = mlp(torch, 2, 3, 1)
    seen = []
    model(torch.randn(4, 2)).sum().backward()
    grads = [p.grad for p in model.parameters()]
    model.zero_grad(set_to_none=False)
    seen.append([p.grad is g for p, g in zip(model.parameters(), grads, strict=True)])
    seen.append(gradients(model))
    model.zero_grad()
    seen.append(gradients(model))
    assert model.requires_grad_(False) is model
    seen.append([p.requires_grad for p in model.parameters()])
    return [*seen, model(torch.ones(1, 2))]


CONVERSIONS = [
    "model.double()",
    "model.half()",
    "model.bfloat16()",
    "model.float()",
    "model.cpu()",
    "model.to(torch.float64)",
    "model.to('cpu', torch.float64)",
    "model.to('cpu')",
    "model.to(torch.ones(1, dtype=torch.float16))",
    "model.to(dtype=torch.float64, device='cpu')",
    "model.to(torch.device('cpu'), non_blocking=True)",
    "model.type(torch.float64)",
    "model.to(memory_format=torch.channels_last)",
]


@pytest.mark.parametrize("expression", CONVERSIONS)
@same
def test_conversions_keep_parameters_and_convert_gradients(torch, expression):
    model = counting(torch)
    model(torch.ones(1, 2)).sum().backward()
    before = list(model.parameters())
    result = eval(expression, {"torch": torch, "model": model})
    assert result is model
    after = list(model.parameters())
    return [
        [p is q for p, q in zip(before, after, strict=True)],
        [str(p.dtype) for p in after],
        [str(b.dtype) for b in model.buffers()],
        [p.grad for p in after],
        [p.is_leaf and p.requires_grad for p in after],
    ]


@same
def test_to_complex_warns(torch):
    with pytest.warns(UserWarning, match="Complex modules are a new feature"):
        return str(torch.nn.Linear(1, 1).to(torch.complex64).weight.dtype)


def test_no_accelerator():
    with pytest.raises((AssertionError, RuntimeError)):
        tautograd.nn.Linear(1, 1).cuda()


def test_compile_changes_nothing():
    layer = tautograd.nn.Linear(2, 2)
    x = tautograd.ones(1, 2)
    before = layer(x)
    layer.compile(backend="numpy")
    for _ in range(4):
        assert layer(x).tolist() == before.tolist()


@same
def test_apply(torch):
    model = mlp(torch, 2, 3, 1)
    order = []

    def fill(module):
        order.append(type(module))
        if isinstance(module, torch.nn.Linear):
            torch.nn.init.ones_(module.weight)

    assert model.apply(fill) is model
    return [order, model[0].weight]


@same
def test_to_empty(torch):
    model = mlp(torch, 2, 3, 1)
    before = list(model.parameters())
    after = list(model.to_empty(device="cpu").parameters())
    return [
        [tuple(p.shape) for p in after],
        [p is q for p, q in zip(before, after, strict=True)],
    ]


@same
def test_training_goes_down(torch):
    """A few steps of gradient descent by hand."""
    model = mlp(torch, 3, 8, 1)
    x, y = torch.randn(16, 3), torch.randn(16, 1)
    losses = []
    for _ in range(20):
        loss = (model(x) - y).square().mean()
        model.zero_grad()
        loss.backward()
        with torch.no_grad():
            for param in model.parameters():
                param -= 0.1 * param.grad
        losses.append(loss.item())
    assert losses[-1] < losses[0]
    return [losses, list(model.parameters())]


# --- copies --------------------------------------------------------------------------------------


@same
def test_deepcopy(torch):
    model = tied(torch)
    model(torch.ones(1, 3)).sum().backward()
    twin = copy.deepcopy(model)
    with torch.no_grad():
        twin.first.weight += 1
    return [
        [type(p).__name__ for p in twin.parameters()],
        [name for name, _ in twin.named_parameters()],
        twin.last.weight is twin.first.weight,
        twin.again is twin.first,
        gradients(twin),
        model.first.weight,
        twin.first.weight,
    ]


@same
def test_shallow_copy_shares(torch):
    model = torch.nn.Linear(2, 2)
    twin = copy.copy(model)
    return [twin.weight is model.weight, twin._parameters is model._parameters]


def test_pickle():
    model = mlp(tautograd, 2, 3, 1)
    model[0].weight.requires_grad_(False)
    twin = pickle.loads(pickle.dumps(model))
    assert repr(twin) == repr(model)
    x = tautograd.randn(2, 2)
    assert twin(x).tolist() == model(x).tolist()
    assert [type(p) for p in twin.parameters()] == [tautograd.nn.Parameter] * 4
    assert not twin[0].weight.requires_grad
    assert twin[2].weight.requires_grad


def test_pickle_keeps_what_is_shared():
    def shared(module):
        return module["a"].weight is module["b"].weight

    model = tautograd.nn.ModuleDict(
        {"a": tautograd.nn.Linear(1, 1), "b": tautograd.nn.Linear(1, 1)}
    )
    model["b"].weight = model["a"].weight
    assert shared(model)
    assert shared(pickle.loads(pickle.dumps(model)))


def test_dropped_module_is_freed_at_once():
    model = mlp(tautograd, 2, 3, 1)
    model(tautograd.ones(1, 2)).sum().backward()
    alive = weakref.ref(model), weakref.ref(model[0].weight)
    gc.disable()
    try:
        del model
        assert [ref() for ref in alive] == [None, None]
    finally:
        gc.enable()


# --- printing ------------------------------------------------------------------------------------


@same
def test_repr(torch):
    nn = torch.nn

    class Described(nn.Module):
        def __init__(self, extra, *children):
            super().__init__()
            self.extra = extra
            for i, child in enumerate(children):
                self.add_module(f"child{i}", child)

        def extra_repr(self):
            return self.extra

    return [
        str(module)
        for module in (
            counting(torch),
            mlp(torch, 2, 3, 1),
            Described("one line"),
            Described("two\nlines"),
            Described("", nn.Identity()),
            Described("extra", Described("a\n\nb", nn.Identity()), nn.ReLU(inplace=True)),
            nn.Module(),
        )
    ]


# --- errors --------------------------------------------------------------------------------------


class Unprintable(tautograd.nn.Linear):
    def extra_repr(self):
        raise KeyError("extra_repr")


class Failing(tautograd.nn.Module):
    def forward(self, x):
        raise ValueError("the user's own")


NOTES = {
    "Linear(3, 4)": "in Linear(in_features=3, out_features=4, bias=True), called with [2, 5] "
    "torch.float32; it has weight [4, 3], bias [4]",
    "Sequential(nn.Linear(5, 2), nn.Sequential(nn.Identity(), nn.Linear(1, 3, False)))": "in "
    "Sequential, 1.1: Linear(in_features=1, out_features=3, bias=False), called with [2, 2] "
    "torch.float32; it has weight [3, 1]",
}


@pytest.mark.parametrize("model", NOTES)
def test_errors_name_the_module_and_the_shapes(model):
    model = eval("nn." + model, {"nn": tautograd.nn}), NOTES[model]
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied") as caught:
        model[0](tautograd.ones(2, 5))
    assert caught.value.__notes__ == [model[1]]


def test_errors_of_the_user_and_of_printing_stay_as_they_are():
    with pytest.raises(ValueError, match="the user's own") as caught:
        tautograd.nn.Sequential(Failing())(3)
    assert not hasattr(caught.value, "__notes__")
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        Unprintable(2, 3)(tautograd.ones(1, 5))
