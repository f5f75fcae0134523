"""Define rules on CUDA graphs: why PyTorch recorded none, and what to change."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tclab.findings.evidence import Evidence
from tclab.model import Finding, SourceLine

#: PyTorch's reason → the fix; the first match counts.
_FIXES = (
    # skipping cudagraphs due to input storage mutation (1 instances)
    (re.compile(r"input storage mutation"), "Leave out set_() on an argument."),
    # skipping cudagraphs due to mutated inputs (1 instances)
    (re.compile(r"mutated inputs"),
     ("Return the new value in place of writing it into an argument; if the argument is the same "
     "tensor in every call, torch._dynamo.mark_static_address(argument).")),
    # skipping cudagraphs due to cpu device (arg1_1)
    (re.compile(r"cpu device"), "Make that tensor on the GPU."),
    # skipping cudagraphs due to multiple devices: cuda:0, cuda:1
    (re.compile(r"multiple devices"), "Compile what runs on each GPU on its own."),
    # graph with symbolic shapes inputs and config.triton.cudagraph_skip_dynamic_graphs=True.
    (re.compile(r"symbolic shapes"),
     ("torch._inductor.config.triton.cudagraph_skip_dynamic_graphs = False records a graph for "
     "each size; pad to a few sizes first.")),
    # disabling cudagraphs due to incompatible op aten._local_scalar_dense.default
    (re.compile(r"incompatible op"),
     "torch._inductor.config.graph_partition = True records what stands before and after it."),
    # skipping cudagraphs due to control flow operator: torch.cond.
    (re.compile(r"control flow operator: torch\.cond"),
     "torch.where computes both sides, inside of a CUDA graph: not where a side is dear."),
    # index_put_ fallback with boolean indexing is not compatible with CUDA graphs
    (re.compile(r"boolean indexing"), "torch.where(mask, value, x) in place of x[mask] = value."),
    # skipping cudagraphs due to complex memory overlap
    (re.compile(r"complex memory overlap"),
     "Pass a copy of the argument whose elements share memory: x.clone()."),
    # skipping cudagraphs due to cpp-wrapper does not support graph partition yet
    (re.compile(r"cpp-wrapper"), "Leave out the option cpp_wrapper."),
)  # fmt: skip
#   File "m.py", line 14, in branches
#     return torch.cond(x.sum() > 0, up, down, (x,))
_PLACE = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<name>.+)\n *(?P<code>.*)')
# torch.cond. Found from : \n   File "m.py", line 14, in branches
_TRACEBACK = re.compile(r"\s*(?:Found from\s*:?|File \").*", re.DOTALL)


def find_cuda_graph_skips(evidence: Evidence) -> Iterator[Finding]:
    """Yield a finding for each reason why no CUDA graph was recorded, with the line that the reason
    names.
    """
    for text in dict.fromkeys(evidence.cuda_graph_skips):
        lines = [
            SourceLine(each["file"], int(each["line"]), each["code"], each["name"])
            for each in _PLACE.finditer(text)
        ]
        fixes = (fix for pattern, fix in _FIXES if pattern.search(text))
        actions = tuple(f"{fix} (Not tried.)" for fix in fixes)[:1]
        reason = " ".join(_TRACEBACK.sub("", text).split())
        yield Finding("no-cuda-graph", reason, tuple(lines[-1:]), actions=actions)


RULES = (find_cuda_graph_skips,)
