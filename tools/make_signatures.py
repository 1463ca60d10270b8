"""Writes `src/tautograd/_ops/declare/signatures/table.txt`: a line for each overload that PyTorch declares.

    python tools/make_signatures.py           write it
    python tools/make_signatures.py --check   say whether it is up to date

A line uses the syntax of PyTorch's schemas: `tril(Tensor self, SymInt diagonal=0, *, Tensor? out=None)`.
Only names that tautograd has are recorded. The forms with `out=`, which the schemas list as
separate overloads, are merged with those without. What PyTorch writes in Python (most of
`nn.functional`) is taken from its annotations, under its dotted name.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import Any

import torch

import tautograd
from tautograd._ops import nn_families  # noqa: F401  (declares the functions of neural networks)
from tautograd._ops.declare.public import FUNCTIONS, LINALG, METHODS, NN_FUNCTIONAL, SPECIAL
from tautograd._ops.declare.signatures import Parameter, parse
from tautograd._ops.spectral.fft_functions import FFT

TABLE = Path(tautograd.__file__).parent / "_ops" / "declare" / "signatures" / "table.txt"
HEAD = "# Written by tools/make_signatures.py from PyTorch 2.13: overloads in the words of its schemas.\n"
_FACTORY = re.compile(
    r"(, )?(\*, )?ScalarType\? dtype=\w+, Layout\? layout=None, Device\? device=None, "
    r"bool\? pin_memory=None"
)


def main(check: bool) -> int:
    native = {_as_bound(line) for line in _native()}
    text = HEAD + "".join(f"{line}\n" for line in sorted({*native, *_listed(), *_written()}))
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
    names |= {f"_sparse_{n}" for n in ("addmm", "log_softmax", "mm", "softmax", "sum")}
    return {name for name in names if not _in_python(name)}


# Parameters whose names in Python's bindings differ from the schemas.
_BOUND_NAMES = {"copy_": ("Tensor src", "Tensor other")}
# Functions with their own parser, which the schemas do not describe; for some, errors list what they take.
_LISTED = {f"sparse_{kind}_tensor" for kind in ("compressed", "coo", "csc", "csr")}
_BY_HAND = {"nonzero", "requires_grad_", "tensor", "to", "type"} | _LISTED


def _in_python(name: str) -> bool:
    """Whether PyTorch implements a function or a method of this name in Python."""
    if name in _BY_HAND:
        return True
    return inspect.isfunction(getattr(torch, name, getattr(torch.Tensor, name, None)))


_KINDS = {
    "object": "Any", "tuple of ints": "int[]", "torch.dtype": "ScalarType", "torch.layout": "Layout",
    "torch.device": "Device", "bool": "bool",
}  # fmt: skip


def _listed() -> list[str]:
    """The forms that functions with their own parser list in the error for a call that fits none."""
    found = []
    for name in _LISTED:
        try:
            getattr(torch, name)(None, None, None, nonsense=None)
        except TypeError as error:
            rows = re.findall(r"^ \* \((.*)\)$", str(error), re.MULTILINE)
        else:
            raise ValueError(f"torch.{name} takes nonsense")
        if not rows:
            raise ValueError(f"torch.{name} does not list what it takes")
        found += [f"{name}({', '.join(map(_listed_parameter, row.split(', ')))})" for row in rows]
    return found


def _listed_parameter(text: str) -> str:
    declared, _, default = text.partition(" = ")
    kind, _, name = declared.rpartition(" ")
    if not kind:
        return name  # the star
    optional = "?" if default == "None" else ""
    return f"{_KINDS[kind]}{optional} {name}" + (f"={default}" if default else "")


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
    for name, (declared, bound) in _BOUND_NAMES.items():
        grouped[name] = [line.replace(declared, bound) for line in grouped[name]]
    found = [f"{name}({line})" for name, lines in grouped.items() for line in _with_out(lines)]
    for name, native in _built_in().items():
        found += [f"nn.functional.{name}({line})" for line in _with_out(grouped.get(native, []))]
    return found


def _built_in() -> dict[str, str]:
    """Functions of `nn.functional` that are an operator themselves, and which."""
    found = {name: getattr(torch.nn.functional, name, None) for name in NN_FUNCTIONAL}
    return {
        name: function.__name__ for name, function in found.items() if inspect.isbuiltin(function)
    }


def _dispatched(schema: Any) -> bool:
    """Whether it is an operator, rather than a helper of TorchScript's."""
    try:
        torch._C._dispatch_find_schema_or_throw(schema.name, schema.overload_name)
    except RuntimeError:
        return False
    return True


def _with_out(lines: list[str]) -> list[str]:
    """The overloads with `out=` merged into those without, and what Python adds to them."""
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
        if out is None and factory:  # the form with `out=` has none of these
            out = joined.pop(_FACTORY.sub("", line), None)
        if factory:
            line += ", bool? requires_grad=False"
        if out is not None:
            line += ", " + out if "*, " in line else ", *, " + out
        found.append(line)
    found += [plain + (", " if "*, " in plain else ", *, ") + out for plain, out in joined.items()]
    return [line.removeprefix(", ") for line in found]


_OF_KIND: dict[str, Any] = {
    "Tensor": torch.ones(1), "Tensor[]": [torch.ones(1)], "Tensor?[]": [torch.ones(1)], "int": 1,
    "int[]": [1], "SymInt": 1, "SymInt[]": [1], "float": 1.0, "float[]": [1.0], "Scalar": 1,
    "Scalar[]": [1], "bool": True, "bool[]": [True], "str": "x", "ScalarType": torch.float32,
}  # fmt: skip


