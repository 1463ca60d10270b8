"""`taut verify`: checks the gradients of functions and modules, and writes evidence of it."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tautograd._cli import as_torch
from tautograd._cli.delivery import say_on
from tautograd._cli.inputs_options import add_engine, add_inputs
from tautograd._cli.progress import Progress
from tautograd._cli.verify import watch
from tautograd._cli.verify.results import Result, show
from tautograd._files import destinations
from tautograd._files.printable import printable
from tautograd._files.terminal import Lines

if TYPE_CHECKING:
    from tautograd._evidence.job import Job

SUMMARY = "check the gradient of a function or module; locate errors; write evidence"
EXAMPLE = """\
examples:
  taut verify pkg.mod:fn --inputs 3x4:float64,5
  taut verify layers.py:Block --inputs 8x16 --order 2      a class of nn.Module, built without arguments
  taut verify layers.py:Layer --init n=4,m=3 --inputs 8x4  the same, built as Layer(n=4, m=3)
  taut verify pkg.mod:fn --inputs x=3x4,mask=3:bool        inputs by keyword
  taut verify pkg.mod:fn --inputs-from pkg.data:make_inputs --evidence fn.json
  taut verify --engine tautograd model.py:Net --inputs 2x3 'import torch' in it means tautograd
  taut verify net.py:Net --inputs 8x3 --ranks 4            wrapped, on four ranks as on one
  taut verify pkg.mod                                      all of a module whose inputs are known

No option is needed if 'fn_inputs' is defined beside 'fn' (a function that returns the inputs,
or the tuple itself), if fn has an attribute 'inputs', or if its signature is annotated:
def fn(x: Annotated[Tensor, "3x4"]). Exit status: 0 all correct, 1 not all,
2 a gradient could not be judged, or a requested file could not be written."""

_FINE, _FOUND, _COULD_NOT_RUN, _INTERRUPTED = 0, 1, 2, 130


def _seconds(text: str) -> float:
    """A time above 0."""
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number of seconds above 0")
    return seconds


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of `taut verify`."""
    parser.usage = "taut verify [options] (pkg.mod | file.py)[:fn] ..."
    parser.add_argument(
        "targets",
        nargs="+",
        metavar="TARGET",
        help="pkg.mod:fn or path/to/file.py:fn; a module or file alone means everything in it",
    )
    add_inputs(parser)
    add_engine(parser)
    parser.add_argument(
        "--init",
        metavar="ARGS",
        help="arguments to build the module's class with: n=4,bias=False",
    )
    parser.add_argument(
        "--seconds",
        type=_seconds,
        metavar="N",
        help="stop comparing after N seconds; report what was left out",
    )
    parser.add_argument(
        "--mode",
        choices=("auto", "full", "fast"),
        default="auto",
        help="the whole Jacobian, or random probes of it",
    )
    parser.add_argument(
        "--order",
        type=int,
        choices=(1, 2),
        default=1,
        help="2: also check the gradient's own gradient",
    )
    parser.add_argument("--probes", type=int, metavar="N", help="number of probes in fast mode")
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="seed of inputs, parameters and probes (default: 0)",
    )
    modes = parser.add_mutually_exclusive_group()
    modes.add_argument(
        "--train",
        dest="training",
        action="store_true",
        default=None,
        help="put the module in training mode",
    )
    modes.add_argument(
        "--eval", dest="training", action="store_false", help="put the module in evaluation mode"
    )
    parser.add_argument(
        "--try-inputs", action="store_true", help="also try boundary, empty and invalid inputs"
    )
    parser.add_argument(
        "--ranks",
        type=int,
        metavar="N",
        help="also check that the wrapped model's gradient on N ranks equals that on one",
    )
    parser.add_argument(
        "--wrap",
        metavar="pkg.mod:fn",
        help="what wraps the model on each rank (default: DistributedDataParallel)",
    )
    parser.add_argument(
        "--evidence",
        metavar="FILE",
        help="write evidence (several targets: a folder, one file each)",
    )
    parser.add_argument(
        "--sign",
        metavar="KEY",
        help="sign the evidence with this SSH key (ssh-keygen -Y); the signature is FILE.sig",
    )
    parser.add_argument(
        "--summary",
        metavar="FILE",
        nargs="?",
        const="",
        help="append a Markdown summary to FILE (default: GitHub Actions' job summary)",
    )
    parser.add_argument("--badge", metavar="FILE", help="write a badge for shields.io")
    watch.configure(parser)
    parser.add_argument("--html", metavar="FILE", help="write the report as a page")
    parser.add_argument("--force", action="store_true", help="overwrite existing files")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument(
        "--quiet", action="store_true", help="print nothing; rely on the exit status"
    )


