"""One record per primitive operation: everything the engine, the tests and the docs know of it.

A record holds the forward on raw arrays, the VJP and the JVP beside each other, and samples. Rules
are plain functions written with `np.` functions and operators, and **their parameter names say
what they need**, so a node saves that and nothing more:

    g             the gradient that reaches the output (VJP)
    t             the tangent of one input (JVP)
    x, y, …       an input, by the name it has in `inputs`
    out           the output (a tuple where there are several; `out0`, `out1`, … pick one)
    x_shape       the shape an input had; `x_dtype` its NumPy dtype (neither saves the input)
    needs         which inputs want a gradient, as a tuple of bools (joint rules)
    dim, …        any other name: a parameter the forward was called with

`vjp` maps each differentiable input to its rule, or is one joint function that returns a tuple
with a gradient (or None) per input. `jvp` maps each input to its contribution to the output's
tangent (the engine adds them up), or is `LINEAR` (jointly linear: the op itself, on the tangents)
or `MULTILINEAR` (linear in each input while the others are held).

What else a record may say:

    public="nn.functional.glu"   where its function is found, if that is not `torch.<name>`
    promotion="common", "float", "integer"   the dtype that operands meet in: their own, a float, an integer
    refuses=no_kernel("k", "c")  dtypes it is not defined for (`undefined_dtypes`)
    outputs=2, differentiable_outputs=(0,)   how many results, and which of them take gradients
    layout=as_first              how the result lies in memory (`_arrays.result_layout`)
    opmath=False                 half precision is not computed in float32: the op only moves data
    is_view=True                 the result shares the input's memory
    variadic=True                one input that is a list of tensors (`cat`)
    node="MulBackward0"          the node's name, where it does not follow from the record's
    internal=True                no public function: other records' rules call it
    samples=lambda: [Sample(…)]  calls that tests make on both engines (`samples`)

A rule runs on raw arrays for `backward()` and on `Lifted` tensors under `create_graph=True`.
Rules never undo broadcasting and never cast: the engine does both, once.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType
from typing import Any

import numpy as np

from ..._arrays.result_layout import as_iterated
from .code_holders import give_code
from .rule_calls import BoundRule, DerivedRule, Rule, joined

_ndarray = np.ndarray

NO_PARAMETERS: dict[str, Any] = {}
LINEAR = "linear"
MULTILINEAR = "multilinear"

# Every record by its unique name ("mul", "sum_dim", …), in order of declaration.
REGISTRY: dict[str, Op] = {}
# Operations of the engine itself, which no public function stands for (tested by themselves).
INTERNAL: dict[str, Op] = {}
# Records that are others under another node name, by the name of those.
TWINS: dict[str, list[Op]] = {}


class Op:
    """A primitive operation; see the module's docstring for how rules are written."""

    __slots__ = (
        "_written",
        "apply",
        "differentiable_outputs",
        "direct",
        "domain",
        "dtype_inputs",
        "exact_second",
        "forward",
        "half_kernel",
        "inputs",
        "is_view",
        "joint",
        "jvp",
        "kept_outputs",
        "layout",
        "name",
        "node_name",
        "node_type",
        "opmath",
        "outputs",
        "parameters",
        "position",
        "promotion",
        "public_name",
        "record",
        "refuses",
        "rules",
        "samples",
        "saves_nothing",
        "saves_output",
        "shape_inputs",
        "takes_half",
        "variadic",
        "vjp",
    )

    def __init__(
        self,
        name: str,
        forward: Rule,
        inputs: tuple[str, ...],
        *,
        vjp: Mapping[str, Rule] | Rule | None = None,
        jvp: Mapping[str, Rule] | str | Rule | None = None,
        node: str | None = None,
        parameters: Iterable[str] | None = None,
        promotion: str | None = None,
        is_view: bool = False,
        layout: Callable[[Any, Any], Any] | None = None,
        opmath: bool = True,
        exact_second: bool = False,
        outputs: int = 1,
        differentiable_outputs: tuple[int, ...] | None = None,
        variadic: bool = False,
        samples: Callable[..., Iterable[Any]] | None = None,
        domain: Any = None,
        public: str | None = None,
        refuses: Mapping[Any, tuple[type[Exception], str]] | None = None,
        internal: bool = False,
    ) -> None:
        if name in REGISTRY or name in INTERNAL:
            raise ValueError(
                f"operation {name!r} is declared twice (or an earlier import of tautograd failed "
                "half-way: see the first error)"
            )
        self.name = name
        self.forward = forward
        self.inputs = inputs
        self.parameters = (
            tuple(parameters) if parameters is not None else _parameters(forward, inputs)
        )
        self.joint = callable(vjp)
        self.node_name = node or _node_name(name)
        self.promotion = promotion
        self.is_view = is_view
        # Half-precision inputs are computed in float32 and rounded once, unless the op only moves data.
        self.opmath = opmath and not is_view
        # An operand of another dtype that meets half precision is rounded to it first, as PyTorch casts
        # it; with `exact_second`, a second operand that is a number or 0-dim is not.
        self.exact_second = exact_second
        # Where there are kernels that take half precision as it is: one for the forward, which gives
        # None where it does not apply, and whether the rules take a gradient as it is.
        self.half_kernel: Any = None
        self.takes_half: Any = None
        self.outputs = outputs
        # Which dimension of the results steps fastest (see `result_layout`); None: the forward sees
        # to that itself.
        self.layout = as_iterated if layout is None and promotion and outputs == 1 else layout
        self.differentiable_outputs = (
            tuple(range(outputs)) if differentiable_outputs is None else differentiable_outputs
        )
        self.variadic = variadic
        self.samples = samples
        self.domain = domain
        self.public_name = public or name
        # NumPy dtypes the operation is not defined for, each with the error and its words.
        self.refuses = refuses
        self.position = {input_name: i for i, input_name in enumerate(inputs)}
        self.node_type: Any = None  # the class of its nodes, made when first needed
        self._write_when_called()
        self._bind_rules(vjp, jvp)
        (INTERNAL if internal else REGISTRY)[name] = self

    def __repr__(self) -> str:
        return f"<operation {self.name}>"

    def __call__(self, *inputs: Any, **parameters: Any) -> Any:
        """Run on arrays, or on lifted tensors inside a rule that is being differentiated."""
        for value in inputs:
            lifted = None if type(value) is _ndarray else getattr(value, "apply_lifted", None)
            if lifted is not None:
                return lifted(self, inputs, parameters)
        return self.forward(*inputs, **parameters)

    @property
    def differentiable(self) -> bool:
        return self.vjp is not None

    def set_rules(self, vjp: Any, jvp: Any) -> None:
        """Bind the rules by their parameter names (the tests use this to plant a wrong one)."""
        for function in self._written:
            give_code(function, _first_call.__code__)
        self._bind_rules(vjp, jvp)

    def _bind_rules(self, vjp: Any, jvp: Any) -> None:
        if vjp is None:
            self.vjp: Any = None
        elif callable(vjp):
            self.vjp = self._bind(vjp, "vjp")
        else:
            self._check_inputs(vjp, "vjp")
            self.vjp = tuple(
                self._bind(vjp[name], f"vjp of {name}") if name in vjp else None
                for name in self.inputs
            )
        if isinstance(jvp, str) or jvp is None:
            self.jvp: Any = jvp
        elif callable(jvp):
            self.jvp = self._bind(jvp, "jvp")
        else:
            self._check_inputs(jvp, "jvp")
            self.jvp = tuple(
                self._bind(jvp[name], f"jvp of {name}") if name in jvp else None
                for name in self.inputs
            )
        names = {n for rule in self._vjp_rules() for n in rule.names}
        self.saves_output = any(map(_is_output, names))
        # Which of several outputs the rules name; None: all of them.
        self.kept_outputs = (
            frozenset(int(n[3:]) for n in names if n[:3] == "out" and n[3:].isdigit())
            if self.saves_output and "out" not in names
            else None
        )
        self.saves_nothing = not self.saves_output and not names & self.position.keys()
        self.node_type = None
        self.rules: Any = None  # all VJP rules as one function, made when first needed
        jvp_rules = self.jvp if isinstance(self.jvp, tuple) else (self.jvp,)
        names |= {n for rule in jvp_rules if isinstance(rule, BoundRule) for n in rule.names}
        self.shape_inputs = any(n.endswith("_shape") and n[:-6] in self.position for n in names)
        self.dtype_inputs = any(n.endswith("_dtype") and n[:-6] in self.position for n in names)

    def joined_rules(self) -> Callable[..., Any]:
        """The VJP rules as one function, kept in `rules`."""
        self.rules = joined(self.vjp if isinstance(self.vjp, tuple) else (self.vjp,), self.joint)
        return self.rules  # type: ignore[no-any-return]

    def _vjp_rules(self) -> list[BoundRule]:
        if self.vjp is None:
            return []
        return [r for r in (self.vjp if isinstance(self.vjp, tuple) else (self.vjp,)) if r]

    def has_rule(self, i: int) -> bool:
        """Whether there is a VJP rule for input `i`."""
        return self.joint or self.vjp[i] is not None

    def saved_for(self, i: int) -> list[int]:
        """What the VJP rule of input `i` wants saved: inputs by their positions, the output as the last."""
        if not self.has_rule(i):
            return []
        names = (self.vjp if self.joint else self.vjp[i]).names
        found = [slot for slot, name in enumerate(self.inputs) if name in names]
        return [*found, len(self.inputs)] if any(map(_is_output, names)) else found

    def refuse_derivative(self, i: int) -> None:
        raise NotImplementedError(
            f"the derivative for '{self.inputs[i]}' of '{self.public_name}' is not implemented"
        )

    def function(self, kind: str, **names: Any) -> Any:
        """A function of this operation on tensors, written at its first call: see `_autograd/recorder.py`.

        `names` are what its text may name besides.
        """
        scope = {"op": self, "kind": kind, "write": _write, **names}
        made: Any = FunctionType(_first_call.__code__, scope, self.name)
        scope["function"] = made
        for one in (self, *names.values()):
            if isinstance(one, Op):
                one._written.append(made)
        return made

    def _write_when_called(self) -> None:
        self._written: list[Any] = []
        # `apply(inputs, parameters, compute)` runs it on tensors and records it, as
        # `record(inputs, edges, parameters, data)` does with what ran elsewhere.
        self.apply = self.function("apply")
        self.record = self.function("record")

    def _check_inputs(self, rules: Mapping[str, Rule], what: str) -> None:
        for name in rules:
            if name not in self.position:
                raise ValueError(f"{self.name}: the {what} names {name!r}, which is not an input")

    def _bind(self, rule: Rule | DerivedRule, what: str) -> BoundRule:
        if isinstance(rule, DerivedRule):
            names = rule.names
        else:
            names = rule.__code__.co_varnames[: rule.__code__.co_argcount]
        return BoundRule(rule, names, tuple([self._source(n, what) for n in names]))

    def _source(self, name: str, what: str) -> str:
        """The expression that finds a rule's parameter in a node."""
        if name in ("g", "t"):
            return "g"
        if name in self.position:
            return f"saved[{self.position[name]}]" if not self.variadic else "saved[0]"
        if name == "out":
            return f"saved[{len(self.inputs)}]"
        if _is_output(name):
            return f"saved[{len(self.inputs)}][{int(name[3:])}]"
        if name == "needs":
            return "needs"
        if name[-6:] == "_shape" and name[:-6] in self.position:
            return f"shapes[{self.position[name[:-6]]}]" if not self.variadic else "shapes"
        if name[-6:] == "_dtype" and name[:-6] in self.position:
            return f"dtypes[{self.position[name[:-6]]}]" if not self.variadic else "dtypes"
        if name in self.parameters:
            return f"parameters[{name!r}]"
        raise ValueError(
            f"{self.name}: the {what} asks for {name!r}, which is neither an input "
            f"{self.inputs} nor a parameter {self.parameters}"
        )


