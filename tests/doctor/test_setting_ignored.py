"""TG320 judges programs of one file: settings that nothing reads are told, and what another file may read is not."""

from __future__ import annotations

import textwrap

import pytest

from tests.both import ENGINES

from .test_examples import run

LOOP = """
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(8, 3), torch.randn(8, 1)
for _ in range(6):
    optimizer.zero_grad()
    loss_of(model(noisy(x)), y).backward()
    optimizer.step()
"""
PENALTY = """
class Penalised:
    def __init__(self, share=1.0):
        self.share = share
    def __call__(self, out, y):
        return (out - y).square().mean() + {} * out.square().mean()
loss_of, noisy = Penalised(share=0.3), lambda x: x
"""
NOISE = """
class Noisy:
    def __init__(self, kind, size):
        self.kind, self.size = kind, size
    def __call__(self, x):
        return x + {} * self.kind(x)
loss_of, noisy = torch.nn.functional.mse_loss, Noisy(torch.randn_like, 0.3)
"""


def program(part, read):
    return textwrap.dedent(part.format(read)) + LOOP


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("part", "line"), [(PENALTY, 4), (NOISE, 4)])
def test_a_setting_that_nothing_reads_is_told(part, line, engine, tmp_path):
    found = run(program(part, "0.1"), tmp_path / "train.py", engine)
    assert [(f.code, f.site.line) for f in found.findings] == [("TG320", line)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    ("part", "read"),
    [
        (PENALTY, "self.share"),
        (NOISE, "self.size"),
        (PENALTY, "getattr(self, 'sh' + 'are')"),
        (PENALTY, "(lambda *them: them[0][0])([v for v in vars(self).values()])"),
    ],
)
def test_one_that_is_read_is_not(part, read, engine, tmp_path):
    assert run(program(part, read), tmp_path / "train.py", engine).ok


def test_another_file_may_read_it(tmp_path, monkeypatch):
    (tmp_path / "weight_of_penalties.py").write_text("def weight(of):\n    return of.share\n")
    monkeypatch.syspath_prepend(tmp_path)
    source = "from weight_of_penalties import weight\n" + program(PENALTY, "weight(self)")
    assert run(source, tmp_path / "train.py", "tautograd").ok


def test_a_number_is_compared_with_numbers_alone(tmp_path):
    """What the attribute holds by then may be anything, a tensor that has no truth value among them."""
    source = program(PENALTY, "0.1").replace("loss_of, noisy =", "other, noisy =", 1)
    source = source.replace("model =", "other.share = torch.ones(2)\nloss_of = other\nmodel =", 1)
    assert run(source, tmp_path / "train.py", "tautograd").ok
