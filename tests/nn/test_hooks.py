"""Hooks of modules: when they run, with what, what they may change, how they go away."""

from __future__ import annotations

import copy
import warnings

import pytest

from tests.both import same
from tests.nn.models import gradients, mlp

# --- forward -------------------------------------------------------------------------------------


@same
def test_order_of_forward_hooks(torch):
    layer = torch.nn.Linear(2, 2)
    seen = []

    def note(name):
        return lambda *given: seen.append((name, len(given)))

    layer.register_forward_pre_hook(note("pre 1"))
    layer.register_forward_pre_hook(note("pre 2"), prepend=True)
    layer.register_forward_pre_hook(note("pre kwargs"), with_kwargs=True)
    layer.register_forward_hook(note("post 1"))
    layer.register_forward_hook(note("post 2"), prepend=True)
    layer.register_forward_hook(note("post kwargs"), with_kwargs=True)
    layer(input=torch.ones(1, 2))
    layer(torch.ones(1, 2))
    return seen


@same
def test_hooks_replace_inputs_and_output(torch):
    layer = torch.nn.Linear(2, 2)
    x = torch.ones(1, 2)
    seen = [layer(x)]
    layer.register_forward_pre_hook(lambda m, args: args[0] * 2)
    seen.append(layer(x))
    layer.register_forward_pre_hook(lambda m, args: (args[0] + 1,))
    seen.append(layer(x))
    layer.register_forward_hook(lambda m, args, out: out * 10)
    seen.append(layer(x))
    layer.register_forward_pre_hook(
        lambda m, args, kwargs: ((), {"input": args[0] * 0}), with_kwargs=True
    )
    layer.register_forward_hook(
        lambda m, args, kwargs, out: (out, sorted(kwargs)), with_kwargs=True
    )
    return [*seen, layer(x)]


@same
def test_wrong_result_of_a_hook_with_kwargs(torch):
    layer = torch.nn.Linear(2, 2)
    layer.register_forward_pre_hook(lambda m, args, kwargs: args, with_kwargs=True)
    with pytest.raises(RuntimeError, match="forward pre-hook must return None or a tuple"):
        layer(torch.ones(1, 2))


@same
def test_handles_take_hooks_away(torch):
    layer = torch.nn.Linear(2, 2)
    calls = []
    handle = layer.register_forward_hook(
        lambda *given: calls.append("hook"), with_kwargs=True, always_call=True
    )
    with layer.register_forward_pre_hook(lambda *given: calls.append("pre")):
        layer(torch.ones(1, 2))
    layer(torch.ones(1, 2))
    handle.remove()
    handle.remove()
    layer(torch.ones(1, 2))
    kept = (
        layer._forward_hooks,
        layer._forward_hooks_with_kwargs,
        layer._forward_hooks_always_called,
        layer._forward_pre_hooks,
    )
    return [calls, [len(place) for place in kept]]


@same
def test_always_called_hooks_run_after_an_error(torch):
    class Fails(torch.nn.Module):
        def forward(self, x):
            raise ValueError("no")

    calls = []

    def note(name):
        return lambda m, args, *rest: calls.append((name, len(rest), rest[-1]))

    def fails(m, args, out):
        raise KeyError("hook")

    module = Fails()
    module.register_forward_hook(note("never"))
    module.register_forward_hook(note("always"), always_call=True)
    module.register_forward_hook(note("kwargs"), always_call=True, with_kwargs=True)
    with pytest.raises(ValueError, match="no"):
        module(torch.ones(1))
    module.register_forward_hook(fails, always_call=True)
    with (
        pytest.warns(UserWarning, match="raised an exception that was silenced"),
        pytest.raises(ValueError, match="no"),
    ):
        module(torch.ones(1))
    return calls


@same
def test_always_called_hook_runs_once_when_a_later_hook_fails(torch):
    layer = torch.nn.Linear(1, 1)
    calls = []

    def fails(m, args, out):
        raise KeyError("hook")

    layer.register_forward_hook(lambda m, a, out: calls.append("first"), always_call=True)
    layer.register_forward_hook(fails)
    layer.register_forward_hook(lambda m, a, out: calls.append("last"), always_call=True)
    with pytest.raises(KeyError):
        layer(torch.ones(1))
    return calls


# --- backward ------------------------------------------------------------------------------------


@same
def test_full_backward_hooks_see_both_sides(torch):
    model = mlp(torch, 3, 4, 2)
    seen = []

    def note(name):
        def hook(module, grad_input, grad_output):
            seen.append((name, list(grad_input), list(grad_output)))

        return hook

    for name, module in model.named_modules():
        module.register_full_backward_hook(note(name))
    x = torch.randn(2, 3, requires_grad=True)
    model(x).square().sum().backward()
    return [seen, x.grad, gradients(model)]


