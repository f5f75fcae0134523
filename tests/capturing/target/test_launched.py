"""On a machine with the GPU: the stages of each kernel as it was launched there.

The device is stood in for, as for a target; what a launch leaves behind is made by hand.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("triton")

from torch._inductor.codecache import PyCodeCache  # noqa: E402
from torch._inductor.runtime.autotune_cache import AutotuneCache  # noqa: E402
from torch._inductor.runtime.compile_tasks import _reload_python_module  # noqa: E402
from torch._inductor.runtime.triton_heuristics import CachingAutotuner  # noqa: E402

from tclab import targets  # noqa: E402
from tclab.capturing.machine_code import triton  # noqa: E402
from tclab.capturing.result import Capture  # noqa: E402
from tclab.capturing.target import stand_in  # noqa: E402
from tclab.capturing.torch_private import autotuners, check, launches  # noqa: E402
from tclab.capturing.trace.events import Trace  # noqa: E402
from tclab.model import Configuration  # noqa: E402


def transposed(x: Any, y: Any) -> Any:
    return x.t() + y


@pytest.fixture(scope="module")
def compiled_for_h200() -> Any:
    import tclab

    return tclab.capture(transposed, target="h200")(torch.randn(512, 4096), torch.randn(4096, 512))


@pytest.fixture
def on_h200() -> Iterator[None]:
    with stand_in.fake_gpu(targets.get("h200")):
        yield


def launched(capture: Any, choose: int) -> Capture:
    """Return the same compile, as if each kernel had been launched with its configuration
    `choose`.
    """
    trace = Trace(list(capture.trace.events), dict(capture.trace.frames))
    for unit in capture.units:
        for name, source in unit.output.triton_sources().items():
            config = autotuners.build_autotuner(name, source).configs[choose]
            trace.add("launched", config, source, (None, None))
    return Capture(trace)


def test_the_launched_configuration_is_the_one_compiled(compiled_for_h200, on_h200) -> None:
    (first,) = compiled_for_h200.compile_kernels()
    (last,) = launched(compiled_for_h200, -1).compile_kernels()
    count = len(first.candidates)
    assert count > 1
    assert last.configuration == Configuration(first.candidates[-1], count, timed=True)
    assert str(last.configuration) == f"{first.candidates[-1]} (of {count} candidates, as timed)"
    assert set(last.stages) == {"ttir", "ttgir", "llir", "ptx", "sass"}
    assert last.stages["ptx"].code != first.stages["ptx"].code


def test_the_first_launched_gives_what_a_target_gives(compiled_for_h200, on_h200) -> None:
    (mine,) = launched(compiled_for_h200, 0).compile_kernels()
    (theirs,) = compiled_for_h200.compile_kernels()
    assert mine.stages == theirs.stages


def test_inductor_s_own_kernel_may_have_forgotten_its_configurations(
    compiled_for_h200, on_h200
) -> None:
    ((name, source),) = compiled_for_h200.units[0].output.triton_sources().items()
    own = getattr(PyCodeCache.load(source), name)
    config, own.configs = own.configs[0], None
    compiled = triton.compile_kernel(name, source, "the GPU", config)
    assert compiled.stages == compiled_for_h200.compile_kernels()[0].stages


def test_what_a_gpu_timed_before_is_not_read(compiled_for_h200, on_h200, monkeypatch) -> None:
    ((name, source),) = compiled_for_h200.units[0].output.triton_sources().items()
    candidates = autotuners.build_autotuner(name, source).configs

    def best(self: Any, meta: Any, configs: list[Any]) -> Any:
        return configs[-1]

    monkeypatch.setattr(AutotuneCache, "read_best", best)
    assert len(getattr(fresh_module(source), name).configs) == 1  # so Inductor would
    assert len(autotuners.build_autotuner(name, source).configs) == len(candidates) > 1


def fresh_module(source: str) -> Any:
    return _reload_python_module(*PyCodeCache.write(source), set_sys_modules=False)


def test_the_chain_goes_down_to_the_instructions(compiled_for_h200, on_h200) -> None:
    stages = [pane.stage for pane in launched(compiled_for_h200, 0).chains()[0].panes]
    assert stages[-6:] == ["kernel", "ttir", "ttgir", "llir", "ptx", "sass"]


def test_a_kernel_that_was_not_launched_has_no_stages(compiled_for_h200) -> None:
    plain = Capture(compiled_for_h200.trace)
    assert plain.compile_kernels() == () and [unit.compiled for unit in plain.units] == [{}]
    assert [pane.stage for pane in plain.chains()[0].panes][-1] == "kernel"


# ------------------------------------------------------------------------------ noting


def run_plain(self: Any, *args: Any, **kwargs: Any) -> str:
    if len(self.launchers) != 1:
        self.launchers = self.launchers[-1:]  # the quickest
    return "ran"


@pytest.fixture
def kernel(tmp_path: Path) -> Any:
    file = tmp_path / "kernel.py"
    file.write_text("def k(): pass\n")
    launchers = [types.SimpleNamespace(config=name) for name in ("slow", "quick")]
    autotuner = object.__new__(CachingAutotuner)
    autotuner.filename, autotuner.launchers = str(file), launchers
    return autotuner


def test_a_launch_is_noted_once_with_what_was_chosen(monkeypatch, kernel) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(CachingAutotuner, "run", run_plain)
    trace = Trace()
    with launches.note_launches(trace):
        assert [kernel.run(stream=0), kernel.run(stream=0)] == ["ran", "ran"]
    assert CachingAutotuner.run is run_plain
    assert [(e.data, e.payload) for e in trace.select("launched")] == [("quick", "def k(): pass\n")]


def test_nothing_is_touched_without_a_gpu(monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    before = CachingAutotuner.run
    with launches.note_launches(Trace()):
        assert CachingAutotuner.run is before


def test_a_launch_that_moved_is_named(monkeypatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert check.check() == []
    moved = dataclasses.replace(launches.NAMES[0], name="CachingAutotuner.start")
    monkeypatch.setattr(launches, "NAMES", (moved,))
    assert "CachingAutotuner.start is gone" in check.check()[0]
