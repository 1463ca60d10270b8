"""What a tensor says of its memory: sizes, dtypes, layouts, storages; and casts between them."""

from __future__ import annotations

from typing import Any

import pytest

from .both_engines import agree, attempt


def expressions(block: str) -> list[str]:
    return [e.strip() for line in block.strip().splitlines() for e in line.split(" ; ")]


# --- sizes ----------------------------------------------------------------------------------------

SIZES = expressions("""
x.shape ; x.size() ; x.size(0) ; x.size(-1) ; x.size(dim=1) ; x.shape[1:] ; x.shape[0]
x.shape[-1] ; x.shape + (5,) ; x.shape + torch.Size([7]) ; x.shape * 2 ; 2 * x.shape
x.shape.numel() ; len(x.shape) ; x.shape == (2, 3, 4) ; (2, 3, 4) == x.shape
hash(x.shape) == hash((2, 3, 4)) ; tuple(x.shape) ; list(x.shape) ; x.shape[::2]
x.shape[:0].numel() ; torch.Size((1, 2)) ; torch.Size() ; torch.Size([3]) ; torch.Size(range(3))
isinstance(x.shape, tuple) ; str(x.shape) ; f"{x.shape}" ; x.shape.count(3) ; x.shape.index(4)
3 in x.shape ; torch.Size([True, 2]) ; torch.Size("ab") ; torch.Size([1.5])
torch.Size([torch.tensor(2), 3]) ; sorted(x.shape) ; torch.empty(x.shape).shape ; (1,) + x.shape
x.numel() ; torch.numel(x) ; x.nelement() ; x.dim() ; x.ndim ; x.ndimension() ; len(x) ; x.itemsize
x.element_size() ; x.nbytes ; x.stride() ; x.stride(0) ; x.stride(-1) ; x.mT.stride() ; x.mT.nbytes
x.storage_offset() ; x[1].storage_offset() ; x[1, 1:, 2].storage_offset() ; x.is_contiguous()
x.mT.is_contiguous() ; x[0].is_contiguous() ; x[:, 0].is_contiguous() ; x[:, :1].is_contiguous()
x[:0].is_contiguous() ; x[:0].stride() ; x[:, :, :0].stride() ; torch.empty(0, 3).stride()
torch.empty(2, 0, 3).mT.stride() ; torch.tensor(1.0).stride() ; torch.tensor(1.0).is_contiguous()
x.is_floating_point() ; torch.is_floating_point(x) ; x.is_complex() ; x.is_signed()
torch.is_complex(x) ; x.byte().is_signed() ; x.bool().is_signed() ; x.bool().is_floating_point()
(x * 1j).is_complex() ; x.is_same_size(x.mT) ; torch.is_same_size(x, x + 1) ; torch.is_tensor(x)
torch.is_tensor(3) ; x.is_conj() ; x.is_neg() ; x.resolve_neg() is x ; x.resolve_conj() is x
x.real is x ; x.conj() is x ; x.dtype ; x.long().dtype ; str(x.device) ; x.is_cpu ; x.is_cuda
x.get_device() ; str(x.layout) ; x.is_shared() ; x.is_pinned() ; x.dim_order() ; x.mT.dim_order()
x.is_leaf ; x.output_nr ; x.data_ptr() == x.view(-1).data_ptr() ; x[1].data_ptr() - x.data_ptr()
x.data_ptr() == x.clone().data_ptr() ; torch.empty(0).data_ptr() ; x.untyped_storage().nbytes()
x[1].untyped_storage().nbytes()
x.untyped_storage().data_ptr() == x[1].untyped_storage().data_ptr() ; len(x.untyped_storage())
x.untyped_storage().data_ptr() == x.detach().untyped_storage().data_ptr() ; x.untyped_storage()[3]
x.untyped_storage().size() ; str(x.untyped_storage().device)
torch.is_storage(x.untyped_storage()) ; x.byte().untyped_storage().tolist() ; x.is_set_to(x)
x.is_set_to(x.view(-1)) ; x.view(-1).is_set_to(x.view(24)) ; x.const_data_ptr() == x.data_ptr()
x._is_view() ; x[0]._is_view() ; x._base is None ; x[0]._base is x
torch.is_nonzero(torch.tensor([1])) ; torch.is_nonzero(torch.tensor(0.0)) ; torch.is_nonzero(x)
""")


@pytest.mark.parametrize("expression", SIZES)
def test_what_a_tensor_says(expression: str) -> None:
    def program(torch: Any) -> Any:
        x = torch.arange(24.0).reshape(2, 3, 4).clone()
        return [attempt(lambda: eval(expression, {"torch": torch, "x": x}))]

    agree(program)


# --- casts ----------------------------------------------------------------------------------------

