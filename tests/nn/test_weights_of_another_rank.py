"""Weights of recurrent functions are matrices and their biases vectors; anything else is refused in words."""

from __future__ import annotations

import pytest

import tautograd as torch


@pytest.mark.parametrize("kind", ["lstm", "gru", "rnn_tanh", "rnn_relu"])
@pytest.mark.parametrize("place", range(4))
@pytest.mark.parametrize("rank", [0, 3])
def test_refused(kind: str, place: int, rank: int) -> None:
    gates = {"lstm": 4, "gru": 3}.get(kind, 1)
    weights = [torch.ones(3 * gates, 3), torch.ones(3 * gates, 3), torch.ones(3 * gates)]
    weights.append(torch.ones(3 * gates))
    weights[place] = torch.ones(3, 3, 3) if rank else torch.tensor(1.0)
    state = torch.zeros(1, 2, 3)
    states = (state, state) if kind == "lstm" else state
    with pytest.raises(RuntimeError, match=rf"{kind}: params\[{place}\] must have"):
        getattr(torch, kind)(
            torch.ones(4, 2, 3), states, weights, True, 1, 0.0, False, False, False
        )
