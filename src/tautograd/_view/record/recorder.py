"""Records a running program: the call, line, module and result of each recorded node.

Built on the kit's recorder of calls; it keeps figures of results instead of copies of arguments. A
result without a history that came from one with a history is followed until it re-enters the graph: there
the graph was cut.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import sys
import weakref
from collections.abc import Iterable, Iterator
from types import FrameType
from typing import Any

import numpy as np

from ..._stand_ins.function_mode import FunctionMode
from ..._stand_ins.slots import replace
from ..._trees.nests import ANY_MAPPING as NESTS
from ..._user_code.owners import Owner, owners
from ..._user_code.sites import site_at
from ..._user_code.stack import own_frame
from ..._verify.locate.leaving import ABOUT_GRAPH, CUTTING, LEAVING, edge_of, same_edge
from ..._verify.locate.trace import Recorder
from .composed import Composed
from .leaf_uses import LeafUses
from .module_calls import ModuleCalls
from .names import variables_of
from .notes import Constant, Cutting, KnownNode, Noted, Tainted
from .python_flow import PythonFlow
from .values import Memory, Value

MOST_KNOWN = 200_000  # nodes
_MOST_NODES = 50_000  # per call: a recurrent layer has many
_SILENT = frozenset(("requires_grad_", "retain_grad", "register_hook", "backward", "grad", "shape"))


class Notes(Recorder):
    """Records a program for a picture of it."""

    def __init__(self, engine: Any, memory: Memory | None = None) -> None:
        importlib.import_module(f"{engine.__name__}.nn")  # whose modules are to be recorded
        super().__init__(engine)
        self.paths: ModuleCalls = ModuleCalls(engine)
        self.memory = Memory() if memory is None else memory
        self.nodes: dict[int, KnownNode] = {}
        self.left: list[Cutting] = []  # values that left for Python
        self._tainted: dict[int, Tainted] = {}
        self._python = PythonFlow()
        self._constants: dict[int, Constant] = {}
        self._leaves: dict[int, tuple[Any, str]] = {}
        self._composed = Composed(engine)
        self.leaf_uses = LeafUses(engine)
        self.changes: dict[
            int, dict[int, float]
        ] = {}  # of leaves, by position of first use: entries and values
        self.is_on = True

    def forget(self, keep: Iterable[Any] = ()) -> None:
        """Release everything recorded so far, except these nodes."""
        kept = {id(node) for node in keep}
        self.nodes = {key: known for key, known in self.nodes.items() if key in kept}
        self.left.clear()
        self._composed.forget()
        if not kept:
            self._tainted.clear()
            self._python.forget()
            self._constants.clear()
            self._leaves.clear()
            self.leaf_uses.forget()
            self.memory = Memory()

    @contextlib.contextmanager
    def recording(self) -> Iterator[None]:
        """Inside, this thread's calls are recorded.

        Custom Functions are intercepted by a wrapper around their `apply`, not by the profiling hook,
        which would slow down every call of a whole script.
        """
        self.boundary = sys._getframe(2)
        end = replace(
            self.engine.autograd.Function,
            "apply",
            lambda held: classmethod(self._noticed(held.__func__)),
        )
        try:
            with self.paths, FunctionMode(self.engine, self.see):
                yield
        finally:
            self._composed.forget()
            end()

    def _noticed(self, original: Any) -> Any:
        @functools.wraps(original)
        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            internal = (cls.__module__ or "").partition(".")[0] == self.engine.__name__
            if internal or not self.is_on or self._custom is not None:
                return original(cls, *args, **kwargs)
            frame = sys._getframe(1)
            call = self._begin(cls.__name__, cls.apply, args, kwargs, frame)
            self._custom = frame, call
            try:
                result = original(cls, *args, **kwargs)
            finally:
                self._custom = None
            self._end(call, result)
            return result

        return apply

    def see(self, function: Any, args: Any, kwargs: Any) -> Any:
        if not self.is_on:
            return function(*args, **kwargs)
        return super().see(function, args, kwargs)

    # --- one call ------------------------------------------------------------------------------

    def _begin(self, name: str, function: Any, args: Any, kwargs: Any, frame: Any) -> Any:
        user = own_frame(frame, self.boundary)
        site = None if user is None else site_at(user)
        call = Noted(name, site, self.paths.inside, [], False)
        call.grad = bool(self.engine.is_grad_enabled())
        call.part_of = self._composed.of(name, frame, user)
        call.frame = user if name in LEAVING else None
        if user is not None and self.paths.inside:
            call.running = self.paths.running(variables_of(user).get("self"))
        if name in _SILENT or name in ABOUT_GRAPH - {"detach_"}:
            return call
        for key, value in NESTS.named_leaves((tuple(args), dict(kwargs))):
            if isinstance(value, self.tensor):
                edge = edge_of(value)
                call.inputs.append(value)
                call.edges.append(edge)
                call.wanted = call.wanted or edge is not None
                known = self._taint_of(value)
                call.tainted += known.cuts if known is not None else ()
                call.indirect = call.indirect or known is None or known.made is not None
                call.arguments.append(edge if edge is not None else self._constant(value, frame))
                if edge is not None and edge[0] is value and call.grad:
                    self._use_leaf(value)
                if edge is not None and edge[0] is value and id(value) not in self._leaves:
                    self._leaves[id(value)] = _reference(value), self._variable(value, frame)
            else:
                keyword = key.startswith("1[") and key[3:-2] not in ("other", "y") and key[3:-2]
                argument = self._from_python(value, user, call) if self._python else value
                call.arguments.append((keyword, argument) if keyword else argument)
        return call

    def _use_leaf(self, leaf: Any) -> None:
        self.is_on = False  # writes from here on are not the program's doing
        try:
            self.leaf_uses.use(leaf)
        finally:
            self.is_on = True

    def _from_python(self, value: Any, user: FrameType | None, call: Noted) -> Any:
        """Handle a plain argument; one computed from a value that left the graph is a constant."""
        if not isinstance(value, (int, float, complex, np.ndarray, np.generic)) or value is True:
            return value
        cuts = self._python.of_object(value) or self._python.of_arguments(user)
        if not cuts:
            return value
        call.tainted += cuts
        look = self.memory.of_array(np.array(value), "float64")
        direct = len(cuts) == 1 and _same(cuts[0].result, look)
        made = None if direct else Noted("Python", call.site, call.inside, [], False)
        return Constant(look, lambda: None, self._variable(value, user), cuts, made)

    def _end(self, call: Any, result: Any) -> None:
        if not call.inputs and not call.tainted:
            call.frame = None
            return
        given = {id(t): edge for t, edge in zip(call.inputs, call.edges, strict=True)}
        outputs = {id(v): v for v in NESTS.leaves(result) if isinstance(v, self.tensor)}
        outputs = {k: v for k, v in outputs.items() if k not in given}
        for tensor in call.inputs:  # a tensor that was written to has a different history now
            if not same_edge(edge_of(tensor), given[id(tensor)]):
                outputs[id(tensor)] = tensor
                self._constants.pop(id(tensor), None)
        known = {_key(edge) for edge in call.edges if edge is not None}
        for tensor in outputs.values():
            edge = edge_of(tensor)
            if edge is None:
                self._leaves_graph(call, tensor)
            elif hasattr(edge[0], "next_functions"):
                self._recorded(call, edge, tensor, known)
        if call.name in LEAVING and (call.wanted or call.tainted):
            cuts = call.tainted
            if call.wanted:
                left = self._cutting(call, LEAVING[call.name], self._plain(result))
                left.leaves = True
                self.left.append(left)
                cuts = [left]
            self._python.leaves(result, cuts, call.frame)
        call.inputs, call.frame = [], None

    def _plain(self, result: Any) -> Value | None:
        try:
            array = np.array(result)
        except ValueError:  # lists of different lengths
            return None
        return self.memory.of_array(array, str(array.dtype))

    def _recorded(self, call: Noted, edge: Any, tensor: Any, known: set[tuple[int, int]]) -> None:
        call.custom = call.custom or type(edge[0]).__name__ == f"{call.name}Backward"
        last = self.nodes.get(id(edge[0]))
        if last is None:
            if len(self.nodes) > MOST_KNOWN:  # graphs that are never differentiated
                self.forget()
            for node in _between(edge[0], known, self.nodes):
                self.nodes[id(node)] = KnownNode(node, call)
            last = self.nodes[id(edge[0])]
            last.is_last = True
        if last.call is call:
            last.outputs[edge[1]] = self.memory.look(tensor)

    # --- values without a history --------------------------------------------------------------

    def _leaves_graph(self, call: Noted, tensor: Any) -> None:
        if call.name.endswith("_like") or call.name.startswith("new_"):
            return  # of the same shape, with different values
        cuts = list(call.tainted)
        made: Noted | None = call
        if call.wanted and not tensor.requires_grad:
            how = CUTTING.get(call.name) or ("no_grad" if not call.grad else f"{call.name}()")
            cut = self._cutting(call, how, self.memory.look(tensor))
            if call.name not in CUTTING and not _has_gradient(tensor):
                cut.how, cut.is_cut = f"{call.name}()", False
            cuts, made = [cut], None
        if cuts:
            unique = list({id(cut): cut for cut in cuts}.values())
            self._tainted[id(tensor)] = Tainted(_reference(tensor), unique[:8], made)

    def _cutting(self, call: Noted, how: str, result: Value | None) -> Cutting:
        sources = [edge for edge in call.edges if edge is not None]
        return Cutting(how, call.site, call.inside, sources, result, call.running)

    def _taint_of(self, tensor: Any) -> Tainted | None:
        found = self._tainted.get(id(tensor))
        return found if found is not None and found.reference() is tensor else None

    def _constant(self, tensor: Any, frame: Any) -> Constant:
        known = self._constants.get(id(tensor))
        if known is None or known.reference() is not tensor:
            name = self._variable(tensor, frame)
            look = self.memory.look(tensor)
            taint = self._taint_of(tensor)
            if taint is None and self._python and name:  # made by a call that modes do not see
                user = own_frame(frame, self.boundary)
                cuts = self._python.of_variable(user, name)
                if cuts:
                    here = None if user is None else site_at(user)
                    taint = Tainted(None, cuts, Noted("Python", here, self.paths.inside, [], False))
            base = getattr(tensor, "_base", None)  # a layer may pass its weight transposed
            known = Constant(look, _reference(tensor), name)
            known.base = None if base is None or name else _reference(base)
            if taint is not None:
                known.cuts, known.made = taint.cuts, taint.made
            self._constants[id(tensor)] = known
        return known

    def leaf_name(self, tensor: Any) -> str:
        """The variable that held a leaf at its first use."""
        found = self._leaves.get(id(tensor))
        return found[1] if found is not None and found[0]() is tensor else ""

    def _variable(self, tensor: Any, frame: FrameType | None) -> str:
        """The user's name for a tensor, in the functions currently running."""
        found = 0
        while frame is not None and found < 4:
            if owners[frame.f_code.co_filename] is Owner.USERS:
                found += 1
                for name, value in list(variables_of(frame).items()):
                    if value is tensor and not name.startswith("_"):
                        return name
            frame = frame.f_back
        return ""


def _same(one: Value | None, other: Value) -> bool:
    """Whether two values have the same numbers."""
    if one is None or one.array is None or other.array is None:
        return False
    return one.shape == other.shape and bool(np.array_equal(one.array, other.array, equal_nan=True))


def _has_gradient(tensor: Any) -> bool:
    """Whether values of this kind can have a gradient: booleans and integers cannot."""
    return bool(tensor.is_floating_point() or tensor.is_complex())


def _reference(tensor: Any) -> Any:
    try:
        return weakref.ref(tensor)
    except TypeError:
        return lambda: tensor


def _key(edge: Any) -> tuple[int, int]:
    return id(edge[0]), edge[1]


def _between(last: Any, known: set[tuple[int, int]], others: dict[int, KnownNode]) -> Iterator[Any]:
    """The nodes of one call, from its result back to its arguments."""
    pending, seen = [last], {id(last)}
    while pending and len(seen) <= _MOST_NODES:
        node = pending.pop()
        yield node
        for following, number in node.next_functions:
            if following is None or id(following) in seen or id(following) in others:
                continue
            if getattr(following, "variable", None) is not None:
                continue
            if (id(following), number) not in known:
                seen.add(id(following))
                pending.append(following)
