"""Every guard of a small function.

Compiled code holds for the world it was compiled in. The guards are that world, written as
checks: this tensor has this dtype, device, rank and strides; this global still has
this value; gradient mode is as it was. All must hold before the compiled code may run.
"""

from collections import Counter

import torch

import tclab

SCALE = 3
options = {"shift": 1.5, "unread": 2.5}


class Config:
    clip = True


config = Config()


def f(x, times, unused=None):
    y = x * SCALE + options["shift"]
    if config.clip:
        y = y.clamp(-1, 1)
    for _ in range(times):
        y = torch.relu(y)
    return y


MEANS = {
    "TENSOR_MATCH": "type, dtype, device, rank, sizes, strides, requires_grad are as they were",
    "DIMENSION_DYNAMIC_MARKING_GUARD": "no size of it was marked, by mark_dynamic and its like",
    "EQUALS_MATCH": "a Python value equals what it was",
    "ID_MATCH": "it is the same object",
    "TYPE_MATCH": "it is of the same type",
    "TRUE_MATCH": "it is still True",
    "DICT_CONTAINS": "this one key is there, or is not",
    "DICT_VERSION": "the dictionary was not changed",
    "SEQUENCE_LENGTH": "a list or tuple is as long as it was",
    "NO_HASATTR": "the object has no attribute of this name",
    "LAMBDA_GUARD": "an expression that PyTorch wrote out: here, which saved-tensor hooks are on",
    "GLOBAL_STATE": "gradient mode, autocast, default dtype, threads are as they were",
    "DEFAULT_DEVICE": "the default device is as it was",
    "TORCH_FUNCTION_MODE_STACK": "no torch-function mode was entered or left",
}

c = tclab.capture(f, backend="eager")(torch.randn(8, 4), 2)
guards = c.guards[0]
kinds = Counter(g.type for g in guards)
sources = " ".join(g.source for g in guards)
checks = " ".join(check for g in guards for check in g.checks)

# claim: each-tensor-once
assert kinds["TENSOR_MATCH"] == 1
# claim: what-is-read-is-guarded
assert all(f"[{name!r}]" in sources for name in ("x", "times", "SCALE", "options", "config"))
# claim: a-number-is-guarded-by-its-value
assert "G['SCALE'] == 3" in checks and "G['options']['shift'] == 1.5" in checks
# claim: what-is-not-read-is-not-guarded
assert not any("unused" in text or "unread" in text for text in (sources, checks))
# claim: settings-are-guarded
assert kinds["GLOBAL_STATE"] == kinds["DEFAULT_DEVICE"] == 1 and '"grad_mode":true' in checks
# claim: every-kind-is-explained
assert set(kinds) <= set(MEANS), set(kinds) - set(MEANS)

of = {kind: ", ".join(dict.fromkeys(g.source for g in guards if g.type == kind)) for kind in kinds}
columns = ("kind", "guards", "of what", "holds while")
rows = [(kind, kinds[kind], of[kind] or None, MEANS.get(kind)) for kind in sorted(kinds)]
tclab.show(tclab.Table("Guards by kind", "by-kind", columns, rows))
tclab.show(guards, name="guards")
