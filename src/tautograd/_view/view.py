"""`view(loss)`: the recorded graph behind a tensor as a page, with what flows back through it."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .._trees.nests import ANY_MAPPING as NESTS
from .._user_code.sites import Site
from .._verify.locate.leaving import edge_of
from .._verify.subject.engines import engine_of, engines, is_tensor
from .page.graph import Graph
from .page.groups import make_groups
from .record.assigned_lines import assigned_lines
from .record.backward_flow import Flow
from .record.backward_watch import Watching
from .record.collect import Collector
from .record.names import Names
from .record.node_history import walk
from .record.recorder import Notes
from .uncollected import uncollected

_active: list[Recording] = []

FREED = (
    "Gradients are missing: this graph was used by a backward() already, which frees it. Ask before "
    "backward(), or let backward(retain_graph=True) keep the graph."
)


class View:
    """A picture of one graph: `save`, `show`, `to_dict`; notebooks display it."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._pages: dict[Any, str] = {}

    def page(self, *, source: bool = True, links: bool = False) -> str:
        """The page: one self-contained HTML file.

        `source=False` leaves out files and their lines. Full paths, by which a click on a line opens an
        editor on this machine, are included only with `links=True`.
        """
        from .page.page import Shown, as_page

        shown = Shown(source, links and source)
        if shown not in self._pages:
            self._pages[shown] = as_page(self.graph, shown)
        return self._pages[shown]

    def svg(self) -> str:
        """The graph as a picture, folded as the page initially shows it."""
        from .page.svg import as_svg

        return as_svg(self.graph)

    def dot(self) -> str:
        """The graph in the language of Graphviz."""
        from .page.dot import as_dot

        return as_dot(self.graph)

    def save(
        self, path: str | os.PathLike[str], *, source: bool = True, links: bool = False
    ) -> Path:
        """Write it, atomically, as `.html`, `.json`, `.svg` or `.dot`, depending on the name.

        `source` and `links` are those of `page()`.
        """
        from .._files.atomic import replacing
        from .._files.printable import utf8

        suffix = Path(path).suffix.lower()
        if suffix in (".html", ".htm"):
            text = self.page(source=source, links=links)
        elif suffix == ".svg":
            text = self.svg()
        elif suffix in (".dot", ".gv"):
            text = self.dot()
        elif suffix == ".json":
            text = json.dumps(self.to_dict(), indent=1, allow_nan=False) + "\n"
        else:
            raise ValueError(
                f"a view is saved as .html, .json, .svg or .dot, not as '{suffix}' ({os.fspath(path)})"
            )
        with replacing(path) as file:
            file.write(utf8(text))
        return Path(path)

    def show(self) -> Path:
        """Open it in the browser; returns the path of the file written for that."""
        from .._report.browser import open_page

        return open_page(self.page(), "view")

    def to_dict(self) -> dict[str, Any]:
        """The graph as plain values that JSON can hold."""
        return self.graph.to_dict()

    def __repr__(self) -> str:
        count = len(self.graph.nodes)
        return (
            f"<View of {self.graph.title}: {count} nodes; .show() opens it, .save(path) keeps it>"
        )

    def _repr_html_(self) -> str:
        from .._report.browser import as_frame

        return as_frame(self.page(), f"Graph of {self.graph.title}")


