"""Records are paid for by what they save: compiling is never much slower, and says when it does not pay."""

from __future__ import annotations

import warnings
from time import perf_counter
from typing import Any

import pytest

import tautograd as torch
from tautograd._compile.run import audit_schedule, clock, recording, records
from tautograd._compile.run import compiled as compiled_module
from tautograd._compile.run import entry as entry_module
from tautograd._compile.run.ledger import HORIZON, PAUSE, SHARE, VENTURE, WARM, Ledger
from tautograd._compile.run.records import MOST, RECORDS, ROOM, Records


class Record:
    """As much of a record as the ledger looks at."""

    def __init__(self, key: Any, seconds: float) -> None:
        self.key, self.seconds, self.calls = key, seconds, 0


def loss_of(forms: list[Any], plain: float, replay: float, price: float, looks: float) -> float:
    """What a function takes beside what it would take as written, by the ledger's decisions alone."""
    ledger, spent, total = Ledger(), 0.0, 0.0
    records: dict[Any, Any] = {}
    for key in forms:
        total += plain
        if ledger.pause and ledger.skips():
            spent += plain
        elif key in records:
            records[key].calls += 1
            spent += replay
        elif key in ledger.plain and ledger.allows(key, list(records.values())):
            records[key] = Record(key, replay)
            ledger.note_record(key, plain + price)
            spent += plain + price
        else:
            ledger.note_run(key, plain, looks)
            ledger.is_lost(list(records.values()))
            spent += plain + looks
    return spent / total


@pytest.mark.parametrize("forms", [3, 7, 40, 1000])
def test_never_slower_by_more_than_the_share(forms: int) -> None:
    for price in (0.001, 0.05, 0.2):  # as far as it can be guessed before there is a record
        for looks in (0.0, 1e-5, 1e-3):
            for replay in (1e-4, 6e-4):
                for calls in (HORIZON, 8 * HORIZON):
                    sequence = [n * 7919 % forms for n in range(calls)]
                    found = loss_of(sequence, 1e-3, replay, price, looks)
                    assert found <= 1 + SHARE + 2e-3, (price, looks, replay, calls)


def test_what_comes_often_is_recorded() -> None:
    assert loss_of([n % 2 for n in range(3000)], 1e-3, 1e-4, 0.02, 1e-5) < 0.3
    assert loss_of([0] * 300, 1e-3, 1e-4, 0.02, 1e-5) < 0.3  # one form: at once


def test_a_loop_that_settles_is_recorded_after_all() -> None:
    changing, settled = list(range(HORIZON)), ["same"] * 40 * HORIZON
    assert loss_of(changing + settled, 1e-3, 1e-4, 0.1, 2e-4) < 0.9


@pytest.mark.parametrize("rare", [7, 60, 1000])
def test_what_a_record_saves_is_not_spent_on_forms_that_hardly_come(rare: int) -> None:
    """The last batch of an epoch has another size each time: its records would eat up all that the others save."""
    calls = ["full" if n % 10 else 1 + n * 7919 % rare for n in range(8 * HORIZON)]
    alone = loss_of(["full" if n % 10 else n for n in range(8 * HORIZON)], 1e-3, 1e-4, 0.0, 0.0)
    for price in (0.02, 0.1, 0.3):
        trusted = (price + 1e-3) / len(calls) / 1e-3  # the record that is made at the second call
        assert loss_of(calls, 1e-3, 1e-4, price, 0.0) <= alone + trusted + VENTURE, price


def test_savings_are_not_spent_on_records_that_save_little() -> None:
    ledger = Ledger()
    for key in ("a", "b"):
        for _ in range(40):
            ledger.note_run(key, 1e-3, 0.0)
    ledger.note_record("a", 1e-3 + 20e-3)
    record = Record("a", 9e-4)
    record.calls = 500
    assert ledger.saved([record]) == pytest.approx(0.05)
    assert not ledger.allows("b", [record])  # its runs would have saved 4 ms, and a record costs 20
    for _ in range(160):
        ledger.note_run("b", 1e-3, 0.0)
    assert ledger.allows("b", [record])


