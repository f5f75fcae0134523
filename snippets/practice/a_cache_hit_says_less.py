"""Tools that look at a stage find nothing where the graph came from the cache.

One program, three times over one cache folder, each in a process of its own: twice with logs, then
with the minifier. Inductor's ReLU is made wrong on purpose, so that the minifier had to speak.
"""
# tclab: needs=cxx timeout=600

import os
import re
import tempfile

import torch
from _child import caches_on, logged

import tclab

LOGS = ("graph_code", "aot_graphs", "ir_post_fusion", "output_code")
ANSWERS = "+torch._functorch._aot_autograd.autograd_cache,+torch._inductor.codecache"


def f(x):
    return torch.relu(x - 0.5)


def program(folder, minify=False, disabled=False):
    """Whether the call ended with the error of the minifier."""
    os.chdir(folder)  # the minifier writes beside the program
    torch._inductor.config.cpp.inject_relu_bug_TESTING_ONLY = "accuracy"
    torch._dynamo.config.debug_dir_root = folder
    torch._dynamo.config.repro_after = "aot" if minify else None
    torch._dynamo.config.repro_level = 4
    caches_on(folder)
    torch._inductor.config.force_disable_caches = disabled
    try:
        torch.compile(f)(torch.linspace(-1, 1, 64))
    except torch._dynamo.debug_utils.AccuracyError:
        return True
    return False


def answers(records):
    """What each graph cache said to a call, by its own log."""
    said = " ".join(message for _, message in records)
    return sorted(re.findall(r"(AOTAutograd|fx graph) cache (hit|miss) for key", said))


with tempfile.TemporaryDirectory() as folder:
    cold, hit = (logged(",".join((*LOGS, ANSWERS)), program, folder)[1] for _ in range(2))
    found_at_a_hit = logged("", program, folder, True)[0]
    found_without = logged("", program, folder, True, True)[0]

lines = [
    {log: sum(m.count("\n") + 1 for name, m in records if name == log) for log in LOGS}
    for records in (cold, hit)
]
tclab.show(
    tclab.Table(
        title="Lines in the log",
        name="lines",
        columns=("TORCH_LOGS=", "cold", "from the cache"),
        rows=[(log, lines[0][log], lines[1][log]) for log in LOGS],
    )
)

# claim: dynamo-is-logged-either-way
assert lines[0]["graph_code"] == lines[1]["graph_code"] > 0
# claim: inductors-ir-is-not
assert lines[0]["ir_post_fusion"] > 0 == lines[1]["ir_post_fusion"]
# claim: generated-code-is
assert lines[1]["output_code"] > 0
# claim: the-minifier-is-blind-to-a-hit
assert not found_at_a_hit
# claim: without-caches-it-sees
assert found_without
# claim: the-caches-logs-say-hit-or-miss
assert answers(cold) == [("AOTAutograd", "miss"), ("fx graph", "miss")]
assert answers(hit) == [("AOTAutograd", "hit"), ("fx graph", "hit")]
