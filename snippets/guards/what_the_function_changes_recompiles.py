"""What the function itself changes, and how often it compiles.

None of these break the graph. But the first three read something, so Dynamo guards on it, and then
change it, so the guard fails at the next call. The list is guarded on its length. Every call
compiles until the limit ends it. The int of a dictionary that comes as an argument becomes a symbol
at its second value. A float is another case: for Dynamo it becomes an input at its
second value, but Inductor asks for its value. A tensor is the cure: it is an input of the graph
from the first call on.
"""

import torch
from torch._dynamo.testing import CompileCounter

import tclab

counts, history = {"n": 0}, []


class Model(torch.nn.Module):
    def __init__(self, start):
        super().__init__()
        self.register_buffer("n", start) if torch.is_tensor(start) else setattr(self, "n", start)

    def forward(self, x):
        self.n += 1
        return x.sin()


def count_in_dict(x):
    counts["n"] += 1
    return x.sin()


def count_in_argument(x, counts):
    counts["n"] += 1
    return x.sin()


def append_to_list(x):
    history.append(x.shape[0])
    return x.sin()


def pure(x):
    return x.sin()


def compiles(fn, after_call=lambda: None, args=()):
    """Compiles so far, after each of twelve calls."""
    torch._dynamo.reset()
    counter, made = CompileCounter(), []
    compiled = torch.compile(fn, backend=counter)
    for _ in range(12):
        compiled(torch.ones(4), *args)
        after_call()
        made.append(counter.frame_count)
    return made


def inductor(graph, inputs):
    """Inductor, counted when it has compiled: of a float it tries a graph in vain."""
    by_inductor.append(torch._inductor.compile(graph, inputs))
    return by_inductor[-1]


rows = [
    ("a global dictionary's int += 1", *compiles(count_in_dict)),
    ("a list's append", *compiles(append_to_list)),
    ("a module's int += 1", *compiles(Model(0))),
    ("a module's buffer += 1", *compiles(Model(torch.tensor(0)))),
    ("append by the caller", *compiles(pure, lambda: history.append(4))),
    ("a module's float += 1", *compiles(Model(0.0))),
    ("an argument's int += 1", *compiles(count_in_argument, args=({"n": 0},))),
]
torch._dynamo.reset()
by_inductor, made = [], []
with_inductor = torch.compile(Model(0.0), backend=inductor)
for _ in range(12):
    with_inductor(torch.ones(4))
    made.append(len(by_inductor))
rows.append(("a module's float += 1, with Inductor", *made))
limit = torch._dynamo.config.recompile_limit
# claim: each-call-compiles
assert all(row[1:] == tuple(min(n, limit) for n in range(1, 13)) for row in rows[:3])
# claim: a-buffer-does-not
assert rows[3][-1] == 1
# claim: nor-what-the-caller-changes
assert rows[4][-1] == 1
# claim: a-float-stops-at-two
assert rows[5][1:] == (1,) + (2,) * 11
# claim: an-int-of-an-argument-stops-at-two
assert rows[6][1:] == (1,) + (2,) * 11
# claim: with-inductor-a-float-does-not-stop
assert made == [min(n, limit) for n in range(1, 13)], made
# claim: the-counts-are-right
assert all(row[-1] == limit for row in rows[:2])  # of twelve calls some ran compiled
assert counts["n"] == 12 and history == [4] * 24
tclab.show(
    tclab.Table(
        title="Compiles so far, after each of twelve calls",
        columns=("what is changed", *(f"{n}." for n in range(1, 13))),
        rows=rows,
    ),
    name="compiles",
)
