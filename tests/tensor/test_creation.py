"""Tensors made from data, sizes and ranges; and the dtypes, devices and limits they are made of.

The tables run on both engines; `expressions` says what is compared.
"""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
import torch

import tautograd

from .expressions import check, entries

# --- from data -----------------------------------------------------------------------------------

FROM_DATA = """
torch.tensor(1) ; torch.tensor(1.5) ; torch.tensor(True) ; torch.tensor(1j) ; torch.tensor([1,2,3])
torch.tensor([1,2.5]) ; torch.tensor([True,2]) ; torch.tensor([1,2j]) ; torch.tensor([[1,2],[3,4]])
torch.tensor([]) ; torch.tensor([[],[]]) ; torch.tensor(()) ; torch.tensor([[1,2],[3]])
torch.tensor([1,[2]]) ; torch.tensor([[1],2]) ; torch.tensor('a') ; torch.tensor(['a'])
torch.tensor(None) ; torch.tensor([None]) ; torch.tensor({}) ; torch.tensor(object())
torch.tensor(range(3)) ; torch.tensor((1,2)) ; torch.tensor(np.float32(2))
torch.tensor(np.array([1,2],dtype=np.int16)) ; torch.tensor([np.float64(1),2])
torch.tensor([np.float32(1),np.float32(2)]) ; torch.tensor([np.int32(1),2])
torch.tensor([torch.tensor(1.),torch.tensor(2)])
torch.tensor([torch.tensor([1.]),torch.tensor([2.])]) ; torch.tensor([torch.tensor([1.,2.])])
torch.tensor([np.array([1,2]),np.array([3,4])]) ; torch.tensor(torch.tensor([1.,2.]))
torch.tensor(torch.tensor([1.,2.],requires_grad=True)) ; torch.tensor([1,2],dtype=torch.float64)
torch.tensor([1.7,-2.7],dtype=torch.int64) ; torch.tensor([300],dtype=torch.uint8)
torch.tensor([-1],dtype=torch.uint8) ; torch.tensor([-200],dtype=torch.uint8)
torch.tensor(300,dtype=torch.int8) ; torch.tensor([1e40]) ; torch.tensor([1e40],dtype=torch.float32)
torch.tensor([70000.],dtype=torch.float16) ; torch.tensor([2**63]) ; torch.tensor(2**64)
torch.tensor([2**62,2**63-1]) ; torch.tensor([-2**63])
torch.tensor(float('nan'),dtype=torch.int64) ; torch.tensor(float('inf'),dtype=torch.int32)
torch.tensor(1j,dtype=torch.float32) ; torch.tensor([1.5],dtype=torch.bool)
torch.tensor([0.5,0],dtype=torch.bool) ; torch.tensor(1,dtype=float) ; torch.tensor(1,dtype=int)
torch.tensor(1,dtype=bool) ; torch.tensor(1,dtype=complex) ; torch.tensor(1,dtype='float32')
torch.tensor(1,dtype=np.float32) ; torch.tensor(1.,requires_grad=True)
torch.tensor(1,requires_grad=True) ; torch.tensor(True,requires_grad=True)
torch.tensor(1j,requires_grad=True) ; torch.tensor([1.],device='cpu')
torch.tensor([1.],device=torch.device('cpu')) ; torch.tensor([1.],device='foo')
torch.tensor([1.],device=0) ; torch.tensor() ; torch.tensor(1,2) ; torch.tensor(data=[1])
torch.tensor([1],foo=3) ; torch.tensor([1.],pin_memory=True) ; torch.tensor(1.1,dtype=torch.float16)
torch.tensor(1.1,dtype=torch.bfloat16) ; torch.tensor([1.1,3.3],dtype=torch.bfloat16)
torch.tensor(1.1,dtype=torch.complex64) ; torch.tensor(np.ones((2,3)).T)
torch.tensor(np.asfortranarray(np.ones((2,3)))) ; torch.tensor(np.ones((2,3))[:,::2])
torch.tensor(np.array([1,2])[::-1]) ; torch.tensor(np.array([1,2],dtype='>i4'))
torch.tensor(b'ab') ; torch.tensor([[[1]]]) ; torch.tensor([float('nan'),float('inf')])
torch.tensor([np.nan,1]) ; torch.as_tensor([1,2]) ; torch.as_tensor(np.float32(3))
torch.as_tensor(3) ; torch.asarray([1,2]) ; torch.asarray(3) ; torch.asarray([1,2],copy=False)
torch.asarray(np.ones(2),dtype=torch.float32,copy=False)
torch.asarray(torch.ones(2,requires_grad=True))
torch.asarray(torch.ones(2,requires_grad=True),requires_grad=False)
torch.asarray(torch.ones(2),requires_grad=True) ; torch.asarray([1.,2.],requires_grad=True)
torch.asarray([1,2],requires_grad=True) ; torch.asarray(bytearray(b'abcd'),dtype=torch.uint8)
torch.asarray(np.float64(3)) ; torch.asarray(range(3)) ; torch.from_numpy(np.ones(2))
torch.from_numpy(np.ones((2,2)).T) ; torch.from_numpy(np.float32(2)) ; torch.from_numpy([1])
torch.from_numpy(np.array([1,2])[::-1]) ; torch.from_numpy(np.array([1],dtype='>f4'))
torch.from_numpy(np.array(3.)) ; torch.from_numpy(np.array([True]))
torch.from_numpy(np.array([1j]))
torch.frombuffer(bytearray(b'\x01\x00\x00\x00\x02\x00\x00\x00'),dtype=torch.int32)
torch.frombuffer(bytearray(b'\x01\x00\x00\x00\x02\x00\x00\x00'),dtype=torch.int32,offset=4)
torch.frombuffer(bytearray(b'\x01\x00\x00\x00\x02\x00\x00\x00'),dtype=torch.int16,count=2)
torch.frombuffer(bytearray(b'\x01\x00\x00'),dtype=torch.int32)
torch.frombuffer(b'\x01\x00',dtype=torch.uint8) ; torch.frombuffer(bytearray(),dtype=torch.uint8)
torch.frombuffer(bytearray(4),dtype=torch.uint8,offset=9) ; torch.frombuffer(3,dtype=torch.uint8)
torch.frombuffer(bytearray(4))
torch.frombuffer(bytearray(4),dtype=torch.float32,requires_grad=True)
torch.frombuffer(bytearray(4),dtype=torch.uint8,count=9) ; torch.scalar_tensor(3)
torch.scalar_tensor(3,dtype=torch.int64) ; torch.scalar_tensor(True) ; torch.scalar_tensor([1])
torch.scalar_tensor(1j)
"""


