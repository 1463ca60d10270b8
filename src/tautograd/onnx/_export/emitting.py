"""Writing a program: nodes in order, weights under their names, unused values omitted."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import lowerings  # noqa: F401  (fills the table)
from .errors import refused, unsupported
from .graph import Graph, V, clean
from .lowering import LOWERINGS, number, step_of
from .lowerings.random import drawn
from .merging import Node, Program
from .recording import Index, Use
from .sizes import Size, Unclear, is_fixed, of


class Emitter:
    """Traverses a program once."""

    def __init__(
        self, graph: Graph, program: Program, weights: dict[str, Any], custom: Any
    ) -> None:
        self.graph = graph
        self.program = program
        self.weights = weights
        self.custom = custom
        self.values: dict[int, V] = {}

    def emit(self, inputs: dict[int, str], outputs: list[tuple[str, Any]]) -> None:
        """Write the nodes; `inputs` names input values, `outputs` the returned ones."""
        g = self.graph
        for n, name in inputs.items():
            node = self.program.nodes[n]
            self._bind(n, g.name(name), node)
        for name, _ in outputs:
            g.name(name)
        used = self._used([u.number for _, u in outputs if isinstance(u, Use)])
        for step in self.program.steps:
            wanted = {i for i, n in enumerate(step.outputs) if n in used}
            if not wanted or all(
                self.program.nodes[step.outputs[i]].data is not None for i in wanted
            ):
                continue
            g.path, g.site = clean(step.path), step.site
            self._step(step, wanted)
        g.path, g.site = "", None
        named: set[str] = set()
        for name, use in outputs:
            found = self._value(use) if isinstance(use, Use) else g.constant(np.asarray(use))
            if found in named or not g.rename(
                found, name
            ):  # an input, a constant, or returned twice
                g.nodes.append(
                    g.onnx.helper.make_node("Identity", [found], [name], name=g.name(f"/{name}"))
                )
            else:
                self._renamed(found, name)
            named.add(name)

    def _renamed(self, old: str, new: str) -> None:
        for n, value in self.values.items():
            if value == old:
                self.values[n] = V.of(new, value.shape, value.dtype)

    def _used(self, wanted: list[int]) -> set[int]:
        """The values that the outputs depend on."""
        maker = {n: step for step in self.program.steps for n in step.outputs}
        used: set[int] = set()
        left = list(wanted)
        while left:
            n = left.pop()
            if n in used:
                continue
            used.add(n)
            if n in maker and self.program.nodes[n].data is None:
                left += _numbers(maker[n].inputs)
        return used

    def _step(self, step: Any, wanted: set[int]) -> None:
        g = self.graph
        wanted -= {i for i in wanted if self._is_empty(step.outputs[i])}
        if not wanted:
            return
        rule = self.custom.get(step.op.name) or LOWERINGS.get(step.op.name)
        if rule is None:
            raise unsupported(step.op.public_name, "", step.site)
        try:
            inputs = [self._input(x) for x in step.inputs]
            outs = [self._form(n) for n in step.outputs]
            told = step_of(step.op, outs, step.site, wanted)
            if any(v.dtype.kind == "c" for v in [*outs, *(x for x in inputs if isinstance(x, V))]):
                raise unsupported(
                    step.op.public_name, " of complex numbers, which ONNX does not have", step.site
                )
            given = [inputs] if step.op.variadic else inputs
            found = rule(g, told, *given, **step.parameters)
        except Unclear as error:
            raise refused(
                f"how '{step.op.public_name}' is written in ONNX depends on a size that is dynamic ({error}); "
                "make that dimension fixed",
                step.site,
            ) from None
        names = found if isinstance(found, (tuple, list)) else (found,)
        for i, n in enumerate(step.outputs):
            made = names[i] if i < len(names) else None
            if made is None:
                if i in wanted:
                    raise unsupported(
                        step.op.public_name, f" where its result number {i} is used", step.site
                    )
                continue
            self._bind(n, g.value(made), self.program.nodes[n])

    def _is_empty(self, n: int) -> bool:
        """A result that never has elements needs no operation (runtimes handle those poorly)."""
        node = self.program.nodes[n]
        if not any(not isinstance(d, Size) and d == 0 for d in node.shape):
            return False
        if is_fixed(node.shape):
            name = self.graph.constant(np.zeros([int(d) for d in node.shape], node.dtype))
        else:
            name = self.graph.expand(np.zeros((), node.dtype), node.shape)
        self._bind(n, name, node)
        return True

    def _form(self, n: int) -> V:
        node = self.program.nodes[n]
        return V.of("", node.shape, node.dtype)

    def _bind(self, n: int, name: str, node: Node) -> V:
        value = V.of(name, node.shape, node.dtype)
        self.values[n] = value
        self.graph.knows(name, node.shape)
        return value

    def _input(self, x: Any) -> Any:
        if isinstance(x, Use):
            return self._value(x)
        if isinstance(x, Index):
            return [None if u is None else self._value(u) for u in x.places]
        if isinstance(x, (list, tuple)):
            return [self._input(y) for y in x]
        return x

    def _value(self, use: Use) -> V:
        found = self.values.get(use.number)
        if found is not None:
            return found
        g, node = self.graph, self.program.nodes[use.number]
        if node.kind == "weight":
            name = g.name(node.key)
            g.initializers[name] = g.tensor(self.weights[node.key], name)
        elif node.data is not None:
            name = g.constant(node.data)
        elif node.kind == "random":
            name = drawn(g, node.key, node.shape, node.dtype, node.site)
        else:
            name = self._made_anew(node)
        return self._bind(use.number, name, node)

    def _made_anew(self, node: Node) -> Any:
        """A constant that each run creates for its own sizes."""
        g, held = self.graph, node.varying
        if not any(
            isinstance(n, Size)
            for one in self.program.nodes
            if one.kind == "input"
            for n in one.shape
        ):
            raise refused(
                "a tensor follows from the inputs' values by something other than the library's operations "
                "(NumPy, Python numbers, a cache): the graph would have what it was for the example built in",
                node.site,
            )
        if not held:
            raise refused("a tensor follows from sizes in a way that cannot be exported", node.site)
        if all(a.size and np.all(a == a.flat[0]) for a in held):
            value = of(a.flat[0].item() for a in held)
            return g.expand(number(g, value, node.dtype), node.shape)
        if not any(isinstance(n, Size) for n in node.shape) and held[0].size <= 64:
            numbers = [
                of(x.item() for x in each) for each in zip(*(a.flat for a in held), strict=True)
            ]
            parts = [g.op("Reshape", number(g, n, node.dtype), np.array([1])) for n in numbers]
            flat = g.op("Concat", *parts, axis=0) if len(parts) > 1 else parts[0]
            return g.reshape(flat, node.shape, given=())
        if node.dtype.kind in "iuf" and len(node.shape) == 1:
            found = self._progression(node, held)
            if found is not None:
                return found
        if len(node.shape) == 2 and all(_is_eye(a) for a in held):
            blank = g.expand(number(g, 0, node.dtype), node.shape)
            return g.op("EyeLike", blank)
        triangle = self._triangle(node, held)
        if triangle is not None:
            return triangle
        raise refused(
            "a tensor that the model makes without an operation on its inputs is another one for inputs of "
            "other sizes or values, and no rule for it was found; it would be built into the graph as it "
            "was for the example. Make it with operations (arange, ones, tril, …), or make the dimension fixed",
            node.site,
        )

    def _progression(self, node: Node, held: list[Any]) -> Any:
        """Evenly spaced numbers: `arange`, `linspace`."""
        g = self.graph
        if any(len(a) < 2 for a in held):
            return None
        exact = [a.astype(np.float64) for a in held]
        steps = [(a[-1] - a[0]) / (len(a) - 1) for a in exact]
        room = 8 * np.finfo(node.dtype).eps if node.dtype.kind == "f" else 0
        for a, step in zip(exact, steps, strict=True):
            if np.any(np.abs(a[0] + step * np.arange(len(a)) - a) > room * np.max(np.abs(a))):
                return None
        count = node.shape[0]
        whole = node.dtype.kind != "f" or all(
            float(x).is_integer() for a in exact for x in (a[0], a[1])
        )
        if whole:
            start, step = of(int(a[0]) for a in exact), of(int(s) for s in steps)
            end = start + step * count
            made = g.op("Range", *(g.scalar(n) for n in (start, end, step)))
            return g.cast(made, node.dtype)
        places = g.cast(g.op("Range", np.array(0), g.scalar(count), np.array(1)), node.dtype)
        start, step = of(a[0].item() for a in exact), of(float(s) for s in steps)
        scaled = g.op("Mul", places, number(g, step, node.dtype))
        return g.op("Add", scaled, number(g, start, node.dtype))

    def _triangle(self, node: Node, held: list[Any]) -> Any:
        """One number above (or below) a diagonal, another elsewhere: a causal mask."""
        if len(node.shape) != 2:
            return None
        g = self.graph
        for upper in (1, 0):
            for k in (0, 1) if upper else (0, -1):
                masks = [(np.triu if upper else np.tril)(np.ones(a.shape, bool), k) for a in held]
                inside = [np.unique(a[m]) for a, m in zip(held, masks, strict=True)]
                outside = [np.unique(a[~m]) for a, m in zip(held, masks, strict=True)]
                if any(
                    len(x) != 1 or x[0] != y[0]
                    for s in (inside, outside)
                    for x, y in zip(s, s[:1] * len(s), strict=True)
                ):
                    continue
                square = g.op(
                    "Trilu", g.expand(np.ones((), np.int64), node.shape), np.array(k), upper=upper
                )
                values = (number(g, each[0][0], node.dtype) for each in (inside, outside))
                return g.op("Where", g.cast(square, np.bool_), *values)
        return None


def _is_eye(a: Any) -> bool:
    return a.ndim == 2 and np.array_equal(a, np.eye(*a.shape, dtype=a.dtype))


def _numbers(inputs: Any) -> list[int]:
    found: list[int] = []
    for x in inputs:
        if isinstance(x, Use):
            found.append(x.number)
        elif isinstance(x, Index):
            found += [u.number for u in x.places if u is not None]
        elif isinstance(x, (list, tuple)):
            found += _numbers(x)
    return found
