"""Compile graphs of a foreign trace again, in a process of its own.

``python -m tclab.capturing.runnable`` reads questions, one on each line, and writes an answer to
each as a line of JSON: the output code, with the stages that were asked for, or the cause why
there is none. It begins with a line that has the version of PyTorch.
"""

from __future__ import annotations

import json
import sys
import time

import torch

from tclab.capturing.runnable.compiling import compile_again
from tclab.capturing.runnable.question import Question
from tclab.capturing.target.foreign_process import limit_and_open_answers
from tclab.errors import TclabError
from tclab.model import encode
from tclab.text.scrub import scrub

#: The most bytes of memory, and of a file.
_MOST_MEMORY, _MOST_FILE = 12 << 30, 1 << 30
_MOST_CHARACTERS = 300


def main() -> None:
    """Answer each question on stdin. What other code prints goes to stderr."""
    answers = limit_and_open_answers(_MOST_MEMORY, _MOST_FILE)

    def send(answer: dict[str, object]) -> None:
        answers.write(json.dumps(answer) + "\n")
        answers.flush()

    send({"torch": torch.__version__})
    for line in sys.stdin:
        began = time.perf_counter()
        answer = _answer(line)
        send({**answer, "seconds": round(time.perf_counter() - began, 2)})


def _answer(line: str) -> dict[str, object]:
    try:
        again = compile_again(Question.from_json(line))
        chain = encode(again.chain) if again.chain else None
        return {"code": again.code, "chain": chain, "lacking": again.lacking}
    except Exception as error:  # Inductor raises what it likes about a graph from another version
        named = _find_named(error)
        if named is not None:
            return {"place": named.place, "cause": named.cause}
        cause = f"{type(error).__name__}: {scrub(str(error))[:_MOST_CHARACTERS]}"
        return {"place": "Inductor", "cause": " ".join(cause.split())}


def _find_named(error: BaseException | None) -> TclabError | None:
    """Return the error of tclab's that an error wraps, or None."""
    while error is not None:
        if isinstance(error, TclabError):
            return error
        error = error.__cause__ or error.__context__ or getattr(error, "inner_exception", None)
    return None


if __name__ == "__main__":
    main()
