"""One program, and what each log says of it.

The program trains two steps, the second with another size, and prints in the middle. All logs
are asked for at once; below each is what it alone wrote, without tracebacks.
"""
# tclab: needs=cxx

from inspect import getsource

import torch
from _child import logged
from torch._dynamo.utils import counters
from torch._logging._internal import help_message

import tclab


def step(x, w):
    y = torch.relu(x @ w + 1)
    print(end="")
    return y @ w


def program(backend="inductor"):
    compiled = torch.compile(step, backend=backend)
    for rows in (8, 12):
        x, w = torch.randn(rows, 16), torch.randn(16, 16, requires_grad=True)
        compiled(x, w).sum().backward()
    return counters["stats"]["unique_graphs"]


def with_compiled_autograd():
    """A step that is captured twice: the second adds to the gradient of the first."""
    torch._dynamo.config.compiled_autograd = True
    w = torch.ones(4, requires_grad=True)
    compiled = torch.compile(lambda: w.sin().sum().backward(), backend="eager")
    compiled(), compiled()
    return counters["compiled_autograd"]["captures"]


def asks_inside():
    torch._logging.set_logs(graph_breaks=True)
    program("aot_eager")


QUESTIONS = {
    "trace_source": "Which line is Dynamo at?",
    "recompiles": "Why did it compile again?",
    "graph_breaks": "Where is my function cut into pieces?",
    "graph_code": "What is in the graph?",
    "bytecode": "What became of my function's bytecode?",
    "guards": "What does the compiled code depend on?",
    "dynamic": "Where does this symbol come from?",
    "aot_joint_graph": "What is differentiated, and how?",
    "aot_graphs": "What runs forward, what backward?",
    "post_grad_graphs": "What is lowered, after all passes?",
    "ir_pre_fusion": "What is handed to the scheduler?",
    "ir_post_fusion": "What became one kernel?",
    "fusion": "What was fused with what, round by round?",
    "output_code": "What code was generated?",
    "kernel_code": "What are the kernels alone?",
}
SHOWN = 40
graphs, records = logged(",".join(QUESTIONS), program)
captures, captured = logged("compiled_autograd", with_compiled_autograd)
_, verbose = logged("compiled_autograd_verbose", with_compiled_autograd)
_, quiet = logged("", program, "aot_eager")
_, by_dynamo = logged("+dynamo", program, "aot_eager")
_, set_inside = logged("", asks_inside)
_, set_twice = logged("recompiles", asks_inside)


def failure(logs, **variables):
    """How a process ends that reads such variables."""
    try:
        return logged(logs, program, "aot_eager", **variables)
    except RuntimeError as error:
        return str(error)


left_out = [name for name in QUESTIONS if f"  {name} " not in help_message(verbose=False)]
mistyped, empty = failure("graph_brakes"), failure("", TORCH_LOGS="")
of_a_module = failure("code")  # Python's own
texts = dict.fromkeys(QUESTIONS, "")
for name, message in records:
    said, _, _ = message.partition("\nUser code traceback:")
    if (log := "dynamic" if name.endswith("symbolic_shapes") else name) in texts:
        texts[log] += said + "\n"

tclab.show(
    tclab.Table(
        title="Which log answers which question",
        name="logs",
        columns=("the question", "TORCH_LOGS=", "lines it wrote here"),
        rows=[(QUESTIONS[name], name, text.count("\n")) for name, text in texts.items()],
    )
)
for name, text in texts.items():
    lines = text.splitlines()
    rest = [f"… {len(lines) - SHOWN} more lines"] if len(lines) > SHOWN else []
    tclab.show("\n".join(lines[:SHOWN] + rest), title=f"TORCH_LOGS={name}", name=name)

# claim: a-wrong-name-is-an-error
assert "Invalid log settings: graph_brakes" in mistyped and "aot_joint_graph" in mistyped
# claim: the-name-of-a-module-is-no-error
assert of_a_module[1] == []
# claim: an-empty-one-is-an-error
assert "get_log_level_pairs" in empty
# claim: help-leaves-names-out
assert len(left_out) > len(QUESTIONS) / 2
assert all(name in help_message(verbose=True) for name in QUESTIONS if name != "dynamic")
# claim: the-variable-wins
assert "graph_breaks" in dict(set_inside) and {name for name, _ in set_twice} >= {"recompiles"}
assert "graph_breaks" not in dict(set_twice)
# claim: silent-unless-asked
assert not quiet
# claim: plus-dynamo-is-not-all
assert "graph_code" in dict(by_dynamo) and not {"recompiles", "bytecode"} & dict(by_dynamo).keys()
# claim: recompiles-names-the-guard
assert "size mismatch at index 0. expected 8, actual 12" in texts["recompiles"]
# claim: graph-breaks-names-the-call-and-the-line
assert f"question.py:{step.__code__.co_firstlineno + 2}\n" in texts["graph_breaks"]
assert "`print`" in texts["graph_breaks"]
# claim: graph-code-is-of-torch
assert "torch.relu(" in texts["graph_code"] and "torch.ops.aten" not in texts["graph_code"]
# claim: each-graph-is-printed
assert [name for name, _ in records].count("graph_code") == graphs == 4
# claim: trace-source-has-each-line
assert all(line in texts["trace_source"] for line in getsource(step).splitlines())
# claim: bytecode-before-and-after
assert {"ORIGINAL BYTECODE", "MODIFIED BYTECODE"} <= {
    " ".join(line.split()[:2]) for line in texts["bytecode"].splitlines()
}
# claim: guards-are-a-tree
assert "TREE_GUARD_MANAGER" in texts["guards"] and "TENSOR_MATCH" in texts["guards"]
# claim: dynamic-names-the-source-of-a-symbol
assert "create_symbol" in texts["dynamic"] and "L['x'].size()[0]" in texts["dynamic"]
# claim: the-joint-graph-takes-tangents
assert "tangents_1" in texts["aot_joint_graph"]
# claim: aot-graphs-are-forward-and-backward
assert "Forward graph" in texts["aot_graphs"] and "Backward graph" in texts["aot_graphs"]
# claim: post-grad-is-what-is-lowered
assert "torch.ops.aten.mm.default" in texts["post_grad_graphs"]
assert "AFTER POST GRAD" in texts["post_grad_graphs"]
assert "= torch.ops.aten.relu.default(" in texts["post_grad_graphs"]
# claim: before-fusion-each-node-is-alone
assert {"op1: SchedulerNode", "op2: SchedulerNode"} <= {
    line.partition("(")[0] for line in texts["ir_pre_fusion"].splitlines()
}
# claim: a-fused-node-names-its-parts
assert "op1_op2: FusedSchedulerNode(" in texts["ir_post_fusion"]
# claim: fusion-names-the-pair
assert "fusing op1 with op2" in texts["fusion"] and "fusion (1/10)" in texts["fusion"]
# claim: output-code-is-the-whole-file
assert "def call(" in texts["output_code"] and 'extern "C"' in texts["output_code"]
# claim: kernel-code-is-the-kernels
assert 'extern "C"' in texts["kernel_code"] and "def call(" not in texts["kernel_code"]
# claim: each-captured-backward-is-printed
assert [name for name, _ in captured] == ["compiled_autograd"] * captures and captures == 2
# claim: the-new-node-is-named
assert "new autograd node: torch::autograd::AccumulateGrad" in verbose[-3][1]
assert not any("new autograd node" in message for _, message in captured)
