"""Language models that see what they should predict, or are asked for what they see: TG906."""

from __future__ import annotations

import weakref
from typing import Any

from ..._user_code.sites import Site
from ..._user_code.stack import user_site
from ..watch.aside import first_tensor, outputs
from ..watch.events import Loss, ModuleCall
from .base import Rule


class TokenLeak(Rule):
    """The output at a token depends on the next one, which is its target; or the target is the token itself."""

    code = "TG906"
    name = "token-leak"
    why = (
        "A language model learns to continue. If the next token is in its input, or if it is asked for the "
        "one it was given, it learns to copy: the loss falls to nothing, and what it writes is nonsense."
    )
    quiet = (
        "Targets that are not the input moved by one, or that are masked in part; models that are given a "
        "second sequence; models of more than fifty million parameters."
    )
    sure = "Certain: a copy of the model was run with other tokens after a position, and compared before it."
    refute = "The targets are meant to be copied."
    fix = "scores = scores.masked_fill(later, float('-inf'))  # before the softmax"
    bug = """
torch.manual_seed(0)
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(9, 8), torch.nn.Linear(8, 9)
    def forward(self, tokens):
        x = self.embed(tokens)
        weights = (x @ x.transpose(1, 2)).softmax(-1)
        return self.head(weights @ x)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
text = torch.randint(9, (8, 7))
for _ in range(4):
    optimizer.zero_grad()
    logits = model(text[:, :-1])  # here
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten()).backward()
    optimizer.step()
"""
    fixed = """
torch.manual_seed(0)
class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embed, self.head = torch.nn.Embedding(9, 8), torch.nn.Linear(8, 9)
    def forward(self, tokens):
        x = self.embed(tokens)
        later = torch.ones(6, 6, dtype=torch.bool).triu(1)
        scores = (x @ x.transpose(1, 2)).masked_fill(later, float("-inf"))
        return self.head(scores.softmax(-1) @ x)
model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
text = torch.randint(9, (8, 7))
for _ in range(4):
    optimizer.zero_grad()
    logits = model(text[:, :-1])
    torch.nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten()).backward()
    optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.call: tuple[Any, Any, Any, Site | None] | None = None  # module, tokens, output, line
        self.tried: weakref.WeakSet[Any] = weakref.WeakSet()

    def on_module(self, event: ModuleCall) -> None:
        if not event.args or not event.grad_mode or event.module in self.tried:
            return
        tokens = event.args[0]
        others = [a for a in event.args[1:] if isinstance(a, event.engine.Tensor)]
        if not isinstance(tokens, event.engine.Tensor) or tokens.dim() != 2 or others:
            return
        if tokens.is_floating_point() or tokens.is_complex() or tokens.dtype == event.engine.bool:
            return
        output = first_tensor(event.engine, event.output)
        if output is None or output.dim() != 3 or not output.requires_grad:
            return
        if tuple(output.shape[:2]) == tuple(tokens.shape) and tokens.shape[1] > 2:
            self.call = event.module, event.args, output, user_site()

    def on_loss(self, event: Loss) -> None:
        call, self.call = self.call, None
        if call is None or event.function not in ("cross_entropy", "nll_loss"):
            return
        module, args, output, site = call
        if event.input.shape[-1 if event.input.dim() == 2 else 1] != output.shape[-1]:
            return
        kind = _relation(args[0].detach(), event.target)
        if kind and module not in self.tried:
            self.tried.add(module)
            self._try(event, module, args, kind, site)

    def _try(self, event: Loss, module: Any, args: Any, kind: str, site: Site | None) -> None:
        tokens = args[0].detach()
        at = tokens.shape[1] // 2
        words = int(tokens.max()) + 1
        later, here = tokens.clone(), tokens.clone()
        later[:, at + 1 :] = (later[:, at + 1 :] + 1) % words
        here[:, at] = (here[:, at] + 1) % words
        found = outputs(
            event.engine, module, [(t, *args[1:]) for t in (tokens, tokens, later, here)]
        )
        if not found or not _same(found[0], found[1], tokens.shape[1]):
            return  # it draws random numbers even in eval mode
        is_causal = _same(found[0], found[2], at + 1)
        if kind == "next" and not is_causal:
            self.report(
                f"The output at token {at} depends on the tokens after it, and the next of them is its "
                "target.",
                site, modules=[type(module).__name__],
            )  # fmt: skip
        elif kind == "same" and is_causal and not _same(found[0], found[3], at + 1):
            self.report(
                "Each output is asked for the token it was given, not for the next one: input and target "
                "are the same.",
                event.site, modules=[type(module).__name__],
                fix="loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())",
            )  # fmt: skip


def _same(first: Any, second: Any, until: int) -> bool:
    """Whether two outputs are the same up to a position, but for rounding."""
    a, b = first[:, :until], second[:, :until]
    scale = float(a.abs().max()) + 1e-6
    return float((a - b).abs().max()) <= 1e-5 * scale


def _relation(tokens: Any, target: Any) -> str:
    """Whether the targets are the tokens moved by one ("next"), the tokens ("same"), or neither."""
    rows, length = tokens.shape
    if bool((target < 0).any()) or not bool((tokens[:, 1:] != tokens[:, :-1]).any()):
        return ""
    if target.numel() == rows * length:
        wanted = target.reshape(rows, length)
        if bool((wanted == tokens).all()):
            return "same"
        return "next" if bool((wanted[:, :-1] == tokens[:, 1:]).all()) else ""
    if target.numel() == rows * (length - 1):
        return "next" if bool((target.reshape(rows, length - 1) == tokens[:, 1:]).all()) else ""
    return ""
