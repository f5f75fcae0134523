"""One target's choices of attention: the machine as it stands, the answer, and what is refused."""

from __future__ import annotations

from dataclasses import dataclass, field

import torch

from tclab import targets
from tclab.capturing.target.decisions import Decision, decided
from tclab.capturing.target.places import being_traced
from tclab.capturing.target.sdpa.call import BACKENDS, Call, Machine
from tclab.capturing.target.sdpa.choose import Choice, allows, choose
from tclab.capturing.target.sdpa.rule import AttentionRules
from tclab.targets import Target, TargetError

NAME = "scaled_dot_product_attention"

#: PyTorch and compute capability of the devices that were asked, and agreed on every call.
VERIFIED = {((2, 11), (9, 0))}


_AUTHORITY = {
    True: "asked of the device",
    False: "as its source has them, not verified on the device",
}


@dataclass
class Chooser:
    """The choices for one target, by the rules of this PyTorch; None where there are none.

    `answers` are the backends' numbers for the calls that are being traced, innermost last.
    """

    target: Target
    version: AttentionRules | None
    answers: list[int] = field(default_factory=list)

    def number(self) -> int:
        """The answer to the question that is open, else "error" (-1)."""
        return self.answers[-1] if self.answers else -1

    def choose(self, call: Call) -> Choice:
        """The backend for a call, noted. TargetError where no rule is known for it."""
        choice = choose(call, self.machine(), self._rules(call))
        if choice.backend != "error":
            decided(self._decision(choice))
        return choice

    def allows(self, call: Call, backend: str) -> bool:
        """Whether the backend could be taken, whatever comes before it."""
        return allows(call, self.machine(), self._rules(call), backend)

    def machine(self) -> Machine:
        """The target with the switches as they are."""
        deterministic = torch.are_deterministic_algorithms_enabled()
        warns = torch.is_deterministic_algorithms_warn_only_enabled()
        return Machine(
            self.target.capability,
            targets.cudnn(self.target, torch.__version__),
            _enabled(),
            tuple(BACKENDS[number] for number in torch._C._get_sdp_priority_order()),
            deterministic and not warns,
        )

    def _rules(self, call: Call) -> AttentionRules:
        if why := _unknown(call):
            raise refusal(why)
        if self.version is None:
            raise refusal(f"no rules are known for torch {torch.__version__}")
        return self.version

    def _decision(self, choice: Choice) -> Decision:
        verified = (self.version and self.version.torch, self.target.capability) in VERIFIED
        rules = f"by PyTorch's rules, {_AUTHORITY[verified]}"
        return Decision(NAME, being_traced(), str(choice), rules)


def _unknown(call: Call) -> str:
    """Why the rules do not tell, or ''."""
    if any(t.is_nested for t in call.inputs):
        return "the rules for nested tensors look at their lengths, which are not traced"
    if flash := getattr(torch.nn.attention, "current_flash_attention_impl", lambda: None)():
        return f"{flash} is a package of its own, which only a GPU can load"
    return ""


def refusal(why: str) -> TargetError:
    """The error for attention whose kernel is not known."""
    return TargetError(
        f"{NAME}, {being_traced()}",
        f"PyTorch picks its kernel by the GPU, its libraries and the inputs; {why}",
        "write it out, softmax(q @ k.mT) @ v, with options={'pattern_matcher': False} if Inductor "
        "fuses that; or capture on the GPU",
    )


def _enabled() -> frozenset[str]:
    cuda = torch.backends.cuda
    switches = {
        "flash": cuda.flash_sdp_enabled(),
        "efficient": cuda.mem_efficient_sdp_enabled(),
        "math": cuda.math_sdp_enabled(),
        "cudnn": cuda.cudnn_sdp_enabled(),
    }
    return frozenset(name for name, on in switches.items() if on)
