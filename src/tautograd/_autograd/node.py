"""A node of the recorded graph: one operation that ran, what it saved, and where its inputs came from.

An *edge* is what produced an input: another node, or, for a leaf, the leaf tensor itself (its
`AccumulateGrad` node is made only when somebody looks). Nodes hold arrays and edges, never their own
output tensor, so a graph has no reference cycle and is freed the moment its last user lets go.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable
from typing import Any

from .._ops.declare.record import NO_PARAMETERS, Op
from .._user_code.sites import Site, resolve

next_sequence = itertools.count().__next__

# In place of what a node saved, once backward has used it.
FREED: Any = None


class Node:
    """One recorded operation (`grad_fn`)."""

    __slots__ = (
        "__dict__",
        "__weakref__",
        "code",
        "dtype",
        "edges",
        "instruction",
        "mark",
        "parameters",
        "saved",
        "sequence",
        "shape",
        "shapes",
        "versions",
    )

    op: Op = None  # type: ignore[assignment]  # each operation has a class of nodes, see `node_type`

    # Rare things live in `__dict__`; these are what a node has until then. `unusual` is set with any
    # of them that backward must look at, so that a plain node costs it one question.
    unusual = False
    edge_nrs: tuple[int, ...] | None = None  # which output of each edge, unless all are the first
    outputs: Any = None  # [(shape, dtype), …] of an operation with several outputs
    dtypes: Any = None  # dtypes of the inputs, where a rule asks for them
    tensor_hooks: Any = None  # output number -> hooks of the tensor it is
    retained: Any = None  # output number -> weak reference to a tensor that keeps its gradient
    hooks: Any = None  # run after the node, with (gradients of inputs, of outputs)
    prehooks: Any = None  # run before the node, with gradients of outputs
    packed: Any = None  # saved through saved_tensors_hooks or under forward mode
    traceback: Any = None  # the forward's stack, under anomaly detection
    induced_by: Any = None  # the node whose rule recorded this one, under anomaly detection
    accumulators: Any = None  # the `AccumulateGrad`s of its leaves, once somebody has seen them
    is_leaf_edge = False

    edges: tuple[Any, ...]
    saved: Any
    versions: Any
    shapes: Any  # of the inputs; there only where a rule asks for them
    parameters: dict[str, Any]
    sequence: int
    mark: int  # the number of the last backward pass that came by
    shape: Any
    dtype: Any
    code: Any  # where the user's code recorded this, resolved late: see sites.py
    instruction: int

    def name(self) -> str:
        """The name PyTorch gives this node, such as `MulBackward0`."""
        return self.op.node_name

    def __repr__(self) -> str:
        return f"<{self.name().rpartition('::')[2]} object at {id(self):#x}>"

    @property
    def metadata(self) -> dict[Any, Any]:
        """A dictionary for the user's own notes on this node."""
        found: dict[Any, Any] = self.__dict__.setdefault("_metadata", {})
        return found

    @property
    def next_functions(self) -> tuple[tuple[Any, int], ...]:
        """The nodes that made the inputs, each with the number of its output."""
        numbers = self.edge_nrs or (0,) * len(self.edges)
        found = tuple(
            (None, 0) if edge is None else (as_node(edge), nr)
            for edge, nr in zip(self.edges, numbers, strict=True)
        )
        # A graph holds its leaves' nodes, once there are any: hooks hung on them stay.
        held = tuple([node for node, _ in found if isinstance(node, AccumulateGrad)])
        if held:
            self.accumulators = held
        return found

    @property
    def created_at(self) -> Site | None:
        """The line of user code that recorded this operation."""
        return resolve((self.code, self.instruction))

    def shown(self) -> Any:
        """This node as users see it (a custom Function's is its `ctx`)."""
        return self

    def _sequence_nr(self) -> int:
        return self.sequence

    def _input_metadata_of(self, nr: int) -> tuple[Any, Any]:
        """Shape and dtype of output `nr`: what a gradient that arrives here must have."""
        found: tuple[Any, Any] = (
            (self.shape, self.dtype) if self.outputs is None else self.outputs[nr]
        )
        return found

    def __call__(self, *gradients: Any) -> Any:
        """The gradients of the inputs from those of the outputs: this one step of the chain rule."""
        from .backward_pass.chain_rule import called

        return called(self, gradients)

    def register_hook(self, fn: Callable[..., Any]) -> Any:
        """Call `fn(grad_inputs, grad_outputs)` after this node has run in backward."""
        from .hooks import add_hook

        if self.hooks is None:
            self.hooks = {}
        self.unusual = True
        return add_hook(self.hooks, fn)

    def register_prehook(self, fn: Callable[..., Any]) -> Any:
        """Call `fn(grad_outputs)` before this node runs in backward."""
        from .hooks import add_hook

        if self.prehooks is None:
            self.prehooks = {}
        self.unusual = True
        return add_hook(self.prehooks, fn)

    def __dir__(self) -> list[str]:
        from .function.saved_attributes import saved_names

        others = (name for name in super().__dir__() if not name.startswith(_SAVED))
        return [*others, *saved_names(self)]


