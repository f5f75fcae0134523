"""Define the request of `tclab explain`, one value that is passed from the command line to the
compile.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tclab.errors import BadRequest, UnsupportedTorch
from tclab.explain import inputs as _inputs
from tclab.explain import load
from tclab.explain import options as _options
from tclab.explain.inputs import Spec
from tclab.system import machine
from tclab.targets import Target, get


@dataclass(frozen=True)
class ExplainRequest:
    """The function to compile, and the options for its compile.

    `spec` is ``FILE.py:NAME`` or ``MODULE:NAME``. `target` is a GPU, or None for this machine.
    `inputs` are the arguments of one call; empty if the file provides them. `options` are keywords
    of torch.compile. `assume` states what the GPU would choose by timing. Kernels of more than
    `most_lines` lines are not compiled to instructions; None sets no limit. With `show_values` the
    report contains the values of environment variables. At the `level` ``dynamo`` the compile ends
    after Dynamo. `compare` says whether to compare the results with eager's; None means to compare
    them only without a target. With `measure` the calls are timed, both compiled and in eager, for
    at most `measure_seconds`. With `eval_mode` the module is put into eval mode first.
    """

    spec: str
    target: Target | None = None
    backward: bool = False
    inputs: tuple[Spec, ...] = ()
    options: Mapping[str, Any] = field(default_factory=dict)
    assume: Mapping[str, str] = field(default_factory=dict)
    most_lines: int | None = None
    show_values: bool = False
    level: str = "machine"
    compare: bool | None = None
    measure: bool = False
    measure_seconds: float = 300.0
    eval_mode: bool = False

    @classmethod
    def parse(
        cls,
        spec: str,
        *,
        target: str | None = None,
        unverified: bool = False,
        backward: bool = False,
        inputs: Sequence[str] = (),
        options: Sequence[str] = (),
        assume: Sequence[str] = (),
        long_kernels: bool = False,
        show_values: bool = False,
        level: str = "machine",
        compare: bool | None = None,
        measure: bool = False,
        measure_seconds: float | None = None,
        eval_mode: bool = False,
    ) -> ExplainRequest:
        """Make a request from the words of a command line: `inputs` such as ``f32[8,1024]``,
        `options` such as ``mode=max-autotune``, `assume` such as ``pad=no``. `unverified` allows a
        GPU of AMD's as the target. `long_kernels` removes the limit on lines.

        Raises BadRequest, TargetError or UnsupportedTorch for an impossible request. This needs no
        PyTorch.
        """
        load.split(spec)
        if (measure or measure_seconds is not None) and target is not None:
            raise BadRequest(
                "--measure", f"no {target} is timed here: a target is compiled for, and not run on",
                "leave --target out, or run it where the GPU is",
            )  # fmt: skip
        specs = tuple(map(_inputs.parse, inputs))
        assumed = _options.parse_assumed(assume, target)
        device, compile_options = find_target(target, unverified), _options.parse(options)
        if unverified and not (device and device.gfx):
            cause = f"the {device.device} is not AMD's" if device else "there is no target"
            raise BadRequest("--unverified", cause, "leave it out, or name one: --target mi300x")
        most = None if long_kernels else _options.MOST_LINES
        return cls(
            spec,
            device,
            backward,
            specs,
            compile_options,
            assumed,
            most,
            show_values,
            level,
            compare,
            measure or measure_seconds is not None,
            measure_seconds or cls.measure_seconds,
            eval_mode,
        )  # fmt: skip


def find_target(name: str | None, unverified: bool = False) -> Target | None:
    """Return the target of this name, with `unverified` also a GPU of AMD's. Raises TargetError,
    with the nearest name, for an unknown name, and UnsupportedTorch if Triton is missing.
    """
    if name is None:
        return None
    target = get(name, unverified=unverified)
    if importlib.util.find_spec("triton") is None:
        raise UnsupportedTorch(
            f"--target {name}", "Triton is not installed, and it compiles the kernels",
            f"{machine.triton_install_step()}; or leave --target out",
        )  # fmt: skip
    return target
