"""DebugMode: of two runs of one compiled step, the first operation whose result differs.

Both start from one seed and have the same inputs and weights. Before the second, something else
draws a random number. Hashes are of each result's bits, taken while the compiled graph runs.
"""

import torch
from torch import nn
from torch.utils._debug_mode import DebugMode

import tclab

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 16), nn.GELU(), nn.Dropout(0.5), nn.Linear(16, 1))
x = torch.randn(8, 16)
compiled = torch.compile(model, backend="aot_eager")
compiled(x).sum().backward()


def run(step, draw=False, **options):
    """The loss of one training step, and what DebugMode saw of it."""
    model.zero_grad()
    torch.manual_seed(1)
    if draw:
        torch.rand(1)  # a data loader, say
    with DebugMode(**options) as debug, DebugMode.log_tensor_hashes("hash_tensor"):
        loss = step(x).sum()
        loss.backward()
    return loss.item(), debug


inside = {"run_compile_with_interpreter": True, "record_nn_module": True}
first, one = run(compiled, **inside)
again, same = run(compiled, **inside)
second, other = run(compiled, draw=True, **inside)
differ = DebugMode.check_hash_mismatches(one.logs, other.logs)
names = [str(call) for call in one.logs]
place = next(n for n, call in enumerate(names) if call.startswith(differ[0]["call"] + "("))
module = next(call for call in reversed(names[:place]) if "nn.Mod" in call)
before = [call for call in names[:place] if call.startswith("aten::")]

torch._dynamo.reset()
fused = torch.compile(model)
fused(x).sum().backward()
_, by_inductor = run(fused)
tclab.show(one.debug_string(), title="The step, operation by operation", name="step")
tclab.show(
    tclab.Table(
        title="Results that differ",
        name="differ",
        columns=("operation", "first run", "second run"),
        rows=[(each["call"], str(each["hash1"]), str(each["hash2"])) for each in differ],
    )
)
tclab.show(by_inductor.debug_string(), title="The same, compiled by Inductor", name="inductor")

# claim: the-losses-differ
assert first == again != second
# claim: with-one-seed-no-result-differs
assert not DebugMode.check_hash_mismatches(one.logs, same.logs)
# claim: the-first-is-the-dropouts
assert differ[0]["call"].startswith(("aten::native_dropout", "aten::bernoulli", "aten::rand"))
# claim: in-the-module-of-the-dropout
assert module.endswith("L['fn'].2")
# claim: results-before-it-agree
assert sum("addmm" in call for call in before) == 1 and any("gelu" in call for call in before)
# claim: the-backward-is-seen-too
assert names.index("[aot_eager region (compile)] exit") < len(names) - 1
assert any("gelu_backward" in call for call in names)
kernels = [str(call) for call in by_inductor.logs if "aten::" in str(call)]
# claim: of-inductor-library-calls-alone
assert any("addmm" in call for call in kernels)
assert not any("gelu" in call or "dropout" in call for call in kernels)
