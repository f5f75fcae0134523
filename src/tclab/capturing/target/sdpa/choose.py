"""The answer: the first backend, in the order of the machine, all of whose rules hold.

``sdp::select_sdp_backend`` in aten/src/ATen/native/transformers/cuda/sdp_utils.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tclab.capturing.target.sdpa.call import CUDNN_FIRST, DEFAULT_ORDER, Call, Machine
from tclab.capturing.target.sdpa.rule import AttentionRules, Rule


@dataclass(frozen=True)
class Choice:
    """The backend ("error" where none is left), and for each one before it the rule it failed."""

    backend: str
    failed: dict[str, Rule]

    def __str__(self) -> str:
        reasons = "; ".join(f"not {name}: {rule.about}" for name, rule in self.failed.items())
        return f"{self.backend} ({reasons})" if reasons else self.backend


def choose(call: Call, machine: Machine, version: AttentionRules) -> Choice:
    """What this PyTorch takes on this machine."""
    call = _judged(call, version)
    failed: dict[str, Rule] = {}
    if not machine.enabled & {"math", "flash", "efficient", "cudnn"}:
        return Choice("error", failed)
    for backend in order(machine, version):
        if backend == "math" and "math" in machine.enabled:
            return Choice("math", failed)
        if backend in version.rules:
            rule = _first_failed(call, machine, version.rules[backend])
            if rule is None:
                return Choice(backend, failed)
            failed[backend] = rule
    return Choice("error", failed)


def allows(call: Call, machine: Machine, version: AttentionRules, backend: str) -> bool:
    """``can_use_flash_attention`` and its like: whether all rules of a backend hold."""
    return _first_failed(_judged(call, version), machine, version.rules[backend]) is None


def _judged(call: Call, version: AttentionRules) -> Call:
    return replace(call.batched if version.unbatched else call, conditions=version.conditions)


def order(machine: Machine, version: AttentionRules) -> tuple[str, ...]:
    """sdp_utils.cpp: priority_order. The user's, else cuDNN first where PyTorch prefers it."""
    if machine.order:
        return machine.order
    return CUDNN_FIRST if version.prefers_cudnn(machine) else DEFAULT_ORDER


def _first_failed(call: Call, machine: Machine, rules: tuple[Rule, ...]) -> Rule | None:
    return next((rule for rule in rules if not rule.check(call, machine)), None)
