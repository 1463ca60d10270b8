"""What PyTorch saves, in every protocol, is what is loaded; what the engine lacks is refused in words."""

from __future__ import annotations

import io
import math
import sys
import warnings
from collections import Counter, OrderedDict
from typing import Any

import numpy as np
import pytest
import torch

import tautograd
from tautograd.serialization import UnsafeFile

PROTOCOLS = (2, 3, 4, 5)


def saved(obj: Any, protocol: int = 2) -> io.BytesIO:
    file = io.BytesIO()
    torch.save(obj, file, pickle_protocol=protocol)
    file.seek(0)
    return file


def assert_same(ours: Any, theirs: Any, seen: set[int] | None = None) -> None:
    """The same types, values, strides, storages' bytes and attributes."""
    seen = set() if seen is None else seen
    if id(theirs) in seen:
        return
    seen.add(id(theirs))
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, tautograd.Tensor)
        assert isinstance(ours, tautograd.nn.Parameter) == isinstance(theirs, torch.nn.Parameter)
        assert str(ours.dtype) == str(theirs.dtype)
        assert ours.shape == tuple(theirs.shape)
        assert ours.requires_grad == theirs.requires_grad
        if not (theirs.is_conj() or theirs.is_neg()):
            assert ours.stride() == theirs.stride()
            assert ours.storage_offset() == theirs.storage_offset()
        assert str(ours.detach()) == str(theirs.detach())
        if theirs.dtype is not torch.bfloat16:  # NumPy has none
            shown = theirs.detach().resolve_conj().resolve_neg().numpy()
            assert ours.detach().numpy().tobytes() == shown.tobytes()
        assert_same(vars(ours), vars(theirs), seen)
    elif isinstance(theirs, np.generic):
        assert type(ours) is type(theirs.item())
        assert ours == theirs.item()
    elif isinstance(theirs, (torch.dtype, torch.device, torch.layout, torch.Size)):
        assert type(ours).__name__ == type(theirs).__name__
        assert str(ours) == str(theirs)
    elif isinstance(theirs, dict):
        assert type(ours) is type(theirs)
        for mine, their in zip(ours, theirs, strict=True):
            assert_same(mine, their, seen)
            assert_same(ours[mine], theirs[their], seen)
        if isinstance(theirs, OrderedDict):
            assert_same(vars(ours), vars(theirs), seen)
    elif isinstance(theirs, (list, tuple)):
        assert type(ours) is type(theirs)
        assert len(ours) == len(theirs)
        for mine, their in zip(ours, theirs, strict=True):
            assert_same(mine, their, seen)
    elif isinstance(theirs, float) and math.isnan(theirs):
        assert math.isnan(ours)
    else:
        assert type(ours) is type(theirs)
        assert ours == theirs


def plain_values() -> dict[str, Any]:
    shared = [1, 2]
    itself: list[Any] = [1]
    itself.append(itself)
    round_trip: tuple[Any, ...] = ([],)
    round_trip[0].append(round_trip)
    named = OrderedDict(a=1)
    named.note = ["kept"]  # type: ignore[attr-defined]
    return {
        "numbers": [0, -1, 255, 256, 65535, 65536, -(2**31), 2**31, 2**63, -(2**80), 2**5000, True],
        "floats": [0.0, -0.0, 1e300, math.inf, math.nan, 5e-324, 1j, complex(-0.0, math.inf)],
        "text": ["", "a", "é", "\U0001f600" * 70, "\ud800", "x" * 300, "line\nbreak\0"],
        "bytes": [b"", b"\x00\xff", b"b" * 300, bytearray(), bytearray(b"\x80x")],
        "nothing": None,
        "containers": [(), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4), [], [[]], {}, {"a": {}}, {1: 2}],
        "sets": [set(), {1, 2}, frozenset(), frozenset({"a", (1, 2)})],
        "counter": [Counter(), Counter("aab"), Counter(list(range(40)))],
        "ordered": [OrderedDict(), named, OrderedDict((i, str(i)) for i in range(3000))],
        "keys": {
            None: 0,
            1.5: 1,
            (1, "a"): 2,
            frozenset({3}): 3,
            b"b": 4,
            True: 5,
            2**70: 6,
            1j: 7,
        },
        "shared": [shared, shared],
        "itself": [itself, round_trip],
        "long": [list(range(5000)), {str(i): i for i in range(5000)}, tuple(range(300))],
        "dtypes": [torch.float32, torch.bool, torch.bfloat16, torch.complex128, torch.int8],
        "devices": [torch.device("cpu"), torch.device("cuda", 1), torch.strided],
        "sizes": [torch.Size([]), torch.Size([2, 3])],
        "classes": [OrderedDict, set, torch.float16],
    }