@pytest.mark.parametrize("source", entries(FROM_DATA))
def test_from_data(source: str) -> None:
    check(source)


# --- from sizes ----------------------------------------------------------------------------------

FILLED = """
torch.zeros(2,3) ; torch.zeros((2,3)) ; torch.zeros([2,3]) ; torch.zeros(2) ; torch.zeros(())
torch.zeros([]) ; torch.zeros() ; torch.zeros(0) ; torch.zeros(2,0) ; torch.zeros(-1)
torch.zeros(2.0) ; torch.zeros('a') ; torch.zeros(None) ; torch.zeros(2,'a')
torch.zeros((2,3),dtype=torch.int32) ; torch.zeros(torch.Size([2])) ; torch.zeros(torch.tensor(2))
torch.zeros(torch.tensor(2),3) ; torch.zeros(np.int64(2)) ; torch.zeros(True)
torch.zeros(size=(2,)) ; torch.zeros(2,dtype=torch.bool) ; torch.zeros(2,dtype=torch.complex64)
torch.zeros(2,requires_grad=True) ; torch.zeros(2,dtype=torch.int64,requires_grad=True)
torch.zeros(2,dtype=float) ; torch.zeros(2,dtype=int) ; torch.zeros(2,dtype='a')
torch.zeros(2,foo=1) ; torch.zeros(2,device='cpu') ; torch.zeros(2,layout=torch.strided)
torch.zeros(2,out=torch.ones(2)) ; torch.zeros(2,out=torch.ones(2,dtype=torch.int32))
torch.zeros(2,out=torch.ones(2,dtype=torch.int32),dtype=torch.float32)
torch.zeros(3,out=torch.ones(2)) ; torch.ones(2,3) ; torch.ones(2,dtype=torch.bfloat16)
torch.ones(2,dtype=torch.bool) ; torch.ones(2,memory_format=torch.contiguous_format)
torch.full((2,),3) ; torch.full((2,),3.) ; torch.full((2,),True) ; torch.full((2,),1j)
torch.full([2,2],7,dtype=torch.float64) ; torch.full(2,3) ; torch.full((2,),'a')
torch.full((2,),torch.tensor(3)) ; torch.full((2,),torch.tensor([3]))
torch.full((2,),300,dtype=torch.uint8) ; torch.full((2,),1.5,dtype=torch.int64)
torch.full((2,),float('nan'),dtype=torch.int64) ; torch.full((2,),1e300)
torch.full((2,),3.,requires_grad=True) ; torch.full((2,),3,requires_grad=True)
torch.full(size=(2,),fill_value=2) ; torch.full((-1,),2) ; torch.full((),2)
torch.full((2,),3.,out=torch.zeros(2,dtype=torch.float64)) ; torch.empty(2,3).shape
torch.empty((2,3),dtype=torch.int64).dtype
torch.empty(1,2,3,4,memory_format=torch.channels_last).stride()
torch.empty(2,requires_grad=True).requires_grad ; torch.empty_strided((2,3),(1,2)).stride()
torch.empty_strided((2,3),(1,)).stride() ; torch.empty_permuted((2,3,4),(2,0,1)).stride()
torch.eye(3) ; torch.eye(2,3) ; torch.eye(0) ; torch.eye(3,dtype=torch.int64)
torch.eye(3,dtype=torch.bool) ; torch.eye(3,requires_grad=True) ; torch.eye(-1) ; torch.eye(2.)
torch.eye(2,-1) ; torch.eye(n=2,m=1) ; torch.eye(3,dtype=torch.bfloat16)
torch.eye(2,out=torch.empty(0)) ; torch.zeros_like(torch.ones(2,3))
torch.zeros_like(torch.ones(2,3).t()) ; torch.zeros_like(torch.ones(4,3)[::2])
torch.zeros_like(torch.ones(3).expand(2,3)) ; torch.zeros_like(torch.ones(2,dtype=torch.int32))
torch.zeros_like(torch.ones(2),dtype=torch.float64)
torch.zeros_like(torch.ones(2,requires_grad=True))
torch.zeros_like(torch.ones(2),requires_grad=True)
torch.zeros_like(torch.ones(2,3).t(),memory_format=torch.contiguous_format) ; torch.zeros_like([1])
torch.zeros_like(torch.ones(2,dtype=torch.int32),requires_grad=True)
torch.zeros_like(input=torch.ones(2)) ; torch.ones_like(torch.zeros(2))
torch.full_like(torch.zeros(2),3) ; torch.full_like(torch.zeros(2,dtype=torch.int64),3.7)
torch.full_like(torch.zeros(2),3,dtype=torch.int64)
torch.full_like(torch.zeros(2,dtype=torch.uint8),300)
torch.empty_like(torch.zeros(2,3).t()).stride() ; torch.ones(2).new_zeros(3)
torch.ones(2).new_zeros((3,)) ; torch.ones(2).new_zeros((3,),dtype=torch.int64)
torch.ones(2,dtype=torch.float64).new_ones(2,2) ; torch.ones(2).new_full((2,),5)
torch.ones(2,dtype=torch.int64).new_full((2,),5.5)
torch.ones(2).new_full((2,),5,requires_grad=True) ; torch.ones(2).new_empty(3).shape
torch.ones(2).new_empty((3,),dtype=torch.int8).dtype
torch.ones(2).new_empty_strided((2,3),(1,2)).stride() ; torch.ones(2).new_tensor([1,2])
torch.ones(2,dtype=torch.int64).new_tensor([1.5,2])
torch.ones(2).new_tensor([1,2],dtype=torch.int64)
torch.ones(2).new_tensor([1.],requires_grad=True) ; torch.ones(2).new_tensor(torch.tensor([1,2]))
torch.ones(2).new([1,2]) ; torch.ones(2).new(3).shape ; torch.ones(2,dtype=torch.int64).new([1,2])
torch.ones(2).new() ; torch.zeros(2,device=torch.device('cpu',0)).device ; torch.newaxis
torch.ones(2).as_subclass(torch.Tensor) ; torch.ones(2).as_subclass(int)
"""


