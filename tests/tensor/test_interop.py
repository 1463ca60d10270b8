"""Tensors among other objects: NumPy, DLPack, Python's numbers and text, copies and pickles.

The tables run on both engines; `expressions` says what is compared.
"""

from __future__ import annotations

import pickle
from typing import Any

import ml_dtypes
import numpy as np
import pytest
import torch

import tautograd

from .expressions import check, entries

# --- arrays of other libraries -------------------------------------------------------------------

ARRAYS = """
np.ones(3)==torch.ones(3) ; torch.ones(3)==np.ones(3) ; torch.ones(3)!=np.ones(3)
torch.ones(3)==[1,1,1] ; torch.ones(3)==None ; torch.ones(3)=='a' ; torch.ones(3)<np.ones(3)
np.ones(3)*torch.ones(3) ; torch.ones(3)*np.ones(3) ; torch.ones(3)+np.ones(3,dtype=np.float32)
np.ones(3)+torch.ones(3) ; np.ones(3)-torch.ones(3) ; np.ones((2,2))@torch.ones(2,2)
torch.ones(2,2)@np.ones((2,2)) ; np.float64(2)*torch.ones(3) ; np.float32(2)*torch.ones(3)
torch.ones(3)*np.float64(2) ; np.int64(2)*torch.ones(3) ; np.float64(2)-torch.ones(3)
np.float64(2)**torch.ones(3) ; torch.ones(3)**np.float64(2) ; np.float64(2)<torch.ones(3)
torch.ones(3)<np.float64(2) ; np.ones(3)<torch.ones(3) ; np.sin(torch.tensor([0.,1.]))
np.add(torch.tensor([0.,1.]),1) ; np.add(torch.tensor([0.,1.]),torch.tensor([0.,1.]))
np.maximum(torch.tensor([1.,2.]),1.5) ; np.isnan(torch.tensor([1.,float('nan')]))
np.exp(torch.tensor(1.)) ; np.sqrt(torch.tensor([4.],requires_grad=True))
np.asarray(torch.tensor([1,2])) ; np.array(torch.tensor([1.,2.]))
np.array(torch.tensor([1.,2.]),dtype=np.float64) ; np.asarray(torch.tensor([1.],requires_grad=True))
np.array([torch.tensor(1.),torch.tensor(2.)]) ; np.asarray(torch.tensor([True,False]))
np.concatenate([torch.ones(2),torch.zeros(1)]) ; np.stack([torch.ones(2),torch.zeros(2)])
np.allclose(torch.ones(2),np.ones(2)) ; np.argmax(torch.tensor([1.,3.,2.]))
np.reshape(torch.arange(4),(2,2)) ; np.dot(torch.ones(2),np.ones(2))
np.linalg.norm(torch.tensor([3.,4.])) ; np.testing.assert_allclose(torch.ones(2),np.ones(2))
torch.ones(2,requires_grad=True).numpy() ; (torch.ones(2,requires_grad=True)*2).numpy()
torch.ones(2,requires_grad=True).numpy(force=True)
torch.ones(2,requires_grad=True).detach().numpy() ; torch.ones(2,2).t().numpy()
torch.ones(2,dtype=torch.bfloat16).numpy() ; torch.ones(2,dtype=torch.float16).numpy()
np.asarray(torch.ones(2,dtype=torch.bfloat16)) ; torch.ones(2,dtype=torch.complex64).numpy()
torch.tensor([1+2j]).conj().resolve_conj().numpy() ; np.float64(3) in torch.tensor([3.])
torch.ones(2,requires_grad=True).__dlpack__() ; torch.from_dlpack(torch.arange(4).reshape(2,2).t())
torch.from_dlpack(3) ; torch.utils.dlpack.from_dlpack(torch.utils.dlpack.to_dlpack(torch.arange(3)))
torch.from_dlpack(torch.ones(2,dtype=torch.bfloat16))
torch.from_dlpack(torch.tensor([True,False])) ; torch.from_dlpack(torch.tensor([1+2j]))
torch.from_dlpack(torch.zeros(0,3)) ; torch.from_dlpack(torch.tensor(3.))
"""


