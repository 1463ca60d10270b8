"""Which dimensions of the inputs are dynamic, and which other sizes to try the model with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .errors import refused
from .inputs import Arguments

Place = tuple[int, int]  # which input, which axis
_ADDED = ((1, 3, 6), (2, 5, 3), (3, 1, 7), (5, 2, 4), (4, 7, 1), (6, 4, 5))
_TIMES = ((2, 3, 5), (3, 5, 2), (5, 2, 3), (4, 3, 7))


@dataclass
class Symbol:
    """A dynamic dimension: its name, where it occurs, and its allowed sizes."""

    name: str
    base: int
    places: list[Place] = field(default_factory=list)
    least: int = 0
    most: float = float("inf")
    said: bool = True  # whether the program named it

    def sizes(self, number: int, family: str) -> list[int] | None:
        """Three sizes other than the example's, or None if there are not as many."""
        base = max(self.base, 2)
        if family == "more":
            found = [base + n for n in _ADDED[number % len(_ADDED)]]
        elif family == "times":
            found = [base * n for n in _TIMES[number % len(_TIMES)]]
        else:
            found = [base - n for n in _ADDED[number % len(_ADDED)]]
            if min(found) < 2:
                found = list(range(2, base))[-3:]
        fitting = [n for n in found if max(self.least, 2) <= n <= self.most]
        if len(fitting) < 3 and family == "less":
            top = int(min(self.most, base + 8))
            fitting = [n for n in range(max(self.least, 2), top + 1) if n != self.base][-3:]
        return fitting if len(set(fitting)) >= 2 else None


# ---- the program's declaration ---------------------------------------------------------------------


def from_axes(
    dynamic_axes: Any, given: Arguments, names: list[str], outputs: Sequence[str]
) -> list[Symbol]:
    """`dynamic_axes={"x": {0: "batch"}, "mask": [0, 1]}`."""
    if not isinstance(dynamic_axes, Mapping):
        raise TypeError(
            f"dynamic_axes must be a dict of names, but got {type(dynamic_axes).__name__}"
        )
    symbols: dict[str, Symbol] = {}
    for name, axes in dynamic_axes.items():
        if name not in names:
            if name in outputs or (not outputs and name.startswith("output")):
                continue  # an output's dimensions follow from the inputs'
            raise ValueError(
                f"dynamic_axes names '{name}', which is neither an input ({', '.join(names) or 'none'}) nor "
                f"an output ({', '.join(outputs) or 'none named by output_names'})"
            )
        i = names.index(name)
        pairs = axes.items() if isinstance(axes, Mapping) else ((a, None) for a in axes)
        for axis, label in pairs:
            axis = _axis(axis, given, i, name)
            spoken = label if label is not None else f"{name}_dynamic_axes_{axis + 1}"
            _add(symbols, str(spoken), given, (i, axis), said=label is not None)
    return list(symbols.values())


def from_shapes(dynamic_shapes: Any, given: Arguments, model: Any) -> list[Symbol]:
    """`dynamic_shapes`, as in `torch.export`: by parameter, nested like the arguments."""
    symbols: dict[str, Symbol] = {}
    by_parameter = _by_parameter(dynamic_shapes, given)
    for i, path in enumerate(given.paths):
        spec = by_parameter.get(path[0])
        for key in path[1:]:
            if spec is None:
                break
            try:
                spec = spec[key]
            except (KeyError, IndexError, TypeError):
                raise ValueError(
                    f"dynamic_shapes does not have the structure of the argument '{path[0]}': nothing for {key!r}"
                ) from None
        if spec is None:
            continue
        if isinstance(spec, Mapping):
            pairs = list(spec.items())
        elif isinstance(spec, (tuple, list)):
            if len(spec) != given.tensors[i].ndim:
                raise ValueError(
                    f"dynamic_shapes has {len(spec)} entries for '{given.names[i]}', which has "
                    f"{given.tensors[i].ndim} dimensions"
                )
            pairs = list(enumerate(spec))
        else:
            raise TypeError(
                f"dynamic_shapes: for the tensor '{given.names[i]}' a dict {{axis: dimension}}, a tuple of "
                f"dimensions or None was expected, but got {type(spec).__name__}"
            )
        for axis, dim in pairs:
            axis = _axis(axis, given, i, given.names[i])
            name, least, most, said = _dimension(dim, given.names[i], axis)
            if name is not None:
                symbol = _add(symbols, name, given, (i, axis), said)
                symbol.least, symbol.most = max(symbol.least, least), min(symbol.most, most)
    return list(symbols.values())