def test_what_others_make_it_wait_for_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a call seemed to take what it waited for, and records to save that."""
    waited = 0.0

    def on_the_wall() -> float:
        nonlocal waited
        waited += 10.0
        return perf_counter() + waited

    monkeypatch.setattr(clock, "perf_counter", on_the_wall)
    compiled = torch.compile(_step(), audit="never")
    for _ in range(20):
        compiled(torch.ones(3, 8))
    found = compiled.explain().to_dict()["ledger"]
    (entry,) = compiled._alive()
    for seconds in (found["seconds_as_written"], found["seconds_recording"], entry.seconds):
        assert 0.0 < seconds < 10.0


def test_what_other_threads_compute_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = [0.0]
    monkeypatch.setattr(clock, "process_time", lambda: busy[0])
    began = clock.moment()
    busy[0] = 1e9
    assert 0.0 < clock.since(began) < 1e9


def _step() -> Any:
    torch.manual_seed(0)
    model = torch.nn.Linear(8, 4)
    optimizer = torch.optim.SGD(model.parameters(), 0.1)

    def step(x: Any) -> Any:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    return step


def test_one_form_is_recorded_at_its_second_call() -> None:
    compiled = torch.compile(_step())
    for _ in range(3):
        compiled(torch.ones(3, 8))
    assert compiled.records == 1
    compiled(torch.ones(4, 8))  # another one does not take the first one's record away
    assert compiled.records == 1
    assert "replayed 1 times" in str(compiled.explain())


def test_one_warning_says_what_changes_and_what_it_costs() -> None:
    step = torch.compile(_step())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for n in range(HORIZON):
            step(torch.ones(1 + n * 7 % 50, 8))
    (found,) = (str(w.message) for w in said if "do not pay" in str(w.message))
    for part in (
        "argument 0: shape (",
        ", 8), was (",
        "costs",
        "as written takes",
        "dynamic=False",
    ):
        assert part in found
    assert step.records == 0
    assert "costs: " in str(step.explain())
    assert step.explain().to_dict()["ledger"]["runs_as_written"] == HORIZON


def test_dynamic_false_records_each_form() -> None:
    step = torch.compile(_step(), dynamic=False)
    for n in (1, 2, 3, 1, 2, 3):
        step(torch.ones(n, 8))
    assert step.records == 3


def test_more_forms_than_are_kept_in_any_case_have_a_record_each(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A step over forty lengths is recorded forty times, if there is room; else the oldest record goes."""
    step = torch.compile(_step(), dynamic=False, audit="never")
    lengths = range(1, 41)
    for _ in range(3):
        for n in lengths:
            step(torch.ones(n, 8))
    assert step.records == len(step._alive()) == 40
    taken = sum(entry.nbytes for entry in step._alive())
    assert 40 * 1000 < taken < ROOM
    monkeypatch.setattr(records, "ROOM", taken)
    step.clear()
    for n in range(1, 61):
        for _ in range(20):
            step(torch.ones(n, 8))
        assert RECORDS <= len(step._alive()) <= MOST or n < RECORDS
        assert sum(entry.nbytes for entry in step._alive()[:-1]) <= taken
    monkeypatch.setattr(records, "ROOM", 0)
    step(torch.ones(100, 8))
    for _ in range(20):
        step(torch.ones(100, 8))
    assert len(step._alive()) == RECORDS


def test_results_are_those_of_the_function_whatever_the_ledger_decides() -> None:
    one, other = torch.compile(_step()), _step()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for n in range(150):
            x = torch.linspace(0, 1, 8 * (1 + n % 3)).reshape(-1, 8)
            assert torch.allclose(one(x), other(x), rtol=1e-5)


def test_a_replay_that_is_slower_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = torch.compile(_step(), backend="numpy", audit="never")
    monkeypatch.setattr(Ledger, "plain_seconds", lambda self, key: 1e-9)
    x = torch.ones(3, 8)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for _ in range(2 * audit_schedule.WEIGHED + WARM + 3):
            compiled(x)
    assert any("a replay takes" in str(w.message) for w in said)
    assert not compiled._alive()
    assert "a replay takes" in str(compiled.explain())


class Timed:
    """A compiled function, of which runs as written (by turns, the last for good) and replays take so many seconds."""

    def __init__(self, plain: list[float], replay: float, monkeypatch: pytest.MonkeyPatch) -> None:
        self.seconds, self.replay = 0.0, replay  # of all calls, and of a replay
        self.step = torch.compile(lambda x: x * 2 + 1, audit="never")

        def note_run(step: Any, key: Any, _: float, besides: float) -> None:
            seconds = plain.pop(0) if len(plain) > 1 else plain[0]
            self.seconds += seconds
            noted(step, key, seconds, besides)

        def note_replay(schedule: Any, began: float) -> None:
            self.seconds += self.replay
            schedule.replay_seconds = min(schedule.replay_seconds, self.replay)

        noted = Records._note_run
        monkeypatch.setattr(Records, "_note_run", note_run)
        monkeypatch.setattr(audit_schedule.Schedule, "note_replay", note_replay)
        monkeypatch.setattr(entry_module, "way_in", lambda entry: None)
        monkeypatch.setattr(recording, "way_in", lambda entry: None)

    def run(self, count: int) -> None:
        x = torch.ones(3)
        for _ in range(count):
            self.step(x)


def test_a_record_is_not_held_against_a_first_run_that_was_cold() -> None:
    """Kernels are made in the first run: a record that loses against all others seemed to save."""
    ledger = Ledger()
    ledger.note_run("a", 1.0, 0.0)
    record = Record("a", 0.013)
    assert not ledger.doubts(record)
    assert ledger.weighs(record)
    for _ in range(WARM):
        ledger.note_run("a", 0.008, 0.0)
    assert ledger.doubts(record)
    assert not ledger.pays(record)


