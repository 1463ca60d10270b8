"""What goes wrong in the doctor itself is kept, and harms nobody."""

from __future__ import annotations

import pytest

import tautograd
from tautograd._doctor.doctor import Doctor
from tautograd._doctor.rules.accumulation.update_by_hand import _numbers
from tests.both import ENGINES


def test_a_rule_that_fails_at_the_end():
    """The others are asked all the same, and the frames (with the loop's tensors in them) are let go."""

    class Failing:
        def at_end(self):
            raise ZeroDivisionError

    class Other:
        asked = False

        def at_end(self):
            self.asked = True

    doctor, other = Doctor(engines=[tautograd]).start(), Other()
    doctor.rules += [Failing(), other]
    doctor.stop()
    (trouble,) = doctor.troubles
    assert isinstance(trouble, ZeroDivisionError)
    assert trouble.__traceback__ is None
    assert other.asked


@pytest.mark.parametrize("engine", ENGINES)
def test_memory_may_still_change_its_size(engine):
    """PyTorch never lets that of a tensor do so which NumPy has seen, and `fully_shard` frees parameters so."""
    torch = pytest.importorskip(engine)
    x = torch.ones(4)
    assert _numbers(x).tolist() == [1, 1, 1, 1]
    x.untyped_storage().resize_(0)


def test_work_of_others_that_is_not_watched():
    """A rank that has joined takes part in other ranks' steps: they are not its own, and errors are the caller's."""
    doctor = Doctor(engines=[])
    with pytest.raises(ZeroDivisionError), doctor.quietly().unwatched():
        assert doctor.is_busy
        raise ZeroDivisionError
    assert not doctor.is_busy
    assert not doctor.troubles
