"""`capture`: run code through torch.compile and keep everything its compile went through."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, overload

import torch

from tclab.capturing.backward import run_backward
from tclab.capturing.fresh import fresh
from tclab.capturing.listen import listen
from tclab.capturing.result import Capture
from tclab.capturing.target.capture import Call, capture_for
from tclab.capturing.target.inductor import Options
from tclab.capturing.torch_private import check, compiler
from tclab.errors import CaptureError
from tclab.targets import Target


class Request:
    """What `capture(fn)` returns: call it once, or give `over` several calls."""

    def __init__(
        self,
        fn: Callable[..., Any],
        backward: bool,
        target: str | Target | None,
        assume: Mapping[str, str] | None,
        options: Options,
    ) -> None:
        self.fn, self.backward, self.target, self.options = fn, backward, target, options
        self.assume = assume
        if not callable(fn):
            raise CaptureError(
                "tclab.capture",
                f"{type(fn).__name__} is not callable",
                "pass a function or a module",
            )
        if compiler.is_compiled(fn):
            raise CaptureError(
                "tclab.capture",
                "torch.compile was already applied to this callable",
                "pass what is under it, with the same options, or use: with tclab.capture() as c",
            )

    def __call__(self, *args: object, **kwargs: object) -> Capture:
        """Compile and call `fn`; the Capture of it."""
        return self.calls([(args, kwargs)])

    def over(self, calls: Iterable[tuple[object, ...]]) -> Capture:
        """Compile once and call with each tuple of arguments in turn."""
        return self.calls([(tuple(args), {}) for args in calls])

    def calls(self, calls: Sequence[Call], *, most_lines: int | None = None) -> Capture:
        """Compile once and call with each of `calls` in turn: arguments, and those by name.

        Kernels with more than `most_lines` lines are not taken down to instructions.
        """
        if self.target is not None:
            return capture_for(
                self.fn, self.target, calls, backward=self.backward, options=self.options,
                assume=self.assume, most_lines=most_lines,
            )  # fmt: skip
        check.require()
        results = []
        with fresh(self.fn), compiler.observable(), listen() as trace:
            compiled = torch.compile(self.fn, **self.options)
            for args, kwargs in calls:
                results.append(compiled(*args, **kwargs))
                if self.backward:
                    run_backward(results[-1])
        return Capture(trace, tuple(results), most_lines)


class Watch:
    """``with capture() as c``: observe whatever compiles in the block, and change nothing but
    the graph caches, which are off: a hit would hide the stages after it.
    """

    def __enter__(self) -> Capture:
        check.require()
        self.capture = Capture()
        self.stack = ExitStack()
        self.stack.enter_context(compiler.observable())
        self.trace = self.stack.enter_context(listen())
        return self.capture

    def __exit__(self, *error: object) -> None:
        self.stack.close()
        self.capture.end(self.trace)


@overload
def capture() -> Watch: ...
@overload
def capture(
    fn: Callable[..., Any],
    *,
    backward: bool = False,
    target: str | Target | None = None,
    assume: Mapping[str, str] | None = None,
    **compile_options: Any,
) -> Request: ...
def capture(
    fn: Callable[..., Any] | None = None,
    *,
    backward: bool = False,
    target: str | Target | None = None,
    assume: Mapping[str, str] | None = None,
    **compile_options: Any,
) -> Request | Watch:
    """Keep every stage of a compile.

    ``capture(fn, **options)(*args)`` compiles `fn` as if nothing had been compiled before,
    calls it and returns a `Capture`; ``capture(fn).over([(x,), (y,)])`` calls it several times,
    to show recompiles. The options go to torch.compile. ``with capture() as c:`` only watches
    what the block compiles; read `c` after the block.

    With `backward`, ``.backward()`` is called on the sum of what `fn` returned, after each
    call: gradients accumulate in ``.grad`` as they always do.

    With `target`, a GPU such as ``h200`` that need not be here, the kernels are those it would get.
    Where it would time something to choose, they are of both ways, unless `assume` says which:
    ``{"pad": "no"}``.

    The FX graph cache and the AOTAutograd cache are off meanwhile, since a hit hides stages.
    Loggers, configuration and everything compiled earlier are as before when it ends, also
    after an error, which goes through unchanged. Raises CaptureError for what cannot be
    captured, UnsupportedTorch where PyTorch moved something capture needs.
    """
    if fn is None:
        if backward or target is not None or assume or compile_options:
            raise CaptureError(
                "tclab.capture",
                "options without a function",
                "with capture() only watches; pass options to torch.compile",
            )
        return Watch()
    if assume and target is None:
        raise CaptureError(
            "tclab.capture",
            "assume= without target=",
            "a compile on this machine times what it chooses: leave assume out",
        )
    return Request(fn, backward, target, assume, compile_options)
