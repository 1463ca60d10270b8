"""One verification, as requested by the command line or an evidence file: prepared, then run."""

from __future__ import annotations

import ast
import contextlib
import importlib
import random
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import ModuleType
from typing import Any

import numpy as np

from tautograd._evidence import inputs as given
from tautograd._evidence.as_read import imported_as_read
from tautograd._evidence.canonical import sha256_of_file
from tautograd._evidence.gather import computation_of
from tautograd._evidence.observe import Observation, observe
from tautograd._evidence.on_ranks import verify_on_ranks
from tautograd._evidence.own_code import Own
from tautograd._evidence.refusals import CannotRun, shown
from tautograd._evidence.targets import Target, find, kind_of, load_module, origin_of
from tautograd._trees.nests import ANY_MAPPING as NESTS
from tautograd._verify.subject.engines import engine_of, engines, is_module, is_tensor, name_of

DEFAULT_WRAPPER = "DistributedDataParallel"


@dataclass
class Job:
    """What to verify, on what inputs, and how."""

    target: str
    engine: str | None = None
    inputs: str | None = None
    inputs_from: str | None = None
    inputs_file: str | None = None
    seed: int = 0
    training: bool | None = None
    checkpoint: str | None = None
    init: str | None = None
    """The arguments that a module's class is built with, as source text."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Passed on to `verify`: mode, order, probes, try_inputs."""
    ranks: int | None = None
    """The number of ranks on which the model's gradient must equal that of one."""
    wrap: str | None = None
    """The wrapper to use there instead of `DistributedDataParallel`: 'pkg.mod:fn'."""
    for_evidence: bool = False
    stored: Callable[[Any], given.Inputs] | None = None
    """Makes the inputs that an evidence file contains, on the given engine."""
    stored_state: Callable[[Any], dict[str, Any]] | None = None
    own: Own | None = None
    """The target, if only an evidence file names it."""
    own_maker: Own | None = None
    """The maker of the inputs, if only an evidence file names it."""


@dataclass
class Prepared:
    """A job with its function imported and its inputs made."""

    subject: Any
    inputs: given.Inputs
    observation: Observation
    engine: Any


class NoInputs(CannotRun):
    """A function's inputs are not specified anywhere."""


def prepare(job: Job, *, subject: Any = None) -> Prepared:
    """Import what a job names (unless it is passed in), build it, make its inputs, and observe everything."""
    owns = [own for own in (job.own, job.own_maker) if own is not None]
    with imported_as_read({own.path: own.source for own in owns}):
        return _prepared(job, subject)


def _prepared(job: Job, subject: Any) -> Prepared:
    seed_all(job.seed)
    module: ModuleType | None = None
    target = Target.parse(job.target) if job.target else None
    if subject is None:
        if target is None or not target.name:
            raise CannotRun(f"'{job.target}' names no function; write 'pkg.mod:fn'")
        if job.own is not None:
            module = job.own.load()
            subject = job.own.take(module)
        else:
            module = load_module(target)
            subject = find(module, target.name)
    named = subject = origin_of(subject)
    kind = kind_of(subject)
    engine = _engine(job, module, subject)
    seed_all(job.seed)
    if kind == "module class":
        subject = _build(subject, job.target, job.init)
    elif job.init is not None:
        raise CannotRun(
            f"--init: '{job.target}' is no class of nn.Module, so there is nothing to build"
        )
    elif kind == "autograd function":
        subject = subject.apply
    checkpoint = None
    if is_module(subject):
        if job.stored_state is not None:
            _load_state(subject, job.stored_state(engine), "the evidence")
        if job.checkpoint is not None:
            checkpoint = load_checkpoint(subject, job.checkpoint, engine)
        if job.training is not None:
            subject.train(job.training)
    made = _inputs(job, engine, module, target, named, subject)
    if job.own is not None and not is_module(subject):
        _check_is_about_tensors(job.own, made)
    seed_all(job.seed)
    observation = observe(subject, made.args, made.kwargs, engine=engine, seed=job.seed)
    observation.target = job.target or observation.target
    observation.kind = kind
    observation.source = named
    observation.definition = made.definition
    observation.checkpoint = checkpoint
    observation.init = job.init
    if job.for_evidence:
        observation.computation = computation_of(observation)
    return Prepared(subject, made, observation, engine)


