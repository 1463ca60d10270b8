"""One call on one engine: its outcome, and whether anything changed that should not have.

While PyTorch runs, that is recorded, so that it is known for a process that died or hung.
"""

from __future__ import annotations

import functools
import operator
import signal
import traceback
from dataclasses import dataclass
from typing import Any

import numpy as np

from fuzz import at_work
from fuzz.functions.values import Decoder
from fuzz.functions.ways import called


@dataclass
class Outcome:
    """What a call returned or raised, and the tensors it was given."""

    result: Any
    error: BaseException | None
    tensors: list[tuple[Any, np.ndarray[Any, Any]]]
    noise: str = ""  # NumPy's suppressed warning, and where

    def changed(self) -> bool:
        """Whether an argument tensor's values have changed."""
        for tensor, before in self.tensors:
            if tuple(tensor.shape) != before.shape:
                return True
            held = tensor.detach()
            if before.dtype.kind == "V" or str(held.dtype).endswith(("bfloat16", "e4m3fn", "e5m2")):
                held = held.to(held.float().dtype)
                before = before.astype(np.float32)
            if held.resolve_conj().numpy().tobytes() != before.tobytes():
                return True
        return False


class Unending(BaseException):
    """PyTorch has not finished in time."""


def _give_up(*_: Any) -> None:
    raise Unending


def pytorch_runs(torch: Any, case: Any, patience: float = 2.0) -> Outcome | None:
    """Run the call on PyTorch; None if it hangs, or cannot even create the arguments."""
    before = signal.signal(signal.SIGALRM, _give_up)
    signal.setitimer(signal.ITIMER_REAL, patience)
    try:
        with at_work.others():
            return _run(torch, case)
    except Unending:
        return None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def tautograd_runs(torch: Any, case: Any) -> Outcome:
    """Run the call on tautograd; NumPy's overflow warnings must not reach the program."""
    heard: list[str] = []

    def hear(what: str, _: int) -> None:
        trace = traceback.extract_stack()[:-1]
        if "/tautograd/" in trace[-1].filename and not heard:
            where = trace[-1].filename.rpartition("/tautograd/")[2]
            heard.append(f"{what} at {where}:{trace[-1].lineno}")

    with np.errstate(divide="call", over="call", invalid="call", under="ignore", call=hear):
        outcome = _run(torch, case)
    outcome.noise = heard[0] if heard else ""
    return outcome


def _run(torch: Any, case: Any) -> Outcome:
    made = Decoder(torch)
    args: list[Any] = [made.value(code) for code in case["args"]]
    kwargs = {name: made.value(code) for name, code in case["kwargs"].items()}
    then = [made.value(code) for code in case.get("then", ())]
    path = case["fn"].removeprefix("torch.")
    try:
        function = operator.attrgetter(path)(torch)
        way = case.get("way")
        if way and "then" not in case:
            result = called(torch, way, functools.partial(function, **kwargs), args)
        else:
            result = function(*args, **kwargs)
        if "then" in case and callable(result):
            result = called(torch, way, result, then) if way else result(*then)
        if "method" in case:
            asked = getattr(result, case["method"][0])
            result = asked(*map(made.value, case["method"][1])) if callable(asked) else asked
        if path.startswith("optim.") and hasattr(result, "step"):
            _step(torch, result)
    except Exception as error:
        # PyTorch's `repr` switches its transforms off for as long as a variable of the frame lives.
        traceback.clear_frames(error.__traceback__)
        return Outcome(None, error, made.tensors)
    return Outcome(result, None, made.tensors)


def _step(torch: Any, chosen: Any) -> None:
    for group in getattr(chosen, "param_groups", ()):
        for parameter in group["params"]:
            if isinstance(parameter, torch.Tensor) and parameter.requires_grad:
                parameter.grad = torch.ones_like(parameter)
    if hasattr(chosen, "zero_grad"):
        chosen.step((lambda: torch.ones(())) if type(chosen).__name__ == "LBFGS" else None)
    else:
        chosen.step()
