"""`backward` and `grad`: what reaches the leaves, what is returned, what is kept."""

from __future__ import annotations

import collections
import warnings
from typing import Any

import pytest

from tests.both import same


def _scalar_graph(torch: Any) -> Any:
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = torch.tensor([0.5, -1.0, 2.0], requires_grad=True)
    return x, y, (x * y + x.exp()).sum()


@same
def test_gradients_of_a_scalar(torch):
    x, y, out = _scalar_graph(torch)
    out.backward()
    return x.grad, y.grad


@same
def test_square_at_two_and_power_at_three(torch):
    x = torch.tensor(2.0, requires_grad=True)
    (x * x).backward()
    y = torch.tensor(3.0, requires_grad=True)
    (y**2).backward()
    return repr(x.grad), repr(y.grad)


@same
def test_gradients_accumulate_until_cleared(torch):
    x = torch.ones(3, requires_grad=True)
    grads = []
    for _ in range(3):
        (x * 2).sum().backward()
        grads.append(x.grad.clone())
    x.grad = None
    (x * 2).sum().backward()
    x.grad.zero_()
    (x * 5).sum().backward()
    return grads, x.grad


@same
def test_accumulation_is_in_place(torch):
    x = torch.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    held = x.grad
    (x * 2).sum().backward()
    return held is x.grad, held


