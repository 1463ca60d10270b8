"""Language models that see what they should predict, or are asked for what they see: TG906."""

from __future__ import annotations

import weakref
from typing import Any

from ...._user_code.sites import Site
from ...._user_code.stack import user_site
from ...watch.aside import first_tensor, outputs
from ...watch.backward_flow import line_of
from ...watch.events import Backward, Hook, Loss, ModuleCall
from ...watch.graph_walk import node_name, nodes
from ..base import Rule
from .next_in_sequence import relation
from .words_in_graph import BY_GRADIENT, Words

Call = tuple[Any, Any, Any, Site | None]  # a module, its arguments, its output, and the line
_SHORTEST = 3  # tokens


class TokenLeak(Rule):
    """The output at a token depends on the next one, which is its target; or the target is the token itself."""

    code = "TG906"
    name = "token-leak"
    why = (
        "A language model learns to continue. If the next token is in its input, or if it is asked for the "
        "one it was given, it learns to copy: the loss falls to nothing, and what it writes is nonsense."
    )
    quiet = (
        "Targets that are not the input moved by one, or that are masked in part; models that are given "
        "something else after it; models of more than fifty million parameters."
    )
    sure = "Certain: a copy of the model was run with other tokens after a position, and compared before it."
    refute = "The targets are meant to be copied."
    fix = "scores = scores.masked_fill(later, float('-inf'))  # before the softmax"
    example = """
  torch.manual_seed(0)
  class Model(torch.nn.Module):
      def __init__(self):
          super().__init__()
          self.embed, self.head = torch.nn.Embedding(9, 8), torch.nn.Linear(8, 9)
      def forward(self, tokens):
          x = self.embed(tokens)
-         weights = (x @ x.transpose(1, 2)).softmax(-1)
-         return self.head(weights @ x)
+         later = torch.ones(6, 6, dtype=torch.bool).triu(1)
+         scores = (x @ x.transpose(1, 2)).masked_fill(later, float("-inf"))
+         return self.head(scores.softmax(-1) @ x)
  model = Model()
  optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
  text = torch.randint(9, (8, 7))
  for _ in range(4):
      optimizer.zero_grad()
-     logits = model(text[:, :-1])  # here
+     logits = model(text[:, :-1])
      torch.nn.functional.cross_entropy(logits.flatten(0, 1), text[:, 1:].flatten()).backward()
      optimizer.step()
"""

    def __init__(self, doctor: Any) -> None:
        super().__init__(doctor)
        self.call: Call | None = None  # of a language model, until its loss
        self.loss: Loss | None = None  # inside of a model's forward, until that is over
        self.tried: weakref.WeakSet[Any] = weakref.WeakSet()
        self.words = Words()
        self.leak: tuple[Any, str, Site | None] | None = (
            None  # until the line of a softmax is known
        )

    def on_module(self, event: ModuleCall) -> None:
        if self.leak is not None and self.leak[0]() is event.module and event.grad_mode:
            self._tell(first_tensor(event.engine, event.output))
        if not event.args or not event.grad_mode or event.module in self.tried:
            return
        output = first_tensor(event.engine, event.output)
        if output is None or output.dim() != 3 or not output.requires_grad:
            return
        if any(_is_sequence(event.engine, a, output) for a in event.args):
            self.call = event.module, event.args, output, user_site()
            if self.loss is not None:
                self._judge(self.call, self.loss)

    def on_loss(self, event: Loss) -> None:
        call, self.call = self.call, None
        if event.function not in ("cross_entropy", "nll_loss"):
            return
        self.loss = event  # if the model is not over yet; what was called last may be a part of it
        if call is not None:
            self._judge(call, event)
        found = self.words.asked(event)
        if found is not None:
            self.report(found, event.site, sure=BY_GRADIENT, fix=self.words.fix)

    def on_hook(self, event: Hook) -> None:
        self.words.hooked = True  # somebody would hear of a gradient

    def before_backward(self, event: Backward) -> None:
        self.call = self.loss = None

    def _judge(self, call: Call, event: Loss) -> None:
        module, args, output, _ = call
        if event.input.shape[-1 if event.input.dim() == 2 else 1] != output.shape[-1]:
            return
        for place, given in enumerate(args):
            if not _is_sequence(event.engine, given, output):
                continue
            others = [a for a in args[1:] if isinstance(a, event.engine.Tensor)]
            is_only = all(_is_target(event.engine, other, event.target) for other in others)
            if place == 0 and not is_only:
                continue  # something is said about it: which of it may be seen, perhaps
            kind = relation(given.detach(), event.target)
            if kind and (is_only or kind == "next") and module not in self.tried:
                self.tried.add(module)
                self.words.is_over = True  # a copy says it better
                self._try(event, call, place, kind)

    def _try(self, event: Loss, call: Call, place: int, kind: str) -> None:
        module, args, output, site = call
        tokens = args[place].detach()
        at = tokens.shape[1] // 2
        words = int(tokens.max()) + 1
        later, here = tokens.clone(), tokens.clone()
        later[:, at + 1 :] = (later[:, at + 1 :] + 1) % words
        here[:, at] = (here[:, at] + 1) % words
        found = outputs(
            event.engine, module,
            [(*args[:place], t, *args[place + 1 :]) for t in (tokens, tokens, later, here)],
        )  # fmt: skip
        if not found or found[0].shape[:2] != tokens.shape:
            return  # without what else the loop gives it, it answers another question
        if not _same(found[0], found[1], tokens.shape[1]):
            return  # it draws random numbers even in eval mode
        is_causal = _same(found[0], found[2], at + 1)
        if kind == "next" and not is_causal:
            message = (
                f"The output at token {at} depends on the tokens after it, and the next of them is its "
                "target."
            )
            self.leak = weakref.ref(module), message, site
            turned = turned_softmax(output)
            if turned is None or line_of(turned) is not None:
                self._tell(output)
            else:
                self.doctor.lines.ask(event.engine, self.code)
        elif kind == "same" and is_causal and not _same(found[0], found[3], at + 1):
            self.report(
                "Each output is asked for the token it was given, not for the next one: input and target "
                "are the same.",
                event.site, modules=[type(module).__name__],
                fix="loss = F.cross_entropy(logits[:, :-1].flatten(0, 1), tokens[:, 1:].flatten())",
            )  # fmt: skip

    def _tell(self, output: Any) -> None:
        """Say it, at the softmax that goes over the queries, if there is one."""
        if self.leak is None:
            return
        (module, message, site), self.leak = self.leak, None
        self.doctor.lines.stop(self.code)
        turned = None if output is None else turned_softmax(output)
        details = {"modules": [type(module()).__name__]}
        if turned is None:
            self.report(message, site, **details)
            return
        self.report(
            f"{message} A softmax goes over the queries, not over the keys.",
            line_of(turned) or site, fix="weights = scores.softmax(-1)  # over the keys", **details,
        )  # fmt: skip

    def at_end(self) -> None:
        self._tell(None)


