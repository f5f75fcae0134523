"""Rewrite lines of the reader's file whose compiled results differ from eager's."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from tclab.explain.trials.remedy import Remedy
from tclab.explain.trials.rewrites import indent_like, parse_file, replace_expression

#: At most this number of rewritten lines are tried.
_MOST_LINES = 4
_CACHES = ("lru_cache", "cache")
_TRANSFORMS = ("grad", "grad_and_value", "vjp", "jvp", "jacrev", "jacfwd", "hessian")
#: The names of functions that return True while code is compiled.
_QUESTIONS = ("is_compiling", "is_dynamo_compiling", "is_torchdynamo_compiling")
#: The names of transforms that take the values together with the function, instead of returning a
#: function.
_IMMEDIATE_TRANSFORMS = ("vjp", "jvp")


def list_rewrites(text: str, first: int = 0) -> list[Remedy]:
    """Return the replacements to try for lines of a file, the nearest to line `first` first."""
    lines, tree = text.splitlines(), parse_file(text)
    every = [
        *_remove_caches(tree, lines),
        *_rewrite_transforms(tree, lines),
        *_rewrite_shifts(tree, lines),
        *_remove_questions(tree, lines),
        *_disable_torch_function(tree, lines),
    ]
    every.sort(key=lambda remedy: min(abs(line - first) for line in remedy.lines))
    return every[:_MOST_LINES]


# --------------------------------------------------------------------------- functools


def _remove_caches(tree: ast.Module, lines: Sequence[str]) -> Iterator[Remedy]:
    """Yield a remedy for a function with a functools cache, because compiled code ignores the
    cache.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            for decorator in filter(_is_cache, node.decorator_list):
                at, name = decorator.lineno, ast.unparse(decorator).split("(")[0]
                line = lines[at - 1]
                yield _make_remedy(
                    f"compiled code ignores {name} (line {at}) and runs {node.name} in every call; "
                    f"call {node.name} outside and "
                    "pass its result (not tried), or put @torch.compiler.disable above it",
                    at, f"{indent_like('@torch.compiler.disable', line)}\n{line}",
                )  # fmt: skip
        elif isinstance(node, ast.Assign) and _is_in_one_line(node) and _is_cache(node.value):
            at, made = node.lineno, ast.unparse(node.value)
            code = f"{ast.unparse(node.targets[0])} = torch.compiler.disable({made})"
            said = f"compiled code ignores what functools keeps; write {code} (line {at})"
            yield _make_remedy(said, at, indent_like(code, lines[at - 1]))


def _is_in_one_line(node: ast.stmt | ast.expr) -> bool:
    return node.lineno == node.end_lineno


def _is_cache(node: ast.expr) -> bool:
    """Return whether a decorator or a call is ``functools.cache`` or
    ``lru_cache(maxsize=None)``.
    """
    while isinstance(node, ast.Call):
        node = node.func
    return _last_name(node) in _CACHES


def _last_name(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


# --------------------------------------------------------------------------- torch.func


def _rewrite_transforms(tree: ast.Module, lines: Sequence[str]) -> Iterator[Remedy]:
    """Yield a remedy for a transform of torch.func if the file defines a backward of its own,
    because the compiled transform ignores that backward.
    """
    owners = [node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)
              and any(_last_name(base) == "Function" for base in node.bases)]  # fmt: skip
    if not owners:
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _is_transform(node.func) and _is_in_one_line(node):
            yield from _remove_transform(tree, node, owners, lines)


def _is_transform(function: ast.expr) -> bool:
    return _last_name(function) in _TRANSFORMS and "autograd" not in ast.unparse(function)


