"""Placement on the GPU: copies between devices, batches, views and who owns their memory, threads,
streams.

Each check is a function that returns a line of text, or raises, as in `rest`.
"""

from __future__ import annotations

import threading
from typing import Any

import tautograd as torch
from tautograd import nn

Check = tuple[str, Any]


def _refused(work: Any, words: str) -> str:
    """The message for something that must be refused."""
    try:
        work()
    except RuntimeError as error:
        said = str(error)
    else:
        said = "nothing"
    if words not in said:
        raise AssertionError(f"{said!r} does not say {words!r}")
    return said


def between_devices() -> str:
    here, there = torch.zeros(3), torch.ones(3, device="cuda", requires_grad=True)
    here.copy_(there.detach())
    assert here.tolist() == [1, 1, 1]
    here = torch.zeros(3, requires_grad=True) * 1
    here[1:] = there[1:]
    here.sum().backward()
    assert here.tolist() == there.grad.tolist() == [0, 1, 1]
    assert there.grad.is_cuda
    model, other = nn.Linear(2, 1), nn.Linear(2, 1).cuda()
    other.load_state_dict(model.state_dict())
    assert other.weight.is_cuda
    assert other.weight.tolist() == model.weight.tolist()
    said = [
        _refused(
            lambda: setattr(other.weight, "grad", torch.ones(1, 2)),
            "attempting to assign a gradient with device type 'cpu'",
        ),
        _refused(lambda: other.weight + model.weight, "to be on the same device"),
    ]
    return f"copies both ways, states, gradients; {len(said)} mixtures refused"


def values_and_batches() -> str:
    found = nn.functional.one_hot(torch.tensor([2, 0], device="cuda"))
    assert found.tolist() == [[0, 0, 1], [1, 0, 0]]
    x = torch.tensor([0.0, 2.0, 3.0], device="cuda")
    assert x[x > 1].tolist() == [2, 3]
    assert torch.nonzero(x).tolist() == [[1], [2]]
    assert torch.unique(torch.tensor([3, 1, 3], device="cuda")).tolist() == [1, 3]
    data = torch.utils.data.TensorDataset(torch.ones(4, 2), torch.arange(4))
    for batch in torch.utils.data.DataLoader(data, 2, pin_memory=True):
        assert [t.is_pinned() for t in batch] == [True, True]
        sent = batch[0].to("cuda", non_blocking=True)
        assert sent.is_cuda
        assert sent.sum().item() == 4
    return "one_hot, masks, nonzero, unique; pinned batches sent over"


class _Two(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        return x * 2, x * 3

    @staticmethod
    def backward(ctx: Any, first: Any, second: Any) -> Any:
        assert second.is_cuda, "the zeros of an unused result are elsewhere"
        return first * 2 + second * 3


def zeros_of_a_function() -> str:
    x = torch.ones(3, device="cuda", requires_grad=True)
    _Two.apply(x)[0].sum().backward()
    assert x.grad.tolist() == [2, 2, 2]
    return "an unused result's gradient is zeros on the GPU"


def views() -> str:
    x = torch.arange(6.0, device="cuda").reshape(2, 3)
    x.T[0, 1] = 9
    x[:, 2].zero_()
    x.as_strided((2,), (1,))[1] = 7
    assert x.tolist() == [[0, 7, 0], [9, 4, 0]]
    made = x * 2  # an array that CuPy has not seen
    flat, turned = made.view(6), made.t()
    turned[2, 1] = 5
    flat += 1
    assert made.tolist() == [[1, 15, 1], [19, 9, 6]]
    assert turned[2].storage_offset() == 2
    assert flat.untyped_storage().data_ptr() == turned.untyped_storage().data_ptr()
    kept = nn.Parameter(torch.ones(2, 2, device="cuda"))
    for _ in range(2):  # a gradient that others can see is copied, not taken over
        (kept.t() * made[:, :2]).sum().backward()
    assert kept.grad.tolist() == [[2, 38], [30, 18]]
    return "writes through views are seen by all, gradients add up"


def threads_and_streams() -> str:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 4)).cuda()
    x = torch.randn(64, 8).cuda()

    def results() -> Any:
        own = x.clone().requires_grad_()
        out = model(own)
        return out, torch.autograd.grad(out.square().sum(), own)[0]

    expected = [t.tolist() for t in results()]
    wrong: list[Any] = []

    def work(stream: Any) -> None:
        with torch.cuda.stream(stream):
            for _ in range(50):
                found = results()
            stream.synchronize()
            if [t.tolist() for t in found] != expected:
                wrong.append(found)

    torch.cuda.synchronize()
    threads = [threading.Thread(target=work, args=(torch.cuda.Stream(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    torch.cuda.synchronize()
    assert not wrong, f"{len(wrong)} threads found other numbers"
    return "four threads on streams of their own, fifty times each, the same numbers"


CHECKS: list[Check] = [
    (f.__name__, f)
    for f in (between_devices, values_and_batches, zeros_of_a_function, views, threads_and_streams)
]