@pytest.mark.parametrize("source", entries(ARRAYS))
def test_arrays(source: str) -> None:
    check(source)


# --- Python's own objects ------------------------------------------------------------------------

NUMBERS = """
torch.ones(2,dtype=torch.bfloat16).tolist() ; torch.tensor([1.]).item() ; torch.tensor(3).item()
torch.tensor(True).item() ; torch.tensor(1+2j).item()
torch.tensor(1.5,dtype=torch.bfloat16).item() ; torch.tensor(1.1,dtype=torch.float16).item()
torch.tensor(1.1).item() ; torch.tensor([1,2]).item() ; torch.tensor([]).item()
torch.tensor([[1.,2.],[3.,4.]]).tolist() ; torch.tensor(2.).tolist() ; torch.tensor([]).tolist()
torch.zeros(2,0).tolist() ; torch.tensor([1.],requires_grad=True).tolist()
torch.tensor([1.],requires_grad=True).item() ; float(torch.tensor(2.5)) ; int(torch.tensor(2.9))
int(torch.tensor([[-2.9]])) ; bool(torch.tensor(0.)) ; complex(torch.tensor(2.5))
complex(torch.tensor(1+2j)) ; float(torch.tensor(1+2j)) ; int(torch.tensor(1+2j))
float(torch.tensor(1+0j)) ; int(torch.tensor(float('nan'))) ; int(torch.tensor(float('inf')))
float(torch.ones(2)) ; int(torch.ones(2)) ; bool(torch.ones(2)) ; complex(torch.ones(2))
float(torch.tensor([])) ; float(torch.tensor([1.5])) ; round(torch.tensor(2.567))
round(torch.tensor(2.567),1) ; round(torch.tensor([2.567,-1.5])) ; math.sqrt(torch.tensor(4.))
math.floor(torch.tensor(4.5)) ; math.ceil(torch.tensor(4.5)) ; math.trunc(torch.tensor(4.5))
math.exp(torch.ones(2)) ; math.isnan(torch.tensor(1.)) ; abs(torch.tensor(-2.))
divmod(torch.tensor(7.),torch.tensor(2.)) ; operator.index(torch.tensor(3))
operator.index(torch.tensor(3.)) ; operator.index(torch.tensor([3]))
operator.index(torch.tensor([3,4])) ; operator.index(torch.tensor(True)) ; hex(torch.tensor(255))
[10,20,30][torch.tensor(1)] ; '%.2f' % torch.tensor(1.234) ; '%d' % torch.tensor(3)
format(torch.tensor(1.2345),'.2f') ; format(torch.tensor([1.2345]),'.2f')
format(torch.tensor([1.2345]),'') ; format(torch.tensor(3),'05d') ; f"{torch.tensor(1.5)}"
f"{torch.tensor(1.5):.3f} {torch.tensor([1.,2.])}"
format(torch.tensor(1.5,requires_grad=True),'.1f') ; str(torch.tensor(1.5))
format(torch.tensor(True),'') ; format(torch.tensor(1+2j),'.1f') ; 3. in torch.tensor([1.,3.])
torch.tensor(3.) in torch.tensor([1.,3.]) ; 'a' in torch.tensor([1.]) ; [1] in torch.tensor([1])
None in torch.tensor([1]) ; True in torch.tensor([True]) ; 2j in torch.tensor([2j])
list(reversed(torch.tensor([1,2,3]))) ; reversed(torch.tensor([[1,2],[3,4]]))
reversed(torch.tensor(1)) ; bool(torch.tensor([float('nan')]))
"""


@pytest.mark.parametrize("source", entries(NUMBERS))
def test_numbers(source: str) -> None:
    check(source)


# --- attributes and kinds ------------------------------------------------------------------------

