"""The threads that parts of one operation are given to: they end with what asked for them, whatever happens."""

from __future__ import annotations

import functools
import os
import signal
import subprocess
import sys
import threading
import time
from typing import Any

import pytest

import tautograd as torch
from tautograd._ops import thread_pool
from tautograd._ops.nn.convolution import batch_threads
from tautograd._ops.thread_pool import at_once

LARGE = 4 * thread_pool.WORTH_A_THREAD + 7


def test_results_come_in_order() -> None:
    assert at_once([lambda i=i: i * i for i in range(50)]) == [i * i for i in range(50)]  # type: ignore[misc]


def test_one_part_alone() -> None:
    assert at_once([lambda: 3]) == [3]


def test_parts_inside_of_parts() -> None:
    """A thread of the pool that waits for others must not wait for itself."""

    def nested(depth: int) -> int:
        return 1 if not depth else sum(at_once([lambda: nested(depth - 1)] * 3))

    assert nested(4) == 81


def test_a_thread_that_comes_to_its_own_part_again_leaves_it() -> None:
    """One of the pool that is inside of a part does its own parts, and finds them in the queue after that."""
    done: list[int] = []
    part = thread_pool._Part(lambda: done.append(1))
    part.do()
    part.do()
    assert done == [1]
    given_up = thread_pool._Part(lambda: done.append(2))
    given_up.give_up()
    given_up.do()
    assert done == [1]


@pytest.mark.parametrize("which", [0, 1, 7])
def test_an_error_in_a_part(which: int) -> None:
    """It comes out once nothing runs any more."""
    running: set[int] = set()

    def part(i: int) -> None:
        running.add(i)
        time.sleep(0.01)
        if i == which:
            running.discard(i)
            raise ZeroDivisionError(i)
        running.discard(i)

    with pytest.raises(ZeroDivisionError, match=str(which)):
        at_once([lambda i=i: part(i) for i in range(8)])  # type: ignore[misc]
    assert not running
    assert at_once([lambda: 1] * 3) == [1, 1, 1]  # and the pool is as before


def test_an_interrupt_waits_for_what_is_under_way_and_begins_nothing_more() -> None:
    begun: list[int] = []
    ended: list[int] = []

    def part(i: int) -> None:
        begun.append(i)
        if i == 0:
            while len(begun) < 2:
                time.sleep(0.001)
            raise KeyboardInterrupt
        time.sleep(0.1)
        ended.append(i)

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        at_once([lambda i=i: part(i) for i in range(200)])  # type: ignore[misc]
    assert time.monotonic() - start < 5  # all of them take ten seconds
    count = len(begun)
    assert set(begun) - {0} == set(ended)
    assert count < 20
    time.sleep(0.15)
    assert len(begun) == count  # nobody goes on behind the caller's back


def test_ctrl_c_while_waiting() -> None:
    """The signal comes while the main thread waits for a part."""

    def send() -> None:
        time.sleep(0.1)
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(0.2)

    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        at_once([lambda: time.sleep(0.01), send])
    assert time.monotonic() - start < 5


def test_a_handler_that_uses_the_pool_itself() -> None:
    answers: list[Any] = []
    before = signal.signal(signal.SIGALRM, lambda *_: answers.append(at_once([lambda: 1] * 4)))
    signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)
    try:
        end = time.monotonic() + 0.5
        while time.monotonic() < end or not answers:
            assert at_once([lambda i=i: i for i in range(4)]) == [0, 1, 2, 3]  # type: ignore[misc]
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert all(answer == [1] * 4 for answer in answers)


def test_many_callers_at_once() -> None:
    wrong: list[Any] = []

    def call(n: int) -> None:
        for i in range(50):
            found = at_once([functools.partial(tuple, (n, i, k)) for k in range(5)])
            wrong.extend([found] if found != [(n, i, k) for k in range(5)] else [])

    callers = [threading.Thread(target=call, args=(n,)) for n in range(32)]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(60)
    assert not wrong
    assert not any(caller.is_alive() for caller in callers)


def test_a_part_that_is_done_is_let_go() -> None:
    """What a part read is not kept by a queue that nobody empties."""
    import gc
    import weakref

    class Large:
        pass

    large = Large()
    gone = weakref.ref(large)
    at_once([lambda: None, lambda kept=large: None])  # type: ignore[misc]
    del large
    end = time.monotonic() + 5
    while gone() is not None and time.monotonic() < end:
        gc.collect()
        time.sleep(0.01)
    assert gone() is None


