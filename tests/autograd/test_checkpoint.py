"""Checkpointing: the same gradients, with the forward run again."""

from __future__ import annotations

import contextlib
import warnings

import pytest

from tests.autograd.custom_squares import square
from tests.both import same

BOTH_FORMS = pytest.mark.parametrize("use_reentrant", [True, False])


def _inputs(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([0.5, -1.0], requires_grad=True)
    return x, w


def _checkpoint(torch):
    import importlib

    return importlib.import_module(f"{torch.__name__}.utils.checkpoint")


@same
@BOTH_FORMS
def test_gradients_are_the_same(torch, use_reentrant):
    x, w = _inputs(torch)
    calls = []

    def f(x, w):
        calls.append(torch.is_grad_enabled())
        return (x * w).sin().exp()

    checkpoint = _checkpoint(torch).checkpoint
    out = checkpoint(f, x, w, use_reentrant=use_reentrant)
    (out * x).sum().backward()
    return out.detach(), x.grad, w.grad, calls


@same
@BOTH_FORMS
def test_several_outputs_and_other_arguments(torch, use_reentrant):
    x, w = _inputs(torch)

    def f(x, n, w, flag=None):
        return x * n, (w * x).sum(), "text"

    checkpoint = _checkpoint(torch).checkpoint
    a, b, text = checkpoint(f, x, 3, w, None, use_reentrant=use_reentrant)
    (a.sum() + b).backward()
    return x.grad, w.grad, text


@same
def test_keyword_arguments(torch):
    x, w = _inputs(torch)
    checkpoint = _checkpoint(torch).checkpoint
    out = checkpoint(lambda x, w=None: x * w * x, x, w=w, use_reentrant=False)
    out.sum().backward()
    with pytest.raises(ValueError, match="Unexpected keyword arguments: w"):
        checkpoint(lambda x, w=None: x * w, x, w=w, use_reentrant=True)
    return x.grad, w.grad


@same
def test_choice_must_be_said(torch):
    x, _ = _inputs(torch)
    checkpoint = _checkpoint(torch).checkpoint
    with pytest.warns(UserWarning, match="use_reentrant parameter should be passed explicitly"):
        checkpoint(lambda x: x.exp(), x).sum().backward()
    return x.grad


@same
def test_reentrant_needs_an_input_that_wants_gradients(torch):
    w = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="None of the inputs have requires_grad=True"):
        out = _checkpoint(torch).checkpoint(lambda x: x * w, torch.ones(2), use_reentrant=True)
    return out.requires_grad


@same
def test_captured_parameters_get_gradients(torch):
    w = torch.tensor([1.0, 3.0], requires_grad=True)
    out = _checkpoint(torch).checkpoint(lambda x: (x * w).exp(), torch.ones(2), use_reentrant=False)
    out.sum().backward()
    return w.grad


@same
def test_reentrant_does_not_work_with_grad(torch):
    x, _ = _inputs(torch)
    out = _checkpoint(torch).checkpoint(lambda x: x.exp(), x, use_reentrant=True)
    with pytest.raises(RuntimeError, match=r"checkpoint is incompatible with .grad"):
        torch.autograd.grad(out.sum(), x)


@same
def test_the_other_form_works_with_grad_and_inputs(torch):
    x, w = _inputs(torch)
    checkpoint = _checkpoint(torch).checkpoint
    out = checkpoint(lambda x, w: (x * w).exp(), x, w, use_reentrant=False).sum()
    found = torch.autograd.grad(out, x, retain_graph=True)
    out.backward(inputs=[w])
    return found, w.grad, x.grad


@same
def test_second_backward_over_a_retained_graph(torch):
    x, w = _inputs(torch)
    out = _checkpoint(torch).checkpoint(lambda x, w: (x * w).exp(), x, w, use_reentrant=False).sum()
    out.backward(retain_graph=True)
    out.backward()
    return x.grad


@same
@BOTH_FORMS
@pytest.mark.parametrize("preserve", [True, False])
def test_random_numbers(torch, use_reentrant, preserve):
    x, _ = _inputs(torch)
    masks = []

    def f(x):
        mask = torch.rand(2)
        masks.append(mask)
        return (x * mask).exp()

    torch.manual_seed(7)
    out = _checkpoint(torch).checkpoint(
        f, x, use_reentrant=use_reentrant, preserve_rng_state=preserve
    )
    after = torch.rand(1)
    out.sum().backward()
    return masks, after, torch.rand(1), x.grad


@pytest.mark.filterwarnings("ignore:None of the inputs have requires_grad")
@same
@BOTH_FORMS
def test_nested(torch, use_reentrant):
    x, _ = _inputs(torch)
    checkpoint = _checkpoint(torch).checkpoint
    calls = []

    def inner(x):
        calls.append("inner")
        return x.exp().sin()

    def outer(x):
        calls.append("outer")
        return checkpoint(inner, x * 2, use_reentrant=use_reentrant).exp()

    out = checkpoint(outer, x, use_reentrant=use_reentrant)
    out.sum().backward()
    return x.grad, calls


@same
def test_without_gradients(torch):
    x = torch.ones(2)
    checkpoint = _checkpoint(torch).checkpoint
    out = checkpoint(lambda x: x * 2, x, use_reentrant=False)
    with torch.no_grad():
        inside = checkpoint(lambda x: x * 2, torch.ones(2, requires_grad=True), use_reentrant=False)
    return out, inside


