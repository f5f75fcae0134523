# tclab: timeout=120

# %% [markdown]
# # Lab 2 · Capture
#
# After this lab you can say before you look how many operations a graph will hold, find the nodes
# that a line made, and name what Python kept for itself.

# %%
import torch

import tclab

# %% [markdown]
# ## A small network
#
# `forward` has a loop and two branches. *Predict first:* how many operations does Dynamo's graph
# have for two layers, gated, with a residual connection?

# %%
def forward(x, weights, gated, residual):
    for weight in weights:
        y = torch.relu(x @ weight)
        if gated:
            y = y * y.sigmoid()
        x = x + y if residual else y
    return x.mean(-1)


# %% tags=["try"]
torch.manual_seed(0)
x = torch.randn(8, 16)
two = [torch.randn(16, 16) for _ in range(2)]
capture = tclab.capture(forward, backend="eager")(x, two, True, True)
graph = capture.graphs[0]
tclab.show(graph)

# claim: the-loop-is-unrolled
assert sum("relu" in node.target for node in graph.nodes) == len(two)
# claim: no-branch-in-the-graph
assert not any("cond" in node.target for node in graph.nodes)
plain = tclab.capture(forward, backend="eager")(x, two, False, False)
# claim: a-branch-not-taken-is-not-there
assert not any("sigmoid" in node.target for node in plain.graphs[0].nodes)
both = tclab.capture(forward, backend="eager").over([(x, two, g, True) for g in (True, False)])
# claim: another-value-compiles-again
assert len(both.graphs) == 2 and "gated" in both.recompiles.recompiles[0].reasons[0]

# %% [markdown]
# [The loop was unrolled: each turn left its own
# operations.](claim:labs/lab2_capture#the-loop-is-unrolled)
# [No branch is in the graph](claim:labs/lab2_capture#no-branch-in-the-graph), and [what the branch
# that was not taken would compute is not there
# either.](claim:labs/lab2_capture#a-branch-not-taken-is-not-there)
#
# ## Exercise 1: how many operations there will be
#
# Write `predict_ops(depth, gated, residual)`: the number of operations of the graph of `forward`
# with `depth` weights. Do not compile anything: predict. `len(graph)` counts operations, that is
# nodes that are neither inputs nor the output.

# %% tags=["exercise"]
def predict_ops(depth, gated, residual):
    """The number of operations in Dynamo's graph of `forward`."""
    ### BEGIN SOLUTION
    product_and_relu, sigmoid_and_product, addition, mean = 2, 2, 1, 1
    return depth * (product_and_relu + sigmoid_and_product * gated + addition * residual) + mean
    ### END SOLUTION


# %% tags=["try"]
for gated, residual in ((False, False), (True, False), (True, True)):
    seen = tclab.capture(forward, backend="eager")(x, two, gated, residual).graphs[0]
    print(f"gated={gated}, residual={residual}:", predict_ops(2, gated, residual), "and", len(seen))

# %% [markdown]
# ## Exercise 2: count them
#
# Write `count_ops(fn, x)`: capture `fn(x)` and count all operations that Dynamo captured. A graph
# is `capture.graphs[0]`; its `nodes` have a `name`, an `op`, a `target` and a `source`. A function
# may leave more than one graph.

# %% tags=["exercise"]
def count_ops(fn, x):
    """The number of operations in all graphs of fn(x)."""
    ### BEGIN SOLUTION
    capture = tclab.capture(fn, backend="eager")(x)
    return sum(node.op.startswith("call_") for graph in capture.graphs for node in graph.nodes)
    ### END SOLUTION


# %% tags=["try"]
def in_two_pieces(x):
    y = x.sin()
    print("between")
    return torch.cos(y)


print(count_ops(in_two_pieces, x))

# %% [markdown]
# ## PyTorch's own count
#
# `torch._dynamo.explain(fn)(x)` counts, too. *Predict first:* `in_two_pieces` has a sine, written as
# a method, and a cosine, written as a function. How many operations does `explain` find, and what
# does it do to code that is compiled already?

# %% tags=["try"]
from torch._dynamo.eval_frame import _debug_get_cache_entry_list as entries

torch._dynamo.reset()
torch.compile(in_two_pieces, backend="eager")(x)
compiled_before = len(entries(in_two_pieces.__code__))
told = torch._dynamo.explain(in_two_pieces)(x)
compiled_after = len(entries(in_two_pieces.__code__))
nothing = torch._dynamo.explain(lambda x: x)(x)
print("operations:", told.op_count, "of", count_ops(in_two_pieces, x))
print("entries:", compiled_before, "before,", compiled_after, "after")
print("breaks of a function without a graph:", nothing.graph_break_count)
# claim: explain-misses-a-method
assert told.op_count == 1 and told.graph_count == 2
# claim: explain-empties-the-cache
assert (compiled_before, compiled_after) == (1, 0)
# claim: its-breaks-are-graphs-less-one
assert told.graph_break_count == told.graph_count - 1 and nothing.graph_break_count == -1