ATTRIBUTES = """
torch.tensor([1.,2.]).data ; torch.ones(2).device ; torch.ones(2).is_cpu ; torch.ones(2).is_sparse
torch.ones(2).is_sparse_csr ; torch.ones(2).is_quantized ; torch.ones(2).is_meta
torch.ones(2).is_mps ; torch.ones(2).is_xpu ; torch.ones(2).is_mkldnn ; torch.ones(2).is_nested
torch.ones(2).is_xla ; torch.ones(2).layout ; torch.ones(2).names ; torch.ones(2).name
torch.ones(2).get_device() ; torch.get_device(torch.ones(2)) ; torch.ones(2).type()
torch.ones(2,dtype=torch.int64).type() ; torch.ones(2).type(torch.float64)
torch.ones(2).type('torch.DoubleTensor') ; torch.ones(2).type(torch.LongTensor)
torch.ones(2).type('foo') ; torch.ones(2).type(int)
torch.ones(2).type_as(torch.ones(1,dtype=torch.int32)) ; torch.ones(2).is_pinned()
torch.ones(2).is_shared() ; torch.ones(2).share_memory_() ; torch.ones(2).is_contiguous()
torch.ones(2).element_size() ; torch.ones(2).nbytes ; torch.ones(2).itemsize ; torch.ones(2).numel()
torch.ones(2).nelement() ; torch.ones(2).ndimension() ; torch.ones(2).dim() ; torch.ones(2,3).size()
torch.ones(2,3).size(0) ; torch.ones(2,3).size(-1) ; torch.ones(2,3).size(2)
torch.ones(2,3).size(dim=1) ; torch.ones(2,3).shape ; torch.ones(2,3).shape[1:]
torch.ones(2,3).shape+(1,) ; (1,)+torch.ones(2,3).shape ; torch.ones(2,3).shape.numel()
torch.Size([1,2]) ; torch.Size((1,2))*2 ; torch.Size() ; torch.Size([1.5]) ; torch.Size(['a'])
torch.Size([torch.tensor(2)]) ; torch.Size([1,2]).count(1) ; torch.ones(2,3).storage_offset()
torch.ones(2,3)[1:].storage_offset() ; torch.ones(2).is_floating_point()
torch.ones(2).is_complex() ; torch.ones(2).is_signed() ; torch.ones(2).is_inference()
torch.ones(2).is_conj() ; torch.ones(2).is_neg() ; torch.ones(2).is_nonzero()
torch.ones(1).is_nonzero() ; torch.ones(1).is_same_size(torch.zeros(1))
torch.ones(2).is_set_to(torch.ones(2)) ; torch.ones(2).dim_order() ; torch.ones(2,3).dim_order()
torch.ones(2,3).t().dim_order() ; torch.ones(2).to('foo') ; torch.ones(2).pin_memory()
torch.ones(2).foo ; torch.ones(2).sumn() ; torch.ones(2).grad ; torch.ones(2).grad_fn
torch.ones(2)._base ; torch.ones(2)._version ; torch.ones(2).output_nr
torch.ones(2).apply_(lambda v: v+1) ; torch.ones(2).map_(torch.zeros(2),lambda a,b: a+b+1)
torch.ones(2).requires_grad_().apply_(lambda v: v) ; pickle.loads(pickle.dumps(torch.float32))
pickle.loads(pickle.dumps(torch.device('cpu'))) ; pickle.loads(pickle.dumps(torch.Size([1,2])))
pickle.loads(pickle.dumps(torch.strided)) ; pickle.loads(pickle.dumps(torch.tensor([1.,2.])))
pickle.loads(pickle.dumps(torch.tensor([1.,2.],requires_grad=True)))
pickle.loads(pickle.dumps(torch.arange(6.).reshape(2,3).t()))
pickle.loads(pickle.dumps(torch.arange(6.)[2:4]))
pickle.loads(pickle.dumps(torch.ones(2,dtype=torch.bfloat16)))
pickle.loads(pickle.dumps(torch.tensor([1+2j]))) ; pickle.loads(pickle.dumps(torch.tensor(True)))
pickle.loads(pickle.dumps(torch.zeros(0,3)))
pickle.loads(pickle.dumps(torch.zeros(3).expand(2,3))) ; torch.is_tensor(torch.ones(1))
torch.is_tensor(3) ; isinstance(torch.ones(1),torch.FloatTensor)
isinstance(torch.ones(1),torch.Tensor) ; isinstance(torch.ones(1),torch.LongTensor)
torch.is_storage(torch.ones(1)) ; torch.typename(torch.ones(1)) ; torch.typename(3)
torch.typename(torch.float32) ; torch.is_nonzero(torch.tensor([0.]))
torch.is_nonzero(torch.tensor([])) ; torch.is_nonzero(torch.tensor([1,2]))
torch.numel(torch.ones(2,3)) ; torch.is_floating_point(torch.ones(1))
torch.is_complex(torch.ones(1)) ; torch.is_inference(torch.ones(1)) ; torch.is_conj(torch.ones(1))
torch.is_signed(torch.ones(1)) ; torch.numel(3)
"""


