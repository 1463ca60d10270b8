"""Nothing stays replaced once every part has stopped: in any order of starting and stopping, on both
engines, by several threads, with modes of the user's and recordings in between."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import math
import random
import sys
import threading
from types import ModuleType

import pytest

import tautograd
from tautograd._stand_ins import group, slots
from tautograd._stand_ins.silence import without_warnings
from tautograd._verify.locate.trace import trace
from tautograd._view.record import recorder
from tautograd._view.record.backward_watch import Watching

from .snapshot import ENGINES, differences, everywhere, snapshot


class Mode:
    """A mode of the user's, which changes nothing."""

    def __init__(self, engine):
        class Through(engine.overrides.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                return func(*args, **(kwargs or {}))

        self.mode = Through()

    def start(self):
        self.mode.__enter__()

    def stop(self):
        self.mode.__exit__(None, None, None)


def view(engine):
    return Watching(engine, lambda collector, flow: None)


def doctor(engine):
    return tautograd.doctor(engines=[engine])


class Held:
    """What runs a function of its own accord, held open inside of it by a thread until it is stopped."""

    def __init__(self, run, engine):
        self.entered = entered = threading.Lock()
        self.held = held = threading.Lock()
        entered.acquire()
        held.acquire()

        def wait():  # a recording reads all that this can reach, so there is no event and no assertion
            if entered.locked():
                entered.release()
            held.acquire()
            held.release()  # called again, it does not wait

        self.thread = threading.Thread(target=run, args=(engine, wait), daemon=True)

    def start(self):
        self.thread.start()
        while self.thread.is_alive() and not self.entered.acquire(timeout=0.01):
            pass

    def stop(self):
        self.held.release()
        self.thread.join()


def recording(engine):
    return Held(record, engine)


def verifying(engine):
    return Held(follow, engine)


STARTED = {"doctor": doctor, "view": view, "mode": Mode}
SPANNING = {**STARTED, "recording": recording, "verifying": verifying}


def train(engine):
    """A few steps, so that whoever watches has something to do."""
    layer = engine.nn.Linear(3, 1)
    optimizer = engine.optim.SGD(layer.parameters(), lr=0.01)
    for _ in range(2):
        optimizer.zero_grad()
        engine.nn.functional.mse_loss(layer(engine.ones(4, 3)), engine.zeros(4, 1)).backward()
        optimizer.step()


def record(engine, inside=lambda: None):
    """A recording, whatever happens inside of it."""

    def function(x, factor):
        inside()
        return x * math.exp(factor)

    compiled = tautograd.compile(function, backend="numpy", fallback=True, dynamic=False)
    with contextlib.suppress(RuntimeError):  # a recording may well be refused
        for factor in (
            0.5,
            0.25,
            0.75,
            1.0,
        ):  # a number that changes is followed from the third call
            compiled(tautograd.ones(2), factor)


def verify(engine):
    assert tautograd.verify(lambda x: (x * x.detach()).sum(), engine.ones(2)).verdict == "cut"


def follow(engine, inside=lambda: None):
    """What of `verify` replaces anything."""

    def run():
        inside()
        x = engine.ones(2, requires_grad=True)
        return (x * x.detach()).sum()

    with without_warnings:
        trace(engine, run)


QUICK = {"train": train, "record": record, "follow": follow}
DONE = {**QUICK, "verify": verify}


@functools.cache
def load():
    """What is done once: PyTorch itself wraps an optimizer's step when the first one is made."""
    for engine in ENGINES.values():
        train(engine)
        verify(engine)
        with doctor(engine):
            train(engine)
    record(tautograd)


@contextlib.contextmanager
def nothing_stays():
    load()
    before, modules = snapshot(), everywhere()
    yield
    assert differences(before, snapshot()) == []
    now = everywhere()
    moved = {
        name: [key for key, value in held.items() if now[name].get(key, value) != value]
        for name, held in modules.items()
        if name in now
    }
    ours = (__name__, "snapshot")
    moved = {n: keys for n, keys in moved.items() if keys and n.startswith(("torch", "tautograd"))}
    assert {n: k for n, k in moved.items() if n not in ours} == {}


def any_order(seed, actions, engines, done=QUICK):
    """Start and stop parts in a random order, with other things in between; stop the rest."""
    dice = random.Random(seed)
    running = []
    for _ in range(actions):
        choice = dice.choice(["start", "start", "stop", "stop", *done])
        engine = ENGINES[dice.choice(engines)]
        if choice == "start":
            kind = dice.choice(list(SPANNING))
            part = SPANNING[kind](engine)
            part.start()
            running.append(part)
        elif choice == "stop" and running:
            running.pop(dice.randrange(len(running))).stop()
        elif choice in done:
            done[choice](engine)
    while running:
        running.pop(dice.randrange(len(running))).stop()


@pytest.mark.parametrize("seed", range(12))
def test_in_any_order(seed):
    with nothing_stays():
        any_order(seed, 9, ["torch", "tautograd"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 160))
def test_in_any_order_at_length(seed):
    with nothing_stays():
        any_order(seed, 20, ["torch", "tautograd"], DONE)


@pytest.mark.parametrize("forgotten", ["slot", "function"])
def test_what_is_left_replaced_is_noticed(monkeypatch, forgotten):
    """That all this can fail: a part that forgets one name is found out."""
    torch = ENGINES["torch"]
    owner, name = (
        (torch.Tensor, "detach") if forgotten == "slot" else (torch.nn.functional, "mse_loss")
    )
    monkeypatch.setattr(owner, name, getattr(owner, name))  # puts back what is there now
    with pytest.raises(AssertionError, match=name), nothing_stays():
        original = getattr(owner, name)
        setattr(owner, name, functools.partial(original))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kinds", [*itertools.permutations(SPANNING, 2), ("doctor", "doctor")])
def test_the_first_to_start_is_the_first_to_stop(engine, kinds):
    """What came second had saved, and put back, what the first had put there."""
    torch = ENGINES[engine]
    with nothing_stays():
        first, second = (SPANNING[kind](torch) for kind in kinds)
        first.start()
        second.start()
        train(torch)
        first.stop()
        train(torch)
        second.stop()


@pytest.mark.parametrize("seed", range(2))
def test_in_threads(seed):
    errors = []

    def run(number):
        try:
            any_order(1000 * seed + number, 5, ["torch", "tautograd"])
        except BaseException as error:
            errors.append(error)
            raise

    with nothing_stays():
        threads = [threading.Thread(target=run, args=(number,)) for number in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert errors == []


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", ["doctor", "view"])
def test_stopped_by_another_thread(engine, kind):
    torch = ENGINES[engine]
    with nothing_stays():
        part = STARTED[kind](torch)
        starter = threading.Thread(target=part.start)
        starter.start()
        starter.join()
        train(torch)
        part.stop()


@pytest.mark.parametrize("kind", STARTED)
def test_started_and_stopped_around_the_edges_of_a_recording(kind):
    with nothing_stays():
        running = [STARTED[kind](tautograd)]
        running[0].start()

        def next_one():
            running.append(STARTED[kind](tautograd))
            running[-1].start()
            running[-2].stop()

        record(tautograd, next_one)
        running[-1].stop()


def test_a_module_that_takes_a_function_while_it_is_replaced(monkeypatch):
    user = ModuleType("a_users_module")
    monkeypatch.setitem(sys.modules, "a_users_module", user)
    torch = ENGINES["torch"]
    originals = (
        torch.nn.functional.mse_loss,
        torch.autograd.backward,
        torch.nn.utils.clip_grad_norm_,
    )
    with nothing_stays():
        watching = doctor(torch)
        watching.start()
        user.loss, user.backward, user.clip = (
            torch.nn.functional.mse_loss, torch.autograd.backward, torch.nn.utils.clip_grad_norm_,
        )  # fmt: skip
        assert user.loss is not originals[0]
        watching.stop()
    assert (user.loss, user.backward, user.clip) == originals


def test_what_the_user_puts_there_stays():
    torch = ENGINES["tautograd"]
    original = torch.Tensor.backward
    watching = doctor(torch)
    watching.start()

    def mine(self, *args, **kwargs):
        return original(self, *args, **kwargs)

    torch.Tensor.backward = mine
    try:
        watching.stop()
        assert torch.Tensor.backward is mine
    finally:
        torch.Tensor.backward = original


# --- other threads while one records --------------------------------------------------------------


def test_another_thread_sees_nothing_of_a_recording():
    """Neither in `math` nor in `json`, by whatever way it looks."""
    exp, default, kind = math.exp, json.JSONEncoder.default, type(math)
    held = dict(vars(math))
    seen = {}

    def look():
        from math import exp as imported

        seen["exp"] = math.exp is exp and imported is exp and getattr(math, "exp") is exp  # noqa: B009
        seen["vars"] = dict(vars(math)) == held
        seen["default"] = json.JSONEncoder.default is default
        seen["kind"] = isinstance(math, kind)
        seen["values"] = math.exp(1.0) == exp(1.0) and json.dumps({"a": 1.5}) == '{"a": 1.5}'
        with pytest.raises(TypeError, match="not JSON serializable"):
            json.dumps(object())

    def inside():
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()

    record(tautograd, inside)
    assert seen == dict.fromkeys(("exp", "vars", "default", "kind", "values"), True)
    assert (math.exp, json.JSONEncoder.default, type(math)) == (exp, default, kind)


def test_a_recording_still_follows_math():
    @tautograd.compile(backend="numpy", dynamic=False)
    def scaled(x, factor):
        return x * math.exp(factor) + math.hypot(factor, 3.0)

    for factor in (0.5, 0.25, 0.75, 1.5, 2.5, 0.125):
        found = scaled(tautograd.ones(2, dtype=tautograd.float64), factor)
        assert found.tolist() == [math.exp(factor) + math.hypot(factor, 3.0)] * 2
    assert "replayed" in str(scaled.explain())


def test_a_module_loaded_while_one_records_keeps_no_stand_in(tmp_path, monkeypatch):
    (tmp_path / "loaded_in_a_recording.py").write_text("from math import exp, log\n")
    monkeypatch.syspath_prepend(tmp_path)

    def inside():
        import loaded_in_a_recording  # noqa: F401

    record(tautograd, inside)
    loaded = sys.modules.pop("loaded_in_a_recording")
    assert (loaded.exp, loaded.log) == (math.exp, math.log)


def test_a_tuple_that_another_thread_makes_is_its_own():
    """Whoever looks for optimizers among all objects would hold one that is not finished."""
    errors, done = [], threading.Event()

    def make_tuples():
        try:
            while not done.is_set():
                tuple(number for number in range(500))
        except SystemError as error:
            errors.append(error)

    thread = threading.Thread(target=make_tuples)
    thread.start()
    try:
        for _ in range(2):
            with doctor(tautograd):
                train(tautograd)
    finally:
        done.set()
        thread.join()
    assert errors == []


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kind", STARTED)
@pytest.mark.parametrize("after", [1, 6])
def test_interrupted_while_it_starts(monkeypatch, engine, kind, after):
    """Nobody stops what has not started."""
    count = 0
    put = slots.replace

    def interrupted(*given):
        nonlocal count
        count += 1
        if count > after:
            raise KeyboardInterrupt
        return put(*given)

    part = STARTED[kind](ENGINES[engine])
    with nothing_stays():
        for module in (slots, group, recorder):
            monkeypatch.setattr(module, "replace", interrupted)
        try:
            part.start()
        except KeyboardInterrupt:
            pass
        else:
            part.stop()
        monkeypatch.undo()
