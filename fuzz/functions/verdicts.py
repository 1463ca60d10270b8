"""Whether a call went on tautograd as it did on PyTorch; if not, of which kind that is.

An error that is a sentence of ours was raised by a `raise` in a file of the package. One that comes
out of NumPy, or out of the interpreter in the middle of our code, was meant for nobody.
"""

from __future__ import annotations

import dis
import json
import os
import re
import traceback
from types import TracebackType
from typing import Any

from fuzz.functions.engines import Outcome
from fuzz.functions.values import CALLABLES

NEVER = (
    *(AttributeError, KeyError, OverflowError, UnboundLocalError, NameError, AssertionError),
    *(RecursionError, ZeroDivisionError, MemoryError, SystemError, BufferError, StopIteration),
    *(UnicodeError, IndexError),
)
_NUMPY = re.compile(r"array|broadcast|ufunc|axis|axes|numpy|_data|loop of")
_WRONG_CALL = re.compile(r"\(\) (got an unexpected keyword|missing|takes|got multiple)")
# What tautograd has instead of a dtype that it does not have (docs/differences.md).
_MISSING = {"torch.complex32": ("complex64", "complex32")}
# Where PyTorch's shape is wrong: nothing unshuffled (docs/differences.md), and triangles whose sizes
# overflow.
_MISSHAPEN = re.compile(r"pixel_unshuffle|PixelUnshuffle|tri[lu]_indices")
_PROGRAMS = {fn.__code__ for fn in CALLABLES.values()}
_RAISES = ("RAISE_VARARGS", "RERAISE")


def innermost(error: BaseException) -> TracebackType | None:
    """The last part of the traceback."""
    part = error.__traceback__
    while part is not None and part.tb_next is not None:
        part = part.tb_next
    return part


def place(error: BaseException) -> str:
    """The innermost line of tautograd's, and whether the error came from below it."""
    error = error.__cause__ or error  # what the sentence was made of
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "/tautograd/" in frame.filename
    ]
    if not own:
        return "outside"
    name = own[-1].filename.rpartition("/tautograd/")[2]
    return f"{name}:{own[-1].lineno}"


def is_sentence(error: BaseException) -> bool:
    """Whether the error was raised by a statement of ours (or of the program's own)."""
    part = innermost(error)
    if part is None:
        return False
    code = part.tb_frame.f_code
    if f"{os.sep}numpy{os.sep}" in code.co_filename or f"{os.sep}scipy{os.sep}" in code.co_filename:
        return False
    return _instruction(code, part.tb_lasti) in _RAISES


def is_programs(error: BaseException) -> bool:
    """Whether the error happened in a function that the program handed over."""
    part = innermost(error)
    return part is not None and part.tb_frame.f_code in _PROGRAMS


