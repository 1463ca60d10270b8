"""Views: what they look like, what they share, and which calls PyTorch refuses.

Every expression runs on both engines, on bases of several layouts, with and without a gradient
wanted; `both_engines` says what is compared.
"""

from __future__ import annotations

from typing import Any

import pytest

from .both_engines import agree, attempt

# --- one view operation -------------------------------------------------------------------------

VIEWS = """
x.view(6, 4) ; x.view(-1) ; x.view(2, -1, 2) ; x.view((24,)) ; x.view(torch.Size([4, 6]))
x.view(size=(3, 8)) ; x.view(1, 2, 1, 3, 4, 1) ; x.view_as(torch.ones(12, 2)) ; x.reshape(6, 4)
x.reshape(-1) ; x.reshape((4, -1)) ; torch.reshape(x, (3, 8)) ; x.reshape(shape=(24,))
x.reshape_as(torch.ones(8, 3)) ; x.flatten() ; x.flatten(1) ; x.flatten(0, 1) ; x.flatten(1, 1)
torch.flatten(x, start_dim=1, end_dim=-1) ; x.unflatten(2, (2, 2)) ; x.unflatten(-1, (-1, 2))
torch.unflatten(x, 0, (1, 2)) ; x.ravel() ; torch.ravel(x) ; x.transpose(0, 2)
x.transpose(-1, -2) ; x.swapaxes(0, 1) ; x.swapdims(1, 2) ; torch.swapaxes(x, 0, 2) ; x[0].t()
x[0, 0].t() ; x[0].T ; x.mT ; x.mH ; x[1].H ; x.adjoint() ; x.permute(2, 0, 1)
x.permute((0, -1, 1)) ; x.permute(0, 1, 2) ; torch.permute(x, (1, 2, 0)) ; x.movedim(0, 2)
x.movedim((0, 1), (2, 0)) ; x.moveaxis(-1, 0) ; x.unsqueeze(0) ; x.unsqueeze(-1) ; x.unsqueeze(2)
x.squeeze() ; x.unsqueeze(1).squeeze(1) ; x.unsqueeze(1).squeeze() ; x.unsqueeze(1).squeeze(0)
x[:1, :, :1].squeeze((0, 2)) ; x[:1, :, :1].squeeze(dim=(0, 1)) ; x[:1, :, :1].squeeze([2])
x[:1].squeeze(-3) ; x.squeeze(()) ; x.expand(5, 2, 3, 4) ; x.expand(-1, -1, -1)
x[:, :1].expand(2, 7, 4) ; x[:1].expand(5, -1, -1) ; x.expand_as(torch.ones(2, 2, 3, 4))
x.broadcast_to((2, 2, 3, 4)) ; torch.broadcast_to(x, (1, 2, 3, 4)) ; x.expand((1, 2, 3, 4))
x.expand(size=(2, 3, 4)) ; x[0, 0, 0].expand(3) ; x[0, 0, 0].expand(2, 2) ; x.narrow(1, 1, 2)
x.narrow(-1, -2, 1) ; x.narrow(0, 1, 0) ; torch.narrow(x, 2, torch.tensor(1), 2) ; x.select(0, 1)
x.select(-1, -1) ; torch.select(x, 1, 0) ; x[1] ; x[-1, 2] ; x[..., 1] ; x[:, 1:] ; x[::2]
x[:, ::2, 1::2] ; x[None] ; x[:, None, 1] ; x[...] ; x[1, :, 3] ; x[True] ; x[:, :, -3:-1]
x.diagonal() ; x.diagonal(1, 1, 2) ; x.diagonal(-1, -1, 0) ; x.diagonal(offset=0, dim1=0, dim2=2)
torch.diagonal(x, 7, 1, 2) ; x.unfold(1, 2, 1) ; x.unfold(-1, 3, 1) ; x.unfold(2, 2, 2)
x.unfold(0, 0, 1) ; x.as_strided((2, 2), (1, 2)) ; x.as_strided((3,), (2,), 5)
torch.as_strided(x, (2, 3), (0, 1)) ; x.as_strided((), ()) ; x[1:].as_strided((2, 2), (2, 1))
x[1:].as_strided((2,), (1,), 0) ; x.unbind() ; x.unbind(1) ; torch.unbind(x, -1) ; x.split(1)
x.split(2, 1) ; x.split([1, 3], -1) ; torch.split(x, 3, dim=2) ; x.split_with_sizes((1, 0, 2), 1)
x.chunk(2) ; x.chunk(3, 2) ; x.chunk(9, 1) ; x.tensor_split(2, 2) ; x.tensor_split((1, 2), dim=1)
x.tensor_split(5, 2) ; x.hsplit(3) ; x.vsplit(2) ; x.tensor_split(torch.tensor([1, 3]), 2)
x.tensor_split(torch.tensor(2), 0) ; x.tensor_split((3, 1), 2) ; x.dsplit((1, 3))
torch.hsplit(x, (1,)) ; x[0, 0].hsplit(2) ; torch.unsafe_chunk(x, 2, 2)
torch.unsafe_split(x, 3, 2) ; x.unsafe_split_with_sizes((1, 2), 1) ; x.unsafe_chunk(2)
torch.atleast_1d(x[0, 0, 0]) ; torch.atleast_2d(x[0, 0]) ; torch.atleast_3d(x[0])
torch.atleast_3d(x) ; torch.atleast_2d(x[0, 0, 0], x) ; torch.atleast_1d([x, x[0]])
torch.broadcast_tensors(x, x[0, :1]) ; torch.meshgrid(x[0, 0], x[1, :, 0], indexing="ij")
torch.meshgrid(x[0, 0], x[0, 1], indexing="xy") ; x.detach() ; x.detach().view(-1)
x.view(-1).detach() ; x.contiguous() ; x.transpose(0, 1).contiguous() ; x.data
x.view(torch.int32) ; x.view(torch.float32) ; x.view(torch.uint8) ; x.view(dtype=torch.int16)
x.view(torch.float64) ; x.view(-1).view(torch.complex64) ; x.real ; x.resolve_conj() ; x.conj()
torch.view_as_complex(x.view(12, 2)) ; x.positive() ; x.clone() ; x.clone().view(-1)[2:]
x.sum_to_size(2, 1, 4) ; x.view(24)[3:].view(3, 7) ; x.transpose(1, 2).flatten(0, 1)
x.transpose(0, 1).reshape(3, 8) ; x.transpose(0, 1).reshape(3, 2, 2, 2) ; x.mT.reshape(-1)
x.transpose(0, 2).view(4, 3, 2, 1) ; x.permute(2, 0, 1).view(4, 6) ; x[:, ::2].view(2, 2, 2, 2)
x.flip(0) ; x.roll(1) ; x.rot90() ; x.fliplr() ; x.flipud() ; x.repeat(1, 2, 1) ; x.tile(2)
x.tile((2, 1)) ; x.repeat_interleave(2) ; x.repeat_interleave(2, 1)
x.repeat_interleave(torch.tensor([1, 0, 2]), dim=1) ; torch.tile(x, (2, 1, 1, 1))
torch.repeat_interleave(torch.tensor([2, 0, 1])) ; torch.rot90(x, -1, (1, 2))
torch.cat([x, x], 1) ; torch.stack([x, x], -1) ; torch.hstack([x, x]) ; torch.vstack([x[0], x[1]])
torch.dstack([x[0], x[1]]) ; torch.column_stack([x[0, 0], x[1, 1]])
torch.row_stack([x[0, 0], x[1, 1]]) ; torch.concat([x, x])
torch.concatenate([x[0], x[1]], axis=1) ; torch.block_diag(x[0], x[1], x[0, 0]) ; torch.diag(x[0])
torch.diag(x[0, 0], 1) ; x.diag_embed() ; torch.diagflat(x[:, 0]) ; x.tril() ; x.triu(1)
torch.cartesian_prod(x[0, 0], x[1, 0]) ; torch.combinations(x[0, 0])
torch.vander(x[0, 0].detach()) ; torch.combinations(x[0, 0], 3, True)
torch.vander(x[0, 0].detach(), 2, increasing=True) ; x.trace
x.slice_scatter(torch.zeros(2, 1, 4), 1, 1, 2).clone() ; x.select_scatter(x[:, 1], 1, 0).clone()
x.diagonal_scatter(torch.zeros(4, 2), 0, 0, 1).clone() ; x.narrow_copy(1, 0, 2)
torch.narrow_copy(x, 2, 1, 2)
"""
EXPRESSIONS = [e.strip() for line in VIEWS.strip().splitlines() for e in line.split(" ; ")]

