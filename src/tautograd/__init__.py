"""tautograd: backpropagation you can prove.

`import tautograd as torch` is how most programs begin. The names here are PyTorch's; what they do
is in the private packages, bottom up: `_arrays`, `_random`, `_ops`, `_autograd`, `_tensor`.
"""

from math import e, inf, nan, pi
from typing import Any

from ._arrays import dtypes as _dtypes
from ._arrays import formats as _formats
from ._arrays.devices import device
from ._arrays.dtypes import can_cast, dtype, get_default_dtype, promote_types, set_default_dtype
from ._arrays.formats import layout, memory_format
from ._arrays.limits import finfo, iinfo
from ._autograd import tensor_methods as _tensor_methods
from ._autograd.grad_mode import (
    enable_grad,
    inference_mode,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from ._ops.declare import operators as _operators
from ._ops.declare.promotion import result_type
from ._ops.declare.public import FUNCTIONS as _FUNCTIONS
from ._tensor import conversions as _conversions
from ._tensor import copying as _copying
from ._tensor import filled as _filled
from ._tensor import interop as _interop
from ._tensor import late_methods as _late_methods
from ._tensor import new_methods as _new_methods
from ._tensor import place as _place
from ._tensor import random as _random_functions
from ._tensor import random_fill as _random_fill
from ._tensor import ranges as _ranges
from ._tensor import settings as _settings
from ._tensor import sparse_methods as _sparse_methods
from ._tensor.creation import LEGACY_TYPES as _LEGACY_TYPES
from ._tensor.creation import tensor
from ._tensor.printing import get_printoptions, set_printoptions
from ._tensor.random_state import Generator, default_generator
from ._tensor.storages import LEGACY_STORAGES as _LEGACY_STORAGES
from ._tensor.storages import TypedStorage, UntypedStorage
from ._tensor.tensor import Size, Tensor
from ._version import __version__ as __version__

newaxis = None

globals().update(_dtypes.DTYPE_NAMES)
globals().update(_formats.FORMAT_NAMES)
globals().update(_LEGACY_TYPES)
globals().update(_LEGACY_STORAGES)
Storage = _LEGACY_STORAGES["FloatStorage"]
globals().update(_FUNCTIONS)

# Parts that a program may never need are loaded when they are first named.
_PARTS = {
    *("accelerator", "amp", "autograd", "backends", "cpu", "cuda", "func", "linalg", "nn", "optim"),
    *(
        "_C",
        "__config__",
        "__future__",
        "_custom_ops",
        "_tensor_str",
        "ao",
        "_vmap_internals",
        "_subclasses",
        "_dynamo",
        "_utils",
        "compiler",
        "distributed",
        "futures",
        "distributions",
        "evidence",
        "fft",
        "functional",
        "fx",
        "hub",
        "jit",
        "library",
        "masked",
        "multiprocessing",
        "onnx",
        "ops",
        "overrides",
        "profiler",
        "quantization",
        "quasirandom",
        "random",
        "return_types",
        "safetensors",
        "serialization",
        "signal",
        "sparse",
        "special",
        "storage",
        "testing",
        "torch_version",
        "types",
        "utils",
        "version",
    ),
}
_ELSEWHERE = {
    **dict.fromkeys(
        (
            *("sparse_compressed_tensor", "sparse_coo_tensor", "sparse_csc_tensor"),
            "sparse_csr_tensor",
        ),
        "_ops.sparse.creation",
    ),
    **dict.fromkeys(("detach", "detach_"), "_autograd.detaching"),
    "Future": "futures",
    "frobenius_norm": "_ops.linalg.older_norms",
    **dict.fromkeys(("hspmm", "smm", "sspaddmm"), "_ops.sparse.products"),
    **dict.fromkeys(("dsmm", "hsmm", "saddmm", "spmm"), "_ops.sparse.older_names"),
    "istft": "_ops.spectral.short_time",
    **dict.fromkeys(
        (*("native_batch_norm", "native_dropout", "native_group_norm", "native_layer_norm"),),
        "_ops.nn.native_results",
    ),
    "stft": "_ops.spectral.short_time",
    **dict.fromkeys(
        (
            *("bartlett_window", "blackman_window", "hamming_window", "hann_window"),
            "kaiser_window",
        ),
        "_ops.spectral.windows",
    ),
    **dict.fromkeys(("_assert", "_assert_async"), "_ops.assertions"),
    "PyTorchFileReader": "_files.file_reader",
    **dict.fromkeys(("SymBool", "SymFloat", "SymInt"), "_symbolic"),
    "ScriptModule": "jit",
    "ScriptFunction": "jit",
    "load": "serialization",
    "save": "serialization",
    "vmap": "func",
    "compile": "_compile.api",
    "verify": "_verify.verify",
    "intended": "_verify.subject.intent",
    "check_gradients": "_verify.behaviour.check_gradients",
    "doctor": "_doctor.doctor",
    "compare_devices": "_verify.behaviour.compare_devices",
    "view": "_view.view",
    "explain": "_view.explain",
    "summary": "_view.summary.summary",
    "autocast": "amp",
    **dict.fromkeys(
        (
            *("autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache"),
            *("get_autocast_dtype", "is_autocast_cache_enabled", "is_autocast_enabled"),
            *("set_autocast_cache_enabled", "set_autocast_dtype", "set_autocast_enabled"),
        ),
        "_autograd.autocast_state",
    ),
    **dict.fromkeys(
        (
            *("get_autocast_cpu_dtype", "get_autocast_gpu_dtype", "is_autocast_cpu_enabled"),
            *("set_autocast_cpu_dtype", "set_autocast_cpu_enabled", "set_autocast_gpu_dtype"),
        ),
        "amp._older_names",
    ),
    **dict.fromkeys(
        ("_dirichlet_grad", "_sample_dirichlet", "_standard_gamma", "_standard_gamma_grad"),
        "_tensor.random_gamma",
    ),
    "is_anomaly_enabled": "autograd.anomaly_mode",
    "is_anomaly_check_nan_enabled": "autograd.anomaly_mode",
}


def __getattr__(name: str) -> Any:
    import importlib.util

    if name in _PARTS and importlib.util.find_spec(f"{__name__}.{name}") is not None:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _ELSEWHERE:
        found = getattr(importlib.import_module(f"{__name__}.{_ELSEWHERE[name]}"), name)
        globals()[name] = found
        return found
    if not name.startswith("_"):
        from ._ops import nn_families as _library  # conv2d, layer_norm and their like

        if name in _FUNCTIONS:
            globals()[name] = _FUNCTIONS[name]
            return _FUNCTIONS[name]
    if name.startswith("_foreach_"):
        from ._foreach import foreach

        function = foreach(name)
        if function is not None:
            globals()[name] = function
            return function
    from ._nearest import no_attribute

    raise no_attribute(__name__, name, __dir__)


def __dir__() -> list[str]:
    return sorted({*globals(), *_PARTS, *_ELSEWHERE})
