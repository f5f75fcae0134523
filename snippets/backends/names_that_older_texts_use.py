"""Six names that tutorials give to `backend=`: what each answers here.

A name may be unknown, or known and then fail, or work. The last column is what PyTorch's own folder
of backends has for it.
"""

import ast
from pathlib import Path

import torch
import torch._dynamo.backends
from torch._dynamo.backends.registry import list_backends
from torch._dynamo.exc import InvalidBackend

import tclab

NAMES = ("ipex", "onnxrt", "tensorrt", "tvm", "openxla", "openvino")
FOLDER = Path(torch._dynamo.backends.__file__).parent


def f(x):
    return torch.relu(x) + 1


def first_cause(error):
    """The error at the beginning of the chain: what was really missing."""
    while cause := getattr(error, "inner_exception", None) or error.__cause__:
        error = cause
    return error


def answer(name):
    """(what `backend=name` says to a small function, the error it began with)"""
    torch._dynamo.reset()
    try:
        result = torch.compile(f, backend=name)(torch.ones(3))
    except InvalidBackend as error:
        return "no such backend", error
    except Exception as error:
        cause = first_cause(error)
        return f"fails: {cause}", cause
    return ("right" if torch.equal(result, f(torch.ones(3))) else "wrong"), None


def own_file(name):
    """What PyTorch's file for a backend holds: nothing, comments alone, or code."""
    path = FOLDER / f"{ {'openxla': 'torchxla'}.get(name, name) }.py"
    if not path.exists():
        return "no file", 0
    body = ast.parse(path.read_text()).body
    statements = [each for each in body if not isinstance(each, ast.Expr)]
    return path.name + (", code" if statements else ", comments alone"), len(statements)


answers = {name: answer(name) for name in NAMES}
files = {name: own_file(name) for name in NAMES}
rows = [(name, answers[name][0], files[name][0]) for name in NAMES]
columns = ("backend=", "what it answers", "in torch/_dynamo/backends")
tclab.show(tclab.Table("Names that older texts use", "names", columns, rows))

unknown = [name for name in NAMES if answers[name][0] == "no such backend"]
# claim: four-are-unknown
assert unknown == ["ipex", "onnxrt", "tensorrt", "openvino"], rows
assert not set(unknown) & set(list_backends(exclude_tags=()))
# claim: two-are-comments
assert [name for name in NAMES if files[name][0].endswith("comments alone")] == [
    "onnxrt",
    "tensorrt",
]
# claim: ipex-has-no-file
assert files["ipex"] == files["openvino"] == ("no file", 0)
# claim: two-fail-for-a-package
assert isinstance(answers["tvm"][1], ModuleNotFoundError) and answers["tvm"][1].name == "tvm"
assert isinstance(answers["openxla"][1], ModuleNotFoundError)
assert answers["openxla"][1].name == "torch_xla"
