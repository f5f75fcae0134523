"""What is asked of `tclab explain`: one value, from the command line to the compile."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tclab.errors import UnsupportedTorch
from tclab.explain import inputs as _inputs
from tclab.explain import load
from tclab.explain import options as _options
from tclab.explain.inputs import Spec
from tclab.system import machine
from tclab.targets import Target, get


@dataclass(frozen=True)
class ExplainRequest:
    """What to compile, and how.

    `spec` is ``FILE.py:NAME`` or ``MODULE:NAME``; `target` a GPU, None for this machine; `inputs`
    the arguments of one call, none where the file has them; `options` keywords of torch.compile;
    `assume` says what the GPU would find by timing. Kernels of more lines than `most_lines` are
    not taken down to instructions; None: all are. With `show_values` the values of
    environment variables are shown. At the `level` ``dynamo`` nothing is compiled after Dynamo.
    `compare` says whether the results are compared with eager's; None: on this machine, and not
    with a target.
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

    @classmethod
    def parse(
        cls,
        spec: str,
        *,
        target: str | None = None,
        backward: bool = False,
        inputs: Sequence[str] = (),
        options: Sequence[str] = (),
        assume: Sequence[str] = (),
        long_kernels: bool = False,
        show_values: bool = False,
        level: str = "machine",
        compare: bool | None = None,
    ) -> ExplainRequest:
        """From the words of a command line: `inputs` such as ``f32[8,1024]``, `options` such as
        ``mode=max-autotune``, `assume` such as ``pad=no``; `long_kernels` lifts the limit.

        BadRequest, TargetError or UnsupportedTorch for what cannot be; needs no PyTorch.
        """
        load.split(spec)
        specs = tuple(map(_inputs.parse, inputs))
        assumed = _options.parse_assumed(assume, target)
        device, compile_options = target_named(target), _options.parse(options)
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
        )  # fmt: skip


def target_named(name: str | None) -> Target | None:
    """The target of this name. TargetError suggests the nearest; UnsupportedTorch: no Triton."""
    if name is None:
        return None
    target = get(name)
    if importlib.util.find_spec("triton") is None:
        raise UnsupportedTorch(
            f"--target {name}", "Triton is not installed, and it compiles the kernels",
            f"{machine.triton_install_step()}; or leave --target out",
        )  # fmt: skip
    return target
