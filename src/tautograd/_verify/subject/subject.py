"""What is verified: a function or a module with its inputs, as a function of one row of numbers.

A `Subject` knows the leaves to check (inputs and parameters, by name), runs the computation
at other values of them, and returns the gradient from the engine's own backward. Each run
starts from the same state: random streams, buffers and inputs are restored.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from functools import cached_property
from typing import Any

import numpy as np

from ..._stand_ins.silence import without_warnings
from ..._trees.nests import WITH_DATACLASSES as NESTS
from .copies import in_precision
from .engines import (
    as_reals,
    as_tensors,
    densified,
    engine_of,
    is_module,
    is_tensor,
    reals_in,
    tensors_of,
)
from .held import Held
from .intent import Intent, moved
from .leaves import Leaf, as_double, precision_of
from .places import same_bits
from .run_state import RunState
from .time_limit import in_time
from .widening import widened

DOUBLE = {"complex64": "complex128", "complex32": "complex128"}


class Subject:
    """A computation, its leaves, and its results at any values of them."""

    may_claim_none = True  # outputs that do not require a gradient are left out

    def __init__(
        self,
        target: Callable[..., Any],
        args: tuple[Any, ...],
        kwargs: Mapping[str, Any],
        *,
        wrt: str | int | Iterable[str | int] | None = None,
        parameters: bool = True,
        wide: bool = False,
        in_double: bool = False,
    ) -> None:
        self.wide = wide  # whether casts to lower precision are left out
        self.intent: Intent | None = None  # the intended gradient, where it is not the derivative
        self._doubled = in_double  # a module's parameters and buffers are passed in float64
        wrt = [wrt] if isinstance(wrt, (str, int)) else wrt
        self.target, self.args, self.kwargs = target, args, dict(kwargs)
        self.wrt, self.with_parameters = wrt, parameters
        tensors = tensors_of((args, self.kwargs))
        self.engine = engine_of([*tensors.values(), *([target] if is_module(target) else [])])
        self.is_module = is_module(target)
        self._positional = self._names_of_arguments()
        self.leaves = self._choose(wrt, parameters)
        self._only_leaves: tuple[list[Leaf], bool] | None = None  # of these leaves
        self._state = RunState(self.engine, target, self.is_module)
        if in_double:
            self._state.buffers = {k: as_double(b) for k, b in self._state.buffers.items()}
        self.clones = False  # whether the inputs must be copies, because they are modified in place
        self.by_position = False  # whether the leaves are the arguments, in order
        self.modifies_inputs: list[str] = []
        self.outputs: list[tuple[str, Any]] = []  # names and tensors from the first run
        self.without_gradient: list[
            str
        ] = []  # outputs that do not require a gradient, next to others that do
        self.refused: list[str] = []  # inputs for which the computation refuses a gradient
        try:
            self.first_run()
        except RuntimeError as error:
            if wrt is not None or not self._without_refused(str(error)):
                raise

    # --- the leaves ----------------------------------------------------------------------------

    def _choose(self, wrt: Iterable[str | int] | None, parameters: bool) -> list[Leaf]:
        inputs = tensors_of(self._named_inputs())
        real = {k: t for k, t in inputs.items() if t.is_floating_point() or t.is_complex()}
        chosen = {k: t for k, t in real.items() if t.requires_grad} or dict(real)
        known = dict(real)
        own: dict[str, Any] = {}
        if self.is_module:
            own = {k: p for k, p in self.target.named_parameters() if p.requires_grad}  # type: ignore[attr-defined]
            known |= own
            if parameters:
                chosen |= own
        if wrt is not None:
            names = list(inputs)
            wanted = [names[w] if isinstance(w, int) and w < len(names) else w for w in wrt]
            unknown = [w for w in wanted if w not in known]
            if unknown:
                raise ValueError(
                    f"wrt: there is no floating-point leaf {unknown[0]!r}; there are {', '.join(known)}"
                )
            chosen = {str(w): known[str(w)] for w in wanted}
        leaves, start = [], 0
        for name, tensor in chosen.items():
            if self._doubled:
                tensor = as_double(tensor)
            leaves.append(Leaf(name, tensor.detach().clone(), start, name in own))
            start += leaves[-1].reals
        if not leaves:
            raise ValueError(
                "inputs: none of them is a floating-point or complex tensor, and no parameter "
                "requires a gradient, so there is no gradient to check"
            )
        return leaves

    def _named_inputs(self) -> dict[str, Any]:
        """The arguments, by parameter name."""
        return {**dict(zip(self._positional, self.args, strict=True)), **self.kwargs}

    def _names_of_arguments(self) -> list[str]:
        function = self.target.forward if self.is_module else self.target  # type: ignore[attr-defined]
        try:
            known = list(inspect.signature(function).parameters.values())
        except (TypeError, ValueError):  # a built-in function may have none
            known = []
        by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        names = [p.name for p in known if p.kind in by_position]
        names += [f"input {i}" for i in range(len(names), len(self.args))]
        return names[: len(self.args)]

    @cached_property
    def row(self) -> Any:
        """The leaves' values, end to end, as float64."""
        row = np.concatenate([as_reals(leaf.tensor) for leaf in self.leaves])
        row.setflags(write=False)
        return row

    @cached_property
    def usual_sizes(self) -> Any:
        """One size for all numbers of a leaf, each in its place."""
        row = self.row
        sizes = np.ones_like(row)
        for leaf in self.leaves:
            part = slice(leaf.start, leaf.start + leaf.reals)
            usual = float(np.sqrt(np.mean(np.square(row[part])))) if leaf.reals else 0.0
            sizes[part] = usual if np.isfinite(usual) and usual > 0 else 1.0
        sizes.setflags(write=False)
        return sizes

    def leaf_at(self, place: int) -> Leaf:
        """The leaf that a number of the row belongs to."""
        return next(leaf for leaf in reversed(self.leaves) if leaf.start <= place)

    # --- running -------------------------------------------------------------------------------

    @property
    def numbers(self) -> int:
        """How many real numbers the leaves have: the length of the row, without building it."""
        return sum(leaf.reals for leaf in self.leaves)

    def own_tensors(self) -> list[Any]:
        """The leaves with their own values, in fresh memory."""
        held = [leaf.tensor.detach() for leaf in self.leaves]
        return [t.clone() if t.is_contiguous() else t.contiguous() for t in held]

    def tensors_from(self, row: Any) -> list[Any]:
        """The leaves with other values."""
        if row is self.__dict__.get("row"):
            return self.own_tensors()
        return as_tensors(self.engine, row, [leaf.tensor for leaf in self.leaves])

    def call(self, tensors: list[Any]) -> Any:
        """The computation's result at these leaves, always from the same state."""
        return in_time("forward", self._weight, self._call, tensors)

    @cached_property
    def _weight(self) -> float:
        """The cost of a run relative to one on float32, by the size of its numbers."""
        return 1.0 if self.epsilon > 1e-12 else 2.0

    def _call(self, tensors: list[Any]) -> Any:
        if self.clones:
            tensors = [t.clone() for t in tensors]
        if self._takes_leaves_only and not self.wide:
            self._state.restore()
            with without_warnings:
                return self.target(*tensors)
        given = {leaf.name: t for leaf, t in zip(self.leaves, tensors, strict=True)}
        with self.precision():
            return self._called(given)

    @property
    def _takes_leaves_only(self) -> bool:
        """Whether it is a function whose arguments are exactly the leaves: the fast path."""
        known = self._only_leaves
        if known is None or known[0] is not self.leaves:
            simple = not (self.is_module or self.kwargs or self.by_position)
            only = simple and self._positional == [leaf.name for leaf in self.leaves]
            known = self._only_leaves = self.leaves, only
        return known[1]

    def precision(self) -> Any:
        """The context to run it in, forward and backward: its own, or without its roundings."""
        return widened(self.engine) if self.wide else nullcontext()

    def _called(self, given: dict[str, Any]) -> Any:
        if self.by_position:
            return self.target(*given.values())
        values = self._named_inputs()
        if values.keys() == given.keys():  # all of them are leaves under test
            values = given
        else:
            values = NESTS.mapped_by_name(
                values, lambda name, value: given[name] if name in given else _fresh(value)
            )
        args = [values[name] for name in self._positional]
        kwargs = {name: values[name] for name in self.kwargs}
        self._state.restore()
        with without_warnings:
            if not self.is_module:
                return self.target(*args, **kwargs)
            own = {leaf.name: given[leaf.name] for leaf in self.leaves if leaf.is_parameter}
            own |= self._state.fresh_buffers()
            return self.engine.func.functional_call(self.target, own, tuple(args), kwargs)

    def evaluated(self, tensors: list[Any]) -> Any:
        """The result at these leaves, as a function with the intended slope."""
        intent = self.intent
        if intent is None:
            return self.call(tensors)
        if intent.whole is None:
            with intent.evaluating():
                return self.call(tensors)
        base = self.tensors_from(self.row)
        there, here = (self._of_whole(intent.whole, values) for values in (tensors, base))
        return moved(self.call(base), there, here)

    def _of_whole(self, stand_in: Any, tensors: list[Any]) -> Any:
        itself, self.target = self.target, stand_in
        try:
            return self.call(tensors)
        finally:
            self.target = itself

    def means(self, intent: Intent) -> None:
        """From now on, evaluate a function with the intended slope."""
        intent.engine = self.engine
        intent.note(lambda: self.recorded(self.row))
        self.intent = intent or None

    def call_itself(self) -> Any:
        """Call the module itself, with its own parameters, on fresh inputs."""
        args, kwargs = NESTS.mapped((self.args, self.kwargs), _fresh)
        self._state.restore()
        return self.target(*args, **kwargs)

    def flat(self, result: Any) -> Any:
        """A result's numbers as one row of float64."""
        parts = [as_reals(t) for _, t in self.named_outputs(result)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def named_outputs(self, result: Any) -> list[tuple[str, Any]]:
        """The floating-point tensors of a result; a Python number counts as one."""
        plain = type(result) is self.engine.Tensor and result.layout is self.engine.strided
        if plain and result.is_floating_point():  # the usual case
            return [("output", result)]
        found = []
        for name, value in NESTS.named_leaves(result, "output"):
            if isinstance(value, (float, complex)) and not isinstance(value, bool):
                dtype = "complex128" if isinstance(value, complex) else "float64"
                value = self.engine.tensor(value, dtype=getattr(self.engine, dtype))
            if is_tensor(value) and (value.is_floating_point() or value.is_complex()):
                found.append((name, densified(self.engine, value)))
        if self.without_gradient:
            return [(name, value) for name, value in found if name not in self.without_gradient]
        return found

    def first_run(self) -> None:
        """Run it once unchanged, to learn its outputs and how it modifies its inputs."""
        tensors = [leaf.tensor.detach().clone().requires_grad_() for leaf in self.leaves]
        try:
            result = self.call(tensors)
        except RuntimeError as error:
            if "in-place" not in str(error) and "inplace" not in str(error):
                raise
            self.clones = True
            result = self.call(tensors)
            self.modifies_inputs = [leaf.name for leaf in self.leaves if not leaf.is_parameter]
        else:
            self.modifies_inputs = [
                leaf.name
                for leaf, t in zip(self.leaves, tensors, strict=True)
                if not same_bits(t, leaf.tensor)
            ]
            self.clones = bool(self.modifies_inputs)
        self.outputs = self.named_outputs(result)
        if not self.outputs:
            raise ValueError("the result has no floating-point tensor, so there is no gradient")
        if self.may_claim_none and any(t.requires_grad for _, t in self.outputs):
            # Backward of the others raises: they have no gradient that could be wrong.
            self.without_gradient = [n for n, t in self.outputs if not t.requires_grad]
            self.outputs = [(n, t) for n, t in self.outputs if t.requires_grad]
        self._state.note_what_moved()

    def put_back(self) -> None:
        """Restore the random stream to the state it was found in."""
        self._state.put_back()

    def _without_refused(self, message: str) -> bool:
        """Leave out inputs that may not require a gradient (a loss's target, say), the last first."""
        if "not differentiable" not in message:
            return False
        everything = self.leaves
        for refused in [leaf for leaf in reversed(everything) if not leaf.is_parameter]:
            rest = [leaf for leaf in everything if leaf is not refused]
            self.leaves, start = [], 0
            for leaf in rest:
                self.leaves.append(Leaf(leaf.name, leaf.tensor, start, leaf.is_parameter))
                start += leaf.reals
            try:
                self.first_run()
            except RuntimeError:
                continue
            self.refused = [refused.name]
            return True
        self.leaves = everything
        return False

    @property
    def size(self) -> int:
        """How many real numbers the result has."""
        return sum(reals_in(t) for _, t in self.outputs)

    @property
    def is_random(self) -> bool:
        """Whether it draws random numbers."""
        return self._state.draws

    @property
    def drawn_elsewhere(self) -> list[str]:
        """The random streams besides the engine's that it draws from; they are restored as well."""
        return self._state.drawn_elsewhere

    def start_each_alike(self) -> None:
        """From now on, each run starts from the computation's initial state."""
        self._state.holds = True

    @property
    def leaves_something(self) -> bool:
        """Whether a run changes the computation's state: a counter, a cache, a hidden state."""
        return self._state.leaves

    def held(self) -> Held:
        """The computation's current state, to be restored later."""
        return Held(self.target)

    def without_trace(self) -> Any:
        """Inside, it may run on other kinds of numbers (batches, tangents, complex): none are kept."""
        return self.held() if self.leaves_something else nullcontext()

    @property
    def held_at_first(self) -> Held:
        """The computation's state when it was passed in."""
        return self._state.held

    @property
    def moved_buffers(self) -> list[str]:
        return self._state.moved

    # --- gradients by the engine ---------------------------------------------------------------

    def recorded(self, row: Any = None) -> tuple[list[Any], list[Any]]:
        """Leaves at these values (or their own) and the outputs recorded from them."""
        given = self.own_tensors() if row is None else self.tensors_from(row)
        tensors = [t.detach().requires_grad_() for t in given]
        with self.engine.enable_grad():
            return tensors, [t for _, t in self.named_outputs(self.call(tensors))]

    def values(self, row: Any = None) -> Any:
        """The result at these values of the leaves, as one row."""
        return self.flat_outputs(self.recorded(row)[1])

    def flat_outputs(self, outputs: list[Any]) -> Any:
        """The outputs of a run as one row."""
        return np.concatenate([as_reals(out) for out in outputs])

    def gradients(self, row: Any, cotangents: Any) -> Any:
        """The leaves' gradient for each cotangent (a row of numbers as long as the outputs')."""
        tensors, outputs = self.recorded(row)
        return self.pull_back(tensors, outputs, cotangents)

    def pull_back(self, tensors: list[Any], outputs: list[Any], cotangents: Any) -> Any:
        """The gradients of recorded outputs for each cotangent, as rows of float64; NaN is kept."""
        live = [i for i, out in enumerate(outputs) if out.requires_grad]
        rows = []
        for cotangent in cotangents:
            if not live:
                rows.append(np.zeros(sum(leaf.reals for leaf in self.leaves)))
                continue
            parts = self.as_outputs(cotangent, outputs)
            grads = self.backward([outputs[i] for i in live], tensors, [parts[i] for i in live])
            rows.append(
                np.concatenate(
                    [
                        np.zeros(leaf.reals) if g is None else as_reals(g)
                        for leaf, g in zip(self.leaves, grads, strict=True)
                    ]
                )
            )
        return np.array(rows).reshape(len(rows), sum(leaf.reals for leaf in self.leaves))

    def backward(self, outputs: list[Any], leaves: list[Any], arriving: list[Any]) -> Any:
        """The engine's own gradients of recorded outputs; None where there is none."""
        grad = self.engine.autograd.grad
        with without_warnings, self.precision():
            return in_time(
                "backward", self._weight,
                lambda: grad(outputs, leaves, arriving, retain_graph=True, allow_unused=True),
            )  # fmt: skip

    def as_outputs(self, cotangent: Any, outputs: list[Any]) -> list[Any]:
        """A cotangent's numbers, as tensors like these outputs."""
        return as_tensors(self.engine, cotangent, outputs)

    # --- at another precision ------------------------------------------------------------------

    def in_double(self, wide: bool = False) -> Subject:
        """The same computation in float64 and complex128; raises whatever it raises there.

        `wide` also leaves out its own casts to lower precision.
        """
        # A training step refers to the model that it owns: a copy would be a different one.
        is_step = getattr(self.target, "is_step", False)
        target = self.target
        self._state.restore()
        if self.is_module and not is_step:
            target = copy.deepcopy(self.target).double()  # type: ignore[attr-defined]
        args, kwargs = NESTS.mapped((self.args, self.kwargs), as_double)

        def of(target: Any) -> Subject:
            return Subject(
                target, args, kwargs, wrt=[leaf.name for leaf in self.leaves],
                parameters=self.with_parameters, wide=wide, in_double=is_step,
            )  # fmt: skip

        try:
            doubled = of(target)
        except Exception:
            if self.is_module:
                raise
            # A function's closure (a module, a table) may itself be in the lower precision.
            around = in_precision(self.engine, target, self.engine.float64)
            if around is target:
                raise
            doubled = of(around)
        doubled._state.holds = self._state.holds
        return doubled

    @property
    def is_double(self) -> bool:
        return all(precision_of(leaf.tensor) in ("float64", "complex128") for leaf in self.leaves)

    @cached_property
    def epsilon(self) -> float:
        """The spacing of numbers at 1 in the least precise leaf."""
        return max(float(self.engine.finfo(leaf.tensor.dtype).eps) for leaf in self.leaves)


def _fresh(value: Any) -> Any:
    """An unchecked input, protected from modification."""
    return value.detach().clone() if is_tensor(value) else value
