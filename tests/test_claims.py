"""Claims: which asserts are named, what a run notes of them, what cannot be one."""

from __future__ import annotations

import ast
import contextlib

import pytest

from tclab.errors import SnippetError
from tclab.model import Claim, Clause, Version, decode, encode_object
from tclab.site.snippets import claims, quantifiers

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
    """Return the claims of a file that ran, by name, and its globals."""
    tree = ast.parse(source, "x.py")
    named = claims.find(tree, source, "x.py")
    claims.insert_claim_blocks(tree, named)
    register = claims.ClaimRegister()
    namespace: dict[str, object] = {quantifiers.REGISTER: register}
    with contextlib.suppress(KeyError, SystemExit):  # as where the header declares them
        exec(compile(tree, "x.py", "exec"), namespace)
    judged = claims.judge(named, register.reached, register.passed, register.broken)
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


@pytest.mark.parametrize(("torch", "false"), [("2.13.0+cpu", ["small"]), ("2.12.1", [])])
def test_a_claim_is_false_where_it_is_made_and_was_reached(torch: str, false: list[str]) -> None:
    """What was not reached is no false claim: the page that rests on it says so itself."""
    noted, _ = ran(SOURCE)
    assert [c.name for c in claims.false_claims(noted.values(), Version.parse(torch))] == false


def test_only_an_assertion_is_swallowed() -> None:
    with pytest.raises(ZeroDivisionError):
        ran("# claim: divides\nassert 1 / 0\n")


CAUGHT = """\
try:
    # claim: it
    assert {test}
except {error}:
    pass
"""


@pytest.mark.parametrize(
    ("test", "error"),
    [
        ("{}['x']", "KeyError"),
        ("1 == 2, {}['x']", "KeyError"),
        ("not_there", "Exception"),
        ("exit(3)", "SystemExit"),
        ("exec('raise KeyboardInterrupt')", "BaseException"),
        ("next(iter(()))", "StopIteration"),
        ("exec('raise GeneratorExit')", "GeneratorExit"),
        ("exec('raise ExceptionGroup(str(), [ValueError()])')", "BaseException"),
        ("exec('class E(Exception):\\n def __str__(self): 1 / 0\\nraise E')", "BaseException"),
        ("type('Odd', (), {'__bool__': lambda self: 1 / 0})()", "ZeroDivisionError"),
        ("exec('raise AssertionError')", "AssertionError"),
    ],
)
def test_an_error_in_the_test_is_not_a_proof_though_it_is_caught(test: str, error: str) -> None:
    noted, _ = ran(CAUGHT.format(test=test, error=error))
    assert (noted["it"].reached, noted["it"].held) == (1, False)
    assert noted["it"].broken or error == "AssertionError"


@pytest.mark.parametrize(
    "source",
    [
        "import contextlib as c\nwith c.suppress(KeyError):\n    # claim: it\n    assert {}[1]\n",
        "for i in (1,):\n  try:\n    # claim: it\n    assert {}[1]\n  finally:\n    break\n",
        "for i in (1, 2):\n  try:\n    # claim: it\n    assert {1: 1}[i]\n  except KeyError: 0\n",
        "# claim: it\nassert {}[1]\n",
        "# claim: it\nassert exit()\n",
    ],
    ids=["suppress", "finally", "second-time", "declared", "exit-declared"],
)
def test_a_claim_holds_where_its_test_was_true_each_time_it_was_reached(source: str) -> None:
    assert not ran(source)[0]["it"].held


def test_a_claim_that_an_error_before_it_kept_from_running_was_not_reached() -> None:
    source = "try:\n    {}[1]\n    # claim: it\n    assert __name__\nexcept KeyError:\n    pass\n"
    assert not ran(source)[0]["it"].reached


#: Classes whose objects equal, hold and are whatever one asks.
MADE_UP = """
class Yes:
    def __eq__(self, other): return True
    def __ne__(self, other): return True
class Less:
    def __gt__(self, other): return True
class Bag:
    def __contains__(self, item): return True
class Meta(type):
    __instancecheck__ = lambda kind, other: True
class Kind(metaclass=Meta): pass
class Equal(type):
    __eq__ = lambda kind, other: True
class Three(metaclass=Equal): pass
class Number(int):
    __eq__ = lambda self, other: True
class True_:
    def __bool__(self): return True
class False_:
    def __len__(self): return 0
    def __bool__(self): return False
"""


