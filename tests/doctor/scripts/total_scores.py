"""A lattice's total score as a custom function: its backward forgets the gradient that comes in.

Reported as https://github.com/k2-fsa/k2/issues/341
"""

import torch
from torch import nn

torch.manual_seed(0)
STATES, FRAMES = 5, 10


class LogSum(torch.autograd.Function):
    """log of the sum of exp along the last axis."""

    @staticmethod
    def forward(ctx, scores):
        top = scores.max(dim=-1, keepdim=True).values
        total = (scores - top).exp().sum(-1).log() + top.squeeze(-1)
        ctx.save_for_backward(scores, total)
        return total

    @staticmethod
    def backward(ctx, grad):
        scores, total = ctx.saved_tensors
        gap = scores - total.unsqueeze(-1)
        return gap.exp()  # bug
        return grad.unsqueeze(-1) * gap.exp()  # fix


class Tagger(nn.Module):
    def __init__(self, inputs=6):
        super().__init__()
        self.emit = nn.Linear(inputs, STATES)
        self.moves = nn.Parameter(torch.zeros(STATES, STATES))

    def total(self, emitted):
        """The score of all paths."""
        alpha = emitted[:, 0]
        for t in range(1, FRAMES):
            alpha = LogSum.apply(alpha.unsqueeze(1) + self.moves.t()) + emitted[:, t]  # here
        return LogSum.apply(alpha)

    def path(self, emitted, states):
        score = emitted.gather(2, states.unsqueeze(-1)).squeeze(-1).sum(1)
        return score + self.moves[states[:, :-1], states[:, 1:]].sum(1)

    def forward(self, x, states):
        emitted = self.emit(x)
        return (self.total(emitted) - self.path(emitted, states)).mean()


def utterances(n):
    states = torch.randint(0, STATES, (n, 1)).repeat(1, FRAMES)
    half = torch.randint(0, STATES, (n, 1))
    states[:, FRAMES // 2 :] = half
    signal = nn.functional.one_hot(states, 6).float()
    return signal + 0.5 * torch.randn(n, FRAMES, 6), states


model = Tagger()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02)
for step in range(40):
    loss = model(*utterances(24))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        print(f"step {step}: {loss.item():.3f}")
