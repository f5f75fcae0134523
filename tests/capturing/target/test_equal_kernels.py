"""Kernels that are equal, up to the number in their name, are compiled and read once: counted."""

from __future__ import annotations

import re
from typing import Any

import pytest
import torch

import tclab
from tclab.capturing.machine_code import cpp, positions, triton
from tclab.capturing.target import stand_in
from tclab.render import highlight

#: The file that a kernel's source is kept in is named by a digest of it, its name included.
_FILE = re.compile(r"<inductor-cache>/\w+(?:/\w+\.py)?|\bc\w{50,}\.py")


class CountedCalls:
    """A function that counts its calls."""

    def __init__(self, function: Any) -> None:
        self.function, self.times = function, 0

    def __call__(self, *args: Any, **more: Any) -> Any:
        self.times += 1
        return self.function(*args, **more)


def layer(x: torch.Tensor) -> torch.Tensor:
    return torch.relu(x + 1) * 2


def two(x: torch.Tensor) -> torch.Tensor:
    """Equal layers, each in a graph of its own."""
    x = layer(x)
    torch._dynamo.graph_break()
    return layer(x)


def four(x: torch.Tensor) -> torch.Tensor:
    x = layer(x)
    torch._dynamo.graph_break()
    x = layer(x)
    torch._dynamo.graph_break()
    x = layer(x)
    torch._dynamo.graph_break()
    return layer(x)


def counted(
    model: Any, count: int, patch: pytest.MonkeyPatch, target: str | None
) -> dict[str, int]:
    """Return how often each tool was run, and each text read, for a model of so many layers."""
    highlight._highlight_lines.cache_clear()
    for reader in positions.READERS.values():
        reader.cache_clear()
    compiled, disassembled = CountedCalls(triton.compile_kernel), CountedCalls(triton.disassemble)
    assembled = CountedCalls(cpp.assemble)
    patch.setattr(triton, "compile_kernel", compiled)
    patch.setattr(triton, "disassemble", disassembled)
    patch.setattr(cpp, "assemble", assembled)
    capture = tclab.capture(model, target=target)(torch.randn(64))
    chains = capture.chains()
    assert len(chains) == count
    assert all(("sass" if target else "asm") in [p.stage for p in c.panes] for c in chains)
    patch.undo()
    return {
        "compiled": compiled.times,
        "disassembled": disassembled.times,
        "assembled": assembled.times,
        "positions": sum(r.cache_info().misses for r in set(positions.READERS.values())),
    }


@pytest.mark.parametrize("target", ["h200", None])
def test_what_the_tools_do_does_not_grow_with_equal_layers(
    target: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not target and not cpp.shutil.which("objdump"):
        pytest.skip("no objdump on PATH")
    few = counted(two, 2, monkeypatch, target)
    many = counted(four, 4, monkeypatch, target)
    assert few == many
    assert set(many.values()) == ({0, 1, 4} if target else {0, 1})


def test_a_kernel_under_another_number_has_the_text_that_its_own_compile_gives(
    pointwise_h200: Any,
) -> None:
    ((name, source),) = pointwise_h200.units[0].output.triton_sources().items()
    other = re.sub(r"\d+$", "7", name)
    sources = {name: source, other: source.replace(name, other)}
    with stand_in.fake_gpu(pointwise_h200.target):
        own = triton.compile_kernel(other, sources[other], "an H200")
        compiled = triton.Compiler("an H200").compile_kernels(sources)
    assert compiled[name].name == name and other in compiled[other].stages["sass"].code

    def texts(kernel: Any) -> dict[str, tuple[str, str, str]]:
        return {stage: (each.title, each.name, _FILE.sub("", each.code))
                for stage, each in kernel.stages.items()}  # fmt: skip

    assert texts(compiled[other]) == texts(own)
    assert compiled[other].resources == own.resources