class _Saved:
    """`grad_fn._saved_self` and its kin. (A `__getattr__` would do, but Python then takes the long
    way to every attribute of a node, and backward reads many.)"""

    __slots__ = ("attribute",)

    def __init__(self, attribute: str) -> None:
        self.attribute = attribute

    def __get__(self, node: Any, owner: type[Node]) -> Any:
        if node is None:
            return self
        from .function.saved_attributes import saved_attribute

        return saved_attribute(node, self.attribute)


_SAVED = "_saved_", "_raw_saved_"
# PyTorch's names of inputs and outputs, which a node has where the operation has such a one.
SLOTS = {
    "self": 0, "input": 0, "mat1": 0, "other": 1, "mat2": 1, "exponent": 1, "tensor": 1,
    "tensor1": 1, "tensor2": 2, "result": -1, "out": -1,
}  # fmt: skip
PARAMETERS = {"min": "lo", "max": "hi"}


def _saved_members(names: Iterable[str]) -> dict[str, Any]:
    return {prefix + name: _Saved(prefix + name) for name in names for prefix in _SAVED}


for _attribute, _member in _saved_members(
    (*SLOTS, *PARAMETERS, "indices", *(f"{n}_sym_{w}" for n in SLOTS for w in ("sizes", "numel")))
).items():
    setattr(Node, _attribute, _member)


def node_type(op: Op) -> type[Node]:
    """The class of an operation's nodes, named as PyTorch names it; made when first needed."""
    found = op.node_type
    if found is None:
        members = {"__slots__": (), "__module__": __name__, "op": op, "unusual": op.outputs != 1}
        if op.saves_nothing:
            members["saved"] = members["versions"] = ()
        if not op.parameters:
            members["parameters"] = NO_PARAMETERS
        members |= _saved_members((*op.inputs, *op.parameters))
        found = op.node_type = type(op.node_name.rpartition("::")[2], (Node,), members)
    return found  # type: ignore[no-any-return]


_RENAMED: dict[tuple[type[Node], str], type[Node]] = {}


def rename_node(node: Node | None, name: str) -> None:
    """Give a node of an operation the name that PyTorch has for it in a certain form."""
    if node is None:
        return
    kind = type(node)
    found = _RENAMED.get((kind, name))
    if found is None:
        op = copy.copy(kind.op)
        op.node_name = name
        members = {"__slots__": (), "__module__": __name__, "op": op}
        found = _RENAMED[kind, name] = type(name, (kind,), members)
    node.__class__ = found


class AccumulateGrad(Node):
    """The node at which a leaf's gradient arrives; `variable` is the leaf."""

    __slots__ = ("variable",)

    edges: tuple[Any, ...] = ()

    def __init__(self, variable: Any) -> None:
        self.variable = variable

    def name(self) -> str:
        return "torch::autograd::AccumulateGrad"

    def _sequence_nr(self) -> int:
        return 2**64 - 1


def recorded_at(node: Any) -> str:
    """The end of an error message: the line of user code that a node comes from."""
    where = node.created_at
    return f"\n{node.name()} was recorded at\n  {where}" if where else ""


def as_node(edge: Any) -> Any:
    """The node behind an edge: itself, or the leaf's `AccumulateGrad`."""
    return edge.grad_accumulator() if edge.is_leaf_edge else edge.shown()
