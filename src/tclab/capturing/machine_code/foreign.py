"""Check that a kernel's source from a foreign file is no more than a Triton kernel of Inductor's.

A trace can come from anyone, and a kernel can only be compiled if its module is loaded. So the
module may only consist of what Inductor writes: its imports, a heuristic whose arguments are
literals, and functions for Triton. Python calls none of the functions, since Triton compiles their
text. Meanwhile Triton calls what the text names, so each name must be a value of the kernel,
or an operation of Triton's. Triton searches the file for the text by a pattern, and evaluates the
types of the arguments. So before the compile, the loaded functions must be those that were checked,
and their types must be plain. This is no sandbox: Triton works out the constants of a kernel, and
Triton, LLVM and ptxas read text from the file.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Collection, Container
from typing import Any

from tclab.capturing.read.output_code import dotted_name
from tclab.capturing.torch_private import autotuners
from tclab.errors import CaptureError

_HINTS = "torch._inductor.runtime.hints"
#: The names that Inductor imports in a kernel's file → where they come from.
_IMPORTS = {
    "triton": "triton",
    "tl": "triton.language",
    "triton_helpers": "torch._inductor.runtime.triton_helpers",
    "triton_heuristics": "torch._inductor.runtime.triton_heuristics",
    "libdevice": "torch._inductor.runtime.triton_helpers.libdevice",
    "tl_math": "torch._inductor.runtime.triton_helpers.math",
    **{name: f"{_HINTS}.{name}"
       for name in ("AutotuneHint", "ReductionHint", "TileHint", "DeviceProperties")},
}  # fmt: skip
#: The modules whose operations a kernel may call.
OPERATIONS = ("tl", "triton_helpers", "libdevice", "tl_math")
#: Operations that read files, print, or pass text to an assembler.
_REFUSED = frozenset({"inline_asm_elementwise", "extern_elementwise", "static_print", "call"})
_HEURISTICS = frozenset({
    *("pointwise", "reduction", "persistent_reduction", "cooperative_reduction", "split_scan"),
    "template",
})  # fmt: skip
_ENUMS = ("AutotuneHint", "ReductionHint", "TileHint")
#: Python's own functions that Triton knows, and the attributes of a kernel's values.
_BUILTINS = frozenset({"range", "float", "int", "bool", "min", "max", "abs"})
_ATTRIBUTES = frozenset({
    *("to", "shape", "dtype", "T", "reshape", "view", "broadcast_to", "expand_dims", "sum"),
})  # fmt: skip
_STATEMENTS = (ast.Assign, ast.AugAssign, ast.AnnAssign, ast.Expr, ast.If, ast.For, ast.Pass,
               ast.Return)  # fmt: skip
_EXPRESSIONS = (ast.Name, ast.Constant, ast.BinOp, ast.UnaryOp, ast.BoolOp, ast.Compare, ast.IfExp,
                ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Call, ast.Attribute)  # fmt: skip
#: The most characters of a kernel's file. The longest that Inductor writes have a tenth of it.
_MOST_CHARACTERS = 500_000
# *fp32
# tensordesc<fp16[64, 64]>
_TYPE = re.compile(r"\*{0,2}k?[a-z]+\d*\w*|tensordesc<\w+\[\d+(?:, ?\d+)*\]>", re.ASCII)
_PARTS = (ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.keyword)


def check_source(name: str, source: str) -> list[tuple[str, str]]:
    """Return the operations of Triton that a kernel's source names, as (module, operation). Raises
    CaptureError for a source that has anything but one kernel of Inductor's with this name.
    """
    checker = _Checker(name)
    if len(source) > _MOST_CHARACTERS:
        raise checker.refuse("it is longer than a kernel of Inductor's")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(source.encode()).readline)
        # Python reads a file in the encoding that the file names, but not a text
        if not source.isascii() or encoding != "utf-8":
            raise checker.refuse("its text is not plain")
        checker.check(ast.parse(source))
    except (SyntaxError, RecursionError, MemoryError, ValueError) as error:
        raise checker.refuse("it is not Python") from error
    return checker.operations


def check_function(
    function: ast.FunctionDef, helpers: set[str], constants: set[str], is_helper: bool
) -> list[tuple[str, str]]:
    """Return the operations of Triton that a function of a user's names, as `check_source`. It may
    call `helpers` and name `constants`. Its decorators, of which the last is ``triton.jit``, are
    not checked. Raises CaptureError for one that has anything else.
    """
    checker = _Checker(function.name, helpers, constants)
    checker.check_names([function.name, *helpers, *constants])
    if ast.unparse(function.decorator_list[-1]) != "triton.jit":
        raise checker.refuse("a function is not for Triton", function)
    checker.check_text(function, is_helper)
    for module, operation in checker.operations:
        if module != "tl":
            raise checker.refuse(f"it names {module}.{operation}")
    return checker.operations


class _Checker:
    def __init__(
        self, name: str, helpers: Collection[str] = (), constants: Collection[str] = ()
    ) -> None:
        self.name = name
        self.operations: list[tuple[str, str]] = []
        self.helpers, self.constants = {*helpers}, {*constants}

    def refuse(self, cause: str, node: ast.AST | None = None) -> CaptureError:
        line = getattr(node, "lineno", None)
        place = f"kernel {self.name}" + (f", line {line} of its source" if line else "")
        step = "the kernel's text is on the page; its instructions are in a capture on the GPU"
        return CaptureError(place, f"not compiled, since {cause}", step)

    def check(self, tree: ast.Module) -> None:
        functions = [each for each in tree.body if isinstance(each, ast.FunctionDef)]
        self.helpers = {each.name for each in functions} - {self.name}
        names = [each.name for each in functions]
        if names.count(self.name) != 1 or len({*names}) != len(names):
            raise self.refuse("it does not define one function of each name")
        self.check_names(names)
        for statement in tree.body:
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                self._check_import(statement)
            elif isinstance(statement, ast.FunctionDef):
                self._check_function(statement)
            elif ast.unparse(statement) != "triton_helpers.set_driver_to_gpu()":
                raise self.refuse("it has a statement that Inductor does not write", statement)

    def check_names(self, names: Collection[str]) -> None:
        """Raise CaptureError for a name that is Python's or Triton's."""
        if {*names} & {*_IMPORTS, *_BUILTINS, "set"} or any(n.startswith("__") for n in names):
            raise self.refuse("a function replaces a name of Python's or Triton's")

    def _check_import(self, statement: ast.Import | ast.ImportFrom) -> None:
        for alias in statement.names:
            module = getattr(statement, "module", None)
            path = f"{module}.{alias.name}" if module else alias.name
            if getattr(statement, "level", 0) or _IMPORTS.get(alias.asname or alias.name) != path:
                raise self.refuse(f"it imports {path}", statement)

    # ------------------------------------------------------------------------ decorators

    def _check_function(self, function: ast.FunctionDef) -> None:
        if not function.decorator_list or ast.unparse(function.decorator_list[-1]) != "triton.jit":
            raise self.refuse("a function is not for Triton", function)
        heuristics = function.decorator_list[:-1]
        if len(heuristics) != (function.name == self.name):
            raise self.refuse("it has not one heuristic", function)
        for call in heuristics:
            self._check_heuristic(call)
        self.check_text(function, function.name != self.name)

    def check_text(self, function: ast.FunctionDef, is_helper: bool) -> None:
        """Check the parameters and the body of a function; only a helper returns a value."""
        if getattr(function, "type_params", ()):
            raise self.refuse("a function has type parameters", function)
        arguments = function.args
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        defaults = [*arguments.defaults, *filter(None, arguments.kw_defaults)]
        if arguments.vararg or arguments.kwarg or not all(map(_is_constant, defaults)):
            raise self.refuse("a parameter has a default", function)
        annotations = [each.annotation for each in every if each.annotation]
        if function.returns or any(ast.unparse(each) != "tl.constexpr" for each in annotations):
            raise self.refuse("a parameter has an annotation", function)
        self._check_body(function, {each.arg for each in every}, is_helper)

    def _check_heuristic(self, call: ast.expr) -> None:
        known = {f"triton_heuristics.{heuristic}" for heuristic in _HEURISTICS}
        if not isinstance(call, ast.Call) or dotted_name(call.func) not in known:
            raise self.refuse("its heuristic is not known", call)
        if call.args or any(keyword.arg is None for keyword in call.keywords):
            raise self.refuse("its heuristic has arguments that are no literals", call)
        for keyword in call.keywords:
            if keyword.arg != "filename":
                self._check_literal(keyword.value)
            elif dotted_name(keyword.value) != "__file__":
                raise self.refuse("its heuristic names a file", call)

    def _check_literal(self, value: ast.expr) -> None:
        if isinstance(value, ast.Constant):
            return
        called = dotted_name(value.func) if isinstance(value, ast.Call) else ""
        if isinstance(value, (ast.Tuple, ast.List, ast.Set)):
            inner: list[ast.expr | None] = [*value.elts]
        elif isinstance(value, ast.Dict):
            inner = [*value.keys, *value.values]
        elif isinstance(value, ast.UnaryOp) and isinstance(value.op, ast.USub):
            inner = [value.operand]
        elif isinstance(value, ast.Call) and called in ("DeviceProperties", "set"):
            named = all(keyword.arg for keyword in value.keywords) and not value.args
            inner = [keyword.value for keyword in value.keywords] if named else [None]
            inner += [None] if called == "set" and inner else []
        elif isinstance(value, ast.Attribute) and dotted_name(value.value) in _ENUMS:
            inner = [] if value.attr.isupper() else [None]
        else:
            inner = [None]
        for each in inner:
            if each is None:
                raise self.refuse("its heuristic has arguments that are no literals", value)
            self._check_literal(each)

    # ------------------------------------------------------------------------------ body

    def _check_body(self, function: ast.FunctionDef, arguments: set[str], is_helper: bool) -> None:
        nodes = [node for statement in function.body for node in ast.walk(statement)]
        stored = {n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        reserved = {*_IMPORTS, *_BUILTINS, *self.helpers, *self.constants}
        if taken := (stored | arguments) & reserved:
            raise self.refuse(f"it assigns to {taken.pop()}", function)
        owners = {id(node.value) for node in nodes if isinstance(node, ast.Attribute)}
        for node in nodes:
            if not isinstance(node, (*_STATEMENTS, *_EXPRESSIONS, *_PARTS)):
                raise self.refuse(f"it has a {type(node).__name__}", node)
            if isinstance(node, ast.keyword) and node.arg is None:
                raise self.refuse("it calls with arguments that are not written")
            if isinstance(node, ast.Return) and not is_helper and node.value:
                raise self.refuse("the kernel returns a value", node)
            if isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation) != "tl.constexpr":
                raise self.refuse("a value has an annotation", node)
            if isinstance(node, ast.Attribute):
                self._check_attribute(node)
            elif isinstance(node, ast.Name) and not (id(node) in owners and node.id in OPERATIONS):
                self._check_name(node, stored | arguments)
            elif isinstance(node, ast.Call):
                self._check_call(node)

    def _check_attribute(self, node: ast.Attribute) -> None:
        module = node.value.id if isinstance(node.value, ast.Name) else ""
        if module in OPERATIONS:
            if node.attr.startswith("_") or node.attr in _REFUSED:
                raise self.refuse(f"it names {module}.{node.attr}", node)
            self.operations.append((module, node.attr))
        elif module in _IMPORTS or node.attr not in _ATTRIBUTES:
            raise self.refuse(f"it names .{node.attr}", node)

    def _check_name(self, node: ast.Name, local: Container[str]) -> None:
        if node.id not in local and node.id not in (*_BUILTINS, *self.helpers, *self.constants):
            raise self.refuse(f"it names {node.id}", node)

    def _check_call(self, call: ast.Call) -> None:
        """Refuse a call of a value; that of an attribute or of a name is checked there."""
        callee = call.func
        is_named = isinstance(callee, ast.Name) and callee.id in (*_BUILTINS, *self.helpers)
        if not is_named and not isinstance(callee, ast.Attribute):
            raise self.refuse("it calls a value", call)
        if any(isinstance(each, ast.Starred) for each in call.args):
            raise self.refuse("it calls with arguments that are not written", call)


def _is_constant(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant)


def check_operations(name: str, operations: list[tuple[str, str]]) -> None:
    """Check that each operation that a kernel names is one of Triton's in this installation. Raises
    CaptureError for any other function.
    """
    modules = autotuners.operation_modules()
    for module, operation in operations:
        if not autotuners.is_operation(getattr(modules[module], operation, None)):
            raise _Checker(name).refuse(f"{module}.{operation} is no operation of Triton's")


def check_loaded(name: str, source: str, autotuner: Any, arch: int) -> None:
    """Check what Triton compiles for a checked source that was loaded: its functions' text, the
    types of its arguments, and its GPU, which must have the compute capability `arch`. Raises
    CaptureError for anything else.
    """
    checker = _Checker(name)
    for function in ast.parse(source).body:
        if isinstance(function, ast.FunctionDef):
            function.decorator_list = []  # Triton leaves them out
            try:
                loaded = autotuners.parse_function(autotuner, function.name)
            except (SyntaxError, AssertionError, KeyError, ValueError, RecursionError) as error:
                raise checker.refuse(f"Triton cannot read {function.name}") from error
            if ast.dump(loaded) != ast.dump(ast.Module([function], [])):
                raise checker.refuse(f"Triton reads another text of {function.name}")
    types = autotuners.argument_types(autotuner)
    if not all(isinstance(each, str) and _TYPE.fullmatch(each) for each in types):
        raise checker.refuse("an argument has a type that Triton does not write")
    kind, capability = autotuners.device_type_and_capability(autotuner)
    if kind != "cuda" or type(capability) is not int or capability != arch:
        raise checker.refuse("it was not made for this GPU")