@pytest.mark.parametrize("source", entries(FILLED))
def test_filled(source: str) -> None:
    check(source)


@pytest.mark.parametrize("engine", [torch, tautograd], ids=["torch", "tautograd"])
@pytest.mark.parametrize("array", [np.array(["a"]), np.array([None]), np.array("2020", "M8[Y]")])
def test_arrays_of_other_things(engine: Any, array: Any) -> None:
    kind = array.dtype.type.__name__
    for make in (engine.tensor, engine.from_numpy):
        with pytest.raises(TypeError, match=rf"can't convert np.ndarray of type numpy.{kind}\."):
            make(array)


# --- evenly spaced -------------------------------------------------------------------------------

RANGES = """
torch.arange(5) ; torch.arange(5.) ; torch.arange(1,5) ; torch.arange(1,5,2)
torch.arange(1,2.5,0.5) ; torch.arange(5,1,-1) ; torch.arange(0) ; torch.arange(-1)
torch.arange(1,5,0) ; torch.arange(1,5,-1) ; torch.arange(0,1,0.1)
torch.arange(0,1,0.1,dtype=torch.float64) ; torch.arange(3,dtype=torch.float16)
torch.arange(3,dtype=torch.bfloat16) ; torch.arange(3,dtype=torch.uint8)
torch.arange(3,dtype=torch.bool) ; torch.arange(3,dtype=torch.complex64) ; torch.arange(end=3)
torch.arange(start=1,end=3) ; torch.arange(1,end=4) ; torch.arange(start=1,end=9,step=3)
torch.arange(torch.tensor(3)) ; torch.arange(torch.tensor(3.)) ; torch.arange(np.int64(3))
torch.arange(np.float64(3)) ; torch.arange('a') ; torch.arange() ; torch.arange(1,2,3,4)
torch.arange(True) ; torch.arange(float('nan')) ; torch.arange(float('inf'))
torch.arange(0,10,3,requires_grad=True) ; torch.arange(0.,10,3,requires_grad=True)
torch.arange(3,out=torch.empty(3)) ; torch.arange(3,out=torch.empty(5))
torch.arange(1.7,5.2,dtype=torch.int64) ; torch.arange(2**53,2**53+4) ; torch.arange(0,2,0.3)
torch.arange(-3.5,3.5,1.25) ; torch.range(1,4) ; torch.range(0,1,0.25) ; torch.range(1,4,-1)
torch.range(5,1,-2) ; torch.range(0,3,dtype=torch.int64) ; torch.linspace(0,1,5)
torch.linspace(0,10,steps=1) ; torch.linspace(0,10,steps=0) ; torch.linspace(0,10,steps=-1)
torch.linspace(0,10) ; torch.linspace(0,1,7) ; torch.linspace(-1,1,10)
torch.linspace(3,-3,13,dtype=torch.float64) ; torch.linspace(0,10,5,dtype=torch.int64)
torch.linspace(0,9,4,dtype=torch.int32) ; torch.linspace(1j,2,3)
torch.linspace(0,1,3,dtype=torch.complex64) ; torch.linspace(0,1,5,dtype=torch.float16)
torch.linspace(0,1,5,dtype=torch.bfloat16) ; torch.linspace(0,1,5,requires_grad=True)
torch.linspace(torch.tensor(0.),torch.tensor(1.),3) ; torch.linspace(torch.tensor(0.),1,3)
torch.linspace(start=0,end=1,steps=3) ; torch.linspace(0,1,5.)
torch.linspace(0,1,5,out=torch.empty(5)) ; torch.linspace(0,1,5,dtype=torch.bool)
torch.logspace(0,2,3) ; torch.logspace(0,2,5,base=2) ; torch.logspace(0,2,5,dtype=torch.float64)
torch.logspace(0,1,1) ; torch.logspace(0,1,0) ; torch.logspace(0,3,4,dtype=torch.int64)
torch.logspace(start=0,end=1,steps=3,base=10.0)
"""


