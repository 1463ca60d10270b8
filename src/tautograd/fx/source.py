"""A graph as Python source: one line per node, and a name for each object it refers to."""

from __future__ import annotations

import builtins
import importlib
import math
import operator
import re
import types
import typing
from typing import Any

from .._arrays.devices import device
from .graph import Graph, PythonCode
from .node import Node, map_arg, spoken, type_name

_INFIX = {
    operator.add: "+", operator.sub: "-", operator.mul: "*", operator.truediv: "/",
    operator.floordiv: "//", operator.mod: "%", operator.matmul: "@", operator.pow: "**",
    operator.lt: "<", operator.le: "<=", operator.gt: ">", operator.ge: ">=", operator.eq: "==",
    operator.ne: "!=", operator.and_: "&", operator.or_: "|", operator.xor: "^",
    operator.lshift: "<<", operator.rshift: ">>",
}  # fmt: skip
_IN_PLACE = {
    operator.iadd: "+=", operator.isub: "-=", operator.imul: "*=", operator.itruediv: "/=",
    operator.ifloordiv: "//=", operator.imod: "%=", operator.imatmul: "@=", operator.ipow: "**=",
    operator.iand: "&=", operator.ior: "|=", operator.ixor: "^=", operator.ilshift: "<<=",
    operator.irshift: ">>=",
}  # fmt: skip
_PREFIX = {operator.neg: "-", operator.pos: "+", operator.invert: "~"}


