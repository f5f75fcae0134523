"""What this machine is, told without torch."""

from __future__ import annotations

import importlib.util
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tclab.errors import UnsupportedTorch
from tclab.site import snippets
from tclab.system import machine, settings

from .lab import SRC


def test_it_says_what_torch_says():
    code = "import torch; print(torch.__version__, torch.version.git_version, torch.version.cuda)"
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    here = machine.here()
    assert answer.stdout.split() == [here.torch, here.torch_git, here.cuda or "None"]
    assert here.python == platform.python_version() + sys.abiflags


def test_it_does_not_import_torch():
    code = (
        "import sys; from tclab.system import machine as m; m.here(); print('torch' in sys.modules)"
    )
    command, env = [sys.executable, "-c", code], {"PYTHONPATH": str(SRC)}
    assert subprocess.check_output(command, env=env, text=True) == "False\n"


def test_a_hidden_gpu_is_none(monkeypatch):
    for value in ("", "-1"):
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", value)
        assert machine.gpu_and_driver() == ("", "")


def test_a_gpu_is_what_nvidia_smi_says(monkeypatch, tmp_path):
    tool = tmp_path / "nvidia-smi"
    tool.write_text("#!/bin/sh\necho 'NVIDIA H200, 575.57'\necho 'NVIDIA H200, 575.57'\n")
    tool.chmod(0o755)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert machine.gpu_and_driver() == ("NVIDIA H200", "575.57")
    assert machine.count_gpus() == 2
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    assert machine.count_gpus() == 1
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert machine.count_gpus() == 0


def test_needs(lab, monkeypatch, tmp_path):
    snippet = lab.write("t/x", "pass", "needs=cuda,triton,cxx")
    monkeypatch.setattr(machine, "triton_version", lambda: "")
    monkeypatch.setattr(machine, "has_cuda", lambda: False)
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    assert machine.missing_needs(snippet) == {"cuda", "triton", "cxx"}
    (tmp_path / "g++").write_text("#!/bin/sh\n")
    (tmp_path / "g++").chmod(0o755)
    monkeypatch.setattr(machine, "triton_version", lambda: "3.7.1")
    assert machine.missing_needs(snippet) == {"cuda"}
    monkeypatch.setattr(machine.sysconfig, "get_path", lambda _: str(tmp_path))  # no Python.h
    assert machine.missing_needs(snippet) == {"cuda", "cxx"}


IMPORTS = """
import importlib, os, torch.nn, no_such_package.of_it
from _beside import f
try:
    import tried_package
except ImportError:
    pass
def g():
    from inner_package import it
    if importlib.util.find_spec("asked_package"):
        import asked_package
"""


def test_a_package_that_a_snippet_for_a_gpu_imports_is_a_need(lab, monkeypatch):
    monkeypatch.setattr(machine, "has_cuda", lambda: True)
    assert machine.missing_needs(lab.write("t/here", IMPORTS)) == set()  # an error says it
    snippet = lab.write("t/x", IMPORTS, "needs=cuda")
    beside = snippet.path.with_name("_beside.py")
    beside.write_text("import package_of_a_helper\ndef f(): pass\n")
    assert machine.missing_needs(snippets.get("t/x", lab.root)) == {
        "no_such_package",
        "inner_package",
        "package_of_a_helper",
    }
    assert machine.describe_need("inner_package") == (
        "the package inner_package (pip install inner_package)"
    )


def test_the_gpu_whose_name_a_snippet_asserts_is_a_need(lab, monkeypatch):
    source = 'import torch\nassert torch.cuda.get_device_name() == "NVIDIA H200"'
    snippet = lab.write("t/x", source, "needs=cuda")
    monkeypatch.setattr(machine, "has_cuda", lambda: True)
    for name, missing in (("NVIDIA H100 80GB HBM3", {"NVIDIA H200"}), ("NVIDIA H200", set())):
        monkeypatch.setattr(machine, "gpu_and_driver", lambda name=name: (name, "580"))
        assert machine.missing_needs(snippet) == missing
    assert machine.describe_need("NVIDIA H200") == "an NVIDIA H200"


def test_a_snippet_that_needs_packages_lacks_those_it_imports_by_name(lab):
    without = lab.write("t/x", IMPORTS.replace("_beside", "json"), "needs=packages")
    assert machine.missing_needs(without) == {"no_such_package", "inner_package"}
    there = lab.write("t/y", "import torch.nn, json", "needs=packages")
    assert machine.missing_needs(there) == set()


