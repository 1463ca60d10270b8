"""What the run's page says is what the run did: its numbers beside numbers computed aside."""

from __future__ import annotations

import html
import itertools
import json
import math
import os
import re
from typing import Any

import pytest

import tautograd
from tautograd._doctor.report.heat_map import SHADES, colour
from tautograd._doctor.report.measures import ends, last_of, thinned, worst
from tautograd._doctor.report.page import as_page
from tautograd._doctor.report.plots import spread
from tautograd._doctor.report.report import plain
from tautograd._doctor.report.two_runs import NotAReport, read_report
from tautograd._doctor.state.history import History

from .reports import CODE, Said, finding, rendered


def page_data(page: str) -> Any:
    return json.loads(re.search(r'id="data">(.*?)</script>', page, re.S)[1])


def cells(page: str) -> dict[str, list[str]]:
    """The table's row of each parameter, as text."""
    found = {}
    for name, row in re.findall(r'<tr role="row" data-name="([^"]*)">(.*?)</tr>', page, re.S):
        texts = re.findall(r"<span>([^<]*)</span></span></td>", row)
        found[html.unescape(name)] = texts
    return found


def run(steps: int, bad_from: int = 10**9, torch: Any = tautograd):
    """A loop whose gradient norms are computed aside, step by step."""
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1))
    x, y = torch.randn(8, 3), torch.randn(8, 1)
    last, first = model[2], model[0]  # the optimizer gets them in another order than the model
    optimizer = torch.optim.SGD([*last.parameters(), *first.parameters()], lr=0.01)
    aside: dict[str, list[float]] = {}
    losses = []
    with tautograd.doctor(engines=[torch]) as doctor:
        for step in range(1, steps + 1):
            optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(model(x), y)
            if step >= bad_from:
                loss = loss * math.nan
            loss.backward()
            losses.append(loss.item())
            for name, p in model.named_parameters():
                aside.setdefault(name, []).append(float(p.grad.norm()))
            optimizer.step()
    return doctor, aside, losses


@pytest.mark.parametrize("engine", ["tautograd", "torch"])
def test_a_nan_is_a_value_from_its_step_on(engine):
    torch = pytest.importorskip(engine)
    doctor, aside, losses = run(14, bad_from=11, torch=torch)
    page = as_page(plain(doctor))
    data = page_data(page)
    assert data["steps"] == list(range(1, 15))
    for name, values in aside.items():
        shown = data["norms"][name]
        assert shown[:10] == [pytest.approx(v, rel=1e-3) for v in values[:10]]
        assert shown[10:] == ["NaN"] * 4
    assert data["losses"][""][:10] == [pytest.approx(v, rel=1e-3) for v in losses[:10]]
    assert data["losses"][""][10:] == ["NaN"] * 4
    for norm, ratio in cells(page).values():
        assert norm == ratio == "NaN since step 11"
    assert "last: NaN since step 11." in page
    assert page.count('data-shade="nan"') == 2, "hatched in both heat maps"
    assert page.count("not measured") == 0


def test_rows_are_in_the_models_order():
    doctor, aside, _ = run(3)
    data = page_data(as_page(plain(doctor)))
    assert list(data["norms"]) == list(data["ratios"]) == list(aside)
    assert list(cells(as_page(plain(doctor)))) == list(aside)


def test_the_last_is_the_last_or_says_its_step():
    """Late in a run not every step is measured: updates of the last one cannot be known afterwards."""
    doctor, aside, losses = run(120)
    history = doctor.history
    rows = cells(as_page(plain(doctor)))
    for name, (norm, ratio) in rows.items():
        assert norm == f"{aside[name][-1]:.3g}", "of step 120 itself"
        known = [(s, r) for s, r in zip(history.steps, history.ratios[name], strict=True) if r]
        step, value = known[-1]
        assert ratio == f"{value:.3g}" + ("" if step == 120 else f" at step {step}")
        assert step < 120, "else this test shows nothing"
    data = page_data(as_page(plain(doctor)))
    assert data["losses"][""][-1] == pytest.approx(losses[-1], rel=1e-3)


