"""`compare_devices`: one computation on the CPU in float64, and on every device in lower precision.

Outputs and gradients are compared tensor by tensor, and for a module also step by step, to find the
first part whose result differs by more than its precision explains. That amount is measured: the
float64 run is repeated with inputs and parameters moved by one rounding of the lower precision.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..numerics.distances import Distance, allowance, distance, rounding, size_of
from ..subject.calls import Call, title_of
from ..subject.copies import moved_call
from ..subject.engines import as_numpy, engine_of, is_module
from ..subject.restore import Untouched
from ..subject.runs import error_line, pulled_back, run_once
from .device_table import DeviceRow, DeviceTable, Parting
from .module_steps import Trace, recording

_NUDGES = 3  # float64 runs from values moved by one rounding
_AS_THE_CPU = 8.0  # errors up to this many times the CPU's in the same precision are ignored


def accelerators(engine: Any) -> list[str]:
    """The devices other than the CPU on which the engine can compute here."""
    found = []
    if engine.cuda.is_available():
        found += [f"cuda:{i}" for i in range(engine.cuda.device_count())]
    mps = getattr(engine.backends, "mps", None)
    if mps is not None and mps.is_available():
        found.append("mps")
    xpu = getattr(engine, "xpu", None)
    if xpu is not None and xpu.is_available():
        found += [f"xpu:{i}" for i in range(xpu.device_count())]
    return found


def compare_devices(
    subject: Any,
    inputs: Any = (),
    *,
    devices: Iterable[str] | None = None,
    dtypes: Iterable[Any] | None = None,
    seed: int = 0,
) -> DeviceTable:
    """Run a function or module on each device, and compare outputs and gradients.

    `inputs` is a tensor, a tuple of arguments, or a dictionary of keyword arguments. `devices` defaults
    to the CPU and every available accelerator, `dtypes` to float32. Random numbers are seeded with
    `seed` before each run; the streams differ between kinds of device.
    """
    if not callable(subject):
        raise TypeError(f"subject: a function or a module is needed, not {type(subject).__name__}")
    by_name = isinstance(inputs, Mapping)
    call = Call(subject, () if by_name else inputs, inputs if by_name else None)
    engine = engine_of([*call.tensors().values(), *([subject] if is_module(subject) else [])])
    found = accelerators(engine)
    chosen = _devices(engine, devices, found)
    kinds = _dtypes(engine, dtypes)
    for device in chosen:
        engine.zeros((), device=device)  # creates the device's random stream, to be restored
    with Untouched(engine, subject, call.args, call.kwargs), engine.enable_grad():
        reference = _run(engine, call, "cpu", engine.float64, seed)
        table = DeviceTable(title_of(subject), [], [])
        if reference.error:
            table.notes.append(f"On the CPU in float64 it fails: {reference.error}")
            table.rows.append(_failed("cpu", engine.float64, reference.error))
            return table
        if devices is None and not found:
            table.notes.append(
                "There is no accelerator here: only precisions of the CPU were compared."
            )
        for dtype in kinds:
            cpu_errors: dict[str, float] = {}
            epsilon = _epsilon(engine, dtype)
            moved = [
                _run(engine, call, "cpu", engine.float64, seed, nudge=epsilon, nudge_seed=i)
                for i in range(_NUDGES)
            ]
            for device in chosen:
                table.devices.append(f"{device} {_name(dtype)}")
                trace = _run(engine, call, device, dtype, seed)
                _compare(engine, table, reference, moved, trace, cpu_errors)
    return table


def _devices(engine: Any, given: Iterable[str] | None, found: list[str]) -> list[str]:
    if given is None:
        return ["cpu", *found]
    names = [given] if isinstance(given, str) else list(given)
    for name in names:
        device = engine.device(name)
        kinds = {known.partition(":")[0] for known in found}
        there_is = str(device) in found if device.index is not None else device.type in kinds
        if device.type != "cpu" and not there_is:
            there = ", ".join(["cpu", *found])
            raise ValueError(f"devices: there is no {name} here, only {there}")
    return [str(name) for name in names]


def _dtypes(engine: Any, given: Iterable[Any] | None) -> list[Any]:
    kinds = [engine.float32] if given is None else list(given)
    for kind in kinds:
        if not isinstance(kind, engine.dtype) or not kind.is_floating_point:
            raise TypeError(
                f"dtypes: floating-point dtypes of {engine.__name__} are needed: {kind}"
            )
    return kinds


def _name(dtype: Any) -> str:
    return str(dtype).rpartition(".")[2]


def _epsilon(engine: Any, dtype: Any) -> float:
    return float(engine.finfo(dtype).eps)


def _run(
    engine: Any,
    call: Call,
    device: str,
    dtype: Any,
    seed: int,
    *,
    nudge: float = 0.0,
    nudge_seed: int = 0,
) -> Trace:
    """Outputs and gradients on one device; `nudge` moves the values by that relative step."""
    trace = Trace(device, dtype)
    try:
        copied = moved_call(engine, call, device, dtype)
        if nudge:
            copied = _nudged(engine, copied, nudge, nudge_seed)
        engine.manual_seed(seed)
        with recording(engine, copied.subject, trace.steps):
            run = run_once(engine, copied)
        if run.exception is not None:
            raise run.exception
        trace.streams = run.streams
        leaves = dict(run.leaves)
        if is_module(copied.subject):
            leaves |= {n: p for n, p in copied.subject.named_parameters() if p.requires_grad}
        gradients = pulled_back(engine, run, list(leaves.values()))
        trace.tensors = {name: as_numpy(tensor) for name, tensor in run.outputs.items()}
        for name, gradient in zip(leaves, gradients, strict=True):
            if gradient is not None:
                trace.tensors[f"gradient of {name}"] = as_numpy(gradient)
    except Exception as error:
        trace.error = error_line(error)
    return trace


def _nudged(engine: Any, call: Call, relative: float, seed: int) -> Call:
    """The same call with its inputs and its module's parameters each moved by one rounding."""
    random = np.random.default_rng(seed)

    def change(_: str, tensor: Any) -> Any:
        if not (tensor.is_floating_point() or tensor.is_complex()):
            return tensor
        signs = random.choice([-1.0, 1.0], tuple(tensor.shape))
        factors = engine.as_tensor(1.0 + relative * signs, dtype=engine.float64)
        return (tensor.detach() * factors).requires_grad_(tensor.requires_grad)

    moved = call.with_tensors(change)
    if is_module(call.subject):
        with engine.no_grad():
            for parameter in call.subject.parameters():
                parameter.copy_(change("", parameter))
    return moved