@pytest.mark.parametrize("source", entries(RANGES))
def test_ranges(source: str) -> None:
    check(source)


# --- the old constructors ------------------------------------------------------------------------

OLD = """
torch.Tensor(2,3).shape ; torch.Tensor([1,2]) ; torch.Tensor([1.,2.]) ; torch.Tensor()
torch.Tensor(3).shape ; torch.Tensor(()) ; torch.Tensor(torch.Size([2,3])).shape
torch.Tensor((2,3)) ; torch.Tensor(torch.tensor([1.,2.])) ; torch.Tensor(torch.tensor([1,2]))
torch.Tensor(2.5) ; torch.Tensor('a') ; torch.Tensor(None) ; torch.Tensor(np.array([1.,2.]))
torch.Tensor(np.array([1,2])) ; torch.Tensor([[1,2],[3,4]]) ; torch.Tensor(2,'a')
torch.Tensor(True) ; torch.FloatTensor([1,2]) ; torch.FloatTensor(2,3).shape
torch.LongTensor([1,2]) ; torch.LongTensor([1.5]) ; torch.LongTensor(2,3).dtype
torch.DoubleTensor([1]) ; torch.IntTensor([1]) ; torch.ByteTensor([1]) ; torch.BoolTensor([1,0])
torch.HalfTensor([1]) ; torch.BFloat16Tensor([1]) ; torch.CharTensor([1]) ; torch.ShortTensor([1])
torch.FloatTensor.dtype ; torch.FloatTensor(torch.tensor([1.]))
"""


