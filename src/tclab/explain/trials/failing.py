"""Find the stage at which a compile fails, and a workaround, by trials."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from tclab.explain import load
from tclab.explain.trials import rewrites
from tclab.explain.trials.remedy import Remedy, Seen
from tclab.explain.trials.trier import Trier

#: A stage, and the backend that stops after it.
_STAGES = (("Dynamo", "eager"), ("AOTAutograd", "aot_eager"))
_NO_FUSION = Remedy(
    "compile without fusion, options={'max_fusion_size': 1}: Inductor's fusion is at fault, and "
    "not your code",
    options={"options": {"max_fusion_size": 1}},
    backend="inductor",
)
_METHOD = Remedy(
    "compile the function of the method and bind it: "
    "types.MethodType(torch.compile(method.__func__), method.__self__)",
    in_place=True,
)
_MODULE = Remedy(
    "compile the module in place, module.compile(): it keeps its class, its methods and the keys "
    "of its state_dict, where that of torch.compile(module) has `_orig_mod.` before each",
    in_place=True,
)
# ... While executing %setitem : [num_users=0] = call_function[target=operator.setitem](args = …
_OPERATOR = re.compile(r"\[target=(?P<name>[\w.]+)\]|target: (?P<other>[\w.]+)")
# my_model.py:18 (self.keys[:, at] = new)
_LINE = re.compile(r":(\d+)(?: \(|$)")


@dataclass(frozen=True)
class Failing:
    """Where a compile fails: the stage, '' if unknown, and a workaround, '' if none helped. `tried`
    names what did not help; `ended` is False if the time for trials ran out. `operator`, at
    `place`, is the first on which Inductor raises, '' if it is not known.
    """

    stage: str = ""
    workaround: str = ""
    tried: tuple[str, ...] = ()
    ended: bool = True
    place: str = ""
    operator: str = ""

    @property
    def step(self) -> str:
        """The next step for the reader."""
        if self.workaround:
            return self.workaround
        if not self.stage:
            return "a way round was not tried; TORCHDYNAMO_VERBOSE=1 says more"
        tried = f" (tried: {'; '.join(self.tried)})" if self.tried else ""
        if not self.ended:
            return f"no way round was found in the time that trials have{tried}"
        return f"no way round was found{tried}: report it to PyTorch, with this file"


def look(trier: Trier, place: str = "") -> Failing:
    """Find the stage at which the reader's calls fail, and a workaround. `place` is the line that
    the error names, if any; without one the operator is looked for, too.
    """
    found = _look(trier, place)
    if found.stage != "Inductor" or line_of(place):
        return found
    seen = trier.see(Remedy(halved=True))
    return replace(found, place=seen.place, operator=seen.operator) if seen else found


def _look(trier: Trier, place: str) -> Failing:
    stage = _stage(trier)
    if not stage:
        return Failing()
    remedies = rewrites.rewrites(text(trier), line_of(place))
    if stage == "Inductor":
        remedies.append(_NO_FUSION)
    workaround = "backend='aot_eager' compiles it, without kernels" if stage == "Inductor" else ""
    tried: list[str] = []
    for remedy in remedies:
        seen = trier.see(remedy)
        if seen and not seen.error and seen.compiles:
            return Failing(stage, f"{remedy.said}. Tried: it compiles", tuple(tried))
        if seen is None:
            return Failing(stage, workaround, tuple(tried), ended=False)
        tried.append(remedy.said)
    return Failing(stage, workaround, tuple(tried))


def operator(message: str) -> str:
    """Return the operator that the compiler's error names, '' if none."""
    match = _OPERATOR.search(message)
    return (match["name"] or match["other"]) if match else ""


def _stage(trier: Trier) -> str:
    """Return the first stage that fails; '' if it was not tried."""
    for stage, backend in _STAGES:
        seen = trier.see(Remedy(backend=backend))
        if seen is None:
            return ""
        if seen.error or not seen.compiles:
            return stage
    return "Inductor"


def without_compile(trier: Trier) -> Seen | None:
    """Make the calls in a fresh process without torch.compile; return None if that was not
    tried.
    """
    return trier.see(Remedy(compiled=False))


def larger_example(trier: Trier) -> bool:
    """Return whether the calls succeed if a first dimension of 0 or 1 becomes 2."""
    seen = trier.see(Remedy(compiled=False, arguments="two rows"))
    return seen is not None and not seen.error


def other_order(trier: Trier, place: str) -> str:
    """Return the order of the reader's lines with which their own torch.compile succeeds, '' if
    none.
    """
    for remedy in rewrites.moved_compiles(text(trier), line_of(place)):
        seen = trier.see(remedy)
        if seen and not seen.error:
            return f"{remedy.said}. Tried: it does not raise"
    return ""


def kept_object(trier: Trier, *, method: bool) -> str:
    """The way to compile an object without replacing it."""
    remedy = _METHOD if method else _MODULE
    seen = trier.see(remedy)
    return f"{remedy.said}. Tried: it does not raise" if seen and not seen.error else ""


def line_of(place: str) -> int:
    """Return the line number in a place, 0 if there is none."""
    match = _LINE.search(place)
    return int(match[1]) if match else 0


def text(trier: Trier) -> str:
    """Return the reader's file; '' for a module of a package, whose lines cannot be replaced."""
    where, _ = load.split(trier.request.spec) if trier.request else ("", "")
    path = Path(where)
    return path.read_text(encoding="utf-8") if where.endswith(".py") and path.is_file() else ""
