"""Whether a run carries a sentence that is bound to a claim, and the error where it does not."""

from __future__ import annotations

from collections.abc import Iterator

from tclab.errors import PageError
from tclab.model import Claim, Run, Snippet
from tclab.page.prose.sentences import Sentence
from tclab.render.stamp import device_name

#: Longer sentences are cut in a message.
_LONGEST = 120


def problems(sentence: Sentence, snippet: Snippet, claim: Claim, run: Run) -> Iterator[PageError]:
    """The error of a sentence whose claim this run does not carry; none where it does."""
    if cause := untrue(claim, run):
        cause = f"{_quoted(sentence)} is not proven: {snippet.file}:{claim.line}: {cause}"
        yield PageError(str(sentence), cause, "correct the sentence, or the snippet")


def no_claim(sentence: Sentence, snippet: Snippet, name: str) -> PageError:
    """The error of a sentence bound to a claim that its snippet does not make."""
    names = ", ".join(claim.name for claim in snippet.claims)
    known = f"it makes: {names}" if names else "it makes none"
    step = f"name the assert in {snippet.file} (# claim: {name}); {known}"
    return PageError(str(sentence), f"{_quoted(sentence)}: no claim {name!r}", step)


def untrue(claim: Claim, run: Run) -> str:
    """Why a run does not carry a claim of its snippet; '' where it does, or need not."""
    where = f"on {made_on(run)}"
    if not claim.only.holds(run.provenance.version):
        return ""
    noted = run.claim(claim.name)
    if noted is None:
        step = f"tclab record {run.environment} {run.snippet}"
        return f"{claim.name} was not there yet when {run.environment} was recorded: {step}"
    if not noted.reached:
        return f"{claim.name} was not reached {where}"
    return "" if noted.held else f"{claim.name} does not hold {where}: {noted.broken or noted.code}"


def made_on(run: Run) -> str:
    """``PyTorch 2.13.0, CPU``; where the run read a recording, ``rows recorded on PyTorch …``."""
    places = (f"PyTorch {s.version.public}, {device_name(s)}" for s in run.measured)
    recorded = "rows recorded on " if run.sources else ""
    return recorded + " and ".join(dict.fromkeys(places))


def _quoted(sentence: Sentence) -> str:
    text = " ".join(sentence.text.split())
    return f"“{text[: _LONGEST - 3]}…”" if len(text) > _LONGEST else f"“{text}”"
