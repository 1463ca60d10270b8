"""LSTM: a recurrent network remembers two marked numbers of a long sequence and adds them.

The adding problem: each item of a sequence is a number and a mark, two of the marks are 1, and the
answer is the sum of the two marked numbers. Sequences differ in length, and are packed. Saying 1
every time gives an error of 1/6: below that, something has been remembered.
"""

from __future__ import annotations

import torch
from shared import options, progress, report
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence


class Adder(nn.Module):
    """A stack of LSTM layers, and a linear layer on the last one's last hidden state."""

    def __init__(self, hidden: int, layers: int) -> None:
        super().__init__()
        self.lstm = nn.LSTM(2, hidden, num_layers=layers, batch_first=True)
        self.head = nn.Linear(hidden, 1)

    def forward(self, sequences: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        packed = pack_padded_sequence(sequences, lengths, batch_first=True, enforce_sorted=False)
        _, (hidden, _) = self.lstm(packed)
        return self.head(hidden[-1]).squeeze(1)


def sample(count: int, longest: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Padded sequences of numbers and marks, their lengths, and the answers."""
    lengths = torch.randint(longest // 2, longest + 1, (count,))
    sequences, answers = [], []
    for length in lengths.tolist():
        numbers = torch.rand(length)
        marked = torch.randperm(length)[:2]
        marks = torch.zeros(length)
        marks[marked] = 1.0
        sequences.append(torch.stack([numbers, marks], dim=1))
        answers.append(numbers[marked].sum())
    return pad_sequence(sequences, batch_first=True), lengths, torch.stack(answers)


def main() -> None:
    parser = options(__doc__, steps=600, every=50)
    parser.add_argument("--hidden", type=int, default=32, help="width; default: 32")
    parser.add_argument("--layers", type=int, default=1, help="default: 1")
    parser.add_argument("--longest", type=int, default=20, help="longest sequence; default: 20")
    chosen = parser.parse_args()
    torch.manual_seed(chosen.seed)

    model = Adder(chosen.hidden, chosen.layers)
    print(model)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3, momentum=0.5)
    for step in progress(1, chosen.steps):
        sequences, lengths, answers = sample(32, chosen.longest)
        optimizer.zero_grad()
        loss = nn.functional.mse_loss(model(sequences, lengths), answers)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % chosen.every == 0:
            report(step, loss=loss.item())

    model.eval()
    with torch.no_grad():
        sequences, lengths, answers = sample(256, chosen.longest)
        found = model(sequences, lengths)
        error = nn.functional.mse_loss(found, answers).item()
        print(f"error on new sequences: {error:.5f} (saying 1 every time: {1 / 6:.5f})")
        for true, guess in zip(answers[:5].tolist(), found[:5].tolist(), strict=True):
            print(f"  sum {true:.3f}, answer {guess:.3f}")


if __name__ == "__main__":
    main()
