"""What arrives in part only, cancels, overflows, or is meant otherwise by the engine's own word."""

from __future__ import annotations

import dataclasses

import pytest

from tautograd import verify


def _drawn(torch, *shape, dtype="float64"):
    torch.manual_seed(0)
    return torch.randn(*shape, dtype=torch.float64).to(getattr(torch, dtype))


def _sine_and_cosine(torch, where_none):
    """A Function of two results whose backward is given None for one that nobody uses."""

    class Both(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            ctx.save_for_backward(x)
            return x.sin(), x.cos()

        @staticmethod
        def backward(ctx, g_sin, g_cos):
            (x,) = ctx.saved_tensors
            if where_none == "drops all" and (g_sin is None or g_cos is None):
                return None
            found = torch.zeros_like(x)
            if g_sin is not None:
                found = found + g_sin * x.cos()
            if g_cos is not None:
                found = found - g_cos * x.sin()
            return found

    return Both


def test_an_output_that_nobody_uses_must_not_take_the_others_gradient(torch):
    wrong = _sine_and_cosine(torch, "drops all")

    def product(x):
        sine, cosine = wrong.apply(x)  # both are used: nothing is wrong here
        return sine * cosine

    report = verify(product, _drawn(torch, 2, 3), confirm=False)
    assert report.verdict == "wrong"
    assert report.suspects[0].operation == "Both"
    assert "none at all, but for output 0" in report.suspects[0].note


def test_a_rule_that_minds_what_does_not_arrive_is_right(torch):
    right = _sine_and_cosine(torch, "minds it")
    report = verify(lambda x: sum(right.apply(x)), _drawn(torch, 2, 3), confirm=False)
    assert report.verdict == "correct"


@pytest.mark.parametrize("rows", [2, 4, 6])
def test_a_cut_through_a_mean_is_placed_though_signs_cancel_in_it(torch, rows):
    def centred(x):
        with torch.no_grad():
            mean = x.mean(0)
        return (x - mean) * 2

    report = verify(centred, _drawn(torch, rows, 3), confirm=False)
    assert report.verdict == "cut"
    assert report.cuts[0].how == "no_grad"


def test_a_gradient_that_is_differentiated_itself_is_not_told_as_changed(torch):
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    model = model.double()

    def penalty(x):
        x = x.detach().requires_grad_()
        (slope,) = torch.autograd.grad(model(x).sum(), x, create_graph=True)
        return ((slope.norm(dim=1) - 1) ** 2).mean()

    report = verify(penalty, _drawn(torch, 4, 2), parameters=model, confirm=False)
    assert (report.verdict, report.suspects) == ("cut", [])
    assert report.cuts[0].starved == ["x"]


def test_what_overflows_on_the_way_is_nobodys_mistake(torch):
    report = verify(lambda x: (x * 1e-150) ** 2 * 1e300, _drawn(torch, 3), confirm=False)
    assert report.verdict == "correct"


def test_a_rule_that_overflows_in_half_precision_is_wrong(torch):
    class Halved(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return (2 * g).half().to(g.dtype)

    report = verify(lambda x: Halved.apply(x).sum(), _drawn(torch, 3), confirm=False)
    assert report.verdict == "wrong"
    assert report.suspects[0].operation == "Halved"


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"padding_idx": 1}, "padding_idx=1"),
        ({"padding_idx": -4}, "padding_idx=1"),
        ({"scale_grad_by_freq": True}, "scale_grad_by_freq=True"),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_an_embeddings_gradient_is_taken_at_the_engines_word(torch, options, word, dtype):
    rows = torch.nn.Embedding(5, 3, dtype=getattr(torch, dtype), **options)
    report = verify(rows, torch.tensor([[0, 1], [2, 1]]), confirm=False)
    assert report.verdict == "correct"
    assert any(word in note for note in report.notes)


def test_a_padding_row_that_is_not_used_needs_no_word(torch):
    rows = torch.nn.Embedding(5, 3, padding_idx=4, dtype=torch.float64)
    report = verify(rows, torch.tensor([0, 1]), confirm=False)
    assert (report.verdict, report.notes) == ("correct", [])


def test_a_wrong_rule_beside_a_padding_row_is_found(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**2

        @staticmethod
        def backward(ctx, g):
            return g * ctx.saved_tensors[0]

    index = torch.tensor([0, 1, 1])

    def looked_up(weight):
        return Square.apply(torch.nn.functional.embedding(index, weight, padding_idx=0))

    report = verify(looked_up, _drawn(torch, 3, 2), confirm=False)
    assert report.verdict == "wrong"
    assert [suspect.operation for suspect in report.suspects] == ["Square"]


@dataclasses.dataclass
class Batch:
    features: object
    offsets: list


@dataclasses.dataclass(frozen=True)
class Result:
    loss: object
    parts: dict
    count: int = 2


@pytest.mark.parametrize("factor", [3.0, 2.0])
def test_objects_of_a_dataclass_go_in_and_come_out(torch, factor):
    class Thrice(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 3 * x

        @staticmethod
        def backward(ctx, g):
            return factor * g

    def step(batch):
        return Result(batch.features.sin().sum(), {"offset": [Thrice.apply(batch.offsets[0])]})

    batch = Batch(_drawn(torch, 3), [_drawn(torch, 2), "name"])
    report = verify(step, (batch,), confirm=False)
    assert report.verdict == ("correct" if factor == 3.0 else "wrong")
    assert [suspect.operation for suspect in report.suspects] == ["Thrice"] * (factor != 3.0)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_function_that_closes_over_a_module_is_proved_in_float64(torch, dtype):
    layer = torch.nn.Linear(4, 3, dtype=getattr(torch, dtype))
    weight = layer.weight.detach().clone()
    report = verify(lambda x: layer(x).softmax(-1), _drawn(torch, 2, 4, dtype=dtype), confirm=False)
    assert report.verdict == "correct"
    assert not any("cannot be run in float64" in note for note in report.notes)
    assert layer.weight.dtype == getattr(torch, dtype)
    assert torch.equal(layer.weight.detach(), weight)
