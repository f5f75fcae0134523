"""Where a setting of the compiler holds: in the thread and in the task that make it.

And what to call in place of names that are gone.
"""

import asyncio
import threading

import torch
import torch._inductor.config  # torch does not import it by itself
from torch.fx.experimental import symbolic_shapes

import tclab


def in_a_thread(call):
    """What `call` returns in a thread of its own."""
    seen = []
    thread = threading.Thread(target=lambda: seen.append(call()))
    thread.start()
    thread.join()
    return seen[0]


async def setter(made, limit):
    torch._dynamo.config.recompile_limit = limit
    made.set()


async def onlooker(made):
    await made.wait()
    return torch._dynamo.config.recompile_limit


async def two_tasks(limit):
    made = asyncio.Event()
    return (await asyncio.gather(setter(made, limit), onlooker(made)))[1]


def compiles(limit):
    """The graphs made of a function that is called with six numbers, each of them a constant."""
    graphs = []

    def count(graph, inputs):
        graphs.append(graph)
        return graph.forward

    f = torch.compile(lambda x, n: x + n, backend=count, dynamic=False, recompile_limit=limit)
    for number in range(6):
        f(torch.ones(3), number)
    return len(graphs)


default = torch._dynamo.config.recompile_limit, torch._inductor.config.epilogue_fusion
torch._inductor.config.epilogue_fusion = not default[1]
fusion = in_a_thread(lambda: torch._inductor.config.epilogue_fusion)
rows = [
    ("an Inductor setting, in another thread", fusion),
    ("a Dynamo setting, in another task", asyncio.run(two_tasks(3))),
    ("graphs with recompile_limit=4, in another thread", in_a_thread(lambda: compiles(4))),
]
tclab.show(tclab.Table("What is seen", "seen", ("what", "is"), [(k, str(v)) for k, v in rows]))

# claim: an-inductor-setting-holds-in-its-thread, torch >= 2.12
assert fusion is default[1] is not torch._inductor.config.epilogue_fusion
# claim: a-setting-holds-in-its-task, torch >= 2.12
assert rows[1][1] == default[0] != 3
# claim: the-limit-holds-in-a-thread, torch >= 2.12
assert rows[2][1] == 4

tall = torch.arange(6.0).reshape(3, 2)
spans = [tuple(part.shape) for part in torch.linalg.qr(tall, mode="complete")]
# claim: complete-is-what-some-false-was
assert spans == [(3, 3), (3, 2)]
names = ("guarding_hint_or_throw", "optimization_hint")
# claim: hints-have-two-functions, torch >= 2.12
assert [hasattr(symbolic_shapes, name) for name in names] == [True, True]
