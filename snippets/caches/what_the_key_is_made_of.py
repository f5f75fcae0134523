"""A miss in Inductor's graph cache, and which part of its key is another one.

A trace has an entry for each miss, with the parts of the key and a hash for each. Here a handler
reads them from the trace as it is written, and each call is compared with the first. The function
holds a product only, so no kernel is compiled.
"""

import json
import logging
import re
import tempfile

import torch
from _process import in_a_process

import tclab

TRACE = logging.getLogger("torch.__trace")
lines = []


class Keep(logging.Handler):
    def emit(self, record):
        if record.metadata.get("artifact", {}).get("name") == "fx_graph_cache_miss":
            lines.extend(json.loads(record.payload)["components"])


def product(x, w):
    return x @ w


def parts(x, w, **options):
    """The parts of the key, each with its hash."""
    torch._dynamo.reset()
    lines.clear()
    torch.compile(product, options=options)(x, w)
    found = [re.match(r"\[(\w+)\] ([^:]+): ", line) for line in lines]
    return {part[2]: part[1] for part in found if part}


def of_each_call():
    x, w = torch.randn(4, 8), torch.randn(8, 8)
    TRACE.setLevel(logging.DEBUG)
    TRACE.addHandler(Keep())
    return {
        "the first": parts(x, w),
        "another size": parts(x[:3], w),
        "another dtype": parts(x.double(), w.double()),
        "another option": parts(x, w, max_fusion_size=3),
    }


with tempfile.TemporaryDirectory() as folder:
    others = in_a_process(of_each_call, folder)
first = others.pop("the first")
differ = {
    name: sorted(part for part in first | other if first.get(part) != other.get(part))
    for name, other in others.items()
}
rows = [(name, ", ".join(names), len(first)) for name, names in differ.items()]
columns = ("call", "parts that differ", "of how many")
tclab.show(tclab.Table("Against the first call", "parts", columns, rows))

# claim: a-trace-lists-the-parts
assert {"torch_version", "example_inputs[0]", "inductor_config[max_fusion_size]"} <= set(first)
# claim: a-size-is-one-part-that-differs
assert differ["another size"] == ["example_inputs[0]"]
# claim: so-is-an-option
assert differ["another option"] == ["inductor_config[max_fusion_size]"]
# claim: a-dtype-is-in-each-input
assert differ["another dtype"] == ["example_inputs[0]", "example_inputs[1]"]
