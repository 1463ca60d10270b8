"""Linear algebra: norms, factorisations, solvers, determinants."""

from ._ops.declare.public import LINALG

globals().update(LINALG)

_LATER = ("ldl_factor", "ldl_factor_ex", "ldl_solve")  # which few programs use
__all__ = sorted({*LINALG, *_LATER})


def __getattr__(name: str) -> object:
    if name in _LATER:
        from ._ops.linalg.decompositions import ldl

        globals().update({each: LINALG[each] for each in _LATER})
        return getattr(ldl, name)
    from ._nearest import no_attribute

    raise no_attribute(__name__, name, globals())