@pytest.mark.parametrize("source", entries(OLD))
def test_old(source: str) -> None:
    check(source)


# --- dtypes, limits, devices, settings -----------------------------------------------------------

KINDS = """
torch.complex(torch.tensor([1.,2.]),torch.tensor([3.,4.]))
torch.complex(torch.tensor(1.),torch.tensor([3.,4.]))
torch.complex(torch.tensor([1.],dtype=torch.float64),torch.tensor([3.]))
torch.complex(torch.tensor([1]),torch.tensor([3]))
torch.polar(torch.tensor([1.,2.]),torch.tensor([0.,1.5]))
torch.polar(torch.tensor([1]),torch.tensor([3])) ; torch.tril_indices(3,3)
torch.tril_indices(3,4,1) ; torch.triu_indices(3,3) ; torch.triu_indices(3,4,-1)
torch.triu_indices(2,2,dtype=torch.int32)
torch.cartesian_prod(torch.tensor([1,2]),torch.tensor([3,4]))
torch.combinations(torch.tensor([1,2,3])) ; torch.vander(torch.tensor([1,2,3]))
torch.meshgrid(torch.tensor([1,2]),torch.tensor([3,4]),indexing='ij') ; torch.float32 ; torch.float
torch.double is torch.float64 ; torch.half is torch.float16 ; torch.long is torch.int64
torch.int is torch.int32 ; torch.short is torch.int16 ; torch.cfloat is torch.complex64
torch.cdouble is torch.complex128 ; torch.float32.is_floating_point ; torch.int32.is_floating_point
torch.complex64.is_complex ; torch.float32.itemsize ; torch.bool.itemsize ; torch.uint8.is_signed
torch.float32.to_complex() ; torch.float64.to_complex() ; torch.bfloat16.to_complex()
torch.int32.to_complex() ; torch.complex64.to_real() ; torch.complex128.to_real()
torch.int64.to_real() ; isinstance(torch.float32,torch.dtype) ; repr(torch.float32)+str(torch.bool)
torch.float32==torch.float ; hash(torch.float32)==hash(torch.float) ; torch.get_default_dtype()
torch.finfo(torch.float32) ; torch.finfo(torch.float64) ; torch.finfo(torch.float16)
torch.finfo(torch.bfloat16) ; torch.finfo(torch.complex64) ; torch.finfo() ; torch.finfo(3)
[getattr(torch.finfo(torch.float32),n) for n in ('bits','eps','max','min')]
[getattr(torch.finfo(torch.float32),n) for n in ('tiny','smallest_normal','dtype')]
torch.finfo(torch.float32).resolution
[getattr(torch.finfo(torch.float64),n) for n in ('bits','eps','max','min')]
[getattr(torch.finfo(torch.float64),n) for n in ('tiny','smallest_normal','dtype')]
torch.finfo(torch.float64).resolution
[getattr(torch.finfo(torch.bfloat16),n) for n in ('bits','eps','max','min')]
[getattr(torch.finfo(torch.bfloat16),n) for n in ('tiny','smallest_normal','dtype')]
torch.finfo(torch.bfloat16).resolution
[getattr(torch.finfo(torch.float16),n) for n in ('bits','eps','max','min')]
[getattr(torch.finfo(torch.float16),n) for n in ('tiny','smallest_normal','dtype')]
torch.finfo(torch.float16).resolution ; torch.iinfo(torch.int32) ; torch.iinfo(torch.int64)
torch.iinfo(torch.uint8) ; torch.iinfo(torch.int8) ; torch.iinfo(torch.bool)
[getattr(torch.iinfo(torch.int16),n) for n in ('bits','max','min','dtype')]
torch.finfo(torch.float32)==torch.finfo(torch.float32) ; torch.device('cpu') ; torch.device('cpu',0)
torch.device('cpu:0') ; torch.device('cuda:1') ; torch.device('cuda',1) ; torch.device('foo')
torch.device('cpu:a') ; torch.device('') ; torch.device() ; torch.device(torch.device('cpu'))
torch.device(0) ; torch.device(1.5) ; torch.device(type='cpu') ; torch.device(type='cpu',index=0)
torch.device('cuda:1',1) ; torch.device('cpu').type ; torch.device('cpu').index
torch.device('cuda:2').index ; str(torch.device('cuda:2'))
torch.device('cpu')==torch.device('cpu') ; torch.device('cpu')==torch.device('cpu',0)
torch.device('cpu')=='cpu' ; hash(torch.device('cpu'))==hash(torch.device('cpu'))
torch.device('meta') ; torch.device('mps') ; torch.device('cpu:-1') ; torch.device('cpu', -1)
torch.strided ; torch.contiguous_format ; torch.channels_last ; torch.preserve_format
torch.get_num_threads()>0 ; torch.get_default_device() ; torch.get_float32_matmul_precision()
torch.inf ; torch.pi ; torch.nan ; torch.e ; torch.can_cast(torch.float32,torch.int32)
torch.can_cast(torch.int32,torch.float32) ; torch.promote_types(torch.int32,torch.float16)
torch.promote_types(torch.uint8,torch.int8) ; torch.result_type(torch.tensor([1]),1.0)
"""


