"""The stateless functions of neural networks: activations first."""

from .._ops import nn_families as _library  # noqa: F401  (declares them)
from .._ops.declare.public import NN_FUNCTIONAL

globals().update(NN_FUNCTIONAL)

__all__ = sorted({*NN_FUNCTIONAL, "linear_cross_entropy"})


def __getattr__(name: str) -> object:
    if name == "grad":  # `nn.functional.grad` is the module `nn.grad`
        import importlib

        return importlib.import_module("tautograd.nn.grad")
    if name == "linear_cross_entropy":  # few programs use it
        from .._ops.nn.losses.linear_cross_entropy import linear_cross_entropy

        globals()[name] = linear_cross_entropy
        return linear_cross_entropy
    from .._nearest import no_attribute

    raise no_attribute(__name__, name, globals())
