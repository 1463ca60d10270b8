"""Runs the verification recorded in an evidence file again, and compares.

What the user names is run. What only the file names is run if it is code of the project in the user's
current folder, defined there and unchanged since (`own_code`): all of that is decided before anything is
imported, and so is whether the file requests more time or memory than allowed (`limits`). Data files
and checkpoints are read only from the project, and never as code.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tautograd._evidence import inputs as given
from tautograd._evidence.causes import Comparison, compare
from tautograd._evidence.files import Path, read
from tautograd._evidence.gather import gather
from tautograd._evidence.job import DEFAULT_WRAPPER, Job, prepare, run
from tautograd._evidence.limits import check_arguments, check_limits, check_state
from tautograd._evidence.own_code import Own, check_companion, own_code
from tautograd._evidence.project_paths import own_path
from tautograd._evidence.refusals import CannotRun, EvidenceError, shown
from tautograd._evidence.tensors import check_values, decode
from tautograd._verify.subject.engines import engines, is_module
from tautograd._verify.subject.restore import set_streams, streams

_PASSED_ON = ("mode", "order", "probes", "wrt")
"""Settings of a report that are arguments of `verify`."""


@dataclass
class Changes:
    """What is to differ from the evidence."""

    engine: str | None = None
    seed: int | None = None
    inputs: str | None = None
    inputs_from: str | None = None
    inputs_file: str | None = None
    checkpoint: str | None = None


def replay(
    path: Path,
    target: Any = None,
    *,
    changes: Changes | None = None,
    inputs: given.Inputs | None = None,
    progress: Any = None,
) -> Comparison:
    """Replay an evidence file; `target` names the function (or is it) if the file may not."""
    before = read(path)
    job, subject = job_of(before, target, changes or Changes(), inputs)
    return again(before, job, subject, progress)


def again(before: dict[str, Any], job: Job, subject: Any, progress: Any = None) -> Comparison:
    """Run a job built from evidence, and compare the results."""
    kept = [(engine, streams(engine)) for engine in engines()]
    try:
        prepared = prepare(job, subject=subject)
        _set_stream(before["random"], prepared.engine, job)
        report = run(job, prepared, progress=progress)
        return compare(before, gather(report))
    finally:
        for engine, state in kept:  # the replaying program keeps its own random numbers
            set_streams(engine, state)


def job_of(
    before: dict[str, Any], target: Any, changes: Changes, inputs: given.Inputs | None = None
) -> tuple[Job, Any]:
    """The job for an evidence; with the function itself, if that was passed in."""
    subject = None if target is None or isinstance(target, str) else target
    name = target if isinstance(target, str) else None
    recorded = before["computation"]["target"]
    check_limits(before)
    own = own_target(before) if target is None else None
    settings = {key: value for key, value in before["settings"].items() if key in _PASSED_ON}
    settings["confirm"] = before["report"].get("confirmed") is not None
    settings["try_inputs"] = before["report"].get("tried") is not None
    seed = before["random"]["seed"] if changes.seed is None else changes.seed
    job = Job(
        target=name or (own.target if own else recorded) or "",
        # A module determines its engine, whatever the evidence was made with.
        engine=changes.engine or (None if is_module(subject) else before["computation"]["engine"]),
        seed=seed,
        settings=settings,
        inputs=changes.inputs,
        inputs_from=changes.inputs_from,
        inputs_file=changes.inputs_file,
        checkpoint=changes.checkpoint,
        init=before["computation"].get("init"),
        ranks=_ranks(before["settings"]),
        for_evidence=True,
        own=own,
    )
    if inputs is not None:
        job.stored = lambda engine: inputs
    else:
        _recorded_inputs(job, before)
    _recorded_model(job, before, subject)
    return job, subject


def _ranks(settings: dict[str, Any]) -> int | None:
    """The number of ranks on which the gradient was compared; only users may name the wrapper used there."""
    ranks: int | None = settings.get("ranks")
    if ranks is not None and settings.get("wrap") != DEFAULT_WRAPPER:
        raise CannotRun(
            f"the evidence was made on {ranks} ranks with a wrapper of its own, {shown(settings['wrap'])}: "
            "taut verify --ranks --wrap makes it again"
        )
    return ranks


# ---- what the file alone may name ----------------------------------------------------------------


def own_target(before: dict[str, Any]) -> Own:
    """The function that an evidence names, if it may run without the user naming it too."""
    computation = before["computation"]
    recorded, file, name = (computation[key] for key in ("target", "file", "name"))
    if not recorded or not name:
        raise CannotRun(
            "the evidence does not say what to import (a function inside another one, or typed at "
            "a prompt); name it: taut replay FILE pkg.mod:fn"
        )
    return own_code(file, name, computation["files"], recorded, "taut replay FILE")


# ---- inputs, parameters, random numbers ----------------------------------------------------------


def _recorded_inputs(job: Job, before: dict[str, Any]) -> None:
    if job.inputs is not None or job.inputs_from is not None or job.inputs_file is not None:
        return
    definition = before["data"]["definition"]
    kind = definition["kind"]
    if job.own is not None:
        called = job.own.definition.kind in ("function", "lambda")
        check_arguments(definition, job.own.say, called=called)
    if kind == "shapes":
        job.stored = _shapes(definition, job.seed)
    elif kind == "values":
        check_values(definition["values"], arguments=True)
        job.stored = _values(definition)
    elif kind == "file":
        job.inputs_file = own_path(definition["path"])
        if job.inputs_file is None:
            raise CannotRun(
                f"the inputs came from the file {shown(definition['path'])}, which is not in the project "
                "of the current folder; name it: --inputs-file FILE"
            )
    elif kind == "function" and not _beside(definition, before):
        job.own_maker = _own_maker(definition)
    elif kind == "given":
        raise CannotRun(
            "the evidence holds no inputs (they were too large, or no plain values); name a "
            "function that makes them: --inputs-from pkg.mod:make_inputs"
        )
    elif job.own is not None:
        check_companion(job.own)


def _own_maker(definition: dict[str, Any]) -> Own:
    """The function that made the inputs, if it may run without the user naming it."""
    recorded = definition["target"]
    name = recorded.rpartition(":")[2]
    maker = own_code(
        definition["file"], name, definition["files"], recorded, "taut replay FILE --inputs-from"
    )
    if maker.definition.kind not in ("function", "lambda") or maker.definition.needs:
        raise CannotRun(
            f"the inputs were made by '{shown(recorded)}', which is no function that can be called without "
            f"arguments; if you want to call it, name it: {maker.say}"
        )
    return maker


def _beside(definition: dict[str, Any], before: dict[str, Any]) -> bool:
    """Whether the inputs are made beside the function, where they are looked up automatically."""
    name = before["computation"]["name"] or ""
    made_by = definition["target"].rpartition(":")[2]
    return made_by in (f"{name}_inputs", f"{name.lower()}_inputs", f"{name}.inputs")


def _shapes(definition: dict[str, Any], seed: int) -> Callable[[Any], given.Inputs]:
    def make(engine: Any) -> given.Inputs:
        dtype = getattr(engine, definition["default_dtype"], None)
        if not isinstance(dtype, engine.dtype):
            raise CannotRun(f"'{definition['default_dtype']}' is not a dtype")
        return given.from_shapes(definition["text"], engine, seed, dtype)

    return make


def _values(definition: dict[str, Any]) -> Callable[[Any], given.Inputs]:
    def make(engine: Any) -> given.Inputs:
        args, kwargs = decode(definition["values"], engine)
        return given.Inputs(args, kwargs, definition)

    return make


def _recorded_model(job: Job, before: dict[str, Any], subject: Any) -> None:
    model = before["model"]
    if model is None:
        return
    if model["mode"] != "mixed":
        job.training = model["mode"] == "train"
    if job.checkpoint is None and model["checkpoint"] is not None:
        job.checkpoint = own_path(model["checkpoint"]["path"])
        if job.checkpoint is None:
            raise CannotRun(
                f"the parameters came from the file {shown(model['checkpoint']['path'])}, which is not in "
                "the project of the current folder; name it: --checkpoint FILE"
            )
    if subject is None and model["state"] is not None and job.checkpoint is None:
        state = model["state"]
        check_values(state)
        if state["kind"] != "dict":
            raise EvidenceError("the state of the model is no dictionary")
        if job.own is not None:
            check_state(state, job.own.say)
        job.stored_state = lambda engine: dict(decode(state, engine))


def _set_stream(random: dict[str, Any], engine: Any, job: Job) -> None:
    """Restore the random stream, for a computation that draws from it."""
    if random["state"] is None or job.seed != random["seed"]:
        return
    state = bytearray(base64.b64decode(random["state"]))
    try:
        engine.set_rng_state(engine.frombuffer(state, dtype=engine.uint8))
    except (RuntimeError, ValueError, TypeError):
        raise CannotRun("the evidence holds no random state that this engine can take") from None
