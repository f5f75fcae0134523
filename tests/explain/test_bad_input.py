"""What bad input gets: one message, its exit status, no file, and a PyTorch that still works."""

from __future__ import annotations

import importlib.util
import itertools
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from tclab.cli import command
from tclab.errors import ExplainError
from tclab.explain import explain, run

SRC = Path(command.__file__).resolve().parents[2]

MODEL = """\
import torch
from torch import nn


def add(x, y):
    return x + y


def raises(x):
    if x.shape[0] == 2:
        raise ValueError("two is not enough: \\u00e9</script>")
    return x


class Speechless(Exception):
    def __str__(self):
        raise ValueError("no words")


def speechless(x):
    raise Speechless


def frozen(x):
    with torch.no_grad():
        return x * 2


def counts(x):
    return x.shape[0]


def breaks(x):
    y = x + 1
    print("a break")
    if y.sum() > 0:
        return y * 2
    return y


class Wide(nn.Module):
    def __init__(self, width):
        super().__init__()


class Plain:
    pass


number = 3
"""


@pytest.fixture(autouse=True)
def torch_still_works():
    import torch._dynamo.config as dynamo

    before = torch.get_rng_state(), dynamo.get_config_copy(), list(sys.path)
    yield
    assert torch.equal(torch.get_rng_state(), before[0])
    assert dynamo.get_config_copy() == before[1]
    assert sys.path == before[2]
    x = torch.ones(3)
    assert torch.equal(torch.compile(torch.sin, backend="eager")(x), torch.sin(x))


X, XY = ["-i", "f32[2]"], ["-i", "f32[2]", "-i", "f32[2]"]
FULL = ["--option", "fullgraph=True"]
CASES = [
    # arguments, exit status, what the message says
    (["model.py"], 2, ["a name is missing", "FILE.py:NAME"]),
    (["modle.py:add"], 2, ["modle.py: no such file", "did you mean model.py?"]),
    (["model.py:ad"], 2, ["there is no 'ad'", "did you mean add?"]),
    (["model.py:zzzzzz"], 2, ["there is no 'zzzzzz'", "there are: add, raises"]),
    (["no_such_package_x:f"], 2, ["no module 'no_such_package_x'"]),
    (["model:add"], 2, ["there are no inputs", "example_inputs()"]),
    (["model.py:add"], 2, ["it takes (x, y)", "inputs for x, y", "returning (x, y)"]),
    (["model.py:add", "-i", "f32[2]"], 1, ["do not fit", "missing a required argument: 'y'"]),
    (["model.py:add", "-i", "f32[2]", "-i", "f32[3]"], 1, ["model.py:6 (return x + y)", "raised:"]),
    (["model.py:add", "-i", "g32[2]"], 2, ["no data type 'g32'"]),
    (["model.py:counts", "-i", "f32[100000000000]"], 1, ["float32[100000000000]: it takes 400 GB"]),
    (["model.py:counts", "-i", "c128[999999999999999999]"], 1, ["and this machine has"]),
    (["model.py:counts", "-i", "f32[99999999999999999999]"], 2, ["a size of over 18 digits"]),
    (["model.py:counts", "-i", f"f32[{'9' * 5000}]"], 2, ["a size of over 18 digits"]),
    (["model.py:counts", "-i", f"i64[3]<{'9' * 5000}"], 2, ["int64 has no integers above 9223"]),
    (["model.py:counts", "-i", "i8[4]<1000"], 2, ["int8 has no integers above 127", "most 128"]),
    (["model.py:counts", "-i", "u8[4]<257"], 2, ["uint8 has no integers above 255"]),
    (["model.py:speechless", "-i", "f32[2]"], 1, ["(raise Speechless): speechless raised: m"]),
    (["model.py:raises", "-i", "f32[2]"], 1, ["model.py:11", "two is not enough: é</script>"]),
    (["model.py:frozen", "-i", "f32[2]", "--backward"], 1, ["no backward", "detached"]),
    (["model.py:counts", "-i", "f32[2]", "--backward"], 1, ["returns no tensor (int)"]),
    (["model.py:Wide"], 1, ["Wide() cannot be made without arguments", "'width'", "def make()"]),
    (["model.py:Plain"], 1, ["no nn.Module"]),
    (["model.py:number"], 1, ["type int, which cannot be called"]),
    (["model.py:add", "--target", "h2000"], 2, ["no such target", "did you mean h200"]),
    (["model.py:add", "-o", "no/such/x.html"], 2, ["no such folder", "mkdir -p no/such"]),
    (["model.py:add", "--format", "json", "--open"], 2, ["--open: it shows HTML, not json"]),
    (["model.py:add", "--format", "text", "--watch"], 2, ["--watch: it shows HTML, not text"]),
    (["model.py:add", "--port", "8000"], 2, ["--port 8000", "add --watch"]),
    (["model.py:add", *XY, "--option", "mode=fast"], 2, ["no such mode", "the modes are default"]),
    (["model.py:add", *XY, "--option", "shape_pading=1"], 2, ["did you mean shape_padding?"]),
    (["model.py:add", *XY, "--option", "fullgraph=yes"], 2, ["one of True, False"]),
    (["syntax.py:f"], 1, ["syntax.py:2: SyntaxError", "def f(x:"]),
    (["imports.py:f"], 1, ["imports.py:1", "No module named 'no_such_package_x'", "install"]),
    (["exits.py:f"], 1, ["sys.exit was called", "__main__"]),
    (["examples.py:f"], 1, ["examples.py:6", "example_inputs() failed: ZeroDivisionError"]),
    (["examples.py:g"], 1, ["examples.py:6"]),
    (["listless.py:f"], 1, ["returned an object of type int"]),
    (["values.py:f"], 1, ["values.py:example_inputs", "no function, but an object of type list"]),
]  # fmt: skip

