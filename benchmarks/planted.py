"""Plant a known difference in a compile, and see whether the operator and its line are named.

``PYTHONPATH=src python -m benchmarks.planted [NAME …]`` holds compiled results against eager's as
`tclab explain` does. In most of the compiles a pass changes one operator of the graph that Inductor
receives, and the graph is then run node by node: that Inductor makes kernels of it is left out. The
plants without a pass are faults of PyTorch or of the function itself, and Inductor compiles them.
For each a row is printed: the verdict, the operator, the line, and what is not as it should be.
Some plants must not be called a difference: they only round otherwise.
"""

from __future__ import annotations

import argparse
import contextlib
import copy
import functools
import inspect
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import torch
from torch import fx, nn

from tclab.capturing.agreement import Comparison, stages
from tclab.model import DIFFERS, EQUAL, Agreement

aten = torch.ops.aten
#: Changes a graph of Inductor in place.
Pass = Callable[[fx.Graph], None]


@dataclass(frozen=True)
class Plant:
    """A function with its calls, and the pass that plants a difference in its compile; without a
    pass, PyTorch or the function itself has the fault. `operators` are the right names, one of
    which must be found at the line with `at`, if the right `verdict` is a difference. `where` is
    in the first difference. The line is in `inner` if that is another function than `fn`.
    """

    fn: Callable[..., Any]
    calls: tuple[tuple[Any, ...], ...]
    operators: tuple[str, ...] = ()
    at: str = ""
    where: str = ""
    plant: Pass | None = None
    verdict: str = DIFFERS
    inner: Callable[..., Any] | None = None

    def judge(self) -> Agreement:
        """Compile the function with the plant, and return the verdict."""
        comparison = Comparison.begin(self.fn, [(call, {}) for call in self.calls], backward=False)
        assert isinstance(comparison, Comparison), comparison
        with contextlib.ExitStack() as stack:
            if self.plant:
                compile_fx = _planting(self.plant)
                stack.enter_context(patch("torch._inductor.compile_fx.compile_fx", compile_fx))
            # each way that it tries is one more compile
            stack.enter_context(patch.object(stages, "_find_workaround", return_value=""))
            return comparison.judge_new_compile({})

    def missing(self, found: Agreement) -> list[str]:
        """Return what a verdict lacks; empty if it is right."""
        wrong = [] if found.verdict == self.verdict else [f"verdict {found.verdict}"]
        if self.verdict != DIFFERS:
            return wrong
        if not found.differences or self.where not in str(found.differences[0]):
            wrong.append(f"{self.where} is not the first difference")
        if found.operator not in self.operators:
            wrong.append(f"operator {found.operator!r}")
        if found.line is None or found.line.line != self.line:
            wrong.append(f"line {found.line and found.line.line}, not {self.line}")
        return wrong

    @property
    def line(self) -> int:
        """The number of the line with the planted operator."""
        fn = self.fn.forward if isinstance(self.fn, nn.Module) else self.fn
        lines, first = inspect.getsourcelines(inspect.unwrap(self.inner or fn))
        return first + next(number for number, line in enumerate(lines) if self.at in line)


# --------------------------------------------------------------------------- passes


def _planting(plant: Pass) -> Callable[..., Any]:
    """Return what stands in for Inductor: it gets the same graphs, and runs them with the plant."""
    from torch._dynamo.backends.common import aot_autograd
    from torch._inductor.decomposition import select_decomp_table

    def run(module: fx.GraphModule, _: Any) -> Callable[..., Any]:
        graph = copy.deepcopy(module.graph)
        plant(graph)
        planted = fx.GraphModule(module, graph)

        def call(inputs: list[Any]) -> Any:
            return planted(*inputs)

        call._boxed_call = True  # type: ignore[attr-defined]
        return call

    backend = aot_autograd(
        fw_compiler=run,
        decompositions=select_decomp_table(),
        keep_inference_input_mutations=True,
    )
    return lambda module, inputs, **_: backend(module, inputs)


