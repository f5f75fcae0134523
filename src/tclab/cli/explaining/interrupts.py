"""Record each Ctrl-C, since the running code can turn KeyboardInterrupt into another error."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tclab.explain import OnStep, Step


@contextmanager
def record_interrupts() -> Iterator[list[int]]:
    """Yield a list that receives each SIGINT of the block. Each signal raises KeyboardInterrupt as
    usual.

    The list is needed because an interrupted callback of the compiler can raise an error of the
    compiler's, which would look like a fault of the reader's function. If Ctrl-C is ignored, as in
    a background job, it stays ignored.
    """
    interrupts: list[int] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        interrupts.append(number)
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield interrupts
        return
    before = signal.signal(signal.SIGINT, on_signal)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before)


def stop_after_interrupt(interrupts: list[int], on_step: OnStep) -> OnStep:
    """Return a callback for the beginning of a step: `on_step`, unless `interrupts` has a Ctrl-C
    whose KeyboardInterrupt was caught; then it is raised again. In a process that the user's code
    forked, the callback ends the process, so that only one report is written.
    """
    own = os.getpid()

    def begin(step: Step) -> None:
        if os.getpid() != own:
            os._exit(1)
        if interrupts:
            raise KeyboardInterrupt
        on_step(step)

    return begin