@same
def test_contexts(torch):
    x, _ = _inputs(torch)
    events = []

    @contextlib.contextmanager
    def noted(name):
        events.append(f"enter {name}")
        yield
        events.append(f"exit {name}")

    def f(x):
        events.append("run")
        return x.exp().sin()

    checkpoint = _checkpoint(torch).checkpoint
    contexts = lambda: (noted("forward"), noted("again"))  # noqa: E731
    checkpoint(f, x, use_reentrant=False, context_fn=contexts).sum().backward()
    with pytest.raises(ValueError, match="only supported when use_reentrant=False"):
        checkpoint(f, x, use_reentrant=True, context_fn=contexts)
    return events, x.grad


@same
def test_early_stop(torch):
    module = _checkpoint(torch)
    x, _ = _inputs(torch)
    calls = []

    def f(x):
        y = x.exp()
        calls.append("first")
        z = y.sin()
        calls.append("second")
        return z + 1

    module.checkpoint(f, x, use_reentrant=False).sum().backward()
    early, calls[:] = list(calls), []
    with module.set_checkpoint_early_stop(False):
        out = module.checkpoint(f, x, use_reentrant=False).sum()
    out.backward()
    return early, calls


@same
def test_function_that_saves_more_the_second_time(torch):
    x, _ = _inputs(torch)
    module = _checkpoint(torch)
    runs = []

    def more(x):
        runs.append(1)
        return x.exp() if len(runs) == 1 else x.exp().exp().exp()

    with module.set_checkpoint_early_stop(False):
        out = module.checkpoint(more, x, use_reentrant=False).sum()
    with pytest.raises(
        module.CheckpointError, match="trying to save more tensors during recomputation"
    ):
        out.backward()


@same
def test_function_that_saves_fewer_the_second_time(torch):
    x, _ = _inputs(torch)
    module = _checkpoint(torch)
    runs = []

    def fewer(x):
        runs.append(1)
        return x.exp().exp() if len(runs) == 1 else x.exp()

    out = module.checkpoint(fewer, x, use_reentrant=False).sum()
    with pytest.raises(module.CheckpointError, match="A different number of tensors was saved"):
        out.backward()


@same
def test_function_whose_shapes_change(torch):
    x, _ = _inputs(torch)
    module = _checkpoint(torch)
    runs = []

    def changes(x):
        runs.append(1)
        return (x if len(runs) == 1 else x[:1]).exp().sum()

    out = module.checkpoint(changes, x, use_reentrant=False)
    with pytest.raises(module.CheckpointError, match="have different metadata"):
        out.backward()
    runs.clear()
    out = module.checkpoint(changes, x, use_reentrant=False, determinism_check="none")
    return len(runs), out.detach()


@same
def test_unknown_determinism_check(torch):
    x, _ = _inputs(torch)
    with pytest.raises(ValueError, match="determinism_check should be one of"):
        _checkpoint(torch).checkpoint(torch.exp, x, use_reentrant=False, determinism_check="all")


@same
@BOTH_FORMS
def test_sequential(torch, use_reentrant):
    x, _ = _inputs(torch)
    calls = []

    def step(i):
        def run(x):
            calls.append(i)
            return (x * (i + 1)).sin()

        return run

    functions = [step(i) for i in range(5)]
    out = _checkpoint(torch).checkpoint_sequential(functions, 2, x, use_reentrant=use_reentrant)
    out.sum().backward()
    return out.detach(), x.grad, calls


@same
def test_error_in_the_function_comes_through(torch):
    x, _ = _inputs(torch)
    for use_reentrant in (True, False):
        with pytest.raises(ZeroDivisionError):
            _checkpoint(torch).checkpoint(lambda x: 1 / 0, x, use_reentrant=use_reentrant)


@same
def test_second_order(torch):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    out = _checkpoint(torch).checkpoint(lambda x: x**3 * x.exp(), x, use_reentrant=False).sum()
    (g,) = torch.autograd.grad(out, x, create_graph=True)
    return g.detach(), torch.autograd.grad(g.sum(), x)


@same
def test_custom_function_inside(torch):
    x, _ = _inputs(torch)
    _checkpoint(torch).checkpoint(
        lambda x: square(torch).apply(x).exp(), x, use_reentrant=False
    ).sum().backward()
    return x.grad


@same
def test_saved_values_are_freed(torch):
    import weakref

    x, _ = _inputs(torch)
    refs = []

    def f(x):
        y = x * 2
        refs.append(weakref.ref(y))
        return y.exp().sin()

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = _checkpoint(torch).checkpoint(f, x, use_reentrant=False)
    dead = refs[0]() is None
    out.sum().backward()
    return dead, refs[1]() is None, x.grad


@same
def test_vmap_inside_runs_again_for_the_same_graph(torch):
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    w = torch.randn(4, dtype=torch.float64, requires_grad=True)

    def loss(x, w):
        return torch.func.vmap(lambda row: (row * w).sin() * row)(x).sum()

    torch.utils.checkpoint.checkpoint(loss, x, w, use_reentrant=False).backward()
    return x.grad, w.grad
