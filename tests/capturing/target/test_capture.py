from __future__ import annotations

import importlib.util
import inspect
import os
import re
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch
from torch import nn
from torch._inductor.runtime import compile_tasks

import tclab
from tclab.capturing.target import stand_in
from tclab.capturing.target.capture import TargetCapture, capture_for
from tclab.capturing.torch_private import autotuners
from tclab.errors import CaptureError
from tclab.model import Configuration
from tclab.targets import TargetError


def names(capture: Any) -> list[str]:
    return [k.kernel_name for k in capture.kernels if k.category != "extern"]


def test_a_pointwise_chain_is_one_triton_kernel_for_the_target(pointwise_h200: Any) -> None:
    (kernel,) = pointwise_h200.kernels
    assert kernel.kernel_name == "triton_poi_fused_add_mul_relu_0"
    assert "multi_processor_count=132, cc=90, major=9" in kernel.code
    assert kernel.device == "cuda"


def test_every_stage_is_there(pointwise_h200: Any) -> None:
    c = pointwise_h200
    assert [
        len(s) for s in (c.graphs, c.forward, c.post_grad, c.ir_pre_fusion, c.ir, c.wrapper)
    ] == [1] * 6
    assert {n.device for n in c.forward[0].nodes if n.device} == {"cuda:0"}


def test_the_result_is_that_of_eager_on_the_cpu() -> None:
    x = torch.randn(64)
    c = tclab.capture(lambda x: torch.sin(x) + torch.ones(64), target="h200")(x)
    assert torch.equal(c.result, torch.sin(x) + 1)


def test_a_result_with_a_dynamic_size_makes_the_next_graph_dynamic() -> None:
    def broken(x: torch.Tensor) -> torch.Tensor:
        y = torch.sin(x)
        torch._dynamo.graph_break()
        return torch.cos(y)

    first = torch.randn(8)
    torch._dynamo.mark_dynamic(first, 0)
    calls = [((first,), {}), ((torch.randn(16),), {})]
    compiled, target = torch.compile(broken), capture_for(broken, "h200", calls)
    torch._dynamo.utils.counters.clear()
    for arguments, _ in calls:
        compiled(*arguments)
    assert torch._dynamo.utils.counters["stats"]["unique_graphs"] == len(target.graphs) == 2
    assert not target.recompiles


def test_a_kernel_goes_down_to_sass(pointwise_h200: Any) -> None:
    (kernel,) = pointwise_h200.compile_kernels()
    assert list(kernel.stages) == ["ttir", "ttgir", "llir", "ptx", "sass"]
    assert ".target sm_90a" in kernel.stages["ptx"].code
    assert "//## File" in kernel.stages["sass"].code
    assert "STG" in kernel.stages["sass"].code
    assert 4 <= kernel.resources.registers <= 64
    assert kernel.resources.spilled == 0
    assert len(kernel.candidates) > 1
    assert kernel.configuration == Configuration(kernel.candidates[0], len(kernel.candidates))
    assert "first of" in str(kernel.configuration)
    assert pointwise_h200.stages(kernel.name) == kernel.stages


def test_training_step_forward_and_backward() -> None:
    model = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 8))
    wanted = torch.randint(0, 8, (32,))
    before = [p.device for p in model.parameters()]
    c = tclab.capture(
        lambda x: nn.functional.cross_entropy(model(x), wanted), target="a100", backward=True
    )(torch.randn(32, 64))
    assert (len(c.joint), len(c.forward), len(c.backward)) == (1, 1, 1)
    assert sum("layer_norm" in n for n in names(c)) >= 2
    assert "multi_processor_count=108, cc=80" in next(
        k.code for k in c.kernels if k.category != "extern"
    )
    assert [p.device for p in model.parameters()] == before
    assert all(p.grad is not None for p in model.parameters())


