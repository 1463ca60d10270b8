"""What PyTorch's argument parser accepts: every overload of every function, from its own stubs.

PyTorch's built-in functions have no signature that `inspect` could read; the stub files installed
beside them are generated from the same source as its argument parser. For `linalg` and `special`,
which have no stubs, the operators' schemas say the same. What is written in Python says it itself.
"""

from __future__ import annotations

import ast
import inspect
import operator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import torch

STUBS = Path(torch.__file__).parent / "_C"
REQUIRED = object()  # a parameter without a default
UNKNOWN = object()  # a default that is no literal


class Parameter(NamedTuple):
    """A parameter of one overload."""

    name: str
    default: Any
    keyword_only: bool


Overload = tuple[Parameter, ...]


def overloads(name: str) -> tuple[Overload, ...]:
    """The overloads of a function by its dotted name ("add", "linalg.det", "Tensor.expand")."""
    path, _, last = name.rpartition(".")
    fn = operator.attrgetter(name)(torch) if _has(name) else None
    if inspect.isfunction(fn) and not hasattr(fn, "__wrapped__"):
        return _from_signature(inspect.signature(fn), path == "Tensor")
    if path in ("linalg", "special"):
        return _from_schemas(f"aten::{path}_{last}")
    return _stubs("Tensor" if path == "Tensor" else "").get(last, ())


def _has(name: str) -> bool:
    try:
        operator.attrgetter(name)(torch)
    except AttributeError:
        return False
    return True


def _from_signature(signature: inspect.Signature, method: bool) -> tuple[Overload, ...]:
    """A function that PyTorch writes in Python."""
    given = list(signature.parameters.values())[1 if method else 0 :]
    if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in given):
        return ()
    empty = inspect.Parameter.empty
    return (
        tuple(
            Parameter(p.name, REQUIRED if p.default is empty else p.default, p.kind == 3)
            for p in given
            if p.name != "out"
        ),
    )


@cache
def _stubs(owner: str) -> dict[str, tuple[Overload, ...]]:
    """Every function of a stub file: those of `torch`, or the methods of Tensor."""
    if owner == "Tensor":
        tree = ast.parse((STUBS / "__init__.pyi").read_text(encoding="utf-8"))
        classes = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "TensorBase"]
        body = classes[0].body
    else:
        body = ast.parse((STUBS / "_VariableFunctions.pyi").read_text(encoding="utf-8")).body
    found: dict[str, list[Overload]] = {}
    for node in body:
        if isinstance(node, ast.FunctionDef) and not _is_deprecated(node, owner):
            found.setdefault(node.name, []).append(_from_node(node, owner))
    return {name: tuple(dict.fromkeys(each)) for name, each in found.items()}


def _is_deprecated(node: ast.FunctionDef, owner: str) -> bool:
    """Old orders of arguments (`self` in the middle), and dimensions by name."""
    names = [a.arg for a in (*node.args.args, *node.args.kwonlyargs)]
    if not owner and "self" in names:
        return True
    if "names" in names:
        return True
    every = (*node.args.args, *node.args.kwonlyargs)
    return any("EllipsisType" in ast.unparse(a.annotation) for a in every if a.annotation)


def _from_node(node: ast.FunctionDef, owner: str) -> Overload:
    positional = node.args.args[1:] if owner else node.args.args
    defaults = node.args.defaults
    filled = [REQUIRED] * (len(positional) - len(defaults)) + [_literal(d) for d in defaults]
    found = [Parameter(a.arg, d, False) for a, d in zip(positional, filled, strict=False)]
    if node.args.vararg is not None:  # view(*size)
        found.append(Parameter(node.args.vararg.arg, UNKNOWN, True))
    for argument, default in zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True):
        found.append(
            Parameter(argument.arg, REQUIRED if default is None else _literal(default), True)
        )
    return tuple(p for p in found if p.name != "out")


def _literal(node: ast.expr) -> Any:
    try:
        return _hashable(ast.literal_eval(node))
    except ValueError:
        return UNKNOWN


def _hashable(default: Any) -> Any:
    return tuple(default) if isinstance(default, list) else default


@cache
def _from_schemas(operator: str) -> tuple[Overload, ...]:
    found = []
    for schema in torch._C._jit_get_schemas_for_operator(operator):
        arguments = [a for a in schema.arguments if not a.is_out]
        if "out" in schema.overload_name or len(arguments) < len(schema.arguments):
            continue
        found.append(
            tuple(
                Parameter(
                    "input" if a.name == "self" else a.name,
                    _hashable(a.default_value) if a.has_default_value() else REQUIRED,
                    a.kwarg_only,
                )
                for a in arguments
            )
        )
    return tuple(dict.fromkeys(found))
