"""`summary(model, *inputs)`: observes one run: what each layer received, returned, holds and costs."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..._files.printable import printable
from ..._report.tables import text_table
from ..._report.wording import counted
from ..._stand_ins.function_mode import FunctionMode
from ..._trees.nests import ANY_MAPPING as NESTS
from ..._verify.locate.leaving import name_of_call
from ..._verify.subject.engines import engine_of, is_tensor, name_of
from ..record.module_calls import ModuleCalls
from .flops import COUNTERS, UNCOUNTED

HEADERS = "Layer", "Kind", "Input", "Output", "Parameters", "FLOPs", "Output memory"
RIGHT = (4, 5, 6)


@dataclass
class Layer:
    """One call of a module; `flops` includes its submodules, `parameters` does not."""

    path: str
    kind: str
    depth: int
    inputs: list[tuple[int, ...]] = field(default_factory=list)
    outputs: list[tuple[int, ...]] = field(default_factory=list)
    parameters: int = 0  # its own, counted at their first occurrence
    flops: int = 0
    bytes: int = 0  # of its result

    def row(self) -> tuple[str, ...]:
        name = "  " * self.depth + (self.path.rpartition(".")[2] or self.kind)
        return (
            name, self.kind, _shapes(self.inputs), _shapes(self.outputs),
            f"{self.parameters:,}" if self.parameters else "", large(self.flops), memory(self.bytes),
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        return {
            "path": self.path,
            "kind": self.kind,
            "depth": self.depth,
            "inputs": [list(shape) for shape in self.inputs],
            "outputs": [list(shape) for shape in self.outputs],
            "parameters": self.parameters,
            "flops": self.flops,
            "output_bytes": self.bytes,
        }


@dataclass
class Summary:
    """A model in figures; `print()` shows a table, a notebook too, `save()` writes a page or JSON."""

    model: str
    engine: str
    layers: list[Layer]
    parameters: int
    trainable: int
    buffers: int
    parameter_bytes: int
    buffer_bytes: int
    uncounted: list[str] = field(default_factory=list)  # calls whose work is not counted

    @property
    def flops(self) -> int:
        """Additions and multiplications of one forward pass."""
        return sum(layer.flops for layer in self.layers if layer.depth == 0)

    @property
    def output_bytes(self) -> int:
        """Bytes of the results of innermost layers: about what a backward has to keep."""
        innermost = [
            layer
            for layer, after in zip(self.layers, [*self.layers[1:], None], strict=True)
            if after is None or after.depth <= layer.depth
        ]
        return sum(layer.bytes for layer in innermost)

    def facts(self) -> list[str]:
        """The totals, in sentences."""
        frozen = self.parameters - self.trainable
        return [
            f"{counted(self.parameters, 'parameter')}, {memory(self.parameter_bytes)}"
            + (f"; {frozen:,} of them frozen" if frozen else ""),
            *([f"{counted(self.buffers, 'entry', 'entries')} in buffers"] if self.buffers else []),
            f"{large(self.flops) or '0'} FLOPs in one forward: products, convolutions and attention",
            *([f"not counted: {', '.join(self.uncounted)}"] if self.uncounted else []),
            f"{memory(self.output_bytes) or '0 B'} of results of the innermost layers",
        ]

    def __str__(self) -> str:
        rows = [[printable(cell) for cell in layer.row()] for layer in self.layers]
        title = f"{printable(self.model)} on {self.engine}"
        return "\n".join([title, "", text_table(HEADERS, rows, RIGHT), "", *self.facts()])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        from .summary_page import as_piece

        return as_piece(self)

    def to_dict(self) -> dict[str, Any]:
        """The summary as plain values that JSON can hold."""
        return {
            "format": "tautograd summary",
            "version": 1,
            "model": self.model,
            "engine": self.engine,
            "parameters": self.parameters,
            "trainable": self.trainable,
            "buffers": self.buffers,
            "parameter_bytes": self.parameter_bytes,
            "buffer_bytes": self.buffer_bytes,
            "flops": self.flops,
            "uncounted": self.uncounted,
            "output_bytes": self.output_bytes,
            "layers": [layer.to_dict() for layer in self.layers],
        }

    def page(self) -> str:
        """One self-contained HTML file."""
        from .summary_page import as_page

        return as_page(self)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it, atomically, as a page or as JSON, depending on the extension: `.html` or `.json`."""
        from ..._files.atomic import replacing
        from ..._files.printable import utf8

        suffix = Path(path).suffix.lower()
        if suffix not in (".html", ".htm", ".json"):
            raise ValueError(
                f"a summary is saved as .html or .json, not as '{suffix}' ({os.fspath(path)})"
            )
        plain = suffix == ".json"
        text = json.dumps(self.to_dict(), indent=1) + "\n" if plain else self.page()
        with replacing(path) as file:
            file.write(utf8(text))
        return Path(path)


