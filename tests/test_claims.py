"""Claims: which asserts are named, what a run notes of them, what cannot be one."""

from __future__ import annotations

import ast

import pytest

from tclab import claims
from tclab.errors import SnippetError
from tclab.model import Claim, Clause, Version, decode, encode_object

SOURCE = """\
n = 1
# claim: one
assert n == 1
for i in range(3):
    # claim: small, torch >= 2.13
    assert i < 2, f"{i} is too big"
if n == 2:
    # claim: unreached
    assert n
assert n  # no claim
last = "reached"
"""


def ran(source: str) -> tuple[dict[str, Claim], dict[str, object]]:
    """The claims of a file that ran, by name, and its globals."""
    tree = ast.parse(source, "x.py")
    named = claims.find(tree, source, "x.py")
    claims.register_in(tree, named)
    register = claims.Register()
    namespace: dict[str, object] = {claims.REGISTER: register}
    exec(compile(tree, "x.py", "exec"), namespace)
    judged = claims.judged(named, register.reached, register.broken)
    return {claim.name: claim for claim in judged}, namespace


def test_names_lines_and_clauses_are_read() -> None:
    found = claims.find(ast.parse(SOURCE), SOURCE, "x.py")
    assert [(c.name, c.line, str(c.only)) for c in found] == [
        ("one", 3, ""), ("small", 6, "torch >= 2.13"), ("unreached", 9, ""),
    ]  # fmt: skip
    assert found[0].code == "assert n == 1"


def test_a_run_notes_what_was_reached_and_what_held() -> None:
    noted, namespace = ran(SOURCE)
    assert [(c.reached, c.held) for c in noted.values()] == [(1, True), (3, False), (0, False)]
    assert noted["small"].broken == "2 is too big"
    assert namespace["last"] == "reached"


def test_only_an_assertion_is_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        ran("# claim: divides\nassert 1 / 0\n")


def test_an_assert_without_a_name_ends_the_file() -> None:
    with pytest.raises(AssertionError):
        ran("assert 1 == 2\n")


def test_lines_of_the_file_stay(tmp_path) -> None:
    source = "# claim: a\nassert __name__\ndef f():\n    return 1 / 0\nf()\n"
    with pytest.raises(ZeroDivisionError) as error:
        ran(source)
    assert error.traceback[-1].lineno + 1 == 4


@pytest.mark.parametrize(
    "test",
    ["True", "1", "'text'", "...", "(x, 'message')", "(x == 1, 'message')", "[x]", "{1: x}",
     "x or True", "True or x", "x or (y or 1)", "not False", "not (x and 0)", "not ()", "1 == 1",
     "1 + 1 == 2", "1 < 2 < 3", "2 in (1, 2)", "None is None", "f'{x} is'", "lambda: x",
     "(i for i in x)", "(y := 3)", "x if True and 0 else 1", "1 if x else 2", "-1", "-0.5",
     "not x or True"],
)  # fmt: skip
def test_a_claim_that_cannot_fail_is_refused_with_its_line(test: str) -> None:
    source = f"x = 1\n# claim: vacuous\nassert {test}\n"
    with pytest.raises(SnippetError, match="the claim vacuous cannot fail") as error:
        claims.find(ast.parse(source), source, "snippets/t/x.py")
    assert str(error.value).startswith("snippets/t/x.py:2: ")
    assert "next: assert what the run showed" in str(error.value)


@pytest.mark.parametrize(
    "test",
    ["x", "x == x", "x and True", "x or 0", "False", "2 == 3", "1 + 1 == 3", "()", "[*x]", "{**x}",
     "f'{x}'", "1 if x else 0", "x < 1 < 2", "[i for i in x]", "1 < 'a'", "x == (1, 2)", "'a' in x",
     "not x", "2 ** 99 == 1", "'a' * 10**12 == x", "all([1])", "'%d' % 3 == '3'"],
)  # fmt: skip
def test_a_claim_that_can_fail_is_one(test: str) -> None:
    source = f"# claim: open\nassert {test}\n"
    assert [claim.name for claim in claims.find(ast.parse(source), source, "x.py")] == ["open"]


@pytest.mark.parametrize("character", ["\f", "\x0b", "\x1c", "\x1e", "\x85", "\u2028", "\u2029"])
def test_lines_are_counted_as_python_counts_them(character: str) -> None:
    source = f"s = 'a{character}b'\n\f\n# claim: below\nassert s\n"
    assert [claim.line for claim in claims.find(ast.parse(source), source, "x.py")] == [4]


@pytest.mark.parametrize(
    ("torch", "only", "made"),
    [
        ("2.13.0+cpu", "", True), ("2.13.0", "torch >= 2.13", True),
        ("2.9.1", "torch >= 2.13", False),
        ("2.12.0", "torch < 2.12", False), ("2.12.1", "torch == 2.12", True),
        ("2.14.0", "torch >= 2.12, torch < 2.14", False),
    ],
)  # fmt: skip
def test_versions_are_compared_as_numbers(torch: str, only: str, made: bool) -> None:
    assert Claim("a", 1, "", Clause.of(only)).only.holds(Version.of(torch)) is made


def test_a_version_is_read_from_what_pytorch_says_of_itself() -> None:
    texts = ["", "2.9.1", "2.13", "2.13.1+cu130", "2.15.0.dev20261101+cpu", "2.15.1a0+git1f2e"]
    versions = [Version.of(text) for text in texts]
    assert versions == sorted(versions)
    assert [v.public for v in versions] == [text.partition("+")[0] for text in texts]
    assert [v.short for v in versions] == ["", "2.9", "2.13", "2.13", "2.15", "2.15"]
    assert Version.of("2.13.0+cpu") == Version.of("2.13") == Version(2, 13)


def test_a_clause_is_stored_as_it_is_written() -> None:
    claim = Claim("a", 1, "assert x", Clause.of("torch >= 2.12,torch<2.14"))
    data = encode_object(claim)
    assert data["only"] == "torch >= 2.12, torch < 2.14"
    assert decode(data) == claim
    with pytest.raises(ValueError, match="cannot read the clause 'python > 3'"):
        decode(data | {"only": "torch >= 2.12, python > 3"})


@pytest.mark.parametrize(
    ("source", "line", "cause"),
    [
        ("# claim: a\nassert x\n# claim: a\nassert x\n", 3, "made before, on line 2"),
        ("# claim: a\nx = 1\n", 1, "no assert of the module"),
        ("def f():\n    # claim: a\n    assert x\n", 2, "no assert of the module"),
        ("# claim: Not A Name\nassert x\n", 1, "no name for a claim"),
        ("# claim: a, python > 3\nassert x\n", 1, "cannot read the clause"),
        ("# claim: a\n\nassert x\n", 1, "no assert of the module"),
    ],
)
def test_what_cannot_be_a_claim_is_said_with_its_line(source: str, line: int, cause: str) -> None:
    with pytest.raises(SnippetError, match=cause) as error:
        claims.find(ast.parse(source), source, "snippets/t/x.py")
    assert str(error.value).startswith(f"snippets/t/x.py:{line}: ")
    assert "next: " in str(error.value)