FILES = {
    "model.py": MODEL,
    "syntax.py": "x = 1\ndef f(x:\n    pass\n",
    "imports.py": "import no_such_package_x\n",
    "exits.py": "raise SystemExit(3)\n",
    "examples.py": "def f(x):\n    return x\ndef g(x=1):\n    return x\n"
    "def example_inputs():\n    return 1 / 0\n",
    "values.py": "def f(x):\n    return x\nexample_inputs = [(1,)]\n",
    "listless.py": "def f(x):\n    return x\ndef example_inputs():\n    return [1]\n",
}


@pytest.mark.parametrize(("words", "status", "said"), CASES, ids=[" ".join(c[0]) for c in CASES])
def test_one_message_and_no_file(words, status, said, write, folder, capsys):
    if "--target" in words:
        pytest.importorskip("triton")
    for name, text in FILES.items():
        write(name, text)
    assert command.main(["explain", *words]) == status
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ") and "\n  next: " in err and "Traceback" not in err
    for part in said:
        assert part in err
    left = {p.name for p in folder.iterdir()} - {"__pycache__"}
    assert left == set(FILES)


def test_fullgraph_names_the_line_the_break_and_a_way_out(write, capsys):
    write("model.py", MODEL)
    assert command.main(["explain", "model.py:breaks", *X, *FULL]) == 1
    lines = capsys.readouterr().err.splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("error: "))
    first, step = lines[at : at + 2]  # what libraries warn of comes after it
    assert first.startswith('error: model.py:35 (print("a break")): fullgraph=True allows no graph')
    assert first.endswith("Failed to trace builtin operator [GB0059], and 1 more after it")
    assert "Avoid calling builtin `print`" in step and "every break" in step


@pytest.mark.parametrize("more", [[], ["--target", "h200"]], ids=["here", "h200"])
def test_fullgraph_is_no_error_where_there_is_one_graph(write, folder, more):
    if more:
        pytest.importorskip("triton")
    write("model.py", MODEL)
    assert command.main(["explain", "model.py:add", *XY, *FULL, *more]) == 0


def test_a_break_is_named_for_a_target_too(write, capsys):
    pytest.importorskip("triton")
    write("model.py", MODEL)
    words = ["explain", "model.py:breaks", *X, *FULL, "--target", "h200"]
    assert command.main(words) == 1
    assert 'model.py:35 (print("a break")): fullgraph=True' in capsys.readouterr().err


def test_without_gradients_the_reason_is_given(write, capsys):
    write("m.py", "import torch\ndef f(x):\n    return x * 2\n"
          "def example_inputs():\n    return (torch.ones(2),)\n")  # fmt: skip
    assert command.main(["explain", "m.py:f", "--backward"]) == 1
    err = capsys.readouterr().err
    assert "no input and no parameter requires grad" in err and "requires_grad=True" in err