def replacing(target: Any, build: Callable[[fx.Graph, fx.Node], fx.Node | None]) -> Pass:
    """Return a pass that puts what `build` makes in place of each call of `target`, if anything."""

    def change(graph: fx.Graph) -> None:
        for node in graph.find_nodes(op="call_function", target=target):
            with graph.inserting_before(node):
                new = build(graph, node)
            if new is not None:
                node.replace_all_uses_with(
                    new, delete_user_cb=lambda user, new=new: user is not new
                )
                graph.erase_node(node)

    return change


def _cast(graph: fx.Graph, of: Any, dtype: torch.dtype) -> fx.Node:
    return _call(graph, torch.ops.prims.convert_element_type.default, of, dtype)


def _call(graph: fx.Graph, target: Any, *args: Any) -> fx.Node:
    return graph.call_function(target, args)


def _multiply_before_the_cast(graph: fx.Graph, node: fx.Node) -> fx.Node | None:
    cast, *rest = node.args
    if cast.target != torch.ops.prims.convert_element_type.default:
        return None
    return _cast(graph, _call(graph, node.target, cast.args[0], *rest), torch.float64)


def _round_once(graph: fx.Graph, node: fx.Node) -> fx.Node | None:
    """Compute ``a * b - c`` in float64, and round the result."""
    product, last = node.args
    if not isinstance(product, fx.Node) or product.target != aten.mul.Tensor:
        return None
    wide = [_cast(graph, each, torch.float64) for each in (*product.args, last)]
    exact = _call(graph, aten.mul.Tensor, wide[0], wide[1])
    return _cast(graph, _call(graph, node.target, exact, wide[2]), torch.float32)


def _multiply_in_place(graph: fx.Graph, node: fx.Node) -> fx.Node:
    return graph.call_function(aten.mul_.Tensor, node.args)


def _mask_with_infinity(graph: fx.Graph, node: fx.Node) -> fx.Node | None:
    if node.args != (torch.finfo(torch.float32).min,):
        return None
    return graph.call_function(node.target, (-torch.inf,), dict(node.kwargs))


def _scale_more(graph: fx.Graph, node: fx.Node) -> fx.Node | None:
    left, right = node.args
    return _call(graph, node.target, left, 2.2) if right == 2 else None


def _leave_out_writes(graph: fx.Graph) -> None:
    for node in graph.find_nodes(op="call_function", target=aten.copy_.default):
        node.replace_all_uses_with(node.args[1])
        graph.erase_node(node)


# --------------------------------------------------------------------------- functions


def scaled(x: torch.Tensor) -> torch.Tensor:
    y = x.double()
    z = y * 1e-60
    return z * 1e60


def residual(x: torch.Tensor) -> torch.Tensor:
    y = x * x
    z = y - x * x
    return z.sqrt()


