"""Padding and packing on both engines: values, gradients, order, and what is refused."""

from __future__ import annotations

import pytest
import torch as pytorch

import tautograd
from tests.both import same


def sequences(torch, lengths, width=(2,), dtype="float32"):
    kind = getattr(torch, dtype)
    if not kind.is_floating_point:
        return [torch.randint(0, 9, (n, *width), dtype=kind) for n in lengths]
    return [torch.randn(n, *width, dtype=kind, requires_grad=True) for n in lengths]


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("width", [(), (2,), (2, 3)], ids=str)
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool"])
@same
def test_pad_sequence(torch, dtype, width, batch_first, side):
    if dtype == "bool":
        parts = [torch.ones(n, *width, dtype=torch.bool) for n in (3, 1, 4)]
    else:
        parts = sequences(torch, (3, 1, 4), width, dtype)
    padded = torch.nn.utils.rnn.pad_sequence(parts, batch_first, 1.5, side)
    if not padded.requires_grad:
        return padded
    (padded * torch.randn(padded.shape, dtype=padded.dtype)).sum().backward()
    return [padded, padded.grad_fn, [p.grad for p in parts]]


@pytest.mark.parametrize("in_order", [True, False], ids=["sorted", "unsorted"])
@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("total", [None, 7])
@same
def test_there_and_back(torch, total, batch_first, in_order):
    rnn = torch.nn.utils.rnn
    lengths = [4, 4, 2, 1] if in_order else [1, 4, 2, 4]
    shape = (4, 5, 3) if batch_first else (5, 4, 3)
    x = torch.randn(shape, requires_grad=True)
    packed = rnn.pack_padded_sequence(x, lengths, batch_first, in_order)
    padded, counts = rnn.pad_packed_sequence(packed, batch_first, -1.0, total)
    (padded * torch.randn(padded.shape)).sum().backward()
    return [
        repr(packed),
        packed.data.grad_fn,
        padded,
        padded.grad_fn,
        padded.stride(),
        counts,
        x.grad,
        [part for part in packed if part is not None],
    ]


@same
def test_lists(torch):
    rnn = torch.nn.utils.rnn
    parts = sequences(torch, (2, 4, 1))
    packed = rnn.pack_sequence(parts, enforce_sorted=False)
    again = rnn.unpack_sequence(packed)
    sum((part * part).sum() for part in again).backward()
    padded = rnn.pad_sequence([p.detach() for p in parts])
    lengths = torch.tensor([2, 4, 1])
    apart = rnn.unpad_sequence(padded, lengths)
    return [again, [p.grad for p in parts], apart, padded.shape, rnn.pack_sequence([parts[1]]).data]


@same
def test_packed_sequence(torch):
    rnn = torch.nn.utils.rnn
    packed = rnn.pack_sequence([torch.ones(2, 1), torch.ones(3, 1)], enforce_sorted=False)
    double = packed.double()
    pair = rnn.PackedSequence((packed.data, packed.batch_sizes))
    return [
        double.data,
        double.unsorted_indices,
        packed.float() is packed,
        packed.to(torch.float16).data.dtype == torch.float16,
        packed.long().data,
        packed.int().data,
        packed.short().data,
        packed.char().data,
        packed.byte().data,
        packed.half().data,
        packed.cpu() is packed,
        packed.is_cuda,
        packed.is_pinned(),
        pair.data,
        isinstance(packed, tuple),
        packed._fields,
        rnn.invert_permutation(torch.tensor([2, 0, 1])),
        rnn.invert_permutation(None),
    ]


@same
def test_gradients_of_gradients(torch):
    rnn = torch.nn.utils.rnn
    x = torch.randn(4, 2, 1, dtype=torch.float64, requires_grad=True)
    padded, _ = rnn.pad_packed_sequence(rnn.pack_padded_sequence(x.exp(), [4, 2]))
    (grad,) = torch.autograd.grad(padded.square().sum(), x, create_graph=True)
    grad.square().sum().backward()
    return x.grad


REFUSED = [
    "pack_padded_sequence(r(4, 2, 1), [2, 4])",
    "pack_padded_sequence(r(4, 2, 1), [4, 0])",
    "pack_padded_sequence(r(4, 2, 1), [4])",
    "pack_padded_sequence(r(4), [3])",
    "pack_padded_sequence(r(0, 2, 1), [])",
    "pad_sequence([])",
    "pad_sequence(3)",
    "pad_sequence([r(2, 3), r(2, 2)])",
    "pad_sequence([r(2), r(3)], padding_side='up')",
    "pad_sequence([torch.tensor(1.0), r(3)])",
    "pad_sequence([1, 2])",
    "pad_packed_sequence(rnn.pack_sequence([r(3), r(2)]), total_length=1)",
    "pack_sequence([r(2), r(3)])",
    "PackedSequence(r(3))",
]


@pytest.mark.parametrize("expression", REFUSED)
@same
def test_refused(torch, expression):
    names = {"torch": torch, "r": torch.randn, "rnn": torch.nn.utils.rnn}
    try:
        eval("rnn." + expression, names)
    except Exception as error:
        return [type(error).__name__, str(error).split("\n")[0]]
    raise AssertionError("nothing was refused")


def test_lengths_beyond_the_padding_are_refused():
    """PyTorch reads past the end of memory."""
    import tautograd as torch

    with pytest.raises(RuntimeError, match="Expected `lengths` to be at most 4"):
        torch.nn.utils.rnn.pack_padded_sequence(torch.randn(4, 2, 1), [5, 4])


@pytest.mark.parametrize("dtype", ["bool", "int64", "complex64", "float16"])
@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1.5, -2, 1e30])
def test_padding_that_the_dtype_may_not_hold(dtype, value):
    outcomes = []
    for torch in (tautograd, pytorch):
        parts = [torch.ones(n, dtype=getattr(torch, dtype)) for n in (1, 2)]
        try:
            outcomes.append(repr(torch.nn.utils.rnn.pad_sequence(parts, False, value).tolist()))
        except RuntimeError as error:
            outcomes.append(str(error).partition(" to type")[0])
    assert outcomes[0] == outcomes[1]
