"""What is noted while a computation runs: memory as buffers, array functions as instructions.

Which buffer an array belongs to is `memory`'s part.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..._arrays.cuda.cuda_array import CudaArray, noting
from ..._arrays.strided import address, storage_of
from ..._user_code.sites import mark
from ..messages.errors import CompileError, cannot_record, wrong_values
from ..program.ir import CHECK, Call, Check, Kind, View
from ..program.memory_planning import APART, rounded_up
from .array_calls import Noted
from .arrays import ARRAYS, arrays_of, windows
from .instructions import instructions_for
from .memory import Memory, span_of
from .recorded_array import Recorded, _getitem, _setitem
from .symbolic_numbers import Scalars
from .symbols import Symbol, has_symbols, without_symbols
from .trees import NESTS

_BOOL = np.dtype(np.bool_)
# Functions whose result has a shape that depends on values.
_VALUE_SHAPED = frozenset(
    (
        *(np.nonzero, np.argwhere, np.flatnonzero, np.unique, np.unique_all, np.unique_counts),
        *(np.unique_inverse, np.unique_values, np.extract, np.compress, np.trim_zeros),
        *(np.union1d, np.intersect1d, np.setdiff1d, np.bincount),
    )
)
# Functions that give a Python value away.
_VALUE_GIVING = frozenset(
    (np.array_equal, np.array_equiv, np.allclose, np.array2string, np.array_repr, np.array_str)
)
# Functions that write into their first argument.
_WRITING = frozenset(
    (_setitem, np.copyto, np.put, np.put_along_axis, np.place, np.putmask, np.fill_diagonal)
)


class Unwatched:
    """A context for the tape's own work, in which `watch` is not told which functions start.

    A function is recorded while a profiler sees what starts in it (`guards/strangers.py`). What the tape does by itself
    is a few hundred calls for each array function.
    """

    __slots__ = ("watch",)

    def __init__(self) -> None:
        self.watch: Any = None  # as given to `sys.setprofile`

    def __enter__(self) -> None:
        if self.watch is not None:
            sys.setprofile(None)

    def __exit__(self, *error: object) -> None:
        if self.watch is not None:
            sys.setprofile(self.watch)


_OWN_UFUNCS = frozenset(f for f in vars(np).values() if isinstance(f, np.ufunc))
_ATOMS = frozenset((int, float, complex, bool, str, type(None), type(...)))


class Given:
    """What an array function is given, with arrays in place of recorded ones; `placed` are views of some, by id."""

    __slots__ = ("on_tape", "placed", "strange")

    def __init__(self, placed: dict[int, View]) -> None:
        self.placed = placed
        self.on_tape = False  # whether there is a recorded array
        self.strange = False  # or anything else than arrays and numbers

    def plain(self, value: Any) -> Any:
        kind = type(value)
        if kind in _ATOMS or kind is np.ndarray:
            return value
        if issubclass(kind, Recorded):
            self.on_tape = True
            if value.place is not None:
                self.placed[id(value.value)] = value.place
            return value.value
        if kind is tuple:
            return tuple([self.plain(part) for part in value])
        if kind is list:
            return [self.plain(part) for part in value]
        if kind is slice and {type(value.start), type(value.stop), type(value.step)} <= _ATOMS:
            return value
        if issubclass(kind, (np.generic, np.dtype)):
            return value
        self.strange = True
        self.on_tape = self.on_tape or has_recorded(value)
        return reveal(value)


def _computed(function: Any, args: Any, kwargs: Any, watch: Any) -> Any:
    """What an array function gives; it may come to code of the user's (an `__index__`, say) if it is watched."""
    if watch is not None:
        sys.setprofile(watch)
    try:
        with np.errstate(all="ignore"):
            return function(*args, **kwargs)
    finally:
        if watch is not None:
            sys.setprofile(None)


