"""Known faults of PyTorch, and three compiles that have one.

Each entry is a pattern in a kernel or a graph, and the versions in which it is a fault. A compile
that fits an entry of its PyTorch is told so by `tclab explain` and `tclab upgrade`.
"""
# tclab: needs=triton,cxx timeout=240

import torch
import torch.nn.functional as F

import tclab
from tclab import advisories
from tclab.compare import take_snapshot
from tclab.system import machine


def transposed_dropout(x):
    x = F.dropout(x.transpose(1, 2).contiguous(), 0.1)
    return x.transpose(1, 2).contiguous()


def dropout(x):
    return F.dropout(x * 2, 0.1)


def large_range():
    return torch.arange(11) * 1_000_000_000


def small_range():
    return torch.arange(11) * 1_000


def known(fn, *args, target=None):
    """The issues of the faults that the compile fits, and what it returned."""
    c = tclab.capture(fn, target=target)(*args)
    found = advisories.find(take_snapshot(c, machine.here()))
    return [each.issue for each in found], None if target else c.results[0]


x = torch.rand(8, 64, 4096)
strided, _ = known(transposed_dropout, x, target="h200")
flat, _ = known(dropout, x, target="h200")
large, wrong = known(large_range)
small, right = known(small_range)
entries = advisories.load()
tclab.show(
    tclab.Table(
        title="Known faults",
        name="faults",
        columns=("what goes wrong", "known as", "what to do", "what was checked"),
        rows=[
            (f"{e.harm}: {e.title}", f"{e.issue}: {e.versions}", e.workaround, e.checked)
            for e in entries
        ],
    )
)
here = {each.issue for each in entries if each.affects(torch.__version__)}

# claim: wrong-results-come-first
assert [e.harm for e in entries] == sorted((e.harm for e in entries), key=advisories.HARMS.index)
# claim: a-large-range-is-wrong
assert not torch.equal(wrong, large_range())
# claim: and-is-known
assert large == ["pytorch#175966"]
# claim: a-small-one-is-right-and-not-named
assert torch.equal(right, small_range()) and not small
# claim: a-transposed-dropout-is-named-where-it-is-a-fault
assert strided == (["pytorch#198333"] if "pytorch#198333" in here else [])
# claim: a-plain-dropout-is-not-named
assert not flat
release = tuple(map(int, torch.__version__.split(".")[:2]))
if (2, 13) <= release < (2, 15):
    # claim: the-pattern-stands-here, torch >= 2.13, torch < 2.15
    assert strided
