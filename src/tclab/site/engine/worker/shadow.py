"""Run a snippet as a reader would run it without ``backend=``: the runners of `make shadow`.

Only the claims are judged, since sentences rest on nothing else. Another assert of the module may
be false without ending the run before the last claim.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Callable
from typing import Any

from tclab.site.engine.worker.protocol import JobFile
from tclab.site.snippets import claims, quantifiers

#: PyTorch's backends that run a graph without compiling it.
_WITHOUT_CODE = ("eager", "aot_eager", "aot_eager_decomp_partition")

#: Modules of backends that compile by themselves: those of ``aot_autograd``, and a capture's for a
#: GPU.
_OWN_COMPILERS = ("torch._dynamo.backends.", f"{__package__.partition('.')[0]}.")


def run_claims(tree: ast.Module, job: JobFile, main: dict[str, Any]) -> None:
    """Execute the file to its last claim."""
    _ClaimsOnly().visit(tree)
    exec(claims.compile_tree(tree, job["file"]), main)


def run_with_inductor(tree: ast.Module, job: JobFile, main: dict[str, Any]) -> None:
    """Execute the file like `run_claims`, but compile with Inductor in place of the file's
    backends.
    """
    import torch

    ordinary = torch.compile
    replace = _Replacement()

    @functools.wraps(ordinary)
    def compile_as_reader(*args: Any, backend: Any = "inductor", **options: Any) -> Any:
        return ordinary(*args, backend=replace(backend), **options)

    torch.compile = compile_as_reader
    run_claims(tree, job, main)


class _ClaimsOnly(ast.NodeTransformer):
    """Catches the errors of a module's asserts that are in no block of the register."""

    def visit(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.With(items=[ast.withitem(ast.Call(func=ast.Name(id=quantifiers.REGISTER)))]):
                return node
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return node  # Dynamo may trace an assert of a function, which is then compiled, too
            case ast.Assert():
                caught = ast.ExceptHandler(
                    ast.Name("AssertionError", ast.Load()), None, [ast.Pass()]
                )
                guarded = ast.Try([node], [caught], [], [])
                return ast.fix_missing_locations(ast.copy_location(guarded, node))
        return self.generic_visit(node)


class _Replacement:
    """Returns the replacement for a backend: Inductor, or a callable with Inductor below it."""

    def __init__(self) -> None:
        # PyTorch compares backends when it looks for compiled code, so each backend has one
        # replacement. Keep the backend, too, so that no other object gets its id().
        self._made: dict[int, tuple[object, object]] = {}

    def __call__(self, backend: Any) -> Any:
        if isinstance(backend, str):
            return "inductor" if backend in _WITHOUT_CODE else backend
        if not callable(backend) or str(backend.__module__).startswith(_OWN_COMPILERS):
            return backend
        made = self._made.setdefault(id(backend), (backend, _AboveInductor(backend)))
        return made[1]


class _AboveInductor:
    """Wraps a backend: when the backend runs its graph, the code that Inductor made for it runs
    instead.

    A class, since a module that is pickled has its backend with it.
    """

    def __init__(self, backend: Callable[..., Any]) -> None:
        self.backend = backend

    def __call__(self, graph: Any, inputs: Any, **options: Any) -> Any:
        import torch

        # Inductor's passes change a graph that the backend may look at.
        same = torch.fx.GraphModule(graph, copy.deepcopy(graph.graph))
        graph.forward = torch._inductor.compile(same, inputs)
        return self.backend(graph, inputs, **options)
