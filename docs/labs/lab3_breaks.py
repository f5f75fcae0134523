# tclab: timeout=120

# %% [markdown]
# # Lab 3 · Graph breaks and recompiles
#
# After this lab you can find what splits a graph or compiles it again, and mend it: one graph, one
# cache entry, the same results. The four pieces of code below break or recompile as people's do.

# %%
import torch
from torch import nn

import tclab


def compiles(fn, calls):
    """What a few calls compile: graphs, breaks, recompiles."""
    capture = tclab.capture(fn, backend="eager").over(calls)
    return {
        "graphs": len(capture.graphs),
        "breaks": len(capture.breaks),
        "recompiles": len(capture.recompiles),
    }


# %% [markdown]
# ## A branch on a tensor's value
#
# *Predict first:* how many graphs, and at which line does the first one end?

# %%
def clip_norm_as_it_was(x, limit):
    norm = x.norm().item()
    if norm > limit:
        x = x * (limit / norm)
    return x


# %% tags=["try"]
torch.manual_seed(0)
long, short = torch.randn(8, 8) * 10, torch.randn(8, 8) * 0.01
capture = tclab.capture(clip_norm_as_it_was, backend="eager").over([(long, 1.5), (short, 1.5)])
tclab.show(capture.breaks)
# claim: item-breaks
assert len(capture.breaks) >= 1 and "item" in capture.breaks.breaks[0].location.code

# %% [markdown]
# [The graph ends where `.item()` asks for the value](claim:labs/lab3_breaks#item-breaks): Python
# must have a number before it can choose a branch.
#
# ## Exercise 1: the branch, mended
#
# Write `clip_norm(x, limit)`: the same results, one graph, compiled once for any values of `x`.

# %% tags=["exercise"]
def clip_norm(x, limit):
    """`x`, scaled down to the norm `limit` where it is longer."""
    ### BEGIN SOLUTION
    return x * (limit / x.norm()).clamp(max=1.0)
    ### END SOLUTION


# %% tags=["try"]
print(compiles(clip_norm_as_it_was, [(long, 1.5), (short, 1.5)]))
clipped = compiles(clip_norm, [(long, 1.5), (short, 1.5)])
print(clipped)
# claim: a-clamp-is-one-graph
assert clipped == {"graphs": 1, "breaks": 0, "recompiles": 0}

# %% [markdown]
# ## A counter in a module
#
# A warm-up: the output grows over the first ten calls. *Predict first:* how many
# graphs do twelve calls make?

