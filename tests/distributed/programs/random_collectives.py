"""Collectives drawn at random: kinds, groups, dtypes, reductions, shapes, layouts, and now and then a wrong argument.

All ranks draw the same calls from the seed. Numbers are small and whole, so that no order of a sum rounds.
"""

import random
import warnings
from datetime import timedelta

INTEGERS = ["bool", "uint8", "int8", "int32", "int64"]
FLOATS = ["float16", "bfloat16", "float32", "float64"]
COMPLEX = ["complex64", "complex128"]
REDUCTIONS = ["SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "AVG"]
LAYOUTS = ["plain", "plain", "transposed", "strided", "offset", "channels last", "leaf"]
REDUCING = [
    "all_reduce",
    "reduce",
    "reduce_scatter",
    "reduce_scatter_tensor",
    "all_reduce_coalesced",
]
MOVING = [
    "broadcast", "all_gather", "all_gather_into_tensor", "gather", "scatter", "all_to_all_single",
    "all_to_all_uneven", "all_to_all", "ring", "objects", "barrier", "all_gather_coalesced",
]  # fmt: skip
WRONG = ["", "", "", "", "", "", "", "dtype", "length", "shape", "rank", "none", "text"]
BROKEN = ("onnection", "imed out", "timeout", "reset by peer", "ancelled")


def plain(value):
    """What a result is, as Python's own numbers."""
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if hasattr(value, "tolist"):
        return [str(value.dtype), list(value.shape), value.detach().tolist()]
    return value


class Draw:
    """One call."""

    def __init__(self, rng, groups):
        self.name = rng.choice(REDUCING + MOVING)
        self.dtype = rng.choice(INTEGERS + FLOATS + (COMPLEX if self.name != "gather" else []))
        self.op = rng.choice(REDUCTIONS)
        self.wrong = rng.choice(WRONG)
        if self.op == "AVG" and self.dtype in INTEGERS:
            self.op = "SUM"  # PyTorch's group is left broken by it
        self.shape = rng.choice(
            [(), (0,), (1,), (7,), (2, 3), (3, 0, 2), (4, 2), (1, 2, 3, 2), (300,), (70000,)]
        )
        self.layout, self.out_layout = rng.choice(LAYOUTS), rng.choice(LAYOUTS)
        if self.layout == "leaf" and self.name not in ("all_reduce", "broadcast", "reduce"):
            self.layout = (
                "plain"  # gloo refuses it on some ranks and takes it on others, in the same call
            )
        if self.out_layout == "leaf" and self.op not in ("SUM", "AVG"):
            self.out_layout = "plain"  # one reason to refuse it is enough
        self.group = rng.randrange(groups)
        self.root = rng.randrange(100)
        self.by_group = rng.random() < 0.3
        self.asynchronous = rng.random() < 0.4
        self.salt = rng.randrange(50)
        self.splits = [rng.randrange(4) for _ in range(64)]

    def __str__(self):
        parts = [
            self.name, self.dtype, self.op if self.name in REDUCING else "", str(self.shape), self.layout,
            self.out_layout, f"group {self.group}", f"root {self.root}", "async" if self.asynchronous else "",
            f"wrong {self.wrong}" if self.wrong else "", "by group" if self.by_group else "",
        ]  # fmt: skip
        return ", ".join(part for part in parts if part)


class Caller:
    """A drawn call on one engine."""

    def __init__(self, torch, dist, groups, draw):
        self.torch, self.dist, self.draw = torch, dist, draw
        self.group, self.members = groups[draw.group]
        self.me = self.members.index(dist.get_rank())
        self.size = len(self.members)
        self.dtype = getattr(torch, draw.dtype)

    def made(self, shape, layout, salt=0, zero=False):
        """A tensor of such numbers, lying in memory in such a way."""
        torch, count = self.torch, 1
        for extent in shape:
            count *= extent
        most = 2 if self.draw.op == "PRODUCT" else 5
        base = torch.arange(count) * 2 + self.me * 3 + salt + self.draw.salt
        numbers = torch.zeros(count) if zero else base % most
        if self.draw.op == "PRODUCT" and not zero:
            numbers = numbers + 1
        x = numbers.reshape(shape).to(self.dtype)
        if layout != "leaf" and self.torch.__name__ == "torch":
            return x  # gloo reads memory as it lies, gaps and all; what is meant is what it makes of a copy
        if layout == "transposed" and x.dim() >= 2:
            return x.transpose(0, -1).contiguous().transpose(0, -1)
        if layout == "strided" and x.dim():
            room = torch.zeros((*shape[:-1], shape[-1] * 2), dtype=self.dtype)
            room[..., ::2] = x
            return room[..., ::2]
        if layout == "offset" and x.dim():
            room = torch.zeros((shape[0] + 2, *shape[1:]), dtype=self.dtype)
            room[1 : shape[0] + 1] = x
            return room[1 : shape[0] + 1]
        if layout == "channels last" and x.dim() == 4:
            return x.contiguous(memory_format=torch.channels_last)
        if layout == "leaf" and self.draw.dtype in FLOATS + COMPLEX:
            return x.requires_grad_()
        return x

    def given(self, shape=None, salt=0):
        return self.made(self.draw.shape if shape is None else shape, self.draw.layout, salt)

    def room(self, shape=None):
        return self.made(
            self.draw.shape if shape is None else shape, self.draw.out_layout, zero=True
        )

    def root(self):
        """The rank that gives or takes, and how it is named."""
        at = self.draw.root % self.size
        if self.draw.wrong == "rank":
            return at, {"root": 77}
        return at, {"group_root": at} if self.draw.by_group else {"root": self.members[at]}

    def run(self):
        return getattr(self, self.draw.name)()

    def finished(self, work):
        if self.draw.asynchronous:
            return work if work is None else work.wait()
        return work

    def options(self):
        return {"group": self.group, "async_op": self.draw.asynchronous}

    def spoiled(self, x):
        """An input with something wrong about it, the same on every rank."""
        wrong = self.draw.wrong
        if wrong == "dtype":
            return x.to(self.torch.int64 if x.dtype != self.torch.int64 else self.torch.float32)
        if wrong == "shape":
            return self.torch.cat([x.reshape(-1), x.reshape(-1), x.reshape(-1).new_zeros(1)])
        if wrong == "none":
            return None
        if wrong == "text":
            return "x"
        return x

    def spoiled_list(self, xs):
        if self.draw.wrong == "length":
            return [*xs, xs[0]]
        if self.draw.wrong == "shape":
            return [
                self.spoiled(x) for x in xs
            ]  # PyTorch looks at its rank's alone, and leaves others waiting
        if self.draw.wrong == "dtype":
            return [*xs[:-1], self.spoiled(xs[-1])]
        if self.draw.wrong == "none":
            return None
        if self.draw.wrong == "text":
            return "x"
        return xs

    def op(self):
        return getattr(self.dist.ReduceOp, self.draw.op)

    def all_reduce(self):
        x = self.given()
        if self.draw.wrong in ("none", "text"):
            return self.dist.all_reduce(self.spoiled(x), self.op(), **self.options())
        return [self.finished(self.dist.all_reduce(x, self.op(), **self.options())), x]

    def all_reduce_coalesced(self):
        xs = [self.given(), self.given((3,), 1)]
        if self.draw.wrong in ("none", "text"):
            xs = self.spoiled(xs)
        work = self.dist.all_reduce_coalesced(xs, self.op(), **self.options())
        if self.draw.asynchronous:
            work.wait()
        return xs

    def reduce(self):
        x = self.given()
        at, root = self.root()
        call = {("dst" if key == "root" else "group_dst"): value for key, value in root.items()}
        given = self.spoiled(x) if self.draw.wrong in ("none", "text") else x
        done = self.finished(self.dist.reduce(given, op=self.op(), **call, **self.options()))
        return [done, x if self.me == at else None]

    def reduce_scatter(self):
        out, xs = self.room(), [self.given(salt=i) for i in range(self.size)]
        call = self.dist.reduce_scatter
        return [self.finished(call(out, self.spoiled_list(xs), self.op(), **self.options())), out]

    def reduce_scatter_tensor(self):
        shape = self.draw.shape or (1,)
        out, x = self.room(shape), self.given((shape[0] * self.size, *shape[1:]))
        call = self.dist.reduce_scatter_tensor
        return [self.finished(call(out, self.spoiled(x), self.op(), **self.options())), out]

    def broadcast(self):
        x = self.given()
        _, root = self.root()
        call = {("src" if key == "root" else "group_src"): value for key, value in root.items()}
        given = self.spoiled(x) if self.draw.wrong in ("none", "text") else x
        return [self.finished(self.dist.broadcast(given, **call, **self.options())), x]

    def all_gather(self):
        out = [self.room() for _ in range(self.size)]
        call = self.dist.all_gather
        return [self.finished(call(self.spoiled_list(out), self.given(), **self.options())), out]

    def all_gather_coalesced(self):
        xs = [self.given(), self.given((3,), 1)]
        out = [[self.room(), self.room((3,))] for _ in range(self.size)]
        if self.draw.wrong in ("none", "text"):
            out = self.spoiled(out)
        work = self.dist.all_gather_coalesced(out, xs, **self.options())
        if self.draw.asynchronous:
            work.wait()
        return out

    def all_gather_into_tensor(self):
        shape = self.draw.shape or (1,)
        out, x = self.room((shape[0] * self.size, *shape[1:])), self.given(shape)
        call = self.dist.all_gather_into_tensor
        return [self.finished(call(out, self.spoiled(x), **self.options())), out]

    def gather(self):
        at, root = self.root()
        call = {("dst" if key == "root" else "group_dst"): value for key, value in root.items()}
        out = [self.room() for _ in range(self.size)] if self.me == at else None
        x = self.spoiled(self.given()) if self.draw.wrong in ("none", "text") else self.given()
        return [self.finished(self.dist.gather(x, out, **call, **self.options())), out]

    def scatter(self):
        at, root = self.root()
        call = {("src" if key == "root" else "group_src"): value for key, value in root.items()}
        xs = [self.given(salt=i) for i in range(self.size)] if self.me == at else None
        out = self.room()
        given = self.spoiled(out) if self.draw.wrong in ("none", "text") else out
        return [self.finished(self.dist.scatter(given, xs, **call, **self.options())), out]

    def all_to_all_single(self):
        shape = self.draw.shape or (1,)
        x, out = (make((shape[0] * self.size, *shape[1:])) for make in (self.given, self.room))
        call = self.dist.all_to_all_single
        return [self.finished(call(out, self.spoiled(x), **self.options())), out]

    def all_to_all_uneven(self):
        n, rest = self.size, self.draw.shape[1:]
        table = [self.draw.splits[i * n : (i + 1) * n] for i in range(n)]
        sent, taken = table[self.me], [row[self.me] for row in table]
        x, out = self.given((sum(sent), *rest)), self.room((sum(taken), *rest))
        if self.draw.wrong == "length":
            sent = [*sent, 0]
        if self.draw.wrong == "shape":
            sent = [sent[0] + 1, *sent[1:]]
        call = self.dist.all_to_all_single
        return [self.finished(call(out, x, taken, sent, **self.options())), out]

    def all_to_all(self):
        n = self.size
        xs, out = [self.given(salt=i) for i in range(n)], [self.room() for _ in range(n)]
        if self.draw.wrong in ("length", "none", "text"):
            out = self.spoiled_list(out)
        return [self.finished(self.dist.all_to_all(out, xs, **self.options())), out]

    def ring(self):
        shape = (
            (3,) if 0 in self.draw.shape else self.draw.shape
        )  # gloo loses messages of nothing now and then
        x, out = self.given(shape), self.room(shape)
        if self.size == 1:
            return x
        to, source = (self.members[(self.me + step) % self.size] for step in (1, -1))
        if self.draw.wrong == "rank":
            to = 77
        if self.draw.wrong in ("none", "text"):
            x = self.spoiled(x)
        tag = self.draw.salt
        sent = self.dist.isend(x, to, group=self.group, tag=tag)
        if self.draw.asynchronous:
            self.dist.irecv(out, source, group=self.group, tag=tag).wait()
            said = None
        else:
            anyone = self.size == 2 and self.draw.by_group
            said = self.dist.recv(out, None if anyone else source, group=self.group, tag=tag)
        sent.wait()
        return [said, out]

    def objects(self):
        dist, n, at = self.dist, self.size, self.draw.root % self.size
        root = self.members[at]
        mine = {"rank": self.me, "text": "é" * self.draw.salt, "nested": [None, (1, 2.5)]}
        gathered, here = [None] * n, [None] * n if self.me == at else None
        dist.all_gather_object(gathered, mine, group=self.group)
        dist.gather_object(mine, here, dst=root, group=self.group)
        spread = [mine, 3, self.made((2,), "plain")] if self.me == at else [None] * 3
        dist.broadcast_object_list(spread, src=root, group=self.group)
        own = [None]
        parts = [[i, mine] for i in range(n)] if self.me == at else None
        dist.scatter_object_list(own, parts, src=root, group=self.group)
        return [gathered, here, spread, own]

    def barrier(self):
        return self.finished(self.dist.barrier(**self.options()))


def main(torch, dist, seed, count):
    warnings.simplefilter("ignore")
    rank, size = dist.get_rank(), dist.get_world_size()
    rng = random.Random(int(seed))
    wanted = [list(range(size)), list(range(0, size, 2)), sorted({0, size - 1}), [size - 1]]
    wanted.append(sorted(rng.sample(range(size), rng.randint(1, size))))
    groups = [(dist.new_group(ranks, timeout=timedelta(seconds=60)), ranks) for ranks in wanted]
    found = {}
    for i in range(int(count)):
        draw = Draw(rng, len(groups))
        name = f"{i}. {draw}"
        if rank not in groups[draw.group][1]:
            found[name] = "not a member"
            continue
        try:
            found[name] = plain(Caller(torch, dist, groups, draw).run())
        except Exception as error:
            words = (str(error).splitlines() or [""])[0]
            found[name] = [type(error).__name__, words]
            if any(part in str(error) for part in BROKEN):
                break
    return found
