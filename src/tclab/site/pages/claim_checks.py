"""Check that a run proves the claim of a bound sentence, and make the error for a claim that it
does not prove.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tclab.errors import PageError, SnippetError
from tclab.model import Claim, Run, Snippet, Version
from tclab.render.stamp import device_name
from tclab.site.pages.prose.sentences import Sentence

#: Longer sentences are cut in a message.
_LONGEST = 120


def check_claim(
    sentence: Sentence, snippet: Snippet, claim: Claim, run: Run
) -> Iterator[PageError]:
    """Yield an error if this run does not prove the sentence's claim."""
    if cause := failure_reason(claim, run):
        cause = f"{_shorten_sentence(sentence)} is not proven: {snippet.file}:{claim.line}: {cause}"
        yield PageError(str(sentence), cause, "correct the sentence, or the snippet")


def unknown_claim(sentence: Sentence, snippet: Snippet, name: str) -> PageError:
    """Return the error for a sentence bound to a claim that its snippet does not have."""
    names = ", ".join(claim.name for claim in snippet.claims)
    known = f"it makes: {names}" if names else "it makes none"
    step = f"name the assert in {snippet.file} (# claim: {name}); {known}"
    return PageError(str(sentence), f"{_shorten_sentence(sentence)}: no claim {name!r}", step)


def about_other_versions(
    sentence: Sentence, snippet: Snippet, claim: Claim, compared: Sequence[Version]
) -> PageError:
    """Return the error of a sentence whose claim is about neither version of its page."""
    page = " and ".join(version.short for version in compared)
    cause = (
        f"{_shorten_sentence(sentence)}: {snippet.file}:{claim.line} is about {claim.only}, "
        f"the page about {page}"
    )
    return PageError(str(sentence), cause, "say it on another page, or correct compares:")


def unreadable_snippet(sentence: Sentence, error: SnippetError) -> PageError:
    """Return the error of a sentence whose snippet cannot be read."""
    cause = f"{_shorten_sentence(sentence)} is not proven: {error.place}: {error.cause}"
    return PageError(str(sentence), cause, error.next_step)


def failure_reason(claim: Claim, run: Run) -> str:
    """Return why a run does not prove a claim; '' if it does, or if the claim is for other
    versions.
    """
    where = f"on {origin(run)}"
    if not claim.only.holds(run.provenance.version):
        return ""
    result = run.claim(claim.name)
    if result is None:
        step = f"tclab record {run.environment} {run.snippet}"
        return f"{claim.name} was not there yet when {run.environment} was recorded: {step}"
    if not result.reached:
        return f"{claim.name} was not reached {where}"
    if result.held and not result.broken:
        return ""
    return f"{claim.name} does not hold {where}: {result.broken or result.code}"


def origin(run: Run) -> str:
    """Return the run's versions and devices, such as ``PyTorch 2.13.0, CPU``.

    ``rows recorded on PyTorch …`` if the run read rows that another machine recorded.
    """
    places = (f"PyTorch {s.version.public}, {device_name(s)}" for s in run.figure_sources)
    recorded = "rows recorded on " if run.sources else ""
    return recorded + " and ".join(dict.fromkeys(places))


def _shorten_sentence(sentence: Sentence) -> str:
    text = " ".join(sentence.text.split())
    return f"“{text[: _LONGEST - 3]}…”" if len(text) > _LONGEST else f"“{text}”"
