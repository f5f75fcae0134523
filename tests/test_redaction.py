"""No value of an environment variable in what is passed on."""

from __future__ import annotations

import pytest

from tclab.text import redaction

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
    assert redaction.redact_guards(text, VARIABLES) == shown
    assert redaction.redact_guards(shown, VARIABLES) == shown


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
    assert redaction.redact_tokens(text, redaction.find_tokens(VARIABLES)) == shown


PARTS = {
    "KEY": "sk-abcdefghijkl", "DB": "postgres://me:hunter2pw%21@host/db?x=1",
    "WORDS": "a training-run of inductor and forward and backward and more words",
}  # fmt: skip


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("L['k'] == 'abcdefghijkl'", "L['k'] == '<part of KEY>'"),
        ("L['h'] == 'Bearer abcdefghijkl'", "L['h'] == 'Bearer <part of KEY>'"),
        ("L['p'] == 'hunter2pw!'", "L['p'] == '<value of DB>'"),
        ("it refused hunter2pw! twice", "it refused <value of DB> twice"),
        ("L['p'] == 'hunter2pw%21'", "L['p'] == '<value of DB>'"),
        ("L['w'] == 'inductor' and L['d'] == 'backward'",
         "L['w'] == 'inductor' and L['d'] == 'backward'"),
        ("abcdefghijkl without quotes", "abcdefghijkl without quotes"),
        ("L['s'] == 'abcdefg'", "L['s'] == 'abcdefg'"),
    ],
)  # fmt: skip
def test_a_long_part_is_named_and_a_word_is_not(text, shown):
    assert redaction.redact_guards(text, PARTS) == shown
    assert redaction.redact_tokens(text, redaction.find_tokens(PARTS)) == shown


def test_a_percent_encoded_value_is_named():
    assert redaction.redact_tokens(
        "?key=a%2Fb%3D%3Dxyz", redaction.find_tokens({"K": "a/b==xyz"})
    ) == ("?key=<value of K>")


@pytest.mark.parametrize("form", [str.upper, str.lower])
def test_a_value_in_other_letters_is_named(form):
    tokens = redaction.find_tokens({"KEY": "sk-Very-Secret-1"})
    text = f"G['c'].up == '{form('sk-Very-Secret-1')}'"
    assert redaction.redact_tokens(text, tokens) == "G['c'].up == '<value of KEY>'"


def test_what_stands_in_the_users_own_code_is_no_secret():
    assert "hunter2pw" not in redaction.find_tokens(VARIABLES, user_text="def hunter2pw(x):")


def test_values_are_shown_where_that_is_asked_for():
    text = "G['os'].environ._data[b'A'] == b'hunter2pw'"
    with redaction.show_values(shown=True):
        assert (
            redaction.redact_guards(text, VARIABLES) == text
            and redaction.find_tokens(VARIABLES) == {}
        )
    assert redaction.redact_guards(text, VARIABLES) != text


def test_a_word_of_the_users_own_code_is_no_part():
    tokens, text = redaction.find_tokens(PARTS), "L['k'] == 'abcdefghijkl'"
    assert redaction.redact_tokens(text, tokens, user_text="x['abcdefghijkl']") == text


def test_the_name_of_a_variable_is_no_part_of_its_value():
    variables = {"MY_OWN_TOKEN": "x-MY_OWN_TOKEN-4711"}
    text = "environ._data[b'MY_OWN_TOKEN'] == b'…'"
    assert redaction.redact_guards(text, variables) == text
