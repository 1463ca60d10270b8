"""A graph under construction: nodes, weights, constants, and sizes that are computed at run time."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .errors import refused
from .merging import TypedSize
from .sizes import Expression, Number, Size, fitted, is_fixed


class V(str):
    """The name of a value, with what is known about it."""

    __slots__ = ("data", "dtype", "shape")
    shape: tuple[Number, ...]
    dtype: Any
    data: Any

    @staticmethod
    def of(name: str, shape: Sequence[Number], dtype: Any, data: Any = None) -> V:
        value = V(name)
        value.shape, value.dtype, value.data = tuple(shape), np.dtype(dtype), data
        return value

    @property
    def rank(self) -> int:
        return len(self.shape)


class Graph:
    """Nodes in order."""

    def __init__(self, onnx: Any, opset: int) -> None:
        self.onnx = onnx
        self.opset = opset
        self.nodes: list[Any] = []
        self.initializers: dict[str, Any] = {}
        self.metadata: list[Any] = []
        self.dims: dict[
            tuple[int, ...], tuple[str, int]
        ] = {}  # a dimension's values -> where to read it
        self.path = ""
        self.site: Any = None
        self._names: dict[str, int] = {}
        self._constants: dict[Any, str] = {}
        self._sizes: dict[Any, str] = {}
        self.domains: dict[str, int] = {}

    # ---- nodes ---------------------------------------------------------------------------------------

    def name(self, wanted: str) -> str:
        """An unused name."""
        count = self._names.get(wanted, 0)
        self._names[wanted] = count + 1
        if not count:
            return wanted
        return self.name(f"{wanted}_{count}")

    def op(
        self, kind: str, *inputs: Any, outputs: int = 1, domain: str = "", **attributes: Any
    ) -> Any:
        """Add a node; returns the name of its result, or of each."""
        given = [self.value(x) for x in inputs]
        while given and not given[-1]:
            given.pop()
        stem = f"{self.path}/{kind}" if self.path else f"/{kind}"
        label = self.name(stem)
        results = [self.name(f"{label}_output_{i}") for i in range(outputs)]
        attributes = {k.rstrip("_"): v for k, v in attributes.items() if v is not None}
        node = self.onnx.helper.make_node(
            kind, given, results, name=label, domain=domain, **attributes
        )
        if self.site is not None:
            node.doc_string = f"{self.site.text}"[:200]
        self.nodes.append(node)
        return results[0] if outputs == 1 else results

    def rename(self, old: str, new: str) -> bool:
        """Rename a node's result; False if no node produces it."""
        if not any(old in node.output for node in self.nodes):
            return False
        for node in self.nodes:
            for names in (node.input, node.output):
                for i, name in enumerate(names):
                    if name == old:
                        names[i] = new
        return True

    def value(self, x: Any) -> str:
        """A valid node input, from a name, None, an array or a NumPy number."""
        if x is None:
            return ""
        if isinstance(x, str):
            return x
        if isinstance(x, TypedSize):
            return self.cast(self.scalar(x.size), x.dtype)
        return self.constant(x)

    def constant(self, array: Any) -> str:
        """A constant of the graph, deduplicated."""
        array = np.asarray(array)
        key = array.shape, array.dtype.str, array.dtype.name, array.tobytes()
        found = self._constants.get(key)
        if found is None:
            found = self._constants[key] = self.name(
                f"{self.path.replace('/', '.').strip('.') or 'graph'}.constant"
            )
            self.initializers[found] = self.tensor(array, found)
        return found

    def tensor(self, array: Any, name: str) -> Any:
        """An array as an ONNX tensor."""
        made = self.onnx.TensorProto()
        made.name = name
        made.data_type = self.type(array.dtype)
        made.dims.extend(array.shape)
        data = np.ascontiguousarray(array)
        if data.dtype.byteorder == ">":
            data = data.astype(data.dtype.newbyteorder("<"))
        made.raw_data = data.tobytes()
        return made

    def type(self, dtype: Any) -> int:
        """ONNX's code for a dtype."""
        name = np.dtype(dtype).name
        kind = _TYPES.get(name)
        if kind is None:
            raise refused(f"ONNX has no tensors of the dtype '{name}'", self.site)
        return int(getattr(self.onnx.TensorProto, kind))

    # ---- sizes ---------------------------------------------------------------------------------------

    def knows(self, name: str, shape: Sequence[Number]) -> None:
        """Register that a value, and so its dimensions, are available."""
        for axis, size in enumerate(shape):
            if isinstance(size, Size):
                self.dims.setdefault(size.values, (name, axis))

    def length(self, number: Number) -> str:
        """A size as a one-element tensor."""
        if not isinstance(number, Size):
            return self.constant(np.array([number], np.int64))
        found = self._sizes.get(number.values)
        if found is None:
            expression = fitted(number, list(self.dims))
            if expression is None:
                raise refused(
                    f"the number {number.values[0]} here follows from the inputs' sizes in a way that was "
                    f"not found (it was {', '.join(map(str, number.values))} in runs of other sizes); the "
                    "graph would have the example's size built in. Make that dimension fixed, or compute "
                    "the number from shapes by +, -, *, //",
                    self.site,
                )
            found = self._sizes[number.values] = self._computed(expression)
        return found

    def _computed(self, expression: Expression) -> str:
        kind = expression[0]
        if kind == "dim":
            name, axis = self.dims[expression[1]]
            return str(self.op("Shape", name, start=axis, end=axis + 1))
        if kind == "const":
            return self.constant(np.array([expression[1]], np.int64))
        if kind == "real":
            _, inner, power, factor = expression
            base = self.op("Cast", self._computed(inner), to=self.type(np.float64))
            raised = self.op("Pow", base, np.array(power)) if power != 1 else base
            return str(self.op("Mul", raised, np.array(factor)))
        left, right = self._computed(expression[1]), self._computed(expression[2])
        return str(
            self.op(
                {"add": "Add", "sub": "Sub", "mul": "Mul", "div": "Div", "mod": "Mod"}[kind],
                left,
                right,
            )
        )

    def scalar(self, number: Number) -> str:
        """A size as a 0-dim tensor."""
        if not isinstance(number, Size):
            return self.constant(np.array(number))
        return str(self.op("Squeeze", self.length(number), np.array([0])))

    def ints(self, numbers: Iterable[Number]) -> str:
        """Sizes as an integer tensor."""
        numbers = list(numbers)
        if is_fixed(numbers):
            return self.constant(np.array([int(n) for n in numbers], np.int64))
        parts: list[str] = []
        fixed: list[int] = []
        for n in numbers:
            if not isinstance(n, Size):
                fixed.append(int(n))
                continue
            if fixed:
                parts.append(self.constant(np.array(fixed, np.int64)))
                fixed = []
            parts.append(self.length(n))
        if fixed:
            parts.append(self.constant(np.array(fixed, np.int64)))
        return parts[0] if len(parts) == 1 else str(self.op("Concat", *parts, axis=0))

    # ---- what many lowerings need ----------------------------------------------------------------------

    def cast(self, x: str, dtype: Any) -> str:
        return str(self.op("Cast", x, to=self.type(dtype)))

    def reshape(
        self, x: V | str, shape: Sequence[Number], given: Sequence[Number] | None = None
    ) -> str:
        """`x` in another shape; `given` is its current shape, if `x` does not say."""
        if given is None and isinstance(x, V):
            given = x.shape
        shape = list(shape)
        if any(n == 0 for n in shape if not isinstance(n, Size)):
            return str(self.op("Reshape", x, self.ints(shape), allowzero=1))
        open_ = [i for i, n in enumerate(shape) if isinstance(n, Size)]
        target: list[Number] = shape[:]
        if given is not None:
            for i in open_:
                if i < len(given) and given[i] == shape[i]:
                    target[i] = 0  # unchanged
        left = [i for i in open_ if isinstance(target[i], Size)]
        if len(left) == 1:
            target[left[0]] = -1
        return str(self.op("Reshape", x, self.ints(target)))

    def expand(self, x: Any, shape: Sequence[Number]) -> str:
        return str(self.op("Expand", x, self.ints(shape)))

    def axes(self, dims: Iterable[int]) -> str:
        return self.constant(np.array(list(dims), np.int64))


def clean(path: str) -> str:
    """A module's path in the form used in node names: `layers.0.fc` is `/layers.0/fc`."""
    return re.sub(r"[^A-Za-z0-9_./]", "_", path)


_TYPES = {
    "float32": "FLOAT",
    "float64": "DOUBLE",
    "float16": "FLOAT16",
    "bfloat16": "BFLOAT16",
    "int8": "INT8",
    "int16": "INT16",
    "int32": "INT32",
    "int64": "INT64",
    "uint8": "UINT8",
    "uint16": "UINT16",
    "uint32": "UINT32",
    "uint64": "UINT64",
    "bool": "BOOL",
    "float8_e4m3fn": "FLOAT8E4M3FN",
    "float8_e4m3fnuz": "FLOAT8E4M3FNUZ",
    "float8_e5m2": "FLOAT8E5M2",
    "float8_e5m2fnuz": "FLOAT8E5M2FNUZ",
}
