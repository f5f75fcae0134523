"""Define `capture`, which runs code through torch.compile and keeps every stage of the compile."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, overload

import torch

from tclab.capturing.backward import run_backward
from tclab.capturing.fresh import hide_earlier_compiles
from tclab.capturing.listen import listen
from tclab.capturing.result import Capture
from tclab.capturing.target.capture import Call, capture_for
from tclab.capturing.target.inductor import Options
from tclab.capturing.torch_private import caching, check, compiler, switches
from tclab.capturing.trace import names
from tclab.errors import CaptureError, NothingCompiled
from tclab.targets import Target


class CaptureRequest:
    """The result of `capture(fn)`: call it for one call of `fn`, or use `over` for several."""

    def __init__(
        self,
        fn: Callable[..., Any],
        backward: bool,
        target: str | Target | None,
        assume: Mapping[str, str] | None,
        options: Options,
        as_it_is: bool = False,
    ) -> None:
        self.fn, self.backward, self.target, self.options = fn, backward, target, options
        self.assume, self.as_it_is = assume, as_it_is
        if not callable(fn):
            raise CaptureError(
                "tclab.capture",
                f"{type(fn).__name__} is not callable",
                "pass a function or a module",
            )
        if switches.is_disabled(fn):
            raise NothingCompiled(
                "tclab.capture",
                "torch.compiler.disable was applied to this callable: nothing of it is compiled",
                "take it off, or pass what is under it",
            )
        if compiler.is_compiled(fn) and not as_it_is:
            raise CaptureError(
                "tclab.capture",
                "torch.compile was already applied to this callable",
                "pass what is under it, with the same options, or use: with tclab.capture() as c",
            )

    def __call__(self, *args: object, **kwargs: object) -> Capture:
        """Compile `fn`, call it with these arguments, and return the Capture."""
        return self.capture_calls([(args, kwargs)])

    def over(self, calls: Iterable[tuple[object, ...]]) -> Capture:
        """Compile `fn`, call it with each tuple of arguments, and return the Capture."""
        return self.capture_calls([(tuple(args), {}) for args in calls])

    def capture_calls(
        self,
        calls: Sequence[Call],
        *,
        most_lines: int | None = None,
        on_result: Callable[[object], None] = lambda result: None,
    ) -> Capture:
        """Compile `fn`, or run it unchanged, make each of `calls`, and return the Capture. A call
        is a pair of positional and keyword arguments. Without a target, `on_result` is called with
        the result of each call before the next call can change it.

        Kernels of more than `most_lines` lines get no machine code stages; None sets no limit.
        """
        if self.target is not None:
            return capture_for(
                self.fn, self.target, calls, backward=self.backward, options=self.options,
                assume=self.assume, most_lines=most_lines,
            )  # fmt: skip
        check.require()
        results = []
        with ExitStack() as stack:
            stack.enter_context(hide_earlier_compiles(self.fn))
            stack.enter_context(compiler.make_stages_observable())
            trace = stack.enter_context(listen())
            stack.enter_context(caching.note_caching(trace))
            compiled = self.fn if self.as_it_is else torch.compile(self.fn, **self.options)
            for args, kwargs in calls:
                results.append(compiled(*args, **kwargs))
                if self.backward:
                    run_backward(results[-1])
                trace.add(names.CALLED, None, "", (None, None))
                on_result(results[-1])
            switches.require_compiled(trace)
        return Capture(trace, tuple(results), most_lines)


class CompileWatcher:
    """The context manager of ``with capture() as c``, which observes all compiles in the block. It
    turns off the graph caches, because a hit hides the later stages, and changes nothing else.
    """

    def __enter__(self) -> Capture:
        check.require()
        self.capture = Capture()
        self.stack = ExitStack()
        self.stack.enter_context(compiler.make_stages_observable())
        self.trace = self.stack.enter_context(listen())
        return self.capture

    def __exit__(self, *error: object) -> None:
        self.stack.close()
        self.capture.end(self.trace)


@overload
def capture() -> CompileWatcher: ...
@overload
def capture(
    fn: Callable[..., Any],
    *,
    backward: bool = False,
    target: str | Target | None = None,
    assume: Mapping[str, str] | None = None,
    as_it_is: bool = False,
    **compile_options: Any,
) -> CaptureRequest: ...
def capture(
    fn: Callable[..., Any] | None = None,
    *,
    backward: bool = False,
    target: str | Target | None = None,
    assume: Mapping[str, str] | None = None,
    as_it_is: bool = False,
    **compile_options: Any,
) -> CaptureRequest | CompileWatcher:
    """Keep every stage of a compile.

    ``capture(fn, **options)(*args)`` hides earlier compiles, compiles `fn`, calls it and returns
    a `Capture`; ``capture(fn).over([(x,), (y,)])`` calls it several times, to show recompiles. The
    options go to torch.compile. ``with capture() as c:`` only watches what the block compiles;
    read `c` after the block.

    With `backward`, each call is followed by ``.backward()`` on the sum of its results; gradients
    accumulate in ``.grad`` as usual.

    With `target`, a GPU such as ``h200`` that this machine need not have, the kernels are the ones
    compiled for that GPU. If PyTorch decides something by timing, the choice is as measured on such
    a GPU, or as is likely; `assume` fixes it, ``{"pad": "yes"}``, or asks for the kernels of
    ``both``.

    With `as_it_is`, `fn` is called without a compile around it: the stages are those of what it
    compiles itself.

    The FX graph cache and the AOTAutograd cache are off during a capture, since a hit hides
    stages. Loggers, configuration and earlier compiles are restored at the end, also after an
    error, which is passed on unchanged. Raises CaptureError if `fn` cannot be captured,
    NothingCompiled if a switch such as TORCHDYNAMO_DISABLE=1 keeps it from being compiled, and
    UnsupportedTorch if this PyTorch lacks a private name that capture needs.
    """
    if fn is None:
        if backward or target is not None or assume or compile_options:
            raise CaptureError(
                "tclab.capture",
                "options without a function",
                "with capture() only watches; pass options to torch.compile",
            )
        return CompileWatcher()
    if assume and target is None:
        raise CaptureError(
            "tclab.capture",
            "assume= without target=",
            "a compile on this machine times what it chooses: leave assume out",
        )
    if as_it_is and (target is not None or compile_options):
        raise CaptureError(
            "tclab.capture",
            "as_it_is= with target= or with options of torch.compile",
            "leave them out: fn compiles its parts itself, with options of its own",
        )
    return CaptureRequest(fn, backward, target, assume, compile_options, as_it_is)
