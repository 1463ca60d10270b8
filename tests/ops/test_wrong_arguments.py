"""Calls with wrong arguments end in a sentence of PyTorch's class, and never in an accident."""

from __future__ import annotations

import inspect
import pickle
import re
from typing import Any

import numpy as np
import pytest
import torch

import tautograd

# Each is evaluated on both engines: the class must be the same, and the first words of the message.
WRONG = """
torch.tril(x, [])
torch.tril(x, True)
torch.tril(x, 2**64)
torch.tril(x, -2**63 - 1)
torch.tril()
torch.tril(x, 1, 2)
torch.tril(x, foo=1)
torch.tril(x, diagonal=1.5)
torch.tril(3)
torch.tril(x, None)
x.tril(1, 2)
x.tril(foo=1)
torch.sum(3)
torch.sum()
torch.zeros([2, 1.5])
torch.zeros([1.5])
torch.zeros(2, 'a')
torch.zeros(2**64)
torch.zeros(-1)
torch.add(x, 'a')
torch.add(x, None)
torch.mm(x, 3)
torch.cat(3)
torch.cat([x, 3])
torch.cat([x], dim=2**63)
torch.eye([])
torch.eye(2**63)
torch.full((2,), 'a')
torch.arange('a')
torch.linalg.det(3)
torch.gather(x, 0, 3)
torch.where(3)
torch.roll(x, 'a')
torch.ones(2, dtype='a')
torch.nn.functional.dropout(())
torch.nn.Dropout()([1])
torch.nn.ReLU(inplace=True)([1])
torch.can_cast(2, 2)
torch.promote_types(2, torch.int64)
torch.round_(x, decimals=[])
torch.Tensor.exp(3)
torch.Tensor.detach([])
torch.Tensor.__add__(3, x)
torch.Tensor.__float__('a')
torch.nn.functional.adaptive_max_pool2d(x, [1])
torch.cosine_similarity(x, x, eps=-1.0)
x.fill_diagonal_(1.0, wrap=x)
x.__imod__(torch.ones(4, 4))
x.half(memory_format=())
torch.grid_sampler(x, x, 0, 0)
torch.grid_sampler(x, x, 'bilinear', 'zeros', False)
torch.grid_sampler(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 2), True, 0, False)
torch.grid_sampler_2d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 2), 0, 0, 0)
torch.grid_sampler_2d(torch.ones(1, 1, 2, 2, 2), torch.ones(1, 1, 1, 1, 3), 0, 0, False)
torch.grid_sampler_3d(torch.ones(1, 1, 2, 2), torch.ones(1, 1, 1, 2), 0, 0, False)
torch.grid_sampler_3d(x, [], 0, 0, False)
torch.segment_reduce(x, 1, lengths=torch.tensor([2]))
torch.segment_reduce(x, 'sum', torch.tensor([2]))
torch.segment_reduce(x, 'sum', lengths=[2])
torch.segment_reduce(x, 'sum', lengths=torch.tensor([2]), unsafe=1)
torch.segment_reduce(x, 'sum', lengths=torch.tensor([2]), initial='a')
torch.segment_reduce(x, 'sum', lengths=torch.tensor([2.0]))
torch.segment_reduce(x, 'sum', lengths=torch.tensor([2]), axis=1)
torch.segment_reduce(x, 'sum', offsets=3)
torch.segment_reduce(x, 'median', lengths=torch.tensor([2]))
torch.segment_reduce(x, 'sum')
""".strip().splitlines()


def _outcome(engine: Any, text: str) -> BaseException:
    x = engine.ones(2, 3)
    with pytest.raises(Exception) as caught:
        eval(text, {"torch": engine, "x": x})
    assert bool((x == 1).all()), "a call that fails leaves its tensors as they were"
    return caught.value


def _words(error: BaseException) -> str:
    """What both say: without positions, which count differently for methods, and what is in quotes."""
    text = str(error).split("\n")[0]
    return re.sub(r" \(position \d\)|^\w+", "", text)[:24]


@pytest.mark.parametrize("text", WRONG)
def test_the_error_is_pytorchs(text: str) -> None:
    want, got = _outcome(torch, text), _outcome(tautograd, text)
    assert type(got) is type(want), f"{got!r} instead of {want!r}"


@pytest.mark.parametrize("text", [text for text in WRONG[:27] if not text.startswith("x.")])
def test_the_parsers_sentences_are_pytorchs(text: str) -> None:
    want, got = _outcome(torch, text), _outcome(tautograd, text)
    assert _words(got) == _words(want), f"{got!r} instead of {want!r}"


