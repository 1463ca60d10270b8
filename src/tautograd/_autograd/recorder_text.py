"""The text of a recorder: what applying one operation comes to, as its record says.

A recorder runs straight through: no loop over inputs, no question whose answer stands in the record.
`a0`, `e0`, … are the array and the edge of input `x0`, …; an input that is no tensor (a number, None) is its
own array, and so `a0 is not x0` asks whether there is a tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import CO_VARARGS, CO_VARKEYWORDS
from typing import Any

import numpy as np

from .._arrays.result_layout import as_iterated
from .._ops.declare.record import Op

_MODES = """
if shared.ordinary:
    recording = True
    quietly = shared.quietly
else:
    recording, quietly = modes.way
    if recording is None:
        return {special}
"""

_NEW = """
out = new(Tensor)
out._data = data
out._node = out._grad = None
out._requires_grad = False
out._output_nr = 0
"""

_VIEW = """
base = x0._base
if base is None:
    base = x0
    out._view = ((op, parameters, None),)
else:
    out._view = (*x0._view, (op, parameters, None))
    if x0._view_creation is not None:
        out._view_creation = x0._view_creation
out._base = base
out._version_box = box = base._version_box
out._seen_version = box[0]
if not recording:
    out._view_creation = "no_grad"
    # It wants a gradient as its base does, though none will get there.
    out._requires_grad = base.requires_grad
    return out
"""

_EDGE = """
{e} = {x}._node if {x}._base is None else current_node({x})
if {e} is None and {x}._requires_grad:
    {e} = {x}
"""

_NUMBERED = """
if x._output_nr:
    node.edge_nrs = tuple([one._output_nr for one in inputs])
    break
"""

_HALVES = """
if dtype is not FLOAT32 and dtype.char in HALF_CODES:
    exactly = False
"""

# `shared.quietly` may be at work in another thread, which also went by it.
_IN_USE = """
except RuntimeError as error:
    if not is_used_elsewhere(error):
        raise
    data = quietly_apart(op.forward, {call})
"""

# The walk to the frame of the user's code.
_WALK = """
while internal[code.co_filename] and frame.f_back is not None:
    frame = frame.f_back
    code = frame.f_code
"""

_OPERAND = """
try:
    a0 = self._data
except AttributeError:
    return slow(self, other)
dtype = a0.dtype
"""

_INTEGER = "type(other) is int and -0x8000000000000000 <= other <= 0xFFFFFFFFFFFFFFFF"

_SECOND = f"""
if isinstance(other, Tensor):
    a1 = other._data
    if a1.dtype is not dtype or (dtype is not FLOAT32 and dtype.char not in direct):
        return slow(self, other)
elif dtype.char in "fd" and (type(other) is float or ({_INTEGER})):
    a1 = other
else:
    return slow(self, other)
"""

# A number that stands for any while a function is compiled says that it is a float, and is taken for one.
_NUMBER = f"""
if dtype.char not in "fd" or not (other.__class__ is float or ({_INTEGER})):
    return slow(self, other)