CASTS = expressions("""
x.to(torch.float64) ; x.to(torch.float32) ; x.to(dtype=torch.int64) ; x.to("cpu")
x.to("cpu", torch.float16) ; x.to(torch.device("cpu")) ; x.to(x.double()) ; x.to(x)
x.to(other=x.double()) ; x.to(torch.bfloat16, copy=True) ; x.to(torch.float32, copy=True)
x.to(torch.float32, False, True) ; x.to(device="cpu", dtype=torch.bool) ; x.to(torch.complex64)
x.to("cpu", non_blocking=True) ; x.to(x, copy=True) ; x.to(float) ; x.to(int)
x.to(memory_format=torch.preserve_format) ; x.to(memory_format=torch.contiguous_format)
x.to(bool) ; x.mT.to(torch.float64) ; x[:, 1:].to(torch.float64)
x[:1].expand(3, 3, 4).to(torch.float64)
x.mT.to(torch.float64, memory_format=torch.contiguous_format) ; x.mT.to(torch.float32, copy=True)
x.float() ; x.double() ; x.half() ; x.bfloat16() ; x.int() ; x.long() ; x.short() ; x.char()
x.byte() ; x.bool() ; x.cfloat() ; x.cdouble() ; x.double().float() ; x.half().float()
(x - 30).byte() ; (x * 20).char() ; x.type() ; x.long().type() ; x.type(torch.float64)
x.type("torch.IntTensor") ; x.type("torch.BoolTensor") ; x.type(torch.float32)
x.type_as(x.long()) ; x.type_as(x.half()) ; x.cpu() ; x.bool().type() ; x.half().type()
(x * 1j).real ; (x * 1j).imag ; (x * 1j).cfloat() ; torch.view_as_real(x * 1j) ; (x + 0.7).long()
(-x - 0.7).int() ; torch.view_as_complex(x.view(12, 2)) ; torch.real(x * 1j) ; torch.imag(x * 1j)
x.to(torch.int8).to(torch.float32) ; x.to(torch.uint8).dtype
x.view(torch.int32).view(torch.float32) ; x.double().view(torch.int64)[0, 0]
x.half().view(torch.int16) ; x.bool().view(torch.uint8) ; (x * 1j).view(torch.float32)
x.view(torch.complex64) ; x.bfloat16().view(torch.int16) ; x.contiguous() is x ; x.mT.contiguous()
x.to(torch.float32) is x ; x.float() is x ; x.cpu() is x ; x.type(torch.float32) is x
x.double() is x ; x.mT.contiguous().is_contiguous() ; x.clone().is_contiguous()
x.to(device="cpu", copy=True) is x ; x.to(None) is x ; x.to(dtype=None) is x
x.to(device=None, dtype=torch.half)
""")


@pytest.mark.parametrize("expression", CASTS)
def test_casts(expression: str) -> None:
    def program(torch: Any) -> Any:
        leaf = torch.arange(24.0).reshape(2, 3, 4).clone().requires_grad_()
        x = leaf * 1
        y = eval(expression, {"torch": torch, "x": x})
        if not isinstance(y, type(x)) or not y.requires_grad or y.is_complex():
            return [y]
        return [y, [g.tolist() for g in torch.autograd.grad(y.double().sum(), leaf)]]

    agree(program)


# --- memory formats -------------------------------------------------------------------------------

FORMATS = expressions("""
x.contiguous(memory_format=torch.channels_last) ; x.to(memory_format=torch.channels_last)
x.permute(0, 3, 1, 2) ; x.clone(memory_format=torch.channels_last)
x.clone(memory_format=torch.contiguous_format)
x.contiguous(memory_format=torch.channels_last).contiguous()
x.is_contiguous(memory_format=torch.channels_last)
x.contiguous(memory_format=torch.channels_last).is_contiguous(memory_format=torch.channels_last)
x.contiguous(memory_format=torch.channels_last).is_contiguous()
x.to(memory_format=torch.channels_last).clone() ; x.to(memory_format=torch.channels_last) * 2
x.to(memory_format=torch.channels_last).double() ; x.to(memory_format=torch.channels_last).relu()
x.to(memory_format=torch.channels_last) + x ; x.to(memory_format=torch.channels_last)[0]
x.to(memory_format=torch.channels_last).flatten(1)
x.to(memory_format=torch.channels_last).view(2, 3, 4, 5)
x.to(memory_format=torch.channels_last).detach() ; x.double(memory_format=torch.channels_last)
x.float(memory_format=torch.channels_last)
x[:, :1].is_contiguous(memory_format=torch.channels_last)
x[:, :1].contiguous(memory_format=torch.channels_last)
x.unsqueeze(2).contiguous(memory_format=torch.channels_last_3d)
torch.empty(2, 3, 4, 5, memory_format=torch.channels_last).stride()
x.unsqueeze(2).is_contiguous(memory_format=torch.channels_last_3d) ; torch.channels_last
torch.strided ; torch.zeros_like(x.to(memory_format=torch.channels_last))
torch.ones_like(x, memory_format=torch.channels_last)
torch.cat([x.to(memory_format=torch.channels_last)] * 2, 1)
x[0].to(memory_format=torch.channels_last)
x.unsqueeze(2).to(memory_format=torch.channels_last_3d).stride()
x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2)
x.permute(0, 2, 3, 1).contiguous().permute(0, 3, 1, 2).stride()
x.to(memory_format=torch.channels_last).dim_order()
x.is_contiguous(memory_format=torch.channels_last_3d)
""")