@same
def test_backward_hooks_replace_gradients(torch):
    layer = torch.nn.Linear(2, 2)
    x = torch.ones(1, 2, requires_grad=True)
    order = []

    def pre(name, factor):
        def hook(module, grad_output):
            order.append(name)
            return (grad_output[0] * factor,)

        return hook

    def post(name, factor):
        def hook(module, grad_input, grad_output):
            order.append(name)
            return (grad_input[0] * factor,)

        return hook

    layer.register_full_backward_pre_hook(pre("pre", 2))
    layer.register_full_backward_pre_hook(pre("first pre", 5), prepend=True)
    layer.register_full_backward_hook(post("post", 3))
    layer.register_full_backward_hook(post("first post", 7), prepend=True)
    layer(x).sum().backward()
    return [order, x.grad, gradients(layer)]


@same
def test_several_inputs_and_outputs(torch):
    class Several(torch.nn.Module):
        def forward(self, a, word, b):
            return a * b, word, b * 2

    module = Several()
    seen = []
    module.register_full_backward_hook(lambda m, gi, go: seen.append((list(gi), list(go))))
    a = torch.tensor([1.0, 2.0], requires_grad=True)
    b = torch.tensor([3.0, 4.0])
    one, word, _two = module(a, "word", b)
    one.sum().backward()
    return [seen, a.grad, word, one.grad_fn.name()]


@same
def test_inputs_that_want_no_gradient(torch):
    layer = torch.nn.Linear(2, 2)
    seen = []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((list(gi), list(go))))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        layer(torch.ones(1, 2)).sum().backward()
    with torch.no_grad():
        layer(torch.ones(1, 2))
    layer.register_full_backward_hook(lambda m, gi, go: (go[0],))
    with (
        pytest.raises(RuntimeError, match="no input requires gradient should always return None"),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        layer(torch.ones(1, 2)).sum().backward()
    return [seen, [str(w.message).split(" See ")[0] for w in said]]


@same
def test_wrong_number_of_gradients(torch):
    layer = torch.nn.Linear(2, 2)
    x = torch.ones(1, 2, requires_grad=True)
    handle = layer.register_full_backward_hook(lambda m, gi, go: (gi[0], gi[0]))
    with pytest.raises(RuntimeError, match="invalid number of grad_input, got 2, but expected 1"):
        layer(x).sum().backward()
    handle.remove()
    layer.register_full_backward_pre_hook(lambda m, go: (go[0], go[0]))
    with pytest.raises(RuntimeError, match="invalid number of grad_output, got 2, but expected 1"):
        layer(x).sum().backward()


@same
def test_output_that_is_no_tensor(torch):
    class Lists(torch.nn.Module):
        def forward(self, x):
            return [x * 2]

    module = Lists()
    module.register_full_backward_hook(lambda *given: None)
    with pytest.warns(UserWarning, match="module output should be a Tensor or a tuple of Tensors"):
        return module(torch.ones(1, requires_grad=True))[0].item()


@same
def test_kinds_of_backward_hooks_do_not_mix(torch):
    layer = torch.nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda *given: None)
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"):
        layer.register_backward_hook(lambda *given: None)
    other = torch.nn.Linear(2, 2)
    other.register_backward_hook(lambda *given: None)
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"):
        other.register_full_backward_hook(lambda *given: None)


@same
def test_hook_of_the_old_kind(torch):
    class Double(torch.nn.Module):
        def forward(self, x):
            return x * 2

    class Two(torch.nn.Module):
        def forward(self, x):
            return x.exp() * 2

    seen = []
    for module in (Double(), Two()):
        module.register_backward_hook(lambda m, gi, go: seen.append((list(gi), list(go))))
        leaf = torch.tensor([1.0, 2.0], requires_grad=True)
        x = leaf * 1
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            module(x).sum().backward()
        seen.append([str(w.message) for w in said if issubclass(w.category, FutureWarning)])
        seen.append(leaf.grad)
    return seen


# --- all modules at once -------------------------------------------------------------------------


@same
def test_hooks_of_all_modules(torch):
    from importlib import import_module

    hooks = import_module(f"{torch.__name__}.nn.modules.module")
    model = mlp(torch, 2, 3, 1)
    seen = []

    def note(name):
        return lambda module, *rest: seen.append((name, type(module).__name__, len(rest)))

    handles = [
        hooks.register_module_forward_pre_hook(note("pre")),
        hooks.register_module_forward_hook(note("post")),
        hooks.register_module_forward_hook(note("post kwargs"), with_kwargs=True),
        hooks.register_module_full_backward_pre_hook(note("backward pre")),
        hooks.register_module_full_backward_hook(note("backward")),
    ]
    try:
        model.register_forward_hook(note("own"))
        model(torch.ones(1, 2, requires_grad=True)).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    model(torch.ones(1, 2))
    return seen


