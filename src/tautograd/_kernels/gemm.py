"""A call of BLAS's product of matrices from a kernel."""

from __future__ import annotations

from .._compile.native.llvm.types import constant, element_type
from .._compile.native.products import blas
from .writer import Writer

_PLAIN = str(ord("N"))


def call_gemm(
    w: Writer,
    sizes: tuple[str, str, str],
    left: tuple[str, str, str],
    right: tuple[str, str, str],
    result: tuple[str, str],
    adds: bool = False,
) -> None:
    """`result (m, n) = left (m, k) @ right (k, n)`, or added to it; each with the length of its rows.

    Operands come with the letter that says whether they lie transposed, as a number.
    """
    found = blas()
    assert found is not None
    integer = f"i{found.integer}"
    kind = element_type(w.dtype)

    def place(number: str) -> str:
        here = w.code.variable(integer)
        if integer != "i64":
            number = w.code.new(f"trunc i64 {number} to {integer}")
        w.code.do(f"store {integer} {number}, ptr {here}")
        return here

    def fixed(kind: str, text: str) -> str:
        name = f"c.{kind}.{text}"
        w.declared.setdefault(name, f"@{name} = private constant {kind} {text}")
        return "@" + name

    def letter(number: str) -> str:
        if number.isdigit():
            return fixed("i8", number)
        here = w.code.variable("i8")
        w.code.do(f"store i8 {w.code.new(f'trunc i64 {number} to i8')}, ptr {here}")
        return here

    m, n, k = sizes
    # Fortran sees rows as columns: the transposed result is right' times left'.
    arguments = [
        *(letter(right[2]), letter(left[2]), place(n), place(m), place(k)),
        fixed(kind, constant(1.0, w.dtype, 1).text),
        *(right[0], place(right[1]), left[0], place(left[1])),
        fixed(kind, constant(1.0 if adds else 0.0, w.dtype, 1).text),
        *(result[0], place(result[1])),
    ]
    name = "taut.sgemm" if w.dtype.itemsize == 4 else "taut.dgemm"
    function = w.code.declare(name, "void", ", ".join(["ptr"] * 13))
    w.code.do(f"call void {function}({', '.join('ptr ' + a for a in arguments)})")


def multiply(
    w: Writer,
    sizes: tuple[str, str, str],
    left: tuple[str, str],
    right: tuple[str, str],
    result: tuple[str, str],
    adds: bool,
) -> None:
    """The same for operands that lie as they are multiplied."""
    call_gemm(w, sizes, (*left, _PLAIN), (*right, _PLAIN), result, adds)
