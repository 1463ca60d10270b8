"""Arguments at the edges of what a parameter takes: as PyTorch takes or refuses them, and in words.

Sizes given as tensors, counts that no memory holds, numbers that no dtype holds, strides of nothing,
and what is not even of the right kind.
"""

from __future__ import annotations

import builtins
import itertools
import random
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tautograd

FAR = 2**63 - 1
Call = Callable[[Any], Any]


def _outcome(engine: Any, call: Call) -> tuple[Any, str]:
    """The shape and dtype of a result, or the class of an error, and what it says."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = call(engine)
        except Exception as error:
            return type(error).__name__, str(error)
    return (tuple(found.shape), str(found.dtype)) if hasattr(found, "shape") else found, ""


def _compare(call: Call) -> None:
    theirs, _ = _outcome(torch, call)
    ours, said = _outcome(tautograd, call)
    assert ours == theirs, said
    assert "cannot take" not in said


SIZES: dict[str, Call] = {
    "0-dim": lambda m: m.tensor(1),
    "one element": lambda m: m.tensor([1]),
    "one element, deep": lambda m: m.tensor([[1]]),
    "narrow": lambda m: m.tensor(1, dtype=m.int32),
    "a bool": lambda m: m.tensor(True),
    "two elements": lambda m: m.tensor([1, 1]),
    "a float": lambda m: m.tensor(1.0),
    "a list of one": lambda m: [m.tensor(1)],
    "a list of one, deep": lambda m: [m.tensor([1])],
    "a mixed list": lambda m: [1, m.tensor(1)],
    "NumPy's": lambda m: np.int64(1),
    "a list of NumPy's": lambda m: [np.int64(1)],
    "too wide": lambda m: 2**63,
}


@pytest.mark.parametrize("rank", [1, 2, 3])
@pytest.mark.parametrize("size", SIZES)
def test_sizes_of_convolutions_may_be_tensors_of_one_element(rank: int, size: str) -> None:
    shape, kernel = (1, 1) + (4,) * rank, (1, 1) + (2,) * rank
    for name in ("stride", "padding", "dilation"):
        for kind in ("conv", "conv_transpose"):

            def call(m: Any, name: str = name, kind: str = kind) -> Any:
                run = getattr(m.nn.functional, f"{kind}{rank}d")
                return run(m.ones(shape), m.ones(kernel), **{name: SIZES[size](m)})

            _compare(call)


@pytest.mark.parametrize("size", ["0-dim", "one element", "a list of one", "NumPy's"])
def test_sizes_one_by_one_may_be_tensors(size: str) -> None:
    _compare(lambda m: m.ones(1).reshape(SIZES[size](m)))
    _compare(lambda m: m.ones(2, 1).view(2, m.tensor(1)))
    _compare(lambda m: m.zeros(SIZES[size](m)))
    _compare(lambda m: m.ones(1).expand(3, m.tensor(1)))


COUNTS: dict[str, Call] = {
    "linspace": lambda m: m.linspace(0, 1, FAR),
    "logspace": lambda m: m.logspace(0, 1, FAR),
    "histc": lambda m: m.histc(m.ones(3), FAR),
    "histogram": lambda m: m.histogram(m.ones(3), FAR),
    "histogramdd": lambda m: m.histogramdd(m.ones(3, 1), [FAR]),
    "histogramdd of one": lambda m: m.histogramdd(m.ones(3, 2), FAR),
    "histogramdd, less": lambda m: m.histogramdd(m.ones(3, 1), [2**62]),
    "triu_indices": lambda m: m.triu_indices(FAR, 2, -FAR),
    "tril_indices": lambda m: m.tril_indices(FAR, 2),
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_that_no_memory_holds_are_refused_in_words(name: str) -> None:
    _compare(COUNTS[name])


def test_triangles_are_as_long_as_they_are_and_no_longer() -> None:
    rng = random.Random(0)
    for _ in range(300):
        row, col, offset = rng.randint(0, 5), rng.randint(0, 5), rng.randint(-7, 7)
        for name in ("tril_indices", "triu_indices"):
            theirs, ours = (getattr(m, name)(row, col, offset) for m in (torch, tautograd))
            assert ours.tolist() == theirs.tolist(), (name, row, col, offset)
    assert tautograd.triu_indices(FAR, 2).tolist() == [[0, 0, 1], [0, 1, 1]]
    assert tautograd.tril_indices(2, FAR).tolist() == [[0, 1, 1], [0, 0, 1]]


NUMBERS: dict[str, Call] = {
    "nan_to_num, half": lambda m: m.nan_to_num(m.ones(2, dtype=m.bfloat16), nan=-(10**30)),
    "nan_to_num": lambda m: m.nan_to_num(m.ones(2), nan=-(10**400)),
    "quantile": lambda m: m.quantile(m.ones(2), 10**400),
    "layer_norm": lambda m: m.nn.functional.layer_norm(m.ones(2), (2,), eps=10**400),
    "clamp": lambda m: m.clamp(m.ones(2), max=10**400),
    "add": lambda m: m.add(m.ones(2), 2**64),
    "full": lambda m: m.full((2,), 10**30),
    "pad": lambda m: m.constant_pad_nd(m.ones(2, dtype=m.int16), [1, 0], float("-inf")),
    "pad, none": lambda m: m.constant_pad_nd(m.ones(2, dtype=m.int16), [0, 0], float("-inf")),
    "pad, wide": lambda m: m.constant_pad_nd(m.ones(2, dtype=m.int8), [1, 0], 300),
    "int": lambda m: int(m.tensor(complex(float("nan"), 0))),
}


@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_that_no_dtype_holds(name: str) -> None:
    _compare(NUMBERS[name])


def test_a_number_beyond_a_half_is_infinite_and_no_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        given = tautograd.tensor([float("nan")], dtype=tautograd.float16)
        assert tautograd.nan_to_num(given, nan=-1e30).tolist() == [float("-inf")]


@pytest.mark.parametrize("step", [1, 2**40, 2**62, FAR, -1])
def test_nothing_may_lie_anywhere(step: int) -> None:
    shapes = [(0,), (0, 3), (2, 0, 3)]
    for shape in shapes:
        steps = (step,) * len(shape)
        _compare(lambda m, s=shape, t=steps: m.empty_strided(s, t))
        _compare(lambda m, s=shape, t=steps: m.ones(2).new_empty_strided(s, t))
        _compare(lambda m, s=shape, t=steps: m.zeros(0).as_strided(s, t))
        _compare(lambda m, s=shape, t=steps: m.zeros(3).as_strided_(s, t))
    assert tautograd.empty_strided((0,), (2**40,)).stride() == (2**40,)
    _compare(lambda m: m.empty_strided((0, 3), (2**63, 1)))
    _compare(lambda m: m.empty_strided((2, 3), (FAR, FAR)))


@pytest.mark.parametrize("name", ["zeros", "rand", "randn", "empty"])
def test_extents_beyond_counting_are_refused_in_words_even_of_nothing(name: str) -> None:
    shape = (2**32, 2**31, 0, 1)
    for call in (getattr(tautograd, name), tautograd.zeros(0).reshape, tautograd.zeros(0).view):
        with pytest.raises(RuntimeError, match="Stride calculation overflowed"):
            call(shape)


def test_nothing_grows_into_what_a_template_has() -> None:
    _compare(lambda m: m.zeros(2, 0, dtype=m.bfloat16)[1:].resize_as_(m.ones(2, 2, 2)))


def _cells(dtype: str, *shapes: tuple[int, ...]) -> None:
    for kind, gates in (("rnn_tanh", 1), ("rnn_relu", 1), ("gru", 3), ("lstm", 4)):
        if gates > 1 and len(shapes[0]) > 2:
            continue  # PyTorch ends the process

        def call(m: Any, kind: str = kind, gates: int = gates) -> Any:
            made = [m.ones(s, dtype=getattr(m, dtype)) for s in shapes]
            weights = [m.ones(gates * 2, 2, dtype=getattr(m, dtype)) for _ in range(2)]
            state = [made[1], made[1]] if kind == "lstm" else made[1]
            found = getattr(m, f"{kind}_cell")(made[0], state, *weights, *made[2:])
            return found[0] if kind == "lstm" else found

        _compare(call)


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8", "complex64", "bool"])
def test_cells_take_whatever_their_operations_take(dtype: str) -> None:
    _cells(dtype, (3, 2), (3, 2))
    _cells(dtype, (), (3, 2))
    _cells(dtype, (2,), (2,))
    _cells(dtype, (2, 2, 2), (2, 2, 2))


def test_a_step_spelt_out_is_the_fused_step() -> None:
    from tautograd._ops.nn.recurrent.recurrent_functions import _spelled_out

    tautograd.manual_seed(0)
    for kind, gates in (("rnn_tanh", 1), ("rnn_relu", 1), ("gru", 3), ("lstm", 4)):
        x, h, c = (tautograd.randn(3, 2) for _ in range(3))
        weights = [tautograd.randn(gates * 2, 2) for _ in range(2)]
        weights += [tautograd.randn(gates * 2) for _ in range(2)]
        states = [h, c] if kind == "lstm" else [h]
        fused = getattr(tautograd, f"{kind}_cell")(x, states if kind == "lstm" else h, *weights)
        plain = _spelled_out(kind, x, states, weights)
        plain = (plain[0], plain[2]) if kind == "lstm" else plain[0]
        tautograd.testing.assert_close(plain, fused)


def test_unpooling_reads_as_many_extents_as_the_kernel_has() -> None:
    lists: list[Any] = [1, 2, [1], [2, 2], [0], [2, 2, 2], [7]]
    for rank, kernel, stride, padding in itertools.product(
        (1, 2, 3), lists, [*lists, None], (0, [0, 0])
    ):
        shape = (1, 1) + (2,) * rank

        def call(m: Any) -> Any:
            run = getattr(m.nn.functional, f"max_unpool{rank}d")  # noqa: B023
            index = m.zeros(shape, dtype=m.int64)  # noqa: B023
            return run(m.ones(shape), index, kernel, stride, padding)  # noqa: B023

        theirs, ours = _outcome(torch, call)[0], _outcome(tautograd, call)
        assert ours[0] == theirs, (rank, kernel, stride, padding, ours[1])


def test_no_tensor_gets_inside_a_tensor() -> None:
    for place in ("min_val", "max_val"):
        _compare(lambda m, p=place: m.nn.functional.hardtanh(m.ones(1, 1), **{p: m.ones(1, 1, 1)}))


def test_a_range_of_integers_begins_and_ends_with_integers() -> None:
    for given in ((0.5, 1), (0.5, 2.9), (1.9, 5, 1.9), (-0.5, 1), (3, -3, -1.5)):
        for kind in ("int64", "int16", "float32"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                theirs, ours = (
                    m.range(*given, dtype=getattr(m, kind)).tolist() for m in (torch, tautograd)
                )
            assert ours == theirs, (given, kind)


def test_addr_promotes_what_has_no_dimensions_too() -> None:
    for a, b in itertools.product(
        ("float32", "float64", "bfloat16", "int64", "complex64"), repeat=2
    ):
        for shape in ((), (2, 2)):
            _compare(
                lambda m, a=a, b=b, s=shape: m.addr(
                    m.ones(s, dtype=getattr(m, a)), *[m.ones(2, dtype=getattr(m, b))] * 2
                )
            )


def test_a_loss_of_logits_has_the_dtype_of_its_target() -> None:
    kinds = ("float32", "float64", "float16", "bfloat16")
    for a, b, c in itertools.product(kinds, kinds, (None, *kinds)):
        for place, reduction in (("weight", "mean"), ("pos_weight", "none"), ("weight", "sum")):

            def call(
                m: Any, a: str = a, b: str = b, c: Any = c, p: str = place, r: str = reduction
            ) -> Any:
                more = {} if c is None else {p: m.ones(2, dtype=getattr(m, c))}
                given = m.ones(2, dtype=getattr(m, a)), m.ones(2, dtype=getattr(m, b))
                return m.nn.functional.binary_cross_entropy_with_logits(*given, reduction=r, **more)

            _compare(call)


def test_rows_are_not_scaled_down_for_a_lookup_that_fails() -> None:
    for index, kind, error in (([0, -1], "float32", IndexError), ([0], "int32", RuntimeError)):
        weight = tautograd.full((2, 3), 5, dtype=getattr(tautograd, kind))
        with pytest.raises(error):
            tautograd.nn.functional.embedding(tautograd.tensor(index), weight, max_norm=1.0)
        assert weight.tolist() == [[5] * 3] * 2


# --- what is not even of the right kind ------------------------------------------------------------

WRONG: dict[str, Call] = {
    "pad_sequence": lambda m: m.nn.utils.rnn.pad_sequence(
        [m.ones(2)], padding_side=np.array(["a", "b"])
    ),
    "RNNBase": lambda m: m.nn.RNNBase(np.array([1, 2]), 2, 3),
    "get_total_norm": lambda m: m.nn.utils.get_total_norm(np.ones(2, np.float32)),
    "CrossMapLRN2d": lambda m: m.nn.CrossMapLRN2d(2)(m.ones(3, 3, 3)),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_of_another_kind_can_be_caught_as_pytorchs_class(name: str) -> None:
    with pytest.raises(getattr(builtins, _outcome(torch, WRONG[name])[0])):
        WRONG[name](tautograd)


def test_an_accident_inside_a_module_is_told_in_words() -> None:
    broken = tautograd.nn.CrossMapLRN2d(1, alpha=np.zeros(0))
    with pytest.raises(RuntimeError, match=r"CrossMapLRN2d\(\) was given arguments") as caught:
        broken(tautograd.ones(3, 3, 3, 3))
    assert isinstance(caught.value.__cause__, ValueError)
    with pytest.raises(TypeError, match="argument 1 must be Tensor, not str"):
        tautograd.nn.Flatten()("text")


def test_an_accident_inside_a_program_is_left_alone() -> None:
    class Own(tautograd.nn.Module):
        def forward(self, x: Any) -> Any:
            return x.no_such_thing

    with pytest.raises(AttributeError, match="no_such_thing"):
        Own()(tautograd.ones(2))


def test_an_accident_inside_an_optimizer_is_told_in_words() -> None:
    parameter = tautograd.nn.Parameter(tautograd.ones(2))
    chosen = tautograd.optim.NAdam([parameter], maximize=np.ones(2))  # type: ignore[arg-type]
    parameter.grad = tautograd.ones(2)
    with pytest.raises(RuntimeError, match=r"NAdam.step\(\) was given"):
        chosen.step()
