"""Every printed text must equal PyTorch's, character for character."""

from __future__ import annotations

import itertools
import math
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import ml_dtypes
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from torch.autograd import forward_ad

from tautograd._tensor import printing

if TYPE_CHECKING:
    from collections.abc import Iterator

INTEGERS = [
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.uint16,
    torch.uint32,
    torch.uint64,
]
FLOATS = [torch.float16, torch.bfloat16, torch.float32, torch.float64]
COMPLEXES = [torch.complex64, torch.complex128]
DTYPES = [torch.bool, *INTEGERS, *FLOATS, *COMPLEXES]

NAN, INF = math.nan, math.inf

DEFAULT_SETTINGS = {
    "deadline": None,
    "derandomize": True,
    "database": None,
    "suppress_health_check": list(HealthCheck),
}


def ndarray_of(tensor: torch.Tensor) -> np.ndarray:
    """The same elements with the same strides, bfloat16 included."""
    tensor = tensor.detach()
    if tensor.dtype == torch.bfloat16:
        return tensor.view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.numpy()


class StandIn:
    """The attributes that printing reads, taken from a torch tensor."""

    def __init__(self, tensor: torch.Tensor) -> None:
        self.dtype = tensor.dtype
        self.shape = tensor.shape
        self.device = tensor.device
        self.requires_grad = tensor.requires_grad
        self.ndim = tensor.ndim
        self._source = tensor

    @property
    def _data(self) -> np.ndarray:
        return ndarray_of(self._source)

    @property
    def grad_fn(self) -> Any:
        return self._source.grad_fn

    def numel(self) -> int:
        return self._source.numel()


@pytest.fixture(autouse=True)
def plain_stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stand-in plays the part of Tensor, and torch's default dtype that of ours."""
    monkeypatch.setattr(printing, "plain_tensor_types", {StandIn})
    monkeypatch.setattr(printing, "default_dtype", torch.get_default_dtype)


@contextmanager
def both_options(**options: Any) -> Iterator[None]:
    with torch._tensor_str.printoptions(**options), printing.printoptions(**options):
        yield