BASES = {
    "leaf": "base",
    "computed": "base * 2",
    "transposed": "(base * 2).reshape(4, 3, 2).permute(2, 1, 0)",
    "offset": "torch.cat([base, base])[2:]",
}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_view_looks_as_in_pytorch(expression: str, base: str) -> None:
    for grad in (True, False):

        def program(torch: Any, grad: bool = grad) -> Any:
            leaf = torch.arange(24.0).reshape(2, 3, 4).clone().requires_grad_(grad)
            x = eval(BASES[base], {"torch": torch, "base": leaf})
            result = eval(expression, {"torch": torch, "x": x})
            parts = result if isinstance(result, (tuple, list)) else (result,)
            shared = [
                (
                    p is x,
                    p._base is x,
                    p._base is not None and p._base is x._base,
                    p.untyped_storage().data_ptr() == x.untyped_storage().data_ptr(),
                )
                for p in parts
                if isinstance(p, type(x))
            ]
            return [result if parts is result or isinstance(result, type(x)) else None, shared]

        agree(program)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_gradients_flow_through_a_view(expression: str) -> None:
    def program(torch: Any) -> Any:
        leaf = torch.arange(24.0).reshape(2, 3, 4).clone().requires_grad_()
        x = leaf * 2
        result = eval(expression, {"torch": torch, "x": x})
        parts = result if isinstance(result, (tuple, list)) else (result,)
        total = 0
        for i, part in enumerate(parts):
            if isinstance(part, type(x)) and part.requires_grad and not part.is_complex():
                weight = torch.arange(1.0, part.numel() + 1).reshape(part.shape) + i
                total = total + (part * weight).sum()
        if not isinstance(total, type(x)):
            return None
        return torch.autograd.grad(total, leaf)

    agree(program)


