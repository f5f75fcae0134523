"""Find the objects that the reader's own code compiled with `torch.compile` and that a call can
reach, and summarize their compiles in a run.
"""

from __future__ import annotations

import ast
import dis
import inspect
import linecache
import types
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tclab.explain.load import shorten_path
from tclab.explain.seeds import seeded
from tclab.explain.uncalled import CompileCall, find_running_original
from tclab.findings.breaks import LIMIT
from tclab.model import OwnCompiles, SourceLine
from tclab.text import spans, user_lines

if TYPE_CHECKING:
    from tclab.capturing import Capture

#: The reason why no frame was compiled, if nothing is wrong with the compiled objects.
NONE_REACHED = "a call reaches none of the compiled objects"
GENERATOR = "generator or a coroutine"
OTHER_METHOD = "a compiled module has a compiled `forward` and no other compiled method"
_SUSPENDED = inspect.CO_GENERATOR | inspect.CO_COROUTINE | inspect.CO_ASYNC_GENERATOR
#: The most objects to visit. A call of a large model can reach this many.
_MOST_OBJECTS = 50_000
_LEAVES = (str, bytes, int, float, complex, bool, type(None), type, types.ModuleType)
_GLOBAL = ("LOAD_GLOBAL", "LOAD_NAME")
_CONTAINERS: tuple[Any, ...] = (list, tuple, set, frozenset)


@dataclass(frozen=True)
class ReachableCompiles:
    """The compiled objects that a call can reach; `compiles` says whether the code itself calls
    torch.compile. `compile_calls` are the calls of torch.compile at import whose originals a call
    of the function can reach.
    """

    objects: tuple[Any, ...] = ()
    compiles: bool = False
    compile_calls: tuple[CompileCall, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.objects) or self.compiles or bool(self.compile_calls)


NOTHING = ReachableCompiles()


def find(value: object, compile_calls: Iterable[CompileCall] = ()) -> ReachableCompiles:
    """Visit the objects that a call of `value` can reach (attributes, elements, closures and named
    globals) and return the compiled ones. A call in `compile_calls` also counts if the object that
    it compiled is reached, unless `value` is a part of this object, because then the file compiles
    more than `value`.
    """
    objects: list[object] = []
    compiles = False
    reached = list(_reachable_objects(value))
    for each in reached:
        if is_compiled(each):
            objects.append(each)
        elif isinstance(each, types.FunctionType):
            compiles = compiles or _calls_compile(each)
    idents = set(map(id, reached))
    part = id(getattr(value, "__func__", value))
    kept = (m for m in compile_calls if id(getattr(m.original, "__self__", m.original)) in idents)
    return ReachableCompiles(
        tuple(objects),
        compiles,
        tuple(m for m in kept if part not in map(id, _reachable_objects(m.original))),
    )


def is_compiled(value: object) -> bool:
    """Return whether torch.compile made this object, or `Module.compile` was called on it."""
    inside = getattr(value, "__dict__", None)
    if not isinstance(inside, dict) or inside.get("_torchdynamo_disable"):
        return False
    marks = ("_torchdynamo_orig_callable", "_compiled_call_impl")
    # an attribute `_orig_mod` outside of _modules is a note of a library, such as accelerate
    return any(inside.get(mark) is not None for mark in marks) or "_orig_mod" in inside.get(
        "_modules", ()
    )


def _calls_compile(function: types.FunctionType) -> bool:
    """Return whether the user's code calls a ``compile`` other than re.compile."""
    code = function.__code__
    if user_lines.is_installed(code.co_filename):
        return False
    return "compile" in code.co_names and "re" not in code.co_names


def _reachable_objects(value: object) -> Iterator[object]:
    """Yield each object that a call of `value` can reach, once."""
    seen: set[int] = set()
    waiting = [value]
    while waiting and len(seen) < _MOST_OBJECTS:
        each = waiting.pop()
        if id(each) in seen or isinstance(each, _LEAVES):
            continue
        seen.add(id(each))
        yield each
        waiting += _list_parts(each)


def _list_parts(value: Any) -> list[object]:
    if isinstance(value, dict):
        return list(dict.values(value))
    for container in _CONTAINERS:
        # call the base class's __iter__, because that of a subclass in the user's code may run any
        # code
        if isinstance(value, container):
            return list(container.__iter__(value))
    if isinstance(value, types.MethodType):
        return [value.__func__, value.__self__]
    if isinstance(value, types.FunctionType):
        return _objects_of_function(value)
    inside = getattr(value, "__dict__", None)
    if not isinstance(inside, dict):
        return []
    if is_compiled(value):  # the original may contain compiled parts, too
        inner = inside.get("_torchdynamo_orig_callable")
        return [inner, *inside.get("_modules", {}).values()]
    return [*inside.values(), *_list_methods(type(value))]


def _objects_of_function(function: types.FunctionType) -> list[object]:
    """Return the objects in a function's closure and, for a function in the user's code, the
    globals that it names.
    """
    if inner := function.__dict__.get("_torchdynamo_orig_callable"):
        return [inner]
    cells = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    if not user_lines.is_user_file(function.__code__.co_filename):
        return cells
    # co_names has attributes as well, which can be called like a global
    names = dict.fromkeys(i.argval for i in dis.get_instructions(function) if i.opname in _GLOBAL)
    named = function.__globals__
    return [*cells, *(named[name] for name in names if name in named)]


