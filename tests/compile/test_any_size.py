"""One program for all sizes: values, gradients and states at every size, and wrong templates, which are found.

With `audit="always"` each call is recorded anew and must be the template's program at its size to the bit, and each
kernel is held against NumPy within a bound derived for its numbers. So there is no tolerance here but where a template
is compared with eager's numbers.
"""

from __future__ import annotations

import copy
import math
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tautograd as torch
import tautograd.nn.functional as F
from tautograd import nn
from tautograd._compile.dynamic.fitting import Fitting, Unlike
from tautograd._compile.dynamic.instance import EntryAtSize
from tautograd._compile.dynamic.size import NotSymbolic, Size, Ways
from tautograd._compile.dynamic.words import Words
from tautograd._compile.guards.guards import Form
from tautograd._compile.native.llvm import jit
from tautograd._compile.run import ledger

pytestmark = pytest.mark.skipif(bool(jit.why_not()), reason="no compiler")

WIDTH = 8
Made = tuple[Callable[..., Any], list[Any]]
EACH = [5, 9, 12, *range(2, 65)]


def _trained(
    modules: list[nn.Module], loss_of: Callable[..., Any], by: Any = torch.optim.SGD
) -> Made:
    parameters = [p for module in modules for p in module.parameters()]
    optimizer = by(parameters, lr=0.01)

    def step(*args: Any) -> Any:
        optimizer.zero_grad()
        loss = loss_of(*args)
        loss.backward()
        optimizer.step()
        return loss

    return step, parameters


def _perceptron() -> Made:
    model = nn.Sequential(nn.Linear(WIDTH, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3))
    return _trained(
        [model], lambda x: F.cross_entropy(model(x), x.argmax(1) % 3), torch.optim.AdamW
    )


def _positions() -> Made:
    model, table = nn.Linear(WIDTH, WIDTH), torch.randn(100, WIDTH)

    def loss_of(x: Any) -> Any:
        n = x.shape[0]
        return ((model(x) + table[:n]) * (1 / math.sqrt(n))).square().mean()

    return _trained([model], loss_of)


def _masked() -> Made:
    model = nn.Linear(WIDTH, WIDTH)

    def loss_of(x: Any) -> Any:
        places, q = torch.arange(x.shape[0]), model(x)
        scores = (q @ q.T).masked_fill(places[None, :] > places[:, None], -1e9)
        return (torch.softmax(scores, -1) @ q).square().mean()

    return _trained([model], loss_of)


def _dropout() -> Made:
    model = nn.Sequential(nn.Linear(WIDTH, 16), nn.ReLU(), nn.Dropout(0.3), nn.Linear(16, 1))
    return _trained([model], lambda x: model(x).square().mean(), torch.optim.Adam)


def _reshaped() -> Made:
    model = nn.Linear(WIDTH, 4)

    def loss_of(x: Any) -> Any:
        flat = model(x).reshape(-1)
        return flat.square().sum() / flat.numel() + flat.reshape(2, -1).mean(1).square().sum()

    return _trained([model], loss_of)


def _statistics() -> Made:
    model = nn.Sequential(nn.Linear(WIDTH, 6), nn.GroupNorm(2, 6), nn.Tanh()).double()
    return _trained([model], lambda x: _moments(model(x.double())))


def _moments(y: Any) -> Any:
    return y.var() + y.std(0).sum() + y.logsumexp(0).sum()


def _normed() -> Made:
    """Batch norm while training: it moves its statistics by the unbiased variance, n/(n-1)."""
    parts = nn.Linear(WIDTH, 6), nn.BatchNorm1d(6), nn.Tanh(), nn.Linear(6, 3)
    model = nn.Sequential(*parts, nn.BatchNorm1d(3))
    step, parameters = _trained([model], lambda x: model(x).square().mean() + model(x).amax())
    return step, [*parameters, *(b for b in model.buffers() if b.dtype == torch.float32)]


