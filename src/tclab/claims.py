"""Claims: asserts with a name, so that a sentence can say which of them proves it.

A comment right above an assert names it; anything else about the file stays plain Python:

    # claim: nothing-happens-before-the-first-call
    assert graphs == 0
    # claim: the-price-fell, torch >= 2.13
    assert after < before

An assert that is never reached proves nothing, so the run notes which were reached and which
held. For that, each stands in a ``with`` block when the engine runs the file; line numbers and
the functions of the file stay as they are. A clause on versions says where a claim is made;
elsewhere it may go unreached. Claims are statements of the module, or of an if, for, while,
with or try there: inside a function they might be traced by Dynamo, and change what is shown.
"""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import CodeType, TracebackType

from tclab.errors import SnippetError
from tclab.model import Claim, Clause, Version, source_lines
from tclab.tautology import truth

#: The name under which the engine's `Register` stands in the file's globals.
REGISTER = "__tclab_claim__"

_COMMENT = re.compile(r"^\s*#\s*claim:(?P<text>.*)$")
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def find(tree: ast.Module, source: str, place: str) -> tuple[Claim, ...]:
    """The claims of a file, in order. SnippetError, with the line, for one that cannot be."""
    asserts = {node.lineno: node for node in _statements(tree)}
    claims: dict[str, Claim] = {}
    for number, line in enumerate(source_lines(source), 1):
        if match := _COMMENT.match(line):
            claim = _claim(match["text"], asserts.get(number + 1), f"{place}:{number}")
            if claim.name in claims:
                first = claims[claim.name].line
                cause = f"the claim {claim.name} was made before, on line {first}"
                raise SnippetError(f"{place}:{number}", cause, "give each claim its own name")
            claims[claim.name] = claim
    return tuple(claims.values())


def _claim(text: str, node: ast.Assert | None, place: str) -> Claim:
    name, _, clause = (part.strip() for part in text.partition(","))
    if not _NAME.fullmatch(name):
        step = "write it as: # claim: small-words-with-hyphens"
        raise SnippetError(place, f"{name!r} is no name for a claim", step)
    if node is None:
        cause = f"below the claim {name} stands no assert of the module itself"
        raise SnippetError(place, cause, "put the comment right above an assert, in no function")
    if truth(node.test):
        cause = f"the claim {name} cannot fail: {ast.unparse(node.test)} is true without a run"
        raise SnippetError(place, cause, "assert what the run showed: its values, its counts")
    try:
        return Claim(name, node.lineno, ast.unparse(node), only=Clause.of(clause))
    except ValueError as error:
        step = "write it as: # claim: name, torch >= 2.13"
        raise SnippetError(place, str(error), step) from None


def _statements(tree: ast.AST) -> Iterator[ast.Assert]:
    """The asserts that belong to the module itself, however deep in its blocks."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Assert):
            yield node
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from _statements(node)


# --------------------------------------------------------------------------- running


class Register:
    """Notes how often each claim was reached, and the message of those that did not hold.

    In a process that the file forks, which proves nothing of a run, they are plain asserts.
    """

    def __init__(self) -> None:
        self.reached: Counter[str] = Counter()
        self.broken: dict[str, str] = {}
        self.process = os.getpid()

    def __call__(self, name: str) -> _Reached:
        """What stands around the assert of this name."""
        self.reached[name] += 1
        return _Reached(self, name)


class _Reached:
    """A claim that does not hold is noted, and the file goes on: all false ones are heard of."""

    def __init__(self, register: Register, name: str) -> None:
        self.register, self.name = register, name

    def __enter__(self) -> None:
        """Nothing is to be done before the assert."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> bool:
        if isinstance(error, AssertionError) and os.getpid() == self.register.process:
            self.register.broken.setdefault(self.name, str(error))
            return True
        return False


def register_in(tree: ast.Module, claims: tuple[Claim, ...]) -> None:
    """Put each claim's assert into a block of the register; changes the file's syntax."""
    _Blocks({claim.line: claim.name for claim in claims}).visit(tree)
    ast.fix_missing_locations(tree)


def compiled(tree: ast.Module, file: str) -> CodeType:
    """The code of a file, its asserts included however this Python was started."""
    return compile(tree, file, "exec", dont_inherit=True, optimize=0)


def judged(
    claims: Iterable[Claim], reached: Mapping[str, int], broken: Mapping[str, str]
) -> tuple[Claim, ...]:
    """The claims of a file with what a register noted of them."""
    return tuple(
        replace(
            claim,
            reached=reached.get(claim.name, 0),
            broken=broken.get(claim.name, ""),
            held=claim.name in reached and claim.name not in broken,
        )
        for claim in claims
    )


def false(claims: Iterable[Claim], version: Version) -> list[Claim]:
    """Those made of this version of PyTorch that were reached and did not hold."""
    return [c for c in claims if c.reached and not c.held and c.only.holds(version)]


class _Blocks(ast.NodeTransformer):
    def __init__(self, names: dict[int, str]) -> None:
        self.names = names

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        name = self.names.get(node.lineno)
        if name is None:
            return node
        call = ast.Call(ast.Name(REGISTER, ast.Load()), [ast.Constant(name)], [])
        block = ast.With([ast.withitem(call)], [node])
        for new in ast.walk(block):
            if not hasattr(new, "lineno"):
                ast.copy_location(new, node)
        return block
