"""Read the Triton kernels of a user that a runnable prints, and make them for Inductor.

PyTorch prints each kernel's text, its configurations, and the constants that it names. The text is
checked as a foreign kernel of Inductor's is, and no function of it is called: Triton reads it.
"""

from __future__ import annotations

import ast
import copy
import linecache
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from tclab.capturing.machine_code import foreign
from tclab.capturing.read.output_code import dotted_name
from tclab.capturing.runnable.values import Mapping as Pairs
from tclab.capturing.runnable.values import Value, read_value, refuse, shown

_TABLE = "torch._higher_order_ops.triton_kernel_wrap.kernel_side_table"
_Config = tuple[dict[str, Value], dict[str, Value]]


@dataclass(frozen=True)
class UserKernels:
    """The functions for Triton by name, the names of those that are launched, in order, the
    constants that they name, as printed, and the arguments by number that the graph leaves out.
    """

    text: str = ""
    functions: dict[str, ast.FunctionDef] = field(default_factory=dict)
    launched: tuple[str, ...] = ()
    constants: dict[str, ast.expr] = field(default_factory=dict)
    arguments: dict[int, ast.expr] = field(default_factory=dict)


def read_user_kernels(module: ast.Module, text: str) -> UserKernels:
    """Return the kernels in the syntax of a runnable with this text. None of them is checked."""
    functions: dict[str, ast.FunctionDef] = {}
    constants: dict[str, ast.expr] = {}
    arguments: dict[int, ast.expr] = {}
    launched: list[str] = []
    for statement in module.body:
        match statement:
            case ast.FunctionDef(name) if statement.decorator_list:
                if name in functions:
                    raise refuse(name, statement, "two functions have this name")
                functions[name] = statement
            case ast.Expr(ast.Call(called, [ast.Name(name)], [])) if (
                dotted_name(called) == f"{_TABLE}.add_kernel"
            ):
                launched.append(name)
            case ast.Assign([target], ast.Dict(keys, values)) if (
                dotted_name(target) == f"{_TABLE}.constant_args"
            ):
                for key, value in zip(keys, values):
                    if isinstance(key, ast.Constant) and isinstance(key.value, int):
                        arguments[key.value] = value
            case ast.Assign([ast.Name(name)], value) if is_constant(value):
                constants[name] = value
    return UserKernels(text, functions, tuple(launched), constants, arguments)


def is_constant(value: ast.expr) -> bool:
    """Return whether a value is a number or a text, or one that is a constant for Triton."""
    match value:
        case ast.Call(ast.Attribute(ast.Name("tl"), "constexpr"), [inner], []):
            return is_constant(inner)
        case ast.UnaryOp(ast.USub(), ast.Constant(int() | float())):
            return True
    return isinstance(value, ast.Constant)


@contextmanager
def registering(
    kernels: UserKernels, calls: Iterable[tuple[int, int]], convert: Callable[[Value], Any]
) -> Iterator[None]:
    """Have the kernels that a graph calls where Inductor looks for them, by the numbers of `calls`:
    that of the kernel, and that of its arguments. Raises CaptureError for a kernel that names
    anything but Triton's operations, and Refused for one that is not there.
    """
    from torch._higher_order_ops.triton_kernel_wrap import kernel_side_table as table

    table.reset_table()
    maker: _Maker | None = None
    try:
        for number, arguments in calls:
            maker = maker or _Maker(kernels)
            if number not in table.id_to_kernel:
                made = maker.make_launched(number)
                table.id_to_kernel[number], table.kernel_to_id[made] = made, number
            if arguments in kernels.arguments:
                read = convert(read_value(kernels.arguments[arguments], ()))
                table.constant_args[arguments] = read
        yield
    finally:
        table.reset_table()


class _Maker:
    """Makes the kernels of a graph, which share the names of their module."""

    def __init__(self, kernels: UserKernels) -> None:
        import triton

        self._kernels = kernels
        self._names: dict[str, Any] = {"tl": triton.language, "__name__": "kernels_of_a_trace"}
        for name, printed in kernels.constants.items():
            number = printed.args[0] if isinstance(printed, ast.Call) else printed
            value = ast.literal_eval(number)
            self._names[name] = value if number is printed else triton.language.constexpr(value)
        self._helpers = {*kernels.functions} - {*kernels.launched}
        for name in kernels.functions:
            if name in self._helpers:
                self._names[name] = self._make(name, name)

    def make_launched(self, number: int) -> Any:
        """Return the kernel with this number, with its configurations if it has some."""
        import triton

        launched = self._kernels.launched
        if not 0 <= number < len(launched) or launched[number] not in self._kernels.functions:
            raise refuse(f"kernel {number}", ast.Constant(None), "it is not in the text")
        name = launched[number]
        kernel = self._make(name, name.removesuffix(f"_{number}"))
        *others, _ = self._kernels.functions[name].decorator_list
        configs = [each for other in others for each in _read_configs(other)]
        if not configs:
            return kernel
        made = [triton.Config(dict(constants), **options) for constants, options in configs]
        return triton.autotune(configs=made, key=[])(kernel)

    def _make(self, name: str, original: str) -> Any:
        """Return a function for Triton, which had the name `original`. Only its line ``def`` runs,
        whose defaults are literals.
        """
        import triton

        function = self._kernels.functions[name]
        operations = foreign.check_function(
            function, self._helpers - {name}, {*self._kernels.constants}, name in self._helpers
        )
        foreign.check_operations(name, operations)
        printed = ast.get_source_segment(self._kernels.text, function) or ""
        text = printed.replace(f"def {name}(", f"def {original}(", 1) + "\n"
        file, found = f"<{name} of the trace>", dict[str, Any]()
        linecache.cache[file] = (len(text), None, text.splitlines(True), file)
        exec(compile(text, file, "exec"), self._names, found)
        made = triton.jit(found[original])
        checked = copy.copy(function)
        checked.decorator_list, checked.name = [], original
        if ast.dump(made.parse()) != ast.dump(ast.Module([checked], [])):
            raise refuse(name, function, "Triton reads another text")
        return made


def _read_configs(decorator: ast.expr) -> Iterator[_Config]:
    """Yield the constants and the options of each configuration that ``triton.autotune`` has."""
    match decorator:
        case ast.Call(called, [], [ast.keyword("configs", ast.List(printed)), *_]) if (
            dotted_name(called) == "triton.autotune"
        ):
            for each in printed:
                match each:
                    case ast.Call(config, [constants], options) if (
                        dotted_name(config) == "triton.Config"
                    ):
                        named = {str(option.arg): option.value for option in options}
                        yield (
                            _read_numbers(constants),
                            {name: read_value(value, ()) for name, value in named.items()},
                        )
                    case _:
                        raise refuse(shown(each), each, "no configuration as PyTorch prints it")
        case _:
            raise refuse(shown(decorator), decorator, "no decorator that PyTorch prints")


def _read_numbers(printed: ast.expr) -> dict[str, Value]:
    value = read_value(printed, ())
    pairs = value.pairs if isinstance(value, Pairs) else (("", value),)
    for name, each in pairs:
        if not isinstance(name, str) or not isinstance(each, (bool, int, float, str, type(None))):
            raise refuse(shown(printed), printed, "no constants of a kernel")
    return {str(name): each for name, each in pairs}