def summary(model: Any, *inputs: Any, **named: Any) -> Summary:
    """Run a model once on these inputs, without gradients, and report what each layer was and cost.

    It runs in eval mode; the model's mode and its buffers are restored afterwards.
    """
    tensors = [t for t in NESTS.leaves((inputs, named)) if is_tensor(t)]
    tensors += list(model.parameters())
    if not tensors:
        raise TypeError("summary: neither the model nor its inputs have a tensor")
    engine = engine_of(tensors)
    modes = [(module, module.training) for module in model.modules()]
    watch = Watch(engine)
    try:
        model.eval()
        with watch.on(), engine.no_grad():
            model(*inputs, **named)
    finally:
        for module, mode in modes:
            module.training = mode
    assert watch.found is not None
    return watch.found


class Watch(ModuleCalls):
    """Watches module calls; for the first outermost one, `found` receives the summary."""

    def __init__(self, engine: Any) -> None:
        super().__init__(engine)
        self.engine = engine
        self.found: Summary | None = None
        self.layers: list[Layer] = []
        self._open: list[Layer] = []
        self._met: set[int] = set()
        self._counting = False
        self.uncounted: set[str] = set()

    @contextlib.contextmanager
    def on(self) -> Iterator[None]:
        mode = FunctionMode(self.engine, self._see)
        with self:
            mode.start()
            try:
                yield
            finally:
                mode.stop()

    def _begin(self, module: Any, inputs: Any) -> None:
        super()._begin(module, inputs)
        if self.found is not None:
            return
        made = Layer(self.current, type(module).__name__, len(self._open))
        made.inputs = _shapes_of(inputs)
        for parameter in module._parameters.values():
            if parameter is not None and id(parameter) not in self._met:
                self._met.add(id(parameter))
                made.parameters += parameter.numel()
        self.layers.append(made)
        self._open.append(made)

    def _end(self, module: Any = None, inputs: Any = None, result: Any = None) -> None:
        super()._end(module, inputs, result)
        if self.found is not None or not self._open:
            return
        layer = self._open.pop()
        layer.outputs = _shapes_of(result)
        tensors = [t for t in NESTS.leaves(result) if is_tensor(t)]
        layer.bytes = sum(t.numel() * t.element_size() for t in tensors)
        if not self._open:
            self.found = _finished(self.engine, module, self.layers)
            self.found.uncounted = sorted(self.uncounted)
            self.ended()

    def ended(self) -> None:
        """The model has run."""

    def _see(self, function: Any, args: Any, kwargs: Any) -> Any:
        name = name_of_call(self.engine, function)
        counter = None if self._counting or not self._open else COUNTERS.get(name)
        if self._open and not self._counting and name in UNCOUNTED:
            self.uncounted.add(name)
        if counter is None:
            return function(*args, **kwargs)
        self._counting = True  # whatever it calls itself is part of it
        try:
            result = function(*args, **kwargs)
        finally:
            self._counting = False
        try:
            flops = counter(args, kwargs, result)
        except (AttributeError, IndexError, KeyError, TypeError):  # called in an unforeseen way
            self.uncounted.add(name)
            return result
        for layer in self._open:
            layer.flops += flops
        return result


def _finished(engine: Any, model: Any, layers: list[Layer]) -> Summary:
    parameters, buffers = list(model.parameters()), list(model.buffers())
    return Summary(
        type(model).__name__,
        name_of(engine),
        layers,
        sum(p.numel() for p in parameters),
        sum(p.numel() for p in parameters if p.requires_grad),
        sum(b.numel() for b in buffers),
        sum(p.numel() * p.element_size() for p in parameters),
        sum(b.numel() * b.element_size() for b in buffers),
    )


def _shapes_of(values: Any) -> list[tuple[int, ...]]:
    return [tuple(int(n) for n in t.shape) for t in NESTS.leaves(values) if is_tensor(t)]


def _shapes(shapes: list[tuple[int, ...]]) -> str:
    shown = ["×".join(map(str, shape)) if shape else "number" for shape in shapes]
    return ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else "")


def large(count: int) -> str:
    """`1.23 M`; empty for zero."""
    for size, letter in ((10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= size:
            return f"{count / size:.3g} {letter}"
    return str(count) if count else ""


def memory(count: int) -> str:
    """`1.5 MiB`; empty for zero."""
    for power, unit in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if count >= 1024**power:
            return f"{count / 1024**power:.3g} {unit}"
    return f"{count} B" if count else ""
