"""A call held against the signatures of its function: what PyTorch's argument parser would say of it.

Nothing here runs when a call succeeds. It is asked once one has failed (`guarding`), so that a wrong
argument is named, whatever it was that stumbled over it.
"""

from __future__ import annotations

from typing import Any

from .kinds import INTS, KINDS, is_symint, type_name
from .parsing import Parameter, Signature

_SPELLINGS = {"axis": "dim", "keepdims": "keepdim", "x": "input", "x1": "input", "x2": "other"}

# Functions whose tensors may be numbers.
_NUMBERS_AS_TENSORS = {
    name + tail
    for name in (
        *("add", "sub", "subtract", "mul", "multiply", "div", "divide", "true_divide"),
        *("floor_divide",),
    )
    for tail in ("", "_")
}


def complaint(
    signatures: tuple[Signature, ...],
    name: str,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    method: bool,
) -> Exception | None:
    """What is wrong with the types of a call's arguments; None if some overload takes them.

    `method`: the first argument is the tensor whose method it is, and is not counted.
    """
    forms = [
        Form(signature, method) for signature in signatures if _is_form(name, signature, method)
    ]
    found: list[tuple[Form, Exception]] = []
    for form in forms:
        error, fits = form.verdict(name, args[1:] if method else args, kwargs)
        if error is None or fits:  # the overload is chosen by types; then its numbers are read
            return error
        found.append((form, error))
    if not found:
        return None
    given = len(args) + len(kwargs) - method
    plausible = [
        error
        for form, error in found
        if form.least <= given and (given <= form.most or form.varied)
    ]
    if len(found) == 1:
        return found[0][1]
    if len(plausible) == 1:
        return plausible[0]
    return _invalid_combination(name, args[1:] if method else args, kwargs, forms)


def _is_form(name: str, signature: Signature, method: bool) -> bool:
    """Whether PyTorch's parser knows an overload by this name.

    As a method none of which `self` is no tensor; and none that takes a number for its second operand,
    where that of tensors does so as well.
    """
    kinds = {p.name: p.kind for p in signature.parameters}
    if method and kinds.get("self", "Tensor") != "Tensor":
        return False
    return not (name in _NUMBERS_AS_TENSORS and kinds.get("other") == "Scalar")


