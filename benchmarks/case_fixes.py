"""Apply each fix that `tclab explain` states as tried to the case's file, and ask PyTorch alone
whether the fault is gone.

The fix is applied as the reader would apply it: its lines replace those of the file, its settings
and options are set, its arguments are passed. No trial of tclab's runs here.
"""

from __future__ import annotations

import functools
import pickle
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unittest import mock

from benchmarks.case_symptoms import LoadedCalls, Program, has_symptom
from benchmarks.cases import PROCESSES, Case, explain_case
from tclab.explain.inputs import Call
from tclab.explain.trials import arguments, attempt, blocks
from tclab.explain.trials.patching import patched_compile
from tclab.explain.trials.remedy import Remedy

if TYPE_CHECKING:
    from tclab.explain.trials.remedy import TrialResult

#: The most seconds of each trial: what a fix does is asked, also where the machine is busy.
_SECONDS = 300.0
#: How a report says that a trial of a fix succeeded.
_TRIED = re.compile(r"Tried:|:tried,and")
#: What stands behind a fix: the arguments that it changes, or what is at fault, in some cases, and
#: the outcome of the trial.
#: :Inductor'sfusionisatfault,andnotyourcode.Tried:itcompiles
_BEHIND = re.compile(rf"(`\w+`(?:and`\w+`)*)?(:[^.:]+\.)?.{{0,6}}?({_TRIED.pattern})")


def explain_fixes(case: Case) -> tuple[str, list[Remedy]]:
    """Run ``tclab explain`` on the case; return what the terminal shows, and the fixes in it that
    it calls tried.
    """
    with tempfile.TemporaryDirectory() as folder:
        child = PROCESSES.Process(target=_explain_recorded, args=(case, folder))
        child.start()
        child.join()
        screen = Path(folder, "screen").read_text()
        trials = Path(folder, "trials")
        tried = pickle.loads(trials.read_bytes()) if trials.exists() else []
    return screen, [*_find_remedies(screen, tried), *_find_options(screen)]


def _find_remedies(screen: str, tried: list[Remedy]) -> Iterator[Remedy]:
    """Yield the trials whose fix the screen names, with the outcome right behind it."""
    screen, found = _without_spaces(screen), set[str]()
    for remedy in tried:
        text = remedy.description.rstrip(".")
        names = [f"torch._dynamo.config.{name} = True" for name in remedy.settings if not text]
        for stated in map(_without_spaces, filter(None, [text, *names])):
            at = screen.find(stated)
            if at >= 0 and _BEHIND.match(screen, at + len(stated)) and stated not in found:
                found.add(stated)
                yield replace(remedy, description=text or names[0])


def _find_options(screen: str) -> Iterator[Remedy]:
    """Yield the options that the comparison with eager tried, in the process of the report."""
    from tclab.capturing.agreement.stages import WORKAROUNDS

    for words, options in WORKAROUNDS.items():
        if _without_spaces(f"{words}: tried, and") in _without_spaces(screen):
            yield Remedy(words, options=options)


def count_statements(screen: str) -> int:
    """Return how many fixes a screen calls tried, whether a trial of them is known or not."""
    return len(_TRIED.findall(_without_spaces(screen)))


def _without_spaces(text: str) -> str:
    """Return a text without spaces, as a terminal breaks lines in different places."""
    return re.sub(r"\s+", "", text)


def _explain_recorded(case: Case, folder: str) -> None:
    from tclab.explain.trials.runner import TrialRunner

    tried: list[Remedy] = []
    run = TrialRunner.run

    def recorded(self: TrialRunner, remedy: Remedy) -> TrialResult | None:
        self.seconds = _SECONDS
        result = run(self, remedy)
        if result is not None:
            tried.append(remedy)
            Path(folder, "trials").write_bytes(pickle.dumps(tried))
        return result

    with mock.patch.object(TrialRunner, "run", recorded):
        explain_case(case, folder)


class FixedProgram(Program):
    """A case's file with a fix."""

    def __init__(self, case: Case, fix: Remedy) -> None:
        super().__init__(case)
        self.fix = fix

    def load_compiled(self, **options: Any) -> LoadedCalls:
        """Import the file with the fix, and compile its function if the fix does not compile other
        parts of it.
        """
        import torch

        fix = self.fix
        for name, value in fix.settings.items():
            setattr(torch._dynamo.config, name, value)
        # what is entered stays for the calls; then the process ends
        self.entered = stack = ExitStack()
        self.path = _write_changed(
            self.path, Path(stack.enter_context(tempfile.TemporaryDirectory())), fix
        )
        checkpointed = stack.enter_context(blocks.record_checkpoints()) if fix.blocks else []
        undo = stack.enter_context(_own_compiles(fix))
        function, calls = self.load()
        if fix.whole:
            undo()
        changed = arguments.change_arguments(function, [*map(Call, calls)], fix)
        calls = [each.args for each in changed]
        if fix.rebound:
            attempt.bind_anew(function)
        if fix.called_before or fix.blocks:
            with torch.compiler.set_stance("force_eager"):
                for args in calls:
                    function(*args)
        if fix.blocks:
            blocks.compile_each(checkpointed)
        elif fix.whole or not self.case.compiles_itself:
            function = torch.compile(function, **_merge(options, fix.options))
        return function, calls


def _write_changed(path: Path, folder: Path, fix: Remedy) -> Path:
    """Write the file with the lines of the fix into the folder."""
    lines = path.read_text().splitlines()
    changed = [fix.lines.get(number, line) for number, line in enumerate(lines, 1)]
    (folder / path.name).write_text("\n".join(changed))
    return folder / path.name


def _own_compiles(fix: Remedy) -> AbstractContextManager[Callable[[], None]]:
    """Make the file's own calls of torch.compile do what the fix says."""
    if fix.whole or fix.in_place:
        return patched_compile(replace(fix, backend="inductor"))
    return _adding_options({**fix.options, **fix.own})


@contextmanager
def _adding_options(options: Mapping[str, Any]) -> Iterator[Callable[[], None]]:
    import torch

    compile_ = torch.compile

    @functools.wraps(compile_)
    def own(model: Any = None, **how: Any) -> Any:
        return compile_(model, **_merge(how, options))

    with mock.patch.object(torch, "compile", own):
        yield lambda: None


def _merge(options: Mapping[str, Any], others: Mapping[str, Any]) -> dict[str, Any]:
    """Return both options of torch.compile; those of Inductor are merged, too."""
    inductor = {**options.get("options", {}), **others.get("options", {})}
    if "backend" in others:
        return {**others}
    return {**options, **others, **({"options": inductor} if inductor else {})}


def print_fixes(case: Case, lines: int) -> bool:
    """Print whether the case's first screen is right, each fix that the screen calls tried, and
    whether it removes the fault; return whether all fixes do.
    """
    screen, fixes = explain_fixes(case)
    lacks = case.missing("\n".join(screen.splitlines()[:lines]))
    print(f"{case.path.stem:32} {'; '.join(lacks) or 'right'}", flush=True)
    unknown = count_statements(screen) - len(fixes)
    if unknown:
        print(f"    {unknown} outcomes of no known trial")
    holds = not unknown
    for fix in fixes:
        symptom, seen = has_symptom(FixedProgram(case, fix))
        holds = holds and not symptom
        print(f"    {'STAYS' if symptom else 'gone'} ({seen}): {fix.description:.110}", flush=True)
    return holds
