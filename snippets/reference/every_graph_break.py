"""Every graph break that this PyTorch can tell of.

PyTorch keeps a list of its own: an id for each kind of break, its explanation and hints. A tool
writes it, which leaves out the texts that are put together before the call; these are read from
PyTorch's source. What stands in braces is filled in when it happens. Of hints that depend on the
case all are here, so that a message has some of them. An id whose text has changed has the older
texts, too; here stands the newest.
"""

import json
from pathlib import Path

import torch
from _breaks import calls, hints, text

import tclab

path = Path(torch.__file__).parent / "_dynamo" / "graph_break_registry.json"
registry, raised = json.loads(path.read_text()), calls()


def one_line(text):
    return " ".join(str(text).split())


def said(newest):
    """The explanation and the hints of a kind: as its call has them, or as the list does."""
    if newest["Gb_type"] not in raised:
        return newest["Explanation"], newest["Hints"], False
    around, keywords = raised[newest["Gb_type"]][0]
    return text(keywords["explanation"], around), hints(keywords["hints"], around), True


def row(identity, texts):
    explanation, advice, still = said(texts[0])
    lines = [f"- {one_line(hint)}" for hint in advice]
    lines += [] if still else ["- (This PyTorch no longer breaks with it.)"]
    return identity, one_line(texts[0]["Gb_type"]), one_line(explanation), "\n".join(lines) or None


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
listed = {identity: said(texts[0])[1] for identity, texts in registry.items()}
# claim: a-message-has-hints-of-the-list
assert all(b.hints and {*b.hints} <= {*map(one_line, listed[b.gb_id])} for b in c.breaks)
several = sum(len(texts) > 1 for texts in registry.values())
# claim: some-have-older-texts
assert several > 0
# claim: not-every-one-has-a-hint
assert 0 < sum(not advice for advice in listed.values()) < len(rows)
counts = [
    ("kinds of break", len(rows)),
    ("with more than one text", several),
    ("of this PyTorch", sum(texts[0]["Gb_type"] in raised for texts in registry.values())),
    ("with hints", sum(map(bool, listed.values()))),
    ("with hints in the list", sum(bool(texts[0]["Hints"]) for texts in registry.values())),
]
tclab.show(tclab.Table("Counted", "counts", ("what", "number"), counts))