def run(job: Job, prepared: Prepared, *, progress: Any = None) -> Any:
    """Verify what was prepared; the report includes what was observed before it."""
    from tautograd._verify.verify import verify

    settings = dict(job.settings)
    if progress is not None:
        settings["progress"] = progress
    started = time.perf_counter()
    shared = None
    if job.ranks is not None:  # before anything starts threads, which a fork does not copy
        shared = verify_on_ranks(prepared, job.ranks, _wrapper(job.wrap))
    report = verify(
        prepared.subject,
        prepared.inputs.args,
        kwargs=prepared.inputs.kwargs or None,
        seed=job.seed,
        name=settings.pop("name", None) or job.target or None,
        **settings,
    )
    if shared is not None:
        report.checks.append(shared.check)
        report.settings["ranks"] = job.ranks
        report.settings["wrap"] = job.wrap or DEFAULT_WRAPPER
        prepared.observation.distributed = shared.topology
        if shared.check.verdict == "wrong":
            report.verdict = "wrong"
    prepared.observation.seconds = time.perf_counter() - started
    report.observed = prepared.observation
    return report


def _wrapper(named: str | None) -> Callable[[Any], Any] | None:
    """The function that wraps a model on each rank."""
    if named is None:
        return None
    target = Target.parse(named)
    if not target.name:
        raise CannotRun(f"--wrap: '{named}' names no function; write 'pkg.mod:fn'")
    found: Callable[[Any], Any] = find(load_module(target), target.name)
    return found


