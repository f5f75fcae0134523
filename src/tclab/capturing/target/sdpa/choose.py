"""Choose the first backend, in the machine's order of backends, whose rules all hold.

The source is ``sdp::select_sdp_backend`` in aten/src/ATen/native/transformers/cuda/sdp_utils.cpp.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tclab.capturing.target.sdpa.call import CUDNN_FIRST, DEFAULT_ORDER, Call, Machine
from tclab.capturing.target.sdpa.rule import AttentionRules, Rule


@dataclass(frozen=True)
class Choice:
    """The chosen backend, or "error" if none is left. `failed` has the failed rule of each backend
    that comes earlier in the order.
    """

    backend: str
    failed: dict[str, Rule]

    def __str__(self) -> str:
        reasons = "; ".join(f"not {name}: {rule.about}" for name, rule in self.failed.items())
        return f"{self.backend} ({reasons})" if reasons else self.backend


def choose(call: Call, machine: Machine, version: AttentionRules) -> Choice:
    """Choose the backend of a call by the rules of a PyTorch `version`, as on `machine`."""
    call = _prepare_call(call, version)
    failed: dict[str, Rule] = {}
    if not machine.enabled & {"math", "flash", "efficient", "cudnn"}:
        return Choice("error", failed)
    for backend in backend_order(machine, version):
        if backend == "math" and "math" in machine.enabled:
            return Choice("math", failed)
        if backend in version.rules:
            rule = _first_failed(call, machine, version.rules[backend])
            if rule is None:
                return Choice(backend, failed)
            failed[backend] = rule
    return Choice("error", failed)


def allows(call: Call, machine: Machine, version: AttentionRules, backend: str) -> bool:
    """Return whether all rules of a backend hold, as PyTorch's ``can_use_…`` functions do."""
    return _first_failed(_prepare_call(call, version), machine, version.rules[backend]) is None


def _prepare_call(call: Call, version: AttentionRules) -> Call:
    return replace(call.batched if version.unbatched else call, evaluator=version.evaluator)


def backend_order(machine: Machine, version: AttentionRules) -> tuple[str, ...]:
    """Return the order of backends: the user's, else PyTorch's, with cuDNN first if preferred
    (sdp_utils.cpp: priority_order).
    """
    if machine.order:
        return machine.order
    return CUDNN_FIRST if version.prefers_cudnn(machine) else DEFAULT_ORDER


def _first_failed(call: Call, machine: Machine, rules: tuple[Rule, ...]) -> Rule | None:
    return next((rule for rule in rules if not rule.check(call, machine)), None)