def renamed(op: Op, node: str) -> Op:
    """The same operation under another node name, such as its in-place form has."""
    twin = copy.copy(op)
    twin.node_name = node
    twin.node_type = None
    twin._write_when_called()
    TWINS.setdefault(op.name, []).append(twin)
    return twin


def unviewed(op: Op, node: str) -> Op:
    """A view operation whose results count as tensors of their own."""
    twin = renamed(op, node)
    twin.is_view = False
    twin.opmath = False
    return twin


def _first_call(*args: Any) -> Any:
    """Stands in a function of an operation until it is written; these names are in its scope."""
    return write(op, function, kind)(*args)  # type: ignore[name-defined]  # noqa: F821


def _write(op: Op, function: Any, kind: str) -> Any:
    from ..._autograd.recorder import write

    write(op, function, kind)
    return function


def _is_output(name: str) -> bool:
    """Whether a rule's parameter is the output, or one of several."""
    return name == "out" or (name[:3] == "out" and name[3:].isdigit())


def _parameters(forward: Rule, inputs: tuple[str, ...]) -> tuple[str, ...]:
    """What a forward takes after its inputs (which it may call by other names)."""
    code = getattr(forward, "__code__", None)
    if code is None:  # a NumPy ufunc takes no parameters of ours
        return ()
    count = code.co_argcount + code.co_kwonlyargcount
    return tuple(code.co_varnames[min(len(inputs), code.co_argcount) : count])


def _node_name(name: str) -> str:
    """`index_select` -> `IndexSelectBackward0`, as PyTorch names its nodes."""
    return "".join(part.capitalize() for part in name.split("_")) + "Backward0"