class _Named(str):
    """A name in the source, shown without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def python_code(graph: Graph, root: str, verbose: bool = False) -> PythonCode:
    """The source of the function `forward` that runs a graph."""
    codegen = graph._codegen
    names: dict[str, Any] = {"inf": math.inf, "nan": math.nan, "NoneType": type(None)}
    names.update(codegen.additional_globals())
    inputs: list[str] = []
    body: list[str] = []  # of pieces, each a whole line or a part of one
    wrapped: dict[str, None] = {}
    last_use = _last_uses(graph)
    returned, before = "", ""

    def shown(value: Any) -> str:
        return repr(map_arg(_plain(value, names), lambda n: _Named(n.name)))

    for number, node in enumerate(graph._nodes):
        if verbose and node.op not in ("placeholder", "output"):
            origin = _origin(node)
            if origin != before:
                body.append(f"\n{origin}\n" if before else f"{origin}\n")
                before = origin
        body.append(f"{_COUNTER}{number}\n")
        hint = f" : {_annotation(node.type, names)}" if node.type is not None else ""
        if node.op == "placeholder":
            default = f" = {shown(node.args[0])}" if node.args else ""
            inputs.append(f"{node.target}{hint}{default}")
            if node.name != str(node.target).lstrip("*"):
                body.append(f"{node.name} = {str(node.target).lstrip('*')}\n")
            continue
        if node.op == "output":
            returned = f" -> {_annotation(node.type, names)}" if node.type is not None else ""
            body.append(codegen.generate_output(_output(node.args[0], shown)) + "\n")
            continue
        line = f"{node.name}{hint} = {_expression(node, root, names, shown)}"
        if node.op == "call_function" and node.target in _IN_PLACE and len(node.args) == 2:
            changed = shown(node.args[0])
            line = f"{changed} {_IN_PLACE[node.target]} {shown(node.args[1])};  {node.name}{hint} = {changed}"
        if node.op == "call_function" and node.meta.get("is_wrapped"):
            wrapped[_global(node.target, names)] = None
        if done := [n.name for n in last_use.get(node, ())] + [node.name] * (not node.users):
            line += f";  {' = '.join([*done, 'None'])}"
        body.append(f"{line}\n")
    if not any(not line.startswith(_COUNTER) for line in body):
        body.append("pass\n")
    if codegen._body_transformer is not None:
        body = codegen._body_transformer(body)
    statements = ""
    if wrapped:
        wrap = _global(_wrap_of_package(), names)
        statements = "\n".join(f'{wrap}("{name}")' for name in wrapped)
    head = codegen.gen_fn_def(inputs, returned)
    lines, numbers = _counted("".join(body).split("\n"))
    text = "\n".join(f"    {line}" for line in lines)
    start = f"\n{statements}\n\n"
    return PythonCode(f"{start}{head}\n{text}", names, numbers, start.count("\n") + 1)


_COUNTER = "# COUNTER: "


def _counted(lines: list[str]) -> tuple[list[str], dict[int, int | None]]:
    """The lines without the marks, and which node each belongs to: lines count from 1 after the head."""
    kept: list[str] = []
    numbers: dict[int, int | None] = {}
    now: int | None = None
    for line in lines:
        if line.startswith(_COUNTER):
            now = int(line.removeprefix(_COUNTER))
            continue
        kept.append(line)
        numbers[len(kept)] = now
    return kept, numbers


def _origin(node: Node) -> str:
    """A comment on where a node was made."""
    frames = re.findall(r'File "([^"]*)", line (\d+), in (\S+)\n\s*(.*)', node.stack_trace or "")
    if not frames:
        return "# No stacktrace found for following nodes"
    path, line, name, code = frames[-1]
    return f"# File: {path}:{line} in {name}, code: {code}"


def _output(value: Any, shown: Any) -> Any:
    return _Named(shown(value))


def _wrap_of_package() -> Any:
    from .shown import wrap

    return wrap


_TYPING = {list: "List", dict: "Dict", set: "Set", frozenset: "FrozenSet", tuple: "Tuple"}


def _annotation(kind: Any, names: dict[str, Any]) -> str:
    """A type as an annotation, and the names that it needs."""
    if kind == ():
        return "()"
    arguments = [_annotation(part, names) for part in getattr(kind, "__args__", None) or ()]
    if isinstance(kind, types.UnionType):
        return "|".join(arguments)
    origin = getattr(kind, "__origin__", None)
    if origin is not None:
        if not isinstance(kind, types.GenericAlias):  # one of typing's, under its name there
            origin = getattr(typing, _TYPING.get(origin, ""), origin)
        found = _type_name(origin, names)
        return f"{found}[{','.join(arguments)}]" if arguments else found
    return _type_name(kind, names)


def _type_name(kind: Any, names: dict[str, Any]) -> str:
    if kind is Ellipsis:
        return "..."
    if isinstance(kind, str):
        return repr(kind)
    text = type_name(kind)
    if _found_as(text, kind, names):
        return text
    label = re.sub(r"\W", "_", text)
    while names.get(label, kind) is not kind or getattr(builtins, label, kind) is not kind:
        label += "_"
    names[label] = kind
    return label


def _last_uses(graph: Graph) -> dict[Node, list[Node]]:
    """Which results are no longer needed after each node."""
    found: dict[Node, list[Node]] = {}
    seen: set[Node] = set()
    for node in reversed(graph._nodes):
        for given in node.all_input_nodes:
            if given not in seen:
                seen.add(given)
                if node.op != "output":
                    found.setdefault(node, []).append(given)
    return found


def _expression(node: Node, root: str, names: dict[str, Any], shown: Any) -> str:
    args = [shown(a) for a in node.args]
    given = ", ".join([*args, *(f"{k} = {shown(v)}" for k, v in node.kwargs.items())])
    if node.op == "get_attr":
        return _path(root, node.target)
    if node.op == "call_module":
        return f"{_path(root, node.target)}({given})"
    if node.op == "call_method":
        first, _, rest = given.partition(", ")
        return f"{first}.{node.target}({rest})"
    if node.target in _INFIX and len(args) == 2 and not node.kwargs:
        return f"{args[0]} {_INFIX[node.target]} {args[1]}"
    if node.target in _PREFIX and len(args) == 1:
        return f"{_PREFIX[node.target]}{args[0]}"
    if node.target is operator.getitem:
        return f"{args[0]}[{args[1]}]"
    if node.target is getattr and len(node.args) == 2 and str(node.args[1]).isidentifier():
        return f"{args[0]}.{node.args[1]}"
    return f"{_global(node.target, names)}({given})"


def _path(root: str, target: str) -> str:
    found = root
    for step in str(target).split("."):
        found = f"{found}.{step}" if step.isidentifier() else f'getattr({found}, "{step}")'
    return found


def _global(target: Any, names: dict[str, Any]) -> str:
    """The name under which the source refers to a function: its own, if it can be imported by that."""
    name = spoken(target)
    if _found_as(name, target, names):
        return name
    if getattr(target, "__module__", "") == "_operator":
        name = f"_{name}"
    label = name.replace(".", "_").replace("<", "_").replace(">", "_")
    while names.get(label, target) is not target:
        label += "_"
    names[label] = target
    return label


def _found_as(name: str, value: Any, names: dict[str, Any]) -> bool:
    """Whether a name starting with `torch` resolves to a value; if so, the source gets that name."""
    first, *steps = name.split(".")
    found: Any = importlib.import_module(__name__.partition(".")[0])
    for step in steps:
        found = getattr(found, step, None)
    if first != "torch" or not steps or found is not value:
        return False
    names[first] = importlib.import_module(__name__.partition(".")[0])
    return True


def _plain(value: Any, names: dict[str, Any]) -> Any:
    """Replace values whose repr is not valid source (dtypes, functions, tensors) by names."""
    if isinstance(value, tuple):
        items = [_plain(v, names) for v in value]
        if hasattr(value, "_fields"):
            names[type(value).__name__] = type(value)  # the name in its repr
            return type(value)(*items)
        return tuple(items)
    if isinstance(value, list):
        return [_plain(v, names) for v in value]
    if isinstance(value, dict):
        return {k: _plain(v, names) for k, v in value.items()}
    if isinstance(value, slice):
        return slice(*(_plain(v, names) for v in (value.start, value.stop, value.step)))
    if isinstance(value, (str, int, float, bool, complex, Node, type(None), type(Ellipsis))):
        return value
    if _found_as(repr(value), value, names):
        return _Named(repr(value))
    if isinstance(value, device):
        names["device"] = device
        return _Named(repr(value))
    label = "_value_" + "".join(c if c.isalnum() else "_" for c in repr(value))[:40]
    while names.get(label, value) is not value:
        label += "_"
    names[label] = value
    return _Named(label)
