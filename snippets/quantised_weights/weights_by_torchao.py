"""torchao's weight-only configurations, here and for an H200.

`quantize_` replaces the weight of each `nn.Linear` with a tensor subclass. The model is one layer
of 256 by 512 and a ReLU, in bfloat16, with sixteen rows of x.
"""
# tclab: needs=packages,triton timeout=240

import re
import warnings

import torch
import torchao
from torch._inductor import config
from torchao.quantization import (
    Int4WeightOnlyConfig,
    Int8WeightOnlyConfig,
    IntxWeightOnlyConfig,
    quantize_,
)  # fmt: skip
from torchao.quantization.quantize_.workflows import Int4PackingFormat

import tclab

warnings.simplefilter("ignore")
torch.set_grad_enabled(False)
x = torch.randn(16, 256, dtype=torch.bfloat16)


def made(how):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(256, 512, bias=False), torch.nn.ReLU()).bfloat16()
    exact = model(x)
    if how:
        quantize_(model, how)
    return model, exact


def row(how):
    """The class of the weight, its bytes, the kernels here and for an H200, the error."""
    model, exact = made(how)
    weight = model[0].weight
    names = weight.__tensor_flatten__()[0] if how else ["data"]
    inside = [getattr(weight, name) for name in names]
    here, there = tclab.capture(model)(x), tclab.capture(model, target="h200")(x)
    names = [", ".join(k.kernel_name for k in c.kernels) for c in (here, there)]
    error = ((here.result - exact).norm() / exact.norm()).item()
    return type(weight).__name__, sum(t.nbytes for t in inside if t is not None), *names, error


def what_changes():
    """Options of Inductor that differ after `quantize_`, for the whole process."""
    before = config.save_config_portable()
    made(Int8WeightOnlyConfig())
    after = config.save_config_portable()
    return [name for name in after if after[name] != before[name]]


INT8, INT4 = "Int8WeightOnlyConfig", "IntxWeightOnlyConfig, torch.int4"
WAYS = {"none": None, INT8: Int8WeightOnlyConfig(set_inductor_config=False),
        INT4: IntxWeightOnlyConfig(weight_dtype=torch.int4)}  # fmt: skip
rows = {name: row(how) for name, how in WAYS.items()}
refused = {}
for packing in Int4PackingFormat:
    try:
        made(Int4WeightOnlyConfig(int4_packing_format=packing, set_inductor_config=False))
    except Exception as error:
        refused[packing.value] = f"{type(error).__name__}: {error}"
changed = what_changes()
shown = []
for name, (kind, held, here, there, error) in rows.items():
    short = [re.sub(r"\w*_fused_+|extern_kernels\._?", "", names) for names in (here, there)]
    shown.append((name, kind, held, *short, error))
tclab.show(tclab.Table(
    title=f"torchao {torchao.__version__}", name="ways",
    columns=("configuration", "the weight", "bytes", "kernels here", "kernels of an H200", "error"),
    formats=("", "", "d", "", "", ".1e"), rows=shown,
))  # fmt: skip
tclab.show(tclab.Table(
    title="Int4WeightOnlyConfig on this machine", name="refused",
    columns=("packing", "what it said"), rows=list(refused.items()),
))  # fmt: skip
tclab.show(tclab.Table(
    title="Options of Inductor that quantize_ switches on", name="options",
    columns=("option",), rows=[(name,) for name in changed],
))  # fmt: skip

# claim: int8-weights-are-half-the-bytes
assert rows[INT8][1] < 0.6 * rows["none"][1], rows
# claim: here-the-library-reads-int8
assert "_weight_int8pack_mm" in rows[INT8][2], rows
# claim: so-it-does-on-an-h200
assert "_weight_int8pack_mm" in rows[INT8][3], rows
# claim: what-no-pattern-knows-is-written-out
assert all("sub" in names.split(", ")[0] and ".mm" in names.split(", ")[1]
           for names in rows[INT4][2:4]), rows  # fmt: skip
# claim: int4-for-tests-is-no-smaller-than-int8
assert rows[INT4][1] >= 0.9 * rows[INT8][1], rows
# claim: quantize-sets-options-for-all
assert "coordinate_descent_tuning" in changed, changed
# claim: no-int4-packing-works-here
assert set(refused) == {packing.value for packing in Int4PackingFormat}, refused
# claim: int8-is-near
assert rows[INT8][4] < 2e-2, rows
