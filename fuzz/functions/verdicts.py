"""Whether a call went on tautograd as it did on PyTorch; if not, what kind of failure that is.

An error counts as a sentence of ours if a `raise` in a file of the package raised it. One that comes
out of NumPy, or out of the interpreter in the middle of our code, was not written for a user.
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
from fuzz.functions.values import CALLABLES, RARE

NEVER = (
    *(AttributeError, KeyError, OverflowError, UnboundLocalError, NameError, AssertionError),
    *(RecursionError, ZeroDivisionError, MemoryError, SystemError, BufferError, StopIteration),
    *(UnicodeError, IndexError),
)
SPOKEN = (IndexError, AssertionError, OverflowError, BufferError)
"""Those among them that PyTorch also raises as sentences."""
_ORDINARY = (TypeError, ValueError, RuntimeError)
_WRONG_CALL = re.compile(r"\(\) (got an unexpected keyword|missing|takes|got multiple)")
# What the interpreter says of Python code that was passed something it cannot use.
_STUMBLES = re.compile(
    r"object has no attribute|has no attribute '_|object is not |not supported between|unsupported operand"
    r"|has no len\(\)|index out of range|values to unpack|must be real number|division by zero"
    r"|can't multiply|zip\(\) argument|indices must be|can only concatenate|bad operand type"
    r"|cannot be interpreted as an integer|invalid literal|could not convert|unhashable|not iterable"
    r"|object does not support|must be str|maximum recursion|local variable|is not callable"
    r"|argument must be a|cannot unpack|Boolean value of Tensor|truth value of an array|must be a string"
    r"|arg \d must be|expected str|unexpected keyword argument|positional argument|dictionary update"
)
# What tautograd uses instead of a dtype that it does not have (docs/differences.md).
_MISSING = {"torch.complex32": ("complex64", "complex32")}
# Where PyTorch's shape is wrong (docs/differences.md): nothing unshuffled, triangles whose sizes overflow,
# `conv_tbc` whose length overflows, `addmv` of no rows, the last transform of `ihfft2(dim=[d], out=)` and
# `ihfftn`, which is written nowhere.
_MISSHAPEN = re.compile(r"pixel_unshuffle|PixelUnshuffle|tri[lu]_indices|conv_tbc|addmv|ihfft[2n]$")
_PROGRAMS = {fn.__code__ for fn in CALLABLES.values()}
_RAISES = ("RAISE_VARARGS", "RERAISE")


def innermost(error: BaseException) -> TracebackType | None:
    """The last entry of the traceback."""
    part = error.__traceback__
    while part is not None and part.tb_next is not None:
        part = part.tb_next
    return part


def place(error: BaseException) -> str:
    """tautograd's innermost line, and whether the error came from below it."""
    error = error.__cause__ or error  # which the sentence was made from
    own = [
        (frame.f_code.co_filename, line)
        for frame, line in traceback.walk_tb(error.__traceback__)
        if "/tautograd/" in frame.f_code.co_filename
    ]
    if not own:
        return "outside"
    file, line = own[-1]
    return f"{file.rpartition('/tautograd/')[2]}:{line}"


def is_sentence(error: BaseException) -> bool:
    """Whether a statement of ours (or of the program's own) raised the error."""
    part = innermost(error)
    if part is None:
        return False
    code = part.tb_frame.f_code
    if f"{os.sep}numpy{os.sep}" in code.co_filename or f"{os.sep}scipy{os.sep}" in code.co_filename:
        return False
    return _instruction(code, part.tb_lasti) in _RAISES


def is_programs(error: BaseException) -> bool:
    """Whether the error happened in a function that the program passed in."""
    part = innermost(error)
    return part is not None and part.tb_frame.f_code in _PROGRAMS


def became(kind: type, error: BaseException | None) -> bool:
    """Whether an error was raised in place of one of this class; else that one never happened."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error is not None


def _instruction(code: Any, offset: int) -> str:
    return dis.opname[code.co_code[offset]] if offset >= 0 else ""


def stumbled(error: BaseException) -> bool:
    """Whether PyTorch's own Python code failed by accident, so that the class is not a promise."""
    part = innermost(error)
    if part is None or _instruction(part.tb_frame.f_code, part.tb_lasti) in _RAISES:
        return False
    file = part.tb_frame.f_code.co_filename
    pythons = file.startswith(os.path.dirname(os.__file__)) and "site-packages" not in file
    if f"{os.sep}torch{os.sep}" not in file and not pythons:
        return False
    return isinstance(error, NEVER) or _STUMBLES.search(str(error)) is not None


