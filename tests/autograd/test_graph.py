"""The graph as users see it: names, edges, what nodes saved, hooks on what is saved."""

from __future__ import annotations

import pytest

from tests.autograd.custom_squares import square
from tests.both import same


def _walk(node, depth=0):
    """Names of the nodes below one, as an indented list."""
    if node is None:
        return ["  " * depth + "None"]
    lines = ["  " * depth + node.name()]
    for child, nr in node.next_functions:
        lines += _walk(child, depth + 1)
        lines[-1] += f" #{nr}" if nr else ""
    return lines


@same
def test_names_and_edges(torch):
    x = torch.ones(2, 3, requires_grad=True)
    w = torch.ones(3, 4, requires_grad=True)
    y = (x @ w).relu().mean() + torch.ones(1)
    return _walk(y.grad_fn)


@same
def test_output_numbers_in_edges(torch):
    x = torch.ones(4, requires_grad=True)
    a, b = x.split(2)
    return _walk((a * b).grad_fn), a.output_nr, b.output_nr


@same
def test_accumulator(torch):
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    accumulator = y.grad_fn.next_functions[0][0]
    return (
        accumulator.variable is x,
        accumulator.name(),
        accumulator.next_functions,
        type(accumulator).__name__,
        (x * 2).grad_fn.next_functions[0][0] is accumulator,
    )


@same
def test_metadata_is_a_place_for_notes(torch):
    y = torch.ones(2, requires_grad=True) * 2
    y.grad_fn.metadata["note"] = 5
    return y.grad_fn.metadata, y.grad_fn is y.grad_fn


@same
def test_nodes_are_instances_of_node(torch):
    node = (torch.ones(2, requires_grad=True) * 2).grad_fn
    accumulator = node.next_functions[0][0]
    kind = torch.autograd.graph.Node
    return isinstance(node, kind), isinstance(accumulator, kind), issubclass(type(node), kind)