@pytest.mark.parametrize(
    ("test", "said"),
    [
        ("check", "the function check, which"),
        ("__name__ and check", "the function check, which"),
        ("[].count", "the builtin_function_or_method count, which"),
        ("'x'.join([]).__len__", "the method-wrapper __len__, which"),
        ("gen()", "the generator gen, which"),
        ("Odd", "the type Odd, which"),
        ("Odd().way", "the method way, which"),
        ("pair", "a tuple of 2, which"),
        ("(known := check)", "the function check, which"),
        ("map(len, [])", "a map object, which"),
        ("ast", "the module ast, which"),
        ("(1).__eq__('1')", "NotImplemented, which"),
        ("all(x for x in [])", "all() had nothing to look at"),
        ("all([])", "all() had nothing to look at"),
        ("__name__ and all(x for x in range(9) if x > 9)", "all() had nothing to look at"),
        ("all(all(x) for x in ([], []))", "all() had nothing to look at"),
        ("not any(v for v in {})", "not any() had nothing to look at"),
        ("not any([])", "not any() had nothing to look at"),
        ("max((n for n in []), default=0) < 1", "max() had nothing to look at"),
        ("min([], default=9) > 1", "min() had nothing to look at"),
        ("set(pair[:0]) <= {1}", "the set before <= is empty"),
        ("{1: 2} and {1: 2}.keys() >= {*()}", "the set before <= is empty"),
        ("any([]) is False", "not any() had nothing to look at"),
        ("set(pair[:0]).issubset({1})", "the set before <= is empty"),
        ("any([check])", "the function check, which"),
        ("any((lambda: n == 9) for n in range(3))", "the function <lambda>, which"),
        ("any(n and check for n in range(3))", "the function check, which"),
        ("all([check, Odd().way])", "the method way, which"),
        ("all(zip([1], [2]))", "a tuple of 2, which"),
        ("again([]) == again([])", "a comparison of one object with itself"),
        ("all(a == b for a, b in [(some, some)])", "a comparison of one object with itself"),
        ("torch.equal(ones, ones.detach_() )", "of one object with itself"),
        ("(ones[5:] > 9).all()", "all() had nothing to look at"),
        ("torch.all(ones[5:] > 9)", "all() had nothing to look at"),
        ("torch.allclose(ones[5:], -ones[5:])", "allclose() had nothing to look at"),
        ("numpy.array_equal(numpy.ones(0), numpy.zeros(0))", "array_equal() had nothing to"),
        ("MagicMock().graphs != 3", "a comparison with a MagicMock"),
        ("len(some) == ANY", "a comparison with a _ANY"),
        ("len(pair) != '2'", "a comparison of int with str, which are never equal"),
        ("some != (1, 2)", "a comparison of list with tuple, which are never equal"),
        ("MagicMock()", "a MagicMock, which the file itself made up"),
        ("len(some) == Yes()", "a Yes, whose __eq__ the file itself made up"),
        ("Yes() != 3", "a Yes, whose __eq__ the file itself made up"),
        ("[1, Yes()] == [1, 3]", "a Yes, whose __eq__ the file itself made up"),
        ("{1: Yes()} == {1: 3}", "a Yes, whose __eq__ the file itself made up"),
        ("3 in (Yes(),)", "a Yes, whose __eq__ the file itself made up"),
        ("1 < 2 == Yes()", "a Yes, whose __eq__ the file itself made up"),
        ("(1 == 1) and 2 == Yes()", "a Yes, whose __eq__ the file itself made up"),
        ("operator.eq(3, Yes())", "a Yes, whose __eq__ the file itself made up"),
        ("3 < Less()", "a Less, whose __gt__ the file itself made up"),
        ("all(n < Less() for n in some)", "a Less, whose __gt__ the file itself made up"),
        ("3 in Bag()", "a Bag, whose __contains__ the file itself made up"),
        ("isinstance(3, Kind)", "a Meta, whose __instancecheck__ the file itself made up"),
        ("Three == 3", "an Equal, whose __eq__ the file itself made up"),
        ("Number(2) == 3", "a Number, whose __eq__ the file itself made up"),
        ("True_()", "a True_, whose __bool__ the file itself made up"),
        ("not False_()", "a False_, whose __bool__ the file itself made up"),
        ("bool(True_())", "a True_, whose __bool__ the file itself made up"),
        ("any([True_()])", "a True_, whose __bool__ the file itself made up"),
        ("False_() or True_()", "a True_, whose __bool__ the file itself made up"),
    ],
)
def test_what_is_true_whatever_a_run_does_is_refused_when_it_runs(test: str, said: str) -> None:
    functions = "def check(): return False\ndef gen(): yield\nclass Odd:\n  def way(self): 0\n"
    functions += MADE_UP
    imports = "import ast, numpy, operator, torch\nfrom unittest.mock import ANY, MagicMock\n"
    values = (
        "pair = (1 == 2, 'x')\nsome, ones = [1], torch.ones(1)\ndef again(x, kept=[]): return kept"
    )
    before = f"{imports}{functions}{values}\n"
    noted, namespace = ran(f"{before}# claim: it\nassert {test}\nlast = 1\n")
    assert not noted["it"].held
    assert said in noted["it"].broken and namespace["last"]


IMPORTS = "import collections, dataclasses, fractions, torch, types\n"


