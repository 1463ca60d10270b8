"""`backends`, `compiler`, `__future__`, `types` and `functional`: what programs set and ask."""

from __future__ import annotations

import importlib

import pytest

import tautograd
from tests.both import same

SWITCHES = [
    ("cudnn", "enabled"),
    ("cudnn", "benchmark"),
    ("cudnn", "deterministic"),
    ("cudnn", "allow_tf32"),
    ("miopen", "immediate"),
    ("mkldnn", "enabled"),
    ("mkldnn", "deterministic"),
]


@pytest.mark.filterwarnings("ignore:TF32 acceleration on top of oneDNN")  # PyTorch's, of a default
@pytest.mark.parametrize(("library", "name"), SWITCHES)
@same
def test_switches(torch, library, name):
    """Set by themselves, by `set_flags`, and for the length of a `with` block, even one that fails."""
    part = getattr(torch.backends, library)
    first = getattr(part, name)
    seen = [first]
    setattr(part, name, not first)
    seen.append(getattr(part, name))
    setattr(part, name, first)
    with part.flags(**{name: not first}):
        seen.append(getattr(part, name))
    seen.append(getattr(part, name))
    with pytest.raises(ZeroDivisionError), part.flags(**{name: not first}):
        1 / 0
    seen.append(getattr(part, name))
    before = part.set_flags(**{f"_{name}": not first})
    seen.append(getattr(part, name))
    setattr(part, name, first)
    return [*seen, len(before)]


@same
def test_other_switches(torch):
    b = torch.backends
    seen = [b.cudnn.is_acceptable(torch.ones(2)), b.mps.is_available(), b.cuda.is_built()]
    with pytest.raises(TypeError):
        b.cudnn.flags(unheard_of=True).__enter__()
    with b.mkl.verbose(b.mkl.VERBOSE_OFF), b.mkldnn.verbose(b.mkldnn.VERBOSE_OFF):
        pass
    b.cuda.enable_flash_sdp(False)
    seen += [b.cuda.flash_sdp_enabled(), b.cuda.math_sdp_enabled()]
    b.cuda.enable_flash_sdp(True)
    seen += [b.mha.get_fastpath_enabled(), b.cuda.matmul.allow_tf32]
    with pytest.raises(AttributeError, match="Unknown attribute") as error:
        b.cuda.matmul.unheard_of = 1
    with pytest.raises(RuntimeError, match=r"Unknown input value\. Choose from") as wrong:
        b.cuda.preferred_linalg_library("unheard of")
    return [*seen, str(error.value), str(wrong.value), str(b.cuda.preferred_linalg_library())]


def test_libraries_that_are_not_used():
    for name in ("cudnn", "mkl", "mkldnn", "mps", "nnpack", "openmp", "opt_einsum", "cusparselt"):
        assert getattr(tautograd.backends, name).is_available() is False
    assert tautograd.backends.quantized.supported_engines == ["none"]
    assert tautograd.backends.cpu.get_cpu_capability() in ("DEFAULT", "AVX2", "AVX512")


@pytest.mark.filterwarnings(
    "ignore:`torch.jit.script_method` is deprecated"
)  # PyTorch's own import
@same
def test_compiler(torch):
    c = importlib.import_module(f"{torch.__name__}.compiler")

    @c.disable
    def one(x):
        """Doubles."""
        return 2 * x

    @c.disable(recursive=False)
    def two(x):
        return 3 * x

    array = c.wrap_numpy(lambda a, b: {"sum": a + b})
    found = array(torch.ones(2), b=torch.arange(2.0))["sum"]
    return [
        [c.is_compiling(), c.is_dynamo_compiling(), c.is_exporting()],
        [one(2), two(2), one.__name__, one.__doc__],
        c.allow_in_graph(abs) is abs,
        c.assume_constant_result(two)(1),
        [c.reset(), c.cudagraph_mark_step_begin()],
        found,
    ]


def test_a_disabled_function_inside_a_compiled_one():
    @tautograd.compiler.disable
    def inner(x):
        return x.sin()

    compiled = tautograd.compile(lambda x: inner(x) * 2)
    x = tautograd.arange(3.0)
    for _ in range(3):
        assert tautograd.allclose(compiled(x), x.sin() * 2)


def test_a_stance_that_cannot_be_kept_is_refused():
    with pytest.raises(RuntimeError, match=r"invalid torch\.compile stance"):
        tautograd.compiler.set_stance("sideways")
    with pytest.raises(RuntimeError, match="cannot be kept"):
        tautograd.compiler.set_stance("force_eager")
    with tautograd.compiler.set_stance("default"):
        pass


@pytest.mark.parametrize("overwrite", [False, True])
@same
def test_conversions_that_make_new_parameters(torch, overwrite):
    future = importlib.import_module(f"{torch.__name__}.__future__")
    layer = torch.nn.Linear(2, 2)
    layer(torch.ones(1, 2)).sum().backward()
    weight = layer.weight
    future.set_overwrite_module_params_on_conversion(overwrite)
    try:
        layer.double()
    finally:
        future.set_overwrite_module_params_on_conversion(False)
    kinds = [
        type(layer.weight).__name__,
        str(weight.dtype),
        future.get_swap_module_params_on_conversion(),
    ]
    return [layer.weight is weight, layer.weight, layer.weight.grad, kinds]


@same
def test_functional_is_torch(torch):
    f = importlib.import_module(f"{torch.__name__}.functional")
    x = torch.arange(4.0).view(2, 2)
    assert f.einsum is torch.einsum
    with pytest.raises(AttributeError):
        f.unheard_of
    return [
        f.norm(x),
        f.split(x, 1),
        f.tensordot(x, x),
        f.atleast_3d(x),
        f.meshgrid(x[0], x[1], indexing="ij"),
    ]


@same
def test_types(torch):
    t = importlib.import_module(f"{torch.__name__}.types")
    return [str(t.Number), isinstance(torch.Size([1]), t._size.__args__[0]), t._int is int]


def test_loaded_when_first_named():
    import subprocess
    import sys

    parts = ("compiler", "functional", "hub", "multiprocessing", "quasirandom", "signal", "types")
    program = (
        "import sys, tautograd, tautograd.nn, tautograd.optim\n"
        f"for part in {parts}:\n"
        "    assert f'tautograd.{part}' not in sys.modules, part\n"
        "    assert part in dir(tautograd)\n"
        "    getattr(tautograd, part)\n"
        "    assert f'tautograd.{part}' in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