@same
def test_custom_functions_are_nodes_too(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    y = Double.apply(torch.ones(2, requires_grad=True))
    return isinstance(y.grad_fn, torch.autograd.graph.Node), _walk(y.grad_fn)


# --- what nodes saved ----------------------------------------------------------------------------


@same
def test_saved_inputs(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([3.0, 4.0], requires_grad=True)
    node = (x * y).grad_fn
    return node._saved_self is x, node._saved_other is y, node._saved_self, node._saved_other


@same
def test_saved_result(torch):
    y = torch.tensor([1.0, 2.0], requires_grad=True).exp()
    saved = y.grad_fn._saved_result
    return saved, saved.grad_fn is y.grad_fn


@same
def test_saved_only_if_needed(torch):
    x = torch.ones(2, requires_grad=True)
    node = (x * torch.ones(2)).grad_fn
    return node._saved_self is None, node._saved_other


@same
def test_saved_parameters(torch):
    x = torch.ones(2, 3, requires_grad=True)
    return (
        x.sum(1, keepdim=True).grad_fn._saved_dim,
        x.sum(1, keepdim=True).grad_fn._saved_keepdim,
        (x**3).grad_fn._saved_exponent,
        x.sum().grad_fn._saved_self_sym_sizes,
    )


@same
def test_saved_after_release(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * x
    node = y.grad_fn
    y.sum().backward()
    with pytest.raises(RuntimeError, match="after they have already been freed"):
        node._saved_self


@same
def test_unknown_saved_attribute(torch):
    node = (torch.ones(2, requires_grad=True) * 2).grad_fn
    with pytest.raises(AttributeError, match="_saved_nothing"):
        node._saved_nothing


@same
def test_hooks_on_one_saved_tensor(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x**2
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t * 10, lambda t: t + 1)
    y.sum().backward()
    return x.grad


@same
def test_hooks_on_one_saved_tensor_only_once(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x**2
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(RuntimeError, match=r"only be modified once|already been set"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)


# --- hooks on all saved tensors ------------------------------------------------------------------


@same
def test_saved_tensors_hooks(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = torch.tensor([3.0, 4.0], requires_grad=True)
    packed = []

    def pack(t):
        packed.append(t.detach().clone())
        return len(packed) - 1

    def unpack(i):
        return packed[i] * 10

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        z = x * y
        w = z.exp()
    v = x * y
    (z.sum() + v.sum()).backward()
    return len(packed), x.grad, y.grad, w.detach()


@same
def test_innermost_saved_tensors_hooks_win(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    hooks = torch.autograd.graph.saved_tensors_hooks
    with hooks(lambda t: t, lambda t: t * 2):
        a = x * x
        with hooks(lambda t: t, lambda t: t * 5):
            b = x * x
        c = x * x
    return [torch.autograd.grad(o.sum(), x)[0] for o in (a, b, c)]


@same
def test_saved_tensors_hooks_in_a_custom_function(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t * 3, lambda t: t + 1):
        y = square(torch).apply(x)
    y.sum().backward()
    return x.grad


@same
def test_saved_tensors_hooks_and_second_order(torch):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: (t, "note"), lambda p: p[0]):
        y = (x**3 * x.exp()).sum()
        (g,) = torch.autograd.grad(y, x, create_graph=True)
    return g.detach(), torch.autograd.grad(g.sum(), x)


@same
def test_unpack_hook_must_return_a_tensor(torch):
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: 5):
        y = x * x
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor"):
        y.sum().backward()


@same
def test_pack_hook_may_not_change_its_input(torch):
    x = torch.ones(2, requires_grad=True)

    def pack(t):
        t.add_(1)
        return t

    phrase = "A saved tensor pack hook is modifying its input in place"
    with (
        torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t),
        pytest.raises(RuntimeError, match=phrase),
    ):
        (x * 1).exp()


@same
def test_error_in_a_pack_hook_comes_through(torch):
    x = torch.ones(2, requires_grad=True)

    def pack(t):
        raise KeyError("as asked")

    with (
        torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t),
        pytest.raises(KeyError, match="as asked"),
    ):
        x * x
    (x * x).sum().backward()
    return x.grad


@same
def test_hooks_may_be_disabled(torch):
    graph = torch.autograd.graph
    with (
        graph.disable_saved_tensors_hooks("not here"),
        pytest.raises(RuntimeError, match="not here"),
        graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    ):
        pass
    x = torch.ones(2, requires_grad=True)
    with graph.saved_tensors_hooks(lambda t: t, lambda t: t * 2):
        y = x * x
    y.sum().backward()
    return x.grad


@same
def test_save_on_cpu(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.graph.save_on_cpu():
        y = (x * x).exp()
    y.sum().backward()
    return x.grad


@same
def test_mutation_of_saved_tensors_may_be_allowed(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = x * 2
        z = y * y
        y.add_(100)
        z.sum().backward()
    return x.grad


@same
def test_backward_outside_of_allowed_mutation(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.graph.allow_mutation_on_saved_tensors():
        y = x * 2
        z = y * y
        y.add_(100)
    with pytest.raises(AssertionError, match="outside of the 'allow_mutation_on_saved_tensors'"):
        z.sum().backward()


@same
def test_allowed_mutation_does_not_nest(torch):
    allow = torch.autograd.graph.allow_mutation_on_saved_tensors
    with allow(), pytest.raises(RuntimeError, match="cannot be nested"), allow():
        pass


# --- edges ---------------------------------------------------------------------------------------


@same
def test_gradient_edge(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    edge = torch.autograd.graph.get_gradient_edge(y)
    leaf = torch.autograd.graph.get_gradient_edge(x)
    return edge.node is y.grad_fn, edge.output_nr, leaf.node.name(), leaf.output_nr


@same
def test_grad_with_respect_to_an_edge(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    edge = torch.autograd.graph.get_gradient_edge(y)
    z = (y**2).sum()
    del y
    return torch.autograd.grad(z, edge)


@same
def test_grad_of_an_edge(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x**2
    edge = torch.autograd.graph.get_gradient_edge(y)
    found = torch.autograd.grad(edge, x, torch.tensor([1.0, 10.0]), retain_graph=True)
    torch.autograd.backward(edge, torch.ones(2))
    return found, x.grad


@same
def test_edge_of_a_tensor_without_gradient(torch):
    with pytest.raises(RuntimeError, match="does not require gradients"):
        torch.autograd.graph.get_gradient_edge(torch.ones(2))


@same
def test_graph_is_not_recorded_when_nothing_wants_it(torch):
    x = torch.ones(2)
    y = torch.ones(2, requires_grad=True)
    return (x * 2).grad_fn, (x * y).grad_fn, (x.detach() * y.detach()).grad_fn


@same
def test_saved_attributes_of_many_nodes(torch):
    x = torch.rand(3, 4, requires_grad=True)
    y = torch.rand(3, 4, requires_grad=True)
    node = {
        "max": x.max(1)[0],
        "softmax": x.softmax(1),
        "clamp": x.clamp(0.25, 0.5),
        "permute": x.permute(1, 0),
        "transpose": x.transpose(0, 1),
        "mm": x @ x.t(),
        "mean": x.mean(),
        "select": x[0],
        "unsqueeze": x.unsqueeze(0),
        "add": torch.add(x, y, alpha=2.5),
        "pow": x**y,
        "tanh": x.tanh(),
        "topk": x.topk(2, 1)[0],
        "index": x[torch.tensor([0, 2])],
    }
    node = {name: tensor.grad_fn for name, tensor in node.items()}
    return (
        (node["max"]._saved_dim, node["max"]._saved_keepdim, node["max"]._saved_indices),
        (node["softmax"]._saved_dim, node["softmax"]._saved_result),
        (node["clamp"]._saved_min, node["clamp"]._saved_max, node["clamp"]._saved_self),
        (node["permute"]._saved_dims, node["transpose"]._saved_dim0),
        (node["mm"]._saved_self, node["mm"]._saved_mat2, node["mm"]._saved_self_sym_sizes),
        (node["mean"]._saved_self_sym_sizes, node["mean"]._saved_self_sym_numel),
        (node["select"]._saved_index, node["unsqueeze"]._saved_dim, node["add"]._saved_alpha),
        (node["pow"]._saved_self, node["pow"]._saved_exponent, node["pow"]._saved_result),
        (node["tanh"]._saved_result, node["topk"]._saved_indices, node["index"]._saved_indices),
    )


@same
def test_operation_that_overwrites_what_its_rule_needs_packs_a_copy(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        y = x * 1
        y.mul_(x)
        z = x * 1
        z.sin_()
    (y.sum() + z.sum()).backward()
    return x.grad
