"""Custom operations: `autograd.Function` in both styles, what it may save and mark."""

from __future__ import annotations

import pytest

from tests.both import same

from .custom_squares import STYLES, square


@same
@STYLES
def test_both_styles(torch, style):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = style(torch).apply(x)
    y.sum().backward()
    return y.grad_fn.name(), type(y.grad_fn).__name__, y.is_leaf, x.grad


@same
@STYLES
def test_second_order_through_a_custom_backward(torch, style):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad((style(torch).apply(x) ** 2).sum(), x, create_graph=True)
    return g.detach(), torch.autograd.grad(g.sum(), x)


@same
@STYLES
def test_without_gradients(torch, style):
    x = torch.tensor([1.0, 2.0])
    y = style(torch).apply(x)
    with torch.no_grad():
        z = style(torch).apply(x.clone().requires_grad_())
    return y, y.grad_fn, z


@same
def test_arguments_that_are_no_tensors(torch):
    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, factor, flag=None):
            ctx.factor = factor
            return x * factor

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None, None

    x = torch.ones(2, requires_grad=True)
    Scale.apply(x, 3.0, "text").sum().backward()
    return x.grad


@same
def test_needs_input_grad(torch):
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y, n):
            seen.append(ctx.needs_input_grad)
            ctx.save_for_backward(x, y)
            return x * y * n

        @staticmethod
        def backward(ctx, grad):
            seen.append(ctx.needs_input_grad)
            x, y = ctx.saved_tensors
            return (grad * y if ctx.needs_input_grad[0] else None), grad * x, None

    x, y = torch.ones(2, requires_grad=True), torch.ones(2)
    Product.apply(x, y, 2).sum().backward()
    z = torch.ones(2, requires_grad=True)
    Product.apply(y, z, 1).sum().backward()
    return seen, x.grad, y.grad, z.grad


@same
def test_several_outputs_and_missing_gradients(torch):
    received = []

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            received.append((first, second))
            return first * 2 + second * 3

    x = torch.ones(2, requires_grad=True)
    a, b = Both.apply(x)
    a.sum().backward()
    (g,) = torch.autograd.grad(Both.apply(x)[1].sum(), x)
    return received, x.grad, g, b.grad_fn.name()


@same
def test_gradients_that_are_not_materialised(torch):
    received = []

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            received.append((first, second))
            return first * 2

    x = torch.ones(2, requires_grad=True)
    Both.apply(x)[0].sum().backward()
    return received, x.grad


@same
def test_non_differentiable_outputs(torch):
    class Sorted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            values, order = x.sort()
            extra = x * 5
            ctx.mark_non_differentiable(order, extra)
            ctx.save_for_backward(order)
            return values, order, extra

        @staticmethod
        def backward(ctx, grad, *others):
            (order,) = ctx.saved_tensors
            return torch.zeros_like(grad).index_add_(0, order, grad)

    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    values, order, extra = Sorted.apply(x)
    (values * torch.tensor([1.0, 10.0, 100.0])).sum().backward()
    return values.requires_grad, order, extra, x.grad


@same
def test_dirty_input(torch):
    class AddOne(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x += 1
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 10

    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = AddOne.apply(y)
    (y * y).sum().backward()
    return z is y, y.grad_fn.name(), y.detach(), y._version, x.grad


@same
def test_dirty_input_must_be_returned(torch):
    class Hides(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad

    x = torch.ones(2, requires_grad=True) * 2
    with pytest.raises(
        RuntimeError, match="Some elements marked as dirty during the forward method"
    ):
        Hides.apply(x)


@same
def test_dirty_leaf(torch):
    class AddOne(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.add_(1)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad

    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        AddOne.apply(torch.ones(2, requires_grad=True))


@same
def test_input_returned_as_it_is(torch):
    class Identity(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 7

    x = torch.ones(2, requires_grad=True)
    y = Identity.apply(x)
    y.sum().backward()
    plain = torch.ones(2)
    return y is x, y.grad_fn.name(), x.is_leaf, x.grad, Identity.apply(plain).requires_grad


@same
def test_view_returned(torch):
    class Row(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.shape = x.shape
            return x[0]

        @staticmethod
        def backward(ctx, grad):
            out = torch.zeros(ctx.shape)
            out[0] = grad
            return out

    x = torch.ones(2, 3, requires_grad=True)
    Row.apply(x).sum().backward()
    return x.grad


@same
def test_saved_output(torch):
    class Exp(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            out = x.exp()
            ctx.save_for_backward(out)
            return out

        @staticmethod
        def backward(ctx, grad):
            (out,) = ctx.saved_tensors
            return grad * out

    x = torch.tensor([0.5, 1.0], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(Exp.apply(x).sum(), x, create_graph=True)
    return g.detach(), torch.autograd.grad(g.sum(), x)


@same
def test_none_may_be_saved(torch):
    class Maybe(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y=None):
            ctx.save_for_backward(x, y)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2 if ctx.saved_tensors[1] is None else None, None

    x = torch.ones(2, requires_grad=True)
    Maybe.apply(x, None).sum().backward()
    return x.grad


@same
def test_saved_tensor_changed_in_place(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 1
    z = square(torch).apply(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


@same
def test_saved_tensors_are_freed(torch):
    x = torch.ones(2, requires_grad=True)
    y = square(torch).apply(x).sum()
    y.backward()
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        y.backward()


@same
def test_attributes_of_ctx_can_be_read_from_the_node(torch):
    class Marks(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.note = "here"
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.ones(2, requires_grad=True)
    node = Marks.apply(x).grad_fn
    return node.note, node.saved_tensors[0] is x, node.needs_input_grad, len(node.next_functions)


@same
@STYLES
def test_keyword_arguments(torch, style):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    style(torch).apply(x=x).sum().backward()
    with pytest.raises(TypeError):
        style(torch).apply(y=x)
    return x.grad


@same
def test_many_edges_and_order(torch):
    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(ctx, scale, *tensors):
            ctx.count = len(tensors)
            total = tensors[0]
            for t in tensors[1:]:
                total = total + t
            return total * scale

        @staticmethod
        def backward(ctx, grad):
            return (None, *(grad * (i + 1) for i in range(ctx.count)))

    leaves = [torch.ones(2, requires_grad=True) for _ in range(4)]
    Sum.apply(2.0, *leaves).sum().backward()
    return [x.grad for x in leaves]


NAMES = [
    *("shape", "dtype", "outputs", "edges", "saved", "op", "hooks", "parameters", "sequence"),
    *("versions", "shapes", "code", "mark", "function", "attributes", "unusual"),
]


@same
def test_ctx_takes_attributes_of_any_name(torch):
    class Notes(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            for name in NAMES:
                setattr(ctx, name, name)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            assert [getattr(ctx, name) for name in NAMES] == NAMES
            return grad * 2

    x = torch.ones(2, requires_grad=True)
    y = Notes.apply(x)
    y.sum().backward()
    return x.grad, y.grad_fn.shape


@same
def test_write_into_a_view_that_a_function_returned(torch):
    class Flat(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.view(-1)

        @staticmethod
        def backward(ctx, grad):
            return grad.view(2, 2)

    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.ones(2, 2, requires_grad=True) * 1
    for function in (Flat, Same):
        with pytest.raises(RuntimeError, match="This view was created inside a custom Function"):
            function.apply(x).add_(1)
        function.apply(x).clone().add_(1)