class Form:
    """One overload as a function or as a method."""

    def __init__(self, signature: Signature, method: bool) -> None:
        self.signature = signature
        self.parameters = list(signature.parameters)
        if method:
            # The tensor itself: of functions that PyTorch writes in Python, whatever comes first.
            names = [p.name for p in self.parameters]
            del self.parameters[names.index("self") if "self" in names else 0]
            self.parameters = [p for p in self.parameters if p.name != "out"]
        self.positional = [p for p in self.parameters if not p.keyword_only]
        self.least = sum(p.default is None for p in self.parameters)
        self.most = len(self.parameters)
        # The sizes may be given one by one, if they are all there is.
        self.varied = len(self.positional) == 1 and self.positional[0].kind in INTS

    def complaint(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Exception | None:
        """What is wrong with a call of this overload; None if it takes the arguments."""
        return self.verdict(name, args, kwargs)[0]

    def verdict(
        self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[Exception | None, bool]:
        """What is wrong with a call, and whether all types are right nevertheless."""
        wide: list[Exception] = []
        error = self._refusal(name, args, kwargs, wide)
        if error is None and wide:
            return wide[0], True
        return error, error is None

    def _refusal(
        self,
        name: str,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        wide: list[Exception],
    ) -> Exception | None:
        if self.varied and args and (len(args) > 1 or is_symint(args[0])):
            args = (args,)
        if len(args) > len(self.positional):
            return self._too_many(name, len(args))
        left = {
            spelt if any(p.name == spelt or _shown(p) == spelt for p in self.parameters)
            else _SPELLINGS.get(spelt, spelt): value
            for spelt, value in kwargs.items()
        }  # fmt: skip
        missing: list[str] = []
        for i, parameter in enumerate(self.parameters):
            position = f" (position {i + 1})" if i < len(args) else ""
            if i < len(args) and not parameter.keyword_only:
                value = args[i]
            elif _shown(parameter) in left or parameter.name in left:
                key = _shown(parameter) if _shown(parameter) in left else parameter.name
                value = left.pop(key)
            elif parameter.default is None:
                missing.append(_shown(parameter))
                continue
            else:
                continue
            error = _mismatch(name, parameter, value, position)
            if error is not None:
                return error
            error = _too_wide(name, parameter, value)
            if error is not None:
                wide.append(error)
        if missing:
            names = ", ".join(f'"{each}"' for each in missing)
            return TypeError(
                f"{name}() missing {len(missing)} required positional arguments: {names}"
            )
        for key in left:
            if any(_shown(p) == key for p in self.positional[: len(args)]):
                return TypeError(f"{name}() got multiple values for argument '{key}'")
            return TypeError(f"{name}() got an unexpected keyword argument '{key}'")
        return None

    def shown(self, parameter: Parameter) -> str:
        """A parameter's name in Python."""
        return _shown(parameter)

    def _too_many(self, name: str, given: int) -> TypeError:
        most = len(self.positional)
        least = sum(p.default is None for p in self.positional)
        span = f"{most}" if least == most else f"from {least} to {most}"
        plural = "" if most == 1 and least == most else "s"
        was = "was" if given == 1 else "were"
        return TypeError(
            f"{name}() takes {span} positional argument{plural} but {given} {was} given"
        )

    def __str__(self) -> str:
        shown: list[str] = []
        for i, p in enumerate(self.parameters):
            if p.keyword_only and (i == 0 or not self.parameters[i - 1].keyword_only):
                shown.append("*")
            default = "" if p.default is None else f" = {p.default}"
            shown.append(f"{KINDS[p.kind][1]} {_shown(p)}{default}")
        return f"({', '.join(shown)})"


def _shown(parameter: Parameter) -> str:
    """A parameter's name in Python; that of a number as the first operand stays `self`."""
    return "input" if parameter.name == "self" and parameter.kind == "Tensor" else parameter.name


def _mismatch(name: str, parameter: Parameter, value: Any, position: str) -> Exception | None:
    if value is None and parameter.takes_none:
        return None
    takes, said = KINDS[parameter.kind]
    if takes(value):
        return None
    if parameter.kind in INTS and parameter.length is not None and INTS[parameter.kind](value):
        return None
    if parameter.kind == "float[]" and parameter.length is not None and KINDS["float"][0](value):
        return None
    if parameter.kind == "Tensor" and name in _NUMBERS_AS_TENSORS and KINDS["Scalar"][0](value):
        return None
    head = f"{name}(): argument '{_shown(parameter)}'{position}"
    if parameter.kind == "Tensor[]" and isinstance(value, (tuple, list)):
        at, wrong = next((i, v) for i, v in enumerate(value) if not KINDS["Tensor"][0](v))
        return TypeError(
            f"expected Tensor as element {at} in argument 0, but got {type_name(wrong)}"
        )
    if parameter.kind.endswith("[]") and isinstance(value, (tuple, list)):
        return TypeError(
            f"{head} must be {said}, but found element of type {type_name(value[0])} at pos 0"
        )
    return TypeError(f"{head} must be {said}, not {type_name(value)}")


_LEAST, _LIMIT = -(2**63), 2**63
_NO_DOUBLE = 2**1024


def _too_wide(name: str, parameter: Parameter, value: Any) -> Exception | None:
    """Integers that fit no int64 or no double, and elements of lists beyond the first."""
    if value is None:
        return None
    if parameter.kind == "Scalar" and isinstance(value, int) and not _LEAST <= value < 2 * _LIMIT:
        return OverflowError("int too big to convert")
    if parameter.kind == "float" and isinstance(value, int) and abs(value) >= _NO_DOUBLE:
        return OverflowError("int too large to convert to float")
    if parameter.kind in ("int", "SymInt") and not _fits(value):
        return ValueError("Overflow when unpacking long long")
    if parameter.kind in INTS:
        is_one = INTS[parameter.kind]
        if is_one(value):
            return None if _fits(value) else ValueError("Overflow when unpacking long long")
        for at, part in enumerate(value):
            what = None
            if not is_one(part) and not isinstance(part, bool):
                what = f"type must be tuple of ints,but got {type_name(part)}"
            elif not _fits(part):
                what = "Overflow when unpacking long long"
            if what is not None:
                return TypeError(
                    f"{name}(): argument '{_shown(parameter)}' failed to unpack the object at pos "
                    f'{at + 1} with error "{what}"'
                )
    return None


def _fits(value: Any) -> bool:
    return not isinstance(value, int) or _LEAST <= value < _LIMIT


def _invalid_combination(
    name: str, args: tuple[Any, ...], kwargs: dict[str, Any], forms: list[Form]
) -> TypeError:
    given = [_described(value) for value in args]
    given += [f"{key}={_described(value)}" for key, value in kwargs.items()]
    listed = "".join(f" * {form}\n" for form in forms)
    return TypeError(
        f"{name}() received an invalid combination of arguments - got ({', '.join(given)}), but expected "
        f"one of:\n{listed}"
    )


def _described(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        inside = ", ".join(type_name(part) for part in value)
        if isinstance(value, tuple):
            return f"tuple of ({inside}{',' if len(value) == 1 else ''})"
        return f"list of [{inside}]"
    return type_name(value)
