"""Schedules and cuts that are told late or in several lines: what is found of the cases written for them."""

from __future__ import annotations

import pytest

from tautograd._doctor.rules.graph.mended_line import without_cut

from .corpus.judge import engine as load
from .corpus.judge import told
from .outside.count import judged
from .outside.divide import OWN
from .outside.variants import cases

FAST = (
    "cosine_of_epochs_in_a_trainer",
    "warm_up_of_batches_stepped_per_epoch",
    "rate_by_hand_undoes_the_scheduler",
    "warm_up_made_anew_in_every_epoch",
    "rate_grows_by_the_decay_factor",
    "rate_set_in_the_first_group_only",
    "rate_decayed_in_a_variable",
    "plateau_of_every_batch",
    "plateau_of_a_number_that_stays",
    "resumed_without_its_schedule",
    "inner_schedules_stepped_beside_their_sequence",
    "restarts_of_epochs_stepped_per_batch",
    "scale_wrapped_in_a_new_parameter",
    "weights_of_a_hypernetwork_through_data",
    "hook_that_zeroes_everything",
    "backward_hook_of_a_layer_returns_zeros",
    "function_that_forgets_its_weight",
    "rows_written_into_a_buffer",
    "clamp_beyond_the_data",
)


@pytest.mark.parametrize("name", FAST)
def test_it_is_told_on_its_line_and_its_correction_is_clean(name):
    case = cases()[name]
    assert case.family in OWN
    _, is_located, found, after = judged(case, load("tautograd"))
    assert is_located, told(found)
    assert not after, told(after)


@pytest.mark.parametrize(
    ("line", "mended"),
    [
        ("h = torch.tensor(h.detach().numpy())", "# h = torch.tensor(h.detach().numpy()) can go"),
        ("y = torch.from_numpy(h.detach().cpu().numpy())", "y = h"),
        ("h = torch.tanh(first(x)).detach()", "h = torch.tanh(first(x))"),
        ("x = x + torch.tanh(self.branch(x)).data", "x = x + torch.tanh(self.branch(x))"),
        ("loss = total + aux.item()", "loss = total + aux"),
        ("loss = torch.tensor([a.item(), b.item()]).sum()", "loss = torch.stack([a, b]).sum()"),
        ("result.data[i] = f(x)", "result[i] = f(x)"),
        ("values = h.detach().numpy()", None),  # the array goes on to elsewhere
        ("rows.append(first(row).tolist())", None),
        ("layer.weight.data = made", None),
        ("with torch.no_grad():", None),
        ("y = f(x)", None),
    ],
)
def test_a_line_is_mended_as_code_that_runs(line, mended):
    assert without_cut(line) == mended
