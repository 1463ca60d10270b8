"""Random tensors as PyTorch makes them: every function, argument and error, and number for number.

The tables run on both engines from the same seed; `expressions` says what is compared.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import tautograd

from .expressions import check, entries

EXPRESSIONS = """
torch.rand(3) ; torch.rand(2,3) ; torch.rand((2,3)) ; torch.rand([2]) ; torch.rand()
torch.rand(()) ; torch.rand(0) ; torch.rand(-1) ; torch.rand(2.5)
torch.rand(20,dtype=torch.float64) ; torch.rand(20,dtype=torch.float16)
torch.rand(20,dtype=torch.bfloat16) ; torch.rand(3,dtype=torch.int64)
torch.rand(3,dtype=torch.complex64) ; torch.rand(3,requires_grad=True)
torch.rand(3,generator=torch.Generator().manual_seed(3)) ; torch.rand(size=(2,))
torch.rand(3,out=torch.empty(3)) ; torch.rand(3,out=torch.empty(0)) ; torch.rand(3,device='cpu')
torch.rand(3,foo=1) ; torch.randn(3) ; torch.randn(17) ; torch.randn(2,16)
torch.randn(3,dtype=torch.float64) ; torch.randn(20,dtype=torch.float16)
torch.randn(20,dtype=torch.bfloat16) ; torch.randn(3,dtype=torch.complex64)
torch.randn(20,dtype=torch.complex128) ; torch.randn(3,dtype=torch.int64)
torch.randn(3,requires_grad=True) ; torch.randn(()) ; torch.randint(10,(3,))
torch.randint(2,10,(3,)) ; torch.randint(0,10,(2,3),dtype=torch.int32)
torch.randint(10,(3,),dtype=torch.float32) ; torch.randint(low=2,high=5,size=(4,))
torch.randint(high=5,size=(4,)) ; torch.randint(10,3) ; torch.randint(10) ; torch.randint(5,5,(2,))
torch.randint(5,2,(2,)) ; torch.randint(0,300,(2,),dtype=torch.uint8)
torch.randint(-5,5,(3,),dtype=torch.uint8) ; torch.randint(0,2,(3,),dtype=torch.bool)
torch.randint(10,(3,),requires_grad=True) ; torch.randint(10.5,(3,))
torch.randint(10,(3,),generator=torch.Generator().manual_seed(1)) ; torch.randint(2**40,(3,))
torch.randint(10,[2,2]) ; torch.randint(10,(3,),dtype=torch.complex64) ; torch.randperm(5)
torch.randperm(0) ; torch.randperm(1) ; torch.randperm(-1) ; torch.randperm(5,dtype=torch.int32)
torch.randperm(5,dtype=torch.float32) ; torch.randperm(300,dtype=torch.uint8)
torch.randperm(5,generator=torch.Generator().manual_seed(2)) ; torch.randperm(5.5)
torch.randperm(5,requires_grad=True) ; torch.randperm(5,out=torch.empty(0,dtype=torch.int64))
torch.normal(0.,1.,(3,)) ; torch.normal(2,3,(20,)) ; torch.normal(mean=0.,std=1.,size=(2,2))
torch.normal(torch.zeros(3),torch.ones(3)) ; torch.normal(torch.arange(20.),torch.ones(20))
torch.normal(torch.zeros(3),2.) ; torch.normal(torch.zeros(3)) ; torch.normal(1.,torch.ones(3))
torch.normal(torch.zeros(2,1),torch.ones(3)) ; torch.normal(torch.zeros(3),-torch.ones(3))
torch.normal(torch.zeros(3),-1.) ; torch.normal(0.,-1.,(3,))
torch.normal(torch.zeros(3,dtype=torch.int64),torch.ones(3))
torch.normal(torch.zeros(3),torch.ones(3,dtype=torch.int64))
torch.normal(torch.zeros(3,dtype=torch.float64),torch.ones(3))
torch.normal(torch.zeros(3,requires_grad=True),torch.ones(3))
torch.normal(torch.zeros(3,dtype=torch.complex64),1.) ; torch.normal(0.,1.,(3,),dtype=torch.float64)
torch.normal(0.,1.,(3,),requires_grad=True) ; torch.normal(0.,1.)
torch.normal(torch.zeros(3),torch.ones(3),out=torch.empty(3))
torch.normal(torch.zeros(3),torch.ones(3),generator=torch.Generator().manual_seed(3))
torch.bernoulli(torch.full((5,),0.5)) ; torch.bernoulli(torch.tensor([0.,1.,0.5]))
torch.bernoulli(torch.zeros(3),0.5) ; torch.bernoulli(torch.zeros(3),p=0.7)
torch.bernoulli(torch.tensor([0,1])) ; torch.bernoulli(torch.full((5,),0.5,dtype=torch.float64))
torch.bernoulli(torch.full((5,),0.5,requires_grad=True)) ; torch.full((5,),0.3).bernoulli()
torch.zeros(5).bernoulli(0.5) ; torch.zeros(5).bernoulli_(0.5) ; torch.zeros(5).bernoulli_()
torch.zeros(5).bernoulli_(torch.full((5,),0.4)) ; torch.zeros(5,dtype=torch.int64).bernoulli_(0.5)
torch.zeros(5,dtype=torch.bool).bernoulli_(0.5) ; torch.zeros(5).bernoulli_(1.5)
torch.zeros(2,3).t().bernoulli_(0.5) ; torch.multinomial(torch.tensor([1.,2.,3.]),2)
torch.multinomial(torch.tensor([1.,2.,3.]),5,replacement=True)
torch.multinomial(torch.tensor([1.,2.,3.]),5)
torch.multinomial(torch.tensor([[1.,2.,3.],[0.,0.,1.]]),2,True)
torch.multinomial(torch.tensor([[1.,2.,3.],[0.,0.,1.]]),2)
torch.multinomial(torch.tensor([1.,-1.]),1) ; torch.multinomial(torch.tensor([0.,0.]),1)
torch.multinomial(torch.tensor([1,2]),1) ; torch.multinomial(torch.ones(2,2,2),1)
torch.multinomial(torch.ones(3),0) ; torch.ones(4).multinomial(2)
torch.multinomial(torch.ones(4),2,generator=torch.Generator().manual_seed(3))
torch.poisson(torch.tensor([1.,5.,20.])) ; torch.poisson(torch.tensor([-1.]))
torch.poisson(torch.tensor([1])) ; torch.poisson(torch.tensor([1.,2.],requires_grad=True))
torch.binomial(torch.tensor([10.,5.]),torch.tensor([0.5,0.2]))
torch.binomial(torch.tensor([100.,50.]),torch.tensor([0.5,0.2])) ; torch.rand_like(torch.zeros(3))
torch.rand_like(torch.zeros(2,3).t()) ; torch.rand_like(torch.zeros(3),dtype=torch.float64)
torch.rand_like(torch.zeros(3,dtype=torch.int64))
torch.rand_like(torch.zeros(3),requires_grad=True) ; torch.rand_like(3)
torch.rand_like(torch.zeros(2,3).t(),memory_format=torch.contiguous_format)
torch.randn_like(torch.zeros(3)) ; torch.randn_like(torch.zeros(4,5).t())
torch.randn_like(torch.zeros(3,dtype=torch.complex64))
torch.randn_like(torch.zeros(3,dtype=torch.float64))
torch.randn_like(torch.zeros(3,requires_grad=True)) ; torch.randint_like(torch.zeros(3),10)
torch.randint_like(torch.zeros(3),5,10) ; torch.randint_like(torch.zeros(3,dtype=torch.int64),5,10)
torch.randint_like(torch.zeros(3),10,dtype=torch.int64)
torch.randint_like(torch.zeros(3),low=1,high=4) ; torch.zeros(3).normal_()
torch.zeros(20).normal_(2,3) ; torch.zeros(3).normal_(mean=1.,std=2.) ; torch.zeros(3).normal_(0,-1)
torch.zeros(3,dtype=torch.int64).normal_() ; torch.zeros(4,5).t().normal_()
torch.zeros(2,20)[:,::2].normal_() ; torch.zeros(3,dtype=torch.complex64).normal_()
torch.zeros(3).uniform_() ; torch.zeros(3).uniform_(-1,1) ; torch.zeros(3).uniform_(2,1)
torch.zeros(3,dtype=torch.int64).uniform_() ; torch.zeros(2,3).t().uniform_()
torch.zeros(3).random_() ; torch.zeros(3).random_(10) ; torch.zeros(3).random_(5,10)
torch.zeros(3,dtype=torch.int64).random_() ; torch.zeros(3,dtype=torch.int64).random_(10)
torch.zeros(3,dtype=torch.uint8).random_() ; torch.zeros(3,dtype=torch.bool).random_()
torch.zeros(3).random_(10,5) ; torch.zeros(3,dtype=torch.int64).random_(-5,5)
torch.zeros(3,dtype=torch.int64).random_(0,None) ; torch.zeros(3).exponential_()
torch.zeros(20).exponential_(2.) ; torch.zeros(3).exponential_(lambd=0.5)
torch.zeros(3).exponential_(-1) ; torch.zeros(3,dtype=torch.int64).exponential_()
torch.zeros(3).log_normal_() ; torch.zeros(20).log_normal_(1,2) ; torch.zeros(3).log_normal_(0,-1)
torch.zeros(3).cauchy_() ; torch.zeros(3).cauchy_(1,2) ; torch.zeros(3).cauchy_(0,-1)
torch.zeros(3).geometric_(0.5) ; torch.zeros(3,dtype=torch.int64).geometric_(0.5)
torch.zeros(3).geometric_(1.5) ; torch.zeros(1).expand(3).normal_() ; torch.zeros(0).normal_()
torch.Generator() ; torch.Generator().device ; torch.Generator(device='cpu').initial_seed()
torch.Generator('cpu').manual_seed(5).initial_seed() ; torch.Generator('foo')
torch.Generator().get_state().shape ; torch.Generator().get_state().dtype
torch.Generator().set_state(torch.zeros(3)) ; torch.Generator().set_state(3)
isinstance(torch.Generator().seed(),int) ; torch.Generator().manual_seed('a')
torch.Generator().manual_seed(-1).initial_seed() ; torch.Generator().manual_seed(2**64)
torch.manual_seed(3).device ; torch.manual_seed('a') ; torch.manual_seed(1.7)
torch.manual_seed(None) ; torch.cuda.manual_seed('a') ; torch.cuda.manual_seed_all(None)
torch.manual_seed(2**64) ; isinstance(torch.seed(),int) ; torch.get_rng_state().shape
torch.get_rng_state() ; torch.default_generator.initial_seed() ; torch.random.get_rng_state().shape
torch.random.default_generator is torch.default_generator ; isinstance(torch.random.seed(),int)
torch.func.vmap(lambda x: x+torch.rand(2))(torch.zeros(3))
torch.func.vmap(lambda x: x+torch.rand(2),randomness='different')(torch.zeros(3,2))
torch.func.vmap(lambda x: x+torch.rand(2),randomness='same')(torch.zeros(3,2))
torch.func.vmap(lambda x: x+torch.randn(2),randomness='different')(torch.zeros(3,2))
torch.func.vmap(lambda x: x+torch.randint(5,(2,)),randomness='different')(torch.zeros(3,2))
torch.func.vmap(lambda x: torch.randn_like(x),randomness='different')(torch.zeros(3,2))
torch.func.vmap(lambda x: torch.rand_like(x),randomness='error')(torch.zeros(3,2))
torch.func.vmap(lambda x: torch.bernoulli(x),randomness='different')(torch.full((3,2),0.5))
torch.func.vmap(lambda x: x.clone().normal_(),randomness='different')(torch.full((3,2),0.5))
torch.func.vmap(lambda x: x.clone().uniform_(),randomness='same')(torch.full((3,2),0.5))
torch.func.vmap(lambda x: x+torch.randperm(3),randomness='different')(torch.zeros(2,3))
torch.func.vmap(lambda x: torch.normal(x,1.),randomness='different')(torch.zeros(2,3))
torch.func.vmap(lambda x: torch.multinomial(x,2),randomness='different')(torch.ones(2,3))
"""


@pytest.mark.parametrize("source", entries(EXPRESSIONS))
def test_expressions(source: str) -> None:
    check(source)


PROGRAMS = """
m=torch.ones(3,requires_grad=True); torch.normal(m,m).sum().backward(); m.grad
m=torch.zeros(3,requires_grad=True); y=torch.normal(m,1.); y.sum().backward(); m.grad
p=torch.full((5,),0.5,requires_grad=True); y=torch.bernoulli(p); y.sum().backward(); p.grad
x=torch.ones(3,requires_grad=True); x.normal_()
x=torch.ones(3,requires_grad=True); y=x*1; y.normal_(); y.sum().backward(); [y,x.grad]
x=torch.ones(3,requires_grad=True); y=x*1; y.uniform_(); y
x=torch.ones(3,requires_grad=True); y=x*1; y.bernoulli_(0.5); y
x=torch.ones(3,requires_grad=True); y=x*1; y.random_(5); y
x=torch.ones(3,requires_grad=True); y=x*1; y.exponential_(); y
x=torch.zeros(3); v=x._version; x.normal_(); x._version-v
x=torch.zeros(3); v=x._version; x.uniform_(); x._version-v
x=torch.zeros(3); v=x._version; x.random_(3); x._version-v
g=torch.Generator(); g.manual_seed(7); [torch.rand(2,generator=g),torch.rand(2,generator=g)]
g=torch.Generator(); s=g.get_state(); torch.rand(2,generator=g); g.set_state(s); g.initial_seed()
g=torch.Generator(); s=g.get_state(); torch.rand(2,generator=g); g.set_state(s)
g=torch.Generator(); s=g.get_state(); h=torch.Generator(); h.set_state(s); torch.rand(2,generator=h)
g=torch.Generator().manual_seed(1); h=g.clone_state(); torch.rand(1,generator=h)
torch.manual_seed(3); torch.initial_seed() ; torch.manual_seed(3); torch.rand(1)
torch.manual_seed(-1); torch.initial_seed()
torch.manual_seed(torch.tensor(5)); torch.initial_seed()
torch.manual_seed(np.int64(5)); torch.initial_seed()
s=torch.get_rng_state(); a=torch.rand(2); torch.set_rng_state(s); b=torch.rand(2); [a,b]
torch.random.manual_seed(3); torch.random.initial_seed()
s=torch.random.get_rng_state(); torch.random.set_rng_state(s)
c=torch.random.fork_rng(); c.__enter__(); torch.rand(1); c.__exit__(None,None,None); torch.rand(1)
c=torch.random.fork_rng(enabled=False); c.__enter__(); torch.rand(1); torch.rand(1)
"""


@pytest.mark.parametrize("source", entries(PROGRAMS))
def test_programs(source: str) -> None:
    check(source)


# --- the same numbers -----------------------------------------------------------------------------

# How far a result may be from PyTorch's, in units in the last place.
DRAWS: dict[str, tuple[Any, int]] = {
    "rand": (lambda t, n: t.rand(n), 0),
    "randn": (lambda t, n: t.randn(n), 2),
    "randint": (lambda t, n: t.randint(1000, (n,)), 0),
    "randperm": (lambda t, n: t.randperm(n), 0),
    "normal_": (lambda t, n: t.empty(n).normal_(1.5, 2.0), 2),
    "uniform_": (lambda t, n: t.empty(n).uniform_(-3.0, 5.0), 0),
}
SEEDS = range(100)
FEW_SIZES = (1, 2, 15, 16, 17, 100, 1000)
ALL_SIZES = range(1, 1001)


def disagreements(name: str, sizes: Any) -> list[tuple[int, int]]:
    """The (seed, size) pairs at which the engines differ by more than they may."""
    draw, units = DRAWS[name]
    found = []
    for seed in SEEDS:
        for size in sizes:
            torch.default_generator.manual_seed(seed)
            tautograd.default_generator.manual_seed(seed)
            want, got = draw(torch, size).numpy(), draw(tautograd, size).numpy()
            if np.array_equal(want, got):
                continue
            if not units or np.any(np.abs(want - got) > units * np.spacing(np.abs(want))):
                found.append((seed, size))
    return found


@pytest.mark.parametrize("name", DRAWS)
def test_same_numbers(name: str) -> None:
    assert disagreements(name, FEW_SIZES) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWS)
def test_same_numbers_at_every_size(name: str) -> None:
    """For seeds 0 to 99 and sizes 1 to 1000: integers and uniforms exactly, normals to 2 ulp."""
    assert disagreements(name, ALL_SIZES) == []
