"""The rules of attention, replayed against answers of PyTorch itself.

Each call has its dtype, sizes, strides, mask, dropout, gradients and switches. One column was
asked of a GPU (`torch._fused_sdp_choice`); the others of the choice that is compiled into that
PyTorch's CUDA library, which was told a compute capability and knows no difference. The second
table has the rules of the PyTorch that is installed, in the order in which it asks them.
"""
# tclab: timeout=300

import torch

import tclab
from tclab.capturing.target.sdpa import versions
from tclab.workshop.verify.attention import replay

answers = replay.read()
wrong = answers.find_wrong_calls()

# claim: none-is-wrong
assert not any(wrong.values())
# claim: two-thousand-calls
assert len(answers.rows) >= 2000
# claim: two-versions
assert {c.torch for c in wrong} == {(2, 11), (2, 13)}
# claim: one-device
assert [(c.gpu, c.torch) for c in wrong if c.gpu] == [("NVIDIA H200", (2, 11))]

tclab.show(tclab.Table(
    title="Calls answered", name="answers",
    columns=("PyTorch", "sm", "cuDNN", "asked", "calls", "wrong"),
    rows=[(*(".".join(map(str, pair)) for pair in (c.torch, c.capability)), str(c.cudnn),
           c.gpu or "its library", len(answers.rows), len(cases)) for c, cases in wrong.items()],
))  # fmt: skip

rules = versions.rules_for(torch.__version__).rules
tclab.show(tclab.Table(
    title="The rules here", name="rules", columns=("kernel", "rule", "function", "file"),
    rows=[(kernel, rule.about, rule.function, rule.file.removeprefix("aten/src/ATen/"))
          for kernel, several in rules.items() for rule in several],
    caption="Files of PyTorch below aten/src/ATen. The first kernel whose rules all hold is taken.",
))  # fmt: skip
