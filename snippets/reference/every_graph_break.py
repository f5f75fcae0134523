"""Every graph break that this PyTorch can tell of.

PyTorch keeps a list of its own: an id for each kind of break, its explanation and hints. What
stands in braces is filled in when it happens. An id whose text has changed has the older texts,
too; here stands the newest.
"""

import json
from pathlib import Path

import torch

import tclab

path = Path(torch.__file__).parent / "_dynamo" / "graph_break_registry.json"
registry = json.loads(path.read_text())


def one_line(text):
    return " ".join(str(text).split())


def row(identity, texts):
    newest = texts[0]
    hints = " ".join(map(one_line, newest["Hints"]))
    return identity, *(one_line(newest[key]) for key in ("Gb_type", "Explanation")), hints or None


rows = [row(*entry) for entry in sorted(registry.items())]
columns = ("id", "kind", "explanation", "hints")
tclab.show(tclab.Table("Graph breaks", "graph-breaks", columns, rows))


def f(x):
    return x.cos() if x.sum() > 0 else x


c = tclab.capture(f, backend="eager")(torch.ones(3))
kinds = {identity: kind for identity, kind, *_ in rows}

# claim: the-list-names-what-a-run-reports
assert [kinds[b.gb_id] for b in c.breaks] == [b.gb_type for b in c.breaks] == [
    "Data-dependent branching"
]  # fmt: skip
several = sum(len(texts) > 1 for texts in registry.values())
# claim: some-have-older-texts
assert several > 0
# claim: not-every-one-has-a-hint
assert 0 < sum(hints is None for *_, hints in rows) < len(rows)
counts = [("kinds of break", len(rows)), ("with more than one text", several)]
tclab.show(tclab.Table("Counted", "counts", ("what", "number"), counts))