def _shifted() -> Made:
    model = nn.Linear(WIDTH, WIDTH).double()

    def loss_of(given: Any) -> Any:
        x = given.double()
        y = model(x)
        return (y[1:] - x[:-1]).square().mean() + torch.cat([x, y]).mean(0).square().mean()

    return _trained([model], loss_of)


def _sorted() -> Made:
    model = nn.Linear(WIDTH, 4)

    def loss_of(x: Any) -> Any:
        y = model(x)
        return (
            y.cumsum(0).softmax(0).amax(1).sum()
            + y.sort(0)[0].mean()
            + F.pad(y, (0, 0, 1, 1)).flip(0).mean()
        )

    return _trained([model], loss_of)


def _clipped() -> Made:
    model = nn.Linear(WIDTH, WIDTH)
    optimizer = torch.optim.Adam(model.parameters())

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.1)
        optimizer.step()
        return loss

    return step, list(model.parameters())


def _judging() -> Made:
    model = nn.Linear(WIDTH, 3)

    def step(x: Any) -> Any:
        with torch.no_grad():
            return model(x), x.shape[0], x.mean()

    return step, list(model.parameters())


def _attention() -> Made:
    layer = nn.TransformerEncoderLayer(WIDTH, 2, 16, dropout=0.1, batch_first=True)
    return _trained(
        [layer], lambda x: layer(x.reshape(1, -1, WIDTH)).square().mean() + layer(x[None])[0, 0, 0]
    )


PROGRAMS = [
    _perceptron,
    _positions,
    _masked,
    _dropout,
    _reshaped,
    _statistics,
    _normed,
    _shifted,
    _sorted,
    _clipped,
    _judging,
]


def _again(make: Callable[[], Made]) -> Made:
    torch.manual_seed(0)
    return make()


def _compiled(step: Any, **options: Any) -> Any:
    return torch.compile(step, dynamic=True, **options)


def _same_at(
    plain: Made, compiled: Any, parameters: list[Any], args: tuple[Any, ...], seed: int
) -> None:
    """One call of each from one state: what they give, gradients, random numbers; then parameters are made equal."""
    step, own = plain
    torch.manual_seed(seed)
    expected = [step(*args), torch.rand(2)]
    torch.manual_seed(seed)
    given = [compiled(*args), torch.rand(2)]
    assert torch.equal(expected[1], given[1])
    results = zip(
        *(r if isinstance(r, tuple) else (r,) for r in (expected[0], given[0])), strict=True
    )
    for a, b in results:
        if isinstance(a, torch.Tensor):
            assert a.shape == b.shape
            np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=2e-4, atol=1e-6)
        else:
            assert a == b
    largest = max((p.grad.abs().max().item() for p in own if p.grad is not None), default=0.0)
    for a, b in zip(own, parameters, strict=True):
        assert (a.grad is None) is (b.grad is None)
        if a.grad is not None:
            np.testing.assert_allclose(
                b.grad.numpy(), a.grad.numpy(), rtol=1e-3, atol=1e-4 * largest + 1e-8
            )
        with torch.no_grad():
            b.copy_(a)


@pytest.mark.parametrize("make", [*PROGRAMS, _attention])
def test_every_size_gives_what_the_function_gives(make: Callable[[], Made]) -> None:
    plain = _again(make)
    step, parameters = _again(make)
    compiled = _compiled(step)
    sizes = EACH + random.sample(EACH, 30) + EACH[:8]
    torch.manual_seed(1)
    for i, n in enumerate(sizes):
        _same_at(plain, compiled, parameters, (torch.randn(n, WIDTH),), i)
    sizes = compiled._sizes
    assert sizes.template is not None, sizes.why
    assert not {
        values for values in sizes.wrong if values > (2,)
    }  # of two numbers, rounding is most
    assert len(sizes.template.tried) >= 50
    assert "one program for all sizes: a is size 0 of argument 0" in str(compiled.explain())