@pytest.mark.parametrize("source", entries(ATTRIBUTES))
def test_attributes(source: str) -> None:
    check(source)


# --- programs ------------------------------------------------------------------------------------

PROGRAMS = """
a=np.zeros(3); a[:]=torch.ones(3); a ; a=np.zeros(3); a+=torch.ones(3); a
x=torch.ones(2); n=x.numpy(); n[0]=5; x ; x=torch.ones(2); n=x.numpy(); x.add_(1); n
x=torch.tensor(1.); len({x,x,torch.tensor(1.)}) ; x=torch.tensor(1.); x in [x]
x=torch.tensor(1.); {x:1}[x] ; x=torch.ones(2); del x[0]
x=torch.ones(2,requires_grad=True); x.data ; x=torch.ones(2,requires_grad=True); x.data.fill_(3); x
x=torch.ones(2,requires_grad=True); x.data=torch.zeros(3); x
x=torch.ones(2); x.data=torch.zeros(3,dtype=torch.float64); x ; x=torch.ones(2); x.data=3
x=torch.ones(2); del x.data ; x=torch.ones(2); x.cpu() is x ; x=torch.ones(2); x.to('cpu') is x
x=torch.ones(2); x.to(torch.device('cpu'),torch.float64) ; x=torch.ones(2); x.foo=3; x.foo
x=torch.tensor([1.,2.]); y=copy.copy(x); y[0]=9; x
x=torch.tensor([1.,2.]); y=copy.deepcopy(x); y[0]=9; [x,y]
x=torch.tensor([1.,2.],requires_grad=True); copy.deepcopy(x)
x=torch.tensor([1.,2.],requires_grad=True); (x*x).sum().backward(); y=copy.deepcopy(x); y.grad
x=torch.tensor([1.,2.],requires_grad=True); copy.deepcopy(x*2)
x=torch.tensor([1.,2.],requires_grad=True); copy.copy(x)
x=torch.tensor([1.,2.],requires_grad=True); copy.copy(x*2)
x=torch.arange(6.).reshape(2,3).t(); copy.deepcopy(x)
x=torch.arange(6.); y=copy.deepcopy([x,x[2:4]]); y[0][2]=99; y[1]
x=torch.arange(6.); y=copy.deepcopy([x,x]); y[0] is y[1]
x=torch.arange(6.); x.foo=3; copy.deepcopy(x).foo ; x=torch.arange(6.); x.foo=3; copy.copy(x).foo
x=torch.ones(2,dtype=torch.bfloat16); copy.deepcopy(x)
x=torch.ones(2,requires_grad=True); pickle.loads(pickle.dumps(x*2))
x=torch.arange(6.); a,b=pickle.loads(pickle.dumps((x,x[1:3]))); a[1]=77; b
x=torch.tensor([1.,2.]); x.foo=[1]; pickle.loads(pickle.dumps(x)).foo
t=torch.from_dlpack(np.arange(3.)); t ; a=np.arange(3.); t=torch.from_dlpack(a); t[0]=7; a
t=torch.arange(3.); a=np.from_dlpack(t); t[0]=9; a
"""


@pytest.mark.parametrize("source", entries(PROGRAMS))
def test_programs(source: str) -> None:
    check(source)


# --- between the engines --------------------------------------------------------------------------

