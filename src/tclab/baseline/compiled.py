"""What the fixture gives: one compile, what a test expects of it, and the file it is held to."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tclab.baseline import held, observed, ratio, words
from tclab.baseline.observed import Observed
from tclab.baseline.verdict import LEVELS
from tclab.errors import BadRequest

Expected = int | Container[int]
#: What to do after each end.
_NEXT = {
    held.NO_FILE: "say --compiled-update to write {path}",
    held.WORSE: "mend it; or, where it is meant, say --compiled-update",
    held.BETTER: "say --compiled-update to keep it so",
    held.BY_TORCH: "say --compiled-update to keep a file of PyTorch {version}",
}


class CompiledWarning(UserWarning):
    """A compile that is better than its file, or that another PyTorch changed."""


@dataclass(frozen=True)
class Settings:
    """`update` writes files; `strict` fails what is better, too; `new_torch_fails` what differs
    from the file of an older PyTorch; `report` is a folder for pages of failures.
    """

    update: bool = False
    strict: bool = False
    new_torch_fails: bool = False
    report: Path | None = None

    @property
    def failing(self) -> tuple[str, ...]:
        """What fails a test, of the ends of `held`."""
        better = [held.BETTER] * self.strict
        return (held.NO_FILE, held.WORSE, *better, *([held.BY_TORCH] * self.new_torch_fails))


@dataclass
class Factory:
    """``compiled(model, x)``: of one test. `note` is called with each file and each failure."""

    folder: Path
    test: str
    settings: Settings
    note: Callable[[str, str], None]
    names: list[str] = field(default_factory=list)

    def __call__(
        self,
        fn: Callable[..., Any],
        *inputs: object,
        target: str | None = None,
        backward: bool = False,
        level: str = "",
        within: str = "",
        name: str = "",
        **options: Any,
    ) -> Compiled:
        """Compile `fn` as if for the first time, called with `inputs`, or with each tuple of one
        list. `level` is one of dynamo, graphs, kernels and machine; by default kernels with a
        `target`, a GPU that need not be here, and graphs without. `within` is the package whose
        breaks and recompiles count; `name` tells two compiles of a test apart; the options go to
        torch.compile. Gradients, buffers and random numbers are afterwards as they were.

        Raises TclabError with place, cause and next step.
        """
        level = level or ("kernels" if target else "graphs")
        if level not in LEVELS:
            raise BadRequest(f"level={level!r}", "there is no such level", f"one of {[*LEVELS]}")
        calls = observed.split_calls(inputs)
        how: dict[str, Any] = {"level": level, "target": target, "options": options}
        found = observed.compiled(
            fn, calls, backward=backward, within=within, title=self.test, **how
        )

        def compile_ratio() -> float:
            import torch

            return ratio.ratio(
                lambda: observed.seconds(fn, calls, backward=backward, **how),
                lambda: observed.seconds(ratio.small, [(torch.ones(64, 64),)], **how),
            )

        return Compiled(found, level, self._name(name), self, compile_ratio)

    def _name(self, name: str) -> str:
        """The test's, and of a second compile its own name or number."""
        own = f"{self.test}.{name}" if name else self.test
        if name and own in self.names:
            raise BadRequest(f"name={name!r}", "two compiles of a test have it", "give another")
        self.names.append(own)
        again = self.names.count(own)
        return own if again == 1 else f"{own}.{again}"


@dataclass(frozen=True)
class Compiled:
    """One compile at one level."""

    observed: Observed
    level: str
    name: str
    of: Factory
    #: Compiles again, several times, and says how many times as long as a small compile it took.
    compile_ratio: Callable[[], float]

    def expect(
        self,
        *,
        breaks: Expected | None = None,
        recompiles: Expected | None = None,
        kernels: Expected | None = None,
        cudagraph_skips: Expected | None = None,
        compile_ratio: float | None = None,
    ) -> None:
        """AssertionError, with every identity, where a number is not the one expected, or not in
        the range or set expected; and where compiling takes more than `compile_ratio` times as long
        as a small compile of the same run. What is left out is not looked at.
        """
        __tracebackhide__ = True
        if self.level in ("dynamo", "graphs") and (kernels, cudagraph_skips) != (None, None):
            step = "say level='kernels', or name a target"
            raise BadRequest(f"level={self.level!r}", "it compiles no kernels", step)
        was = self.observed.snapshot
        asked = [
            ("graph breaks", breaks, words.breaks(self.observed)),
            ("recompiles", recompiles, words.recompiles(self.observed)),
            ("kernels", kernels, [each.title for each in was.kernels]),
            ("reasons for no CUDA graph", cudagraph_skips, [*was.skipped_graphs]),
        ]
        lines = [line for what, expected, found in asked if expected is not None
                 for line in _unexpected(what, expected, found)]  # fmt: skip
        if compile_ratio is not None and (took := self.compile_ratio()) > compile_ratio:
            lines.append(
                f"compile: {took:.1f} times a small one's, expected at most {compile_ratio}"
            )
        if lines:
            head = f"{self.name}: not what was expected"
            self._fail("\n".join([head, *lines, *words.in_other_code(self.observed)]))

    def matches(self) -> None:
        """AssertionError where something is worse than in the file of this test and version of
        PyTorch, or where there is none. With --compiled-update the file is written instead.
        """
        __tracebackhide__ = True
        settings = self.of.settings
        outcome = held.hold(
            self.of.folder, self.name, self.observed, self.level, update=settings.update
        )
        self.of.note("compiled_file", str(outcome.own.path))
        if outcome.end in (held.SAME, held.WRITTEN):
            return
        step = _NEXT[outcome.end].format(path=outcome.own.path, version=outcome.own.version)
        text = "\n".join([f"{self.name}: {outcome.head}", *outcome.lines(), f"next: {step}"])
        if outcome.end in settings.failing:
            self._fail(text, outcome)
        warnings.warn(CompiledWarning(text), stacklevel=2)

    def _fail(self, text: str, outcome: held.Outcome | None = None) -> None:
        """AssertionError with the text; the page of what differs is written where one is asked."""
        __tracebackhide__ = True
        folder = self.of.settings.report
        if outcome and folder and (path := outcome.report(folder)):
            text = f"{text}\nreport: {path}"
        self.of.note("compiled_failure", text)
        raise AssertionError(text)


def _unexpected(what: str, expected: Expected, found: list[str]) -> Iterable[str]:
    """Nothing where the number is one that was expected."""
    wanted = (expected,) if isinstance(expected, int) else expected
    if len(found) in wanted:
        return []
    return [f"{what}: {len(found)}, expected {expected}", *(f"  {each}" for each in found)]
