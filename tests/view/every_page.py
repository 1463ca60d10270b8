"""One page of every kind that the kit writes, for the tests that ask the same of all of them."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import tautograd
from tautograd import view
from tautograd._cli.doctor.live import serving
from tautograd._cli.local_page import LocalPage
from tautograd._cli.view_live import leaves_of
from tautograd._doctor.report.page import as_page
from tautograd._verify.report.render_html import page_of
from tautograd._view.summary.summary import summary
from tautograd._view.summary.summary_page import as_page as summary_page

from ..doctor.reports import Said, history, rendered, several
from . import programs

GRAPHS = (
    "square", "linear_step", "shared_input", "detached", "left_by_item", "several_outputs", "gpt",
    "saturated", "attention",
)  # fmt: skip
NOTEBOOK = (
    "<!doctype html><html lang='en'><head><meta charset='utf-8'><title>a notebook</title></head>"
    "<body><main><h1>A notebook</h1>{}</main></body></html>"
)


def _wrong(torch: Any) -> Any:
    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 3

    return Doubled.apply


def _reports() -> list[Any]:
    x = tautograd.tensor([0.5, 1.5], dtype=tautograd.float64, requires_grad=True)
    wrong = _wrong(tautograd)
    return [
        tautograd.verify(lambda v: v.exp().sum(), x),
        tautograd.verify(lambda v: wrong(v).sum(), x),
        tautograd.verify(lambda v: (v.detach() * v).sum(), x),
    ]


def _model() -> Any:
    nn = tautograd.nn
    return nn.Sequential(
        nn.Conv2d(1, 8, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(8 * 49, 10)
    )


def long() -> view:
    """Ten thousand operations in a row, from a loop."""
    torch = tautograd
    h = x = torch.tensor(1.0, requires_grad=True)
    weights = [torch.tensor(0.99, requires_grad=True) for _ in range(100)]
    assert x.requires_grad
    for i in range(5000):
        h = (h * weights[i % 100]).tanh()
    return view(h)


def _run(folder: Path, **options: Any) -> str:
    return as_page(rendered(several(folder)), str(folder), **options)


def _notebook() -> str:
    """What notebooks show of each object, one below the other."""
    drawn = view(programs.linear_step, tautograd)
    x = tautograd.tensor([0.5, 1.5], requires_grad=True)
    loss = (x * x).sum()
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        pieces = [
            *_reports(),
            tautograd.explain(x, loss),
            summary(_model(), tautograd.zeros(1, 1, 16, 16)),
            drawn,
        ]
    return NOTEBOOK.format("".join(piece._repr_html_() for piece in pieces))


def every_page(folder: Path) -> dict[str, Path]:
    """The files, by name."""
    found = {
        name: view(getattr(programs, name), tautograd).save(folder / f"{name}.html")
        for name in GRAPHS
    }
    reports = _reports()
    written: dict[str, Callable[[], str]] = {
        "run": lambda: _run(folder),
        "two-runs": lambda: _run(folder, other=rendered(Said([], history()))),
        "sound-run": lambda: as_page(rendered(Said([], history())), str(folder)),
        "verify": lambda: page_of([report.to_dict() for report in reports]),
        "summary": lambda: summary_page(summary(_model(), tautograd.zeros(1, 1, 16, 16))),
        "notebook": _notebook,
    }
    for name, write in written.items():
        found[name] = folder / f"{name}.html"
        found[name].write_text(write(), encoding="utf-8")
    return found


NAMES = (*GRAPHS, "run", "two-runs", "sound-run", "verify", "summary", "notebook")


@contextlib.contextmanager
def live_pages() -> Iterator[dict[str, str]]:
    """Addresses of pages that are served while something runs."""
    torch = tautograd
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    drawn = view(programs.linear_step, torch)
    state = {"version": 1, "said": "run in 0.1 s", "ended": True, "leaves": leaves_of(drawn.graph)}
    served = LocalPage(drawn.page, lambda: state)
    served.start()
    with (
        contextlib.redirect_stderr(io.StringIO()),
        torch.doctor() as doctor,
        serving(doctor, ".") as page,
    ):
        for _ in range(5):
            model(torch.ones(3, 2)).sum().backward()  # nothing is cleared
            optimizer.step()
        yield {"live view": served.url, "live doctor": page.url}
    served.stop()
