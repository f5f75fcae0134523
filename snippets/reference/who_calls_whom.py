"""Where each stage lives in PyTorch's source, and who calls whom.

The chapters name functions and classes, each looked up in the installed PyTorch. Here a training
step is compiled while Python reports every call: of the named ones, which one called which? Between
two of them there may be many others.
"""
# tclab: needs=cxx reads=docs/pipeline/*.md timeout=240

import importlib
import inspect
import re
import sys
from pathlib import Path

import torch
from _source import place

import tclab

DOCS = Path(__file__).resolve().parents[2] / "docs" / "pipeline"


def chapters():
    """Each name that a chapter refers to, and the title of the first chapter that does."""
    first = {}
    for path in sorted(DOCS.glob("*.md")):
        text = path.read_text()
        title = re.search(r"^# (.+)$", text, re.MULTILINE)[1]
        for name in re.findall(r"`src:(torch[\w.]+)`", text):
            first.setdefault(name, title)
    return first


def found(name):
    """The object of a dotted name; its module is the longest part that can be imported."""
    parts = name.split(".")
    for end in range(len(parts), 0, -1):
        try:
            thing = importlib.import_module(".".join(parts[:end]))
        except ImportError:
            continue
        for part in parts[end:]:
            thing = getattr(thing, part, None)
        return thing
    return None


def functions(thing):
    """The functions behind a name: itself, or the methods of a class."""
    members = vars(thing).values() if inspect.isclass(thing) else [thing]
    plain = (getattr(member, "__func__", member) for member in members)
    return [inspect.unwrap(member) for member in plain if inspect.isroutine(member)]


named = {name: title for name, title in chapters().items() if callable(found(name))}
code, where = {}, {}
for name in sorted(named, key=lambda name: -name.count(".")):
    for function in functions(found(name)):
        if at := place(function):  # an enum's functions are not of PyTorch
            code.setdefault(id(function.__code__), name)
            where.setdefault(name, at)

stack, calls = [], {}


def watch(frame, event, _):
    """Notes the nearest named caller when a named function is called the first time from it."""
    if event == "call" and (name := code.get(id(frame.f_code))):
        caller = next((above for above, _ in reversed(stack) if above != name), None)
        calls.setdefault((caller, name), len(calls))
        stack.append((name, frame))
    elif event == "return" and stack and stack[-1][1] is frame:
        stack.pop()


@torch.compile
def step(x, w):
    return torch.softmax(x @ w, -1).sum()


x, w = torch.randn(4, 8), torch.randn(8, 8, requires_grad=True)
sys.setprofile(watch)
step(x, w).backward()
sys.setprofile(None)


first = {}  # the caller that each was first seen under
for caller, name in calls:
    first.setdefault(name, caller)


def tree(caller):
    """Who is called below `caller`: each name once, in the order of first calls."""
    for name in (name for name, by in first.items() if by == caller):
        yield name, caller, named[name], where[name]
        yield from tree(name)


def callers_of(name):
    """The one that `name` was first called under, the one above that, and so on."""
    while name := first.get(name):
        yield name


callers = {name: [c for c, called in calls if called == name and c] for name in first}
rows = [
    (name, named[name], where[name], ", ".join(callers.get(name, ())) or None)
    for name in sorted(where, key=lambda name: (named[name], name))
]
columns = ("function or class", "chapter", "at", "called by, in this run")
tclab.show(tclab.Table("Where each stage lives", "source-map", columns, rows))
columns = ("function or class", "first called by", "chapter", "at")
tclab.show(tclab.Table("Who calls whom", "calls", columns, list(tree(None))))

# claim: dynamo-calls-the-backend
assert first["torch._inductor.compile_fx.compile_fx"].endswith("OutputGraph.call_user_compiler")
# claim: inductor-lowers-below-compile-fx
assert "torch._inductor.compile_fx.compile_fx" in callers_of("torch._inductor.graph.GraphLowering")
