"""Changes in place: version counters, histories rewritten through views, and what is refused."""

from __future__ import annotations

import pytest

import tautograd
from tests.both import same

MODIFIED = "one of the variables needed for gradient computation has been modified by an inplace"


# --- versions ------------------------------------------------------------------------------------


@same
def test_version_counts_changes(torch):
    x = torch.ones(3)
    versions = [x._version]
    x.add_(1)
    versions.append(x._version)
    x[0] = 5
    versions.append(x._version)
    x += 1
    versions.append(x._version)
    x.zero_()
    versions.append(x._version)
    x.copy_(torch.ones(3))
    versions.append(x._version)
    torch.add(x, 1, out=x)
    versions.append(x._version)
    return versions


@same
def test_views_and_detached_tensors_share_the_version(torch):
    x = torch.ones(3, 2)
    view, detached, data, clone = x[0], x.detach(), x.data, x.clone()
    view.add_(1)
    detached.add_(1)
    shared = x._version, view._version, detached._version
    data.add_(1)
    return shared, x._version, clone._version, x.t()._version


@same
def test_increment_version(torch):
    x = torch.ones(2)
    torch.autograd.graph.increment_version(x)
    torch.autograd.graph.increment_version([x, x])
    return x._version


@same
def test_tensors_that_share_storage_by_no_view_have_their_own_version(torch):
    x = torch.ones(2)
    y = torch.tensor([1.0])
    x.add_(1)
    return x._version, y._version


# --- the in-place error --------------------------------------------------------------------------


@same
def test_saved_input_changed(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y * y
    y.add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED) as caught:
        z.sum().backward()
    return "is at version 1; expected version 0 instead" in str(caught.value)


@same
def test_saved_output_changed(torch):
    x = torch.ones(2, requires_grad=True)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match=MODIFIED) as caught:
        y.sum().backward()
    return "[torch.FloatTensor [2]], which is output 0 of ExpBackward0" in str(caught.value)


@same
def test_saved_leaf_changed_under_no_grad(torch):
    w = torch.ones(2, requires_grad=True)
    x = torch.ones(2, requires_grad=True)
    loss = (w * x).sum()
    with torch.no_grad():
        w -= 0.1
    with pytest.raises(RuntimeError, match=MODIFIED):
        loss.backward()


@same
def test_changed_through_a_view(torch):
    x = torch.ones(4, requires_grad=True)
    y = x * 2
    z = y * y
    y[:2].zero_()
    with pytest.raises(RuntimeError, match=MODIFIED):
        z.sum().backward()


