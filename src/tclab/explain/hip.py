"""Make this process look like a PyTorch that is built for AMD, so that Inductor writes for HIP.

Inductor asks ``torch.version.hip`` in many places, some of them when it is imported. So the process
must not have imported Inductor before, and it compiles for no other GPU after.
"""

from __future__ import annotations

import sys

from tclab.targets import Target, TargetError

#: A version of HIP, for ``torch.version.hip``: that of ROCm 7.0. Apart from grouped products of fp8
#: and templates that are timed, Inductor asks only whether there is one.
_HIP = "7.0.51831"
_NEXT_STEP = "use tclab explain, which makes a process for each report"


def prepare_process(target: Target | None) -> None:
    """Prepare this process for a compile for `target`, which is a GPU of AMD's, another GPU or
    none. Raises TargetError if the process cannot compile for it.
    """
    import torch

    is_prepared = torch.version.hip is not None
    if target is None or bool(target.gfx) == is_prepared:
        return
    place = f"target {target.name!r}"
    if is_prepared:
        raise TargetError(place, "in this process PyTorch looks built for AMD", _NEXT_STEP)
    if "torch._inductor.config" in sys.modules:
        cause = "Inductor is imported already, and it asks then whether PyTorch is built for AMD"
        raise TargetError(place, cause, _NEXT_STEP)
    torch.version.hip, torch.version.cuda = _HIP, None
