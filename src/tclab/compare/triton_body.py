"""Normalise a Triton kernel: number its names by their order, remove its decorators.

Inductor numbers buffers by graph and values by kernel, and names a kernel by its position; these
numbers and names do not belong to the computation.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

# in_ptr0, out_ptr3, in_out_ptr0
_POINTER = re.compile(r"(?:in|out|in_out)_ptr\d+$")
# tmp12, x0, r0_1, _tmp3, load_seed_offset1, tmp4_mean; not r0_numel, r0_index
_NUMBERED_NAME = re.compile(r"(\w*?)(\d+)$|(_?tmp)(\d+)(_[a-z]\w*)$")
#: Settings in the decorators that Inductor's heuristics and Triton's compiler use.
_LAUNCH_SETTINGS = ("size_hints", "reduction_hint", "num_stages", "num_warps")
_META_SETTINGS = ("mutated_arg_names", "no_x_dim", "atomic_add_found", "optimize_mem")


def normalize_triton(source: str) -> tuple[str, dict[str, str]]:
    """Return the normalised function of a kernel's source, and its launch settings, name → text.
    Raises ValueError or SyntaxError if the source defines no function.
    """
    function = _find_kernel(source)
    names = dict(_number_names(function))
    launch = _read_launch(function, names)
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = names.get(node.arg, node.arg)
            node.annotation = None
    function.name, function.decorator_list = "kernel", []
    return ast.unparse(function), launch


def _read_launch(function: ast.FunctionDef, names: Mapping[str, str]) -> dict[str, str]:
    """Return the launch settings in the decorators; `names` maps old names to normalised ones."""
    launch: dict[str, str] = {}
    for decorator in function.decorator_list:
        if isinstance(decorator, ast.Call):
            keywords = {word.arg: word.value for word in decorator.keywords if word.arg}
            launch |= {
                name: ast.unparse(keywords[name]) for name in _LAUNCH_SETTINGS if name in keywords
            }
            launch |= _read_inductor_meta(keywords.get("inductor_meta"), names)
            launch |= _read_divisible_arguments(keywords.get("triton_meta"))
    return launch


def _find_kernel(source: str) -> ast.FunctionDef:
    """Return the last function, which is the kernel. The functions before it are its combine
    functions.
    """
    functions = [n for n in ast.parse(source).body if isinstance(n, ast.FunctionDef)]
    if not functions:
        raise ValueError("the source defines no function")
    return functions[-1]


def _number_names(function: ast.FunctionDef) -> Iterator[tuple[str, str]]:
    """Yield each numbered name with its new name, which is the kind and a number within this
    kind.
    """
    seen: dict[str, int] = {}
    once: set[str] = set()
    for name in _names_in_order(function):
        if name in once or (kind := _name_kind(name)) is None:
            continue
        once.add(name)
        yield name, f"{kind}_{seen.setdefault(kind, 0)}"
        seen[kind] += 1


def _name_kind(name: str) -> str | None:
    if _POINTER.match(name):
        return "ptr"
    numbered = _NUMBERED_NAME.match(name)
    if not numbered or name.isupper():
        return None
    before, _, value, _, suffix = numbered.groups(default="")
    return before + value + suffix


def _names_in_order(function: ast.FunctionDef) -> Iterator[str]:
    """Yield every name in the order of the body; unused parameters come last."""
    for statement in function.body:
        yield from _names_in_evaluation_order(statement)
    yield from (argument.arg for argument in function.args.args)


def _names_in_evaluation_order(node: ast.AST) -> Iterator[str]:
    """Yield a node's names in the order of evaluation: a target after the assigned value."""
    if isinstance(node, (ast.Assign, ast.AnnAssign)):
        if node.value is not None:
            yield from _names_in_evaluation_order(node.value)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
            yield from _names_in_evaluation_order(target)
        return
    if isinstance(node, ast.Name):
        yield node.id
    for child in ast.iter_child_nodes(node):
        yield from _names_in_evaluation_order(child)


def _read_inductor_meta(node: ast.expr | None, names: Mapping[str, str]) -> dict[str, str]:
    """Return the settings in ``inductor_meta``; the arguments that the kernel writes get their
    normalised names.
    """
    data = _read_dictionary(node)
    meta = {name: ast.unparse(data[name]) for name in _META_SETTINGS if name in data}
    if mutated := data.get("mutated_arg_names"):
        written = [names.get(name, name) for name in ast.literal_eval(mutated)]
        meta["mutated_arg_names"] = ", ".join(sorted(written))
    return {name: text for name, text in meta.items() if text not in {"", "[]", "None", "False"}}


def _read_divisible_arguments(node: ast.expr | None) -> dict[str, str]:
    """Return the arguments that are divisible by 16, as wide loads in Triton require."""
    configs = _read_dictionary(node).get("configs")
    if configs is None:
        return {}
    places = sorted(set(re.findall(r"\((\d+),\)", ast.unparse(configs))), key=int)
    return {"divisible by 16": ", ".join(places)}


def _read_dictionary(node: ast.expr | None) -> dict[str, ast.expr]:
    if not isinstance(node, ast.Dict):
        return {}
    pairs = zip(node.keys, node.values)
    return {str(key.value): value for key, value in pairs if isinstance(key, ast.Constant)}
