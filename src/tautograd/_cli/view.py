"""`taut view`: runs a script and draws the graph of one of its backward passes as a page."""

from __future__ import annotations

import argparse
import functools
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from tautograd._cli import as_torch, runner
from tautograd._cli.catching import Catch, Seen
from tautograd._cli.delivery import Delivery, say_on
from tautograd._cli.script_options import add_script, positive, require_script
from tautograd._cli.sending import TRACKERS, Sending, check_trackers
from tautograd._cli.watched import process_kept, run_target, run_watched, stdout_kept_for
from tautograd._files.terminal import Lines, say

if TYPE_CHECKING:
    from tautograd._view.view import View

SUMMARY = "draw the graph of a script's backward pass, with values and gradients, as a page"
EXAMPLE = """\
examples:
  taut view script.py                        the first backward(), in script.view.html
  taut view --show --step 3 train.py         the third, opened in the browser
  taut view -o gpt.html --as-torch gpt.py    'import torch' means tautograd
  taut view --json script.py > graph.json    nodes, edges, values and gradients
  taut view --svg graph.svg script.py        a picture; --png and --gif need Chromium, --dot nothing
  taut view --live train.py                  a local page: change a leaf, and the script runs again
  taut view --no-source -o out.html s.py     a page without files and lines, to share
  taut view --run --steps 100 train.py       a page of the run, train.run.html: loss, norms, findings

Options of taut come before the script; everything after it belongs to the script, which is stopped
after that pass (with --run it runs to its end). Exit status: 0 fine, 1 something in the graph is not finite (with
--run: findings), 2 could not run or the page could not be written, 3 the script failed (a status above
1 that it chose itself is kept)."""

