"""Classes that stand for tensors answer public calls by `__torch_function__`; functions as pickles, on both engines."""

from __future__ import annotations

import pickle
import warnings
from typing import Any

import pytest

from tests.both import same


def _diagonal(torch: Any) -> Any:
    class Diagonal:
        """A multiple of the identity."""

        def __init__(self, size: int, value: float) -> None:
            self.size, self.value = size, value

        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return answers[func](*args) if func in answers else NotImplemented

        def dense(self) -> Any:
            return self.value * torch.eye(self.size)

    answers: dict[Any, Any] = {
        torch.mean: lambda d: torch.tensor(d.value / d.size),
        torch.add: lambda a, b: a + b.dense() if isinstance(b, Diagonal) else a.dense() + b,
        torch.linalg.det: lambda d: torch.tensor(d.value**d.size),
        torch.nn.functional.relu: lambda d: Diagonal(d.size, max(d.value, 0.0)).dense(),
        torch.cat: lambda parts: torch.cat([getattr(p, "dense", lambda p=p: p)() for p in parts]),
        torch.Tensor.mul: lambda a, b: a * b.value,
    }
    return Diagonal(2, -3.0)


@same
def test_a_class_answers_calls(torch: Any) -> Any:
    d = _diagonal(torch)
    x = torch.ones(2, 2)
    return [
        torch.mean(d), torch.add(x, d), torch.add(d, x), torch.linalg.det(d),
        torch.nn.functional.relu(d), torch.cat([x, d]), x.mul(d),
    ]  # fmt: skip


@same
def test_parts_of_complex_numbers_are_asked_about_as_functions_and_as_attributes(torch: Any) -> Any:
    class Asked(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return func

    x = torch.ones(2, dtype=torch.complex64).as_subclass(Asked)
    attributes = [getattr(x.real, "__name__", ""), getattr(x.imag, "__name__", "")]
    return torch.real(x) is torch.real, torch.imag(x) is torch.imag, attributes


@same
def test_a_class_without_an_answer_is_named(torch: Any) -> None:
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch.exp'"):
        torch.exp(_diagonal(torch))


@same
def test_functions_are_pickled_by_name(torch: Any) -> None:
    functional = torch.nn.functional
    names = (torch.tanh, torch.abs, torch.linalg.det, torch.special.erf, torch.fft.fft, torch.zeros)
    for function in (*names, functional.mse_loss, functional.gelu):
        assert pickle.loads(pickle.dumps(function)) is function


@same
def test_pruned_modules_in_files(torch: Any, tmp_path: Any) -> Any:
    from importlib import import_module

    prune = import_module(f"{torch.__name__}.nn.utils.prune")
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU())
    prune.l1_unstructured(model[0], "weight", amount=0.5)
    torch.save(model, tmp_path / "model.pt")
    other = torch.load(tmp_path / "model.pt", weights_only=False)
    return other.state_dict(), other(torch.ones(1, 4))


@same
def test_searchsorted_warns_once(torch: Any) -> Any:
    boundaries, values = torch.arange(12.0)[::2], torch.ones(3, 2).t()
    torch.set_warn_always(True)
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            torch.bucketize(values, boundaries)
    finally:
        torch.set_warn_always(False)
    return [str(w.message).partition(" (Trig")[0] for w in caught]


@same
def test_grouped_products(torch: Any) -> Any:
    torch.manual_seed(0)
    a, b = torch.randn(8, 8, requires_grad=True), torch.randn(2, 8, 16, requires_grad=True)
    offs = torch.tensor([3, 8], dtype=torch.int32)
    grouped_mm = torch.nn.functional.grouped_mm
    out = grouped_mm(a, b, offs=offs)
    (out * out).sum().backward()
    with pytest.raises(RuntimeError, match="Offsets have to be int32"):
        grouped_mm(a, b, offs=offs.long())
    with pytest.raises(RuntimeError, match="Have to provide offsets"):
        grouped_mm(a, b)
    return out, a.grad, b.grad, grouped_mm(a, b[0], offs=offs), grouped_mm(b.mT, b)


# --- subclasses of Tensor --------------------------------------------------------------------------