def test_a_long_run_is_thinned_by_its_worst_and_ends_with_its_last():
    steps = list(range(1, 1001))
    values: list[float | None] = [1.0] * 999 + [0.25]
    values[500] = math.nan
    values[600] = math.inf
    values[700:703] = [None] * 3
    said = Said([], History(steps, {"w": values}, {"w": list(values)}, [1.0] * 1000))
    said.steps = 1000
    page = as_page(plain(said))
    data = page_data(page)
    few = data["norms"]["w"]
    for i, (start, end) in enumerate(zip(data["steps"], data["ends"], strict=True)):
        want = worst(values[start - 1 : end])
        want = (
            "NaN" if want is not None and math.isnan(want) else "inf" if want == math.inf else want
        )
        assert few[i] == want
    assert data["ends"][-1] == 1000
    assert cells(page)["w"] == ["0.25", "0.25"], "not the largest of the last few"


@pytest.mark.parametrize(
    ("values", "said"),
    [
        ([1.0, 2.0, 3.0], "3"),
        ([1.0, 2.0, None], "2 at step 20"),
        ([None, None, None], "none"),
        ([1.0, math.nan, math.nan], "NaN since one of steps 11–20"),
        ([math.nan, math.nan, None], "NaN since step 10"),
        ([1.0, math.inf, math.nan], "NaN since one of steps 11–20"),
        ([math.nan, 1.0, math.inf], "∞ since step 21"),
        ([1.0, 2.0, -math.inf], "−∞ since step 21"),
    ],
)
def test_the_last_value_in_words(values, said):
    assert last_of([10, 20, 21], values, 21) == said


def test_ends_belong_to_the_points():
    for count in (1, 5, 400, 401, 999, 1000):
        steps = list(range(10, 10 + count))
        starts, _ = thinned(steps, {})
        assert len(starts) == len(ends(steps))
        assert ends(steps)[-1] == steps[-1]
        assert all(a <= b for a, b in zip(starts, ends(steps), strict=True))


def lightness(text: str) -> float:
    """Of `#rrggbb`, as the eye has it (OKLab's L)."""
    linear = [
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4
        for c in (int(text[i : i + 2], 16) / 255 for i in (1, 3, 5))
    ]
    rows = (
        (0.4122214708, 0.5363325363, 0.0514459929),
        (0.2119034982, 0.6806995451, 0.1073969566),
        (0.0883024619, 0.2817188376, 0.6299787005),
    )
    one, two, three = (
        sum(a * b for a, b in zip(row, linear, strict=True)) ** (1 / 3) for row in rows
    )
    return 0.2104542553 * one + 0.7936177850 * two - 0.0040720468 * three


@pytest.mark.parametrize("dark", [False, True])
def test_the_ramp_is_monotone_in_lightness(dark):
    from tautograd._report import shell

    css = (shell._FOLDER / "base.css").read_text(encoding="utf-8")
    stops = [
        re.search(rf"--ramp-{i}: light-dark\((#\w+), (#\w+)\)", css).group(2 if dark else 1)
        for i in range(3)
    ]
    # Shades are mixed in OKLab, so their lightness is a straight line between two stops.
    levels = [lightness(stop) for stop in stops]
    assert (levels[0] < levels[1] < levels[2]) if dark else (levels[0] > levels[1] > levels[2])
    assert min(abs(a - b) for a, b in itertools.pairwise(levels)) > 0.15
    assert len({colour(shade) for shade in range(SHADES)}) == SHADES


