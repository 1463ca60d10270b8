"""`taut doctor`: runs a training script unmodified, and reports where it updates wrongly."""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import os
import sys
from typing import TYPE_CHECKING, Any

from tautograd._cli import as_torch, runner
from tautograd._cli.delivery import Delivery, say_on
from tautograd._cli.progress import Saying
from tautograd._cli.script_options import add_script, positive, require_script
from tautograd._cli.sending import Sending, check_trackers
from tautograd._cli.watched import process_kept, run_watched, stdout_kept_for
from tautograd._files.destinations import PAGE, SARIF
from tautograd._files.terminal import say, warn

if TYPE_CHECKING:
    from tautograd._doctor.config import Config
    from tautograd._doctor.doctor import Doctor

SUMMARY = "run a training script, unchanged, and report where it updates wrongly"
EXAMPLE = """\
examples:
  taut doctor train.py --epochs 3            on the engine that the script imports
  taut doctor --steps 50 train.py            stops after 50 optimizer steps
  taut doctor --html page.html train.py      findings and the history of every parameter
  taut doctor --live train.py                the same while it trains, as a page on this machine
  taut doctor --json broken.py > was.json    then, beside the fixed one on one page:
  taut doctor --html page.html --beside was.json mended.py
  taut doctor --diff train.py                fixes, each tried before it is shown
  taut doctor --deep train.py                does it learn at all? experiments on copies
  taut doctor --as-torch -m package.train    'import torch' means tautograd
  taut doctor --ranks 4 train.py             on four ranks, and what one of them does differently
  taut doctor --explain TG101                what a finding means; --list shows all

Options of taut come before the script; everything after it belongs to the script. The report goes to
stderr, after the script's own output. With --json it goes to stdout, and the script's stdout
goes to stderr. A report that cannot be written to the requested file goes to a temporary file, or is
printed. Exit status: 0 nothing found, 1 findings, 2 could not run or the report could not be written,
3 the script failed (a status above 1 that it chose itself is kept)."""

