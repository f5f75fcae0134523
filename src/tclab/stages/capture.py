"""`capture`: run code through torch.compile and keep everything its compile went through."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import ExitStack
from functools import cached_property
from typing import TYPE_CHECKING, Any

import torch

from tclab.errors import CaptureError
from tclab.model import Breaks, Chain, Graph, Guards, Kernel, Listing, Recompiles, Symbols, Table
from tclab.stages import _torch
from tclab.stages import breaks as _breaks
from tclab.stages import bytecode as _bytecode
from tclab.stages import graphs as _graphs
from tclab.stages import guards as _guards
from tclab.stages import inductor as _inductor
from tclab.stages import recompiles as _recompiles
from tclab.stages import times as _times
from tclab.stages.fresh import fresh
from tclab.stages.trace import Trace, listen

if TYPE_CHECKING:
    from tclab.stages.triton_kernels import Compiled, CompiledKernel


class Capture:
    """Everything a compile went through, as artifacts of `tclab.model`.

    Each stage is read from the trace when it is first asked for. All text is free of absolute
    paths and of what differs from process to process. Frames are numbered from 0 in the order
    this capture met them, so ``1/0`` is the first compile of the second piece of code.
    """

    def __init__(self, trace: Trace | None = None, results: tuple[Any, ...] = ()) -> None:
        self._trace = trace
        self.results = results  #: what each call returned

    @property
    def result(self) -> Any:
        """What the last call returned."""
        if not self.results:
            raise CaptureError(
                "Capture.result", "no call was made through this capture", "use capture(fn)(...)"
            )
        return self.results[-1]

    @property
    def trace(self) -> Trace:
        """The events themselves; complete once the capture has ended."""
        if self._trace is None:
            raise CaptureError(
                "tclab.capture", "the block is still running", "read it after the with block"
            )
        return self._trace

    @cached_property
    def graphs(self) -> tuple[Graph, ...]:
        """Dynamo's graphs, in order."""
        return _graphs.graphs(self.trace, "dynamo")

    @cached_property
    def breaks(self) -> Breaks:
        """Graph breaks; `breaks.graphs` counts graphs of distinct code, without recompiles."""
        return _breaks.breaks(self.trace)

    @cached_property
    def guards(self) -> tuple[Guards, ...]:
        """The guards of each cache entry made."""
        return _guards.guards(self.trace)

    @cached_property
    def recompiles(self) -> Recompiles:
        """Recompiles, with the guards that failed."""
        return _recompiles.recompiles(self.trace)

    @cached_property
    def symbols(self) -> Symbols:
        """Symbols made for sizes and numbers."""
        return _recompiles.symbols(self.trace)

    @cached_property
    def bytecode(self) -> tuple[Listing, ...]:
        """Original and rewritten bytecode, two listings for each compile."""
        return _bytecode.bytecode(self.trace)

    @cached_property
    def pre_grad(self) -> tuple[Graph, ...]:
        """Graphs after Inductor's pre-grad passes."""
        return _graphs.graphs(self.trace, "pre_grad")

    @cached_property
    def joint(self) -> tuple[Graph, ...]:
        """AOTAutograd's joint graphs; none without gradients."""
        return _graphs.graphs(self.trace, "joint")

    @cached_property
    def forward(self) -> tuple[Graph, ...]:
        """AOTAutograd's forward graphs, inference graphs among them."""
        return _graphs.graphs(self.trace, "forward")

    @cached_property
    def backward(self) -> tuple[Graph, ...]:
        """AOTAutograd's backward graphs."""
        return _graphs.graphs(self.trace, "backward")

    @cached_property
    def post_grad(self) -> tuple[Graph, ...]:
        """Graphs after Inductor's post-grad passes: what is lowered."""
        return _graphs.graphs(self.trace, "post_grad")

    @cached_property
    def ir_pre_fusion(self) -> tuple[Listing, ...]:
        """Inductor's IR before fusion."""
        return _inductor.ir(self.trace, fused=False)

    @cached_property
    def ir(self) -> tuple[Listing, ...]:
        """Inductor's IR after fusion."""
        return _inductor.ir(self.trace, fused=True)

    @cached_property
    def fusion(self) -> Listing:
        """The scheduler's fusion decisions."""
        return _inductor.fusion(self.trace)

    @cached_property
    def kernels(self) -> tuple[Kernel, ...]:
        """Generated kernels, and calls into libraries (category ``extern``)."""
        return _inductor.all_kernels(self.trace)

    @cached_property
    def compiled_units(self) -> tuple[Compiled, ...]:
        """For each graph Inductor compiled, its Triton kernels as the GPU that is here launched
        them, with their stages down to SASS, by name. Empty on a CPU.
        """
        from tclab.stages import triton_kernels

        launched = {e.payload.strip(): e.data for e in self.trace.named("launched")}
        gpu = torch.cuda.get_device_name() if launched else ""
        codes = [unit.code for unit in _inductor.units(self.trace) if unit.done]
        return tuple(triton_kernels.as_launched(code, launched, gpu) for code in codes)

    @property
    def compiled(self) -> tuple[CompiledKernel, ...]:
        """Each Triton kernel with its stages down to SASS; compiled when first asked for."""
        return tuple(kernel for unit in self.compiled_units for kernel in unit.values())

    def stages(self, kernel_name: str) -> dict[str, Listing]:
        """ttir, ttgir, llir, ptx and sass of one kernel. KeyError names the kernels there are."""
        for kernel in self.compiled:
            if kernel.name == kernel_name:
                return kernel.stages
        there = ", ".join(k.name for k in self.compiled) or "none"
        raise KeyError(f"no Triton kernel {kernel_name!r}; there are: {there}")

    @cached_property
    def wrapper(self) -> tuple[Listing, ...]:
        """The Python file Inductor wrote for each graph."""
        return _inductor.wrapper(self.trace)

    @cached_property
    def chains(self) -> tuple[Chain, ...]:
        """Each Dynamo graph's way through all stages, line linked to line."""
        from tclab.stages import chain

        return chain.chains(self)

    @cached_property
    def times(self) -> Table:
        """Compile seconds by phase; the phases add up to the total."""
        return _times.times(self.trace)

    @cached_property
    def overview(self) -> Table:
        """How much of everything there was."""
        generated = [k for k in self.kernels if k.category != "extern"]
        rows = (
            ("Dynamo graphs", len(self.graphs)),
            ("graph breaks", len(self.breaks)),
            ("guards", sum(len(g) for g in self.guards)),
            ("recompiles", len(self.recompiles)),
            ("generated kernels", len(generated)),
            ("library calls", len(self.kernels) - len(generated)),
        )
        return Table("Overview of the compile", "overview", ("what", "count"), rows)


