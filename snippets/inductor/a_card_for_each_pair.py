"""A card for each pair of nodes that the scheduler considered, on a CPU.

The boxes are the groups of nodes in the end. A card names two nodes, or groups that were fused
before, with the line of the function. Its bar is what both read or write in the same order, in
bytes. *Alone* and *together* are the bytes of memory that the two move, by Inductor's own count; a
reason between quotation marks is in Inductor's words.
"""

import torch

import tclab


def f(x, y):
    rows = torch.softmax(x, dim=-1)
    columns = x.sum(0)
    scaled = y * y.sum()
    return rows, columns, scaled


x, y = torch.randn(512, 512), torch.randn(512, 512)
(pairs,) = tclab.capture(f)(x, y).fusion_pairs
tclab.show(pairs)

node_of = {computed: node.name for node in pairs.nodes for computed in node.computes}
amax, exp, row_sum, div = (node_of[name] for name in ("amax", "exp", "sum_1", "div"))
column_sum, whole_sum, mul = (node_of[name] for name in ("sum_2", "sum_3", "mul"))
first = pairs.pair(exp, row_sum)
# claim: it-saves-the-buffer-between-them
assert first.verdict == "fused" and first.saved == sum(first.shared.values()) == x.nbytes
last = pairs.pair(f"{amax}_{exp}_{row_sum}", div)
# claim: nobody-else-reads-it-so-it-is-not-written
assert last.verdict == "fused" and last.saved == 2 * last.bytes
# claim: softmax-moves-its-input-and-its-result
assert last.after == 2 * x.nbytes
between = pairs.pair(exp, div)
# claim: the-sum-has-to-come-between
assert between.reason == "intermediate nodes between node1 & node2" and between.bytes == x.nbytes
# claim: in-one-group-all-the-same
assert pairs.share_group(between) and (amax, exp, row_sum, div) in pairs.groups
silent = pairs.pair(whole_sum, mul)
# claim: a-refusal-without-a-word
assert silent.verdict == "refused" and not silent.reason
# claim: the-code-generator-declined
assert silent.declined_by == "CppScheduling.can_fuse_vertical"
apart = [pair for pair in pairs.pairs if pair.reason == "no shared data"]
# claim: columns-share-nothing-with-rows
assert any({amax, column_sum} == pair.ops for pair in apart)
# claim: what-shares-nothing-has-no-bytes
assert all(pair.bytes == 0 for pair in apart)
