"""What PyTorch's source says where it breaks a graph: the texts that its registry leaves out.

The registry is written by a tool that reads a call's arguments where they are plain texts. Here
they are followed further: through names, sums, and lists that grow before the call. What is known
only when it happens stands in braces, as in the registry.
"""

import ast
from pathlib import Path

import torch
from torch._dynamo import graph_break_hints

RAISERS = ("unimplemented", "unimplemented_with_warning")


def calls():
    """(function around it, arguments) of each call that breaks a graph, by the kind of break."""
    found = {}
    for path in sorted((Path(torch.__file__).parent / "_dynamo").rglob("*.py")):
        for around, call in _inside(ast.parse(path.read_text()), None):
            keywords = {word.arg: word.value for word in call.keywords}
            kind = keywords.get("gb_type")
            if isinstance(kind, ast.Constant):
                found.setdefault(kind.value, []).append((around, keywords))
    return found


def _inside(node, around):
    for child in ast.iter_child_nodes(node):
        name = getattr(child, "func", None)
        called = getattr(name, "id", getattr(name, "attr", ""))
        if isinstance(child, ast.Call) and called in RAISERS:
            yield around, child
        yield from _inside(child, child if isinstance(child, ast.FunctionDef) else around)


def _values(name, around, before):
    """What is assigned to a name in the function, before a line."""
    for node in ast.walk(around) if around else ():
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.lineno < before and node.value:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(target, ast.Name) and target.id == name for target in targets):
                yield node.value


def text(node, around):
    """A text as a template: what is not a constant stands in braces."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(text(piece, around) for piece in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return text(node.left, around) + text(node.right, around)
    if isinstance(node, ast.Name):
        values = [text(value, around) for value in _values(node.id, around, node.lineno)]
        said = [value for value in values if value and value[0] != "{"]
        if len(said) < len(values) and "" in values:
            return ""  # an addition that some cases have
        if said:
            return said[0] + f" (Or one of {len(said) - 1} other texts.)" * (len(said) > 1)
    value = node.value if isinstance(node, ast.FormattedValue) else node
    return f"{{{ast.unparse(value)}}}"


def hints(node, around):
    """The hints of a list: its items, those of lists in it, and what is added to it later."""
    if isinstance(node, (ast.List, ast.Tuple)):
        return [hint for item in node.elts for hint in hints(item, around)]
    if isinstance(node, ast.Starred):
        return hints(node.value, around)
    if isinstance(node, ast.Attribute) and hasattr(graph_break_hints, node.attr):
        return list(getattr(graph_break_hints, node.attr))
    if isinstance(node, ast.IfExp):
        return hints(node.body, around) + hints(node.orelse, around)
    if isinstance(node, ast.BinOp):
        return hints(node.left, around) + hints(node.right, around)
    if isinstance(node, ast.Name):
        return _grown(node, around)
    return [text(node, around)]


def _grown(name, around):
    """The hints of a list that has a name, in the order in which the source adds them."""
    added = [(value.lineno, value) for value in _values(name.id, around, name.lineno)]
    for node in ast.walk(around) if around else ():
        grows = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        if grows and node.func.attr in ("append", "extend") and node.lineno < name.lineno:
            if getattr(node.func.value, "id", "") == name.id:
                added.append((node.lineno, node.args[0]))
        if isinstance(node, ast.AugAssign) and getattr(node.target, "id", "") == name.id:
            added.append((node.lineno, node.value))
    ordered = sorted(added, key=lambda each: each[0])
    return [hint for _, value in ordered for hint in hints(value, around)]
