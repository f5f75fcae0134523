"""Who checks the inputs: an exported program, and what AOTInductor made of it.

The program was exported for batches of 2 to 64 rows of 8 numbers. An input outside is
not always an error. `Pointwise` has no product, so its package calls no operator of a library.
"""
# tclab: timeout=400

import os
import tempfile

import torch

import tclab


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(8, 8)

    def forward(self, x):
        return torch.relu(self.linear(x))


class Pointwise(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x + 1) * 2


class ScalesOneRow(torch.nn.Module):
    def forward(self, x):
        return x * 100 if x.shape[0] == 1 else x / x.shape[0]


def answer(call, x, module):
    """Whether the call is right, or the name of its error."""
    try:
        result = call(x)
    except Exception as error:
        messages.append(str(error))
        return type(error).__name__
    expected = module(x)
    same = result.shape == expected.shape and torch.allclose(result.to(x), expected, atol=1e-5)
    return "right" if same else "wrong"


def packages(program, number):
    """A program compiled ahead of time, loaded so many times."""
    with tempfile.TemporaryDirectory() as folder:
        path = torch._inductor.aoti_compile_and_package(
            program,
            package_path=f"{folder}/model.pt2",
            inductor_configs={"aot_inductor.compile_wrapper_opt_level": "O0"},
        )
        return [torch._inductor.aoti_load_package(path) for _ in range(number)]


messages = []
torch.manual_seed(0)
torch.set_grad_enabled(False)
model = Model().eval()
rows_of = torch.export.Dim("rows", min=2, max=64)
program = torch.export.export(model, (torch.randn(4, 8),), dynamic_shapes={"x": {0: rows_of}})
loaded, checked = packages(program, 2)
pointwise = Pointwise()
(generated,) = packages(torch.export.export(pointwise, (torch.randn(4, 8),)), 1)
for package in (loaded, generated):  # a package reads the variable at its first call
    package(torch.randn(4, 8))
os.environ["AOTI_RUNTIME_CHECK_INPUTS"] = "1"
INPUTS = {
    "7 rows": torch.randn(7, 8),
    "65 rows": torch.randn(65, 8),
    "1 row": torch.randn(1, 8),
    "rows of 9": torch.randn(4, 9),
    "transposed": torch.randn(8, 4).t(),
    "float64": torch.randn(4, 8).double(),
}
CALLS = {"program.module()": program.module(), "the package": loaded, "asked to check": checked}
rows = [(name, *(answer(call, x, model) for call in CALLS.values())) for name, x in INPUTS.items()]
tclab.show(tclab.Table("Six inputs", "inputs", ("input", *CALLS), rows))
answers = {name: row for name, *row in rows}

# claim: a-size-within-the-range-needs-no-new-compile
assert answers["7 rows"] == ["right"] * 3
# claim: the-program-refuses-what-is-outside-its-range
assert answers["65 rows"][0].endswith("Error")
# claim: one-row-goes-through
assert answers["1 row"][0] == "right"
# claim: the-package-does-not-look
assert answers["65 rows"][1] == answers["1 row"][1] == "right"
one_row = torch.export.Dim("rows", min=1, max=64)
scales = torch.export.export(
    ScalesOneRow(), (torch.ones(4, 8),), dynamic_shapes={"x": {0: one_row}}
)
# claim: one-row-is-not-traced-by-itself
assert answer(scales.module(), INPUTS["1 row"], ScalesOneRow()) == "wrong"
assert answer(scales.module(), INPUTS["7 rows"], ScalesOneRow()) == "right"
# claim: strides-are-handled
assert answers["transposed"][:2] == ["right", "right"]
# claim: what-an-operator-cannot-take-is-an-error
assert {answer[-5:] for name in ("rows of 9", "float64") for answer in answers[name]} == {"Error"}
# claim: sizes-are-checked-first
assert answers["rows of 9"][0] == "AssertionError" != answers["float64"][0]
assert any("Guard failed: x.size()[1] == 8" in message for message in messages)
# claim: asked-to-the-package-looks
assert [answers[name][2] for name in list(INPUTS)[1:]] == ["RuntimeError"] * 5
# claim: its-error-says-why, torch >= 2.13
assert any("dim value is too large at 0, expected to be <= 64" in m for m in messages)
unasked = {name: answer(generated, x, pointwise) for name, x in INPUTS.items()}
# claim: a-kernel-takes-what-it-gets
assert {unasked[name] for name in ("float64", "rows of 9", "transposed")} == {"wrong"}
