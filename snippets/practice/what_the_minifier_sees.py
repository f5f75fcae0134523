"""Four faults, and whether a setting of the minifier notices them.

A wrong kernel, a compiler that fails, a pass of Inductor that is wrong, and a decomposition that is
wrong, so that the graph below it is wrong as well. The level is that of TORCHDYNAMO_REPRO_LEVEL,
after AOTAutograd.
"""
# tclab: needs=cxx

import os
import tempfile
from pathlib import Path

import torch
from torch._inductor.decomposition import fast_random_decomps

import tclab

FAULTS = {"a kernel": "accuracy", "the compiler fails": "compile_error"}
FAULTS |= {"a pass before lowering": None, "a decomposition": None}
inductor, dynamo = torch._inductor.config, torch._dynamo.config


def f(x):
    return torch.relu(torch.tanh(x)) + 1


def sine_for_tanh(graph):
    """The pass: a hyperbolic tangent becomes a sine."""
    for node in graph.nodes:
        if node.target is torch.ops.aten.tanh.default:
            node.target = torch.ops.aten.sin.default


def plant(fault):
    inductor.cpp.inject_relu_bug_TESTING_ONLY = FAULTS[fault]
    inductor.post_grad_custom_post_pass = sine_for_tanh if "pass" in fault else None
    fast_random_decomps.cache_clear()  # the table that Inductor decomposes by
    if fault == "a decomposition":
        fast_random_decomps()[torch.ops.aten.tanh.default] = torch.sin


def called(fault, level):
    """How a call ended, and whether it left something to minify."""
    torch._dynamo.reset()
    plant(fault)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        dynamo.repro_after, dynamo.repro_level, dynamo.debug_dir_root = "aot", level, folder
        try:
            end = "right" if torch.allclose(torch.compile(f)(x), f(x)) else "wrong"
        except Exception as error:
            end = type(error).__name__
        left = any(Path(folder).rglob("minifier_launcher.py"))
        os.chdir("/")
    return end, left


inductor.force_disable_caches = True
x = torch.linspace(-3, 3, 64)
ends = {(fault, level): called(fault, level) for fault in FAULTS for level in (2, 4)}
tclab.show(
    tclab.Table(
        title="How a call ended, and what it left",
        name="ends",
        columns=("the fault is in", "level", "the call", "a launcher"),
        rows=[(*key, *end) for key, end in ends.items()],
    )
)

# claim: level-4-finds-a-wrong-kernel
assert ends["a kernel", 4] == ("AccuracyError", True)
# claim: level-2-does-not-compare
assert ends["a kernel", 2] == ("wrong", False)
failed = [ends["the compiler fails", level] for level in (2, 4)]
# claim: level-2-keeps-what-does-not-compile
assert failed[0][0] not in ("right", "wrong") and failed[0][1]
# claim: level-4-keeps-nothing-of-it
assert failed[1][0] == failed[0][0] and not failed[1][1]
# claim: a-pass-changes-what-is-compared
assert ends["a pass before lowering", 4] == ("wrong", False)
# claim: a-decomposition-is-above-what-is-compared
assert ends["a decomposition", 4] == ("wrong", False)
