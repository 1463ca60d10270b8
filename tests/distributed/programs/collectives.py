"""Every collective on every dtype and reduction, with small whole numbers, which every dtype holds exactly."""

import warnings

REDUCTIONS = ["SUM", "PRODUCT", "MIN", "MAX", "BAND", "BOR", "BXOR", "AVG"]
DTYPES = [
    "bool", "uint8", "int8", "int32", "int64", "float16", "bfloat16", "float32", "float64",
    "complex64", "complex128",
]  # fmt: skip


def plain(value):
    """What a result is, as Python's own numbers."""
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if hasattr(value, "tolist"):
        return [str(value.dtype), list(value.shape), value.tolist()]
    return value


def main(torch, dist):
    warnings.simplefilter("ignore")
    rank, size = dist.get_rank(), dist.get_world_size()
    found = {}

    def case(name, run):
        try:
            found[name] = plain(run())
        except Exception as error:
            words = str(error).splitlines()[0]
            found[name] = [type(error).__name__, words]

    def mine(dtype, shape, salt=0):
        count = 1
        for extent in shape:
            count *= extent
        numbers = [(rank * 3 + i * 2 + salt) % 4 for i in range(count)]
        return torch.tensor(numbers).reshape(shape).to(getattr(torch, dtype))

    def reduced(name, dtype, kind):
        op, x = getattr(dist.ReduceOp, kind), mine(dtype, (size, 3))
        if name == "all_reduce":
            dist.all_reduce(x, op)
        elif name == "reduce":
            dist.reduce(x, size - 1, op)
            return x if rank == size - 1 else None
        elif name == "reduce_scatter":
            out = torch.zeros(3, dtype=x.dtype)
            dist.reduce_scatter(out, list(x.unbind()), op)
            return out
        else:
            out = torch.zeros(1, 3, dtype=x.dtype)
            dist.reduce_scatter_tensor(out, x, op)
            return out
        return x

    for dtype in DTYPES:
        for kind in REDUCTIONS:
            if kind == "AVG" and not (dtype.startswith(("float", "bfloat", "complex"))):
                continue  # PyTorch's group is left broken by it
            for name in ("all_reduce", "reduce", "reduce_scatter", "reduce_scatter_tensor"):
                case(f"{name} {dtype} {kind}", lambda n=name, d=dtype, k=kind: reduced(n, d, k))

    def moved(name, dtype):
        x = mine(dtype, (2, 3))
        if name == "broadcast":
            dist.broadcast(x, size - 1)
            return x
        if name == "all_gather":
            out = [torch.zeros_like(x) for _ in range(size)]
            dist.all_gather(out, x)
            return out
        if name == "all_gather_into_tensor":
            out = torch.zeros(2 * size, 3, dtype=x.dtype)
            dist.all_gather_into_tensor(out, x)
            return out
        if name == "gather":
            out = [torch.zeros_like(x) for _ in range(size)] if rank == 0 else None
            dist.gather(x, out, dst=0)
            return out
        if name == "scatter":
            rows = [x + i for i in range(size)] if rank == 0 and dtype != "bool" else [x] * size
            out = torch.zeros_like(x)
            dist.scatter(out, rows if rank == 0 else None, src=0)
            return out
        if name == "all_to_all_single":
            given = mine(dtype, (size, 2))
            out = torch.zeros_like(given)
            dist.all_to_all_single(out, given)
            return out
        if name == "all_to_all_uneven":
            given = mine(dtype, (sum(range(1, size + 1)), 2))
            out = torch.zeros(size * (rank + 1), 2, dtype=x.dtype)
            dist.all_to_all_single(out, given, [rank + 1] * size, list(range(1, size + 1)))
            return out
        if name == "all_to_all":
            given = [mine(dtype, (2,), i) for i in range(size)]
            out = [torch.zeros(2, dtype=x.dtype) for i in range(size)]
            dist.all_to_all(out, given)
            return out
        if name == "ring":
            out = torch.zeros_like(x)
            if size == 1:
                return x
            send = dist.isend(x, (rank + 1) % size, tag=3)
            source = dist.recv(out, (rank - 1) % size, tag=3)
            send.wait()
            return [out, source]
        if name == "batch":
            if size == 1:
                return x
            out = torch.zeros_like(x)
            works = dist.batch_isend_irecv([
                dist.P2POp(dist.isend, x, (rank + 1) % size),
                dist.P2POp(dist.irecv, out, (rank - 1) % size),
            ])  # fmt: skip
            for work in works:
                work.wait()
            return out
        raise AssertionError(name)

    moves = ["broadcast", "all_gather", "all_gather_into_tensor", "gather", "scatter"]
    moves += ["all_to_all_single", "all_to_all_uneven", "all_to_all", "ring", "batch"]
    for dtype in [*DTYPES, "int16"]:
        for name in moves:
            if dtype == "int16" and name != "ring":
                continue
            if name == "gather" and dtype.startswith("complex"):
                continue  # which gloo refuses
            case(f"{name} {dtype}", lambda n=name, d=dtype: moved(n, d))

    def inference(name):
        with torch.inference_mode():
            return reduced(name, "float32", "SUM") if "reduce" in name else moved(name, "float32")

    for name in ["all_reduce", "reduce", "reduce_scatter", "reduce_scatter_tensor", *moves]:
        case(f"inference mode: {name}", lambda n=name: inference(n))

    def asynchronous():
        x = mine("float32", (4,))
        work = dist.all_reduce(x, async_op=True)
        done = work.wait()
        return [x, done, work.is_completed(), work.get_future().wait()[0]]

    def futures():
        x = mine("float32", (4,))
        future = dist.all_reduce(x, async_op=True).get_future()
        return future.then(lambda f: f.value()[0] / size).wait()

    def objects():
        gathered, here = [None] * size, [None] * size if rank == 0 else None
        dist.all_gather_object(gathered, {"rank": rank, "text": "x" * rank})
        dist.gather_object((rank, "two"), here, dst=0)
        spread = [{"a": 1}, [2, "three"], None] if rank == 0 else [None] * 3
        dist.broadcast_object_list(spread, src=0)
        mine_of = [None]
        dist.scatter_object_list(
            mine_of, [f"for {i}" for i in range(size)] if rank == 0 else None, src=0
        )
        return [gathered, here, spread, mine_of]

    def groups():
        half = dist.new_group(list(range(0, size, 2)))
        x = torch.tensor([float(rank)])
        if rank % 2 == 0:
            dist.all_reduce(x, group=half)
            said = [
                dist.get_rank(half),
                dist.get_world_size(half),
                dist.get_process_group_ranks(half),
            ]
            last = dist.get_process_group_ranks(half)[-1]
            said += [dist.get_global_rank(half, 0), dist.get_group_rank(half, last)]
            y = torch.tensor([float(rank)])
            dist.broadcast(y, last, group=half)
            return [x, said, y]
        return [x, dist.get_rank(half), dist.get_world_size(half)]

    def mesh():
        if size % 2:
            made = dist.init_device_mesh("cpu", (size,))
            return [made.shape, made.get_coordinate(), dist.get_world_size(made.get_group())]
        made = dist.init_device_mesh("cpu", (2, size // 2), mesh_dim_names=("rows", "columns"))
        x = torch.tensor([float(rank)])
        dist.all_reduce(x, group=made.get_group("columns"))
        rows = made["rows"]
        y = torch.tensor([float(rank)])
        dist.all_reduce(y, group=rows.get_group())
        said = [
            list(made.shape),
            made.get_coordinate(),
            made.get_local_rank("columns"),
            rows.size(),
        ]
        return [x, y, said, made.mesh]

    case("mesh", mesh)
    case("async", asynchronous)
    case("future", futures)
    case("objects", objects)
    case("groups", groups)
    case("not contiguous", lambda: (x := mine("float32", (3, 4)).t(), dist.all_reduce(x))[0])
    case("a slice", lambda: (x := mine("float32", (4, 4)), dist.all_reduce(x[1:3]))[0])
    case("empty", lambda: (x := torch.zeros(0), dist.all_reduce(x))[0])
    case("scalar", lambda: (x := torch.tensor(2.0), dist.all_reduce(x))[0])
    case("barrier", dist.barrier)
    case("monitored", dist.monitored_barrier)

    refused = {
        "a text": lambda: dist.all_reduce("x"),
        "a list": lambda: dist.all_reduce([torch.ones(1)]),
        "no source": lambda: dist.broadcast(torch.ones(1)),
        "a source outside": lambda: dist.broadcast(torch.ones(1), src=size + 3),
        "two sources": lambda: dist.broadcast(torch.ones(1), src=0, group_src=0),
        "too few": lambda: dist.all_gather([torch.ones(2)] * (size + 1), torch.ones(2)),
        "too large": lambda: dist.all_gather(
            [torch.ones(3)] + [torch.ones(2)] * (size - 1), torch.ones(2)
        ),
        "dtypes": lambda: dist.all_gather([torch.ones(2).long()] * size, torch.ones(2)),
        "a scatter list": lambda: dist.scatter(
            torch.ones(1), None if rank == 0 else [torch.ones(1)] * size
        ),
        "a gather list": lambda: dist.gather(
            torch.ones(1), None if rank == 0 else [torch.ones(1)] * size
        ),
        "to itself": lambda: dist.send(torch.ones(1), dst=rank),
        "twice": lambda: dist.init_process_group("gloo"),
        "no such rank": lambda: dist.get_global_rank(dist.group.WORLD, size + 1),
        "P2POp": lambda: dist.P2POp(dist.all_reduce, torch.ones(1), 0),
        "no list": lambda: dist.batch_isend_irecv(3),
        "lists": lambda: dist.all_to_all(
            [torch.ones(1)] * (size + 1), [torch.ones(1)] * (size + 1)
        ),
        "a group too large": lambda: dist.new_group(list(range(size + 1))),
        "a rank outside": lambda: dist.new_group([size + 5]),
        "a rank twice": lambda: dist.new_group([0, 0]),
        "a tag below 0": lambda: dist.send(torch.ones(1), dst=(rank + 1) % size, tag=-1),
    }
    for name, run in refused.items():
        case(f"refused: {name}", run)
    return found
