"""Expressions on sparse tensors, and the tensors they are made of, for both engines."""

from __future__ import annotations

from typing import Any


def names(torch: Any) -> dict[str, Any]:
    """What the expressions may use."""
    places = torch.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])
    elements = torch.tensor([3.0, 4.0, 5.0, 1.0])
    tidy = torch.tensor([[0, 1, 1], [2, 0, 2]])

    def S(**options: Any) -> Any:
        return torch.sparse_coo_tensor(places, elements.clone(), (2, 3), **options)

    def C(**options: Any) -> Any:
        held = torch.tensor([3.0, 4.0, 5.0])
        return torch.sparse_coo_tensor(tidy, held, (2, 3), is_coalesced=True, **options)

    def H(**options: Any) -> Any:
        held = torch.arange(6.0).reshape(2, 3) + 1
        return torch.sparse_coo_tensor(torch.tensor([[0, 2]]), held, (3, 3), **options)

    def R(**options: Any) -> Any:
        return torch.sparse_csr_tensor([0, 2, 3], [0, 2, 1], [1.0, 2.0, 3.0], (2, 3), **options)

    return {
        "torch": torch, "S": S, "C": C, "H": H, "R": R, "places": places, "elements": elements,
        "D": torch.arange(12.0).reshape(3, 4), "E": torch.arange(6.0).reshape(2, 3),
    }  # fmt: skip


# What each gives is printed, on both engines.
PRINTED = """
torch.eye(2).to_sparse_csr().transpose(0, 0)
torch.eye(2).to_sparse_csc() @ torch.eye(2).to_sparse_csc()
torch.zeros_like(torch.eye(2), layout=torch.sparse_csr)
torch.zeros_like(torch.eye(2).to_sparse(), layout=torch.strided)
torch.zeros(1, out=torch.eye(2).to_sparse())
torch.eye(2).to_sparse().new_empty([3])
torch.sparse_coo_tensor(3)
torch.sparse.addmm(torch.ones(2, 2).short(), torch.ones(2, 2).short().to_sparse(), torch.ones(2, 2).short(), beta=0.5)
E.to_sparse(torch.tensor(1))
E.to_sparse(dense_dim=1)
E.to_sparse(dense_dim=0)
E.to_sparse(layout=torch.strided)
E.to_sparse(1).to_sparse(1)
torch.sparse_coo_tensor(places, elements, (torch.tensor(2), 3), check_invariants=True)
S()
C()
H()
R()
S(requires_grad=True)
S(dtype=torch.float64)
torch.sparse_coo_tensor(places, elements.clone().requires_grad_(), (2, 3))
torch.sparse_coo_tensor((2, 3))
torch.sparse_coo_tensor([[0, 1], [1, 0]], [1, 2])
torch.sparse_coo_tensor(torch.tensor([[0, 2]]), torch.ones(2, 3))
torch.sparse_coo_tensor(torch.zeros(2, 0, dtype=torch.long), torch.zeros(0), (2, 3))
torch.sparse.FloatTensor(places, elements, torch.Size([2, 3]))
torch.sparse.FloatTensor(2, 3)
torch.sparse_csc_tensor([0, 1, 1, 3], [0, 0, 1], [1.0, 2.0, 3.0], (2, 3))
torch.sparse_compressed_tensor([0, 1], [0], [1.0], (1, 1), layout=torch.sparse_csr)
torch.zeros(2, 3, layout=torch.sparse_coo)
(S()._indices(), S()._values(), S()._nnz(), S().is_coalesced(), S().sparse_dim(), S().dense_dim())
(S().layout, S().is_sparse, S().type(), S().shape, S().numel(), S().element_size(), len(S()))
(H().sparse_dim(), H().dense_dim(), R().layout, R().is_sparse, R().is_sparse_csr)
(S().stride(), S().is_contiguous(), torch.is_tensor(S()), S().is_same_size(S()))
(S().coalesce(), S().coalesce().indices(), S().coalesce().values(), S().coalesce().is_coalesced())
(S().to_dense(), H().to_dense(), R().to_dense())
(E.to_sparse(), E.to_sparse(1), E.to_sparse_csr(), E.to_sparse_csc(), E.to_sparse(layout=torch.sparse_csr))
(S().to_sparse_csr(), S().to_sparse_csc(), R().to_sparse(), R().to_sparse_csc(), S().to_sparse())
(R().crow_indices(), R().col_indices(), R().values(), R().t(), R()._nnz())
(S() + S(), S() + C(), C() - C(), C() + torch.eye(3)[:2].to_sparse(), R() + R())
(E + S(), E - S(), S() * 2, 2 * C(), C() / 2, C() * S(), C() * E, -C(), R() * 2)
((-S()).abs(), S().sqrt(), torch.sin(C()), (-S()).relu(), C() ** 2, S().isnan(), S().neg())
(S().t(), C().transpose(0, 1), C().T, H().transpose(0, 0))
(torch.mm(S(), D), torch.spmm(S(), D), S() @ D, torch.smm(S(), D), torch.sparse.mm(S(), D))
(torch.sparse.mm(C(), C().t()), torch.ones(2, 2) @ S(), torch.mv(S(), torch.ones(3)), S() @ torch.ones(3))
(R() @ D, torch.mm(R(), D), torch.sparse.mm(R(), D), R() @ torch.ones(3))
(torch.sparse.mm(R(), D, "mean"), torch.sparse.mm(R(), D, "amax"), torch.sparse.mm(R(), D, "amin"))
(torch.addmm(torch.ones(2, 4), S(), D), torch.sparse.addmm(torch.ones(2, 4), S(), D, beta=0.5, alpha=2))
(torch.hspmm(C(), D), torch.sspaddmm(torch.sparse_coo_tensor([[0], [1]], [1.0], (2, 4)), C(), D))
torch.bmm(torch.stack([C(), C()]), torch.ones(2, 3, 2))
(S().sum(), torch.sparse.sum(S()), torch.sparse.sum(S(), 0), torch.sparse.sum(C(), dim=[1]), S().sum(0))
(torch.sparse.sum(H(), 1), torch.sparse.sum(H(), 0), torch.sparse.sum(S(), dtype=torch.float64))
(torch.sparse.softmax(C(), 1), torch.sparse.softmax(C(), 0), torch.sparse.log_softmax(S(), 1))
(torch.sparse.softmax(H(), 1), torch.sparse.softmax(C(), -1, dtype=torch.float64))
(S().norm(), S().any(), E.sparse_mask(C()), S().clone(), S().detach(), S().double(), S().half())
(S()[0], C()[1, 2], C().index_select(1, torch.tensor([2, 0])), C().select(1, 2), C().unsqueeze(0))
(torch.cat([C(), C()]), torch.cat([C(), S()], 1), torch.stack([C(), C()]), torch.cat([H(), H()], 1))
(S().zero_(), S().mul_(3), S().add_(S()), E.clone().add_(S(), alpha=2), torch.zeros_like(S()))
(torch.zeros(2, 3).to_sparse().copy_(S()), S().sparse_resize_((4, 4), 2, 0))
S().sparse_resize_and_clear_((4, 4), 1, 1)
(isinstance(S(), torch.sparse.FloatTensor), isinstance(E, torch.sparse.FloatTensor))
torch.nn.Parameter(C())
torch.sparse_coo_tensor(torch.arange(2000).reshape(2, 1000), torch.arange(1000.0))[:, 0].shape
torch.sparse.check_sparse_tensor_invariants.is_enabled()
torch.trapezoid(torch.ones(0).to_sparse())
torch.trapezoid(torch.ones(2, 0).to_sparse(), dx=2)
"""