@pytest.mark.parametrize("make", PROGRAMS)
def test_every_size_is_the_program_that_a_recording_gives(make: Callable[[], Made]) -> None:
    step, _ = _again(make)
    compiled = _compiled(step, audit="always")
    for n in [5, 9, 12, *random.sample(range(2, 65), 6)]:
        for _ in range(4):
            compiled(torch.randn(n, WIDTH))
    assert compiled._sizes.template is not None, compiled._sizes.why
    assert not compiled._sizes.wrong


def test_sizes_of_zero_and_one_are_their_own() -> None:
    plain, (step, parameters) = _again(_perceptron), _again(_perceptron)
    compiled = _compiled(step)
    for i, n in enumerate([5, 9, 12, 1, 1, 7, 1, 3, 1, 3, 1]):
        _same_at(plain, compiled, parameters, (torch.randn(n, WIDTH),), i)
    assert (1,) not in compiled._sizes.template.tried
    empty = _compiled(lambda x: (x.sum(), x * 2))
    for n in (4, 5, 6, 0, 7, 0, 8, 0):
        total, double = empty(torch.ones(n, 3))
        assert total.item() == 3 * n
        assert double.shape == (n, 3)


@pytest.mark.parametrize("backend", ["llvm", "numpy"])
@pytest.mark.parametrize("p", [0.0, 0.5])
def test_results_that_go_backward_do_so_at_every_size(backend: str, p: float) -> None:
    """Samples, too, of which there would be no code: they go backward as records do."""

    def function(x: Any, w: Any) -> Any:
        y = torch.tanh(x @ w)
        return F.dropout(y, p).sum() if p else y.sum()

    compiled = torch.compile(function, dynamic=True, backend=backend)
    for n in (3, 4, 5, 6, 7, 3, 4):
        grads = []
        for run in (function, compiled):
            w = torch.ones(n, 2, dtype=torch.float64, requires_grad=True)
            x = torch.linspace(0, 0.2, 3 * n, dtype=torch.float64).reshape(3, n)
            torch.manual_seed(n)
            result = run(x, w)
            result.backward()
            grads.append([result.item(), *w.grad.flatten().tolist()])
        assert grads[0] == pytest.approx(grads[1], rel=1e-12)
    assert compiled._sizes.why == "a result that goes backward later"


def test_two_sizes_at_once() -> None:
    def make() -> Made:
        model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, 3))
        return _trained(
            [model], lambda x, y: F.cross_entropy(model(x).flatten(0, 1), y.reshape(-1))
        )

    plain, (step, parameters) = _again(make), _again(make)
    compiled = _compiled(step)
    for i in range(60):
        b, n = random.randint(2, 9), random.randint(2, 20)
        _same_at(
            plain, compiled, parameters, (torch.randn(b, n, WIDTH), torch.randint(0, 3, (b, n))), i
        )
    assert len(compiled._sizes.template.symbols) == 2


def test_a_size_that_is_another_number_by_chance() -> None:
    plain, (step, parameters) = _again(_perceptron), _again(_perceptron)
    compiled = _compiled(step)
    for i, n in enumerate([16, WIDTH, 3, 16, 8, 3, 5, 17, 16, 8, 3, 4, 32, 64, 5]):
        _same_at(plain, compiled, parameters, (torch.randn(n, WIDTH),), i)
    assert {(16,), (8,), (3,)} <= compiled._sizes.template.tried