def test_warnings_of_others_come_after_the_error(write, capsys):
    write("m.py", "import warnings\nwarnings.warn('of no use')\ndef f(x):\n    return x + [1]\n")
    assert command.main(["explain", "m.py:f", "-i", "f32[2]"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("error: m.py:4 (return x + [1]): f raised: ")
    assert lines[-1].endswith("m.py:2: UserWarning: of no use")


def test_without_triton_a_target_is_refused(write, capsys, monkeypatch):
    write("model.py", MODEL)
    spec = importlib.util.find_spec
    monkeypatch.setattr(
        run.importlib.util, "find_spec", lambda n: None if n == "triton" else spec(n)
    )
    assert command.main(["explain", "model.py:add", "--target", "h200"]) == 1
    assert "Triton is not installed" in capsys.readouterr().err


def test_without_torch_nothing_is_tried(write, capsys, monkeypatch):
    write("model.py", MODEL)
    monkeypatch.setattr(run.importlib.util, "find_spec", lambda n: None)
    assert command.main(["explain", "model.py:add"]) == 1
    assert "PyTorch is not installed" in capsys.readouterr().err


def test_an_unknown_torch_is_refused(write, capsys, monkeypatch):
    write("model.py", MODEL)
    monkeypatch.setattr(torch, "__version__", "9.9.0")
    assert command.main(["explain", "model.py:add", "-i", "f32[2]", "-i", "f32[2]"]) == 1
    err = capsys.readouterr().err
    assert "this tclab knows PyTorch 2.11 to 2.15" in err and "use a supported torch" in err


def test_a_compiler_that_fails_is_told_apart_from_the_function(write, capsys, monkeypatch):
    from torch._inductor import compile_fx

    def broken(*args, **kwargs):
        raise RuntimeError("no room for a backend")

    write("model.py", MODEL)
    monkeypatch.setattr(compile_fx, "compile_fx", broken)
    assert command.main(["explain", "model.py:add", "-i", "f32[2]", "-i", "f32[2]"]) == 1
    err = capsys.readouterr().err
    assert "it runs, but torch.compile fails on it" in err and "no room for a backend" in err


def test_an_unwritable_file_leaves_the_old_one(write, capsys, monkeypatch):
    write("model.py", MODEL)
    old = write("old.html", "old")
    from tclab.cli import output_file

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(ExplainError, match="No space left on device"):
        output_file.replace_file(old, "new")
    assert old.read_text() == "old"
    assert {p.name for p in old.parent.iterdir()} == {"model.py", "old.html"}


def _listen_to_ctrl_c():
    signal.signal(signal.SIGINT, signal.default_int_handler)


SLOW = """\
import time

def f(x):
    print('here', flush=True)
    time.sleep(60)
"""
TURNS_IT_INTO_ITS_OWN = """\
import time

def f(x):
    try:
        print('here', flush=True)
        time.sleep(600)
    except KeyboardInterrupt:
        raise RuntimeError("the compiler failed") from None
"""


@pytest.mark.parametrize("source", [SLOW, TURNS_IT_INTO_ITS_OWN])
def test_an_interrupted_run_writes_nothing(write, folder, source):
    write("slow.py", source)
    words = ["explain", "slow.py:f", "-i", "f32[2]", "-o", "slow.html"]
    env = os.environ | {"PYTHONPATH": str(SRC)}
    pipe = subprocess.PIPE
    command = [sys.executable, "-m", "tclab", *words]
    process = subprocess.Popen(
        command, env=env, cwd=folder, stdout=pipe, stderr=pipe, text=True,
        # Started from a background job, the tests ignore Ctrl-C, and so would their children.
        preexec_fn=_listen_to_ctrl_c)  # fmt: skip  # noqa: PLW1509 - no other thread here
    assert process.stderr is not None
    before = list(itertools.takewhile(lambda line: line.strip() != "here", process.stderr))
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    err = process.stderr.read()  # not by communicate(): some of it may have been read ahead
    assert process.wait(timeout=60) == 130, "".join([*before, err])
    assert "interrupted; no report was written" in err and "Traceback" not in err
    assert {p.name for p in folder.iterdir()} - {"__pycache__"} == {"slow.py"}


def test_the_command_is_there_without_torch():
    code = (
        "import sys; from tclab.cli import command; s = command.main(['explain', '--help']);"
        "sys.exit(s or 'torch' in sys.modules)"
    )
    env = os.environ | {"PYTHONPATH": str(SRC)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True,
                          check=False)  # fmt: skip
    assert done.returncode == 0, done.stderr
    for part in ("FILE.py:NAME", "example_inputs()", "--target", "f32[8,1024]", "Exit status:"):
        assert part in done.stdout


def test_objects_are_checked_as_files_are():
    with pytest.raises(Exception, match="do not fit"):
        explain(lambda x: x, [()])


def test_an_object_that_the_compiler_fails_on_is_told_as_a_file_is():
    """A function that is passed as an object is in no file that a trial could change."""

    def fails(x):
        return x + 1

    def backend(graph, inputs):
        raise ValueError("no such thing")

    with pytest.raises(ExplainError, match=r"it runs, but torch.compile fails .*no such thing"):
        explain(fails, [(torch.ones(2),)], backend=backend)


def test_weights_that_cannot_be_fetched_are_said_to_be_of_no_need(write, capsys):
    write("m.py", "def network():\n    raise ConnectionError('no route to the weights')\n")
    assert command.main(["explain", "m.py:network"]) == 1
    err = capsys.readouterr().err
    assert "no route to the weights" in err and "random weights have the same kernels" in err


def test_an_operator_of_the_gpu_alone_is_told_what_it_lacks(write, capsys):
    write("m.py", "import torch\ntorch.library.define('tclab_bad::blur', '(Tensor x) -> Tensor')\n"
          "def f(x):\n    return torch.ops.tclab_bad.blur(x)\n")  # fmt: skip
    assert command.main(["explain", "m.py:f", "-i", "f32[2]"]) == 1
    err = capsys.readouterr().err
    assert "m.py:4" in err and "torch.library.register_fake" in err