# %% [markdown]
# [It counts functions and misses the method](claim:labs/lab2_capture#explain-misses-a-method). [What
# was compiled is gone](claim:labs/lab2_capture#explain-empties-the-cache), since it resets all
# caches first, so keep it out of a program that serves. [Its number of breaks is that of graphs
# less one](claim:labs/lab2_capture#its-breaks-are-graphs-less-one), which is wrong where a function
# has no graph. Its list of reasons is worth reading; for the numbers, count nodes.
#
# ## Lines and nodes
#
# A node knows the line it came from, and the rest of the compiler carries that along.

# %% tags=["try"]
def head(x):
    size = x.shape[-1]
    scores = (x / size**0.5).softmax(-1)
    best = scores.max(-1).values
    return scores * best[:, None]


lines = tclab.capture(head, backend="eager")(x).graphs[0]
by_line = {}
for node in lines.nodes:
    if node.op.startswith("call_") and node.source:
        by_line.setdefault(node.source.code.strip(), []).append(node.name)
rows = [{"line": line, "nodes": ", ".join(names)} for line, names in by_line.items()]
tclab.show(rows, title="Nodes by line")
# claim: a-line-may-make-none
assert not any("size = x.shape" in line for line in by_line)
# claim: a-line-may-make-several
assert len(by_line["scores = (x / size**0.5).softmax(-1)"]) == 2

# %% [markdown]
# [The first line of `head` made no node](claim:labs/lab2_capture#a-line-may-make-none): the size
# is known while Dynamo traces. [The second made
# two.](claim:labs/lab2_capture#a-line-may-make-several)
#
# ## Exercise 3: which nodes a line made
#
# Write `nodes_of(fn, x, line)`: the names of the nodes that one line of source made, when `fn(x)`
# is captured. `line` is the line's text without the spaces around it. It may stand in a function
# that `fn` calls: that function's nodes are then of its own lines, not of the line with the call.

# %% tags=["exercise"]
def nodes_of(fn, x, line):
    """The names of the operations that `line` made."""
    ### BEGIN SOLUTION
    graph = tclab.capture(fn, backend="eager")(x).graphs[0]
    made = [node for node in graph.nodes if node.op.startswith("call_") and node.source]
    return [node.name for node in made if node.source.code.strip() == line]
    ### END SOLUTION


# %% tags=["try"]
print(nodes_of(head, x, "best = scores.max(-1).values"))
print(nodes_of(head, x, "size = x.shape[-1]"))

# %% [markdown]
# ## Before and after: the bytecode
#
# *Predict first:* `seen.append` is Python. Is it in the graph? When does it run?

# %%
seen = []


def with_python(x):
    y = torch.relu(x * 2)
    seen.append("called")
    return y.sum()


# %% tags=["try"]
watched = tclab.capture(with_python, backend="eager").over([(x,)])
original, rewritten = watched.bytecode[:2]
tclab.show(original)
tclab.show(rewritten)
# claim: one-call-for-the-tensor-work
assert "relu" in original.code and "relu" not in rewritten.code
# claim: the-graph-is-called
assert "__compiled_fn" in rewritten.code
# claim: python-stays-python
assert seen == ["called"] and "append" not in str(watched.graphs[0].code)

# %% [markdown]
# [In the rewritten bytecode one call stands for all the tensor
# work](claim:labs/lab2_capture#one-call-for-the-tensor-work): [that of the compiled
# graph](claim:labs/lab2_capture#the-graph-is-called). [The append is not in the graph, and was
# made all the same](claim:labs/lab2_capture#python-stays-python): the new bytecode does it after
# the graph has run.
#
# ## Key questions
#
# <details><summary>Why does a deeper network take longer to compile, though its code is as long?</summary>
#
# [Each turn of the loop leaves its own operations](claim:labs/lab2_capture#the-loop-is-unrolled),
# and all of them go through every later stage.
#
# </details>
#
# <details><summary>A line of yours is not in the graph. Is that a fault?</summary>
#
# Not if it is Python: [a size is known while Dynamo
# traces](claim:labs/lab2_capture#a-line-may-make-none), and [a list is changed by the new
# bytecode](claim:labs/lab2_capture#python-stays-python).
#
# </details>
#
# <details><summary>What happens when `gated` is another value at the next call?</summary>
#
# [The graph holds only the branch that was
# taken](claim:labs/lab2_capture#a-branch-not-taken-is-not-there), so it cannot serve the other
# value: [the guard on `gated` fails, and the function is compiled
# again.](claim:labs/lab2_capture#another-value-compiles-again) Lab 3 is about that.
#
# </details>