# Each must raise the same class on both, with the phrase.
REFUSED = {
    "E.to_sparse(3)": "sparse_dim argument must be in [0,2] range, but 3 is given",
    "E.to_sparse(dense_dim=-1)": "dense_dim argument must be in [0,2] range, but -1 is given",
    "E.to_sparse(1.5)": "to_sparse() received an invalid combination of arguments - got (float)",
    "E.to_sparse(blocksize=(1, 1))": "with blocksize argument given is not supported",
    "E.to_sparse_csr(1)": "dense_dim argument must be in [0,0] range, but 1 is given",
    "E.to_sparse(1).to_sparse(2)": "conversion from Sparse to Sparse with sparse_dim argument !=",
    "torch.sparse_coo_tensor(places, elements, 3.5)": "sparse_coo_tensor() received an invalid combination",
    "torch.sparse_csr_tensor([0, 1, 2], [0], [1.0], check_invariants=True)": "`crow_indices[..., -1] == nnz`",
    "torch.sparse_csc_tensor([0, 1, 1], [2], [1.0], (2, 2), check_invariants=True)": "`0 <= row_indices < nrows`",
    "torch.smm(1, 2)": "smm(): argument 'input' (position 1) must be Tensor, not int",
    "S().indices()": "Cannot get indices on an uncoalesced tensor",
    "S().values()": "Cannot get values on an uncoalesced tensor",
    "E.indices()": "indices expected sparse coordinate tensor layout but got Strided",
    "R().indices()": "indices expected sparse coordinate tensor layout but got SparseCsr",
    "S().crow_indices()": "crow_indices expected sparse row compressed tensor layout but got Sparse",
    "S() + E": "add(sparse, dense) is not supported. Use add(dense, sparse) instead.",
    "S() + 1": "add(sparse, dense) is not supported",
    "S().exp()": "Could not run 'aten::exp' with arguments from the 'SparseCPU' backend",
    "S() == S()": "with arguments from the 'SparseCPU' backend",
    "S().view(3, 2)": "Could not run 'aten::view'",
    "S().reshape(3, 2)": "reshape is not implemented for sparse tensors",
    "S()[0:1]": "Could not run 'aten::as_strided'",
    "S().numpy()": "can't convert Sparse layout tensor to numpy. Use Tensor.to_dense() first.",
    "S().tolist()": "Cannot access data pointer of Tensor that doesn't have storage",
    "S().storage()": "Cannot access storage of SparseTensorImpl",
    "bool(S())": "Boolean value of Tensor with more than one value is ambiguous",
    "torch.ones_like(S())": "Could not run 'aten::fill_.Scalar'",
    "torch.sparse_coo_tensor([[0, 1]], torch.ones(1))": "indices and values must have same nnz",
    "torch.sparse_coo_tensor([0, 1], torch.ones(1))": "indices must be sparse_dim x nnz, but got: [2]",
    "torch.sparse_coo_tensor([[-1]], torch.ones(1))": "found negative index -1 for dim 0",
    "torch.sparse_coo_tensor([[0]], torch.ones(1), (2, 3))": "'len(size) == sparse_dim + dense_dim'",
    "torch.sparse.mm(S(), torch.ones(2, 2))": "addmm: Argument #3 (dense): Expected dim 0 size 3, got 2",
    "torch.sparse_coo_tensor(places, elements, (2, 3), is_coalesced=True, check_invariants=True)": (
        "cannot set is_coalesced to true if indices correspond to uncoalesced COO tensor"
    ),
    "E.sparse_mask(C().t())": "sparse_mask(): operands have incompatible sizes",
    "torch.sparse_compressed_tensor([0, 1], [0], [1.0], (1, 1), layout=torch.strided)": (
        "sparse_compressed_tensor expected sparse compressed tensor layout but got"
    ),
}