def judge_errors(name: str, theirs: BaseException | None, ours: BaseException) -> tuple[str, str]:
    """(verdict, kind): "" for an error as it should be, "failure", or the name of a table.

    The tables: "refused", a sentence where PyTorch returns a result; "other class", two sentences of
    different classes; "PyTorch stumbled", a sentence where PyTorch has an accident of another class;
    "last resort", the catch-all sentence, where PyTorch's is specific.
    """
    kind = f"{name}: {type(ours).__name__} at {place(ours)}"
    if is_programs(ours):
        return "other class", kind  # PyTorch refused something before it called the program
    same = theirs is not None and isinstance(ours, type(theirs))
    accident = theirs is not None and stumbled(theirs)
    if place(ours) == "outside" and theirs is not None and type(ours) is type(theirs):
        return "", kind  # both returned an object that lacks such a method
    if place(ours) == "outside" and type(ours) is AttributeError and theirs is not None:
        return "accepted", kind  # only tautograd returned an object, and it lacks such a method
    if not is_sentence(ours):
        # The interpreter's own words: about a wrong call, or where PyTorch uses the same words.
        wrong_call = type(ours) is TypeError and _WRONG_CALL.search(str(ours))
        if theirs is None and wrong_call:
            return "refused", kind
        if theirs is not None and _said(ours) == _said(theirs):
            return "" if same else "other class", kind
        if wrong_call:
            return "" if same else _other(accident), kind
        if same and accident and not isinstance(ours, RecursionError):
            return "", kind
        return "failure", kind + " (not a sentence)"
    if same and not isinstance(ours, RecursionError):
        if _is_unspecific(ours) and not accident:
            return "last resort", kind
        return "", kind
    unspecific = _is_unspecific(ours)
    if not str(ours) or not isinstance(ours, Exception):
        return "failure", kind
    if type(ours) is AttributeError and theirs is not None:
        return "other class", kind  # raised on purpose, as PyTorch's Python does for one argument
    if isinstance(ours, NEVER) and not isinstance(ours, (*SPOKEN, *_ORDINARY)) and not unspecific:
        return (
            "failure",
            kind,
        )  # an accident put into words can also be caught by its original class
    if isinstance(ours, (RecursionError, UnicodeError)):
        return "failure", kind
    if type(ours).__module__.startswith(("numpy", "scipy")):
        return "failure", kind
    if theirs is None:
        return ("failure" if unspecific else "refused"), kind
    if accident:
        return "PyTorch stumbled", kind
    return ("last resort" if unspecific else "other class"), kind


def _said(error: BaseException) -> str:
    """An error's message, without the addresses of objects."""
    return re.sub(r"0x[0-9a-f]+", "0x", str(error))


def _other(accident: bool) -> str:
    return "PyTorch stumbled" if accident else "other class"


def _is_unspecific(error: BaseException) -> bool:
    """Whether an accident of ours was put into words that fit every accident."""
    return error.__cause__ is not None and "was given arguments it cannot take" in str(error)


def difference(theirs: Any, ours: Any, torch: Any, tautograd: Any, depth: int = 0) -> str:
    """What differs in two results' structure, dtypes and shapes; "" if nothing does."""
    if isinstance(theirs, torch.Tensor):
        if not isinstance(ours, tautograd.Tensor):
            return f"a {type(ours).__name__}, not a tensor"
        if str(theirs.dtype) != str(ours.dtype).replace(*_MISSING.get(str(theirs.dtype), ("", ""))):
            return f"dtype {ours.dtype}, not {theirs.dtype}"
        if tuple(theirs.shape) != tuple(ours.shape):
            return f"shape {tuple(ours.shape)}, not {tuple(theirs.shape)}"
        if str(theirs.layout) != str(ours.layout) or theirs.is_meta != ours.is_meta:
            where = [f"{t.layout} on {t.device}" for t in (ours, theirs)]
            return f"{where[0]}, not {where[1]}"
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


def is_rare(case: Any, wrong: str) -> bool:
    """Whether dtypes differ where PyTorch supports few operations and NumPy all (docs/differences.md)."""
    return wrong.startswith("dtype") and any(f'"{name}"' in json.dumps(case) for name in RARE)


def is_misshapen(case: Any, theirs: Any, wrong: str) -> bool:
    """Whether a difference of shapes is PyTorch's own mistake."""
    if not wrong.startswith("shape") or not _MISSHAPEN.search(case["fn"]):
        return False
    if "indices" in case["fn"] or "conv_tbc" in case["fn"]:
        return any(isinstance(value, int) and abs(value) >= 2**62 for value in _all(case))
    if "ihfft" in case["fn"]:
        return "out" in case["kwargs"]
    if "addmv" in case["fn"]:
        return any(isinstance(v, dict) and 0 in v.get("tensor", [0, []])[1] for v in _all(case))
    return bool(theirs.numel() == 0)


def mixes_devices(case: Any) -> bool:
    """Whether tensors with and without memory are mixed, which PyTorch refuses in some functions only."""
    layouts = [v["tensor"][3] for v in _all(case) if isinstance(v, dict) and "tensor" in v]
    return "meta" in layouts and any(layout != "meta" for layout in layouts)


def _all(case: Any) -> Any:
    return (*case["args"], *case["kwargs"].values())


def nan_difference(theirs: Any, ours: Any, torch: Any) -> bool:
    """Whether a float result has NaN in different positions."""
    if not isinstance(theirs, torch.Tensor) or not theirs.is_floating_point():
        return False
    a, b = theirs.detach().isnan().tolist(), ours.detach().isnan().tolist()
    return bool(a != b)


def unchanged(theirs: Outcome, ours: Outcome) -> bool:
    """Whether a call that failed left its tensors unchanged, unless PyTorch's changed them too."""
    return not ours.changed() or theirs.changed()
