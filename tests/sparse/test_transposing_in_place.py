"""A compressed matrix would become one of another layout: it is not transposed in place."""

from __future__ import annotations

import pytest
import torch

import tautograd


@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support")
@pytest.mark.parametrize("name", ["transpose_", "swapdims_", "swapaxes_"])
@pytest.mark.parametrize("layout", ["to_sparse_csr", "to_sparse_csc"])
def test_refused_as_in_pytorch(name: str, layout: str) -> None:
    words = []
    for m in (torch, tautograd):
        x = getattr(m.ones(2, 3), layout)()
        with pytest.raises(RuntimeError) as caught:
            getattr(x, name)(0, 1)
        words.append(str(caught.value))
        assert tuple(x.shape) == (2, 3)
    assert words[0] == words[1]
