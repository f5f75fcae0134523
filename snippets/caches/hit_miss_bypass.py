"""Hit, miss or bypass: what the two graph caches say to one call after the other.

Each call is made by a new process over the same cache folder. The function holds matrix products
only, so no kernel has to be compiled and all that is seen is the caches.
"""

import tempfile

import torch
from _process import in_a_process
from torch._dynamo.utils import counters
from torch._inductor.custom_graph_pass import CustomGraphPass

import tclab


def product(x, w):
    return x @ w @ w


def renamed(first, second):
    return first @ second @ second


def without_an_id(graph):
    """A pass that does nothing, and of which no key can be made."""


class WithAnId(CustomGraphPass):
    def __call__(self, graph):
        """Nothing, too."""

    def uuid(self):
        return "nothing, version 1"


def compiled(fn, x, w, options):
    result = torch.compile(fn, options=options)(x, w)
    if w.requires_grad:
        result.sum().backward()
    aot, inductor = counters["aot_autograd"], counters["inductor"]
    answers = [
        (aot[f"autograd_cache_{word}"], inductor[f"fxgraph_cache_{word}"])
        for word in ("hit", "miss", "bypass")
    ]
    return counters["stats"]["unique_graphs"], *zip(*answers)


def words(counts):
    return ", ".join(f"{n} {word}" for n, word in zip(counts, ("hit", "miss", "bypass")) if n)


x, w = torch.randn(4, 8), torch.randn(8, 8, requires_grad=True)
PASS = "post_grad_custom_post_pass"
calls = {
    "the first": (product, x, w, {}),
    "the same again": (product, x, w, {}),
    "other names, same operations": (renamed, x, w, {}),
    "another size": (product, x[:3], w, {}),
    "another dtype": (product, x.double(), w.detach().double().requires_grad_(), {}),
    "no gradient": (product, x, w.detach(), {}),
    "another option of Inductor": (product, x, w, {"max_fusion_size": 3}),
    "a pass of one's own": (product, x, w, {PASS: without_an_id}),
    "a pass with an id": (product, x, w, {PASS: WithAnId()}),
    "the same pass again": (product, x, w, {PASS: WithAnId()}),
}
with tempfile.TemporaryDirectory() as folder:
    answers = {name: in_a_process(compiled, folder, *call) for name, call in calls.items()}
tclab.show(
    tclab.Table(
        title="Ten processes, one folder",
        name="answers",
        columns=("call", "graphs from Dynamo", "AOTAutograd's cache", "Inductor's cache"),
        rows=[(name, graphs, words(a), words(i)) for name, (graphs, a, i) in answers.items()],
    )
)
said = {name: words(aot) for name, (_, aot, _) in answers.items()}

# claim: the-first-misses
assert said["the first"] == "1 miss"
# claim: another-process-hits
assert said["the same again"] == "1 hit"
# claim: names-are-in-one-key
assert said["other names, same operations"] == "1 miss"
# claim: and-not-in-the-other
assert words(answers["other names, same operations"][2]) == "2 hit"
# claim: forward-and-backward-are-two-entries-of-inductor
assert said["the first"] == "1 miss" and words(answers["the first"][2]) == "2 miss"
# claim: dynamo-traces-each-time
assert {graphs for graphs, *_ in answers.values()} == {1}
# claim: size-dtype-and-gradient-are-in-the-key
assert {said[name] for name in ("another size", "another dtype", "no gradient")} == {"1 miss"}
# claim: options-are-in-the-key
assert said["another option of Inductor"] == "1 miss"
# claim: a-pass-bypasses-both
assert said["a pass of one's own"] == "1 bypass"
assert words(answers["a pass of one's own"][2]) == "2 bypass"
# claim: an-id-brings-the-cache-back
assert said["a pass with an id"] == "1 miss" and said["the same pass again"] == "1 hit"