def _compare(
    engine: Any,
    table: DeviceTable,
    reference: Trace,
    nudged: list[Trace],
    trace: Trace,
    cpu_errors: dict[str, float],
) -> None:
    """Add the rows of one run, and the point where it departs from the reference."""
    name, epsilon = _name(trace.dtype), _epsilon(engine, trace.dtype)
    if trace.error:
        table.rows.append(_failed(trace.device, trace.dtype, trace.error))
        return
    parting = _first_parting(reference, nudged, trace, name, epsilon)
    others = bool(trace.streams) and (parting is None or parting.random)
    gradients = [t for key, t in reference.tensors.items() if key.startswith("gradient of ")]
    scale = max((size_of(gradient) for gradient in gradients), default=0.0)
    for key, expected in reference.tensors.items():
        got = trace.tensors.get(key)
        off = distance(got, expected, epsilon)
        moved = [run.tensors.get(key) for run in nudged]
        allowed = allowance(moved, expected, epsilon, expected.size)
        if trace.device == "cpu":
            cpu_errors[key] = off.relative
        allowed = max(allowed, _AS_THE_CPU * cpu_errors.get(key, 0.0) * (trace.device != "cpu"))
        verdict, note = ("within rounding" if off.relative <= allowed else "differs"), off.note
        if verdict == "differs" and others:
            verdict = "other random numbers"
        # The bias before a batch norm, say: its true gradient is 0, and what is there is rounding.
        nothing = key.startswith("gradient of ") and size_of(expected) <= epsilon * scale
        if verdict == "differs" and nothing and off.absolute <= rounding(epsilon, expected) * scale:
            verdict, note = "within rounding", "nothing but rounding: it should be 0"
        table.rows.append(
            DeviceRow(trace.device, name, key, off.ulp, off.relative, allowed, verdict, note)
        )
        if parting is None and verdict == "differs":
            parting = Parting(trace.device, name, key, off.relative, allowed)
    if parting is not None:
        table.partings.append(parting)
    if any(row.verdict == "other random numbers" for row in table.rows[-len(reference.tensors) :]):
        table.notes.append(
            f"It draws random numbers, and those of {trace.device} {name} are others for the same "
            "seed: to compare, leave them out (a module's eval() turns dropout off)."
        )


def _first_parting(
    reference: Trace, nudged: list[Trace], trace: Trace, name: str, epsilon: float
) -> Parting | None:
    """The first call of a module whose output is off by more than rounding explains."""
    for i, (expected, got) in enumerate(zip(reference.steps, trace.steps, strict=False)):
        for key, values in expected.outputs.items():
            off: Distance = distance(got.outputs.get(key), values, epsilon)
            moved = [run.steps[i].outputs.get(key) for run in nudged if i < len(run.steps)]
            allowed = allowance(moved, values, epsilon, max(expected.length, got.length))
            if off.relative > allowed:
                random = expected.random or got.random
                return Parting(trace.device, name, got.module, off.relative, allowed, random)
    return None


def _failed(device: str, dtype: Any, error: str) -> DeviceRow:
    nan = float("nan")
    return DeviceRow(device, _name(dtype), "-", nan, nan, nan, "failed", error)
