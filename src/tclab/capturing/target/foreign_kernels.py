"""Compile kernels of a foreign trace for a GPU that is not here, in a process of its own.

``python -m tclab.capturing.target.foreign_kernels`` reads a JSON list of kernels, and writes a
JSON list with a chain or an error for each: the kernel's source, linked line by line to its stages
down to SASS. Each kernel is compiled with the configuration that a profile names.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import triton as _triton

from tclab.capturing.chain.facts import collect_facts
from tclab.capturing.chain.machine import machine_panes
from tclab.capturing.machine_code import foreign, triton
from tclab.capturing.read.units import Unit
from tclab.capturing.target import stand_in
from tclab.capturing.target.foreign_process import limit_and_open_answers
from tclab.errors import TclabError
from tclab.model import Chain, Configuration, Kernel, encode, links, slug
from tclab.targets import Target, get
from tclab.text.scrub import scrub

#: The most bytes of memory, and of a file. Triton works out a constant such as ``'a' * 10**11``.
_MOST_MEMORY, _MOST_FILE = 8 << 30, 1 << 30


def _compile(kernel: Mapping[str, Any]) -> Chain:
    """Return the stages of one kernel, whose source is checked first."""
    name, source = kernel["name"], kernel["source"]
    named = foreign.check_source(name, source)
    target = get(kernel["target"])
    with stand_in.fake_gpu(target):
        foreign.check_operations(name, named)
        return _chain(name, source, kernel, target)


def _chain(name: str, source: str, kernel: Mapping[str, Any], target: Target) -> Chain:
    launch = _triton.Config(
        dict(kernel["constants"]), num_warps=kernel["num_warps"], num_stages=kernel["num_stages"]
    )

    def check(autotuner: Any) -> None:
        foreign.check_loaded(name, source, autotuner, target.arch)

    compiled = triton.compile_kernel(name, source, target.device, launch, check)
    # the job has chosen, whatever the number of configurations that it could choose among
    chosen = Configuration(triton.convert_config(launch), len(compiled.candidates), True)
    unit = Unit(0, "", compiled={name: replace(compiled, configuration=chosen)})
    code = scrub(source.strip("\n")) + "\n"
    marks = {n: (links.kernel_key(0, 0, n),) for n in range(1, code.count("\n") + 1)}
    shown = Kernel(
        f"Triton kernel {name}", f"kernel-{slug(name)}", code, "python", "kernel",
        kernel_name=name, device="cuda", marks=marks,
    )  # fmt: skip
    shown = replace(shown, facts=collect_facts(shown, unit))
    title = f"{name}, for {target.title}, compiled by Triton {_triton.__version__}"
    return Chain(title, f"chain-{slug(name)}", (shown, *machine_panes(compiled, 0, 0)))


def main() -> None:
    """Answer each kernel on stdin, within limits of memory. What other code prints goes to
    stderr.
    """
    answers = limit_and_open_answers(_MOST_MEMORY, _MOST_FILE)
    for kernel in json.load(sys.stdin):
        try:
            answer = {"chain": encode(_compile(kernel))}
        except TclabError as error:
            answer = {"place": error.place, "cause": error.cause}
        # the error can come from Triton, or from a heuristic, which fails if the version of PyTorch
        # that wrote the kernel passes other arguments
        except Exception as error:
            cause = f"{type(error).__name__}: {scrub(str(error))[:200]}"
            answer = {"place": f"kernel {kernel['name']}", "cause": cause}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