class Recording:
    """What a program does inside `view.recording()`; `view()` draws it."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self._watching = Watching(engine, self._caught)
        self._last: View | None = None

    @property
    def notes(self) -> Notes:
        return self._watching.notes

    def _caught(self, collector: Collector, flow: Any) -> None:
        self._last = View(finished(collector, flow))
        self.notes.forget(keep=collector.backward_order)

    def view(self, loss: Any = None, gradient: Any = None) -> View:
        """The graph of `loss`, or by default of the last `backward()` inside."""
        if loss is not None:
            return _of_tensor(loss, sys._getframe(1), notes=self.notes, gradient=gradient)
        if self._last is None:
            raise RuntimeError(
                "view: there was no backward() inside; name the loss: recording.view(loss)"
            )
        return self._last


@contextlib.contextmanager
def recording(engine: Any = None) -> Iterator[Recording]:
    """Record values, lines, modules and cuts of the code inside, for pictures of it.

    `engine` defaults to tautograd: `view.recording(torch)` for PyTorch.
    """
    if engine is None:
        engine = sys.modules["tautograd"]
    made = Recording(engine)
    _active.append(made)
    try:
        with made._watching.on():
            yield made
    finally:
        _active.remove(made)


def view(what: Any, *args: Any, gradient: Any = None, **kwargs: Any) -> View:
    """The graph behind a tensor, or of a function called with the arguments that follow.

    `view(loss)` draws what was recorded, and computes its gradients without modifying any `.grad`.
    `view(function, *args)` also sees every intermediate value, lines, modules and cuts (`detach()`,
    `no_grad`, `item()`), because it observes the call. A result with several elements needs
    `gradient`, as `backward()` does.
    """
    frame = sys._getframe(1)
    if is_tensor(what):
        if args or kwargs:
            raise TypeError("view: arguments are for a function; this is a tensor")
        notes = next((r.notes for r in reversed(_active) if _knows(r.notes, what)), None)
        return _of_tensor(what, frame, notes=notes, gradient=gradient)
    if not callable(what):
        raise TypeError(f"view: a tensor or a function is needed, not {type(what).__name__}")
    names = Names()
    with contextlib.ExitStack() as stack:  # its results show which engine it runs on
        noted = {engine.__name__: Notes(engine) for engine in engines()}
        for one in noted.values():
            stack.enter_context(one.recording())
        result = what(*args, **kwargs)
    loss = next((v for v in NESTS.leaves(result) if is_tensor(v) and v.requires_grad), None)
    if loss is None:
        raise TypeError("view: the function gave no tensor with a history")
    notes = noted.get(engine_of([loss]).__name__)
    named = {f"input {i}": a for i, a in enumerate(args)}
    parameters = _parameter_names(what)
    for i, argument in enumerate(args):
        named[parameters[i] if i < len(parameters) else f"input {i}"] = argument
    names.see({**named, **kwargs})
    if hasattr(what, "named_parameters"):
        names.see_module(what)
    return _of_tensor(loss, frame, notes=notes, gradient=gradient, names=names)


view.recording = recording  # type: ignore[attr-defined]


def _parameter_names(function: Any) -> list[str]:
    from .._verify.subject.calls import parameter_names

    return parameter_names(function)


def _knows(notes: Notes, tensor: Any) -> bool:
    edge = edge_of(tensor)
    return edge is not None and id(edge[0]) in notes.nodes


def _of_tensor(
    loss: Any,
    frame: Any,
    *,
    notes: Notes | None = None,
    gradient: Any = None,
    names: Names | None = None,
) -> View:
    engine = engine_of([loss])
    names = names or Names()
    names.see_frames(frame, notes.paths.roots if notes is not None else ())
    lines = assigned_lines(frame, walk([loss])) if notes is None else {}
    on = notes is not None and notes.is_on
    if notes is not None:
        notes.is_on = False
    try:
        return View(graph_of(engine, loss, names, notes, gradient, lines))
    finally:
        if notes is not None:
            notes.is_on = on


def graph_of(
    engine: Any,
    loss: Any,
    names: Names,
    notes: Notes | None,
    gradient: Any,
    lines: dict[int, Site] | None = None,
) -> Graph:
    """The graph of a tensor, with the gradients of a backward that modifies no `.grad`."""
    if edge_of(loss) is None:
        raise ValueError(
            "view: this tensor has no history. None of what it was computed from has "
            "requires_grad=True, or it was computed under no_grad() or detached."
        )
    if gradient is None and loss.numel() != 1:
        raise ValueError(
            f"view: a result of shape {tuple(loss.shape)} is no single number; say with gradient= what to "
            "start backward from, as backward() asks for too, or view its sum or mean"
        )
    with engine.no_grad():
        collector = Collector(engine, [loss], names=names, notes=notes)
        collector.lines = lines or {}
    flow, trouble = flow_of(engine, collector, loss, gradient)
    with engine.no_grad():
        graph = finished(collector, None if trouble else flow)
    if trouble:
        graph.notes.insert(0, trouble)
    return graph


def flow_of(engine: Any, collector: Collector, loss: Any, gradient: Any) -> tuple[Flow, str]:
    """The gradients of a backward from `loss`, or the reason why there are none."""
    flow = collector.watch()
    try:
        if collector.leaves:
            start = None if gradient is None else [gradient]
            engine.autograd.grad(
                [loss], collector.leaves, start, retain_graph=True, allow_unused=True
            )
    except RuntimeError as error:
        freed = "second time" in str(error)
        return flow, FREED if freed else f"Gradients are missing: {str(error).splitlines()[0]}"
    finally:
        flow.close()
    return flow, ""


def finished(collector: Collector, flow: Any) -> Graph:
    """The graph with its groups and its title."""
    with uncollected():
        graph = collector.collect(flow)
        notes = collector.notes
        calls = notes.paths.calls if notes is not None else {}
        make_groups(graph, calls, collector.names)
    graph.title = " + ".join(node.symbol for node in graph.nodes if node.root)
    return graph