@same
def test_change_of_what_no_rule_needs_is_fine(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    z = y + 1
    y.add_(5)
    (z.sum() + y.sum()).backward()
    return x.grad


@same
def test_only_what_is_needed_is_guarded(torch):
    x = torch.ones(2, requires_grad=True)
    constant = torch.ones(2)
    y = x * constant
    x.data.mul_(7)
    y.sum().backward()
    return x.grad


def test_message_names_both_lines():
    x = tautograd.ones(2, requires_grad=True)
    y = x * 2
    z = y * y  # the line that recorded
    y.add_(1)  # the line that broke it
    with pytest.raises(RuntimeError) as caught:
        z.sum().backward()
    message = str(caught.value)
    assert "z = y * y  # the line that recorded" in message
    assert "y.add_(1)  # the line that broke it" in message
    assert message.count("test_inplace_and_versions.py") == 2
    assert "clone()" in message


def test_message_names_the_line_of_an_assignment_through_a_view():
    x = tautograd.ones(2, requires_grad=True)
    y = x.exp()
    y[0] = 0.0  # overwritten here
    with pytest.raises(RuntimeError) as caught:
        y.sum().backward()
    assert "y[0] = 0.0  # overwritten here" in str(caught.value)


# --- histories -----------------------------------------------------------------------------------


@same
def test_in_place_on_a_non_leaf_is_recorded(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.add_(1).mul_(3)
    names = y.grad_fn.name(), y.grad_fn.next_functions[0][0].name()
    (y * y).sum().backward()
    return names, x.grad


@same
def test_in_place_makes_a_plain_tensor_part_of_the_graph(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    buffer = torch.zeros(2)
    buffer.add_(x * 3)
    (buffer * buffer).sum().backward()
    return buffer.requires_grad, buffer.is_leaf, x.grad


@same
def test_assignment_through_a_view_rewrites_its_base(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    base = torch.zeros(2, 2)
    row = base[0]
    row.copy_(x * 3)
    column = base[:, 1]
    (base.sum() + (column * column).sum()).backward()
    return base.grad_fn.name(), row.grad_fn is not None, x.grad


@same
def test_view_of_a_changed_base_has_the_new_history(torch):
    x = torch.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    base = x * 1
    view = base.t()
    base.mul_(2)
    (view * view).sum().backward()
    return view.detach(), x.grad


@same
def test_change_of_a_view_of_a_view(torch):
    x = torch.arange(6.0, requires_grad=True)
    base = (x * 1).reshape(2, 3)
    inner = base[1][1:]
    inner.mul_(10)
    base.sum().backward()
    return base.detach(), x.grad


@same
def test_filling_part_cuts_its_gradient(torch):
    x = torch.arange(1.0, 5.0, requires_grad=True)
    y = x * 2
    y[1] = 0.0
    y[2:].fill_(7.0)
    y.sum().backward()
    return x.grad


@same
def test_masked_assignment(torch):
    x = torch.tensor([1.0, -2.0, 3.0], requires_grad=True)
    v = torch.tensor([5.0], requires_grad=True)
    y = x * 2
    y[y < 0] = v
    (y * y).sum().backward()
    return x.grad, v.grad


@same
def test_two_views_of_one_base_changed_in_turn(torch):
    x = torch.ones(4, requires_grad=True)
    base = x * 1
    first, second = base[:2], base[1:3]
    first.mul_(2)
    second.mul_(5)
    (first * first).sum().backward()
    return base.detach(), x.grad


@same
def test_writing_a_tensor_into_itself(torch):
    x = torch.arange(1.0, 5.0, requires_grad=True)
    y = x * 2
    y[:2] = y[2:]
    y.sum().backward()
    return y.detach(), x.grad


@same
def test_second_order_through_an_assignment(torch):
    x = torch.tensor([1.0, 2.0], dtype=torch.float64, requires_grad=True)
    y = torch.zeros(3, dtype=torch.float64)
    y[:2] = x**3
    (g,) = torch.autograd.grad((y * y).sum(), x, create_graph=True)
    return g.detach(), torch.autograd.grad(g.sum(), x)


@same
def test_requires_grad_of_a_view_follows_its_base(torch):
    base = torch.zeros(4)
    view = base[:2]
    before = view.requires_grad
    base.add_(torch.ones(4, requires_grad=True))
    return before, view.requires_grad, view.is_leaf, base.requires_grad


@same
def test_in_place_methods_return_their_tensor(torch):
    x = torch.ones(2)
    return [x.add_(1) is x, x.mul_(2) is x, x.zero_() is x, x.fill_(3) is x]


@same
def test_out_argument_that_needs_no_gradient(torch):
    x = torch.ones(2, requires_grad=True)
    out = torch.empty(2)
    with pytest.raises(RuntimeError, match="don't support automatic differentiation"):
        torch.add(x, 1, out=out)
    with torch.no_grad():
        torch.add(x, 1, out=out)
    return out


# --- refused -------------------------------------------------------------------------------------


@same
def test_leaf(torch):
    x = torch.ones(2, requires_grad=True)
    phrase = "a leaf Variable that requires grad is being used in an in-place operation"
    with pytest.raises(RuntimeError, match=phrase):
        x.add_(1)
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        x[0] = 1.0
    return x.detach(), x._version


@same
def test_view_of_a_leaf(torch):
    x = torch.ones(2, requires_grad=True)
    phrase = "a view of a leaf Variable that requires grad is being used in an in-place operation"
    with pytest.raises(RuntimeError, match=phrase):
        x[:1].add_(1)
    with pytest.raises(RuntimeError, match=phrase):
        x.view(2).zero_()


@same
def test_one_of_several_views(torch):
    x = torch.ones(4, requires_grad=True)
    y = x * 1
    a, _ = y.chunk(2)
    with pytest.raises(RuntimeError, match="function that returns multiple views"):
        a.add_(1)


@same
def test_view_made_without_recording(torch):
    x = torch.ones(4, requires_grad=True)
    y = x * 1
    with torch.no_grad():
        view = y[:2]
    with pytest.raises(RuntimeError, match="A view was created in no_grad mode"):
        view.add_(1)


@same
def test_detach_in_place_of_a_view(torch):
    x = torch.ones(4, requires_grad=True)
    y = x * 1
    with pytest.raises(RuntimeError, match="Can't detach views in-place"):
        y[:2].detach_()


@same
def test_expanded_tensor(torch):
    x = torch.ones(1).expand(3)
    with pytest.raises(RuntimeError, match="more than one element of the written-to tensor"):
        x.add_(1)


@same
def test_result_that_does_not_fit(torch):
    x = torch.ones(2)
    with pytest.raises(RuntimeError, match="doesn't match the broadcast shape"):
        x.add_(torch.ones(3, 2))
    i = torch.ones(2, dtype=torch.int64)
    with pytest.raises(RuntimeError, match="can't be cast to the desired output type"):
        i.add_(1.5)
