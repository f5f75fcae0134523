"""What you set in one thread, and what a worker thread sees of it.

The model is one linear layer, compiled with Inductor. An entry is one compile of its `forward`.
`asyncio.to_thread` runs a call in a worker with the caller's context, a pool's `submit` does not.
"""

import asyncio
import contextlib
from concurrent.futures import ThreadPoolExecutor

import torch
import torch._inductor.config  # torch does not import it by itself
from torch._dynamo.eval_frame import _debug_get_cache_entry_list

import tclab


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(4, 4)

    def forward(self, x):
        return self.linear(x)


def in_a_worker(call):
    """What `call` returns in a thread of its own, as a server's pool starts it."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result()


def compiled(net):
    torch._dynamo.reset()
    return torch.compile(net)


def entries():
    return len(_debug_get_cache_entry_list(Net.forward.__code__))


def served(mode):
    """Entries after a warm-up in the mode, a worker's call in it, and a worker's call without;
    and whether that last result wants a gradient.
    """
    ready, made = compiled(Net()), []

    def inside():
        with mode():
            return ready(x)

    inside()
    made.append(entries())
    in_a_worker(inside)
    made.append(entries())
    with mode():
        last = in_a_worker(lambda: ready(x))
    return *made, entries(), last.requires_grad


def mode_by_mode(net):
    """Entries after a call in each mode, and after one more round."""
    ready, made = compiled(net), []
    for mode in (*MODES.values(), *MODES.values()):
        with mode():
            ready(x)
        made.append(entries())
    return made


x = torch.ones(2, 4)
MODES = {
    "no mode": contextlib.nullcontext,
    "no_grad": torch.no_grad,
    "inference_mode": torch.inference_mode,
    "autocast": lambda: torch.autocast("cpu", dtype=torch.bfloat16),
}
rows = [(name, *served(mode)) for name, mode in MODES.items()]
tclab.show(
    tclab.Table(
        title="Entries after each call",
        name="threads",
        columns=("mode", "warmed up", "worker in the mode", "worker without", "wants gradients"),
        rows=rows,
    )
)
found = {name: rest for name, *rest in rows}
# claim: in-the-mode-a-worker-finds-what-was-compiled
assert all(made[:2] == [1, 1] for made in found.values())
# claim: a-mode-around-the-pool-does-not-reach-it
assert {name: made[2] for name, made in found.items()} == {**dict.fromkeys(MODES, 2), "no mode": 1}
# claim: so-its-result-wants-a-gradient
assert found["no_grad"][3] and found["inference_mode"][3]
frozen = Net().requires_grad_(False)
# claim: each-mode-is-an-entry
assert mode_by_mode(Net()) == [1, 2, 3, 4, 4, 4, 4, 4]
# claim: also-of-weights-that-want-no-gradient
assert mode_by_mode(frozen) == [1, 2, 3, 4, 4, 4, 4, 4]

torch.set_num_threads(1)
ready = compiled(Net())
ready(x)


def with_two_threads():
    torch.set_num_threads(2)
    ready(x)
    return entries()


after = in_a_worker(with_two_threads)
# claim: a-workers-own-number-of-threads-compiles-again
assert after == 2
# claim: that-number-is-not-the-main-threads
assert torch.get_num_threads() == 1
# claim: but-later-workers-start-with-it
assert in_a_worker(torch.get_num_threads) == 2
torch.set_num_threads(1)

LOOKED_AT = {
    "torch.set_grad_enabled(False)": lambda: not torch.is_grad_enabled(),
    "torch.set_autocast_enabled": lambda: torch.is_autocast_enabled("cpu"),
    "a setting of torch._dynamo.config": lambda: torch._dynamo.config.recompile_limit == 3,
    "a setting of torch._inductor.config": lambda: torch._inductor.config.freezing,
    "torch.set_default_dtype": lambda: torch.get_default_dtype() == torch.float64,
    "torch.set_float32_matmul_precision": lambda: torch.get_float32_matmul_precision() == "high",
    "torch.use_deterministic_algorithms": torch.are_deterministic_algorithms_enabled,
}


def look():
    return [seen() for seen in LOOKED_AT.values()]


def set_all(on):
    torch.set_grad_enabled(not on)
    torch.set_autocast_enabled("cpu", on)
    torch._dynamo.config.recompile_limit = 3 if on else 8
    torch._inductor.config.freezing = on
    torch.set_default_dtype(torch.float64 if on else torch.float32)
    torch.set_float32_matmul_precision("high" if on else "highest")
    torch.use_deterministic_algorithms(on)


async def with_context():
    return await asyncio.to_thread(look)


assert not any(look())
set_all(True)
assert all(look())
by_pool, by_asyncio = in_a_worker(look), asyncio.run(with_context())
set_all(False)

ready = compiled(Net())
ready(x)


def raises():
    """Whether a call of a new size in a worker raises."""
    try:
        in_a_worker(lambda: ready(torch.ones(3, 4)))
    except RuntimeError as error:
        return "fail_on_recompile" in str(error)
    return False


with torch.compiler.set_stance("fail_on_recompile"):
    stance = raises()
rows = [*zip(LOOKED_AT, by_pool, by_asyncio), ("torch.compiler.set_stance", stance, None)]
columns = ("set in the main thread", "holds in a pool's worker", "in asyncio.to_thread")
tclab.show(tclab.Table("What a worker sees", "seen", columns, rows))
pool, context = ({row[0]: row[n] for row in rows} for n in (1, 2))
modes, (dynamo, inductor), everywhere = [*LOOKED_AT][:2], [*LOOKED_AT][2:4], [*LOOKED_AT][4:]
# claim: gradient-mode-and-autocast-are-the-threads
assert not any(by[name] for name in modes for by in (pool, context))
# claim: these-hold-in-a-worker
assert all(by[name] for name in everywhere for by in (pool, context))
# claim: a-stance-holds-in-a-worker
assert stance
if tuple(map(int, torch.__version__.split(".")[:2])) < (2, 12):
    # claim: a-pool-sees-settings, torch < 2.12
    assert pool[dynamo] and pool[inductor]
else:
    # claim: a-pool-does-not-see-settings, torch >= 2.12
    assert not (pool[dynamo] or pool[inductor])
    # claim: to-thread-takes-them-along, torch >= 2.12
    assert context[dynamo] and context[inductor]