@pytest.mark.parametrize("disturbed", [0, 2])
def test_a_slower_record_is_given_up_though_runs_are_disturbed(
    monkeypatch: pytest.MonkeyPatch, disturbed: int
) -> None:
    with monkeypatch.context() as patch, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        timed = Timed([1.0, *[0.05] * disturbed, 0.008], 0.013, patch)
        timed.run(HORIZON)
        assert sum("a replay takes" in str(w.message) for w in said) == 1
        assert not timed.step._alive()
        before = timed.seconds
        timed.run(HORIZON)
        assert timed.seconds - before <= HORIZON * 0.008 * (1 + 1e-6)


def test_a_record_that_loses_once_only_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replays that something else was in the way of; the next ones are quick."""
    with monkeypatch.context() as patch:
        timed = Timed([1.0, 0.008], 0.013, patch)
        timed.run(2 + audit_schedule.WEIGHED + WARM)
        (entry,) = timed.step._alive()
        assert entry.audits.has_lost
        timed.replay = 0.002
        timed.run(HORIZON)
        assert timed.step._alive() == [entry]


def test_a_form_that_is_given_up_is_not_looked_at_at_every_call(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Looking at arguments took many times what a small function takes."""
    looks = 0
    form = compiled_module.Form

    def looking(*args: Any) -> Any:
        nonlocal looks
        looks += 1
        return form(*args)

    with monkeypatch.context() as patch, warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        timed = Timed([1e-6], 3e-6, patch)
        timed.run(40)
        assert not timed.step._alive()
    monkeypatch.setattr(compiled_module, "Form", looking)
    timed.run(2 * HORIZON)
    assert looks < 20
    assert len(said) == 1


def test_a_record_that_saves_is_kept_and_compared_a_few_times_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        timed = Timed([1.0, 0.008], 0.001, patch)
        timed.run(HORIZON)
        assert len(timed.step._alive()) == 1
        assert timed.step._ledger.runs == 1 + WARM
    with monkeypatch.context() as patch:  # one that saves little is looked at again and again
        timed = Timed([1.0, 0.008], 0.007, patch)
        timed.run(HORIZON)
        assert len(timed.step._alive()) == 1
        assert WARM + 2 <= timed.step._ledger.runs <= WARM + 5


def test_one_form_whose_records_never_hold_is_not_looked_at_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Something outside of the arguments changes at each call, so there is one form, and looking at it is lost."""
    plain, looks = 5e-4, 1e-4
    noted, total = Records._note_run, [0.0]

    def note_run(step: Any, key: Any, seconds: float, besides: float) -> None:
        total[0] += looks
        noted(step, key, plain, looks)

    monkeypatch.setattr(Records, "_note_run", note_run)
    place = {"times": 0}
    step = torch.compile(lambda x: x * place["times"], audit="never", sound=False)
    x = torch.ones(3)
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for n in range(2 * HORIZON):
            place["times"] = n
            assert torch.equal(step(x), x * n)
    assert total[0] <= SHARE * 2 * HORIZON * plain
    (found,) = (str(w.message) for w in said if "do not pay" in str(w.message))
    for part in ("what they depend on changes", "the content of `place`", "as written takes"):
        assert part in found


@pytest.mark.filterwarnings("ignore:.*do not pay for themselves")
def test_gradients_that_are_others_at_each_call_are_recorded_once_more_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A program adds to the gradient that it was recorded with; here there is another one each time."""
    model = torch.nn.Linear(8, 4)
    step = torch.compile(lambda x: model(x).square().sum().backward(), audit="never")
    x = torch.ones(3, 8)
    for _ in range(3):
        step(x)
    made = step.records
    monkeypatch.setattr(Ledger, "allows", lambda self, key, entries: False)
    for _ in range(20):
        model.weight.grad, model.bias.grad = torch.zeros(4, 8), torch.zeros(4)
        step(x)
    assert 1 <= made <= step.records <= made + 1


def test_when_looking_costs_too_much_calls_go_straight_to_the_function() -> None:
    ledger = Ledger()
    for n in range(20):
        ledger.note_run(n, 1e-6, 1e-4)
    assert ledger.is_lost([])
    assert sum(ledger.skips() for _ in range(PAUSE) if ledger.pause) == PAUSE
    assert not ledger.pause
    assert ledger.is_lost([])
    assert ledger.pause == 2 * PAUSE


def test_what_records_saved_is_not_forgotten_with_them() -> None:
    ledger = Ledger()
    ledger.note_run("a", 1e-3, 0.0)
    ledger.note_record("a", 2e-3)
    record = Record("a", 2e-4)
    record.calls = 100
    assert ledger.saved([record]) == pytest.approx(0.08)
    ledger.note_gone(record)
    assert ledger.saved([]) == pytest.approx(0.08)


def test_forms_are_told_apart_without_their_floats() -> None:
    assert issubclass(type(torch.compile(lambda x: x)), Records)
    step = torch.compile(_step())
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        for n in range(HORIZON):
            step(torch.ones(1 + n % 120, 8))
    assert sum("do not pay" in str(w.message) for w in said) == 1
