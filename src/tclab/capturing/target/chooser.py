"""Choose the attention kernel of each call for one target, or refuse the call."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from tclab import targets
from tclab.capturing.target.decisions import Decision, note_decision
from tclab.capturing.target.sdpa.call import BACKENDS, Call, Machine
from tclab.capturing.target.sdpa.choose import Choice, allows, choose
from tclab.capturing.target.sdpa.rule import AttentionRules
from tclab.capturing.target.traced_lines import find_traced_line
from tclab.targets import Target, TargetError

NAME = "scaled_dot_product_attention"

#: The PyTorch versions and compute capabilities whose devices were asked, and chose as the rules
#: do.
VERIFIED = {((2, 11), (9, 0))}


_AUTHORITY = {
    True: "asked of the device",
    False: "as its source has them, not verified on the device",
}


@dataclass
class AttentionChooser:
    """Chooses attention backends for one target by the rules of this PyTorch.

    `version` is None for a PyTorch without known rules. `answers` are the numbers of the backends
    that were chosen for the calls being traced, the innermost call last.
    """

    target: Target
    version: AttentionRules | None
    answers: list[int] = field(default_factory=list)

    def current_answer(self) -> int:
        """Return the number of the backend for the innermost call being traced; -1 if no call is
        being traced.
        """
        return self.answers[-1] if self.answers else -1

    def choose(self, call: Call) -> Choice:
        """Choose the backend of a call and note the decision. Raises TargetError if no rules are
        known for it.
        """
        choice = choose(call, self.machine(), self._find_rules(call))
        if choice.backend != "error":
            note_decision(self._make_decision(choice))
        return choice

    def allows(self, call: Call, backend: str) -> bool:
        """Return whether all rules of a backend hold, even if another backend comes first."""
        return allows(call, self.machine(), self._find_rules(call), backend)

    def machine(self) -> Machine:
        """Return the target with its cuDNN and the current settings of PyTorch's switches for
        attention.
        """
        deterministic = torch.are_deterministic_algorithms_enabled()
        warns = torch.is_deterministic_algorithms_warn_only_enabled()
        return Machine(
            self.target.capability,
            targets.cudnn(self.target, torch.__version__),
            _enabled_backends(),
            tuple(BACKENDS[number] for number in torch._C._get_sdp_priority_order()),
            deterministic and not warns,
        )

    def _find_rules(self, call: Call) -> AttentionRules:
        if self.target.gfx and self.machine().enabled != {"math"}:
            raise attention_refusal(
                "the rules for AMD's GPUs are not known here, only that of "
                "torch.nn.attention.sdpa_kernel(SDPBackend.MATH)"
            )
        if why := _unknown_reason(call):
            raise attention_refusal(why)
        if self.version is None:
            raise attention_refusal(f"no rules are known for torch {torch.__version__}")
        return self.version

    def _make_decision(self, choice: Choice) -> Decision:
        verified = (self.version and self.version.torch, self.target.capability) in VERIFIED
        rules = f"by PyTorch's rules, {_AUTHORITY[verified]}"
        return Decision(NAME, find_traced_line(), str(choice), rules)


def _unknown_reason(call: Call) -> str:
    """Return why the rules give no answer for a call; '' if they give one."""
    if any(t.is_nested for t in call.inputs):
        return "the rules for nested tensors look at their lengths, which are not traced"
    if flash := getattr(torch.nn.attention, "current_flash_attention_impl", lambda: None)():
        return f"{flash} is a package of its own, which only a GPU can load"
    return ""


def attention_refusal(why: str) -> TargetError:
    """Return the error for a call of attention whose kernel is not known."""
    return TargetError(
        f"{NAME}, {find_traced_line()}",
        f"PyTorch picks its kernel by the GPU, its libraries and the inputs; {why}",
        "write it out, softmax(q @ k.mT) @ v, with options={'pattern_matcher': False} if Inductor "
        "fuses that; or capture on the GPU",
    )


def _enabled_backends() -> frozenset[str]:
    cuda = torch.backends.cuda
    switches = {
        "flash": cuda.flash_sdp_enabled(),
        "efficient": cuda.mem_efficient_sdp_enabled(),
        "math": cuda.math_sdp_enabled(),
        "cudnn": cuda.cudnn_sdp_enabled(),
    }
    return frozenset(name for name, on in switches.items() if on)
