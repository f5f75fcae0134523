"""Read options of torch.compile from the command line, and check them before anything compiles."""

from __future__ import annotations

import ast
import difflib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tclab.errors import BadRequest

#: Keywords of torch.compile itself. Other names are settings of Inductor, for the keyword
#: `options`.
_COMPILE_KEYWORDS = ("mode", "dynamic", "fullgraph")
#: Kernels with more lines than this are compiled to instructions only on request. Templates have
#: hundreds of lines.
MOST_LINES = 1_000
_FLAGS = {"dynamic": (True, False, None), "fullgraph": (True, False)}


class BadOption(BadRequest):
    """Raised if torch.compile does not accept this keyword, or this value of it."""


def parse(texts: Sequence[str]) -> dict[str, Any]:
    """Parse ``NAME=VALUE`` of the command line into keywords of torch.compile."""
    keywords: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise BadRequest(f"--option {text}", "no value", "say NAME=VALUE: shape_padding=False")
        of = keywords if name in _COMPILE_KEYWORDS else keywords.setdefault("options", {})
        of[name] = _parse_literal(value)
    return keywords


def parse_assumed(texts: Sequence[str], target: str | None) -> dict[str, str]:
    """Parse ``NAME=VALUE`` of --assume; the target checks names and values later."""
    for text in texts:
        if target is None:
            step = "add --target, or leave it out: this machine times what it chooses"
            raise BadRequest(f"--assume {text}", "there is no target", step)
        if not all(text.rpartition("=")):
            raise BadRequest(f"--assume {text}", "no value", "say NAME=VALUE: pad=no")
    return {name: value for name, _, value in (text.rpartition("=") for text in texts)}


def _parse_literal(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def check(options: Mapping[str, Any]) -> None:
    """Raise BadOption unless torch.compile takes these keywords. torch.compile is called with them
    on a function that never runs, so the installed PyTorch itself checks modes and options.
    """
    _check_flags(options)
    if not options:
        return
    import torch

    try:
        torch.compile(_do_nothing, **options)
    except Exception as error:
        raise _translate_error(options, str(error)) from error


def _do_nothing() -> None:
    """Do nothing. `check` passes this function to torch.compile."""


def _check_flags(options: Mapping[str, object]) -> None:
    for name, values in _FLAGS.items():
        value = options.get(name, values[0])
        if not any(value is known for known in values):
            known = ", ".join(map(str, values))
            raise BadOption(f"--option {name}={value}", f"{name} is one of {known}", "choose one")


# PyTorch's messages:
# Unrecognized mode=fast, should be one of: default, lite, reduce-overhead, max-autotune
_MODE = re.compile(r"Unrecognized mode=.*?, should be one of: (?P<modes>.+)", re.DOTALL)
# Unexpected optimization option shape_pading, known options are ['debug', 'shape_padding']
_OPTION = re.compile(
    r"Unexpected optimization option (?P<name>\S+), known options are \[(?P<all>.*)"
)
# Unexpected type of attr shape_padding, got str should be bool
_TYPE = re.compile(
    r"Unexpected type of attr (?P<name>\S+), got (?P<got>\S+) should be (?P<type>.+)"
)


def _translate_error(options: Mapping[str, Any], message: str) -> BadOption:
    """Turn PyTorch's message about these options into an error that suggests valid ones."""
    mode, own = options.get("mode"), options.get("options") or {}
    if match := _MODE.search(message):
        modes = [name.strip() for name in match["modes"].split(",")]
        step = f"{_suggest_name(str(mode), modes)}the modes are {', '.join(modes)}"
        return BadOption(f"--option mode={mode}", "there is no such mode", step)
    if match := _OPTION.search(message):
        near = _suggest_name(match["name"], re.findall(r"'([^']+)'", match["all"]))
        step = near.strip() or "torch._inductor.list_options() lists them"
        place = f"--option {match['name']}={own.get(match['name'].replace('-', '_'), '…')}"
        return BadOption(place, "neither torch.compile nor Inductor has such an option", step)
    if match := _TYPE.search(message):
        place = f"--option {match['name']}={own.get(match['name'])}"
        return BadOption(place, f"of type {match['got']}", f"give it a {match['type']}")
    names = ", ".join([*(n for n in _COMPILE_KEYWORDS if n in options), *own])
    return BadOption(f"--option {names}", message.splitlines()[0][:200], "leave one of them out")


def _suggest_name(name: str, valid_names: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(valid_names), n=1)
    return f"did you mean {near[0]}? " if near else ""