@pytest.mark.parametrize(
    ("version", "known"),
    [
        ("2.11.0", True),
        ("2.15.1+cu130", True),
        ("2.13.0a0+git123", True),
        ("2.2.0", False),
        ("2.16.0", False),
        ("3.0", False),
        ("", False),
    ],
)
def test_versions_are_compared_as_numbers(monkeypatch, version, known):
    monkeypatch.delenv("TCLAB_ANY_TORCH", raising=False)
    monkeypatch.setattr(machine, "torch_facts", lambda: {"__version__": version})
    if known:
        machine.check_torch()
    else:
        with pytest.raises(UnsupportedTorch) as caught:
            machine.check_torch()
        assert caught.value.next_step


def test_folders_and_our_own_settings_are_not_told():
    told = settings.published_settings(
        {
            "TORCH_LOGS": "graph",
            "TORCHINDUCTOR_CACHE_DIR": "/x",
            "TORCH_HOME": "/y",
            "TORCH_TRACE": "/z",
            "TRITON_INTERPRET": "1",
            "HOME": "/root",
            "CUDA_VISIBLE_DEVICES": "0",
        }
    )
    assert told == {"CUDA_VISIBLE_DEVICES": "0", "TORCH_LOGS": "graph", "TRITON_INTERPRET": "1"}


#: Variables that PyTorch and Triton read and that change nothing that a run shows.
NO_MATTER = {
    *("CI", "PATH", "LD_LIBRARY_PATH", "LOG_TLPARSE", "LOG_AUTOTUNE_RESULTS"),
    *(
        "CONDA_EXE",
        "CONDA_PREFIX",
        "CUDA_HOME",
        "CUDA_PATH",
        "HIP_PATH",
        "ROCM_PATH",
        "ONEAPI_ROOT",
    ),
    *("HALIDE_REPRO", "LEVEL_ZERO_V1_SDK_PATH", "MAST_HPC_JOB_NAME", "ROLE_RANK"),
}
_READ = re.compile(
    r"""(?:environ(?:\.get)?[\[(]|getenv\(|env_name_\w+\s*=|env_\w+\()\s*\[?["']([A-Z][A-Z_0-9]+)"""
)


def test_each_variable_that_the_compilers_configuration_reads_is_told():
    torch, triton = (Path(importlib.util.find_spec(n).origin).parent for n in ("torch", "triton"))
    folders = ("_inductor", "_dynamo", "_functorch")
    configs = [*(torch / name / "config.py" for name in folders), triton / "knobs.py"]
    configs += [torch / "_inductor/cpp_builder.py", torch / "_inductor/cpu_vec_isa.py"]
    read = {name for path in configs for name in _READ.findall(path.read_text(encoding="utf-8"))}
    assert len(read) > 150
    told = settings.published_settings(dict.fromkeys(read, "1"))
    unsaid = {name for name in read - told.keys() - NO_MATTER if not settings.is_unpublished(name)}
    assert unsaid == set()


@pytest.mark.parametrize(
    ("name", "value", "shown"),
    [
        ("TRITON_PTXAS_PATH", "/opt/ptxas", "hidden"),
        ("CPLUS_INCLUDE_PATH", "/opt/include", "hidden"),
        ("LD_LIBRARY_PATH", "/opt/lib", "hidden"),
        ("GOMP_CPU_AFFINITY", "0-3", "hidden"),
        ("OPENBLAS_CORETYPE", "Haswell", "Haswell"),
        ("ENABLE_PERSISTENT_TMA_MATMUL", "1", "1"),
        ("ONEDNN_MAX_CPU_ISA", "AVX2", "AVX2"),
        ("TORCH_LOGS", "+dynamo,guards", "+dynamo,guards"),
        ("TORCH_CUDA_ARCH_LIST", "9.0a", "9.0a"),
        ("PYTORCH_CUDA_ALLOC_CONF", "expandable_segments:True", "expandable_segments:True"),
        ("TORCHINDUCTOR_OF_TOMORROW", "1", "1"),
        ("TRITON_OF_TOMORROW", "False", "False"),
        ("TRITON_DEBUG", "", ""),
        ("TORCHINDUCTOR_OF_TOMORROW", "7", "hidden"),
        ("PYTORCH_CI_TOKEN", "hunter2", "hidden"),
        ("TORCHINDUCTOR_REDIS_URL", "redis://u:hunter2@h", "hidden"),
        ("AOT_INDUCTOR_X", "hunter2", "hidden"),
    ],
)
def test_a_value_is_told_where_it_cannot_be_a_secret(name, value, shown):
    assert settings.published_settings({name: value}) == {name: shown}


@pytest.mark.parametrize(
    ("system", "step"),
    [("linux", "pip install the Triton"), ("darwin", "built for Linux"), ("win32", "Windows' WSL")],
)
def test_what_to_do_without_triton_fits_the_system(monkeypatch, system, step):
    monkeypatch.setattr(machine.sys, "platform", system)
    assert step in machine.triton_install_step()
    assert step in machine.describe_need("triton")
