"""Define the error classes. Each error has a place, a cause and a next step."""

from __future__ import annotations


class TclabError(Exception):
    """`place` is ``file:line`` or a name; `cause` is the problem; `next_step` is the remedy.

    A command that fails with the error returns `exit_status`.
    """

    exit_status = 1

    def __init__(self, place: str, cause: str, next_step: str = "") -> None:
        self.place, self.cause, self.next_step = place, cause, next_step
        super().__init__(place, cause, next_step)

    def __str__(self) -> str:
        text = f"{self.place}: {self.cause}"
        return f"{text}\n  next: {self.next_step}" if self.next_step else text


class SnippetError(TclabError):
    """A snippet file cannot be read: bad header, no docstring, unknown name."""


class RunFailed(TclabError):
    """A snippet failed, or has no fresh run to show."""


class Unsteady(TclabError):
    """Times vary too much to be shown. A snippet raises it; a page then shows its recording."""


class StoreError(TclabError):
    """The store cannot be read or written."""


class RecordingError(StoreError):
    """A recording is missing, stale, truncated or edited."""


class PageError(TclabError):
    """A page refers to something that does not exist."""


class UnsupportedTorch(TclabError):
    """tclab does not support this PyTorch or Triton, or a private name of theirs has moved."""


class CaptureError(TclabError):
    """A capture cannot return what was requested."""


class NoGradient(CaptureError):
    """A backward was requested, but no output requires grad."""


class NothingCompiled(CaptureError):
    """A switch keeps torch.compile from compiling, so that there is nothing to capture."""


class ExplainError(TclabError):
    """The function to explain cannot be loaded, called or compiled."""


class BadRequest(ExplainError):
    """A command line is wrong, or names something that does not exist."""


class LabError(TclabError):
    """A lab cannot be read, or an answer to it cannot be checked."""
