"""Find and run claims: asserts with a name, to which a page's sentences can be bound.

A comment right above an assert names it; the file stays plain Python:

    # claim: nothing-happens-before-the-first-call
    assert graphs == 0
    # claim: the-price-fell, torch >= 2.13
    assert after < before

A claim holds if its test was true each time when the run reached the claim. So the run counts how
often each claim was reached and how often it passed. A claim does not pass if its test raises, even
if the file catches the error. It also does not pass if the test has a value that is always true,
such as a function. To count, the engine puts each claim into a ``with`` block, which changes
neither line numbers nor the functions of the file. A version clause says for which PyTorch versions
a claim is made; under other versions it need not be reached. Claims are statements of the module,
or of an if, for, while, with or try there: inside a function Dynamo might trace them, which would
change the results.
"""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from types import CodeType, TracebackType
from typing import TypeVar

from tclab.errors import SnippetError
from tclab.model import Claim, Clause, Version, source_lines
from tclab.site.snippets.quantifiers import (
    REGISTER,
    QuantifierCounter,
    Tally,
    register_call,
)
from tclab.site.snippets.tautology import describe_always_true, fold_truth

Value = TypeVar("Value")

_COMMENT = re.compile(r"^\s*#\s*claim:(?P<text>.*)$")
_NAME = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def find(tree: ast.Module, source: str, place: str) -> tuple[Claim, ...]:
    """Find the claims of a file, in order. Raises SnippetError, which names the line, for a
    malformed claim.
    """
    if REGISTER in source:
        at = source[: source.index(REGISTER)].count("\n") + 1
        cause = f"the file names {REGISTER}, in which the engine notes what held"
        raise SnippetError(f"{place}:{at}", cause, "leave the name out")
    asserts = {node.lineno: node for node in _module_asserts(tree)}
    claims: dict[str, Claim] = {}
    for number, line in enumerate(source_lines(source), 1):
        if match := _COMMENT.match(line):
            claim = _parse_claim(match["text"], asserts.get(number + 1), f"{place}:{number}")
            if claim.name in claims:
                first = claims[claim.name].line
                cause = f"the claim {claim.name} was made before, on line {first}"
                raise SnippetError(f"{place}:{number}", cause, "give each claim its own name")
            claims[claim.name] = claim
    return tuple(claims.values())


def _parse_claim(text: str, node: ast.Assert | None, place: str) -> Claim:
    name, _, clause = (part.strip() for part in text.partition(","))
    if not _NAME.fullmatch(name):
        step = "write it as: # claim: small-words-with-hyphens"
        raise SnippetError(place, f"{name!r} is no name for a claim", step)
    if node is None:
        cause = f"below the claim {name} stands no assert of the module itself"
        raise SnippetError(place, cause, "put the comment right above an assert, in no function")
    if fold_truth(node.test):
        cause = f"the claim {name} cannot fail: {ast.unparse(node.test)} is true without a run"
        raise SnippetError(place, cause, "assert what the run showed: its values, its counts")
    try:
        return Claim(name, node.lineno, ast.unparse(node), only=Clause.parse(clause))
    except ValueError as error:
        step = "write it as: # claim: name, torch >= 2.13"
        raise SnippetError(place, str(error), step) from None