def _by_parameter(dynamic_shapes: Any, given: Arguments) -> dict[str, Any]:
    parameters = list(dict.fromkeys(path[0] for path in given.paths))
    if isinstance(dynamic_shapes, Mapping):
        unknown = [
            k for k in dynamic_shapes if k not in parameters and dynamic_shapes[k] is not None
        ]
        if unknown:
            raise ValueError(
                f"dynamic_shapes names {unknown[0]!r}, but the tensors among the arguments are "
                f"{', '.join(parameters) or 'none'}"
            )
        return dict(dynamic_shapes)
    if isinstance(dynamic_shapes, (tuple, list)):
        everything = list(dict.fromkeys(given.parameters))
        if len(dynamic_shapes) != len(everything):
            raise ValueError(
                f"dynamic_shapes has {len(dynamic_shapes)} entries for {len(everything)} arguments "
                f"({', '.join(everything)})"
            )
        return dict(zip(everything, dynamic_shapes, strict=True))
    raise TypeError(
        f"dynamic_shapes must be a dict, a tuple or a list, but got {type(dynamic_shapes).__name__}"
    )


def _axis(axis: Any, given: Arguments, i: int, name: str) -> int:
    rank = given.tensors[i].ndim
    if not isinstance(axis, int) or isinstance(axis, bool) or not -rank <= axis < rank:
        raise ValueError(f"the input '{name}' of {rank} dimensions has no axis {axis!r}")
    return axis % rank


def _dimension(dim: Any, name: str, axis: int) -> tuple[str | None, int, float, bool]:
    """A dimension's name and limits; no name if it is fixed."""
    if dim is None or isinstance(dim, int):
        return None, 0, float("inf"), False
    if isinstance(dim, str):
        return dim, 0, float("inf"), True
    kind = getattr(dim, "name", None) or getattr(dim, "__name__", None)
    if kind == "STATIC":
        return None, 0, float("inf"), False
    if kind in ("AUTO", "DYNAMIC"):
        return f"{name}_dim_{axis}", 0, float("inf"), False
    if kind is not None and hasattr(dim, "min"):
        most = dim.max if isinstance(dim.max, (int, float)) else float("inf")
        return str(kind), int(dim.min), most, True
    raise TypeError(
        f"dynamic_shapes: axis {axis} of '{name}' is {dim!r}; a name, a torch.export.Dim or None was expected"
    )


def _add(
    symbols: dict[str, Symbol], name: str, given: Arguments, place: Place, said: bool
) -> Symbol:
    size = given.tensors[place[0]].shape[place[1]]
    symbol = symbols.setdefault(name, Symbol(name, int(size), said=said))
    if symbol.base != size:
        raise ValueError(
            f"the dimension '{name}' is {symbol.base} in one input and {size} in '{given.names[place[0]]}': "
            "one name stands for one size"
        )
    symbol.places.append(place)
    return symbol


# ---- sizes to try ------------------------------------------------------------------------------------

Try = Callable[[dict[Place, int]], Exception | None]


def sizes_that_run(symbols: list[Symbol], given: Arguments, attempt: Try) -> list[dict[Place, int]]:
    """The sizes of the dynamic dimensions for three further runs. `attempt` returns the model's error, if any."""
    error: Exception | None = None
    for tied in (False, True):
        groups = _groups(symbols, tied)
        if tied and len(groups) == len(symbols):
            break
        for family in ("more", "less", "times"):
            found = [group[0].sizes(k, family) for k, group in enumerate(groups)]
            if any(f is None for f in found):
                continue
            runs = [_assigned(groups, [f[j % len(f)] for f in found if f]) for j in range(3)]
            failed = next((e for run in runs if (e := attempt(run)) is not None), None)
            if failed is None:
                return runs
            error = error or failed
        mixed = _one_by_one(groups, attempt)
        if isinstance(mixed, list):
            return mixed
    name, cause = mixed if isinstance(mixed, tuple) else (symbols[0].name, error)
    raise refused(
        f"the model does not run when the dimension '{name}' has another size than the example's, so it "
        f"cannot be dynamic: {type(cause).__name__}: {cause}"
    ) from cause


def _groups(symbols: list[Symbol], tied: bool) -> list[list[Symbol]]:
    """Dimensions that change together: if `tied`, those of equal size."""
    if not tied:
        return [[s] for s in symbols]
    by_size: dict[int, list[Symbol]] = {}
    for s in symbols:
        by_size.setdefault(s.base, []).append(s)
    return list(by_size.values())


def _assigned(groups: list[list[Symbol]], sizes: list[int]) -> dict[Place, int]:
    return {
        place: n
        for group, n in zip(groups, sizes, strict=True)
        for s in group
        for place in s.places
    }


def _one_by_one(groups: list[list[Symbol]], attempt: Try) -> Any:
    """A family of sizes for each dimension separately, and then all together."""
    chosen: list[list[int]] = []
    for k, group in enumerate(groups):
        last: Exception | None = None
        for family in ("more", "times", "less"):
            sizes = group[0].sizes(k, family)
            if sizes is None:
                continue
            last = next(
                (e for n in sizes if (e := attempt(_assigned([group], [n]))) is not None), None
            )
            if last is None:
                chosen.append(sizes)
                break
        else:
            return group[0].name, last or ValueError("its limits leave no other size to try")
    runs = [_assigned(groups, [c[j % len(c)] for c in chosen]) for j in range(3)]
    failed = next((e for run in runs if (e := attempt(run)) is not None), None)
    return runs if failed is None else (groups[0][0].name, failed)
