"""Optimizers: how parameters are updated from their gradients."""

from typing import TYPE_CHECKING

from .._ops.declare.python_surface import speak
from . import lr_scheduler as lr_scheduler
from ._adafactor import Adafactor
from ._muon import Muon
from ._stateless import swap_in_optimizer_params_and_state
from .adadelta import Adadelta
from .adagrad import Adagrad
from .adam import Adam
from .adamax import Adamax
from .adamw import AdamW
from .asgd import ASGD
from .lbfgs import LBFGS
from .nadam import NAdam
from .optimizer import Optimizer
from .radam import RAdam
from .rmsprop import RMSprop
from .rprop import Rprop
from .sgd import SGD
from .sparse_adam import SparseAdam

if TYPE_CHECKING:
    from . import swa_utils as swa_utils

__all__ = [
    "ASGD",
    "LBFGS",
    "SGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
    "swap_in_optimizer_params_and_state",
]

speak(globals(), __all__, ("__init__", "add_param_group", "load_state_dict"))


def __getattr__(name: str) -> object:
    if name == "swa_utils":  # which needs all of nn
        import importlib

        return importlib.import_module(f"{__name__}.swa_utils")
    from .._nearest import no_attribute

    raise no_attribute(__name__, name, globals())
