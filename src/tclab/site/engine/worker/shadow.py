"""Run a snippet as a reader would run it without ``backend=``. `make shadow` uses these runners.

Only the claims are judged, because only they prove sentences. If another assert of the module is
false, the run still goes on to the last claim.
"""

from __future__ import annotations

import ast
import copy
import functools
from collections.abc import Callable
from typing import Any

from tclab.site.engine.worker.protocol import JobFile
from tclab.site.snippets import claims, quantifiers

#: PyTorch's backends that run a graph without compiling code for it.
_BACKENDS_WITHOUT_CODE = ("eager", "aot_eager", "aot_eager_decomp_partition")

#: Modules of backends that compile code themselves: the ``aot_autograd`` backends, and a capture's
#: backend for a GPU.
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
    """Rewrites a module so that it catches the error of each assert outside of the register's
    blocks.
    """

    def visit(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.With(items=[ast.withitem(ast.Call(func=ast.Name(id=quantifiers.REGISTER)))]):
                return node
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                return node  # keep asserts in functions, because Dynamo may trace and compile them
            case ast.Assert():
                caught = ast.ExceptHandler(
                    ast.Name("AssertionError", ast.Load()), None, [ast.Pass()]
                )
                guarded = ast.Try([node], [caught], [], [])
                return ast.fix_missing_locations(ast.copy_location(guarded, node))
        return self.generic_visit(node)


class _Replacement:
    """Returns the replacement for a backend: Inductor itself, or a wrapper in which Inductor
    compiles the graph that the backend runs.
    """

    def __init__(self) -> None:
        # PyTorch compares backends when it looks for compiled code, so each backend has one
        # replacement. Keep the backend, too, so that no other object gets its id().
        self._made: dict[int, tuple[object, object]] = {}

    def __call__(self, backend: Any) -> Any:
        if isinstance(backend, str):
            return "inductor" if backend in _BACKENDS_WITHOUT_CODE else backend
        if not callable(backend) or str(backend.__module__).startswith(_OWN_COMPILERS):
            return backend
        made = self._made.setdefault(id(backend), (backend, _AboveInductor(backend)))
        return made[1]


class _AboveInductor:
    """Wraps a backend. When the backend runs its graph, the code that Inductor compiled for the
    graph runs instead.

    This is a class, because a module is pickled together with its backend.
    """

    def __init__(self, backend: Callable[..., Any]) -> None:
        self.backend = backend

    def __call__(self, graph: Any, inputs: Any, **options: Any) -> Any:
        import torch

        # Compile a copy, because Inductor's passes change the graph, and the backend may look at
        # it.
        same = torch.fx.GraphModule(graph, copy.deepcopy(graph.graph))
        graph.forward = torch._inductor.compile(same, inputs)
        return self.backend(graph, inputs, **options)