@pytest.mark.parametrize("source", entries(KINDS))
def test_kinds(source: str) -> None:
    check(source)


# --- programs ------------------------------------------------------------------------------------

PROGRAMS = """
x=torch.ones(2); torch.as_tensor(x) is x ; x=torch.ones(2); torch.as_tensor(x,dtype=torch.float64)
x=torch.ones(2,requires_grad=True); torch.as_tensor(x,dtype=torch.float64)
a=np.ones(2); t=torch.as_tensor(a); t[0]=5; a
a=np.ones(2); t=torch.as_tensor(a,dtype=torch.float32); t[0]=5; a
a=np.ones(2); t=torch.asarray(a); t[0]=5; a ; a=np.ones(2); t=torch.asarray(a,copy=True); t[0]=5; a
x=torch.ones(2); torch.asarray(x) is x ; x=torch.ones(2); torch.asarray(x,copy=True) is x
a=np.ones(3); a.flags.writeable=False; torch.from_numpy(a)
x=torch.ones(2); y=torch.Tensor(x); y[0]=5; x
torch.set_default_device('cpu'); z=torch.zeros(1); torch.set_default_device(None); z
torch.set_default_dtype(torch.double); r = torch.tensor(1.); torch.set_default_dtype(torch.float); r
torch.set_default_dtype(torch.double); r = torch.zeros(1); torch.set_default_dtype(torch.float); r
torch.set_default_dtype(torch.double); r = torch.tensor(1j); torch.set_default_dtype(torch.float); r
torch.set_default_dtype(torch.double); r = torch.arange(2.); torch.set_default_dtype(torch.float); r
torch.set_default_dtype(torch.double); r=torch.full((),2.); torch.set_default_dtype(torch.float); r
torch.use_deterministic_algorithms(True); torch.are_deterministic_algorithms_enabled()
torch.use_deterministic_algorithms(False); torch.are_deterministic_algorithms_enabled()
torch.set_num_threads(1); torch.get_num_threads()
"""


@pytest.mark.parametrize("source", entries(PROGRAMS))
def test_programs(source: str) -> None:
    check(source)


# --- ranges to the last bit -----------------------------------------------------------------------

STEPS = (1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100, 255)
DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "uint8")


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", ["arange", "linspace"])
def test_ranges_to_the_last_bit(function: str, dtype: str) -> None:
    """PyTorch rounds per block or per number: a range of another rounding differs somewhere."""
    draw = random.Random(5)
    for steps in STEPS:
        start, step = draw.uniform(-9, 9), draw.uniform(0.01, 0.9)
        if dtype in ("int64", "uint8"):
            start, step = 0, 1
        if function == "arange":
            check(f"torch.arange({start}, {start + steps * step}, {step}, dtype=torch.{dtype})")
        else:
            end = start + steps * step if dtype != "uint8" else steps
            check(f"torch.linspace({start}, {end}, {steps}, dtype=torch.{dtype})")


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_powers_within_rounding(dtype: str) -> None:
    """`logspace` takes powers by another algorithm: a few units in the last place apart."""
    for steps in STEPS:
        want = torch.logspace(-1.3, 1.7, steps, dtype=getattr(torch, dtype)).numpy()
        got = tautograd.logspace(-1.3, 1.7, steps, dtype=getattr(tautograd, dtype)).numpy()
        assert np.all(np.abs(got - want) <= 4 * np.spacing(np.abs(want)))
