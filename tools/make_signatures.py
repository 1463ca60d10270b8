"""Writes `src/tautograd/_ops/declare/signatures/table.txt`: a line for each overload that PyTorch declares.

    python tools/make_signatures.py           write it
    python tools/make_signatures.py --check   say whether it is up to date

A line is in the words of PyTorch's schemas: `tril(Tensor self, SymInt diagonal=0, *, Tensor? out=None)`.
Only names that tautograd has are written down. The forms with `out=`, which the schemas list as
overloads of their own, are joined with those without. What PyTorch writes in Python (most of
`nn.functional`) is taken from its annotations, under its dotted name.
"""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from typing import Any

import torch

import tautograd
from tautograd._ops import nn_families  # noqa: F401  (declares the functions of neural networks)
from tautograd._ops.declare.public import FUNCTIONS, LINALG, METHODS, NN_FUNCTIONAL, SPECIAL
from tautograd._ops.spectral.fft_functions import FFT

TABLE = Path(tautograd.__file__).parent / "_ops" / "declare" / "signatures" / "table.txt"
HEAD = "# Written by tools/make_signatures.py from PyTorch 2.13: overloads in the words of its schemas.\n"
_FACTORY = re.compile(
    r"(, )?(\*, )?ScalarType\? dtype=\w+, Layout\? layout=None, Device\? device=None, "
    r"bool\? pin_memory=None"
)


def main(check: bool) -> int:
    text = HEAD + "".join(f"{line}\n" for line in sorted({*_native(), *_written()}))
    if check:
        if TABLE.read_text(encoding="utf-8") == text:
            return 0
        print(f"{TABLE.name} is out of date: run tools/make_signatures.py")
        return 1
    TABLE.write_text(text, encoding="utf-8")
    print(f"{TABLE.name}: {text.count(chr(10)) - 1} signatures")
    return 0


# ---- functions written in C++ ---------------------------------------------------------------------


def _wanted() -> set[str]:
    names = {
        *FUNCTIONS,
        *METHODS,
        *(f"linalg_{n}" for n in LINALG),
        *(f"fft_{n}" for n in FFT),
        *(f"special_{n}" for n in SPECIAL),
    }
    names |= {name for name in dir(tautograd) if hasattr(torch, name)}
    names |= set(_built_in().values())
    return {name for name in names if not _in_python(name)}


_BY_HAND = {"nonzero", "requires_grad_", "tensor", "to", "type"}  # parsed by code of their own


def _in_python(name: str) -> bool:
    """Whether PyTorch writes a function or a method of this name in Python."""
    found = [getattr(torch, name, None), getattr(torch.Tensor, name, None)]
    return name in _BY_HAND or any(inspect.isfunction(fn) for fn in found)


def _native() -> list[str]:
    wanted = _wanted()
    grouped: dict[str, list[str]] = {}
    for schema in torch._C._jit_get_all_schemas():
        name = schema.name.removeprefix("aten::")
        if name == schema.name or name not in wanted or not _dispatched(schema):
            continue
        text = re.sub(r"\([a-z!|*> -]+\)", "", str(schema)).partition(" -> ")[0]
        if "Dimname" in text or "Storage" in text or "Stream" in text:
            continue
        grouped.setdefault(name, []).append(text.partition("(")[2].removesuffix(")"))
    found = [f"{name}({line})" for name, lines in grouped.items() for line in _with_out(lines)]
    for name, native in _built_in().items():
        found += [f"nn.functional.{name}({line})" for line in _with_out(grouped.get(native, []))]
    return found


def _built_in() -> dict[str, str]:
    """Functions of `nn.functional` that are an operator's own, and which."""
    found = {name: getattr(torch.nn.functional, name, None) for name in NN_FUNCTIONAL}
    return {
        name: function.__name__ for name, function in found.items() if inspect.isbuiltin(function)
    }


def _dispatched(schema: Any) -> bool:
    """Whether it is an operator, and not a helper of TorchScript's."""
    try:
        torch._C._dispatch_find_schema_or_throw(schema.name, schema.overload_name)
    except RuntimeError:
        return False
    return True


def _with_out(lines: list[str]) -> list[str]:
    """The overloads with `out=` folded into those without, and what Python adds to them."""
    joined: dict[str, str] = {}
    for line in lines:
        plain, outs = _split_out(line)
        if outs:
            joined[plain] = "Tensor[]? out=None" if outs > 1 else "Tensor? out=None"
    found = []
    for line in lines:
        if _split_out(line)[1]:
            continue
        out = joined.pop(line, None)
        factory = _FACTORY.search(line)
        if out is None and factory:  # the form with `out=` names none of these
            out = joined.pop(_FACTORY.sub("", line), None)
        if factory:
            line += ", bool? requires_grad=False"
        if out is not None:
            line += ", " + out if "*, " in line else ", *, " + out
        found.append(line)
    found += [plain + (", " if "*, " in plain else ", *, ") + out for plain, out in joined.items()]
    return [line.removeprefix(", ") for line in found]


def _split_out(line: str) -> tuple[str, int]:
    """A parameter list without the tensors it writes into, and how many those are."""
    before, star, after = line.partition("*, ")
    names = [part for part in after.split(", ") if re.fullmatch(r"Tensor \w+", part)]
    if not star or not names or not line.endswith(names[-1]):
        return line, 0
    kept = [part for part in after.split(", ") if part not in names]
    text = before.removesuffix(", ") if not kept else before + "*, " + ", ".join(kept)
    return text.removesuffix(", "), len(names)


# ---- functions written in Python ------------------------------------------------------------------

_WORDS = (
    (r"^Optional\[(.*)\]$", r"\1?"),
    (r"^(.*) \| None$", r"\1?"),
    (r"^BroadcastingList(\d)\[(\w+)\]$", r"\2[\1]"),
    (r"^[lL]ist\[(\w+)\]$", r"\1[]"),
)


def _written() -> list[str]:
    found = []
    for name in NN_FUNCTIONAL:
        function = getattr(torch.nn.functional, name, None)
        if inspect.isfunction(function):
            line = _annotated(function)
            if line is not None:
                found.append(f"nn.functional.{name}({line})")
    return found


def _annotated(function: Any) -> str | None:
    parts, starred = [], False
    for p in inspect.signature(function).parameters.values():
        if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
            return None
        if p.kind == p.KEYWORD_ONLY and not starred:
            starred = True
            parts.append("*")
        default = "" if p.default is p.empty else f"={_default(p.default)}"
        parts.append(f"{_type(p.annotation)} {p.name}{default}")
    return ", ".join(parts)


def _default(value: Any) -> str:
    return repr(value) if isinstance(value, (int, float, bool, str, type(None))) else "None"


def _type(annotation: Any) -> str:
    """An annotation in the words of the schemas; what they have no word for is `Any`."""
    text = (
        annotation
        if isinstance(annotation, str)
        else getattr(annotation, "__name__", str(annotation))
    )
    text = str(annotation).replace("typing.", "") if "[" in str(annotation) else text
    text = text.replace("torch.", "")
    for pattern, word in _WORDS:
        text = re.sub(pattern, word, text)
    known = re.fullmatch(r"(Tensor|int|float|bool|str)(\[\d?\])?\??", text)
    # Python checks no number: what is wrong with one shows in what it is used for.
    return text if known and text.startswith(("Tensor", "str")) else "Any"


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
