"""Named results: tuples whose fields have names, printed as PyTorch prints them.

`max(x, dim)` gives `torch.return_types.max(values=…, indices=…)`: a plain tuple to whoever unpacks
it. Each type is made from one line of the table below and takes a sequence, as PyTorch's do.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any


class NamedResult(tuple[Any, ...]):
    """What all named results have in common."""

    __slots__ = ()
    __match_args__: tuple[str, ...] = ()
    n_fields = n_sequence_fields = n_unnamed_fields = 0

    def __new__(cls, values: Any) -> Any:
        if type(values) is tuple and len(values) == cls.n_fields:
            return tuple.__new__(cls, values)
        if not isinstance(values, Iterable):
            raise TypeError("constructor requires a sequence")
        values = tuple(values)
        if len(values) != cls.n_fields:
            raise TypeError(
                f"torch.return_types.{cls.__name__}() takes a {cls.n_fields}-sequence "
                f"({len(values)}-sequence given)"
            )
        return tuple.__new__(cls, values)

    def __repr__(self) -> str:
        fields = zip(self.__match_args__, self, strict=True)
        text = ",\n".join(f"{name}={value!r}" for name, value in fields)
        return f"torch.return_types.{type(self).__name__}(\n{text})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (tuple(self),)


# `max(x, dim, out=…)` gives `max_out`, and so on but for these.
_WITHOUT_OUT = ("_unpack_dual", "histogramdd")


def named_result(name: str, fields: str) -> Any:
    """A type of named result; `fields` are the names, separated by blanks."""
    names = tuple(fields.split())
    members: dict[str, Any] = {
        "__slots__": (),
        "__module__": "tautograd.return_types",
        "__match_args__": names,
        "n_fields": len(names),
        "n_sequence_fields": len(names),
    }
    for i, field in enumerate(names):
        members[field] = property(operator.itemgetter(i))
    if name not in _WITHOUT_OUT and not name.endswith("_out"):
        members["out_type"] = named_result(f"{name}_out", fields)
    return type(name, (NamedResult,), members)


RETURN_TYPES: dict[str, Any] = {
    name: named_result(name, fields)
    for name, fields in {
        "_unpack_dual": "primal tangent",
        "aminmax": "min max",
        "cummax": "values indices",
        "cummin": "values indices",
        "frexp": "mantissa exponent",
        "geqrf": "a tau",
        "histogram": "hist bin_edges",
        "histogramdd": "hist bin_edges",
        "kthvalue": "values indices",
        "linalg_cholesky_ex": "L info",
        "linalg_eig": "eigenvalues eigenvectors",
        "linalg_eigh": "eigenvalues eigenvectors",
        "linalg_inv_ex": "inverse info",
        "linalg_ldl_factor": "LD pivots",
        "linalg_ldl_factor_ex": "LD pivots info",
        "linalg_lstsq": "solution residuals rank singular_values",
        "linalg_lu": "P L U",
        "linalg_lu_factor": "LU pivots",
        "linalg_lu_factor_ex": "LU pivots info",
        "linalg_qr": "Q R",
        "linalg_slogdet": "sign logabsdet",
        "linalg_solve_ex": "result info",
        "linalg_svd": "U S Vh",
        "lu_unpack": "P L U",
        "max": "values indices",
        "median": "values indices",
        "min": "values indices",
        "mode": "values indices",
        "nanmedian": "values indices",
        "qr": "Q R",
        "slogdet": "sign logabsdet",
        "sort": "values indices",
        "svd": "U S V",
        "topk": "values indices",
        "triangular_solve": "solution cloned_coefficient",
    }.items()
}
RETURN_TYPES |= {
    kind.out_type.__name__: kind.out_type
    for kind in list(RETURN_TYPES.values())
    if hasattr(kind, "out_type")
}
