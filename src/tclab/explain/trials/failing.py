"""Find the stage at which a compile fails, and a workaround, by trials."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tclab.explain.trials import rewrites, scalars
from tclab.explain.trials.remedy import Remedy, TrialResult
from tclab.explain.trials.runner import TrialRunner
from tclab.text import user_lines

#: A stage, and the backend that stops after that stage.
_STAGES = (("Dynamo", "eager"), ("AOTAutograd", "aot_eager"))
#: The stage that fails → the workaround: a backend that ends before the stage, which the search for
#: the stage has tried.
_EARLIER_STAGES = {
    "AOTAutograd": "backend='eager' runs it, without AOTAutograd and without kernels",
    "Inductor": "backend='aot_eager' compiles it, without kernels",
}
#: The module of the errors that Inductor raises.
_INDUCTOR_ERRORS = "torch._inductor.exc."
_NO_FUSION = Remedy(
    "compile without fusion, options={'max_fusion_size': 1}",
    options={"options": {"max_fusion_size": 1}},
    backend="inductor",
)
_NO_PATTERNS = Remedy(
    "compile without patterns, options={'pattern_matcher': False}",
    options={"options": {"pattern_matcher": False}},
    backend="inductor",
)
#: What is at fault where a remedy helps.
_CAUSES = (
    (_NO_FUSION, "Inductor's fusion is at fault, and not your code"),
    (_NO_PATTERNS, "a pattern by which Inductor replaces operators is at fault, and not your code"),
)
_KEEPS = (
    "it keeps its class, its methods and the keys of its state_dict, where that of "
    "torch.compile(module) has `_orig_mod.` before each"
)
#: The ways to compile a module in place. Before PyTorch 2.14 the first way compiles nothing if the
#: module's forward is PyTorch's own, as for nn.Sequential.
IN_PLACE = (
    Remedy("module.compile()", in_place="module"),
    Remedy(
        "module.forward = torch.compile(module.forward), as module.compile() compiles nothing here",
        in_place="forward",
    ),
)
# ... While executing %setitem : [num_users=0] = call_function[target=operator.setitem](args = …
_OPERATOR = re.compile(r"\[target=(?P<name>[\w.]+)\]|target: (?P<other>[\w.]+)")
# my_model.py:18 (self.keys[:, at] = new)
_LINE = re.compile(r":(\d+)(?: \(|$)")


@dataclass(frozen=True)
class Diagnosis:
    """The place where a compile fails. `stage` is '' if it is unknown, and `workaround` is '' if
    none helped. `tried` names the changes that did not help. `ended` is False if the time for
    trials ran out. `operator`, at `place`, is the first operator on which Inductor raises; '' if it
    is not known.
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


def diagnose(runner: TrialRunner, place: str = "", error: str = "") -> Diagnosis:
    """Find the stage at which the reader's calls fail, and a workaround. `place` is the line that
    the error names, or ''; without it, also find the operator on which the compile fails. If
    Inductor raised `error`, the stage is Inductor, even if a trial with a backend that stops before
    Inductor fails, too: such a trial can fail for another reason. If the error is that a value is
    read, ways round that are tried first.
    """
    tried = _find_failing_stage(runner)
    stage = "Inductor" if tried and _INDUCTOR_ERRORS in error else tried
    workaround = _EARLIER_STAGES.get(stage, "") if stage == tried else ""
    if way := scalars.find_way(runner, read_file(runner), find_line_number(place), error):
        return Diagnosis(stage, way)
    found = _diagnose_stage(runner, place, stage, workaround)
    if found.stage != "Inductor" or find_line_number(place):
        return found
    result = runner.run(Remedy(halved=True))
    return replace(found, place=result.place, operator=result.operator) if result else found


def runs_without_backend(runner: TrialRunner) -> bool:
    """Return whether the calls succeed with ``backend="eager"``, which runs only Dynamo."""
    seen = runner.run(Remedy())
    return bool(seen and not seen.error and seen.compiles)


def _diagnose_stage(runner: TrialRunner, place: str, stage: str, workaround: str) -> Diagnosis:
    if not stage:
        return Diagnosis()
    remedies = rewrites.list_rewrites(read_file(runner), find_line_number(place))
    if stage == "Inductor":
        remedies += [_NO_FUSION, _NO_PATTERNS]
    remedies += rewrites.disabled_functions(read_file(runner), find_line_number(place))
    tried: list[str] = []
    for remedy in remedies:
        result = runner.run(remedy)
        if result and not result.error and _compiles_something(remedy, result):
            cause = next((text for one, text in _CAUSES if one is remedy), "")
            way = f"{remedy.description}{': ' * bool(cause)}{cause}. Tried: it compiles"
            return Diagnosis(stage, way, tuple(tried))
        if result is None:
            return Diagnosis(stage, workaround, tuple(tried), ended=False)
        tried.append(remedy.description)
    return Diagnosis(stage, workaround, tuple(tried))


