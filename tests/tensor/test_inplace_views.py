"""In-place changes and views: versions, rewritten histories, gradients, and what is refused.

Each program is run on both engines and must leave the same traces: the values and versions of base
and views, the names of the nodes, and the gradients that flow afterwards.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.both import same

from .both_engines import Program, agree, attempt

PROGRAMS: list[Program] = []


def program(fn: Program) -> Program:
    PROGRAMS.append(fn)
    return fn


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda fn: fn.__name__)
def test_both_engines_agree(program: Program) -> None:
    agree(program)


def leaf(torch: Any, *shape: int) -> Any:
    count = torch.Size(shape).numel()
    return torch.arange(1.0, count + 1).reshape(shape).clone().requires_grad_()


def grad(torch: Any, total: Any, inputs: Any) -> Any:
    """Gradients as numbers: whether they were added up in place is the engine's own business."""
    return [g.tolist() for g in torch.autograd.grad(total, inputs)]


def names(node: Any) -> Any:
    """A node and all it leads to, by name."""
    if node is None:
        return None
    return [
        node.name().removeprefix("torch::autograd::"),
        [names(n) for n, _ in node.next_functions],
    ]


# --- versions -------------------------------------------------------------------------------------


@program
def a_base_and_its_views_share_one_version(torch: Any) -> Any:
    x = torch.zeros(2, 3)
    y, z = x[0], x.view(-1)
    w = z[1:]
    seen = [t._version for t in (x, y, z, w)]
    y.add_(1)
    seen += [t._version for t in (x, y, z, w)]
    x.mul_(2)
    seen += [t._version for t in (x, y, z, w)]
    w.zero_()
    return [seen, x, y, z, w, x.view(6), x.clone()._version]


@program
def detach_shares_memory_and_version(torch: Any) -> Any:
    x = leaf(torch, 3) * 1
    y = x.detach()
    y.add_(1)
    return [x, y, y._base is x, y.view(3), x.data._version, x._version]


@program
def writing_through_data_leaves_the_version(torch: Any) -> Any:
    x = leaf(torch, 3)
    x.data.mul_(2)
    return [x, x._version]


COUNTED = (
    "x.add_(1)", "x.copy_(torch.ones(2, 2))", "x.fill_(3)", "x.zero_()", "x.__setitem__(0, 2.0)",
    "x.__setitem__((0, 1), torch.tensor(5.0))", "x[1].mul_(2)", "x.t().add_(1)", "x.t_()",
    "x.squeeze_()", "x.unsqueeze_(0)", "x.transpose_(0, 1)", "x.masked_fill_(x > 1, 0.0)",
    "x.clamp_(0, 1)", "torch.add(x, 1, out=x)", "x.resize_(4)", "x.detach_()",
    "x.requires_grad_(False)", "x.set_(torch.ones(2))",
)  # fmt: skip


@program
def every_write_counts_once(torch: Any) -> Any:
    x = torch.zeros(2, 2)
    counts = []
    for write in COUNTED:
        eval(write, {"torch": torch, "x": x})
        counts.append(x._version)
    return counts


@program
def iadd_on_a_slice_counts_twice(torch: Any) -> Any:
    x = torch.zeros(3)
    x[0] += 1
    x[1:] *= 2
    return [x, x._version]


# --- views of computed tensors --------------------------------------------------------------------


@program
def a_write_through_a_view_rewrites_its_base(torch: Any) -> Any:
    a = leaf(torch, 2, 3)
    x = a * 2
    y = x[0]
    y.mul_(3)
    result = [x, y, names(x.grad_fn), names(y.grad_fn)]
    return [*result, grad(torch, x.sum(), a)]


@program
def a_write_into_the_base_reaches_the_view(torch: Any) -> Any:
    a = leaf(torch, 2, 3)
    x = a * 2
    y = x[0]
    before = y.grad_fn.name()
    x.mul_(a)
    return [before, x, y, names(y.grad_fn), grad(torch, y.sum(), a)]