class Request:
    """What `capture(fn)` returns: call it once, or give `over` several calls."""

    def __init__(self, fn: Callable[..., Any], backward: bool, target: Any,
                 options: dict[str, Any]) -> None:  # fmt: skip
        self.fn, self.backward, self.target, self.options = fn, backward, target, options
        if not callable(fn):
            raise CaptureError("tclab.capture", f"{type(fn).__name__} is not callable",
                               "pass a function or a module")  # fmt: skip
        if _torch.is_compiled(fn):
            raise CaptureError(
                "tclab.capture",
                "torch.compile was already applied to this callable",
                "pass what is under it, with the same options, or use: with tclab.capture() as c",
            )

    def __call__(self, *args: Any, **kwargs: Any) -> Capture:
        """Compile and call `fn`; the Capture of it."""
        return self._run([(args, kwargs)])

    def over(self, calls: Iterable[tuple[Any, ...]]) -> Capture:
        """Compile once and call with each tuple of arguments in turn."""
        return self._run([(tuple(args), {}) for args in calls])

    def _run(self, calls: list[tuple[tuple[Any, ...], dict[str, Any]]]) -> Capture:
        if self.target is not None:
            return self._for_target(calls)
        _torch.require()
        results = []
        with fresh(self.fn), _torch.observable(), listen() as trace:
            compiled = torch.compile(self.fn, **self.options)
            for args, kwargs in calls:
                results.append(compiled(*args, **kwargs))
                if self.backward:
                    run_backward(results[-1])
        return Capture(trace, tuple(results))

    def _for_target(self, calls: list[tuple[tuple[Any, ...], dict[str, Any]]]) -> Capture:
        from tclab.stages import target

        return target.capture_for(self.fn, self.target, calls, backward=self.backward,
                                  options=self.options)  # fmt: skip


class Watch:
    """``with capture() as c``: observe whatever compiles in the block, and change nothing but
    the graph caches, which are off: a hit would hide the stages after it.
    """

    def __enter__(self) -> Capture:
        _torch.require()
        self.capture = Capture()
        self.stack = ExitStack()
        self.stack.enter_context(_torch.observable())
        self.heard = self.stack.enter_context(listen())
        return self.capture

    def __exit__(self, *error: Any) -> None:
        self.stack.close()
        self.capture._trace = self.heard


def capture(fn: Callable[..., Any] | None = None, *, backward: bool = False, target: Any = None,
            **compile_options: Any) -> Any:  # fmt: skip
    """Keep every stage of a compile.

    ``capture(fn, **options)(*args)`` compiles `fn` as if nothing had been compiled before,
    calls it and returns a `Capture`; ``capture(fn).over([(x,), (y,)])`` calls it several times,
    to show recompiles. The options go to torch.compile. ``with capture() as c:`` only watches
    what the block compiles; read `c` after the block.

    With `backward`, ``.backward()`` is called on the sum of what `fn` returned, after each
    call: gradients accumulate in ``.grad`` as they always do.

    The FX graph cache and the AOTAutograd cache are off meanwhile, since a hit hides stages.
    Loggers, configuration and everything compiled earlier are as before when it ends, also
    after an error, which goes through unchanged. Raises CaptureError for what cannot be
    captured, UnsupportedTorch where PyTorch moved something capture needs.
    """
    if fn is None:
        if backward or target is not None or compile_options:
            raise CaptureError(
                "tclab.capture",
                "options without a function",
                "with capture() only watches; pass options to torch.compile",
            )
        return Watch()
    return Request(fn, backward, target, compile_options)


def run_backward(result: Any) -> None:
    """``.backward()`` on the sum of every tensor in `result` that requires grad."""
    wanted = [t for t in _torch.leaves(result) if isinstance(t, torch.Tensor) and t.requires_grad]
    if not wanted:
        raise CaptureError(
            "tclab.capture",
            "backward=True, but nothing the function returned requires grad",
            "pass a floating-point tensor with requires_grad=True, or leave backward out",
        )
    torch.autograd.backward(wanted, [torch.ones_like(t) for t in wanted])
