"""Run the blocks of pages: make the calls of each fence that markdown-exec passes on.

markdown-exec itself would publish the traceback of a failing block and let the build succeed. Here
each failure becomes a PageError with the line of the call. The build collects these errors, and the
hooks fail the build with all of them.
"""

from __future__ import annotations

from typing import Any

import markdown_exec

from tclab.errors import PageError, TclabError
from tclab.site import pages
from tclab.site.pages import rendering, state
from tclab.site.pages.prose.blocks import Block, Call
from tclab.site.pages.prose.text import PageText
from tclab.site.pages.rendering import Page, RunningBlock


def install() -> None:
    """Make markdown-exec run Python fences through this module."""
    for language in ("python", "py"):
        markdown_exec.formatters[language] = _format


def begin_page(text: PageText, url: str) -> None:
    """Set the page whose fences markdown-exec passes on from now on."""
    build = state.build()
    build.current_page = build.page(text.page, url)
    build.current_page.waiting_blocks = list(text.blocks)


def _format(**kwargs: Any) -> Any:
    return markdown_exec.base_format(language="python", run=_run, **kwargs)


def _run(code: str, **_: Any) -> str:
    build = state.build()
    try:
        return execute_block(build.current_page.next_block(code), build.current_page)
    except TclabError as error:
        build.failures.append(error)
        return "<!-- this block failed; the build ends with its error -->"


def execute_block(block: Block, page: Page) -> str:
    """Make the calls of a block and return their HTML. Raises PageError with the line of the
    failing call.
    """
    html = "".join(
        _call_output(call, RunningBlock(page, str(call), block.heading)) for call in block.calls
    )
    if not html.strip():
        step = "show something, or take the block out"
        raise PageError(str(block), "the block puts nothing on the page", step)
    return html


def _call_output(call: Call, running: RunningBlock) -> str:
    function = getattr(pages, call.function)
    arguments = [call.snippet] if call.snippet else []
    try:
        with rendering.make_current(running):
            return f"{function(*arguments, **call.options)}\n"
    except TclabError as error:
        raise _add_place(error, call) from error
    except Exception as error:
        cause = f"{type(error).__name__}: {error}"
        raise PageError(str(call), cause, f"correct the arguments of {call.function}()") from error


def _add_place(error: TclabError, call: Call) -> TclabError:
    """Return the error with a place on the page: the error itself if it has one, else a new error
    at the call.
    """
    if error.place.startswith(f"{call.page}:"):
        return error
    return PageError(str(call), f"{error.place}: {error.cause}", error.next_step)
