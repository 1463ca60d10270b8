"""What is wrong is said: the same exception and phrase as PyTorch, and what to do about it."""

from __future__ import annotations

import copy
import warnings

import pytest

import tautograd
from tests.both import same

SECOND_TIME = "Trying to backward through the graph a second time"


@same
def test_second_backward(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    y.backward()
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        y.backward()


@same
def test_second_backward_through_a_shared_part(torch):
    x = torch.tensor(2.0, requires_grad=True)
    shared = x.exp()
    (shared * 2).backward()
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        (shared * 3).backward()


@same
def test_grad_frees_as_backward_does(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = x * x
    torch.autograd.grad(y, x)
    with pytest.raises(RuntimeError, match=SECOND_TIME):
        torch.autograd.grad(y, x)


def test_second_backward_says_which_graph_and_where():
    x = tautograd.tensor(2.0, requires_grad=True)
    y = x * x  # recorded here
    y.backward()  # used here
    with pytest.raises(RuntimeError, match=SECOND_TIME) as caught:
        y.backward()
    message = str(caught.value)
    assert "MulBackward0" in message
    assert "y = x * x  # recorded here" in message
    assert "y.backward()  # used here" in message
    assert "Compute the loss again" in message
    assert "only if both passes really belong to one graph" in message


@same
def test_backward_of_a_non_scalar(torch):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(
        RuntimeError, match="grad can be implicitly created only for scalar outputs"
    ):
        (x * 2).backward()
    with pytest.raises(
        RuntimeError, match="grad can be implicitly created only for scalar outputs"
    ):
        torch.autograd.grad(x * 2, x)
    with pytest.raises(
        RuntimeError, match="grad can be implicitly created only for scalar outputs"
    ):
        x[:0].sum(0, keepdim=True)[:0].backward()


def test_backward_of_a_non_scalar_says_what_to_do():
    x = tautograd.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError) as caught:
        (x * 2).backward()
    message = str(caught.value)
    assert "[2, 3]" in message
    assert ".sum().backward()" in message
    assert "gradient=" in message


@same
def test_backward_of_a_complex_scalar(torch):
    z = torch.tensor(1 + 2j, requires_grad=True)
    with pytest.raises(RuntimeError, match="only for real scalar outputs but got"):
        (z * z).backward()


@same
def test_backward_of_something_that_wants_no_gradient(torch):
    phrase = "element 0 of tensors does not require grad and does not have a grad_fn"
    with pytest.raises(RuntimeError, match=phrase):
        torch.ones(1).sum().backward()
    x = torch.ones(1, requires_grad=True)
    with pytest.raises(RuntimeError, match="element 1 of tensors does not require grad"):
        torch.autograd.backward([x * 2, torch.ones(1)])
    with torch.no_grad():
        y = x * 2
    with pytest.raises(RuntimeError, match=phrase):
        y.backward()


@same
def test_grad_of_an_input_that_wants_none(torch):
    x = torch.ones(1, requires_grad=True)
    y = torch.ones(1)
    with pytest.raises(
        RuntimeError, match="One of the differentiated Tensors does not require grad"
    ):
        torch.autograd.grad(x * y, y)


@same
def test_mismatched_gradient(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    with pytest.raises(RuntimeError, match=r"Mismatch in shape: grad_output.0. has a shape of"):
        y.backward(torch.ones(3))
    with pytest.raises(RuntimeError, match=r"Mismatch in shape: grad_output.0. has a shape of"):
        torch.autograd.grad(y, x, torch.ones(2, 1))
    with pytest.raises(RuntimeError, match="For complex Tensors, both grad_output and output"):
        y.backward(torch.ones(2, dtype=torch.complex64))
    with pytest.raises(TypeError):
        y.backward(3)


@same
def test_gradient_of_another_dtype_is_cast(torch):
    x = torch.ones(2, requires_grad=True)
    (x * 2).backward(torch.ones(2, dtype=torch.float64))
    return x.grad


@same
def test_number_of_gradients(torch):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="got 2 tensors and 1 gradients"):
        torch.autograd.backward([x * 2, x * 3], [torch.ones(2)])


@same
def test_gradient_of_a_non_leaf_warns(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    with pytest.warns(UserWarning, match="The .grad attribute of a Tensor that is not a leaf"):
        return y.grad


@same
def test_gradient_of_a_leaf_or_a_retained_tensor_does_not_warn(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.retain_grad()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return x.grad, y.grad, torch.ones(2).grad


@same
def test_deepcopy_of_a_non_leaf(torch):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="Only Tensors created explicitly by the user"):
        copy.deepcopy(x * 2)
    x.grad = torch.full((2,), 3.0)
    twin = copy.deepcopy(x)
    return twin, twin.grad, twin is x, twin.grad is x.grad


@same
def test_requires_grad_of_integers(torch):
    phrase = "only Tensors of floating point (and complex )?dtype can require gradients"
    with pytest.raises(RuntimeError, match="(?i)" + phrase):
        torch.ones(2, dtype=torch.int64).requires_grad_()
    with pytest.raises(RuntimeError, match="(?i)" + phrase):
        torch.tensor([1, 2], requires_grad=True)


@same
def test_requires_grad_of_a_non_leaf(torch):
    y = torch.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf"):
        y.requires_grad = False
    with pytest.raises(RuntimeError, match="you can only change requires_grad flags of leaf"):
        y.requires_grad = True
    return y.requires_grad_() is y


@same
def test_retain_grad_of_something_that_wants_none(torch):
    with pytest.raises(
        RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"
    ):
        torch.ones(2).retain_grad()


@same
def test_assigned_gradient_must_fit(torch):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(TypeError, match="assigned grad expected to be a Tensor or None"):
        x.grad = 0
    with pytest.raises(RuntimeError, match="attempting to assign a gradient of size"):
        x.grad = torch.ones(3)
    with pytest.raises(RuntimeError, match="attempting to assign a gradient with dtype"):
        x.grad = torch.ones(2, dtype=torch.float64)
    with pytest.raises(RuntimeError, match="can't assign Variable as its own grad"):
        x.grad = x


@same
def test_numpy_of_a_tensor_that_wants_gradients(torch):
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"Can't call numpy.. on Tensor that requires grad"):
        x.numpy()
    return x.detach().numpy().tolist()


@same
def test_inputs_of_backward_that_want_none(torch):
    x = torch.ones(1, requires_grad=True)
    with pytest.raises(
        RuntimeError, match="can't retain_grad on Tensor that has requires_grad=False"
    ):
        (x * 2).backward(inputs=[torch.ones(1)])


@same
def test_modules_say_which_name_is_missing(torch):
    for module in (torch.autograd, torch.func, torch.utils):
        with pytest.raises(AttributeError, match="no_such_name"):
            module.no_such_name


def test_leaf_in_place_says_what_to_do():
    x = tautograd.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError) as caught:
        x.add_(1)
    assert "no_grad" in str(caught.value)


@same
def test_backward_inside_of_backward(torch):
    x = torch.tensor(2.0, requires_grad=True)
    y = torch.tensor(3.0, requires_grad=True)
    inner = y * y

    def hook(grad):
        inner.backward()

    z = x * x
    z.register_hook(hook)
    z.backward()
    return x.grad, y.grad


@same
def test_second_derivative_of_a_product_with_two_zeros_at_one_place(torch):
    x = torch.ones(3, dtype=torch.float64)
    src = torch.tensor([0.0, 0.0, 2.0], dtype=torch.float64, requires_grad=True)
    out = x.scatter_reduce(0, torch.tensor([0, 0, 1]), src, "prod")
    (g,) = torch.autograd.grad(out.sum(), src, create_graph=True)
    with pytest.raises(RuntimeError, match="Double backward is unsupported"):
        torch.autograd.grad(g.sum(), src)
    return g.detach()