@pytest.mark.parametrize(
    ("value", "test"),
    [
        *((value, "it") for value in ("1", "'text'", "[0]", "{1: 2}", "object()", "all([])")),
        ("[1]", "all(it)"), ("[[], [1]]", "all(all(x) for x in it)"), ("[1]", "any(it)"),
        ("[0]", "not all(it)"), ("0", "not it or all([])"), ("all", "(all := len)([1])"),
        ("[1]", "any(it) or all(it)"), ("[]", "any(it) or __name__"), ("{2}", "it <= {1, 2}"),
        ("set()", "it < {1}"), ("[len, 1]", "all(it)"), ("0", "it <= 1"), ("[0, 0]", "not any(it)"),
        ("[(1,)]", "all(x and x for x in it)"),
        ("[1]", "it == [1]"), ("[1]", "it != [2]"), ("2", "it != 2.5"), ("None", "it != '2'"),
        ("['a', 1]", "all(each != 'b' for each in it)"), ("(1,)", "it == (same := it)"),
        ("[1]", "all(it == each for each in ([1], it))"),
        ("[1]", "[each for each in it if each != '']"),
        ("[[1]]", "sum(e == it[0] for e in it) == 1"),
        ("torch.ones(2)", "(it > 0).all()"),
        ("torch.ones(2)", "torch.equal(it, it.clone())"), ("torch.ones(0)", "not (it > 0).any()"),
        ("torch.full((1,), float('nan'))", "(it != it).all()"),
        ("dataclasses.make_dataclass('Pair', ['n'])(2)", "it == type(it)(2)"),
        ("types.SimpleNamespace(n=2)", "it == types.SimpleNamespace(n=2)"),
        ("collections.Counter('aa')", "it['a'] == 2 and it == {'a': 2}"),
        ("fractions.Fraction(1, 2)", "it == 0.5 and it < 1 and it"),
        ("lambda x: 1", "(all := it) and all([])"), ("range", "(it := it(3)) and len(it) == 3"),
    ],
)  # fmt: skip
def test_a_value_that_a_run_made_is_a_proof(value: str, test: str) -> None:
    assert ran(f"{IMPORTS}it = {value}\n# claim: it\nassert {test}\n")[0]["it"].held


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
     "not x or True", "set() <= {1}", "{1} >= set()", "not dict()", "len(x) == len(x)",
     "len(x) >= 0", "len(x.y) <= len(x.y)", "x == x", "x[0].y is x[0].y", "x.n <= x.n and 1",
     "isinstance(x, object)", "x == 3 or x != 3", "not x or x", "x in y or z or x not in y"],
)  # fmt: skip
def test_a_claim_that_cannot_fail_is_refused_with_its_line(test: str) -> None:
    source = f"x = 1\n# claim: vacuous\nassert {test}\n"
    with pytest.raises(SnippetError, match="the claim vacuous cannot fail") as error:
        claims.find(ast.parse(source), source, "snippets/t/x.py")
    assert str(error.value).startswith("snippets/t/x.py:2: ")
    assert "next: assert what the run showed" in str(error.value)


@pytest.mark.parametrize(
    "test",
    ["x", "x() == x()", "x != x", "x == x()", "x() or not x()", "x < 1 or x >= 1",
     "x and True", "x or 0", "False", "2 == 3", "1 + 1 == 3", "()", "[*x]", "{**x}",
     "f'{x}'", "1 if x else 0", "x < 1 < 2", "[i for i in x]", "1 < 'a'", "x == (1, 2)", "'a' in x",
     "not x", "2 ** 99 == 1", "'a' * 10**12 == x", "all([1])", "'%d' % 3 == '3'",
     "len(x) == len(y)", "len(x) >= 1", "len(x()) == len(x())", "len(x) > 0", "set(x) <= {1}"],
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
    assert Claim("a", 1, "", Clause.parse(only)).only.holds(Version.parse(torch)) is made


def test_a_version_is_read_from_what_pytorch_says_of_itself() -> None:
    texts = ["", "2.9.1", "2.13", "2.13.1+cu130", "2.15.0.dev20261101+cpu", "2.15.1a0+git1f2e"]
    versions = [Version.parse(text) for text in texts]
    assert versions == sorted(versions)
    assert [v.public for v in versions] == [text.partition("+")[0] for text in texts]
    assert [v.short for v in versions] == ["", "2.9", "2.13", "2.13", "2.15", "2.15"]
    assert Version.parse("2.13.0+cpu") == Version.parse("2.13") == Version(2, 13)


def test_a_clause_is_stored_as_it_is_written() -> None:
    claim = Claim("a", 1, "assert x", Clause.parse("torch >= 2.12,torch<2.14"))
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
        ("# claim: a\nassert x\n__tclab_claim__.passed['a'] = 1\n", 3, "in which the engine notes"),
    ],
)
def test_what_cannot_be_a_claim_is_said_with_its_line(source: str, line: int, cause: str) -> None:
    with pytest.raises(SnippetError, match=cause) as error:
        claims.find(ast.parse(source), source, "snippets/t/x.py")
    assert str(error.value).startswith(f"snippets/t/x.py:{line}: ")
    assert "next: " in str(error.value)