HUGE = """
torch.zeros(2**62)
torch.ones(2**62, 4)
torch.empty(2**45)
torch.rand(2**45)
torch.full((2**45,), 1.0)
torch.arange(0, 10**15)
torch.eye(2**40)
x.repeat(2**30, 2**30)
torch.nn.functional.one_hot(torch.tensor([1]), 2**45)
torch.bincount(torch.tensor([2**45]))
torch.mvlgamma(x, 2**40)
torch.tensor_split(torch.ones(4), 2**40)
""".strip().splitlines()


@pytest.mark.parametrize("text", HUGE)
def test_what_finds_no_room_is_a_runtime_error(text: str) -> None:
    assert isinstance(_outcome(tautograd, text), RuntimeError)


class Own(Exception):
    pass


def _raises(*_: Any) -> Any:
    raise Own("the program's own")


class Bad:
    """An argument whose own code fails."""

    def __index__(self) -> int:
        raise Own("the program's own")

    __float__ = __array__ = __iter__ = __len__ = __index__


def test_what_the_programs_own_code_raises_passes_through() -> None:
    x = tautograd.ones(2, 3)
    with pytest.raises(Own, match="the program's own"):
        x.apply_(_raises)
    with pytest.raises(Own, match="the program's own"):
        tautograd.tril(x, Bad())
    with pytest.raises(Own, match="the program's own"):
        tautograd.func.vmap(_raises)(x)


def test_so_does_what_is_typed_at_a_prompt() -> None:
    names: dict[str, Any] = {}
    exec(compile("def look(value):\n    return {}[value]\n", "<stdin>", "exec"), names)
    with pytest.raises(KeyError):
        tautograd.ones(2).apply_(names["look"])


def test_an_accident_says_what_was_given_and_keeps_its_cause() -> None:
    from tautograd._ops.declare import guarding
    from tautograd._ops.declare.guarding import guarded

    names: dict[str, Any] = {}
    text = "def halve(input):\n    return {}[input.shape]\n"
    exec(compile(text, guarding.__file__, "exec"), names)  # as if it stood in the package
    halve = names["halve"]
    with pytest.raises(
        RuntimeError, match=r"halve\(\) was given arguments it cannot take: "
    ) as caught:
        guarded(halve, "halve")(tautograd.ones(2, 3))
    assert "torch.float32 tensor of shape [2, 3]" in str(caught.value)
    assert isinstance(caught.value.__cause__, KeyError)


def test_a_sentence_of_ours_stays_as_it_is() -> None:
    with pytest.raises(IndexError, match="Dimension out of range"):
        tautograd.ones(2).sum(5)


def test_guarded_functions_keep_their_names_and_signatures() -> None:
    assert tautograd.tril.__name__ == "tril"
    assert list(inspect.signature(tautograd.Tensor.t).parameters) == ["input"]
    assert pickle.loads(pickle.dumps(tautograd.tril)) is tautograd.tril
    assert tautograd.Tensor.transpose.__doc__


def test_a_wrong_argument_is_named_beside_one_that_is_no_tensor() -> None:
    with pytest.raises(
        TypeError, match=r"roll\(\): argument 'shifts' .*must be tuple of ints, not str"
    ):
        tautograd.roll(tautograd.ones(2), "a")


@pytest.mark.parametrize("n", [0, 1, 2, 5, 9, 70, 600])
@pytest.mark.parametrize("name", sorted(n for n in dir(torch.special) if "polynomial" in n))
def test_polynomials_at_the_ends(name: str, n: int) -> None:
    points = [-np.inf, -2.0, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, np.inf]
    want = getattr(torch.special, name)(torch.tensor(points, dtype=torch.float64), n)
    got = getattr(tautograd.special, name)(tautograd.tensor(points, dtype=tautograd.float64), n)
    # The condition of cos(n a) is n; a recurrence of n steps loses as much.
    np.testing.assert_allclose(
        got.numpy(), want.numpy(), rtol=1e-14 * (n + 1) ** 2, atol=1e-13 * (n + 1)
    )


@pytest.mark.parametrize(
    "n", [float("nan"), float("inf"), -float("inf"), 1e30, -1.0, 2.0**62, 10**18]
)
@pytest.mark.parametrize("name", sorted(n for n in dir(torch.special) if "polynomial" in n))
def test_polynomials_of_any_degree_end(name: str, n: float) -> None:
    points = tautograd.tensor(
        [-2.0, -1.0, -0.9999999, -0.5, 0.0, 0.5, 0.9999999, 1.0, 2.0, float("nan")]
    )
    found = getattr(tautograd.special, name)(points, n)
    if not 0 <= n < 2**63:
        assert found.tolist() == [0.0] * 10
    ones = getattr(tautograd.special, name)(tautograd.tensor([float("nan")]), 0)
    assert ones.tolist() == [1.0]
