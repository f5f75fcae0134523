"""The heads of the cases can be asked; whether the tool answers them is asked by the benchmark."""

from __future__ import annotations

from collections import Counter

from benchmarks.cases import cases, read


def test_fourteen_kinds_have_three_cases_each():
    assert set(Counter(case.kind for case in cases()).values()) == {3}
    assert len(cases()) == 42


def test_a_screen_is_right_with_every_needle_and_no_refuted_sentence(tmp_path):
    path = tmp_path / "case.py"
    path.write_text(
        "# Kind: k\n# Explain: f --backward\n# Symptom: differs\n"
        "# First screen has: differs |\n#   at x + 1 || at x - 1\n# Not: equal to eager\n"
        "def f(x):\n    return x + 1\n\n\ndef g(x):\n    return x - 1\n"
    )
    case = read(path)
    assert case.explained == ("f", "--backward")
    assert case.missing("it DIFFERS, case.py:8") == case.missing("differs, lines 3, 12") == []
    assert case.missing("differs, line 9") == ["lacks: at x + 1 || at x - 1"]
    assert case.missing("differs, line 8, equal\nto eager") == ["says: equal to eager"]


def test_every_needle_names_lines_that_are_there():
    for case in cases():
        screen = " ".join(each for needle in case.needles for each in needle)
        assert not case.missing(screen + "".join(f" line {n}" for n in range(60))), case.path