def seed_all(seed: int) -> None:
    """Seed every generator that code may draw from."""
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002  (the generator that the user's code may use)
    for engine in engines():
        engine.manual_seed(seed)


# ---- the engine ----------------------------------------------------------------------------------


def _engine(job: Job, module: ModuleType | None, subject: Any) -> Any:
    """The engine to make inputs with: as requested, else the one the code uses."""
    if job.engine is not None:
        try:
            return importlib.import_module(job.engine)
        except ImportError:
            raise CannotRun(f"--engine {job.engine}: it is not installed") from None
    for found in _engines_used_by(subject, module):
        return found
    return engines()[-1] if engines() else importlib.import_module("tautograd")


def _engines_used_by(subject: Any, module: ModuleType | None) -> Iterator[Any]:
    if is_module(subject) or is_tensor(subject):
        yield engine_of([subject])
    for base in getattr(subject, "__mro__", ()):
        yield from (e for e in engines() if base.__module__.partition(".")[0] == e.__name__)
    names = vars(module) if module is not None else getattr(subject, "__globals__", {})
    for value in list(names.values()):
        top = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", "")
        yield from (e for e in engines() if str(top).partition(".")[0] == e.__name__)
        if is_tensor(value) or is_module(value):
            yield engine_of([value])


# ---- modules -------------------------------------------------------------------------------------


def _build(cls: Any, target: str, init: str | None) -> Any:
    args, kwargs = arguments_of(init) if init is not None else ((), {})
    try:
        return cls(*args, **kwargs)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        if init is not None:
            raise CannotRun(f"--init: '{target}' cannot be built with ({init}): {error}") from None
        raise CannotRun(
            f"'{target}' cannot be built without arguments ({error}); give them: --init n=4,m=3; or "
            "name an instance, or a function that uses one"
        ) from None


def arguments_of(text: str) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of a call from source text: numbers, strings, lists of them; nothing is run."""
    try:
        call = ast.parse(f"_({text})", mode="eval").body
        assert isinstance(call, ast.Call)
        args = tuple(ast.literal_eval(arg) for arg in call.args)
        kwargs = {word.arg or "**": ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, AssertionError, RecursionError, MemoryError):
        args, kwargs = (), {"**": None}
    if "**" in kwargs:
        raise CannotRun(
            f"--init: '{shown(text)}' are no arguments; they are written as in a call, with plain "
            "values: n=4,bias=False,name='relu'"
        )
    return args, kwargs


def load_checkpoint(module: Any, path: str, engine: Any) -> dict[str, Any]:
    """Load parameters into a module from a file, and report which file it was."""
    try:
        digest = sha256_of_file(path)
        if path.endswith(".safetensors"):
            package = (
                "tautograd.safetensors" if name_of(engine) == "tautograd" else "safetensors.torch"
            )
            state = importlib.import_module(package).load_file(path)
        else:
            state = engine.load(path, weights_only=True)
    except FileNotFoundError:
        raise CannotRun(f"--checkpoint: there is no file '{path}'") from None
    except Exception as error:
        raise CannotRun(f"--checkpoint: '{path}' cannot be loaded: {error}", lines=True) from error
    for key in ("state_dict", "model_state_dict", "model"):
        if isinstance(state, dict) and isinstance(state.get(key), dict):
            state = state[key]
    _load_state(module, state, f"--checkpoint: '{path}'")
    return {"path": given.recorded_path(path), "sha256": digest}


def _load_state(module: Any, state: Any, origin: str) -> None:
    try:
        module.load_state_dict(state)
    except (RuntimeError, TypeError, AttributeError) as error:
        raise CannotRun(f"{origin} does not fit the module: {error}", lines=True) from None


def _dtype_of(subject: Any) -> Any:
    """The dtype a module computes in, by its first floating-point parameter."""
    if is_module(subject):
        with contextlib.suppress(StopIteration):
            return next(p.dtype for p in subject.parameters() if p.is_floating_point())
    return None


# ---- inputs --------------------------------------------------------------------------------------


def _inputs(
    job: Job,
    engine: Any,
    module: ModuleType | None,
    target: Target | None,
    named: Any,
    subject: Any,
) -> given.Inputs:
    if job.inputs is not None:
        return given.from_shapes(job.inputs, engine, job.seed, _dtype_of(subject))
    if job.own_maker is not None:
        maker = job.own_maker.take(job.own_maker.load())
        return given.from_maker(maker, job.own_maker.target, engine, job.seed)
    if job.inputs_from is not None:
        return given.from_function(job.inputs_from, engine, job.seed)
    if job.inputs_file is not None:
        return given.from_file(job.inputs_file, engine)
    if job.stored is not None:
        return job.stored(engine)
    name = target.name if target else ""
    home = module or sys.modules.get(getattr(named, "__module__", None) or "")
    if home is not None and name:
        found = given.companion(home, name, named)
        if found is not None:
            where = f"{target.where}:{found[0]}" if target else found[0]
            if job.own is not None:
                job.own.check_maker(found[1], where)
            return given.from_maker(found[1], where, engine, job.seed)
    shapes = given.annotated(named)
    if shapes is not None:
        return given.from_shapes(shapes, engine, job.seed, _dtype_of(subject))
    raise NoInputs(
        f"nothing says what the inputs of '{job.target}' are. Say their shapes: --inputs "
        f"3x4:float64,5; or name a function that makes them: --inputs-from pkg.mod:make_inputs; or "
        f"write one beside it: def {name or 'fn'}_inputs(): return (torch.randn(3, 4),)"
    )


def _check_is_about_tensors(own: Own, made: given.Inputs) -> None:
    """Refuse to call a function that only an evidence file names unless it gets a tensor."""
    values = NESTS.named_leaves([*made.args, *made.kwargs.values()], "")
    if not any(is_tensor(value) for _, value in values):
        raise CannotRun(
            "the evidence would call a function of yours without any tensor, so it is about no "
            f"gradient; if you want that, name the function: {own.say}"
        )


def has_inputs(module: ModuleType, name: str) -> bool:
    """Whether a function's inputs are specified without being passed in."""
    subject = getattr(module, name)
    return (
        given.companion(module, name, subject) is not None or given.annotated(subject) is not None
    )