class Tape(Memory):
    """The record of one run."""

    def __init__(self) -> None:
        super().__init__()
        self.unwatched = Unwatched()
        self.scalars = Scalars(self)  # Python numbers that are inputs
        self.narrow: Any = None  # the dtype to which an optimizer's formula rounds its values
        self.decided: list[bool] = []  # the ways that operations took by values
        # Whether the run goes on eagerly where it cannot be recorded.
        self.tolerant = False
        self.failure: CompileError | None = None  # the first thing that could not be recorded
        self.dead = False  # nothing is noted any more; arrays on the tape are what they hold
        self.where: Any = None  # the function's first line, once it has run
        self.supposes = False  # whether values stand for any, as gradients do that will come in

    def refuse(self, what: str, advice: str, where: Any = None) -> None:
        """Something cannot be recorded: an error, or from here on the run is an ordinary one."""
        error = cannot_record(what, advice, where or self.where)
        self.failure = self.failure or error
        if not self.tolerant:
            raise error
        self.dead = True

    def note_check(self, array: Any, holds: Any) -> None:
        """Called where a condition on values is looked at; without it, one that decides which way is taken."""

    def read(self, recorded: Any, what: str, truth: bool) -> Any:
        """A value that Python asks for, where a tape can give it."""
        return None

    def wrap(self, value: Any) -> Recorded:
        return Recorded(value, self)

    def external(self, array: Any) -> Recorded:
        """The memory of a tensor that was there before the run."""
        return Recorded(array, self, self.view(array, Kind.EXTERNAL))

    def born(self, array: Any) -> Recorded:
        """An array that Python code made during the run: its content is a constant."""
        return Recorded(array, self, self.view(array, Kind.CONSTANT))

    # --- what happens ----------------------------------------------------------------------------------

    def run(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], ufunc: Any = None, method: str = "",
        like: Any = None,
    ) -> Any:  # fmt: skip
        """Compute, and note what was computed; `like` is where a function of no arrays makes one."""
        with self.unwatched:
            try:
                return self._run(function, args, kwargs, ufunc, method, like)
            finally:
                self._placed.clear()

    def _run(
        self, function: Any, args: Any, kwargs: Any, ufunc: Any, method: str, like: Any
    ) -> Any:
        given = Given(self._placed)
        plain_args = tuple([given.plain(arg) for arg in args])
        plain_kwargs = {name: given.plain(value) for name, value in kwargs.items()}
        noted_args, noted_kwargs = plain_args, plain_kwargs
        if given.strange and self.scalars.steps and has_symbols((args, kwargs)):
            plain_args, plain_kwargs = without_symbols(plain_args), without_symbols(plain_kwargs)
        if not given.on_tape and type(like) is CudaArray:
            plain_kwargs["like"] = like
        if function is sliding_window_view and type(plain_args[0]) is CudaArray:
            function = windows
        if not self.dead:
            _refuse_values(self, function, args, kwargs)
        watch = None
        if given.strange or (ufunc is not None and ufunc not in _OWN_UFUNCS):
            watch = self.unwatched.watch  # code of the user's may run in it
        if self.dead:
            return _computed(function, plain_args, plain_kwargs, self.unwatched.watch)
        writes = self._writes(function, plain_args, plain_kwargs, method)
        for array, _ in writes:
            self._begin_from_content(array)
        try:
            result = _computed(function, plain_args, plain_kwargs, watch)
        except (IndexError, np.linalg.LinAlgError) as error:
            if isinstance(error, np.linalg.LinAlgError) or has_recorded((args[1:], kwargs)):
                self.went_wrong()
            raise
        made = Kind.SCRATCH if given.on_tape else Kind.CONSTANT  # as in np.arange(n, like=x)
        found, outputs = self._results(result, [array for array, _ in writes], made)
        if made is Kind.CONSTANT or (not outputs and not writes) or function is np.empty_like:
            return found  # from Python values alone, or a view: nothing happens at a replay
        targets = [view for _, view in writes]
        call = Noted(function, noted_args, noted_kwargs, outputs, targets, ufunc, method)
        noted = instructions_for(self, call)
        self.program.instructions.extend(noted)
        self.program.sites.extend([mark(1)] * len(noted))
        return found

    def call(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> Any:
        """A function with an effect, that gives a new array: it will be called at every replay."""
        plain_args, plain_kwargs = without_symbols(reveal(args)), without_symbols(reveal(kwargs))
        try:
            result = function(*plain_args, **plain_kwargs)
        except (RuntimeError, ValueError):
            if has_recorded((args, kwargs)):  # parameters of a distribution that are wrong
                self.went_wrong()
            raise
        if not isinstance(result, ARRAYS):
            result = np.asarray(result)
        if self.dead:
            return result
        view = self.view(result, Kind.SCRATCH)
        self.note(
            Call(function, self.views(args), self.views(kwargs), (view,), effect=True, name=name)
        )
        return self.wrap(result)

    def kernel(self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A function of plain arrays that gives new ones, or None: it will be called at every replay."""
        with noting() as asked:
            result = function(*reveal(args), **reveal(kwargs))
        if result is None or self.dead:
            return result
        made = arrays_of(result)
        if all(map(self.knows, made)):  # views of what was there
            return self._results(result, [], Kind.SCRATCH)[0]
        outputs = tuple([self.view(array, Kind.SCRATCH) for array in made])
        name = getattr(function, "__name__", "kernel").strip("_")
        placed = getattr(function, "takes_out", 0) == len(outputs)
        views = self.views(args), self.views(kwargs)
        memory = _asked(asked, made, outputs)
        self.note(Call(function, *views, outputs, (), False, name, placed, *memory))
        return self._results(result, [], Kind.SCRATCH)[0]

    def check(self, good: Recorded, error: Any) -> None:
        """A condition that held: a replay in which it does not stops there."""
        view = self.view(good.value)
        place = self.scratch(view.shape, _BOOL, None)
        self.note(Check(CHECK, (view,), place, (_BOOL, _BOOL), error))

    def went_wrong(self) -> None:
        """An error because of values is on its way: if it is caught, what follows belongs to these values alone."""
        self.failure = self.failure or wrong_values()
        self.dead = True

    def note(self, instruction: Any) -> None:
        self.program.instructions.append(instruction)
        self.program.sites.append(mark(1))

    def views(self, value: Any) -> Any:
        """Arguments with views in place of arrays, and places of numbers that each run has anew."""
        return NESTS.mapped(value, self._as_view)

    def _as_view(self, leaf: Any) -> Any:
        if type(leaf) is Symbol:
            return self.scalars.late(leaf)
        leaf = _revealed(leaf)
        return self.view(leaf) if isinstance(leaf, ARRAYS) else leaf

    def _writes(
        self, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any], method: str
    ) -> list[tuple[Any, View]]:
        """The arrays that a function writes into, as views."""
        targets: list[Any] = []
        out = kwargs.get("out")
        if out is not None:
            targets.extend(out if isinstance(out, tuple) else (out,))
        if function in _WRITING or method == "at":
            targets.append(args[0] if args else kwargs["dst"])
        return [(t, self.view(t)) for t in targets if isinstance(t, ARRAYS)]

    def _results(self, result: Any, written: list[Any], kind: Kind) -> tuple[Any, list[View]]:
        """Results on the tape, and views of those that are new."""
        if isinstance(result, (tuple, list)):
            pairs = [self._results(r, written, kind) for r in result]
            parts = [found for found, _ in pairs]
            whole = type(result)(*parts) if hasattr(result, "_fields") else type(result)(parts)
            return whole, [view for _, views in pairs for view in views]
        if isinstance(result, np.generic):
            result = np.asarray(result)
        if not isinstance(result, ARRAYS):
            return result, []
        if any(result is array for array in written) or self.knows(result):
            return self.wrap(writable(result)), []
        view = self.view(result, kind)
        return Recorded(result, self, view), [view]


def writable(view: Any) -> Any:
    """A view as tensors have them: NumPy gives some (`np.diagonal`) that it lets nobody write to."""
    if not isinstance(view, np.ndarray):
        return view
    owner = storage_of(view)
    if view.flags.writeable or not owner.flags.writeable:
        return view
    whole = in_rows(owner)
    if not whole.flags.c_contiguous:
        return view
    start = address(view) - address(owner) if view.size else 0  # nothing may begin beyond the end
    return np.ndarray(view.shape, view.dtype, whole, start, view.strides)


def in_rows(owner: Any) -> Any:
    """The memory of a dense array as one that lies in C order."""
    if owner.flags.c_contiguous:
        return owner
    return owner.transpose(sorted(range(owner.ndim), key=lambda d: -owner.strides[d]))


def _refuse_values(
    tape: Tape, function: Any, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> None:
    name = getattr(function, "__name__", str(function))
    if function in _VALUE_SHAPED or (function is np.where and len(args) + len(kwargs) == 1):
        tape.refuse(f"a result whose shape depends on values (np.{name})", "mask")
    if function is np.repeat and any(isinstance(a, Recorded) for a in args[1:]):
        tape.refuse("a result whose shape depends on values (counts of repetitions)", "mask")
    if function in _VALUE_GIVING:
        tape.refuse(f"a comparison whose result is a Python value ({name})", "bool")
    if function is _getitem:
        index = args[1] if isinstance(args[1], tuple) else (args[1],)
        if any(isinstance(i, Recorded) and i.dtype == bool for i in index):
            tape.refuse("`x[mask]`, whose shape depends on values,", "mask")


def has_recorded(value: Any) -> bool:
    """Whether an array on the tape is among arguments."""
    return any(isinstance(leaf, Recorded) for leaf in NESTS.leaves(value))


def reveal(value: Any) -> Any:
    """Arguments with arrays in place of recorded ones."""
    return NESTS.mapped(value, _revealed)


def _revealed(leaf: Any) -> Any:
    return leaf.value if isinstance(leaf, Recorded) else leaf


__all__ = ["CompileError", "Tape", "reveal", "span_of"]


def _asked(
    asked: list[tuple[int, int]], made: list[Any], outputs: tuple[View, ...]
) -> tuple[tuple[tuple[int, int, int], ...], int]:
    """Which of the pieces of a GPU's memory that a function asked for are its results, and the bytes of the others."""
    places = {
        start: place for place, (start, _) in enumerate(asked)
    }  # the last of those at one address
    found: dict[int, int] = {}
    for number, (array, view) in enumerate(zip(made, outputs, strict=True)):
        place = places.get(address(array) - view.offset) if type(array) is CudaArray else None
        if place is not None:
            found.setdefault(place, number)
    others = [rounded_up(size, APART) for i, (_, size) in enumerate(asked) if i not in found]
    return tuple((place, number, asked[place][1]) for place, number in found.items()), sum(others)
