"""A graph as Python source: one line per node, and a name for each object it refers to."""

from __future__ import annotations

import importlib
import math
import operator
from typing import Any

from .._arrays.devices import device
from .graph import Graph, PythonCode
from .node import Node, map_arg, spoken

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


def python_code(graph: Graph, root: str) -> PythonCode:
    """The source of the function `forward` that runs a graph."""
    names: dict[str, Any] = {"inf": math.inf, "nan": math.nan}
    inputs, lines = [], []
    last_use = _last_uses(graph)

    def shown(value: Any) -> str:
        return repr(map_arg(_plain(value, names), lambda n: _Named(n.name)))

    for node in graph._nodes:
        if node.op == "placeholder":
            default = f" = {shown(node.args[0])}" if node.args else ""
            inputs.append(f"{node.target}{default}")
            if node.name != str(node.target).lstrip("*"):
                lines.append(f"{node.name} = {str(node.target).lstrip('*')}")
            continue
        if node.op == "output":
            lines.append(f"return {shown(node.args[0])}")
            continue
        if node.op == "call_function" and node.target in _IN_PLACE and len(node.args) == 2:
            changed = shown(node.args[0])
            lines.append(
                f"{changed} {_IN_PLACE[node.target]} {shown(node.args[1])};  {node.name} = {changed}"
            )
        else:
            lines.append(f"{node.name} = {_expression(node, root, names, shown)}")
        if done := [n.name for n in last_use.get(node, ())] or [node.name] * (not node.users):
            lines[-1] += f";  {' = '.join([*done, 'None'])}"
    body = "\n".join(f"    {line}" for line in [*(lines or ["pass"]), ""])
    source = f"\n\n\ndef forward({', '.join([root, *inputs])}):\n{body}"
    return PythonCode(source, names)


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
