"""Nothing stays replaced once every part has stopped: in any order of starting and stopping, on both
engines, by several threads, with modes of the user's and recordings in between."""

from __future__ import annotations

import contextlib
import functools
import itertools
import json
import math
import os
import random
import sys
import threading
import warnings
from pathlib import Path
from types import ModuleType

import pytest

import tautograd
import tautograd.distributed
import tautograd.fx
import tautograd.jit
import tautograd.profiler
from tautograd._doctor.ranks.notes import Notes
from tautograd._stand_ins import group, slots
from tautograd._stand_ins.silence import caught_warnings, without_warnings
from tautograd._verify.locate.trace import trace
from tautograd._verify.references.forward_rules import runs_elsewhere
from tautograd._view.record import recorder
from tautograd._view.record.backward_watch import Watching
from tautograd.autograd.profiler import _active as active_profile
from tautograd.distributed._simulation.recording import Recording

from .snapshot import ENGINES, Snapshot


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


class Profiler:
    """One for a thread, as in PyTorch: a second is not started."""

    def __init__(self, engine):
        self.profile = None

    def start(self):
        if active_profile.recorder is None:
            self.profile = tautograd.profiler.profile()
            self.profile.start()

    def stop(self):
        if self.profile is not None:
            self.profile.stop()


class Ranks:
    """The notes that the doctor takes of a rank."""

    def __init__(self, engine):
        self.notes = Notes(engine, Path(os.devnull))
        self.start, self.stop = self.notes.start, self.notes.end


class Simulation:
    """The recording of what a rank computes and sends."""

    def __init__(self, engine):
        self.recording = Recording(Path(os.devnull))
        self.start, self.stop = self.recording.start, self.recording.end


def held(run):
    return functools.partial(Held, run)


def train(engine):
    """A few steps, so that whoever watches has something to do."""
    layer = engine.nn.Linear(3, 1)
    optimizer = engine.optim.SGD(layer.parameters(), lr=0.01)
    for _ in range(2):
        optimizer.zero_grad()
        engine.nn.functional.mse_loss(layer(engine.ones(4, 3)), engine.zeros(4, 1)).backward()
        optimizer.step()


def nothing():
    pass


def record(engine, inside=nothing):
    """Two recordings, whatever happens inside of them: the second call of a function is recorded."""
    for _ in range(2):
        now = [nothing]

        def function(x, factor, now=now):
            now[0]()
            return x * math.exp(factor)

        compiled = tautograd.compile(function, backend="numpy", fallback=True, dynamic=False)
        with contextlib.suppress(RuntimeError), without_warnings:  # it may well be refused
            compiled(tautograd.ones(2), 0.5)
            now[0] = inside
            compiled(tautograd.ones(2), 0.5)


def follow_compiled(engine, inside=nothing):
    """A compiled function whose Python runs at each call; the third is compared with the record."""
    calls = []

    def function(x):
        calls.append(None)
        y = x * 2
        if len(calls) == 3:
            inside()
        return y + 1

    compiled = tautograd.compile(function, backend="numpy", sound=True, dynamic=False)
    for _ in range(3):
        assert compiled(tautograd.ones(2)).tolist() == [3.0, 3.0]


@tautograd.fx.wrap
def kept_as_a_call(x):
    return x + 1


KEPT = kept_as_a_call


def trace_symbolically(engine, inside=nothing):
    class Net(tautograd.nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = tautograd.nn.Linear(2, 2)

        def forward(self, x):
            inside()
            return tautograd.relu(kept_as_a_call(self.linear(x)))

    graph = tautograd.fx.symbolic_trace(Net()).graph
    targets = [node.target for node in graph.nodes]
    assert targets == ["x", "linear", KEPT, tautograd.relu, "output"]


def trace_by_example(engine, inside=nothing):
    def function(x):
        inside()
        return x * 2

    tautograd.jit.trace(function, tautograd.ones(2))


def catch_warnings(engine, inside=nothing):
    with caught_warnings() as caught:
        inside()
        warnings.warn("one that is caught", stacklevel=1)
    assert [str(w.message) for w in caught] == ["one that is caught"]


def look_for_threads(engine, inside=nothing):
    assert not runs_elsewhere(inside)


def verify(engine):
    assert tautograd.verify(lambda x: (x * x.detach()).sum(), engine.ones(2)).verdict == "cut"


def follow(engine, inside=nothing):
    """What of `verify` replaces anything."""

    def run():
        inside()
        x = engine.ones(2, requires_grad=True)
        return (x * x.detach()).sum()

    with without_warnings:
        trace(engine, run)


STARTED = {"doctor": doctor, "view": view, "mode": Mode}
SPANNING = {
    **STARTED,
    "recording": held(record),
    "following": held(follow_compiled),
    "verifying": held(follow),
    "catching warnings": held(catch_warnings),
    "looking for threads": held(look_for_threads),
    "fx": held(trace_symbolically),
    "jit": held(trace_by_example),
    "profiler": Profiler,
    "ranks": Ranks,
    "simulation": Simulation,
}
QUICK = {
    "train": train,
    "record": record,
    "follow": follow,
    "follow compiled": follow_compiled,
    "fx": trace_symbolically,
    "jit": trace_by_example,
}
DONE = {**QUICK, "verify": verify}


@functools.cache
def load():
    """What is done once: PyTorch itself wraps an optimizer's step when the first one is made."""
    for engine in ENGINES.values():
        train(engine)
        verify(engine)
        with doctor(engine):
            train(engine)
    for run in (record, follow_compiled, trace_symbolically, trace_by_example, catch_warnings):
        run(tautograd)


@contextlib.contextmanager
def nothing_stays():
    load()
    before = Snapshot()
    yield before
    assert before.differences(Snapshot()) == []
    assert kept_as_a_call is KEPT


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
@pytest.mark.parametrize("kind", SPANNING)
def test_every_part_replaces_something_while_it_runs(engine, kind):
    """Else it would be no test of it that nothing stays."""
    part = SPANNING[kind](ENGINES[engine])
    with nothing_stays() as before:
        part.start()
        moved = before.differences(Snapshot())
        part.stop()
    assert bool(moved) == (kind != "jit"), moved  # whose traces only run


# Pairs of which the one once brought back what the other had put there.
ONCE_WRONG = {("doctor", "fx"), ("fx", "doctor"), ("fx", "fx"), ("looking for threads",) * 2}


def pairs():
    """Every two parts, in both orders: a sixth of them in the fast tests, each engine in turn."""
    every = [*itertools.permutations(SPANNING, 2), *((kind, kind) for kind in SPANNING)]
    for number, (kinds, engine) in enumerate(itertools.product(every, ENGINES)):
        fast = number % 6 == number // 6 % 2 or (kinds in ONCE_WRONG and engine == "tautograd")
        slow = [] if fast else [pytest.mark.slow]
        yield pytest.param(engine, kinds, id=f"{'-'.join(kinds)}-{engine}", marks=slow)


@pytest.mark.parametrize(("engine", "kinds"), list(pairs()))
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
        try:  # not by `pytest`: a recording looks at all that is reached from what a function names
            json.dumps(object())
        except TypeError as error:
            seen["refused"] = "not JSON serializable" in str(error)

    def inside():
        seen["here"] = type(math) is not kind and math.exp is not exp
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()

    record(tautograd, inside)
    assert seen == dict.fromkeys(
        ("here", "exp", "vars", "default", "kind", "values", "refused"), True
    )
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