def execute(namespace: argparse.Namespace) -> int:
    """Verify what the command line names."""
    parser: argparse.ArgumentParser = namespace.parser
    watch.check(namespace)
    if watch.stays(namespace):
        namespace.root = os.getcwd()
        return watch.go_on(namespace, namespace.arguments)
    if namespace.engine == "tautograd":
        as_torch.install(for_child_processes=True)
    from tautograd._evidence.refusals import CannotRun

    namespace.root = os.getcwd()  # the code may change the folder
    progress = Progress(quiet=namespace.quiet)
    results: list[Result] = []
    try:
        with _own_output(namespace):
            targets = list(_targets(namespace))
            _check_paths(namespace, targets)
            for number, target in enumerate(targets, 1):
                results.append(_verify(namespace, target, progress, number, len(targets)))
    except (CannotRun, OSError) as reason:
        progress.clear()
        parser.error(Lines(reason) if isinstance(reason, CannotRun) else str(reason))
    except KeyboardInterrupt:
        progress.clear()
        if results:  # those before it are done
            show(namespace, results, alone=False)
        say_on("interrupted; no evidence of what was under way")
        return _INTERRUPTED
    if not show(namespace, results, alone=_is_alone(namespace)):
        return _COULD_NOT_RUN
    statuses = {result.status for result in results}
    if statuses & {"wrong", "cut"}:
        return _FOUND
    found_out = "correct" in statuses and not statuses & {"unclear", "could not run"}
    return _FINE if found_out else _COULD_NOT_RUN


@contextlib.contextmanager
def _own_output(namespace: argparse.Namespace) -> Iterator[None]:
    """Redirect the user code's output to stderr if stdout is to be JSON."""
    if namespace.json:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    else:
        yield


# ---- which ones ----------------------------------------------------------------------------------


def _targets(namespace: argparse.Namespace) -> Iterator[str]:
    """The functions to verify: those named, and those in the named modules."""
    from tautograd._evidence.refusals import CannotRun
    from tautograd._evidence.targets import Target, load_module, public_names

    for text in namespace.targets:
        target = Target.parse(text)
        if target.name:
            yield text
            continue
        names = public_names(load_module(target))
        if not names:
            raise CannotRun(
                f"'{text}' defines no function and no module; name one: {text}:fn "
                "(what begins with an underscore, or is imported from elsewhere, is left out)"
            )
        yield from (f"{text}:{name}" for name in names)


def _is_alone(namespace: argparse.Namespace) -> bool:
    from tautograd._evidence.targets import Target

    return len(namespace.targets) == 1 and bool(Target.parse(namespace.targets[0]).name)


def _check_paths(namespace: argparse.Namespace, targets: list[str]) -> None:
    """Before any work: reject files that could not be written afterwards."""
    from tautograd._cli.verify.proof import check_summary
    from tautograd._evidence.files import may_write

    if namespace.ranks is not None and namespace.ranks < 2:
        namespace.parser.error(f"--ranks: {namespace.ranks} is below 2")
    if namespace.wrap is not None and namespace.ranks is None:
        namespace.parser.error("--wrap: on how many ranks? (--ranks N)")
    if namespace.sign is not None and namespace.evidence is None:
        namespace.parser.error("--sign: there is nothing to sign; say where: --evidence FILE")
    if namespace.sign is not None and not os.path.isfile(namespace.sign):
        namespace.parser.error(f"--sign: there is no key '{printable(namespace.sign)}'")
    if namespace.summary == "":
        namespace.summary = os.environ.get("GITHUB_STEP_SUMMARY", "")
        if not namespace.summary:
            namespace.parser.error("--summary: name a file; GitHub Actions has not said one")
    elif namespace.summary is not None:
        check_summary(namespace.summary, force=namespace.force)
    if namespace.badge is not None:
        destinations.check(namespace.badge, destinations.BADGE, force=namespace.force)
    if namespace.evidence is not None:
        if not _is_alone(namespace):
            os.makedirs(namespace.evidence, exist_ok=True)
        for target in targets:
            path = _evidence_path(namespace, target)
            destinations.check(path, destinations.EVIDENCE, force=True)
            may_write(path, overwrite=namespace.force)
            if namespace.sign is not None:
                destinations.check(f"{path}.sig", destinations.SIGNATURE)
            if namespace.badge is not None:
                destinations.check_apart(path, namespace.badge)
    if namespace.html is not None:
        destinations.check(namespace.html, destinations.PAGE, force=True)
        may_write(namespace.html, overwrite=namespace.force)
        if namespace.evidence is not None:
            for target in targets:
                destinations.check_apart(_evidence_path(namespace, target), namespace.html)


