"""`vmap`: a function for one example, run on a batch."""

from __future__ import annotations

import pytest

from tests.both import same


def _m(torch):
    return torch.arange(6.0).reshape(2, 3)


@same
def test_in_and_out_dimensions(torch):
    x = _m(torch)

    def f(row):
        return row * 2 + row.sum()

    return (
        torch.vmap(f)(x),
        torch.vmap(f, in_dims=1)(x),
        torch.vmap(f, in_dims=-1)(x),
        torch.vmap(f, out_dims=1)(x),
        torch.vmap(f, in_dims=1, out_dims=-1)(x),
    )


@same
def test_several_inputs(torch):
    x, y = _m(torch), torch.tensor([10.0, 20.0])
    return (
        torch.vmap(lambda a, b: a * b)(x, y),
        torch.vmap(lambda a, b: a * b, in_dims=(None, 0))(x, y),
        torch.vmap(lambda a, b: a + b, in_dims=(0, None))(x, torch.ones(3)),
        torch.vmap(torch.dot)(x, x),
        torch.vmap(torch.mv, in_dims=(None, 0))(x, torch.ones(4, 3)),
    )


@same
def test_nested_inputs_and_outputs(torch):
    x, y = _m(torch), torch.tensor([10.0, 20.0])

    def f(inputs):
        return {"sum": inputs["x"].sum(), "pair": (inputs["y"][0], inputs["x"] * 2)}

    return torch.vmap(f)({"x": x, "y": [y]}), torch.vmap(f, in_dims=({"x": 0, "y": [None]},))(
        {"x": x, "y": [torch.ones(())]}
    )


@same
def test_out_dims_for_several_outputs(torch):
    x = _m(torch)
    return torch.vmap(lambda r: (r, r.sum()), out_dims=(1, 0))(x)


@same
def test_keyword_arguments_are_the_same_for_every_example(torch):
    x = _m(torch)
    return torch.vmap(lambda r, scale: r * scale)(x, scale=torch.tensor([1.0, 10.0, 100.0]))


@same
def test_nested_vmap(torch):
    x, y = _m(torch), torch.arange(4.0)
    outer = torch.vmap(torch.vmap(lambda a, b: a * b, in_dims=(None, 0)), in_dims=(0, None))
    pairs = torch.vmap(lambda a: torch.vmap(lambda b: torch.dot(a, b))(x))(x)
    return outer(x[:, 0], y), pairs


@same
def test_output_that_does_not_depend_on_the_batch(torch):
    return torch.vmap(lambda r: torch.ones(2))(_m(torch))


@same
def test_matrix_operations(torch):
    batch = torch.arange(12.0).reshape(3, 2, 2) + torch.eye(2)
    return (
        torch.vmap(torch.mm)(batch, batch),
        torch.vmap(torch.linalg.inv)(batch),
        torch.vmap(torch.trace)(batch),
        torch.vmap(lambda m: m.t() @ m)(batch),
        torch.vmap(torch.linalg.det)(batch),
    )


@same
def test_indexing_and_shapes(torch):
    x = torch.arange(24.0).reshape(2, 3, 4)
    index = torch.tensor([0, 2])
    functions = [
        lambda m: m[0],
        lambda m: m[:, 1:3],
        lambda m: m[..., -1],
        lambda m: m[index],
        lambda m: m.reshape(-1),
        lambda m: m.permute(1, 0),
        lambda m: m.unsqueeze(1).expand(3, 2, 4),
        lambda m: torch.cat([m, m], 1),
        lambda m: torch.stack([m[0], m[1]]),
        lambda m: m.flip(0),
        lambda m: m.cumsum(1),
        lambda m: m.sort(1, descending=True)[0],
        lambda m: m.max(0)[0],
        lambda m: m.argmax(),
        lambda m: torch.where(m > 5, m, -m),
        lambda m: m.softmax(-1),
        lambda m: m.gather(1, torch.tensor([[0], [1], [2]])),
    ]
    return [torch.vmap(f)(x) for f in functions]


@same
def test_in_place_inside(torch):
    def f(row):
        out = row.clone()
        out.mul_(2)
        out[0] = row.sum()
        return out

    return torch.vmap(f)(_m(torch))


@same
def test_gradients_through_vmap(torch):
    x = _m(torch).requires_grad_()
    w = torch.ones(3, requires_grad=True)
    torch.vmap(lambda r: (r * w).sum() ** 2)(x).sum().backward()
    return x.grad, w.grad


@same
def test_in_chunks(torch):
    x = torch.arange(10.0).reshape(5, 2)
    with pytest.raises(ValueError, match="chunk_size should be None or greater than 0"):
        torch.vmap(torch.sin, chunk_size=0)(x)
    return [torch.vmap(lambda r: (r.sin(), r.sum()), chunk_size=n)(x) for n in (1, 2, 5, 9)]


# --- random numbers ------------------------------------------------------------------------------


@same
def test_random_numbers_are_refused_by_default(torch):
    with pytest.raises(
        RuntimeError, match="called random operation while in randomness error mode"
    ):
        torch.vmap(lambda r: r + torch.rand(3))(_m(torch))
    with pytest.raises(RuntimeError, match="Only allowed values for randomness are"):
        torch.vmap(torch.sin, randomness="some")(_m(torch))


@same
def test_same_random_numbers(torch):
    torch.manual_seed(3)
    return torch.vmap(lambda r: r + torch.rand(3), randomness="same")(_m(torch))


