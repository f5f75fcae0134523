"""What the fixture gives: one compile, what a test expects of it, and the file it is held to."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Container, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tclab.baseline import files, observed, page, words
from tclab.baseline.observed import Observed
from tclab.baseline.verdict import LEVELS, Verdict, judge
from tclab.errors import BadRequest
from tclab.model import Version

Expected = int | Container[int]


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
        found = observed.compiled(
            fn, observed.split_calls(inputs), level=level, target=target, backward=backward,
            within=within, title=self.test, options=options,
        )  # fmt: skip
        return Compiled(found, level, self._name(name), self)

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

    def expect(
        self,
        *,
        breaks: Expected | None = None,
        recompiles: Expected | None = None,
        kernels: Expected | None = None,
        cudagraph_skips: Expected | None = None,
    ) -> None:
        """AssertionError, with every identity, where a number is not the one expected, or not in
        the range or set expected. What is left out is not looked at.
        """
        __tracebackhide__ = True
        if self.level in ("dynamo", "graphs") and (kernels, cudagraph_skips) != (None, None):
            step = "say level='kernels', or name a target"
            raise BadRequest(f"level={self.level!r}", "it compiles no kernels", step)
        was = self.observed.snapshot
        asked = [
            ("graph breaks", breaks, words.breaks(self.observed)),
            ("recompiles", recompiles, [*map(str, was.recompiles)]),
            ("kernels", kernels, [each.title for each in was.kernels]),
            ("reasons for no CUDA graph", cudagraph_skips, [*was.skipped_graphs]),
        ]
        lines = [line for what, expected, found in asked if expected is not None
                 for line in _unexpected(what, expected, found)]  # fmt: skip
        if lines:
            head = f"{self.name}: not what was expected"
            self._fail("\n".join([head, *lines, *words.in_other_code(self.observed)]))

    def matches(self) -> None:
        """AssertionError where something is worse than in the file of this test and version of
        PyTorch, or where there is none. With --compiled-update the file is written instead.
        """
        __tracebackhide__ = True
        was, settings = self.observed.snapshot, self.of.settings
        baseline = files.Baseline(self.of.folder, self.name, was.torch)
        self.of.note("compiled_file", str(baseline.path))
        nearest = baseline.nearest()
        if nearest is None and not settings.update:
            step = f"say --compiled-update to write {baseline.path}"
            self._fail(f"{self.name}: there is no file to compare with\nnext: {step}")
        verdict = judge(files.read(nearest), was, self.level) if nearest else None
        if settings.update:
            if verdict is None or not verdict.same or nearest != baseline.path:
                baseline.write(was)
        elif verdict and nearest and nearest != baseline.path:
            self._changed_by_torch(verdict, nearest)
        elif verdict and nearest:
            self._judged(verdict, nearest)

    def _judged(self, verdict: Verdict, path: Path) -> None:
        __tracebackhide__ = True
        step = "mend it; or, where it is meant, say --compiled-update"
        better = [f"better: {line}" for line in words.changes(verdict.better)]
        if verdict.worse:
            head = f"{self.name}: {len(verdict.worse)} worse than {path.name}"
            lines = words.changes(verdict.worse, self.observed)
            theirs = words.in_other_code(self.observed)
            self._fail("\n".join([head, *lines, *better, *theirs, f"next: {step}"]), verdict)
        if verdict.better:
            step = "say --compiled-update to keep it so"
            text = "\n".join([f"{self.name}: better than {path.name}", *better, f"next: {step}"])
            if self.of.settings.strict:
                self._fail(text, verdict)
            warnings.warn(CompiledWarning(text), stacklevel=3)

    def _changed_by_torch(self, verdict: Verdict, path: Path) -> None:
        """What differs from an older PyTorch's file is not the user's fault."""
        __tracebackhide__ = True
        if verdict.same:
            return
        then, now = files.version(path), Version.of(self.observed.snapshot.torch)
        head = f"{self.name}: changed by PyTorch, {then.short if then else ''} to {now.short}"
        of_kernels = [*words.by_cause(verdict.comparison)]
        rest = [
            e for e in (*verdict.worse, *verdict.better) if not of_kernels or e.part != "kernels"
        ]
        step = f"say --compiled-update to keep a file of PyTorch {now.short}"
        text = "\n".join([head, *of_kernels, *words.changes(rest, self.observed), f"next: {step}"])
        if self.of.settings.new_torch_fails:
            self._fail(text, verdict)
        warnings.warn(CompiledWarning(text), stacklevel=3)

    def _fail(self, text: str, verdict: Verdict | None = None) -> None:
        """AssertionError with the text; the page of what differs is written where one is asked."""
        __tracebackhide__ = True
        if self.of.settings.report and verdict:
            path = self.of.settings.report / f"{files.plain(self.name)}.html"
            page.write(path, self.name, verdict)
            text = f"{text}\nreport: {path}"
        self.of.note("compiled_failure", text)
        raise AssertionError(text)


def _unexpected(what: str, expected: Expected, found: list[str]) -> Iterable[str]:
    """Nothing where the number is one that was expected."""
    wanted = (expected,) if isinstance(expected, int) else expected
    if len(found) in wanted:
        return []
    return [f"{what}: {len(found)}, expected {expected}", *(f"  {each}" for each in found)]
