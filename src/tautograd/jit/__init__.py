"""`torch.jit`: scripts and traces that run as they are.

Here a scripted function is the function: nothing is translated, so everything that Python can do
goes on working, and nothing gets faster (`tautograd.compile` is for that). A trace runs the function
once, as PyTorch's does, and then keeps calling it: branches are taken anew at each call, where
PyTorch's trace repeats the ones it saw.
"""

from .._ops.declare.python_surface import speak
from ._annotations import (
    Attribute,
    Error,
    Final,
    TracerWarning,
    annotate,
    export,
    ignore,
    interface,
    is_scripting,
    is_tracing,
    isinstance,
    overload,
    script_if_tracing,
    script_method,
    strict_fusion,
    unused,
)
from ._files import load, save
from ._futures import Future, fork, wait
from ._script import (
    CompilationUnit,
    RecursiveScriptModule,
    ScriptFunction,
    ScriptModule,
    freeze,
    optimize_for_inference,
    optimized_execution,
    run_frozen_optimizations,
    script,
)
from ._switches import (
    enable_onednn_fusion,
    fuser,
    onednn_fusion_enabled,
    set_fusion_strategy,
)
from ._trace import (
    ONNXTracedModule,
    TopLevelTracedModule,
    TracedModule,
    trace,
    trace_module,
)

_script_if_tracing = script_if_tracing  # as libraries spell these
_overload = _overload_method = overload

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "Future",
    "ONNXTracedModule",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "TopLevelTracedModule",
    "TracedModule",
    "TracerWarning",
    "annotate",
    "enable_onednn_fusion",
    "export",
    "fork",
    "freeze",
    "fuser",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "onednn_fusion_enabled",
    "optimize_for_inference",
    "optimized_execution",
    "run_frozen_optimizations",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "set_fusion_strategy",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]


speak(globals(), __all__)