@pytest.mark.parametrize("expression", FORMATS)
def test_memory_formats(expression: str) -> None:
    def program(torch: Any) -> Any:
        x = torch.arange(120.0).reshape(2, 3, 4, 5).clone()

        def run() -> Any:
            found = eval(expression, {"torch": torch, "x": x})
            return str(found) if isinstance(found, (torch.memory_format, torch.layout)) else found

        return [attempt(run)]

    agree(program)


# --- other memory ---------------------------------------------------------------------------------

MEMORY = expressions("""
x.resize_(2, 2) ; x.resize_(6) ; x.resize_((3, 2))
x.resize_(2, 3, memory_format=torch.contiguous_format) ; x[1:].resize_(2) ; x.t().resize_(3, 2)
x.resize_(0) ; x.resize_(1, 1, 2) ; x.resize_as_(torch.ones(2, 2))
torch.resize_as_(x, torch.ones(4)) ; x.set_(torch.ones(2)) ; x.set_(x[1:]) ; x.set_()
x.set_(x.view(-1)[2:]) ; x.set_(x.untyped_storage(), 1, (2, 2), (1, 2)) ; x.set_(x, 2, (2,), (2,))
x.fill_diagonal_(9) ; x.fill_diagonal_(9, wrap=True) ; torch.zeros(5, 2).fill_diagonal_(3, True)
torch.zeros(5, 2).fill_diagonal_(3) ; torch.zeros(2, 2, 2).fill_diagonal_(1)
torch.zeros(2, 3, 2).fill_diagonal_(1) ; torch.zeros(3).fill_diagonal_(1)
torch.tril_indices(3, 4) ; torch.triu_indices(3, 3, 1)
torch.tril_indices(2, 3, -1, dtype=torch.int32) ; torch.triu_indices(0, 3)
torch.broadcast_shapes((2, 1), (3,)) ; torch.broadcast_shapes((), (4,), (1, 1))
torch.broadcast_shapes(3, (2, 1)) ; torch.combinations(torch.arange(4), 2)
torch.combinations(torch.arange(2), 0) ; torch.cartesian_prod(torch.arange(2), torch.arange(3))
torch.vander(torch.arange(4)) ; torch.block_diag() ; torch.cat([x, x.long()])
torch.cat([x.int(), x.bool()], 1) ; torch.stack([x.half(), x]) ; torch.cat([x, torch.ones(0)])
torch.cat((x, x), dim=-1, out=torch.empty(0)) ; torch.stack((x, x), out=torch.empty(2, 2, 3))
torch.cat([x.int(), x.long()]) ; torch.hstack((torch.tensor(1.0), torch.tensor(2.0)))
torch.vstack([torch.arange(2)]) ; torch.dstack([torch.arange(2)] * 2) ; torch.rot90(x, 0)
torch.rot90(x, 5) ; x.roll(-1, 0) ; x.roll((1, 1), (0, 1)) ; x.flip([0, 1]) ; x.flip(-1) ; x.diag()
torch.diag(torch.arange(3), -1) ; torch.diagflat(torch.arange(4).view(2, 2), 1)
x.diagonal().diag() ; x.repeat(2, 0) ; x.repeat(1, 1, 2) ; x.unfold(1, 2, 1) ; x.tile(())
x.repeat_interleave(torch.tensor(2), 0) ; torch.swapaxes(x, 0, 1) ; x.apply_(lambda v: v + 1)
x.map_(x * 2, lambda a, b: a + b) ; x.new_tensor([1, 2])
""")


@pytest.mark.parametrize("expression", MEMORY)
def test_memory_and_rearrangements(expression: str) -> None:
    def program(torch: Any) -> Any:
        x = torch.arange(6.0).reshape(2, 3).clone()
        result = attempt(lambda: eval(expression, {"torch": torch, "x": x}))
        return [result, result is x, x.shape]

    agree(program)