@pytest.mark.parametrize("create_graph", [False, True])
@pytest.mark.parametrize("after", [6, 1, (2, 3), (3, 1)])
@pytest.mark.parametrize("before", [3, 1, (2, 3)])
@same
def test_accumulation_where_the_leaf_has_data_of_another_shape(torch, before, after, create_graph):
    x = torch.ones(before, requires_grad=True)
    x.sum().backward()
    x.data = torch.full(after if isinstance(after, tuple) else (after,), 2.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's, of another layout than the leaf's
        try:
            (x * x).sum().backward(create_graph=create_graph)
        except RuntimeError as error:
            return str(error).partition("\n")[0], x.grad
    return x.grad.detach()


@same
def test_accumulation_under_create_graph_makes_a_new_tensor(torch):
    x = torch.ones(3, requires_grad=True)
    (x**3).sum().backward(create_graph=True)
    held = x.grad
    (x**3).sum().backward(create_graph=True)
    return held is x.grad, held.detach(), x.grad.detach(), x.grad.requires_grad


@same
def test_backward_with_a_vector(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    (x * x).backward(gradient=torch.tensor([[1.0, 0.1], [10.0, -1.0]]))
    return x.grad


@same
def test_backward_of_one_element_with_dimensions(torch):
    x = torch.ones(1, 1, requires_grad=True)
    (x * 3).backward()
    return x.grad


@same
def test_backward_on_a_leaf(torch):
    x = torch.tensor(3.0, requires_grad=True)
    x.backward()
    x.backward(torch.tensor(2.0))
    return x.grad


@same
def test_backward_of_several_roots(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    torch.autograd.backward([y.sum(), y], [None, torch.tensor([1.0, 10.0])])
    return x.grad


@same
def test_a_root_given_twice_counts_twice(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    torch.autograd.backward((y, y))
    z = x * 3
    return x.grad, torch.autograd.grad((z, z), x)


@same
def test_a_root_below_another_root(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    z = y * y
    torch.autograd.backward((y, z), (torch.ones(2), torch.ones(2)))
    return x.grad


@same
def test_diamond(torch):
    x = torch.tensor(1.5, requires_grad=True)
    a = x * 2
    b = a.sin() + a.cos() * a
    b.backward()
    return x.grad


@same
def test_gradient_is_summed_over_broadcast_dimensions(torch):
    x = torch.ones(3, 1, requires_grad=True)
    y = torch.ones(4, requires_grad=True)
    z = torch.tensor(2.0, requires_grad=True)
    (x * y + z).backward(torch.arange(12.0).reshape(3, 4))
    return x.grad, y.grad, z.grad


@same
def test_gradient_has_the_dtype_of_its_tensor(torch):
    x = torch.ones(3, dtype=torch.float32, requires_grad=True)
    y = torch.ones(3, dtype=torch.float64, requires_grad=True)
    h = torch.ones(3, dtype=torch.float16, requires_grad=True)
    (x * y * h).sum().backward()
    return x.grad, y.grad, h.grad


@same
def test_complex_gradient(torch):
    z = torch.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    (z * z.conj()).real.sum().backward()
    return z.grad


# --- retain_graph, create_graph, inputs --------------------------------------------------------


@same
def test_retained_graph_can_be_used_again(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x**3
    y.backward(retain_graph=True)
    y.backward()
    return x.grad


@same
def test_a_graph_that_saved_nothing_can_be_used_again(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x + 1
    y.backward()
    y.backward()
    return x.grad


@same
def test_second_order_by_create_graph(torch):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    (first,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x, create_graph=True)
    (third,) = torch.autograd.grad(second.sum(), x)
    return first, second, third


@same
def test_backward_with_create_graph_then_backward_of_the_gradient(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([3.0, 1.0], requires_grad=True)
    (x * x * y).sum().backward(create_graph=True)
    first = x.grad
    x.grad = y.grad = None
    first.sum().backward()
    return x.grad, y.grad


@same
def test_inputs_limits_what_is_accumulated(torch):
    x, y, out = _scalar_graph(torch)
    out.backward(inputs=[x], retain_graph=True)
    seen = [x.grad.clone(), y.grad]
    out.backward(inputs=y)
    return seen, x.grad, y.grad


@same
def test_inputs_may_be_a_non_leaf(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    (y * y).sum().backward(inputs=[y])
    return x.grad, y.grad


@same
def test_inputs_may_not_be_empty(torch):
    _, _, out = _scalar_graph(torch)
    with pytest.raises(RuntimeError, match="cannot be empty"):
        out.backward(inputs=[])


# --- grad -----------------------------------------------------------------------------------------


@same
def test_grad_touches_no_leaf(torch):
    x, y, out = _scalar_graph(torch)
    found = torch.autograd.grad(out, (x, y))
    return found, x.grad, y.grad


@same
def test_grad_of_a_non_leaf(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    z = (y * y).sum()
    return torch.autograd.grad(z, [y, x])


@same
def test_grad_of_the_same_input_twice(torch):
    x, _, out = _scalar_graph(torch)
    return torch.autograd.grad(out, (x, x))


@same
def test_grad_of_an_output_by_itself(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 2
    return torch.autograd.grad(y, y), torch.autograd.grad(x, x)


@same
def test_grad_with_grad_outputs(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    a, b = x * x, x.sin()
    return torch.autograd.grad(
        (a, b), x, grad_outputs=(torch.tensor([1.0, 2.0]), torch.tensor([0.5, 0.0]))
    )


@same
def test_grad_outputs_that_want_gradients(torch):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    v = torch.tensor([1.0, 1.0], dtype=torch.float64, requires_grad=True)
    (g,) = torch.autograd.grad(x**3, x, v, create_graph=True)
    return torch.autograd.grad(g.sum(), (x, v))


@same
def test_unused_input(torch):
    x, _, out = _scalar_graph(torch)
    other = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="appears to not have been used in the graph"):
        torch.autograd.grad(out, (x, other), retain_graph=True)
    return torch.autograd.grad(out, (x, other), allow_unused=True)


@same
def test_unused_input_materialised(torch):
    x, _, out = _scalar_graph(torch)
    other = torch.ones(2, dtype=torch.float64, requires_grad=True)
    return torch.autograd.grad(out, (x, other), materialize_grads=True)


@same
def test_materialize_grads_contradicts_allow_unused_false(torch):
    x, _, out = _scalar_graph(torch)
    with pytest.raises(ValueError, match="Expected allow_unused to be True or not passed"):
        torch.autograd.grad(out, x, allow_unused=False, materialize_grads=True)


@same
def test_batched_gradients(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = torch.tensor(2.0, requires_grad=True)
    out = x * x * y
    return torch.autograd.grad(out, (x, y), torch.eye(3), is_grads_batched=True)


@same
def test_batched_gradients_with_create_graph(torch):
    x = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64, requires_grad=True)
    (jacobian,) = torch.autograd.grad(
        x**3, x, torch.eye(3, dtype=torch.float64), is_grads_batched=True, create_graph=True
    )
    return jacobian.detach(), torch.autograd.grad(jacobian.sum(), x)


@same
def test_grad_runs_only_what_leads_to_the_inputs(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    ran = []
    a = x * 2
    b = y * 3
    a.register_hook(lambda g: ran.append("a"))
    b.register_hook(lambda g: ran.append("b"))
    found = torch.autograd.grad(a * b, x)
    return found, ran


@same
def test_grad_does_not_free_what_it_did_not_run(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x**2
    z = y**3
    (g,) = torch.autograd.grad(z, y)
    y.backward()
    return g, x.grad


@same
def test_only_floating_outputs_want_gradients(torch):
    x = torch.tensor([3.0, 1.0, 2.0], requires_grad=True)
    values, order = torch.sort(x)
    return (
        values.requires_grad,
        order.requires_grad,
        (x > 1).requires_grad,
        x.argmax().requires_grad,
    )


# --- tensors' own state -----------------------------------------------------------------------


@same
def test_leaves(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    plain = torch.ones(2)
    with torch.no_grad():
        inside = x * 2
    tensors = (x, y, plain, inside, x.detach(), x.data, y.detach())
    return [(t.is_leaf, t.requires_grad, t.grad_fn is None) for t in tensors]


@same
def test_requires_grad_can_be_asked_for_later(torch):
    x = torch.ones(2)
    y = x * 2
    x.requires_grad_()
    z = x * 3
    x.requires_grad = False
    w = x * 4
    return y.requires_grad, z.requires_grad, w.requires_grad, x.requires_grad_(True) is x


@same
def test_detach_shares_memory_and_passes_nothing(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    d = (x * 2).detach()
    out = (d * x).sum()
    out.backward()
    e = x.detach()
    e[0] = 9.0
    return d, x.grad, x.detach()


@same
def test_detach_in_place(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    same_object = y.detach_() is y
    return same_object, y, y.is_leaf, (y * x).sum().backward(), x.grad


@same
def test_retain_grad(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    before = y.retains_grad, x.retains_grad
    y.retain_grad()
    y.retain_grad()
    x.retain_grad()
    z = (y * y).sum()
    z.backward(retain_graph=True)
    first = y.grad.clone()
    z.backward()
    return before, (y.retains_grad, x.retains_grad), first, y.grad, x.grad


@same
def test_retain_grad_of_one_output_of_several(torch):
    x = torch.arange(6.0, requires_grad=True)
    a, b = x.split(3)
    b.retain_grad()
    (a.sum() + (b * b).sum()).backward()
    return b.grad, x.grad


@same
def test_gradient_may_be_assigned(torch):
    x = torch.ones(2, requires_grad=True)
    x.grad = torch.full((2,), 5.0)
    (x * 2).sum().backward()
    held = x.grad
    del x.grad
    return held, x.grad


@same
def test_gradient_is_a_tensor_of_its_own(torch):
    x = torch.ones(3, requires_grad=True)
    y = torch.ones(3, requires_grad=True)
    g = torch.ones(3)
    (x + y).backward(g)
    x.grad[0] = 7.0
    g[1] = 9.0
    return x.grad, y.grad


@same
def test_gradient_of_an_expanded_sum_can_be_written(torch):
    x = torch.ones(3, requires_grad=True)
    x.sum().backward()
    x.grad.mul_(2)
    return x.grad, x.grad.stride()


@same
def test_data_swaps_the_values_behind_autograd(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    x.data = torch.tensor([5.0, 6.0])
    (x * x).sum().backward()
    x.data.add_(1)
    return x.detach(), x.grad, x._version


@same
def test_higher_orders_of_a_whole_expression(torch):
    x = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    value = torch.exp(torch.sin(x) * x) / (1 + x * x)
    orders = [value.detach()]
    for _ in range(4):
        (value,) = torch.autograd.grad(value, x, create_graph=True)
        orders.append(value.detach())
    return orders


@same
def test_gradient_through_indexing_and_joining(torch):
    x = torch.arange(6.0, requires_grad=True)
    m = torch.stack([x[:3] * 2, x[3:] ** 2])
    out = torch.cat([m, m[:1]]).sum(0)[[0, 0, 2]]
    out.backward(torch.tensor([1.0, 10.0, 100.0]))
    return x.grad


@same
def test_gradient_lies_in_memory_as_its_leaf_does(torch):
    x = torch.ones(2, 3).t().requires_grad_()
    y = torch.ones(3, 2, requires_grad=True)
    ((x + y) * torch.arange(6.0).reshape(3, 2)).sum().backward()
    return x.grad, x.grad.stride(), y.grad.stride()


@same
def test_inputs_in_a_dictionary(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([3.0, 4.0], requires_grad=True)
    z = (x * x * y).sum()
    found = torch.autograd.grad(z, {"x": x, "y": y}, retain_graph=True)
    torch.autograd.backward(z, inputs={"y": y})
    with pytest.raises(RuntimeError, match="cannot be empty"):
        torch.autograd.grad((x * x).sum(), {})
    with pytest.raises(RuntimeError, match="The differentiated Tensor at index 1 appears"):
        torch.autograd.grad((x * x).sum(), {"x": x, "y": y})
    with pytest.raises(TypeError, match="must be a dict, not OrderedDict"):
        torch.autograd.grad((x * x).sum(), collections.OrderedDict(x=x))
    return found, x.grad, y.grad