def test_softmax_differs_where_the_devices_differ() -> None:
    def columns(x: torch.Tensor) -> torch.Tensor:
        return x.sum(0)

    x = torch.randn(8192, 256)
    codes = {t: tclab.capture(columns, target=t)(x).kernels[0].code for t in ("h200", "t4")}
    assert "cc=75" in codes["t4"]
    assert codes["h200"] != codes["t4"]


def test_code_that_says_cuda() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        y = torch.ones(x.shape[0], device="cuda")
        return x.cuda() * 2 + y if x.is_cuda else x

    x = torch.randn(32)
    c = tclab.capture(fn, target="h200")(x)
    assert len(names(c)) == 1
    assert torch.equal(c.result, x * 2 + 1)


def test_a_graph_break_gives_two_graphs(capsys: Any) -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x)
        print("between")
        return torch.sigmoid(y)

    c = tclab.capture(fn, target="h200")(torch.randn(32))
    assert len(c.graphs) == len(names(c)) == 2
    assert len(c.breaks) == 1


def test_dropout_uses_the_targets_generator() -> None:
    c = tclab.capture(lambda x: nn.functional.dropout(x, 0.5), target="h200")(torch.randn(512))
    assert "rand" in c.kernels[0].code
    assert "inductor_seeds" in c.wrapper[0].code


def test_what_has_no_meta_kernel_is_refused_by_name() -> None:
    """The GPU would run it to learn its shape; without one it must not look like a graph break."""
    args = torch.randn(50, 16, 20).log_softmax(2), torch.randint(1, 20, (16, 30))
    lengths = torch.full((16,), 50), torch.randint(10, 30, (16,))
    with pytest.raises(TargetError, match=r"ctc_loss.*test_capture\.py:\d+") as error:
        tclab.capture(lambda *a: nn.functional.ctc_loss(*a) * 2, target="h200")(*args, *lengths)
    assert error.value.next_step


def test_bfloat16_where_the_gpu_has_none_is_named() -> None:
    with pytest.raises(TargetError, match="BF16 is not supported") as error:
        tclab.capture(torch.relu, target="t4")(torch.randn(8, dtype=torch.bfloat16))
    assert "float16" in error.value.next_step


def test_a_recurrent_network_has_no_kernel_and_one_break() -> None:
    c = tclab.capture(nn.LSTM(8, 16), target="h200")(torch.randn(5, 3, 8))
    assert (len(c.kernels), len(c.breaks)) == (0, 1)
    assert "LSTM" in c.breaks.breaks[0].reason


def test_a_module_that_breaks_leaves_the_next_one_alone() -> None:
    """Dynamo puts one frame around all of PyTorch's modules, and gives it up for the LSTM."""
    linear = nn.Linear(8, 8)
    graphs = [
        len(tclab.capture(module, target="h200")(torch.randn(5, 3, 8)).graphs)
        for module in (linear, nn.LSTM(8, 16), linear)
    ]
    assert graphs[0] == graphs[2] == 1


def test_a_depthwise_convolution_in_channels_last_stays_there() -> None:
    """Convolution.cpp: use_cudnn_depthwise; cuDNN has every one in that format."""
    x = torch.randn(1, 8, 16, 16).to(memory_format=torch.channels_last)
    model = nn.Conv2d(8, 8, 3, groups=8).requires_grad_(False)
    c = tclab.capture(lambda x: model(x).relu(), target="h200")(x)
    assert "(1568, 1, 112, 8)" in c.wrapper[0].code  # [1, 8, 14, 14]


def test_operators_of_libraries_are_calls_around_known_kernels() -> None:
    c = tclab.capture(lambda x: torch.fft.rfft(x).real + 1, target="h200")(torch.randn(16, 64))
    assert len(names(c)) == 1
    assert any("_fft_r2c" in k.kernel_name for k in c.kernels)
    assert c.gaps == ()