def _compiles_something(remedy: Remedy, result: TrialResult) -> bool:
    """Return whether something is compiled with a remedy. If the remedy disables the compiler for a
    function, only compiles of the user's functions count.
    """
    if not remedy.disables:
        return bool(result.compiles)
    return any(user_lines.is_user_file(place.rpartition(":")[0]) for place in result.compiles)


def find_operator(message: str) -> str:
    """Return the operator that the compiler's error names; '' if it names none."""
    match = _OPERATOR.search(message)
    return (match["name"] or match["other"]) if match else ""


def _find_failing_stage(runner: TrialRunner) -> str:
    """Return the first stage that fails; '' if it was not tried."""
    for stage, backend in _STAGES:
        result = runner.run(Remedy(backend=backend))
        if result is None:
            return ""
        if result.error or not result.compiles:
            return stage
    return "Inductor"


def run_uncompiled(runner: TrialRunner) -> TrialResult | None:
    """Make the calls in a fresh process without torch.compile. Return None if this could not be
    tried.
    """
    return runner.run(Remedy(compiled=False))


# torch._dynamo.exc.UserError: Constraints violated (batch)! For more information, run with …
# ValueError: Found the following conflicts between user-specified ranges and inferred ranges from …
_SPECIALISED = re.compile(r"Constraints? ?violat|conflicts between user-specified", re.IGNORECASE)
_CONSTANT = "a size of 0 or 1 in an example is taken for a constant: give an example of"
#: The dimensions, tried one by one before all together.
_DIMS = ("two 0", "two 1", "two 2", "two 3", "two")


def advise_larger_example(runner: TrialRunner, error: str, *, compiled: bool) -> str:
    """Return the advice to give a larger example; '' if it would not help. It helps if the error is
    about a size that became a constant, and the calls succeed with sizes of 2 in place of 0 or 1.
    """
    if not _SPECIALISED.search(error):
        return ""
    for arguments in _DIMS:
        dim = arguments.removeprefix("two").strip()
        larger = {"0": "batch 2 or more", "": "2 or more in every dimension"}
        advice = f"{_CONSTANT} {larger.get(dim, f'2 or more in dimension {dim}')}"
        result = runner.run(Remedy(advice, compiled=compiled, arguments=arguments))
        if result is None:
            return f"{_CONSTANT} 2 or more where it varies (not tried)"
        if not result.error:
            return f"{advice}. Tried: with 2 it works"
    return ""


def find_working_order(runner: TrialRunner, place: str) -> str:
    """Return the change of the order of the reader's lines with which their own torch.compile
    succeeds; '' if there is none.
    """
    for remedy in rewrites.move_compiles(read_file(runner), find_line_number(place)):
        if outcome := _describe_success(runner.run(remedy)):
            return f"{remedy.description}. {outcome}"
    return ""


def advise_keeping_object(runner: TrialRunner, *, method: bool) -> str:
    """Return advice on how to compile so that the compiled object keeps its identity and class; ''
    if no way works.
    """
    idle = ""
    for remedy in rewrites.rebind_compiled_methods(read_file(runner)) if method else kept_modules():
        seen = runner.run(remedy)
        if outcome := _describe_success(seen):
            return f"{remedy.description}. {outcome}"
        if seen and not seen.error:  # the calls may reach nothing that is compiled
            idle = (
                idle or f"{remedy.description}. Tried: it does not raise; the calls compile nothing"
            )
    return idle


def kept_modules() -> Iterator[Remedy]:
    """Yield each way to compile a module in place, with a text on what the module keeps."""
    for way in IN_PLACE:
        yield replace(way, description=f"compile the module in place, {way.description}: {_KEEPS}")


def _describe_success(result: TrialResult | None) -> str:
    """Return a sentence on a trial that raised no error and compiled something; else ''."""
    if result is None or result.error or not (frames := sum(result.compiles.values())):
        return ""
    return (
        f"Tried: it does not raise, and {frames} frame{'s are' if frames > 1 else ' is'} compiled"
    )


def find_line_number(place: str) -> int:
    """Return the line number in a place, 0 if there is none."""
    match = _LINE.search(place)
    return int(match[1]) if match else 0


def read_file(runner: TrialRunner) -> str:
    """Return the reader's file; '' for a module of a package, whose lines cannot be replaced, and
    for a function that was passed as an object.
    """
    where = runner.request.spec.rpartition(":")[0] if runner.request else ""
    path = Path(where)
    return path.read_text(encoding="utf-8") if where.endswith(".py") and path.is_file() else ""
