"""Parse the executable fences of a page: the functions that they call, and the arguments.

A block imports functions from `tclab.site.pages` and calls them with literals. So a block is parsed
once, without being run, and all code that needs a page's content uses the parsed calls.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tclab.errors import PageError
from tclab.site.pages.prose.fences import Fence
from tclab.site.pages.prose.markdown import MarkdownText


@dataclass(frozen=True)
class Function:
    """A function that blocks call: its name, its parameters, and its kind of output.

    `output` names the part of the snippet's runs that the function shows. `artifact_parameter` is
    the parameter with the artifacts' names. If `is_evidence` is true, a sentence right before or
    after a call of the function counts as shown. If `uses_other_pages` is true, the function shows
    content of other pages.
    """

    name: str
    parameters: tuple[str, ...] = ()
    output: Literal["", "stdout", "artifacts", "everything"] = ""
    artifact_parameter: str = ""
    is_evidence: bool = False
    uses_other_pages: bool = False
    lists_code: bool = False
    has_caption: bool = False

    @property
    def takes_snippet(self) -> bool:
        """Whether the function's first parameter is the name of a snippet."""
        return self.parameters[:1] == (_NAME,)


#: The parameter that takes a snippet's name.
_NAME = "name"

_ALL_FUNCTIONS = (
    Function("snippet", (_NAME, "fold", "focus", "caption", "opened", "closed"), "everything",
             is_evidence=True, lists_code=True, has_caption=True),
    Function("code", (_NAME, "lines", "fold", "focus"), lists_code=True),
    Function("show", (_NAME, "artifact", "fold", "as_"), "artifacts", "artifact", is_evidence=True),
    Function("stdout", (_NAME, "fold"), "stdout", is_evidence=True),
    Function("entries", (_NAME, "table", "versions", "fixed_breaks"), "artifacts", "table",
             is_evidence=True, uses_other_pages=True),
    Function("calls", (_NAME, "table"), "artifacts", "table"),
    Function("verdicts", (_NAME,), "artifacts", is_evidence=True),
    Function("instructions", ("stage",), uses_other_pages=True),
    Function("versions"),
    Function("overview", uses_other_pages=True),
    Function("beliefs", uses_other_pages=True),
)  # fmt: skip

#: The functions of `tclab.site.pages`, which a block may call, by name.
FUNCTIONS = {function.name: function for function in _ALL_FUNCTIONS}


@dataclass(frozen=True)
class Call:
    """One call in a block, at `line` of `page`, a path relative to the project's root.

    `snippet` is the name of the snippet, '' if the function takes none; `options` maps the other
    parameters to their arguments.
    """

    page: str
    line: int
    function: str
    snippet: str
    options: Mapping[str, object]

    @property
    def kind(self) -> Function:
        """The definition of the called function."""
        return FUNCTIONS[self.function]

    @property
    def lists_code(self) -> bool:
        """Whether the call puts the snippet's source on the page."""
        return self.kind.lists_code

    @property
    def artifact_names(self) -> list[str] | None:
        """The names of the artifacts that the call shows; None means all."""
        names = self.options.get(self.kind.artifact_parameter)
        if isinstance(names, str):
            return [names]
        return [str(name) for name in names] if isinstance(names, (list, tuple)) else None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@dataclass(frozen=True)
class Block:
    """An executable fence from `line` to `end`: its text and its calls in order.

    `heading` is the heading above it; '' unless it is the first fence below that heading.
    """

    page: str
    line: int
    end: int
    code: str
    heading: str
    calls: tuple[Call, ...]

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def read_blocks(text: MarkdownText) -> Iterator[Block]:
    """Yield the blocks of a page in order. Raises PageError, which names the line, for an invalid
    block.
    """
    for fence in text.fences:
        if fence.is_executed:
            calls = tuple(_read_calls(fence, text.page))
            heading = _find_heading(text, fence)
            yield Block(text.page, fence.line, fence.end, fence.code, heading, calls)


def _find_heading(text: MarkdownText, fence: Fence) -> str:
    before = max((other.end for other in text.fences if other.end < fence.line), default=0)
    between = [heading.words for heading in text.headings if before < heading.line < fence.line]
    return between[-1] if between else ""


# --------------------------------------------------------------------------- reading a fence

_USE_A_SNIPPET = "put the code into a snippet, and show that"