DTYPES = (
    "float32", "float64", "float16", "bfloat16", "complex64", "complex128", "int64", "int32",
    "int16", "int8", "uint8", "bool",
)  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("legacy", [False, True], ids=["object", "capsule"])
def test_dlpack_shares_memory_with_pytorch(dtype: str, legacy: bool) -> None:
    """Both ways, as objects and as bare capsules: what one engine writes the other sees."""
    ours = tautograd.zeros(2, 3, dtype=getattr(tautograd, dtype)).t()
    theirs = torch.from_dlpack(tautograd.to_dlpack(ours) if legacy else ours)
    back = tautograd.from_dlpack(torch.utils.dlpack.to_dlpack(theirs) if legacy else theirs)
    assert str(theirs.dtype) == str(back.dtype) == f"torch.{dtype}"
    assert theirs.stride() == back.stride() == (1, 3)
    ours[1, 0] = 1
    assert theirs[1, 0] == 1
    theirs[2, 1] = 1
    assert back.tolist() == ours.tolist() == theirs.tolist()


def test_dlpack_memory_outlives_its_owner() -> None:
    theirs = torch.arange(1000.0)
    ours = tautograd.from_dlpack(theirs)[3:]
    del theirs
    assert ours.sum().item() == sum(range(3, 1000))


def test_a_capsule_is_used_once() -> None:
    capsule = tautograd.to_dlpack(tautograd.ones(2))
    tautograd.from_dlpack(capsule)
    with pytest.raises(RuntimeError, match="consumed only once"):
        tautograd.from_dlpack(capsule)


def test_numpy_shares_memory() -> None:
    array = np.arange(6.0).reshape(2, 3)
    tensor = tautograd.from_numpy(array.T)
    tensor[0, 1] = 9
    assert array[1, 0] == 9
    assert np.shares_memory(tensor.numpy(), array)


# --- pickles --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_pickle_keeps_everything(dtype: str) -> None:
    x = tautograd.arange(6).to(getattr(tautograd, dtype)).reshape(2, 3).t()
    y = pickle.loads(pickle.dumps(x))
    assert (y.dtype, y.stride(), y.tolist()) == (x.dtype, x.stride(), x.tolist())
    y[0, 0] = 1  # its memory is its own, and can be written


def test_a_pickle_names_one_function_only() -> None:
    """Nothing but the project's own rebuilding function is looked up when a tensor is loaded."""
    named: list[str] = []

    class Watching(pickle._Unpickler):  # type: ignore[name-defined]
        def find_class(self, module: str, name: str) -> Any:
            named.append(f"{module}.{name}")
            return super().find_class(module, name)

    import io

    Watching(io.BytesIO(pickle.dumps(tautograd.ones(2, requires_grad=True)))).load()
    assert named == ["tautograd._tensor.copying.rebuild"]


def test_a_forged_pickle_cannot_reach_outside_its_data() -> None:
    from tautograd._tensor.copying import rebuild

    for strides in ((100,), (-1,)):
        with pytest.raises(ValueError, match="outside"):
            rebuild(None, b"1234", "float32", (2,), strides, False, {})


def test_only_what_a_view_shows_is_pickled() -> None:
    base = tautograd.zeros(100_000)
    assert len(pickle.dumps(base[::1000])) < 2000


# --- subclasses -----------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", [torch, tautograd], ids=["torch", "tautograd"])
def test_subclasses(engine: Any) -> None:
    class Mine(engine.Tensor):
        pass

    x = Mine([1.0, 2.0])
    assert type(x) is Mine
    assert isinstance(x, engine.Tensor)
    y = engine.ones(2, requires_grad=True)
    z = (y * 2).as_subclass(Mine)
    assert type(z) is Mine
    z.sum().backward()
    assert y.grad.tolist() == [2.0, 2.0]


def test_bfloat16_has_no_numpy_array() -> None:
    with pytest.raises(TypeError, match="BFloat16"):
        tautograd.ones(2, dtype=tautograd.bfloat16).numpy()
    with pytest.raises(TypeError, match="can't convert"):
        torch.from_numpy(np.ones(2, ml_dtypes.bfloat16))
    # tautograd takes the extension type that it computes with itself
    assert tautograd.from_numpy(np.ones(2, ml_dtypes.bfloat16)).dtype is tautograd.bfloat16
