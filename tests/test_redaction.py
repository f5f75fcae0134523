"""No value of an environment variable in what is passed on."""

from __future__ import annotations

import pytest

from tclab import redaction

VARIABLES = {
    "MY_TOKEN": "sk-SECRET-999", "PASSWORD": "hunter2pw", "SHORT": "sum", "NUMBER": "16777216",
    "BACKEND": "inductor", "ODD": "it's\\a\"tök\n", "EMPTY": "", "HERE": __file__,
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("| +- EQUALS_MATCH: G['os'].environ._data[b'A'] == b'x'  # <frozen os>:761 in decode",
         "| +- EQUALS_MATCH: G['os'].environ._data[b'A'] == b'…'  # <frozen os>:761 in decode"),
        (r"""environ._data["it's"] == 'a\'b' and L['y'] == 'sum'""",
         r"""environ._data["it's"] == '…' and L['y'] == 'sum'"""),
        ("environ._data[b'A'] == b''", "environ._data[b'A'] == b'…'"),
        ("G['TOKEN'] == 'sk-SECRET-999'", "G['TOKEN'] == '<value of MY_TOKEN>'"),
        ("L['p'] == \"hunter2pw\"", "L['p'] == '<value of PASSWORD>'"),
        ("L['m'] == 'Bearer sk-SECRET-999'", "L['m'] == 'Bearer <value of MY_TOKEN>'"),
        ("L['m'] == 'sum'", "L['m'] == 'sum'"),
        ("L['m'] == 'inductor'", "L['m'] == '<value of BACKEND>'"),
        ("L['n'] == 16777216", "L['n'] == 16777216"),
        (f"L['o'] == {VARIABLES['ODD']!r}", "L['o'] == '<value of ODD>'"),
        ("len(environ._data[b'A']) == 3", "len(environ._data[b'A']) == 3"),
    ],
)  # fmt: skip
def test_a_guard_says_that_there_is_one(text, shown):
    assert redaction.guards(text, VARIABLES) == shown
    assert redaction.guards(shown, VARIABLES) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("ValueError: bad token sk-SECRET-999!", "ValueError: bad token <value of MY_TOKEN>!"),
        ("xsk-SECRET-9990", "x<value of MY_TOKEN>0"),
        ("the inductor of 16777216", "the inductor of 16777216"),
        ("hunter2pw", "<value of PASSWORD>"),
        (f"# {__file__}:3 in f", f"# {__file__}:3 in f"),
    ],
)
def test_a_text_names_the_variable(text, shown):
    assert redaction.prose(text, redaction.tokens(VARIABLES)) == shown


def test_what_stands_in_the_users_own_code_is_no_secret():
    assert "hunter2pw" not in redaction.tokens(VARIABLES, own="def hunter2pw(x):")


def test_values_are_shown_where_that_is_asked_for():
    text = "G['os'].environ._data[b'A'] == b'hunter2pw'"
    with redaction.lifted(shown=True):
        assert redaction.guards(text, VARIABLES) == text and redaction.tokens(VARIABLES) == {}
    assert redaction.guards(text, VARIABLES) != text
