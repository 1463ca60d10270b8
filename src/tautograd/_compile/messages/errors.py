"""What cannot be recorded, in words: the line, and how to write it instead."""

from __future__ import annotations

from typing import Any

from ..._user_code.sites import mark, resolve
from .value_readers import advice_for, asker

ADVICE = {
    "unseen": "Pass what it reads as an argument, or let Python run at each call: `compile(fn, sound=True)`.",
    "follow": "Leave it outside of the compiled function, or let Python be skipped: `compile(fn, sound=False)`.",
    "bool": "Use `torch.where(condition, a, b)` in place of the branch, or leave the branch outside of "
    "the compiled function.",
    "item": "Return the tensor from the compiled function and call `.item()` on what it returns; inside, "
    "compute with the tensor itself.",
    "wait": "Call `wait()` of what `async_op=True` gives before the compiled function returns.",
    "text": "Return the tensor from the compiled function, and print what it returns.",
    "shape": "A program has fixed shapes: take the size from `tensor.shape`, or pass it as an argument.",
    "numpy": "Stay with tensor operations inside the compiled function, and convert what it returns.",
    "mask": "The result's shape depends on values. Keep the shape and mask instead: `torch.where(mask, x, 0)`, "
    "or multiply by the mask.",
    "escape": "Return the tensor from the compiled function, and keep it there.",
    "retain": "Call `retain_grad()` on what the compiled function gives back, or return the gradient alone.",
    "clone": "Write into a clone of it (`tensor = tensor.clone()`).",
    "alias": "Pass a clone (`tensor.clone()`).",
    "history": "Pass it as an argument, or detach it.",
    "past": "Pass a detached tensor (`tensor.detach()`), or leave `backward()` outside of the compiled function.",
    "foreign": "Compile it with `torch.compile`, or compute it with tautograd's tensors and modules.",
    "address": "Take it outside of the compiled function; inside, memory is another one at each call.",
    "memory": "Write into its memory instead: `tensor.copy_(…)`, or leave it outside of the compiled function.",
    "attribute": "Keep such a value outside of the compiled function, or in a tensor (a buffer).",
    "mode": "Switch it on in a `with` block, or outside of the compiled function.",
    "draw": "Draw it with tensors (`torch.rand(())`), or pass it as an argument.",
    "array": "Make it a tensor (`torch.from_numpy(array)`), and pass that as an argument.",
    "iterator": "Take the next element outside of the compiled function, and pass it as an argument.",
    "left": "Take it away again in the compiled function (`handle.remove()`), or hang it on outside of it.",
    "hook": "Return what the hook computes in place of its argument, take it away, or leave it to code that "
    "is not compiled.",
    "device": "Move tensors to where the model is before they are passed to the compiled function, and what it "
    "returns afterwards.",
    "schedule": "Leave the schedule's step outside of the compiled function, after its call.",
    "optimizer": "Leave `optimizer.step()` outside of the compiled function.",
}


_VALUES = ("bool", "item", "text", "shape", "numpy", "mask")  # of what asks for values


def asked_for_by(name: str, what: str) -> str:
    """What was asked for, and which function of the library did."""
    return f"{what.rstrip(',')}, which `{name}` asks for"


class CompileError(RuntimeError):
    """A computation that cannot become a program."""

    def __init__(self, message: str, what: str) -> None:
        super().__init__(message)
        self.what = what
        self.finished: tuple[Any] | None = None  # what the function gave, if it ran to its end
        self.goes_on = False  # whether the function is right in eager mode, and so runs there
        self.passes = False  # whether another call may be recorded


def cannot_go_backward(error: Exception) -> CompileError:
    """What is said of a function whose result has a history that cannot be followed: the error comes with it."""
    what = f"its result cannot go backward: {str(error) or type(error).__name__}"
    found = CompileError(what, what)
    found.goes_on = True
    return found


def wrong_values() -> CompileError:
    """Of a run that came to an error because of values, and caught it: another run may take the other way."""
    what = "an error because of values was caught in it"
    found = CompileError(what, what)
    found.goes_on = found.passes = True
    return found


def states_made() -> CompileError:
    """Of a run in which an optimizer found no states and made them: the next one finds them."""
    what = "an optimizer has made its states in it"
    found = CompileError(what, what)
    found.goes_on = found.passes = True
    return found


def forked() -> CompileError:
    """Of a recording in the middle of which the process was forked, in the child."""
    what = "it is a child process of one that was recording it"
    found = CompileError(what, what)
    found.goes_on = True
    return found


def cannot_record(what: str, advice: str, where: Any = None) -> CompileError:
    """The error for something that a program cannot do, with the line of the user's code."""
    line = resolve(where or mark(2))
    at = f"\n  {line}" if line else ""
    helps = ADVICE[advice]
    by = asker() if advice in _VALUES and where is None else None
    if by is not None and not (advice == "mask" and by.startswith("torch.")):
        what = asked_for_by(by, what) + ","
        helps = advice_for(by)
    return CompileError(
        f"compile: {what} cannot be recorded: the program is replayed without Python.{at}\n"
        f"  {helps}\n"
        "  `compile(fn, fallback=True)` breaks the graph there or runs the function eagerly, and warns once.",
        what,
    )
