"""Remove the differences between machines and runs from text: paths, addresses, user names.

`scrub` is deterministic and idempotent, and leaves short hex literals of code alone.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from tclab.system.project import project_root

# \x1b[31m, a colour; \x1b]0;title\x07, a window's title
_ANSI = re.compile(
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_]|[ -/][0-~])"
)
# Patterns and their replacements. No replacement matches a pattern again. Each pattern takes linear
# time on any text, because it never scans a part of the text twice. A path is recognised by a name
# in its middle. So the patterns for paths read the text backwards: they find the name first, and
# then match the folders above it.
_FOLDERS = r"(?:[\w.+~-]+/){0,2048}"  # a path has at most 4,096 bytes
_PATH_RULES = (
    #   File "/opt/venv/lib/python3.11/site-packages/torch/_dynamo/exc.py", line 727
    (re.compile(r"/segakcap-(?:etis|tsid)/(?:[^\s\"'`:;,()<>|=]*/)?"), ""),
    #   File "/usr/lib/python3.11/contextlib.py", line 137, in __enter__
    (re.compile(rf"(/\d+\.3nohtyp)/(?:46)?bil/{_FOLDERS}"), r"\1"),
    # #loc = loc("/tmp/torchinductor_reader/kernel.py":18:0)
    (re.compile(rf"(?<![^\s/\"':])[^\s/\"':]+_rotcudnihcrot/{_FOLDERS}"), "<inductor-cache>"[::-1]),
)
_GUARD = r"___check_(?:obj|type)_id\("
# what is replaced already, and PyTorch's own names: a setting, and a C++ function
_KEPT = r"<|(?:worker_logpath|pyobject_tensor_data_ptr)\b"
_OTHER_RULES = (
    # TORCHINDUCTOR_CACHE_DIR=torchinductor_reader
    (re.compile(rf"torchinductor_(?<!\wtorchinductor_)(?!{_KEPT})[\w.-]+"), "torchinductor_<user>"),
    # <tmp>/tclab-x1l_a1b2/3/home/.cache
    (re.compile(r"<tmp>/tclab-\w{8}/\d+/home(?![\w.-])"), "~"),
    # <tmp>/tmprq1l_a1b/kernel.cpp:5
    (re.compile(r"<tmp>/(?:tmp[a-z0-9_]{8}|tclab-\w{8}(?:/\d+/(?:tmp|work))?)(?![\w.-])"), "<tmp>"),
    # Dynamo's compiled functions carry a random UUID since 2.9
    # 2 LOAD_GLOBAL  3 (NULL + __compiled_fn_17_57d8bbe4_4e55_4481_a2d7_e9c9369a0b92)
    (re.compile(r"_[0-9a-f]{8}(?:_[0-9a-f]{4}){3}_[0-9a-f]{12}(?![0-9a-f])"), ""),
    # addresses: "at 0x…" in a repr, and the range where Linux maps libraries, stacks and heaps
    # Developer debug context: <function disabled at 0x7f9d576b3f60>
    (re.compile(r"at 0x(?<!\wat 0x)[0-9a-fA-F]{6,16}\b"), "at 0x…"),
    # type=<built-in method relu of type object at 0x7fe7bc2e9fa0>
    (re.compile(r"0x(?<!\w0x)(?:7[ef]|5[56])[0-9a-fA-F]{10}\b"), "0x…"),
    # guards name objects by id(). The bound limits the memory of a match; no line is that long.
    # +- TYPE_MATCH: ___check_type_id(L['self'], 93886290216352), type=<class 'functions.Scaled'>
    (re.compile(rf"({_GUARD}(?:(?!{_GUARD})[^\n]){{0,65535}}?, )\d{{6,}}(?=\))"), r"\1…"),
)


def strip_terminal_codes(text: str) -> str:
    """Return `text` without ANSI escapes, NUL and unpaired surrogates.

    Colours have no meaning on a page. All other characters stay.
    """
    text = _ANSI.sub("", text).replace("\x00", "\\x00").replace("\x1b", "\\x1b")
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def scrub(text: str) -> str:
    """Return `text` in the form that it has on any machine."""
    folders = _folder_replacements(os.environ.get("TORCHINDUCTOR_CACHE_DIR", ""))
    # Replace folders of libraries and of the project first, because the rules for paths stop at a
    # space in a folder's name. Replace folders that become <tmp> or ~ last, because the rules keep
    # these.
    after = [folder for folder in folders if folder[1].startswith(("<", "~"))]
    text = _replace_folders(text, [folder for folder in folders if folder not in after])
    text = _apply_rules(_PATH_RULES, text[::-1])[::-1]
    return _apply_rules(_OTHER_RULES, _replace_folders(text, after))


def _replace_folders(text: str, folders: Sequence[tuple[str, str]]) -> str:
    for prefix, replacement in folders:
        if prefix in text:
            # e.g. the project's folder in File "/home/me/lab/snippets/a/b.py", line 3
            text = re.sub(_whole_path_pattern(prefix), lambda _, r=replacement: r, text)  # type: ignore[misc]
    return text


def _apply_rules(rules: Sequence[tuple[re.Pattern[str], str]], text: str) -> str:
    for pattern, replacement in rules:
        text = pattern.sub(replacement, text)
    return text


def scrub_data(data: object, clean: Callable[[str], str] = scrub) -> object:
    """Clean every text inside JSON-like data, including the keys of mappings."""
    if isinstance(data, str):
        return clean(data)
    if isinstance(data, list):
        return [scrub_data(item, clean) for item in data]
    if isinstance(data, dict):
        return {clean(key): scrub_data(value, clean) for key, value in data.items()}
    return data


def is_generated(file: str) -> bool:
    """Return whether Inductor wrote a file."""
    return scrub(file).startswith("<inductor-cache>")


def _whole_path_pattern(prefix: str) -> str:
    """Return a pattern that matches the path and paths below it, but not a longer name.

    The look-behind comes last, so that the search starts with a literal, which is fast.
    """
    path = re.escape(prefix)
    return rf"{path}(?<![\w.~-]{path})" + ("" if prefix.endswith("/") else r"(?![\w.-])")


@lru_cache(maxsize=8)
def _folder_replacements(cache: str) -> tuple[tuple[str, str], ...]:
    """Return pairs of a folder of this machine and its replacement, longest folder first."""
    replacements: dict[str, str] = {}
    for folder, replacement in _machine_folders(cache):
        for spelling in {folder, os.path.realpath(folder)}:
            if len(spelling.strip("/")) > 0:
                prefix = spelling + ("/" if not replacement else "")
                replacements.setdefault(prefix, replacement)
    return tuple(sorted(replacements.items(), key=lambda item: (-len(item[0]), item[0])))


def _machine_folders(cache: str) -> Iterator[tuple[str, str]]:
    if cache:
        yield cache, "<inductor-cache>"
    if job := os.environ.get("TCLAB_JOB", ""):
        yield f"{job}/work", ""
        yield f"{job}/tmp", "<tmp>"
        yield _login_home(), "~"  # HOME is the run's own folder
    yield str(Path(__file__).resolve().parents[2]), ""
    with contextlib.suppress(LookupError):
        yield str(project_root()), ""
    for name in ("purelib", "platlib"):
        yield sysconfig.get_path(name), ""
    yield sysconfig.get_path("stdlib"), f"python{sys.version_info[0]}.{sys.version_info[1]}"
    yield tempfile.gettempdir(), "<tmp>"
    yield os.path.expanduser("~"), "~"


def _login_home() -> str:
    with contextlib.suppress(ImportError, KeyError):
        import pwd

        return pwd.getpwuid(os.getuid()).pw_dir
    return ""
