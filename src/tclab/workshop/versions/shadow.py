"""Run CPU snippets as readers run them, and compare the flipped claims with ``shadow.json``.

    python -m tclab.workshop.versions.shadow [--only inductor|caches] [--jobs N] [SNIPPET…]

A snippet with its own backend runs once with Inductor in place of the backend. A snippet that calls
`torch.compile` runs twice with the same cache folder and PyTorch's graph caches on; the second run
counts. Runs are kept below ``.tclab/shadow/``, so a stopped command continues where it stopped.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tclab.model import Run, Snippet
from tclab.site import snippets
from tclab.site.engine import events, schedule
from tclab.site.engine.plan import Plan
from tclab.site.engine.pool import Pool
from tclab.site.snippets import claims, flips
from tclab.site.store.local_runs import Store
from tclab.site.store.status import still_fails
from tclab.system.project import project_root

_RUNNERS = "tclab.site.engine.worker.shadow"

#: Kind of run → pattern of the snippets that it may change: those that may have their own backend,
#: and those that may fill a graph cache. Own backends fill no cache, and `tclab.capture` switches
#: the caches off.
_CONCERNED = {
    flips.INDUCTOR: re.compile(r"\bbackend\b|CompileCounter"),
    flips.CACHES: re.compile(
        r'(?:torch\.compile\b|\.compile\()(?!.*backend=(?:"(?:aot_)?eager|\(?counter\b))'
    ),
}


#: The factor on a snippet's time limit, because Inductor takes longer than the backend for which
#: the limit was chosen.
_PATIENCE = 4.0


@dataclass(frozen=True)
class Shadow:
    """One kind of run over the snippets of a project, with runs and compiled objects of its own."""

    kind: str
    root: Path
    store: Path

    def select(self, candidates: Iterable[Snippet]) -> list[Snippet]:
        """Return the snippets that this kind of run may change, each with the runner for it."""
        runner = "run_with_inductor" if self.kind == flips.INDUCTOR else "run_claims"
        concerned = (
            snippet
            for snippet in candidates
            if "cuda" not in snippet.needs and _CONCERNED[self.kind].search(_whole_text(snippet))
        )
        return [
            replace(
                snippet,
                runner=f"{_RUNNERS}.{runner}",
                timeout=_PATIENCE * snippet.timeout,
            )
            for snippet in concerned
        ]

    def run(self, candidates: Iterable[Snippet], jobs: int) -> dict[str, Run]:
        """Run the snippets that have no run of this kind; return the runs that count, by name."""
        chosen = self.select(candidates)
        if self.kind == flips.INDUCTOR:
            with Pool(self.store / "cache", schedule.should_warm(chosen)) as pool:
                return _run_unknown(self._open_plan("runs"), chosen, pool, jobs)
        # A timed snippet gets a cache of its own, so run it as one that measures nothing, but in a
        # cold process as usual, because it may measure what a new process does.
        timed = [replace(snippet, alone=False) for snippet in chosen if snippet.alone]
        others = [snippet for snippet in chosen if not snippet.alone]
        cache, warm = self.store / "cache", schedule.should_warm(others)
        for plan in (self._open_plan("filling"), self._open_plan("filled")):
            with Pool(cache, warm, graph_caches=True) as pool:
                runs = _run_unknown(plan, others, pool, jobs)
            with Pool(cache, warm=False, graph_caches=True) as pool:
                runs |= _run_unknown(plan, timed, pool, 1)
        return runs  # return the runs of the second plan

    def _open_plan(self, name: str) -> Plan:
        return Plan(self.root, Store(self.store / name))


def _whole_text(snippet: Snippet) -> str:
    shared = (path.read_text(encoding="utf-8") for path in snippet.includes if path.suffix == ".py")
    return "\n".join((snippet.source, *shared))


def _run_unknown(plan: Plan, chosen: Sequence[Snippet], pool: Pool, jobs: int) -> dict[str, Run]:
    """Run the snippets that have neither a good nor a failed run; return all runs by name."""
    known = {snippet.name: run for snippet in chosen if (run := _known_run(plan, snippet))}
    todo = [snippet for snippet in chosen if snippet.name not in known]
    return known | schedule.run(todo, plan, jobs=jobs, pool=pool, on_event=_print_end)


def _known_run(plan: Plan, snippet: Snippet) -> Run | None:
    if run := plan.fresh_run(snippet):
        return run
    failed = plan.store.load_failed(snippet)
    here = plan.here.for_snippet(snippet)
    return failed if failed and still_fails(failed, snippet, here, plan.package) else None


def _print_end(event: events.Event) -> None:
    if isinstance(event, events.Finished) and event.run:
        end = "ok" if event.run.ok else "flips"
        print(f"{event.snippet}: {end}, {event.run.seconds:.0f} s", file=sys.stderr, flush=True)


def map_flips(run: Run) -> dict[str, str]:
    """Map each flipped claim to its cause; if the run ended early, map the snippet's own name to
    the cause.
    """
    failure = run.failure
    if failure and (failure.cause != "assertion" or failure.traceback):
        return {run.snippet: f"{failure.cause}: {failure.message}"}
    false = claims.false_claims(run.claims, run.provenance.version)
    return {f"{run.snippet}#{claim.name}": claim.broken or claim.code for claim in false}


def describe_differences(
    kind: str, runs: Mapping[str, Run], listed: Mapping[str, str], unknown: Callable[[str], bool]
) -> Iterator[str]:
    """Yield a line for each flip that is not in `listed`, and for each name in `listed` that did
    not flip, or whose snippet is `unknown`.
    """
    found = {name: why for run in runs.values() for name, why in map_flips(run).items()}
    for name in sorted(found.keys() - listed.keys()):
        why = " ".join(found[name].split())
        yield f"[{kind}] {name} flips, and {flips.FILE} does not say why: {why:.300}"
    for name in sorted(listed.keys() - found.keys()):
        snippet = name.partition("#")[0]
        if (snippet in runs and snippet not in found) or unknown(snippet):
            yield f"[{kind}] {name} does not flip: take it out of {flips.FILE}"


def main(arguments: Iterable[str] | None = None) -> int:
    """Print the differences; the exit status is 1 if there are any."""
    parser = argparse.ArgumentParser(prog="python -m tclab.workshop.versions.shadow")
    parser.add_argument("--only", choices=(flips.INDUCTOR, flips.CACHES))
    parser.add_argument("--jobs", type=int, default=0)
    parser.add_argument("snippets", nargs="*")
    options = parser.parse_args(None if arguments is None else list(arguments))
    root = project_root()
    everything = {snippet.name: snippet for snippet in snippets.find(root)}
    found = [snippets.get(name, root) for name in options.snippets] or everything.values()
    listed = flips.read(root).by_kind
    lines: list[str] = []
    for kind in (flips.INDUCTOR, flips.CACHES):
        if options.only in (None, kind):
            shadow = Shadow(kind, root, Store.of_project(root).path / "shadow" / kind)
            runs = shadow.run(found, options.jobs)
            lines += describe_differences(
                kind, runs, listed.get(kind, {}), lambda s: s not in everything
            )
    print("".join(f"{line}\n" for line in lines), end="")
    return int(bool(lines))


if __name__ == "__main__":
    sys.exit(main())
