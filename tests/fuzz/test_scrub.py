"""Scrubbing any text: what the rules say, twice is once, in time that grows with the text."""

from __future__ import annotations

import base64
import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tclab.text import scrub as module
from tclab.text.scrub import scrub, strip_terminal_codes

from .growth import assert_linear

ROOT = Path(__file__).resolve().parents[2]
# what the rules look for, whole and in part
PIECES = [
    "/a", "/", "a", " ", "\n", ":", ".", "-", "é", "(", ")", "'", "\\", ", ", "~/", "0x", "7f",
    "123456", "/lib",
    "/lib64/", "/lib/python3.11/", "python3.1", "/torchinductor_", "torchinductor_a(",
    "/site-packages", "/site-packages/", "/dist-packages/", "<tmp>/", "tmp", "tclab-", "abcdefgh",
    "_0123abcd", "_4e55", "_e9c9369a0b92", "at ", " at 0x", "0x7fe7bc2e9fa0", "___check_obj_id(",
    "___check_type_id(L['x'], ", "/tmp", str(Path.home()), str(ROOT),
    "\x1b", "\x1b[", "\x1b]", "\x00", "\ud800",
]  # fmt: skip
_LISTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), min_size=1, max_size=12)
MIXES = _LISTS.map("".join).filter(bool)

# The rules in their plain form, which takes more time.
PATHS = [
    (r"(?:/[^\s\"'`:;,()<>|=]*)?/(?:site|dist)-packages/", ""),
    (r"(?:/[\w.+~-]+)*/lib(?:64)?/(python3\.\d+/)", r"\1"),
    (r"(?:/[\w.+~-]+)*/torchinductor_[^\s/\"':]+", "<inductor-cache>"),
]
REST = [
    (
        r"\btorchinductor_(?!<|(?:worker_logpath|pyobject_tensor_data_ptr)\b)[\w.-]+",
        "torchinductor_<user>",
    ),
    (r"<tmp>/(?:tmp[a-z0-9_]{8}|tclab-\w{8}(?:/\d+/(?:tmp|work))?)(?![\w.-])", "<tmp>"),
    (r"_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12}(?![0-9a-f])", ""),
    (r"(?<=\bat )0x[0-9a-fA-F]{6,16}\b", "0x…"),
    (r"\b0x(?:7[ef]|5[56])[0-9a-fA-F]{10}\b", "0x…"),
    (r"(___check_(?:obj|type)_id\([^\n]*?, )\d{6,}(?=\))", r"\1…"),
]


def slow_scrub(text: str) -> str:
    """Scrub a text by the plain rules, in any time."""
    folders = [
        (r"(?<![\w.~-])" + re.escape(prefix) + (r"(?![\w.-])" if stands else ""), stands)
        for prefix, stands in module._folder_replacements("")
    ]
    for pattern, stands in [*PATHS, *folders, *REST]:
        text = re.sub(pattern, stands, text)
    return text


@pytest.fixture(autouse=True, scope="module")
def project():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TCLAB_ROOT", str(ROOT))
        patch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
        module._folder_replacements.cache_clear()
        yield
    module._folder_replacements.cache_clear()


@settings(max_examples=300)
@given(MIXES)
def test_scrub_does_what_its_rules_say(text):
    assert scrub(text) == slow_scrub(text)


@given(MIXES)
def test_plain_text_has_nothing_a_terminal_obeys(text):
    cleaned = strip_terminal_codes(text)
    assert strip_terminal_codes(cleaned) == cleaned
    assert not set(cleaned) & set("\x1b\x00")
    cleaned.encode("utf-8")


@settings(max_examples=40)
@given(MIXES, st.sampled_from(["", *PIECES]))
def test_time_grows_with_the_text(text, end):
    assert_linear(scrub, text, end)
    assert_linear(strip_terminal_codes, text, end)


@pytest.mark.parametrize("piece", PIECES)
def test_time_grows_with_a_text_of_one_piece(piece):
    assert_linear(scrub, piece)
    assert_linear(strip_terminal_codes, piece)


def test_time_grows_with_a_picture_in_one_line():
    picture = base64.b64encode(random.Random(0).randbytes(100_000)).decode()
    assert_linear(scrub, picture[:20_000])
    assert_linear(lambda text: scrub(picture[: len(text)]), "a")


def test_time_grows_with_one_long_line_behind_a_guard():
    for piece in ("a", ", 123456", "___check_obj_id("):
        assert_linear(lambda text: scrub(f"___check_obj_id({text}"), piece)
