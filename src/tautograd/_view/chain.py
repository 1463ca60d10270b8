"""The chain rule for each step of backward, written out: in symbols, then in numbers.

A line is a list of parts: text, or a fraction as a pair of texts. Numbers are the engine's own: the
gradients that arrived and were passed on. The factor between them comes from the rule (`rules.py`) and
is shown only if the product equals the engine's result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .page.graph import CUT, LEAF, Edge, Graph, Node
from .record.values import Value, number, summed_to
from .rules import RULES, Carried, Factor, Product, Rule

Part = str | tuple[str, str]
Line = list[Part]
CLOSE = {"float16": 2e-2, "bfloat16": 1e-1, "float32": 1e-3}
MOST_TERMS = 3


@dataclass
class Written:
    """One step: what runs, what arrives, and a paragraph for each input."""

    title: str
    arrives: list[Line] = field(default_factory=list)
    gives: list[tuple[int, list[Line]]] = field(default_factory=list)  # by index of the edge


class Writer:
    """Writes the steps of one graph."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.end = next((node.symbol for node in graph.nodes if node.root), "L")
        if sum(node.root for node in graph.nodes) > 1:
            self.end = "L"
        self._into = graph.edges_into()
        self._uses: dict[tuple[int, int], list[Edge]] = {}  # edges along which gradients arrived
        self._share: dict[int, int] = {}  # an edge's position among the uses of one result
        for edge in graph.edges:
            if edge.gradient is not None:
                uses = self._uses.setdefault((edge.source, edge.output), [])
                uses.append(edge)
                self._share[id(edge)] = len(uses)
        self._index = {id(edge): i for i, edge in enumerate(graph.edges)}
        self._names: dict[int, list[str]] = {}  # of a node's operands

    def step(self, node: Node) -> Written:
        """What happens when backward reaches this node."""
        if node.kind == LEAF:
            return self._leaf(node)
        written = Written(self.equation(node))
        for output, value in sorted(node.arrived.items()):
            written.arrives += self._arrival(node, output, value)
        rule = RULES.get(node.operation)
        for edge in self._into[node.number]:
            if edge.gradient is not None:
                written.gives.append((self._index[id(edge)], self._given(node, edge, rule)))
        return written

    # --- titles --------------------------------------------------------------------------------

    def equation(self, node: Node) -> str:
        """`y = x · x`, or `y = native_layer_norm(x, weight, bias)`."""
        rule = RULES.get(node.operation)
        names = self._operand_names(node)
        if (
            rule is not None
            and rule.formula
            and len(rule.parts) <= len([n for n in names if n != "?"])
        ):
            formula = _filled(rule.formula, names, node.symbol)
        else:
            formula = f"{node.operation}({', '.join(self._given_names(node, names))})"
        return f"{node.symbol} = {formula}"

    def made(self, node: Node) -> str:
        """`mask = gt(x)`: an input computed from values with a history."""
        into = [(self.graph.nodes[e.source], e.output) for e in self._into[node.number]]
        sources = ", ".join(self._cut_off(n) if n.kind == CUT else n.symbol_of(k) for n, k in into)
        if node.call == "Python":
            return f"{node.symbol}, computed in Python from {sources}"
        if node.indirect:
            return f"{node.symbol} = {node.call}(…), from {sources}"
        return f"{node.symbol} = {node.call}({sources})"

    def _cut_off(self, cut: Node) -> str:
        """`x.detach()`, or whatever cut the graph if that is not a method of one tensor."""
        into = self._into[cut.number]
        if len(into) != 1 or not cut.name.endswith("()"):
            return cut.name
        return f"{self.graph.nodes[into[0].source].symbol_of(into[0].output)}.{cut.name}"

    def _given_names(self, node: Node, names: list[str]) -> list[str]:
        """Arguments as the program passed them, if known; else the inputs."""
        into = [name for name in names if name != "?"]
        given = [
            number(a) if isinstance(a, float) else a[0].symbol_of(a[1]) for a in node.arguments
        ]
        if len(given) >= len(into) and given:
            return given
        others = [self.graph.nodes[e.source].symbol_of(e.output) for e in self._into[node.number]]
        return into + [name for name in others if name not in into]

    def _operand_names(self, node: Node) -> list[str]:
        if node.number not in self._names:
            self._names[node.number] = self._names_of_operands(node)
        return self._names[node.number]

    def _names_of_operands(self, node: Node) -> list[str]:
        names = []
        edges = {edge.place: edge for edge in self._into[node.number]}
        constants = [e for e in self._into[node.number] if e.place >= len(node.operands)]
        for place in range(max(len(node.operands), 2 if "exponent" in node.numbers else 0)):
            edge = edges.get(place)
            value = node.operands[place] if place < len(node.operands) else None
            if edge is not None:
                names.append(self.graph.nodes[edge.source].symbol_of(edge.output))
            elif value is not None and value.dtype == "number":
                names.append(number(value.array[()]))
            elif place == 1 and "exponent" in node.numbers:
                names.append(number(node.numbers["exponent"]))
            elif constants:
                source = constants.pop(0)
                names.append(self.graph.nodes[source.source].symbol)
            elif value is not None and value.is_single and value.array is not None:
                names.append(number(value.array.reshape(-1)[0]))
            else:
                names.append("?")
        if not node.operands:
            names += [self.graph.nodes[e.source].symbol_of(e.output) for e in edges.values()]
        return names

    # --- what arrives --------------------------------------------------------------------------

    def _fraction(self, node: Node, output: int = 0) -> Part:
        return f"∂{self.end}", f"∂{node.symbol_of(output)}"

    def _arrival(self, node: Node, output: int, value: Value) -> list[Line]:
        name = self._fraction(node, output)
        uses = self._uses.get((node.number, output), [])
        if node.root and not uses:
            start = (
                " : backward starts here" if value.is_single else " : what backward started with"
            )
            return [[name, f" = {value.gradient_text}{start}"]]
        if len(uses) > 1:
            return [self._sum_line(name, uses, value)]
        return [_sized(name, value)]

    def _sum_line(self, name: Part, uses: Sequence[Edge], value: Value) -> Line:
        several = f"{len(uses)} uses add up: "
        sizes = [edge.gradient.gradient_text for edge in uses if edge.gradient is not None]
        if len(sizes) <= (6 if value.is_single else 2 if value.is_few else 0):
            return [several, name, f" = {_plus(sizes)} = {value.gradient_text}"]
        return [several, *_sized(name, value)]

    def _leaf(self, node: Node) -> Written:
        written = Written(f"{node.symbol}.grad")
        value = node.arrived.get(0)
        if value is None:
            return written
        uses = self._uses.get((node.number, 0), [])
        if len(uses) > 1:
            written.arrives.append(self._sum_line(self._fraction(node), uses, value))
        else:
            written.arrives.append(_sized(self._fraction(node), value))
        if node.before is not None:
            text = (
                f"{node.symbol}.grad held {node.before.gradient_text} before: this is added to it."
            )
            written.arrives.append([text])
        else:
            written.arrives.append([f"This is {node.symbol}.grad."])
        return written

    # --- what is passed on ---------------------------------------------------------------------

    def _given(self, node: Node, edge: Edge, rule: Rule | None) -> list[Line]:
        source = self.graph.nodes[edge.source]
        target = self._fraction(source, edge.output)
        arriving = self._fraction(node)
        value = edge.gradient
        assert value is not None
        uses = self._uses[edge.source, edge.output]
        share = ""
        if len(uses) > 1:
            share = f"use {self._share[id(edge)]} of {len(uses)}: "
        local: Part = (f"∂{node.symbol}", f"∂{source.symbol_of(edge.output)}")
        symbols: Line = [share, target, " = " if not share else " ⟵ ", arriving, " · ", local]
        found = self._by_rule(node, edge, rule, value)
        if found is None:
            symbols = [part for part in symbols if part != ""]
            said = value.gradient_text
            before = node.arrived.get(0)
            if before is not None and len(node.arrived) == 1:
                said = f"{before.gradient_text}  →  {said}"
            return [symbols, [said]]
        text, numbers = found
        if text.startswith("="):
            symbols = [*symbols[:3], arriving, f" , {text[1:]}"]
        elif "{g}" in text:
            left, _, right = text.partition("{g}")
            symbols = [*symbols[:3], left, arriving, right]
        else:
            symbols = [*symbols, " = ", arriving, f" · {text}"]
        lines: list[Line] = [[part for part in symbols if part != ""], [numbers]]
        if value.is_few and not value.is_single:
            lines.append([f"all of it: {value.text}"])
        return lines

    def _by_rule(
        self, node: Node, edge: Edge, rule: Rule | None, value: Value
    ) -> tuple[str, str] | None:
        """The factor and the product in numbers, if the rule agrees with the engine's result."""
        g = node.arrived.get(0)
        if rule is None or edge.place >= len(rule.parts) or g is None or len(node.arrived) != 1:
            return None
        if g.array is None or value.array is None:
            return None
        part = rule.parts[edge.place]
        arrays = [None if v is None else v.array for v in node.operands]
        if "exponent" in node.numbers and len(arrays) < 2:
            arrays.append(np.array(node.numbers["exponent"]))
        y = node.outputs[0].array if 0 in node.outputs else None
        names = self._operand_names(node)
        with np.errstate(all="ignore"):
            try:
                return _checked(part, g.array, arrays, y, value, names, node.symbol)
            except (TypeError, ValueError, IndexError, AttributeError):  # a value is not known
                return None