def tensors() -> dict[str, Any]:
    base = torch.arange(24.0).reshape(2, 3, 4)
    noted = torch.ones(2)
    noted.note, noted._kept = "a", {"deep": [1, torch.zeros(1)]}  # type: ignore[attr-defined]
    weight = torch.nn.Parameter(torch.ones(2))
    weight.tag = 3  # type: ignore[attr-defined]
    half = torch.complex(torch.arange(4.0), torch.ones(4))
    return {
        "views": [base, base[1], base[:, 1:, ::2], base.permute(2, 0, 1), base.mT.contiguous()],
        "expanded": [torch.ones(1).expand(1000), torch.ones(2, 1).expand(2, 5)],
        "empty": [torch.empty(0), torch.empty(2, 0, 3), base[2:], torch.tensor(3)],
        "reinterpreted": [base.clone().view(torch.int32), base.clone().view(torch.uint8)[..., 1:]],
        "leaves": [torch.ones(2, requires_grad=True), torch.nn.Parameter(torch.ones(3), False)],
        "attributes": [noted, weight, torch.nn.Buffer(torch.ones(2))],
        "conjugated": [
            half.conj(),
            half.conj()[1:3],
            half,
            half.clone().conj().imag,
            half.clone().imag,
        ],
        "generator": torch.Generator().manual_seed(3).get_state(),
        "keys": {"t": {torch.ones(1): 1}},
        "formats": torch.ones(1, 2, 3, 4).to(memory_format=torch.channels_last),
    }


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", plain_values())
def test_plain_values(name: str, protocol: int) -> None:
    value = plain_values()[name]
    found = tautograd.load(saved(value, protocol))
    assert_same(found, torch.load(saved(value, protocol), weights_only=False))
    if name == "shared":
        assert found[0] is found[1]
    if name == "itself":
        assert found[0][1] is found[0]
        assert found[1][0][0] is found[1]


@pytest.mark.filterwarnings("ignore:Detected pickle protocol")
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("name", tensors())
def test_tensors(name: str, protocol: int) -> None:
    value = tensors()[name]
    found = tautograd.load(saved(value, protocol))
    assert_same(found, torch.load(saved(value, protocol), weights_only=False))


def test_numbers_of_numpy_in_every_protocol() -> None:
    kinds = (
        np.float16,
        np.float32,
        np.float64,
        np.int8,
        np.uint64,
        np.bool_,
        np.complex64,
        np.longdouble,
    )
    numbers = [kind(1) for kind in kinds]
    for protocol in PROTOCOLS:
        found = tautograd.load(saved(numbers, protocol))
        assert found == [number.item() for number in numbers]
    swapped = np.dtype(">f8").type(2.5)
    assert tautograd.load(saved([swapped])) == [2.5]


def modules() -> list[Any]:
    nn = torch.nn
    return [
        nn.Linear(2, 3), nn.Conv2d(1, 2, 3), nn.BatchNorm2d(3), nn.LSTM(2, 3, 2), nn.GRU(2, 2),
        nn.MultiheadAttention(4, 2), nn.Embedding(3, 2), nn.TransformerEncoderLayer(4, 2, 8),
        nn.utils.parametrizations.weight_norm(nn.Linear(2, 2)), nn.Sequential(nn.PReLU(), nn.GroupNorm(1, 2)),
        nn.Linear(2, 2, dtype=torch.bfloat16), nn.Linear(2, 2, dtype=torch.complex64),
    ]  # fmt: skip


@pytest.mark.parametrize("protocol", [2, 5])
def test_states_of_modules(protocol: int) -> None:
    for module in modules():
        state = module.state_dict()
        expected = torch.load(saved(state), weights_only=True)
        assert_same(tautograd.load(saved(state, protocol)), expected)


def test_states_of_optimizers_and_their_kin() -> None:
    names = [
        name
        for name, kind in vars(torch.optim).items()
        if isinstance(kind, type) and issubclass(kind, torch.optim.Optimizer)
        if name not in ("Optimizer", "SparseAdam", "Muon")
    ]
    assert len(names) > 10
    for name in names:
        model = torch.nn.Linear(2, 2)
        optimizer = getattr(torch.optim, name)(model.parameters(), lr=0.1)
        loss = model(torch.ones(3, 2)).square().mean()
        loss.backward()
        optimizer.step(lambda loss=loss: loss)
        schedule = torch.optim.lr_scheduler.StepLR(optimizer, 2)
        scaler = torch.amp.GradScaler("cpu")
        state = [x.state_dict() for x in (optimizer, schedule, scaler)]
        assert_same(tautograd.load(saved(state)), torch.load(saved(state), weights_only=True))


def lacking() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "dtype": torch.bits8,
            "quantized": torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8),
            "nested": torch.nested.nested_tensor([torch.ones(2), torch.ones(3)]),
        }


@pytest.mark.parametrize("name", lacking())
def test_what_the_engine_lacks_is_said(name: str) -> None:
    with pytest.raises(UnsafeFile, match="does not have"):
        tautograd.load(saved(lacking()[name]))


class Own:
    pass


def test_objects_that_would_run_code_are_named() -> None:
    import collections
    import pathlib

    for value, said in (
        (Own(), "Own"),
        (torch.nn.Linear(1, 1), "Linear"),
        (collections.defaultdict(list), "defaultdict"),
        (pathlib.PurePosixPath("a"), "PurePosixPath"),
        (np.ones(2), "_reconstruct"),
        (sys.getsizeof, "getsizeof"),
    ):
        with pytest.raises(UnsafeFile, match=said):
            tautograd.load(saved(value))
