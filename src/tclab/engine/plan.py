"""What can be shown of each snippet, and what must run: fresh, stale and why, lacking, or live.

One plan serves one command or one build of the site. It looks at this machine, at tclab's
code and at each snippet's runs once, so all who ask it hear the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from tclab import machine, paths
from tclab.engine import variables
from tclab.errors import StoreError
from tclab.model import Run, Snippet
from tclab.store import checksums, recordings, rests
from tclab.store.live import Store
from tclab.store.status import Status


class Plan:
    """The project at `root`, its store, this machine: how every snippet stands.

    `here` is what makes a run now, and `package` the digests of tclab's files: fixed at the
    start, so that an edit of tclab while it runs makes these runs stale, not wrong.
    """

    def __init__(self, root: Path, store: Store | None = None) -> None:
        paths.settle_temporary()
        self.root = Path(root)
        self.store = store or Store.of(root)
        self.here = machine.here(variables.outer(), self.store.mark)
        self.package = rests.package()
        self._live: dict[str, Status] = {}
        self._recorded: dict[tuple[str, str], Status] = {}

    # ------------------------------------------------------------------ asking

    def live(self, snippet: Snippet) -> Status:
        """The run of this machine; ``lacking`` where the snippet cannot run here. RecordingError
        where a recorded file that it reads is not what was written.
        """
        if snippet.name not in self._live:
            self._live[snippet.name] = self._look(snippet)
        return self._live[snippet.name]

    def recorded(self, snippet: Snippet, environment: str) -> Status:
        """The recording of one environment; ``never`` where there is none."""
        key = (snippet.name, environment)
        if key not in self._recorded:
            self._recorded[key] = recordings.status(self.root, environment, snippet)
        return self._recorded[key]

    def recordings(self, snippet: Snippet) -> list[Status]:
        """Every recording there is of a snippet, by environment."""
        every = (self.recorded(snippet, name) for name in recordings.environments(self.root))
        return [status for status in every if status.state != "never"]

    def to_run(self, snippets: Iterable[Snippet], *, force: bool = False) -> list[Snippet]:
        """Of `snippets`, what can run here and has no fresh run, or all of that under `force`."""
        states = [(snippet, self.live(snippet).state) for snippet in snippets]
        left = {"lacking"} if force else {"lacking", "fresh"}
        return [snippet for snippet, state in states if state not in left]

    # ------------------------------------------------------------------ taking

    def fresh_run(self, snippet: Snippet, *, again: bool = False) -> Run | None:
        """The whole live run, if it holds. `again`: look once more, as others may have run it."""
        if again:
            self._live.pop(snippet.name, None)
        try:
            return self.live(snippet).run() if self.live(snippet).fresh else None
        except StoreError as error:  # damaged since: it is made again
            self._live[snippet.name] = Status(snippet, "here", "stale", (error.cause,))
            return None

    def _look(self, snippet: Snippet) -> Status:
        for path in snippet.includes:
            checksums.check(path, self.root.absolute())
        if missing := machine.missing_needs(snippet):
            return Status(snippet, "here", "lacking", tuple(sorted(missing)))
        return self.store.status(snippet, self.here.of(snippet), self.package)