# %%
class WarmUpAsItWas(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        self.steps = 0

    def forward(self, x):
        self.steps += 1
        return self.inner(x) * min(1.0, self.steps / 10)


# %% tags=["try"]
x = torch.randn(4, 8)
counted = tclab.capture(WarmUpAsItWas(nn.Linear(8, 8)), backend="eager").over([(x,)] * 12)
rows = [
    {"compile": each.compile_id, "the guard that failed": each.reasons[0].split("#")[0].strip()}
    for each in counted.recompiles
]
tclab.show(rows, title="Recompiles of a counter")
# claim: a-counter-recompiles
assert len(counted.graphs) == 8 == torch._dynamo.config.recompile_limit

# %% [markdown]
# [Each call got a graph of its own, until the limit of
# eight](claim:labs/lab3_breaks#a-counter-recompiles); the calls after that ran without the
# compiler. An int that belongs to a module is guarded by its value, and each call has another.
#
# ## Exercise 2: the counter, mended
#
# Write the class `WarmUp(inner)` with the same results at every call, compiled once. A checkpoint
# keeps the count: a module that loads the `state_dict()` of another goes on where that one was.

# %% tags=["exercise"]
class WarmUp(nn.Module):
    """`inner`, times 0.1 at the first call, 0.2 at the second, 1 from the tenth on."""

    def __init__(self, inner):
        super().__init__()
        self.inner = inner
        ### BEGIN SOLUTION
        self.register_buffer("steps", torch.zeros(()))
        ### END SOLUTION

    def forward(self, x):
        ### BEGIN SOLUTION
        self.steps += 1
        return self.inner(x) * (self.steps / 10).clamp(max=1.0)
        ### END SOLUTION


# %% tags=["try"]
mended = compiles(WarmUp(nn.Linear(8, 8)), [(x,)] * 12)
print(mended)
# claim: a-tensor-counts-in-one-graph
assert mended == {"graphs": 1, "breaks": 0, "recompiles": 0}

# %% [markdown]
# [As a tensor, the counter is an input like any other, and one graph serves
# all.](claim:labs/lab3_breaks#a-tensor-counts-in-one-graph)
#
# ## Exercise 3: a loop over lengths
#
# `mean_of_first_as_it_was` averages the first `n` entries of each row. Write `mean_of_first(x,
# lengths)` with `x` of shape `[batch, time, features]` and `lengths` of shape `[batch]` (at least
# 1 each): the same results, one graph, compiled once for all lengths. What lies beyond a row's
# length may be anything.

# %%
def mean_of_first_as_it_was(x, lengths):
    rows = []
    for row, n in zip(x, lengths.tolist()):
        rows.append(row[:n].mean(0))
    return torch.stack(rows)


# %% tags=["exercise"]
def mean_of_first(x, lengths):
    """[batch, features]: the mean of the first `lengths` entries of each row."""
    ### BEGIN SOLUTION
    inside = torch.arange(x.shape[1], device=x.device) < lengths[:, None]  # [batch, time]
    return torch.where(inside[..., None], x, 0.0).sum(1) / lengths[:, None]
    ### END SOLUTION


# %% tags=["try"]
batches = [(torch.randn(3, 7, 2), torch.tensor(n)) for n in ([3, 7, 5], [1, 2, 6], [4, 4, 4])]
before = compiles(mean_of_first_as_it_was, batches)
after = compiles(mean_of_first, batches)
tclab.show([{"": "as it was"} | before, {"": "mended"} | after], title="Lengths as a list, as a mask")
# claim: a-mask-is-one-graph
assert after == {"graphs": 1, "breaks": 0, "recompiles": 0}
# claim: a-list-of-lengths-is-not
assert before["graphs"] > 1

# %% [markdown]
# [The list of lengths makes several graphs](claim:labs/lab3_breaks#a-list-of-lengths-is-not), [the
# mask one.](claim:labs/lab3_breaks#a-mask-is-one-graph)
#
# ## Exercise 4: one compile for every batch size
#
# Write `for_any_batch(model)`: a callable that gives what `model(x)` gives, for `x` of any number
# of rows from 2 on, with a single compile in all. *Predict first:* how many compiles does
# `torch.compile(model)` need for the sizes 5, 9, 12 and 30?

# %% tags=["exercise"]
def for_any_batch(model):
    """`model`, compiled once for every number of rows."""
    ### BEGIN SOLUTION
    return torch.compile(model, backend="eager", dynamic=True)
    ### END SOLUTION


# %% tags=["try"]
def graphs_for(make, sizes):
    def model(x):
        return torch.relu(x).sum(-1) / x.shape[0]

    with tclab.capture() as seen:
        serve = make(model)
        for size in sizes:
            serve(torch.randn(size, 6))
    return len(seen.graphs)


sizes = (5, 9, 12, 30)
default = graphs_for(lambda model: torch.compile(model, backend="eager"), sizes)
static = graphs_for(lambda model: torch.compile(model, backend="eager", dynamic=False), sizes)
once = graphs_for(for_any_batch, sizes)
print(f"default {default}, dynamic=False {static}, for_any_batch {once}")
# claim: the-default-compiles-twice
assert default == 2
# claim: static-compiles-each
assert static == 4
# claim: dynamic-compiles-once
assert once == 1

# %% [markdown]
# [By default the second size makes a second compile, whose size is a
# symbol](claim:labs/lab3_breaks#the-default-compiles-twice); [with `dynamic=False` each size makes
# its own](claim:labs/lab3_breaks#static-compiles-each); [told beforehand, the compiler needs
# one.](claim:labs/lab3_breaks#dynamic-compiles-once)
#
# ## Key questions
#
# <details><summary>A function gives the right results. Why look for breaks at all?</summary>
#
# A break is no error: [the function above was cut](claim:labs/lab3_breaks#item-breaks), and nothing
# was raised. It costs what the compiler cannot do across it. The
# chapter on graph breaks measures the price.
#
# </details>
#
# <details><summary>Which Python values make a new compile, and which do not?</summary>
#
# [An int of a module does](claim:labs/lab3_breaks#a-counter-recompiles); [the values of a tensor do
# not, as long as they stay in it](claim:labs/lab3_breaks#a-tensor-counts-in-one-graph).
#
# </details>
#
# <details><summary>How many compiles do varying sizes cost at the most?</summary>
#
# [Two by default](claim:labs/lab3_breaks#the-default-compiles-twice) for the sizes above; [one if
# you say that they vary](claim:labs/lab3_breaks#dynamic-compiles-once). The sizes 0 and 1 are
# apart, as the chapter on dynamic shapes shows.
#
# </details>