def turned_softmax(output: Any) -> Any:
    """The softmax of an attention that goes over the last axis but one."""
    for node in nodes([output], 4000):
        if node_name(node) != "Softmax":
            continue
        axis, result = getattr(node, "_saved_dim", None), getattr(node, "_saved_result", None)
        if axis is None or result is None or result.dim() < 3:
            continue
        axis = (int(axis) + 2**63) % 2**64 - 2**63  # PyTorch keeps -1 as an unsigned number
        if axis % result.dim() == result.dim() - 2 and result.shape[-1] == result.shape[-2] > 1:
            return node
    return None


def _is_sequence(engine: Any, given: Any, output: Any) -> bool:
    """Whether an argument is tokens, one for each place of the output."""
    if not isinstance(given, engine.Tensor) or given.dim() != 2 or given.shape[1] < _SHORTEST:
        return False
    if given.is_floating_point() or given.is_complex() or given.dtype == engine.bool:
        return False
    return tuple(output.shape[:2]) == tuple(given.shape)


def _is_target(engine: Any, tensor: Any, target: Any) -> bool:
    """Whether a model was given the targets themselves, because it computes its loss."""
    return tensor.numel() == target.numel() and bool(
        engine.equal(tensor.detach().reshape(-1), target.reshape(-1))
    )


def _same(first: Any, second: Any, until: int) -> bool:
    """Whether two outputs are the same up to a position, but for rounding."""
    a, b = first[:, :until], second[:, :until]
    scale = float(a.abs().max()) + 1e-6
    return float((a - b).abs().max()) <= 1e-5 * scale
