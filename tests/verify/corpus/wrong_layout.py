"""Gradients of the right shape with rows and columns, or times and heads, exchanged."""

from __future__ import annotations

from typing import Any

from .case import Check, draw, wrong


@wrong("transposed", "Linear")
def square_weight(torch: Any) -> Check:
    """The gradient of a square weight is the transpose of what it should be: no shape complains."""

    class Linear(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, w):
            ctx.save_for_backward(x, w)
            return x @ w.t()

        @staticmethod
        def backward(ctx, g):
            x, w = ctx.saved_tensors
            return g @ w, x.t() @ g

    def network(x, w1, w2):
        hidden = torch.tanh(x @ w1)
        return Linear.apply(hidden, w2)  # wrong: here

    return Check(network, draw(torch, 3, 4), draw(torch, 4, 4), draw(torch, 4, 4, seed=1))


@wrong("transposed", "Bilinear")
def bilinear_form(torch: Any) -> Check:
    """The outer product of a bilinear form is taken the wrong way round."""

    class Bilinear(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, a, y):
            ctx.save_for_backward(x, a, y)
            return torch.einsum("bi,ij,bj->b", x, a, y)

        @staticmethod
        def backward(ctx, g):
            x, a, y = ctx.saved_tensors
            return (
                torch.einsum("b,ij,bj->bi", g, a, y),
                torch.einsum("b,bj,bi->ij", g, x, y),
                torch.einsum("b,bi,ij->bj", g, x, a),
            )

    def score(x, a, y):
        return Bilinear.apply(x, a, y).sigmoid()  # wrong: here

    return Check(score, draw(torch, 2, 3), draw(torch, 3, 3), draw(torch, 2, 3, seed=1))


@wrong("transposed", "Inverse")
def matrix_inverse(torch: Any) -> Check:
    """The rule of the inverse is -YᵀGYᵀ; the transposes are missing."""

    class Inverse(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a):
            y = torch.linalg.inv(a)
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, g):
            (y,) = ctx.saved_tensors
            return -y @ g @ y

    def mahalanobis(x, a):
        covariance = a @ a.t() + torch.eye(3, dtype=a.dtype) + torch.triu(a)
        precision = Inverse.apply(covariance)  # wrong: here
        return torch.einsum("bi,ij,bj->b", x, precision, x.flip(1))

    return Check(mahalanobis, draw(torch, 2, 3), draw(torch, 3, 3))


@wrong("transposed", "BatchedProduct")
def einsum_letters_exchanged(torch: Any) -> Check:
    """The letters of one einsum of the backward are exchanged; all dimensions are equal."""

    class BatchedProduct(torch.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return torch.einsum("bij,bjk->bik", a, b)

        @staticmethod
        def backward(ctx, g):
            a, b = ctx.saved_tensors
            return torch.einsum("bik,bjk->bij", g, b), torch.einsum("bij,bik->bkj", a, g)

    def chain(a, b, c):
        return BatchedProduct.apply(a, b) @ c  # wrong: here

    return Check(chain, *(draw(torch, 2, 3, 3, seed=i) for i in range(3)))


@wrong("non-contiguous gradient", "MergeHeads")
def heads_merged_by_a_view(torch: Any) -> Check:
    """Attention heads are split again with one reshape, which mixes time and heads."""

    class MergeHeads(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.shape = x.shape
            b, h, t, d = x.shape
            return x.transpose(1, 2).reshape(b, t, h * d)

        @staticmethod
        def backward(ctx, g):
            return g.reshape(ctx.shape)

    def attend(q, v, out):
        weights = (q @ q.mT).softmax(-1)
        merged = MergeHeads.apply(weights @ v)  # wrong: here
        return merged @ out

    return Check(
        attend, draw(torch, 1, 2, 3, 2), draw(torch, 1, 2, 3, 2, seed=1), draw(torch, 4, 2)
    )


@wrong("non-contiguous gradient", "ChannelsFirst")
def permuted_back_by_a_view(torch: Any) -> Check:
    """The inverse of a permutation is written as a view of the right shape."""

    class ChannelsFirst(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.shape = x.shape
            return x.permute(0, 3, 1, 2).contiguous()

        @staticmethod
        def backward(ctx, g):
            return g.contiguous().view(ctx.shape)

    def features(images, kernel):
        images = ChannelsFirst.apply(images)  # wrong: here
        return torch.nn.functional.conv2d(images, kernel).relu()

    return Check(features, draw(torch, 1, 4, 4, 2), draw(torch, 2, 2, 3, 3))


@wrong("non-contiguous gradient", "Columns")
def patches_folded_by_a_reshape(torch: Any) -> Check:
    """A convolution by patches: the columns go back in the order of positions, not of the kernel."""

    class Columns(torch.autograd.Function):
        @staticmethod
        def forward(ctx, image):
            ctx.size = image.shape[-2:]
            return torch.nn.functional.unfold(image, 2)

        @staticmethod
        def backward(ctx, g):
            mixed = g.transpose(1, 2).reshape(g.shape)
            return torch.nn.functional.fold(mixed, ctx.size, 2)

    def convolution(image, kernel):
        columns = Columns.apply(image)  # wrong: here
        return torch.einsum("ok,bkl->bol", kernel, columns)

    return Check(convolution, draw(torch, 2, 1, 4, 3), draw(torch, 2, 4))
