"""Conventions of PyTorch's graph that programs rely on: who runs when, and on what."""

import warnings
import weakref

import pytest

from tests.both import same


@same
def test_backward_to_a_non_leaf_runs_its_hooks_and_no_further(torch):
    log = []
    a = torch.tensor(1.0, requires_grad=True)
    b = a.clone()
    b.register_hook(lambda g: log.append("tensor") or g * 3)
    b.grad_fn.register_prehook(lambda gs: log.append("before"))
    b.grad_fn.register_hook(lambda i, o: log.append("after"))
    b.sum().backward(inputs=(b,))
    return log, b.grad, a.grad is None


@same
def test_hooks_of_a_leaf_s_node_live_as_long_as_the_graph(torch):
    log = []
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = (x * 2).sum()

    def hang(node):
        for following, _ in node.next_functions:
            if following is not None:
                following.register_prehook(lambda g: log.append("leaf"))
                hang(following)

    hang(y.grad_fn)
    y.backward()
    return log[-1:]


@same
def test_a_node_is_a_function_of_its_gradients(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    node = (x**2).grad_fn
    for wrong in ((), (torch.ones(2), torch.ones(2))):
        with pytest.raises(TypeError, match="expected 1 arguments, got"):
            node(*wrong)
    return node(torch.ones(2)), x.unbind()[0].grad_fn(torch.ones(()), torch.zeros(()))


@same
def test_an_input_detached_in_place_cannot_be_used_any_more(torch):
    a = torch.tensor(1.0, requires_grad=True).clone()
    b = a.sin()
    a.detach_()
    with pytest.raises(RuntimeError, match="saved tensor that has been detached"):
        b.backward()
    x = torch.tensor(1.0, requires_grad=True)
    c = x.clone().exp()  # what is saved is the result
    d = c * 1
    c.detach_()
    d.backward()
    c.add_(1)  # versions go on counting
    return x.grad, c._version


@same
def test_one_output_given_twice_is_one_tensor(torch):
    class Twice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            return y, y

        @staticmethod
        def backward(ctx, first, second):
            return first * 2 + second * 2

    x = torch.tensor([1.0, 3.0], requires_grad=True)
    a, b = Twice.apply(x)
    assert a is b
    (a * b).sum().backward()
    return x.grad


@same
def test_what_is_no_input_needs_no_mark(torch):
    class Marks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, view):
            y = x.clone().view_as(x) if view else x.clone()
            ctx.mark_dirty(y)
            return y

        @staticmethod
        def backward(ctx, g):
            return g, None

    x = torch.tensor([1.0], requires_grad=True).clone()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Marks.apply(x, False)
    assert any("received a tensor that was not an input" in str(w.message) for w in caught)
    with pytest.raises(RuntimeError, match="received a tensor that was not an input"):
        Marks.apply(x, True)


@pytest.mark.parametrize("recording", [True, False])
@pytest.mark.parametrize("wants", [True, False])
def test_a_view_from_a_custom_function_is_not_written_to(recording, wants):
    @same
    def run(torch):
        class View(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x[:]

            @staticmethod
            def backward(ctx, g):
                return g

        x = torch.tensor([1.0, 2.0], requires_grad=wants)
        with torch.set_grad_enabled(recording):
            out = View.apply(x)
        with pytest.raises(RuntimeError, match="modified inplace"):
            out.mul_(torch.ones(2, requires_grad=True))
        return out.requires_grad, out._base is x

    run()


@same
def test_saved_tensors_that_are_cleared_when_read(torch):
    class Once(torch.autograd.Function):
        clear_saved_tensors_on_access = True
        reads = 1

        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            gone = weakref.ref(x)
            del x
            assert gone() is None
            for _ in range(Once.reads - 1):
                ctx.saved_tensors
            return g

    x = torch.tensor(2.0, requires_grad=True)
    Once.apply(x.clone()).backward()
    Once.reads = 2
    with pytest.raises(RuntimeError, match="can only be accessed once"):
        Once.apply(x.clone()).backward()
    return x.grad


@same
def test_zeros_made_for_what_is_unused_can_be_differentiated(torch):
    x = torch.tensor(0.5, requires_grad=True)
    factor = torch.tensor(2.0, requires_grad=True)
    (first,) = torch.autograd.grad(x * factor, x, create_graph=True)
    second = torch.autograd.grad(first, x, create_graph=True, materialize_grads=True)
    return torch.autograd.grad(second, x, materialize_grads=True)


@same
def test_a_batch_of_gradients_has_one_dimension_more(torch):
    x = torch.ones(2, 2, requires_grad=True)
    with pytest.raises(RuntimeError, match="If `is_grads_batched=True`, we interpret the first"):
        torch.autograd.grad(x.clone(), x, torch.ones(2, 2), is_grads_batched=True)


@same
def test_a_context_entered_in_backward_ends_with_it(torch):
    hooks = torch.autograd.graph.saved_tensors_hooks(lambda x: x, lambda x: hooks.__enter__() or x)
    x = torch.tensor([1.0], requires_grad=True)
    with hooks:
        y = x.sin().sum()
    y.backward()
    seen = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: seen.append(1) or t, lambda t: t):
        x.cos()
    return len(seen)