# --- calls that are refused ---------------------------------------------------------------------

REFUSED = """
x.view(2, 4) ; x.view(-1, -1) ; x.view(-2, 3) ; x.view(5, -1) ; x.t().view(6) ; x.t().view(-1)
x.view() ; x.view("a") ; x.view(2.0, 3) ; x.view(2, 3.0) ; x.reshape(2, 4) ; x.reshape(-1, -1)
x.reshape(4, -1) ; torch.reshape(x, 6.5) ; torch.empty(0, 2).view(-1, 0)
torch.empty(0).reshape(-1, 0) ; x.view_as(3) ; x.flatten(1, 0) ; x.flatten(5) ; x.flatten(0, -4)
x.unflatten(0, (2, 2)) ; x.unflatten(5, (1,)) ; x.unflatten(0, ()) ; x.transpose(0, 2)
x[None].t() ; torch.ones(2).mT ; torch.ones(2).mH ; torch.ones(2, 2, 2).H ; torch.ones(2).H
torch.ones(2).adjoint() ; x.permute(0) ; x.permute(0, 0) ; x.permute(0, 2) ; x.permute(0, 1, 2)
x.movedim(0, 5) ; x.movedim((0, 1), (0,)) ; x.movedim((0, 0), (0, 1)) ; x.movedim((0, 1), (0, 0))
x.squeeze(2) ; x.squeeze((0, 0)) ; x.squeeze("a") ; x.unsqueeze(3) ; x.unsqueeze(-4) ; x.expand(3)
x.expand(2, 4) ; x.expand(-1, 2, 3) ; x.expand(2, -2) ; x.expand(1, 2, 4)
x.expand_as(torch.ones(3)) ; torch.broadcast_tensors(x, torch.ones(4))
torch.broadcast_to(x, (2,)) ; torch.broadcast_shapes((2, 3), (4,)) ; x.repeat(2) ; x.repeat(-1, 2)
x.repeat() ; x.repeat_interleave(-1) ; x.repeat_interleave(torch.tensor([1, 2]), 1)
x.repeat_interleave(torch.tensor([[1]])) ; x.repeat_interleave(torch.tensor([1.0]))
x.repeat_interleave("a") ; torch.repeat_interleave(torch.tensor([-1])) ; torch.cat([])
torch.cat([x, torch.ones(2)]) ; torch.cat([x, torch.ones(2, 4)]) ; torch.cat([torch.tensor(1.0)])
torch.cat([x, x], 2) ; torch.cat(x) ; torch.cat([x, 3]) ; torch.cat(3) ; torch.stack([])
torch.stack([x, x[0]]) ; torch.stack([x], 4) ; torch.hstack([]) ; torch.vstack([])
torch.dstack([]) ; torch.column_stack([]) ; torch.hstack([x, x[0]]) ; torch.block_diag(x[None])
torch.block_diag(3) ; x.split(-1) ; x.split(0) ; x.split([1, 2, 3]) ; x.split(1, 2)
x.split([-1, 3]) ; x.split("a") ; torch.tensor(1.0).split(1) ; x.split_with_sizes([1]) ; x.chunk(0)
x.chunk(2, 5) ; torch.tensor(1.0).chunk(1) ; x.tensor_split(0) ; x.tensor_split("a")
x.tensor_split() ; torch.tensor(1.0).tensor_split(1) ; x.tensor_split(torch.tensor([1.0]))
x.hsplit(2) ; x.vsplit(5) ; x.dsplit(1) ; torch.tensor(1.0).hsplit(1) ; torch.ones(2).vsplit(1)
torch.tensor(1.0).unbind() ; x.unbind(2) ; x.flip(0, 0) ; x.flip(3) ; torch.flip(x, 0)
torch.ones(2).fliplr() ; torch.tensor(1.0).flipud() ; x.roll((1, 2), 0) ; x.roll((), ())
x.roll(1, 5) ; torch.ones(2).rot90() ; x.rot90(1, (0,)) ; x.rot90(1, (0, 0)) ; x.narrow(0, 0, 3)
x.narrow(0, 3, 1) ; x.narrow(0, -3, 1) ; x.narrow(0, 0, -1) ; torch.tensor(1.0).narrow(0, 0, 1)
x.narrow(3, 0, 1) ; x.narrow(0, torch.tensor(1.0), 1) ; x.select(0, 2) ; x.select(2, 0)
x.select(0, -3) ; torch.tensor(1.0).select(0, 0) ; x[2] ; x[0, 0, 0] ; x[:, 3] ; x["a"] ; x[1.0]
x[::-1] ; x.slice_scatter(torch.ones(2), 0) ; x.select_scatter(torch.ones(2), 0, 0)
x.select_scatter(x[0], 0, 5) ; x.diagonal_scatter(torch.ones(3)) ; x.diagonal(0, 0, 0)
x.diagonal(0, 0, 2) ; torch.ones(2).diagonal() ; x.diag_embed(0, 0, 0)
torch.diag(torch.ones(1, 1, 1)) ; torch.diag(torch.tensor(1.0)) ; torch.ones(2).tril()
torch.tensor(1.0).triu() ; torch.tril_indices(-1, 2) ; torch.triu_indices(2, -1)
x.unfold(0, 3, 1) ; x.unfold(0, 1, 0) ; x.unfold(0, -1, 1) ; x.unfold(2, 1, 1)
x.as_strided((2,), (1, 1)) ; x.as_strided((9,), (1,)) ; x.as_strided((2,), (-1,))
x.as_strided((-2,), (1,)) ; x.as_strided((2,), (1,), -1) ; x.as_strided((2,), (1,), 9)
torch.meshgrid(x[0], indexing="no") ; torch.meshgrid(indexing="ij")
torch.meshgrid(x[0], x[0].double(), indexing="ij") ; torch.cartesian_prod(x)
torch.combinations(x) ; torch.combinations(x[0], -1) ; torch.vander(x) ; torch.vander(x[0], -1)
torch.atleast_1d(3) ; torch.trace(torch.ones(2)) ; x.view(torch.complex64)
x.t().view(torch.float64) ; torch.tensor(1.0).view(torch.uint8) ; x.view(torch.float64)
torch.view_as_real(x) ; torch.view_as_complex(x) ; x.imag
torch.view_as_complex(torch.ones(2, 2).t()) ; torch.view_as_complex(torch.tensor(1.0))
x.contiguous(memory_format=torch.channels_last) ; x.contiguous(memory_format=torch.preserve_format)
x.clone(memory_format=3) ; x.size(2) ; x.stride(-3) ; torch.tensor(1.0).size(0) ; x.to()
x.type("torch.NoTensor") ; x.to(torch.float32, 1, 2, 3) ; x.type_as(3) ; x.resize_(-1)
torch.ones(2, requires_grad=True).resize_(3) ; x.set_(torch.ones(2).double())
"""
MISUSES = [e.strip() for line in REFUSED.strip().splitlines() for e in line.split(" ; ")]


@pytest.mark.parametrize("expression", MISUSES)
def test_a_misuse_is_refused_as_in_pytorch(expression: str) -> None:
    def program(torch: Any) -> Any:
        x = torch.arange(6.0).reshape(2, 3)
        return [attempt(lambda: eval(expression, {"torch": torch, "x": x}))]

    agree(program)
