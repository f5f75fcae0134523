"""Find the status of each snippet's runs: which runs can be shown, and which snippets must run.

One plan serves one command or one build of the site. The plan examines this machine, tclab's code
and each snippet's runs once, so its answers stay the same.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from tclab.errors import RecordingError, StoreError
from tclab.model import Run, Snippet
from tclab.site import snippets
from tclab.site.engine import variables
from tclab.site.store import checksums, dependencies, recordings
from tclab.site.store.local_runs import Store
from tclab.site.store.status import Status, source_differences
from tclab.system import machine, paths


class Plan:
    """The status of every snippet of the project at `root`, on this machine and recorded.

    `here` is the provenance of a run made now, and `package` has the digests of tclab's files. Both
    are determined at the start, so that a later edit of tclab makes the plan's runs stale but not
    wrong.
    """

    def __init__(self, root: Path, store: Store | None = None) -> None:
        paths.set_temporary_folder()
        self.root = Path(root)
        self.store = store or Store.of_project(root)
        self.here = machine.here(variables.inherited_variables(), self.store.hide_value)
        self.package = dependencies.package_digests()
        self._live: dict[str, Status] = {}
        self._recorded: dict[tuple[str, str], Status] = {}

    # ------------------------------------------------------------------ status

    def local_status(self, snippet: Snippet) -> Status:
        """Return the status of this machine's run; ``lacking`` if the snippet cannot run here.

        Raises RecordingError if a recorded file that the snippet reads was changed or damaged.
        """
        if snippet.name not in self._live:
            self._live[snippet.name] = self._read_status(snippet)
        return self._live[snippet.name]

    def recorded_status(self, snippet: Snippet, environment: str) -> Status:
        """Return the status of the recording of one environment; ``never`` if there is none,
        ``failed`` if recording it again failed.
        """
        key = (snippet.name, environment)
        if key not in self._recorded:
            status = recordings.status(self.root, environment, snippet)
            self._recorded[key] = self._fail_if_revoked(status)
        return self._recorded[key]

    def _fail_if_revoked(self, status: Status) -> Status:
        """Return the status, or a ``failed`` one for a fresh recording that a failed run
        revoked.
        """
        if not status.fresh or status.head is None:
            return status
        name, environment = status.snippet.name, status.environment
        try:
            failed = self.store.load_revoking_run(recordings.digest(status.head), name)
        except StoreError as error:
            why = error.cause
        else:
            if failed is None or failed.failure is None:
                return status
            if source_differences(failed, status.snippet, {}):
                return status
            why = failed.failure.message
        cause = f"its snippet failed when it was run to record it again: {why}"
        step = f"mend it, then: tclab record {environment} {name}"
        problem = RecordingError(f"records/{environment}/{name}", cause, step)
        return replace(status, state="failed", why=(cause,), problem=problem)

    def save_recording(self, environment: str, run: Run) -> None:
        """Save a run as a recording. A failed run revokes the earlier recording, whose files stay,
        unless its times were only unsteady.

        Raises StoreError if the run cannot be saved.
        """
        failed = run.failure is not None and run.failure.cause != "unsteady"
        if failed and (former := recordings.read_head(self.root, environment, run.snippet)):
            self.store.revoke(recordings.digest(former), run)
        recordings.write(self.root, environment, run)
        self._recorded.pop((run.snippet, environment), None)

    def recorded_statuses(self, snippet: Snippet) -> list[Status]:
        """Return the statuses of a snippet's recordings, in the order of the environments'
        names.
        """
        every = (self.recorded_status(snippet, name) for name in recordings.environments(self.root))
        return [status for status in every if status.state != "never"]

    def is_replaced(self, run: Run) -> bool:
        """Return whether a page shows a recording instead of this run, which was unsteady."""
        if run.failure is None or run.failure.cause != "unsteady":
            return False
        snippet = snippets.get(run.snippet, self.root)
        return any(status.fresh for status in self.recorded_statuses(snippet))

    def snippets_to_run(self, chosen: Iterable[Snippet], *, force: bool = False) -> list[Snippet]:
        """Return the `chosen` snippets that can run here and have no fresh run; with `force`, also
        those with one.
        """
        states = [(snippet, self.local_status(snippet).state) for snippet in chosen]
        left = {"lacking"} if force else {"lacking", "fresh"}
        return [snippet for snippet, state in states if state not in left]

    # ------------------------------------------------------------------ runs

    def fresh_run(self, snippet: Snippet, *, recheck: bool = False) -> Run | None:
        """Return the fresh run of this machine, with its artifacts; None if there is none.

        With `recheck`, read the snippet's status again, since another process may have run the
        snippet.
        """
        if recheck:
            self._live.pop(snippet.name, None)
        try:
            return self.local_status(snippet).run() if self.local_status(snippet).fresh else None
        except StoreError as error:  # the run was damaged meanwhile, so the snippet runs again
            self._live[snippet.name] = Status(snippet, "here", "stale", (error.cause,))
            return None

    def _read_status(self, snippet: Snippet) -> Status:
        for path in snippet.includes:
            checksums.check(path, self.root.absolute())
        if missing := machine.missing_needs(snippet):
            return Status(snippet, "here", "lacking", tuple(sorted(missing)))
        return self.store.status(snippet, self.here.for_snippet(snippet), self.package)
