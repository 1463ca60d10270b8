"""The equations of `einsum`: from text such as `"bij,bjk->bik"` to each operand's subscripts."""

from __future__ import annotations

from typing import Any

LABELS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ELLIPSIS = "..."


def from_lists(args: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """The equation that subscripts given as numbers stand for."""

    def spell(subscripts: Any) -> str:
        text = ""
        for s in subscripts:
            if s is Ellipsis:
                text += ELLIPSIS
            elif s >= 0 and s < len(LABELS):
                text += LABELS[s]
            else:
                raise ValueError(
                    "einsum(): subscript in subscript list is not within the valid range [0, 52)"
                )
        return text

    equation = ",".join(spell(s) for s in args[1::2])
    operands = args[0::2]
    if len(args) % 2:
        equation += "->" + spell(args[-1])
        operands = args[:-1:2]
    return equation, operands


def parse(equation: str, count: int) -> tuple[list[list[Any]], list[Any] | None]:
    """Subscripts of each operand and of the output (None if the equation leaves it open)."""
    left, arrow, right = equation.partition("->")
    inputs: list[list[Any]] = [[]]
    position = 0
    while position < len(left):
        char = left[position]
        labels = inputs[-1]
        if char == ".":
            if ELLIPSIS in labels:
                raise RuntimeError(
                    f"einsum(): found '.' for operand {len(inputs) - 1} for which an ellipsis was "
                    "already found"
                )
            if left[position : position + 3] != ELLIPSIS:
                raise RuntimeError(
                    f"einsum(): found '.' for operand {len(inputs) - 1} that is not part of any "
                    "ellipsis"
                )
            labels.append(ELLIPSIS)
            position += 2
        elif char == ",":
            inputs.append([])
            if len(inputs) > count:
                raise RuntimeError(
                    "einsum(): fewer operands were provided than specified in the equation"
                )
        elif char != " ":
            _check_label(char, position)
            labels.append(char)
        position += 1
    if len(inputs) < count:
        raise RuntimeError("einsum(): more operands were provided than specified in the equation")
    return inputs, _parse_output(right, len(left) + 2, inputs) if arrow else None


def _parse_output(text: str, start: int, inputs: list[list[Any]]) -> list[Any]:
    output: list[Any] = []
    position = 0
    while position < len(text):
        char = text[position]
        if char == ".":
            if ELLIPSIS in output:
                raise RuntimeError(
                    "einsum(): found '.' for output but an ellipsis (...) was already found"
                )
            if text[position : position + 3] != ELLIPSIS:
                raise RuntimeError(
                    "einsum(): found '.' for output that is not part of any ellipsis (...)"
                )
            output.append(ELLIPSIS)
            position += 2
        elif char != " ":
            _check_label(char, start + position)
            if char in output:
                raise RuntimeError(
                    f"einsum(): output subscript {char} appears more than once in the output"
                )
            if not any(char in labels for labels in inputs):
                raise RuntimeError(
                    f"einsum(): output subscript {char} does not appear in the equation for any "
                    "input operand"
                )
            output.append(char)
        position += 1
    return output


def _check_label(char: str, position: int) -> None:
    if char not in LABELS:
        raise RuntimeError(
            f"einsum(): invalid subscript given at index {position} in the equation string, "
            "subscripts must be in [a-zA-Z]"
        )


def spread(labels: list[Any], ndim: int, operand: int) -> list[Any]:
    """Subscripts with the ellipsis replaced by one number per dimension it stands for."""
    if ELLIPSIS not in labels:
        if len(labels) != ndim:
            raise RuntimeError(
                f"einsum(): the number of subscripts in the equation ({len(labels)}) does not "
                f"match the number of dimensions ({ndim}) for operand {operand} and no ellipsis "
                "was given"
            )
        return labels
    at, rest = labels.index(ELLIPSIS), len(labels) - 1
    if rest > ndim:
        raise RuntimeError(
            f"einsum(): the number of subscripts in the equation ({rest}) is more than the number "
            f"of dimensions ({ndim}) for operand {operand}"
        )
    return [*labels[:at], *range(ndim - rest), *labels[at + 1 :]]


def align(labels: list[Any], ellipsis: int) -> list[Any]:
    missing = ellipsis - sum(type(s) is int for s in labels)
    return [s + missing if type(s) is int else s for s in labels]


def order_of(
    inputs: list[list[Any]], output: list[Any] | None, ellipsis: int
) -> tuple[list[Any], int]:
    """All subscripts, the output's first, and how many those are."""
    dots = list(range(ellipsis))
    every = sorted({s for labels in inputs for s in labels if type(s) is not int}, key=LABELS.index)
    if output is None:
        counts = [s for labels in inputs for s in labels]
        order = dots + [s for s in every if counts.count(s) == 1]
    else:
        order = []
        for s in output:
            order.extend(dots if s == ELLIPSIS else [s])
    rest = [s for s in (*dots, *every) if s not in order]
    return order + rest, len(order)