@same
def test_different_random_numbers(torch):
    torch.manual_seed(3)
    return torch.vmap(lambda r: r + torch.rand(3), randomness="different")(_m(torch))


# --- errors --------------------------------------------------------------------------------------


@same
@pytest.mark.parametrize(
    ("call", "error", "phrase"),
    [
        (lambda t, x: t.vmap(t.sin, in_dims=2)(x), ValueError, "Got in_dim=2 for"),
        (
            lambda t, x: t.vmap(t.sin, in_dims="a")(x),
            ValueError,
            "expected `in_dims` to be int or a",
        ),
        (lambda t, x: t.vmap(t.sin, in_dims=(0, 0))(x), ValueError, "in_dims is not compatible"),
        (lambda t, x: t.vmap(lambda: x)(), ValueError, "got no inputs"),
        (lambda t, x: t.vmap(t.sin)(3), ValueError, "the input is of type"),
        (lambda t, x: t.vmap(t.add)(x, t.ones(5)), ValueError, "sizes .* for the mapped dimension"),
        (lambda t, x: t.vmap(lambda r: 3)(x), ValueError, "must only return Tensors"),
        (lambda t, x: t.vmap(t.sin, in_dims=None)(x), ValueError, "in_dims"),
        (lambda t, x: t.vmap(lambda r: r.sum().item())(x), RuntimeError, "calling .item"),
        (lambda t, x: t.vmap(lambda r: r if r.sum() > 0 else -r)(x), RuntimeError, "control flow"),
    ],
)
def test_errors(torch, call, error, phrase):
    with pytest.raises(error, match=phrase):
        call(torch, _m(torch))


@same
def test_batch_of_one_and_of_none(torch):
    return (
        torch.vmap(lambda r: r.sum())(torch.ones(1, 3)),
        torch.vmap(lambda r: r * 2, in_dims=1)(torch.ones(3, 1)),
    )


@same
def test_dtype_and_shape_inside(torch):
    seen = []

    def f(r):
        seen.append((tuple(r.shape), str(r.dtype), r.ndim, r.numel(), r.size(0), len(r)))
        return r

    torch.vmap(f)(_m(torch))
    return seen


@same
def test_each_examples_own_index(torch):
    x, index = torch.randn(4, 3), torch.tensor([0, 2, -1, 0])
    return (
        torch.vmap(lambda r, k: r[k])(x, index),
        torch.vmap(lambda r, k: r.index_select(0, k.reshape(1) % 3))(x, index),
        torch.vmap(lambda r, k: r.gather(0, (k % 3).reshape(1)))(x, index),
    )


@same
def test_an_ensemble_of_models(torch):
    weights, x = torch.randn(3, 4, 2), torch.randn(5, 4)
    bias = torch.randn(3, 2)

    def model(w, b, x):
        return (x @ w + b).tanh()

    shared = torch.vmap(model, in_dims=(0, 0, None))(weights, bias, x)
    own = torch.vmap(model)(weights, bias, x[:3].unsqueeze(1))
    return shared, own


def _leaf(torch):
    return torch.arange(6.0, dtype=torch.float64).view(2, 3).clone().requires_grad_()


@same
def test_in_place_changes_inside_reach_the_input(torch):
    x = _leaf(torch)
    z = x * 1
    y = torch.func.vmap(lambda row: row.mul_(3))(z)
    (z * z).sum().backward()
    with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
        torch.func.vmap(lambda row: row.mul_(2))(x)
    return x.grad, z.detach(), y.detach(), z._version, y._version, y.data_ptr() == z.data_ptr()


@same
def test_views_taken_inside_are_views_of_the_input(torch):
    x = _leaf(torch)
    z = x * 1
    y = torch.func.vmap(lambda row: row[1:], in_dims=1, out_dims=1)(z)
    y.mul_(5)
    (z * torch.arange(3.0)).sum().backward()
    return x.grad, z.detach(), y.stride(), z._version


@same
def test_results_can_be_changed_and_cut(torch):
    x = _leaf(torch)
    y = torch.func.vmap(lambda row: row.sin())(x)
    y[:1, 1:].mul_(2)
    y.mul_(3)
    y.sum().backward()
    return x.grad


@same
def test_nested_views(torch):
    x = torch.arange(24.0).reshape(2, 3, 4)
    vmap = torch.func.vmap
    y = vmap(vmap(lambda row: row.view(2, 2)), in_dims=1, out_dims=2)(x)
    y.add_(1)
    return x, y, y.stride()


_MADE_INSIDE = {
    "zeros_like": lambda t, x, y: t.zeros_like(x).copy_(x),
    "ones_like": lambda t, x, y: t.ones_like(x) + x,
    "new_zeros": lambda t, x, y: x.new_zeros(3).copy_(x) + y,
    "cat": lambda t, x, y: t.cat([x, y]),
    "stack": lambda t, x, y: t.stack([y, x]),
}


@pytest.mark.parametrize("case", _MADE_INSIDE)
@same
def test_tensors_made_inside_hold_a_batch(torch, case):
    x = _m(torch)
    vmap, made = torch.func.vmap, _MADE_INSIDE[case]
    outer = vmap(lambda y: vmap(lambda row: made(torch, row, y))(x))(x + 1)
    return outer, vmap(lambda row: made(torch, row, row))(x)