_FINE, _FOUND, _COULD_NOT_RUN = 0, 1, 2
PICTURES = {
    "svg": "write the graph as a vector picture",
    "png": "write the page's initial view as a PNG; needs Chromium",
    "gif": "write backward, step by step, as an animation; needs Chromium",
    "dot": "write the graph for Graphviz",
}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `taut view`."""
    parser.usage = "taut view [options] (script.py | -m module) [arguments ...]"
    add = parser.add_argument
    add(
        "-o",
        "--output",
        metavar="FILE",
        help="the page; default: the script's name and .view.html (with --run: .run.html)",
    )
    add(
        "--force",
        action="store_true",
        help="let the page replace a file that tautograd did not make",
    )
    add("--step", type=positive, default=1, metavar="N", help="the N-th backward pass; default: 1")
    add("--show", action="store_true", help="open the page in the browser")
    add("--json", action="store_true", help="print the graph as JSON on stdout; no page without -o")
    for kind, what in PICTURES.items():
        add(f"--{kind}", metavar="FILE", help=what)
    add("--no-source", action="store_true", help="leave files and their lines out of the page")
    add(
        "--editor-links",
        action="store_true",
        help="write full paths into the page, so a click on a line opens your editor",
    )
    add(
        "--live",
        action="store_true",
        help="serve the page on this machine; a changed leaf runs the script again (Ctrl-C ends it)",
    )
    add("--leaves", metavar="FILE", help=argparse.SUPPRESS)  # for --live: what can be changed
    add("--set", dest="changes", action="append", default=[], help=argparse.SUPPRESS)
    add("--run", action="store_true", help="a page of the whole run, with the doctor watching")
    add("--steps", type=positive, metavar="N", help="with --run: stop after N optimizer steps")
    add(
        "--tensorboard", metavar="DIR", help="with --run: write event files for TensorBoard as well"
    )
    add("--wandb", metavar="PROJECT", help="with --run: send the history to Weights & Biases")
    add("--mlflow", metavar="EXPERIMENT", help="with --run: the same for MLflow")
    add_script(parser)


def execute(namespace: argparse.Namespace) -> int:
    """Execute the command."""
    parser: argparse.ArgumentParser = namespace.parser
    require_script(namespace)
    if not namespace.run:
        for option in ("steps", "tensorboard", *TRACKERS):
            if getattr(namespace, option) is not None:
                parser.error(f"--{option} is for --run")
    if namespace.live:
        from tautograd._cli.view_live import serve

        if namespace.run or namespace.json or namespace.output is not None:
            parser.error("--live serves a page: not with --run, --json or -o")
        return serve(namespace)
    path = namespace.output
    pictures = {kind: p for kind in PICTURES if (p := getattr(namespace, kind)) is not None}
    if namespace.run and pictures:
        parser.error(f"--{next(iter(pictures))} is of one graph: not for --run")
    alone = (namespace.json or pictures) and not namespace.show
    if path is None and not alone:
        path = f"{Path(namespace.target[0]).stem}.{'run' if namespace.run else 'view'}.html"
    try:
        if path is not None:
            from tautograd._files.destinations import PAGE, check

            check(path, PAGE, force=namespace.force)
        _check_pictures(pictures, force=namespace.force)
        if namespace.tensorboard is not None:
            from tautograd._doctor.report.events_file import check_folder

            check_folder(namespace.tensorboard)
        check_trackers(namespace)
    except (OSError, RuntimeError) as reason:  # or the event writer is missing
        parser.error(f"{'-o: ' if namespace.output is not None else ''}{reason}")
    if namespace.as_torch:
        as_torch.install(for_child_processes=True)
    page = None if path is None else Path(path).absolute()  # the script may change the folder
    pictures = {kind: os.path.abspath(picture) for kind, picture in pictures.items()}
    try:
        return _run(namespace, page) if namespace.run else _graph(namespace, page, pictures)
    except runner.NothingToRun as reason:
        parser.error(str(reason))


def changes_of(namespace: argparse.Namespace) -> dict[int, dict[int, float]]:
    """`--set 3.0=2.5` sets the first entry of the leaf that is fourth in order of use to 2.5."""
    found: dict[int, dict[int, float]] = {}
    for text in namespace.changes:
        place, _, value = text.partition("=")
        leaf, _, entry = place.partition(".")
        try:
            found.setdefault(int(leaf), {})[int(entry)] = float(value)
        except ValueError:
            namespace.parser.error(f"--set: '{text}' is not LEAF.ENTRY=VALUE")
    return found


def _check_pictures(pictures: dict[str, str], *, force: bool) -> None:
    """Before the script runs: reject pictures that could not be drawn or written after it."""
    from tautograd._files.destinations import PICTURES as KINDS
    from tautograd._files.destinations import check
    from tautograd._view.page.browser import require_browser

    for kind, path in pictures.items():
        check(path, KINDS[kind], force=force)
        if kind in ("png", "gif"):
            require_browser(f"--{kind}")


def _write_pictures(
    namespace: argparse.Namespace, pictures: dict[str, str], view: View, delivery: Delivery
) -> None:
    from tautograd._files.destinations import PICTURES as KINDS
    from tautograd._view.page.browser import as_gif, as_png

    page = functools.partial(view.page, source=not namespace.no_source)
    steps = len(view.graph.steps)
    makes: dict[str, Callable[[], str | bytes]] = {
        "svg": view.svg,
        "dot": view.dot,
        "png": lambda: as_png(page()),
        "gif": lambda: as_gif(page(), steps),
    }
    for kind, path in pictures.items():
        before = len(delivery.written)
        delivery.file(path, makes[kind], KINDS[kind], force=namespace.force)
        for written in delivery.written[before:]:
            say_on(f"written: {written}")


def _graph(namespace: argparse.Namespace, page: Path | None, pictures: dict[str, str]) -> int:
    import tautograd._view.page.page  # noqa: F401  (before the script runs: see doctor.py)

    catch = Catch(namespace.step - 1, changes_of(namespace))
    here = os.getcwd()
    try:
        catch.see(sys.modules["tautograd"])
        with process_kept(), stdout_kept_for(namespace.json):
            ending = run_target(
                namespace.target, is_module=namespace.is_module, watch=catch.see, stops=Seen
            )
            ending.show()
    finally:
        catch.stop()
        _go_back(here)
    view = catch.view
    if view is None:
        ending.pass_on()
        from tautograd._report.wording import counted

        count = catch.passes
        ran = (
            "no backward() ran" if not count else f"it ran backward() {counted(count, 'time')} only"
        )
        say_on(f"taut view: nothing to draw: {ran}")
        return _COULD_NOT_RUN
    delivery = Delivery(here)
    if namespace.leaves is not None:
        from tautograd._cli.view_live import leaves_of

        with delivery.part("writing leaves"), open(namespace.leaves, "x", encoding="utf-8") as file:
            json.dump(leaves_of(view.graph), file)  # only to a new file
    if namespace.json:
        with delivery.part("printing JSON"):
            say(json.dumps(view.to_dict(), allow_nan=False))
    make = functools.partial(
        view.page, source=not namespace.no_source, links=namespace.editor_links
    )
    _write_page(namespace, page, make, delivery)
    _write_pictures(namespace, pictures, view, delivery)
    if delivery.is_lost and not namespace.json:  # print what was seen, if possible
        with delivery.part("printing JSON"):
            say(json.dumps(view.to_dict(), allow_nan=False))
    ending.pass_on()
    if delivery.failed:
        return _COULD_NOT_RUN
    return _FOUND if _is_strange(view) else _FINE


def _write_page(
    namespace: argparse.Namespace, page: Path | None, make: Callable[[], str], delivery: Delivery
) -> None:
    """Write a page, report whether it replaced another, and open it on request."""
    from tautograd._files.destinations import PAGE

    if page is None:
        return
    again = " (in place of the one that was there)" if page.exists() else ""
    delivery.file(str(page), make, PAGE, force=namespace.force)
    for path in delivery.written:
        say_on(f"written: {path}{again}")
        if namespace.show:
            import webbrowser

            webbrowser.open(page.as_uri())


def _is_strange(view: View) -> bool:
    """Whether it contains a non-finite value or gradient."""
    graph = view.graph
    values = [v for node in graph.nodes for v in (*node.outputs.values(), *node.arrived.values())]
    return any(v.strange for v in values)


def _go_back(folder: str) -> None:
    """Return to the folder of the call; the script may have removed it."""
    try:
        os.chdir(folder)
    except OSError:
        os.chdir(os.sep)


def _run(namespace: argparse.Namespace, page: Path | None) -> int:
    """Write the doctor's page of the whole run."""
    from tautograd._doctor.doctor import Doctor
    from tautograd._doctor.report.page import as_page
    from tautograd._doctor.report.render_text import as_text
    from tautograd._doctor.report.report import as_json, plain

    events = os.path.abspath(namespace.tensorboard or "")
    doctor = Doctor(steps=namespace.steps, engines=())
    here = os.getcwd()
    send = Sending(namespace)
    with process_kept(), stdout_kept_for(namespace.json):
        ending = run_watched(doctor, namespace.target, is_module=namespace.is_module)
    _go_back(here)
    report = plain(doctor)
    delivery = Delivery(here)
    if namespace.json:
        with delivery.part("printing JSON"):
            say(as_json(report), end="")
    _write_page(namespace, page, lambda: as_page(report, here, "taut view --run"), delivery)
    told = len(delivery.written)
    if namespace.tensorboard is not None:
        from tautograd._doctor.report.events_file import write_events

        with delivery.part("writing event files"):
            write_events(report, events, here)
            say_on(f"written: {os.path.relpath(events, here)}")
    send(report, delivery, here)
    for what in delivery.written[told:]:
        say_on(f"written: {what}")
    if delivery.is_lost:
        say_on(Lines(as_text(report, root=here)))
    ending.pass_on()
    if delivery.failed:
        return _COULD_NOT_RUN
    return _FINE if doctor.ok else _FOUND