@program
def writes_through_a_chain_of_views(torch: Any) -> Any:
    a = leaf(torch, 4, 3)
    x = a * 1
    y = x.t()[1:].reshape(-1)[2:]
    z = x.t()[1:]
    w = z[:, 1:]
    w.mul_(2)
    z[0].add_(a[0, 0])
    result = [x, z, w, names(w.grad_fn), y._is_view()]
    total = (x * torch.arange(12.0).view(4, 3)).sum() + w.sum() * 3
    return [*result, grad(torch, total, a)]


@program
def siblings_see_each_others_writes(torch: Any) -> Any:
    a = leaf(torch, 4)
    x = a * 1
    left, right, whole = x[:3], x[1:], x.view(2, 2)
    left.mul_(2)
    right.mul_(3)
    whole[0, 1] = 7.0
    return [x, left, right, whole, grad(torch, (left * right).sum() + whole.sum(), a)]


@program
def a_view_that_is_written_wants_a_gradient(torch: Any) -> Any:
    a = leaf(torch, 3)
    x = torch.zeros(2, 3)
    y = x[1]
    before = [x.requires_grad, y.requires_grad]
    y.copy_(a)
    after = [x, y, names(x.grad_fn), names(y.grad_fn)]
    return [before, after, grad(torch, (x * x).sum(), a)]


@program
def writing_a_row_at_a_time(torch: Any) -> Any:
    a = leaf(torch, 3)
    x = torch.zeros(3, 3)
    for i in range(3):
        x[i] = a * (i + 1)
    x.diagonal().mul_(2)
    return [x, names(x.grad_fn)[0], grad(torch, (x * x).sum(), a)]


@program
def old_values_lose_their_gradient(torch: Any) -> Any:
    a, b = leaf(torch, 4), leaf(torch, 2)
    x = a * 3
    x[1:3] = b
    return [x, grad(torch, (x * torch.arange(4.0)).sum(), (a, b))]


@program
def through_expand_of_one_element(torch: Any) -> Any:
    a = leaf(torch, 1)
    x = a * 2
    y = x.expand(3)
    x.mul_(2)
    return [x, y, names(y.grad_fn), grad(torch, (y * torch.arange(3.0)).sum(), a)]


@program
def through_unfold_and_as_strided(torch: Any) -> Any:
    a = leaf(torch, 6)
    x = a * 1
    windows, pairs = x.unfold(0, 3, 1), x.as_strided((5, 2), (1, 1))
    x.mul_(2)
    total = (windows * windows).sum() + pairs.sum()
    return [windows, pairs, names(windows.grad_fn), grad(torch, total, a)]


@program
def through_a_diagonal(torch: Any) -> Any:
    a = leaf(torch, 3, 3)
    x = a * 1
    x.diagonal(1).mul_(5)
    x.diagonal(dim1=1, dim2=0).add_(a[0])
    return [x, grad(torch, (x * x).sum(), a)]


@program
def through_real_and_imaginary_parts(torch: Any) -> Any:
    a = leaf(torch, 2)
    z = torch.complex(a, a * 2)
    z.real.mul_(3)
    z.imag.add_(a)
    parts = torch.view_as_real(z)
    parts[:, 0].mul_(2)
    return [z, parts, grad(torch, (parts * parts).sum(), a)]


@program
def through_squeeze_permute_and_flatten(torch: Any) -> Any:
    a = leaf(torch, 2, 1, 3)
    x = a * 1
    x.squeeze(1).permute(1, 0)[1].mul_(10)
    x.flatten()[4:].sub_(1)
    x.unsqueeze(0).movedim(0, -1)[0].neg_()
    return [x, grad(torch, (x * torch.arange(6.0).view(2, 1, 3)).sum(), a)]


@program
def through_narrow_select_and_unflatten(torch: Any) -> Any:
    a = leaf(torch, 6)
    x = a * 1
    x.unflatten(0, (2, 3)).narrow(1, 1, 2).select(0, 1).mul_(a[:2])
    return [x, grad(torch, (x * x).sum(), a)]


@program
def assignments_by_every_kind_of_index(torch: Any) -> Any:
    a = leaf(torch, 3, 4)
    x = a * 1
    x[0, 1] = a[2, 3] * 2
    x[:, 0] = a[:, 1] * 3
    x[x > 9] = 1.0
    x[torch.tensor([0, 2]), torch.tensor([2, 2])] = a[0, :2]
    x[..., -1] += a[..., 0]
    return [x, x._version, grad(torch, (x * x).sum(), a)]