def _read_calls(fence: Fence, page: str) -> Iterator[Call]:
    """Yield the calls of a fence. Raises PageError for a statement other than an import or a
    call.
    """
    known_names: set[str] = set()
    statements = _parse_statements(fence, page)
    for node in statements:
        place = f"{page}:{fence.line + node.lineno}"
        if isinstance(node, ast.ImportFrom):
            known_names |= _imported_names(node, place)
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
            yield _read_call(node.value, known_names, page, fence.line + node.lineno)
        else:
            cause = (
                "a block imports from tclab.site.pages and calls what it imports; this is neither"
            )
            raise PageError(place, cause, _USE_A_SNIPPET)
    if not any(isinstance(node, ast.Expr) for node in statements):
        cause = "the block puts nothing on the page"
        raise PageError(f"{page}:{fence.line}", cause, "show something, or take the block out")


def _parse_statements(fence: Fence, page: str) -> Sequence[ast.stmt]:
    """Parse the statements of a fence. Raises PageError if the fence is not Python or lacks
    ``html="1"``.
    """
    place = f"{page}:{fence.line}"
    if fence.language not in ("python", "py"):
        cause = f"an executable fence must be python, not {fence.language or 'nameless'}"
        raise PageError(place, cause, _USE_A_SNIPPET)
    if not fence.is_on("html"):
        cause = 'an executable fence without html="1": its output would be read as Markdown'
        raise PageError(place, cause, 'write it as: python exec="1" html="1"')
    try:
        return ast.parse(fence.code).body
    except SyntaxError as error:
        place = f"{page}:{fence.line + (error.lineno or 1)}"
        raise PageError(place, f"SyntaxError: {error.msg}", "correct the block") from None
    except ValueError as error:  # the text has a null byte
        raise PageError(place, str(error), "correct the block") from None


def _imported_names(node: ast.ImportFrom, place: str) -> set[str]:
    names = {alias.name for alias in node.names}
    unknown = sorted(names - FUNCTIONS.keys())
    renamed = node.level or any(alias.asname for alias in node.names)
    if (node.module or "").split(".") != ["tclab", "site", "pages"] or renamed:
        step = "write: from tclab.site.pages import snippet"
        raise PageError(place, "a block imports from tclab.site.pages alone", step)
    if unknown:
        step = f"it has: {', '.join(FUNCTIONS)}"
        raise PageError(place, f"tclab.site.pages has no {unknown[0]!r} for blocks", step)
    return names


def _read_call(node: ast.Call, known_names: set[str], page: str, line: int) -> Call:
    place = f"{page}:{line}"
    name = node.func.id if isinstance(node.func, ast.Name) else ast.unparse(node.func)
    if name not in known_names:
        step = (
            f"write: from tclab.site.pages import {name}" if name in FUNCTIONS else _USE_A_SNIPPET
        )
        raise PageError(place, f"the block has not imported {name}() from tclab.site.pages", step)
    function = FUNCTIONS[name]
    options = {
        key: _read_literal(value, place) for key, value in _read_arguments(node, function, place)
    }
    return Call(page, line, name, _take_snippet_name(options, function, place), options)


def _read_arguments(
    node: ast.Call, function: Function, place: str
) -> Iterator[tuple[str, ast.expr]]:
    """Yield (parameter, value) for each argument. Raises PageError if they do not fit the
    function.
    """
    keywords = [(each.arg or "**", each.value) for each in node.keywords]
    arguments = [*zip(function.parameters, node.args), *keywords]
    unknown = [key for key, _ in keywords if key not in function.parameters]
    too_many = len(node.args) > len(function.parameters)
    if unknown or too_many or len(dict(arguments)) < len(arguments):
        parameters = ", ".join(function.parameters) or "nothing"
        cause = f"{function.name}() does not take {unknown[0] if unknown else 'these arguments'}"
        raise PageError(place, cause, f"it takes: {parameters}; each once")
    yield from arguments


def _read_literal(node: ast.expr, place: str) -> object:
    try:
        value: object = ast.literal_eval(node)
    except (ValueError, TypeError):
        cause = f"{ast.unparse(node)} is no literal: a block is read without being run"
        raise PageError(place, cause, "write the value itself, such as 'topic/snippet'") from None
    return value


def _take_snippet_name(options: dict[str, object], function: Function, place: str) -> str:
    """Remove the snippet's name from the options, and return it; '' for a function that takes
    none.
    """
    if not function.takes_snippet:
        return ""
    name = options.pop(_NAME, None)
    if isinstance(name, str):
        return name
    step = f'write {function.name}("topic/what_it_shows")'
    raise PageError(place, f"{function.name}() needs a snippet's name", step)