def test_a_graph_that_is_refused_leaves_the_others() -> None:
    def fn(x: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        y = torch.relu(x) + 1
        print("between")
        return torch.rnn_tanh_cell(y, hidden, torch.ones(8, 8), torch.ones(8, 8)) + 1

    from tclab.capturing.target import choices

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(choices._PICKED_BY_GPU, "rnn_tanh_cell", "for this test")
        c = tclab.capture(fn, target="h200")(torch.randn(4, 8), torch.randn(4, 8))
    (gap,) = c.gaps
    assert "rnn_tanh_cell" in gap.place and "test_capture.py" in gap.place
    assert names(c) == ["triton_poi_fused_add_relu_0"]
    assert c.result.shape == (4, 8)


def test_a_number_under_dynamic_shapes_stays_a_number() -> None:
    """Dynamo passes a float of a module as a tensor, which is on the CPU on a GPU, too."""
    norm = nn.LayerNorm(64)
    c = tclab.capture(lambda x: norm(x) + 1, target="h200", dynamic=True)(torch.randn(8, 64))
    assert len(c.breaks) == 0
    assert any("layer_norm" in n for n in names(c))


@pytest.mark.parametrize("mode", ["max-autotune", "max-autotune-no-cudagraphs"])
def test_autotuning_is_refused(mode: str) -> None:
    with pytest.raises(TargetError, match="max_autotune"):
        tclab.capture(torch.relu, target="h200", mode=mode)(torch.randn(8))


def test_other_backends_are_refused() -> None:
    with pytest.raises(CaptureError, match="eager"):
        tclab.capture(torch.relu, target="h200", backend="eager")(torch.randn(8))


def test_an_error_of_the_function_goes_through() -> None:
    def fn(x: torch.Tensor) -> torch.Tensor:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        tclab.capture(fn, target="h200")(torch.randn(8))


def test_a_training_step_that_differentiates_itself() -> None:
    model = nn.Linear(64, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def step(x: torch.Tensor) -> torch.Tensor:
        optimizer.zero_grad()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    before = model.weight.clone()
    c = tclab.capture(step, target="h200")(torch.randn(32, 64))
    assert len(c.backward) == 1
    assert any("foreach" in k.category for k in c.kernels)
    assert not torch.equal(before, model.weight)


def test_a_users_triton_kernel(user_kernel: Any) -> None:
    c = tclab.capture(user_kernel.add, target="a100")(torch.randn(1000), torch.randn(1000))
    mine, theirs = c.compile_kernels()
    assert mine.name == "add_kernel"
    assert "cc=80" in c.wrapper[0].code
    assert theirs.name == "triton_poi_fused_mul_relu_0"
    assert ".target sm_80" in mine.stages["ptx"].code
    with pytest.raises(CaptureError, match="calls a kernel that only"):
        _ = c.result


def test_cuda_graphs_leave_the_kernels_alone(pointwise_h200: Any) -> None:
    def pointwise(x: torch.Tensor) -> torch.Tensor:
        return torch.relu(x + 1) * 2

    c = tclab.capture(pointwise, target="h200", mode="reduce-overhead")(torch.randn(1000))
    assert c.kernels[0].code == pointwise_h200.kernels[0].code


def test_a_convolution_is_one_graph_with_its_epilogue() -> None:
    model = nn.Sequential(nn.Conv2d(8, 16, 3), nn.ReLU())
    c = tclab.capture(model, target="h200")(torch.randn(2, 8, 16, 16))
    assert len(c.graphs) == 1
    assert len(c.breaks) == 0
    assert [k.kernel_name for k in c.kernels if k.category == "extern"]
    assert names(c) == ["triton_poi_fused_convolution_relu_threshold_backward_0"]


def test_an_error_of_a_stand_in_is_no_graph_break(monkeypatch: Any) -> None:
    from tclab.capturing.target import choices

    def broken(*args: Any, **kwargs: Any) -> None:
        raise TypeError("mine")

    monkeypatch.setattr(choices, "_select_conv_backend", broken)
    with pytest.raises(CaptureError, match="stand-in"):
        tclab.capture(nn.Conv2d(4, 4, 3), target="h200")(torch.randn(1, 4, 8, 8))


def test_composites_that_cuda_has_whole_stay_whole() -> None:
    """A CPU build would take rms_norm apart before autograd; a CUDA build does not."""
    c = tclab.capture(nn.RMSNorm(768), target="h200", backward=True)(torch.randn(64, 768))
    assert "_fused_rms_norm" in c.wrapper[0].code
    assert (
        not torch._C._dispatch_has_kernel_for_dispatch_key("aten::_fused_rms_norm", "CUDA")
        or torch.backends.cuda.is_built()
    )


def test_ptx_holds_no_place_of_this_machine(pointwise_h200: Any) -> None:
    (kernel,) = pointwise_h200.compile_kernels()
    ptx = kernel.stages["ptx"].code
    assert ".loc" in ptx and ".debug_" not in ptx and ".b8" not in ptx


def test_an_assert_in_ptx_names_its_file_as_text() -> None:
    def gather(x: torch.Tensor, index: torch.Tensor) -> torch.Tensor:
        return x[index] + 1

    c = tclab.capture(gather, target="h200")(torch.randn(64, 8), torch.arange(8))
    ptx = c.compile_kernels()[0].stages["ptx"].code
    (line,) = [line for line in ptx.splitlines() if "assertFile_0[" in line and "=" in line]
    assert re.search(r'assertFile_0\[\] = \{…\};  // "<inductor-cache>/\w+/\w+\.py"$', line)


# ------------------------------------------------------------------------------ reading it


def reread(capture: Any) -> TargetCapture:
    """Return the same compile, of which nothing was read yet."""
    return TargetCapture(capture.trace, capture.results, capture.target, capture.outcome)


def properties() -> list[str]:
    """Return the names of what can be read of a capture, but the one that stands for a call."""
    members = inspect.getmembers(TargetCapture)
    kinds = (property, cached_property)
    return [n for n, v in members if isinstance(v, kinds) and n not in ("compiled", "_bytecode")]


def refuse(*args: Any) -> Any:
    raise AssertionError("nothing may stand in for a GPU, and no cache be cleared")


def test_reading_patches_nothing_and_clears_no_cache(pointwise_h200: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(stand_in, "fake_gpu", refuse)
    monkeypatch.setattr(stand_in, "clear_device_caches", refuse)
    c = reread(pointwise_h200)
    assert {"graphs", "kernels", "units", "ir", "wrapper", "overview"} <= set(properties())
    for name in properties():
        assert getattr(c, name) is not None
    (chain,) = c.chains(machine_code=False)
    assert {"kernel", "ir"} <= {pane.stage for pane in chain.panes}
    assert not {"ttir", "sass"} & {pane.stage for pane in chain.panes}
    with pytest.raises(AssertionError, match="stand in"):
        c.compile_kernels()


def test_kernels_are_compiled_once(pointwise_h200: Any, monkeypatch: Any) -> None:
    c = reread(pointwise_h200)
    (kernel,) = c.compile_kernels()
    monkeypatch.setattr(stand_in, "fake_gpu", refuse)
    assert c.compile_kernels() == c.compiled == (kernel,)
    assert c.stages(kernel.name) == kernel.stages
    assert c.units[0].compiled == {kernel.name: kernel}
    (chain,) = c.chains()
    assert chain.panes[-1].stage == "sass" and c.chains() is c.chains()


def test_the_assembler_is_the_one_that_inductor_takes(
    pointwise_h200: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    """A CUDA build may have ``torch/bin/ptxas``, which Inductor names to Triton; PyTorch 2.13 looks
    for it in another folder.
    """
    torchs = tmp_path / "torch"
    for folder in (torchs / "bin", torchs / "_inductor" / "bin"):
        folder.mkdir(parents=True)
        ptxas = folder / "ptxas"
        ptxas.symlink_to(autotuners.tool_path("ptxas"))
    monkeypatch.setenv("TRITON_PTXAS_PATH", "")  # so that it is as before after the test
    monkeypatch.delenv("TRITON_PTXAS_PATH")
    monkeypatch.setattr(compile_tasks, "__file__", str(torchs / "_inductor" / "runtime" / "c.py"))
    compile_tasks._set_triton_ptxas_path.cache_clear()
    assert reread(pointwise_h200).compiled
    assert os.environ["TRITON_PTXAS_PATH"].startswith(str(torchs))
    compile_tasks._set_triton_ptxas_path.cache_clear()


def test_what_triton_gets_is_what_inductor_wrote(pointwise_h200: Any) -> None:
    (unit,), (wrapper,) = pointwise_h200.units, pointwise_h200.wrapper_code
    sources = unit.output.triton_sources()
    assert sources and all(source in wrapper for source in sources.values())


# ------------------------------------------------------------------------------ lines of refusals

WANTS_GPU = """
import torch


@torch._dynamo.disable
def on_the_device():
    return torch.empty(3, device="cuda")


def step(x):
    return x + on_the_device().sum()
"""


def module_in(folder: Path) -> ModuleType:
    folder.mkdir(parents=True)
    (folder / "train.py").write_text(WANTS_GPU, encoding="utf-8")
    spec = importlib.util.spec_from_file_location("train", folder / "train.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("folder", ["tclab", "tclab/capturing", "site-packages/mine", "project"])
def test_the_line_that_wants_the_gpu_is_the_user_s(tmp_path: Path, folder: str) -> None:
    step = module_in(tmp_path / folder).step
    with pytest.raises(TargetError) as error:
        tclab.capture(step, target="h200")(torch.randn(3))
    assert error.value.place == "train.py:7"
    assert "wants the GPU itself" in error.value.cause


def makes_a_generator(x: torch.Tensor) -> torch.Tensor:
    generator = torch.Generator(device=x.device)
    return x + torch.rand(x.shape, generator=generator, device=x.device)


def test_a_generator_of_the_gpu_is_refused_at_its_line() -> None:
    with pytest.raises(TargetError, match="wants the GPU itself") as error:
        tclab.capture(makes_a_generator, target="h200")(torch.randn(8))
    line = makes_a_generator.__code__.co_firstlineno + 1
    assert error.value.place == f"test_capture.py:{line}"


def seeds(x: torch.Tensor) -> torch.Tensor:
    torch.manual_seed(0)
    return x + torch.rand_like(x)


def forks(x: torch.Tensor) -> torch.Tensor:
    with torch.random.fork_rng():
        y = x * 2
    return y + torch.rand_like(x)


@pytest.mark.parametrize("function", [seeds, forks])
def test_random_states_within_a_function_are_no_error(function: Any) -> None:
    c = tclab.capture(function, target="h200")(torch.randn(8))
    here = tclab.capture(function)(torch.randn(8))
    assert not c.gaps and len(c.breaks) == len(here.breaks)
    assert len(c.kernels) == len(here.kernels)


LAYER = torch.nn.Linear(8, 8)


def writes_what_requires_grad(x: torch.Tensor) -> torch.Tensor:
    scaled = x * x.pow(2).mean(-1, keepdim=True)
    x += LAYER(scaled)
    return x


def writes_its_shape(x: torch.Tensor) -> torch.Tensor:
    y = x.sin()
    x.unsqueeze_(0)
    return x * y


@pytest.mark.parametrize("function", [writes_what_requires_grad, writes_its_shape])
def test_an_input_that_the_function_writes_to_is_compiled_as_it_was(function: Any) -> None:
    """It requires no grad, and has its first shape, until the line that writes."""
    (c, here) = (
        tclab.capture(function, **how)(torch.ones(4, 8)) for how in ({"target": "h200"}, {})
    )
    assert not c.gaps and torch.equal(c.result, here.result)
    calls = [sum(k.category == "extern" for k in each.kernels) for each in (c, here)]
    assert calls[0] == calls[1] < len(c.kernels)