def _sized(name: Part, value: Value) -> Line:
    """A gradient and its size."""
    if value.is_few:
        return [name, f" = {value.gradient_text}"]
    return ["‖", name, f"‖ = {number(value.norm)}, {value.shape_text}"]


def _checked(
    part: Factor | Product | Carried,
    g: Any,
    arrays: list[Any],
    y: Any,
    value: Value,
    names: list[str],
    symbol: str,
) -> tuple[str, str] | None:
    want = value.array
    if isinstance(part, Factor):
        factor = part.value(arrays, y)
        product = np.asarray(g * factor)
        if not _close(summed_to(product, want.shape), want, value.dtype):
            return None
        return _filled(part.text, names, symbol), _factor_text(g, factor, product, want)
    if isinstance(part, Product):
        if not _close(part.value(g, arrays), want, value.dtype):
            return None
        at = _most(want)
        terms = list(part.terms(g, arrays, at))
        shown = _plus([f"{number(a)}·{_factor(b)}" for a, b in terms[:MOST_TERMS]])
        more = f" + … ({len(terms)} terms)" if len(terms) > MOST_TERMS else ""
        return _filled(
            part.text, names, symbol
        ), f"{_place(at, want)}{shown}{more} = {number(want[at])}"
    for way in part.value(g, [*arrays, y], want):
        if _close(way, want, value.dtype):
            text = f"={_filled(part.text, names, symbol)}"
            at = _most(want)
            return text, f"{_place(at, want)}{number(want[at])}"
    return None


