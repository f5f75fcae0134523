"""What a new cache folder of Inductor's is spared."""

from __future__ import annotations

import shutil
from pathlib import Path

import torch

from tclab.system import inductor_cache


def test_trials_are_copied_and_neither_kernels_nor_halves(tmp_path: Path) -> None:
    library = next(Path(torch.__file__).parent.glob("_C*.so"))
    old, new = tmp_path / "old", tmp_path / "new"
    for name in ("ab/cab.cpp", "cd/ccd.cpp", "ef/cef.main.cpp"):
        source = old / name
        source.parent.mkdir(parents=True)
        source.write_text("int i;")
        shutil.copy(library, source.with_suffix(".so"))
    half = old / "cd" / "ccd.so"
    half.write_bytes(half.read_bytes()[: library.stat().st_size // 2])
    inductor_cache.copy_cpu_trials(new, old)
    copied = {path.relative_to(new).as_posix() for path in new.rglob("*.*")}
    assert copied == {"ab/cab.cpp", "ab/cab.so", "cd/ccd.cpp"}


def test_a_folder_that_is_not_there_has_none(tmp_path: Path) -> None:
    inductor_cache.copy_cpu_trials(tmp_path / "new", tmp_path / "old")
    assert not (tmp_path / "new").exists()


def test_the_folder_is_inductors(monkeypatch) -> None:
    from torch._inductor.runtime import cache_dir_utils

    monkeypatch.delenv(inductor_cache.VARIABLE, raising=False)
    assert str(inductor_cache.folder()) == cache_dir_utils.default_cache_dir()
