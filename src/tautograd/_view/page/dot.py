"""A graph in the language of Graphviz: modules as clusters, gradients on edges, cuts dashed."""

from __future__ import annotations

from collections.abc import Iterator

from ..._files.printable import printable
from ..chain import Writer
from .graph import CUT, INPUT, LEAF, OPERATION, Graph, Group

_SHAPES = {
    OPERATION: 'shape=box style="rounded"',
    LEAF: 'shape=box style="rounded,filled" fillcolor="#e4f3ea" color="#2f8f5b"',
    INPUT: 'shape=box style="dashed"',
    CUT: 'shape=box style="dashed,filled" fillcolor="#fde8e8" color="#c4202c" fontcolor="#c4202c"',
}


def as_dot(graph: Graph) -> str:
    """The whole graph; `dot -Tsvg` draws it."""
    return "\n".join(_lines(graph)) + "\n"


def _lines(graph: Graph) -> Iterator[str]:
    writer = Writer(graph)
    yield "// Made by tautograd"
    yield f"digraph {_quoted(graph.title)} {{"
    yield '  node [fontname="sans-serif" fontsize=12]; edge [fontname="sans-serif" fontsize=10];'
    inside: dict[int, list[Group]] = {}
    for group in graph.groups[1:]:
        inside.setdefault(group.parent, []).append(group)
    yield from _group(graph, 0, inside, writer, "  ")
    for edge in graph.edges:
        looks = []
        if edge.gradient is not None:
            looks.append(f"label={_quoted(edge.gradient.size_text)}")
        if edge.is_cut:
            looks.append('style=dashed color="#c4202c"')
        elif edge.gradient is None:
            looks.append("color=gray")
        yield f"  n{edge.source} -> n{edge.target} [{' '.join(looks)}];"
    yield "}"


def _group(
    graph: Graph, number: int, inside: dict[int, list[Group]], writer: Writer, indent: str
) -> Iterator[str]:
    for node in graph.nodes:
        if node.group == number:
            title = writer.equation(node) if node.kind == OPERATION else node.symbol
            if node.kind == CUT:
                title = f"✂ {node.name}"
            elif node.kind == INPUT and node.call:
                title = writer.made(node)
            value = node.value.text if node.value is not None else ""
            gradient = f"∂ {node.arrived[0].gradient_text}" if 0 in node.arrived else ""
            text = _quoted("\n".join(part for part in (title, value, gradient) if part))
            yield f"{indent}n{node.number} [label={text} {_SHAPES[node.kind]}];"
    for group in inside.get(number, []):
        yield f"{indent}subgraph cluster_{group.number} {{"
        title = f"{group.label}  {group.about}" if group.about != group.label else group.label
        yield f'{indent}  label={_quoted(title)}; color="#2a5db0"; style=rounded;'
        yield from _group(graph, group.number, inside, writer, indent + "  ")
        yield f"{indent}}}"


def _quoted(text: str) -> str:
    escaped = (
        "\n".join(map(printable, text.split("\n")))
        .replace("\\", "\\\\")
        .replace('"', '\\"')
        .replace("\n", "\\n")
    )
    return f'"{escaped}"'
