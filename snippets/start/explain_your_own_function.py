"""Your own function, opened: what the compiler did at each of your lines.

The bar and the number beside a line say which graph holds it. The tensor `if` ends graph 0, and
graph 1 is what follows. The second call brings another batch size, which the code of the first
does not fit: both pieces are compiled again, as graphs 2 and 3, and the size becomes a symbol.
The third call brings yet another batch size, and compiles nothing.
"""

import torch

import tclab
from tclab.explain import explain

FLOOR = 1e-6


def unit(x):
    return x / x.norm(dim=-1, keepdim=True).clamp(min=FLOOR)


def score(x, weight, power=2):
    y = unit(x) @ weight
    if y.max() > 0.5:
        y = y * 0.5
    return y**power


torch.manual_seed(0)
weight = torch.randn(16, 16)
calls = [(torch.randn(batch, 16), weight) for batch in (8, 12, 20)]

report = explain(score, calls)

# claim: the-tensor-if-breaks-the-graph
assert [str(item.location.code) for item in report.breaks] == ["if y.max() > 0.5:"]
# claim: another-size-compiles-both-pieces-again
assert [item.function for item in report.recompiles] == ["score", "score"]
# claim: a-third-size-compiles-nothing
assert len(report.chains) == 4 and len(report.calls) == 3
notes = [note for source in report.sources for note in source.notes]
texts = {note.label: [n.text for n in notes if n.label == note.label] for note in notes}
facts = {fact for text in texts["specialised"] for fact in text.split("; ")}
# claim: a-specialised-line-names-size-and-value
assert facts >= {"FLOOR == 1e-06", "x has size [any, 16]", "weight has size [16, 16]"}
# claim: a-size-that-may-vary-is-a-symbol
assert any("x.size()[0] may vary: it is s" in text for text in texts["dynamic"])
assert set(texts) == {"graph break", "specialised", "dynamic", "recompile"}

tclab.show(report.sources)
