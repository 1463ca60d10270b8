"""A line without what cuts the graph in it, as code that runs: `torch.tensor(h.detach().numpy())` is `h`."""

from __future__ import annotations

import ast

_CUTS = frozenset(("detach", "data", "item", "numpy", "tolist"))
_LEAVES = frozenset(("item", "numpy", "tolist"))  # what they give is no tensor any more
_STAYS = frozenset(("cpu", "clone", "contiguous"))
_BACK = frozenset(
    ("tensor", "as_tensor", "from_numpy", "asarray", "array", "Tensor", "FloatTensor")
)


def without_cut(text: str) -> str | None:
    """The statement with the tensors themselves; None where a number or an array goes on to elsewhere."""
    try:
        tree = ast.parse(text)
    except SyntaxError:  # the head of a block, or a part of a longer statement
        return None
    mend = _Mend()
    mended = ast.unparse(mend.visit(tree))
    if not mend.changes or mend.leaves:
        return None
    left, _, right = mended.partition(" = ")
    return f"# {text} can go" if left == right else mended


def _chain(node: ast.expr) -> tuple[ast.expr, list[str]]:
    """What a chain of such calls begins with, and which they are, the last first."""
    names: list[str] = []
    while True:
        called = node.func if isinstance(node, ast.Call) and not node.args else node
        if not isinstance(called, ast.Attribute) or called.attr not in _CUTS | _STAYS:
            return node, names
        if (called is node) != (called.attr == "data"):
            return node, names
        names.append(called.attr)
        node = called.value


class _Mend(ast.NodeTransformer):
    """Takes cuts out; `leaves` says whether one was found that gives no tensor, and nothing takes it back."""

    def __init__(self) -> None:
        self.changes = 0
        self.leaves = False

    def visit_Call(self, node: ast.Call) -> ast.AST:
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if isinstance(node.func, ast.Name):
            name = node.func.id
        if name in _BACK and node.args:
            base, cuts = _chain(node.args[0])
            if set(cuts) & _CUTS:
                self.changes += 1
                return self._inside(base)
            if name != "array" and isinstance(base, ast.List | ast.ListComp):
                return self._stacked(node, base)
        return self._cut(node)

    def _inside(self, node: ast.expr) -> ast.AST:
        mended: ast.AST = self.visit(node)
        return mended

    def _stacked(self, node: ast.Call, parts: ast.expr) -> ast.AST:
        """`tensor([a.item(), b.item()])` as a stack of the tensors themselves."""
        before = self.changes
        mended = self.visit(parts)
        if self.changes == before or not isinstance(node.func, ast.Attribute):
            return node
        stack = ast.Attribute(node.func.value, "stack", ast.Load())
        return ast.Call(stack, [mended], [])

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        return self._cut(node)

    def _cut(self, node: ast.expr) -> ast.AST:
        base, cuts = _chain(node)
        if isinstance(getattr(node, "ctx", None), ast.Store):
            return node
        if set(cuts) & _LEAVES:
            self.leaves = self.leaves or "item" not in cuts
        if set(cuts) & _CUTS:
            self.changes += 1
            return self._inside(base)
        return self.generic_visit(node)