def _logging(torch: Any) -> tuple[Any, list[str]]:
    said: list[str] = []

    class Logging(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            known = [
                n
                for n in ("add", "mul", "sub", "div", "matmul")
                if func is getattr(torch.Tensor, n)
            ]
            known += [n for n in ("cat", "sum", "add") if func is getattr(torch, n)]
            known += ["F.relu"] if func is torch.nn.functional.relu else []
            said.append(f"{known} {[kind.__name__ for kind in types]}")
            return super().__torch_function__(func, types, args, kwargs)

    return Logging, said


@same
def test_a_subclass_is_asked_for_methods_operators_and_functions(torch: Any) -> Any:
    kind, said = _logging(torch)
    x, plain = torch.arange(3.0).as_subclass(kind), torch.ones(3)
    results = [
        x + 1, 1 + x, plain + x, x - plain, plain.mul(x), x @ plain, torch.sum(x), x[1:], -x,
        torch.cat([plain, x]), torch.add(plain, x), torch.nn.functional.relu(x), x.max(dim=0).values,
        torch.nn.Linear(3, 2)(x), torch.nn.functional.cross_entropy(x, plain), x.mean(), x == plain,
    ]  # fmt: skip
    assert all(type(result) is kind for result in results)
    results = [result for i, result in enumerate(results) if i != 13]  # random weights
    return [r.as_subclass(torch.Tensor) for r in results], [
        line for line in said if "[]" not in line
    ]


@same
def test_results_of_a_subclass_are_of_it(torch: Any) -> Any:
    class Image(torch.Tensor):
        pass

    class Mask(Image):
        pass

    image = torch.arange(4.0).reshape(2, 2).as_subclass(Image)
    mask = torch.ones(2, 2).as_subclass(Mask)
    assert isinstance(image.shape, torch.Size)
    assert type(image.sum().item()) is float
    assert type(image.detach()) is type(image[0]) is type(torch.stack([image])) is Image
    image += 1
    return [
        type(each).__name__ for each in (image, image * mask, mask * 2, image.to(torch.float64))
    ], (f"{image!r}")


@same
def test_gradients_pass_through_a_subclass(torch: Any) -> Any:
    class Kept(torch.Tensor):
        pass

    leaf = torch.tensor([1.0, 2.0, 3.0], requires_grad=True)
    loss = (leaf.as_subclass(Kept) * 2).exp().sum()
    assert type(loss) is Kept
    loss.backward()
    assert type(leaf.grad) is torch.Tensor
    weight = torch.nn.Parameter(torch.ones(3))
    assert type(weight * 2) is torch.Tensor
    (torch.arange(3.0).as_subclass(Kept) * weight).sum().backward()
    return leaf.grad, weight.grad


@same
def test_a_subclass_that_answers_for_itself(torch: Any) -> Any:
    class Unit(torch.Tensor):
        @classmethod
        def __torch_function__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if func is torch.add:
                return "added"
            with torch._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))

    class Silent(torch.Tensor):
        __torch_function__ = torch._C._disabled_torch_function_impl

    x = torch.ones(2).as_subclass(Unit)
    assert torch.add(x, 1) == "added"
    assert type(x * 2) is type(torch.ones(2).as_subclass(Silent) * 2) is torch.Tensor
    return x * 2


@same
def test_two_subclasses_that_do_not_know_each_other(torch: Any) -> None:
    first, second = (type(name, (torch.Tensor,), {}) for name in ("First", "Second"))
    with pytest.raises(TypeError, match=r"Multiple dispatch failed for 'torch.add'"):
        torch.add(torch.ones(2).as_subclass(first), torch.ones(2).as_subclass(second))


@pytest.mark.parametrize("name", ["is_tensor", "is_storage", "typename"])
@same
def test_nobody_is_asked_what_an_object_is(torch, name):
    class Matrix:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "asked"

        def __str__(self):
            return "a matrix"

    class Plain(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return "asked"

    assert torch.sum(Matrix()) == torch.sum(torch.ones(2).as_subclass(Plain)) == "asked"
    try:
        said = str(getattr(torch, name)(Matrix())).rpartition(".")[2]
    except (TypeError, RuntimeError) as error:
        said = type(error).__name__
    return said, torch.is_tensor(torch.ones(2).as_subclass(Plain))


@same
def test_settings_are_not_shown_to_modes(torch):
    shown = []

    class Watching(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            shown.append(func.__name__)
            return func(*args, **(kwargs or {}))

    with Watching():
        torch.is_tensor(3)
        torch.set_num_threads(torch.get_num_threads())
        torch.use_deterministic_algorithms(torch.are_deterministic_algorithms_enabled())
        torch.set_float32_matmul_precision(torch.get_float32_matmul_precision())
        torch.ones(2)
    return shown
