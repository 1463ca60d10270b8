"""The lines that recorders are made of: from inputs to data, from data to tensors and a node.

`a0`, `e0`, … are the array and the edge of input `x0`, …; an input that is no tensor (a number, None) is its
own array, and so `a0 is not x0` asks whether there is a tensor.
"""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

import numpy as np

from .._arrays.result_layout import as_iterated
from .._ops.declare.record import Op

NEW = """
out = new(Tensor)
out._data = data
out._node = out._grad = None
out._requires_grad = False
out._output_nr = 0
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

# The node of a transposed view that nobody sees.
_TURNED = """
if {e} is not None:
    turned = turned_class()
    turned.edges = ({e},)
    if {x}._output_nr:
        turned.edge_nrs = ({x}._output_nr,)
    turned.sequence = next_sequence()
    turned.mark = 0
    turned.shape = {a}.shape
    turned.dtype = dtype
    turned.code = code
    turned.instruction = frame.f_lasti
    {e} = turned
"""

# The walk to the frame of the user's code.
WALK = """
while is_internal(code.co_filename) and frame.f_back is not None:
    frame = frame.f_back
    code = frame.f_code
"""


# The same for what a rule records: the line that went backward, which the walk knows.
_SITE_OF_WALK = f"""
site = modes.site
if site is None:
    frame = getframe(1)
    code = frame.f_code
{textwrap.indent(WALK, "    ")}
    site = code, frame.f_lasti
node.code, node.instruction = site
"""


class Body:
    """The lines of one function; `xs` are the names of the inputs in it.

    `turned`: all of these are tensors, and the last is used transposed. `in_rule`: rules on tensors call it.
    """

    def __init__(
        self, op: Op, xs: tuple[str, ...] = (), turned: bool = False, in_rule: bool = False
    ) -> None:
        self.op = op
        self.xs = xs or (() if op.variadic else tuple([f"x{i}" for i in range(len(op.inputs))]))
        self.all_a = tuple([f"a{i}" for i in range(len(self.xs))])
        self.all_e = tuple([f"e{i}" for i in range(len(self.xs))])
        self.turned = turned
        self.in_rule = in_rule
        self.tensors = turned or len(self.xs) == 1  # no input is a number or None
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
        self.add(f"{as_tuple(self.xs)} = inputs")
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
        operands = "arrays" if self.op.variadic else as_tuple(self.all_a)
        laid_out = f"data = op.layout(data, {operands})"
        if self.op.outputs != 1:
            if layout is not None:
                self.add(laid_out)
            return
        settled = f"asarray(data) if isinstance(data, generic) else settled(op, data, {operands})"
        if layout is None:
            self.add("if type(data) is not ndarray:", f"data = {settled}")
            return
        flat = "data.ndim > 1"
        if layout is as_iterated and isinstance(self.op.forward, np.ufunc):  # of rows it makes rows
            rows = [
                f"{a}.flags.c_contiguous"
                if self.tensors
                else f"({a} is {x} or {a}.flags.c_contiguous)"
                for x, a in zip(self.xs, self.all_a, strict=True)
            ]
            flat += f" and not ({' and '.join(rows)})"
        self.add("if type(data) is ndarray:", f"if {flat}:\n    {laid_out}")
        self.add("elif isinstance(data, generic):", "data = asarray(data)")
        self.add("else:", f"data = {settled}\nif data.ndim > 1:\n    {laid_out}")

    # --- from data to tensors ---------------------------------------------------------------------

    def results(self, operator: bool = False) -> None:
        """Tensors around the data, tied to a node if an input wants a gradient; an operator's data have
        the dtype of its operands, which has been asked for."""
        several = self.op.outputs != 1
        done = "return out"
        if several:
            done = "return wrap_several(op, inputs, parameters, data, None)"
        else:
            self.add(NEW + "out._base = None\nout._version_box = [0]")
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
            if self.tensors:
                self.add(edge)
            else:
                self.add(f"if {a} is not {x}:", edge)
                self.add("else:", f"{e} = None")
        self.add(f"if {' and '.join([f'{e} is None' for e in self.all_e])}:", otherwise)

    def node(self, remember: bool = False, noted: bool = False) -> None:
        """A node for what just ran; `noted`: `out` is there, so its version is noted if it is saved, and
        `dtype` is its dtype."""
        op = self.op
        if self.turned:
            self.add("frame = getframe(1)\ncode = frame.f_code" + WALK)
            self.add(_TURNED.format(x=self.xs[-1], a=self.all_a[-1], e=self.all_e[-1]))
        self.add("node = node_class()")
        if op.variadic:
            self.add("node.edges = tuple(edges)")
            self.add("for x in inputs:", _NUMBERED)
        else:
            self.add(f"node.edges = {as_tuple(self.all_e)}")
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
        if self.turned:
            self.add("node.code = code\nnode.instruction = frame.f_lasti")
            return
        if self.in_rule:
            self.add(_SITE_OF_WALK)
            return
        self.add("frame = getframe(1)\ncode = frame.f_code")
        if remember:
            self.add("if code is not caller:  # most often the same code asks again", WALK)
            # (Without memory there is no frame further out: that is not to be remembered.)
            self.add("    if not is_internal(code.co_filename):\n        caller = code")
        else:
            self.add(WALK)
        self.add("node.code = code\nnode.instruction = frame.f_lasti")

    def _edge_numbers(self) -> tuple[str, str]:
        if self.tensors:
            each = [f"{x}._output_nr" for x in self.xs]
            if self.turned:
                each[-1] = "0"
            some = " or ".join([number for number in each if number != "0"])
            return f"if {some}:", f"node.edge_nrs = {as_tuple(each)}"
        pairs = list(zip(self.xs, self.all_e, strict=True))
        some = " or ".join([f"({e} is not None and {x}._output_nr)" for x, e in pairs])
        numbers = ", ".join([f"0 if {e} is None else {x}._output_nr" for x, e in pairs])
        return f"if {some}:", f"node.edge_nrs = ({numbers})"

    def _of_inputs(self, attribute: str, missing: str) -> str:
        if self.op.variadic:
            return f"tuple([a.{attribute} for a in arrays])"
        if self.tensors:
            return as_tuple([f"{a}.{attribute}" for a in self.all_a])
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
                self.add(version) if self.tensors else self.add(f"if {a} is not {x}:", version)
            else:
                self.add(f"saved[{slot}] = {self._output()}")
                if noted:
                    self.add("versions.append((out._version_box, 0, -1))")
            self.depth = depth
        if some != everyone:
            self.depth -= 1
            self.add("else:", "node.saved = node.versions = ()")


def as_tuple(names: Sequence[str]) -> str:
    return f"({', '.join(names)}{',' * (len(names) == 1)})"


def _any_of(inputs: set[int]) -> str:
    return " or ".join([f"e{j} is not None" for j in sorted(inputs)])