_FINE, _FOUND, _COULD_NOT_RUN = 0, 1, 2


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `taut doctor`."""
    parser.usage = "taut doctor [options] (script.py | -m module) [arguments ...]"
    add = parser.add_argument
    add("--steps", type=positive, metavar="N", help="stop after N optimizer steps")
    add(
        "--look-at",
        type=positive,
        metavar="N",
        help="look closely at step N and the next ones, however late",
    )
    add("--select", metavar="CODES", help="only these: TG101,TG4 (prefixes and names work)")
    add("--ignore", metavar="CODES", help="all but these")
    add("--json", action="store_true", help="print JSON on stdout, instead of text on stderr")
    add("--sarif", metavar="FILE", help="write SARIF for CI systems")
    add("--html", metavar="FILE", help="write a page with the findings and plots")
    add(
        "--beside",
        metavar="REPORT",
        help="also show another run on the page: its JSON from --json",
    )
    add(
        "--force",
        action="store_true",
        help="let --sarif and --html replace files that tautograd did not make",
    )
    add("--live", action="store_true", help="serve the page on this machine while the script runs")
    add("--tensorboard", metavar="DIR", help="write the history as event files for TensorBoard")
    add(
        "--wandb",
        metavar="PROJECT",
        help="send the history to Weights & Biases, as a new run",
    )
    add("--mlflow", metavar="EXPERIMENT", help="the same for MLflow")
    add(
        "--diff",
        action="store_true",
        help="show fixes for the findings, each tried in a separate run",
    )
    add("--fix", action="store_true", help="write the fixes into the script's files")
    add(
        "--deep",
        action="store_true",
        help="experiments on copies: overfit one batch, other learning rates, shuffled labels",
    )
    add("--github", action="store_true", help="also print annotations for GitHub on stdout")
    add(
        "--ranks",
        type=positive,
        metavar="N",
        help="run the script on N ranks; report what is wrong on each and what differs",
    )
    add("--quiet", action="store_true", help="print no report; rely on the exit status")
    add("--explain", metavar="CODE", help="only print the page of a rule")
    add("--list", action="store_true", help="only list all rules")
    add_script(parser)


def execute(namespace: argparse.Namespace) -> int:
    """Execute the command."""
    parser: argparse.ArgumentParser = namespace.parser
    if namespace.list or namespace.explain is not None:
        return _explain(namespace)
    require_script(namespace)
    if namespace.ranks is not None:
        from tautograd._cli.doctor import ranks

        return ranks.execute(namespace)
    from tautograd._doctor.config import ConfigError
    from tautograd._doctor.report.events_file import NoWriter
    from tautograd._doctor.report.rule_pages import UnknownRule

    try:
        doctor = doctor_for(namespace)
        _check_paths(namespace)
    except (ConfigError, UnknownRule, NoWriter, OSError) as reason:
        parser.error(str(reason))
    if namespace.as_torch:
        as_torch.install(for_child_processes=True)
    root = os.getcwd()  # the script may change the folder
    output = _Output(namespace, root)
    fixing = _fixing(namespace, root)
    live = _live(namespace, doctor, root)
    try:
        with live, process_kept(), stdout_kept_for(namespace.json):
            ending = run_watched(doctor, namespace.target, is_module=namespace.is_module)
    except runner.NothingToRun as reason:
        parser.error(str(reason))
    is_told = output.tell(doctor)
    is_mended = fixing.offer(doctor) if fixing is not None and ending.error is None else False
    ending.pass_on()
    if not is_told:
        return _COULD_NOT_RUN
    return _FINE if doctor.ok or (is_mended and namespace.fix) else _FOUND


def _live(namespace: argparse.Namespace, doctor: Doctor, root: str) -> Any:
    """The page of the run, served while it continues, if requested."""
    if not namespace.live:
        return contextlib.nullcontext()
    from tautograd._cli.doctor.live import serving

    return serving(doctor, root)


def _fixing(namespace: argparse.Namespace, root: str) -> Any:
    """The object that tries changes, if requested; loaded before the script runs."""
    if not (namespace.diff or namespace.fix):
        return None
    from tautograd._cli.doctor.fixing import Fixing

    importlib.import_module("tautograd._doctor.fixes.offer")
    return Fixing(namespace, root)


def _explain(namespace: argparse.Namespace) -> int:
    from tautograd._doctor.ranks.pages import PAGES, explained
    from tautograd._doctor.report.rule_pages import UnknownRule, list_text, rule_called, rule_text
    from tautograd._report.colour import wants_colour

    try:
        if namespace.list:
            say(list_text(colour=wants_colour()))
            say("\nAcross ranks (taut doctor --ranks N):")
            say("\n".join(f"{code}  {name}" for code, (name, _) in PAGES.items()))
        elif (page := explained(namespace.explain)) is not None:
            say(page)
        else:
            say(rule_text(rule_called(namespace.explain), colour=wants_colour()))
    except UnknownRule as reason:
        namespace.parser.error(str(reason))
    return _FINE


def doctor_for(namespace: argparse.Namespace) -> Doctor:
    """A doctor with the settings of the command line, which take precedence, and pyproject.toml."""
    from tautograd._doctor.config import find_config
    from tautograd._doctor.doctor import Doctor
    from tautograd._doctor.report.inline_ignores import ignored_by_comment
    from tautograd._doctor.report.rule_pages import codes_of

    folder = "." if namespace.is_module else os.path.dirname(namespace.target[0]) or "."
    config: Config = find_config(folder)

    def codes(option: str | None, configured: tuple[str, ...]) -> tuple[str, ...]:
        return configured if option is None else codes_of(option.split(","))

    doctor = Doctor(
        select=codes(namespace.select, config.select),
        ignore=codes(namespace.ignore, config.ignore),
        steps=config.steps if namespace.steps is None else namespace.steps,
        look_at=namespace.look_at,
        engines=(),
        deep=namespace.deep,
    )
    doctor.say_deep = Saying(quiet=namespace.quiet)
    doctor.is_ignored = lambda finding: ignored_by_comment(finding) or config.leaves_out(finding)
    return doctor


def _check_paths(namespace: argparse.Namespace) -> None:
    """Before a long run: reject files that could not be written after it."""
    from tautograd._files.destinations import PAGE, SARIF, check, check_apart

    for path, kind in ((namespace.sarif, SARIF), (namespace.html, PAGE)):
        if path is not None:
            check(path, kind, force=namespace.force)
    check_apart(namespace.sarif, namespace.html)
    if namespace.beside is not None:
        from tautograd._doctor.report.two_runs import NotAReport, read_report

        if namespace.html is None:
            raise NotAReport("--beside is for --html")
        try:
            namespace.other = read_report(namespace.beside)
        except NotAReport:
            raise
        except OSError as reason:
            raise NotAReport(
                f"--beside: cannot read '{namespace.beside}': {reason.strerror}"
            ) from None
    if namespace.tensorboard is not None:
        from tautograd._doctor.report.events_file import check_folder

        check_folder(namespace.tensorboard)
    check_trackers(namespace)


class _Output:
    """Where the script's output goes, and where the report goes."""

    def __init__(self, namespace: argparse.Namespace, root: str) -> None:
        # Imported before the script runs: afterwards there may be no memory, no descriptor and no
        # search path left for it.
        from tautograd._doctor.report.events_file import write_events
        from tautograd._doctor.report.page import as_page
        from tautograd._doctor.report.render_text import as_text
        from tautograd._doctor.report.report import as_json, plain
        from tautograd._doctor.report.sarif import as_sarif, github_lines
        from tautograd._report.colour import wants_colour

        self._plain, self._as_json, self._as_text = plain, as_json, as_text
        self._as_page, self._as_sarif, self._github_lines = as_page, as_sarif, github_lines
        self._write_events, self._wants_colour = write_events, wants_colour
        self._wanted = namespace
        self._root = root
        self._send = Sending(namespace)
        # The script may change the folder.
        self._sarif, self._html, self._events = (
            os.path.abspath(path) if path is not None else ""
            for path in (namespace.sarif, namespace.html, namespace.tensorboard)
        )

    def tell(self, doctor: Doctor) -> bool:
        """Print the report and write the files; False if something could not be written where requested."""
        with contextlib.suppress(Exception):
            sys.stdout.flush()
        delivery = Delivery(self._root)
        report = delivery.made("the report", lambda: self._plain(doctor))
        if report is None:
            _say_findings(doctor)
            return False
        if self._wanted.github:
            with delivery.part("printing annotations"):
                for line in self._github_lines(report, self._root):
                    say(line)
        if self._wanted.json:
            with delivery.part("printing JSON"):
                say(self._as_json(report), end="")
        elif not self._wanted.quiet:
            self._say_report(doctor, report, delivery)
        self._write_files(report, delivery)
        if delivery.is_lost and (self._wanted.json or self._wanted.quiet):
            self._say_report(doctor, report, delivery)
        if not (self._wanted.json or self._wanted.quiet):
            for path in delivery.written:
                say_on(f"written: {path}")
        return not delivery.failed

    def _say_report(self, doctor: Doctor, report: dict[str, Any], delivery: Delivery) -> None:
        colour = self._wants_colour(sys.stderr)
        text = delivery.made(
            "its text", lambda: self._as_text(report, colour=colour, root=self._root)
        )
        if text is None:
            _say_findings(doctor)
            return
        with delivery.part("printing the report"):
            warn(f"\n{text}")

    def _write_files(self, report: dict[str, Any], delivery: Delivery) -> None:
        root, force = self._root, self._wanted.force
        if self._sarif:
            delivery.file(self._sarif, lambda: self._as_sarif(report, root), SARIF, force=force)
        if self._html:
            other = getattr(self._wanted, "other", None)
            page = functools.partial(self._as_page, report, root, other=other)
            delivery.file(self._html, page, PAGE, force=force)
        if self._events:
            with delivery.part("writing event files"):
                self._write_events(report, self._events, root)
                delivery.written.append(os.path.relpath(self._events, root))
        self._send(report, delivery, root)


def _say_findings(doctor: Doctor) -> None:
    """The fallback if no report can be made of it."""
    for finding in doctor.findings:
        say_on(f"{finding.code} {finding.name}: {finding.message!r}")