def difference(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> torch.Tensor:
    y = a * b
    return y - c


def doubled(x: torch.Tensor) -> torch.Tensor:
    y = x.sin()
    z = x * 2
    return y + z


@torch.library.custom_op("tclab_planted::doubled_sum", mutates_args=())
def doubled_sum(values: torch.Tensor) -> torch.Tensor:
    values.mul_(2)
    return values.sum(-1)


@doubled_sum.register_fake
def _(values: torch.Tensor) -> torch.Tensor:
    return values.new_empty(values.shape[:-1])


def normed(x: torch.Tensor) -> torch.Tensor:
    y = x + 1
    z = y * 3
    return y / doubled_sum(y)[:, None] + z


@functools.cache
def projection(width: int) -> torch.Tensor:
    return torch.randn(width, width)


def features(x: torch.Tensor) -> torch.Tensor:
    return torch.cos(x @ projection(x.shape[-1]))


def dropped(x: torch.Tensor) -> torch.Tensor:
    kept = torch.rand_like(x) > 0.5
    y = x.sin() * kept
    return y * 2


MASK = torch.tensor([[True], [False]])


def weights(scores: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    least = torch.finfo(torch.float32).min
    y = scores * 0.125
    z = torch.where(mask, y, least)
    return z.softmax(-1)


class Counting(nn.Module):
    """Keeps a running mean."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x.mean(0)
        self.mean.mul_(0.9).add_(y)
        return x - y


def copied(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x.sin()
    z = x.clone()
    return y, z


def several(x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    y = x.sin()
    y = y * 2
    z = x.cos()
    return y, z + 1


def push(history: torch.Tensor) -> torch.Tensor:
    history[1:] = history[:-1].clone()
    return history


class RoundSTE(torch.autograd.Function):
    """Rounds, and passes the gradient through."""

    @staticmethod
    def forward(x: torch.Tensor) -> torch.Tensor:
        return torch.round(x)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> torch.Tensor:
        return grad


def gradient(x: torch.Tensor) -> torch.Tensor:
    return torch.func.grad(lambda x: RoundSTE.apply(x).sum())(x)


def plants() -> dict[str, Plant]:
    """Return the plants by their names."""
    draw = functools.partial(torch.randn, generator=torch.Generator().manual_seed(0))
    a, b = draw(64), draw(64)
    multiplied = ("aten.mul.Tensor",)
    return {
        "a cast moved": Plant(
            scaled, ((a,),), multiplied, "y * 1e-60",
            "output 0", replacing(aten.mul.Tensor, _multiply_before_the_cast),
        ),
        "a fused multiply-add": Plant(
            residual, ((a,),), ("aten.sub.Tensor",), "y - x",
            "output 0", replacing(aten.sub.Tensor, _round_once),
        ),
        "a fused multiply-add that only rounds": Plant(
            difference, ((a, b, draw(64)),),
            plant=replacing(aten.sub.Tensor, _round_once), verdict=EQUAL,
        ),
        "an in-place write": Plant(
            doubled, ((draw(64),),), multiplied, "x * 2",
            "", replacing(aten.mul.Tensor, _multiply_in_place),
        ),
        "a wrong custom operator": Plant(
            normed, ((draw(8, 16).abs(),),), ("tclab_planted.doubled_sum",), "doubled_sum(y)",
        ),
        "random, drawn once": Plant(
            features, ((torch.ones(2, 8),),) * 2, ("randn",), "torch.randn",
            "output 0 of call 2", inner=projection,
        ),
        "random, drawn otherwise": Plant(dropped, ((draw(64),),), verdict=EQUAL),
        "random, scaled otherwise": Plant(
            dropped, ((draw(64),),), multiplied, "y * 2",
            "output 0", replacing(aten.mul.Tensor, _scale_more),
        ),
        "NaN from a masked softmax": Plant(
            weights, ((draw(2, 8), MASK),), ("aten.scalar_tensor.default", "aten.where.self"),
            "torch.where", "output 0, 1 of 2 rows",
            replacing(aten.scalar_tensor.default, _mask_with_infinity),
        ),
        "a stale buffer": Plant(
            Counting(), ((draw(8, 4),),), ("aten.copy_.default",), "self.mean.mul_",
            "mean", _leave_out_writes,
        ),
        "an aliasing output": Plant(
            copied, ((draw(64),),), ("aten.clone.default",), "x.clone()",
            "aliasing", replacing(aten.clone.default, lambda _, node: node.args[0]),
        ),
        "an output that is not the last": Plant(
            several, ((draw(64),),), multiplied, "y * 2",
            "output 0", replacing(aten.mul.Tensor, _scale_more),
        ),
        "pytorch#197829, rows shifted": Plant(
            push, ((torch.arange(8.0).unsqueeze(1).repeat(1, 64).contiguous(),),),
            ("aten.copy_.default",), "history[1:]",
        ),
        "pytorch#193279, a backward left out": Plant(
            gradient, ((torch.tensor([0.2, 0.7, 1.4, -2.6]),),),
            ("_autograd_grad",), "torch.func.grad",
        ),
    }  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Judge the plants, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args(arguments)
    for name, plant in plants().items():
        if asked.names and name not in asked.names:
            continue
        torch.compiler.reset()
        found = plant.judge()
        row = {"name": name, "torch": torch.__version__, "words": str(found), "stage": found.stage,
               "operator": found.operator, "line": found.line and found.line.line,
               "missing": plant.missing(found)}  # fmt: skip
        print(json.dumps(row), flush=True)


if __name__ == "__main__":
    main()