def _factor_text(g: Any, factor: Any, product: Any, want: Any) -> str:
    if want.size == 1 and product.size > 1:
        return f"summed over {product.size} entries = {number(want.reshape(-1)[0])}"
    if want.size == 1:
        one, other = g.reshape(-1)[0], np.reshape(factor, -1)[0]
        return f"{_factor(one)} · {_factor(other)} = {number(want.reshape(-1)[0])}"
    at = _most(want)
    if product.size == want.size:
        along = np.unravel_index(
            int(np.ravel_multi_index(at, want.shape)) if at else 0, product.shape
        )
        wide = tuple(int(i) for i in along)
        one = np.broadcast_to(g, product.shape)[wide]
        other = np.broadcast_to(factor, product.shape)[wide]
        return f"{_place(at, want)}{_factor(one)} · {_factor(other)} = {number(want[at])}"
    count = product.size // want.size
    return f"{_place(at, want)}summed over {count} entries = {number(want[at])}"


def _factor(value: Any) -> str:
    text = number(value)
    return f"({text})" if text.startswith("−") else text


def _plus(terms: Sequence[str]) -> str:
    return " + ".join(f"({t})" if t.startswith("−") and i else t for i, t in enumerate(terms))


def _place(at: tuple[int, ...], array: Any) -> str:
    return f"at [{', '.join(map(str, at))}]: " if array.size > 1 else ""


def _most(array: Any) -> tuple[int, ...]:
    if not array.size:
        raise ValueError("an empty gradient has no largest entry")
    return tuple(int(i) for i in np.unravel_index(int(np.argmax(np.abs(array))), array.shape))


def _close(found: Any, want: Any, dtype: str) -> bool:
    if np.shape(found) != want.shape or not want.size:
        return False
    size = float(np.abs(want).max())
    if not math.isfinite(size):
        return False
    gap = float(np.abs(found - want).max())
    return gap <= CLOSE.get(dtype, 1e-6) * max(size, 1e-30)


def _filled(text: str, names: list[str], symbol: str) -> str:
    for letter, name in zip("abc", names, strict=False):
        text = text.replace("{" + letter + "}", name)
    return text.replace("{y}", symbol).replace("ᵀᵀ", "")


def as_text(line: Line) -> str:
    """A line without fractions."""
    return "".join(part if isinstance(part, str) else "/".join(part) for part in line)
