"""A Triton kernel as what it computes: names by the order in which they occur, no decorators.

Inductor numbers buffers by graph and values by kernel, and names a kernel by its place; none of
that says anything of the kernel.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

# in_ptr0, out_ptr3, in_out_ptr0
_POINTER = re.compile(r"(?:in|out|in_out)_ptr\d+$")
# tmp12, x0, r0_1, _tmp3, load_seed_offset1, tmp4_mean; r0_numel and r0_index are of a dimension
_NUMBERED = re.compile(r"(\w*?)(\d+)$|(_?tmp)(\d+)(_[a-z]\w*)$")
#: Of what Inductor says beside a kernel, what its heuristics and Triton's compiler act on.
_LAUNCH = ("size_hints", "reduction_hint", "num_stages", "num_warps")
_META = ("mutated_arg_names", "no_x_dim", "atomic_add_found", "optimize_mem")


def read(source: str) -> tuple[str, dict[str, str]]:
    """The function of a kernel's source, normalised; and what is said beside it that changes what
    runs, name → text. ValueError or SyntaxError where there is none.
    """
    function = _function(source)
    names = dict(_renamed(function))
    beside = _launch(function, names)
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = names.get(node.arg, node.arg)
            node.annotation = None
    function.name, function.decorator_list = "kernel", []
    return ast.unparse(function), beside


def _launch(function: ast.FunctionDef, names: Mapping[str, str]) -> dict[str, str]:
    """What the decorators say; `names` are those of the body."""
    launch: dict[str, str] = {}
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call):
            given = {word.arg: word.value for word in decorator.keywords if word.arg}
            launch |= {name: ast.unparse(given[name]) for name in _LAUNCH if name in given}
            launch |= _meta(given.get("inductor_meta"), names)
            launch |= _divisible(given.get("triton_meta"))
    return launch


def _function(source: str) -> ast.FunctionDef:
    """The kernel: functions before it are its combine functions."""
    functions = [n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)]
    if not functions:
        raise ValueError("the source defines no function")
    return functions[-1]


def _renamed(function: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """Each numbered name and the one it gets: its kind, and which of that kind it is."""
    seen: dict[str, int] = {}
    once: set[str] = set()
    for name in _in_order(function):
        if name in once or (kind := _kind(name)) is None:
            continue
        once.add(name)
        yield name, f"{kind}_{seen.setdefault(kind, 0)}"
        seen[kind] += 1


def _kind(name: str) -> str | None:
    if _POINTER.match(name):
        return "ptr"
    numbered = _NUMBERED.match(name)
    if not numbered or name.isupper():
        return None
    before, _, value, _, suffix = numbered.groups(default="")
    return before + value + suffix


def _in_order(function: ast.FunctionDef) -> Iterator[str]:
    """Every name as the body comes to it; pointers that it never uses last, as they stand."""
    for statement in function.body:
        yield from _names(statement)
    yield from (argument.arg for argument in function.args.args)


def _names(node: ast.AST) -> Iterator[str]:
    """In the order of evaluation: what is assigned after what it is assigned from."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        if node.value is not None:
            yield from _names(node.value)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from _names(target)
        return
    if isinstance(node, ast.Name):
        yield node.id
    for child in ast.iter_child_nodes(node):
        yield from _names(child)


def _meta(node: ast.expr | None, names: Mapping[str, str]) -> dict[str, str]:
    """Of ``inductor_meta``: an argument that is written to is named as the body names it."""
    data = _dictionary(node)
    meta = {name: ast.unparse(data[name]) for name in _META if name in data}
    if mutated := data.get("mutated_arg_names"):
        written = [names.get(name, name) for name in ast.literal_eval(mutated)]
        meta["mutated_arg_names"] = ", ".join(sorted(written))
    return {name: text for name, text in meta.items() if text not in {"", "[]", "None", "False"}}


def _divisible(node: ast.expr | None) -> dict[str, str]:
    """Which arguments divide by sixteen: Triton's wide loads rest on it."""
    configs = _dictionary(node).get("configs")
    if configs is None:
        return {}
    places = sorted(set(re.findall(r"\((\d+),\)", ast.unparse(configs))), key=int)
    return {"divisible by 16": ", ".join(places)}


def _dictionary(node: ast.expr | None) -> dict[str, ast.expr]:
    if not isinstance(node, ast.Dict):
        return {}
    pairs = zip(node.keys, node.values)
    return {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}
