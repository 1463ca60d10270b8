"""Life and death of graphs: nothing leaks without the garbage collector, depth is no limit, and an
interrupted backward leaves no trap."""

from __future__ import annotations

import contextlib
import gc
import sys
import time
import tracemalloc
import weakref
from collections.abc import Iterator

import pytest

import tautograd
from tautograd._autograd import machine_code
from tests.both import same


@contextlib.contextmanager
def _no_collector() -> Iterator[None]:
    """The garbage collector off: what lives is what is referred to. Nothing is made beside, in another thread."""
    ask = machine_code._ask_for
    machine_code._ask_for = lambda *_: None
    until = time.monotonic() + 60
    while machine_code._worker is not None and time.monotonic() < until:
        time.sleep(0.01)
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
        machine_code._ask_for = ask


def _step(x, w):
    """A round with views, in-place changes, several outputs and a custom function."""
    h = (x @ w).tanh()
    first, second = h.chunk(2, dim=1)
    buffer = tautograd.zeros(4, 3)
    buffer[:, 1:] = first * second.exp()
    buffer.mul_(2)
    doubled = _Double.apply(buffer)
    return (doubled * doubled).mean()


class _Double(tautograd.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x * 2
        ctx.save_for_backward(x, out)
        ctx.note = "kept on the node"
        return out

    @staticmethod
    def backward(ctx, grad):
        return grad * 2


def _with_hooks(loss):
    loss.register_hook(lambda g: g * 2)
    loss.grad_fn.register_hook(lambda into, out: None)
    loss.retain_grad()
    loss.backward()


def _in_anomaly_mode(x, w):
    with tautograd.autograd.set_detect_anomaly(True):
        _step(x, w).backward()


ROUNDS = {
    "backward": lambda x, w: _step(x, w).backward(),
    "forward only": _step,
    "no_grad": tautograd.no_grad()(_step),
    "grad": lambda x, w: tautograd.autograd.grad(_step(x, w), w),
    "second order": lambda x, w: tautograd.autograd.grad(
        tautograd.autograd.grad(_step(x, w), w, create_graph=True)[0].sum(), w
    ),
    "retained graph": lambda x, w: _step(x, w).backward(retain_graph=True),
    "hooks": lambda x, w: _with_hooks(_step(x, w)),
    "forward mode": lambda x, w: tautograd.func.jvp(
        lambda w: (x @ w).sin(), (w.detach(),), (w.detach(),)
    ),
    "func.grad": lambda x, w: tautograd.func.grad(lambda w: _step(x, w))(w.detach()),
    "vmap": lambda x, w: tautograd.vmap(lambda r: (r @ w).sin())(x).sum().backward(),
    "checkpoint": lambda x, w: (
        tautograd.utils.checkpoint.checkpoint(lambda w: (x @ w).sin().exp(), w, use_reentrant=False)
        .sum()
        .backward()
    ),
    "anomaly": _in_anomaly_mode,
}


def _blocks_in_use():
    """Blocks of memory, without the interpreter's own free lists, which the collector clears."""
    gc.collect()
    return sys.getallocatedblocks()


@pytest.mark.parametrize("kind", ROUNDS)
def test_memory_is_flat_without_the_collector(kind):
    x = tautograd.randn(4, 3)
    w = tautograd.randn(3, 4).requires_grad_()
    count = {"backward": 1000, "anomaly": 30}.get(kind, 100)

    def rounds(n):
        for _ in range(n):
            ROUNDS[kind](x, w)
        w.grad = None

    with _no_collector():
        rounds(20)  # caches fill
        # What is made once for all, as the machine code of a recorder is, may come in one of these
        # windows, or two; a leak comes in each.
        for _ in range(5):
            before = _blocks_in_use()
            rounds(count)
            while machine_code._worker is not None:
                time.sleep(0.01)
            in_cycles = gc.collect()
            left = _blocks_in_use() - before
            if not in_cycles and left < 20 + count / 4:
                break
    assert not in_cycles, f"{in_cycles / count:.1f} objects of each round wait for the collector"
    assert left < 20 + count / 4, f"{left / count:.2f} objects are left by each round"


class _Marker:
    """Something that can be seen to die."""


@same
def test_graph_dies_with_its_loss(torch):
    with _no_collector():
        x = torch.ones(3, requires_grad=True)
        y = (x * 2).exp()
        z = y.sum()
        y.grad_fn.metadata["marker"] = marker = _Marker()
        dead = [weakref.ref(y), weakref.ref(z), weakref.ref(marker)]
        del y, z, marker
        return [ref() is None for ref in dead]


@same
def test_saved_tensors_die_in_backward(torch):
    with _no_collector():
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        z = (y * y).sum()
        ref = weakref.ref(y)
        del y
        z.backward()
        return ref() is None, x.grad


@same
def test_leaf_does_not_keep_its_graphs(torch):
    with _no_collector():
        x = torch.ones(3, requires_grad=True)
        markers = []
        for _ in range(5):
            y = x * 2
            y.grad_fn.metadata["marker"] = marker = _Marker()
            markers.append(weakref.ref(marker))
        del y, marker
        return [marker() is None for marker in markers]


@pytest.mark.parametrize("layers", ["linear", "joint rules"])
def test_a_leaf_takes_its_gradient_without_a_copy(layers, monkeypatch):
    from tautograd._autograd.backward_pass import arrivals

    nn = tautograd.nn
    model = (
        nn.Linear(4, 2) if layers == "linear" else nn.Sequential(nn.LayerNorm(4), nn.Linear(4, 2))
    )
    copied = []
    monkeypatch.setattr(arrivals, "_add_to_grad", lambda *args: copied.append(args))
    model(tautograd.ones(3, 4)).sum().backward()
    assert not copied
    assert all(p.grad is not None for p in model.parameters())


def test_a_gradient_that_others_hold_is_copied():
    x, y = (tautograd.ones(2, requires_grad=True) for _ in range(2))
    start = tautograd.ones(2)
    (x + y).backward(start)
    x.grad.mul_(3)
    assert (start.tolist(), y.grad.tolist()) == ([1, 1], [1, 1])


@same
def test_retained_gradient_does_not_keep_its_tensor(torch):
    with _no_collector():
        x = torch.ones(3, requires_grad=True)
        y = x * 2
        y.retain_grad()
        z = y.sum()
        ref = weakref.ref(y)
        del y
        z.backward()
        return ref() is None, x.grad


@same
def test_view_keeps_its_base_alive(torch):
    with _no_collector():
        x = torch.arange(4.0)
        view = x[:2]
        del x
        return view, view._base.shape if view._base is not None else None


@pytest.mark.parametrize(
    "count", [100_000, pytest.param(1_000_000, marks=pytest.mark.slow)], ids="{:,}".format
)
def test_a_long_chain_goes_backward_and_is_freed(count):
    with _no_collector():
        x = tautograd.ones(1, requires_grad=True)
        y = x
        for _ in range(count):
            y = y + 0.0
        first = weakref.ref(y.grad_fn)
        y.backward()
        assert x.grad.tolist() == [1.0]
        del y
        assert first() is None


def test_a_long_chain_that_is_never_used_is_freed():
    with _no_collector():
        x = tautograd.ones(1, requires_grad=True)
        y = x
        for _ in range(50_000):
            y = y * 1.0
        del y
        assert tautograd.autograd.grad(x * 2, x)[0].tolist() == [2.0]


def test_a_long_chain_of_in_place_changes():
    x = tautograd.ones(1, requires_grad=True)
    y = x * 1
    for _ in range(5_000):
        y.mul_(1.0)
    y.backward()
    assert x.grad.tolist() == [1.0]


def test_a_long_chain_of_second_order():
    x = tautograd.ones(1, dtype=tautograd.float64, requires_grad=True)
    y = x
    for _ in range(3_000):
        y = y * x
    (g,) = tautograd.autograd.grad(y, x, create_graph=True)
    (h,) = tautograd.autograd.grad(g, x)
    assert h.tolist() == [3001.0 * 3000.0]


# --- interrupted ---------------------------------------------------------------------------------


@same
def test_interrupt_in_a_hook(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    loss = (y * y).sum()

    def interrupt(grad):
        raise KeyboardInterrupt

    handle = y.register_hook(interrupt)
    with pytest.raises(KeyboardInterrupt):
        loss.backward()
    handle.remove()
    state = torch.is_grad_enabled()
    # What ran before the interrupt has freed what it saved, and a second try says so.
    with pytest.raises(RuntimeError, match="Trying to backward through the graph a second time"):
        loss.backward()
    (x * 3).sum().backward()
    return state, x.grad


@same
def test_interrupt_with_a_retained_graph_can_be_tried_again(torch):
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    y = x.exp()
    loss = (y * y).sum()

    def interrupt(grad):
        raise KeyboardInterrupt

    handle = y.register_hook(interrupt)
    with pytest.raises(KeyboardInterrupt):
        loss.backward(retain_graph=True)
    handle.remove()
    loss.backward()
    return x.grad


@same
def test_interrupt_in_a_custom_backward(torch):
    stop = [True]

    class Stops(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            if stop[0]:
                raise KeyboardInterrupt
            return grad * 2

    x = torch.ones(2, requires_grad=True)
    y = Stops.apply(x)
    with pytest.raises(KeyboardInterrupt):
        y.sum().backward()
    stop[0] = False
    y.sum().backward()
    return x.grad, torch.is_grad_enabled()


@same
def test_interrupt_in_forward_restores_every_mode(torch):
    class Stops(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            raise KeyboardInterrupt

    x = torch.ones(2, requires_grad=True)
    fwd = torch.autograd.forward_ad
    for context in (
        torch.no_grad(),
        torch.inference_mode(),
        torch.autograd.graph.save_on_cpu(),
        torch.autograd.set_detect_anomaly(False),
        fwd.dual_level(),
    ):
        with pytest.raises(KeyboardInterrupt), context:
            Stops.apply(x)
    y = x * 2
    return torch.is_grad_enabled(), torch.is_inference_mode_enabled(), y.requires_grad


def test_interrupt_in_vmap_leaves_no_level_open():
    def stops(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tautograd.vmap(stops)(tautograd.ones(2))
    assert tautograd.vmap(lambda x: x * 2)(tautograd.ones(2)).tolist() == [2.0, 2.0]
    with pytest.raises(KeyboardInterrupt):
        tautograd.func.jvp(stops, (tautograd.ones(2),), (tautograd.ones(2),))
    assert tautograd.autograd.forward_ad.unpack_dual(tautograd.ones(2)).tangent is None


def test_arrays_do_not_pile_up_over_a_thousand_rounds():
    x = tautograd.randn(50, 40)
    w = tautograd.randn(40, 30).requires_grad_()
    with _no_collector():
        peaks = []
        for _ in range(2):
            tracemalloc.start()
            for _ in range(500):
                (x @ w).tanh().sum().backward()
                w.grad = None
            peaks.append(tracemalloc.get_traced_memory()[1])
            tracemalloc.stop()
    assert peaks[1] < 1.2 * peaks[0], f"peaks of memory in bytes: {peaks}"
