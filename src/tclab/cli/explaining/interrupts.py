"""Ctrl-C, remembered: who is called meanwhile may turn it into an error of its own."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tclab.explain import OnStep, Step


@contextmanager
def remembered() -> Iterator[list[int]]:
    """The signals of Ctrl-C that came in the block. Each raises KeyboardInterrupt, as ever.

    A compiler's callback that is interrupted may end as an error of the compiler's, which would
    then look like a fault of the reader's function. Where Ctrl-C is ignored, as in a background
    job, it stays ignored.
    """
    came: list[int] = []

    def on_signal(number: int, frame: FrameType | None) -> None:
        came.append(number)
        signal.default_int_handler(number, frame)

    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield came
        return
    before = signal.signal(signal.SIGINT, on_signal)
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, before)


def ending(came: list[int], on_step: OnStep) -> OnStep:
    """`on_step`, but no step begins after Ctrl-C, whatever was made of it, nor in a process that
    the user's code forked and that returns from it: one report is enough.
    """
    own = os.getpid()

    def begin(step: Step) -> None:
        if os.getpid() != own:
            os._exit(1)
        if came:
            raise KeyboardInterrupt
        on_step(step)

    return begin
