"""`torch.fx`: a function or module traced into a graph of calls, transformed, and run again.

A trace calls the function with `Proxy` objects that record what is done with them. The graph is
plain data (`graph`); a `GraphModule` turns it into Python source and runs that; an `Interpreter` runs
it node by node.
"""

from .._ops.declare.python_surface import speak
from . import _symbolic_trace as _symbolic_trace
from . import node as node
from . import proxy as proxy
from .codegen import CodeGen
from .graph import Graph
from .graph_module import GraphModule
from .interpreter import Interpreter, Transformer
from .node import Node, has_side_effect, map_aggregate, map_arg
from .placeholders import PH
from .proxy import Proxy, TraceError
from .subgraph_rewriter import replace_pattern
from .tracing import ProxyableClassMeta, Tracer, symbolic_trace, wrap

__all__ = [
    "PH",
    "CodeGen",
    "Graph",
    "GraphModule",
    "Interpreter",
    "Node",
    "Proxy",
    "ProxyableClassMeta",
    "TraceError",
    "Tracer",
    "Transformer",
    "has_side_effect",
    "map_aggregate",
    "map_arg",
    "replace_pattern",
    "symbolic_trace",
    "wrap",
]

speak(globals(), [name for name in __all__ if name != "wrap"])  # which depends on its caller