# Functions of tensors that want gradients: the inputs, and the expression of `a`, `b`, `c`.
DIFFERENTIATED = {
    "sparse.mm": ("S(requires_grad=True), D.clone().requires_grad_()", "torch.sparse.mm(a, b)"),
    "sparse.mm csr": ("R(requires_grad=True), D.clone().requires_grad_()", "torch.sparse.mm(a, b)"),
    "sparse.mm of both": ("C(requires_grad=True), torch.eye(3).to_sparse().requires_grad_()",
                          "torch.sparse.mm(a, b).to_dense()"),
    "mm": ("S(requires_grad=True), D.clone().requires_grad_()", "torch.mm(a, b)"),
    "@": ("D.clone().requires_grad_(),", "S() @ a"),
    "dense @": ("torch.ones(2, 2, requires_grad=True),", "a @ S()"),
    "spmm": ("D.clone().requires_grad_(),", "torch.spmm(S(), a)"),
    "to_dense": ("S(requires_grad=True),", "a.to_dense()"),
    "to_dense hybrid": ("H(requires_grad=True),", "a.to_dense()"),
    "values": ("elements.clone().requires_grad_(),",
               "torch.sparse_coo_tensor(places, a, (2, 3)).to_dense()"),
    "values mm": ("elements.clone().requires_grad_(),",
                  "torch.sparse.mm(torch.sparse_coo_tensor(places, a, (2, 3)), D)"),
    "coalesce values": ("elements.clone().requires_grad_(),",
                        "torch.sparse_coo_tensor(places, a, (2, 3)).coalesce().values()"),
    "sum": ("S(requires_grad=True),", "torch.sparse.sum(a)"),
    "sum of a dimension": ("C(requires_grad=True),", "torch.sparse.sum(a, 0).to_dense()"),
    "softmax": ("C(requires_grad=True),", "torch.sparse.softmax(a, 1).to_dense()"),
    "log_softmax": ("C(requires_grad=True),", "torch.sparse.log_softmax(a, 0).to_dense()"),
    "add": ("S(requires_grad=True), S(requires_grad=True)", "(a + b).to_dense()"),
    "scaled": ("S(requires_grad=True),", "(a * 2).to_dense()"),
    "dense + sparse": ("E.clone().requires_grad_(),", "a + S()"),
    "to_sparse": ("E.clone().requires_grad_(),", "torch.sparse.mm(a.to_sparse(), D)"),
    "transposed": ("S(requires_grad=True),", "torch.sparse.mm(a.t(), torch.ones(2, 2))"),
    "addmm": ("torch.ones(2, 4, requires_grad=True), S(requires_grad=True), D.clone().requires_grad_()",
              "torch.sparse.addmm(a, b, c, beta=0.5, alpha=3)"),
    "sparse_mask": ("E.clone().requires_grad_(),", "a.sparse_mask(C()).to_dense()"),
}  # fmt: skip
