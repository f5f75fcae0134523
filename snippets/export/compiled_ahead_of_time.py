"""The same model compiled at its first call, and ahead of time.

`torch.export` takes the graph, AOTInductor compiles it into a package, and the package is loaded
and called. Both ways go through Inductor, so their kernels can be compared as text.
"""
# tclab: timeout=240

import tempfile
from pathlib import Path
from zipfile import ZipFile

import torch
from torch import nn

import tclab


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear, self.norm = nn.Linear(16, 16), nn.LayerNorm(16)

    def forward(self, x):
        return torch.relu(self.norm(self.linear(x)))


def operators(graph):
    return [str(node.target) for node in graph.nodes if node.op == "call_function"]


def package(model, x, folder):
    """The path of a package of `model`, with what its compile went through."""
    program = torch.export.export(model, (x,))
    with tclab.capture() as c:
        options = {"aot_inductor.compile_wrapper_opt_level": "O0"}  # compiles faster
        path = torch._inductor.aoti_compile_and_package(
            program, package_path=f"{folder}/model.pt2", inductor_configs=options
        )
    return program, path, c


def body(kernel):
    """A kernel's text from its first brace on: its name depends on the way."""
    return kernel.code[kernel.code.index("{") :].strip()


torch.manual_seed(0)
model, x = Model().eval(), torch.randn(8, 16)
torch.set_grad_enabled(False)
jit = tclab.capture(model)(x)
with tempfile.TemporaryDirectory() as folder:
    program, path, ahead = package(model, x, folder)
    package_file = ZipFile(path)
    kinds = {Path(name).suffix for name in package_file.namelist()}
    source = "".join(
        package_file.read(name).decode()
        for name in package_file.namelist()
        if name.endswith("kernel.cpp")
    )
    loaded = torch._inductor.aoti_load_package(path)
    with tclab.capture() as calls:
        result = loaded(x)
    eager, compiled = model(x), torch.compile(model)
    compiled(x)
    model.norm.bias += 1
    after = {"eager": model(x), "torch.compile": compiled(x), "the package": loaded(x)}

exported = operators(program.graph)
gets = [
    sorted(node.target for node in c.post_grad[0].nodes if node.op == "call_function")
    for c in (jit, ahead)
]
kernels = [kernel for kernel in jit.kernels if kernel.category != "extern"]
program_code = program.graph_module.code.strip()
tclab.show(
    tclab.Listing("The exported program", code=program_code, language="python"), name="program"
)
tclab.show(
    tclab.Table(
        title="Two ways",
        name="ways",
        columns=("stage", "torch.compile", "ahead of time"),
        rows=[
            ("operations of the graph taken", len(jit.graphs[0]), len(exported)),
            ("operations that Inductor gets", len(gets[0]), len(gets[1])),
            ("graphs compiled when it is called", len(jit.graphs), len(calls.graphs)),
        ],
    )
)

# claim: the-exported-graph-holds-aten
assert exported == ["aten.linear.default", "aten.layer_norm.default", "aten.relu.default"]
# claim: inductor-gets-the-same-operations
assert gets[0] == gets[1]
# claim: the-kernels-are-the-same
assert kernels and all(body(kernel) in source for kernel in kernels)
# claim: the-wrapper-is-another
assert "def call(" in jit.wrapper[0].code
assert any(name.endswith("wrapper.cpp") for name in package_file.namelist())
# claim: a-package-holds-a-library
assert {".so", ".cpp"} <= kinds
# claim: a-call-compiles-nothing
assert not calls.graphs and not calls.kernels
# claim: the-result-is-right
assert torch.equal(result, jit.result) and torch.allclose(result, eager, atol=1e-5)
# claim: weights-are-copied-into-it
assert torch.equal(after["the package"], result) and not torch.allclose(after["eager"], eager)
# claim: compile-reads-the-module
assert torch.allclose(after["torch.compile"], after["eager"], atol=1e-5)