def _is_filled(cell: types.CellType) -> bool:
    try:
        return cell.cell_contents is not None
    except ValueError:
        return False


def _list_methods(kind: type) -> Iterator[object]:
    """Yield the methods of those base classes that are defined in the user's code."""
    for base in kind.__mro__:
        functions = (v for v in vars(base).values() if isinstance(v, types.FunctionType))
        yield from (f for f in functions if user_lines.is_user_file(f.__code__.co_filename))


# --------------------------------------------------------------------------- after the run


def summarize(
    capture: Capture,
    subject: Callable[..., object],
    reachable: ReachableCompiles,
    call: Callable[[], object],
) -> OwnCompiles:
    """Summarize the run of the compiled objects, with those that the run itself compiled; `call`
    makes the first call again.
    """
    from tclab.capturing.read.frames import failed_compiles
    from tclab.capturing.trace import names

    results = [each.result for each in reachable.compile_calls]
    every = (*reachable.objects, *results, *find(subject).objects)
    objects = {id(each): each for each in every}
    tried = {event.compile_id for event in capture.trace.select(names.METRICS)}
    limits = [name_around(item.location) for item in capture.breaks if item.gb_id == LIMIT]
    return OwnCompiles(
        objects=len(objects),
        frames=len(tried),
        ok=len(tried - failed_compiles(capture.trace)),
        limits=tuple(dict.fromkeys(limits)),
        cause="" if tried else _explain_none(subject, reachable, call),
    )


def name_around(place: SourceLine | None) -> str:
    """Return the qualified name of the function around a line, ``Layer.forward``; without source,
    its bare name.
    """
    from tclab.explain import source

    if place is None:
        return ""
    text = "".join(linecache.getlines(source.files().get(place.file, "")))
    return (
        next((span.name for span in spans.enclosing_functions(text, [place.line])), "")
        or place.function
    )


def _explain_none(
    subject: Callable[..., object], reachable: ReachableCompiles, call: Callable[[], object]
) -> str:
    """Return the reason why no frame of the user's compiled objects was compiled."""
    import torch

    from tclab.capturing.torch_private import compiler

    if compiler.is_disabled():
        return "TorchDynamo is disabled (torch._dynamo.config.disable, TORCHDYNAMO_DISABLE)"
    for each in _reachable_objects(subject):
        if isinstance(each, torch.nn.Module) and (bound := bound_elsewhere(each)):
            return f"`forward` is bound to another object ({_find_assignment(bound)})"
    return (
        _describe_generator(reachable)
        or _describe_running_original(reachable, call)
        or NONE_REACHED
    )


def _describe_generator(reachable: ReachableCompiles) -> str:
    """Return the cause that a compiled function is a generator, with its line; '' if none is."""
    for each in reachable.objects:
        function = getattr(find_original(each), "__func__", find_original(each))
        if isinstance(function, types.FunctionType) and function.__code__.co_flags & _SUSPENDED:
            code = function.__code__
            place = f"{shorten_path(code.co_filename)}:{code.co_firstlineno}"
            return (
                f"`{code.co_name}` ({place}) is a {GENERATOR}, whose frame Dynamo leaves to Python"
            )
    return ""


def _describe_running_original(reachable: ReachableCompiles, call: Callable[[], object]) -> str:
    """Return the uncompiled original, or another method of it, that runs in place of its compiled
    form, and where it is called; '' if there is none.
    """
    recorded = {id(each.result) for each in reachable.compile_calls}
    others = (
        CompileCall(original, each)
        for each in reachable.objects
        if id(each) not in recorded and (original := find_original(each)) is not None
    )
    with seeded():
        found = find_running_original(call, (*reachable.compile_calls, *others))
    if found is None:
        return ""
    compiled, place = found.compiled, found.place
    if found.method:
        return f"`{found.method}` is called at {place}; {OTHER_METHOD}"
    where = f" ({compiled.place})" if compiled.place else ""
    if compiled.is_in_place:
        return (
            f"the uncompiled `{compiled.name}.forward` is called at {place}; Module.compile{where} "
            "changes the call of the module, and not its forward"
        )
    return (
        f"the uncompiled `{compiled.name}` is called at {place}; what torch.compile made of it"
        f"{where} is not"
    )


def find_original(compiled: Any) -> Any:
    """Return the object to which torch.compile was applied; for Module.compile return the module
    itself.
    """
    inside = vars(compiled)
    inner = inside.get("_torchdynamo_orig_callable")
    return inner if inner is not None else inside.get("_modules", {}).get("_orig_mod", compiled)


def bound_elsewhere(module: Any) -> types.MethodType | None:
    """Return the module's `forward` attribute if it is bound to another object, else None."""
    forward = vars(module).get("forward")
    if isinstance(forward, types.MethodType) and forward.__self__ is not module:
        return forward
    return None


def _find_assignment(forward: types.MethodType) -> str:
    """Return the line where the file assigns to a `forward` attribute; if there is none, the line
    of the function.
    """
    code = forward.__func__.__code__
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except SyntaxError:
        tree = ast.Module([], [])
    lines = [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and any(isinstance(t, ast.Attribute) and t.attr == "forward" for t in node.targets)
    ]
    return f"{shorten_path(code.co_filename)}:{lines[-1] if lines else code.co_firstlineno}"
