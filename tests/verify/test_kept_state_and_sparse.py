"""`verify` of what keeps state from call to call, of sparse inputs, and of estimators written with `detach()`."""

from __future__ import annotations

import pytest

from tautograd import verify


def _doubles(torch, values):
    return torch.tensor(values, dtype=torch.float64, requires_grad=True)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("detached", [True, False])
def test_a_cell_that_keeps_its_hidden_state(torch, dtype, detached):
    dtype = getattr(torch, dtype)

    class Cell(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = None
            self.inner = torch.nn.Linear(2, 2, dtype=dtype)

        def forward(self, x):
            before = 0.5 if self.hidden is None else self.hidden
            self.hidden = (self.inner(x) + before).tanh()
            out = self.hidden
            if detached:
                self.hidden = self.hidden.detach()
            return out

    cell = Cell()
    report = verify(cell, torch.tensor([1.0, 2.0], dtype=dtype), confirm=False)
    assert report.verdict == "correct"
    assert any("keeps state from call to call" in note for note in report.notes)
    assert cell.hidden is None


def test_hidden_state_that_is_written_in_place_and_a_wrong_gradient(torch):
    class Cell(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.hidden = torch.zeros(2, dtype=torch.float64)

        def forward(self, x):
            out = (x + self.hidden).tanh() * x.detach()
            self.hidden.copy_(out.detach())
            return out

    cell = Cell()
    report = verify(cell, _doubles(torch, [1.0, 2.0]), confirm=False)
    assert (report.verdict, report.cuts[0].how) == ("cut", "detach()")
    assert not cell.hidden.any()


def test_a_list_in_a_closure(torch):
    seen = []

    def growing(x):
        seen.append(1)
        return x.sin() * len(seen)

    assert verify(growing, _doubles(torch, [1.0, 2.0]), confirm=False).verdict == "correct"
    assert not seen


MATRIX = [[0.0, 1.0], [2.0, 0.0]]
PROGRAMS = {
    "product": lambda torch, s, x: torch.sparse.mm(s, x),
    "dense": lambda torch, s, x: s.to_dense().sin() @ x,
    "scaled": lambda torch, s, x: (s * 2).to_dense() @ x,
    "a sparse result": lambda torch, s, x: s * 3,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_sparse_inputs_are_verified_by_their_values(torch, name):
    sparse = _doubles(torch, MATRIX).detach().to_sparse().requires_grad_()
    x = _doubles(torch, [[1.0], [2.0]])
    report = verify(lambda s, x: PROGRAMS[name](torch, s, x), (sparse, x), confirm=False)
    assert report.verdict == "correct"
    assert report.subject.leaves[0].reals == 2


@pytest.mark.filterwarnings("ignore:Sparse")
def test_compressed_rows(torch):
    sparse = _doubles(torch, MATRIX).detach().to_sparse_csr().requires_grad_()
    report = verify(lambda s, x: s @ x, (sparse, _doubles(torch, [[1.0], [2.0]])), confirm=False)
    assert report.verdict == "correct"


def test_a_wrong_gradient_by_a_sparse_input_is_located(torch):
    class Product(torch.autograd.Function):
        @staticmethod
        def forward(ctx, s, x):
            ctx.save_for_backward(s, x)
            return s.to_dense() @ x

        @staticmethod
        def backward(ctx, g):
            s, x = ctx.saved_tensors
            return 2 * (g @ x.T) * (s.to_dense() != 0), s.to_dense().T @ g

    sparse = _doubles(torch, MATRIX).detach().to_sparse().requires_grad_()
    x = _doubles(torch, [[1.0], [2.0]])
    report = verify(lambda s, x: Product.apply(s, x) * 1, (sparse, x), confirm=False)
    assert (report.verdict, report.suspects[0].operation) == ("wrong", "Product")


def test_a_module_of_a_sparse_input_and_sparse_gradients(torch):
    class Layer(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.ones(2, 1, dtype=torch.float64))

        def forward(self, a):
            return torch.sparse.mm(a, self.weight).tanh()

    sparse = _doubles(torch, MATRIX).detach().to_sparse()
    assert verify(Layer(), sparse, confirm=False).verdict == "correct"
    table = torch.nn.Embedding(5, 3, sparse=True, dtype=torch.float64)
    assert verify(table, torch.tensor([1, 2, 1])).verdict == "correct"


def test_straight_through_written_with_detach(torch):
    def rounded(x):
        y = x + (x.round() - x).detach()  # intended: straight-through
        return y * x

    def forgotten(x):
        y = x + (x.round() - x).detach()  # intended: straight-through
        return y * x.detach()

    x = _doubles(torch, [0.3, 1.7])
    report = verify(rounded, x, confirm=False)
    assert report.verdict == "correct"
    assert any("the gradient that is meant" in note for note in report.notes)
    assert verify(forgotten, x, confirm=False).verdict == "cut"