def _as_bound(line: str) -> str:
    """A line without an `out` that the schemas have but Python's binding does not.

    A call with correct types and a meaningless `out` never runs: the parser shows whether it knows `out`.
    """
    signature = parse(line)
    function = _bound(signature.name)
    if function is None or not any(p.name == "out" for p in signature.parameters):
        return line
    wanted = [p for p in signature.parameters if p.default is None]
    try:
        function(
            *(_OF_KIND[p.kind] for p in wanted if not p.keyword_only),
            **{p.name: _OF_KIND[p.kind] for p in wanted if p.keyword_only},
            out=object(),
        )
    except TypeError as error:
        said = str(error)
    except Exception:
        return line
    names = {p.name for p in signature.parameters if p.name not in ("self", "input", "out")}
    listed = [set(re.findall(r"(\w+)(?: = [^,)]+)?[,)]", row)) for row in said.split("\n *")[1:]]
    known = "'out' must be" in said or any("out" in row and names < row for row in listed)
    return line if known else re.sub(r"(, \*)?, Tensor(\[\])?\? out=None", "", line)


def _bound(name: str) -> Any:
    """The Python function for an operator, if there is one."""
    if name.startswith("nn.functional."):
        return getattr(torch.nn.functional, name.removeprefix("nn.functional."), None)
    for module in ("linalg", "fft", "special"):
        if name.startswith(f"{module}_"):
            return getattr(getattr(torch, module), name.removeprefix(f"{module}_"), None)
    found = getattr(torch, name, None)
    return found if callable(found) else None


def _split_out(line: str) -> tuple[str, int]:
    """A parameter list without the tensors it writes to, and how many those are."""
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
    here = {f"nn.functional.{n}": getattr(torch.nn.functional, n, None) for n in NN_FUNCTIONAL}
    here |= {name: getattr(torch.functional, name, None) for name in FUNCTIONS}
    found = []
    for name, function in here.items():
        if inspect.isfunction(function):
            line = _annotated(function)
            if line is not None:
                found.append(f"{name}({line})")
    return found


def _annotated(function: Any) -> str | None:
    parts, starred, passed_on = [], False, _passed_on(function)
    for p in inspect.signature(function).parameters.values():
        if p.kind in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
            return None
        if p.kind == p.KEYWORD_ONLY and not starred:
            starred = True
            parts.append("*")
        default = "" if p.default is p.empty else f"={_default(p.default)}"
        kind = _type(p.annotation)
        if kind == "Any" or (kind == "Tensor" and passed_on.get(p.name) == "Any"):
            kind = passed_on.get(p.name, kind)
        parts.append(f"{kind} {p.name}{default}")
    return ", ".join(parts)


def _passed_on(function: Any) -> dict[str, str]:
    """What operators require of the parameters that a Python function passes to them unchanged.

    Python checks no types; the operator's parser does, before it computes anything. If one
    overload takes a tensor and another a list, the annotation is narrower than what is accepted: "Any".
    """
    tree = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function))))
    names = {n.arg for n in ast.walk(tree) if isinstance(n, ast.arg)}
    assigned = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    kinds: dict[str, set[str]] = {}
    for call in ast.walk(tree):
        operator = _operator(call, function) if isinstance(call, ast.Call) else None
        if operator is None or not isinstance(call, ast.Call):
            continue
        for schema in torch._C._jit_get_schemas_for_operator(f"aten::{operator}"):
            if "out" in schema.overload_name or "Dimname" in str(schema):
                continue
            try:
                asked = parse(f"{operator}({_split_out(_parameters(schema))[0]})").parameters
            except ValueError:
                continue
            given = dict(
                zip((p.name for p in asked if not p.keyword_only), call.args, strict=False)
            )
            given |= {k.arg: k.value for k in call.keywords if k.arg is not None}
            for p in asked:
                value = given.get(p.name)
                if isinstance(value, ast.Name) and value.id in names - assigned:
                    kinds.setdefault(value.id, set()).add(_spelt(p))
    several = {
        name: "Any"
        for name, kind in kinds.items()
        if "Tensor" in kind and any("int[" in k.lower() for k in kind)
    }
    single = {name: kind.pop() for name, kind in kinds.items() if len(kind) == 1}
    return several | {name: kind for name, kind in single.items() if kind.startswith(_CHECKED)}


_CHECKED = ("bool", "int", "SymInt", "float", "Scalar", "str")


def _operator(call: ast.Call, function: Any) -> str | None:
    """The operator that a call in a Python function refers to."""
    text = ast.unparse(call.func)
    if not re.fullmatch(r"(torch(\._C\._nn)?|_VF)\.\w+", text):
        return None
    found = eval(text, inspect.unwrap(function).__globals__)  # a dotted name of PyTorch's
    return found.__name__ if inspect.isbuiltin(found) else None


def _parameters(schema: Any) -> str:
    text = re.sub(r"\([a-z!|*> -]+\)", "", str(schema)).partition(" -> ")[0]
    return text.partition("(")[2].removesuffix(")")


def _spelt(parameter: Parameter) -> str:
    length = "" if parameter.length is None else str(parameter.length)
    return parameter.kind.replace("[]", f"[{length}]") + "?" * parameter.optional


def _default(value: Any) -> str:
    return repr(value) if isinstance(value, (int, float, bool, str, type(None))) else "None"


def _type(annotation: Any) -> str:
    """An annotation in the schemas' syntax; types without an equivalent become `Any`."""
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
    # Python checks no numbers or words: what is wrong with one shows only where it is used.
    return text if known and text.startswith("Tensor") else "Any"


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
