"""A tracer that first rewrites what it traces: an `assert` becomes a call that the graph keeps."""

from __future__ import annotations

import ast
import copy
import functools
import inspect
import textwrap
from types import FunctionType
from typing import Any

from ...nn.modules.module import Module
from ..graph import Graph
from ..tracing import Tracer

__all__ = ["AST_Rewriter", "RewritingTracer"]


class AST_Rewriter(ast.NodeTransformer):  # noqa: N801 (PyTorch's name)
    """Rewrites a function's source."""

    def rewrite(self, fn: FunctionType) -> FunctionType:
        """The same function with its assertions as calls of `torch._assert`."""
        source = textwrap.dedent(inspect.getsource(fn))
        tree = ast.fix_missing_locations(self.visit(ast.parse(source)))
        space: dict[str, Any] = copy.copy(fn.__globals__)
        before = set(space)
        exec(
            compile(tree, inspect.getsourcefile(fn) or "", "exec"), space
        )  # the function's own source
        (name,) = set(space) - before or {fn.__name__}
        made = space[name]
        free = dict(zip(fn.__code__.co_freevars, fn.__closure__ or (), strict=True))
        if not free:
            return FunctionType(made.__code__, fn.__globals__, fn.__name__, fn.__defaults__)
        for name, cell in free.items():  # as globals of this function alone
            space[name] = cell.cell_contents
        functools.update_wrapper(made, fn)
        rewritten: FunctionType = made
        return rewritten

    def visit_Assert(self, node: ast.Assert) -> Any:
        """`assert test, message` as `torch._assert(test, message)`."""
        call = ast.parse("torch._assert()", mode="eval").body
        assert isinstance(call, ast.Call)
        call.args = [node.test, node.msg or ast.Constant("")]
        return ast.copy_location(ast.Expr(call), node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """A hint is dropped: traced code has no use for it."""
        if node.value is None:
            return node
        return ast.copy_location(ast.Assign([node.target], node.value), node)


class RewritingTracer(Tracer):
    """A tracer that keeps assertions."""

    def trace(self, root: Any, concrete_args: Any = None) -> Graph:
        return super().trace(_rewritten(root), concrete_args)


def _rewritten(root: Any) -> Any:
    if isinstance(root, FunctionType):
        return AST_Rewriter().rewrite(root)
    made = copy.copy(root)
    kind = type(root)
    forward = kind.forward
    if not kind.__module__.startswith(("torch.nn", "tautograd.nn")) and isinstance(
        forward, FunctionType
    ):
        changed = AST_Rewriter().rewrite(forward)
        made.__class__ = type(
            kind.__name__, (kind,), {"forward": changed, "__module__": kind.__module__}
        )
    made.__dict__["_modules"] = {name: _rewritten_child(m) for name, m in root._modules.items()}
    return made


def _rewritten_child(module: Module | None) -> Module | None:
    return module if module is None else _rewritten(module)