@contextmanager
def both_default_dtype(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def assert_prints_alike(tensor: torch.Tensor) -> None:
    assert printing.tensor_repr(StandIn(tensor)) == repr(tensor)


def random_tensor(
    rng: np.random.Generator, shape: tuple[int, ...], dtype: torch.dtype
) -> torch.Tensor:
    """Values at one of several scales, sometimes whole, sometimes with special ones mixed in."""
    if dtype == torch.bool:
        return torch.from_numpy(np.array(rng.random(shape) < 0.5))
    if dtype in INTEGERS:
        limits = torch.iinfo(dtype)
        reach = min(10 ** int(rng.integers(1, 19)), limits.max)
        low = max(-reach, limits.min)
        return torch.from_numpy(np.array(rng.integers(low, reach, shape))).to(dtype)
    if dtype in COMPLEXES:
        part = torch.float32 if dtype == torch.complex64 else torch.float64
        return torch.complex(random_tensor(rng, shape, part), random_tensor(rng, shape, part))
    values = np.array(rng.standard_normal(shape)) * 10.0 ** rng.integers(-6, 9)
    style = rng.integers(0, 5)
    if style == 0:
        values = np.round(values)
    elif style == 1:
        values = values * 10.0 ** rng.integers(-4, 4, shape)
    elif style == 2:
        values = np.clip(values, -99.0, 99.0)
    if rng.random() < 0.3:
        special = rng.choice([NAN, INF, -INF, 0.0, -0.0], shape)
        values = np.where(rng.random(shape) < 0.3, special, values)
    return torch.from_numpy(np.array(values)).to(dtype)


# ------------------------------------------------------------------------------- hard values

HARD_FLOATS: list[list[float]] = [
    [0.0],
    [-0.0],
    [NAN],
    [INF],
    [-INF],
    [NAN, INF, -INF],
    [0.0, -0.0, NAN],
    [1.0, NAN],
    [1.0, INF, -INF, NAN, -0.0, 0.0],
    [1.5, INF, -INF, NAN, -0.0, 0.0],
    [1e-5, INF, -INF, NAN, -0.0, 0.0],
    [1.0, 2.0, 3.0],
    [-1.0, 10.0, 100.0],
    [1.0, 1000.0],
    [1.0, 1001.0],
    [1.0, 1000.5],
    [0.1, 100.0],
    [0.1, 100.1],
    [1e8],
    [1e8 + 1],
    [100000008.0],
    [1e-4],
    [9.999e-5],
    [0.0001, 0.01],
    [0.99995, 0.99994],
    [9.99995],
    [0.00005, 0.5],
    [2.5, 3.5, 0.5],
    [1.00005, 1.00015],
    [123456.789, -123456.789],
    [65504.0, 6e-8],
    [1e30, -1e30],
    [1e-30, 1.0],
    [3.4e38, 1.2e-38],
    [1e-45],
    [1e300, 1e-300],
    [5e-324, 1.7976931348623157e308],
    [math.pi, -math.e],
    [16777216.0, 1.0],
    [99999999.0, 99999.0],
    [float(2**53), float(2**53 - 1)],
]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("sci_mode", [None, True, False])
@pytest.mark.parametrize("precision", [0, 1, 4, 9])
def test_hard_floats(dtype: torch.dtype, sci_mode: bool | None, precision: int) -> None:
    with both_options(sci_mode=sci_mode, precision=precision):
        for values in HARD_FLOATS:
            tensor = torch.tensor(values, dtype=torch.float64).to(dtype)
            assert_prints_alike(tensor)
            assert_prints_alike(tensor[0])
            assert_prints_alike(tensor.repeat(3, 7))


@pytest.mark.parametrize("dtype", COMPLEXES, ids=str)
@pytest.mark.parametrize("sci_mode", [None, True, False])
def test_hard_complexes(dtype: torch.dtype, sci_mode: bool | None) -> None:
    parts = [0.0, -0.0, 1.0, -1.0, 0.5, 1e-7, 1e9, NAN, INF, -INF, 100.0]
    numbers = [complex(real, imag) for real, imag in itertools.product(parts, parts)]
    with both_options(sci_mode=sci_mode):
        for number in numbers:
            assert_prints_alike(torch.tensor(number, dtype=dtype))
            assert_prints_alike(torch.tensor([number, 1.5 - 2j], dtype=dtype))
        assert_prints_alike(torch.tensor(numbers, dtype=dtype))
        assert_prints_alike(torch.tensor(numbers, dtype=dtype).reshape(11, 11))
        assert_prints_alike(torch.tensor(numbers, dtype=dtype)[::3].conj_physical())


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_bit_patterns_of_the_half_precisions() -> None:
    bits = torch.arange(-(2**15), 2**15, dtype=torch.int32).to(torch.int16)
    for dtype in (torch.float16, torch.bfloat16):
        # An odd stride visits signs, exponents, mantissas, infinities and all kinds of NaN.
        for value in bits.view(dtype)[::67]:
            assert_prints_alike(value)


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_extremes(dtype: torch.dtype) -> None:
    limits = torch.iinfo(dtype)
    tensor = torch.tensor([limits.min, 0, 1, limits.max], dtype=dtype)
    for view in (tensor, tensor[0], tensor[3], tensor.reshape(2, 2), tensor.repeat(20)):
        assert_prints_alike(view)


def test_booleans() -> None:
    for values in ([True], [False], [True, False], [True] * 40, [[True, False], [False, False]]):
        assert_prints_alike(torch.tensor(values))
    assert_prints_alike(torch.tensor(True))
    assert_prints_alike(torch.tensor(False))


# ------------------------------------------------------------------------------------ shapes


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_random_small_shapes(dtype: torch.dtype) -> None:
    rng = np.random.default_rng(7)
    shapes = [(), (1,), (5,), (40,), (1, 1), (3, 4), (2, 30), (2, 3, 4), (1, 1, 1, 1), (2, 2, 2, 2)]
    for _ in range(20):
        for shape in shapes:
            assert_prints_alike(random_tensor(rng, shape, dtype))


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_empty(dtype: torch.dtype) -> None:
    shapes = [(0,), (0, 3), (3, 0), (0, 0), (2, 0, 5), (1, 0, 1, 1), (0, 1, 2, 3, 4)]
    for shape in shapes:
        tensor = torch.empty(shape, dtype=dtype)
        assert_prints_alike(tensor)
        if dtype.is_floating_point or dtype.is_complex:
            assert_prints_alike(tensor.requires_grad_())
        for threshold, edgeitems in itertools.product((0, 1000), (0, 3)):
            with both_options(threshold=threshold, edgeitems=edgeitems):
                assert_prints_alike(tensor)


LARGE_SHAPES = [
    (1000,),
    (1001,),
    (5000,),
    (2, 501),
    (501, 2),
    (6, 200),
    (7, 200),
    (300, 6),
    (40, 40),
    (1, 1, 1001),
    (11, 10, 10),
    (6, 7, 30),
    (7, 6, 30),
    (30, 7, 6),
    (8, 8, 8, 8),
    (2, 2, 2, 200),
    (1001, 1, 1, 1),
    (3, 400, 1, 2),
]


@pytest.mark.parametrize("shape", LARGE_SHAPES, ids=str)
def test_large_are_summarised(shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(math.prod(shape))
    for dtype in (torch.float32, torch.int64, torch.bool, torch.complex64, torch.bfloat16):
        tensor = random_tensor(rng, shape, dtype)
        assert_prints_alike(tensor)
    with both_options(profile="short"):
        assert_prints_alike(tensor)


def test_the_hidden_middle_does_not_decide_the_notation() -> None:
    tensor = torch.ones(2000)
    tensor[1000] = 1e-20
    assert_prints_alike(tensor)
    tensor[1] = 1e-20
    assert_prints_alike(tensor)


def test_full_profile_prints_everything() -> None:
    with both_options(profile="full"):
        assert_prints_alike(torch.arange(1500) / 7)
        assert_prints_alike(torch.arange(1200).reshape(3, 20, 20))


def test_non_contiguous() -> None:
    base = torch.arange(2400, dtype=torch.float32).reshape(40, 60) / 3
    views = [
        base.T,
        base[::3, 1::7],
        base[:, 5],
        base[::2],
        base[3],
        base.reshape(4, 10, 6, 10).permute(3, 1, 0, 2),
        base[:3, :4].T,
        base[:1].expand(3, 60)[:, :8],
        base[0, 0].expand(4, 4),
        base.to(torch.bfloat16)[::3, 1::7].T,
    ]
    for view in views:
        assert_prints_alike(view)
    backwards = np.arange(12.0).reshape(3, 4)[::-1, ::-1]
    expected = str(torch.from_numpy(backwards.copy()))
    assert f"tensor({printing.format_values(backwards, 7)}, dtype=torch.float64)" == expected


def test_a_huge_tensor_is_not_read() -> None:
    # 10**14 elements, all one byte of memory: reading them all would never end.
    huge = torch.tensor(3, dtype=torch.uint8).expand(10**7, 10**7)
    assert_prints_alike(huge)
    start = time.thread_time()
    printing.tensor_repr(StandIn(huge))
    assert time.thread_time() - start < 0.5


# ----------------------------------------------------------------------------------- options

OPTION_GRID = [
    dict(zip(("precision", "threshold", "edgeitems", "linewidth", "sci_mode"), values, strict=True))
    for values in itertools.product(
        (0, 2, 8), (0, 5, 1000), (0, 1, 4), (1, 20, 80, 200), (None, True, False)
    )
]


def test_options_grid() -> None:
    rng = np.random.default_rng(3)
    shapes = [(), (1,), (11,), (2, 10), (9, 3), (3, 2, 9), (4, 1, 2, 3)]
    dtypes = itertools.cycle(DTYPES)
    for options in OPTION_GRID:
        with both_options(**options):
            for shape in shapes:
                assert_prints_alike(random_tensor(rng, shape, next(dtypes)))


def test_set_and_get_options() -> None:
    steps: list[dict[str, Any]] = [
        {"precision": 2},
        {"sci_mode": True},
        {"linewidth": 40, "sci_mode": False},
        {"threshold": 5},
        {"edgeitems": 1},
        {"profile": "short"},
        {"profile": "full", "edgeitems": 9},
        {"profile": "no such profile", "precision": 7},
        {"profile": "default", "linewidth": 100},
        {},
    ]
    with both_options(profile="default"):
        for step in steps:
            torch.set_printoptions(**step)
            printing.set_printoptions(**step)
            assert printing.get_printoptions() == torch._tensor_str.get_printoptions()
            assert list(printing.get_printoptions()) == list(torch._tensor_str.get_printoptions())


def test_printoptions_restores_after_an_error() -> None:
    before = printing.get_printoptions()

    def fail_with_other_options() -> None:
        with printing.printoptions(profile="short", sci_mode=True):
            assert printing.get_printoptions() != before
            raise KeyError

    with pytest.raises(KeyError):
        fail_with_other_options()
    assert printing.get_printoptions() == before
    with pytest.raises(TypeError), printing.printoptions(colour="red"):
        pass
    assert printing.get_printoptions() == before


# ---------------------------------------------------------------------------------- suffixes


def test_requires_grad_and_grad_fn() -> None:
    leaf = torch.tensor([1.0, 2.0], requires_grad=True)
    for tensor in (leaf, leaf * 2, leaf.sum(), leaf.exp(), leaf.double(), (leaf * 2).detach()):
        assert_prints_alike(tensor)


def test_suffixes_wrap_where_torch_wraps() -> None:
    for dtype in (torch.float32, torch.float64, torch.complex128, torch.bfloat16):
        for length in range(30):
            for shape in ((length,), (2, length)):
                leaf = torch.ones(shape, dtype=dtype, requires_grad=True)
                assert_prints_alike(leaf)
                assert_prints_alike(leaf.exp())
    for linewidth in range(10, 90):
        with both_options(linewidth=linewidth):
            assert_prints_alike(torch.ones(3, dtype=torch.float64, requires_grad=True) * 2)
            assert_prints_alike(torch.ones(2, 3, dtype=torch.float16, requires_grad=True))


class DoubleIt(torch.autograd.Function):
    @staticmethod
    def forward(_ctx: Any, value: torch.Tensor) -> torch.Tensor:
        return value * 2

    @staticmethod
    def backward(_ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad * 2


def test_custom_function_names_its_node() -> None:
    tensor = DoubleIt.apply(torch.ones(2, requires_grad=True))
    assert "grad_fn=<DoubleItBackward>" in repr(tensor)
    assert_prints_alike(tensor)


def test_namespaced_node_prints_its_last_name() -> None:
    class Node:
        def name(self) -> str:
            return "torch::autograd::CopySlices"

    class WithNode(StandIn):
        grad_fn = Node()

    text = printing.tensor_repr(WithNode(torch.ones(1)))
    assert text == "WithNode([1.], grad_fn=<CopySlices>)"


def test_refused_grad_fn_prints_invalid() -> None:
    base = torch.ones(4, requires_grad=True).clone()
    with torch.no_grad():
        view = base[:2]
        view.mul_(2)
    assert "grad_fn=<Invalid>" in repr(view)
    assert_prints_alike(view)


@pytest.mark.parametrize("default", FLOATS, ids=str)
def test_dtype_is_shown_unless_it_is_the_default(default: torch.dtype) -> None:
    with both_default_dtype(default):
        for dtype in DTYPES:
            for shape in ((), (2,), (0,), (0, 2)):
                assert_prints_alike(torch.ones(shape, dtype=dtype))


def test_without_a_tensor_layer_the_default_is_float32(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printing, "default_dtype", printing._float32_name)
    for dtype in DTYPES:
        assert_prints_alike(torch.ones(2, dtype=dtype))


def test_meta_device() -> None:
    for dtype in DTYPES:
        for shape in ((), (2,), (0,), (3, 4)):
            assert_prints_alike(torch.empty(shape, dtype=dtype, device="meta"))


def test_other_device_is_shown() -> None:
    class Device:
        type = "cuda"

        def __str__(self) -> str:
            return "cuda:1"

    stand_in = StandIn(torch.ones(2, dtype=torch.float64))
    stand_in.device = Device()
    expected = "tensor([1., 1.], device='cuda:1', dtype=torch.float64)"
    assert printing.tensor_repr(stand_in) == expected


class Named(torch.Tensor):
    pass


class NamedStandIn(StandIn):
    pass


# The class name is part of the text, so the stand-in must bear torch's name.
NamedStandIn.__name__ = "Named"


def test_subclasses_print_their_name() -> None:
    for tensor in (torch.ones(2), torch.arange(90.0).reshape(2, 45), torch.ones(2, 0)):
        named = tensor.as_subclass(Named)
        assert printing.tensor_repr(NamedStandIn(tensor)) == repr(named)
        flagged = torch.nn.Parameter(named)
        stand_in = NamedStandIn(flagged)
        stand_in._is_param = True
        assert printing.tensor_repr(stand_in) == repr(flagged)


def test_given_contents() -> None:
    for tensor in (torch.ones(2), torch.ones(2, dtype=torch.float64), torch.ones(0, 3)):
        for contents in ("<hidden>", "x" * 75, "[1,\n 2]"):
            ours = printing.tensor_repr(StandIn(tensor), contents)
            assert ours == tensor.__repr__(tensor_contents=contents)


# PyTorch compiles some of its own forward derivatives on first use.
@pytest.mark.filterwarnings("ignore:.torch.jit.script. is deprecated:DeprecationWarning")
def test_dual_tensors_print_their_tangent() -> None:
    primals = [torch.ones(2), torch.ones(3, dtype=torch.float64), torch.ones(2, 12) / 3]
    with forward_ad.dual_level():
        for primal in [*primals, torch.tensor(1.5)]:
            tangent = primal * 2
            dual = forward_ad.make_dual(primal, tangent)
            stand_in = StandIn(primal)
            stand_in._tangent_for_repr = tangent
            assert printing.tensor_repr(stand_in) == repr(dual)


# --------------------------------------------------------------------------------- generated


def array_strategy(dtype: str) -> st.SearchStrategy[np.ndarray]:
    shapes = hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=5)
    return hnp.arrays(np.dtype(dtype), shapes)


NUMPY_NAMES = [str(dtype).removeprefix("torch.") for dtype in DTYPES if dtype != torch.bfloat16]
ARRAYS = st.sampled_from(NUMPY_NAMES).flatmap(array_strategy)

# Numbers a person would type, whose notation is near a decision.
FAMILIAR_FLOATS = st.one_of(
    st.integers(-1200, 1200).map(float),
    st.integers(-120000, 120000).map(lambda hundredths: hundredths / 100),
    st.sampled_from([0.0, -0.0, NAN, INF, -INF, 1e-4, 9.9e-5, 1e8, 1.00001e8, 0.1, 100.0, 1000.0]),
    st.floats(-1e9, 1e9),
)

OPTIONS = st.fixed_dictionaries(
    {
        "precision": st.integers(0, 12),
        "threshold": st.sampled_from([0, 1, 10, 50, 1000, INF]),
        "edgeitems": st.integers(0, 5),
        "linewidth": st.integers(1, 150),
        "sci_mode": st.sampled_from([None, True, False]),
    }
)


@settings(max_examples=400, **DEFAULT_SETTINGS)
@given(ARRAYS)
def test_generated_arrays(array: np.ndarray) -> None:
    assert_prints_alike(torch.from_numpy(array))


@settings(max_examples=400, **DEFAULT_SETTINGS)
@given(ARRAYS, OPTIONS)
def test_generated_options(array: np.ndarray, options: dict[str, Any]) -> None:
    with both_options(**options):
        assert_prints_alike(torch.from_numpy(array))


@settings(max_examples=400, **DEFAULT_SETTINGS)
@given(st.lists(FAMILIAR_FLOATS, max_size=20), st.sampled_from([*FLOATS, *COMPLEXES]))
def test_generated_familiar_numbers(values: list[float], dtype: torch.dtype) -> None:
    tensor = torch.tensor(values, dtype=torch.float64)
    if dtype in COMPLEXES:
        tensor = torch.complex(tensor, tensor.flip(0))
    assert_prints_alike(tensor.to(dtype))
    assert_prints_alike(tensor.to(dtype).unsqueeze(-1))
