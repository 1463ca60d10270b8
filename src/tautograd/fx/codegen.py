"""How a graph's source begins and ends: the function's head, its result, and how arguments are laid out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from ..utils import _pytree as pytree
from . import _pytree as fx_pytree

__all__ = ["CodeGen"]

Body = list[str]
BodyTransformer = Callable[[Body], Body]


class CodeGen:
    """The plain function `forward`; subclasses change its head, its result, or its globals."""

    def __init__(self) -> None:
        self._body_transformer: BodyTransformer | None = None
        self._func_name = "forward"

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        """The head of the function, up to its colon, and what unpacks the arguments."""
        if not free_vars or free_vars[0] != "self":
            free_vars.insert(0, "self")
        return f"def {self._func_name}({', '.join(free_vars)}){maybe_return_annotation}:"

    def generate_output(self, output_args: Any) -> str:
        """The statement that returns the result."""
        return f"return {output_args!r}"

    def process_inputs(self, *args: Any) -> Any:
        """What the placeholders get of a caller's arguments."""
        return args

    def process_outputs(self, outputs: Any) -> Any:
        """What a caller gets of the output node's value."""
        return outputs

    def additional_globals(self) -> list[tuple[str, Any]]:
        """Further names for the source."""
        return []


class _PyTreeInfo(NamedTuple):
    orig_args: list[str]
    in_spec: Any
    out_spec: Any


class _PyTreeCodeGen(CodeGen):
    """A function of nested arguments, whose leaves are the placeholders."""

    def __init__(self, pytree_info: _PyTreeInfo) -> None:
        super().__init__()
        self.pytree_info = pytree_info

    def process_inputs(self, *inputs: Any) -> Any:
        return pytree.tree_leaves(inputs)

    def process_outputs(self, out: Any) -> Any:
        if self.pytree_info.out_spec is None:
            return out
        leaves = out if isinstance(out, (list, tuple)) else [out]
        return pytree.tree_unflatten(list(leaves), self.pytree_info.out_spec)

    def gen_fn_def(self, free_vars: list[str], maybe_return_annotation: str) -> str:
        names = list(self.pytree_info.orig_args)
        if names and names[0] == "self":
            free_vars.insert(0, "self")
        head = super().gen_fn_def(names[:], maybe_return_annotation)
        leaves = [name.partition(":")[0].partition("=")[0].strip() for name in free_vars]
        if not leaves:
            return head
        flat = f"fx_pytree.tree_flatten_spec([{', '.join(names)}], self._in_spec)"
        return f"{head}\n    {', '.join(leaves)}, = {flat}"

    def generate_output(self, output_args: Any) -> str:
        if self.pytree_info.out_spec is None:
            return super().generate_output(output_args)
        return f"return pytree.tree_unflatten({output_args!r}, self._out_spec)"

    def additional_globals(self) -> list[tuple[str, Any]]:
        return [("pytree", pytree), ("fx_pytree", fx_pytree)]
