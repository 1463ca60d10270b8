"""Threads: each has its own modes; graphs and leaves are shared safely."""

from __future__ import annotations

import subprocess
import sys
import threading

from tests.both import same


def _in_threads(count, work):
    """Run `work(i)` in as many threads at once; results in order, errors raised."""
    results, errors = [None] * count, []
    together = threading.Barrier(count)

    def run(i):
        try:
            together.wait()
            results[i] = work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return results


@same
def test_grad_mode_is_each_threads_own(torch):
    with torch.no_grad():
        inside = _in_threads(
            2, lambda i: (torch.is_grad_enabled(), torch.is_inference_mode_enabled())
        )
    return inside, torch.is_grad_enabled()


@same
def test_a_thread_that_switches_recording_off_leaves_others_alone(torch):
    x = torch.ones(2, requires_grad=True)
    off = threading.Event()
    asked = threading.Event()

    def work(i):
        if i == 0:
            with torch.no_grad():
                off.set()
                asked.wait(10)
                return (x * 2).requires_grad
        off.wait(10)
        found = (x * 2).requires_grad
        asked.set()
        return found

    return _in_threads(2, work)


@same
def test_gradients_of_many_threads_add_up(torch):
    x = torch.ones(50, requires_grad=True)

    def work(i):
        for _ in range(20):
            (x * 2).sum().backward()

    _in_threads(8, work)
    return x.grad


@same
def test_backward_on_a_shared_graph(torch):
    x = torch.ones(10, requires_grad=True)
    shared = (x * 3).exp()

    def work(i):
        (shared * (i + 1)).sum().backward(retain_graph=True)

    _in_threads(4, work)
    return x.grad


@same
def test_grad_of_a_shared_graph(torch):
    x = torch.ones(10, requires_grad=True)
    shared = (x * 2).sin()
    return _in_threads(
        4, lambda i: torch.autograd.grad((shared * i).sum(), x, retain_graph=True)[0]
    )


@same
def test_graph_made_in_one_thread_and_used_in_another(torch):
    x = torch.ones(3, requires_grad=True)
    graphs = _in_threads(3, lambda i: (x * (i + 1)).exp().sum())
    _in_threads(3, lambda i: graphs[i].backward())
    return x.grad


@same
def test_hooks_run_in_the_thread_of_backward(torch):
    x = torch.ones(3, requires_grad=True)
    names = []
    x.register_hook(lambda g: names.append(threading.current_thread() is threading.main_thread()))
    (x * 2).sum().backward()
    _in_threads(1, lambda i: (x * 2).sum().backward())
    return names


@same
def test_forward_mode_levels_are_usable_in_threads(torch):
    fwd = torch.autograd.forward_ad

    def work(i):
        out, tangent = torch.func.jvp(
            lambda x: x * x, (torch.tensor(float(i)),), (torch.tensor(1.0),)
        )
        return out, tangent

    with fwd.dual_level():
        pass
    return [work(i) for i in range(3)]


@same
def test_saved_tensors_hooks_are_each_threads_own(torch):
    x = torch.ones(3, requires_grad=True)
    calls = []

    def pack(t):
        calls.append(1)
        return t

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        _in_threads(2, lambda i: (x * x).sum().backward())
    return calls, x.grad


@same
def test_many_threads_with_graphs_of_their_own(torch):
    def work(i):
        x = torch.full((5,), float(i), requires_grad=True)
        for _ in range(10):
            x.grad = None
            ((x * x).exp() * 0.01).sum().backward()
        return x.grad

    return _in_threads(6, work)


SHORT_WAY = """
import threading
import tautograd as tg
from tautograd._autograd.modes import shared

large = tg.ones(400_000, requires_grad=True)
assert shared.ordinary
results, failures = [], []


def work():
    try:
        for _ in range(60):
            total = large + large * 2.0
        results.append((total.grad_fn is not None, float(total[7])))
    except Exception as error:
        failures.append(error)


threads = [threading.Thread(target=work) for _ in range(4)]
for thread in threads:
    thread.start()
with tg.no_grad():
    quiet = large + large
assert quiet.grad_fn is None and not quiet.requires_grad
for thread in threads:
    thread.join()
assert not failures, failures
assert results == [(True, 3.0)] * 4, results
print("fine")
"""


def test_the_short_way_of_operators_is_safe_in_threads() -> None:
    """In a fresh process, where no thread has asked for its modes yet: operators share what holds
    for all threads, and one thread's `no_grad` stays its own."""
    command = [sys.executable, "-c", SHORT_WAY]
    found = subprocess.run(command, check=False, capture_output=True, text=True)
    assert found.stdout == "fine\n", found.stderr


def test_an_interrupt_of_a_backward_pass_leaves_the_modes_as_they_were():
    """Wherever it comes: a few thousand at random."""
    program = """
import random, signal, time
import tautograd as torch
class Stop(BaseException): pass
def stop(*_): raise Stop
signal.signal(signal.SIGALRM, stop)
rng, x = random.Random(0), torch.ones(3, requires_grad=True)
stops = left = 0
end = time.monotonic() + 2
while time.monotonic() < end or stops < 100:
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0004 + rng.random() * 0.001)
        while True:
            (x * 2 + x.exp()).sum().backward()
    except Stop:
        stops += 1
    left += not torch.is_grad_enabled() or not (x * 1).requires_grad
    torch.set_grad_enabled(True)
print(left)
"""
    found = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert (found.stdout, found.stderr) == ("0\n", "")