"""


class _Body:
    """The lines of one function; `xs` are the names of the inputs in it."""

    def __init__(self, op: Op, xs: tuple[str, ...] = ()) -> None:
        self.op = op
        self.xs = xs or (() if op.variadic else tuple([f"x{i}" for i in range(len(op.inputs))]))
        self.all_a = tuple([f"a{i}" for i in range(len(self.xs))])
        self.all_e = tuple([f"e{i}" for i in range(len(self.xs))])
        self.alone = len(self.xs) == 1  # then it is a tensor
        self.arrays = "*arrays" if op.variadic else ", ".join(self.all_a)
        self.depth = 1
        self.lines: list[str] = []

    def add(self, text: str, inner: str | None = None) -> None:
        """Some lines, and a block below them."""
        indent = "    " * self.depth
        self.lines += [indent + line for line in text.splitlines() if line]
        if inner is not None:
            self.depth += 1
            self.add(inner)
            self.depth -= 1

    # --- from inputs to data ----------------------------------------------------------------------

    def unpack(self) -> None:
        op = self.op
        halves = "\ndtype = {}.dtype" + _HALVES if op.opmath else ""
        if op.variadic:  # (loops: in Python 3.11 a comprehension costs a call)
            self.add("arrays = []")
            self.add(
                "for x in inputs:", "array = x._data\narrays.append(array)" + halves.format("array")
            )
            return
        self.add(f"{_tuple(self.xs)} = inputs")
        for x, a in zip(self.xs, self.all_a, strict=True):
            self.add(f"if isinstance({x}, Tensor):", f"{a} = {x}._data" + halves.format(a))
            self.add("else:", f"{a} = {x}")

    def run(self, given: str, otherwise: str) -> None:
        """The forward as it is; `otherwise` is what to do with an error."""
        call = ", ".join(filter(None, (self.arrays, given)))
        self.add("try:", f"data = quietly(op.forward, {call})")
        self.add(otherwise.format(call=call))

    def lay_out(self) -> None:
        """A result as an array that lies in memory as PyTorch's does. NumPy's scalars become arrays at
        once, so that what a node saves and what the tensor shows are the same memory."""
        layout = self.op.layout
        operands = "arrays" if self.op.variadic else _tuple(self.all_a)
        laid_out = f"data = op.layout(data, {operands})"
        if self.op.outputs != 1:
            if layout is not None:
                self.add(laid_out)
            return
        if layout is None:
            self.add(
                "if type(data) is not ndarray and isinstance(data, generic):",
                "data = asarray(data)",
            )
            return
        flat = "data.ndim > 1"
        if layout is as_iterated and isinstance(self.op.forward, np.ufunc):  # of rows it makes rows
            rows = [
                f"{a}.flags.c_contiguous"
                if self.alone
                else f"({a} is {x} or {a}.flags.c_contiguous)"
                for x, a in zip(self.xs, self.all_a, strict=True)
            ]
            flat += f" and not ({' and '.join(rows)})"
        self.add("if type(data) is ndarray:", f"if {flat}:\n    {laid_out}")
        self.add("elif isinstance(data, generic):", "data = asarray(data)")
        self.add("elif data.ndim > 1:", laid_out)

    # --- from data to tensors ---------------------------------------------------------------------

    def results(self, operator: bool = False) -> None:
        """Tensors around the data, tied to a node if an input wants a gradient; an operator's data have
        the dtype of its operands, which has been asked for."""
        several = self.op.outputs != 1
        done = "return out"
        if several:
            done = "return wrap_several(op, inputs, parameters, data, None)"
        else:
            self.add(_NEW + "out._base = None\nout._version_box = [0]")
        if self.op.vjp is None:
            self.add(done)
            return
        self.add("if not recording:", done)
        self.find_edges(done)
        if several:
            self.node()
            self.add("return wrap_several(op, inputs, parameters, data, node)")
            return
        if not operator:
            self.add("dtype = data.dtype")
        self.add('if dtype is not FLOAT32 and dtype.kind not in "fcV":', done)
        self.node(remember=operator, noted=True)
        self.add("out._node = node\nreturn out")

    def find_edges(self, otherwise: str) -> None:
        """What made each input; `otherwise` is for when none wants a gradient."""
        if self.op.variadic:
            self.add("edges = []\nwanted = False")
            self.add("for x in inputs:", _EDGE.format(x="x", e="edge") + "edges.append(edge)")
            self.add("    if edge is not None:\n        wanted = True")
            self.add("if not wanted:", otherwise)
            return
        for x, a, e in zip(self.xs, self.all_a, self.all_e, strict=True):
            edge = _EDGE.format(x=x, e=e)
            if self.alone:
                self.add(edge)
            else:
                self.add(f"if {a} is not {x}:", edge)
                self.add("else:", f"{e} = None")
        self.add(f"if {' and '.join([f'{e} is None' for e in self.all_e])}:", otherwise)

    def node(self, remember: bool = False, noted: bool = False) -> None:
        """A node for what just ran; `noted`: `out` is there, so its version is noted if it is saved, and
        `dtype` is its dtype."""
        op = self.op
        self.add("node = node_class()")
        if op.variadic:
            self.add("node.edges = tuple(edges)")
            self.add("for x in inputs:", _NUMBERED)
        else:
            self.add(f"node.edges = {_tuple(self.all_e)}")
            self.add(*self._edge_numbers())
        self.add("node.sequence = next_sequence()\nnode.mark = 0")
        if op.parameters:
            self.add("node.parameters = parameters")
        if not op.saves_nothing:
            self._save_all() if op.variadic else self._save(noted)
        if op.shape_inputs:
            self.add(f"node.shapes = {self._of_inputs('shape', '()')}")
        if op.dtype_inputs:
            self.add(f"node.dtypes = {self._of_inputs('dtype', 'None')}")
        if op.outputs != 1:
            self.add("node.shape = node.dtype = None")
            self.add("node.outputs = [(d.shape, d.dtype) for d in data]")
        else:
            self.add(f"node.shape = data.shape\nnode.dtype = {'dtype' if noted else 'data.dtype'}")
        self.add("frame = getframe(1)\ncode = frame.f_code")
        if remember:
            self.add("if code is not caller:  # most often the same code asks again", _WALK)
            self.add("    caller = code")
        else:
            self.add(_WALK)
        self.add("node.code = code\nnode.instruction = frame.f_lasti")

    def _edge_numbers(self) -> tuple[str, str]:
        if self.alone:
            x = self.xs[0]
            return f"if {x}._output_nr:", f"node.edge_nrs = ({x}._output_nr,)"
        pairs = list(zip(self.xs, self.all_e, strict=True))
        some = " or ".join([f"({e} is not None and {x}._output_nr)" for x, e in pairs])
        numbers = ", ".join([f"0 if {e} is None else {x}._output_nr" for x, e in pairs])
        return f"if {some}:", f"node.edge_nrs = ({numbers})"

    def _of_inputs(self, attribute: str, missing: str) -> str:
        if self.op.variadic:
            return f"tuple([a.{attribute} for a in arrays])"
        if self.alone:
            return f"(a0.{attribute},)"
        pairs = zip(self.xs, self.all_a, strict=True)
        return f"({', '.join([f'{missing} if {a} is {x} else {a}.{attribute}' for x, a in pairs])})"

    def _output(self) -> str:
        if self.op.kept_outputs is None:
            return "data"
        return "tuple([d if i in op.kept_outputs else None for i, d in enumerate(data)])"

    def _save_all(self) -> None:
        """Of an operation on any number of tensors: all of them, or none."""
        wanted = self.op.saved_for(0)
        arrays = "tuple(arrays)" if 0 in wanted else "None"
        self.add(f"node.saved = [{arrays}, {self._output() if 1 in wanted else 'None'}]")
        boxes = "[(x._version_box, x._version_box[0], i) for i, x in enumerate(inputs)]"
        self.add(f"node.versions = {boxes if 0 in wanted else '[]'}")

    def _save(self, noted: bool) -> None:
        """What is named by the rules of the inputs that have an edge, each with its version."""
        everyone = set(range(len(self.xs)))
        wanted_by: list[set[int]] = [set() for _ in (*self.xs, "out")]
        for j in everyone:
            if not self.op.has_rule(j):
                self.add(f"if e{j} is not None:", f"op.refuse_derivative({j})")
            for slot in self.op.saved_for(j):
                wanted_by[slot].add(j)
        some: set[int] = set().union(*wanted_by)
        if some != everyone:
            self.add(f"if {_any_of(some)}:")
            self.depth += 1
        self.add(f"node.saved = saved = [{', '.join(['None'] * len(wanted_by))}]")
        self.add("node.versions = versions = []")
        for slot, wanted in enumerate(wanted_by):
            if not wanted:
                continue
            depth = self.depth
            if wanted != some:
                self.add(f"if {_any_of(wanted)}:")
                self.depth += 1
            if slot < len(self.xs):
                x, a = self.xs[slot], self.all_a[slot]
                self.add(f"saved[{slot}] = {a}")
                version = f"box = {x}._version_box\nversions.append((box, box[0], {slot}))"
                self.add(version) if self.alone else self.add(f"if {a} is not {x}:", version)
            else:
                self.add(f"saved[{slot}] = {self._output()}")
                if noted:
                    self.add("versions.append((out._version_box, 0, -1))")
            self.depth = depth
        if some != everyone:
            self.depth -= 1
            self.add("else:", "node.saved = node.versions = ()")


def _tuple(names: tuple[str, ...]) -> str:
    return f"({', '.join(names)}{',' * (len(names) == 1)})"


def _any_of(inputs: set[int]) -> str:
    return " or ".join([f"e{j} is not None" for j in sorted(inputs)])


def _given(op: Op) -> str:
    """The parameters as a forward takes them: by their names, where none may be left out."""
    forward: Any = op.forward
    code = getattr(forward, "__code__", None)
    if not op.parameters:
        return ""
    if (
        code is None
        or code.co_argcount + code.co_kwonlyargcount != len(op.inputs) + len(op.parameters)
        or code.co_flags & (CO_VARARGS | CO_VARKEYWORDS)
        or forward.__defaults__
        or forward.__kwdefaults__
    ):
        return "**parameters"
    return ", ".join([f"{name}=parameters[{name!r}]" for name in op.parameters])


# ---- whole functions -----------------------------------------------------------------------------


def _apply(op: Op) -> _Body:
    """`op.apply(inputs, parameters, compute)`."""
    body = _Body(op)
    body.add(_MODES.format(special="apply_special(op, inputs, parameters, compute)"))
    body.add("exactly = compute is None  # nothing is cast before or after")
    body.unpack()
    body.add("if exactly:")
    body.depth += 1
    body.run(_given(op), _IN_USE)
    body.lay_out()
    body.depth -= 1
    body.add("else:", f"data = run_forward(op, [{body.arrays}], parameters, compute, quietly)")
    body.results()
    return body


def _apply_view(op: Op) -> _Body:
    """The same for a view, which computes nothing; `data` is what it shows, if the caller knows."""
    body = _Body(op)
    body.add(_MODES.format(special="apply_special(op, inputs, parameters, None)"))
    body.add("(x0,) = inputs\na0 = x0._data")
    body.add("if data is None:", f"data = op.forward(a0, {_given(op)})")
    body.add(
        "if type(x0._version_box) is not list:  # nothing keeps track of inference tensors",
        "return tied(op, inputs, parameters, data, None)",
    )
    body.add(_NEW + _VIEW)
    if op.vjp is not None:
        body.find_edges("return out")
        body.node()
        body.add("out._node = node")
    body.add("return out")
    return body


def _record(op: Op) -> _Body:
    """`record(inputs, edges, parameters, data)`: only the node, of what ran elsewhere."""
    body = _Body(op)
    if op.variadic:
        body.add("arrays = [x._data for x in inputs]")
    else:
        body.add(f"{_tuple(body.xs)} = inputs\n{_tuple(body.all_e)} = edges")
        for x, a in zip(body.xs, body.all_a, strict=True):
            body.add(f"{a} = {x}._data if isinstance({x}, Tensor) else {x}")
    body.node()
    body.add("return node")
    return body


def _operator(op: Op) -> _Body:
    """`x * y` of tensors of one dtype, or of a float tensor and a number; `slow` does all else."""
    body = _Body(op, ("self", "other"))
    body.add(_MODES.format(special="slow(self, other)") + _OPERAND + _SECOND)
    return _operated(body, "")


def _power(op: Op) -> _Body:
    """`x ** 2` of a float tensor and a number, which is the record's parameter."""
    body = _Body(op, ("self",))
    body.add(_MODES.format(special="slow(self, other)") + _OPERAND + _NUMBER)
    body.add(f"parameters = {{{op.parameters[0]!r}: other}}")
    return _operated(body, f"{op.parameters[0]}=other")


def _operated(body: _Body, given: str) -> _Body:
    # What is wrong (the shapes) the long way will say.
    body.run(
        given, "except (ValueError, OverflowError, RuntimeError):\n    return slow(self, other)"
    )
    body.lay_out()
    body.lines.insert(0, "    global caller")
    body.results(operator=True)
    return body


FUNCTIONS: dict[str, tuple[str, Callable[[Op], _Body]]] = {
    "apply": ("inputs, parameters=NO_PARAMETERS, compute=None", _apply),
    "view": ("inputs, parameters=NO_PARAMETERS, data=None", _apply_view),
    "record": ("inputs, edges, parameters, data", _record),
    "operator": ("self, other", _operator),
    "power": ("self, other", _power),
}


def text_of(op: Op, function: str) -> str:
    """The text of one of these functions for a record."""
    if function == "apply" and op.is_view and op.outputs == 1:
        function = "view"
    parameters, body = FUNCTIONS[function]
    return "\n".join([f"def recorder({parameters}):", *body(op).lines, ""])
