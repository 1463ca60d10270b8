"""What forward and backward of an `autograd.Function` may return, and once_differentiable."""

from __future__ import annotations

import pytest

from tests.both import same

from .custom_squares import square


def _returns(torch, result):
    class Returns(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            return x + y

        @staticmethod
        def backward(ctx, grad):
            return result(grad)

    return Returns


@same
@pytest.mark.parametrize(
    ("result", "phrase"),
    [
        (lambda g: g, r"returned an incorrect number of gradients \(expected 2, got 1\)"),
        (lambda g: (g, g, g), r"returned an incorrect number of gradients \(expected 2, got 3\)"),
        (lambda g: (g[:1].expand(3), g), "returned an invalid gradient at index 0"),
        (lambda g: (g, g.reshape(2, 1)), "returned an invalid gradient at index 1"),
    ],
)
def test_wrong_results(torch, result, phrase):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=phrase):
        _returns(torch, result).apply(x, y).sum().backward()


@same
def test_trailing_nones_are_ignored(torch):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    _returns(torch, lambda g: (g, g * 2, None, None)).apply(x, y).sum().backward()
    return x.grad, y.grad


@same
def test_none_for_an_input(torch):
    x, y = torch.ones(2, requires_grad=True), torch.ones(2, requires_grad=True)
    _returns(torch, lambda g: (None, g)).apply(x, y).sum().backward()
    return x.grad, y.grad


@same
def test_gradient_for_something_that_is_no_tensor(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor):
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            return grad, grad

    with pytest.raises(RuntimeError, match="returned a gradient different than None at position 2"):
        Scale.apply(torch.ones(2, requires_grad=True), 2.0).sum().backward()


@same
def test_gradient_is_reduced_and_cast_to_its_input(torch):
    x = torch.ones(2, 1, requires_grad=True)
    y = torch.ones(2, 3, requires_grad=True)
    _returns(torch, lambda g: (g.double(), g)).apply(x, y).sum().backward()
    return x.grad, y.grad


@same
def test_backward_not_written(torch):
    class OnlyForward(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    y = OnlyForward.apply(torch.ones(2, requires_grad=True))
    with pytest.raises(NotImplementedError, match="You must implement either the backward or vjp"):
        y.sum().backward()


@same
def test_forward_not_written(torch):
    class Nothing(torch.autograd.Function):
        pass

    with pytest.raises(NotImplementedError, match="You must implement the forward function"):
        Nothing.apply(torch.ones(2))


@same
def test_vjp_is_another_name_for_backward(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def vjp(ctx, grad):
            return grad * 2

    x = torch.ones(2, requires_grad=True)
    Double.apply(x).sum().backward()
    return x.grad


@same
def test_error_in_backward_comes_through(torch):
    class Fails(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise KeyError("as asked")

    with pytest.raises(KeyError, match="as asked"):
        Fails.apply(torch.ones(2, requires_grad=True)).sum().backward()


@same
def test_instances_are_discouraged(torch):
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        square(torch)()


@same
def test_once_differentiable(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2 * x

    x = torch.ones(2, requires_grad=True)
    Double.apply(x).sum().backward()
    (g,) = torch.autograd.grad((Double.apply(x) ** 2).sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="marked with @once_differentiable"):
        g.sum().backward()
    return x.grad, g.requires_grad


@same
def test_outputs_that_are_no_tensors(torch):
    class Mixed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, 5, None, "text"

        @staticmethod
        def backward(ctx, grad, *others):
            return grad * 2

    x = torch.ones(2, requires_grad=True)
    out, *others = Mixed.apply(x)
    out.sum().backward()
    return others, x.grad


@same
def test_recording_inside_forward_and_backward(torch):
    seen = []

    class Inner(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(torch.is_grad_enabled())
            with torch.enable_grad():
                leaf = x.detach().requires_grad_()
                out = leaf.exp()
            ctx.save_for_backward(leaf, out)
            return out.detach()

        @staticmethod
        def backward(ctx, grad):
            seen.append(torch.is_grad_enabled())
            leaf, out = ctx.saved_tensors
            return torch.autograd.grad(out, leaf, grad)[0]

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    Inner.apply(x).sum().backward()
    return x.grad, seen


@same
def test_gradients_in_one_list(torch):
    seen = []

    class Boxed(torch.autograd.Function):
        boxed_grads_call = True

        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, grads):
            seen.append(type(grads))
            first, second = grads
            grads.clear()
            return first * 2 + second * 3

    x = torch.ones(3, requires_grad=True)
    a, b = Boxed.apply(x)
    (a + 2 * b).sum().backward()
    again = Boxed.apply(x)[0].grad_fn.apply(torch.ones(3), torch.ones(3))
    return x.grad, seen, again


@same
def test_what_is_no_tensor_has_no_gradient(torch):
    seen = []

    class Mixed(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, scale):
            marked = x.clone()
            ctx.mark_non_differentiable(marked)
            ctx._materialize_non_diff_grads = False
            return scale, x * scale, None, marked, x * 2

        @staticmethod
        def backward(ctx, *grads):
            seen.append([g is None for g in grads])
            return grads[1] * 3 + grads[4], None

    x = torch.ones(2, requires_grad=True)
    Mixed.apply(x, 3.0)[1].sum().backward()
    return x.grad, seen