def _evidence_path(namespace: argparse.Namespace, target: str) -> str:
    from tautograd._evidence.gather import default_path

    path: str = namespace.evidence
    return path if _is_alone(namespace) else os.path.join(path, default_path(target))


# ---- one of them ---------------------------------------------------------------------------------


def _job(namespace: argparse.Namespace, target: str) -> Job:
    from tautograd._evidence.job import Job

    settings: dict[str, Any] = {"mode": namespace.mode, "order": namespace.order}
    if namespace.probes is not None:
        settings["probes"] = namespace.probes
    if namespace.seconds is not None:
        settings["seconds"] = namespace.seconds
    if namespace.try_inputs:
        settings["try_inputs"] = True
    return Job(
        target=target,
        engine=namespace.engine,
        inputs=namespace.inputs,
        inputs_from=namespace.inputs_from,
        inputs_file=namespace.inputs_file,
        seed=namespace.seed,
        training=namespace.training,
        checkpoint=namespace.checkpoint,
        init=namespace.init,
        settings=settings,
        ranks=namespace.ranks,
        wrap=namespace.wrap,
        for_evidence=namespace.evidence is not None or namespace.watch,
    )


def _verify(
    namespace: argparse.Namespace, target: str, progress: Progress, number: int, total: int
) -> Result:
    from tautograd import evidence
    from tautograd._evidence.job import NoInputs, prepare, run
    from tautograd._evidence.refusals import CannotRun, EvidenceError

    alone = _is_alone(namespace)
    progress.begin(printable(target), number, total)
    job = _job(namespace, target)
    try:
        prepared = prepare(job)
        if namespace.watch:
            mark, files = watch.fingerprint(job, prepared), watch.files_of(prepared)
            known = watch.recalled(namespace, target, mark)
            if known is not None and _has_evidence(namespace, target, known):
                return known
        report = run(job, prepared, progress=progress)
    except NoInputs:
        if alone:
            raise
        return Result(target, "no inputs", error="nothing says what its inputs are")
    except (EvidenceError, CannotRun) as reason:
        if alone:
            raise
        return Result(target, "could not run", error=str(reason))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # code may raise a subclass of that alone
        if alone:
            raise CannotRun(why_not(target, error), lines=True) from error
        return Result(target, "could not run", error=why_not(target, error))
    finally:
        progress.clear()
    result = Result(target, report.verdict, report)
    if namespace.watch:
        watch.remember(namespace, result, mark, files)
    if namespace.evidence is not None:
        path = _evidence_path(namespace, target)
        try:
            whole = os.path.join(namespace.root, path)
            evidence.save(report, whole, overwrite=namespace.force)
            result.evidence = path
            if namespace.sign is not None:
                from tautograd._cli.verify.proof import sign

                sign(whole, os.path.join(namespace.root, namespace.sign))
        except (OSError, EvidenceError) as reason:  # the report still exists
            result.unsaved = f"'{path}': {destinations.reason(reason)}"
    return result


def _has_evidence(namespace: argparse.Namespace, target: str, known: Result) -> bool:
    """Whether the requested evidence already exists from an earlier run."""
    if namespace.evidence is None:
        return True
    known.evidence = _evidence_path(namespace, target)
    return os.path.isfile(os.path.join(namespace.root, known.evidence))


def why_not(target: str, error: BaseException) -> str:
    """Why a target could not be verified, with the responsible line of the user's code."""
    from tautograd._verify.locate.unimplemented import GradientMissing

    if isinstance(error, GradientMissing):
        return f"'{target}': {error}"
    return f"'{target}' cannot be run with these inputs: {what_happened(error)}"


def what_happened(error: BaseException) -> str:
    """An error of the user's code in one line, with the line that raised it."""
    from tautograd._evidence.refusals import said_by
    from tautograd._user_code.sites import raised_at

    at = raised_at(error)
    return f"{type(error).__name__}: {said_by(error)}{f' ({at.place})' if at else ''}"