def _module_asserts(tree: ast.AST) -> Iterator[ast.Assert]:
    """Yield the asserts of the module itself: at its top level or in blocks, but not in
    functions.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Assert):
            yield node
        elif not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield from _module_asserts(node)


# --------------------------------------------------------------------------- running


class ClaimRegister:
    """A counter of how often each claim is reached and passed. It also keeps the reason why a claim
    is broken.

    In a process that the file forks, claims are plain asserts, because the counts of that process
    are lost.
    """

    def __init__(self) -> None:
        self.reached: Counter[str] = Counter()
        self.passed: Counter[str] = Counter()
        self.broken: dict[str, str] = {}
        self.process = os.getpid()
        self._tally = Tally()

    def __call__(self, name: str) -> _ClaimBlock:
        """Count that a claim is reached; return the context manager for its assert."""
        self.reached[name] += 1
        self._tally = Tally()
        return _ClaimBlock(self, name)

    def value(self, name: str, value: Value) -> Value:
        """Return the value of a claim's test. A value that is always true breaks the claim."""
        tally = self._tally
        if why := (
            describe_always_true(value) or tally.describe_item() or tally.describe_comparison()
        ):
            self.break_claim(name, f"its test is {why}")
        elif what := tally.describe_nothing():
            self.break_claim(name, f"its test is true of nothing: {what}")
        return value

    def count_items(
        self, part_number: int, name: str, function: object, items: Iterable[Value]
    ) -> Iterable[Value]:
        """Count the items of an ``all``, ``any``, ``min`` or ``max`` in a claim's test."""
        return self._tally.count_items(part_number, name, function, items)

    def count_set(self, part_number: int, smaller_set: Value) -> Value:
        """Count the items of a set that a claim's test compares with a larger one."""
        return self._tally.count_set(part_number, smaller_set)

    def count_elements(self, part_number: int, name: str, value: Value) -> Value:
        """Count the elements of a tensor that a claim's test looks at."""
        return self._tally.count_elements(part_number, name, value)

    def note_side(self, part_number: int, equal: bool, value: Value) -> Value:
        """Note a side of a ``==``, or of a ``!=``, in a claim's test."""
        return self._tally.note_side(part_number, equal, value)

    def note_operand(self, truth: bool, value: Value) -> Value:
        """Note an operand of a comparison, of ``not`` or of a call in a claim's test."""
        return self._tally.note_operand(truth, value)

    def break_claim(self, name: str, reason: str) -> None:
        """Mark a claim as broken for the rest of the run. The first reason is kept."""
        self.broken.setdefault(name, reason)


class _ClaimBlock:
    """The block around a claim's assert. The block records a broken claim and lets the file
    continue, so that a run reports all broken claims.
    """

    def __init__(self, register: ClaimRegister, name: str) -> None:
        self.register, self.name = register, name

    def __enter__(self) -> None:
        """Do nothing before the assert."""

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        _: TracebackType | None,
    ) -> bool:
        if os.getpid() != self.register.process:
            return False
        if error is None:
            self.register.passed[self.name] += 1
            return False
        false = isinstance(error, AssertionError)
        self.register.break_claim(self.name, _explain_break(error, false=false))
        return false


def _explain_break(error: BaseException, *, false: bool) -> str:
    """Return why the claim is broken; `false` says that its test was false. The error's own
    ``__str__`` may raise another error.
    """
    try:
        text = str(error)
    except Exception as another:
        text = f"(its __str__ raised {type(another).__name__})"
    return text if false else f"its test raised {type(error).__name__}{text and f': {text}'}"


def insert_claim_blocks(tree: ast.Module, claims: tuple[Claim, ...]) -> None:
    """Put each claim's assert in `tree` into a `with` block of the register, in place."""
    _BlockInserter({claim.line: claim.name for claim in claims}).visit(tree)
    ast.fix_missing_locations(tree)


def compile_tree(tree: ast.Module, file: str) -> CodeType:
    """Compile a file's syntax tree, and keep its asserts even under ``python -O``."""
    return compile(tree, file, "exec", dont_inherit=True, optimize=0)


def judge(
    claims: Iterable[Claim],
    reached: Mapping[str, int],
    passed: Mapping[str, int],
    broken: Mapping[str, str],
) -> tuple[Claim, ...]:
    """Add a register's counts and reasons to the claims of a file.

    A claim holds if it was reached, passed each time, and is not broken.
    """
    return tuple(
        replace(
            claim,
            reached=reached.get(claim.name, 0),
            broken=broken.get(claim.name, ""),
            held=0 < reached.get(claim.name, 0) == passed.get(claim.name, 0)
            and claim.name not in broken,
        )
        for claim in claims
    )


def false_claims(claims: Iterable[Claim], version: Version) -> list[Claim]:
    """Return the claims for this version of PyTorch that were reached and did not hold."""
    return [c for c in claims if c.reached and not c.held and c.only.holds(version)]


class _BlockInserter(ast.NodeTransformer):
    """A transformer that puts the assert of each claim into a block of the register. It finds the
    assert by its line.
    """

    def __init__(self, names: dict[int, str]) -> None:
        self.names = names

    def visit_Assert(self, node: ast.Assert) -> ast.stmt:
        name = self.names.get(node.lineno)
        if name is None:
            return node
        counter = QuantifierCounter()
        counter.wrap_comparisons(node.test)
        test = counter.visit(node.test)
        node.test = register_call("value", test, ast.Constant(name), test)
        call = ast.Call(ast.Name(REGISTER, ast.Load()), [ast.Constant(name)], [])
        block = ast.With([ast.withitem(call)], [node])
        for new in ast.walk(block):
            if not hasattr(new, "lineno"):
                ast.copy_location(new, node)
        return block
