"""One tree of errors. Each says the place, the cause and the next step."""

from __future__ import annotations


class TclabError(Exception):
    """`place` is ``file:line`` or a name; `cause` what is wrong; `next_step` what to do."""

    def __init__(self, place: str, cause: str, next_step: str = "") -> None:
        self.place, self.cause, self.next_step = place, cause, next_step
        super().__init__(place, cause, next_step)

    def __str__(self) -> str:
        text = f"{self.place}: {self.cause}"
        return f"{text}\n  next: {self.next_step}" if self.next_step else text


class SnippetError(TclabError):
    """A snippet file that cannot be read: bad header, no docstring, unknown name."""


class RunFailed(TclabError):
    """A snippet that ran and failed, or had no fresh run to show."""


class StoreError(TclabError):
    """The store cannot be read or written."""


class RecordingError(StoreError):
    """A recording that is missing, stale, truncated or edited."""


class PageError(TclabError):
    """A page that asks for something that is not there."""


class UnsupportedTorch(TclabError):
    """A PyTorch (or Triton) this version of tclab does not know, or that moved a private name."""


class CaptureError(TclabError):
    """A capture that cannot give what was asked, with the reason."""


class NoGradient(CaptureError):
    """A backward was asked for, and nothing that was returned requires grad."""


class ExplainError(TclabError):
    """What was to be explained cannot be loaded, called or compiled."""


class BadRequest(ExplainError):
    """A command line that names what is not there, or says it wrongly."""


class LabError(TclabError):
    """A lab that cannot be read, or an answer to it that cannot be checked."""
