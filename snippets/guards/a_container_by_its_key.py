"""What is guarded of a dictionary: the keys that were asked for.

`f` asks whether the key `bias` is there, and reads `scale`. Keys of other names come and go, which
changes nothing. The value that was read is guarded, and so is that the key was missing.
"""

import torch

import tclab

options = {"scale": 2.0, "colour": "red"}


def f(x):
    x = x * options["scale"]
    if "bias" in options:
        x = x + options["bias"]
    return x


x, graphs = torch.ones(4), []
with tclab.capture() as c:
    compiled = torch.compile(f, backend="eager")
    compiled(x)
    del options["colour"]  # a key that f never asks for
    compiled(x)
    options["shape"] = "round"  # another one
    compiled(x)
    options["bias"] = 1.0  # the key that was missing
    torch.testing.assert_close(compiled(x), f(x))

contains = [check for g in c.guards[0] if g.type == "DICT_CONTAINS" for check in g.checks]
(recompile,) = c.recompiles
text = " ".join(contains)
# claim: one-key-is-checked
assert "bias" in text and "colour" not in text
# claim: another-key-changes-nothing
assert len(c.graphs) == 2 and "bias" in recompile.reasons[0]

columns = ("guard of the first entry", "what it checks")
rows = [(g.type, check) for g in c.guards[0] if "options" in g.source for check in g.checks]
tclab.show(tclab.Table("Guards on the dictionary", "dictionary", columns, rows))
tclab.show(c.recompiles, name="recompiles")
