"""Libraries that a killed compiler left half written in the cache that runs share."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tclab.site.engine import unfinished
from tclab.system import inductor_cache, machine
from tests.lab import know_cpu

pytestmark = pytest.mark.skipif(not machine.has_cxx(), reason="no C++ compiler")

HALF = 5000  # bytes of a library that is 16 KB and more
COMPILES = "import torch; torch.compile(lambda x: x.sum(), dynamic=False)(torch.zeros(5))"


def libraries(cache: Path) -> list[Path]:
    return [path for path in cache.rglob("*.so") if "main" in path.name]


def cut(path: Path, size: int) -> None:
    path.write_bytes(path.read_bytes()[:size])


@pytest.mark.snippet
def test_a_half_written_library_is_compiled_again(lab):
    snippet = lab.write("t/compiles", COMPILES)
    know_cpu(lab.store.cache)
    assert lab.run(snippet)["t/compiles"].failure is None
    [library] = libraries(lab.store.cache)
    size = library.stat().st_size
    cut(library, HALF)
    assert lab.run(snippet, force=True)["t/compiles"].failure is None
    assert library.stat().st_size == size


def test_what_is_whole_or_is_being_written_stays(tmp_path):
    import torch

    whole = tmp_path / "whole.so"
    shutil.copy(next(Path(torch.__file__).parent.glob("_C*.so")), whole)
    half = tmp_path / "deep" / "half.so"
    half.parent.mkdir()
    shutil.copy(whole, half)
    cut(half, half.stat().st_size // 2)
    empty = half.with_name("empty.so")
    empty.touch()
    assert inductor_cache.is_complete(whole)
    assert not inductor_cache.is_complete(half) and not inductor_cache.is_complete(empty)
    with half.open("ab"):
        unfinished.remove(tmp_path)
        assert half.exists()
    unfinished.remove(tmp_path)
    assert whole.exists() and not half.exists() and not empty.exists()