def _remove_transform(
    tree: ast.Module, transform: ast.Call, owners: Sequence[str], lines: Sequence[str]
) -> Iterator[Remedy]:
    at, name = transform.lineno, ast.unparse(transform.func)
    cause = (
        f"compiled, {name} (line {at}) leaves the backward of {', '.join(owners)} out and "
        "differentiates its forward"
    )
    calls = (n for n in ast.walk(tree) if isinstance(n, ast.Call) and n.func is transform)
    if _last_name(transform.func) == "grad" and len(transform.args) == 1 and not transform.keywords:
        for call in calls:
            if len(call.args) == 1 and not call.keywords and call.end_lineno == at:
                x, function = ast.unparse(call.args[0]), ast.unparse(transform.args[0])
                new = (
                    f"(lambda x: torch.autograd.grad({function}(x), x)[0])"
                    f"({x}.detach().requires_grad_())"
                )
                said = f"{cause}; use torch.autograd.grad in its place: {new}"
                yield _make_remedy(said, at, replace_expression(lines[at - 1], call, new))
    # vjp(function, *primals) differentiates at once; grad(function) returns a function
    left_out = transform.func if _last_name(transform.func) in _IMMEDIATE_TRANSFORMS else transform
    new = f"torch.compiler.disable({ast.unparse(left_out)})"
    yield _make_remedy(
        f"{cause}; leave it out of the compile: {new}",
        at,
        replace_expression(lines[at - 1], left_out, new),
    )


# --------------------------------------------------------------------------- is_compiling


def _remove_questions(tree: ast.Module, lines: Sequence[str]) -> Iterator[Remedy]:
    """Yield a remedy for ``if torch.compiler.is_compiling():``, whose answer is part of the
    compiled code.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and _last_name(node.func) in _QUESTIONS:
            at, asked = node.lineno, ast.unparse(node)
            if _is_in_one_line(node):
                yield _make_remedy(
                    f"{asked} is True while the code is compiled (line {at}), so compiled code has "
                    "that branch alone, in every call; without the question",
                    at, replace_expression(lines[at - 1], node, "False"),
                )  # fmt: skip


# --------------------------------------------------------------------------- subclasses


def _disable_torch_function(tree: ast.Module, lines: Sequence[str]) -> Iterator[Remedy]:
    """Yield a remedy for a subclass of Tensor: Dynamo traces its ``__torch_function__``, and what
    that computes can have another class than in Python.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name == "__torch_function__":
            at, line = node.lineno, lines[node.lineno - 1]
            yield _make_remedy(
                f"compiled, __torch_function__ (line {at}) gives other results than in Python; "
                "put @torch.compiler.disable directly above it",
                at, f"{indent_like('@torch.compiler.disable', line)}\n{line}",
            )  # fmt: skip


# --------------------------------------------------------------------------- in place


def _rewrite_shifts(tree: ast.Module, lines: Sequence[str]) -> Iterator[Remedy]:
    """Rewrite ``rows[1:] = rows[:-1].clone()``, which writes a slice from the tensor itself."""
    for target, value in _written_slices(tree):
        if ast.unparse(target.value) in ast.unparse(value) and (
            code := _join_slices(target, value)
        ):
            at = target.lineno
            said = f"write it out of place (line {at}): {code}"
            yield _make_remedy(said, at, indent_like(code, lines[at - 1]))


def _written_slices(tree: ast.Module) -> Iterator[tuple[ast.Subscript, ast.expr]]:
    """Yield the targets and values of ``rows[1:] = new`` and ``rows[1:].copy_(new)``."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Subscript() as target], value=value):
                pass
            case ast.Expr(value=ast.Call(
                func=ast.Attribute(value=ast.Subscript() as target, attr="copy_"), args=[value]
            )):  # fmt: skip
                pass
            case _:
                continue
        if _is_in_one_line(node):
            yield target, value


def _join_slices(target: ast.Subscript, value: ast.expr) -> str:
    """Return the out-of-place form of a write to a slice: ``rows.copy_(torch.cat((rows[:1], new),
    0))``. Return '' if more than one slice has bounds.
    """
    parts = target.slice.elts if isinstance(target.slice, ast.Tuple) else [target.slice]
    slices = [part for part in parts if isinstance(part, ast.Slice) and part.step is None]
    bounded = [n for n, part in enumerate(slices) if part.lower or part.upper]
    if len(slices) < len(parts) or len(bounded) != 1:
        return ""
    dim, what = bounded[0], ast.unparse(target.value)
    part, before = slices[dim], ":, " * dim
    pieces = [
        f"{what}[{before}:{ast.unparse(part.lower)}]" if part.lower else "",
        ast.unparse(value),
        f"{what}[{before}{ast.unparse(part.upper)}:]" if part.upper else "",
    ]
    return f"{what}.copy_(torch.cat(({', '.join(filter(None, pieces))}), {dim}))"


def _make_remedy(description: str, line: int, code: str) -> Remedy:
    return Remedy(description, lines={line: code}, backend="inductor", compared=True)