@program
def second_derivatives_through_writes(torch: Any) -> Any:
    a = leaf(torch, 3)
    x = a * a
    x[1:].mul_(a[:2])
    (first,) = torch.autograd.grad((x * x).sum(), a, create_graph=True)
    return [first.detach().clone(), grad(torch, first.sum(), a)]


@program
def a_view_made_after_the_write(torch: Any) -> Any:
    a = leaf(torch, 4)
    x = a * 1
    x[:2].mul_(2)
    y = x[1:]
    y.mul_(3)
    return [y, names(y.grad_fn), grad(torch, y.sum(), a)]


@program
def a_clone_keeps_the_old_history(torch: Any) -> Any:
    a = leaf(torch, 3)
    x = a * 2
    y = x.clone()
    x.zero_()
    return [x, y, grad(torch, y.sum(), a), names(x.grad_fn)]


@program
def hooks_and_retained_gradients(torch: Any) -> Any:
    a = leaf(torch, 3)
    x = a * 2
    x.retain_grad()
    x[0].mul_(5)
    x.sum().backward()
    return [x.grad, a.grad]


@program
def out_of_a_no_grad_block(torch: Any) -> Any:
    a = leaf(torch, 3)
    x = a * 2
    with torch.no_grad():
        x.mul_(3)
        x[0] = 1.0
    return [x, x.grad_fn.name(), grad(torch, x.sum(), a)]


@program
def saved_values_changed_through_a_view(torch: Any) -> Any:
    a = leaf(torch, 3)
    x = a * 1
    y = x * x
    x[0].add_(1)
    return grad(torch, y.sum(), a)


@program
def saved_views_changed_through_the_base(torch: Any) -> Any:
    a = leaf(torch, 3)
    x = a * 1
    y = x[1:].exp()
    z = x[:2] * a[:2]
    x.add_(1)
    return [attempt(lambda: grad(torch, z.sum(), a)), y._version]


# --- view operations in place ---------------------------------------------------------------------

IN_PLACE_VIEWS = (
    "x.t_()", "x.transpose_(0, 1)", "x.swapaxes_(0, 1)", "x.swapdims_(0, 1)", "x.unsqueeze_(0)",
    "x.unsqueeze_(1).squeeze_(1)", "x.unsqueeze_(0).squeeze_()", "x.unsqueeze_(0).squeeze_((0, 1))",
    "x.as_strided_((2, 2), (1, 2))", "x.squeeze_(0)", "x.squeeze_()",
    "torch.as_strided_(x, (2,), (1,))",
)  # fmt: skip


@pytest.mark.parametrize("call", IN_PLACE_VIEWS)
def test_a_view_operation_in_place(call: str) -> None:
    def of_computed(torch: Any) -> Any:
        a = leaf(torch, 2, 3)
        x = a * 2
        result = eval(call, {"torch": torch, "x": x})
        weight = torch.arange(1.0, x.numel() + 1).view(x.shape)
        return [x, result is x, names(x.grad_fn), grad(torch, (x * weight).sum(), a)]

    def of_a_view(torch: Any) -> Any:
        a = leaf(torch, 3, 3)
        base = a * 2
        x = base[1:]
        eval(call, {"torch": torch, "x": x})
        x.mul_(2)
        return [x, base, x._base is base, grad(torch, (base * base).sum(), a)]

    def of_plain(torch: Any) -> Any:
        x = torch.arange(6.0).view(2, 3)
        return [eval(call, {"torch": torch, "x": x}), x]

    def of_a_leaf(torch: Any) -> Any:
        x = leaf(torch, 2, 3)
        return [attempt(lambda: eval(call, {"torch": torch, "x": x})), x]

    for program in (of_computed, of_a_view, of_plain, of_a_leaf):
        agree(program)


@same
def test_a_copy_of_itself_changes_nothing(torch):
    x = torch.ones(3).expand(2, 3)
    before = x._version
    x.copy_(x)
    return x, x._version - before