def test_no_shade_means_two_things():
    shown = {colour(shade) for shade in range(SHADES)}
    assert colour("strange") not in shown
    past = History([1, 2, 3, 4], {}, {"w": [0.0, 1e-3, math.nan, math.inf]}, [1.0] * 4)
    past.norms = {"w": [0.0, 1e-3, math.nan, math.inf]}
    page = as_page(plain(Said([], past)))
    fills = re.findall(r'data-shade="(\w+)" d="[^"]*" style="fill:([^"]*)"', page)
    ratios = fills[len(fills) // 2 :]
    assert [shade for shade, _ in ratios] == ["zero", "8", "nan", "strange"]
    assert len({fill for _, fill in ratios}) == 4


def test_names_at_line_ends_keep_apart():
    places = spread([0.5, 0.5, 0.5, 0.99, 1.0, 1.0], 0.1)
    assert all(b - a >= 0.1 - 1e-9 for a, b in itertools.pairwise(places))
    assert places[0] >= 0
    assert places[-1] <= 1
    assert spread([], 0.1) == []
    assert spread([0.2, 0.8], 0.1) == [0.2, 0.8]


def test_a_notebook_shows_the_page_with_its_verdict_first():
    doctor, _, _ = run(3)
    shown = doctor._repr_html_()
    assert shown.startswith('<iframe title="What the doctor says" sandbox="allow-scripts"')
    inside = html.unescape(re.search(r'srcdoc="([^"]*)"', shown)[1])
    assert inside.index("Nothing found") < inside.index("History of the run")


# --- two runs ---------------------------------------------------------------------------------------


def test_two_runs_on_one_page(tmp_path):
    broken, _, one = run(14, bad_from=11)
    broken.script = "broken.py"
    file = tmp_path / "was.json"
    file.write_text(json.dumps(broken.to_dict()))
    mended, _, two = run(20)
    mended.script = "mended.py"
    page = as_page(plain(mended), other=read_report(file))
    data = page_data(page)
    last = f"{two[-1]:.3g}"
    assert list(data["runs"]) == ["broken.py NaN", f"mended.py {last}"]
    for shown, losses in zip(data["runs"].values(), (one, two), strict=True):
        for value, loss in zip(shown, losses, strict=False):
            assert value == ("NaN" if math.isnan(loss) else pytest.approx(loss, rel=1e-3))
    first = next(iter(data["runs"].values()))
    assert first[14:] == [None] * 6, "it had no more steps"
    rows = re.findall(r"<tr><td class=\"mono\">(.*?)</td><td>(.*?)</td>", page)
    assert rows == [("broken.py", "TG701"), ("mended.py", "nothing")]


SOUND = {"format": "tautograd doctor report", "script": "", "steps": 1, "findings": []}


def with_curve(steps: Any, losses: Any) -> str:
    return json.dumps({**SOUND, "history": {"curve": {"steps": steps, "losses": losses}}})


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", "{}", '{"format": "other"}', '{"format": "tautograd doctor report"}'),
        *(json.dumps(SOUND), json.dumps({**SOUND, "findings": [1]})),
        *(with_curve([1], []), with_curve(["x"], [1]), with_curve([1], [[]])),
        *(
            with_curve(3, [1]),
            with_curve([1], 3),
            with_curve([10**400], [1]),
            with_curve([True], [1]),
        ),
        *(json.dumps({**SOUND, "history": {"curve": {}}}), json.dumps({**SOUND, "steps": 10**400})),
        json.dumps({**SOUND, "history": {"curve": {"steps": []}, "steps": ["x"], "losses": ["x"]}}),
    ],
)
def test_what_is_no_report_is_refused(text, tmp_path):
    file = tmp_path / "was.json"
    file.write_text(text)
    with pytest.raises(NotAReport):
        read_report(file)


def test_a_pipe_in_the_place_of_a_report_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "was.json")
    with pytest.raises(OSError, match="pipe"):
        read_report(tmp_path / "was.json")


def test_a_loss_beyond_all_numbers_is_shown(tmp_path):
    doctor, _, _ = run(3)
    (tmp_path / "was.json").write_text(with_curve([1, 2], [10**400, -(10**400)]))
    page = as_page(plain(doctor), other=read_report(tmp_path / "was.json"))
    assert "Loss of both" in page
    assert '"inf"' in page


@pytest.mark.parametrize(
    ("severities", "headline"),
    [
        (("error", "warning", "info"), "2 things are wrong with this loop"),
        (("warning", "info", "info"), "1 thing is wrong with this loop"),
        (("info",), "1 thing to know about this loop"),
    ],
)
def test_what_is_only_to_be_known_is_not_called_wrong(severities, headline, tmp_path):
    file = tmp_path / "train.py"
    file.write_text(CODE, encoding="utf-8")
    said = Said([finding(file, severity=severity) for severity in severities])
    assert headline in as_page(rendered(said), str(tmp_path))
