"""Custom operations: `autograd.Function` in both styles, what it may save, mark and return."""

from __future__ import annotations

import pytest

from tests.both import same


def _square(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2 * x

    return Square


def _square_with_setup(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(x):
            return x * x

        @staticmethod
        def setup_context(ctx, inputs, output):
            (x,) = inputs
            ctx.save_for_backward(x)
            ctx.save_for_forward(x)

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 2 * x

        @staticmethod
        def jvp(ctx, tangent):
            (x,) = ctx.saved_tensors
            return 2 * x * tangent

    return Square


STYLES = pytest.mark.parametrize("style", [_square, _square_with_setup])


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
def test_forward_mode(torch):
    fwd = torch.autograd.forward_ad
    with fwd.dual_level():
        x = fwd.make_dual(torch.tensor([1.0, 2.0]), torch.tensor([1.0, 10.0]))
        return tuple(fwd.unpack_dual(_square_with_setup(torch).apply(x)))


@same
def test_forward_mode_without_a_jvp(torch):
    fwd = torch.autograd.forward_ad
    with fwd.dual_level():
        x = fwd.make_dual(torch.ones(2), torch.ones(2))
        with pytest.raises(NotImplementedError, match="You must implement the jvp function"):
            _square(torch).apply(x)


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
    z = _square(torch).apply(y)
    y.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        z.sum().backward()


@same
def test_saved_tensors_are_freed(torch):
    x = torch.ones(2, requires_grad=True)
    y = _square(torch).apply(x).sum()
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


# --- what backward may return --------------------------------------------------------------------


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
        _square(torch)()


# --- once_differentiable -------------------------------------------------------------------------


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


# --- with the transforms -------------------------------------------------------------------------


@same
def test_in_func_grad(torch):
    square = _square_with_setup(torch)
    x = torch.tensor(3.0)

    def f(x):
        return square.apply(x) * x

    return torch.func.grad(f)(x), torch.func.grad(torch.func.grad(f))(x)


@same
def test_in_func_jvp(torch):
    square = _square_with_setup(torch)
    x = torch.tensor([1.0, 2.0])
    return torch.func.jvp(square.apply, (x,), (torch.ones(2),))


@same
def test_generated_vmap_rule(torch):
    class Cube(torch.autograd.Function):
        generate_vmap_rule = True

        @staticmethod
        def forward(x):
            return x**3

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(inputs[0])

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3 * x**2

    x = torch.arange(6.0).reshape(2, 3)
    per_sample = torch.vmap(torch.func.grad(lambda x: Cube.apply(x).sum()))(x)
    return torch.vmap(Cube.apply)(x), torch.vmap(Cube.apply, in_dims=1)(x), per_sample


@same
def test_own_vmap_rule(torch):
    seen = []

    class Double(torch.autograd.Function):
        @staticmethod
        def forward(x, y):
            return x * 2 + y

        @staticmethod
        def setup_context(ctx, inputs, output):
            pass

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, grad

        @staticmethod
        def vmap(info, in_dims, x, y):
            seen.append((info.batch_size, info.randomness, in_dims))
            return Double.apply(x.movedim(in_dims[0], 0), y), 0

    x = torch.arange(6.0).reshape(2, 3)
    return torch.vmap(Double.apply, in_dims=(0, None))(x, torch.ones(3)), seen


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


@same
def test_missing_tangents_are_zeros(torch):
    seen = []

    class Sum(torch.autograd.Function):
        @staticmethod
        def forward(x, y, scale):
            return x + y * scale

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.scale = inputs[2]

        @staticmethod
        def jvp(ctx, tx, ty, ts):
            seen.append([tx is None, ty is None, ts is None])
            return tx + ty * ctx.scale

    x, y = torch.ones(2), torch.ones(2)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(x, torch.tensor([3.0, 4.0]))
        out = Sum.apply(dual, y, 2.0)
        return torch.autograd.forward_ad.unpack_dual(out).tangent.clone(), seen
