"""`verify` on every differentiable module of `nn`, of PyTorch itself and of tautograd: all pass."""

from __future__ import annotations

import pytest

from tautograd import verify
from tests.verify.modules import ROWS

# PyTorch's gradients that are, by its own definition, not the derivative of what it computes:
# CTCLoss's belongs to activations before their softmax.
BY_CONVENTION = {("CTCLoss", "torch")}


@pytest.mark.parametrize("name", ROWS)
def test_every_module_is_right(torch, name):
    torch.manual_seed(3)
    make, inputs = ROWS[name]
    report = verify(make(torch), inputs(torch), confirm=False)
    if (name, torch.__name__) in BY_CONVENTION:
        assert not report.ok, "verify no longer sees that this is a convention"
    else:
        assert report.ok, str(report)
