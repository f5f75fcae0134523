"""A package called from C++: the program, what it is linked with, and its result.

The program has no Python. It reads the package's path from its arguments, makes an input, and
prints the result's sizes and sum.
"""
# tclab: needs=cxx timeout=300

import subprocess
import tempfile
from pathlib import Path

import torch
from torch import nn

import tclab

PROGRAM = r"""
#include <iostream>
#include <ATen/ATen.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

int main(int count, char** words) {
  c10::InferenceMode mode;
  torch::inductor::AOTIModelPackageLoader loader(words[1]);
  std::vector<at::Tensor> inputs = {at::ones({std::stol(words[2]), 16})};
  std::vector<at::Tensor> outputs = loader.run(inputs);
  std::cout << outputs[0].sizes() << " " << outputs[0].sum().item<double>() << std::endl;
}
"""
ROOT = Path(torch.__file__).parent
INCLUDED = [f"-I{ROOT}/include", f"-I{ROOT}/include/torch/csrc/api/include"]
LINKED = [f"-L{ROOT}/lib", f"-Wl,-rpath,{ROOT}/lib", "-ltorch", "-ltorch_cpu", "-lc10"]


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(16, 4)

    def forward(self, x):
        return torch.relu(self.linear(x)) + 1


def ran(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


torch.manual_seed(0)
torch.set_grad_enabled(False)
model, rows = Model().eval(), torch.export.Dim("rows", min=2, max=64)
with tempfile.TemporaryDirectory() as folder:
    package = torch._inductor.aoti_compile_and_package(
        torch.export.export(model, (torch.randn(8, 16),), dynamic_shapes={"x": {0: rows}}),
        package_path=f"{folder}/model.pt2",
        inductor_configs={"aot_inductor.compile_wrapper_opt_level": "O0"},  # compiles faster
    )
    source, program = Path(folder, "main.cpp"), f"{folder}/main"
    source.write_text(PROGRAM)
    ran("g++", "-std=c++20", "-O0", *INCLUDED, str(source), "-o", program, *LINKED)
    found = {size: ran(program, package, str(size)).split("] ") for size in (8, 5)}
    libraries = ran("ldd", program)
needed = sorted({line.split()[0] for line in libraries.splitlines() if str(ROOT) in line})
tclab.show(tclab.Listing("main.cpp", code=PROGRAM.strip(), language="cpp"), name="program")
tclab.show(tclab.Table(
    title="What it printed, and what Python computes", name="results",
    columns=("rows", "sizes", "sum, C++", "sum, Python"), formats=("d", "", ".4f", ".4f"),
    rows=[(size, f"{sizes}]", float(total), model(torch.ones(size, 16)).double().sum().item())
          for size, (sizes, total) in found.items()],
))  # fmt: skip
tclab.show("\n".join(needed), title="PyTorch's libraries it is linked with", name="libraries")

# claim: the-result-is-pythons
assert all(
    abs(float(total) - model(torch.ones(size, 16)).double().sum().item()) < 1e-3
    for size, (_, total) in found.items()
)
# claim: within-the-range-sizes-vary
assert found[8][0] == "[8, 4" and found[5][0] == "[5, 4"
# claim: pytorchs-library-is-needed
assert "libtorch_cpu.so" in needed
# claim: and-no-python
assert not any("python" in line.split()[0] for line in libraries.splitlines())
