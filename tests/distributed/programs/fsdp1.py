"""`FullyShardedDataParallel` in each of its forms: losses, gradients, norms, states and errors."""

import contextlib
import functools
import importlib
import io
import warnings


def main(torch, dist):
    nn = torch.nn
    engine = torch.__name__.split(".")[0]
    fsdp = importlib.import_module(f"{engine}.distributed.fsdp")
    wrap = importlib.import_module(f"{engine}.distributed.fsdp.wrap")
    FSDP, Strategy = fsdp.FullyShardedDataParallel, fsdp.ShardingStrategy
    rank, size = dist.get_rank(), dist.get_world_size()
    cpu = torch.device("cpu")
    warnings.simplefilter("ignore")
    torch.set_default_dtype(torch.float64)
    found = {}

    class Block(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.norm, self.up = nn.LayerNorm(width), nn.Linear(width, 3 * width)
            self.down = nn.Linear(3 * width, width)

        def forward(self, x):
            return x + self.down(torch.relu(self.up(self.norm(x))))

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.words, self.block = nn.Embedding(11, 6), Block(6)
            self.head = nn.Linear(6, 11, bias=False)
            self.head.weight = self.words.weight

        def forward(self, x):
            return self.head(self.block(self.words(x)))

    def model(normed=False):
        torch.manual_seed(5)
        last = [nn.BatchNorm1d(7)] if normed else []
        return nn.Sequential(nn.Linear(5, 7), Block(7), Block(7), *last, nn.Linear(7, 3))

    def data(step):
        torch.manual_seed(100 * step + rank)
        return torch.randn(4, 5), torch.randn(4, 3)

    by_block = functools.partial(wrap.transformer_auto_wrap_policy, transformer_layer_cls={Block})

    def made(net=None, **options):
        options = {"auto_wrap_policy": by_block, "device_id": cpu, **options}
        return FSDP(model() if net is None else net, **options)

    def train(net, optimizer, steps=3, clip=None, sync=None):
        seen = []
        for step in range(steps):
            x, y = data(step)
            optimizer.zero_grad()
            if sync is not None:
                with net.no_sync():
                    ((net(y @ torch.ones(3, 5)) - y) ** 2).mean().backward()
            loss = ((net(x) - y) ** 2).mean()
            loss.backward()
            if clip is not None:
                seen.append(float(net.clip_grad_norm_(*clip)))
            grads = [p.grad for p in net.parameters()]
            seen += [None if g is None else g.double().sum().item() for g in grads]
            optimizer.step()
            seen.append(loss.item())
        for name, p in net.named_parameters():
            seen += [name, list(p.shape), p.detach().double().flatten().tolist()]
        return seen

    def case(name, run):
        try:
            found[name] = run()
        except Exception as error:
            found[name] = f"{type(error).__name__}: {error}"

    def sgd(net):
        return torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def trained(clip=None, sync=None, **options):
        def run():
            net = made(**options)
            return train(net, sgd(net), clip=clip, sync=sync)

        return run

    def in_float32(run):
        def switched():
            torch.set_default_dtype(torch.float32)
            try:
                return run()
            finally:
                torch.set_default_dtype(torch.float64)

        return switched

    strategies = [Strategy.FULL_SHARD, Strategy.SHARD_GRAD_OP, Strategy.NO_SHARD]
    for strategy in strategies:
        for original in (False, True):
            label = f"{strategy.name}{', original' if original else ''}"
            kind = {"sharding_strategy": strategy, "use_orig_params": original}
            case(label, trained(**kind))
            case(f"{label}, accumulated", trained(sync=True, **kind))
            # PyTorch's own norm takes float32 at most.
            case(f"{label}, clipped", in_float32(trained(clip=(0.1,), **kind)))
            case(f"{label}, largest", in_float32(trained(clip=(0.1, float("inf")), **kind)))
    if size == 4:
        meshes = importlib.import_module(f"{engine}.distributed.device_mesh")
        for strategy in (Strategy.HYBRID_SHARD, Strategy._HYBRID_SHARD_ZERO2):
            mesh = meshes.init_device_mesh("cpu", (2, 2))
            case(strategy.name, trained(sharding_strategy=strategy, device_mesh=mesh))
        pairs = [dist.new_group([0, 1]), dist.new_group([2, 3])][rank // 2]
        across = [dist.new_group([0, 2]), dist.new_group([1, 3])][rank % 2]
        case(
            "hybrid by groups",
            trained(sharding_strategy=Strategy.HYBRID_SHARD, process_group=(pairs, across)),
        )
    case("no policy", trained(auto_wrap_policy=None))
    case("every module", trained(auto_wrap_policy=wrap.always_wrap_policy))
    by_size = functools.partial(wrap.size_based_auto_wrap_policy, min_num_params=60)
    case("by size", trained(auto_wrap_policy=by_size))
    case("by class", trained(auto_wrap_policy=wrap.ModuleWrapPolicy({Block})))
    custom = wrap.CustomPolicy(
        lambda m: {"sharding_strategy": Strategy.SHARD_GRAD_OP} if isinstance(m, Block) else False
    )
    case("custom", trained(auto_wrap_policy=custom))
    half = fsdp.MixedPrecision(torch.float32, torch.float32, torch.float32)
    case("float32", trained(mixed_precision=half))
    case(
        "float32, summed in float64",
        trained(mixed_precision=fsdp.MixedPrecision(torch.float32, torch.float64)),
    )
    case("offloaded", trained(cpu_offload=fsdp.CPUOffload(offload_params=True)))
    case(
        "prefetched",
        trained(forward_prefetch=True, backward_prefetch=None, limit_all_gathers=False),
    )

    def normed():
        low = fsdp.MixedPrecision(torch.bfloat16, torch.float32, torch.bfloat16)
        net = made(model(normed=True), mixed_precision=low)
        seen = train(net, sgd(net))
        buffers = [[n, str(b.dtype), b.double().flatten().tolist()] for n, b in net.named_buffers()]
        return [seen, buffers, str(net)]

    case("batch norm in its own precision", in_float32(normed))

    def tied():
        torch.manual_seed(3)
        net = made(Tied())
        optimizer = torch.optim.Adam(net.parameters(), lr=0.01)
        losses = []
        for step in range(3):
            torch.manual_seed(step * size + rank)
            words = torch.randint(11, (4, 5))
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(net(words).flatten(0, 1), words.flatten())
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    case("tied weights", tied)

    def recurrent():
        torch.manual_seed(3)
        net = made(nn.LSTM(5, 4), auto_wrap_policy=None)
        optimizer = sgd(net)
        losses = []
        for step in range(3):
            optimizer.zero_grad()
            loss = net(data(step)[0][:, None])[0].pow(2).sum()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    case("recurrent", recurrent)

    def synchronised(seed, synchronises):
        torch.manual_seed(seed)
        layers = nn.Sequential(nn.Linear(5, 7), nn.BatchNorm1d(7), nn.Linear(7, 3))
        net = FSDP(layers, device_id=cpu, sync_module_states=synchronises)
        return train(net, sgd(net))

    case("states from rank 0", lambda: synchronised(rank, True))  # PyTorch asks for a GPU here
    case("states alike", lambda: synchronised(0, False))

    def frozen():
        net = model()
        for p in net[1].parameters():
            p.requires_grad_(False)
        net = made(net, use_orig_params=True)
        return train(net, sgd(net))

    case("frozen", frozen)

    def partly_frozen(original):
        net = model()
        net[0].bias.requires_grad_(False)
        net = made(net, use_orig_params=original)
        return train(net, torch.optim.SGD(net.parameters(), lr=0.1))

    case("partly frozen, original", lambda: partly_frozen(True))
    case("partly frozen", lambda: partly_frozen(False))

    def ignored(key):
        net = model()
        given = (
            {"ignored_modules": [net[3]]}
            if key == "modules"
            else {"ignored_states": list(net[3].parameters())}
        )
        net = made(net, **given)
        return train(net, sgd(net))

    case("ignored modules", lambda: ignored("modules"))
    case("ignored states", lambda: ignored("states"))

    def optimizer_first():
        net = model()
        optimizer = sgd(net)
        net = made(net, use_orig_params=True)
        return train(net, optimizer)

    case("optimizer made before, original", optimizer_first)

    def evaluated_between():
        net = made()
        optimizer, seen = sgd(net), []
        for step in range(3):
            x, y = data(step)
            optimizer.zero_grad()
            loss = ((net(x) - y) ** 2).mean()
            loss.backward()
            optimizer.step()
            net.eval()
            with torch.no_grad():
                seen.append([loss.item(), net(x).sum().item()])
            net.train()
        return seen

    case("evaluated between", evaluated_between)

    def hooked():
        net = made()

        def hook(state, whole, shard):
            state.append(whole.shape[0])
            whole.div_(size)
            dist.reduce_scatter_tensor(shard, whole)

        sizes = []
        net.register_comm_hook(sizes, hook)
        return [train(net, sgd(net)), sizes]

    case("communication hook", hooked)
    case("text", lambda: str(made()))
    case("types", lambda: [type(p).__name__ for p in made().parameters()])
    case(
        "forwarded",
        lambda: [
            made()[1].world_size,
            made().module[0].in_features,
            made(nn.Linear(2, 3), auto_wrap_policy=None).out_features,
        ],
    )
    case(
        "root",
        lambda: [
            made().check_is_root(),
            len(FSDP.fsdp_modules(made())),
            len(FSDP.fsdp_modules(made(), root_only=True)),
        ],
    )

    # --- errors ---------------------------------------------------------------------------------

    def inner(call):
        def run():
            net = made()
            net(data(0)[0])
            return call(net[1])

        return run

    def inside(net):
        with net.no_sync():
            pass

    case("error: no_sync inside", inner(inside))
    case("error: clip inside", inner(lambda net: net.clip_grad_norm_(1.0)))
    case(
        "error: two dtypes",
        lambda: made(
            nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2).float()), auto_wrap_policy=None
        ),
    )
    case("error: wrapped twice", lambda: made(made()))
    case(
        "error: hybrid by hand",
        lambda: made(sharding_strategy=Strategy.HYBRID_SHARD, auto_wrap_policy=None),
    )
    case("error: both ignored", lambda: made(ignored_modules=[nn.Linear(1, 1)], ignored_states=[]))
    case(
        "error: settings of another kind",
        lambda: FSDP.set_state_dict_type(
            made(), fsdp.StateDictType.FULL_STATE_DICT, fsdp.ShardedStateDictConfig()
        ),
    )

    def written_from_one():
        with FSDP.summon_full_params(made(), rank0_only=True):
            pass

    case("error: written on one rank", written_from_one)

    # --- states ---------------------------------------------------------------------------------

    def numbers(value):
        if isinstance(value, dict):
            return {key: numbers(one) for key, one in value.items()}
        if isinstance(value, torch.Tensor):
            value = value.full_tensor() if hasattr(value, "full_tensor") else value
            return [list(value.shape), str(value.dtype), value.double().flatten().tolist()]
        return value

    def adam(net):
        return torch.optim.AdamW(net.parameters(), lr=0.01)

    def after_steps(**options):
        net = made(**options)
        optimizer = adam(net)
        train(net, optimizer, 2)
        return net, optimizer

    full = fsdp.StateDictType.FULL_STATE_DICT

    def whole(rank0, **options):
        def run():
            net, optimizer = after_steps(**options)
            config = fsdp.FullStateDictConfig(rank0_only=rank0)
            of_optimizer = fsdp.FullOptimStateDictConfig(rank0_only=rank0)
            with FSDP.state_dict_type(net, full, config, of_optimizer):
                state, states = net.state_dict(), FSDP.optim_state_dict(net, optimizer)
            return numbers(state), numbers(states)

        return run

    for original in (False, True):
        for strategy in strategies:
            case(
                f"whole state, {strategy.name}, {original}",
                whole(False, use_orig_params=original, sharding_strategy=strategy),
            )
    case("whole state on rank 0", whole(True))

    def resumed(kind, original):
        """Saved, loaded into another model that goes on as the first one does."""

        def run():
            net, optimizer = after_steps(use_orig_params=original)
            with FSDP.state_dict_type(net, kind):
                state, states = net.state_dict(), FSDP.optim_state_dict(net, optimizer)
            torch.manual_seed(77)
            again = made(
                nn.Sequential(nn.Linear(5, 7), Block(7), Block(7), nn.Linear(7, 3)),
                use_orig_params=original,
            )
            other = adam(again)
            with FSDP.state_dict_type(again, kind):
                keys = again.load_state_dict(state)
                other.load_state_dict(FSDP.optim_state_dict_to_load(again, other, states))
            return [str(keys), train(net, optimizer), train(again, other)]

        return run

    for original in (False, True):
        case(f"resumed, whole, {original}", resumed(full, original))
        case(
            f"resumed, sharded, {original}",
            resumed(fsdp.StateDictType.SHARDED_STATE_DICT, original),
        )

    def local():
        net, _ = after_steps()
        again = made()
        with FSDP.state_dict_type(net, fsdp.StateDictType.LOCAL_STATE_DICT):
            state = {name: value.clone() for name, value in net.state_dict().items()}
        with FSDP.state_dict_type(again, fsdp.StateDictType.LOCAL_STATE_DICT):
            again.load_state_dict(state)
        same = zip(net.parameters(), again.parameters(), strict=True)
        return [list(state), [bool((a == b).all()) for a, b in same]]

    case("local state", local)

    def from_plain():
        """A plain model's states go into a sharded one, and back."""
        torch.manual_seed(9)
        plain = nn.Sequential(nn.Linear(5, 7), Block(7), Block(7), nn.Linear(7, 3))
        optimizer = adam(plain)
        plain(torch.ones(2, 5)).sum().backward()
        optimizer.step()
        net = made()
        own = adam(net)
        with FSDP.state_dict_type(net, full):
            net.load_state_dict(plain.state_dict())
        kind = fsdp.OptimStateKeyType.PARAM_NAME
        named = FSDP.rekey_optim_state_dict(optimizer.state_dict(), kind, plain)
        own.load_state_dict(FSDP.shard_full_optim_state_dict(named, net, optim=own))
        seen = train(net, own, 2)
        with FSDP.state_dict_type(net, full):
            back, states = net.state_dict(), FSDP.full_optim_state_dict(net, own, rank0_only=False)
        plain.load_state_dict(back)
        ids = FSDP.rekey_optim_state_dict(states, fsdp.OptimStateKeyType.PARAM_ID, plain)
        optimizer.load_state_dict(ids)
        return [seen, numbers(plain.state_dict()), sorted(named["state"]), sorted(ids["state"])]

    case("from a plain model and back", from_plain)

    def summoned(original):
        net, _ = after_steps(use_orig_params=original)
        with FSDP.summon_full_params(net):
            seen = {name: numbers(p) for name, p in net.named_parameters()}
            with torch.no_grad():
                net.module[0].weight.fill_(0.25)
        with FSDP.summon_full_params(net, writeback=False):
            net.module[0].bias.data.fill_(9.0)
        with FSDP.summon_full_params(net):
            return [seen, numbers(net.module[0].weight), numbers(net.module[0].bias)]

    case("summoned", lambda: summoned(False))
    case("summoned, original", lambda: summoned(True))

    def with_gradients():
        net = made(use_orig_params=True)
        x, y = data(0)
        ((net(x) - y) ** 2).mean().backward()
        with FSDP.summon_full_params(net, with_grads=True):
            return {name: numbers(p.grad) for name, p in net.named_parameters()}

    case("summoned with gradients", with_gradients)

    def applied():
        net = made()
        net.apply(lambda m: nn.init.constant_(m.weight, 0.1) if isinstance(m, nn.Linear) else None)
        return train(net, sgd(net))

    case("applied", applied)

    def from_file():
        net, _ = after_steps()
        with FSDP.state_dict_type(net, full):
            state = net.state_dict()
        file = io.BytesIO()
        torch.save(state, file)
        file.seek(0)
        plain = model()
        with contextlib.suppress(AttributeError):
            del state._metadata
        return [str(plain.load_state_dict(torch.load(file))), plain(torch.ones(2, 5)).tolist()]

    case("a file for a plain model", from_file)
    torch.set_default_dtype(torch.float32)
    return found
