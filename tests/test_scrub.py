"""Scrubbing: what one machine knows goes, what the code says stays."""

from __future__ import annotations

import getpass
import sysconfig
import tempfile
from pathlib import Path

import pytest

from tclab.text.scrub import scrub, strip_terminal_codes

ROOT = Path(__file__).resolve().parents[1]
UUID = "_0f8fad5b_d9cb_469f_a165_70867728950e"


@pytest.fixture(autouse=True)
def project(monkeypatch):
    monkeypatch.setenv("TCLAB_ROOT", str(ROOT))
    monkeypatch.delenv("TORCHINDUCTOR_CACHE_DIR", raising=False)
    from tclab.text import scrub as module

    module._folder_replacements.cache_clear()
    yield
    module._folder_replacements.cache_clear()


CASES = [
    (f'File "{ROOT}/snippets/a/b.py", line 3', 'File "snippets/a/b.py", line 3'),
    (f"{sysconfig.get_path('purelib')}/torch/_dynamo/x.py:12", "torch/_dynamo/x.py:12"),
    ("/opt/other/lib/python3.12/site-packages/triton/x.py", "triton/x.py"),
    ("/usr/lib/python3/dist-packages/numpy/x.py", "numpy/x.py"),
    (f"{sysconfig.get_path('stdlib')}/contextlib.py", None),
    ("/usr/local/lib/python3.12/threading.py", "python3.12/threading.py"),
    ("/tmp/torchinductor_someone/ab/cab.py", "<inductor-cache>/ab/cab.py"),
    ("/var/tmp/torchinductor_some.one", "<inductor-cache>"),
    (f"{tempfile.gettempdir()}/tmpab12_cd3/x.o", "<tmp>/x.o"),
    (str(Path.home() / "data"), "~/data"),
    ("<function f at 0x7f12ab34cd56>", "<function f at 0x…>"),
    ("<X object at 0x55d0c0ffee00>,", "<X object at 0x…>,"),
    ("ptr = 0x7f12ab34cd56", "ptr = 0x…"),
    (f"__compiled_fn_1{UUID}", "__compiled_fn_1"),
    ("___check_obj_id(L['f'], 94213489124)", "___check_obj_id(L['f'], …)"),
    ("___check_type_id(G['m'].a, 140234567890123)", "___check_type_id(G['m'].a, …)"),
]
KEPT = [
    "auto x = 0x1f; mask = 0x7fffffff; 0xDEADBEEFDEADBEEF;",
    "seed 0x9E3779B97F4A7C15UL",
    "tmp0 = tl.load(in_ptr0 + (x0), xmask)",
    "f(a)/lib/b",
    "look at 0x10",
    "torch/_inductor/ir.py",
    "// a / b",
    "1.5e-05",
    "x_12345678_1234",
]


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_what_only_this_machine_knows_goes(text, expected):
    found = scrub(text)
    if expected is None:
        assert not found.startswith("/")
        assert found.endswith("/contextlib.py")
    else:
        assert found == expected


@pytest.mark.parametrize("folder", ["/x/a b/ü'%/p", "/x/(a)|b;c", "/x/<tmp>/=y"])
def test_a_library_in_a_folder_of_any_name_is_named_alone(folder, monkeypatch):
    from tclab.text import scrub as module

    library = f"{folder}/.venv/lib/python3.11/site-packages"
    paths = {"purelib": library, "platlib": library, "stdlib": f"{folder}/lib/python3.11"}
    monkeypatch.setattr(module.sysconfig, "get_path", paths.__getitem__)
    module._folder_replacements.cache_clear()
    assert scrub(f'File "{library}/torch/x.py", line 3') == 'File "torch/x.py", line 3'
    assert folder not in scrub(f"{paths['stdlib']}/contextlib.py:3")


@pytest.mark.parametrize("text", KEPT)
def test_what_the_code_says_stays(text):
    assert scrub(text) == text


@pytest.mark.parametrize("text", [case[0] for case in CASES] + KEPT)
def test_twice_is_once(text):
    assert scrub(scrub(text)) == scrub(text)


def test_a_longer_name_is_another_folder():
    assert scrub(f"{ROOT}-other/x") == scrub(f"{ROOT}-other/x").replace("snippets", "")
    assert "-other/x" in scrub(f"{ROOT}-other/x")


def test_the_inductor_cache_has_one_name(monkeypatch, tmp_path):
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path / "cache"))
    assert scrub(f"{tmp_path}/cache/ab/cab.cpp") == "<inductor-cache>/ab/cab.cpp"


def test_the_user_goes_with_the_folder():
    assert getpass.getuser() not in scrub(f"torchinductor_{getpass.getuser()} x")
    own = "config.torchinductor_worker_logpath = ''"
    assert scrub(own) == own


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\x00b\ud800", "a\\x00b\\ud800"),
        ("lone \x1b", "lone \\x1b"),
        ("tab\tnew\nline é → 😀", "tab\tnew\nline é → 😀"),
    ],
)
def test_terminal_control_goes(text, expected):
    assert strip_terminal_codes(text) == expected