def became(kind: type, error: BaseException | None) -> bool:
    """Whether an error was raised in place of one of this class; else that one never happened."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error is not None


def _instruction(code: Any, offset: int) -> str:
    for instruction in dis.get_instructions(code):
        if instruction.offset == offset:
            return instruction.opname
    return ""


def judge_errors(name: str, theirs: BaseException | None, ours: BaseException) -> tuple[str, str]:
    """(verdict, kind): the verdict is "" for an error as it should be, else "failure" or a count."""
    same = theirs is not None and isinstance(ours, type(theirs))
    kind = f"{name}: {type(ours).__name__} at {place(ours)}"
    if is_programs(ours):
        return "other class", kind  # PyTorch refused something before it called the program
    if same and not isinstance(ours, RecursionError):
        return "", kind
    spoken = isinstance(ours, (IndexError, AssertionError)) and is_sentence(ours) and str(ours)
    if isinstance(ours, (OverflowError, BufferError)):
        spoken = is_sentence(ours) and str(ours)  # classes that PyTorch raises too
    if spoken and theirs is None:
        return "refused", kind
    if spoken:
        return "other class", kind  # two arguments are wrong, and PyTorch speaks of the other one
    # An accident put in words can also be caught as what it was.
    unspecific = ours.__cause__ is not None and "was given arguments it cannot take" in str(ours)
    internal = isinstance(ours, NEVER) and not (unspecific and is_sentence(ours))
    if internal or type(ours).__module__.startswith(("numpy", "scipy")):
        return "failure", kind
    if not isinstance(ours, (RuntimeError, TypeError, ValueError, Exception)):
        return "failure", kind
    if not is_sentence(ours):
        wrong_call = _WRONG_CALL.search(str(ours))
        if type(ours) is TypeError and (wrong_call or not _NUMPY.search(str(ours))):
            # The interpreter's words for a wrong call will do.
            if theirs is not None:
                return "other class", kind
            if wrong_call:
                return "refused", kind
        return "failure", kind + " (not a sentence)"
    if theirs is None:
        return ("failure" if unspecific else "refused"), kind
    if unspecific:
        return "last resort", kind
    return "other class", kind


def difference(theirs: Any, ours: Any, torch: Any, tautograd: Any, depth: int = 0) -> str:
    """What is different in two results' structure, dtypes and shapes; "" if nothing is."""
    if isinstance(theirs, torch.Tensor):
        if not isinstance(ours, tautograd.Tensor):
            return f"a {type(ours).__name__}, not a tensor"
        if str(theirs.dtype) != str(ours.dtype).replace(*_MISSING.get(str(theirs.dtype), ("", ""))):
            return f"dtype {ours.dtype}, not {theirs.dtype}"
        if tuple(theirs.shape) != tuple(ours.shape):
            return f"shape {tuple(ours.shape)}, not {tuple(theirs.shape)}"
        return ""
    if isinstance(theirs, (tuple, list)) and depth < 4:
        if not isinstance(ours, (tuple, list)) or isinstance(theirs, tuple) != isinstance(
            ours, tuple
        ):
            return f"{type(ours).__name__}, not {type(theirs).__name__}"
        if len(theirs) != len(ours):
            return f"{len(ours)} results, not {len(theirs)}"
        for a, b in zip(theirs, ours, strict=True):
            wrong = difference(a, b, torch, tautograd, depth + 1)
            if wrong:
                return wrong
        return ""
    if isinstance(theirs, (bool, int, float, complex, str, type(None))):
        return (
            ""
            if type(theirs).__name__ == type(ours).__name__
            else (f"{type(ours).__name__}, not {type(theirs).__name__}")
        )
    return ""


def is_without_complex32(case: Any, wrong: str) -> bool:
    """Whether a dtype differs because PyTorch computes in a complex dtype that tautograd lacks."""
    text = json.dumps(case)
    mixed = "complex" in text and "float16" in text
    return mixed and wrong == "dtype torch.float32, not torch.float16"


def is_misshapen(case: Any, theirs: Any, wrong: str) -> bool:
    """Whether a difference of shapes is PyTorch's own mistake."""
    if not wrong.startswith("shape") or not _MISSHAPEN.search(case["fn"]):
        return False
    wide = any(isinstance(value, int) and abs(value) >= 2**62 for value in _all(case))
    return wide if "indices" in case["fn"] else theirs.numel() == 0


def _all(case: Any) -> Any:
    return (*case["args"], *case["kwargs"].values())


def nan_difference(theirs: Any, ours: Any, torch: Any) -> bool:
    """Whether NaN stands in other places of a float result."""
    if not isinstance(theirs, torch.Tensor) or not theirs.is_floating_point():
        return False
    a, b = theirs.detach().isnan().tolist(), ours.detach().isnan().tolist()
    return bool(a != b)


def unchanged(theirs: Outcome, ours: Outcome) -> bool:
    """Whether a call that failed left its tensors as they were, unless PyTorch's changed them too."""
    return not ours.changed() or theirs.changed()