# --- processes ------------------------------------------------------------------------------------------

_SETUP = f"""
import os, signal, sys, threading, time
import tautograd as torch
torch.set_num_threads(4)
images = torch.ones(16, 8, 32, 32)
def training(blas=True):
    weight = torch.nn.Parameter(torch.ones({LARGE}))
    conv = torch.nn.Conv2d(8, 16, 3)
    optimizer = torch.optim.Adam([weight, *conv.parameters()])
    def step():
        optimizer.zero_grad()
        loss = (weight * 2).sum()
        (loss + conv(images).sum() if blas else loss).backward()
        optimizer.step()
    return step
step = training()
step()
"""


def _run(body: str, seconds: float = 60.0) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", _SETUP + body],
        check=False,
        capture_output=True,
        text=True,
        timeout=seconds,
    )


@pytest.mark.parametrize(
    "end",
    ["", "sys.exit(0)", "os._exit(0)", "threading.Thread(target=step).start()"],
    ids=["falls off", "sys.exit", "os._exit", "another thread goes on"],
)
def test_a_process_ends_when_its_script_does(end: str) -> None:
    found = _run(end)
    assert (found.returncode, found.stderr) == (0, "")


def test_threads_that_compute_while_the_process_ends() -> None:
    found = _run(
        "def forever():\n    step = training()\n    while True: step()\n"
        "for _ in range(4): threading.Thread(target=forever, daemon=True).start()\n"
        "time.sleep(0.3)\n"
    )
    assert (found.returncode, found.stderr) == (0, "")


def test_a_child_process_has_threads_of_its_own() -> None:
    """A fork leaves all threads behind, also those that are at work or hold a lock just then.

    (But for products: OpenBLAS itself does not survive a fork while another thread is in it.)
    """
    found = _run(
        """
def forever():
    step = training(blas=False)
    while not done: step()
done = []
others = [threading.Thread(target=forever) for _ in range(3)]
for other in others: other.start()
bad = 0
for _ in range(4):
    child = os.fork()
    if not child:
        signal.alarm(20)
        try:
            step(); step()
            os._exit(0)
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
        finally:
            os._exit(3)
    bad += os.waitpid(child, 0)[1] != 0
done.append(1)
for other in others: other.join()
sys.exit(bad)
""",
        100,
    )
    assert (found.returncode, found.stderr) == (0, "")


def test_ctrl_c_ends_a_training_loop() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", _SETUP + "print('on', flush=True)\nwhile True: step()\n"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    start = time.monotonic()
    _, errors = process.communicate(timeout=20)
    assert time.monotonic() - start < 5  # within a second on a machine that has nothing else to do
    assert errors.rstrip().endswith("KeyboardInterrupt")
    assert process.returncode == -signal.SIGINT


def test_the_pool_is_no_thread_that_anybody_waits_for() -> None:
    torch.nn.Conv2d(8, 16, 3)(torch.ones(64, 8, 32, 32))
    at_once([lambda: None] * 4)
    ours = [t for t in threading.enumerate() if t.name.startswith("tautograd")]
    assert ours
    assert all(thread.daemon for thread in ours)


def test_the_setting_of_blas_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever shares images out, and whoever compiles at the same time, leave BLAS its threads."""
    blas: Any = batch_threads._blas()
    if blas is None:
        assert batch_threads.share_images(list, 4, 1 << 30) == [[0, 1, 2, 3]]
        return
    get, _ = blas
    before = get()

    def fails(images: range) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        batch_threads.share_images(fails, 8, 1 << 30)
    from tautograd._compile.native.llvm.thread_pool import blas_alone

    with blas_alone():
        batch_threads.share_images(list, 8, 1 << 30)
    stop = threading.Event()

    def compiled() -> None:
        while not stop.is_set():
            with blas_alone():
                time.sleep(0)

    others = [threading.Thread(target=compiled) for _ in range(4)]
    for other in others:
        other.start()
    for _ in range(200):
        batch_threads.share_images(list, 8, 1 << 30)
    stop.set()
    for other in others:
        other.join()
    assert get() == before