@same
def test_hooks_of_registration(torch):
    from importlib import import_module

    hooks = import_module(f"{torch.__name__}.nn.modules.module")
    seen = []

    def note(what):
        return lambda module, name, value: seen.append((what, type(module).__name__, name))

    handles = [
        hooks.register_module_buffer_registration_hook(note("buffer")),
        hooks.register_module_parameter_registration_hook(note("parameter")),
        hooks.register_module_module_registration_hook(note("module")),
        hooks.register_module_parameter_registration_hook(
            lambda m, name, p: torch.nn.Parameter(p * 0) if name == "bias" else None
        ),
    ]
    try:
        model = torch.nn.Sequential(torch.nn.Linear(1, 2))
        model.register_buffer("b", torch.ones(1))
        model.attribute = torch.nn.Identity()
    finally:
        for handle in handles:
            handle.remove()
    torch.nn.Linear(1, 1)
    return [seen, model[0].bias]


# --- life ----------------------------------------------------------------------------------------


@same
def test_hooks_go_with_a_copy(torch):
    layer = torch.nn.Linear(1, 1)
    calls = []
    layer.handle = layer.register_forward_hook(lambda m, a, out: calls.append("called"))
    twin = copy.deepcopy(layer)
    twin(torch.ones(1))
    twin.handle.remove()
    return [calls, len(twin._forward_hooks), len(layer._forward_hooks)]


@same
def test_forward_replaced_on_an_instance(torch):
    layer = torch.nn.Linear(1, 1)
    layer.forward = lambda x: x * 5
    return layer(torch.ones(1))


@same
def test_hooks_under_checkpointed_and_repeated_backward(torch):
    model = mlp(torch, 2, 3, 1)
    seen = []
    model[0].register_full_backward_hook(lambda m, gi, go: seen.append(go[0]))
    x = torch.ones(1, 2, requires_grad=True)
    loss = model(x).sum()
    loss.backward(retain_graph=True)
    loss.backward()
    return [seen, x.grad]


@same
def test_second_order_through_watched_modules(torch):
    nn = torch.nn
    model = nn.Sequential(nn.Linear(2, 3), nn.Tanh(), nn.Linear(3, 1))
    seen = []
    for module in model:
        module.register_full_backward_hook(lambda m, gi, go: seen.append(go[0].detach()))
    x = torch.randn(4, 2, requires_grad=True)
    (grad,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
    seen.append(grad)
    grad.square().sum().backward()
    return [seen, x.grad, gradients(model)]


@same
def test_modules_that_write_over_a_watched_input(torch):
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU(inplace=True))
    model[1].register_full_backward_hook(lambda *given: None)
    with pytest.raises(RuntimeError, match="Output 0 of BackwardHookFunction is a view"):
        model(torch.ones(1, 2))


@same
def test_no_gradient_no_hooks(torch):
    layer = torch.nn.Linear(2, 2)
    calls = []
    layer.register_full_backward_hook(lambda *given: calls.append("hook"))
    layer.register_full_backward_pre_hook(lambda *given: calls.append("pre"))
    with torch.no_grad():
        out = layer(torch.ones(1, 2, requires_grad=True))
    layer.requires_grad_(False)
    return [out, layer(torch.ones(1, 2)), calls]


@same
def test_arguments_by_name_are_not_watched(torch):
    layer = torch.nn.Linear(2, 2)
    seen = []
    layer.register_full_backward_hook(lambda m, gi, go: seen.append((list(gi), go[0])))
    x = torch.ones(1, 2, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        layer(input=x).sum().backward()
    return [seen, x.grad]


def test_hooks_of_all_modules_come_and_go():
    """The last one gone, a call is as quick as it was; the next one is seen again."""
    import tautograd
    from tautograd.nn.modules.module import register_module_forward_hook

    model, x = tautograd.nn.Linear(2, 1), tautograd.ones(1, 2)
    model(x)
    plain = tautograd.nn.Module.__call__
    seen = []
    for _ in range(2):
        handle = register_module_forward_hook(lambda *_: seen.append("ran"))
        model(x)
        assert tautograd.nn.Module.__call__ is not plain
        handle.remove()
        assert tautograd.nn.Module.__call__ is plain
        model(x)
    assert seen == ["ran", "ran"]
