"""What one PyTorch accepts and another refuses: settings, functions, arguments.

Each claim says for which versions it is made. On those it was run.
"""

import threading
import warnings

import torch
from torch.fx.experimental import symbolic_shapes

import tclab


def seen_in_another_thread(limit):
    """The recompile limit that another thread sees once this one has set its own."""
    seen = []
    with torch._dynamo.config.patch(recompile_limit=limit):
        thread = threading.Thread(target=lambda: seen.append(torch._dynamo.config.recompile_limit))
        thread.start()
        thread.join()
    return seen[0]


def outcome(call, *arguments, **named):
    """What a call raises, by name; "accepted" if nothing."""
    try:
        call(*arguments, **named)
    except Exception as error:
        return type(error).__name__
    return "accepted"


def compile_with(**named):
    return torch.compile(torch.sin, **named)


def warned_by(call, *arguments):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        call(*arguments)
    return {each.category.__name__ for each in caught}


linear = torch.nn.Sequential(torch.nn.Linear(4, 4))
options = ("autoheuristic_use", "force_same_precision", "partitioned_scatter_memory_budget")
found = {
    "a recompile limit of 3, seen in another thread": str(seen_in_another_thread(3)),
    "symbolic_shapes.size_hint": outcome(getattr, symbolic_shapes, "size_hint"),
    **{name: outcome(compile_with, options={name: getattr(torch._inductor.config, name, 0)})
       for name in options},
    "skip_fsdp_hooks": outcome(getattr, torch._dynamo.config, "skip_fsdp_hooks"),
    "torch.align_tensors": outcome(getattr, torch, "align_tensors"),
    "torch.cholesky": outcome(lambda: torch.cholesky(torch.eye(2))),
    "torch.qr": outcome(lambda: torch.qr(torch.eye(2))),
    **{f"torch.compile({name}=…)": outcome(compile_with, **{name: value})
       for name, value in (("recompile_limit", 4), ("isolate_recompiles", True),
                           ("shapes_spec", None), ("dynamic_shapes", None))},
    "torch.jit.script warns of": ", ".join(warned_by(torch.jit.script, linear)),
    "quantize_pt2e": outcome(__import__, "torch.ao.quantization.quantize_pt2e"),
    "quantize_dynamic": outcome(torch.ao.quantization.quantize_dynamic, linear, {torch.nn.Linear}),
}  # fmt: skip
rows = [*found.items()]
tclab.show(tclab.Table("What this PyTorch makes of it", "outcomes", ("what", "outcome"), rows))
gone, taken = "AttributeError", "accepted"
release = tuple(map(int, torch.__version__.split(".")[:2]))
legacy = found["quantize_pt2e"], found["quantize_dynamic"]

# claim: quantize-dynamic-works-and-pt2e-is-in-none
assert legacy == ("ModuleNotFoundError", taken)
if release < (2, 12):
    # claim: a-setting-holds-in-all-threads, torch < 2.12
    assert found["a recompile limit of 3, seen in another thread"] == "3"
    # claim: size-hint-is-there, torch < 2.12
    assert found["symbolic_shapes.size_hint"] == taken
    # claim: autoheuristic-use-is-taken, torch < 2.12
    assert found["autoheuristic_use"] == taken
    # claim: no-limit-of-ones-own, torch < 2.12
    assert found["torch.compile(recompile_limit=…)"] == "TypeError"
else:
    # claim: a-setting-holds-in-its-thread, torch >= 2.12
    assert found["a recompile limit of 3, seen in another thread"] == "8"
    # claim: size-hint-is-gone, torch >= 2.12
    assert found["symbolic_shapes.size_hint"] == gone
    # claim: autoheuristic-use-is-refused, torch >= 2.12
    assert found["autoheuristic_use"] == "RuntimeError"
    # claim: a-limit-of-ones-own, torch >= 2.12
    assert found["torch.compile(recompile_limit=…)"] == taken
names = found["skip_fsdp_hooks"], found["torch.align_tensors"]
if release < (2, 13):
    # claim: two-settings-and-a-function-are-there, torch < 2.13
    assert (*names, found["force_same_precision"]) == (taken, taken, taken)
else:
    # claim: two-settings-and-a-function-are-gone, torch >= 2.13
    assert (*names, found["force_same_precision"]) == (gone, gone, "RuntimeError")
if release == (2, 13):
    # claim: shapes-spec-is-taken, torch == 2.13
    assert found["torch.compile(shapes_spec=…)"] == taken
script = found["torch.jit.script warns of"]
removed = found["torch.cholesky"], found["torch.qr"]
if release < (2, 14):
    # claim: cholesky-and-qr-work, torch < 2.14
    assert removed == (taken, taken)
    # claim: the-warning-is-hidden, torch < 2.14
    assert "FutureWarning" not in script and "DeprecationWarning" in script
else:
    # claim: cholesky-and-qr-raise, torch >= 2.14
    assert removed == ("RuntimeError", "RuntimeError")
    # claim: the-warning-is-shown, torch >= 2.14
    assert "FutureWarning" in script
    # claim: shapes-spec-became-dynamic-shapes, torch >= 2.14
    assert found["torch.compile(shapes_spec=…)"] == "TypeError"
