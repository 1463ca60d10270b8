"""The content of an evidence file, from what was observed before a run and what it reported."""

from __future__ import annotations

import base64
import datetime as dt
import os
from typing import Any

import numpy as np

from tautograd._evidence import sources
from tautograd._evidence.canonical import sha256, sha256_of
from tautograd._evidence.commit import git_of
from tautograd._evidence.files import FORMAT
from tautograd._evidence.observe import Observation, observe, stored_inputs, stored_state
from tautograd._evidence.runtime import peak_memory, runtime_of
from tautograd._evidence.schema import VERSION
from tautograd._evidence.tensors import describe
from tautograd._report.plain import plain
from tautograd._verify.report.assurance import assurance_of
from tautograd._verify.subject.engines import name_of
from tautograd._version import __version__


def gather(report: Any) -> dict[str, Any]:
    """The evidence for a report, without its digest."""
    if report.subject is None:
        raise ValueError("report: it does not know what was verified, so it cannot be evidence")
    observation = report.observed or _observed_late(report)
    engine = observation.engine
    return {
        "format": FORMAT,
        "version": VERSION,
        "made": {"at": _now(), "by": f"tautograd {__version__}"},
        "verdict": report.verdict,
        "computation": observation.computation or computation_of(observation),
        "data": {"definition": observation.definition, "inputs": observation.inputs},
        "random": _random(observation, report),
        "model": _model(observation, named=report.observed is not None),
        "runtime": {
            **_runtime(observation),
            "as_torch": _stands_for_torch(engine),
            "seconds": observation.seconds,
            "peak_memory": peak_memory(),
        },
        "settings": plain(report.settings),
        "figures": {
            "checks": [_figure(check) for check in report.checks],
            "outputs": [describe(tensor, name) for name, tensor in report.subject.outputs],
            "gradients": gradients(report, observation.seed),
            "others": plain(report.figures),
        },
        "report": {**plain(report), "assurance": _assurance(report)},
    }


def _runtime(observation: Observation) -> dict[str, Any]:
    found = runtime_of(observation.engine)
    return {**found, "distributed": observation.distributed or found["distributed"]}


def _assurance(report: Any) -> dict[str, Any]:
    """What the report is worth, in numbers for a machine and in words for an auditor."""
    return {**plain(assurance_of(report)), "in_words": report.assurance()}


def _now() -> str:
    now = dt.datetime.now(dt.UTC)
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def _observed_late(report: Any) -> Observation:
    """The observation for a `verify` call in a program: its arguments, which it left unmodified."""
    subject = report.subject
    seed = report.settings.get("seed", 0)
    observation = observe(
        subject.target, subject.args, subject.kwargs, engine=subject.engine, seed=seed
    )
    observation.definition = stored_inputs(subject.args, subject.kwargs)
    return observation


def computation_of(observation: Observation) -> dict[str, Any]:
    """The code of what was observed, as a section of evidence."""
    file = sources.file_of(observation.source)
    root = sources.project_root(file) if file else None
    files = sources.code_of(file, root)
    installed = file is not None and sources.is_installed(file)
    own = None
    if file is not None and root is not None:
        own = files[0]["path"] if installed else sources.relative(file, root)
    built = {} if observation.init is None else {"init": observation.init}
    return {
        "target": observation.target,
        **built,
        "kind": observation.kind,
        "engine": name_of(observation.engine),
        "file": own,
        "name": _name_in_file(observation),
        "text_sha256": sources.text_hash(observation.source),
        "files": files,
        "files_sha256": sha256_of([{k: row[k] for k in ("path", "sha256")} for row in files]),
        "git": None if installed else git_of(root, [row["path"] for row in files]),
    }


def _name_in_file(observation: Observation) -> str | None:
    """The name within the file: the part after the colon."""
    if observation.target is None:
        return None
    return observation.target.rpartition(":")[2]


def _random(observation: Observation, report: Any) -> dict[str, Any]:
    draws = bool(getattr(report.subject, "is_random", False))
    found: dict[str, Any] = {
        "seed": observation.seed,
        "draws": draws,
        "state_sha256": observation.random_state,
        "state": None,
    }
    if draws:  # kept whole: the same numbers can then be drawn again in any replay
        state = report.subject._state.rng.numpy().tobytes()
        found["state"] = base64.b64encode(state).decode("ascii")
        found["state_sha256"] = {**observation.random_state, "engine": sha256(state)}
    return found


def _model(observation: Observation, *, named: bool) -> dict[str, Any] | None:
    if observation.model is None:
        return None
    # What a target names is imported and rebuilt; what a program built is not.
    state = None if named else stored_state(observation.subject)
    return {**observation.model, "checkpoint": observation.checkpoint, "state": state}


def _stands_for_torch(engine: Any) -> bool:
    import sys

    known = getattr(sys.modules.get("torch"), "Tensor", None)
    return name_of(engine) == "tautograd" and known is engine.Tensor


def _figure(check: Any) -> dict[str, Any]:
    return {
        "reference": check.reference,
        "compares": check.compares,
        "entries": check.entries,
        "error": plain(float(check.error)),
        "tolerance": plain(float(check.tolerance)),
        "verdict": check.verdict,
    }


def gradients(report: Any, seed: int) -> list[dict[str, Any]]:
    """Hash and size of each leaf's gradient, for one seeded cotangent of all outputs."""
    subject = report.subject
    count = sum(int(t.numel()) * (2 if t.is_complex() else 1) for _, t in subject.outputs)
    cotangent = np.random.default_rng(seed).standard_normal((1, count))
    row = subject.gradients(subject.row, cotangent)[0]
    probe = np.random.default_rng([seed, 1]).choice([-1.0, 1.0], size=row.shape)
    found = []
    for leaf in subject.leaves:
        part = row[leaf.start : leaf.start + leaf.reals]
        signs = probe[leaf.start : leaf.start + leaf.reals]
        with np.errstate(all="ignore"):
            found.append(
                {
                    "name": leaf.name,
                    "shape": list(leaf.tensor.shape),
                    "dtype": str(leaf.tensor.dtype).rpartition(".")[2],
                    "sha256": sha256(np.ascontiguousarray(part, "<f8").tobytes()),
                    "norm": plain(float(np.linalg.norm(part))),
                    "largest": plain(float(np.max(np.abs(part), initial=0.0))),
                    "projection": plain(float(np.sum(part * signs))),
                }
            )
    return found


def default_path(target: str) -> str:
    """A default file name for a target's evidence, where several are written to one folder."""
    kept = "".join(c if c.isalnum() or c in "._-" else "-" for c in target.replace(os.sep, "-"))
    return kept.strip(".-") + ".json"
