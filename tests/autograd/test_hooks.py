"""Hooks on tensors and nodes: when they run, what they may change, how they go away."""

from __future__ import annotations

import gc
import weakref

import pytest

from tests.both import same

# --- tensor hooks --------------------------------------------------------------------------------


@same
def test_hooks_run_in_order_and_replace_the_gradient(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    seen = []

    def doubles(grad):
        seen.append(("doubles", grad.clone()))
        return grad * 2

    def looks(grad):
        seen.append(("looks", grad.clone()))

    y.register_hook(doubles)
    y.register_hook(looks)
    y.register_hook(doubles)
    y.sum().backward()
    return seen, x.grad


@same
def test_hook_on_a_leaf(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    calls = []
    x.register_hook(lambda g: calls.append(g.clone()))
    x.register_hook(lambda g: g * 10)
    (x * x).sum().backward()
    (x * 2).sum().backward()
    return calls, x.grad


@same
def test_hook_on_a_leaf_sees_the_total_once(torch):
    x = torch.tensor(2.0, requires_grad=True)
    calls = []
    x.register_hook(lambda g: calls.append(g.clone()))
    (x * x + x * 3 + x.exp()).backward()
    return calls


@same
def test_hook_runs_for_grad_of_a_leaf_and_of_a_non_leaf(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x * 3
    x.register_hook(lambda g: g + 100)
    y.register_hook(lambda g: g * 2)
    z = y * y
    return torch.autograd.grad(z, (x, y), retain_graph=True), torch.autograd.grad(z, y)


@same
def test_what_a_hook_computes_is_not_recorded(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    w = torch.tensor([3.0, 4.0], requires_grad=True)
    seen = []
    y = x * 2
    y.register_hook(lambda g: seen.append((torch.is_grad_enabled(), (g * w).requires_grad)))
    y.sum().backward()
    return seen, (x * w).requires_grad


@same
def test_removed_hook_does_not_run(torch):
    x = torch.tensor(1.0, requires_grad=True)
    calls = []
    handle = x.register_hook(lambda g: calls.append("first"))
    with x.register_hook(lambda g: calls.append("second")):
        (x * 2).backward()
    (x * 2).backward()
    handle.remove()
    handle.remove()
    (x * 2).backward()
    return calls


@same
def test_hook_may_remove_itself_while_running(torch):
    x = torch.tensor(1.0, requires_grad=True)
    y = x * 2
    calls = []

    def once(grad):
        calls.append("once")
        handle.remove()

    handle = y.register_hook(once)
    y.register_hook(lambda g: calls.append("always"))
    y.backward(retain_graph=True)
    y.backward()
    return calls


@same
def test_retained_gradient_is_what_hooks_leave(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    return y.grad, x.grad


@same
def test_hooks_before_and_after_an_in_place_change(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    seen = []
    y.register_hook(lambda g: seen.append(("before", g.clone())))
    y.mul_(3)
    y.register_hook(lambda g: seen.append(("after", g.clone())))
    y.sum().backward()
    return seen, x.grad


@same
def test_retain_grad_before_an_in_place_change(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    return y.retains_grad, y.grad, x.grad


@same
def test_hook_on_one_output_of_several(torch):
    x = torch.arange(4.0, requires_grad=True)
    a, b = x.chunk(2)
    seen = []
    b.register_hook(lambda g: seen.append(g.clone()))
    b.register_hook(lambda g: g * 3)
    (a * 1 + b * 2).sum().backward()
    return seen, x.grad


@same
def test_hook_result_under_create_graph_is_differentiated(torch):
    x = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    y = x * x
    y.register_hook(lambda g: g * x)
    (g,) = torch.autograd.grad(y * 3, x, create_graph=True)
    return g.detach(), torch.autograd.grad(g, x)


@same
def test_hook_that_changes_the_shape(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g[:1])
    with pytest.raises(RuntimeError, match="has changed the size of value"):
        y.sum().backward()


@same
def test_hook_that_changes_the_dtype(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: g.double())
    with pytest.raises(RuntimeError, match="has changed the type of value"):
        y.sum().backward()


@same
def test_hook_that_returns_something_else(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.register_hook(lambda g: 3)
    with pytest.raises(TypeError, match="expected Variable, but hook returned 'int'"):
        y.sum().backward()


@same
def test_hook_on_a_tensor_that_needs_no_gradient(torch):
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        x.register_hook(lambda g: None)


@same
def test_error_in_a_hook_comes_through(torch):
    x = torch.ones(2, requires_grad=True)

    def fails(grad):
        raise ZeroDivisionError("as asked")

    y = x * 2
    handle = y.register_hook(fails)
    with pytest.raises(ZeroDivisionError, match="as asked"):
        y.sum().backward()
    handle.remove()
    (x * 4).sum().backward()
    return x.grad


# --- hooks after accumulation --------------------------------------------------------------------


@same
def test_post_accumulate_hook(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    seen = []

    def hook(leaf):
        seen.append((leaf is x, leaf.grad.clone()))

    handle = x.register_post_accumulate_grad_hook(hook)
    (x * 2).sum().backward()
    (x * 3).sum().backward()
    handle.remove()
    (x * 4).sum().backward()
    return seen, x.grad


@same
def test_post_accumulate_hook_may_step_and_clear(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)

    def step(leaf):
        with torch.no_grad():
            leaf -= 0.1 * leaf.grad
        leaf.grad = None

    x.register_post_accumulate_grad_hook(step)
    for _ in range(3):
        (x * x).sum().backward()
    return x.detach(), x.grad


@same
def test_post_accumulate_hook_runs_after_tensor_hooks(torch):
    x = torch.tensor(1.0, requires_grad=True)
    order = []
    x.register_post_accumulate_grad_hook(lambda leaf: order.append("after"))
    x.register_hook(lambda g: order.append("before"))
    (x * 2).backward()
    return order


@same
def test_post_accumulate_hook_does_not_run_for_grad(torch):
    x = torch.tensor(1.0, requires_grad=True)
    calls = []
    x.register_post_accumulate_grad_hook(lambda leaf: calls.append(1))
    torch.autograd.grad(x * 2, x)
    return calls


@same
def test_post_accumulate_hook_needs_a_leaf(torch):
    x = torch.tensor(1.0, requires_grad=True)
    with pytest.raises(RuntimeError, match="cannot be registered on non-leaf"):
        (x * 2).register_post_accumulate_grad_hook(lambda leaf: None)
    with pytest.raises(RuntimeError, match="doesn't require gradient"):
        torch.ones(1).register_post_accumulate_grad_hook(lambda leaf: None)


# --- hooks on nodes ------------------------------------------------------------------------------


@same
def test_node_hook_sees_both_sides(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    seen = []
    y.grad_fn.register_hook(lambda into, out: seen.append((into, out)))
    (y * y).sum().backward()
    return seen, x.grad


@same
def test_node_hook_may_replace(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    y.grad_fn.register_hook(lambda into, out: (into[0] * 10, *into[1:]))
    y.sum().backward()
    return x.grad


@same
def test_node_prehook_may_replace(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    order = []

    def prehook(out):
        order.append("prehook")
        return tuple(g * 2 for g in out)

    y.grad_fn.register_prehook(prehook)
    y.register_hook(lambda g: order.append("tensor hook"))
    y.grad_fn.register_hook(lambda into, out: order.append(("hook", out)))
    y.sum().backward()
    return order, x.grad


@same
def test_node_hooks_are_removed(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    calls = []
    first = y.grad_fn.register_hook(lambda into, out: calls.append(1))
    second = y.grad_fn.register_prehook(lambda out: calls.append(2))
    y.sum().backward(retain_graph=True)
    first.remove()
    second.remove()
    y.sum().backward()
    return calls


@same
def test_hook_of_a_leafs_accumulator(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 3
    accumulator = y.grad_fn.next_functions[0][0]
    seen = []
    accumulator.register_prehook(lambda out: seen.append(("pre", out, x.grad)))
    accumulator.register_hook(lambda into, out: seen.append(("post", into, out)))
    y.sum().backward()
    return seen, x.grad


@same
def test_node_hook_with_the_wrong_number_of_values(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    y.grad_fn.register_hook(lambda into, out: (into[0], into[0]))
    with pytest.raises(RuntimeError, match="incorrect number of values"):
        y.sum().backward()


# --- one hook for several tensors ----------------------------------------------------------------


@same
def test_multi_grad_hook_waits_for_all(torch):
    a, b, c, d = (torch.tensor(float(i), requires_grad=True) for i in range(1, 5))
    seen = []
    handle = torch.autograd.graph.register_multi_grad_hook(
        (a, b, c, d), lambda grads: seen.append(list(grads))
    )
    (a * b + c).backward()
    (a * d).backward()
    handle.remove()
    (a * b).backward()
    return seen


@same
def test_multi_grad_hook_for_any(torch):
    a, b = (torch.tensor(float(i), requires_grad=True) for i in range(1, 3))
    product = a * b
    calls = []
    torch.autograd.graph.register_multi_grad_hook((product, a, b), calls.append, mode="any")
    (product * 3).backward()
    (a * 5).backward()
    return calls


@same
def test_multi_grad_hook_refuses_other_modes(torch):
    a = torch.ones(1, requires_grad=True)
    with pytest.raises(ValueError, match="Expects mode to be one of"):
        torch.autograd.graph.register_multi_grad_hook((a,), print, mode="some")


@same
def test_multi_grad_hook_on_non_leaves(torch):
    a = torch.tensor(2.0, requires_grad=True)
    b, c = a * 2, a * 3
    seen = []
    torch.autograd.graph.register_multi_grad_hook((b, c), lambda grads: seen.append(list(grads)))
    (b * c).backward()
    return seen, a.grad


# --- life of hooks -------------------------------------------------------------------------------


@same
def test_hooks_die_with_the_graph(torch):
    class Marker:
        def __call__(self, grad):
            return None

    gc.collect()
    gc.disable()
    try:
        x = torch.tensor(1.0, requires_grad=True)
        y = x * 2
        marker = Marker()
        alive = weakref.ref(marker)
        y.register_hook(marker)
        del marker
        before = alive() is not None
        del y
        return before, alive() is None
    finally:
        gc.enable()


@same
def test_a_hook_stays_with_the_graph_when_the_tensor_is_gone(torch):
    x = torch.tensor(1.0, requires_grad=True)
    y = x * 2
    calls = []
    y.register_hook(calls.append)
    z = y * 3
    del y
    z.backward()
    return calls


@same
def test_hook_on_an_output_that_gets_no_gradient(torch):
    x = torch.arange(4.0, requires_grad=True)
    a, b = x.chunk(2)
    seen = []
    a.register_hook(seen.append)
    b.sum().backward()
    return seen, x.grad


@same
def test_hooks_are_listed(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    before = x._backward_hooks is None, y._backward_hooks is None
    x.register_hook(lambda g: None)
    y.register_hook(lambda g: None)
    return before, len(x._backward_hooks), len(y._backward_hooks)


@same
def test_hooks_of_a_leaf_run_in_order(torch):
    x = torch.ones(3, requires_grad=True)
    accumulate = x.view_as(x).grad_fn.next_functions[0][0]
    x.register_hook(lambda g: g - 2)
    accumulate.register_prehook(lambda grads: (grads[0] / 5,))

    def after(leaf):
        leaf.grad.add_(0.5)

    def last(_, grads):
        x.grad.mul_(10)

    x.register_post_accumulate_grad_hook(after)
    accumulate.register_hook(last)
    x.sum().backward()
    return x.grad


@same
def test_what_a_post_accumulate_hook_may_not_do(torch):
    x = torch.ones(2, requires_grad=True)
    x.register_post_accumulate_grad_hook(lambda leaf: leaf.grad)
    with pytest.raises(RuntimeError, match="hooks should return None"):
        x.sum().backward()


@same
def test_a_view_retains_the_gradient_of_its_new_value(torch):
    x = torch.tensor([1.0, 2.0, 3.0], requires_grad=True).clone()
    one, other = x[:1], x[:1]
    one.retain_grad()
    other.retain_grad()
    one.mul_(2)
    (one + other).sum().backward()
    return one.grad, other.grad


@same
def test_numpy_without_recording(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.no_grad():
        found = x.numpy().tolist()
    with torch.inference_mode():
        target = torch.zeros(2)
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        torch.mul(torch.ones(2), 2, out=target)
    return found