def test_what_python_decides_by_a_size_is_seen_at_that_size() -> None:
    model = nn.Linear(WIDTH, WIDTH)

    def step(x: Any) -> Any:
        with torch.no_grad():
            y = model(x)
            return y * 2 if x.shape[0] > 32 else y

    compiled = _compiled(step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in [5, 9, 12, *range(2, 60), 33, 40, 7, 33]:
            x = torch.randn(n, WIDTH)
            assert torch.allclose(compiled(x), step(x), atol=1e-5)
    assert compiled._sizes.why
    assert "in other ways" in compiled._sizes.why


def test_what_python_decides_by_a_size_is_seen_where_numbers_do_not_say_so() -> None:
    """At the size's first call both ways give the same numbers: only the calls differ."""
    bias = torch.zeros(WIDTH)

    def step(x: Any) -> Any:
        y = x * 3
        return y + bias if x.shape[0] > 32 else y * 1.0

    compiled = _compiled(step)
    for n in (5, 9, 12, 6, 40, 40):
        compiled(torch.randn(n, WIDTH))
    bias += 1
    x = torch.randn(40, WIDTH)
    assert torch.equal(compiled(x), x * 3 + 1)
    assert (40,) in compiled._sizes.wrong


def test_an_index_out_of_range_at_a_new_size_is_the_functions_own_error() -> None:
    table = torch.randn(10, 4)
    compiled = _compiled(lambda i: F.embedding(i, table).sum(1))
    for n in (5, 9, 12, 7, 7, 7):
        i = torch.randint(0, 10, (n,))
        assert torch.allclose(compiled(i), table[i].sum(1), atol=1e-5)
    for n in (7, 8, 8, 30):
        with pytest.raises(IndexError):
            compiled(torch.full((n,), 10))
    positions = _compiled(lambda x: x + table[: x.shape[0]])
    for n in (5, 9, 7, 6, 4):
        positions(torch.randn(n, 4))
    with pytest.raises(RuntimeError):
        positions(torch.randn(20, 4))


def test_a_loop_over_a_size_has_a_record_for_each() -> None:
    cell = nn.Linear(4, 4)

    def step(x: Any) -> Any:
        state = torch.zeros(x.shape[0], 4)
        for t in range(x.shape[1]):
            state = torch.tanh(cell(x[:, t]) + state)
        return state.detach()

    compiled = _compiled(step)
    for n in (3, 4, 5, 6, 3, 4):
        x = torch.randn(2, n, 4)
        assert torch.allclose(compiled(x), step(x), atol=1e-5)
    assert "another number of operations" in str(compiled.explain())


@pytest.mark.parametrize("trains", [False, True])
def test_no_size_is_tried_at_which_a_fit_would_reach_beyond_its_memory(trains: bool) -> None:
    """Sixteen rows for up to sixteen: a fit to small sizes writes row n of them, and adds 16 - n rows."""
    weight = torch.randn(WIDTH, requires_grad=trains)

    def step(x: Any) -> Any:
        weight.grad = None
        whole = F.pad(x * weight, (0, 0, 0, max(0, 16 - len(x))))
        loss = (whole * 2).square().sum()
        if trains:
            loss.backward()
        return loss.detach()

    compiled = _compiled(step)
    for n in (
        12,
        9,
        11,
        3,
        3,
        3,
        15,
        15,
        15,
        2,
        2,
        2,
    ):  # the fewer there are, the more memory is needed
        x = torch.randn(n, WIDTH)
        assert torch.allclose(compiled(x), step(x), atol=1e-4)
    template = compiled._sizes.template
    assert {(3,), (15,), (2,)} <= template.followed
    arrays = [EntryAtSize(template, Form((x,), {}), (n,)) for n in (2, 9, 16)]
    assert len(arrays) == 3
    for n in (17, 40):
        assert not template.stays_within(n)
        for _ in range(3):
            x = torch.randn(n, WIDTH)
            assert torch.allclose(compiled(x), step(x), atol=1e-4)
        assert compiled._sizes.wrong[(n,)] == "it would reach beyond its memory"


@pytest.mark.parametrize(
    "returns",
    [
        lambda x, y, w: x if len(x) > 10 else w,
        lambda x, y, w: y if len(x) > 10 else w,
        lambda x, y, w: x[1:3] if len(x) > 10 else x[:2],
        lambda x, y, w: x.t() if len(x) > 10 else x.detach(),
        lambda x, y, w: [y] if len(x) > 10 else (y,),
        lambda x, y, w: {"a": y} if len(x) > 10 else {"b": y},
        lambda x, y, w: (y, y) if len(x) > 10 else (y, x),
        lambda x, y, w: 0.0 if len(x) > 10 else -0.0,
        lambda x, y, w: 1 if len(x) > 10 else True,
        lambda x, y, w: w[:2] if len(x) > 10 else w[1:],
    ],
)
def test_what_is_returned_depends_on_the_size_though_no_operation_does(returns: Any) -> None:
    weight = torch.ones(3)

    def step(x: Any) -> Any:
        return returns(x, x * 2, weight), x.sum()

    def form(found: Any, x: Any) -> Any:
        if isinstance(found, torch.Tensor):
            at = "x" if found is x else "w" if found is weight else found._base is x
            return at, tuple(found.shape), found.stride(), found.storage_offset()
        if isinstance(found, (tuple, list)):
            return type(found), [form(part, x) for part in found]
        return [*found] if isinstance(found, dict) else (type(found), str(found))

    compiled = _compiled(step)
    for n in (5, 9, 7, 8, 8, 8, 20, 20, 20, 20, 9, 9, 30, 30, 30, 30):
        x = torch.randn(n, 3)
        (found, total), (expected, other) = compiled(x), step(x)
        assert form(found, x) == form(expected, x), n
        assert torch.allclose(total, other, atol=1e-4)
    assert (8,) in compiled._sizes.template.followed
    assert (20,) in compiled._sizes.wrong


def test_a_double_that_was_a_single_on_its_way_is_as_exact_as_that() -> None:
    compiled = _compiled(lambda x: x.double().mul(1.7).float().sigmoid().double().sum())
    with torch.autocast("cpu"):
        weight = torch.randn(WIDTH, 5)
        mixed = _compiled(lambda x: (x @ weight).float().tanh().sum(0))
        for n in (5, 9, 12, 7, 7, 7, 30, 30, 30):
            compiled(torch.randn(n, WIDTH))
            mixed(torch.randn(n, WIDTH))
    assert (30,) in compiled._sizes.template.followed
    assert (30,) in mixed._sizes.template.followed


@pytest.mark.parametrize("rate", [lambda n: 0.1 / n, lambda n: 0.1 if n > 10 else 0.01])
def test_a_setting_that_depends_on_the_size(rate: Any) -> None:
    def made() -> Any:
        weight = torch.ones(WIDTH, requires_grad=True)
        optimizer = torch.optim.SGD([weight], lr=0.01)

        def step(x: Any) -> None:
            optimizer.param_groups[0]["lr"] = rate(len(x))
            optimizer.zero_grad()
            (weight * x).square().mean().backward()
            optimizer.step()

        return weight, step

    (weight, step), (other, plain) = made(), made()
    compiled = _compiled(step)
    for n in (5, 9, 7, 8, 8, 8, 20, 20, 20, 8, 8, 20, 8, 30, 30, 30, 8, 30):
        x = torch.randn(n, WIDTH)
        compiled(x)
        plain(x)
        assert torch.allclose(weight, other, rtol=1e-6), n


def test_a_number_that_is_none_at_a_size() -> None:
    compiled = _compiled(lambda x: x * (1.0 / (len(x) - 3) if len(x) != 3 else 7.0))
    for n in (5, 9, 12, 4, 4, 4, 3, 3, 3):
        found = compiled(torch.ones(n))
        assert torch.allclose(found, torch.full((n,), 1 / (n - 3) if n != 3 else 7.0))
    assert (3,) in compiled._sizes.wrong


def test_shapes_as_arguments_and_as_results() -> None:
    def step(x: Any) -> Any:
        y = torch.zeros(x.shape) + x.reshape(x.shape) * 2
        return y.sum(), x.shape, (x.size(), y.expand(2, *y.shape).shape)

    compiled = _compiled(step)
    for n in (5, 9, 12, 7, 7, 7, 5, 11, 11, 11):
        x = torch.randn(n, WIDTH)
        given, expected = compiled(x), step(x)
        assert given[1:] == expected[1:]
        assert type(given[1]) is torch.Size
        assert torch.allclose(given[0], expected[0], atol=1e-4)
    assert (11,) in compiled._sizes.template.followed


def test_a_mistake_while_a_template_is_made_costs_nobody_a_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fails(*_: Any) -> Any:
        raise ZeroDivisionError("of the library's own")

    monkeypatch.setattr("tautograd._compile.run.sizes.Template", fails)
    compiled = _compiled(lambda x: x * 2)
    said = "no program for all sizes could be made.*ZeroDivisionError"
    compiled(torch.ones(5))
    compiled(torch.ones(9))
    with pytest.warns(UserWarning, match=said):
        assert torch.equal(compiled(torch.ones(12)), torch.full((12,), 2.0))
    for n in (7, 7, 7):
        assert torch.equal(compiled(torch.ones(n)), torch.full((n,), 2.0))
    assert "ZeroDivisionError" in str(compiled.explain())


def test_memory_is_bounded() -> None:
    step, _ = _again(_perceptron)
    compiled = _compiled(step)
    for n in [*range(2, 202), *range(2, 202)]:
        compiled(torch.randn(n, WIDTH))
    records = compiled._alive()
    assert len(records) <= 64
    assert len({id(r.replay_of.memory.arena) for r in records if hasattr(r, "template")}) <= 4
    assert sum(r.nbytes for r in records) < 4 << 20


# --- wrong templates -----------------------------------------------------------------------------------


class _Planted(Words):
    """Numbers of which one is wrong."""

    def __init__(self, words: Words, place: int) -> None:
        self.__dict__.update(vars(words))
        self.place = place

    def at(self, values: tuple[int, ...]) -> Any:
        found = super().at(values)
        # Less, and never more: what is wrong then is not memory that belongs to somebody else.
        found[self.places[self.place]] //= 2
        return found


@pytest.mark.parametrize("make", [_perceptron, _masked, _dropout, _statistics, _shifted])
def test_a_wrong_number_in_a_template_is_found_at_the_first_call(make: Callable[[], Made]) -> None:
    step, _ = _again(make)
    compiled = _compiled(step)
    for n in (5, 9, 12, 7, 7):
        compiled(torch.randn(n, WIDTH))
    template, trial = compiled._sizes.template, compiled._sizes.trial
    template.make_room_for((200,))
    planted = found = 0
    for stretch in template.stretches:
        words = stretch.words
        for place in range(0 if words is None else len(words.places)):
            n = 40 + place
            x = torch.randn(n, WIDTH)
            expected = _given(compiled, x)
            stretch.words = _Planted(words, place)
            if _given(compiled, x) != expected:  # else it decides nothing at this size
                planted += 1
                found += _is_wrong(compiled, template, trial, x)
            stretch.words = words
            compiled._sizes.template = template
    assert planted >= 5
    assert found == planted, (found, planted)


def _given(compiled: Any, x: Any) -> Any:
    """What the template's program gives, to the bit."""
    sizes = compiled._sizes
    form = Form((x,), {})
    values = sizes.template.values_of(form.loose, [x])
    entry = EntryAtSize(sizes.template, form, values)
    torch.manual_seed(0)
    given = sizes.trial.run(entry, [x._data])
    return given and [a.tobytes() for part in given[:3] for a in part]


def _is_wrong(compiled: Any, template: Any, trial: Any, x: Any) -> bool:
    """Whether the first call at a size finds that the template is wrong there."""
    compiled._sizes.template, compiled._sizes.trial, compiled._sizes.why = template, trial, None
    compiled._sizes.wrong.clear()
    torch.manual_seed(0)
    compiled(x)
    return bool(compiled._sizes.wrong)


@pytest.mark.parametrize("what", ["float", "result", "constant"])
def test_other_wrong_parts_of_a_template_are_found(what: str) -> None:
    def loss_of(x: Any) -> Any:
        return x * (1 / x.shape[0]) + torch.arange(x.shape[0])[:, None], x[1:]

    compiled = _compiled(loss_of)
    for n in (5, 9, 12, 7, 7):
        compiled(torch.randn(n, WIDTH))
    template = compiled._sizes.template
    trial = compiled._sizes.trial
    if what == "float":
        (_, sized), *_ = template.floats
        sized.number = sized.number + 1
    elif what == "result":
        first, *rest = template.result
        view = first.view
        wrong = copy.copy(first)
        wrong.view = type(view)(
            view.buffer, view.offset, (view.shape[0] - 1, 8), view.strides, view.dtype
        )
        from tautograd._compile.dynamic.template import filling

        template.fill_result = filling((wrong, *rest))
    else:
        if not template.constants:
            pytest.skip("it is computed and not kept")
        (_, constant), *_ = template.constants
        constant.largest = constant.largest.copy()
        constant.largest[3] += 1
    assert _is_wrong(compiled, template, trial, torch.randn(11, WIDTH))


# --- numbers -------------------------------------------------------------------------------------------


def test_numbers_that_depend_on_sizes_are_exact() -> None:
    ways = Ways({"a": 37, "b": 11})
    a, b = Size.symbol("a", ways), Size.symbol("b", ways)
    assert (8 * a * 64) // 16 == 32 * a
    assert (16 * a) % 16 == 0
    assert a * b == b * a
    assert (a * b) // a == b
    assert (a - a % 16) + a % 16 == a
    assert a > 1
    assert a != 0
    assert a % 16 < 16
    assert not ways.noted
    assert a != 64  # which depends on it
    assert len(ways.noted) == 1
    for wrong in (int, float, range):
        with pytest.raises(NotSymbolic):
            wrong(a)


def test_expressions_are_fitted_to_what_was_seen() -> None:
    values = (5, 9, 12)
    fitting = Fitting({"a": values}, Ways({"a": 13}))
    for function in (
        lambda n: 3 * n, lambda n: n * n, lambda n: 4 * n - 4, lambda n: n * n - n, lambda n: 7, lambda n: 2 * n + 9
    ):  # fmt: skip
        found = fitting.number(tuple(map(function, values)))
        if isinstance(found, Size):
            at = {"a": 23}
            assert eval(found.text(), {}, at) == function(23)
        else:
            assert found == function(23)
    with pytest.raises(Unlike):
        fitting.number((1, 2, 4))
    for number in (
        lambda n: 1 / n,
        lambda n: 1 / math.sqrt(n),
        lambda n: n / (n - 1),
        lambda n: -2 / (3 * n),
    ):
        sized = fitting.unified([np.float32(number(n)) for n in values])
        far = Fitting({"a": (12, 64, 390)}, Ways({"a": 391}))
        assert far.unified([np.float32(number(n)) for n in (12, 64, 390)]).at(7) is not None
        at = eval(sized.number.text(), {}, {"a": 23})
        assert sized.at(at) == np.float32(number(23))


def test_samples_are_taken_once_the_run_has_paid_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TAUT_BESIDE", "0")
    step, _ = _again(_judging)
    compiled = torch.compile(step)
    for n in range(2, 42):
        compiled(torch.randn(n, WIDTH))
    assert compiled._sizes.template is None
    assert not compiled._sizes.samples
    monkeypatch.setattr(ledger, "SHARE", 1e6)  # of a run that is as long
    for n in range(2, 42):
        compiled(torch.randn(n, WIDTH))
    assert compiled._sizes.template is not None, compiled._sizes.why
