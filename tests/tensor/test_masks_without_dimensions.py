"""`index_put` with a mask that has no dimensions: it covers none, and alone says everything or nothing."""

import pytest

import tautograd
from tests.both import same


@pytest.mark.parametrize("on", [True, False])
@same
def test_alone_it_puts_one_value_everywhere_or_nowhere(torch, on):
    x = torch.arange(6.0).reshape(3, 2)
    put = torch.index_put(x, (torch.tensor(on),), torch.tensor([7.0]))
    return put, torch.index_put_(x, (torch.tensor(on),), torch.tensor(8.0)), x


@pytest.mark.parametrize("on", [True, False])
@same
def test_beside_others_it_covers_no_dimension(torch, on):
    x = torch.arange(6.0).reshape(3, 2)
    return torch.index_put_(x, (torch.tensor(on), torch.tensor([1])), torch.tensor(8.0))


@pytest.mark.parametrize("accumulate", [True, False])
def test_what_it_cannot_say_is_refused_in_words(accumulate):
    x = tautograd.zeros(3, 2)
    with pytest.raises(RuntimeError, match=r"^a mask without dimensions"):
        tautograd.index_put_(x, (tautograd.tensor(True),), tautograd.ones(2), accumulate)
    assert x.tolist() == [[0, 0]] * 3
